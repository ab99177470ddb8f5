// Hints about managed memory.

#include "core/backend.h"
#include "core/object/buffer_object.h"
#include "core/object/check.h"
#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/stream/op.h"
#include "core/stream/stream.h"

static rnl_status check_managed(const struct buffer *buffer)
{
    if (buffer->kind == RNL_MEMORY_MANAGED)
        return RNL_OK;
    return fail_at(RNL_ERROR_INVALID_ARGUMENT, "buffer",
                   "'buffer' is not of RNL_MEMORY_MANAGED");
}

static rnl_status check_same_context(const struct stream *stream,
                                     const struct buffer *buffer)
{
    if (stream_context(stream) == buffer->object.context)
        return RNL_OK;
    return fail_at(RNL_ERROR_INVALID_HANDLE, "buffer",
                   "'buffer' belongs to another context than the stream");
}

// On success the buffer is kept.
static rnl_status find_both(rnl_stream stream_handle, rnl_buffer handle,
                            struct stream **out_stream,
                            struct buffer **out_buffer)
{
    rnl_status status = check_stream(stream_handle, "stream", out_stream);
    if (status != RNL_OK)
        return status;
    struct object *object = object_find_ref(handle, OBJECT_BUFFER);
    if (!object)
        return object_refuse(handle, OBJECT_BUFFER, "buffer");
    *out_buffer = (struct buffer *)object;
    if ((status = check_same_context(*out_stream, *out_buffer)) ||
        (status = check_managed(*out_buffer)) ||
        (status = stream_check_failure(*out_stream)))
        object_unref(object);
    return status;
}

// The op takes over the reference to the buffer.
static rnl_status submit_hint(struct stream *stream, enum op_kind kind,
                              struct buffer *buffer, struct op_hint hint)
{
    struct op *op = op_create(stream, kind, 0);
    if (!op) {
        object_unref(&buffer->object);
        return RNL_ERROR_OUT_OF_MEMORY;
    }
    op->hint = hint;
    op->kept[op->kept_count++] = &buffer->object;
    return op_submit(op);
}

// Advice to the driver stays with the memory, so no other buffer reuses the
// memory.
static void note_hint(struct buffer *whole)
{
    if (!whole->backend->memory_advise)
        return;
    lock_take(&whole->lock);
    whole->spent = true;
    lock_give(&whole->lock);
}

rnl_status rnl_enqueue_prefetch(rnl_stream stream_handle, rnl_buffer handle,
                                size_t offset, size_t size,
                                rnl_memory_target target)
{
    struct stream *stream;
    struct buffer *buffer;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = find_both(stream_handle, handle, &stream, &buffer)))
        return status;
    if (target != RNL_MEMORY_TO_DEVICE && target != RNL_MEMORY_TO_HOST)
        status = fail_at(RNL_ERROR_INVALID_ARGUMENT, "target",
                         "%d is no rnl_memory_target", (int)target);
    else
        status = buffer_take_range(buffer, offset, &size, "size");
    if (status != RNL_OK || size == 0) {
        object_unref(&buffer->object);
        return status;
    }
    return submit_hint(stream, OP_PREFETCH, buffer,
                       (struct op_hint){
                           .address = (char *)buffer->memory.device + offset,
                           .size = size, .what = (int)target});
}

rnl_status rnl_enqueue_attach(rnl_stream stream_handle, rnl_buffer handle,
                              rnl_attach_mode mode)
{
    struct stream *stream;
    struct buffer *buffer;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = find_both(stream_handle, handle, &stream, &buffer)))
        return status;
    if (mode < RNL_ATTACH_GLOBAL || mode > RNL_ATTACH_SINGLE) {
        object_unref(&buffer->object);
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "mode",
                       "%d is no rnl_attach_mode", (int)mode);
    }
    struct buffer *whole = buffer_whole(buffer);
    if (whole->size > 0) {
        object_ref(&buffer->object);
        status = submit_hint(stream, OP_ATTACH, buffer,
                             (struct op_hint){.address = whole->memory.device,
                                              .what = (int)mode});
    }
    if (status == RNL_OK) {
        lock_take(&whole->lock);
        whole->attach_mode = mode;
        lock_give(&whole->lock);
        note_hint(whole);
    }
    object_unref(&buffer->object);
    return status;
}

static rnl_status advise_buffer(struct buffer *buffer, size_t offset,
                                size_t size, rnl_memory_advice advice)
{
    rnl_status status = check_managed(buffer);
    if (status != RNL_OK ||
        (status = buffer_take_range(buffer, offset, &size, "size")))
        return status;
    if (advice < RNL_ADVICE_NONE || advice > RNL_ADVICE_USED_BY_HOST)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "advice",
                       "%d is no rnl_memory_advice", (int)advice);
    if (size == 0 || !buffer->backend->memory_advise)
        return RNL_OK;
    note_hint(buffer_whole(buffer));
    return buffer->backend->memory_advise(
        buffer->object.context, (char *)buffer->memory.device + offset, size,
        advice);
}

rnl_status rnl_buffer_advise(rnl_buffer handle, size_t offset, size_t size,
                             rnl_memory_advice advice)
{
    rnl_status status = ENTER();
    if (status != RNL_OK)
        return status;
    struct object *object = object_find_ref(handle, OBJECT_BUFFER);
    if (!object)
        return object_refuse(handle, OBJECT_BUFFER, "buffer");
    status = advise_buffer((struct buffer *)object, offset, size, advice);
    object_unref(object);
    return status;
}
