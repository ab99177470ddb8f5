// core/graph: handles of nodes are never given twice.
#include "unit.h"

#include "core/graph/graph.h"

#include <string.h>

static struct graph *find(rnl_graph handle)
{
    return (struct graph *)object_find(handle, OBJECT_GRAPH);
}

static rnl_status add_empty(rnl_graph graph, rnl_node *out_node)
{
    return rnl_graph_add_node(graph, RNL_AT_START,
                              RNL_NODE(.kind = RNL_NODE_EMPTY), out_node);
}

static void expect_end(rnl_context context, rnl_graph graph)
{
    rnl_graph another = NULL;
    rnl_stream stream = NULL;
    rnl_node node = NULL;
    assert_int_equal(rnl_graph_create(context, NULL, &another),
                     RNL_ERROR_OUT_OF_RANGE);
    assert_non_null(strstr(rnl_last_error()->message, "no more"));
    assert_int_equal(rnl_graph_clone(graph, &another), RNL_ERROR_OUT_OF_RANGE);
    assert_int_equal(
        rnl_graph_add_node(graph, RNL_AT_START,
                           RNL_NODE(.kind = RNL_NODE_CHILD, .child = graph),
                           &node),
        RNL_ERROR_OUT_OF_RANGE);
    assert_ok(rnl_context_default_stream(context, &stream));
    assert_int_equal(rnl_stream_begin_capture(stream, NULL),
                     RNL_ERROR_OUT_OF_RANGE);
    assert_ok(rnl_stream_query(stream));
}

RNL_TEST(the_numbers_of_graphs_have_an_end)
{
    uint64_t before = atomic_load(&graph_last_number);
    rnl_context context = NULL;
    rnl_graph first = NULL, last = NULL;
    rnl_graph_exec exec = NULL;
    rnl_node node = NULL, other = NULL;
    bool enabled = false;
    assert_ok(rnl_context_open("cpu", 0, NULL, &context));
    assert_ok(rnl_graph_create(context, NULL, &first));
    assert_ok(add_empty(first, &node));
    atomic_store(&graph_last_number, GRAPH_NUMBER_MOST - 1);
    assert_ok(rnl_graph_create(context, NULL, &last));
    assert_ok(add_empty(last, &other));
    assert_ptr_not_equal(node, other);
    expect_end(context, last);
    expect_end(context, last);
    // Executable graphs and updates need none.
    assert_ok(rnl_graph_instantiate(last, &exec));
    assert_ok(rnl_graph_exec_update(exec, first, NULL));
    assert_ok(rnl_graph_exec_is_enabled(exec, other, &enabled));
    assert_int_equal(rnl_graph_exec_is_enabled(exec, node, &enabled),
                     RNL_ERROR_INVALID_HANDLE);
    assert_ok(rnl_graph_remove_node(last, other));
    assert_ok(rnl_graph_exec_release(exec));
    assert_ok(rnl_graph_release(first));
    assert_ok(rnl_graph_release(last));
    assert_ok(rnl_context_release(context));
    atomic_store(&graph_last_number, before + 2);
}

RNL_TEST(the_nodes_of_a_graph_have_an_end)
{
    rnl_context context = NULL;
    rnl_graph graph = NULL;
    rnl_node node = NULL;
    assert_ok(rnl_context_open("cpu", 0, NULL, &context));
    assert_ok(rnl_graph_create(context, NULL, &graph));
    find(graph)->count = GRAPH_NODES_MOST;
    assert_int_equal(add_empty(graph, &node), RNL_ERROR_OUT_OF_RANGE);
    find(graph)->count = 0;
    assert_ok(add_empty(graph, &node));
    assert_ok(rnl_graph_release(graph));
    assert_ok(rnl_context_release(context));
}
