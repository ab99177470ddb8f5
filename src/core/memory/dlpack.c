// Buffers of DLPack's tensors, and tensors of buffers.
#include "core/backend.h"
#include "core/memory/buffer.h"
#include "core/memory/dlpack_abi.h"
#include "core/object/buffer_object.h"
#include "core/object/check.h"
#include "core/object/context_object.h"
#include "core/object/object.h"
#include "core/object/release.h"

#include <runnel/dlpack.h>
#include <string.h>
#include <unistd.h>

#define AXES_MOST 64

// --- Elements --------------------------------------------------------------

static const struct {
    uint8_t code, bits;
} types[] = {
    [RNL_ELEMENT_INT8] = {DLPACK_INT, 8},
    [RNL_ELEMENT_UINT8] = {DLPACK_UINT, 8},
    [RNL_ELEMENT_INT16] = {DLPACK_INT, 16},
    [RNL_ELEMENT_UINT16] = {DLPACK_UINT, 16},
    [RNL_ELEMENT_INT32] = {DLPACK_INT, 32},
    [RNL_ELEMENT_UINT32] = {DLPACK_UINT, 32},
    [RNL_ELEMENT_INT64] = {DLPACK_INT, 64},
    [RNL_ELEMENT_UINT64] = {DLPACK_UINT, 64},
    [RNL_ELEMENT_FLOAT16] = {DLPACK_FLOAT, 16},
    [RNL_ELEMENT_BFLOAT16] = {DLPACK_BFLOAT, 16},
    [RNL_ELEMENT_FLOAT32] = {DLPACK_FLOAT, 32},
    [RNL_ELEMENT_FLOAT64] = {DLPACK_FLOAT, 64},
};

static rnl_element element_of(const struct dlpack_type *type)
{
    if (type->code == DLPACK_BOOL && type->bits == 8)
        return RNL_ELEMENT_UINT8;
    for (int i = RNL_ELEMENT_INT8; i <= RNL_ELEMENT_FLOAT64; i++)
        if (types[i].code == type->code && types[i].bits == type->bits)
            return (rnl_element)i;
    return RNL_ELEMENT_UNKNOWN;
}

// --- Checks of tensors -----------------------------------------------------

static rnl_status refuse_device(const struct context *context,
                                const struct dlpack_tensor *tensor)
{
    if (tensor->device_type == DLPACK_CPU)
        return fail_at(RNL_ERROR_UNSUPPORTED, "tensor",
                       "the tensor lies in ordinary host memory, which kernels "
                       "of a %s context do not reach: copy it into a buffer",
                       context->backend->api);
    return fail_at(RNL_ERROR_UNSUPPORTED, "tensor",
                   "the tensor lies on device %d of DLPack's type %d, which "
                   "kernels of %s:%u do not reach: copy it there first",
                   (int)tensor->device_id, (int)tensor->device_type,
                   context->backend->api, context->device->index);
}

// The kind of memory that the tensor's is for the context.
static rnl_status check_place(const struct context *context,
                              const struct dlpack_tensor *tensor,
                              rnl_memory_kind *out_kind)
{
    bool cpu = !context->backend->accelerator;
    bool hip = strcmp(context->backend->api, "hip") == 0;
    int type = tensor->device_type;
    bool here = (uint32_t)tensor->device_id == context->device->index;
    *out_kind = RNL_MEMORY_DEVICE;
    if (cpu && (type == DLPACK_CPU || type == DLPACK_CUDA_HOST ||
                type == DLPACK_ROCM_HOST || type == DLPACK_CUDA_MANAGED))
        return RNL_OK;
    if (!cpu && here && type == (hip ? DLPACK_ROCM : DLPACK_CUDA))
        return RNL_OK;
    *out_kind = RNL_MEMORY_HOST;
    if (!cpu && type == (hip ? DLPACK_ROCM_HOST : DLPACK_CUDA_HOST))
        return RNL_OK;
    *out_kind = RNL_MEMORY_MANAGED;
    if (!cpu && !hip && type == DLPACK_CUDA_MANAGED)
        return RNL_OK;
    return refuse_device(context, tensor);
}

static rnl_status refuse_size(size_t axis_count)
{
    return fail_at(RNL_ERROR_OUT_OF_RANGE, "tensor",
                   "the tensor's %zu axes make more bytes than there are "
                   "addresses",
                   axis_count);
}

// The elements of a checked shape; a zero makes the whole zero.
static rnl_status count_elements(const int64_t *shape, size_t axis_count,
                                 const char *parameter, size_t *out_count)
{
    size_t count = 1;
    bool empty = false, overflow = false;
    for (size_t i = 0; i < axis_count; i++) {
        if (shape[i] < 0)
            return fail_at(RNL_ERROR_INVALID_ARGUMENT, parameter,
                           "axis %zu has a length of %lld", i,
                           (long long)shape[i]);
        empty |= shape[i] == 0;
        if (shape[i] > 0)
            overflow |=
                __builtin_mul_overflow(count, (uint64_t)shape[i], &count);
    }
    *out_count = empty ? 0 : count;
    return empty || !overflow ? RNL_OK : refuse_size(axis_count);
}

// The count is known to be of addresses.
static rnl_status check_strides(const struct dlpack_tensor *tensor)
{
    int64_t packed = 1;
    if (!tensor->strides)
        return RNL_OK;
    for (int32_t i = tensor->axis_count; i-- > 0;) {
        if (tensor->shape[i] != 1 && tensor->strides[i] != packed)
            return fail_at(RNL_ERROR_INVALID_ARGUMENT, "tensor",
                           "axis %d of the tensor has a stride of %lld "
                           "elements, where packed rows have %lld: make the "
                           "tensor contiguous first",
                           (int)i, (long long)tensor->strides[i],
                           (long long)packed);
        packed *= tensor->shape[i];
    }
    return RNL_OK;
}

// Numbers are aligned as in C, complex numbers like their parts.
static rnl_status check_alignment(const void *data, unsigned bits,
                                  const char *parameter)
{
    unsigned size = bits / 8, alignment = size & -size;
    if (alignment > 8)
        alignment = 8;
    return (uintptr_t)data % alignment == 0
               ? RNL_OK
               : fail_at(RNL_ERROR_INVALID_ARGUMENT, parameter,
                         "elements of %u bytes begin at %p, which is no "
                         "multiple of %u: copy them to one that is",
                         size, data, alignment);
}

static rnl_status check_type(const struct dlpack_type *type,
                             size_t *out_element_size)
{
    size_t bits = (size_t)type->bits * type->lanes;
    *out_element_size = bits / 8;
    return bits > 0 && bits % 8 == 0 && type->bits % 8 == 0
               ? RNL_OK
               : fail_at(RNL_ERROR_UNSUPPORTED, "tensor",
                         "the tensor's elements have %u lanes of %u bits, "
                         "which are no whole bytes",
                         type->lanes, type->bits);
}

static rnl_status check_shape(const struct dlpack_tensor *tensor,
                              size_t *out_size)
{
    size_t element_size = 0, count = 0;
    if (tensor->axis_count < 0 || (tensor->axis_count > 0 && !tensor->shape))
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "tensor",
                       "the tensor has %d axes and %s", (int)tensor->axis_count,
                       tensor->shape ? "a shape" : "no shape");
    rnl_status status = check_type(&tensor->type, &element_size);
    if (status == RNL_OK)
        status = count_elements(tensor->shape, (size_t)tensor->axis_count,
                                "tensor", &count);
    if (status != RNL_OK)
        return status;
    if (__builtin_mul_overflow(count, element_size, out_size) ||
        *out_size > PTRDIFF_MAX)
        return refuse_size((size_t)tensor->axis_count);
    return count > 0 ? check_strides(tensor) : RNL_OK;
}

static rnl_status check_version(const struct DLManagedTensorVersioned *tensor)
{
    return tensor->major == DLPACK_MAJOR
               ? RNL_OK
               : fail_at(RNL_ERROR_UNSUPPORTED, "tensor",
                         "the tensor is of DLPack %u.%u, and Runnel knows "
                         "version %u: ask the producer for that",
                         tensor->major, tensor->minor, DLPACK_MAJOR);
}

static rnl_status check_writable(const struct DLManagedTensorVersioned *tensor,
                                 const rnl_dlpack_import *options)
{
    return options->read_only || !(tensor->flags & DLPACK_READ_ONLY)
               ? RNL_OK
               : fail_at(RNL_ERROR_INVALID_ARGUMENT, "tensor",
                         "the tensor is read-only: set 'read_only' of the "
                         "options if nothing will write to the buffer, or copy "
                         "it");
}

// --- From tensors ----------------------------------------------------------

static void end_tensor(void *pointer, size_t size, void *user_data)
{
    struct DLManagedTensorVersioned *tensor = user_data;
    (void)pointer, (void)size;
    tensor->deleter(tensor);
}

static rnl_status import(struct context *context,
                         struct DLManagedTensorVersioned *managed,
                         const rnl_dlpack_import *given, rnl_buffer *out_buffer)
{
    const struct dlpack_tensor *tensor = &managed->tensor;
    rnl_dlpack_import options;
    rnl_wrap_options wrap = {.struct_size = sizeof wrap};
    size_t size = 0;
    rnl_status status =
        options_read(&options, sizeof options, given, "options");
    if (status == RNL_OK)
        status = check_version(managed);
    if (status == RNL_OK)
        status = check_writable(managed, &options);
    if (status == RNL_OK)
        status = check_place(context, tensor, &wrap.kind);
    if (status == RNL_OK)
        status = check_shape(tensor, &size);
    if (status != RNL_OK)
        return status;
    if (!tensor->data && size > 0)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "tensor",
                       "the tensor has %zu bytes, and no memory", size);
    wrap.deleter = managed->deleter ? end_tensor : NULL;
    wrap.user_data = managed;
    wrap.label = options.label;
    wrap.element = element_of(&tensor->type);
    char *data = tensor->data;
    if (data)
        data += tensor->byte_offset;
    status = check_alignment(data, tensor->type.bits, "tensor");
    return status == RNL_OK ? buffer_wrap(context, data, size, &wrap,
                                          options.read_only, out_buffer)
                            : status;
}

rnl_status rnl_buffer_from_dlpack(rnl_context handle,
                                  struct DLManagedTensorVersioned *tensor,
                                  const rnl_dlpack_import *options,
                                  rnl_buffer *out_buffer)
{
    struct context *context;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_context(handle, "context", &context)) ||
        (status = check_pointer(tensor, "tensor")) ||
        (status = check_pointer(out_buffer, "out_buffer")))
        return status;
    return import(context, tensor, options, out_buffer);
}

// --- To tensors ------------------------------------------------------------

struct exported {
    struct DLManagedTensorVersioned managed;
    struct buffer *buffer;  // referenced
    pid_t process;          // in a child of it the buffer is the parent's
    size_t room;
    int64_t axes[];  // the shape, then the strides
};

// May be called on any thread, and inside callbacks.
static void end_exported(struct DLManagedTensorVersioned *managed)
{
    struct exported *exported = (struct exported *)managed;
    if (exported->process != getpid())
        return;
    struct buffer *buffer = exported->buffer;
    mem_release(exported, exported->room);
    object_unref(&buffer->object);
}

static int32_t device_type_of(const struct buffer *buffer)
{
    const struct backend *backend = buffer->backend;
    bool hip = strcmp(backend->api, "hip") == 0;
    if (!backend->accelerator)
        return DLPACK_CPU;
    if (buffer->kind == RNL_MEMORY_HOST)
        return hip ? DLPACK_ROCM_HOST : DLPACK_CUDA_HOST;
    if (hip)
        return DLPACK_ROCM;
    return buffer->kind == RNL_MEMORY_MANAGED ? DLPACK_CUDA_MANAGED
                                              : DLPACK_CUDA;
}

// Options with the defaults filled in.
struct tensor_shape {
    rnl_element element;
    const int64_t *shape;
    size_t axis_count;
    int64_t whole;  // the shape where none is given
};

static rnl_status check_bytes(const struct buffer *buffer,
                              const struct tensor_shape *asked)
{
    size_t count = 0, size = 0;
    size_t element_size = rnl_element_size(asked->element);
    rnl_status status = count_elements(asked->shape, asked->axis_count,
                                       "options.shape", &count);
    if (status != RNL_OK)
        return status;
    return !__builtin_mul_overflow(count, element_size, &size) &&
                   size <= buffer->size
               ? RNL_OK
               : fail_at(RNL_ERROR_OUT_OF_RANGE, "options.shape",
                         "the shape has %zu elements of %zu bytes, and the "
                         "buffer %zu bytes",
                         count, element_size, buffer->size);
}

static rnl_status read_asked(const struct buffer *buffer,
                             const rnl_dlpack_export *options,
                             struct tensor_shape *asked)
{
    rnl_status status = element_check(options->element, "options");
    if (status != RNL_OK)
        return status;
    asked->element = options->element ? options->element : buffer->element;
    if (asked->element == RNL_ELEMENT_UNKNOWN)
        asked->element = RNL_ELEMENT_UINT8;
    asked->whole = (int64_t)(buffer->size / rnl_element_size(asked->element));
    asked->shape = options->shape ? options->shape : &asked->whole;
    asked->axis_count = options->shape ? options->axis_count : 1;
    if (!options->shape && options->axis_count > 0)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "options.shape",
                       "'shape' is NULL though 'axis_count' is %zu",
                       options->axis_count);
    if (asked->axis_count > AXES_MOST)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "options.axis_count",
                       "%zu axes are asked for where at most %d are possible",
                       asked->axis_count, AXES_MOST);
    status = check_bytes(buffer, asked);
    return status == RNL_OK
               ? check_alignment(buffer->memory.device,
                                 types[asked->element].bits, "options.element")
               : status;
}

static void fill_tensor(struct exported *exported,
                        const struct tensor_shape *asked)
{
    struct buffer *buffer = exported->buffer;
    struct dlpack_tensor *tensor = &exported->managed.tensor;
    size_t count = asked->axis_count;
    const bool accelerator = buffer->backend->accelerator;
    *tensor = (struct dlpack_tensor){
        .data = buffer->memory.device,
        .device_type = device_type_of(buffer),
        .device_id =
            accelerator ? (int32_t)buffer->object.context->device->index : 0,
        .axis_count = (int32_t)count,
        .type = {types[asked->element].code, types[asked->element].bits, 1},
        .shape = exported->axes,
        .strides = exported->axes + count,
    };
    bool empty = false;
    for (size_t i = 0; i < count; i++)
        empty |= asked->shape[i] == 0;
    // Lengths beside a 0 may have a product without bounds.
    int64_t packed = 1;
    for (size_t i = count; i-- > 0;) {
        tensor->shape[i] = asked->shape[i];
        tensor->strides[i] = packed;
        packed *= empty ? 1 : asked->shape[i];
    }
}

static rnl_status export(struct buffer *buffer, const rnl_dlpack_export *given,
                         struct DLManagedTensorVersioned **out_tensor)
{
    rnl_dlpack_export options;
    struct tensor_shape asked;
    rnl_status status =
        options_read(&options, sizeof options, given, "options");
    if (status == RNL_OK)
        status = read_asked(buffer, &options, &asked);
    if (status != RNL_OK)
        return status;
    size_t room =
        sizeof(struct exported) + 2 * asked.axis_count * sizeof(int64_t);
    struct exported *exported = mem_allocate(room);
    if (!exported)
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory for a tensor of %zu axes",
                    asked.axis_count);
    exported->managed = (struct DLManagedTensorVersioned){
        .major = DLPACK_MAJOR,
        .minor = DLPACK_MINOR,
        .deleter = end_exported,
        .flags =
            options.read_only || buffer->read_only ? DLPACK_READ_ONLY : 0,
    };
    exported->buffer = buffer;
    exported->process = getpid();
    exported->room = room;
    fill_tensor(exported, &asked);
    *out_tensor = &exported->managed;
    return RNL_OK;
}

// On success the tensor has the reference.
rnl_status rnl_buffer_to_dlpack(rnl_buffer handle,
                                const rnl_dlpack_export *options,
                                struct DLManagedTensorVersioned **out_tensor)
{
    rnl_status status = ENTER();
    if (status != RNL_OK || (status = check_pointer(out_tensor, "out_tensor")))
        return status;
    struct object *object = object_find_ref(handle, OBJECT_BUFFER);
    if (!object)
        return object_refuse(handle, OBJECT_BUFFER, "buffer");
    status = export((struct buffer *)object, options, out_tensor);
    if (status != RNL_OK)
        object_unref(object);
    return status;
}
