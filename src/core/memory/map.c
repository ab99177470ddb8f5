// Host views of buffers. If the host cannot reach a buffer's memory, the buffer
// has a host copy, its shadow, while mapped.
#include "core/backend.h"
#include "core/memory/buffer.h"
#include "core/memory/copy.h"
#include "core/memory/memory_pool.h"
#include "core/object/buffer_object.h"
#include "core/object/check.h"
#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/object/pool_state.h"
#include "core/stream/capture.h"
#include "core/stream/stream.h"

void map_shadow_end(struct buffer *buffer)
{
    if (buffer->map_shadow)
        buffer->backend->memory_free(
            buffer->object.context, RNL_MEMORY_HOST,
            (struct memory){buffer->map_shadow, buffer->map_shadow, 0},
            buffer->size);
    buffer->map_shadow = NULL;
}

static rnl_status copy_shadow(struct stream *stream, struct buffer *buffer,
                              bool to_device)
{
    void *device = buffer->memory.device, *shadow = buffer->map_shadow;
    rnl_status status = copy_submit(stream, to_device ? device : shadow,
                                    to_device ? shadow : device, buffer->size);
    return status ? status : stream_wait_done(stream, RNL_FOREVER);
}

static rnl_status shadow_begin(struct stream *stream, struct buffer *buffer)
{
    struct memory memory;
    rnl_status status = memory_pool_allocate(
        buffer->object.context, RNL_MEMORY_HOST, buffer->size, &memory);
    if (status != RNL_OK)
        return status;
    buffer->map_shadow = memory.host;
    return buffer->map_mode == RNL_MAP_WRITE
               ? RNL_OK
               : copy_shadow(stream, buffer, false);
}

// False when it is in another state than `from`.
static bool change_state(struct buffer *buffer, enum map_state from,
                         enum map_state to)
{
    lock_take(&buffer->lock);
    bool was = buffer->map_state == from;
    if (was)
        buffer->map_state = to;
    lock_give(&buffer->lock);
    return was;
}

// On success both are kept.
static rnl_status find_map(rnl_stream stream_handle, rnl_buffer handle,
                           struct stream **out_stream,
                           struct buffer **out_buffer)
{
    struct object *stream = object_find_ref(stream_handle, OBJECT_STREAM);
    if (!stream)
        return object_refuse(stream_handle, OBJECT_STREAM, "stream");
    struct object *buffer = object_find_ref(handle, OBJECT_BUFFER);
    rnl_status status = RNL_OK;
    if (!buffer)
        status = object_refuse(handle, OBJECT_BUFFER, "buffer");
    else if ((status = capture_check_stream((struct stream *)stream)))
        ;
    else if (stream->context != buffer->context)
        status = fail_at(RNL_ERROR_INVALID_HANDLE, "buffer",
                         "'buffer' belongs to another context than the stream");
    *out_stream = (struct stream *)stream;
    *out_buffer = (struct buffer *)buffer;
    if (status == RNL_OK)
        return RNL_OK;
    object_unref(stream);
    if (buffer)
        object_unref(buffer);
    return status;
}

static void drop_map(struct stream *stream, struct buffer *buffer)
{
    object_unref(&stream->object);
    object_unref(&buffer->object);
}

static rnl_status map(struct stream *stream, struct buffer *buffer,
                      rnl_map_mode mode, void **out_pointer)
{
    if (!change_state(buffer, MAP_NONE, MAP_CHANGES))
        return fail_at(RNL_ERROR_INVALID_STATE, "buffer",
                       "the buffer is already mapped");
    buffer->map_mode = mode;
    rnl_status status = stream_wait_done(stream, RNL_FOREVER);
    if (status == RNL_OK && !buffer->memory.host && buffer->size > 0)
        status = shadow_begin(stream, buffer);
    if (status != RNL_OK) {
        map_shadow_end(buffer);
        change_state(buffer, MAP_CHANGES, MAP_NONE);
        return status;
    }
    *out_pointer =
        buffer->map_shadow ? buffer->map_shadow : buffer->memory.host;
    change_state(buffer, MAP_CHANGES, MAP_DONE);
    return RNL_OK;
}

static rnl_status unmap(struct stream *stream, struct buffer *buffer)
{
    if (!change_state(buffer, MAP_DONE, MAP_CHANGES))
        return fail_at(RNL_ERROR_INVALID_STATE, "buffer",
                       "the buffer is not mapped");
    rnl_status status = RNL_OK;
    if (buffer->map_shadow && buffer->map_mode != RNL_MAP_READ)
        status = copy_shadow(stream, buffer, true);
    map_shadow_end(buffer);
    change_state(buffer, MAP_CHANGES, MAP_NONE);
    return status ? status : stream_wait_done(stream, RNL_FOREVER);
}

rnl_status rnl_buffer_map_and_wait(rnl_stream stream_handle, rnl_buffer handle,
                                   rnl_map_mode mode, void **out_pointer)
{
    struct stream *stream;
    struct buffer *buffer;
    rnl_status status = ENTER();
    if (status != RNL_OK ||
        (status = find_map(stream_handle, handle, &stream, &buffer)))
        return status;
    if (mode < RNL_MAP_READ_WRITE || mode > RNL_MAP_WRITE)
        status = fail_at(RNL_ERROR_INVALID_ARGUMENT, "mode",
                         "%d is no rnl_map_mode", (int)mode);
    else if ((status = check_pointer(out_pointer, "out_pointer")) == RNL_OK)
        status = map(stream, buffer, mode, out_pointer);
    drop_map(stream, buffer);
    return status;
}

rnl_status rnl_buffer_unmap_and_wait(rnl_stream stream_handle,
                                     rnl_buffer handle)
{
    struct stream *stream;
    struct buffer *buffer;
    rnl_status status = ENTER();
    if (status != RNL_OK ||
        (status = find_map(stream_handle, handle, &stream, &buffer)))
        return status;
    status = unmap(stream, buffer);
    drop_map(stream, buffer);
    return status;
}
