// Graphs built by hand: nodes, launches, order, children, bodies, failures.
#include "suite.h"

#include <pthread.h>
#include <stdatomic.h>

static rnl_graph new_graph(void)
{
    rnl_graph graph = NULL;
    suite_need(RNL_FEATURE_GRAPHS);
    expect_ok(rnl_graph_create(suite_context(), NULL, &graph));
    return graph;
}

static rnl_graph_exec instantiate(rnl_graph graph)
{
    rnl_graph_exec exec = NULL;
    expect_ok(rnl_graph_instantiate(graph, &exec));
    return exec;
}

static rnl_node fill_node(rnl_graph graph, const rnl_node *after, size_t count,
                          rnl_buffer buffer, int value)
{
    rnl_node node = NULL;
    rnl_buffer_info info = {.struct_size = sizeof info};
    expect_ok(rnl_buffer_get_info(buffer, &info));
    const rnl_fill *fill =
        RNL_FILL(.to = {.buffer = buffer}, .width = info.size,
                 .pattern = (uint32_t)value, .pattern_size = 4);
    expect_ok(rnl_graph_add_node(
        graph, after, count, RNL_NODE(.kind = RNL_NODE_FILL, .fill = fill),
        &node));
    return node;
}

static rnl_node host_node(rnl_graph graph, const rnl_node *after, size_t count,
                          rnl_host_fn host, void *user_data)
{
    rnl_node node = NULL;
    expect_ok(rnl_graph_add_node(graph, after, count,
                                 RNL_NODE(.kind = RNL_NODE_HOST_FUNCTION,
                                          .host = host,
                                          .user_data = user_data),
                                 &node));
    return node;
}

static void launch_and_wait(rnl_graph_exec exec)
{
    expect_ok(rnl_enqueue_graph(suite_stream(), exec));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
}

static void drop(rnl_graph graph, rnl_graph_exec exec)
{
    expect_ok(rnl_graph_exec_release(exec));
    expect_ok(rnl_graph_release(graph));
}

// --- What nodes do ---------------------------------------------------------

RNL_TEST(an_empty_graph_can_be_launched)
{
    rnl_graph graph = new_graph();
    rnl_graph_exec exec = instantiate(graph);
    for (int i = 0; i < 3; i++)
        launch_and_wait(exec);
    drop(graph, exec);
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
    drop(graph, exec);
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
    drop(graph, exec);
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(b));
}

static rnl_status add_to(const rnl_native_call *call)
{
    int *sum = *(int *const *)call->arguments[0];
    *sum += *(const int *)call->arguments[1];
    return RNL_OK;
}

static const rnl_parameter parameters[] = {
    {RNL_VALUE_POINTER, 8, 8, "int *"},
    {RNL_VALUE_INTEGER, 4, 4, "int"},
};

static rnl_function native(const char *name, rnl_native_fn code,
                           size_t parameter_count)
{
    rnl_function function = NULL;
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    expect_ok(rnl_function_create_native(
        suite_context(), name, code,
        RNL_NATIVE_OPTIONS(.parameters = parameters,
                           .parameter_count = parameter_count),
        &function));
    return function;
}

static rnl_function adder(void)
{
    return native("add_to", add_to, 2);
}

static const rnl_launch *one(void)
{
    static rnl_launch launch = {.struct_size = sizeof launch,
                                .grid = {1, 0, 0}, .block = {1, 0, 0}};
    return &launch;
}

RNL_TEST(a_kernel_node_keeps_its_arguments)
{
    rnl_function function = adder();
    rnl_graph graph = new_graph();
    rnl_buffer sum = suite_ints(1, 0);
    rnl_node node = NULL;
    expect_ok(rnl_graph_add_node(
        graph, RNL_AT_START,
        RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = function,
                 .launch = one(), .args = RNL_ARGS(sum, 5)),
        &node));
    rnl_graph_exec exec = instantiate(graph);
    for (int i = 0; i < 10; i++)
        expect_ok(rnl_enqueue_graph(suite_stream(), exec));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    suite_expect_ints(sum, 1, 50);
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_buffer_release(sum));
    launch_and_wait(exec);  // it keeps both
    drop(graph, exec);
}

struct trace {
    _Atomic int next;
    int seen[32];
};

static struct trace trace;

static void note(rnl_status status, void *user_data)
{
    trace.seen[atomic_fetch_add(&trace.next, 1)] =
        status == RNL_OK ? (int)(intptr_t)user_data : -1;
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
    drop(graph, exec);
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
    drop(graph, exec);
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
    drop(graph, exec);
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(b));
}

static rnl_status count_down(const rnl_native_call *call)
{
    uint32_t *word = *(uint32_t *const *)call->arguments[0];
    *word -= 1;
    return RNL_OK;
}

RNL_TEST(a_while_node_runs_its_body_until_the_number_is_zero)
{
    rnl_function down = native("count_down", count_down, 1);
    rnl_function add = adder();
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
        RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = add, .launch = one(),
                 .args = RNL_ARGS(sum, 3)), &node));
    expect_ok(rnl_graph_add_node(
        body, RNL_AFTER(node),
        RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = down, .launch = one(),
                 .args = RNL_ARGS(word)), &node));
    rnl_graph_exec exec = instantiate(graph);
    launch_and_wait(exec);
    suite_expect_ints(sum, 1, 21);
    launch_and_wait(exec);
    suite_expect_ints(sum, 1, 42);
    drop(graph, exec);
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
    drop(graph, exec);
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
    drop(graph, exec);
    expect_ok(rnl_buffer_release(a));
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
    drop(graph, exec);
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
    drop(graph, exec);
    expect_ok(rnl_stream_release(other));
}

static rnl_status fail_now(const rnl_native_call *call)
{
    (void)call;
    return RNL_ERROR_INVALID_ARGUMENT;
}

RNL_TEST(a_node_that_fails_ends_the_launch_and_is_named)
{
    rnl_function bad = native("bad", fail_now, 0);
    rnl_graph graph = new_graph();
    rnl_buffer a = suite_ints(4, 0);
    rnl_node node = NULL;
    expect_ok(rnl_graph_add_node(
        graph, RNL_AT_START,
        RNL_NODE(.kind = RNL_NODE_FUNCTION, .label = "the bad one",
                 .function = bad, .launch = one(), .args = RNL_NO_ARGS),
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
    drop(graph, exec);
    expect_ok(rnl_function_release(bad));
    expect_ok(rnl_buffer_release(a));
}
