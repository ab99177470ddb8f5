#include "core/backend.h"
#include "core/make.h"

#include <string.h>

// --- Shape -----------------------------------------------------------------

static void missing_axes_are_one(rnl_dim3 *dim)
{
    dim->y = dim->y ? dim->y : 1;
    dim->z = dim->z ? dim->z : 1;
}

static rnl_status check_dim(const rnl_dim3 *dim, const rnl_dim3 *most,
                            const char *name)
{
    if (dim->x == 0)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, name,
                       "the %s's x is zero; it has to be given", name);
    if (dim->x <= most->x && dim->y <= most->y && dim->z <= most->z)
        return RNL_OK;
    return fail_at(RNL_ERROR_INVALID_ARGUMENT, name,
                   "the %s %u x %u x %u is beyond the device's limit of "
                   "%u x %u x %u",
                   name, dim->x, dim->y, dim->z, most->x, most->y, most->z);
}

static rnl_status check_threads(const struct function *function,
                                const rnl_device_info *info,
                                const rnl_dim3 *block)
{
    uint64_t threads = (uint64_t)block->x * block->y * block->z;
    uint32_t own = function->info.max_block_threads;
    uint32_t most = own && own < info->max_block_threads
                        ? own
                        : info->max_block_threads;
    if (threads <= most)
        return RNL_OK;
    return fail_at(RNL_ERROR_INVALID_ARGUMENT, "block",
                   "a block of %llu threads is beyond the limit of %u%s%s",
                   (unsigned long long)threads, most,
                   most == own ? " of " : "",
                   most == own ? function->name : "");
}

static rnl_status check_cluster(const rnl_device_info *info,
                                const rnl_launch *launch)
{
    const rnl_dim3 *c = &launch->cluster, *grid = &launch->grid;
    uint64_t blocks = (uint64_t)c->x * c->y * c->z;
    if (blocks == 1)
        return RNL_OK;
    uint32_t most = info->max_cluster_blocks ? info->max_cluster_blocks : 1;
    if (blocks > most)
        return fail_at(most > 1 ? RNL_ERROR_INVALID_ARGUMENT
                                : RNL_ERROR_UNSUPPORTED,
                       "cluster",
                       "a cluster of %llu blocks is asked for; the device can "
                       "have %u",
                       (unsigned long long)blocks, most);
    if (grid->x % c->x || grid->y % c->y || grid->z % c->z)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "cluster",
                       "the grid %u x %u x %u is not divisible by the cluster "
                       "%u x %u x %u",
                       grid->x, grid->y, grid->z, c->x, c->y, c->z);
    return RNL_OK;
}

static rnl_status check_cooperative(struct function *function,
                                    const rnl_launch *launch)
{
    struct context *context = function->object.context;
    const struct backend *backend = context->backend;
    rnl_feature cooperative = RNL_FEATURE_COOPERATIVE_LAUNCH;
    if (!(backend->features & BACKEND_FEATURE(cooperative)))
        return fail_at(RNL_ERROR_UNSUPPORTED, "attributes",
                       "cooperative launches are not supported: %s",
                       backend->feature_reason(context, cooperative));
    return cooperative_check(function, launch);
}

static rnl_status check_attributes(struct function *function,
                                   const rnl_launch *launch)
{
    bool cooperative = false;
    if (launch->attribute_count > 0 && !launch->attributes)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "attributes",
                       "%zu attributes are announced, but 'attributes' is NULL",
                       launch->attribute_count);
    for (size_t i = 0; i < launch->attribute_count; i++) {
        const rnl_launch_attribute *attribute = &launch->attributes[i];
        if (attribute->id < RNL_LAUNCH_COOPERATIVE ||
            attribute->id > RNL_LAUNCH_PROGRAMMATIC_SERIALIZATION)
            return fail_at(RNL_ERROR_INVALID_ARGUMENT, "attributes",
                           "%d is no rnl_launch_attribute_id",
                           (int)attribute->id);
        cooperative |=
            attribute->id == RNL_LAUNCH_COOPERATIVE && attribute->value;
    }
    return cooperative ? check_cooperative(function, launch) : RNL_OK;
}

static rnl_status refuse_shared(struct function *function,
                                const rnl_device_info *info, size_t dynamic)
{
    uint64_t most = info->shared_per_block_max;
    size_t fixed = function->info.shared_size;
    if (fixed <= most && dynamic <= most - fixed)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "shared_size",
                       "%zu bytes of dynamic shared memory are beyond the %zu "
                       "that %s may have by its attribute",
                       dynamic, atomic_load(&function->shared_most),
                       function->name);
    return fail_at(RNL_ERROR_INVALID_ARGUMENT, "shared_size",
                   "%zu bytes of static and %zu of dynamic shared memory are "
                   "beyond the device's %llu bytes per block",
                   fixed, dynamic, (unsigned long long)most);
}

static rnl_status check_shared(struct function *function,
                               const rnl_device_info *info, size_t dynamic)
{
    size_t most = atomic_load_explicit(&function->shared_most,
                                       memory_order_relaxed);
    return dynamic <= most && function->info.shared_size <=
                                  info->shared_per_block_max
               ? RNL_OK
               : refuse_shared(function, info, dynamic);
}

// Checks the launch and replaces missing axes.
static rnl_status check_launch(struct function *function, rnl_launch *launch)
{
    struct context *context = function->object.context;
    const rnl_device_info *info = &context->device->info;
    missing_axes_are_one(&launch->grid);
    missing_axes_are_one(&launch->block);
    missing_axes_are_one(&launch->cluster);
    launch->cluster.x = launch->cluster.x ? launch->cluster.x : 1;
    rnl_status status = check_dim(&launch->grid, &info->max_grid, "grid");
    if (status != RNL_OK ||
        (status = check_dim(&launch->block, &info->max_block, "block")) ||
        (status = check_threads(function, info, &launch->block)) ||
        (status = check_cluster(info, launch)) ||
        (status = check_shared(function, info, launch->shared_size)))
        return status;
    return check_attributes(function, launch);
}

// --- Arguments -------------------------------------------------------------

static const char *kind_name(uint32_t kind)
{
    switch (kind) {
    case RNL_VALUE_POINTER:
        return "a pointer";
    case RNL_VALUE_INTEGER:
        return "an integer";
    case RNL_VALUE_FLOAT:
        return "a floating-point number";
    case RNL_VALUE_STRUCT:
        return "a struct";
    case RNL_ARG_BUFFER:
        return "a buffer";
    default:
        return "a value";
    }
}

static rnl_status mismatch(const struct function *function, size_t index,
                           const rnl_arg *arg)
{
    const rnl_parameter *parameter = &function->parameters[index];
    const char *type = parameter->type && parameter->type[0]
                           ? parameter->type
                           : "of unnamed type";
    rnl_status status = fail_at(
        RNL_ERROR_ARGUMENT_MISMATCH, "args",
        "argument %zu of %s has the wrong type: given was %s, %u bytes; the "
        "parameter (%s) is %s, %u bytes",
        index + 1, function->name, kind_name(arg->kind), arg->size, type,
        kind_name(parameter->kind), parameter->size);
    fail_set_object("function '%s'", function->name);
    return status;
}

static bool kind_is_legal(uint32_t kind)
{
    return (kind >= RNL_VALUE_POINTER && kind <= RNL_VALUE_STRUCT) ||
           kind == RNL_ARG_BUFFER;
}

static bool argument_fits(const rnl_arg *arg, const rnl_parameter *parameter)
{
    uint32_t kind =
        arg->kind == RNL_ARG_BUFFER ? RNL_VALUE_POINTER : arg->kind;
    // Only a struct's bytes lie elsewhere, and can be more than a value holds.
    size_t most =
        arg->kind == RNL_VALUE_STRUCT ? UINT32_MAX : sizeof arg->value;
    if (!kind_is_legal(arg->kind) || arg->size != parameter->size ||
        arg->size > most ||
        (kind == RNL_VALUE_POINTER && arg->size != sizeof(void *)))
        return false;
    return parameter->kind == RNL_VALUE_UNKNOWN || kind == parameter->kind;
}

// Where everything of a launch lies in its op's payload.
struct layout {
    size_t values;      // after the addresses
    size_t kept;
    size_t attributes;
    size_t label;
    size_t size;
    size_t buffer_count;
};

static size_t align_up(size_t offset, size_t alignment)
{
    // No machine needs more than its widest vector.
    alignment = alignment < 1 ? 1 : alignment > 64 ? 64 : alignment;
    return (offset + alignment - 1) / alignment * alignment;
}

static rnl_status check_arguments(const struct function *function,
                                  const rnl_args *args)
{
    size_t count = args ? args->count : 0;
    if (args && args->struct_size < sizeof *args)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "args",
                       "'args' has a struct_size of %zu, not %zu",
                       args->struct_size, sizeof *args);
    if (count != function->parameter_count)
        return fail_at(RNL_ERROR_ARGUMENT_MISMATCH, "args",
                       "%s takes %zu arguments, but %zu were given",
                       function->name, function->parameter_count, count);
    if (count > 0 && !args->items)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "args",
                       "%zu arguments are announced, but 'items' is NULL",
                       count);
    for (size_t i = 0; i < count; i++) {
        const rnl_arg *arg = &args->items[i];
        if (!argument_fits(arg, &function->parameters[i]))
            return mismatch(function, i, arg);
        if (arg->kind == RNL_VALUE_STRUCT && !arg->value.pointer)
            return fail_at(RNL_ERROR_INVALID_ARGUMENT, "args",
                           "argument %zu of %s is a struct at NULL", i + 1,
                           function->name);
    }
    return RNL_OK;
}

static struct layout lay_out(const struct function *function,
                             const rnl_launch *launch, const rnl_args *args)
{
    struct layout layout = {0};
    size_t offset = function->parameter_count * sizeof(void *);
    for (size_t i = 0; i < function->parameter_count; i++) {
        const rnl_parameter *parameter = &function->parameters[i];
        offset = align_up(offset, parameter->alignment) + parameter->size;
        layout.buffer_count += args->items[i].kind == RNL_ARG_BUFFER;
    }
    layout.kept = align_up(offset, sizeof(void *));
    // The function itself is the first thing kept.
    layout.attributes =
        layout.kept + (layout.buffer_count + 1) * sizeof(void *);
    layout.label = layout.attributes +
                   launch->attribute_count * sizeof *launch->attributes;
    layout.size =
        layout.label + (launch->label ? strlen(launch->label) + 1 : 0);
    return layout;
}

// Keeps the buffer for the op and gives its address.
static rnl_status take_buffer(struct op *op, rnl_buffer handle,
                              const void **out_address)
{
    struct object *object = object_find_and_keep(handle, OBJECT_BUFFER);
    if (!object)
        return object_refuse(handle, OBJECT_BUFFER, "args");
    op->kept[op->kept_count++] = object;
    struct context *context = stream_context(op->stream);
    if (!context_may_use(context, object->context))
        return fail_at(RNL_ERROR_INVALID_HANDLE, "args",
                       "an argument is a buffer of another context, to which "
                       "the stream's has no peer access");
    *out_address = ((struct buffer *)object)->memory.device;
    return RNL_OK;
}

static rnl_status store_arguments(struct op *op,
                                  const struct function *function,
                                  const rnl_args *args)
{
    char *payload = op->payload;
    const void **addresses = op->payload;
    size_t offset = function->parameter_count * sizeof(void *);
    for (size_t i = 0; i < function->parameter_count; i++) {
        const rnl_parameter *parameter = &function->parameters[i];
        const rnl_arg *arg = &args->items[i];
        offset = align_up(offset, parameter->alignment);
        const void *address, *value = &arg->value;
        if (arg->kind == RNL_ARG_BUFFER) {
            rnl_status status = take_buffer(op, arg->value.buffer, &address);
            if (status != RNL_OK)
                return status;
            value = &address;
        } else if (arg->kind == RNL_VALUE_STRUCT) {
            value = arg->value.pointer;
        }
        memcpy(payload + offset, value, parameter->size);
        addresses[i] = payload + offset;
        offset += parameter->size;
    }
    return RNL_OK;
}

static void store_extras(struct op *op, const struct layout *layout,
                         const rnl_launch *launch)
{
    char *payload = op->payload;
    if (launch->attribute_count > 0)
        memcpy(payload + layout->attributes, launch->attributes,
               launch->attribute_count * sizeof *launch->attributes);
    op->kernel.attributes =
        (const rnl_launch_attribute *)(payload + layout->attributes);
    op->kernel.attribute_count = launch->attribute_count;
    if (launch->label)
        op->label = strcpy(payload + layout->label, launch->label);
    op->file = launch->file;
    op->line = launch->line;
}

// --- The launch ------------------------------------------------------------

// On success, and only then, the op has the caller's reference to the function.
static rnl_status launch_op(struct stream *stream, struct function *function,
                            const rnl_launch *launch, const rnl_args *args,
                            struct op **out_op)
{
    struct layout layout = lay_out(function, launch, args);
    struct op *op = op_create(stream, OP_KERNEL, layout.size);
    if (!op)
        return RNL_ERROR_OUT_OF_MEMORY;
    if (layout.buffer_count + 1 > OP_INLINE_KEPT)
        op->kept = (struct object **)((char *)op->payload + layout.kept);
    op->kept[op->kept_count++] = &function->object;  // the caller's reference
    op->kernel.function = function;
    op->kernel.grid = launch->grid;
    op->kernel.block = launch->block;
    op->kernel.cluster = launch->cluster;
    op->kernel.shared_size = launch->shared_size;
    op->kernel.arguments = op->payload;
    store_extras(op, &layout, launch);
    rnl_status status = store_arguments(op, function, args);
    if (status == RNL_OK) {
        *out_op = op;
        return RNL_OK;
    }
    object_keep(&function->object);
    op_finish(op);
    return status;
}

// A copy of the constant's bytes, made before the launch in stream order.
static rnl_status constant_op(struct stream *stream, struct function *function,
                              const rnl_constant *constant, struct op **out_op)
{
    struct memory memory;
    size_t size;
    rnl_status status = check_pointer(constant->symbol, "constants");
    if (status == RNL_OK && constant->size > 0)
        status = check_pointer(constant->data, "constants");
    if (status != RNL_OK)
        return status;
    if (!function->module)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "constants",
                       "%s is a native function and has no constants",
                       function->name);
    struct module *module = function->module;
    status = module->backend->module_global(module, constant->symbol, &memory,
                                            &size);
    if (status != RNL_OK)
        return fail_at(status, "constants",
                       "the module of %s has no variable '%s'", function->name,
                       constant->symbol);
    if (constant->size > size)
        return fail_at(RNL_ERROR_OUT_OF_RANGE, "constants",
                       "%zu bytes do not fit into '%s', which has %zu",
                       constant->size, constant->symbol, size);
    struct op *op = op_create(stream, OP_COPY, constant->size);
    if (!op)
        return RNL_ERROR_OUT_OF_MEMORY;
    if (constant->size > 0)
        memcpy(op->payload, constant->data, constant->size);
    op->copy = (struct op_copy){
        .to = memory.device, .from = op->payload, .width = constant->size,
        .height = 1, .depth = 1, .to_context = module->object.context,
    };
    object_keep(&module->object);
    op->kept[op->kept_count++] = &module->object;
    *out_op = op;
    return RNL_OK;
}

// The ops of all constants, then the launch, as a list.
static rnl_status make_ops(struct stream *stream, struct function *function,
                           const rnl_launch *launch, const rnl_args *args,
                           struct op **out_first)
{
    struct op *first = NULL, **last = &first;
    rnl_status status = RNL_OK;
    for (size_t i = 0; i < launch->constant_count && status == RNL_OK; i++) {
        struct op *op = NULL;
        if (launch->constants[i].size > 0 || !launch->constants[i].symbol)
            status = constant_op(stream, function, &launch->constants[i], &op);
        *last = op;
        last = op ? &op->next : last;
    }
    if (status == RNL_OK)
        status = launch_op(stream, function, launch, args, last);
    if (status != RNL_OK)
        op_finish_list(first);
    else
        *out_first = first;
    return status;
}

// On success the function is kept.
static rnl_status find_function(struct stream *stream, rnl_function handle,
                                struct function **function)
{
    rnl_status status;
    struct object *object = object_find_and_keep(handle, OBJECT_FUNCTION);
    if (!object)
        return object_refuse(handle, OBJECT_FUNCTION, "function");
    *function = (struct function *)object;
    if (object->context == stream_context(stream))
        status = stream_check_failure(stream);
    else
        status = fail_at(RNL_ERROR_INVALID_HANDLE, "function",
                         "'%s' belongs to another context than the stream",
                         (*function)->name);
    if (status != RNL_OK)
        object_drop(object);
    return status;
}

// Takes over the reference to the function on success only.
static rnl_status prepare(struct stream *stream, struct function *function,
                          const rnl_launch *given, const rnl_args *args,
                          struct op **out_first)
{
    rnl_launch launch;
    rnl_status status = check_pointer(given, "launch");
    if (status != RNL_OK ||
        (status = options_read(&launch, sizeof launch, given, "launch")) ||
        (status = check_launch(function, &launch)) ||
        (status = check_arguments(function, args)))
        return status;
    if (launch.constant_count > 0 && !launch.constants)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "constants",
                       "%zu constants are announced, but 'constants' is NULL",
                       launch.constant_count);
    return make_ops(stream, function, &launch, args, out_first);
}

rnl_status make_launch_ops(struct stream *stream, rnl_function handle,
                           const rnl_launch *launch, const rnl_args *args,
                           struct op **out_first)
{
    struct function *function = NULL;
    rnl_status status = find_function(stream, handle, &function);
    if (status != RNL_OK)
        return status;
    status = prepare(stream, function, launch, args, out_first);
    if (status != RNL_OK)
        object_drop(&function->object);
    return status;
}

rnl_status rnl_enqueue_function(rnl_stream handle, rnl_function function,
                                const rnl_launch *launch, const rnl_args *args)
{
    struct stream *stream;
    struct op *first = NULL;
    rnl_status status = ENTER();
    if (status != RNL_OK ||
        (status = check_stream(handle, "stream", &stream)) ||
        (status = make_launch_ops(stream, function, launch, args, &first)))
        return status;
    return op_submit_list(first);
}
