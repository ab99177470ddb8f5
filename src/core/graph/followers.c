// The successors of each node, for the removal of nodes with distant
// successors. Built on first use. Removed edges stay in the list; an added edge
// discards the list.
#include "core/graph/graph.h"

struct followers {
    uint32_t count, edge_count;  // of the graph, at the time of creation
    uint32_t *first;             // followers of node i: nodes[first[i]] …
    uint32_t *nodes;             // … to nodes[first[i + 1]], not included
};

static size_t first_size(const struct followers *followers)
{
    return ((size_t)followers->count + 1) * sizeof *followers->first;
}

static size_t nodes_size(const struct followers *followers)
{
    return (size_t)followers->edge_count * sizeof *followers->nodes;
}

static void release(struct followers *followers)
{
    mem_release(followers->first, first_size(followers));
    mem_release(followers->nodes, nodes_size(followers));
    mem_release(followers, sizeof *followers);
}

void followers_discard(struct graph *graph)
{
    if (graph->followers)
        release(graph->followers);
    graph->followers = NULL;
}

static void list(struct followers *followers, const struct graph *graph)
{
    uint32_t *first = followers->first;
    for (uint32_t i = 0; i < graph->count; i++)
        for (uint32_t k = 0; k < graph->nodes[i].after_count; k++)
            first[graph->nodes[i].after[k]]++;
    uint32_t sum = 0;
    for (uint32_t i = 0; i <= graph->count; i++) {
        sum += first[i];
        first[i] = sum;
    }
    // Filling moves each end to its start.
    for (uint32_t i = graph->count; i-- > 0;)
        for (uint32_t k = 0; k < graph->nodes[i].after_count; k++)
            followers->nodes[--first[graph->nodes[i].after[k]]] = i;
}

static struct followers *make(const struct graph *graph)
{
    struct followers *followers = mem_allocate(sizeof *followers);
    if (!followers)
        return NULL;
    followers->count = graph->count;
    followers->edge_count = graph->edge_count;
    followers->first = mem_allocate(first_size(followers));
    followers->nodes = mem_allocate(nodes_size(followers));
    if (!followers->first || !followers->nodes) {
        release(followers);
        return NULL;
    }
    list(followers, graph);
    return followers;
}

const uint32_t *followers_locked(struct graph *graph, uint32_t index,
                                 uint32_t *out_count)
{
    ASSERT(lock_is_held(&graph->lock));
    if (!graph->followers)
        graph->followers = make(graph);
    const struct followers *followers = graph->followers;
    if (!followers || index >= followers->count)
        return NULL;
    *out_count = followers->first[index + 1] - followers->first[index];
    return followers->nodes + followers->first[index];
}
