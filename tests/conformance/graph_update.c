// Changing graphs and executable graphs.
#include "graphs.h"

// --- Whole graphs ----------------------------------------------------------

static rnl_graph_exec exec_of(rnl_graph graph)
{
    rnl_graph_exec exec = instantiate(graph);
    expect_ok(rnl_graph_release(graph));
    return exec;
}

static void expect_update(rnl_graph_exec exec, rnl_graph graph,
                          rnl_update_reason reason, rnl_node at)
{
    rnl_update_result result = {.struct_size = sizeof result};
    rnl_status status = rnl_graph_exec_update(exec, graph, &result);
    assert_status(status, reason == RNL_UPDATE_OK ? RNL_OK
                                                  : RNL_ERROR_GRAPH_UPDATE);
    assert_int_equal(result.reason, reason);
    assert_ptr_equal(result.node, at);
    assert_true(strlen(result.sentence) > 8);
    // Without a result, too.
    assert_status(rnl_graph_exec_update(exec, graph, NULL), status);
}

static rnl_buffer a, b;

static void begin(void)
{
    a = suite_ints(1, 0);
    b = suite_ints(1, 0);
}

static void end(rnl_graph graph, rnl_graph_exec exec)
{
    drop_both(graph, exec);
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(b));
}

RNL_TEST(updates_refuse_other_node_counts)
{
    begin();
    rnl_graph graph = new_graph();
    fill_node(graph, RNL_AT_START, a, 1);
    rnl_graph_exec exec = instantiate(graph);
    rnl_node more = fill_node(graph, RNL_AT_START, b, 1);
    expect_update(exec, graph, RNL_UPDATE_NODE_COUNT, NULL);
    expect_ok(rnl_graph_remove_node(graph, more));
    expect_update(exec, graph, RNL_UPDATE_OK, NULL);
    end(graph, exec);
}

RNL_TEST(updates_refuse_other_kinds)
{
    begin();
    rnl_graph graph = new_graph(), other = new_graph();
    fill_node(graph, RNL_AT_START, a, 1);
    fill_node(graph, RNL_AT_START, b, 1);
    rnl_graph_exec exec = exec_of(graph);
    fill_node(other, RNL_AT_START, a, 5);
    rnl_node empty = empty_node(other, RNL_AT_START);
    expect_update(exec, other, RNL_UPDATE_NODE_KIND, empty);
    launch_and_wait(exec);
    suite_expect_ints(a, 1, 1);  // not half updated
    suite_expect_ints(b, 1, 1);
    end(other, exec);
}

RNL_TEST(updates_refuse_other_edges)
{
    begin();
    rnl_graph graph = new_graph();
    rnl_node first = fill_node(graph, RNL_AT_START, a, 1);
    rnl_node second = fill_node(graph, RNL_AT_START, b, 1);
    rnl_graph_exec exec = instantiate(graph);
    expect_ok(rnl_graph_add_edge(graph, first, second));
    expect_update(exec, graph, RNL_UPDATE_EDGES, second);
    expect_ok(rnl_graph_remove_edge(graph, first, second));
    expect_ok(rnl_graph_add_edge(graph, second, first));
    expect_update(exec, graph, RNL_UPDATE_EDGES, first);
    expect_ok(rnl_graph_remove_edge(graph, second, first));
    expect_update(exec, graph, RNL_UPDATE_OK, NULL);
    end(graph, exec);
}

static rnl_graph graph_with_buffer(rnl_buffer *out_buffer, rnl_node *out_node)
{
    rnl_graph graph = new_graph();
    expect_ok(rnl_graph_add_node(
        graph, RNL_AT_START,
        RNL_NODE(.kind = RNL_NODE_BUFFER_CREATE, .size = 4,
                 .out_buffer = out_buffer), out_node));
    fill_node(graph, RNL_AFTER(*out_node), *out_buffer, 1);
    return graph;
}

RNL_TEST(updates_refuse_other_buffers)
{
    begin();
    rnl_buffer one = NULL, two = NULL;
    rnl_node node = NULL;
    rnl_graph graph = graph_with_buffer(&one, &node), clone = NULL;
    expect_ok(rnl_graph_clone(graph, &clone));
    rnl_graph_exec exec = exec_of(graph);
    expect_update(exec, clone, RNL_UPDATE_OK, NULL);
    rnl_graph other = graph_with_buffer(&two, &node);
    expect_update(exec, other, RNL_UPDATE_BUFFER, node);
    expect_ok(rnl_graph_release(clone));
    expect_ok(rnl_buffer_release(one));
    expect_ok(rnl_buffer_release(two));
    end(other, exec);
}

// A fill in a child in the body of an IF.
static rnl_graph graph_in_graph(int value, size_t nodes, rnl_node *out_node)
{
    rnl_graph graph = new_graph(), child = new_graph(), body = NULL;
    for (size_t i = 0; i < nodes; i++)
        fill_node(child, RNL_AT_START, a, value);
    body_node(graph, RNL_NODE_IF, RNL_AT_START, b, &body);
    rnl_node node = child_node(body, RNL_AT_START, child);
    rnl_graph inner = node_info_of(body, node).graph;
    size_t count;
    expect_ok(rnl_graph_get_nodes(inner, out_node, 1, &count));
    expect_ok(rnl_graph_release(child));
    return graph;
}

RNL_TEST(updates_look_into_children_and_bodies)
{
    begin();
    rnl_node node = NULL;
    expect_ok(rnl_fill_and_wait(suite_stream(), b, 0, 4, 1, 4));
    rnl_graph_exec exec = exec_of(graph_in_graph(3, 1, &node));
    rnl_graph same = graph_in_graph(4, 1, &node);
    rnl_graph other = graph_in_graph(5, 2, &node);
    expect_update(exec, other, RNL_UPDATE_NODE_COUNT, NULL);
    launch_and_wait(exec);
    suite_expect_ints(a, 1, 3);
    expect_update(exec, same, RNL_UPDATE_OK, NULL);
    launch_and_wait(exec);
    suite_expect_ints(a, 1, 4);
    expect_ok(rnl_graph_release(other));
    end(same, exec);
}

RNL_TEST(an_update_refuses_what_is_not_for_it)
{
    begin();
    rnl_context context = suite_open(NULL);
    rnl_graph graph = new_graph(), theirs = NULL;
    fill_node(graph, RNL_AT_START, a, 1);
    rnl_graph_exec exec = instantiate(graph);
    expect_ok(rnl_graph_create(context, NULL, &theirs));
    expect_error(rnl_graph_exec_update(exec, theirs, NULL),
                 RNL_ERROR_INVALID_HANDLE, "graph");
    rnl_update_result result = {.struct_size = 1};
    rnl_graph other = new_graph();
    fill_node(other, RNL_AT_START, a, 2);
    expect_error(rnl_graph_exec_update(exec, other, &result),
                 RNL_ERROR_INVALID_ARGUMENT, "out_result");
    launch_and_wait(exec);
    suite_expect_ints(a, 1, 1);  // nothing has changed
    expect_ok(rnl_graph_release(theirs));
    expect_ok(rnl_graph_release(other));
    expect_ok(rnl_context_release(context));
    end(graph, exec);
}

RNL_TEST(an_update_leaves_disabled_nodes_disabled)
{
    begin();
    rnl_graph graph = new_graph();
    rnl_node node = fill_node(graph, RNL_AT_START, a, 1);
    rnl_graph_exec exec = instantiate(graph);
    expect_ok(rnl_graph_exec_set_enabled(exec, node, false));
    expect_update(exec, graph, RNL_UPDATE_OK, NULL);
    bool enabled = true;
    expect_ok(rnl_graph_exec_is_enabled(exec, node, &enabled));
    assert_false(enabled);
    launch_and_wait(exec);
    suite_expect_ints(a, 1, 0);
    end(graph, exec);
}

RNL_TEST(an_update_is_for_launches_to_come)
{
    begin();
    rnl_graph graph = new_graph(), other = new_graph();
    fill_node(graph, RNL_AT_START, a, 1);
    fill_node(other, RNL_AT_START, b, 2);
    rnl_graph_exec exec = exec_of(graph);
    struct gate *gate = gate_shut(suite_stream());
    expect_ok(rnl_enqueue_graph(suite_stream(), exec));
    expect_update(exec, other, RNL_UPDATE_OK, NULL);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    gate_free(gate);
    suite_expect_ints(a, 1, 1);
    suite_expect_ints(b, 1, 0);
    launch_and_wait(exec);
    suite_expect_ints(b, 1, 2);
    end(other, exec);
}

// --- One node --------------------------------------------------------------

static const rnl_fill *fill_of(rnl_buffer buffer, uint32_t value)
{
    static rnl_fill fill;
    fill = (rnl_fill){.struct_size = sizeof fill, .to = {.buffer = buffer},
                      .width = 4, .pattern = value, .pattern_size = 4};
    return &fill;
}

RNL_TEST(every_kind_that_can_be_set_is_set)
{
    begin();
    rnl_function adder = new_adder(), down = new_count_down();
    rnl_event first = suite_new_event(), second = suite_new_event();
    rnl_graph graph = new_graph(), child = new_graph(), other = new_graph();
    fill_node(other, RNL_AT_START, b, 50);
    rnl_node fill = fill_node(graph, RNL_AT_START, a, 1);
    rnl_node function = add_node(graph, RNL_AFTER(fill), adder, a, 1);
    rnl_node host = host_node(graph, RNL_AFTER(function), note, (void *)1);
    rnl_node record =
        event_node(graph, RNL_NODE_EVENT_RECORD, RNL_AFTER(host), first);
    rnl_node wait =
        event_node(graph, RNL_NODE_EVENT_WAIT, RNL_AFTER(record), first);
    rnl_node inner = child_node(graph, RNL_AFTER(wait), child), copy = NULL;
    static int read[2];
    const rnl_copy *one = RNL_COPY(.to = {.pointer = &read[0]},
                                   .from = {.buffer = a}, .width = 4);
    const rnl_copy *two = RNL_COPY(.to = {.pointer = &read[1]},
                                   .from = {.buffer = b}, .width = 4);
    expect_ok(rnl_graph_add_node(graph, RNL_AFTER(inner),
                                 RNL_NODE(.kind = RNL_NODE_COPY, .copy = one),
                                 &copy));
    rnl_node values = NULL;
    rnl_value_op write = *RNL_VALUE_OP(.action = RNL_WRITE_VALUE, .width = 32,
                                       .buffer = b, .value = 60);
    expect_ok(rnl_graph_add_node(graph, RNL_AFTER(copy),
                                 RNL_NODE(.kind = RNL_NODE_VALUES,
                                          .values = &write, .value_count = 1),
                                 &values));
    write.value = 70;  // the node has its own
    rnl_node nodes[] = {fill, function, host, record, wait, inner, copy,
                        values};
    const rnl_node_params *params[] = {
        RNL_NODE(.kind = RNL_NODE_FILL, .fill = fill_of(a, 30)),
        RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = down,
                 .launch = one_thread(), .args = RNL_ARGS(a)),
        RNL_NODE(.kind = RNL_NODE_HOST_FUNCTION, .host = note,
                 .user_data = (void *)2),
        RNL_NODE(.kind = RNL_NODE_EVENT_RECORD, .event = second),
        RNL_NODE(.kind = RNL_NODE_EVENT_WAIT, .event = second),
        RNL_NODE(.kind = RNL_NODE_CHILD, .child = other),
        RNL_NODE(.kind = RNL_NODE_COPY, .copy = two),
        RNL_NODE(.kind = RNL_NODE_VALUES, .values = &write, .value_count = 1),
    };
    for (int in_exec = 0; in_exec < 2; in_exec++) {
        rnl_graph work = NULL;
        expect_ok(rnl_graph_clone(graph, &work));
        rnl_graph_exec exec = in_exec ? instantiate(work) : NULL;
        for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
            rnl_node node = NULL;
            expect_ok(rnl_graph_find_node(work, nodes[i], &node));
            if (exec)
                expect_ok(rnl_graph_exec_set_node(exec, node, params[i]));
            else
                expect_ok(rnl_graph_set_node(work, node, params[i]));
        }
        read[0] = read[1] = 0;
        trace_clear();
        expect_ok(rnl_fill_and_wait(suite_stream(), b, 0, 4, 0, 4));
        if (!exec)
            exec = instantiate(work);
        launch_and_wait(exec);
        suite_expect_ints(a, 1, 29);
        suite_expect_ints(b, 1, 70);
        assert_int_equal(read[0], 0);
        assert_int_equal(read[1], 50);
        assert_int_equal(trace.seen[0], 2);
        drop_both(work, exec);
    }
    expect_ok(rnl_graph_release(child));
    expect_ok(rnl_graph_release(other));
    expect_ok(rnl_event_release(first));
    expect_ok(rnl_event_release(second));
    expect_ok(rnl_function_release(adder));
    expect_ok(rnl_function_release(down));
    end(graph, instantiate(graph));
}

RNL_TEST(bad_parameters_do_not_change_a_node)
{
    begin();
    rnl_graph graph = new_graph(), body = NULL;
    rnl_node node = fill_node(graph, RNL_AT_START, a, 1);
    rnl_node branch =
        body_node(graph, RNL_NODE_IF, RNL_AT_START, a, &body);
    rnl_graph_exec exec = instantiate(graph);
    rnl_node late = fill_node(graph, RNL_AT_START, b, 1);
    rnl_node inner = fill_node(body, RNL_AT_START, b, 1);
    const rnl_fill *good = fill_of(b, 2);
    const rnl_fill *bad = RNL_FILL(.to = {.buffer = b}, .width = 8,
                                   .pattern_size = 4);
    const rnl_node_params *rows[] = {
        RNL_NODE(.kind = RNL_NODE_FILL, .fill = bad),
        RNL_NODE(.kind = RNL_NODE_FILL),
        RNL_NODE(.kind = RNL_NODE_EMPTY),
        RNL_NODE(.kind = 0),
        RNL_NODE(.kind = RNL_NODE_WHILE + 1),
        RNL_NODE(.kind = 100),
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const rnl_status expected =
            i == 0 ? RNL_ERROR_OUT_OF_RANGE : RNL_ERROR_INVALID_ARGUMENT;
        expect_error(rnl_graph_exec_set_node(exec, node, rows[i]), expected,
                     NULL);
        expect_error(rnl_graph_set_node(graph, node, rows[i]), expected, NULL);
    }
    const rnl_node_params *fine =
        RNL_NODE(.kind = RNL_NODE_FILL, .fill = good);
    expect_error(rnl_graph_exec_set_node(exec, late, fine),
                 RNL_ERROR_INVALID_HANDLE, "node");
    expect_error(rnl_graph_exec_set_node(exec, inner, fine),
                 RNL_ERROR_INVALID_HANDLE, "node");
    expect_error(rnl_graph_exec_set_node(exec, node, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "params");
    expect_error(rnl_graph_set_node(graph, branch,
                                    RNL_NODE(.kind = RNL_NODE_IF, .buffer = b,
                                             .out_body = &body)),
                 RNL_ERROR_UNSUPPORTED, "params");
    launch_and_wait(exec);
    suite_expect_ints(a, 1, 1);
    suite_expect_ints(b, 1, 0);
    end(graph, exec);
}

RNL_TEST(only_work_can_be_disabled)
{
    begin();
    rnl_event event = suite_new_event();
    rnl_graph graph = new_graph(), body = NULL;
    rnl_node fixed[4];
    fixed[0] = empty_node(graph, RNL_AT_START);
    fixed[1] = event_node(graph, RNL_NODE_EVENT_RECORD, RNL_AT_START, event);
    fixed[2] = child_node(graph, RNL_AT_START, graph);
    fixed[3] = body_node(graph, RNL_NODE_IF, RNL_AT_START, a, &body);
    rnl_node host = host_node(graph, RNL_AT_START, note, (void *)1);
    rnl_graph_exec exec = instantiate(graph);
    bool enabled = false;
    for (int i = 0; i < 4; i++) {
        expect_error(rnl_graph_exec_set_enabled(exec, fixed[i], false),
                     RNL_ERROR_UNSUPPORTED, "node");
        expect_ok(rnl_graph_exec_is_enabled(exec, fixed[i], &enabled));
        assert_true(enabled);
    }
    expect_error(rnl_graph_exec_is_enabled(exec, host, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_enabled");
    trace_clear();
    expect_ok(rnl_graph_exec_set_enabled(exec, host, false));
    // New parameters count once it is enabled again.
    expect_ok(rnl_graph_exec_set_node(
        exec, host, RNL_NODE(.kind = RNL_NODE_HOST_FUNCTION, .host = note,
                             .user_data = (void *)7)));
    launch_and_wait(exec);
    assert_int_equal(trace.next, 0);
    expect_ok(rnl_graph_exec_set_enabled(exec, host, true));
    launch_and_wait(exec);
    assert_int_equal(trace.next, 1);
    assert_int_equal(trace.seen[0], 7);
    expect_ok(rnl_event_release(event));
    end(graph, exec);
}

// A driver forgets what a node was given when that is disabled.
RNL_TEST(what_is_enabled_again_has_its_last_parameters)
{
    begin();
    rnl_function adder = new_adder();
    rnl_buffer c = suite_ints(1, 30), d = suite_ints(1, 40);
    rnl_graph graph = new_graph();
    rnl_copy copy = {.struct_size = sizeof copy, .to = {.buffer = b},
                     .from = {.buffer = c}, .width = 4};
    rnl_node nodes[2];
    nodes[0] = add_node(graph, RNL_AT_START, adder, a, 1);
    expect_ok(rnl_graph_add_node(
        graph, RNL_AFTER(nodes[0]),
        RNL_NODE(.kind = RNL_NODE_COPY, .copy = &copy), &nodes[1]));
    rnl_graph_exec exec = instantiate(graph);
    launch_and_wait(exec);
    suite_expect_ints(a, 1, 1);
    suite_expect_ints(b, 1, 30);
    expect_ok(rnl_graph_exec_set_node(
        exec, nodes[0],
        RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = adder,
                 .launch = one_thread(), .args = RNL_ARGS(a, 5))));
    copy.from.buffer = d;
    expect_ok(rnl_graph_exec_set_node(
        exec, nodes[1], RNL_NODE(.kind = RNL_NODE_COPY, .copy = &copy)));
    for (int enabled = 0; enabled < 2; enabled++) {
        for (int i = 0; i < 2; i++)
            expect_ok(rnl_graph_exec_set_enabled(exec, nodes[i], enabled));
        launch_and_wait(exec);
        suite_expect_ints(a, 1, enabled ? 6 : 1);
        suite_expect_ints(b, 1, enabled ? 40 : 30);
    }
    expect_ok(rnl_function_release(adder));
    expect_ok(rnl_buffer_release(c));
    expect_ok(rnl_buffer_release(d));
    end(graph, exec);
}

RNL_TEST(a_graph_may_change_after_it_was_instantiated)
{
    begin();
    rnl_graph graph = new_graph();
    rnl_node node = fill_node(graph, RNL_AT_START, a, 1);
    rnl_graph_exec exec = instantiate(graph);
    expect_ok(rnl_graph_set_node(
        graph, node, RNL_NODE(.kind = RNL_NODE_FILL, .fill = fill_of(a, 9))));
    fill_node(graph, RNL_AFTER(node), b, 9);
    expect_ok(rnl_graph_remove_node(graph, node));
    launch_and_wait(exec);
    suite_expect_ints(a, 1, 1);
    suite_expect_ints(b, 1, 0);
    end(graph, exec);
}

// Launches of an executable graph have an order, also those that have nothing
// to do, which a driver would not wait for.
RNL_TEST(launches_without_work_keep_the_order_of_the_others)
{
    rnl_stream streams[4];
    for (int i = 0; i < 4; i++)
        streams[i] = suite_new_stream();
    begin();
    rnl_graph graph = new_graph();
    rnl_node node = fill_node(graph, RNL_AT_START, a, 1);
    rnl_graph_exec exec = instantiate(graph);
    struct gate *gate = gate_shut(streams[0]);
    expect_ok(rnl_enqueue_graph(streams[0], exec));
    expect_ok(rnl_graph_exec_set_enabled(exec, node, false));
    expect_ok(rnl_enqueue_graph(streams[1], exec));
    expect_ok(rnl_enqueue_graph(streams[2], exec));
    // Given while it is disabled.
    const rnl_fill *fill = RNL_FILL(.to = {.buffer = a}, .width = 4,
                                    .pattern = 2, .pattern_size = 4);
    expect_ok(rnl_graph_exec_set_node(
        exec, node, RNL_NODE(.kind = RNL_NODE_FILL, .fill = fill)));
    expect_ok(rnl_graph_exec_set_enabled(exec, node, true));
    expect_ok(rnl_enqueue_graph(streams[3], exec));
    assert_status(rnl_stream_query(streams[3]), RNL_NOT_READY);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(streams[3], RNL_FOREVER));
    suite_expect_ints(a, 1, 2);
    expect_ok(rnl_context_synchronize(suite_context(), RNL_FOREVER));
    suite_expect_ints(a, 1, 2);
    gate_free(gate);
    end(graph, exec);
    for (int i = 0; i < 4; i++)
        expect_ok(rnl_stream_release(streams[i]));
}

// Two fills whose states make four executable graphs of a driver that makes
// another one for each: none waits for the device to be idle.
RNL_TEST(fills_are_switched_any_number_of_times_while_a_gate_is_shut)
{
    enum { LAUNCHES = 120, COPY_SIZE = sizeof(int) };
    suite_need(RNL_FEATURE_HOST_FUNCTIONS);
    begin();
    rnl_buffer all = suite_ints(2 * LAUNCHES, 0);
    rnl_stream stream = suite_new_stream();
    rnl_graph graph = new_graph();
    rnl_node of_a = fill_node(graph, RNL_AT_START, a, 1);
    rnl_node of_b = fill_node(graph, RNL_AFTER(of_a), b, 1);
    rnl_graph_exec exec = instantiate(graph);
    struct gate *gate = gate_shut(stream);
    int expected[2 * LAUNCHES] = {0}, in_a = 0, in_b = 0;
    for (int i = 0; i < LAUNCHES; i++) {
        bool to_a = i / 2 % 2 == 0, to_b = i % 3 == 0;
        expect_ok(rnl_graph_exec_set_enabled(exec, of_a, to_a));
        expect_ok(rnl_graph_exec_set_enabled(exec, of_b, to_b));
        const rnl_fill *fill =
            RNL_FILL(.to = {.buffer = a}, .width = sizeof(int),
                     .pattern = (uint32_t)i, .pattern_size = 4);
        expect_ok(rnl_graph_exec_set_node(
            exec, of_a, RNL_NODE(.kind = RNL_NODE_FILL, .fill = fill)));
        expect_ok(rnl_enqueue_graph(stream, exec));
        in_a = to_a ? i : in_a;
        in_b = to_b ? 1 : in_b;
        expected[2 * i] = in_a;
        expected[2 * i + 1] = in_b;
        expect_ok(rnl_enqueue_copy_buffer(stream, all, 2 * i * sizeof(int), a,
                                          0, COPY_SIZE));
        expect_ok(rnl_enqueue_copy_buffer(stream, all,
                                          (2 * i + 1) * sizeof(int), b, 0,
                                          COPY_SIZE));
        expect_ok(rnl_enqueue_fill(stream, b, 0, COPY_SIZE, 0, COPY_SIZE));
        in_b = 0;
    }
    gate_open(gate);
    int found[2 * LAUNCHES];
    expect_ok(rnl_copy_from_buffer_and_wait(stream, found, all, 0,
                                            sizeof found));
    assert_memory_equal(found, expected, sizeof found);
    gate_free(gate);
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_buffer_release(all));
    end(graph, exec);
}
