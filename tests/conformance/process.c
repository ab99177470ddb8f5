// The life of the process: exit with work in flight, fork, exec. Each child is
// a process of its own whose exit status tells.
#include "suite.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

// Work that is in flight for as long as the process lives.
static rnl_stream keep_busy(void)
{
    rnl_stream stream = suite_new_stream();
    rnl_buffer buffer = suite_new_buffer(1 << 20);
    struct gate *gate = gate_shut(stream);
    for (int i = 0; i < 100; i++)
        expect_ok(rnl_enqueue_fill(stream, buffer, 0, 1 << 20, 1, 4));
    gate_wait_entered(gate);
    return stream;
}

SUITE_CHILD(child_returns_idle)
{
    suite_context();
    suite_new_stream();
    suite_new_buffer(64);
}

SUITE_CHILD(child_returns_busy)
{
    keep_busy();
}

SUITE_CHILD(child_exits_busy)
{
    keep_busy();
    exit(42);
}

SUITE_CHILD(child_quick_exits_busy)
{
    keep_busy();
    quick_exit(43);
}

SUITE_CHILD(child_underscore_exits_busy)
{
    keep_busy();
    _exit(44);
}

SUITE_CHILD(child_exits_with_kernels_running)
{
    rnl_stream stream = suite_new_stream();
    rnl_buffer buffer = suite_new_buffer(64 << 20);
    // No more than a GPU's driver takes without waiting for some to be done.
    for (int i = 0; i < 900; i++)
        expect_ok(rnl_enqueue_fill(stream, buffer, 0, 64 << 20, 1, 4));
    exit(45);
}

RNL_TEST(a_process_may_end_at_any_moment)
{
    const struct {
        const char *child;
        int status;
    } rows[] = {{"child_returns_idle", 0},
                {"child_returns_busy", 0},
                {"child_exits_busy", 42},
                {"child_quick_exits_busy", 43},
                {"child_underscore_exits_busy", 44},
                {"child_exits_with_kernels_running", 45}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(suite_spawn(rows[i].child, NULL), rows[i].status);
}

static void exit_from_here(rnl_status status, void *user_data)
{
    (void)status;
    exit(*(int *)user_data);
}

SUITE_CHILD(child_exits_from_a_host_function)
{
    static int status = 46;
    rnl_stream stream = suite_new_stream();
    expect_ok(rnl_enqueue_host_function(stream, exit_from_here, &status));
    rnl_stream_synchronize(stream, RNL_FOREVER);
    pause();
}

RNL_TEST(a_host_function_may_end_the_process)
{
    assert_int_equal(suite_spawn("child_exits_from_a_host_function", NULL),
                     46);
}

static rnl_context context_at_exit;

static void use_at_exit(void)
{
    rnl_stream stream = NULL;
    if (rnl_context_default_stream(context_at_exit, &stream) != RNL_OK ||
        rnl_stream_synchronize(stream, RNL_FOREVER) != RNL_OK ||
        rnl_context_release(context_at_exit) != RNL_OK)
        _exit(1);
    _exit(47);
}

SUITE_CHILD(child_uses_the_library_at_exit)
{
    atexit(use_at_exit);
    context_at_exit = suite_open(NULL);
    exit(0);
}

RNL_TEST(an_exit_handler_may_use_the_library)
{
    assert_int_equal(suite_spawn("child_uses_the_library_at_exit", NULL), 47);
}

static void *wait_for_ever(void *stream)
{
    rnl_stream_synchronize(stream, RNL_FOREVER);
    return NULL;
}

SUITE_CHILD(child_exits_while_a_thread_waits)
{
    pthread_t thread;
    rnl_stream stream = keep_busy();
    pthread_create(&thread, NULL, wait_for_ever, stream);
    pthread_detach(thread);  // a GPU may end its wait first
    exit(48);
}

RNL_TEST(a_waiting_thread_does_not_hold_the_process)
{
    assert_int_equal(suite_spawn("child_exits_while_a_thread_waits", NULL),
                     48);
}

static void *end_by_return(void *stream)
{
    return rnl_stream_query(stream) == RNL_NOT_READY ? stream : NULL;
}

SUITE_CHILD(child_ends_main_thread_only)
{
    pthread_t thread;
    void *result = NULL;
    rnl_stream stream = keep_busy();
    pthread_create(&thread, NULL, end_by_return, stream);
    pthread_join(thread, &result);
    _exit(result ? 49 : 1);
}

RNL_TEST(a_thread_that_used_the_library_may_end)
{
    assert_int_equal(suite_spawn("child_ends_main_thread_only", NULL), 49);
}

// --- fork ------------------------------------------------------------------

static struct {
    rnl_context context;
    rnl_stream stream;
    rnl_event event;
    rnl_buffer buffer;
} parents;

// 0 when each call on the parent's objects says FORKED, otherwise the number of
// the first that does not.
static int use_parents_objects(void)
{
    int memory[4] = {0};
    void *pointer = NULL;
    rnl_stream stream = NULL;
    rnl_stream_info info = {.struct_size = sizeof info};
    const rnl_status statuses[] = {
        rnl_context_synchronize(parents.context, RNL_FOREVER),
        rnl_stream_create(parents.context, NULL, &stream),
        rnl_stream_query(parents.stream),
        rnl_stream_synchronize(parents.stream, RNL_FOREVER),
        rnl_stream_get_info(parents.stream, &info),
        rnl_enqueue_host_function(parents.stream, count_host_call, NULL),
        rnl_enqueue_fill(parents.stream, parents.buffer, 0, 16, 0, 4),
        rnl_copy_from_buffer_and_wait(parents.stream, memory, parents.buffer,
                                      0, 16),
        rnl_buffer_host_pointer(parents.buffer, &pointer),
        rnl_event_query(parents.event),
        rnl_event_synchronize(parents.event, RNL_FOREVER),
        rnl_enqueue_event_record(parents.stream, parents.event),
        rnl_stream_retain(parents.stream),
        rnl_buffer_retain(parents.buffer),
    };
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        if (statuses[i] != RNL_ERROR_FORKED)
            return (int)i + 1;
    if (rnl_last_error()->status != RNL_ERROR_FORKED)
        return 100;
    return strlen(rnl_last_error()->message) < 12 ? 101 : 0;
}

static int use_new_context(void)
{
    rnl_context context = NULL;
    rnl_stream stream = NULL;
    rnl_buffer buffer = NULL;
    int memory[4] = {0};
    if (rnl_context_open("cpu", 0, NULL, &context) != RNL_OK)
        return 1;
    if (rnl_context_default_stream(context, &stream) != RNL_OK)
        return 2;
    if (rnl_buffer_create(context, 16, NULL, &buffer) != RNL_OK)
        return 3;
    if (rnl_enqueue_fill(stream, buffer, 0, 16, 6, 4) != RNL_OK)
        return 4;
    if (rnl_copy_from_buffer_and_wait(stream, memory, buffer, 0, 16) !=
        RNL_OK)
        return 5;
    if (memory[3] != 6)
        return 6;
    struct host_calls calls = {0, -1};
    if (rnl_enqueue_host_function(stream, count_host_call, &calls) != RNL_OK)
        return 7;
    if (rnl_stream_synchronize(stream, 20 * 1000000000ull) != RNL_OK)
        return 8;
    if (calls.count != 1)
        return 9;
    if (rnl_buffer_release(buffer) != RNL_OK)
        return 10;
    if (rnl_context_release(context) != RNL_OK)
        return 11;
    return 0;
}

static void make_parents_objects(void)
{
    parents.context = suite_context();
    parents.stream = suite_new_stream();
    parents.event = suite_new_event();
    parents.buffer = suite_ints(4, 1);
}

static void check_parents_objects(void)
{
    expect_ok(rnl_stream_synchronize(parents.stream, RNL_FOREVER));
    expect_ok(rnl_event_query(parents.event));
    suite_expect_ints(parents.buffer, 4, 1);
    expect_ok(rnl_stream_release(parents.stream));
    expect_ok(rnl_event_release(parents.event));
    expect_ok(rnl_buffer_release(parents.buffer));
}

RNL_TEST(a_child_may_not_use_its_parents_objects)
{
    make_parents_objects();
    assert_int_equal(suite_fork(use_parents_objects), 0);
    check_parents_objects();
}

RNL_TEST(a_child_may_open_a_new_context)
{
    make_parents_objects();
    assert_int_equal(suite_fork(use_new_context), 0);
    check_parents_objects();
}

static int use_both(void)
{
    int result = use_parents_objects();
    if (!result)
        result = use_new_context();
    return result ? result : use_parents_objects();
}

RNL_TEST(a_new_context_does_not_revive_the_parents_objects)
{
    make_parents_objects();
    assert_int_equal(suite_fork(use_both), 0);
    check_parents_objects();
}

static int release_parents_objects(void)
{
    // A child's clean-up code does this: no crash, no hang, whatever it says.
    rnl_buffer_release(parents.buffer);
    rnl_event_release(parents.event);
    rnl_stream_release(parents.stream);
    rnl_context_release(parents.context);
    rnl_trim(NULL);
    return 0;
}

RNL_TEST(a_child_that_releases_its_parents_objects_harms_nobody)
{
    make_parents_objects();
    assert_int_equal(suite_fork(release_parents_objects), 0);
    check_parents_objects();
}

RNL_TEST(a_fork_while_work_is_in_flight)
{
    make_parents_objects();
    rnl_stream stream = suite_new_stream();
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_enqueue_fill(stream, parents.buffer, 0, 16, 1, 4));
    gate_wait_entered(gate);
    assert_int_equal(suite_fork(use_both), 0);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_stream_release(stream));
    check_parents_objects();
}

static int exit_normally(void)
{
    // Runs the exit handlers that the parent registered.
    fflush(NULL);
    exit(5);
}

RNL_TEST(a_forked_child_exits_normally)
{
    make_parents_objects();
    rnl_stream stream = suite_new_stream();
    struct gate *gate = gate_shut(stream);
    assert_int_equal(suite_fork(exit_normally), 5);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_stream_release(stream));
    check_parents_objects();
}

static int fork_once_more(void)
{
    rnl_context context = NULL;
    if (rnl_context_open("cpu", 0, NULL, &context) != RNL_OK)
        return 1;
    parents.context = context;
    if (rnl_stream_create(context, NULL, &parents.stream) != RNL_OK ||
        rnl_event_create(context, NULL, &parents.event) != RNL_OK ||
        rnl_buffer_create(context, 16, NULL, &parents.buffer) != RNL_OK)
        return 2;
    pid_t pid = test_fork();
    if (pid == 0)
        _exit(use_both());
    return test_wait(pid);
}

RNL_TEST(a_child_of_a_child)
{
    suite_context();
    assert_int_equal(suite_fork(fork_once_more), 0);
}

static void *fill_again_and_again(void *stop)
{
    rnl_stream stream = NULL;
    rnl_buffer buffer = NULL;
    rnl_stream_create(suite_context(), NULL, &stream);
    rnl_buffer_create(suite_context(), 64, NULL, &buffer);
    while (!atomic_load((_Atomic bool *)stop))
        rnl_fill_and_wait(stream, buffer, 0, 64, 1, 4);
    rnl_buffer_release(buffer);
    rnl_stream_release(stream);
    return NULL;
}

// The child must not inherit a lock that another thread held.
RNL_TEST(forks_while_other_threads_call_the_library)
{
    _Atomic bool stop = false;
    pthread_t thread;
    suite_context();
    assert_int_equal(pthread_create(&thread, NULL, fill_again_and_again,
                                    &stop), 0);
    int result = 0;
    for (int i = 0; i < 20 && !result; i++)
        result = suite_fork(use_new_context);
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    assert_int_equal(result, 0);
}

RNL_TEST(a_fork_before_any_use)
{
    assert_int_equal(suite_fork(use_new_context), 0);
    suite_context();
}
