// Nodes and edges of graphs.
#include "core/graph/graph.h"
#include "core/graph/node_params.h"
#include "core/object/check.h"
#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/stream/op.h"
#include "core/tuning.h"

#include <stdlib.h>
#include <string.h>

// --- Handles ---------------------------------------------------------------

rnl_node node_handle(const struct graph *graph, uint32_t index)
{
    uint64_t value = (uint64_t)OBJECT_NODE << OBJECT_KIND_SHIFT |
                     graph->number << GRAPH_INDEX_BITS | index;
    return (rnl_node)(uintptr_t)value;
}

bool node_is_of(rnl_node handle, uint64_t number)
{
    uint64_t value = (uint64_t)(uintptr_t)handle;
    return value >> OBJECT_KIND_SHIFT == OBJECT_NODE &&
           (value >> GRAPH_INDEX_BITS & GRAPH_NUMBER_MOST) == number;
}

rnl_status node_find_locked(const struct graph *graph, uint64_t number,
                            rnl_node handle, const char *parameter,
                            uint32_t *out_index)
{
    ASSERT(!graph->number || lock_is_held(&graph->lock));
    uint64_t value = (uint64_t)(uintptr_t)handle;
    uint32_t index = (uint32_t)value % GRAPH_NODES_MOST;
    if (value >> OBJECT_KIND_SHIFT != OBJECT_NODE)
        return object_refuse(handle, OBJECT_NODE, parameter);
    if (!node_is_of(handle, number))
        return fail_at(RNL_ERROR_INVALID_HANDLE, parameter,
                       "'%s' is a node of another graph", parameter);
    bool later = index >= graph->count;  // than the instantiated work
    if (later || !graph->nodes[index].kind)
        return fail_at(RNL_ERROR_INVALID_HANDLE, parameter,
                       "'%s' is a node that was %s", parameter,
                       later ? "added later" : "removed");
    *out_index = index;
    return RNL_OK;
}

rnl_status nodes_find_locked(const struct graph *graph, const rnl_node *nodes,
                             size_t count, const char *parameter,
                             uint32_t *indices)
{
    ASSERT(lock_is_held(&graph->lock));
    for (size_t i = 0; i < count; i++) {
        rnl_status status = node_find_locked(graph, graph->number, nodes[i],
                                             parameter, &indices[i]);
        if (status != RNL_OK)
            return status;
        graph->nodes[indices[i]].marked = false;
    }
    for (size_t i = 0; i < count; i++) {
        if (graph->nodes[indices[i]].marked)
            return fail_at(RNL_ERROR_INVALID_ARGUMENT, parameter,
                           "'%s' names a node twice", parameter);
        graph->nodes[indices[i]].marked = true;
    }
    return RNL_OK;
}

const char *node_kind_name(rnl_node_kind kind)
{
    static const char *const names[] = {
        [RNL_NODE_EMPTY] = "empty",
        [RNL_NODE_FUNCTION] = "kernel",
        [RNL_NODE_COPY] = "copy",
        [RNL_NODE_FILL] = "fill",
        [RNL_NODE_HOST_FUNCTION] = "host function",
        [RNL_NODE_VALUES] = "value operation",
        [RNL_NODE_EVENT_RECORD] = "event record",
        [RNL_NODE_EVENT_WAIT] = "event wait",
        [RNL_NODE_CHILD] = "child graph",
        [RNL_NODE_BUFFER_CREATE] = "buffer create",
        [RNL_NODE_BUFFER_RELEASE] = "buffer release",
        [RNL_NODE_IF] = "if",
        [RNL_NODE_WHILE] = "while",
        [RNL_NODE_SWITCH] = "switch",
    };
    return names[kind];
}

const char *node_what(const struct node *node)
{
    for (const struct op *op = node->node_params->ops; op; op = op->next)
        if (op->kind == OP_KERNEL)
            return op_name(op);
    return node_kind_name(node->kind);
}

// --- Adding ----------------------------------------------------------------

static bool grow_locked(struct graph *graph)
{
    ASSERT(lock_is_held(&graph->lock));
    struct node *nodes = mem_room(graph->nodes, graph->count, &graph->most,
                                  sizeof *nodes, 8);
    if (nodes)
        graph->nodes = nodes;
    return nodes != NULL;
}

static rnl_status no_memory(void)
{
    return fail(RNL_ERROR_OUT_OF_MEMORY, "there is no memory for a node");
}

static int compare_edges(const void *a, const void *b)
{
    const uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    return (one > other) - (one < other);
}

static void sort_edges(uint32_t *edges, size_t count)
{
    size_t i = 1;
    while (i < count && edges[i - 1] < edges[i])
        i++;
    if (i < count)
        qsort(edges, count, sizeof *edges, compare_edges);
}

rnl_status node_add_locked(struct graph *graph, const struct new_node *given,
                           const uint32_t *after, size_t count,
                           uint32_t *out_index)
{
    ASSERT(lock_is_held(&graph->lock));
    if (graph->count >= GRAPH_NODES_MOST)
        return fail_at(RNL_ERROR_OUT_OF_RANGE, "graph",
                       "a graph can have %u nodes, removed ones included",
                       GRAPH_NODES_MOST);
    uint32_t *edges = mem_allocate(count * sizeof *edges);
    if (!edges || !grow_locked(graph)) {
        mem_release(edges, count * sizeof *edges);
        return no_memory();
    }
    int64_t rank = rank_new(graph->count);
    for (size_t i = 0; i < count; i++) {
        struct node *before = &graph->nodes[after[i]];
        edges[i] = after[i];
        before->before_count++;
        before->later = graph->count;
        rank = before->rank < rank ? rank : before->rank + 1;
    }
    sort_edges(edges, count);
    graph->nodes[graph->count] = (struct node){
        .kind = given->kind, .enabled = true, .node_params = given->node_params,
        .inner = given->inner, .after = edges,
        .after_count = (uint32_t)count, .after_most = (uint32_t)count,
        .rank = rank,
    };
    graph_publish_inner(given->inner);
    buffers_added_locked(graph, &graph->nodes[graph->count]);
    followers_discard(graph);
    *out_index = graph->count++;
    graph->live_count++;
    graph->edge_count += (uint32_t)count;
    return RNL_OK;
}

rnl_status graph_check_free_locked(const struct graph *graph)
{
    ASSERT(lock_is_held(&graph->lock));
    return graph->capture
               ? fail_at(RNL_ERROR_INVALID_STATE, "graph",
                         "a capture is adding to the graph; end it first")
               : RNL_OK;
}

// With the lock, so that nobody removes the node meanwhile.
static void give_results_locked(const rnl_node_params *params,
                                const struct new_node *node)
{
    size_t i = 0;
    for (struct graph *inner = node->inner;
         inner && node_has_bodies(params->kind) && params->out_body;
         inner = inner->sibling)
        params->out_body[i++] = object_handle(&inner->object);
    if (params->kind != RNL_NODE_BUFFER_CREATE)
        return;
    object_ref(node->node_params->subject);
    *params->out_buffer = object_publish(node->node_params->subject);
}

static rnl_status add_node(struct graph *graph, const rnl_node *after,
                           size_t count, const rnl_node_params *params,
                           const struct new_node *given, rnl_node *out_node)
{
    uint32_t *indices = mem_allocate(count * sizeof *indices);
    uint32_t index;
    if (!indices)
        return no_memory();
    lock_take(&graph->lock);
    rnl_status status = graph_check_free_locked(graph);
    if (status == RNL_OK &&
        (status = nodes_find_locked(graph, after, count, "after", indices)) ==
            RNL_OK &&
        (given->kind != RNL_NODE_BUFFER_RELEASE ||
         (status = node_check_release_locked(
              graph, given->node_params->subject)) == RNL_OK))
        status = node_add_locked(graph, given, indices, count, &index);
    if (status == RNL_OK) {
        give_results_locked(params, given);
        *out_node = node_handle(graph, index);
    }
    lock_give(&graph->lock);
    mem_release(indices, count * sizeof *indices);
    return status;
}

// Frees the parts of a refused node.
static void new_node_drop(struct new_node *node)
{
    node_params_return_user(node->node_params);
    graph_drop_inner(node->inner);
}

rnl_status node_read_params(rnl_node_params *params,
                            const rnl_node_params *given)
{
    rnl_status status = check_pointer(given, "params");
    if (status != RNL_OK ||
        (status = options_read(params, sizeof *params, given, "params")))
        return status;
    if (params->kind < RNL_NODE_EMPTY || params->kind > RNL_NODE_SWITCH)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "params",
                       "%d is no rnl_node_kind", (int)params->kind);
    return RNL_OK;
}

rnl_status rnl_graph_add_node(rnl_graph handle, const rnl_node *after,
                              size_t count, const rnl_node_params *given,
                              rnl_node *out_node)
{
    struct graph *graph;
    rnl_node_params params;
    struct new_node node = {0};
    rnl_status status = ENTER();
    if (status != RNL_OK || (status = node_read_params(&params, given)) ||
        (status = check_pointer(out_node, "out_node")) ||
        (count > 0 && (status = check_pointer(after, "after"))) ||
        (status = graph_find(handle, "graph", &graph)))
        return status;
    status = count > UINT32_MAX / 8
                 ? fail_at(RNL_ERROR_OUT_OF_RANGE, "count",
                           "%zu nodes are too many", count)
                 : node_params_create(graph, &params, &node);
    if (status == RNL_OK) {
        status = add_node(graph, after, count, &params, &node, out_node);
        if (status != RNL_OK)
            new_node_drop(&node);
    }
    object_unref(&graph->object);
    return status;
}

// --- Changing --------------------------------------------------------------

rnl_status node_check_change(const struct node *node, rnl_node_kind kind)
{
    if (node->kind != kind)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "params",
                       "the node is of kind '%s', the parameters of '%s'",
                       node_kind_name(node->kind), node_kind_name(kind));
    if (kind == RNL_NODE_BUFFER_CREATE || kind == RNL_NODE_BUFFER_RELEASE ||
        node_has_bodies(kind))
        return fail_at(RNL_ERROR_UNSUPPORTED, "params",
                       "a node of kind '%s' cannot be changed",
                       node_what(node));
    return RNL_OK;
}

void node_exchange(struct node *node, struct new_node *given)
{
    struct new_node old = {node->kind, node->node_params, node->inner};
    node->node_params = given->node_params;
    node->inner = given->inner;
    *given = old;
}

// On success `*node` holds the former work.
static rnl_status set_node_locked(struct graph *graph, rnl_node handle,
                                  struct new_node *given)
{
    ASSERT(lock_is_held(&graph->lock));
    uint32_t index;
    rnl_status status = graph_check_free_locked(graph);
    if (status != RNL_OK ||
        (status = node_find_locked(graph, graph->number, handle, "node",
                                   &index)) ||
        (status = node_check_change(&graph->nodes[index], given->kind)))
        return status;
    graph_publish_inner(given->inner);
    node_exchange(&graph->nodes[index], given);
    return RNL_OK;
}

static rnl_status check_kind_of(struct graph *graph, rnl_node handle,
                                rnl_node_kind kind)
{
    uint32_t index;
    lock_take(&graph->lock);
    rnl_status status =
        node_find_locked(graph, graph->number, handle, "node", &index);
    if (status == RNL_OK)
        status = node_check_change(&graph->nodes[index], kind);
    lock_give(&graph->lock);
    return status;
}

rnl_status rnl_graph_set_node(rnl_graph handle, rnl_node node,
                              const rnl_node_params *given)
{
    struct graph *graph;
    rnl_node_params params;
    struct new_node made;
    rnl_status status = ENTER();
    if (status != RNL_OK || (status = node_read_params(&params, given)) ||
        (status = graph_find(handle, "graph", &graph)))
        return status;
    // First, so that a refusal has nothing to undo.
    status = check_kind_of(graph, node, params.kind);
    if (status == RNL_OK)
        status = node_params_create(graph, &params, &made);
    if (status == RNL_OK) {
        lock_take(&graph->lock);
        status = set_node_locked(graph, node, &made);
        lock_give(&graph->lock);
        (status ? node_params_return_user
                : node_params_unref)(made.node_params);
        if (made.inner)
            graph_release_owned(made.inner);
    }
    object_unref(&graph->object);
    return status;
}

// --- Edges -----------------------------------------------------------------

// Where an edge from that node is, or would be.
static uint32_t edge_place(const struct node *node, uint32_t from)
{
    uint32_t low = 0, high = node->after_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (node->after[middle] < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool edge_is_at(const struct node *node, uint32_t at, uint32_t from)
{
    return at < node->after_count && node->after[at] == from;
}

// Edges are ordered, and mostly added and removed at either end: the shorter
// part before or behind the position moves.
static bool is_in_front(const struct node *node, uint32_t at)
{
    return at < node->after_count / 2;
}

static void edge_remove_locked(struct graph *graph, struct node *node,
                               uint32_t at)
{
    ASSERT(lock_is_held(&graph->lock));
    ASSERT(graph->nodes[node->after[at]].before_count > 0);
    ASSERT(node->after_count > 0 && graph->edge_count > 0);
    graph->nodes[node->after[at]].before_count--;
    node->after_count--;
    if (is_in_front(node, at)) {
        memmove(node->after + 1, node->after, at * sizeof *node->after);
        node->after++;
        node->after_free++;
        node->after_most--;
    } else {
        memmove(node->after + at, node->after + at + 1,
                (node->after_count - at) * sizeof *node->after);
    }
    graph->edge_count--;
}

// Room for another edge into the node, in front or behind.
static bool grow_after(struct node *node, bool front)
{
    if (front ? node->after_free > 0 : node->after_count < node->after_most)
        return true;
    uint32_t more = node->after_count + 2;
    uint32_t most = node->after_count + more, at = front ? more : 0;
    uint32_t *edges = mem_allocate(most * sizeof *edges);
    if (!edges)
        return false;
    if (node->after_count > 0)
        memcpy(edges + at, node->after, node->after_count * sizeof *edges);
    node_free_edges(node);
    node->after = edges + at;
    node->after_free = at;
    node->after_most = most - at;
    return true;
}

static bool edge_insert(struct node *node, uint32_t at, uint32_t from)
{
    bool front = is_in_front(node, at);
    if (!grow_after(node, front))
        return false;
    if (front) {
        node->after--;
        node->after_free--;
        node->after_most++;
        memmove(node->after, node->after + 1, at * sizeof *node->after);
    } else {
        memmove(node->after + at + 1, node->after + at,
                (node->after_count - at) * sizeof *node->after);
    }
    node->after[at] = from;
    node->after_count++;
    return true;
}

static rnl_status add_edge_locked(struct graph *graph, uint32_t from,
                                  uint32_t to)
{
    ASSERT(lock_is_held(&graph->lock));
    struct node *node = &graph->nodes[to];
    uint32_t at = edge_place(node, from);
    if (edge_is_at(node, at, from))
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "to",
                       "'to' comes after 'from' already");
    rnl_status status = rank_edge_locked(graph, from, to);
    if (status != RNL_OK)
        return status;
    if (!edge_insert(node, at, from))
        return no_memory();
    graph->nodes[from].before_count++;
    graph->nodes[from].later = to;
    graph->edge_count++;
    followers_discard(graph);
    return RNL_OK;
}

static rnl_status remove_edge_locked(struct graph *graph, uint32_t from,
                                     uint32_t to)
{
    ASSERT(lock_is_held(&graph->lock));
    struct node *node = &graph->nodes[to];
    uint32_t at = edge_place(node, from);
    if (!edge_is_at(node, at, from))
        return fail_at(RNL_ERROR_NOT_FOUND, "to",
                       "'to' does not come right after 'from'");
    edge_remove_locked(graph, node, at);
    return RNL_OK;
}

static rnl_status change_edge(rnl_graph handle, rnl_node from_handle,
                              rnl_node to_handle,
                              rnl_status (*change)(struct graph *, uint32_t,
                                                   uint32_t))
{
    struct graph *graph;
    uint32_t from, to;
    rnl_status status = graph_find(handle, "graph", &graph);
    if (status != RNL_OK)
        return status;
    lock_take(&graph->lock);
    if ((status = graph_check_free_locked(graph)) == RNL_OK &&
        (status = node_find_locked(graph, graph->number, from_handle, "from",
                                   &from)) == RNL_OK &&
        (status = node_find_locked(graph, graph->number, to_handle, "to",
                                   &to)) == RNL_OK)
        status = change(graph, from, to);
    lock_give(&graph->lock);
    object_unref(&graph->object);
    return status;
}

rnl_status rnl_graph_add_edge(rnl_graph graph, rnl_node from, rnl_node to)
{
    rnl_status status = ENTER();
    return status ? status : change_edge(graph, from, to, add_edge_locked);
}

rnl_status rnl_graph_remove_edge(rnl_graph graph, rnl_node from, rnl_node to)
{
    rnl_status status = ENTER();
    return status ? status : change_edge(graph, from, to, remove_edge_locked);
}

// --- Removing --------------------------------------------------------------

static void part_locked(struct graph *graph, uint32_t from, uint32_t to)
{
    ASSERT(lock_is_held(&graph->lock));
    struct node *node = &graph->nodes[to];
    uint32_t at = edge_place(node, from);
    if (edge_is_at(node, at, from))
        edge_remove_locked(graph, node, at);
}

static void detach_locked(struct graph *graph, uint32_t index)
{
    ASSERT(lock_is_held(&graph->lock));
    struct node *node = &graph->nodes[index];
    uint32_t last = graph->count - index > FOLLOWERS_LOOKED_AT
                        ? index + FOLLOWERS_LOOKED_AT : graph->count - 1;
    // The successors of a node are mostly its last one and the next nodes.
    if (node->later < graph->count)
        part_locked(graph, index, node->later);
    for (uint32_t i = index; node->before_count > 0 && i < last; i++)
        part_locked(graph, index, i + 1);
    uint32_t count = 0;
    const uint32_t *followers =
        node->before_count > 0 ? followers_locked(graph, index, &count) : NULL;
    for (uint32_t i = 0; i < count; i++)
        part_locked(graph, index, followers[i]);
    // Without memory for a list.
    for (uint32_t i = 0; node->before_count > 0; i++)
        part_locked(graph, index, i);
    while (node->after_count > 0)
        edge_remove_locked(graph, node, node->after_count - 1);
}

rnl_status rnl_graph_remove_node(rnl_graph handle, rnl_node node)
{
    struct graph *graph;
    struct node removed = {0};
    uint32_t index;
    rnl_status status = ENTER();
    if (status != RNL_OK || (status = graph_find(handle, "graph", &graph)))
        return status;
    lock_take(&graph->lock);
    if ((status = graph_check_free_locked(graph)) == RNL_OK &&
        (status = node_find_locked(graph, graph->number, node, "node",
                                   &index)) == RNL_OK) {
        detach_locked(graph, index);
        removed = graph->nodes[index];
        buffers_removed_locked(graph, &removed);
        graph->nodes[index] = (struct node){0};
        graph->live_count--;
    }
    lock_give(&graph->lock);
    if (removed.kind)
        node_finish(&removed);
    object_unref(&graph->object);
    return status;
}

bool node_cut_locked(struct graph *graph, uint32_t count,
                     struct node *out_removed)
{
    ASSERT(lock_is_held(&graph->lock));
    if (graph->count <= count)
        return false;
    struct node *node = &graph->nodes[--graph->count];
    while (node->after_count > 0)
        edge_remove_locked(graph, node, node->after_count - 1);
    graph->live_count -= node->kind != 0;
    buffers_removed_locked(graph, node);
    followers_discard(graph);
    *out_removed = *node;
    return true;
}

// --- Facts -----------------------------------------------------------------

rnl_status rnl_graph_get_node_params(rnl_graph handle, rnl_node node,
                                     rnl_node_params *out_params)
{
    struct graph *graph;
    rnl_node_params params = {0};
    uint32_t index;
    rnl_status status = ENTER();
    if (status != RNL_OK ||
        (status = info_check(out_params, sizeof *out_params, "out_params")) ||
        (status = graph_find(handle, "graph", &graph)))
        return status;
    lock_take(&graph->lock);
    status = node_find_locked(graph, graph->number, node, "node", &index);
    if (status == RNL_OK)
        status = node_read_back(&graph->nodes[index], &params);
    lock_give(&graph->lock);
    object_unref(&graph->object);
    return status ? status
                  : info_write(out_params, &params, sizeof params,
                               "out_params");
}

static rnl_status add_bodies_locked(const struct node *node,
                                    rnl_node_info *info)
{
    uint32_t count = 0;
    if (!node_has_bodies(node->kind))
        return RNL_OK;
    info->bodies = graph_handles_locked(node->inner, &count);
    info->body_count = count;
    return info->bodies ? RNL_OK : RNL_ERROR_OUT_OF_MEMORY;
}

rnl_status rnl_graph_get_node_info(rnl_graph handle, rnl_node node_given,
                                   rnl_node_info *out_info)
{
    struct graph *graph;
    rnl_node_info info = {0};
    uint32_t index;
    rnl_status status = ENTER();
    if (status != RNL_OK || (status = graph_find(handle, "graph", &graph)))
        return status;
    lock_take(&graph->lock);
    status = node_find_locked(graph, graph->number, node_given, "node",
                              &index);
    if (status == RNL_OK) {
        const struct node *node = &graph->nodes[index];
        info.kind = node->kind;
        info.priority = node->node_params->priority;
        info.label = node->node_params->label;
        info.what = node_what(node);
        info.dependency_count = node->after_count;
        info.dependent_count = node->before_count;
        info.graph = node->inner ? object_handle(&node->inner->object) : NULL;
        status = add_bodies_locked(node, &info);
    }
    lock_give(&graph->lock);
    object_unref(&graph->object);
    return status ? status
                  : info_write(out_info, &info, sizeof info, "out_info");
}
