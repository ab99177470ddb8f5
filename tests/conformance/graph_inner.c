// Graphs inside of graphs: children, and the bodies of IF and WHILE.
#include "graphs.h"

static rnl_node copy_node(rnl_graph graph, const rnl_node *after, size_t count,
                          rnl_buffer to, rnl_buffer from)
{
    rnl_node node = NULL;
    const rnl_copy *copy = RNL_COPY(.to = {.buffer = to},
                                    .from = {.buffer = from}, .width = 4);
    expect_ok(rnl_graph_add_node(graph, after, count,
                                 RNL_NODE(.kind = RNL_NODE_COPY, .copy = copy),
                                 &node));
    return node;
}

static rnl_node count_down_node(rnl_graph graph, const rnl_node *after,
                                size_t count, rnl_function down,
                                rnl_buffer word)
{
    rnl_node node = NULL;
    expect_ok(rnl_graph_add_node(
        graph, after, count,
        RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = down,
                 .launch = one_thread(), .args = RNL_ARGS(word)), &node));
    return node;
}

// --- Children --------------------------------------------------------------

RNL_TEST(children_may_have_children)
{
    rnl_function adder = new_adder();
    rnl_buffer sum = suite_ints(1, 0), copy = suite_ints(1, 0);
    rnl_graph graph = new_graph();
    add_node(graph, RNL_AT_START, adder, sum, 1);
    for (int depth = 0; depth < 8; depth++) {
        rnl_graph outer = new_graph();
        rnl_node first = child_node(outer, RNL_AT_START, graph);
        rnl_node second = child_node(outer, RNL_AFTER(first), graph);
        add_node(outer, RNL_AFTER(second), adder, sum, 1);
        expect_ok(rnl_graph_release(graph));
        graph = outer;
    }
    rnl_node nodes[3];
    size_t count;
    expect_ok(rnl_graph_get_nodes(graph, nodes, 3, &count));
    copy_node(graph, RNL_AFTER(nodes[2]), copy, sum);
    launch_once(graph);
    suite_expect_ints(copy, 1, (1 << 9) - 1);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_function_release(adder));
    expect_ok(rnl_buffer_release(sum));
    expect_ok(rnl_buffer_release(copy));
}

RNL_TEST(a_graph_may_hold_a_copy_of_itself)
{
    rnl_graph graph = new_graph();
    empty_node(graph, RNL_AT_START);
    rnl_node child = child_node(graph, RNL_AT_START, graph);
    expect_shape(graph, 2, 0);
    expect_shape(node_info_of(graph, child).graph, 1, 0);
    launch_once(graph);
    expect_ok(rnl_graph_release(graph));
}

RNL_TEST(an_empty_child_orders_what_is_around_it)
{
    rnl_graph graph = new_graph(), child = new_graph();
    rnl_buffer a = suite_ints(1, 0), b = suite_ints(1, 0);
    rnl_node before = fill_node(graph, RNL_AT_START, a, 4);
    rnl_node node = child_node(graph, RNL_AFTER(before), child);
    copy_node(graph, RNL_AFTER(node), b, a);
    launch_once(graph);
    suite_expect_ints(b, 1, 4);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_graph_release(child));
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(b));
}

RNL_TEST(the_copy_in_a_node_can_be_changed)
{
    rnl_graph graph = new_graph(), child = new_graph();
    rnl_buffer a = suite_ints(1, 0);
    rnl_node node = child_node(graph, RNL_AT_START, child);
    rnl_graph inner = node_info_of(graph, node).graph;
    fill_node(inner, RNL_AT_START, a, 5);
    expect_shape(child, 0, 0);
    launch_once(graph);
    suite_expect_ints(a, 1, 5);
    expect_ok(rnl_graph_retain(inner));
    expect_ok(rnl_graph_remove_node(graph, node));
    launch_once(inner);  // ours alone now
    expect_ok(rnl_graph_release(inner));
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_graph_release(child));
    expect_ok(rnl_buffer_release(a));
}

RNL_TEST(host_functions_and_waits_run_in_children)
{
    rnl_graph graph = new_graph(), child = new_graph();
    rnl_event event = suite_new_event();
    rnl_node first = host_node(child, RNL_AT_START, note, (void *)2);
    rnl_node record =
        event_node(child, RNL_NODE_EVENT_RECORD, RNL_AFTER(first), event);
    event_node(child, RNL_NODE_EVENT_WAIT, RNL_AFTER(record), event);
    first = host_node(graph, RNL_AT_START, note, (void *)1);
    rnl_node node = child_node(graph, RNL_AFTER(first), child);
    host_node(graph, RNL_AFTER(node), note, (void *)3);
    rnl_graph_exec exec = instantiate(graph);
    for (int round = 0; round < 3; round++) {
        trace_clear();
        launch_and_wait(exec);
        assert_int_equal(trace.next, 3);
        for (int i = 0; i < 3; i++)
            assert_int_equal(trace.seen[i], i + 1);
    }
    expect_ok(rnl_event_query(event));
    drop_both(graph, exec);
    expect_ok(rnl_graph_release(child));
    expect_ok(rnl_event_release(event));
}

// --- Bodies ----------------------------------------------------------------

RNL_TEST(an_if_runs_its_body_once_or_not_at_all)
{
    rnl_function adder = new_adder();
    rnl_buffer word = suite_ints(4, 0), sum = suite_ints(1, 0);
    rnl_graph graph = new_graph(), body = NULL;
    rnl_node node = NULL;
    expect_ok(rnl_graph_add_node(
        graph, RNL_AT_START,
        RNL_NODE(.kind = RNL_NODE_IF, .buffer = word, .offset = 8,
                 .out_body = &body), &node));
    add_node(body, RNL_AT_START, adder, sum, 5);
    rnl_graph_exec exec = instantiate(graph);
    launch_and_wait(exec);
    suite_expect_ints(sum, 1, 0);
    expect_ok(rnl_fill_and_wait(suite_stream(), word, 8, 4, 0x80000000u, 4));
    launch_and_wait(exec);
    suite_expect_ints(sum, 1, 5);
    launch_and_wait(exec);
    suite_expect_ints(sum, 1, 10);
    drop_both(graph, exec);
    expect_ok(rnl_function_release(adder));
    expect_ok(rnl_buffer_release(word));
    expect_ok(rnl_buffer_release(sum));
}

static void set_word(rnl_status status, void *user_data)
{
    if (status == RNL_OK)
        *(uint32_t *)user_data = 1;
}

RNL_TEST(a_host_function_may_decide)
{
    rnl_function adder = new_adder();
    rnl_buffer word = NULL, sum = suite_ints(1, 0);
    void *pointer = NULL;
    expect_ok(rnl_buffer_create(suite_context(), 4,
                                RNL_BUFFER_OPTIONS(.kind = RNL_MEMORY_HOST,
                                                   .zeroed = true), &word));
    expect_ok(rnl_buffer_host_pointer(word, &pointer));
    rnl_graph graph = new_graph(), body = NULL;
    rnl_node host = host_node(graph, RNL_AT_START, set_word, pointer);
    rnl_node node =
        body_node(graph, RNL_NODE_IF, RNL_AFTER(host), word, &body);
    add_node(body, RNL_AT_START, adder, sum, 2);
    fill_node(graph, RNL_AFTER(node), word, 0);
    rnl_graph_exec exec = instantiate(graph);
    for (int i = 1; i <= 3; i++) {
        launch_and_wait(exec);
        suite_expect_ints(sum, 1, 2 * i);
    }
    drop_both(graph, exec);
    expect_ok(rnl_function_release(adder));
    expect_ok(rnl_buffer_release(word));
    expect_ok(rnl_buffer_release(sum));
}

// for (i = 3; i; i--) { for (k = 4; k; k--) { sum += 1; if (yes) sum += 10; } }
RNL_TEST(bodies_may_have_bodies_and_children)
{
    rnl_function adder = new_adder(), down = new_count_down();
    rnl_buffer sum = suite_ints(1, 0), yes = suite_ints(1, 1);
    rnl_buffer i = suite_ints(1, 0), k = suite_ints(1, 0);
    rnl_graph graph = new_graph(), child = new_graph();
    rnl_graph outer = NULL, inner = NULL, then = NULL;
    rnl_node node = fill_node(graph, RNL_AT_START, i, 3);
    body_node(graph, RNL_NODE_WHILE, RNL_AFTER(node), i, &outer);
    node = fill_node(outer, RNL_AT_START, k, 4);
    node = body_node(outer, RNL_NODE_WHILE, RNL_AFTER(node), k, &inner);
    count_down_node(outer, RNL_AFTER(node), down, i);
    add_node(child, RNL_AT_START, adder, sum, 1);
    node = child_node(inner, RNL_AT_START, child);
    node = body_node(inner, RNL_NODE_IF, RNL_AFTER(node), yes, &then);
    count_down_node(inner, RNL_AFTER(node), down, k);
    add_node(then, RNL_AT_START, adder, sum, 10);
    rnl_graph_exec exec = instantiate(graph);
    launch_and_wait(exec);
    suite_expect_ints(sum, 1, 12 * 11);
    expect_ok(rnl_fill_and_wait(suite_stream(), yes, 0, 4, 0, 4));
    launch_and_wait(exec);
    suite_expect_ints(sum, 1, 12 * 11 + 12);
    drop_both(graph, exec);
    expect_ok(rnl_graph_release(child));
    expect_ok(rnl_function_release(adder));
    expect_ok(rnl_function_release(down));
    expect_ok(rnl_buffer_release(sum));
    expect_ok(rnl_buffer_release(yes));
    expect_ok(rnl_buffer_release(i));
    expect_ok(rnl_buffer_release(k));
}

RNL_TEST(the_number_that_decides_is_aligned)
{
    rnl_buffer buffer = suite_ints(4, 0), slice = NULL;
    rnl_graph graph = new_graph(), body = NULL;
    rnl_node node = NULL;
    expect_ok(rnl_buffer_slice(buffer, 2, 10, &slice));
    for (size_t offset = 0; offset < 3; offset++) {
        rnl_status status = rnl_graph_add_node(
            graph, RNL_AT_START,
            RNL_NODE(.kind = RNL_NODE_IF, .buffer = slice, .offset = offset,
                     .out_body = &body), &node);
        if (offset == 2)
            expect_ok(status);
        else
            expect_error(status, RNL_ERROR_INVALID_ARGUMENT, "offset");
    }
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_buffer_release(slice));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(loops_run_in_children)
{
    rnl_function adder = new_adder(), down = new_count_down();
    rnl_buffer sum = suite_ints(1, 0), word = suite_ints(1, 0);
    rnl_graph child = new_graph(), graph = new_graph(), body = NULL;
    rnl_node set = fill_node(child, RNL_AT_START, word, 5);
    body_node(child, RNL_NODE_WHILE, RNL_AFTER(set), word, &body);
    rnl_node add = add_node(body, RNL_AT_START, adder, sum, 1);
    count_down_node(body, RNL_AFTER(add), down, word);
    rnl_node first = child_node(graph, RNL_AT_START, child);
    child_node(graph, RNL_AFTER(first), child);
    launch_once(graph);
    suite_expect_ints(sum, 1, 10);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_graph_release(child));
    expect_ok(rnl_function_release(adder));
    expect_ok(rnl_function_release(down));
    expect_ok(rnl_buffer_release(sum));
    expect_ok(rnl_buffer_release(word));
}

static rnl_status fail_now(const rnl_native_call *call)
{
    (void)call;
    return RNL_ERROR_LAUNCH_FAILED;
}

RNL_TEST(a_failure_in_a_body_ends_the_launch)
{
    rnl_function bad = suite_native("bad", fail_now, NULL);
    rnl_buffer word = suite_ints(1, 1), a = suite_ints(1, 0);
    rnl_graph graph = new_graph(), body = NULL, inner = NULL;
    rnl_node node = NULL;
    rnl_node loop =
        body_node(graph, RNL_NODE_WHILE, RNL_AT_START, word, &body);
    body_node(body, RNL_NODE_IF, RNL_AT_START, word, &inner);
    expect_ok(rnl_graph_add_node(
        inner, RNL_AT_START,
        RNL_NODE(.kind = RNL_NODE_FUNCTION, .label = "deep inside",
                 .function = bad, .launch = one_thread()), &node));
    fill_node(graph, RNL_AFTER(loop), a, 1);
    rnl_graph_exec exec = instantiate(graph);
    for (int i = 0; i < 2; i++) {
        expect_ok(rnl_enqueue_graph(suite_stream(), exec));
        assert_status(rnl_stream_synchronize(suite_stream(), RNL_FOREVER),
                      RNL_ERROR_LAUNCH_FAILED);
        assert_string_equal(rnl_last_error()->operation_label, "deep inside");
        expect_ok(rnl_stream_reset_and_wait(suite_stream()));
        suite_expect_ints(a, 1, 0);
    }
    drop_both(graph, exec);
    expect_ok(rnl_function_release(bad));
    expect_ok(rnl_buffer_release(word));
    expect_ok(rnl_buffer_release(a));
}

// --- How deep --------------------------------------------------------------

// Adds bodies inside of each other until that is refused.
static int fill_depth(rnl_graph graph, rnl_buffer word, rnl_graph *out_last)
{
    for (int depth = 0;; depth++) {
        rnl_node node = NULL;
        const rnl_node_params *params = RNL_NODE(
            .kind = RNL_NODE_IF, .buffer = word, .out_body = &graph);
        *out_last = graph;
        if (depth == 64) {
            expect_error(rnl_graph_add_node(graph, RNL_AT_START, params, &node),
                         RNL_ERROR_OUT_OF_RANGE, "graph");
            return depth;
        }
        expect_ok(rnl_graph_add_node(graph, RNL_AT_START, params, &node));
    }
}

RNL_TEST(graphs_are_not_too_deep_inside_of_each_other)
{
    rnl_graph graph = new_graph(), outer = new_graph(), last = NULL;
    rnl_buffer word = suite_ints(1, 1), sum = suite_ints(1, 0);
    rnl_node node = NULL;
    assert_int_equal(fill_depth(graph, word, &last), 64);
    fill_node(last, RNL_AT_START, sum, 5);
    expect_error(rnl_graph_add_node(
                     outer, RNL_AT_START,
                     RNL_NODE(.kind = RNL_NODE_CHILD, .child = graph), &node),
                 RNL_ERROR_OUT_OF_RANGE, "graph");
    expect_shape(outer, 0, 0);
    launch_once(graph);
    suite_expect_ints(sum, 1, 5);
    expect_ok(rnl_graph_release(outer));
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_buffer_release(word));
    expect_ok(rnl_buffer_release(sum));
}

// --- Buffers ---------------------------------------------------------------

RNL_TEST(a_buffer_of_a_graph_lives_as_long_as_somebody_has_it)
{
    rnl_graph graph = new_graph();
    rnl_buffer made = NULL, a = suite_ints(1, 0);
    rnl_node create = NULL, node = NULL;
    expect_ok(rnl_graph_add_node(
        graph, RNL_AT_START,
        RNL_NODE(.kind = RNL_NODE_BUFFER_CREATE, .size = 4,
                 .options = RNL_BUFFER_OPTIONS(.label = "made"),
                 .out_buffer = &made), &create));
    rnl_buffer_info info = {.struct_size = sizeof info};
    expect_ok(rnl_buffer_get_info(made, &info));
    assert_int_equal(info.size, 4);
    assert_string_equal(info.label, "made");
    node = fill_node(graph, RNL_AFTER(create), made, 8);
    node = copy_node(graph, RNL_AFTER(node), a, made);
    const rnl_node_params *release =
        RNL_NODE(.kind = RNL_NODE_BUFFER_RELEASE, .buffer = made);
    expect_ok(rnl_graph_add_node(graph, RNL_AFTER(node), release, &node));
    expect_error(rnl_graph_add_node(graph, RNL_AFTER(node), release, &node),
                 RNL_ERROR_INVALID_ARGUMENT, "buffer");
    expect_error(rnl_graph_set_node(graph, create, release),
                 RNL_ERROR_INVALID_ARGUMENT, "params");
    expect_error(rnl_graph_set_node(graph, node, release),
                 RNL_ERROR_UNSUPPORTED, "params");
    rnl_graph_exec exec = instantiate(graph);
    expect_ok(rnl_buffer_release(made));
    expect_ok(rnl_graph_release(graph));
    launch_and_wait(exec);
    launch_and_wait(exec);
    suite_expect_ints(a, 1, 8);
    expect_ok(rnl_graph_exec_release(exec));
    expect_ok(rnl_buffer_release(a));
}
