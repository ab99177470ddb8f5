// Graphs and their life: creation, copies, queries.
#include "core/graph/graph.h"

#include "core/graph/node_params.h"
#include "core/object/check.h"
#include "core/object/context_object.h"
#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/object/release.h"

void node_free_edges(struct node *node)
{
    uint32_t most = node->after_free + node->after_most;
    if (node->after)
        mem_release(node->after - node->after_free,
                    most * sizeof *node->after);
}

void node_finish(struct node *node)
{
    node_params_unref(node->node_params);
    if (node->inner)
        graph_release_owned(node->inner);
    node_free_edges(node);
}

static void graph_finish(struct object *object)
{
    struct graph *graph = (struct graph *)object;
    for (uint32_t i = 0; i < graph->count; i++)
        if (graph->nodes[i].kind)
            node_finish(&graph->nodes[i]);
    mem_release(graph->nodes, graph->most * sizeof *graph->nodes);
    mem_release(graph->handles, graph->handle_count * sizeof(rnl_graph));
    buffers_discard(graph);
    followers_discard(graph);
}

static struct object_class graph_class = {
    .kind = OBJECT_GRAPH,
    .size = sizeof(struct graph),
    .finish = graph_finish,
};

_Atomic uint64_t graph_last_number;

static struct graph *new_hidden(struct context *context, const char *label)
{
    struct graph *graph =
        (struct graph *)object_create(&graph_class, context, label);
    if (!graph)
        return NULL;
    graph->backend = context->backend;
    lock_set_rank(&graph->lock, RANK_GRAPH);
    return graph;
}

struct graph *graph_new(struct context *context, const char *label)
{
    uint64_t number = atomic_fetch_add(&graph_last_number, 1) + 1;
    if (number > GRAPH_NUMBER_MOST) {
        fail(RNL_ERROR_OUT_OF_RANGE,
             "the process has made %llu graphs, and there can be no more",
             (unsigned long long)GRAPH_NUMBER_MOST);
        return NULL;
    }
    struct graph *graph = new_hidden(context, label);
    if (graph)
        graph->number = number;
    return graph;
}

static void release_owned(struct graph *graph)
{
    rnl_graph handle = object_handle(&graph->object);
    lock_take(&graph->lock);
    graph->owned = false;
    lock_give(&graph->lock);
    if (handle)
        object_release(handle, OBJECT_GRAPH, "graph");
    else
        object_unref(&graph->object);
}

// Detaches the first graph of a list; returns the next one.
static struct graph *part(struct graph *inner)
{
    struct graph *next = inner->sibling;
    inner->sibling = NULL;
    return next;
}

void graph_release_owned(struct graph *graph)
{
    while (graph) {
        struct graph *next = part(graph);
        release_owned(graph);
        graph = next;
    }
}

void graph_drop_inner(struct graph *inner)
{
    while (inner) {
        struct graph *next = part(inner);
        object_unref(&inner->object);
        inner = next;
    }
}

const rnl_graph *graph_handles_locked(struct graph *inner, uint32_t *out_count)
{
    uint32_t count = 0;
    for (struct graph *at = inner; at; at = at->sibling)
        count++;
    *out_count = count;
    if (inner->handles)
        return inner->handles;
    rnl_graph *handles = mem_allocate(count * sizeof *handles);
    if (!handles) {
        fail(RNL_ERROR_OUT_OF_MEMORY, "there is no memory for a list");
        return NULL;
    }
    uint32_t i = 0;
    for (struct graph *at = inner; at; at = at->sibling)
        handles[i++] = object_handle(&at->object);
    inner->handles = handles;
    inner->handle_count = count;
    return handles;
}

rnl_status graph_find(rnl_graph handle, const char *parameter,
                      struct graph **out_graph)
{
    *out_graph = (struct graph *)object_find_ref(handle, OBJECT_GRAPH);
    return *out_graph ? RNL_OK
                      : object_refuse(handle, OBJECT_GRAPH, parameter);
}

// Gives handles to the graph and to all inside of it.
static rnl_graph publish(struct graph *graph)
{
    for (uint32_t i = 0; i < graph->count; i++)
        if (graph->nodes[i].kind)
            graph_publish_inner(graph->nodes[i].inner);
    return object_publish(&graph->object);
}

void graph_publish_inner(struct graph *inner)
{
    for (; inner; inner = inner->sibling) {
        inner->owned = true;
        publish(inner);
    }
}

// --- Copies ----------------------------------------------------------------

static bool no_memory(void)
{
    fail(RNL_ERROR_OUT_OF_MEMORY, "there is no memory to copy the graph");
    return false;
}

// Copies the graphs inside a node; `*out_copy` is NULL if there are none.
static bool copy_inner(struct graph *inner, bool hidden,
                       struct graph **out_copy)
{
    struct graph *first = NULL, **link = &first;
    for (; inner; inner = inner->sibling) {
        if (!(*link = graph_copy(inner, hidden))) {
            graph_drop_inner(first);
            return false;
        }
        link = &(*link)->sibling;
    }
    *out_copy = first;
    return true;
}

static bool copy_node(const struct node *from, struct node *to, bool hidden)
{
    *to = (struct node){0};
    if (!from->kind)
        return true;
    uint32_t *after = NULL;
    if (from->after_count > 0) {
        after = mem_allocate(from->after_count * sizeof *after);
        if (!after)
            return no_memory();
        for (uint32_t i = 0; i < from->after_count; i++)
            after[i] = from->after[i];
    }
    struct graph *inner;
    if (!copy_inner(from->inner, hidden, &inner)) {
        mem_release(after, from->after_count * sizeof *after);
        return false;
    }
    *to = *from;
    to->after = after;
    to->after_most = from->after_count;
    to->after_free = 0;
    to->inner = inner;
    node_params_ref(to->node_params);
    return true;
}

static bool copy_nodes_locked(const struct graph *from, struct graph *to)
{
    ASSERT(lock_is_held(&from->lock));
    if (from->count == 0)
        return true;
    to->nodes = mem_allocate(from->count * sizeof *to->nodes);
    if (!to->nodes)
        return no_memory();
    to->most = from->count;
    for (; to->count < from->count; to->count++)
        if (!copy_node(&from->nodes[to->count], &to->nodes[to->count],
                       to->number == 0))
            return false;
    for (uint32_t i = 0; i < to->count; i++)  // no bodies do
        to->records |= to->nodes[i].kind == RNL_NODE_EVENT_RECORD ||
                       (to->nodes[i].inner && to->nodes[i].inner->records);
    to->live_count = from->live_count;
    to->edge_count = from->edge_count;
    to->visits = from->visits;
    return true;
}

static rnl_status copy_locked(const struct graph *from, struct graph *to)
{
    ASSERT(lock_is_held(&from->lock));
    rnl_status status = graph_check_free_locked(from);
    return status ? status
                  : copy_nodes_locked(from, to) ? RNL_OK : fail_status();
}

struct graph *graph_copy(struct graph *graph, bool hidden)
{
    struct graph *copy =
        (hidden ? new_hidden : graph_new)(graph->object.context,
                                          graph->object.label);
    if (!copy)
        return NULL;
    copy->copied_from = graph->number;
    copy->body = graph->body;
    copy->depth = graph->depth;
    lock_take(&graph->lock);
    rnl_status status = copy_locked(graph, copy);
    lock_give(&graph->lock);
    if (status == RNL_OK)
        return copy;
    object_unref(&copy->object);
    return NULL;
}

// --- Life ------------------------------------------------------------------

rnl_status rnl_graph_create(rnl_context handle,
                            const rnl_graph_options *given,
                            rnl_graph *out_graph)
{
    struct context *context;
    rnl_graph_options options;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_context(handle, "context", &context)) ||
        (status = options_read(&options, sizeof options, given, "options")) ||
        (status = check_pointer(out_graph, "out_graph")) ||
        (status = context_need(context, RNL_FEATURE_GRAPHS, "context",
                               "graphs are")))
        return status;
    struct graph *graph = graph_new(context, options.label);
    if (!graph)
        return fail_status();
    *out_graph = object_publish(&graph->object);
    return RNL_OK;
}

rnl_status rnl_graph_retain(rnl_graph graph)
{
    rnl_status status = ENTER();
    return status ? status : object_retain(graph, OBJECT_GRAPH, "graph");
}

rnl_status rnl_graph_release(rnl_graph handle)
{
    rnl_status status = ENTER_RELEASE();
    if (status != RNL_OK)
        return status;
    struct object *object = object_find_ref(handle, OBJECT_GRAPH);
    if (!object)
        return object_release(handle, OBJECT_GRAPH, "graph");
    struct graph *graph = (struct graph *)object;
    lock_take(&graph->lock);
    bool last = object_users(object) == 1;
    bool taken = last && (graph->owned || graph->capture);
    lock_give(&graph->lock);
    if (taken)
        status = fail_at(RNL_ERROR_INVALID_STATE, "graph",
                         "the graph belongs to a node or a capture and is not "
                         "released by itself");
    else
        status = object_release(handle, OBJECT_GRAPH, "graph");
    object_unref(object);
    return status;
}

rnl_status rnl_graph_clone(rnl_graph handle, rnl_graph *out_clone)
{
    struct graph *graph;
    rnl_status status = ENTER();
    if (status != RNL_OK || (status = graph_find(handle, "graph", &graph)))
        return status;
    struct graph *copy = NULL;
    status = check_pointer(out_clone, "out_clone");
    if (status == RNL_OK && !(copy = graph_copy(graph, false)))
        status = fail_status();
    if (copy)
        *out_clone = publish(copy);
    object_unref(&graph->object);
    return status;
}

rnl_status rnl_graph_find_node(rnl_graph handle, rnl_node node,
                               rnl_node *out_node)
{
    struct graph *clone;
    uint32_t index;
    rnl_status status = ENTER();
    if (status != RNL_OK || (status = check_pointer(out_node, "out_node")) ||
        (status = graph_find(handle, "clone", &clone)))
        return status;
    lock_take(&clone->lock);
    status = node_find_locked(clone, clone->copied_from, node, "node", &index);
    lock_give(&clone->lock);
    if (status == RNL_OK)
        *out_node = node_handle(clone, index);
    else if (node_is_of(node, clone->copied_from))
        status = fail_at(RNL_ERROR_NOT_FOUND, "node",
                         "the clone has no copy of 'node'");
    object_unref(&clone->object);
    return status;
}

// --- Queries ---------------------------------------------------------------

rnl_status rnl_graph_get_info(rnl_graph handle, rnl_graph_info *out_info)
{
    struct graph *graph;
    rnl_status status = ENTER();
    if (status != RNL_OK || (status = graph_find(handle, "graph", &graph)))
        return status;
    rnl_graph_info info = {
        .id = graph->object.id,
        .context = object_handle(&graph->object.context->object),
        .label = graph->object.label ? graph->object.label : "",
    };
    lock_take(&graph->lock);
    info.node_count = graph->live_count;
    info.edge_count = graph->edge_count;
    lock_give(&graph->lock);
    object_unref(&graph->object);
    return info_write(out_info, &info, sizeof info, "out_info");
}

static void list_nodes_locked(const struct graph *graph, rnl_node *nodes,
                              size_t capacity, size_t *out_count)
{
    ASSERT(lock_is_held(&graph->lock));
    size_t count = 0;
    for (uint32_t i = 0; i < graph->count; i++) {
        if (!graph->nodes[i].kind)
            continue;
        if (count < capacity)
            nodes[count] = node_handle(graph, i);
        count++;
    }
    *out_count = count;
}

static void list_edges_locked(const struct graph *graph, rnl_edge *edges,
                              size_t capacity, size_t *out_count)
{
    ASSERT(lock_is_held(&graph->lock));
    size_t count = 0;
    for (uint32_t i = 0; i < graph->count; i++) {
        const struct node *node = &graph->nodes[i];
        for (uint32_t k = 0; node->kind && k < node->after_count; k++) {
            if (count < capacity)
                edges[count] =
                    (rnl_edge){.from = node_handle(graph, node->after[k]),
                               .to = node_handle(graph, i)};
            count++;
        }
    }
    *out_count = count;
}

static rnl_status check_list(const void *items, size_t capacity,
                             size_t *out_count, const char *name)
{
    rnl_status status = check_pointer(out_count, "out_count");
    if (status == RNL_OK && capacity > 0)
        status = check_pointer(items, name);
    return status;
}

rnl_status rnl_graph_get_nodes(rnl_graph handle, rnl_node *out_nodes,
                               size_t capacity, size_t *out_count)
{
    struct graph *graph;
    rnl_status status = ENTER();
    if (status != RNL_OK ||
        (status = check_list(out_nodes, capacity, out_count, "out_nodes")) ||
        (status = graph_find(handle, "graph", &graph)))
        return status;
    lock_take(&graph->lock);
    list_nodes_locked(graph, out_nodes, capacity, out_count);
    lock_give(&graph->lock);
    object_unref(&graph->object);
    return RNL_OK;
}

rnl_status rnl_graph_get_edges(rnl_graph handle, rnl_edge *out_edges,
                               size_t capacity, size_t *out_count)
{
    struct graph *graph;
    rnl_status status = ENTER();
    if (status != RNL_OK ||
        (status = check_list(out_edges, capacity, out_count, "out_edges")) ||
        (status = graph_find(handle, "graph", &graph)))
        return status;
    lock_take(&graph->lock);
    list_edges_locked(graph, out_edges, capacity, out_count);
    lock_give(&graph->lock);
    object_unref(&graph->object);
    return RNL_OK;
}
