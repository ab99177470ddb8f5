// Updates an executable graph to the work of another graph.
#include "core/backend.h"
#include "core/graph/graph.h"
#include "core/graph/node_params.h"
#include "core/object/check.h"
#include "core/object/handle.h"
#include "core/object/object.h"

// Live nodes of a graph, numbered in the order of their creation.
struct roll {
    uint32_t *index;    // of live node number i
    uint32_t *number;   // of node i
    uint32_t count, most;
};

static bool roll_init(struct roll *roll, const struct graph *graph)
{
    *roll = (struct roll){.most = graph->count};
    size_t size = graph->count * sizeof(uint32_t);
    roll->index = mem_allocate(size);
    roll->number = mem_allocate(size);
    if (!roll->index || !roll->number) {
        mem_release(roll->index, size);
        mem_release(roll->number, size);
        fail(RNL_ERROR_OUT_OF_MEMORY, "there is no memory for an update");
        return false;
    }
    for (uint32_t i = 0; i < graph->count; i++) {
        if (!graph->nodes[i].kind)
            continue;
        roll->number[i] = roll->count;
        roll->index[roll->count++] = i;
    }
    return true;
}

static void roll_finish(struct roll *roll)
{
    mem_release(roll->index, roll->most * sizeof(uint32_t));
    mem_release(roll->number, roll->most * sizeof(uint32_t));
}

// --- Comparing -------------------------------------------------------------

static const char *const sentences[] = {
    [RNL_UPDATE_OK] = "the graphs fit",
    [RNL_UPDATE_NODE_COUNT] = "the graphs do not have equally many nodes",
    [RNL_UPDATE_NODE_KIND] = "a node is of another kind, or its bodies are",
    [RNL_UPDATE_EDGES] = "a node comes after other nodes",
    [RNL_UPDATE_BUFFER] = "a node creates or releases another buffer",
};

static bool same_edges(const struct node *a, const struct roll *of_a,
                       const struct node *b, const struct roll *of_b)
{
    if (a->after_count != b->after_count)
        return false;
    for (uint32_t i = 0; i < a->after_count; i++)
        if (of_a->number[a->after[i]] != of_b->number[b->after[i]])
            return false;
    return true;
}

static rnl_update_reason compare_nodes(const struct node *a,
                                       const struct roll *of_a,
                                       const struct node *b,
                                       const struct roll *of_b)
{
    if (a->kind != b->kind || node_inner_count(a) != node_inner_count(b))
        return RNL_UPDATE_NODE_KIND;
    if (!same_edges(a, of_a, b, of_b))
        return RNL_UPDATE_EDGES;
    bool owns = a->kind == RNL_NODE_BUFFER_CREATE ||
                a->kind == RNL_NODE_BUFFER_RELEASE;
    bool other = a->node_params->subject != b->node_params->subject;
    return owns && other ? RNL_UPDATE_BUFFER : RNL_UPDATE_OK;
}

struct graph_update {
    rnl_update_reason reason;
    rnl_node node;
};

static rnl_status take_over(struct graph *into, struct graph *from,
                            struct graph_update *update);

static rnl_status take_node(struct node *into, struct node *from,
                            struct graph_update *update)
{
    struct node_params *old = into->node_params;
    into->node_params = node_params_ref(from->node_params);
    node_params_unref(old);
    rnl_status status = RNL_OK;
    struct graph *theirs = from->inner;
    for (struct graph *inner = into->inner;
         inner && status == RNL_OK && update->reason == RNL_UPDATE_OK;
         inner = inner->sibling, theirs = theirs->sibling)
        status = take_over(inner, theirs, update);
    return status;
}

static rnl_status take_nodes(struct graph *into, const struct roll *of_into,
                             const struct graph *from,
                             const struct roll *of_from,
                             struct graph_update *update)
{
    rnl_status status = RNL_OK;
    if (of_into->count != of_from->count)
        update->reason = RNL_UPDATE_NODE_COUNT;
    for (uint32_t i = 0; i < of_into->count && status == RNL_OK &&
                         update->reason == RNL_UPDATE_OK; i++) {
        struct node *a = &into->nodes[of_into->index[i]];
        struct node *b = &from->nodes[of_from->index[i]];
        update->reason = compare_nodes(a, of_into, b, of_from);
        if (update->reason != RNL_UPDATE_OK)
            update->node = node_handle(from, of_from->index[i]);
        else
            status = take_node(a, b, update);
    }
    return status;
}

static rnl_status take_over_locked(struct graph *into, const struct graph *from,
                                   struct graph_update *update)
{
    ASSERT(lock_is_held(&from->lock));
    struct roll of_into, of_from;
    if (!roll_init(&of_into, into))
        return fail_status();
    rnl_status status = RNL_ERROR_OUT_OF_MEMORY;
    if (roll_init(&of_from, from)) {
        status = take_nodes(into, &of_into, from, &of_from, update);
        roll_finish(&of_from);
    }
    roll_finish(&of_into);
    return status;
}

// Gives the nodes of `into`, which no other thread sees, the node_params of
// `from`, as far as they fit; `*update` has the result. The node at fault
// inside of a child is the child's.
static rnl_status take_over(struct graph *into, struct graph *from,
                            struct graph_update *update)
{
    lock_take(&from->lock);
    rnl_status status = graph_check_free_locked(from);
    if (status == RNL_OK)
        status = take_over_locked(into, from, update);
    lock_give(&from->lock);
    return status;
}

// --- Updating --------------------------------------------------------------

// Returns the former snapshot.
static struct graph *show(struct graph_exec *exec, struct graph *snapshot)
{
    struct graph *old = exec->snapshot;
    lock_take(&exec->snapshot_lock);
    exec->snapshot = snapshot;
    lock_give(&exec->snapshot_lock);
    return old;
}

static rnl_status exchange_snapshot(struct graph_exec *exec,
                                    struct graph **snapshot)
{
    struct graph *old = show(exec, *snapshot);
    rnl_status status = exec->backend->exec_change(exec, UINT32_MAX);
    if (status == RNL_OK)
        *snapshot = old;
    else
        show(exec, old);
    return status;
}

static rnl_status refuse(const struct graph_update *update)
{
    return fail_at(RNL_ERROR_GRAPH_UPDATE, "graph",
                   "the executable graph cannot become like 'graph': %s",
                   sentences[update->reason]);
}

static rnl_status update_locked(struct graph_exec *exec, struct graph *graph,
                                struct graph_update *update, struct graph **old)
{
    ASSERT(lock_is_held(&exec->lock));
    struct graph *next = graph_copy(exec->snapshot, true);
    if (!next)
        return fail_status();
    rnl_status status = take_over(next, graph, update);
    if (status == RNL_OK && update->reason != RNL_UPDATE_OK)
        status = refuse(update);
    if (status == RNL_OK)
        status = exchange_snapshot(exec, &next);
    *old = next;  // or the refused replacement
    return status;
}

static rnl_status update_exec(struct graph_exec *exec, struct graph *graph,
                              struct graph_update *update)
{
    struct graph *old = NULL;
    if (exec->object.context != graph->object.context)
        return fail_at(RNL_ERROR_INVALID_HANDLE, "graph",
                       "'graph' belongs to another context than 'exec'");
    lock_take(&exec->lock);
    rnl_status status = update_locked(exec, graph, update, &old);
    lock_give(&exec->lock);
    if (old)
        object_unref(&old->object);
    return status;
}

rnl_status rnl_graph_exec_update(rnl_graph_exec handle, rnl_graph graph_handle,
                                 rnl_update_result *out_result)
{
    struct graph_update update = {0};
    struct graph *graph;
    rnl_status status = ENTER();
    if (status != RNL_OK ||
        (out_result && (status = info_check(out_result, sizeof *out_result,
                                            "out_result"))) ||
        (status = graph_find(graph_handle, "graph", &graph)))
        return status;
    struct object *exec = object_find_ref(handle, OBJECT_GRAPH_EXEC);
    if (exec) {
        status = update_exec((struct graph_exec *)exec, graph, &update);
        object_unref(exec);
    } else {
        status = object_refuse(handle, OBJECT_GRAPH_EXEC, "exec");
    }
    object_unref(&graph->object);
    bool known = status == RNL_OK || status == RNL_ERROR_GRAPH_UPDATE;
    if (!known || !out_result)
        return status;
    rnl_update_result result = {.reason = update.reason, .node = update.node,
                                .sentence = sentences[update.reason]};
    info_write(out_result, &result, sizeof result, "out_result");
    return status;
}
