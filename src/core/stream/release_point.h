// How far streams are, and behind which of their operations a buffer is free.
#pragma once

#include "core/object/buffer_object.h"
#include "core/object/release.h"
#include "core/stream/op.h"
#include "core/stream/stream.h"

// The number that the stream's completed count reaches once all present work is
// done, and whether the count has reached a number.
uint64_t stream_point(const struct stream *stream);
bool stream_has_passed(const struct stream *stream, uint64_t point);

// Memory that is freed in the order of this very stream can be given up as soon
// as the work is submitted: the next user of the memory comes later.
static inline bool buffer_is_ordered_by(const struct buffer *buffer,
                                    const struct stream *stream)
{
    if (buffer->kind != RNL_MEMORY_DEVICE || buffer->owner ||
        buffer->deleter)
        return false;
    struct stream *release = atomic_load(&buffer->release_stream);
    return release ? release == stream
                   : stream->is_default && buffer->object.context ==
                                               stream_context(stream);
}

// Notes that the buffer's memory is free after `op` at the earliest, if the op
// is on the buffer's release stream.
void buffer_note_last_op(struct buffer *buffer, const struct op *op);

// Where slices may be released, too, the latest of all counts.
static inline void set_release_point(struct buffer *buffer, uint64_t point)
{
    uint64_t before = 0;
    if (object_references(&buffer->object) == 0) {
        atomic_store_explicit(&buffer->release_point, point,
                              memory_order_relaxed);
        return;
    }
    while (before < point && !atomic_compare_exchange_weak_explicit(
                                 &buffer->release_point, &before, point,
                                 memory_order_relaxed, memory_order_relaxed))
        ;
}

static inline struct stream *release_stream_of(const struct buffer *buffer)
{
    struct stream *stream =
        atomic_load_explicit(&buffer->release_stream, memory_order_relaxed);
    return __builtin_expect(stream != NULL, 0)
               ? stream
               : atomic_load_explicit(&buffer->object.context->default_stream,
                                      memory_order_relaxed);
}
