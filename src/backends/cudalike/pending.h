// What the driver was given, and what is kept until it is done.
#pragma once

#include "backends/cudalike/cudalike.h"

// Whether something that the op keeps has to be there until its work is done.
bool op_must_outlive(const struct stream *stream, const struct op *op);

// Keeps the op until the stream is past it.
void stream_pend(struct gpu_stream *own, struct op *op);

// An op for stream_pend that keeps what `op`, which borrows, does. NULL after
// recording the failure.
struct op *op_keeper(const struct op *op);

// The driver is about to be given the op. With the stream's lock held, as is
// the next.
static inline void stream_note_given_locked(struct gpu_stream *own,
                                            const struct op *op)
{
    recent_put_locked(own, op);  // it may be over before this call is
    atomic_store_explicit(&timeline_of(own)->submitted, op->sequence,
                          memory_order_relaxed);
}

// Behind what was given: leaves a marker if the service asks for one.
void stream_mark_wanted_locked(struct stream *stream);

static inline void stream_mark_locked(struct stream *stream)
{
    const struct gpu_stream *own = gpu_stream_of(stream);
    if (__builtin_expect(atomic_load_explicit(&own->mark_wanted,
                                              memory_order_relaxed), 0))
        stream_mark_wanted_locked(stream);
}
