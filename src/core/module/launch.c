#include "core/module/launch.h"

#include "core/memory/copy.h"
#include "core/module/function.h"
#include "core/object/buffer_object.h"
#include "core/object/check.h"
#include "core/object/context_object.h"
#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/stream/capture.h"
#include "core/stream/op.h"
#include "core/stream/stream.h"

#include <string.h>

// For functions of every launch, to save the calls.
#define ALWAYS_INLINE inline __attribute__((always_inline))

// --- Shape -----------------------------------------------------------------

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
    // In one: each is as good as never too large, and a jump is not free.
    bool fits = (dim->x - 1 < most->x) & (dim->y <= most->y) &
                (dim->z <= most->z);
    return __builtin_expect(fits, 1) ? RNL_OK : refuse_dim(dim, most, name);
}

__attribute__((cold)) static rnl_status
refuse_threads(const struct function *function, uint64_t threads)
{
    uint32_t own = function->info.max_block_threads;
    uint32_t most = function->most_threads;
    return fail_at(RNL_ERROR_INVALID_ARGUMENT, "block",
                   "a block of %llu threads is beyond the limit of %u%s%s",
                   (unsigned long long)threads, most,
                   most == own ? " of " : "",
                   most == own ? function->name : "");
}

static rnl_status check_threads(const struct function *function,
                                const rnl_dim3 *block)
{
    uint64_t threads = (uint64_t)block->x * block->y * block->z;
    return threads <= function->most_threads
               ? RNL_OK
               : refuse_threads(function, threads);
}

__attribute__((cold)) static rnl_status
refuse_shared(struct function *function, size_t dynamic)
{
    uint64_t most =
        function->object.context->device->info.shared_per_block_max;
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

static rnl_status check_shared(struct function *function, size_t dynamic)
{
    uint64_t most =
        function->object.context->device->info.shared_per_block_max;
    return function->info.shared_size <= most &&
                   dynamic <= atomic_load(&function->shared_most)
               ? RNL_OK
               : refuse_shared(function, dynamic);
}

// Whether the launch has none of what most launches are without.
static inline bool is_plain(const struct function *function,
                            const rnl_launch *launch)
{
    const rnl_dim3 *cluster = &launch->cluster;
    size_t most = atomic_load_explicit(&function->shared_most,
                                       memory_order_relaxed);
    return function->is_usual && launch->shared_size <= most &&
           ((cluster->x | cluster->y | cluster->z) == 0) &
               ((launch->attribute_count | launch->constant_count) == 0);
}

// Checks the launch and makes all of `kernel` but its arguments, cluster and
// attributes.
static ALWAYS_INLINE rnl_status
read_shape(struct function *function, const rnl_launch *launch,
           struct op_kernel *kernel)
{
    kernel->function = function;
    kernel->grid = dim_with_axes(&launch->grid);
    kernel->block = dim_with_axes(&launch->block);
    kernel->cluster = (rnl_dim3){1, 1, 1};
    kernel->shared_size = launch->shared_size;
    kernel->attributes = NULL;
    kernel->attribute_count = 0;
    rnl_status status = RNL_OK;
    if (__builtin_expect(launch->threads != 0, 0))
        status = launch_take_threads(launch, kernel);
    if (status != RNL_OK ||
        (status = check_dim(&kernel->grid, &function->most_grid, "grid")) ||
        (status = check_dim(&kernel->block, &function->most_block, "block")) ||
        (status = check_threads(function, &kernel->block)))
        return status;
    return RNL_OK;
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

__attribute__((cold)) static rnl_status
refuse_count(const struct function *function, const rnl_args *args,
             size_t count)
{
    if (args && args->struct_size < sizeof *args)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "args",
                       "'args' has a struct_size of %zu, not %zu",
                       args->struct_size, sizeof *args);
    if (count != function->parameter_count)
        return fail_at(RNL_ERROR_ARGUMENT_MISMATCH, "args",
                       "%s takes %zu arguments, but %zu were given",
                       function->name, function->parameter_count, count);
    return fail_at(RNL_ERROR_INVALID_ARGUMENT, "args",
                   "%zu arguments are announced, but 'items' is NULL", count);
}

static inline rnl_status check_count(const struct function *function,
                                     const rnl_args *args)
{
    size_t count = args ? args->count : 0;
    bool good = count == function->parameter_count &&
                (!args || (args->struct_size >= sizeof *args &&
                           (args->items || count == 0)));
    return __builtin_expect(good, 1) ? RNL_OK
                                     : refuse_count(function, args, count);
}

// Keeps the buffer for the op and gives where its address is.
static rnl_status take_buffer(struct op *op, size_t index, rnl_buffer handle,
                              const void **out_value)
{
    struct object *object = object_find_ref(handle, OBJECT_BUFFER);
    if (!object)
        return object_refuse(handle, OBJECT_BUFFER, "args");
    op->kept[op->kept_count++] = object;
    struct context *context = stream_context(op->stream);
    if (!context_may_use(context, object->context))
        return fail_at(RNL_ERROR_INVALID_HANDLE, "args",
                       "an argument is a buffer of another context, to which "
                       "the stream's has no peer access: see "
                       "rnl_context_enable_peer");
    const struct buffer *buffer = (struct buffer *)object;
    *out_value = &buffer->memory.device;
    return __builtin_expect(buffer->element != RNL_ELEMENT_UNKNOWN, 0)
               ? element_compare(op->kernel.function, index, buffer)
               : RNL_OK;
}

// Anything but a plain value that fits.
static __attribute__((noinline)) rnl_status
find_value(struct op *op, const struct packed_parameter *place,
           const rnl_arg *arg, const void **out_value)
{
    const struct function *function = op->kernel.function;
    size_t index = (size_t)(place - function->packed_parameters);
    if (!argument_fits(arg, &function->parameters[index]))
        return mismatch(function, index, arg);
    if (arg->kind == RNL_ARG_BUFFER)
        return take_buffer(op, index, arg->value.buffer, out_value);
    bool is_struct = arg->kind == RNL_VALUE_STRUCT;
    if (is_struct && !arg->value.pointer)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "args",
                       "argument %zu of %s is a struct at NULL", index + 1,
                       function->name);
    *out_value = is_struct ? arg->value.pointer : &arg->value;
    return RNL_OK;
}

#define PACKED_BEHIND sizeof ((rnl_arg *)NULL)->value

// Copies the value to its offset in `values`, with the bytes behind, or, if
// `values` is NULL, stores its address; 0 if a plain parameter takes the value.
static ALWAYS_INLINE uint64_t take_value(const struct packed_parameter *place,
                                         const rnl_arg *arg, char *values,
                                         const void **addresses, size_t i)
{
    if (values)
        memcpy(values + place[i].offset, &arg[i].value, sizeof arg[i].value);
    else
        addresses[i] = &arg[i].value;
    return value_shape(arg[i].kind, arg[i].size) ^ place[i].shape;
}

// Checks the arguments, whose number is right, and copies their values. A copy
// may write past its value into the next one's place; PACKED_BEHIND follows the
// last. If `values` is NULL, stores the addresses of the values in the caller's
// memory or in a referenced buffer.
static ALWAYS_INLINE rnl_status take_values(struct op *op, const rnl_args *args,
                                            char *values,
                                            const void **addresses)
{
    const struct function *function = op->kernel.function;
    size_t count = function->parameter_count, i = 0;
    if (count == 0)
        return RNL_OK;
    const struct packed_parameter *place = function->packed_parameters;
    const rnl_arg *arg = args->items;
    // As long as they are as usual, four at a time.
    for (; count - i >= 4 && function->takes_plain; i += 4)
        if (take_value(place, arg, values, addresses, i) |
            take_value(place, arg, values, addresses, i + 1) |
            take_value(place, arg, values, addresses, i + 2) |
            take_value(place, arg, values, addresses, i + 3))
            break;
    for (; i < count; i++) {
        const void *found;
        take_value(place, arg, values, addresses, i);
        if (__builtin_expect(
                packed_parameter_fits(&place[i], arg[i].kind, arg[i].size), 1))
            continue;
        rnl_status status = find_value(op, &place[i], &arg[i], &found);
        if (status != RNL_OK)
            return status;
        if (!values)
            addresses[i] = found;
        else if (arg[i].kind == RNL_ARG_BUFFER)
            memcpy(values + place[i].offset, found, sizeof(void *));
        else
            memcpy(values + place[i].offset, found, arg[i].size);
    }
    return RNL_OK;
}

// --- The launch ------------------------------------------------------------

// A launch to be made; the shape is checked, the arguments are not.
struct wanted {
    struct stream *stream;
    struct function *function;
    const rnl_launch *launch;
    const rnl_args *args;
    enum launch_way way;
    const struct op_kernel *kernel;  // without arguments
    struct launch_extras *extras;    // of attributes; NULL: it has none
    size_t kept;                     // objects: the function and buffers
};

// Where everything of a launch lies in its op's payload.
struct argument_layout {
    size_t values;      // after their addresses
    size_t kept;
    size_t attributes;
    size_t label;
    size_t size;
};

static struct argument_layout lay_out(const struct wanted *wanted)
{
    const struct function *function = wanted->function;
    const rnl_launch *launch = wanted->launch;
    struct argument_layout layout;
    layout.values = mem_align_up(function->parameter_count * sizeof(void *),
                                 function->values_alignment);
    // References in the op make room here for the bytes behind the values.
    size_t behind = wanted->kept > OP_INLINE_KEPT ? PACKED_BEHIND : 0;
    layout.kept = mem_align_up(layout.values + function->values_size + behind,
                               sizeof(void *));
    layout.attributes = layout.kept + wanted->kept * sizeof(void *);
    layout.label =
        layout.attributes + wanted->kernel->attribute_count *
                                sizeof *wanted->kernel->attributes;
    layout.size =
        layout.label + (launch->label ? strlen(launch->label) + 1 : 0);
    return layout;
}

// The references of attributes become the op's.
static void store_extras(struct op *op, const struct argument_layout *layout,
                         const rnl_launch *launch, struct launch_extras *extras)
{
    char *payload = op->payload;
    if (op->kernel.attribute_count > 0)
        memcpy(payload + layout->attributes, op->kernel.attributes,
               op->kernel.attribute_count * sizeof *op->kernel.attributes);
    op->kernel.attributes =
        (const rnl_launch_attribute *)(payload + layout->attributes);
    while (extras && extras->kept_count > 0)
        op->kept[op->kept_count++] = extras->kept[--extras->kept_count];
    op->file = launch->file;
    op->line = launch->line;
    if (launch->label)
        op->label = strcpy(payload + layout->label, launch->label);
}

// On success, and only then, the op has the caller's reference to the function.
static rnl_status launch_op(const struct wanted *wanted, struct op **out_op)
{
    struct argument_layout layout = lay_out(wanted);
    struct op *op = op_create(wanted->stream, OP_KERNEL, layout.size);
    if (!op)
        return RNL_ERROR_OUT_OF_MEMORY;
    char *payload = op->payload, *values = payload + layout.values;
    const void **addresses = op->payload;
    if (wanted->kept > OP_INLINE_KEPT)
        op->kept = (struct object **)(payload + layout.kept);
    op->kept[op->kept_count++] = &wanted->function->object;
    op->kernel = *wanted->kernel;
    op->kernel.arguments = addresses;
    op->kernel.packed = wanted->function->packs ? values : NULL;
    store_extras(op, &layout, wanted->launch, wanted->extras);
    rnl_status status = take_values(op, wanted->args, values, NULL);
    if (status != RNL_OK) {
        object_ref(&wanted->function->object);
        op_finish(op);
        return status;
    }
    for (size_t i = 0; i < wanted->function->parameter_count; i++)
        addresses[i] = values + wanted->function->packed_parameters[i].offset;
    *out_op = op;
    return RNL_OK;
}

// The ops of all constants, then the launch, as a list.
static rnl_status make_ops(const struct wanted *wanted, struct op **out_first)
{
    const rnl_launch *launch = wanted->launch;
    struct op *first = NULL, **last = &first;
    rnl_status status = RNL_OK;
    for (size_t i = 0; i < launch->constant_count && status == RNL_OK; i++) {
        struct op *op = NULL;
        if (launch->constants[i].size > 0 || !launch->constants[i].symbol)
            status = make_constant_op(wanted->stream, wanted->function,
                                      &launch->constants[i], &op);
        *last = op;
        last = op ? &op->next : last;
    }
    if (status == RNL_OK)
        status = launch_op(wanted, last);
    if (status != RNL_OK)
        op_finish_list(first);
    else
        *out_first = first;
    return status;
}

__attribute__((cold)) static rnl_status
refuse_home(const struct function *function)
{
    return fail_at(RNL_ERROR_INVALID_HANDLE, "function",
                   "'%s' belongs to another context than the stream",
                   function->name);
}

static inline rnl_status check_home(struct stream *stream,
                                    const struct function *function)
{
    return __builtin_expect(function->object.context == stream_context(stream),
                            1)
               ? stream_check_failure(stream)
               : refuse_home(function);
}

// `*launch` is what was given, or, of another version, `room`.
static inline rnl_status read_launch(const rnl_launch **launch,
                                     rnl_launch *room)
{
    const rnl_launch *given = *launch;
    if (__builtin_expect(given && given->struct_size == sizeof *given, 1))
        return RNL_OK;
    *launch = room;
    rnl_status status = check_pointer(given, "launch");
    return status ? status : options_read(room, sizeof *room, given, "launch");
}

// Fills in `kernel` except for the arguments, whose number is checked, the
// cluster and the attributes.
static ALWAYS_INLINE rnl_status
check_launch(struct stream *stream, struct function *function,
             const rnl_launch **launch, rnl_launch *room, const rnl_args *args,
             struct op_kernel *kernel)
{
    rnl_status status = check_home(stream, function);
    if (status != RNL_OK || (status = read_launch(launch, room)) ||
        (status = read_shape(function, *launch, kernel)))
        return status;
    return check_count(function, args);
}

// The rest. Only where the kernel has `attributes` then, `extras` may keep
// things.
__attribute__((cold)) static rnl_status
read_extras(struct op_kernel *kernel, const rnl_launch *launch,
            enum launch_way way, struct launch_extras *extras)
{
    rnl_status status = check_shared(kernel->function, launch->shared_size);
    return status ? status : launch_read_extras(kernel, launch, way, extras);
}

static ALWAYS_INLINE rnl_status read_rest(struct op_kernel *kernel,
                                          const rnl_launch *launch,
                                          enum launch_way way,
                                          struct launch_extras *extras)
{
    return __builtin_expect(is_plain(kernel->function, launch), 1)
               ? RNL_OK
               : read_extras(kernel, launch, way, extras);
}

static size_t count_buffers(const rnl_args *args)
{
    size_t buffers = 0;
    for (size_t i = 0; args && i < args->count; i++)
        buffers += args->items[i].kind == RNL_ARG_BUFFER;
    return buffers;
}

// Takes over the reference to the function on success only.
static ALWAYS_INLINE rnl_status prepare(struct wanted *wanted,
                                        struct op **out_first)
{
    rnl_launch room;
    struct op_kernel kernel;
    struct launch_extras extras;
    rnl_status status =
        check_launch(wanted->stream, wanted->function, &wanted->launch, &room,
                     wanted->args, &kernel);
    if (status == RNL_OK)
        status = read_rest(&kernel, wanted->launch, wanted->way, &extras);
    if (status != RNL_OK)
        return status;
    wanted->kernel = &kernel;
    wanted->kept = count_buffers(wanted->args) + 1;
    if (__builtin_expect(kernel.attributes != NULL, 0)) {
        wanted->extras = &extras;
        wanted->kept += extras.kept_count;
    }
    status = make_ops(wanted, out_first);
    if (__builtin_expect(wanted->extras != NULL, 0))
        launch_extras_drop(&extras);  // what the op did not take
    return status;
}

// All of the above is inlined into this one function.
static __attribute__((noinline)) rnl_status
make_launch(struct stream *stream, rnl_function handle,
            const rnl_launch *launch, const rnl_args *args,
            enum launch_way way, struct op **out_first)
{
    struct object *object = object_find_ref(handle, OBJECT_FUNCTION);
    if (!object)
        return object_refuse(handle, OBJECT_FUNCTION, "function");
    struct wanted wanted = {.stream = stream,
                            .function = (struct function *)object,
                            .launch = launch,
                            .args = args,
                            .way = way};
    rnl_status status = prepare(&wanted, out_first);
    if (status != RNL_OK)
        object_unref(object);
    return status;
}

rnl_status make_launch_ops(struct stream *stream, rnl_function handle,
                           const rnl_launch *launch, const rnl_args *args,
                           struct op **out_first)
{
    return make_launch(stream, handle, launch, args, LAUNCH_AS_NODE,
                       out_first);
}

// The end of the call.
static rnl_status launch_as_ops(struct stream *stream, rnl_function function,
                                const rnl_launch *launch, const rnl_args *args)
{
    struct op *first = NULL;
    rnl_status status =
        make_launch(stream, function, launch, args, LAUNCH_AS_OPS, &first);
    if (status == RNL_OK)
        status = __builtin_expect(first->next || first->kernel.attribute_count,
                                  0)
                     ? launch_submit_extras(stream, first)
                     : op_submit_list(first);
    object_unprotect(HAZARD_STREAM);
    return status;
}

// --- Inline launches -------------------------------------------------------

#define INLINE_ARGUMENTS 128  // arguments

// A launch that ends with the call. All referenced objects are the caller's;
// only buffers are referenced by the op.
struct inline_launch {
    struct op op;
    union {
        const void *values[INLINE_ARGUMENTS];  // where they are
        char packed[PACKED_MOST + PACKED_BEHIND];
    };
    struct object *kept[INLINE_ARGUMENTS];
    struct launch_extras extras;
};

// As read_extras. What an op would have to keep, a launch that borrows cannot.
static enum launch_result read_inline_extras(struct op_kernel *kernel,
                                             const rnl_launch *launch,
                                             struct launch_extras *extras)
{
    if (read_extras(kernel, launch, LAUNCH_INLINE, extras) != RNL_OK)
        return LAUNCH_FAILED;
    if (extras->kept_count == 0)
        return LAUNCH_DONE;
    launch_extras_drop(extras);
    return LAUNCH_NEEDS_OP;
}

static inline enum launch_result
launch_guarded(struct inline_launch *inline_launch, struct function *function,
               const rnl_launch *launch, const rnl_args *args)
{
    struct op *op = &inline_launch->op;
    struct stream *stream = op->stream;
    rnl_launch room;
    enum launch_result read = LAUNCH_DONE;
    rnl_status status =
        check_launch(stream, function, &launch, &room, args, &op->kernel);
    if (status != RNL_OK)
        return LAUNCH_FAILED;
    if (__builtin_expect(!is_plain(function, launch), 0))
        read = read_inline_extras(&op->kernel, launch, &inline_launch->extras);
    if (__builtin_expect(read != LAUNCH_DONE, 0))
        return read;
    if (__builtin_expect((function->parameter_count > INLINE_ARGUMENTS) |
                             (launch->constant_count > 0), 0))
        return LAUNCH_NEEDS_OP;
    op->label = launch->label;
    op->file = launch->file;
    op->line = launch->line;
    if (__builtin_expect(function->packs, 0)) {
        op->kernel.arguments = NULL;
        op->kernel.packed = inline_launch->packed;
        status = take_values(op, args, inline_launch->packed, NULL);
    } else {
        op->kernel.arguments = inline_launch->values;
        op->kernel.packed = NULL;
        status = take_values(op, args, NULL, inline_launch->values);
    }
    return status ? LAUNCH_FAILED : stream->inline_launch(stream, op);
}

static __attribute__((noinline)) rnl_status refuse_dead(rnl_function handle)
{
    CALL status = object_refuse(handle, OBJECT_FUNCTION, "function");
    return status;
}

// The stream is protected until the end, like the function.
static HOT rnl_status
inline_launch(struct stream *stream, rnl_function handle,
              const rnl_launch *launch, const rnl_args *args)
{
    struct inline_launch inline_launch;
    struct op *op = &inline_launch.op;
    struct object *object =
        object_set_hazard(handle, OBJECT_FUNCTION, HAZARD_CODE);
    if (__builtin_expect(!object, 0))
        return refuse_dead(handle);
    op->next = NULL;
    op->stream = stream;
    op->kind = OP_KERNEL;
    op->borrows = true;
    op->kept = inline_launch.kept;
    op->kept_count = 0;
    enum launch_result result =
        launch_guarded(&inline_launch, (struct function *)object, launch, args);
    object_clear_hazard(HAZARD_CODE);
    if (__builtin_expect(result != LAUNCH_DONE, 0))
        op->sequence = 0;  // none of the stream's
    for (size_t i = 0; i < op->kept_count; i++)
        op_unref(op, op->kept[i]);
    if (__builtin_expect(result == LAUNCH_NEEDS_OP, 0))
        return launch_as_ops(stream, handle, launch, args);
    object_unprotect(HAZARD_STREAM);
    return __builtin_expect(result == LAUNCH_DONE, 1) ? RNL_OK : fail_status();
}

// A thread's first call, a callback's, one that holds, or of a dead stream.
static __attribute__((noinline)) rnl_status
launch_slowly(rnl_stream handle, rnl_function function,
              const rnl_launch *launch, const rnl_args *args)
{
    struct stream *stream;
    CALL status = enter_call("rnl_enqueue_function");
    if (status != RNL_OK || (status = check_stream(handle, "stream", &stream)))
        return status;
    return launch_as_ops(stream, function, launch, args);
}

// Programs launch all the time, so the usual case needs no frame.
HOT rnl_status
rnl_enqueue_function(rnl_stream handle, rnl_function function,
                     const rnl_launch *launch, const rnl_args *args)
{
    if (__builtin_expect(thread_state.callback_depth || !thread_has_hazards(),
                         0))
        return launch_slowly(handle, function, launch, args);
    thread_state.function = __func__;
    struct stream *stream = (struct stream *)object_set_hazard(
        handle, OBJECT_STREAM, HAZARD_STREAM);
    if (__builtin_expect(!stream, 0))
        return launch_slowly(handle, function, launch, args);
    bool at_once = stream->inline_launch && !stream_is_captured(stream);
    return __builtin_expect(at_once, 1)
               ? inline_launch(stream, function, launch, args)
               : launch_as_ops(stream, function, launch, args);
}
