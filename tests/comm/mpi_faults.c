// The engine MPI when its calls fail or are never done, on a fake of one rank.
#include "fake_mpi.h"
#include "ranks.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int *ints;
static rnl_buffer buffer;

static void open_device(void)
{
    expect_ok(rnl_context_open("cpu", 0, NULL, &context));
    expect_ok(rnl_stream_create(context, NULL, &stream));
    buffer = ranks_ints(4, &ints);
}

static void close_device(void)
{
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_context_release(context));
}

// Waits until nothing has a communicator of MPI any more.
static void await_end(void)
{
    while (fake_mpi.comms > 0)
        sched_yield();
}

static rnl_status let_go(void)
{
    rnl_status status = rnl_stream_synchronize(stream, RNL_FOREVER);
    if (status != RNL_OK)
        rnl_stream_reset_and_wait(stream);
    expect_ok(rnl_comm_release(comm));
    return status;
}

static rnl_status enqueue_all(void)
{
    const rnl_comm_data in = {sizeof in,        NULL, 0, buffer, 0, 2,
                              RNL_ELEMENT_INT32};
    const rnl_comm_data both = {sizeof both, buffer,           0, buffer, 8,
                                2,           RNL_ELEMENT_INT32};
    const rnl_comm_data out = {sizeof out, buffer,           0, NULL, 0,
                               2,          RNL_ELEMENT_INT32};
    rnl_status status;
    expect_ok(rnl_comm_group_begin());
    if ((status = rnl_enqueue_send(stream, comm, &out, 0)) ||
        (status = rnl_enqueue_receive(stream, comm, &in, 0))) {
        rnl_comm_group_end();
        return status;
    }
    if ((status = rnl_comm_group_end()) ||
        (status = rnl_enqueue_all_reduce(stream, comm, &in, RNL_REDUCE_SUM)) ||
        (status = rnl_enqueue_broadcast(stream, comm, &in, 0)) ||
        (status =
             rnl_enqueue_reduce_scatter(stream, comm, &both, RNL_REDUCE_MAX)))
        return status;
    return rnl_enqueue_all_gather(stream, comm, &both);
}

static rnl_status scenario(const rnl_comm_options *options)
{
    rnl_status status = rnl_comm_create(context, options, &comm);
    if (status != RNL_OK) {
        assert_int_equal(fake_mpi.comms, 0);
        // MPI_Test fails for the call that made the request.
        if (status == RNL_ERROR_DRIVER && strcmp(fake_mpi.failed, "MPI_Test"))
            assert_non_null(
                strstr(rnl_last_error()->message, fake_mpi.failed));
        return status;
    }
    status = enqueue_all();
    rnl_status later = let_go();
    return status ? status : later;
}

// Calls that the scenario can do without: they end something, make the end of
// MPI safer, or are about elements that it does not have. Without MPI_Finalized
// a communicator is not freed.
static bool is_dispensable(const char *call)
{
    static const char *const calls[] = {
        "MPI_Comm_free",          "MPI_Group_free",
        "MPI_Comm_create_keyval", "MPI_Comm_set_attr",
        "MPI_Finalized",          "MPI_Get_library_version",
        "MPI_Initialized",        "MPI_Comm_set_errhandler",
        "MPI_Reduce_local",
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (strcmp(call, calls[i]) == 0)
            return true;
    return false;
}

// Fails each call of MPI in turn: the scenario fails, or can do without it.
static void sweep(const rnl_comm_options *options)
{
    open_device();
    unsigned failures = 0;
    bool passed = false;
    for (long at = 1; !passed; at++) {
        fake_mpi.calls = 0;
        fake_mpi.fail_at = at;
        fake_mpi.comms = fake_mpi.groups = 0;
        rnl_status status = scenario(options);
        passed = fake_mpi.calls < at;
        assert_true(status == RNL_OK || status == RNL_ERROR_DRIVER ||
                    status == RNL_ERROR_INVALID_STATE);
        if (status != RNL_OK)
            assert_true(strlen(rnl_last_error()->message) > 0);
        else if (!passed && !is_dispensable(fake_mpi.failed))
            fail_msg("nobody noticed that %s failed", fake_mpi.failed);
        failures += status != RNL_OK;
        assert_int_equal(fake_mpi.groups, 0);
    }
    fake_mpi.fail_at = 0;
    assert_true(failures >= 8);
    fake_mpi.comms = 0;
    expect_ok(scenario(options));
    await_end();
    close_device();
}

RNL_TEST(every_call_of_mpi_may_fail)
{
    sweep(NULL);
}

RNL_TEST(every_call_of_mpi_may_fail_for_ranks_that_meet)
{
    sweep(RNL_COMM_OPTIONS(.size = 1, .file = "alone"));
}

// MPI_Comm_create_group knows no limit.
RNL_TEST(the_creation_of_a_group_ends_at_the_time_limit)
{
    ranks_begin_mpi();
    open_device();
    fake_mpi.hangs = 1;
    expect_refused(rnl_comm_create(context,
                                   RNL_COMM_OPTIONS(.size = 1, .file = "alone",
                                                    .timeout_ns = SECOND / 50),
                                   &comm),
                   RNL_ERROR_TIMED_OUT, "(MPI_Comm_create_group)");
    fake_mpi.hangs = 0;
    close_device();
}

// MPI tells creations by several threads apart by their tags.
RNL_TEST(each_creation_of_a_group_has_its_own_tag)
{
    open_device();
    int before = -1;
    for (int i = 0; i < 3; i++) {
        expect_ok(rnl_comm_create(
            context, RNL_COMM_OPTIONS(.size = 1, .file = "alone"), &comm));
        assert_int_not_equal(fake_mpi.tag, before);
        before = fake_mpi.tag;
        expect_ok(rnl_comm_release(comm));
    }
    close_device();
}

RNL_TEST(the_failure_of_a_call_has_the_words_of_mpi)
{
    const rnl_comm_data in = {sizeof in,        NULL, 0, NULL, 0, 1,
                              RNL_ELEMENT_INT32};
    rnl_comm_data data = in;
    open_device();
    data.receive = buffer;
    expect_ok(rnl_comm_create(context, NULL, &comm));
    fake_mpi.calls = 0;
    fake_mpi.fail_at = 2;  // behind MPI_Finalized
    expect_ok(rnl_enqueue_all_reduce(stream, comm, &data, RNL_REDUCE_SUM));
    ranks_fails(stream, RNL_ERROR_DRIVER,
                "all-reduce of rank 0 of 1: the fake was told to fail (12)");
    fake_mpi.fail_at = 0;
    rnl_stream_reset_and_wait(stream);
    expect_ok(rnl_comm_release(comm));
    close_device();
}

static rnl_status receive_in(rnl_buffer into)
{
    return rnl_enqueue_receive(stream, comm,
                               RNL_COMM_DATA(.receive = into, .count = 1,
                                             .element = RNL_ELEMENT_INT32),
                               0);
}

// The engine may still write to the buffers of all operations of the group.
RNL_TEST(buffers_of_a_group_that_was_ended_stay)
{
    enum { COUNT = 3, INTS = 1 << 18 };
    int *places[COUNT];
    rnl_buffer buffers[COUNT];
    ranks_begin_mpi();
    open_device();
    expect_ok(rnl_comm_create(
        context, RNL_COMM_OPTIONS(.timeout_ns = SECOND / 50), &comm));
    fake_mpi.hangs = 1;
    expect_ok(rnl_comm_group_begin());
    for (int i = 0; i < COUNT; i++) {
        buffers[i] = ranks_ints(INTS, &places[i]);
        expect_ok(receive_in(buffers[i]));
    }
    expect_ok(rnl_comm_group_end());
    ranks_fails(stream, RNL_ERROR_TIMED_OUT, "not done within");
    for (int i = 0; i < COUNT; i++)
        expect_ok(rnl_buffer_release(buffers[i]));
    expect_ok(rnl_comm_release(comm));
    close_device();
    expect_ok(rnl_trim(NULL));
    for (int i = 0; i < COUNT; i++)
        places[i][0] = 1;  // as the engine may do; a crash if it is gone
}

// The same when a later operation of the group cannot begin.
RNL_TEST(buffers_stay_when_half_of_a_group_has_begun)
{
    enum { INTS = 1 << 18 };
    int *first, *second;
    open_device();
    expect_ok(rnl_comm_create(context, NULL, &comm));
    fake_mpi.hangs = 1;
    fake_mpi.calls = 0;
    fake_mpi.fail_at = 3;  // behind MPI_Finalized and the first operation
    rnl_buffer one = ranks_ints(INTS, &first), two = ranks_ints(INTS, &second);
    expect_ok(rnl_comm_group_begin());
    expect_ok(receive_in(one));
    expect_ok(receive_in(two));
    expect_ok(rnl_comm_group_end());
    ranks_fails(stream, RNL_ERROR_DRIVER, "told to fail");
    expect_ok(rnl_buffer_release(one));
    expect_ok(rnl_buffer_release(two));
    expect_ok(rnl_comm_release(comm));
    close_device();
    expect_ok(rnl_trim(NULL));
    first[0] = second[0] = 1;
}

// --- The end -----------------------------------------------------------------

static const rnl_comm_data *all_of_buffer(void)
{
    static rnl_comm_data data;
    data =
        (rnl_comm_data){sizeof data, NULL, 0, buffer, 0, 4, RNL_ELEMENT_INT32};
    return &data;
}

RNL_TEST(a_group_keeps_a_communicator_that_is_released)
{
    rnl_stream second;
    open_device();
    expect_ok(rnl_stream_create(context, NULL, &second));
    expect_ok(rnl_comm_create(context, NULL, &comm));
    expect_ok(
        rnl_enqueue_all_reduce(second, comm, all_of_buffer(), RNL_REDUCE_SUM));
    expect_ok(rnl_comm_group_begin());
    for (int i = 0; i < 2; i++)
        expect_ok(rnl_enqueue_all_reduce(stream, comm, all_of_buffer(),
                                         RNL_REDUCE_SUM));
    expect_ok(rnl_comm_release(comm));
    expect_ok(rnl_comm_group_end());
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    await_end();
    expect_ok(rnl_stream_release(second));
    close_device();
}

RNL_TEST(a_graph_keeps_the_communicator)
{
    rnl_graph graph;
    rnl_graph_exec exec;
    open_device();
    expect_ok(rnl_comm_create(context, NULL, &comm));
    expect_ok(rnl_stream_begin_capture(stream, NULL));
    expect_ok(
        rnl_enqueue_all_reduce(stream, comm, all_of_buffer(), RNL_REDUCE_SUM));
    expect_ok(rnl_stream_end_capture(stream, &graph));
    expect_ok(rnl_graph_instantiate(graph, &exec));
    expect_ok(rnl_comm_release(comm));
    for (int i = 0; i < 2; i++) {
        expect_ok(rnl_enqueue_graph(stream, exec));
        expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    }
    assert_int_equal(fake_mpi.comms, 1);
    expect_ok(rnl_graph_exec_release(exec));
    expect_ok(rnl_graph_release(graph));
    await_end();
    close_device();
}

// Its end is no work of the stream, which the capture would take.
RNL_TEST(a_communicator_ends_during_a_capture)
{
    rnl_graph graph;
    rnl_graph_exec exec;
    open_device();
    expect_ok(rnl_comm_create(context, NULL, &comm));
    expect_ok(
        rnl_enqueue_all_reduce(stream, comm, all_of_buffer(), RNL_REDUCE_SUM));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    expect_ok(rnl_stream_begin_capture(stream, NULL));
    expect_ok(rnl_comm_release(comm));
    await_end();
    expect_ok(rnl_stream_end_capture(stream, &graph));
    expect_ok(rnl_graph_instantiate(graph, &exec));
    for (int i = 0; i < 2; i++) {
        expect_ok(rnl_enqueue_graph(stream, exec));
        expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    }
    assert_int_equal(fake_mpi.comms, 0);
    expect_ok(rnl_graph_exec_release(exec));
    expect_ok(rnl_graph_release(graph));
    close_device();
}

RNL_TEST(nothing_is_asked_of_an_mpi_that_has_ended)
{
    rnl_comm other;
    open_device();
    expect_ok(rnl_comm_create(context, NULL, &comm));
    MPI_Finalize();
    expect_refused(rnl_comm_create(context, NULL, &other),
                   RNL_ERROR_INVALID_STATE, "MPI is finalized");
    expect_ok(
        rnl_enqueue_all_reduce(stream, comm, all_of_buffer(), RNL_REDUCE_SUM));
    ranks_fails(stream, RNL_ERROR_INVALID_STATE, "MPI is finalized");
    expect_ok(rnl_comm_release(comm));
    close_device();
    assert_int_equal(fake_mpi.late_calls, 0);
}

// --- Creation ----------------------------------------------------------------

// Where the engine may still write to is neither on the stack nor free.
static void expect_late_creation(const char *api, const char *call,
                                 size_t bytes)
{
    char here;
    ranks_begin_mpi();
    expect_ok(rnl_context_open(api, 0, NULL, &context));
    fake_mpi.hangs = 1;
    expect_refused(rnl_comm_create(context,
                                   RNL_COMM_OPTIONS(.timeout_ns = SECOND / 50),
                                   &comm),
                   RNL_ERROR_TIMED_OUT, call);
    uintptr_t place = (uintptr_t)fake_mpi.shared, far = (uintptr_t)1 << 20;
    assert_true(place - (uintptr_t)&here + far > 2 * far);
    memset(fake_mpi.shared, 1, bytes);
    for (size_t room = 16; room <= 1024; room += 16)
        for (int i = 0; i < 8; i++) {
            uintptr_t other = (uintptr_t)malloc(room);
            assert_false(place - other < room);
        }
    expect_ok(rnl_context_release(context));
    quick_exit(0);  // what stays is no leak of this test
}

RNL_TEST(the_bytes_of_a_creation_that_is_late_stay)
{
    expect_late_creation("cuda", "MPI_Ibcast", 128);
}

RNL_TEST(the_handle_of_a_creation_that_is_late_stays)
{
    expect_late_creation("cpu", "MPI_Comm_idup", sizeof(int));
}

RNL_TEST(the_environment_switches_off_an_mpi_that_the_program_has)
{
    open_device();
    setenv("RUNNEL_MPI", "off", 1);
    expect_refused(rnl_comm_create(context, NULL, &comm), RNL_ERROR_NOT_FOUND,
                   "switched off by RUNNEL_MPI");
    setenv("RUNNEL_MPI", "", 1);
    expect_ok(rnl_comm_create(context, NULL, &comm));
    expect_ok(rnl_comm_release(comm));
    close_device();
}

RNL_TEST(communicators_that_are_too_many_are_refused)
{
    enum { MOST = 1024 };
    static rnl_comm comms[MOST];
    open_device();
    for (int i = 0; i < MOST; i++)
        expect_ok(rnl_comm_create(context, NULL, &comms[i]));
    expect_refused(rnl_comm_create(context, NULL, &comm),
                   RNL_ERROR_OUT_OF_MEMORY, "has 1024 communicators");
    expect_ok(rnl_comm_release(comms[7]));
    expect_ok(rnl_comm_create(context, NULL, &comms[7]));
    for (int i = 0; i < MOST; i++)
        expect_ok(rnl_comm_release(comms[i]));
    await_end();
    close_device();
}

RNL_TEST(a_group_of_too_many_buffers_is_refused)
{
    enum { MOST = 1023 };  // with the communicator
    static rnl_buffer buffers[MOST];
    for (int count = MOST - 1; count <= MOST; count++) {
        open_device();
        expect_ok(rnl_comm_create(context, NULL, &comm));
        expect_ok(rnl_comm_group_begin());
        for (int i = 0; i < count; i++) {
            expect_ok(rnl_buffer_create(context, 4, NULL, &buffers[i]));
            for (int twice = 0; twice < 2; twice++)
                expect_ok(rnl_enqueue_broadcast(
                    stream, comm,
                    RNL_COMM_DATA(.receive = buffers[i], .count = 1,
                                  .element = RNL_ELEMENT_INT32),
                    0));
        }
        if (count < MOST)
            expect_ok(rnl_comm_group_end());
        else
            expect_refused(rnl_comm_group_end(), RNL_ERROR_OUT_OF_RANGE,
                           "1023 buffers and communicators at most");
        expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
        for (int i = 0; i < count; i++)
            expect_ok(rnl_buffer_release(buffers[i]));
        expect_ok(rnl_comm_release(comm));
        close_device();
    }
}

// --- Exit --------------------------------------------------------------------

static void release_at_exit(void)
{
    bool right = fake_mpi.finalized && rnl_comm_release(comm) == RNL_OK &&
                 fake_mpi.late_calls == 0;
    _exit(right ? 7 : 1);
}

// Longer than the library waits for MPI_Finalize.
static void take_time_at_exit(void)
{
    nanosleep(&(struct timespec){.tv_sec = 3, .tv_nsec = 500000000}, NULL);
    _exit(7);
}

// Exit handlers that were registered before the communicator run behind that
// of the library.
static void expect_handler(void (*handler)(void), bool aborts)
{
    pid_t child = test_fork();
    if (child == 0) {
        atexit(handler);
        open_device();
        expect_ok(rnl_comm_create(context, NULL, &comm));
        if (aborts)
            expect_ok(rnl_comm_abort(comm));
        exit(0);
    }
    assert_int_equal(test_wait(child), 7);
}

RNL_TEST(an_exit_handler_releases_behind_mpi_finalize)
{
    expect_handler(release_at_exit, false);
}

RNL_TEST(an_exit_handler_may_outlast_the_wait_for_mpi_finalize)
{
    expect_handler(take_time_at_exit, true);
}
