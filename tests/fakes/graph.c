// Graphs of the fake: nodes are kept as they were given, and become a graph of
// the library inside when they are instantiated.
#include "graph.h"

#include <stdlib.h>
#include <string.h>

// --- Graphs ---------------------------------------------------------------

int fake_graph_create(void **out_graph, unsigned flags)
{
    int code = fake_enter(FAKE_graph_create, NULL);
    if (code)
        return code;
    if (!out_graph || flags)
        return FAKE_INVALID_VALUE;
    struct fake_graph *graph = fake_new(KIND_GRAPH, NULL, sizeof *graph);
    if (!graph)
        return FAKE_OUT_OF_MEMORY;
    *out_graph = graph;
    return FAKE_OK;
}

static void node_free(struct fake_node *node)
{
    for (int i = 0; i < FAKE_BODIES; i++)
        if (node->graphs[i])
            fake_graph_free(node->graphs[i]);
    free(node->after);
    free(node->payload);
    fake_delete(node);
}

void fake_graph_free(struct fake_graph *graph)
{
    while (graph->first) {
        struct fake_node *node = graph->first;
        graph->first = node->next;
        node_free(node);
    }
    fake_delete(graph);
}

int fake_graph_destroy(void *handle)
{
    int code = fake_enter(FAKE_graph_destroy, NULL);
    struct fake_graph *graph = fake_find(KIND_GRAPH, handle);
    if (!graph || graph->owner)
        return FAKE_INVALID_VALUE;
    fake_graph_free(graph);
    return code;
}

// --- Nodes ----------------------------------------------------------------

static void append(struct fake_graph *graph, struct fake_node *node)
{
    node->graph = graph;
    node->next = NULL;
    if (graph->last)
        graph->last->next = node;
    else
        graph->first = node;
    graph->last = node;
}

static bool after_fits(const struct fake_graph *graph, void *const *after,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct fake_node *node = fake_find(KIND_NODE, after[i]);
        if (!node || node->graph != graph)
            return false;
        for (size_t j = 0; j < i; j++)
            if (after[j] == after[i])
                return false;
    }
    return true;
}

// Enters, checks the graph and what the node comes after, and makes it; it is
// the graph's once `finish` was called.
static int start(enum fake_function function, void *handle, void *const *after,
                 size_t count, struct fake_node **out_node)
{
    struct fake_context *context;
    int code = fake_enter(function, &context);
    if (code)
        return code;
    struct fake_graph *graph = fake_find(KIND_GRAPH, handle);
    if (!graph || !after_fits(graph, after, count))
        return FAKE_INVALID_VALUE;
    struct fake_node *node = fake_new(KIND_NODE, context, sizeof *node);
    if (!node)
        return FAKE_OUT_OF_MEMORY;
    node->graph = graph;
    node->function = function;
    node->after = calloc(count + 1, sizeof *node->after);
    if (!node->after) {
        node_free(node);
        return FAKE_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < count; i++)
        node->after[i] = after[i];
    node->after_count = count;
    *out_node = node;
    return FAKE_OK;
}

static int finish(struct fake_node *node, int code, void **out_node)
{
    if (code || !out_node) {
        node_free(node);
        return code ? code : FAKE_INVALID_VALUE;
    }
    append(node->graph, node);
    *out_node = node;
    return FAKE_OK;
}

int fake_graph_add_empty(void **out_node, void *graph, void *const *after,
                         size_t count)
{
    struct fake_node *node;
    int code = start(FAKE_graph_add_empty, graph, after, count, &node);
    return code ? code : finish(node, FAKE_OK, out_node);
}

int fake_graph_add_kernel(void **out_node, void *graph, void *const *after,
                          size_t count,
                          const struct driver_kernel_node *params)
{
    struct fake_node *node;
    int code = start(FAKE_graph_add_kernel, graph, after, count, &node);
    if (code)
        return code;
    return finish(node, fake_node_kernel(node, params), out_node);
}

int fake_graph_add_copy(void **out_node, void *graph, void *const *after,
                        size_t count, const struct driver_copy *copy,
                        void *context)
{
    struct fake_node *node;
    int code = start(FAKE_graph_add_copy, graph, after, count, &node);
    if (code)
        return code;
    return finish(node, fake_node_copy(node, copy, context), out_node);
}

int fake_graph_add_fill(void **out_node, void *graph, void *const *after,
                        size_t count, const struct driver_fill_node *fill,
                        void *context)
{
    struct fake_node *node;
    int code = start(FAKE_graph_add_fill, graph, after, count, &node);
    if (code)
        return code;
    return finish(node, fake_node_fill(node, fill, context), out_node);
}

int fake_graph_add_host(void **out_node, void *graph, void *const *after,
                        size_t count, const struct driver_host_node *host)
{
    struct fake_node *node;
    int code = start(FAKE_graph_add_host, graph, after, count, &node);
    if (code)
        return code;
    node->host = *host;
    return finish(node, host->function ? FAKE_OK : FAKE_INVALID_VALUE,
                  out_node);
}

static int add_event(enum fake_function function, void **out_node, void *graph,
                     void *const *after, size_t count, void *event)
{
    struct fake_node *node;
    int code = start(function, graph, after, count, &node);
    if (code)
        return code;
    node->event = event;
    return finish(node,
                  fake_find(KIND_EVENT, event) ? FAKE_OK : FAKE_INVALID_VALUE,
                  out_node);
}

int fake_graph_add_record(void **out_node, void *graph, void *const *after,
                          size_t count, void *event)
{
    return add_event(FAKE_graph_add_record, out_node, graph, after, count,
                     event);
}

int fake_graph_add_wait(void **out_node, void *graph, void *const *after,
                        size_t count, void *event)
{
    return add_event(FAKE_graph_add_wait, out_node, graph, after, count,
                     event);
}

int fake_graph_add_values(void **out_node, void *graph, void *const *after,
                          size_t count,
                          const struct driver_values_node *params)
{
    struct fake_node *node;
    int code = start(FAKE_graph_add_values, graph, after, count, &node);
    if (code)
        return code;
    return finish(node, fake_node_values(node, params), out_node);
}

// --- Copies of graphs -----------------------------------------------------

static size_t index_of(const struct fake_graph *graph,
                       const struct fake_node *node)
{
    size_t index = 0;
    for (const struct fake_node *at = graph->first; at && at != node;
         at = at->next)
        index++;
    return index;
}

static struct fake_node *node_at(const struct fake_graph *graph, size_t index)
{
    struct fake_node *node = graph->first;
    while (node && index--)
        node = node->next;
    return node;
}

static struct fake_node *node_clone(const struct fake_graph *from,
                                    const struct fake_node *node,
                                    struct fake_graph *to)
{
    struct fake_node *copy =
        fake_new(KIND_NODE, node->object.context, sizeof *copy);
    if (!copy)
        return NULL;
    struct fake_object object = copy->object;
    *copy = *node;
    copy->object = object;
    copy->after = calloc(node->after_count + 1, sizeof *copy->after);
    copy->payload = node->payload_size ? malloc(node->payload_size) : NULL;
    memset(copy->graphs, 0, sizeof copy->graphs);
    copy->condition = NULL;
    bool made = copy->after && (copy->payload || !node->payload_size);
    for (size_t i = 0; i < node->after_count && made; i++)
        copy->after[i] = node_at(to, index_of(from, node->after[i]));
    if (made && node->payload_size)
        memcpy(copy->payload, node->payload, node->payload_size);
    for (int i = 0; i < FAKE_BODIES && made; i++)
        made = !node->graphs[i] ||
               (copy->graphs[i] = fake_graph_clone(node->graphs[i], copy));
    if (made)
        return copy;
    node_free(copy);
    return NULL;
}

struct fake_graph *fake_graph_clone(const struct fake_graph *graph,
                                    struct fake_node *owner)
{
    struct fake_graph *copy = fake_new(KIND_GRAPH, NULL, sizeof *copy);
    if (!copy)
        return NULL;
    copy->owner = owner;
    for (const struct fake_node *node = graph->first; node;
         node = node->next) {
        struct fake_node *cloned = node_clone(graph, node, copy);
        if (!cloned) {
            fake_graph_free(copy);
            return NULL;
        }
        append(copy, cloned);
    }
    return copy;
}

int fake_graph_add_child(void **out_node, void *graph, void *const *after,
                         size_t count, void *child)
{
    struct fake_node *node;
    int code = start(FAKE_graph_add_child, graph, after, count, &node);
    if (code)
        return code;
    const struct fake_graph *from = fake_find(KIND_GRAPH, child);
    if (!from || from == node->graph)
        return finish(node, FAKE_INVALID_VALUE, out_node);
    node->graphs[0] = fake_graph_clone(from, node);
    return finish(node, node->graphs[0] ? FAKE_OK : FAKE_OUT_OF_MEMORY,
                  out_node);
}

// --- Conditions -----------------------------------------------------------
//
// A handle is the address of a word of the fake's, which a kernel of the fake
// can write.

int fake_graph_conditional(uint64_t *out_handle, void *graph, void *context,
                           unsigned initial, unsigned flags)
{
    struct fake_context *current;
    int code = fake_enter(FAKE_graph_conditional, &current);
    if (code)
        return code;
    struct fake_graph *found = fake_find(KIND_GRAPH, graph);
    if (!found || (context && context != current) || flags & ~1u)
        return FAKE_INVALID_VALUE;
    struct fake_condition *condition = fake_keep(current, sizeof *condition);
    if (!condition)
        return FAKE_OUT_OF_MEMORY;
    condition->initial = condition->word = initial;
    condition->assigns = flags & 1;
    *out_handle = (uintptr_t)condition;
    return FAKE_OK;
}

// Programmatic edges are between kernels.
static int add_early(struct fake_node *node, const struct driver_edge *edges,
                     const struct driver_kernel_node *params, void **out_node)
{
    node->function = FAKE_graph_add_kernel;
    for (size_t i = 0; edges && i < node->after_count; i++) {
        bool early = edges[i].type == DRIVER_EDGE_PROGRAMMATIC;
        if (edges[i].type > DRIVER_EDGE_PROGRAMMATIC || edges[i].to_port ||
            edges[i].from_port != (early ? DRIVER_PORT_PROGRAMMATIC : 0) ||
            (early && node->after[i]->function != FAKE_graph_add_kernel))
            return finish(node, FAKE_INVALID_VALUE, out_node);
        node->early |= early;
    }
    return finish(node, fake_node_kernel(node, params), out_node);
}

// Since 12.8 an IF may have an ELSE, and there is SWITCH.
static unsigned bodies_most(int type)
{
    bool more = fake_version() >= 12080;
    switch (type) {
    case DRIVER_CONDITION_IF:
        return more ? 2 : 1;
    case DRIVER_CONDITION_WHILE:
        return 1;
    case DRIVER_CONDITION_SWITCH:
        return more ? FAKE_BODIES : 0;
    default:
        return 0;
    }
}

static int make_bodies(struct fake_node *node, unsigned count)
{
    for (node->body_count = 0; node->body_count < count; node->body_count++) {
        struct fake_graph *body = fake_new(KIND_GRAPH, NULL, sizeof *body);
        if (!body)
            return FAKE_OUT_OF_MEMORY;
        body->owner = node;
        node->graphs[node->body_count] = body;
        node->bodies[node->body_count] = body;
    }
    return FAKE_OK;
}

int fake_graph_add_node(void **out_node, void *graph, void *const *after,
                        const struct driver_edge *edges, size_t count,
                        struct driver_node *params)
{
    struct fake_node *node;
    int code = start(FAKE_graph_add_node, graph, after, count, &node);
    if (code)
        return code;
    if (params->type == DRIVER_NODE_KERNEL)
        return add_early(node, edges, &params->kernel, out_node);
    if (edges || params->type != DRIVER_NODE_CONDITIONAL ||
        params->conditional.size > bodies_most(params->conditional.type) ||
        params->conditional.size == 0 || !params->conditional.handle)
        return finish(node, FAKE_INVALID_VALUE, out_node);
    node->condition = (struct fake_condition *)params->conditional.handle;
    node->condition_type = params->conditional.type;
    params->conditional.bodies = node->bodies;
    return finish(node, make_bodies(node, params->conditional.size), out_node);
}

int fake_kernel_node_attribute(void *handle, int id, const void *value)
{
    struct fake_context *context;
    int code = fake_enter(FAKE_kernel_node_attribute, &context);
    if (code)
        return code;
    struct fake_node *node = fake_find(KIND_NODE, handle);
    if (!node || node->function != FAKE_graph_add_kernel || !value)
        return FAKE_INVALID_VALUE;
    for (size_t i = 0; i < node->attribute_count; i++)
        if (node->attributes[i].id == id) {
            memcpy(node->attributes[i].bytes, value, 64);
            return FAKE_OK;
        }
    if (id < 1 || id > 20 || node->attribute_count == FAKE_NODE_ATTRIBUTES)
        return FAKE_INVALID_VALUE;
    node->attributes[node->attribute_count].id = id;
    memcpy(node->attributes[node->attribute_count++].bytes, value, 64);
    return FAKE_OK;
}
