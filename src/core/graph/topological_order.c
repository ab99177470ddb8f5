// A graph's nodes in an order that its edges allow.
#include "core/graph/graph.h"
#include "core/graph/node_params.h"

// A heap of nodes that could come next: the most urgent first, then the oldest.
struct heap {
    const struct graph *graph;
    uint32_t *items;
    uint32_t count;
};

static bool comes_before(const struct graph *graph, uint32_t a, uint32_t b)
{
    int first = graph->nodes[a].node_params->priority;
    int second = graph->nodes[b].node_params->priority;
    return first != second ? first < second : a < b;
}

static void exchange(uint32_t *a, uint32_t *b)
{
    uint32_t kept = *a;
    *a = *b;
    *b = kept;
}

static void heap_add(struct heap *heap, uint32_t item)
{
    uint32_t at = heap->count++;
    heap->items[at] = item;
    while (at > 0 && comes_before(heap->graph, heap->items[at],
                                  heap->items[(at - 1) / 2])) {
        exchange(&heap->items[at], &heap->items[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

static uint32_t heap_take(struct heap *heap)
{
    uint32_t *items = heap->items, taken = items[0], at = 0;
    items[0] = items[--heap->count];
    for (;;) {
        uint32_t best = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2; child++)
            if (child < heap->count &&
                comes_before(heap->graph, items[child], items[best]))
                best = child;
        if (best == at)
            return taken;
        exchange(&items[at], &items[best]);
        at = best;
    }
}

// --- Followers -------------------------------------------------------------

static void list_followers(struct topological_order *order,
                           const struct graph *graph)
{
    for (uint32_t i = 0; i < graph->count; i++)
        for (uint32_t k = 0; k < graph->nodes[i].after_count; k++)
            order->first[graph->nodes[i].after[k] + 1]++;
    for (uint32_t i = 0; i < graph->count; i++)
        order->first[i + 1] += order->first[i];
    // Filling moves each start to its end, which is the next start.
    for (uint32_t i = graph->count; i-- > 0;)
        for (uint32_t k = 0; k < graph->nodes[i].after_count; k++) {
            uint32_t before = graph->nodes[i].after[k];
            order->follower[--order->first[before + 1]] = i;
        }
    for (uint32_t i = 0; i < graph->count; i++)
        order->first[i] = order->first[i + 1];
    order->first[graph->count] = order->edge_count;
}

static void sort(struct topological_order *order, struct heap *heap,
                 uint32_t *left)
{
    const struct graph *graph = heap->graph;
    for (uint32_t i = 0; i < graph->count; i++) {
        left[i] = graph->nodes[i].after_count;
        if (graph->nodes[i].kind && left[i] == 0)
            heap_add(heap, i);
    }
    while (heap->count > 0) {
        uint32_t taken = heap_take(heap);
        order->indices[order->count++] = taken;
        for (uint32_t k = order->first[taken]; k < order->first[taken + 1];
             k++)
            if (--left[order->follower[k]] == 0)
                heap_add(heap, order->follower[k]);
    }
}

void topological_order_finish(struct topological_order *order)
{
    mem_release(order->indices, order->most * sizeof *order->indices);
    mem_release(order->first, (order->most + 1) * sizeof *order->first);
    mem_release(order->follower, order->edge_count * sizeof *order->follower);
}

bool topological_order_init(struct topological_order *order,
                            const struct graph *graph)
{
    *order = (struct topological_order){.most = graph->count,
                            .edge_count = graph->edge_count};
    struct heap heap = {.graph = graph};
    size_t size = graph->count * sizeof(uint32_t);
    uint32_t *left = mem_allocate(size);
    heap.items = mem_allocate(size);
    order->indices = mem_allocate(size);
    order->first = mem_allocate(size + sizeof(uint32_t));
    order->follower = mem_allocate(order->edge_count * sizeof(uint32_t));
    bool fits = left && heap.items && order->indices && order->first &&
                (order->follower || order->edge_count == 0);
    if (fits && graph->count > 0) {
        list_followers(order, graph);
        sort(order, &heap, left);
    }
    mem_release(left, size);
    mem_release(heap.items, size);
    if (!fits && graph->count > 0) {
        topological_order_finish(order);
        fail(RNL_ERROR_OUT_OF_MEMORY,
             "there is no memory to put %u nodes in order", graph->count);
        return false;
    }
    return true;
}
