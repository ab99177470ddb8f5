// How far streams are, and behind which of their operations a buffer is free.
#include "core/stream/release_point.h"

#include "core/object/buffer_object.h"
#include "core/stream/op.h"
#include "core/stream/stream.h"

// Ops of a batch come before the point, too.
uint64_t stream_point(const struct stream *stream)
{
    uint64_t point = atomic_load_explicit(&stream->batch_count,
                                          memory_order_acquire);
    return point + atomic_load_explicit(&stream->enqueued,
                                        memory_order_relaxed);
}

// A point may count ops of a batch that were submitted or refused meanwhile:
// with an empty batch, no more ops than `enqueued` can come before the point.
bool stream_has_passed(const struct stream *stream, uint64_t point)
{
    const _Atomic uint64_t *completed =
        atomic_load_explicit(&stream->completed, memory_order_relaxed);
    if (!completed)
        return true;
    if (atomic_load_explicit(&stream->batch_count, memory_order_acquire) == 0) {
        uint64_t submitted = atomic_load_explicit(&stream->enqueued,
                                                  memory_order_acquire);
        point = point < submitted ? point : submitted;
    }
    return atomic_load_explicit(completed, memory_order_acquire) >= point;
}

void buffer_note_last_op(struct buffer *buffer, const struct op *op)
{
    buffer = buffer_whole(buffer);
    if (op->stream == release_stream_of(buffer))
        set_release_point(buffer, op->sequence);
}
