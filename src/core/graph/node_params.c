// From the caller's node parameters to checked operations.
#include "core/graph/node_params.h"

#include "core/backend.h"
#include "core/graph/graph.h"
#include "core/memory/buffer.h"
#include "core/memory/copy.h"
#include "core/memory/memory_ops.h"
#include "core/module/launch.h"
#include "core/object/buffer_object.h"
#include "core/object/check.h"
#include "core/object/context_object.h"
#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/object/user_data.h"
#include "core/stream/event.h"
#include "core/stream/op.h"
#include "core/stream/stream.h"

#include <string.h>

static size_t size_of(const char *label)
{
    return sizeof(struct node_params) + (label ? strlen(label) : 0) + 1;
}

static struct node_params *node_params_new(const char *label, int priority)
{
    struct node_params *node_params = mem_allocate(size_of(label));
    if (!node_params) {
        fail(RNL_ERROR_OUT_OF_MEMORY, "there is no memory for a node");
        return NULL;
    }
    atomic_init(&node_params->references, 1);
    node_params->priority = priority;
    strcpy(node_params->label, label ? label : "");
    return node_params;
}

void node_params_unref(struct node_params *node_params)
{
    if (!node_params || COUNT_DOWN(&node_params->references) != 1)
        return;
    op_finish_list(node_params->ops);
    if (node_params->subject)
        object_unref(node_params->subject);
    if (node_params->user)
        object_unref(node_params->user);
    readback_free(node_params->readback);
    mem_release(node_params, size_of(node_params->label));
}

void node_params_return_user(struct node_params *node_params)
{
    user_data_give_back(node_params->user);
    node_params_unref(node_params);
}

// The launch of the graph sets the stream.
static void take_ops(struct node_params *node_params, struct op *ops)
{
    node_params->ops = ops;
    for (struct op *op = ops; op; op = op->next) {
        op->stream = NULL;
        if (!op->label && node_params->label[0])
            op->label = node_params->label;
    }
}

rnl_status node_params_of_ops(struct op *ops, struct node_params **out_params)
{
    const char *label = NULL;
    for (struct op *op = ops; op; op = op->next)
        label = op->label ? op->label : label;
    struct node_params *node_params = node_params_new(label, 0);
    if (!node_params)
        return RNL_ERROR_OUT_OF_MEMORY;
    take_ops(node_params, ops);
    *out_params = node_params;
    return RNL_OK;
}

rnl_status node_params_of_object(struct object *subject,
                                 struct node_params **out_params)
{
    struct node_params *node_params = node_params_new(NULL, 0);
    if (!node_params)
        return RNL_ERROR_OUT_OF_MEMORY;
    if (subject)
        object_ref(subject);
    node_params->subject = subject;
    *out_params = node_params;
    return RNL_OK;
}

// --- Kinds whose work is operations ----------------------------------------

static rnl_status make_copy(struct stream *draft, const rnl_node_params *params,
                            struct op **out_ops)
{
    rnl_copy copy;
    rnl_status status = check_pointer(params->copy, "copy");
    if (status != RNL_OK ||
        (status = options_read(&copy, sizeof copy, params->copy, "copy")))
        return status;
    return make_copy_op(draft, &copy, out_ops);
}

static rnl_status make_fill(struct stream *draft, const rnl_node_params *params,
                            struct op **out_ops)
{
    rnl_fill fill;
    rnl_status status = check_pointer(params->fill, "fill");
    if (status != RNL_OK ||
        (status = options_read(&fill, sizeof fill, params->fill, "fill")))
        return status;
    return make_fill_op(draft, &fill, out_ops);
}

static rnl_status make_values(struct stream *draft,
                              const rnl_node_params *params,
                              struct op **out_ops)
{
    if (params->value_count == 0)
        return RNL_OK;
    rnl_status status = check_pointer(params->values, "values");
    return status ? status : memory_ops_create(draft, params->values,
                                       params->value_count, out_ops);
}

static rnl_status make_ops(struct graph *graph, const rnl_node_params *params,
                           struct op **out_ops)
{
    // Enough of a stream to make operations for.
    struct stream draft = {.object = {.context = graph->object.context},
                           .backend = graph->backend};
    switch (params->kind) {
    case RNL_NODE_FUNCTION:
        return make_launch_ops(&draft, params->function, params->launch,
                               params->args, out_ops);
    case RNL_NODE_COPY:
        return make_copy(&draft, params, out_ops);
    case RNL_NODE_FILL:
        return make_fill(&draft, params, out_ops);
    case RNL_NODE_VALUES:
        return make_values(&draft, params, out_ops);
    case RNL_NODE_HOST_FUNCTION:
        return make_host_op(&draft, params->host, params->user_data, out_ops);
    default:
        return RNL_OK;
    }
}

// --- Kinds that refer to an object -----------------------------------------

static rnl_status find_event(struct graph *graph,
                             const rnl_node_params *params,
                             struct object **out_event)
{
    struct object *object = object_find_ref(params->event, OBJECT_EVENT);
    if (!object)
        return object_refuse(params->event, OBJECT_EVENT, "event");
    struct event *event = (struct event *)object;
    rnl_status status = RNL_OK;
    if (event->backend != graph->backend)
        status = fail_at(RNL_ERROR_INVALID_HANDLE, "event",
                         "'event' is of %s, the graph of %s",
                         event->backend->api, graph->backend->api);
    else if (params->kind == RNL_NODE_EVENT_RECORD &&
             object->context != graph->object.context)
        status = fail_at(RNL_ERROR_INVALID_HANDLE, "event",
                         "'event' belongs to another context than the graph");
    else if (event->options.promise)
        status = fail_at(RNL_ERROR_INVALID_ARGUMENT, "event",
                         "a promise is kept once; a graph cannot use it");
    else if (event->options.interprocess)
        status = fail_at(RNL_ERROR_INVALID_ARGUMENT, "event",
                         "'event' is an interprocess event, which no graph can "
                         "use; record it on the stream behind the launch");
    if (status == RNL_OK)
        *out_event = object;
    else
        object_unref(object);
    return status;
}

static rnl_status find_buffer(struct graph *graph, rnl_buffer handle,
                              struct object **out_buffer)
{
    struct object *object = object_find_ref(handle, OBJECT_BUFFER);
    if (!object)
        return object_refuse(handle, OBJECT_BUFFER, "buffer");
    if (object->context == graph->object.context) {
        *out_buffer = object;
        return RNL_OK;
    }
    object_unref(object);
    return fail_at(RNL_ERROR_INVALID_HANDLE, "buffer",
                   "'buffer' belongs to another context than the graph");
}

// The word that an IF, WHILE or SWITCH looks at.
static rnl_status find_word(struct graph *graph, const rnl_node_params *params,
                            struct node_params *node_params)
{
    rnl_status status =
        find_buffer(graph, params->buffer, &node_params->subject);
    if (status != RNL_OK)
        return status;
    const struct buffer *buffer = (const struct buffer *)node_params->subject;
    if (buffer->size < sizeof(uint32_t) ||
        params->offset > buffer->size - sizeof(uint32_t))
        return fail_at(RNL_ERROR_OUT_OF_RANGE, "offset",
                       "a number at %zu leaves the buffer of %zu bytes",
                       params->offset, buffer->size);
    const char *address = (const char *)buffer->memory.device + params->offset;
    if ((uintptr_t)address % sizeof(uint32_t))
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "offset",
                       "the number at %p is not aligned to its 4 bytes",
                       (const void *)address);
    node_params->word = (const uint32_t *)(const void *)address;
    return RNL_OK;
}

static rnl_status create_buffer(struct graph *graph,
                                const rnl_node_params *params,
                                struct node_params *node_params)
{
    rnl_status status = check_pointer(params->out_buffer, "out_buffer");
    return status ? status
                  : make_graph_buffer(graph->object.context, params->size,
                                      params->options, &node_params->subject);
}

static rnl_status find_subject(struct graph *graph,
                               const rnl_node_params *params,
                               struct node_params *node_params)
{
    switch (params->kind) {
    case RNL_NODE_EVENT_RECORD:
    case RNL_NODE_EVENT_WAIT:
        return find_event(graph, params, &node_params->subject);
    case RNL_NODE_BUFFER_CREATE:
        return create_buffer(graph, params, node_params);
    case RNL_NODE_BUFFER_RELEASE:
        return find_buffer(graph, params->buffer, &node_params->subject);
    case RNL_NODE_IF:
    case RNL_NODE_WHILE:
    case RNL_NODE_SWITCH:
        return find_word(graph, params, node_params);
    default:
        return RNL_OK;
    }
}

// --- Inner graphs ----------------------------------------------------------

rnl_status graph_check_kind(const struct graph *graph, rnl_node_kind kind,
                            rnl_status refusal, const char *parameter)
{
    const unsigned depends = 1u << RNL_NODE_HOST_FUNCTION |
                             1u << RNL_NODE_VALUES |
                             1u << RNL_NODE_EVENT_WAIT;
    const char *why = NULL;
    if (graph->body && kind == RNL_NODE_EVENT_RECORD)
        why = "an event stands for one record of a launch";
    else if (graph->body && depends & 1u << kind)
        why = context_lacks(graph->object.context, RNL_FEATURE_GRAPH_BODIES);
    return why ? fail_at(refusal, parameter,
                         "the body of an IF, WHILE or SWITCH cannot have nodes "
                         "of kind '%s': %s",
                         node_kind_name(kind), why)
               : RNL_OK;
}

// A graph that becomes part of a body obeys the rules of bodies, too. No other
// thread has the copy.
static rnl_status make_body(struct graph *copy)
{
    rnl_status status = RNL_OK;
    copy->body = true;
    for (uint32_t i = 0; i < copy->count && status == RNL_OK; i++) {
        const struct node *node = &copy->nodes[i];
        if (!node->kind)
            continue;
        status = graph_check_kind(copy, node->kind, RNL_ERROR_UNSUPPORTED,
                                  "params");
        for (struct graph *inner = node->inner; inner && status == RNL_OK;
             inner = inner->sibling)
            status = make_body(inner);
    }
    return status;
}

static rnl_status set_depths(struct graph *inner, uint32_t depth);

// The same for the nesting depth of graphs.
static rnl_status set_depth(struct graph *graph, uint32_t depth)
{
    rnl_status status = RNL_OK;
    if (depth > GRAPH_DEPTH_MOST)
        return fail_at(RNL_ERROR_OUT_OF_RANGE, "graph",
                       "graphs can be %d deep inside of each other",
                       GRAPH_DEPTH_MOST);
    graph->depth = depth;
    for (uint32_t i = 0; i < graph->count && status == RNL_OK; i++)
        if (graph->nodes[i].kind)
            status = set_depths(graph->nodes[i].inner, depth + 1);
    return status;
}

static rnl_status set_depths(struct graph *inner, uint32_t depth)
{
    rnl_status status = RNL_OK;
    for (; inner && status == RNL_OK; inner = inner->sibling)
        status = set_depth(inner, depth);
    return status;
}

// `body`: of the graph's node, or in one.
static rnl_status copy_given(struct graph *graph, rnl_graph handle,
                             const char *parameter, bool body,
                             struct graph **out_inner)
{
    struct graph *given;
    rnl_status status = graph_find(handle, parameter, &given);
    if (status != RNL_OK)
        return status;
    if (given->object.context != graph->object.context)
        status = fail_at(RNL_ERROR_INVALID_HANDLE, parameter,
                         "'%s' belongs to another context than the graph",
                         parameter);
    else if (!(*out_inner = graph_copy(given, graph->number == 0)))
        status = fail_status();
    else if (body)
        status = make_body(*out_inner);
    object_unref(&given->object);
    return status;
}

static rnl_status new_body(struct graph *graph, const rnl_node_params *params,
                           size_t index, struct graph **out_inner)
{
    if (params->bodies)
        return copy_given(graph, params->bodies[index], "bodies", true,
                          out_inner);
    *out_inner = graph_new(graph->object.context, params->label);
    if (!*out_inner)
        return fail_status();
    (*out_inner)->body = true;
    return RNL_OK;
}

#define BODIES_MOST 65536

static rnl_status check_bodies(const struct graph *graph,
                               const rnl_node_params *params, size_t count)
{
    size_t most = params->kind == RNL_NODE_WHILE ? 1
                  : params->kind == RNL_NODE_IF  ? 2 : BODIES_MOST;
    rnl_status status =
        params->bodies ? RNL_OK : check_pointer(params->out_body, "out_body");
    if (status != RNL_OK)
        return status;
    if (count > most)
        return fail_at(RNL_ERROR_OUT_OF_RANGE, "body_count",
                       "a node of kind '%s' can have %zu bodies, not %zu",
                       node_kind_name(params->kind), most, count);
    return count > 1 || params->kind == RNL_NODE_SWITCH
               ? context_need(graph->object.context, RNL_FEATURE_GRAPH_SWITCH,
                              "params", "SWITCH and IF with ELSE are")
               : RNL_OK;
}

static rnl_status new_bodies(struct graph *graph,
                             const rnl_node_params *params,
                             struct graph **out_inner)
{
    size_t count = params->body_count ? params->body_count : 1;
    rnl_status status = check_bodies(graph, params, count);
    for (size_t i = 0; i < count && status == RNL_OK; i++) {
        status = new_body(graph, params, i, out_inner);
        if (*out_inner)
            out_inner = &(*out_inner)->sibling;
    }
    return status;
}

// Published by the caller once nothing can fail any more.
static rnl_status make_inner(struct graph *graph, const rnl_node_params *params,
                             struct graph **out_inner)
{
    rnl_status status = RNL_OK;
    *out_inner = NULL;
    if (params->kind == RNL_NODE_CHILD)
        status = copy_given(graph, params->child, "child", graph->body,
                            out_inner);
    else if (node_has_bodies(params->kind))
        status = new_bodies(graph, params, out_inner);
    if (status == RNL_OK)
        status = set_depths(*out_inner, graph->depth + 1);
    if (status != RNL_OK)
        graph_drop_inner(*out_inner);
    return status;
}

// --- All kinds -------------------------------------------------------------

rnl_status node_params_create(struct graph *graph,
                              const rnl_node_params *params,
                              struct new_node *out_node)
{
    struct op *ops = NULL;
    struct graph *inner;
    rnl_status status = graph_check_kind(graph, params->kind,
                                         RNL_ERROR_UNSUPPORTED, "params");
    if (status != RNL_OK)
        return status;
    struct node_params *node_params =
        node_params_new(params->label, params->priority);
    if (!node_params)
        return RNL_ERROR_OUT_OF_MEMORY;
    status = make_ops(graph, params, &ops);
    if (status == RNL_OK) {
        take_ops(node_params, ops);
        status = user_data_create(graph->object.context, params->user_data,
                                  params->destroy, &node_params->user);
    }
    if (status != RNL_OK || (status = make_inner(graph, params, &inner)))
        goto drop;
    status = find_subject(graph, params, node_params);
    if (status != RNL_OK) {
        graph_drop_inner(inner);
        goto drop;
    }
    *out_node = (struct new_node){params->kind, node_params, inner};
    return RNL_OK;

drop:
    node_params_return_user(node_params);
    return status;
}
