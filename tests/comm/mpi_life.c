// The beginning and the end of MPI, and operations that a rank skips, on a fake
// of one rank.
#include "fake_mpi.h"
#include "ranks.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static rnl_status reduce(rnl_stream on, rnl_buffer buffer)
{
    return rnl_enqueue_all_reduce(on, comm,
                                  RNL_COMM_DATA(.receive = buffer, .count = 1,
                                                .element = RNL_ELEMENT_INT32),
                                  RNL_REDUCE_SUM);
}

static void open_cpu(void)
{
    expect_ok(rnl_context_open("cpu", 0, NULL, &context));
}

// --- Beginning ---------------------------------------------------------------

// MPI_Init_thread knows no limit. A second creation waits for the same call.
RNL_TEST(an_initialisation_that_hangs_ends_at_the_time_limit)
{
    open_cpu();
    fake_mpi.init_hangs = 1;
    for (int i = 0; i < 2; i++)
        expect_refused(
            rnl_comm_create(context,
                            RNL_COMM_OPTIONS(.timeout_ns = SECOND / 50), &comm),
            RNL_ERROR_TIMED_OUT, "MPI_Init_thread");
    fake_mpi.init_hangs = 0;
    expect_ok(rnl_comm_create(context, NULL, &comm));
    assert_int_equal(fake_mpi.inits, 1);
    expect_ok(rnl_comm_release(comm));
    expect_ok(rnl_context_release(context));
}

RNL_TEST(libraries_with_the_abi_of_mpich_are_taken)
{
    static const char *const versions[] = {
        "Intel(R) MPI Library 2021.10 for Linux* OS",
        "MVAPICH2 Version      :\t2.3.7",
        "MPICH Version:      4.0.2",
    };
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        pid_t child = test_fork();
        if (child == 0) {
            fake_mpi.version = versions[i];
            ranks_begin(NULL);
            test_exit(fake_mpi.comms == 1 ? 0 : 1);
        }
        assert_int_equal(test_wait(child), 0);
    }
}

RNL_TEST(an_mpi_that_takes_unsigned_numbers_for_signed_ones_does_not_order_them)
{
    rnl_buffer buffer;
    fake_mpi.misorders = 1;
    ranks_begin(NULL);
    expect_ok(rnl_buffer_create(context, 8, NULL, &buffer));
    for (int element = RNL_ELEMENT_INT8; element <= RNL_ELEMENT_FLOAT64;
         element++) {
        bool is_unsigned = element <= RNL_ELEMENT_UINT64 && element % 2 == 0;
        bool is_half = element == RNL_ELEMENT_FLOAT16 ||
                       element == RNL_ELEMENT_BFLOAT16;
        for (int reduction = RNL_REDUCE_SUM;
             !is_half && reduction <= RNL_REDUCE_MAX; reduction++) {
            rnl_status status = ranks_reduce(buffer, (rnl_element)element,
                                             (rnl_reduction)reduction);
            if (is_unsigned && reduction >= RNL_REDUCE_MIN)
                expect_refused(status, RNL_ERROR_UNSUPPORTED, "with a sign");
            else
                expect_ok(status);
        }
    }
    expect_ok(rnl_buffer_release(buffer));
    ranks_end();
}

RNL_TEST(other_libraries_of_mpi_are_refused_by_name)
{
    const char *library = getenv("TEST_MPI_ABI");
    assert_non_null(library);
    open_cpu();
    fake_mpi.version = "Another MPI 1.0";
    expect_refused(rnl_comm_create(context, NULL, &comm), RNL_ERROR_UNSUPPORTED,
                   "neither Open MPI nor MPICH: Another MPI 1.0");
    setenv("RUNNEL_MPI", library, 1);
    expect_refused(rnl_comm_create(context, NULL, &comm), RNL_ERROR_UNSUPPORTED,
                   "libmpi_abi, whose standard ABI is not supported");
    expect_ok(rnl_context_release(context));
}

// MPI would end the process.
RNL_TEST(what_is_no_communicator_of_one_group_is_refused)
{
    static const int null = 0x04000000, world = 0x44000000;
    open_cpu();
    expect_refused(rnl_comm_create(
                       context, RNL_COMM_OPTIONS(.mpi_comm = &null), &comm),
                   RNL_ERROR_INVALID_ARGUMENT, "is MPI_COMM_NULL");
    fake_mpi.inter = 1;
    expect_refused(rnl_comm_create(
                       context, RNL_COMM_OPTIONS(.mpi_comm = &world), &comm),
                   RNL_ERROR_INVALID_ARGUMENT, "is an intercommunicator");
    expect_ok(rnl_context_release(context));
}

static void *come_as_rank_1(void *out_status)
{
    rnl_comm other;
    *(rnl_status *)out_status = rnl_comm_create(
        context, RNL_COMM_OPTIONS(.rank = 1, .size = 2, .file = "twice"),
        &other);
    return NULL;
}

RNL_TEST(a_process_that_comes_as_two_ranks_is_refused)
{
    pthread_t thread;
    rnl_status status = RNL_OK;
    fake_mpi.size = 2;
    open_cpu();
    assert_int_equal(pthread_create(&thread, NULL, come_as_rank_1, &status), 0);
    expect_refused(
        rnl_comm_create(context, RNL_COMM_OPTIONS(.size = 2, .file = "twice"),
                        &comm),
        RNL_ERROR_INVALID_ARGUMENT, "ranks 0 and 1 come from one process");
    pthread_join(thread, NULL);
    assert_int_equal(status, RNL_ERROR_INVALID_ARGUMENT);
    assert_int_equal(fake_mpi.groups, 0);
    expect_ok(rnl_context_release(context));
}

RNL_TEST(a_creation_that_is_late_names_the_rank_of_the_process)
{
    ranks_begin_mpi();
    open_cpu();
    fake_mpi.rank = 3;
    fake_mpi.size = 4;
    fake_mpi.hangs = 1;
    expect_refused(rnl_comm_create(context,
                                   RNL_COMM_OPTIONS(.timeout_ns = SECOND / 50),
                                   &comm),
                   RNL_ERROR_TIMED_OUT, "rank 3 waited for other ranks");
    expect_ok(rnl_context_release(context));
    quick_exit(0);  // what stays is no leak of this test
}

// --- Operations --------------------------------------------------------------

// Open MPI before 4.1.4 counts them in an int.
RNL_TEST(elements_of_all_ranks_that_are_too_many_are_refused)
{
    enum { RANKS = 1 << 16, COUNT = 1 << 15 };
    const size_t room = (size_t)RANKS * COUNT;
    rnl_buffer large, part;
    fake_mpi.size = RANKS;
    void *memory = mmap(NULL, room, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(memory != MAP_FAILED);
    ranks_begin(NULL);
    expect_ok(rnl_buffer_wrap(context, memory, room, NULL, &large));
    expect_ok(rnl_buffer_create(context, COUNT, NULL, &part));
    const rnl_comm_data gather = {sizeof gather, part,  0,
                                  large,         0,     COUNT,
                                  RNL_ELEMENT_UINT8};
    const rnl_comm_data scatter = {sizeof scatter, large, 0,
                                   part,           0,     COUNT,
                                   RNL_ELEMENT_UINT8};
    expect_refused(rnl_enqueue_all_gather(stream, comm, &gather),
                   RNL_ERROR_OUT_OF_RANGE, "split the operation");
    expect_refused(
        rnl_enqueue_reduce_scatter(stream, comm, &scatter, RNL_REDUCE_SUM),
        RNL_ERROR_OUT_OF_RANGE, "split the operation");
    expect_ok(rnl_buffer_release(part));
    expect_ok(rnl_buffer_release(large));
    ranks_end();
    munmap(memory, room);
}

RNL_TEST(a_message_that_ends_within_an_element_fails_the_receiver)
{
    int *ints;
    ranks_begin(NULL);
    rnl_buffer buffer = ranks_ints(2, &ints);
    fake_mpi.received = -32766;  // MPI_UNDEFINED
    expect_ok(rnl_enqueue_receive(stream, comm,
                                  RNL_COMM_DATA(.receive = buffer, .count = 2,
                                                .element = RNL_ELEMENT_INT32),
                                  0));
    ranks_fails(stream, RNL_ERROR_ARGUMENT_MISMATCH, "the last one came in part");
    rnl_stream_reset_and_wait(stream);
    expect_ok(rnl_buffer_release(buffer));
    ranks_end();
}

// The buffer that is sent is empty, or is the buffer that is received.
RNL_TEST(an_operation_is_in_place_by_its_buffers)
{
    int *ints;
    rnl_buffer empty, slice;
    ranks_begin(NULL);
    rnl_buffer buffer = ranks_ints(4, &ints);
    expect_ok(rnl_buffer_create(context, 0, NULL, &empty));
    expect_ok(rnl_buffer_slice(buffer, 4, 8, &slice));
    rnl_comm_data data = {sizeof data, empty,            0, empty, 0,
                          0,           RNL_ELEMENT_INT32};
    expect_ok(rnl_enqueue_all_reduce(stream, comm, &data, RNL_REDUCE_SUM));
    expect_ok(rnl_enqueue_all_gather(stream, comm, &data));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(fake_mpi.in_place, 0);
    data = (rnl_comm_data){sizeof data, buffer,           4, slice, 0,
                           2,           RNL_ELEMENT_INT32};
    expect_ok(rnl_enqueue_all_reduce(stream, comm, &data, RNL_REDUCE_SUM));
    expect_ok(rnl_enqueue_all_gather(stream, comm, &data));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(fake_mpi.in_place, 2);
    expect_ok(rnl_buffer_release(slice));
    expect_ok(rnl_buffer_release(empty));
    expect_ok(rnl_buffer_release(buffer));
    ranks_end();
}

// --- Operations that are skipped ---------------------------------------------

static void skip_one(rnl_stream on, rnl_buffer buffer)
{
    struct ranks_gate gate = {false};
    expect_ok(rnl_enqueue_host_function(on, ranks_fail_behind_gate, &gate));
    expect_ok(reduce(on, buffer));
    gate.is_open = true;
    ranks_fails(on, RNL_ERROR_LAUNCH_FAILED, "told to fail");
    rnl_stream_reset_and_wait(on);
}

static void expect_abort(rnl_stream on, rnl_buffer buffer)
{
    ranks_fails(on, RNL_ERROR_INVALID_STATE,
                "operation 2 of this rank was skipped, because its stream "
                "failed or was cancelled");
    expect_refused(reduce(on, buffer), RNL_ERROR_INVALID_STATE,
                   "was aborted");
    rnl_stream_reset_and_wait(on);
}

RNL_TEST(an_operation_behind_a_skipped_one_fails)
{
    int *ints;
    rnl_stream second;
    for (int other = 0; other < 2; other++) {
        ranks_begin(NULL);
        rnl_buffer buffer = ranks_ints(1, &ints);
        expect_ok(rnl_stream_create(context, NULL, &second));
        rnl_stream on = other ? second : stream;
        expect_ok(reduce(stream, buffer));
        skip_one(stream, buffer);
        expect_ok(reduce(on, buffer));
        expect_abort(on, buffer);
        expect_ok(rnl_stream_release(second));
        expect_ok(rnl_buffer_release(buffer));
        ranks_end();
    }
}

RNL_TEST(a_group_behind_a_skipped_operation_fails)
{
    int *ints;
    rnl_comm first, calm;
    ranks_begin(NULL);
    rnl_buffer buffer = ranks_ints(1, &ints);
    first = comm;
    expect_ok(rnl_comm_create(context, NULL, &calm));
    expect_ok(reduce(stream, buffer));
    skip_one(stream, buffer);
    expect_ok(rnl_comm_group_begin());
    comm = calm;
    expect_ok(reduce(stream, buffer));
    comm = first;
    expect_ok(reduce(stream, buffer));
    expect_ok(rnl_comm_group_end());
    expect_abort(stream, buffer);
    expect_ok(rnl_comm_release(calm));
    expect_ok(rnl_buffer_release(buffer));
    ranks_end();
}

// A call that returned a failure skips nothing, and neither does a capture.
RNL_TEST(operations_that_were_not_enqueued_are_not_missed)
{
    int *ints;
    rnl_graph graph;
    ranks_begin(NULL);
    rnl_buffer buffer = ranks_ints(1, &ints);
    struct ranks_gate gate = {true};
    expect_ok(rnl_enqueue_host_function(stream, ranks_fail_behind_gate, &gate));
    ranks_fails(stream, RNL_ERROR_LAUNCH_FAILED, "told to fail");
    expect_refused(reduce(stream, buffer), RNL_ERROR_LAUNCH_FAILED,
                   "told to fail");
    rnl_stream_reset_and_wait(stream);
    expect_ok(rnl_stream_begin_capture(stream, NULL));
    expect_ok(reduce(stream, buffer));
    expect_ok(rnl_stream_end_capture(stream, &graph));
    expect_ok(rnl_graph_release(graph));
    expect_ok(reduce(stream, buffer));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    expect_ok(rnl_buffer_release(buffer));
    ranks_end();
}

enum { THREADS = 3, ROUNDS = 200 };

static void *reduce_often(void *buffer)
{
    rnl_stream own;
    size_t failures = 0;
    expect_ok(rnl_stream_create(context, NULL, &own));
    for (int i = 0; i < ROUNDS; i++)
        if (i % 4) {
            failures += reduce(own, buffer) != RNL_OK;
        } else {
            failures += rnl_comm_group_begin() != RNL_OK;
            failures += reduce(own, buffer) != RNL_OK;
            failures += rnl_comm_group_end() != RNL_OK;
        }
    failures += rnl_stream_synchronize(own, RNL_FOREVER) != RNL_OK;
    rnl_stream_release(own);
    return (void *)failures;
}

// Their order is any, but one.
RNL_TEST(operations_of_several_threads_are_not_taken_for_skipped)
{
    int *ints;
    pthread_t threads[THREADS];
    ranks_begin(NULL);
    rnl_buffer buffer = ranks_ints(1, &ints);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, reduce_often, buffer), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failures;
        pthread_join(threads[i], &failures);
        assert_null(failures);
    }
    expect_ok(rnl_buffer_release(buffer));
    ranks_end();
}

// --- End ---------------------------------------------------------------------

// Has a thread of the pool wait for an operation that is not done.
static void begin_hanging(void)
{
    enum { COUNT = 1 << 18 };
    int *ints;
    long before = fake_mpi.calls;
    rnl_buffer buffer = ranks_ints(COUNT, &ints);
    fake_mpi.hangs = 1;
    expect_ok(rnl_enqueue_all_reduce(
        stream, comm,
        RNL_COMM_DATA(.receive = buffer, .count = COUNT,
                      .element = RNL_ELEMENT_INT32),
        RNL_REDUCE_SUM));
    expect_ok(rnl_buffer_release(buffer));
    while (fake_mpi.calls < before + 100)
        sched_yield();
}

RNL_TEST(mpi_finalize_ends_operations_in_flight)
{
    ranks_begin(NULL);
    begin_hanging();
    MPI_Finalize();
    ranks_fails(stream, RNL_ERROR_INVALID_STATE, "MPI is finalized");
    assert_int_equal(fake_mpi.late_calls, 0);
    ranks_end();
}

static void go_on(void)
{
    fake_mpi.hangs = 0;
}

RNL_TEST(mpi_finalize_waits_for_communicators_that_were_released)
{
    ranks_begin(NULL);
    begin_hanging();
    expect_ok(rnl_comm_release(comm));
    comm = NULL;
    fake_mpi.at_end = go_on;
    MPI_Finalize();
    assert_int_equal(fake_mpi.comms, 0);
    assert_int_equal(fake_mpi.late_calls, 0);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    ranks_end();
}

// Runs behind the exit handler of the library, which was registered later.
static void expect_end_of_operation(void)
{
    bool right = fake_mpi.finalized &&
                 rnl_stream_synchronize(stream, 20 * SECOND) ==
                     RNL_ERROR_INVALID_STATE &&
                 fake_mpi.late_calls == 0;
    _exit(right ? 7 : 1);
}

RNL_TEST(exit_ends_operations_in_flight)
{
    pid_t child = test_fork();
    if (child == 0) {
        atexit(expect_end_of_operation);
        ranks_begin(NULL);
        begin_hanging();
        exit(0);
    }
    assert_int_equal(test_wait(child), 7);
}

static rnl_status released = RNL_NOT_READY;

static void release_now(void)
{
    released = rnl_comm_release(comm);
}

static void expect_release(void)
{
    bool right =
        fake_mpi.finalized && released == RNL_OK && fake_mpi.late_calls == 0;
    _exit(right ? 7 : 1);
}

// As a delete function of an attribute may do.
RNL_TEST(a_communicator_may_be_released_within_mpi_finalize)
{
    pid_t child = test_fork();
    if (child == 0) {
        atexit(expect_release);
        fake_mpi.at_end = release_now;
        ranks_begin(NULL);
        exit(0);
    }
    assert_int_equal(test_wait(child), 7);
}

static _Atomic bool is_locked;

static void *lock_input(void *unused)
{
    (void)unused;
    flockfile(stdin);
    is_locked = true;
    for (;;)
        pause();
    return NULL;
}

static void exit_where_mpi_hangs(const int ends[2])
{
    pthread_t thread;
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    ranks_begin(NULL);
    expect_ok(rnl_comm_abort(comm));
    fake_mpi.finalize_hangs = 1;
    assert_int_equal(pthread_create(&thread, NULL, lock_input, NULL), 0);
    while (!is_locked)
        sched_yield();
    printf("last words");
    fprintf(fdopen(ends[1], "w"), "of a file");
    exit(7);
}

// With its status and output, though a thread reads from a terminal.
RNL_TEST(a_process_ends_where_mpi_finalize_hangs)
{
    int ends[2];
    char text[200] = "";
    size_t length = 0;
    ssize_t count;
    fflush(stdout);
    assert_int_equal(pipe(ends), 0);
    pid_t child = test_fork();
    if (child == 0)
        exit_where_mpi_hangs(ends);
    close(ends[1]);
    while ((count = read(ends[0], text + length, sizeof text - 1 - length)) > 0)
        length += (size_t)count;
    close(ends[0]);
    assert_int_equal(test_wait(child), 7);
    assert_non_null(strstr(text, "last words"));
    assert_non_null(strstr(text, "of a file"));
}
