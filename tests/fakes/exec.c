// Executable graphs of the fake.
#include "graph.h"

#include <stdlib.h>
#include <string.h>

enum { VALUES_MOST = 256 };

// --- Parameters -----------------------------------------------------------

// The payload: the values' addresses, then the values.
int fake_node_kernel(struct fake_node *node,
                     const struct driver_kernel_node *params)
{
    struct fake_function_object *function =
        fake_find(KIND_FUNCTION, params->function);
    if (!function)
        return FAKE_INVALID_VALUE;
    if (node->early && !function->module->waits)
        fake_misuse("a kernel that may begin early does not wait");
    struct fake_call call;
    struct driver_launch launch = {
        params->grid_x, params->grid_y, params->grid_z, params->block_x,
        params->block_y, params->block_z, params->shared_size, NULL, NULL, 0};
    int code = fake_launch_convert(function, &launch, params->arguments,
                                   params->extra, &call);
    if (code)
        return code;
    size_t count = function->info.parameter_count, size = 0;
    for (size_t i = 0; i < count; i++)
        size += (function->info.parameters[i].size + 15u) & ~15u;
    size_t head = (count * sizeof(void *) + 15) & ~(size_t)15;
    char *payload = calloc(1, head + size + 1);
    if (!payload)
        return FAKE_OUT_OF_MEMORY;
    char *at = payload + head;
    for (size_t i = 0; i < count; i++) {
        uint32_t bytes = function->info.parameters[i].size;
        const rnl_arg *item = &call.items[i];
        memcpy(at, item->kind == RNL_VALUE_STRUCT ? item->value.pointer
                                                  : (const void *)&item->value,
               bytes);
        at += (bytes + 15u) & ~15u;
    }
    free(node->payload);
    node->payload = payload;
    node->payload_size = head + size + 1;
    node->kernel = *params;
    return FAKE_OK;
}

// The addresses anew, since the payload may be a copy.
static void **arguments_of(struct fake_node *node,
                           const struct fake_function_object *function)
{
    size_t count = function->info.parameter_count;
    char *at =
        (char *)node->payload + ((count * sizeof(void *) + 15) & ~(size_t)15);
    void **arguments = node->payload;
    for (size_t i = 0; i < count; i++) {
        arguments[i] = at;
        at += (function->info.parameters[i].size + 15u) & ~15u;
    }
    return arguments;
}

int fake_node_copy(struct fake_node *node, const struct driver_copy *copy,
                   const void *context)
{
    rnl_copy converted;
    bool pageable;
    if (context != node->object.context)
        return FAKE_INVALID_VALUE;
    node->copy = *copy;
    return fake_copy_convert(copy, &converted, &pageable);
}

int fake_node_fill(struct fake_node *node, const struct driver_fill_node *fill,
                   const void *context)
{
    rnl_fill converted;
    if (context != node->object.context)
        return FAKE_INVALID_VALUE;
    node->fill = *fill;
    return fake_fill_convert(fill, &converted);
}

int fake_node_values(struct fake_node *node,
                     const struct driver_values_node *params)
{
    rnl_value_op ops[VALUES_MOST];
    size_t size = params->count * sizeof *params->values;
    bool foreign = !FAKE_IS_HIP && params->context != node->object.context;
    if (foreign || params->flags ||
        params->count > VALUES_MOST)
        return FAKE_INVALID_VALUE;
    int code = fake_values_convert(node->object.context, params->values,
                                   params->count, ops);
    void *payload = malloc(size + 1);
    if (code || !payload) {
        free(payload);
        return code ? code : FAKE_OUT_OF_MEMORY;
    }
    memcpy(payload, params->values, size);
    free(node->payload);
    node->payload = payload;
    node->payload_size = size + 1;
    node->value_count = params->count;
    return FAKE_OK;
}

// --- Nodes of the library inside ------------------------------------------

static void call_host(rnl_status status, void *user_data)
{
    const struct driver_host_node *host = user_data;
    if (status == RNL_OK)
        host->function(host->user_data);
}

// What a node becomes; the structs that `params` points at are in here.
struct inside {
    rnl_node_params params;
    struct fake_call call;
    rnl_copy copy;
    rnl_fill fill;
    rnl_value_op values[VALUES_MOST];
};

static int inside_kernel(struct fake_node *node, struct inside *out)
{
    const struct driver_kernel_node *kernel = &node->kernel;
    struct fake_function_object *function =
        fake_find(KIND_FUNCTION, kernel->function);
    if (!function)
        return FAKE_INVALID_VALUE;
    struct driver_launch launch = {
        kernel->grid_x, kernel->grid_y, kernel->grid_z, kernel->block_x,
        kernel->block_y, kernel->block_z, kernel->shared_size, NULL,
        node->attributes, (unsigned)node->attribute_count};
    int code = fake_launch_convert(function, &launch,
                                   arguments_of(node, function), NULL,
                                   &out->call);
    out->params.kind = RNL_NODE_FUNCTION;
    out->params.function = function->inner;
    out->params.launch = &out->call.launch;
    out->params.args = &out->call.args;
    return code;
}

static int inside_copy(const struct fake_node *node, struct inside *out)
{
    bool pageable;
    int code = fake_copy_convert(&node->copy, &out->copy, &pageable);
    out->params.kind = out->copy.width ? RNL_NODE_COPY : RNL_NODE_EMPTY;
    out->params.copy = &out->copy;
    return code;
}

static int inside_fill(const struct fake_node *node, struct inside *out)
{
    int code = fake_fill_convert(&node->fill, &out->fill);
    out->params.kind = out->fill.width ? RNL_NODE_FILL : RNL_NODE_EMPTY;
    out->params.fill = &out->fill;
    return code;
}

// A launch under way may call it when the exec is gone.
static int inside_host(struct fake_exec *exec, const struct fake_node *node,
                       struct inside *out)
{
    struct driver_host_node *host =
        fake_keep(node->object.context, sizeof *host);
    if (!host)
        return FAKE_OUT_OF_MEMORY;
    *host = node->host;
    exec->waits = true;
    out->params.kind = RNL_NODE_HOST_FUNCTION;
    out->params.host = call_host;
    out->params.user_data = host;
    return FAKE_OK;
}

static int inside_event(const struct fake_node *node, struct inside *out)
{
    struct fake_event *event = fake_find(KIND_EVENT, node->event);
    if (!event)
        return FAKE_INVALID_VALUE;
    bool records = node->function == FAKE_graph_add_record;
    if (records)
        atomic_store(&event->recorded, true);
    out->params.kind = records ? RNL_NODE_EVENT_RECORD : RNL_NODE_EVENT_WAIT;
    out->params.event = event->inner;
    return FAKE_OK;
}

static int inside_values(const struct fake_node *node, struct inside *out)
{
    out->params.kind = RNL_NODE_VALUES;
    out->params.values = out->values;
    out->params.value_count = node->value_count;
    return fake_values_convert(node->object.context, node->payload,
                               node->value_count, out->values);
}

static int inside_node(struct fake_exec *exec, struct fake_node *node,
                       struct inside *out)
{
    out->params = (rnl_node_params){.struct_size = sizeof out->params,
                                    .kind = RNL_NODE_EMPTY};
    switch (node->function) {
    case FAKE_graph_add_kernel:
        return inside_kernel(node, out);
    case FAKE_graph_add_copy:
        return inside_copy(node, out);
    case FAKE_graph_add_fill:
        return inside_fill(node, out);
    case FAKE_graph_add_host:
        return inside_host(exec, node, out);
    case FAKE_graph_add_record:
    case FAKE_graph_add_wait:
        exec->waits |= node->function == FAKE_graph_add_wait;
        return inside_event(node, out);
    case FAKE_graph_add_values:
        exec->waits |= fake_values_wait(node->payload, node->value_count);
        return inside_values(node, out);
    default:
        return FAKE_OK;
    }
}

// A copy from ordinary memory is of what is there at the launch. One within the
// host, or to ordinary memory, holds the launch up.
static void note_copy(struct fake_pair *pair, const struct inside *inside)
{
    const rnl_copy *copy = &inside->copy;
    bool copies = inside->params.kind == RNL_NODE_COPY;
    bool within = copies && fake_is_of_host(copy->from.pointer) &&
                  fake_is_of_host(copy->to.pointer);
    pair->takes = copies && !within && fake_is_ordinary(copy->from.pointer);
    pair->holds = within || (copies && fake_is_ordinary(copy->to.pointer));
    if (copies)
        pair->copy = *copy;
}

// --- Instantiation --------------------------------------------------------

static int build(struct fake_exec *exec, const struct fake_graph *graph,
                 rnl_graph inner, struct fake_pair *pairs);

// The copy of a child.
static int build_child(struct fake_exec *exec, const struct fake_graph *child,
                       rnl_graph *out_inner)
{
    rnl_status status =
        rnl_graph_create(exec->object.context->inner, NULL, out_inner);
    if (status != RNL_OK)
        return fake_code(exec->object.context, status);
    int code = build(exec, child, *out_inner, NULL);
    if (code)
        rnl_graph_release(*out_inner);
    return code;
}

static rnl_node found(const struct fake_pair *pairs, size_t count,
                      const struct fake_node *node)
{
    for (size_t i = 0; i < count; i++)
        if (pairs[i].node == node)
            return pairs[i].inner;
    return NULL;
}

// The word of a condition as an address in the buffer of all addresses.
static void inside_condition(struct fake_node *node, struct inside *out,
                             rnl_graph *out_body)
{
    static const rnl_node_kind kinds[] = {
        [DRIVER_CONDITION_IF] = RNL_NODE_IF,
        [DRIVER_CONDITION_WHILE] = RNL_NODE_WHILE,
        [DRIVER_CONDITION_SWITCH] = RNL_NODE_SWITCH,
    };
    out->params.kind = kinds[node->condition_type];
    out->params.body_count = node->body_count;
    out->params.buffer = node->object.context->memory;
    out->params.offset = (uintptr_t)&node->condition->word - 4096;
    out->params.out_body = out_body;
}

static int build_node(struct fake_exec *exec, struct fake_node *node,
                      rnl_graph inner, struct fake_pair *pairs, size_t index)
{
    struct inside inside;
    rnl_graph other = NULL, bodies[FAKE_BODIES];
    bool conditional = node->function == FAKE_graph_add_node;
    bool child = node->function == FAKE_graph_add_child;
    exec->works |= !child && node->function != FAKE_graph_add_empty;
    int code = inside_node(exec, node, &inside);
    if (!code && child)
        code = build_child(exec, node->graphs[0], &other);
    if (code)
        return code;
    if (child) {
        inside.params.kind = RNL_NODE_CHILD;
        inside.params.child = other;
    } else if (conditional) {
        inside_condition(node, &inside, bodies);
    }
    rnl_node *after = calloc(node->after_count + 1, sizeof *after);
    for (size_t i = 0; after && i < node->after_count; i++)
        after[i] = found(pairs, index, node->after[i]);
    rnl_status status =
        after ? rnl_graph_add_node(inner, after, node->after_count,
                                   &inside.params, &pairs[index].inner)
              : RNL_ERROR_OUT_OF_MEMORY;
    free(after);
    pairs[index].node = node;
    note_copy(&pairs[index], &inside);
    if (child)
        rnl_graph_release(other);
    if (status != RNL_OK)
        return fake_code(exec->object.context, status);
    for (unsigned i = 0; conditional && i < node->body_count && !code; i++)
        code = build(exec, node->graphs[i], bodies[i], NULL);
    return code;
}

static size_t count_nodes(const struct fake_graph *graph)
{
    size_t count = 0;
    for (const struct fake_node *node = graph->first; node; node = node->next)
        count++;
    return count;
}

// `pairs`: room for all nodes of the graph, or NULL.
static int build(struct fake_exec *exec, const struct fake_graph *graph,
                 rnl_graph inner, struct fake_pair *pairs)
{
    struct fake_pair *own =
        pairs ? NULL : calloc(count_nodes(graph) + 1, sizeof *own);
    int code = pairs || own ? FAKE_OK : FAKE_OUT_OF_MEMORY;
    size_t index = 0;
    for (struct fake_node *node = graph->first; node && !code;
         node = node->next)
        code = build_node(exec, node, inner, pairs ? pairs : own, index++);
    free(own);
    return code;
}

// A context has room for some executable graphs, and makes more when the device
// is idle; it keeps that. Seen: 33 of a few nodes, 15 with a WHILE.
enum { ROOM = 32 };

static uint32_t room_for(const struct fake_graph *graph)
{
    uint32_t room = 1;
    for (const struct fake_node *node = graph->first; node; node = node->next)
        room += node->function == FAKE_graph_add_node;
    return room + (uint32_t)(count_nodes(graph) / 128);
}

static void take_room(struct fake_exec *exec, const struct fake_graph *graph)
{
    struct fake_context *context = exec->object.context;
    exec->room = room_for(graph);
    uint32_t taken = atomic_fetch_add(&context->execs, exec->room) + exec->room;
    uint32_t room = atomic_load(&context->exec_room);
    if (taken <= room + ROOM)
        return;
    fake_wait_device(context);
    while (room + ROOM < taken &&
           !atomic_compare_exchange_weak(&context->exec_room, &room,
                                         (taken + ROOM) / ROOM * ROOM))
        ;
}

void fake_exec_drop(struct fake_exec *exec)
{
    atomic_fetch_sub(&exec->object.context->execs, exec->room);
    rnl_graph_exec_release(exec->inner);
    rnl_graph_release(exec->graph);
    free(exec->pairs);
    fake_delete(exec);
}

static int make(struct fake_exec *exec, const struct fake_graph *graph)
{
    exec->pair_count = count_nodes(graph);
    exec->pairs = calloc(exec->pair_count + 1, sizeof *exec->pairs);
    if (!exec->pairs)
        return FAKE_OUT_OF_MEMORY;
    struct fake_context *context = exec->object.context;
    rnl_status status = rnl_graph_create(context->inner, NULL, &exec->graph);
    if (status != RNL_OK)
        return fake_code(context, status);
    int code = build(exec, graph, exec->graph, exec->pairs);
    if (code)
        return code;
    return fake_code(context,
                     rnl_graph_instantiate(exec->graph, &exec->inner));
}

int fake_graph_instantiate(void **out_exec, void *handle,
                           unsigned long long flags)
{
    struct fake_context *context;
    int code = fake_enter(FAKE_graph_instantiate, &context);
    if (code)
        return code;
    struct fake_graph *graph = fake_find(KIND_GRAPH, handle);
    if (!graph || !out_exec || flags & ~15ull)
        return FAKE_INVALID_VALUE;
    struct fake_exec *exec = fake_new(KIND_EXEC, context, sizeof *exec);
    if (!exec)
        return FAKE_OUT_OF_MEMORY;
    take_room(exec, graph);
    code = make(exec, graph);
    if (code)
        fake_exec_drop(exec);
    else
        *out_exec = exec;
    return code;
}

int fake_exec_destroy(void *handle)
{
    struct fake_context *context;
    int code = fake_enter_release(FAKE_exec_destroy, &context);
    struct fake_exec *exec = fake_find(KIND_EXEC, handle);
    if (!exec)
        return FAKE_INVALID_VALUE;
    // As the real driver, though it holds nobody up.
    fake_wait_context(exec->object.context);
    fake_exec_drop(exec);
    return code;
}

// --- Changes --------------------------------------------------------------

int fake_enter_exec(enum fake_function function, void *handle,
                    struct fake_context **out_context,
                    struct fake_exec **out_exec)
{
    int code = fake_enter(function, out_context);
    if (code)
        return code;
    *out_exec = fake_find(KIND_EXEC, handle);
    return *out_exec && (*out_exec)->object.context == *out_context
               ? FAKE_OK : FAKE_INVALID_VALUE;
}

// Finds the node of the exec that stands for `handle`, of that kind.
static int enter_node(enum fake_function function, void *handle, void *node,
                      enum fake_function kind, struct fake_exec **out_exec,
                      struct fake_pair **out_pair)
{
    struct fake_context *context;
    int code = fake_enter_exec(function, handle, &context, out_exec);
    if (code)
        return code;
    struct fake_node *found_node = fake_find(KIND_NODE, node);
    if (!found_node || (kind != FAKE_COUNT && found_node->function != kind))
        return FAKE_INVALID_VALUE;
    for (size_t i = 0; i < (*out_exec)->pair_count; i++)
        if ((*out_exec)->pairs[i].node == found_node) {
            *out_pair = &(*out_exec)->pairs[i];
            return FAKE_OK;
        }
    return FAKE_INVALID_VALUE;
}

// A node with other parameters, which never joins a graph.
static struct fake_node changed(const struct fake_pair *pair)
{
    return (struct fake_node){
        .object = {.context = pair->node->object.context},
        .function = pair->node->function,
        .early = pair->node->early,
    };
}

static int set_inside(struct fake_exec *exec, struct fake_pair *pair,
                      struct fake_node *node)
{
    struct inside inside;
    int code = inside_node(exec, node, &inside);
    if (!code)
        code = fake_code(exec->object.context,
                         rnl_graph_exec_set_node(exec->inner, pair->inner,
                                                 &inside.params));
    if (!code)
        note_copy(pair, &inside);
    return code;
}

static int apply(struct fake_exec *exec, struct fake_pair *pair,
                 struct fake_node *node, int code)
{
    if (!code)
        code = set_inside(exec, pair, node);
    free(node->payload);
    return code;
}

int fake_exec_set_kernel(void *handle, void *node,
                         const struct driver_kernel_node *params)
{
    struct fake_exec *exec;
    struct fake_pair *pair;
    int code = enter_node(FAKE_exec_set_kernel, handle, node,
                          FAKE_graph_add_kernel, &exec, &pair);
    if (code)
        return code;
    struct fake_node other = changed(pair);
    memcpy(other.attributes, pair->node->attributes, sizeof other.attributes);
    other.attribute_count = pair->node->attribute_count;
    return apply(exec, pair, &other, fake_node_kernel(&other, params));
}

int fake_exec_set_copy(void *handle, void *node,
                       const struct driver_copy *copy, void *context)
{
    struct fake_exec *exec;
    struct fake_pair *pair;
    int code = enter_node(FAKE_exec_set_copy, handle, node,
                          FAKE_graph_add_copy, &exec, &pair);
    if (code)
        return code;
    // As the real driver: only rows for rows.
    const struct driver_copy *before = &pair->node->copy;
    if (before->height > 1 || before->depth > 1 || copy->height > 1 ||
        copy->depth > 1)
        return FAKE_INVALID_VALUE;
    struct fake_node other = changed(pair);
    return apply(exec, pair, &other, fake_node_copy(&other, copy, context));
}

static bool same_rows(const struct driver_fill_node *a,
                      const struct driver_fill_node *b)
{
    return a->element_size == b->element_size && a->width == b->width &&
           a->height == b->height && a->pitch == b->pitch;
}

// Seen (H100, 580.159): more elements of 2 bytes than before are not all
// written, but where they are aligned to 4.
static bool leaves_out(const struct driver_fill_node *before,
                       const struct driver_fill_node *fill)
{
    return fill->element_size == 2 &&
           (before->element_size != 2 || fill->width > before->width) &&
           ((fill->to | fill->width * 2) & 3) != 0;
}

int fake_exec_set_fill(void *handle, void *node,
                       const struct driver_fill_node *fill, void *context)
{
    struct driver_fill_node made = *fill;
    struct fake_exec *exec;
    struct fake_pair *pair;
    int code = enter_node(FAKE_exec_set_fill, handle, node,
                          FAKE_graph_add_fill, &exec, &pair);
    if (code)
        return code;
    const struct driver_fill_node *before = &pair->node->fill;
    if ((before->height > 1 || fill->height > 1) && !same_rows(before, fill))
        return FAKE_INVALID_VALUE;
    if (leaves_out(before, fill))
        made.width = 1;
    struct fake_node other = changed(pair);
    return apply(exec, pair, &other, fake_node_fill(&other, &made, context));
}

int fake_exec_set_host(void *handle, void *node,
                       const struct driver_host_node *host)
{
    struct fake_exec *exec;
    struct fake_pair *pair;
    int code = enter_node(FAKE_exec_set_host, handle, node,
                          FAKE_graph_add_host, &exec, &pair);
    if (code)
        return code;
    struct fake_node other = changed(pair);
    other.host = *host;
    return apply(exec, pair, &other,
                 host->function ? FAKE_OK : FAKE_INVALID_VALUE);
}

static int set_event(enum fake_function function, enum fake_function kind,
                     void *handle, void *node, void *event)
{
    struct fake_exec *exec;
    struct fake_pair *pair;
    int code = enter_node(function, handle, node, kind, &exec, &pair);
    if (code)
        return code;
    struct fake_node other = changed(pair);
    other.event = event;
    return apply(exec, pair, &other, FAKE_OK);
}

int fake_exec_set_record(void *exec, void *node, void *event)
{
    return set_event(FAKE_exec_set_record, FAKE_graph_add_record, exec, node,
                     event);
}

int fake_exec_set_wait(void *exec, void *node, void *event)
{
    return set_event(FAKE_exec_set_wait, FAKE_graph_add_wait, exec, node,
                     event);
}

int fake_exec_set_values(void *handle, void *node,
                         const struct driver_values_node *params)
{
    struct fake_exec *exec;
    struct fake_pair *pair;
    int code = enter_node(FAKE_exec_set_values, handle, node,
                          FAKE_graph_add_values, &exec, &pair);
    if (code)
        return code;
    struct fake_node other = changed(pair);
    return apply(exec, pair, &other, fake_node_values(&other, params));
}

// Seen (H100, 580.159): what is enabled does what it did when the executable
// graph was made, not always, but whatever it was given since.
static int forget(struct fake_exec *exec, struct fake_pair *pair)
{
    struct fake_node made = *pair->node;
    return set_inside(exec, pair, &made);
}

int fake_exec_set_enabled(void *handle, void *node, unsigned enabled)
{
    struct fake_exec *exec;
    struct fake_pair *pair;
    int code = enter_node(FAKE_exec_set_enabled, handle, node, FAKE_COUNT,
                          &exec, &pair);
    if (code)
        return code;
    enum fake_function kind = pair->node->function;
    if (kind != FAKE_graph_add_kernel && kind != FAKE_graph_add_copy &&
        kind != FAKE_graph_add_fill)
        return FAKE_INVALID_VALUE;
    if (enabled && pair->off && (code = forget(exec, pair)))
        return code;
    pair->off = !enabled;
    return fake_code(exec->object.context,
                     rnl_graph_exec_set_enabled(exec->inner, pair->inner,
                                                enabled != 0));
}
