// Building graphs: nodes, edges, copies, queries, drawings, and all that is
// refused.
#include "graphs.h"

#include <stdio.h>
#include <unistd.h>

// --- Edges -----------------------------------------------------------------

RNL_TEST(edges_are_added_and_removed)
{
    rnl_graph graph = new_graph();
    rnl_node a = empty_node(graph, RNL_AT_START);
    rnl_node b = empty_node(graph, RNL_AT_START);
    rnl_node c = empty_node(graph, RNL_AFTER(a));
    expect_shape(graph, 3, 1);
    expect_ok(rnl_graph_add_edge(graph, a, b));
    expect_ok(rnl_graph_add_edge(graph, b, c));
    expect_shape(graph, 3, 3);
    assert_true(has_edge(graph, 0, 1) && has_edge(graph, 1, 2));
    expect_ok(rnl_graph_remove_edge(graph, a, c));
    expect_shape(graph, 3, 2);
    assert_false(has_edge(graph, 0, 2));
    expect_error(rnl_graph_remove_edge(graph, a, c), RNL_ERROR_NOT_FOUND,
                 "to");
    expect_error(rnl_graph_remove_edge(graph, b, a), RNL_ERROR_NOT_FOUND,
                 "to");
    expect_shape(graph, 3, 2);
    expect_ok(rnl_graph_release(graph));
}

RNL_TEST(circles_and_double_edges_are_refused)
{
    rnl_graph graph = new_graph();
    rnl_node nodes[50];
    nodes[0] = empty_node(graph, RNL_AT_START);
    for (int i = 1; i < 50; i++)
        nodes[i] = empty_node(graph, RNL_AFTER(nodes[i - 1]));
    expect_error(rnl_graph_add_edge(graph, nodes[49], nodes[0]),
                 RNL_ERROR_INVALID_ARGUMENT, "to");
    expect_error(rnl_graph_add_edge(graph, nodes[7], nodes[6]),
                 RNL_ERROR_INVALID_ARGUMENT, "to");
    expect_error(rnl_graph_add_edge(graph, nodes[7], nodes[7]),
                 RNL_ERROR_INVALID_ARGUMENT, "to");
    expect_error(rnl_graph_add_edge(graph, nodes[6], nodes[7]),
                 RNL_ERROR_INVALID_ARGUMENT, "to");
    expect_shape(graph, 50, 49);
    expect_ok(rnl_graph_remove_edge(graph, nodes[20], nodes[21]));
    expect_ok(rnl_graph_add_edge(graph, nodes[49], nodes[0]));
    expect_error(rnl_graph_add_edge(graph, nodes[20], nodes[21]),
                 RNL_ERROR_INVALID_ARGUMENT, "to");
    launch_once(graph);

    // A copy knows, too.
    rnl_graph clone;
    rnl_node from, to;
    expect_ok(rnl_graph_clone(graph, &clone));
    expect_ok(rnl_graph_find_node(clone, nodes[20], &from));
    expect_ok(rnl_graph_find_node(clone, nodes[21], &to));
    expect_error(rnl_graph_add_edge(clone, from, to),
                 RNL_ERROR_INVALID_ARGUMENT, "to");
    expect_ok(rnl_graph_release(clone));

    expect_ok(rnl_graph_remove_node(graph, nodes[49]));
    assert_int_equal(node_info_of(graph, nodes[0]).dependency_count, 0);
    expect_ok(rnl_graph_add_edge(graph, nodes[20], nodes[21]));
    expect_ok(rnl_graph_release(graph));
}

// With a search through all of it for each edge or node that takes minutes.
RNL_TEST(a_large_graph_is_built_and_taken_apart)
{
    enum { COUNT = 200000 };
    static rnl_node nodes[COUNT];
    rnl_graph graph = new_graph();
    for (int i = 0; i < COUNT; i++)
        nodes[i] = empty_node(graph, RNL_AT_START);
    for (int i = 1; i < COUNT; i++)
        expect_ok(rnl_graph_add_edge(graph, nodes[i - 1], nodes[i]));
    rnl_node join;
    expect_ok(rnl_graph_add_node(graph, nodes, COUNT,
                                 RNL_NODE(.kind = RNL_NODE_EMPTY), &join));
    expect_ok(rnl_graph_remove_node(graph, join));
    for (int i = 0; i < COUNT; i++)
        expect_ok(rnl_graph_remove_node(graph, nodes[i]));
    expect_shape(graph, 0, 0);
    expect_ok(rnl_graph_release(graph));
}

// The same where one comes after all others.
RNL_TEST(a_node_may_come_after_many)
{
    enum { COUNT = 400000 };
    static rnl_node nodes[COUNT];
    rnl_graph graph = new_graph();
    for (int i = 0; i < COUNT; i++)
        nodes[i] = empty_node(graph, RNL_AT_START);
    rnl_node join = empty_node(graph, RNL_AT_START);
    for (int i = 0; i < COUNT; i++)
        expect_ok(rnl_graph_add_edge(graph, nodes[i], join));
    expect_error(rnl_graph_add_edge(graph, nodes[COUNT / 3], join),
                 RNL_ERROR_INVALID_ARGUMENT, "to");
    expect_shape(graph, COUNT + 1, COUNT);
    for (int i = COUNT - 1; i >= COUNT / 2; i--)
        expect_ok(rnl_graph_remove_edge(graph, nodes[i], join));
    for (int i = COUNT / 2 - 1; i >= 0; i--)
        expect_ok(rnl_graph_remove_node(graph, nodes[i]));
    expect_shape(graph, COUNT - COUNT / 2 + 1, 0);
    expect_ok(rnl_graph_release(graph));
}

RNL_TEST(dependencies_in_any_order_are_the_same)
{
    rnl_graph graphs[2] = {new_graph(), new_graph()};
    rnl_graph_exec exec;
    for (int g = 0; g < 2; g++) {
        rnl_node a = empty_node(graphs[g], RNL_AT_START);
        rnl_node b = empty_node(graphs[g], RNL_AT_START);
        rnl_node c = empty_node(graphs[g], RNL_AT_START);
        rnl_node d = g ? empty_node(graphs[g], RNL_AFTER(c, a))
                       : empty_node(graphs[g], RNL_AFTER(a));
        expect_ok(rnl_graph_add_edge(graphs[g], b, d));
        if (g == 0)
            expect_ok(rnl_graph_add_edge(graphs[g], c, d));
    }
    expect_ok(rnl_graph_instantiate(graphs[0], &exec));
    expect_ok(rnl_graph_exec_update(exec, graphs[1], NULL));
    expect_ok(rnl_graph_exec_release(exec));
    expect_ok(rnl_graph_release(graphs[0]));
    expect_ok(rnl_graph_release(graphs[1]));
}

RNL_TEST(a_removed_node_takes_its_edges_with_it)
{
    rnl_graph graph = new_graph();
    rnl_node a = empty_node(graph, RNL_AT_START);
    rnl_node b = empty_node(graph, RNL_AFTER(a));
    rnl_node c = empty_node(graph, RNL_AFTER(a, b));
    expect_ok(rnl_graph_remove_node(graph, b));
    expect_shape(graph, 2, 1);
    assert_int_equal(node_info_of(graph, a).dependent_count, 1);
    assert_int_equal(node_info_of(graph, c).dependency_count, 1);
    expect_error(rnl_graph_remove_node(graph, b), RNL_ERROR_INVALID_HANDLE,
                 "node");
    expect_error(rnl_graph_add_edge(graph, a, b), RNL_ERROR_INVALID_HANDLE,
                 "to");
    rnl_node d = empty_node(graph, RNL_AFTER(c));
    assert_ptr_not_equal(d, b);  // handles are not used again
    rnl_node nodes[4];
    size_t count = 0;
    expect_ok(rnl_graph_get_nodes(graph, nodes, 4, &count));
    assert_int_equal(count, 3);
    assert_true(nodes[0] == a && nodes[1] == c && nodes[2] == d);
    launch_once(graph);
    expect_ok(rnl_graph_release(graph));
}

RNL_TEST(nodes_of_other_graphs_are_refused)
{
    rnl_graph graph = new_graph(), other = new_graph();
    rnl_node mine = empty_node(graph, RNL_AT_START);
    rnl_node foreign = empty_node(other, RNL_AT_START), out = mine;
    const rnl_node_params *empty = RNL_NODE(.kind = RNL_NODE_EMPTY);
    expect_error(rnl_graph_add_edge(graph, mine, foreign),
                 RNL_ERROR_INVALID_HANDLE, "to");
    expect_error(rnl_graph_add_edge(graph, foreign, mine),
                 RNL_ERROR_INVALID_HANDLE, "from");
    expect_error(rnl_graph_remove_node(graph, foreign),
                 RNL_ERROR_INVALID_HANDLE, "node");
    expect_error(rnl_graph_add_node(graph, RNL_AFTER(mine, foreign), empty,
                                    &out),
                 RNL_ERROR_INVALID_HANDLE, "after");
    expect_error(rnl_graph_add_node(graph, RNL_AFTER(mine, mine), empty, &out),
                 RNL_ERROR_INVALID_ARGUMENT, "after");
    expect_error(rnl_graph_add_node(graph, NULL, 1, empty, &out),
                 RNL_ERROR_INVALID_ARGUMENT, "after");
    expect_error(rnl_graph_add_node(graph, &mine, SIZE_MAX, empty, &out),
                 RNL_ERROR_OUT_OF_RANGE, "count");
    assert_ptr_equal(out, mine);
    expect_shape(graph, 1, 0);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_graph_release(other));
}

// --- Queries ---------------------------------------------------------------

RNL_TEST(lists_are_cut_at_their_room)
{
    rnl_graph graph = new_graph();
    rnl_node a = empty_node(graph, RNL_AT_START);
    rnl_node b = empty_node(graph, RNL_AFTER(a)), nodes[3] = {0};
    empty_node(graph, RNL_AFTER(a, b));
    rnl_edge edges[4] = {{0}};
    size_t count = 0;
    expect_ok(rnl_graph_get_nodes(graph, NULL, 0, &count));
    assert_int_equal(count, 3);
    expect_ok(rnl_graph_get_nodes(graph, nodes, 2, &count));
    assert_int_equal(count, 3);
    assert_true(nodes[0] == a && nodes[1] == b && !nodes[2]);
    expect_ok(rnl_graph_get_edges(graph, edges, 1, &count));
    assert_int_equal(count, 3);
    assert_true(edges[0].from == a && edges[0].to == b && !edges[1].to);
    expect_ok(rnl_graph_get_edges(graph, NULL, 0, &count));
    expect_error(rnl_graph_get_nodes(graph, NULL, 1, &count),
                 RNL_ERROR_INVALID_ARGUMENT, "out_nodes");
    expect_error(rnl_graph_get_edges(graph, NULL, 1, &count),
                 RNL_ERROR_INVALID_ARGUMENT, "out_edges");
    expect_error(rnl_graph_get_nodes(graph, nodes, 3, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_count");
    expect_ok(rnl_graph_release(graph));
}

RNL_TEST(a_node_tells_what_it_is)
{
    rnl_graph graph = new_graph(), child = new_graph(), body = NULL;
    rnl_buffer buffer = suite_ints(1, 0);
    rnl_function adder = new_adder();
    rnl_node node = NULL;
    char label[] = "my label";
    expect_ok(rnl_graph_add_node(
        graph, RNL_AT_START,
        RNL_NODE(.kind = RNL_NODE_FUNCTION, .label = label, .priority = -3,
                 .function = adder, .launch = one_thread(),
                 .args = RNL_ARGS(buffer, 1)),
        &node));
    label[0] = 'x';
    rnl_node_info info = node_info_of(graph, node);
    assert_int_equal(info.kind, RNL_NODE_FUNCTION);
    assert_int_equal(info.priority, -3);
    assert_string_equal(info.label, "my label");
    assert_string_equal(info.what, "add_to");
    info = node_info_of(graph, fill_node(graph, RNL_AFTER(node), buffer, 1));
    assert_string_equal(info.label, "");
    assert_string_equal(info.what, "fill");
    assert_int_equal(info.dependency_count, 1);
    assert_int_equal(node_info_of(graph, node).dependent_count, 1);
    info = node_info_of(graph, child_node(graph, RNL_AT_START, child));
    assert_non_null(info.graph);
    assert_ptr_not_equal(info.graph, child);
    node = body_node(graph, RNL_NODE_IF, RNL_AT_START, buffer, &body);
    assert_ptr_equal(node_info_of(graph, node).graph, body);
    expect_ok(rnl_function_release(adder));
    expect_ok(rnl_graph_release(child));
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_graph_tells_what_it_is)
{
    rnl_graph graph = new_graph(), labelled = NULL;
    rnl_graph_info info = {.struct_size = sizeof info};
    expect_ok(rnl_graph_create(suite_context(),
                               RNL_GRAPH_OPTIONS(.label = "a label"),
                               &labelled));
    expect_ok(rnl_graph_get_info(graph, &info));
    assert_ptr_equal(info.context, suite_context());
    assert_string_equal(info.label, "");
    uint64_t id = info.id;
    expect_ok(rnl_graph_get_info(labelled, &info));
    assert_string_equal(info.label, "a label");
    assert_true(info.id > id);
    expect_error(rnl_graph_get_info(graph, NULL), RNL_ERROR_INVALID_ARGUMENT,
                 "out_info");
    expect_error(rnl_graph_create(suite_context(), NULL, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_graph");
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_graph_release(labelled));
}

// --- Copies ----------------------------------------------------------------

RNL_TEST(a_clone_is_a_graph_of_its_own)
{
    rnl_graph graph = new_graph(), clone = NULL, second = NULL;
    rnl_buffer a = suite_ints(1, 0), b = suite_ints(1, 0);
    rnl_node first = fill_node(graph, RNL_AT_START, a, 1);
    rnl_node gone = empty_node(graph, RNL_AFTER(first));
    rnl_node last = fill_node(graph, RNL_AFTER(gone), b, 2), found = NULL;
    expect_ok(rnl_graph_clone(graph, &clone));
    expect_ok(rnl_graph_remove_node(graph, last));
    expect_ok(rnl_graph_find_node(clone, last, &found));
    assert_ptr_not_equal(found, last);
    assert_int_equal(node_info_of(clone, found).kind, RNL_NODE_FILL);
    expect_shape(clone, 3, 2);
    expect_ok(rnl_graph_find_node(clone, gone, &found));
    expect_ok(rnl_graph_remove_node(clone, found));
    rnl_node kept = found;
    expect_error(rnl_graph_find_node(clone, gone, &found),
                 RNL_ERROR_NOT_FOUND, "node");
    rnl_node late = empty_node(graph, RNL_AT_START);
    expect_error(rnl_graph_find_node(clone, late, &found),
                 RNL_ERROR_NOT_FOUND, "node");
    expect_ok(rnl_graph_clone(clone, &second));
    expect_error(rnl_graph_find_node(second, first, &found),
                 RNL_ERROR_INVALID_HANDLE, "node");
    assert_ptr_equal(found, kept);
    expect_ok(rnl_graph_release(graph));
    launch_once(clone);
    suite_expect_ints(a, 1, 1);
    suite_expect_ints(b, 1, 2);
    expect_ok(rnl_graph_release(clone));
    expect_ok(rnl_graph_release(second));
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(b));
}

RNL_TEST(a_clone_has_bodies_and_children_of_its_own)
{
    rnl_graph graph = new_graph(), child = new_graph(), body = NULL;
    rnl_graph clone = NULL;
    rnl_buffer word = suite_ints(1, 1), a = suite_ints(1, 0);
    rnl_node found = NULL;
    fill_node(child, RNL_AT_START, a, 3);
    rnl_node branch =
        body_node(graph, RNL_NODE_IF, RNL_AT_START, word, &body);
    child_node(body, RNL_AT_START, child);
    expect_ok(rnl_graph_clone(graph, &clone));
    expect_ok(rnl_graph_find_node(clone, branch, &found));
    rnl_graph inner = node_info_of(clone, found).graph;
    assert_ptr_not_equal(inner, body);
    expect_shape(inner, 1, 0);
    expect_error(rnl_graph_release(inner), RNL_ERROR_INVALID_STATE, "graph");
    expect_ok(rnl_graph_release(graph));
    assert_status(rnl_graph_retain(body), RNL_ERROR_INVALID_HANDLE);
    launch_once(clone);
    suite_expect_ints(a, 1, 3);
    expect_ok(rnl_graph_release(clone));
    expect_ok(rnl_graph_release(child));
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(word));
}

// --- Parameters that are refused -------------------------------------------

struct bad {
    rnl_node_params params;
    rnl_status expected;
};

static void expect_refused(rnl_graph graph, const struct bad *rows,
                           size_t count)
{
    rnl_node out = NULL;
    rnl_graph_info before = {.struct_size = sizeof before};
    expect_ok(rnl_graph_get_info(graph, &before));
    for (size_t i = 0; i < count; i++) {
        rnl_node_params params = rows[i].params;
        params.struct_size = sizeof params;
        rnl_status status = rnl_graph_add_node(graph, RNL_AT_START, &params,
                                               &out);
        if (status != rows[i].expected)
            fail_msg("row %zu: %s, not %s: %s", i, rnl_status_name(status),
                     rnl_status_name(rows[i].expected),
                     rnl_last_error()->message);
        assert_true(strlen(rnl_last_error()->message) > 12);
        assert_null(out);
    }
    expect_shape(graph, before.node_count, before.edge_count);
}

#define EXPECT_REFUSED(graph, rows) \
    expect_refused(graph, rows, sizeof(rows) / sizeof(rows)[0])

RNL_TEST(bad_launches_are_no_nodes)
{
    rnl_graph graph = new_graph();
    rnl_function f = new_adder();
    rnl_buffer sum = suite_ints(1, 0);
    const rnl_node_kind kind = RNL_NODE_FUNCTION;
    const rnl_launch *one = one_thread(), *empty = RNL_LAUNCH(.label = "x");
    const rnl_launch *huge = RNL_LAUNCH(.grid = {1}, .block = {4096});
    const rnl_args *args = RNL_ARGS(sum, 1), *few = RNL_ARGS(sum);
    const struct bad rows[] = {
        {{.kind = kind, .launch = one, .args = args},
         RNL_ERROR_INVALID_HANDLE},
        {{.kind = kind, .function = f, .args = args},
         RNL_ERROR_INVALID_ARGUMENT},
        {{.kind = kind, .function = f, .launch = empty, .args = args},
         RNL_ERROR_INVALID_ARGUMENT},
        {{.kind = kind, .function = f, .launch = huge, .args = args},
         RNL_ERROR_INVALID_ARGUMENT},
        {{.kind = kind, .function = f, .launch = one, .args = few},
         RNL_ERROR_ARGUMENT_MISMATCH},
        {{.kind = 0}, RNL_ERROR_INVALID_ARGUMENT},
        {{.kind = 99}, RNL_ERROR_INVALID_ARGUMENT},
    };
    EXPECT_REFUSED(graph, rows);
    expect_ok(rnl_function_release(f));
    expect_ok(rnl_buffer_release(sum));
    expect_ok(rnl_graph_release(graph));
}

RNL_TEST(bad_copies_and_fills_are_no_nodes)
{
    rnl_graph graph = new_graph();
    rnl_buffer a = suite_ints(4, 0);
    static char bytes[64];
    const rnl_copy *outside = RNL_COPY(.to = {.buffer = a, .offset = 8},
                                       .from = {.pointer = bytes},
                                       .width = 16);
    const rnl_copy *overlap = RNL_COPY(.to = {.buffer = a, .offset = 4},
                                       .from = {.buffer = a}, .width = 8);
    const rnl_copy *nowhere = RNL_COPY(.from = {.buffer = a}, .width = 8);
    const rnl_fill *three = RNL_FILL(.to = {.buffer = a}, .width = 12,
                                     .pattern_size = 3);
    const rnl_fill *uneven = RNL_FILL(.to = {.buffer = a, .offset = 2},
                                      .width = 8, .pattern_size = 4);
    const rnl_fill *long_fill = RNL_FILL(.to = {.buffer = a}, .width = 20,
                                         .pattern_size = 4);
    const rnl_fill *no_place = RNL_FILL(.width = 4, .pattern_size = 4);
    const struct bad rows[] = {
        {{.kind = RNL_NODE_COPY}, RNL_ERROR_INVALID_ARGUMENT},
        {{.kind = RNL_NODE_COPY, .copy = outside}, RNL_ERROR_OUT_OF_RANGE},
        {{.kind = RNL_NODE_COPY, .copy = overlap},
         RNL_ERROR_INVALID_ARGUMENT},
        {{.kind = RNL_NODE_COPY, .copy = nowhere},
         RNL_ERROR_INVALID_ARGUMENT},
        {{.kind = RNL_NODE_FILL}, RNL_ERROR_INVALID_ARGUMENT},
        {{.kind = RNL_NODE_FILL, .fill = three}, RNL_ERROR_INVALID_ARGUMENT},
        {{.kind = RNL_NODE_FILL, .fill = uneven}, RNL_ERROR_INVALID_ARGUMENT},
        {{.kind = RNL_NODE_FILL, .fill = long_fill}, RNL_ERROR_OUT_OF_RANGE},
        {{.kind = RNL_NODE_FILL, .fill = no_place},
         RNL_ERROR_INVALID_ARGUMENT},
        {{.kind = RNL_NODE_HOST_FUNCTION}, RNL_ERROR_INVALID_ARGUMENT},
    };
    EXPECT_REFUSED(graph, rows);
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_graph_release(graph));
}

RNL_TEST(bad_events_children_and_buffers_are_no_nodes)
{
    rnl_graph graph = new_graph(), theirs = NULL, body = NULL;
    rnl_context context = suite_open(NULL);
    rnl_event promise = NULL, foreign = NULL;
    rnl_buffer a = suite_ints(4, 0), other = NULL, out = NULL;
    expect_ok(rnl_graph_create(context, NULL, &theirs));
    expect_ok(rnl_event_create(context, NULL, &foreign));
    expect_ok(rnl_buffer_create(context, 64, NULL, &other));
    expect_ok(rnl_event_create(suite_context(),
                               RNL_EVENT_OPTIONS(.promise = true), &promise));
    const rnl_buffer_options *odd = RNL_BUFFER_OPTIONS(.kind = 9);
    const rnl_buffer_options *zero = RNL_BUFFER_OPTIONS(.zeroed = true);
    const rnl_node_kind record = RNL_NODE_EVENT_RECORD;
    const rnl_node_kind create = RNL_NODE_BUFFER_CREATE;
    const rnl_node_kind branch = RNL_NODE_IF, loop = RNL_NODE_WHILE;
    const struct bad rows[] = {
        {{.kind = record}, RNL_ERROR_INVALID_HANDLE},
        {{.kind = record, .event = promise}, RNL_ERROR_INVALID_ARGUMENT},
        {{.kind = record, .event = foreign}, RNL_ERROR_INVALID_HANDLE},
        {{.kind = RNL_NODE_EVENT_WAIT, .event = promise},
         RNL_ERROR_INVALID_ARGUMENT},
        {{.kind = RNL_NODE_CHILD}, RNL_ERROR_INVALID_HANDLE},
        {{.kind = RNL_NODE_CHILD, .child = theirs}, RNL_ERROR_INVALID_HANDLE},
        {{.kind = create, .size = 16}, RNL_ERROR_INVALID_ARGUMENT},
        {{.kind = create, .size = 16, .options = odd, .out_buffer = &out},
         RNL_ERROR_INVALID_ARGUMENT},
        {{.kind = create, .size = 16, .options = zero, .out_buffer = &out},
         RNL_ERROR_UNSUPPORTED},
        {{.kind = create, .size = SIZE_MAX / 2, .out_buffer = &out},
         RNL_ERROR_OUT_OF_MEMORY},
        {{.kind = RNL_NODE_BUFFER_RELEASE}, RNL_ERROR_INVALID_HANDLE},
        {{.kind = RNL_NODE_BUFFER_RELEASE, .buffer = a},
         RNL_ERROR_INVALID_ARGUMENT},
        {{.kind = branch, .buffer = a}, RNL_ERROR_INVALID_ARGUMENT},
        {{.kind = branch, .out_body = &body}, RNL_ERROR_INVALID_HANDLE},
        {{.kind = loop, .buffer = other, .out_body = &body},
         RNL_ERROR_INVALID_HANDLE},
        {{.kind = loop, .buffer = a, .offset = 2, .out_body = &body},
         RNL_ERROR_INVALID_ARGUMENT},
        {{.kind = loop, .buffer = a, .offset = 16, .out_body = &body},
         RNL_ERROR_OUT_OF_RANGE},
        {{.kind = loop, .buffer = a, .offset = SIZE_MAX - 3,
          .out_body = &body}, RNL_ERROR_OUT_OF_RANGE},
    };
    EXPECT_REFUSED(graph, rows);
    assert_null(body);
    assert_null(out);
    expect_ok(rnl_event_release(promise));
    expect_ok(rnl_event_release(foreign));
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(other));
    expect_ok(rnl_graph_release(theirs));
    expect_ok(rnl_context_release(context));
    expect_ok(rnl_graph_release(graph));
}

RNL_TEST(bad_value_operations_are_no_nodes)
{
    suite_need(RNL_FEATURE_MEMORY_OPERATIONS);
    static _Atomic uint64_t unknown;
    rnl_graph graph = new_graph();
    rnl_buffer a = suite_ints(4, 0);
    const rnl_value_op good = *RNL_VALUE_OP(.action = RNL_WRITE_VALUE,
                                            .width = 32, .buffer = a,
                                            .offset = 4, .value = 5);
    rnl_value_op uneven = good, outside = good, wide = good, wild = good;
    rnl_value_op second[] = {good, good};
    uneven.offset = 2;
    outside.offset = 16;
    wide.width = 64;
    wild.buffer = NULL;
    wild.pointer = &unknown;
    wild.offset = 0;
    second[1].action = (rnl_value_action)6;
    const rnl_node_kind kind = RNL_NODE_VALUES;
    const struct bad rows[] = {
        {{.kind = kind, .value_count = 1}, RNL_ERROR_INVALID_ARGUMENT},
        {{.kind = kind, .values = &uneven, .value_count = 1},
         RNL_ERROR_INVALID_ARGUMENT},
        {{.kind = kind, .values = &outside, .value_count = 1},
         RNL_ERROR_OUT_OF_RANGE},
        {{.kind = kind, .values = &wide, .value_count = 1},
         RNL_ERROR_INVALID_ARGUMENT},
        {{.kind = kind, .values = &wild, .value_count = 1},
         RNL_ERROR_OUT_OF_RANGE},
        {{.kind = kind, .values = second, .value_count = 2},
         RNL_ERROR_INVALID_ARGUMENT},
        {{.kind = kind, .values = &good, .value_count = SIZE_MAX / 2},
         RNL_ERROR_OUT_OF_RANGE},
    };
    EXPECT_REFUSED(graph, rows);
    rnl_node node = NULL;
    expect_ok(rnl_graph_add_node(graph, RNL_AT_START,
                                 RNL_NODE(.kind = kind, .values = &good,
                                          .value_count = 1), &node));
    rnl_graph_exec exec = instantiate(graph);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rnl_node_params params = rows[i].params;
        params.struct_size = sizeof params;
        expect_error(rnl_graph_set_node(graph, node, &params),
                     rows[i].expected, NULL);
        expect_error(rnl_graph_exec_set_node(exec, node, &params),
                     rows[i].expected, NULL);
    }
    launch_and_wait(exec);
    int ints[4];
    suite_download(ints, a, sizeof ints);
    assert_true(ints[0] == 0 && ints[1] == 5 && ints[2] == 0 && ints[3] == 0);
    drop_both(graph, exec);
    expect_ok(rnl_buffer_release(a));
}

RNL_TEST(bad_pointers_are_refused)
{
    rnl_graph graph = new_graph();
    rnl_node node = empty_node(graph, RNL_AT_START), found = NULL;
    rnl_node_params params = {.struct_size = 3, .kind = RNL_NODE_EMPTY};
    expect_error(rnl_graph_add_node(graph, RNL_AT_START, NULL, &node),
                 RNL_ERROR_INVALID_ARGUMENT, "params");
    expect_error(rnl_graph_add_node(graph, RNL_AT_START, &params, &node),
                 RNL_ERROR_INVALID_ARGUMENT, "params");
    params.struct_size = sizeof params;
    expect_error(rnl_graph_add_node(graph, RNL_AT_START, &params, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_node");
    expect_error(rnl_graph_set_node(graph, node, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "params");
    expect_error(rnl_graph_clone(graph, NULL), RNL_ERROR_INVALID_ARGUMENT,
                 "out_clone");
    expect_error(rnl_graph_find_node(graph, node, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_node");
    expect_error(rnl_graph_get_node_info(graph, node, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_info");
    expect_error(rnl_graph_instantiate(graph, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_exec");
    expect_error(rnl_graph_find_node(graph, node, &found),
                 RNL_ERROR_INVALID_HANDLE, "node");  // no clone of anything
    expect_ok(rnl_graph_release(graph));
}

// --- Drawings --------------------------------------------------------------

struct drawing {
    char text[16384];
    size_t size, parts, most;
};

static bool draw(const char *text, size_t size, void *user_data)
{
    struct drawing *drawing = user_data;
    if (drawing->most > 0 && drawing->parts == drawing->most)
        return false;
    assert_true(drawing->size + size < sizeof drawing->text);
    memcpy(drawing->text + drawing->size, text, size);
    drawing->size += size;
    drawing->parts++;
    return true;
}

static size_t times(const char *text, const char *part)
{
    size_t count = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        count++;
    return count;
}

// One node of every kind, and labels that have to be quoted.
static rnl_graph graph_to_draw(void)
{
    rnl_graph graph = NULL, child = new_graph(), body = NULL, inner = NULL;
    rnl_buffer buffer = suite_ints(4, 0), made = NULL;
    rnl_event event = suite_new_event();
    rnl_function adder = new_adder();
    rnl_node node = NULL;
    expect_ok(rnl_graph_create(
        suite_context(),
        RNL_GRAPH_OPTIONS(.label = "a \"graph\" \\ {with} <b>\nlines"),
        &graph));
    expect_ok(rnl_graph_add_node(
        graph, RNL_AT_START,
        RNL_NODE(.kind = RNL_NODE_BUFFER_CREATE, .size = 64,
                 .out_buffer = &made, .label = "\\\"; } // \xc3\xa4"),
        &node));
    node = fill_node(graph, RNL_AFTER(node), buffer, 1);
    node = add_node(graph, RNL_AFTER(node), adder, buffer, 1);
    const rnl_copy *copy = RNL_COPY(.to = {.buffer = made},
                                    .from = {.buffer = buffer}, .width = 16);
    expect_ok(rnl_graph_add_node(
        graph, RNL_AFTER(node),
        RNL_NODE(.kind = RNL_NODE_COPY, .copy = copy), &node));
    node = host_node(graph, RNL_AFTER(node), note, NULL);
    node = event_node(graph, RNL_NODE_EVENT_WAIT, RNL_AFTER(node), event);
    node = event_node(graph, RNL_NODE_EVENT_RECORD, RNL_AFTER(node), event);
    fill_node(child, RNL_AT_START, buffer, 2);
    node = child_node(graph, RNL_AFTER(node), child);
    node = body_node(graph, RNL_NODE_WHILE, RNL_AFTER(node), buffer, &body);
    body_node(body, RNL_NODE_IF, RNL_AT_START, buffer, &inner);
    empty_node(inner, RNL_AT_START);
    expect_ok(rnl_graph_add_node(
        graph, RNL_AFTER(node),
        RNL_NODE(.kind = RNL_NODE_BUFFER_RELEASE, .buffer = made), &node));
    expect_ok(rnl_graph_release(child));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_function_release(adder));
    expect_ok(rnl_buffer_release(made));
    expect_ok(rnl_buffer_release(buffer));
    return graph;
}

RNL_TEST(a_drawing_has_all_nodes_and_edges)
{
    static struct drawing drawing;
    rnl_graph graph = graph_to_draw();
    expect_ok(rnl_graph_write_dot(graph, draw, &drawing));
    assert_int_equal(strncmp(drawing.text, "digraph ", 8), 0);
    assert_int_equal(times(drawing.text, "[shape="), 13);
    assert_int_equal(times(drawing.text, "subgraph "), 3);
    // Nine in a row, and one into each of what is inside.
    assert_int_equal(times(drawing.text, " -> "), 9 + 3);
    static const char *const words[] = {
        "add_to", "16 bytes", "fill", "copy", "host function", "event wait",
        "event record", "child graph", "while", "if", "buffer create",
        "buffer release", "\\\"graph\\\" \\\\ {with}", "\\\\\\\"; }"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (!strstr(drawing.text, words[i]))
            fail_msg("'%s' is not in:\n%s", words[i], drawing.text);
    expect_ok(rnl_graph_release(graph));
}

RNL_TEST(graphviz_accepts_a_drawing)
{
    char path[] = "/tmp/runnel-dot-XXXXXX", command[128];
    if (system("command -v dot >/dev/null 2>&1") != 0)
        test_skip("there is no Graphviz");
    rnl_graph graph = graph_to_draw();
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    expect_ok(rnl_graph_save_dot(graph, path));
    snprintf(command, sizeof command, "dot -Tsvg %s 2>&1 | grep -q '</svg>'",
             path);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "test -z \"$(dot -Tsvg %s 2>&1 "
             ">/dev/null)\"", path);
    assert_int_equal(system(command), 0);
    unlink(path);
    expect_ok(rnl_graph_release(graph));
}

RNL_TEST(a_drawing_that_cannot_be_written_is_an_error)
{
    static struct drawing drawing = {.most = 1};
    rnl_graph graph = new_graph();
    for (int i = 0; i < 200; i++)
        empty_node(graph, RNL_AT_START);
    expect_error(rnl_graph_write_dot(graph, draw, &drawing), RNL_ERROR_IO,
                 "write");
    assert_int_equal(drawing.parts, 1);
    expect_error(rnl_graph_write_dot(graph, NULL, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "write");
    expect_error(rnl_graph_save_dot(graph, NULL), RNL_ERROR_INVALID_ARGUMENT,
                 "path");
    expect_error(rnl_graph_save_dot(graph, "/nowhere/at/all.dot"),
                 RNL_ERROR_IO, "path");
    if (access("/dev/full", W_OK) == 0)
        expect_error(rnl_graph_save_dot(graph, "/dev/full"), RNL_ERROR_IO,
                     "path");
    expect_ok(rnl_graph_release(graph));
}
