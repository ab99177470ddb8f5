// core/rank: which edges are refused, and how many nodes are seen for that.
#include "unit.h"

#include "core/graph/graph.h"

#include <string.h>

enum { NODES = 3000, FEW = 24 };

static rnl_context context;
static rnl_graph graph;
static rnl_node nodes[NODES];

static struct graph *inside(void)
{
    return (struct graph *)object_find(graph, OBJECT_GRAPH);
}

static void begin(size_t count, bool chain)
{
    assert_ok(rnl_context_open("cpu", 0, NULL, &context));
    assert_ok(rnl_graph_create(context, NULL, &graph));
    for (size_t i = 0; i < count; i++)
        assert_ok(rnl_graph_add_node(graph, &nodes[i ? i - 1 : 0],
                                     chain && i > 0,
                                     RNL_NODE(.kind = RNL_NODE_EMPTY),
                                     &nodes[i]));
}

static void end(void)
{
    assert_ok(rnl_graph_release(graph));
    assert_ok(rnl_context_release(context));
}

// How many nodes the last edge that went up has moved, or tried to.
static size_t visited(void)
{
    const struct graph *in = inside();
    size_t count = 0;
    for (uint32_t i = 0; i < in->count; i++)
        count += in->visits > 0 && in->nodes[i].visit == in->visits;
    return count;
}

static void expect_ranks(void)
{
    const struct graph *in = inside();
    for (uint32_t i = 0; i < in->count; i++)
        for (uint32_t k = 0; k < in->nodes[i].after_count; k++)
            assert_true(in->nodes[in->nodes[i].after[k]].rank <
                        in->nodes[i].rank);
}

static void expect_refusal(size_t from, size_t to)
{
    assert_int_equal(rnl_graph_add_edge(graph, nodes[from], nodes[to]),
                     RNL_ERROR_INVALID_ARGUMENT);
    assert_string_equal(rnl_last_error()->message,
                        "with this edge a node would come after itself");
}

RNL_TEST(a_circle_is_refused_after_a_look_at_what_lies_between)
{
    begin(NODES, true);
    for (size_t i = 4; i < NODES; i++) {
        expect_refusal(i, i - 3);
        assert_in_range(visited(), 1, 3);
    }
    expect_refusal(NODES - 1, 0);
    expect_refusal(7, 7);
    expect_ranks();
    end();
}

RNL_TEST(an_edge_forward_looks_at_nothing)
{
    begin(NODES, false);
    for (size_t i = 1; i < NODES; i++)
        assert_ok(rnl_graph_add_edge(graph, nodes[i - 1], nodes[i]));
    assert_int_equal(inside()->visits, 0);
    end();
}

RNL_TEST(a_chain_that_is_built_backwards_moves_each_node_once)
{
    begin(NODES, false);
    size_t moves = 0;
    for (size_t i = 1; i < NODES; i++) {
        assert_ok(rnl_graph_add_edge(graph, nodes[i], nodes[i - 1]));
        moves += visited();
    }
    assert_in_range(moves, 1, NODES - 1);
    expect_ranks();
    expect_refusal(0, NODES - 1);
    // Refused again, where it was before as well.
    expect_refusal(0, 1);
    assert_in_range(visited(), 1, 2);
    end();
}

RNL_TEST(a_chain_that_is_built_from_its_end_moves_each_node_alone)
{
    begin(NODES, false);
    for (size_t i = NODES - 1; i > 0; i--)
        assert_ok(rnl_graph_add_edge(graph, nodes[i], nodes[i - 1]));
    assert_int_equal(inside()->visits, 0);
    expect_ranks();
    // A new node is higher than one that was moved up.
    inside()->nodes[0].rank = INT64_MAX / 2;
    assert_ok(rnl_graph_add_node(graph, &nodes[0], 1,
                                 RNL_NODE(.kind = RNL_NODE_EMPTY), &nodes[1]));
    expect_ranks();
    expect_refusal(0, NODES - 1);
    end();
}

// What was refused has moved nothing.
RNL_TEST(a_refusal_leaves_ranks_as_they_were)
{
    static int64_t before[FEW];
    begin(FEW, true);
    for (size_t i = 0; i < FEW; i++)
        before[i] = inside()->nodes[i].rank;
    expect_refusal(FEW - 1, 1);
    for (size_t i = 0; i < FEW; i++)
        assert_int_equal(inside()->nodes[i].rank, before[i]);
    end();
}

// --- Against a plain search ------------------------------------------------

static bool comes_after[FEW][FEW];  // however far

static void note_edge(size_t from, size_t to)
{
    for (size_t a = 0; a < FEW; a++)
        for (size_t b = 0; b < FEW; b++)
            if ((a == from || comes_after[from][a]) &&
                (b == to || comes_after[b][to]))
                comes_after[b][a] = true;
}

RNL_TEST(edges_are_refused_exactly_where_they_close_a_circle)
{
    for (uint32_t seed = 1; seed < 60; seed++) {
        uint32_t random = seed * 2654435761u;
        memset(comes_after, 0, sizeof comes_after);
        begin(FEW, false);
        for (int i = 0; i < 400; i++) {
            random = random * 1664525u + 1013904223u;
            size_t from = (random >> 16) % FEW, to = (random >> 8) % FEW;
            bool circle = from == to || comes_after[from][to];
            rnl_status status =
                rnl_graph_add_edge(graph, nodes[from], nodes[to]);
            // One that is there already is refused as well.
            if (circle)
                assert_int_equal(status, RNL_ERROR_INVALID_ARGUMENT);
            else if (!comes_after[to][from])
                assert_ok(status);
            if (status == RNL_OK)
                note_edge(from, to);
        }
        expect_ranks();
        end();
    }
}

RNL_TEST(a_copy_of_a_graph_refuses_the_same)
{
    rnl_graph copy = NULL;
    rnl_node first = NULL, last = NULL;
    begin(FEW, false);
    for (size_t i = 1; i < FEW; i++)
        assert_ok(rnl_graph_add_edge(graph, nodes[i], nodes[i - 1]));
    assert_ok(rnl_graph_clone(graph, &copy));
    assert_ok(rnl_graph_find_node(copy, nodes[0], &last));
    assert_ok(rnl_graph_find_node(copy, nodes[FEW - 1], &first));
    assert_int_equal(rnl_graph_add_edge(copy, last, first),
                     RNL_ERROR_INVALID_ARGUMENT);
    assert_ok(rnl_graph_add_edge(copy, first, last));
    assert_ok(rnl_graph_release(copy));
    end();
}
