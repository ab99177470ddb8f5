// Graphs built by hand: nodes, launches, order, children, bodies, failures.
#include "graphs.h"

#include <stdatomic.h>

// --- What nodes do ---------------------------------------------------------

RNL_TEST(an_empty_graph_can_be_launched)
{
    rnl_graph graph = new_graph();
    rnl_graph_exec exec = instantiate(graph);
    for (int i = 0; i < 3; i++)
        launch_and_wait(exec);
    drop_both(graph, exec);
}

RNL_TEST(nothing_happens_before_the_launch)
{
    rnl_graph graph = new_graph();
    rnl_buffer buffer = suite_ints(16, 1);
    fill_node(graph, RNL_AT_START, buffer, 2);
    rnl_graph_exec exec = instantiate(graph);
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    suite_expect_ints(buffer, 16, 1);
    launch_and_wait(exec);
    suite_expect_ints(buffer, 16, 2);
    drop_both(graph, exec);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(fills_and_copies_run_in_the_order_of_their_edges)
{
    rnl_graph graph = new_graph();
    rnl_buffer a = suite_ints(64, 0), b = suite_ints(64, 0);
    rnl_node fill = fill_node(graph, RNL_AT_START, a, 7), copy = NULL;
    const rnl_copy *of = RNL_COPY(.to = {.buffer = b}, .from = {.buffer = a},
                                  .width = 256);
    expect_ok(rnl_graph_add_node(graph, RNL_AFTER(fill),
                                 RNL_NODE(.kind = RNL_NODE_COPY, .copy = of),
                                 &copy));
    fill_node(graph, RNL_AFTER(copy), a, 9);
    rnl_graph_exec exec = instantiate(graph);
    launch_and_wait(exec);
    suite_expect_ints(b, 64, 7);
    suite_expect_ints(a, 64, 9);
    drop_both(graph, exec);
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(b));
}

RNL_TEST(a_kernel_node_keeps_its_arguments)
{
    rnl_function function = new_adder();
    rnl_graph graph = new_graph();
    rnl_buffer sum = suite_ints(1, 0);
    rnl_node node = NULL;
    expect_ok(rnl_graph_add_node(
        graph, RNL_AT_START,
        RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = function,
                 .launch = one_thread(), .args = RNL_ARGS(sum, 5)),
        &node));
    rnl_graph_exec exec = instantiate(graph);
    for (int i = 0; i < 10; i++)
        expect_ok(rnl_enqueue_graph(suite_stream(), exec));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    suite_expect_ints(sum, 1, 50);
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_buffer_release(sum));
    launch_and_wait(exec);  // it keeps both
    drop_both(graph, exec);
}

RNL_TEST(a_diamond_runs_each_node_once_and_in_order)
{
    rnl_graph graph = new_graph();
    rnl_node top = host_node(graph, RNL_AT_START, note, (void *)1);
    rnl_node left = host_node(graph, RNL_AFTER(top), note, (void *)2);
    rnl_node right = host_node(graph, RNL_AFTER(top), note, (void *)3);
    host_node(graph, RNL_AFTER(left, right), note, (void *)4);
    rnl_graph_exec exec = instantiate(graph);
    for (int i = 0; i < 5; i++) {
        atomic_store(&trace.next, 0);
        launch_and_wait(exec);
        assert_int_equal(trace.next, 4);
        assert_int_equal(trace.seen[0], 1);
        assert_int_equal(trace.seen[1] + trace.seen[2], 5);
        assert_int_equal(trace.seen[3], 4);
    }
    drop_both(graph, exec);
}

RNL_TEST(host_functions_side_by_side_are_all_called)
{
    rnl_graph graph = new_graph();
    struct host_calls calls = {0, -1};
    for (int i = 0; i < 200; i++)
        host_node(graph, RNL_AT_START, count_host_call, &calls);
    rnl_graph_exec exec = instantiate(graph);
    for (int i = 0; i < 10; i++)
        launch_and_wait(exec);
    assert_int_equal(calls.count, 2000);
    drop_both(graph, exec);
}

RNL_TEST(wide_graphs_with_waits_do_not_hold_up_other_branches)
{
    rnl_graph graph = new_graph();
    rnl_event event = suite_new_event();
    rnl_stream other = suite_new_stream();
    struct gate *gate = gate_shut(other);
    expect_ok(rnl_enqueue_event_record(other, event));
    rnl_node wait = NULL, record = NULL;
    rnl_event reached = suite_new_event();
    expect_ok(rnl_graph_add_node(
        graph, RNL_AT_START,
        RNL_NODE(.kind = RNL_NODE_EVENT_WAIT, .event = event), &wait));
    rnl_buffer a = suite_ints(4, 0), b = suite_ints(4, 0);
    fill_node(graph, RNL_AFTER(wait), a, 1);
    rnl_node free = fill_node(graph, RNL_AT_START, b, 2);
    expect_ok(rnl_graph_add_node(
        graph, RNL_AFTER(free),
        RNL_NODE(.kind = RNL_NODE_EVENT_RECORD, .event = reached), &record));
    rnl_graph_exec exec = instantiate(graph);
    expect_ok(rnl_enqueue_graph(suite_stream(), exec));
    expect_ok(rnl_event_synchronize(reached, RNL_FOREVER));
    assert_status(rnl_stream_query(suite_stream()), RNL_NOT_READY);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    suite_expect_ints(a, 4, 1);
    suite_expect_ints(b, 4, 2);
    launch_and_wait(exec);
    gate_free(gate);
    drop_both(graph, exec);
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(b));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_event_release(reached));
    expect_ok(rnl_stream_release(other));
}

// --- Children and bodies ---------------------------------------------------

RNL_TEST(a_child_runs_as_one_node_and_is_a_copy)
{
    rnl_graph child = new_graph(), graph = new_graph();
    rnl_buffer a = suite_ints(4, 0), b = suite_ints(4, 0);
    fill_node(child, RNL_AT_START, a, 3);
    rnl_node first = fill_node(graph, RNL_AT_START, a, 1), node = NULL;
    expect_ok(rnl_graph_add_node(
        graph, RNL_AFTER(first),
        RNL_NODE(.kind = RNL_NODE_CHILD, .child = child), &node));
    const rnl_copy *of = RNL_COPY(.to = {.buffer = b}, .from = {.buffer = a},
                                  .width = 16);
    rnl_node copy = NULL;
    expect_ok(rnl_graph_add_node(graph, RNL_AFTER(node),
                                 RNL_NODE(.kind = RNL_NODE_COPY, .copy = of),
                                 &copy));
    fill_node(child, RNL_AT_START, b, 9);  // too late for the copy
    rnl_graph_exec exec = instantiate(graph);
    launch_and_wait(exec);
    suite_expect_ints(b, 4, 3);
    rnl_node_info info = {.struct_size = sizeof info};
    expect_ok(rnl_graph_get_node_info(graph, node, &info));
    expect_error(rnl_graph_release(info.graph), RNL_ERROR_INVALID_STATE,
                 "graph");
    expect_ok(rnl_graph_release(child));
    drop_both(graph, exec);
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(b));
}

RNL_TEST(a_while_node_runs_its_body_until_the_number_is_zero)
{
    rnl_function down = new_count_down();
    rnl_function add = new_adder();
    rnl_graph graph = new_graph(), body = NULL;
    rnl_buffer word = suite_ints(1, 0), sum = suite_ints(1, 0);
    rnl_node set = fill_node(graph, RNL_AT_START, word, 7), loop = NULL;
    expect_ok(rnl_graph_add_node(
        graph, RNL_AFTER(set),
        RNL_NODE(.kind = RNL_NODE_WHILE, .buffer = word, .out_body = &body),
        &loop));
    rnl_node node = NULL;
    expect_ok(rnl_graph_add_node(
        body, RNL_AT_START,
        RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = add, .launch = one_thread(),
                 .args = RNL_ARGS(sum, 3)), &node));
    expect_ok(rnl_graph_add_node(
        body, RNL_AFTER(node),
        RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = down, .launch = one_thread(),
                 .args = RNL_ARGS(word)), &node));
    rnl_graph_exec exec = instantiate(graph);
    launch_and_wait(exec);
    suite_expect_ints(sum, 1, 21);
    launch_and_wait(exec);
    suite_expect_ints(sum, 1, 42);
    drop_both(graph, exec);
    expect_ok(rnl_function_release(down));
    expect_ok(rnl_function_release(add));
    expect_ok(rnl_buffer_release(word));
    expect_ok(rnl_buffer_release(sum));
}

// --- Changes ---------------------------------------------------------------

RNL_TEST(a_node_set_while_a_launch_waits_is_for_the_next)
{
    rnl_graph graph = new_graph();
    rnl_buffer a = suite_ints(4, 0), b = suite_ints(4, 0);
    rnl_node node = fill_node(graph, RNL_AT_START, a, 1);
    rnl_graph_exec exec = instantiate(graph);
    struct gate *gate = gate_shut(suite_stream());
    expect_ok(rnl_enqueue_graph(suite_stream(), exec));
    const rnl_fill *fill = RNL_FILL(.to = {.buffer = b}, .width = 16,
                                    .pattern = 2, .pattern_size = 4);
    expect_ok(rnl_graph_exec_set_node(
        exec, node, RNL_NODE(.kind = RNL_NODE_FILL, .fill = fill)));
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    suite_expect_ints(a, 4, 1);
    suite_expect_ints(b, 4, 0);
    launch_and_wait(exec);
    suite_expect_ints(b, 4, 2);
    gate_free(gate);
    drop_both(graph, exec);
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(b));
}

RNL_TEST(a_node_that_is_not_enabled_does_nothing)
{
    rnl_graph graph = new_graph();
    rnl_buffer a = suite_ints(4, 0);
    rnl_node node = fill_node(graph, RNL_AT_START, a, 1);
    rnl_graph_exec exec = instantiate(graph);
    bool enabled = false;
    expect_ok(rnl_graph_exec_is_enabled(exec, node, &enabled));
    assert_true(enabled);
    expect_ok(rnl_graph_exec_set_enabled(exec, node, false));
    launch_and_wait(exec);
    suite_expect_ints(a, 4, 0);
    expect_ok(rnl_graph_exec_set_enabled(exec, node, true));
    launch_and_wait(exec);
    suite_expect_ints(a, 4, 1);
    drop_both(graph, exec);
    expect_ok(rnl_buffer_release(a));
}

enum { FILLS = 4, WORDS = 8 };

// Fills in a row, every second one of a pattern that is wider than a driver's.
static rnl_graph chain_of_fills(const rnl_buffer *buffers, rnl_node *nodes)
{
    rnl_graph graph = new_graph();
    for (int i = 0; i < FILLS; i++) {
        const rnl_fill *fill =
            RNL_FILL(.to = {.buffer = buffers[i]}, .width = WORDS * 4,
                     .pattern = i % 2 ? UINT64_C(0x200000001) : 1,
                     .pattern_size = i % 2 ? 8 : 4);
        expect_ok(rnl_graph_add_node(
            graph, i > 0 ? &nodes[i - 1] : NULL, i > 0,
            RNL_NODE(.kind = RNL_NODE_FILL, .fill = fill), &nodes[i]));
    }
    return graph;
}

static void expect_filled(rnl_buffer buffer, int number, bool enabled)
{
    int words[WORDS];
    suite_download(words, buffer, sizeof words);
    for (int i = 0; i < WORDS; i++)
        assert_int_equal(words[i],
                         !enabled ? 0 : number % 2 ? 1 + i % 2 : 1);
}

// A driver fails at the second launch with a memset that is disabled.
RNL_TEST(fills_that_are_not_enabled_do_nothing_however_often)
{
    rnl_buffer buffers[FILLS];
    rnl_node nodes[FILLS];
    for (int i = 0; i < FILLS; i++)
        buffers[i] = suite_ints(WORDS, 0);
    rnl_graph graph = chain_of_fills(buffers, nodes);
    rnl_graph_exec exec = instantiate(graph);
    for (unsigned mask = 0; mask < 1u << FILLS; mask++) {
        for (int i = 0; i < FILLS; i++) {
            expect_ok(rnl_graph_exec_set_enabled(exec, nodes[i],
                                                 mask >> i & 1));
            expect_ok(rnl_fill_and_wait(suite_stream(), buffers[i], 0,
                                        WORDS * 4, 0, 4));
        }
        struct gate *gate = gate_shut(suite_stream());
        for (int i = 0; i < 3; i++)
            expect_ok(rnl_enqueue_graph(suite_stream(), exec));
        gate_open(gate);
        expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
        gate_free(gate);
        for (int i = 0; i < FILLS; i++)
            expect_filled(buffers[i], i, mask >> i & 1);
    }
    drop_both(graph, exec);
    for (int i = 0; i < FILLS; i++)
        expect_ok(rnl_buffer_release(buffers[i]));
}

RNL_TEST(an_update_takes_over_all_parameters_or_says_why_not)
{
    rnl_graph graph = new_graph(), other = new_graph();
    rnl_buffer a = suite_ints(4, 0);
    rnl_node first = fill_node(graph, RNL_AT_START, a, 1);
    fill_node(graph, RNL_AFTER(first), a, 2);
    rnl_graph_exec exec = instantiate(graph);
    rnl_node removed = fill_node(other, RNL_AT_START, a, 0);
    first = fill_node(other, RNL_AT_START, a, 3);
    rnl_node second = fill_node(other, RNL_AFTER(first), a, 4);
    rnl_update_result result = {.struct_size = sizeof result};
    expect_error(rnl_graph_exec_update(exec, other, &result),
                 RNL_ERROR_GRAPH_UPDATE, "graph");
    assert_int_equal(result.reason, RNL_UPDATE_NODE_COUNT);
    expect_ok(rnl_graph_remove_node(other, removed));
    expect_ok(rnl_graph_remove_edge(other, first, second));
    expect_error(rnl_graph_exec_update(exec, other, &result),
                 RNL_ERROR_GRAPH_UPDATE, "graph");
    assert_int_equal(result.reason, RNL_UPDATE_EDGES);
    assert_ptr_equal(result.node, second);
    launch_and_wait(exec);
    suite_expect_ints(a, 4, 2);
    expect_ok(rnl_graph_add_edge(other, first, second));
    expect_ok(rnl_graph_exec_update(exec, other, &result));
    assert_int_equal(result.reason, RNL_UPDATE_OK);
    launch_and_wait(exec);
    suite_expect_ints(a, 4, 4);
    expect_ok(rnl_graph_release(other));
    drop_both(graph, exec);
    expect_ok(rnl_buffer_release(a));
}

// --- Launches --------------------------------------------------------------

RNL_TEST(launches_on_two_streams_do_not_overlap)
{
    rnl_graph graph = new_graph();
    host_node(graph, RNL_AT_START, note, (void *)1);
    rnl_graph_exec exec = instantiate(graph);
    rnl_stream other = suite_new_stream();
    struct gate *gate = gate_shut(suite_stream());
    atomic_store(&trace.next, 0);
    expect_ok(rnl_enqueue_graph(suite_stream(), exec));
    expect_ok(rnl_enqueue_graph(other, exec));
    assert_status(rnl_stream_query(other), RNL_NOT_READY);
    assert_int_equal(trace.next, 0);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    assert_int_equal(trace.next, 2);
    gate_free(gate);
    drop_both(graph, exec);
    expect_ok(rnl_stream_release(other));
}

static rnl_status fail_now(const rnl_native_call *call)
{
    (void)call;
    return RNL_ERROR_INVALID_ARGUMENT;
}

static rnl_event promise_for(rnl_stream stream)
{
    rnl_event promise = NULL;
    suite_need(RNL_FEATURE_PROMISES);
    expect_ok(rnl_event_create(suite_context(),
                               RNL_EVENT_OPTIONS(.promise = true), &promise));
    expect_ok(rnl_enqueue_wait_event(stream, promise));
    return promise;
}

RNL_TEST(a_launch_on_a_failed_stream_waits_for_its_turn)
{
    rnl_function bad = suite_native("bad", fail_now, NULL);
    rnl_graph graph = new_graph();
    host_node(graph, RNL_AT_START, note, (void *)1);
    rnl_graph_exec exec = instantiate(graph);
    rnl_stream good = suite_new_stream(), failed = suite_new_stream();
    rnl_event first = promise_for(good), second = promise_for(failed);
    rnl_event at_failure = suite_new_event();
    atomic_store(&trace.next, 0);
    expect_ok(rnl_enqueue_function(failed, bad, one_thread(), RNL_NO_ARGS));
    expect_ok(rnl_enqueue_event_record(failed, at_failure));
    expect_ok(rnl_enqueue_graph(good, exec));
    expect_ok(rnl_enqueue_graph(failed, exec));
    expect_ok(rnl_enqueue_event_record(suite_stream(), second));
    assert_status(rnl_event_synchronize(at_failure, RNL_FOREVER),
                  RNL_ERROR_INVALID_ARGUMENT);
    assert_status(rnl_stream_query(failed), RNL_NOT_READY);
    expect_ok(rnl_enqueue_event_record(suite_stream(), first));
    assert_status(rnl_stream_synchronize(failed, RNL_FOREVER),
                  RNL_ERROR_INVALID_ARGUMENT);
    expect_ok(rnl_stream_synchronize(good, RNL_FOREVER));
    assert_int_equal(trace.next, 2);
    assert_int_equal(trace.seen[0], 1);
    assert_int_equal(trace.seen[1], -1);
    expect_ok(rnl_event_release(first));
    expect_ok(rnl_event_release(second));
    expect_ok(rnl_event_release(at_failure));
    expect_ok(rnl_function_release(bad));
    drop_both(graph, exec);
    expect_ok(rnl_stream_release(good));
    expect_ok(rnl_stream_release(failed));
}

RNL_TEST(a_node_that_fails_ends_the_launch_and_is_named)
{
    rnl_function bad = suite_native("bad", fail_now, NULL);
    rnl_graph graph = new_graph();
    rnl_buffer a = suite_ints(4, 0);
    rnl_node node = NULL;
    expect_ok(rnl_graph_add_node(
        graph, RNL_AT_START,
        RNL_NODE(.kind = RNL_NODE_FUNCTION, .label = "the bad one",
                 .function = bad, .launch = one_thread(), .args = RNL_NO_ARGS),
        &node));
    fill_node(graph, RNL_AFTER(node), a, 1);
    host_node(graph, RNL_AFTER(node), note, (void *)1);
    rnl_graph_exec exec = instantiate(graph);
    atomic_store(&trace.next, 0);
    expect_ok(rnl_enqueue_graph(suite_stream(), exec));
    assert_status(rnl_stream_synchronize(suite_stream(), RNL_FOREVER),
                  RNL_ERROR_INVALID_ARGUMENT);
    assert_string_equal(rnl_last_error()->operation_name, "bad");
    assert_string_equal(rnl_last_error()->operation_label, "the bad one");
    assert_int_equal(trace.next, 1);
    assert_int_equal(trace.seen[0], -1);
    expect_ok(rnl_stream_reset_and_wait(suite_stream()));
    suite_expect_ints(a, 4, 0);
    drop_both(graph, exec);
    expect_ok(rnl_function_release(bad));
    expect_ok(rnl_buffer_release(a));
}
