// Nodes of other graphs, graphs of other contexts: refused by all calls that
// take one, with nothing changed.
#include "graphs.h"

// --- Nodes -----------------------------------------------------------------

static struct here {
    rnl_graph graph;
    rnl_graph_exec exec;
    rnl_graph clone;
    rnl_node mine;
    rnl_stream stream;
} here;

static const rnl_node_params *empty(void)
{
    static const rnl_node_params params = {.struct_size = sizeof params,
                                           .kind = RNL_NODE_EMPTY};
    return &params;
}

#define CALL(name, call)                             \
    static rnl_status name(rnl_node node)            \
    {                                                \
        return call;                                 \
    }

static rnl_node out_node;
static bool out_flag;

static rnl_status get_info(rnl_node node)
{
    rnl_node_info info = {.struct_size = sizeof info};
    return rnl_graph_get_node_info(here.graph, node, &info);
}

static rnl_status begin_after(rnl_node node)
{
    const rnl_node after[] = {here.mine, node};
    return rnl_stream_begin_capture(
        here.stream, RNL_CAPTURE_OPTIONS(.graph = here.graph, .after = after,
                                         .after_count = 2));
}

CALL(add_after, rnl_graph_add_node(here.graph, RNL_AFTER(here.mine, node),
                                   empty(), &out_node))
CALL(set_node, rnl_graph_set_node(here.graph, node, empty()))
CALL(remove_node, rnl_graph_remove_node(here.graph, node))
CALL(add_from, rnl_graph_add_edge(here.graph, node, here.mine))
CALL(add_to, rnl_graph_add_edge(here.graph, here.mine, node))
CALL(remove_from, rnl_graph_remove_edge(here.graph, node, here.mine))
CALL(remove_to, rnl_graph_remove_edge(here.graph, here.mine, node))
CALL(exec_set, rnl_graph_exec_set_node(here.exec, node, empty()))
CALL(exec_enable, rnl_graph_exec_set_enabled(here.exec, node, false))
CALL(exec_is, rnl_graph_exec_is_enabled(here.exec, node, &out_flag))
CALL(find, rnl_graph_find_node(here.clone, node, &out_node))

static const struct {
    const char *parameter;  // NULL: whatever
    rnl_status (*call)(rnl_node node);
} node_calls[] = {
    {"after", add_after}, {"node", set_node},   {"node", remove_node},
    {"from", add_from},   {"to", add_to},       {"from", remove_from},
    {"to", remove_to},    {"node", exec_set},   {"node", exec_enable},
    {"node", exec_is},    {"node", find},       {"node", get_info},
    {NULL, begin_after},
};

static void expect_stranger(rnl_node node)
{
    for (size_t i = 0; i < sizeof node_calls / sizeof node_calls[0]; i++) {
        out_node = here.mine;
        out_flag = true;
        expect_error(node_calls[i].call(node), RNL_ERROR_INVALID_HANDLE,
                     node_calls[i].parameter);
        assert_ptr_equal(out_node, here.mine);
        assert_true(out_flag);
    }
    expect_shape(here.graph, 1, 0);
}

// Nodes of another graph, of a copy, of what is inside, of the graph that the
// executable one was not made of, of a graph that is gone.
RNL_TEST(no_call_takes_a_node_of_another_graph)
{
    rnl_graph other = new_graph(), gone = new_graph(), body = NULL;
    rnl_buffer word = suite_ints(1, 0);
    rnl_node found = NULL;
    here.graph = new_graph();
    here.mine = body_node(here.graph, RNL_NODE_IF, RNL_AT_START, word, &body);
    here.exec = instantiate(here.graph);
    here.stream = suite_new_stream();
    expect_ok(rnl_graph_clone(here.graph, &here.clone));
    expect_ok(rnl_graph_find_node(here.clone, here.mine, &found));
    rnl_node dead = empty_node(gone, RNL_AT_START);
    expect_ok(rnl_graph_release(gone));
    expect_stranger(empty_node(other, RNL_AT_START));
    expect_stranger(empty_node(body, RNL_AT_START));
    expect_stranger(found);
    expect_stranger(dead);
    launch_and_wait(here.exec);
    expect_ok(rnl_stream_release(here.stream));
    expect_ok(rnl_graph_release(here.clone));
    expect_ok(rnl_graph_release(other));
    drop_both(here.graph, here.exec);
    expect_ok(rnl_buffer_release(word));
}

// --- Graphs ----------------------------------------------------------------

RNL_TEST(no_call_takes_a_graph_of_another_context)
{
    rnl_graph graph = new_graph(), child = new_graph(), theirs = NULL;
    rnl_context context = suite_open(NULL);
    rnl_node out = NULL, node = child_node(graph, RNL_AT_START, child);
    rnl_graph_exec exec = instantiate(graph);
    rnl_stream stream = suite_new_stream();
    expect_ok(rnl_graph_create(context, NULL, &theirs));
    const rnl_node_params *params =
        RNL_NODE(.kind = RNL_NODE_CHILD, .child = theirs);
    expect_error(rnl_graph_add_node(graph, RNL_AT_START, params, &out),
                 RNL_ERROR_INVALID_HANDLE, "child");
    expect_error(rnl_graph_set_node(graph, node, params),
                 RNL_ERROR_INVALID_HANDLE, "child");
    expect_error(rnl_graph_exec_set_node(exec, node, params),
                 RNL_ERROR_INVALID_HANDLE, "child");
    expect_error(rnl_graph_exec_update(exec, theirs, NULL),
                 RNL_ERROR_INVALID_HANDLE, "graph");
    expect_error(rnl_stream_begin_capture(stream,
                                          RNL_CAPTURE_OPTIONS(.graph = theirs)),
                 RNL_ERROR_INVALID_HANDLE, "graph");
    assert_null(out);
    launch_and_wait(exec);
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_graph_release(child));
    drop_both(graph, exec);
    expect_ok(rnl_graph_release(theirs));
    expect_ok(rnl_context_release(context));
}

// --- A stream that is captured ---------------------------------------------

// Refused on each stream of the capture; what was enqueued before and what is
// launched elsewhere goes on.
RNL_TEST(a_launch_on_a_captured_stream_is_refused)
{
    rnl_stream origin = new_captured_stream(), joined = suite_new_stream();
    rnl_graph graph = new_graph(), recorded = NULL;
    struct host_calls calls = {0};
    host_node(graph, RNL_AT_START, count_host_call, &calls);
    rnl_graph_exec exec = instantiate(graph);
    for (int i = 0; i < 2; i++) {
        expect_ok(rnl_enqueue_wait_stream(joined, origin));
        rnl_stream stream = i ? joined : origin;
        expect_error(rnl_enqueue_graph(stream, exec),
                     RNL_ERROR_CAPTURE_UNSUPPORTED, "stream");
        expect_error(rnl_stream_end_capture(origin, &recorded),
                     RNL_ERROR_CAPTURE_INVALIDATED, NULL);
        assert_non_null(strstr(rnl_last_error()->message,
                               "rnl_enqueue_graph"));
        assert_null(recorded);
        expect_ok(rnl_enqueue_graph(stream, exec));
        expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
        assert_int_equal(calls.count, i + 1);
        expect_ok(rnl_stream_begin_capture(origin, NULL));
    }
    expect_ok(rnl_graph_release(end_capture(origin)));
    drop_both(graph, exec);
    expect_ok(rnl_stream_release(origin));
    expect_ok(rnl_stream_release(joined));
}
