// Reconstructs the parameters of a node from its node_params.
#include "core/graph/graph.h"
#include "core/graph/node_params.h"
#include "core/object/buffer_object.h"
#include "core/object/object.h"
#include "core/stream/op.h"

#include <string.h>

// The parameters, kept with the shared node_params. Immutable, because other
// threads may read them: if a handle is gone, new parameters are made.
struct readback {
    struct readback *next;  // an older one
    size_t size;
    size_t handles;         // handles at that time
    rnl_launch launch;
    rnl_args args;
    rnl_copy copy;
    rnl_fill fill;
    rnl_buffer_options options;
    _Alignas(8) char arrays[];
};

// Guards each node_params's.
static struct lock readback_lock = LOCK_RANKED(RANK_LEAF);

void readback_free(struct readback *readback)
{
    while (readback) {
        struct readback *next = readback->next;
        mem_release(readback, readback->size);
        readback = next;
    }
}

// --- Places ----------------------------------------------------------------

static bool buffer_has(const struct buffer *buffer, const char *address)
{
    const char *base = buffer->memory.device;
    return address >= base && (size_t)(address - base) < buffer->size;
}

// The buffer, or slice, that an op references and that contains the address, if
// the program still has its handle.
static const struct buffer *kept_buffer(const struct op *op,
                                        const char *address)
{
    for (size_t i = 0; i < op->kept_count; i++) {
        struct object *kept = op->kept[i];
        if (kept->class->kind == OBJECT_BUFFER && object_handle(kept) &&
            buffer_has((const struct buffer *)kept, address))
            return (const struct buffer *)kept;
    }
    return NULL;
}

// `row` and `slice` are the pitches of an operand with rows and slices.
static rnl_place place_of(const struct op *op, const char *address, size_t row,
                          size_t slice)
{
    const struct buffer *buffer = kept_buffer(op, address);
    rnl_place place = {.row_pitch = row, .slice_pitch = slice};
    if (buffer) {
        place.buffer = object_handle((struct object *)buffer);
        place.offset =
            (size_t)(address - (const char *)buffer->memory.device);
    } else {
        place.pointer = (void *)(uintptr_t)address;
    }
    return place;
}

// --- Launches --------------------------------------------------------------

static const struct op *launch_of(const struct node_params *node_params)
{
    const struct op *op = node_params->ops;
    while (op->kind != OP_KERNEL)
        op = op->next;
    return op;
}

static size_t count_ops(const struct node_params *node_params)
{
    size_t count = 0;
    for (const struct op *op = node_params->ops; op; op = op->next)
        count++;
    return count;
}

// The buffer that an argument is, or NULL.
static const struct buffer *buffer_of_value(const struct op *op,
                                            const void *value)
{
    void *address;
    memcpy(&address, value, sizeof address);
    const struct buffer *buffer = kept_buffer(op, address);
    return buffer && buffer->memory.device == address ? buffer : NULL;
}

static rnl_arg arg_of(const struct op *op, size_t index)
{
    const rnl_parameter *parameter =
        &op->kernel.function->parameters[index];
    const void *value = op->kernel.arguments[index];
    rnl_arg arg = {.kind = (uint32_t)parameter->kind,
                   .size = (uint32_t)parameter->size};
    const bool is_known = parameter->kind != RNL_VALUE_STRUCT &&
                          parameter->kind != RNL_VALUE_UNKNOWN;
    if (is_known)
        memcpy(&arg.value, value, parameter->size);
    // A driver may know only that the parameter has eight bytes.
    const struct buffer *buffer =
        parameter->kind == RNL_VALUE_POINTER ||
                (!is_known && parameter->size == sizeof(void *))
            ? buffer_of_value(op, value) : NULL;
    if (buffer)
        return rnl_arg_of_buffer(object_handle((struct object *)buffer));
    if (!is_known) {
        arg.kind = RNL_VALUE_STRUCT;
        arg.value.pointer = value;
    }
    return arg;
}

static void fill_launch(struct readback *readback,
                        const struct node_params *node_params)
{
    const struct op *op = launch_of(node_params);
    const struct op_kernel *kernel = &op->kernel;
    size_t count = kernel->function->parameter_count;
    rnl_arg *args = (rnl_arg *)(void *)readback->arrays;
    rnl_constant *constants = (rnl_constant *)(void *)(args + count);
    for (size_t i = 0; i < count; i++)
        args[i] = arg_of(op, i);
    readback->args = (rnl_args){.struct_size = sizeof(rnl_args),
                                .count = count, .items = args};
    size_t constant_count = 0;
    for (const struct op *at = node_params->ops; at != op; at = at->next)
        constants[constant_count++] = (rnl_constant){
            .symbol = (const char *)at->payload + at->copy.width,
            .data = at->payload, .size = at->copy.width};
    readback->launch = (rnl_launch){
        .struct_size = sizeof(rnl_launch),
        .grid = kernel->grid, .block = kernel->block,
        .cluster = kernel->cluster, .shared_size = kernel->shared_size,
        .attributes = kernel->attributes,
        .attribute_count = kernel->attribute_count,
        .constants = constant_count ? constants : NULL,
        .constant_count = constant_count,
        .label = op->label, .file = op->file, .line = op->line};
}

// --- Copies, fills, values -------------------------------------------------

// An empty copy or fill has no op.
static void fill_copy(struct readback *readback, const struct op *op)
{
    readback->copy.struct_size = sizeof readback->copy;
    if (!op)
        return;
    const struct op_copy *copy = &op->copy;
    readback->copy.to = place_of(op, copy->to, copy->to_row, copy->to_slice);
    readback->copy.from =
        place_of(op, copy->from, copy->from_row, copy->from_slice);
    readback->copy.width = copy->width;
    readback->copy.height = copy->height;
    readback->copy.depth = copy->depth;
}

static void fill_fill(struct readback *readback, const struct op *op)
{
    readback->fill.struct_size = sizeof readback->fill;
    readback->fill.pattern_size = 1;
    if (!op)
        return;
    const struct op_fill *fill = &op->fill;
    readback->fill.to = place_of(op, fill->to, fill->row, fill->slice);
    readback->fill.width = fill->width;
    readback->fill.height = fill->height;
    readback->fill.depth = fill->depth;
    readback->fill.pattern = fill->pattern;
    readback->fill.pattern_size = fill->pattern_size;
}

static void fill_values(struct readback *readback, const struct op *op)
{
    rnl_value_op *to = (rnl_value_op *)(void *)readback->arrays;
    for (size_t i = 0; op && i < op->memory_ops.count; i++) {
        const struct memory_op *value = &op->memory_ops.items[i];
        rnl_place place = place_of(op, value->address, 0, 0);
        to[i] = (rnl_value_op){
            .struct_size = sizeof *to, .action = value->action,
            .width = value->width, .flags = value->flags,
            .buffer = place.buffer, .pointer = place.pointer,
            .offset = place.offset, .value = value->value};
    }
}

static void fill_options(struct readback *readback,
                         const struct buffer *buffer)
{
    readback->options = (rnl_buffer_options){
        .struct_size = sizeof readback->options, .kind = buffer->kind,
        .label = buffer->object.label, .element = buffer->element};
}

// --- All kinds -------------------------------------------------------------

static size_t arrays_size(const struct node *node)
{
    const struct node_params *node_params = node->node_params;
    if (node->kind == RNL_NODE_FUNCTION)
        return launch_of(node_params)->kernel.function->parameter_count *
                   sizeof(rnl_arg) +
               count_ops(node_params) * sizeof(rnl_constant);
    if (node->kind == RNL_NODE_VALUES && node_params->ops)
        return node_params->ops->memory_ops.count * sizeof(rnl_value_op);
    return 0;
}

static void fill_readback(struct readback *readback, const struct node *node)
{
    const struct node_params *node_params = node->node_params;
    switch (node->kind) {
    case RNL_NODE_FUNCTION:
        fill_launch(readback, node_params);
        break;
    case RNL_NODE_COPY:
        fill_copy(readback, node_params->ops);
        break;
    case RNL_NODE_FILL:
        fill_fill(readback, node_params->ops);
        break;
    case RNL_NODE_VALUES:
        fill_values(readback, node_params->ops);
        break;
    case RNL_NODE_BUFFER_CREATE:
        fill_options(readback, (const struct buffer *)node_params->subject);
        break;
    default:
        break;
    }
}

static size_t count_handles(const struct node_params *node_params)
{
    size_t count = 0;
    for (const struct op *op = node_params->ops; op; op = op->next)
        for (size_t i = 0; i < op->kept_count; i++)
            count += object_handle(op->kept[i]) != NULL;
    return count;
}

static struct readback *readback_of(const struct node *node)
{
    struct node_params *node_params = node->node_params;
    size_t size = sizeof(struct readback) + arrays_size(node);
    lock_take(&readback_lock);
    size_t handles = count_handles(node_params);
    struct readback *readback = node_params->readback;
    if ((!readback || readback->handles != handles) &&
        (readback = mem_allocate(size))) {
        readback->next = node_params->readback;
        readback->size = size;
        readback->handles = handles;
        fill_readback(readback, node);
        node_params->readback = readback;
    }
    lock_give(&readback_lock);
    if (!readback)
        fail(RNL_ERROR_OUT_OF_MEMORY, "there is no memory for parameters");
    return readback;
}

static rnl_status check_describable(const struct node *node)
{
    size_t count =
        node->kind == RNL_NODE_FUNCTION ? 0 : count_ops(node->node_params);
    return count < 2 ? RNL_OK
                     : fail_at(RNL_ERROR_UNSUPPORTED, "node",
                               "the node is a batch of %zu, which parameters "
                               "do not describe",
                               count);
}

static void read_function(const struct node *node,
                          const struct readback *readback,
                          rnl_node_params *params)
{
    params->function =
        object_handle(&launch_of(node->node_params)->kernel.function->object);
    params->launch = &readback->launch;
    params->args = &readback->args;
}

static rnl_status read_bodies(const struct node *node, rnl_node_params *params)
{
    const struct buffer *buffer =
        (const struct buffer *)node->node_params->subject;
    uint32_t count;
    params->offset = (size_t)((const char *)node->node_params->word -
                              (const char *)buffer->memory.device);
    params->bodies = graph_handles_locked(node->inner, &count);
    params->body_count = count;
    return params->bodies ? RNL_OK : RNL_ERROR_OUT_OF_MEMORY;
}

static void read_kind(const struct node *node, const struct readback *readback,
                      rnl_node_params *params)
{
    const struct op *op = node->node_params->ops;
    struct object *subject = node->node_params->subject;
    if (node->kind == RNL_NODE_FUNCTION)
        read_function(node, readback, params);
    params->copy = node->kind == RNL_NODE_COPY ? &readback->copy : NULL;
    params->fill = node->kind == RNL_NODE_FILL ? &readback->fill : NULL;
    if (node->kind == RNL_NODE_HOST_FUNCTION) {
        params->host = op->host.function;
        params->user_data = op->host.user_data;
    }
    if (node->kind == RNL_NODE_VALUES && op) {
        params->values = (const rnl_value_op *)(const void *)readback->arrays;
        params->value_count = op->memory_ops.count;
    }
    if (node->kind == RNL_NODE_EVENT_RECORD ||
        node->kind == RNL_NODE_EVENT_WAIT)
        params->event = object_handle(subject);
    else
        params->buffer = object_handle(subject);
    if (node->kind == RNL_NODE_CHILD)
        params->child = object_handle(&node->inner->object);
    if (node->kind == RNL_NODE_BUFFER_CREATE) {
        params->size = ((const struct buffer *)subject)->size;
        params->options = &readback->options;
    }
}

rnl_status node_read_back(struct node *node, rnl_node_params *params)
{
    rnl_status status = check_describable(node);
    if (status != RNL_OK)
        return status;
    const struct readback *readback = readback_of(node);
    if (!readback)
        return RNL_ERROR_OUT_OF_MEMORY;
    params->kind = node->kind;
    params->label =
        node->node_params->label[0] ? node->node_params->label : NULL;
    params->priority = node->node_params->priority;
    read_kind(node, readback, params);
    return node_has_bodies(node->kind) ? read_bodies(node, params) : RNL_OK;
}
