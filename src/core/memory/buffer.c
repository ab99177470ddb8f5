#include "core/memory/buffer.h"

#include "core/backend.h"
#include "core/memory/copy.h"
#include "core/memory/memory_pool.h"
#include "core/object/buffer_object.h"
#include "core/object/check.h"
#include "core/object/context_object.h"
#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/object/pool_state.h"
#include "core/object/release.h"
#include "core/stream/capture.h"
#include "core/stream/op.h"
#include "core/stream/release_point.h"
#include "core/stream/stream.h"
#include "core/tuning.h"

#include <string.h>

static struct object_class buffer_class;

static void run_deleter(struct buffer *buffer)
{
    const char *around = releasing_callback_begin();
    buffer->deleter(buffer->memory.device, buffer->size, buffer->user_data);
    releasing_callback_end(around);
}

static void buffer_finish(struct object *object)
{
    struct buffer *buffer = (struct buffer *)object;
    map_shadow_end(buffer);
    if (buffer->deleter)
        run_deleter(buffer);
    if (buffer->release_stream)
        object_unref(&buffer->release_stream->object);
    if (buffer->owner)
        object_unref(buffer->owner);
}

// The pool keeps a buffer with its memory.
static bool buffer_park(struct object *object)
{
    struct buffer *buffer = (struct buffer *)object;
    if (!buffer->part)
        return false;
    if (buffer->map_shadow)
        map_shadow_end(buffer);
    struct stream *stream =
        atomic_load_explicit(&buffer->release_stream, memory_order_relaxed);
    atomic_store_explicit(&buffer->release_stream, NULL, memory_order_relaxed);
    memory_pool_give(buffer, stream);
    if (stream)
        object_unref(&stream->object);
    return true;
}

static struct object_class buffer_class = {
    .kind = OBJECT_BUFFER,
    .size = sizeof(struct buffer),
    .finish = buffer_finish,
    .park = buffer_park,
};

struct buffer *buffer_new(struct context *context, rnl_memory_kind kind,
                          size_t size, const char *label)
{
    struct buffer *buffer =
        (struct buffer *)object_create(&buffer_class, context, label);
    if (!buffer)
        return NULL;
    buffer->backend = context->backend;
    buffer->kind = kind;
    buffer->size = size;
    lock_set_rank(&buffer->lock, RANK_LEAF);
    return buffer;
}

// --- Creation --------------------------------------------------------------

static rnl_status check_kind(struct context *context, rnl_memory_kind kind)
{
    if (kind == RNL_MEMORY_DEVICE)
        return RNL_OK;
    if ((unsigned)kind > MEMORY_KIND_LAST)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "options",
                       "%d is no rnl_memory_kind", (int)kind);
    return kind == RNL_MEMORY_MANAGED
               ? context_need(context, RNL_FEATURE_MANAGED_MEMORY, "options",
                              "managed memory is")
               : RNL_OK;
}

// On a stream of its own: another stream's work is nothing to wait for.
static rnl_status zero_now(struct context *context, struct buffer *buffer)
{
    rnl_stream handle;
    rnl_status status = stream_create(context, NULL, NULL, &handle);
    struct object *object =
        status ? NULL : object_find_ref(handle, OBJECT_STREAM);
    if (!object)
        return status;
    struct stream *stream = (struct stream *)object;
    status = fill_submit(stream, buffer, buffer->size);
    if (status == RNL_OK)
        status = stream_wait_done(stream, RNL_FOREVER);
    object_release(handle, OBJECT_STREAM, "stream");
    object_unref(object);
    return status;
}

static bool host_zeroes(const struct buffer *buffer)
{
    return buffer->memory.host && (buffer->kind != RNL_MEMORY_DEVICE ||
                                   buffer->size < ZEROED_BY_WORKERS);
}

// Memory that is known to be zero is left alone, which leaves its pages
// untouched. A graph reuses the memory in each launch: there the fill is always
// captured.
static rnl_status zero(struct context *context, struct stream *stream,
                       struct buffer *buffer)
{
    if (buffer->memory.zeroed && !(stream && stream_is_captured(stream)))
        return RNL_OK;
    if (stream)
        return fill_submit(stream, buffer, buffer->size);
    if (!host_zeroes(buffer))
        return zero_now(context, buffer);
    memset(buffer->memory.host, 0, buffer->size);
    return RNL_OK;
}

static void note_release(struct buffer *buffer);

static rnl_status make_shared(struct context *context, bool ordered,
                              size_t size, const rnl_buffer_options *options,
                              struct buffer **out_buffer)
{
    struct buffer *buffer;
    if (ordered)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "options",
                       "memory of an .interprocess buffer is in the order of "
                       "no stream and no graph: use rnl_buffer_create");
    rnl_status status = share_buffer_make(context, size, options, &buffer);
    if (status == RNL_OK && options->zeroed &&
        (status = zero(context, NULL, buffer)))
        object_unref(&buffer->object);
    if (status != RNL_OK)
        return status;
    buffer->element = options->element;
    *out_buffer = buffer;
    return RNL_OK;
}

static rnl_status read_options(rnl_buffer_options *options,
                               const rnl_buffer_options *given)
{
    rnl_status status =
        options_read(options, sizeof *options, given, "options");
    return status ? status : element_check(options->element, "options");
}

// Not yet published. `stream` NULL: ready at return.
static rnl_status buffer_make(struct context *context, struct stream *stream,
                              size_t size, const rnl_buffer_options *given,
                              struct buffer **out_buffer)
{
    rnl_buffer_options options = {.struct_size = sizeof options};
    rnl_status status = RNL_OK;
    if (given)  // no options are the usual case, and a fast one
        status = read_options(&options, given);
    if (status != RNL_OK || (status = check_kind(context, options.kind)))
        return status;
    if (given && options.interprocess)
        return make_shared(context, stream != NULL, size, &options, out_buffer);
    // A graph may be launched on any stream: its memory must be free for all.
    struct stream *order =
        stream && !stream_is_captured(stream) ? stream : NULL;
    struct buffer *buffer =
        size > 0 ? memory_pool_take(context, order, options.kind, size)
                 : buffer_new(context, options.kind, size, NULL);
    if (!buffer)
        return fail_status();
    buffer->element = options.element;
    if (stream)
        status = object_ref_for(&stream->object, "stream");
    if (stream && status == RNL_OK)
        atomic_store_explicit(&buffer->release_stream, stream,
                              memory_order_relaxed);
    if (status == RNL_OK && (options.label || buffer->object.label) &&
        !object_set_label(&buffer->object, options.label))
        status = fail_status();
    if (stream && status == RNL_OK)
        capture_buffer(stream, buffer, RNL_NODE_BUFFER_CREATE, &status);
    if (status == RNL_OK && options.zeroed && size > 0)
        status = zero(context, stream, buffer);
    if (status == RNL_OK) {
        *out_buffer = buffer;
        return RNL_OK;
    }
    // Work that is pending there may use the memory.
    if (order)
        note_release(buffer);
    object_unref(&buffer->object);
    return status;
}

static rnl_status buffer_create(struct context *context, struct stream *stream,
                                size_t size, const rnl_buffer_options *options,
                                rnl_buffer *out_buffer)
{
    struct buffer *buffer;
    rnl_status status = check_pointer(out_buffer, "out_buffer");
    if (status != RNL_OK ||
        (status = buffer_make(context, stream, size, options, &buffer)))
        return status;
    *out_buffer = object_publish(&buffer->object);
    return RNL_OK;
}

rnl_status make_graph_buffer(struct context *context, size_t size,
                             const rnl_buffer_options *options,
                             struct object **out_object)
{
    struct buffer *buffer;
    rnl_buffer_options read;
    rnl_status status = options_read(&read, sizeof read, options, "options");
    if (status != RNL_OK)
        return status;
    if (read.interprocess)
        return make_shared(context, true, size, &read, &buffer);
    if (read.zeroed)
        return fail_at(RNL_ERROR_UNSUPPORTED, "options",
                       "a node's buffer is not zeroed; add a FILL node");
    status = buffer_make(context, NULL, size, &read, &buffer);
    if (status == RNL_OK)
        *out_object = &buffer->object;
    return status;
}

rnl_status rnl_buffer_create(rnl_context handle, size_t size,
                             const rnl_buffer_options *options,
                             rnl_buffer *out_buffer)
{
    struct context *context;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_context(handle, "context", &context)))
        return status;
    return buffer_create(context, NULL, size, options, out_buffer);
}

// The options of a buffer of `count` elements, and the size of that.
static rnl_status read_typed(rnl_element element, size_t count,
                             const rnl_buffer_options *given,
                             rnl_buffer_options *options, size_t *out_size)
{
    rnl_status status =
        options_read(options, sizeof *options, given, "options");
    if (status != RNL_OK)
        return status;
    size_t size = rnl_element_size(element);
    if (size == 0)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "element",
                       "'element' is %d, which is not the number of a known "
                       "element: use rnl_buffer_create for bytes",
                       (int)element);
    if (options->element && options->element != element)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "options",
                       "'options.element' is %d and 'element' is %d: leave "
                       "the former zero", (int)options->element, (int)element);
    if (__builtin_mul_overflow(count, size, out_size))
        return fail_at(RNL_ERROR_OUT_OF_RANGE, "count",
                       "%zu elements of %zu bytes are more bytes than a size "
                       "can count", count, size);
    options->struct_size = sizeof *options;
    options->element = element;
    return RNL_OK;
}

rnl_status rnl_buffer_create_typed(rnl_context handle, rnl_element element,
                                   size_t count,
                                   const rnl_buffer_options *given,
                                   rnl_buffer *out_buffer)
{
    struct context *context;
    rnl_buffer_options options;
    size_t size = 0;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_context(handle, "context", &context)) ||
        (status = read_typed(element, count, given, &options, &size)))
        return status;
    return buffer_create(context, NULL, size, &options, out_buffer);
}

rnl_status rnl_enqueue_buffer_create(rnl_stream handle, size_t size,
                                     const rnl_buffer_options *options,
                                     rnl_buffer *out_buffer)
{
    struct stream *stream;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_stream(handle, "stream", &stream)) ||
        (status = stream_check_failure(stream)))
        return status;
    return buffer_create(stream_context(stream), stream, size, options,
                         out_buffer);
}

rnl_status buffer_wrap(struct context *context, void *pointer, size_t size,
                       const rnl_wrap_options *given, bool read_only,
                       rnl_buffer *out_buffer)
{
    rnl_wrap_options options;
    rnl_status status =
        options_read(&options, sizeof options, given, "options");
    if (status != RNL_OK || (status = check_kind(context, options.kind)) ||
        (status = element_check(options.element, "options")) ||
        (status = check_pointer(out_buffer, "out_buffer")))
        return status;
    if ((uintptr_t)pointer + size < (uintptr_t)pointer)
        return fail_at(RNL_ERROR_OUT_OF_RANGE, "size",
                       "%zu bytes from %p leave the address space", size,
                       pointer);
    struct buffer *buffer =
        buffer_new(context, options.kind, size, options.label);
    if (!buffer)
        return fail_status();
    bool host =
        options.kind != RNL_MEMORY_DEVICE || !context->backend->accelerator;
    buffer->memory = (struct memory){pointer, host ? pointer : NULL, 0};
    buffer->element = options.element;
    buffer->read_only = read_only;
    buffer->borrowed = !options.deleter;
    buffer->deleter = options.deleter;
    buffer->user_data = options.user_data;
    *out_buffer = object_publish(&buffer->object);
    return RNL_OK;
}

rnl_status rnl_buffer_wrap(rnl_context handle, void *pointer, size_t size,
                           const rnl_wrap_options *options,
                           rnl_buffer *out_buffer)
{
    struct context *context;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_context(handle, "context", &context)) ||
        (size > 0 && (status = check_pointer(pointer, "pointer"))))
        return status;
    return buffer_wrap(context, pointer, size, options, false, out_buffer);
}

rnl_status buffer_borrow(struct context *context, struct memory memory,
                         size_t size, struct object *owner, const char *label,
                         struct buffer **out_buffer)
{
    rnl_memory_kind kind = owner->class->kind == OBJECT_BUFFER
                               ? ((struct buffer *)owner)->kind
                               : RNL_MEMORY_DEVICE;
    rnl_status status =
        object_ref_for(owner, object_kind_name(owner->class->kind));
    if (status != RNL_OK)
        return status;
    struct buffer *buffer = buffer_new(context, kind, size, label);
    if (!buffer) {
        object_unref(owner);
        return fail_status();
    }
    buffer->owner = owner;
    buffer->memory = memory;
    buffer->borrowed = true;
    *out_buffer = buffer;
    return RNL_OK;
}

// A slice of a slice references the whole buffer, not the parent slice: a
// moving window would otherwise keep all earlier windows.
static rnl_status slice(struct buffer *parent, rnl_buffer handle, size_t offset,
                        size_t size, rnl_buffer *out_slice)
{
    struct buffer *slice;
    rnl_status status = buffer_take_range(parent, offset, &size, "size");
    if (status != RNL_OK)
        return status;
    struct memory memory = parent->memory;
    if (memory.device)
        memory.device = (char *)memory.device + offset;
    if (memory.host)
        memory.host = (char *)memory.host + offset;
    status = buffer_borrow(parent->object.context, memory, size,
                           &buffer_whole(parent)->object, parent->object.label,
                           &slice);
    if (status != RNL_OK)
        return status;
    slice->parent = handle;
    slice->element = parent->element;
    slice->read_only = parent->read_only;
    *out_slice = object_publish(&slice->object);
    return RNL_OK;
}

rnl_status rnl_buffer_slice(rnl_buffer handle, size_t offset, size_t size,
                            rnl_buffer *out_slice)
{
    rnl_status status = ENTER();
    if (status != RNL_OK || (status = check_pointer(out_slice, "out_slice")))
        return status;
    struct object *object = object_find_ref(handle, OBJECT_BUFFER);
    if (!object)
        return object_refuse(handle, OBJECT_BUFFER, "buffer");
    status = slice((struct buffer *)object, handle, offset, size, out_slice);
    object_unref(object);
    return status;
}

// --- Release ---------------------------------------------------------------

rnl_status rnl_buffer_retain(rnl_buffer buffer)
{
    rnl_status status = ENTER();
    return status ? status : object_retain(buffer, OBJECT_BUFFER, "buffer");
}

// How far its release stream is. A slice's release counts for the whole.
static void note_release(struct buffer *buffer)
{
    buffer = buffer_whole(buffer);
    struct stream *stream = release_stream_of(buffer);
    set_release_point(buffer, stream_point(stream));
}

// Noted after the caller's last reference is gone, not before: so the point
// counts ops that other threads enqueued before their releases, and a surplus
// release does not change the next buffer in this memory.
static inline uint64_t take_and_note(struct object *object, rnl_buffer handle)
{
    uint64_t counts = object_take_user(object, handle, 0);
    if (counts_users(counts) == 1)
        note_release((struct buffer *)object);
    return counts;
}

rnl_status rnl_buffer_release(rnl_buffer handle)
{
    rnl_status status = ENTER_RELEASE();
    if (status != RNL_OK || !handle)
        return status;
    struct object *object = object_find(handle, OBJECT_BUFFER);
    uint64_t counts = object ? take_and_note(object, handle) : 0;
    if (counts == 0)
        return object_refuse(handle, OBJECT_BUFFER, "buffer");
    if (counts_users(counts) == 1)
        object_finish_release(object, counts);
    return RNL_OK;
}

// The op references the buffer, so the caller can have the handle back after a
// refusal. A backend may be done with the op when it returns.
static rnl_status submit_release(struct op *op, struct object *buffer,
                                 rnl_buffer handle)
{
    op->kept[op->kept_count++] = buffer;
    uint64_t counts = take_and_note(buffer, handle);
    if (counts == 0) {
        op_finish(op);
        return object_refuse(handle, OBJECT_BUFFER, "buffer");
    }
    bool last = counts_users(counts) == 1;
    rnl_status status = op_submit(op);
    if (status != RNL_OK)
        object_undo_take_user(buffer, handle, last);
    else if (last)
        object_finish_release(buffer, counts);
    return status;
}

rnl_status rnl_enqueue_buffer_release(rnl_stream stream_handle,
                                      rnl_buffer handle)
{
    struct stream *stream;
    CALL status = ENTER();
    if (status != RNL_OK || !handle ||
        (status = check_stream(stream_handle, "stream", &stream)))
        return status;
    struct object *buffer = object_find_ref(handle, OBJECT_BUFFER);
    if (!buffer)
        return object_refuse(handle, OBJECT_BUFFER, "buffer");
    if (capture_buffer(stream, (struct buffer *)buffer, RNL_NODE_BUFFER_RELEASE,
                       &status)) {
        object_unref(buffer);
        return status ? status
                      : object_release(handle, OBJECT_BUFFER, "buffer");
    }
    struct op *op = op_create(stream, OP_RELEASE, 0);
    if (!op) {
        object_unref(buffer);
        return RNL_ERROR_OUT_OF_MEMORY;
    }
    return submit_release(op, buffer, handle);
}

// Whether references exist besides the users' and this call's: a submitting
// thread has a reference until `enqueued` counts the work. Slices have one,
// too.
static bool has_other_references(const struct buffer *buffer)
{
    uint64_t counts = atomic_load(&buffer->object.counts);
    return counts_references(counts) > 1u + (counts_users(counts) > 0);
}

static bool may_be_in_use(const struct buffer *buffer,
                          const struct stream *stream)
{
    return has_other_references(buffer) ||
           (stream->completed &&
            atomic_load(stream->completed) < atomic_load(&stream->enqueued));
}

// Work on the old stream may still use the memory, and the backend may have
// given up its reference, because the memory was to be freed after that work.
static rnl_status hold_for_work(struct buffer *buffer, struct stream *old)
{
    rnl_status status = stream_flush(old);
    if (status != RNL_OK || !may_be_in_use(buffer, old))
        return status;
    struct op *op = op_create(old, OP_RELEASE, 0);
    if (!op)
        return RNL_ERROR_OUT_OF_MEMORY;
    object_ref(&buffer->object);
    op->kept[op->kept_count++] = &buffer->object;
    status = old->backend->stream_submit(old, op);
    if (status != RNL_OK)
        op_finish(op);
    return status;
}

static rnl_status set_release_stream(struct buffer *buffer,
                                     struct stream *stream)
{
    rnl_status status;
    if (stream_context(stream) != buffer->object.context)
        return fail_at(RNL_ERROR_INVALID_HANDLE, "stream",
                       "'stream' belongs to another context than the buffer");
    if (buffer->deleter)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "buffer",
                       "memory that is wrapped or shared with processes goes "
                       "back once no work uses it, in the order of no "
                       "stream");
    if ((status = object_ref_for(&stream->object, "stream")))
        return status;
    // The point belongs to the old stream; points of the new stream come later.
    uint64_t point = atomic_exchange(&buffer->release_point, 0);
    struct stream *old = atomic_exchange(&buffer->release_stream, stream);
    struct stream *before = old ? old : buffer->object.context->default_stream;
    if (!old && !default_stream_keep(buffer->object.context))
        return RNL_OK;
    status = hold_for_work(buffer, before);
    if (status != RNL_OK) {
        // Work of the old stream may still use the buffer, so the old stream
        // stays.
        stream = atomic_exchange(&buffer->release_stream, old);
        set_release_point(buffer, point);
        object_unref(&stream->object);
    }
    if (status == RNL_OK || !old)
        object_unref(&before->object);
    return status;
}

rnl_status rnl_buffer_set_release_stream(rnl_buffer handle,
                                         rnl_stream stream_handle)
{
    struct stream *stream;
    CALL status = ENTER();
    if (status != RNL_OK)
        return status;
    struct object *buffer = object_find_ref(handle, OBJECT_BUFFER);
    if (!buffer)
        return object_refuse(handle, OBJECT_BUFFER, "buffer");
    status = check_stream(stream_handle, "stream", &stream);
    if (status == RNL_OK)
        status =
            set_release_stream(buffer_whole((struct buffer *)buffer), stream);
    object_unref(buffer);
    return status;
}

// --- Facts -----------------------------------------------------------------

static void describe_buffer(struct buffer *buffer, rnl_buffer_info *info)
{
    struct buffer *whole = buffer_whole(buffer);
    lock_take(&whole->lock);
    rnl_attach_mode attach_mode = whole->attach_mode;
    lock_give(&whole->lock);
    bool parent_lives = object_find(buffer->parent, OBJECT_BUFFER) != NULL;
    *info = (rnl_buffer_info){
        .id = buffer->object.id,
        .context = object_handle(&buffer->object.context->object),
        .kind = buffer->kind,
        .size = buffer->size,
        .device_address = buffer->memory.device,
        .host_pointer = buffer->memory.host,
        .borrowed = buffer->borrowed && !buffer->parent,
        .parent = parent_lives ? buffer->parent : NULL,
        .label = buffer->object.label ? buffer->object.label : "",
        .attach_mode = attach_mode,
        .element = buffer->element,
    };
}

// The buffer is referenced meanwhile: all fields must be of the same buffer.
rnl_status rnl_buffer_get_info(rnl_buffer handle, rnl_buffer_info *out_info)
{
    rnl_status status = ENTER();
    if (status != RNL_OK)
        return status;
    struct object *object = object_find_ref(handle, OBJECT_BUFFER);
    if (!object)
        return object_refuse(handle, OBJECT_BUFFER, "buffer");
    rnl_buffer_info info;
    describe_buffer((struct buffer *)object, &info);
    object_unref(object);
    return info_write(out_info, &info, sizeof info, "out_info");
}

rnl_status rnl_buffer_host_pointer(rnl_buffer handle, void **out_pointer)
{
    rnl_status status = ENTER();
    if (status != RNL_OK ||
        (status = check_pointer(out_pointer, "out_pointer")))
        return status;
    struct object *object = object_find_ref(handle, OBJECT_BUFFER);
    if (!object)
        return object_refuse(handle, OBJECT_BUFFER, "buffer");
    const struct buffer *buffer = (const struct buffer *)object;
    if (!buffer->memory.host && buffer->size > 0)
        status = fail_at(RNL_ERROR_UNSUPPORTED, "buffer",
                         "the host cannot reach this memory; map the buffer");
    else
        *out_pointer = buffer->memory.host;
    object_unref(object);
    return status;
}
