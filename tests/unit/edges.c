// core/node, core/followers, core/graph_buffers: edges that come and go at
// either end, removed nodes, and who creates and releases a buffer.
#include "unit.h"

#include "core/graph/graph.h"

#include <string.h>

enum { NODES = 40, STEPS = 4000 };

static rnl_context context;
static rnl_graph graph;
static rnl_node nodes[NODES];
static bool is_node[NODES], is_edge[NODES][NODES];

static struct graph *inside(void)
{
    return (struct graph *)object_find(graph, OBJECT_GRAPH);
}

static void add_node(size_t i)
{
    assert_ok(rnl_graph_add_node(graph, RNL_AT_START,
                                 RNL_NODE(.kind = RNL_NODE_EMPTY), &nodes[i]));
    is_node[i] = true;
}

static void begin(void)
{
    assert_ok(rnl_context_open("cpu", 0, NULL, &context));
    assert_ok(rnl_graph_create(context, NULL, &graph));
    for (size_t i = 0; i < NODES; i++)
        add_node(i);
}

static void end(void)
{
    size_t held = 1;
    assert_ok(rnl_graph_release(graph));
    assert_ok(rnl_context_release(context));
    rnl_last_error_clear();
    assert_ok(rnl_trim(&held));
    assert_int_equal(held, 0);
}

static uint32_t draw(uint32_t *random, uint32_t below)
{
    *random = *random * 1664525u + 1013904223u;
    return (*random >> 8) % below;
}

// In the order of the nodes, and none that is not noted.
static void expect_edges(void)
{
    const struct graph *in = inside();
    uint32_t count = 0;
    for (uint32_t to = 0; to < NODES; to++) {
        uint32_t seen = 0;
        for (uint32_t from = 0; from < NODES; from++) {
            if (!is_edge[from][to])
                continue;
            assert_true(seen < in->nodes[to].after_count);
            assert_int_equal(in->nodes[to].after[seen++], from);
        }
        assert_int_equal(in->nodes[to].after_count, seen);
        count += seen;
    }
    assert_int_equal(in->edge_count, count);
}

static void change_edge(size_t from, size_t to)
{
    assert_ok((is_edge[from][to] ? rnl_graph_remove_edge : rnl_graph_add_edge)(
        graph, nodes[from], nodes[to]));
    is_edge[from][to] = !is_edge[from][to];
}

static void remove_node(size_t i)
{
    assert_ok(rnl_graph_remove_node(graph, nodes[i]));
    is_node[i] = false;
    for (size_t k = 0; k < NODES; k++)
        is_edge[i][k] = is_edge[k][i] = false;
}

RNL_TEST(edges_stay_in_order_wherever_they_come_and_go)
{
    uint32_t random = 7;
    begin();
    for (int i = 0; i < STEPS; i++) {
        size_t from = draw(&random, NODES), to = draw(&random, NODES);
        if (from < to)
            change_edge(from, to);
        expect_edges();
    }
    end();
}

RNL_TEST(edges_of_a_join_come_and_go_at_both_ends)
{
    begin();
    for (int round = 0; round < 4; round++)
        for (size_t i = 0; i + 1 < NODES; i++) {
            change_edge(round % 2 ? i : NODES - 2 - i, NODES - 1);
            expect_edges();
        }
    for (int round = 0; round < 4; round++)
        for (size_t i = 0; i + 1 < NODES; i++) {
            change_edge(round < 2 ? i : NODES - 2 - i, NODES - 1);
            expect_edges();
        }
    end();
}

RNL_TEST(a_removed_node_leaves_no_edge_however_far)
{
    uint32_t random = 3;
    begin();
    for (size_t i = 0; i < NODES; i++)
        for (size_t k = i + 1; k < NODES; k++)
            if (draw(&random, 3) == 0)
                change_edge(i, k);
    for (size_t i = 0; i < NODES; i++) {
        remove_node((i * 7) % NODES);
        expect_edges();
        // An edge in between: what was listed counts no more.
        size_t from = (i * 7 + 14) % NODES, to = (i * 7 + 21) % NODES;
        if (i % 3 == 0 && is_node[from] && is_node[to] && from < to)
            change_edge(from, to);
    }
    end();
}

RNL_TEST(a_copy_has_the_edges_of_its_original)
{
    rnl_graph copy = NULL, original = graph;
    begin();
    // With free places on both sides.
    for (size_t i = NODES - 1; i-- > 0;)
        change_edge(i, NODES - 1);
    change_edge(0, NODES - 1);
    change_edge(NODES - 2, NODES - 1);
    original = graph;
    assert_ok(rnl_graph_clone(original, &copy));
    graph = copy;
    expect_edges();
    graph = original;
    assert_ok(rnl_graph_release(copy));
    end();
}

// --- Buffers ---------------------------------------------------------------

static rnl_buffer add_create(rnl_node *out_node)
{
    rnl_buffer buffer = NULL;
    assert_ok(rnl_graph_add_node(graph, RNL_AT_START,
                                 RNL_NODE(.kind = RNL_NODE_BUFFER_CREATE,
                                          .size = 64, .out_buffer = &buffer),
                                 out_node));
    return buffer;
}

static rnl_status add_release(rnl_buffer buffer, rnl_node *out_node)
{
    return rnl_graph_add_node(
        graph, RNL_AT_START,
        RNL_NODE(.kind = RNL_NODE_BUFFER_RELEASE, .buffer = buffer), out_node);
}

static void expect_refusal(rnl_buffer buffer, const char *why)
{
    rnl_node node = NULL;
    assert_int_equal(add_release(buffer, &node), RNL_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(rnl_last_error()->message, why));
}

RNL_TEST(a_graph_knows_which_buffers_its_nodes_release)
{
    rnl_buffer buffers[NODES];
    rnl_node create = NULL, release = NULL;
    begin();
    for (size_t i = 0; i < NODES; i++) {
        buffers[i] = add_create(&create);
        assert_ok(add_release(buffers[i], &release));
        expect_refusal(buffers[i], "releases this buffer already");
    }
    // A node that goes gives its buffer free again.
    assert_ok(rnl_graph_remove_node(graph, release));
    assert_ok(add_release(buffers[NODES - 1], &release));
    expect_refusal(buffers[NODES - 1], "releases this buffer already");
    assert_ok(rnl_graph_remove_node(graph, release));
    assert_ok(rnl_graph_remove_node(graph, create));
    expect_refusal(buffers[NODES - 1], "was not created by a node");
    expect_refusal(buffers[0], "releases this buffer already");
    for (size_t i = 0; i < NODES; i++)
        assert_ok(rnl_buffer_release(buffers[i]));
    end();
}

RNL_TEST(a_copy_of_a_graph_knows_its_buffers)
{
    rnl_graph copy = NULL, original = NULL;
    rnl_node create = NULL, release = NULL;
    begin();
    rnl_buffer buffer = add_create(&create);
    rnl_buffer another = add_create(&create);
    assert_ok(add_release(buffer, &release));
    assert_ok(rnl_graph_clone(graph, &copy));
    original = graph;
    graph = copy;
    expect_refusal(buffer, "releases this buffer already");
    assert_ok(add_release(another, &release));
    graph = original;
    assert_ok(add_release(another, &release));
    assert_ok(rnl_graph_release(copy));
    assert_ok(rnl_buffer_release(buffer));
    assert_ok(rnl_buffer_release(another));
    end();
}
