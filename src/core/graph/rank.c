// Detects edges that close a cycle. Each node has a rank above its
// predecessors' ranks: an edge from a lower to a higher rank needs no search.
// For any other edge, the predecessors of the start move below the end as far
// as needed. The search is limited to ranks between the end and the start.
#include "core/graph/graph.h"

struct moved {
    uint32_t node;
    int64_t rank;  // before
};

struct move {
    struct graph *graph;
    struct moved *moved;        // in the order of discovery
    uint32_t *heap;             // nodes whose edges are to be visited, the
                                // highest rank first
    uint32_t count, most;       // of `moved`
    uint32_t heap_count, heap_most;
};

static bool is_higher(const struct move *move, uint32_t a, uint32_t b)
{
    return move->moved[move->heap[a]].rank > move->moved[move->heap[b]].rank;
}

static void exchange(struct move *move, uint32_t a, uint32_t b)
{
    uint32_t kept = move->heap[a];
    move->heap[a] = move->heap[b];
    move->heap[b] = kept;
}

static void heap_add(struct move *move, uint32_t number)
{
    uint32_t at = move->heap_count++;
    move->heap[at] = number;
    for (; at > 0 && is_higher(move, at, (at - 1) / 2); at = (at - 1) / 2)
        exchange(move, at, (at - 1) / 2);
}

static uint32_t heap_take(struct move *move)
{
    uint32_t taken = move->heap[0], at = 0;
    move->heap[0] = move->heap[--move->heap_count];
    for (;;) {
        uint32_t best = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2; child++)
            if (child < move->heap_count && is_higher(move, child, best))
                best = child;
        if (best == at)
            return taken;
        exchange(move, at, best);
        at = best;
    }
}

static bool make_room(struct move *move)
{
    struct moved *moved = mem_room(move->moved, move->count, &move->most,
                                   sizeof *moved, 16);
    if (moved)
        move->moved = moved;
    uint32_t *heap = mem_room(move->heap, move->heap_count, &move->heap_most,
                              sizeof *heap, 16);
    if (heap)
        move->heap = heap;
    return moved && heap;
}

// Each node leaves the heap once: its successors were higher, and have moved by
// then.
static bool lower(struct move *move, uint32_t index, int64_t rank)
{
    struct node *node = &move->graph->nodes[index];
    if (node->visit != move->graph->visits) {
        if (!make_room(move))
            return false;
        node->visit = move->graph->visits;
        move->moved[move->count] = (struct moved){index, node->rank};
        heap_add(move, move->count++);
    }
    node->rank = rank;
    return true;
}

static rnl_status refuse(void)
{
    return fail_at(RNL_ERROR_INVALID_ARGUMENT, "to",
                   "with this edge a node would come after itself");
}

static rnl_status lower_all(struct move *move, uint32_t from, uint32_t to)
{
    const struct node *nodes = move->graph->nodes;
    bool fits = lower(move, from, nodes[to].rank - 1);
    while (fits && move->heap_count > 0) {
        const struct node *node = &nodes[move->moved[heap_take(move)].node];
        for (uint32_t i = 0; fits && i < node->after_count; i++) {
            uint32_t before = node->after[i];
            if (nodes[before].rank < node->rank)
                continue;
            if (before == to)
                return refuse();
            fits = lower(move, before, node->rank - 1);
        }
    }
    return fits ? RNL_OK
                : fail(RNL_ERROR_OUT_OF_MEMORY,
                       "there is no memory for an edge");
}

rnl_status rank_edge_locked(struct graph *graph, uint32_t from, uint32_t to)
{
    ASSERT(lock_is_held(&graph->lock));
    if (from == to)
        return refuse();
    if (graph->nodes[from].rank < graph->nodes[to].rank)
        return RNL_OK;
    // The end has no successors: only the end moves up.
    if (graph->nodes[to].before_count == 0) {
        graph->nodes[to].rank = graph->nodes[from].rank + 1;
        return RNL_OK;
    }
    struct move move = {.graph = graph};
    graph->visits++;
    rnl_status status = lower_all(&move, from, to);
    for (uint32_t i = 0; status != RNL_OK && i < move.count; i++)
        graph->nodes[move.moved[i].node].rank = move.moved[i].rank;
    mem_release(move.moved, move.most * sizeof *move.moved);
    mem_release(move.heap, move.heap_most * sizeof *move.heap);
    return status;
}
