// Capture: begin and end, forks and joins, events, what is recorded. What each
// single call does in a capture is capture_matrix.c.
#include "graphs.h"

#include <pthread.h>
#include <stdatomic.h>

static void fill(rnl_stream stream, rnl_buffer buffer, int value)
{
    expect_ok(rnl_enqueue_fill(stream, buffer, 0, 4, (uint32_t)value, 4));
}

static void expect_status(rnl_stream stream, rnl_capture_status status)
{
    assert_int_equal(capture_info_of(stream).status, status);
}

// The stream is an ordinary one again.
static void expect_usable(rnl_stream stream, rnl_buffer buffer)
{
    expect_status(stream, RNL_CAPTURE_NONE);
    expect_ok(rnl_fill_and_wait(stream, buffer, 0, 4, 77, 4));
    suite_expect_ints(buffer, 1, 77);
}

static rnl_event record(rnl_stream stream)
{
    rnl_event event = NULL;
    expect_ok(rnl_enqueue_event(stream, NULL, &event));
    return event;
}

// `stream` comes after all that `other` has so far.
static void join(rnl_stream stream, rnl_stream other)
{
    rnl_event event = record(other);
    expect_ok(rnl_enqueue_wait_event(stream, event));
    expect_ok(rnl_event_release(event));
}

static void expect_end_error(rnl_stream stream, rnl_status expected)
{
    rnl_graph graph = NULL;
    expect_error(rnl_stream_end_capture(stream, &graph), expected, "stream");
    assert_null(graph);
}

static void invalidate(rnl_stream stream)
{
    expect_error(rnl_stream_query(stream), RNL_ERROR_CAPTURE_UNSUPPORTED,
                 "stream");
    expect_status(stream, RNL_CAPTURE_INVALIDATED);
}

static rnl_status end_elsewhere_status;

static void *end_here(void *stream)
{
    rnl_graph graph = NULL;
    end_elsewhere_status = rnl_stream_end_capture(stream, &graph);
    rnl_graph_release(graph);
    return NULL;
}

static rnl_status end_elsewhere(rnl_stream stream)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, end_here, stream), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return end_elsewhere_status;
}

// --- What a capture is -----------------------------------------------------

RNL_TEST(captured_work_has_no_effect_before_a_launch)
{
    rnl_buffer buffer = suite_ints(1, 1);
    struct host_calls calls = {0};
    int read = 5;
    rnl_stream stream = new_captured_stream();
    fill(stream, buffer, 2);
    expect_ok(rnl_enqueue_copy_from_buffer(stream, &read, buffer, 0, 4));
    expect_ok(rnl_enqueue_host_function(stream, count_host_call, &calls));
    rnl_graph graph = end_capture(stream);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(read, 5);
    assert_int_equal(calls.count, 0);
    suite_expect_ints(buffer, 1, 1);
    rnl_graph_exec exec = instantiate(graph);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(calls.count, 0);
    for (int i = 1; i <= 3; i++) {
        launch_and_wait(exec);
        assert_int_equal(read, 2);
        assert_int_equal(calls.count, i);
    }
    suite_expect_ints(buffer, 1, 2);
    drop_both(graph, exec);
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(the_state_of_a_capture_can_be_asked)
{
    rnl_stream stream = suite_new_stream(), joined = suite_new_stream();
    rnl_buffer buffer = suite_ints(1, 0);
    suite_need(RNL_FEATURE_CAPTURE);
    rnl_capture_info info = capture_info_of(stream);
    assert_int_equal(info.status, RNL_CAPTURE_NONE);
    assert_int_equal(info.id, 0);
    assert_null(info.graph);
    uint64_t last = 0;
    for (int i = 0; i < 2; i++) {
        expect_ok(rnl_stream_begin_capture(
            stream, RNL_CAPTURE_OPTIONS(.mode = RNL_CAPTURE_GLOBAL)));
        info = capture_info_of(stream);
        assert_int_equal(info.status, RNL_CAPTURE_ACTIVE);
        assert_int_equal(info.mode, RNL_CAPTURE_GLOBAL);
        assert_true(info.id > last);
        assert_int_equal(info.node_count, 0);
        last = info.id;
        fill(stream, buffer, 1);
        join(joined, stream);
        rnl_capture_info other = capture_info_of(joined);
        assert_int_equal(other.id, last);
        assert_int_equal(other.node_count, 1);
        assert_ptr_equal(other.graph, info.graph);
        expect_shape(info.graph, 1, 0);
        expect_ok(rnl_graph_release(end_capture(stream)));
    }
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_stream_release(joined));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(nothing_captured_is_an_empty_graph)
{
    rnl_stream stream = new_captured_stream();
    rnl_graph graph = end_capture(stream);
    expect_shape(graph, 0, 0);
    launch_once(graph);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(pending_work_is_no_part_of_a_capture)
{
    suite_need(RNL_FEATURE_CAPTURE);
    rnl_stream stream = suite_new_stream();
    rnl_buffer buffer = suite_ints(1, 0);
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_stream_begin_capture(stream, NULL));
    fill(stream, buffer, 1);
    rnl_graph graph = end_capture(stream);
    expect_shape(graph, 1, 0);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    gate_free(gate);
    launch_once(graph);
    suite_expect_ints(buffer, 1, 1);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(captured_graphs_keep_what_they_use)
{
    rnl_function adder = new_adder();
    rnl_buffer sum = suite_ints(1, 0), copy = suite_ints(1, 0);
    rnl_stream stream = new_captured_stream();
    expect_ok(rnl_enqueue_function(stream, adder, one_thread(),
                                   RNL_ARGS(sum, 3)));
    expect_ok(rnl_enqueue_copy_buffer(stream, copy, 0, sum, 0, 4));
    rnl_graph graph = end_capture(stream);
    rnl_graph_exec exec = instantiate(graph);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_function_release(adder));
    expect_ok(rnl_buffer_release(sum));
    launch_and_wait(exec);
    launch_and_wait(exec);
    suite_expect_ints(copy, 1, 6);
    expect_ok(rnl_graph_exec_release(exec));
    expect_ok(rnl_buffer_release(copy));
}

// --- Begin -----------------------------------------------------------------

RNL_TEST(a_captured_stream_cannot_be_captured_again)
{
    rnl_stream stream = new_captured_stream(), joined = suite_new_stream();
    join(joined, stream);
    expect_error(rnl_stream_begin_capture(stream, NULL),
                 RNL_ERROR_INVALID_STATE, "stream");
    expect_error(rnl_stream_begin_capture(joined, NULL),
                 RNL_ERROR_INVALID_STATE, "stream");
    expect_status(stream, RNL_CAPTURE_ACTIVE);
    invalidate(stream);
    expect_error(rnl_stream_begin_capture(stream, NULL),
                 RNL_ERROR_INVALID_STATE, "stream");
    expect_end_error(stream, RNL_ERROR_CAPTURE_INVALIDATED);
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_stream_release(joined));
}

RNL_TEST(bad_options_do_not_begin_a_capture)
{
    suite_need(RNL_FEATURE_CAPTURE);
    rnl_stream stream = suite_new_stream();
    rnl_graph graph = new_graph(), other = new_graph();
    rnl_node node = empty_node(graph, RNL_AT_START);
    const rnl_node foreign[] = {empty_node(other, RNL_AT_START)};
    const rnl_node twice[] = {node, node};
    const rnl_capture_options options[] = {
        {.mode = 3}, {.mode = -1}, {.after = foreign, .after_count = 1},
        {.graph = graph, .after_count = 1},
        {.graph = graph, .after = twice, .after_count = 2},
        {.graph = graph, .after = &node, .after_count = SIZE_MAX},
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        rnl_capture_options given = options[i];
        given.struct_size = sizeof given;
        expect_error(rnl_stream_begin_capture(stream, &given),
                     RNL_ERROR_INVALID_ARGUMENT, NULL);
        expect_status(stream, RNL_CAPTURE_NONE);
    }
    expect_error(rnl_stream_begin_capture(
                     stream, RNL_CAPTURE_OPTIONS(.graph = graph,
                                                 .after = foreign,
                                                 .after_count = 1)),
                 RNL_ERROR_INVALID_HANDLE, "after");
    expect_error(rnl_stream_end_capture(stream, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_graph");
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_graph_release(other));
    expect_ok(rnl_stream_release(stream));
}

static rnl_status fail_now(const rnl_native_call *call)
{
    (void)call;
    return RNL_ERROR_LAUNCH_FAILED;
}

RNL_TEST(a_failed_stream_cannot_be_captured)
{
    suite_need(RNL_FEATURE_CAPTURE);
    rnl_function bad = suite_native("bad", fail_now, NULL);
    rnl_stream stream = suite_new_stream();
    expect_ok(rnl_enqueue_function(stream, bad, one_thread(), NULL));
    assert_status(rnl_stream_synchronize(stream, RNL_FOREVER),
                  RNL_ERROR_LAUNCH_FAILED);
    assert_status(rnl_stream_begin_capture(stream, NULL),
                  RNL_ERROR_LAUNCH_FAILED);
    expect_ok(rnl_stream_reset_and_wait(stream));
    expect_ok(rnl_stream_begin_capture(stream, NULL));
    expect_ok(rnl_graph_release(end_capture(stream)));
    expect_ok(rnl_function_release(bad));
    expect_ok(rnl_stream_release(stream));
}

// Half of a graph is nothing to make anything of.
static void expect_no_use_of(rnl_graph graph)
{
    rnl_graph ready = new_graph(), clone = NULL;
    rnl_graph_exec exec = instantiate(ready), other = NULL;
    rnl_node child = NULL;
    expect_error(rnl_graph_instantiate(graph, &other), RNL_ERROR_INVALID_STATE,
                 "graph");
    expect_error(rnl_graph_exec_update(exec, graph, NULL),
                 RNL_ERROR_INVALID_STATE, "graph");
    expect_error(rnl_graph_clone(graph, &clone), RNL_ERROR_INVALID_STATE,
                 "graph");
    expect_error(rnl_graph_add_node(
                     ready, RNL_AT_START,
                     RNL_NODE(.kind = RNL_NODE_CHILD, .child = graph), &child),
                 RNL_ERROR_INVALID_STATE, "graph");
    expect_shape(ready, 0, 0);
    drop_both(ready, exec);
}

RNL_TEST(a_capture_may_add_to_a_graph)
{
    suite_need(RNL_FEATURE_CAPTURE);
    rnl_graph graph = new_graph();
    rnl_buffer a = suite_ints(1, 0), b = suite_ints(1, 0);
    rnl_node first = fill_node(graph, RNL_AT_START, a, 1);
    rnl_node second = fill_node(graph, RNL_AT_START, b, 2);
    const rnl_node after[] = {first, second};
    rnl_stream stream = suite_new_stream();
    expect_ok(rnl_stream_begin_capture(
        stream, RNL_CAPTURE_OPTIONS(.graph = graph, .after = after,
                                    .after_count = 2)));
    assert_int_equal(capture_info_of(stream).node_count, 2);
    assert_ptr_equal(capture_info_of(stream).graph, graph);
    expect_ok(rnl_enqueue_copy_buffer(stream, a, 0, b, 0, 4));
    expect_error(rnl_graph_release(graph), RNL_ERROR_INVALID_STATE, "graph");
    expect_error(rnl_graph_remove_node(graph, first), RNL_ERROR_INVALID_STATE,
                 "graph");
    expect_no_use_of(graph);
    rnl_graph same = end_capture(stream);
    assert_ptr_equal(same, graph);
    expect_shape(graph, 3, 2);
    assert_true(has_edge(graph, 0, 2) && has_edge(graph, 1, 2));
    expect_ok(rnl_graph_release(same));
    launch_once(graph);
    suite_expect_ints(a, 1, 2);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(b));
}

RNL_TEST(a_lost_capture_leaves_the_graph_that_was_given)
{
    suite_need(RNL_FEATURE_CAPTURE);
    rnl_graph graph = new_graph();
    rnl_buffer a = suite_ints(1, 0);
    rnl_node first = fill_node(graph, RNL_AT_START, a, 1);
    rnl_stream stream = suite_new_stream();
    rnl_event event = suite_new_event();
    expect_ok(rnl_stream_begin_capture(
        stream, RNL_CAPTURE_OPTIONS(.graph = graph, .after = &first,
                                    .after_count = 1)));
    fill(stream, a, 2);
    // Only the node keeps this event, which is also of the capture.
    expect_ok(rnl_enqueue_external_record(stream, event));
    expect_ok(rnl_enqueue_event_record(stream, event));
    expect_ok(rnl_event_release(event));
    expect_shape(graph, 3, 2);
    invalidate(stream);
    expect_end_error(stream, RNL_ERROR_CAPTURE_INVALIDATED);
    expect_shape(graph, 1, 0);
    fill_node(graph, RNL_AFTER(first), a, 3);
    launch_once(graph);
    suite_expect_ints(a, 1, 3);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_buffer_release(a));
}

static rnl_status give_up(rnl_stream stream, void *user_data)
{
    rnl_status status = rnl_enqueue_fill(stream, user_data, 0, 4, 1, 4);
    return status ? status : rnl_enqueue_fill(stream, user_data, 0, 8, 1, 4);
}

RNL_TEST(a_callback_that_gives_up_leaves_the_graph_that_was_given)
{
    suite_need(RNL_FEATURE_CAPTURE);
    rnl_graph graph = new_graph(), captured = NULL;
    rnl_buffer buffer = suite_ints(1, 0);
    rnl_stream stream = suite_new_stream();
    assert_status(
        rnl_stream_capture(stream, RNL_CAPTURE_OPTIONS(.graph = graph), give_up,
                           buffer, &captured), RNL_ERROR_OUT_OF_RANGE);
    assert_int_equal(rnl_last_error()->status, RNL_ERROR_OUT_OF_RANGE);
    assert_null(captured);
    expect_shape(graph, 0, 0);
    expect_usable(stream, buffer);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(the_graph_of_another_capture_is_refused)
{
    rnl_stream stream = new_captured_stream(), other = suite_new_stream();
    expect_error(rnl_stream_begin_capture(
                     other, RNL_CAPTURE_OPTIONS(
                                .graph = capture_info_of(stream).graph)),
                 RNL_ERROR_INVALID_STATE, "graph");
    expect_ok(rnl_graph_release(end_capture(stream)));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_stream_release(other));
}

// --- End -------------------------------------------------------------------

RNL_TEST(an_end_without_a_capture_is_refused)
{
    rnl_stream stream = new_captured_stream(), other = suite_new_stream();
    expect_end_error(other, RNL_ERROR_INVALID_STATE);
    expect_status(stream, RNL_CAPTURE_ACTIVE);
    expect_ok(rnl_graph_release(end_capture(stream)));
    expect_end_error(stream, RNL_ERROR_INVALID_STATE);
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_stream_release(other));
}

RNL_TEST(an_end_on_another_thread_loses_the_capture)
{
    suite_need(RNL_FEATURE_CAPTURE);
    const rnl_capture_mode modes[] = {RNL_CAPTURE_THREAD_LOCAL,
                                      RNL_CAPTURE_GLOBAL,
                                      RNL_CAPTURE_RELAXED};
    const rnl_status expected[] = {RNL_ERROR_CAPTURE_THREAD,
                                   RNL_ERROR_CAPTURE_THREAD, RNL_OK};
    rnl_buffer buffer = suite_ints(1, 0);
    for (int i = 0; i < 3; i++) {
        rnl_stream stream = suite_new_stream();
        expect_ok(rnl_stream_begin_capture(
            stream, RNL_CAPTURE_OPTIONS(.mode = modes[i])));
        fill(stream, buffer, 1);
        assert_int_equal(end_elsewhere(stream), expected[i]);
        expect_end_error(stream, RNL_ERROR_INVALID_STATE);
        expect_usable(stream, buffer);
        expect_ok(rnl_stream_release(stream));
    }
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(an_invalid_capture_is_ended_on_any_thread)
{
    rnl_buffer buffer = suite_ints(1, 0);
    rnl_stream stream = new_captured_stream();
    invalidate(stream);
    assert_int_equal(end_elsewhere(stream), RNL_ERROR_CAPTURE_INVALIDATED);
    expect_usable(stream, buffer);
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(unjoined_work_is_found_before_the_wrong_thread)
{
    rnl_buffer buffer = suite_ints(1, 0);
    rnl_stream stream = new_captured_stream(), joined = suite_new_stream();
    join(joined, stream);
    fill(joined, buffer, 1);
    assert_int_equal(end_elsewhere(stream), RNL_ERROR_CAPTURE_UNJOINED);
    expect_usable(stream, buffer);
    expect_usable(joined, buffer);
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_stream_release(joined));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(an_end_on_a_joined_stream_makes_the_capture_invalid)
{
    rnl_buffer buffer = suite_ints(1, 0);
    rnl_stream stream = new_captured_stream(), joined = suite_new_stream();
    join(joined, stream);
    for (int i = 0; i < 2; i++) {
        expect_end_error(joined, RNL_ERROR_CAPTURE_UNMATCHED);
        expect_status(stream, RNL_CAPTURE_INVALIDATED);
        expect_status(joined, RNL_CAPTURE_INVALIDATED);
    }
    expect_end_error(stream, RNL_ERROR_CAPTURE_INVALIDATED);
    assert_non_null(strstr(rnl_last_error()->message,
                           "rnl_stream_end_capture"));
    expect_usable(stream, buffer);
    expect_usable(joined, buffer);
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_stream_release(joined));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(work_of_a_fork_must_come_back)
{
    rnl_buffer buffer = suite_ints(1, 0);
    for (int kind = 0; kind < 3; kind++) {
        rnl_stream stream = new_captured_stream(), fork = NULL;
        expect_ok(rnl_stream_create(suite_context(),
                                    RNL_STREAM_OPTIONS(.label = "the fork"),
                                    &fork));
        join(fork, stream);
        fill(fork, buffer, 1);
        if (kind == 1)  // recorded, but nobody waits
            expect_ok(rnl_event_release(record(fork)));
        if (kind == 2) {  // joined, then more work
            join(stream, fork);
            fill(fork, buffer, 2);
        }
        expect_end_error(stream, RNL_ERROR_CAPTURE_UNJOINED);
        assert_non_null(strstr(rnl_last_error()->message, "the fork"));
        expect_usable(stream, buffer);
        expect_usable(fork, buffer);
        expect_ok(rnl_stream_release(stream));
        expect_ok(rnl_stream_release(fork));
    }
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_fork_that_only_waited_need_not_come_back)
{
    rnl_buffer buffer = suite_ints(1, 0);
    rnl_stream stream = new_captured_stream(), fork = suite_new_stream();
    fill(stream, buffer, 1);
    join(fork, stream);
    fill(stream, buffer, 2);
    rnl_graph graph = end_capture(stream);
    expect_shape(graph, 2, 1);
    expect_usable(fork, buffer);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_stream_release(fork));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(releasing_the_stream_where_it_began_drops_the_capture)
{
    rnl_buffer buffer = suite_ints(1, 0);
    rnl_stream stream = new_captured_stream(), fork = suite_new_stream();
    join(fork, stream);
    fill(fork, buffer, 1);
    rnl_event event = record(fork);
    expect_ok(rnl_stream_release(stream));
    expect_usable(fork, buffer);
    expect_error(rnl_event_query(event), RNL_ERROR_CAPTURED_EVENT, "event");
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_stream_release(fork));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(releasing_a_joined_stream_changes_nothing)
{
    rnl_buffer buffer = suite_ints(1, 0);
    for (int joined_back = 0; joined_back < 2; joined_back++) {
        rnl_stream stream = new_captured_stream(), fork = suite_new_stream();
        join(fork, stream);
        fill(fork, buffer, 1);
        if (joined_back)
            join(stream, fork);
        expect_ok(rnl_stream_release(fork));
        expect_status(stream, RNL_CAPTURE_ACTIVE);
        if (joined_back)
            expect_ok(rnl_graph_release(end_capture(stream)));
        else
            expect_end_error(stream, RNL_ERROR_CAPTURE_UNJOINED);
        expect_ok(rnl_stream_release(stream));
    }
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_context_that_goes_takes_its_captures_with_it)
{
    suite_need(RNL_FEATURE_CAPTURE);
    rnl_context context = suite_open(NULL);
    rnl_stream stream = NULL;
    struct host_calls calls = {0};
    expect_ok(rnl_context_default_stream(context, &stream));
    expect_ok(rnl_stream_begin_capture(stream, NULL));
    expect_ok(rnl_enqueue_host_function(stream, count_host_call, &calls));
    expect_ok(rnl_context_release(context));
    assert_int_equal(calls.count, 0);
    expect_ok(rnl_stream_query(suite_stream()));  // nothing is in its way
}
