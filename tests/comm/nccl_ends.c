// How communicators of NCCL and RCCL end, and threads that share one: on the
// fakes. Its abort waits until no stream has a job of any communicator.
#include "nccl_pair.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// A host function that is held.
struct gate {
    _Atomic int entered, open;
};

static void hold(rnl_status status, void *user_data)
{
    struct gate *gate = user_data;
    (void)status;
    gate->entered = 1;
    while (!gate->open)
        sched_yield();
}

static void await_entered(struct gate *gate)
{
    while (!gate->entered)
        sched_yield();
}


// --- Ends that do not wait ---------------------------------------------------

// Each abort waits for the job of the other communicator.
RNL_TEST(late_operations_of_two_communicators_both_fail)
{
    rnl_comm others[2];
    rnl_comm_data data;
    begin_all(RNL_COMM_OPTIONS(.timeout_ns = SECOND / 5));
    expect_ok(rnl_comm_create_all(contexts, 2,
                                  RNL_COMM_OPTIONS(.timeout_ns = SECOND / 5),
                                  others));
    data = data_of(1);
    expect_ok(reduce(0, RNL_REDUCE_SUM));
    expect_ok(
        rnl_enqueue_all_reduce(streams[1], others[1], &data, RNL_REDUCE_SUM));
    for (int i = 0; i < 2; i++)
        expect_failure(i, RNL_ERROR_TIMED_OUT, "not done within");
    for (int i = 0; i < 2; i++)
        expect_ok(rnl_comm_release(others[i]));
    end_all();
}

// An operation of rank `index` behind a host function that is held.
static void reduce_behind(int index, struct gate *gate)
{
    expect_ok(rnl_enqueue_host_function(streams[index], hold, gate));
    await_entered(gate);
    expect_ok(reduce(index, RNL_REDUCE_SUM));
}

RNL_TEST(an_abort_does_not_wait_for_the_stream)
{
    struct gate gate = {0};
    begin_all(NULL);
    reduce_behind(1, &gate);
    expect_ok(rnl_comm_abort(comms[1]));
    gate.open = 1;
    expect_failure(1, RNL_ERROR_CANCELLED, "the communicator was aborted");
    end_all();
}

RNL_TEST(a_release_does_not_wait_for_the_stream)
{
    struct gate gate = {0};
    begin_all(NULL);
    fill(0, 1);
    fill(1, 2);
    reduce_behind(1, &gate);
    expect_ok(reduce(0, RNL_REDUCE_SUM));
    for (int i = 0; i < 2; i++) {
        expect_ok(rnl_comm_release(comms[i]));
        comms[i] = NULL;
    }
    assert_int_equal(control->comms, 2);
    gate.open = 1;
    assert_true(read_at(0, 0) == 3);
    assert_true(read_at(1, 0) == 3);
    end_all();
}

static void release_first(void)
{
    expect_ok(rnl_comm_release(comms[0]));
    comms[0] = NULL;
}

RNL_TEST(a_release_lets_a_group_that_begins_be_done)
{
    begin_all(NULL);
    fill(0, 1);
    fill(1, 2);
    control->in_group = release_first;
    expect_ok(rnl_comm_group_begin());
    expect_ok(reduce(0, RNL_REDUCE_SUM));
    expect_ok(reduce(1, RNL_REDUCE_SUM));
    expect_ok(rnl_comm_group_end());
    assert_true(read_at(0, 0) == 3);
    assert_true(read_at(1, 0) == 3);
    end_all();
}

// The engine cannot destroy such a communicator.
RNL_TEST(a_release_aborts_a_communicator_that_has_an_error)
{
    begin_all(NULL);
    control->async_error = 6;  // ncclRemoteError
    for (int i = 0; i < 2; i++) {
        expect_ok(rnl_comm_release(comms[i]));
        comms[i] = NULL;
    }
    expect_comms(0);
    control->async_error = 0;
    expect_ok(rnl_comm_create_all(contexts, 2, NULL, comms));
    end_all();
}

// --- The end of the process --------------------------------------------------

static _Atomic int may_end;

static void hold_destroy(void)
{
    while (!may_end)
        sched_yield();
}

static void let_end(void)
{
    may_end = 1;
}

static void check_end(void)
{
    _exit(control->comms == 0 ? 0 : 3);
}

// Exit handlers run in the reverse order: let_end, the library's, check_end.
static _Noreturn void exit_while_it_ends(void)
{
    atexit(check_end);
    begin_all(NULL);
    atexit(let_end);
    control->in_destroy = hold_destroy;
    close_device(0);
    close_device(1);
    exit(1);
}

RNL_TEST(a_process_waits_at_its_exit_for_communicators_that_end)
{
    pid_t child = test_fork();
    if (child == 0)
        exit_while_it_ends();
    assert_int_equal(test_wait(child), 0);
}

// --- How an operation begins -------------------------------------------------

static _Thread_local int naps;

// Takes the place of the C library's function.
int nanosleep(const struct timespec *time, struct timespec *left)
{
    naps++;
    return (int)syscall(SYS_nanosleep, time, left);
}

RNL_TEST(an_operation_that_begins_soon_costs_no_nap)
{
    begin_all(NULL);
    control->polls = 20;
    naps = 0;
    for (int i = 0; i < 20; i++) {
        expect_ok(rnl_comm_group_begin());
        expect_ok(reduce(0, RNL_REDUCE_SUM));
        expect_ok(reduce(1, RNL_REDUCE_SUM));
        expect_ok(rnl_comm_group_end());
    }
    assert_int_equal(naps, 0);
    end_all();
}

static void *expect_no_begin(void *unused)
{
    expect_ok(rnl_comm_group_begin());
    expect_ok(reduce(0, RNL_REDUCE_SUM));
    expect_ok(reduce(1, RNL_REDUCE_SUM));
    expect_refused(rnl_comm_group_end(), RNL_ERROR_TIMED_OUT,
                   "waited for other ranks");
    return unused;
}

// The engine uses memory of the thread until the communicators have ended,
// which the fake sees when the thread ends.
RNL_TEST(a_thread_whose_operation_does_not_begin_waits_for_the_engine)
{
    pthread_t thread;
    begin_all(RNL_COMM_OPTIONS(.timeout_ns = SECOND / 5));
    control->polls = 1 << 30;
    assert_int_equal(pthread_create(&thread, NULL, expect_no_begin, NULL), 0);
    pthread_join(thread, NULL);
    end_all();
}

// --- Threads -----------------------------------------------------------------

enum { SENDS = 50 };

static void *send_often(void *unused)
{
    for (int i = 0; i < SENDS; i++)
        expect_ok(
            rnl_enqueue_send(streams[0], comms[0],
                             RNL_COMM_DATA(.send = buffers[0], .count = 1,
                                           .element = RNL_ELEMENT_FLOAT32),
                             1));
    return unused;
}

RNL_TEST(two_threads_share_a_communicator)
{
    pthread_t threads[2];
    begin_all(NULL);
    control->polls = 50;
    fill(0, 9);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, send_often, NULL),
                         0);
    for (int i = 0; i < 2 * SENDS; i++)
        expect_ok(rnl_enqueue_receive(
            streams[1], comms[1],
            RNL_COMM_DATA(.receive = buffers[1], .count = 1,
                          .element = RNL_ELEMENT_FLOAT32),
            0));
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_true(read_at(1, 0) == 9);
    end_all();
}

// A function of the program that waits for the program.
static void hold_log(rnl_log_level level, const char *message, void *gate)
{
    (void)level;
    if (strstr(message, "not done within"))
        hold(RNL_OK, gate);
}

RNL_TEST(a_log_function_may_wait_for_a_call_of_a_communicator)
{
    struct gate gate = {0};
    rnl_comm others[2];
    begin_all(RNL_COMM_OPTIONS(.timeout_ns = SECOND / 5));
    expect_ok(rnl_comm_create_all(contexts, 2, NULL, others));
    expect_ok(rnl_log_set(hold_log, RNL_LOG_DEBUG, &gate));
    expect_ok(reduce(0, RNL_REDUCE_SUM));
    await_entered(&gate);
    rnl_comm_data data = data_of(1);
    expect_ok(
        rnl_enqueue_all_reduce(streams[1], others[1], &data, RNL_REDUCE_SUM));
    expect_ok(rnl_comm_abort(others[1]));
    gate.open = 1;
    expect_failure(0, RNL_ERROR_TIMED_OUT, "not done within");
    expect_failure(1, RNL_ERROR_CANCELLED, "aborted");
    expect_ok(rnl_log_set(NULL, RNL_LOG_DEBUG, NULL));
    for (int i = 0; i < 2; i++)
        expect_ok(rnl_comm_release(others[i]));
    end_all();
}

// --- Failures ----------------------------------------------------------------

// Has calls of the fake driver fail from now on, as fake_fail_fn says.
static void fail_records(size_t first)
{
    bool is_hip = strcmp(api, "hip") == 0;
    void (*fail_calls)(const char *name, size_t n, int code, int then);
    void *driver = dlopen(getenv(is_hip ? "RUNNEL_HIP" : "RUNNEL_CUDA"),
                          RTLD_NOW | RTLD_LOCAL);
    *(void **)&fail_calls = dlsym(driver, "fake_control_fail");
    fail_calls(is_hip ? "hipEventRecord" : "cuEventRecord", first, 2, 1);
}

static void fail_next_record(void)
{
    fail_records(1);
}

// The engine has taken the operation when the driver fails.
RNL_TEST(an_operation_that_nobody_watches_aborts_its_communicator)
{
    rnl_comm_info info = {.struct_size = sizeof info};
    begin_all(NULL);
    control->in_group = fail_next_record;
    expect_refused(reduce(0, RNL_REDUCE_SUM), RNL_ERROR_OUT_OF_MEMORY,
                   "cannot be looked after");
    fail_records(0);
    expect_ok(rnl_comm_get_info(comms[0], &info));
    assert_true(info.aborted);
    expect_failure(0, RNL_ERROR_OUT_OF_MEMORY, "all-reduce of rank 0 of 2");
    end_all();
}

RNL_TEST(the_first_failure_of_a_creation_is_told)
{
    find_control();
    open_device(0);
    open_device(1);
    control->async_error = 6;
    expect_refused(rnl_comm_create_all(contexts, 2, NULL, comms),
                   RNL_ERROR_DRIVER, "ncclCommInitRankConfig of rank 0 of 2");
    control->async_error = 0;
    comms[0] = comms[1] = NULL;
    end_all();
}
