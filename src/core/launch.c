#include "core/backend.h"
#include "core/make.h"

#include <string.h>

// --- Shape -----------------------------------------------------------------

static void missing_axes_are_one(rnl_dim3 *dim)
{
    dim->y = dim->y ? dim->y : 1;
    dim->z = dim->z ? dim->z : 1;
}

__attribute__((cold)) static rnl_status
refuse_dim(const rnl_dim3 *dim, const rnl_dim3 *most, const char *name)
{
    if (dim->x == 0)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, name,
                       "the %s's x is zero; it has to be given", name);
    return fail_at(RNL_ERROR_INVALID_ARGUMENT, name,
                   "the %s %u x %u x %u is beyond the device's limit of "
                   "%u x %u x %u",
                   name, dim->x, dim->y, dim->z, most->x, most->y, most->z);
}

static inline rnl_status check_dim(const rnl_dim3 *dim, const rnl_dim3 *most,
                                   const char *name)
{
    bool fits = dim->x > 0 && dim->x <= most->x && dim->y <= most->y &&
                dim->z <= most->z;
    return fits ? RNL_OK : refuse_dim(dim, most, name);
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

static bool argument_fits(const rnl_arg *arg, const rnl_parameter *parameter)
{
    uint32_t kind = arg->kind;
    if (arg->size != parameter->size)
        return false;
    switch (kind) {
    case RNL_ARG_BUFFER:
        kind = RNL_VALUE_POINTER;
        // fall through
    case RNL_VALUE_POINTER:
        if (arg->size != sizeof(void *))
            return false;
        break;
    case RNL_VALUE_INTEGER:
    case RNL_VALUE_FLOAT:
        if (arg->size > sizeof arg->value)
            return false;
        break;
    case RNL_VALUE_STRUCT:  // its bytes lie elsewhere
        break;
    default:
        return false;
    }
    return parameter->kind == RNL_VALUE_UNKNOWN || kind == parameter->kind;
}

static rnl_status check_count(const struct function *function,
                              const rnl_args *args, size_t count)
{
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
    return RNL_OK;
}

// Tells how many of them are buffers.
static rnl_status check_arguments(const struct function *function,
                                  const rnl_args *args, size_t *out_buffers)
{
    size_t count = args ? args->count : 0, buffers = 0;
    rnl_status status = check_count(function, args, count);
    if (status != RNL_OK)
        return status;
    for (size_t i = 0; i < count; i++) {
        const rnl_arg *arg = &args->items[i];
        if (!argument_fits(arg, &function->parameters[i]))
            return mismatch(function, i, arg);
        if (arg->kind == RNL_VALUE_STRUCT && !arg->value.pointer)
            return fail_at(RNL_ERROR_INVALID_ARGUMENT, "args",
                           "argument %zu of %s is a struct at NULL", i + 1,
                           function->name);
        buffers += arg->kind == RNL_ARG_BUFFER;
    }
    *out_buffers = buffers;
    return RNL_OK;
}

// Keeps the buffer for the op and gives where its address is.
static rnl_status take_buffer(struct op *op, rnl_buffer handle,
                              const void **out_value)
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
    *out_value = &((struct buffer *)object)->memory.device;
    return RNL_OK;
}

// Where each value is now: with the caller, or with a buffer that is kept.
static rnl_status find_values(struct op *op, const rnl_args *args,
                              const void **out_values)
{
    size_t count = op->kernel.function->parameter_count;
    for (size_t i = 0; i < count; i++) {
        const rnl_arg *arg = &args->items[i];
        out_values[i] = &arg->value;
        if (arg->kind == RNL_VALUE_STRUCT) {
            out_values[i] = arg->value.pointer;
        } else if (arg->kind == RNL_ARG_BUFFER) {
            rnl_status status =
                take_buffer(op, arg->value.buffer, &out_values[i]);
            if (status != RNL_OK)
                return status;
        }
    }
    return RNL_OK;
}

// Into the op, where `addresses` will tell of them; they lie there at first.
static void store_values(const struct function *function, char *values,
                         const void **addresses)
{
    for (size_t i = 0; i < function->parameter_count; i++) {
        const rnl_parameter *parameter = &function->parameters[i];
        char *place = values + function->offsets[i];
        switch (parameter->size) {
        case 4:
            memcpy(place, addresses[i], 4);
            break;
        case 8:
            memcpy(place, addresses[i], 8);
            break;
        default:
            memcpy(place, addresses[i], parameter->size);
        }
        addresses[i] = place;
    }
}

// --- The launch ------------------------------------------------------------

// A launch that was checked.
struct wanted {
    struct stream *stream;
    struct function *function;
    const rnl_launch *launch;
    const rnl_args *args;
    size_t kept;  // objects: the function and buffers
};

// Room for the addresses of values that stay where they are.
#define BORROWED_MOST 128

struct borrowed {
    const void *values[BORROWED_MOST];
};

// Where everything of a launch lies in its op's payload.
struct layout {
    size_t values;      // after their addresses
    size_t kept;
    size_t attributes;
    size_t label;
    size_t size;
};

static size_t align_up(size_t offset, size_t alignment)
{
    return (offset + alignment - 1) & ~(alignment - 1);
}

static struct layout lay_out(const struct wanted *wanted)
{
    const struct function *function = wanted->function;
    const rnl_launch *launch = wanted->launch;
    struct layout layout;
    layout.values = align_up(function->parameter_count * sizeof(void *),
                             function->values_alignment);
    layout.kept = align_up(layout.values + function->values_size,
                           sizeof(void *));
    layout.attributes = layout.kept + wanted->kept * sizeof(void *);
    layout.label = layout.attributes +
                   launch->attribute_count * sizeof *launch->attributes;
    layout.size =
        layout.label + (launch->label ? strlen(launch->label) + 1 : 0);
    return layout;
}

// All but what is behind pointers. `kept` is where so many fit; NULL: inside.
static void set_launch(struct op *op, const struct wanted *wanted, void *kept)
{
    const rnl_launch *launch = wanted->launch;
    if (kept)
        op->kept = kept;
    op->kept[op->kept_count++] = &wanted->function->object;  // the caller's
    op->kernel.function = wanted->function;
    op->kernel.grid = launch->grid;
    op->kernel.block = launch->block;
    op->kernel.cluster = launch->cluster;
    op->kernel.shared_size = launch->shared_size;
    op->kernel.attribute_count = launch->attribute_count;
    op->file = launch->file;
    op->line = launch->line;
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
    if (launch->label)
        op->label = strcpy(payload + layout->label, launch->label);
}

// The op has all it needs inside. These two may leave an op also when they
// fail.
static rnl_status owning_op(const struct wanted *wanted, struct op **out_op)
{
    struct layout layout = lay_out(wanted);
    struct op *op = op_create(wanted->stream, OP_KERNEL, layout.size);
    *out_op = op;
    if (!op)
        return RNL_ERROR_OUT_OF_MEMORY;
    char *payload = op->payload;
    const void **addresses = op->payload;
    set_launch(op, wanted,
               wanted->kept > OP_INLINE_KEPT ? payload + layout.kept : NULL);
    op->kernel.arguments = addresses;
    store_extras(op, &layout, wanted->launch);
    rnl_status status = find_values(op, wanted->args, addresses);
    if (status == RNL_OK)
        store_values(wanted->function, payload + layout.values, addresses);
    return status;
}

// What is the caller's stays there.
static rnl_status borrowing_op(const struct wanted *wanted,
                               struct borrowed *borrowed, struct op **out_op)
{
    size_t kept = wanted->kept > OP_INLINE_KEPT ? wanted->kept : 0;
    struct op *op =
        op_create(wanted->stream, OP_KERNEL, kept * sizeof(void *));
    *out_op = op;
    if (!op)
        return RNL_ERROR_OUT_OF_MEMORY;
    set_launch(op, wanted, kept ? op->payload : NULL);
    op->borrows = true;
    op->kernel.arguments = borrowed->values;
    op->kernel.attributes = wanted->launch->attributes;
    op->label = wanted->launch->label;
    return find_values(op, wanted->args, borrowed->values);
}

// On success, and only then, the op has the caller's reference to the function.
static rnl_status launch_op(const struct wanted *wanted,
                            struct borrowed *borrowed, struct op **out_op)
{
    bool fits = wanted->function->parameter_count <= BORROWED_MOST &&
                wanted->launch->constant_count == 0;
    struct op *op;
    rnl_status status = borrowed && fits
                            ? borrowing_op(wanted, borrowed, &op)
                            : owning_op(wanted, &op);
    if (status == RNL_OK) {
        *out_op = op;
        return RNL_OK;
    }
    if (op) {
        object_keep(&wanted->function->object);
        op_finish(op);
    }
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
static rnl_status make_ops(const struct wanted *wanted,
                           struct borrowed *borrowed, struct op **out_first)
{
    const rnl_launch *launch = wanted->launch;
    struct op *first = NULL, **last = &first;
    rnl_status status = RNL_OK;
    for (size_t i = 0; i < launch->constant_count && status == RNL_OK; i++) {
        struct op *op = NULL;
        if (launch->constants[i].size > 0 || !launch->constants[i].symbol)
            status = constant_op(wanted->stream, wanted->function,
                                 &launch->constants[i], &op);
        *last = op;
        last = op ? &op->next : last;
    }
    if (status == RNL_OK)
        status = launch_op(wanted, borrowed, last);
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

static rnl_status read_launch(struct function *function,
                              const rnl_launch *given, rnl_launch *launch)
{
    rnl_status status = check_pointer(given, "launch");
    if (status != RNL_OK)
        return status;
    if (given->struct_size == sizeof *launch)
        *launch = *given;
    else if ((status = options_read(launch, sizeof *launch, given, "launch")))
        return status;
    return check_launch(function, launch);
}

// Takes over the reference to the function on success only.
static rnl_status prepare(struct wanted *wanted, const rnl_launch *given,
                          struct borrowed *borrowed, struct op **out_first)
{
    rnl_launch launch;
    size_t buffers = 0;
    rnl_status status = read_launch(wanted->function, given, &launch);
    if (status != RNL_OK ||
        (status = check_arguments(wanted->function, wanted->args, &buffers)))
        return status;
    if (launch.constant_count > 0 && !launch.constants)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "constants",
                       "%zu constants are announced, but 'constants' is NULL",
                       launch.constant_count);
    wanted->launch = &launch;
    wanted->kept = buffers + 1;
    return make_ops(wanted, borrowed, out_first);
}

// `borrowed` NULL: the ops own all they need.
static rnl_status make(struct stream *stream, rnl_function handle,
                       const rnl_launch *launch, const rnl_args *args,
                       struct borrowed *borrowed, struct op **out_first)
{
    struct wanted wanted = {.stream = stream, .args = args};
    rnl_status status = find_function(stream, handle, &wanted.function);
    if (status != RNL_OK)
        return status;
    status = prepare(&wanted, launch, borrowed, out_first);
    if (status != RNL_OK)
        object_drop(&wanted.function->object);
    return status;
}

rnl_status make_launch_ops(struct stream *stream, rnl_function handle,
                           const rnl_launch *launch, const rnl_args *args,
                           struct op **out_first)
{
    return make(stream, handle, launch, args, NULL, out_first);
}

rnl_status rnl_enqueue_function(rnl_stream handle, rnl_function function,
                                const rnl_launch *launch, const rnl_args *args)
{
    struct stream *stream;
    struct op *first = NULL;
    struct borrowed borrowed;
    rnl_status status = ENTER();
    if (status != RNL_OK || (status = check_stream(handle, "stream", &stream)))
        return status;
    bool now = op_goes_now(stream) && stream->backend->reads_launch_at_once;
    status =
        make(stream, function, launch, args, now ? &borrowed : NULL, &first);
    if (status != RNL_OK)
        return status;
    if (now)
        status = op_submit_now(first);
    if (status == RNL_NOT_READY)  // not at once after all
        status = make(stream, function, launch, args, NULL, &first);
    else if (now)
        return status;
    return status ? status : op_submit_list(first);
}
