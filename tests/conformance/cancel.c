// rnl_stream_cancel: what a stream has in flight ends, whatever it waits for,
// and nothing else does. Kernels that are stopped are in tests/faults.
#include "graphs.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static void need_cancel(void)
{
    suite_need(RNL_FEATURE_CANCEL);
}

static rnl_event promise(void)
{
    rnl_event event = NULL;
    suite_need(RNL_FEATURE_PROMISES);
    expect_ok(rnl_event_create(suite_context(),
                               RNL_EVENT_OPTIONS(.promise = true), &event));
    return event;
}

// The stream was cancelled, and works again after a reset.
static void expect_cancelled(rnl_stream stream, const char *words)
{
    assert_status(rnl_stream_synchronize(stream, RNL_FOREVER),
                  RNL_ERROR_CANCELLED);
    assert_non_null(strstr(rnl_last_error()->message, words));
    assert_status(rnl_stream_query(stream), RNL_ERROR_CANCELLED);
    struct host_calls calls = {0, -1};
    expect_ok(rnl_stream_reset_and_wait(stream));
    expect_ok(rnl_enqueue_host_function(stream, count_host_call, &calls));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(calls.status, RNL_OK);
}

// --- Where it cannot be ----------------------------------------------------

RNL_TEST(a_device_that_cannot_cancel_says_why)
{
    const char *reason = NULL;
    if (rnl_context_supports(suite_context(), RNL_FEATURE_CANCEL, &reason) ==
        RNL_OK)
        test_skip("the device can cancel");
    assert_true(strlen(reason) > 8);
    expect_error(rnl_stream_cancel(suite_stream()), RNL_ERROR_UNSUPPORTED,
                 "stream");
    assert_non_null(strstr(rnl_last_error()->message, reason));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
}

RNL_TEST(a_device_that_cannot_stop_kernels_has_no_limit)
{
    const char *reason = NULL;
    rnl_context context = NULL;
    if (rnl_context_supports(suite_context(), RNL_FEATURE_KERNEL_LIMIT,
                             &reason) == RNL_OK)
        test_skip("the device can stop kernels");
    expect_error(rnl_context_create(
                     suite_device(),
                     RNL_CONTEXT_OPTIONS(.kernel_limit_ns = 1000000000),
                     &context),
                 RNL_ERROR_UNSUPPORTED, "options");
    assert_non_null(strstr(rnl_last_error()->message, reason));
    assert_null(context);
}

// --- What is waited for ----------------------------------------------------

RNL_TEST(an_idle_stream_has_nothing_to_cancel)
{
    need_cancel();
    rnl_buffer buffer = suite_ints(4, 1);
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_ok(rnl_stream_cancel(suite_stream()));
    expect_ok(rnl_stream_query(suite_stream()));
    suite_expect_ints(buffer, 4, 1);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_cancel_ends_a_wait_for_a_promise)
{
    need_cancel();
    rnl_stream stream = suite_new_stream(), other = suite_new_stream();
    rnl_event event = promise();
    for (int round = 0; round < 3; round++) {
        expect_ok(rnl_enqueue_wait_event(stream, event));
        expect_ok(rnl_enqueue_wait_event(other, event));
        if (round == 1)
            assert_status(rnl_stream_query(stream), RNL_NOT_READY);
        if (round == 2)
            assert_status(rnl_stream_synchronize(stream, 1000000),
                          RNL_ERROR_TIMED_OUT);
        expect_ok(rnl_stream_cancel(stream));
        expect_cancelled(stream, "cancelled");
    }
    assert_status(rnl_stream_query(other), RNL_NOT_READY);
    expect_ok(rnl_enqueue_event_record(stream, event));
    expect_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_stream_release(other));
}

RNL_TEST(a_cancel_ends_a_wait_for_a_value)
{
    need_cancel();
    suite_need(RNL_FEATURE_MEMORY_OPERATIONS);
    rnl_stream stream = suite_new_stream(), other = suite_new_stream();
    rnl_buffer words = suite_ints(4, 0);
    for (int round = 0; round < 3; round++) {
        expect_ok(rnl_enqueue_write_value32(stream, words, 4, 3));
        expect_ok(rnl_enqueue_wait_value32(stream, words, 0, 1, RNL_WAIT_EQ));
        expect_ok(rnl_enqueue_wait_value32(other, words, 0, 1, RNL_WAIT_EQ));
        expect_ok(rnl_enqueue_write_value32(stream, words, 8, 3));
        if (round == 2)
            assert_status(rnl_stream_synchronize(stream, 1000000),
                          RNL_ERROR_TIMED_OUT);
        expect_ok(rnl_stream_cancel(stream));
        expect_cancelled(stream, "cancelled");
    }
    expect_ok(rnl_enqueue_write_value32(stream, words, 0, 1));
    expect_ok(rnl_stream_flush(stream));
    expect_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    int seen[4];
    suite_download(seen, words, sizeof seen);
    assert_int_equal(seen[2], 0);
    expect_ok(rnl_buffer_release(words));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_stream_release(other));
}

RNL_TEST(a_cancel_ends_a_wait_for_a_stream)
{
    need_cancel();
    rnl_stream stream = suite_new_stream(), third = suite_new_stream();
    struct gate *gate = gate_shut(suite_stream());
    gate_wait_entered(gate);
    expect_ok(rnl_enqueue_wait_stream(stream, suite_stream()));
    expect_ok(rnl_enqueue_wait_stream(third, stream));
    assert_status(rnl_stream_synchronize(stream, 1000000),
                  RNL_ERROR_TIMED_OUT);
    expect_ok(rnl_stream_cancel(stream));
    assert_status(rnl_stream_synchronize(third, RNL_FOREVER),
                  RNL_ERROR_DEPENDENCY_FAILED);
    expect_cancelled(stream, "while it waited");
    assert_status(rnl_stream_query(suite_stream()), RNL_NOT_READY);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_stream_release(third));
}

// --- What is behind --------------------------------------------------------

RNL_TEST(a_host_function_ends_by_itself_and_others_get_the_status)
{
    need_cancel();
    rnl_buffer buffer = suite_ints(4, 5);
    struct host_calls calls = {0, -1};
    struct gate *gate = gate_shut(suite_stream());
    gate_wait_entered(gate);
    expect_ok(rnl_enqueue_fill(suite_stream(), buffer, 0, 16, 6, 4));
    expect_ok(rnl_enqueue_host_function(suite_stream(), count_host_call,
                                        &calls));
    expect_ok(rnl_stream_cancel(suite_stream()));
    assert_status(rnl_stream_synchronize(suite_stream(), 1000000),
                  RNL_ERROR_TIMED_OUT);
    gate_open(gate);
    assert_status(rnl_stream_synchronize(suite_stream(), RNL_FOREVER),
                  RNL_ERROR_CANCELLED);
    const rnl_error *error = rnl_last_error();
    assert_string_equal(error->operation_name, "fill");
    assert_non_null(strstr(error->message, "before it had begun"));
    assert_int_equal(calls.count, 1);
    assert_int_equal(calls.status, RNL_ERROR_CANCELLED);
    gate_free(gate);
    expect_ok(rnl_stream_reset_and_wait(suite_stream()));
    suite_expect_ints(buffer, 4, 5);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(what_comes_after_a_cancel_fails_and_runs_after_a_reset)
{
    need_cancel();
    rnl_buffer buffer = suite_ints(4, 5);
    rnl_event event = promise();
    expect_ok(rnl_enqueue_wait_event(suite_stream(), event));
    expect_ok(rnl_stream_cancel(suite_stream()));
    assert_status(rnl_stream_synchronize(suite_stream(), RNL_FOREVER),
                  RNL_ERROR_CANCELLED);
    expect_error(rnl_enqueue_fill(suite_stream(), buffer, 0, 16, 6, 4),
                 RNL_ERROR_CANCELLED, NULL);
    expect_ok(rnl_stream_cancel(suite_stream()));
    expect_cancelled(suite_stream(), "wait");
    expect_ok(rnl_enqueue_fill(suite_stream(), buffer, 0, 16, 6, 4));
    suite_expect_ints(buffer, 4, 6);
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(events_of_a_cancelled_stream_fail)
{
    need_cancel();
    rnl_stream stream = suite_new_stream();
    rnl_event never = promise(), event = suite_new_event();
    expect_ok(rnl_enqueue_wait_event(stream, never));
    expect_ok(rnl_enqueue_event_record(stream, event));
    expect_ok(rnl_enqueue_wait_event(suite_stream(), event));
    expect_ok(rnl_stream_cancel(stream));
    assert_status(rnl_event_synchronize(event, RNL_FOREVER),
                  RNL_ERROR_CANCELLED);
    assert_status(rnl_stream_synchronize(suite_stream(), RNL_FOREVER),
                  RNL_ERROR_DEPENDENCY_FAILED);
    expect_cancelled(stream, "wait");
    expect_ok(rnl_event_release(never));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_stream_release(stream));
}

static atomic_int blocks_begun, blocks_go_on;

static rnl_status hold_block(const rnl_native_call *call)
{
    atomic_fetch_add(&blocks_begun, (int)call->block_count);
    while (!atomic_load(&blocks_go_on))
        sched_yield();
    return RNL_OK;
}

// Some are held, the others are not begun.
RNL_TEST(blocks_that_have_not_begun_are_dropped)
{
    need_cancel();
    rnl_function function = suite_native("hold", hold_block, NULL);
    atomic_store(&blocks_begun, 0);
    atomic_store(&blocks_go_on, 0);
    expect_ok(rnl_enqueue_function(
        suite_stream(), function,
        RNL_LAUNCH(.grid = {1 << 20}, .block = {1}, .label = "many"),
        RNL_NO_ARGS));
    assert_status(rnl_stream_query(suite_stream()), RNL_NOT_READY);
    while (atomic_load(&blocks_begun) == 0)
        sched_yield();
    expect_ok(rnl_stream_cancel(suite_stream()));
    atomic_store(&blocks_go_on, 1);
    assert_status(rnl_stream_synchronize(suite_stream(), RNL_FOREVER),
                  RNL_ERROR_CANCELLED);
    assert_string_equal(rnl_last_error()->operation_name, "hold");
    assert_string_equal(rnl_last_error()->operation_label, "many");
    assert_in_range(atomic_load(&blocks_begun), 1, 1 << 19);
    expect_cancelled(suite_stream(), "the rest of it was not begun");
    expect_ok(rnl_function_release(function));
}

// --- Graphs ----------------------------------------------------------------

RNL_TEST(a_cancel_ends_what_a_graph_waits_for)
{
    need_cancel();
    suite_need(RNL_FEATURE_MEMORY_OPERATIONS);
    rnl_graph graph = new_graph();
    rnl_buffer words = suite_ints(4, 0);
    rnl_stream held = suite_new_stream();
    rnl_event late = suite_new_event();
    struct host_calls calls = {0, -1};
    struct gate *gate = gate_shut(held);
    gate_wait_entered(gate);
    expect_ok(rnl_enqueue_event_record(held, late));
    const rnl_value_op wait = {.struct_size = sizeof wait,
                               .action = RNL_WAIT_EQ, .width = 32,
                               .buffer = words, .value = 1};
    rnl_node values = {0}, events, last;
    expect_ok(rnl_graph_add_node(graph, RNL_AT_START,
                                 RNL_NODE(.kind = RNL_NODE_VALUES,
                                          .values = &wait, .value_count = 1),
                                 &values));
    events = event_node(graph, RNL_NODE_EVENT_WAIT, RNL_AT_START, late);
    last = fill_node(graph, RNL_AFTER(values, events), words, 7);
    host_node(graph, RNL_AFTER(last), count_host_call, &calls);
    rnl_graph_exec exec = instantiate(graph);
    for (int round = 0; round < 3; round++) {
        expect_ok(rnl_enqueue_graph(suite_stream(), exec));
        if (round == 1)
            assert_status(rnl_stream_synchronize(suite_stream(), 1000000),
                          RNL_ERROR_TIMED_OUT);
        expect_ok(rnl_stream_cancel(suite_stream()));
        expect_cancelled(suite_stream(), "cancelled");
        assert_int_equal(calls.count, round + 1);
        assert_int_equal(calls.status, RNL_ERROR_CANCELLED);
    }
    suite_expect_ints(words, 1, 0);
    gate_open(gate);
    expect_ok(rnl_enqueue_write_value32(suite_stream(), words, 0, 1));
    launch_and_wait(exec);
    suite_expect_ints(words, 1, 7);
    assert_int_equal(calls.status, RNL_OK);
    drop_both(graph, exec);
    expect_ok(rnl_stream_synchronize(held, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_event_release(late));
    expect_ok(rnl_stream_release(held));
    expect_ok(rnl_buffer_release(words));
}

RNL_TEST(a_loop_of_a_graph_without_end_is_cancelled)
{
    need_cancel();
    rnl_function adder = new_adder();
    rnl_buffer word = suite_ints(1, 1), sum = suite_ints(1, 0);
    rnl_graph graph = new_graph(), body = NULL;
    body_node(graph, RNL_NODE_WHILE, RNL_AT_START, word, &body);
    add_node(body, RNL_AT_START, adder, sum, 1);
    rnl_graph_exec exec = instantiate(graph);
    for (int round = 0; round < 3; round++) {
        expect_ok(rnl_enqueue_graph(suite_stream(), exec));
        assert_status(rnl_stream_query(suite_stream()), RNL_NOT_READY);
        expect_ok(rnl_stream_cancel(suite_stream()));
        expect_cancelled(suite_stream(), "cancelled");
    }
    drop_both(graph, exec);
    expect_ok(rnl_function_release(adder));
    expect_ok(rnl_buffer_release(word));
    expect_ok(rnl_buffer_release(sum));
}

static atomic_bool loop_begun;

static rnl_status note_loop(const rnl_native_call *call)
{
    (void)call;
    atomic_store(&loop_begun, true);
    return RNL_OK;
}

// Each body asks only the one around it.
RNL_TEST(a_loop_within_a_body_is_cancelled)
{
    need_cancel();
    rnl_function noter = suite_native("note", note_loop, NULL);
    rnl_buffer word = suite_ints(1, 1);
    rnl_graph graph = new_graph(), outer = NULL, inner = NULL;
    rnl_node node = {0};
    body_node(graph, RNL_NODE_IF, RNL_AT_START, word, &outer);
    body_node(outer, RNL_NODE_WHILE, RNL_AT_START, word, &inner);
    expect_ok(rnl_graph_add_node(
        inner, RNL_AT_START,
        RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = noter,
                 .launch = one_thread(), .args = RNL_NO_ARGS), &node));
    rnl_graph_exec exec = instantiate(graph);
    for (int round = 0; round < 3; round++) {
        atomic_store(&loop_begun, false);
        expect_ok(rnl_enqueue_graph(suite_stream(), exec));
        assert_status(rnl_stream_query(suite_stream()), RNL_NOT_READY);
        while (!atomic_load(&loop_begun))
            sched_yield();
        expect_ok(rnl_stream_cancel(suite_stream()));
        expect_cancelled(suite_stream(), "cancelled");
    }
    drop_both(graph, exec);
    expect_ok(rnl_function_release(noter));
    expect_ok(rnl_buffer_release(word));
}

RNL_TEST(a_cancelled_launch_leaves_the_executable_graph_to_others)
{
    need_cancel();
    rnl_stream other = suite_new_stream();
    rnl_buffer word = suite_ints(1, 0);
    rnl_graph graph = new_graph();
    fill_node(graph, RNL_AT_START, word, 9);
    rnl_graph_exec exec = instantiate(graph);
    struct gate *gate = gate_shut(suite_stream());
    gate_wait_entered(gate);
    expect_ok(rnl_enqueue_graph(suite_stream(), exec));
    expect_ok(rnl_enqueue_graph(other, exec));
    expect_ok(rnl_stream_cancel(other));
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_cancelled(other, "cancelled");
    suite_expect_ints(word, 1, 9);
    gate_free(gate);
    drop_both(graph, exec);
    expect_ok(rnl_buffer_release(word));
    expect_ok(rnl_stream_release(other));
}

// --- Other threads ---------------------------------------------------------

enum { WAITERS = 8, RACES = 200 };

static void *cancel_all(void *argument)
{
    rnl_stream *streams = argument;
    for (int i = 0; i < WAITERS; i++)
        if (rnl_stream_cancel(streams[i]) != RNL_OK)
            return argument;
    return NULL;
}

// What they wait for comes at the same time.
RNL_TEST(a_cancel_races_what_is_waited_for)
{
    need_cancel();
    suite_need(RNL_FEATURE_MEMORY_OPERATIONS);
    rnl_stream streams[WAITERS];
    rnl_buffer word = suite_ints(1, 0);
    for (int i = 0; i < WAITERS; i++)
        streams[i] = suite_new_stream();
    for (int round = 0; round < RACES; round++) {
        rnl_event event = promise();
        pthread_t thread;
        void *wrong = NULL;
        for (int i = 0; i < WAITERS; i++)
            expect_ok(i % 2 ? rnl_enqueue_wait_event(streams[i], event)
                            : rnl_enqueue_wait_value32(
                                  streams[i], word, 0, (uint32_t)round + 1,
                                  RNL_WAIT_EQ));
        assert_int_equal(pthread_create(&thread, NULL, cancel_all, streams),
                         0);
        expect_ok(rnl_enqueue_write_value32(suite_stream(), word, 0,
                                            (uint32_t)round + 1));
        expect_ok(rnl_enqueue_event_record(suite_stream(), event));
        for (int i = 0; i < WAITERS; i++) {
            rnl_status status = rnl_stream_synchronize(streams[i],
                                                       RNL_FOREVER);
            assert_true(status == RNL_OK || status == RNL_ERROR_CANCELLED);
        }
        assert_int_equal(pthread_join(thread, &wrong), 0);
        assert_null(wrong);
        for (int i = 0; i < WAITERS; i++)
            expect_ok(rnl_stream_reset_and_wait(streams[i]));
        expect_ok(rnl_event_release(event));
    }
    for (int i = 0; i < WAITERS; i++)
        expect_ok(rnl_stream_release(streams[i]));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_ok(rnl_buffer_release(word));
}

static void *cancel_one(void *argument)
{
    return rnl_stream_cancel(argument) == RNL_OK ? NULL : argument;
}

RNL_TEST(a_thread_that_waits_without_limit_is_told)
{
    need_cancel();
    rnl_event never = promise();
    rnl_stream stream = suite_new_stream();
    pthread_t thread;
    void *wrong = NULL;
    expect_ok(rnl_enqueue_wait_event(stream, never));
    assert_int_equal(pthread_create(&thread, NULL, cancel_one, stream), 0);
    assert_status(rnl_stream_synchronize(stream, RNL_FOREVER),
                  RNL_ERROR_CANCELLED);
    assert_int_equal(pthread_join(thread, &wrong), 0);
    assert_null(wrong);
    expect_ok(rnl_event_release(never));
    expect_ok(rnl_stream_release(stream));
}

static rnl_stream to_cancel;

static void cancel_within(rnl_status status, void *user_data)
{
    (void)status;
    *(rnl_status *)user_data = rnl_stream_cancel(to_cancel);
}

RNL_TEST(a_host_function_may_not_cancel)
{
    need_cancel();
    rnl_status status = RNL_OK;
    to_cancel = suite_stream();
    expect_ok(rnl_enqueue_host_function(suite_stream(), cancel_within,
                                        &status));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    assert_status(status, RNL_ERROR_NOT_PERMITTED);
}
