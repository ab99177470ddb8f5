// The last operations of a stream, for failures and time-outs.
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"

// What a failure report says of an operation. Written for each, so no text is
// copied without need: a kernel is known by its function's handle.
struct op_record {
    const char *file;
    int line;
    bool labelled;
    const void *function;  // a handle; NULL for what is no kernel …
    const char *name;      // … and has a static name
    char label[40];        // when `labelled`
};

struct op_history;

// Remembers an operation; its sequence is above 0. With the stream's lock held.
void op_history_put_locked(struct gpu_stream *own, const struct op *op);
// What is known about it; false when it is too long ago.
bool op_history_find(const struct gpu_stream *own, uint64_t sequence,
                 struct op_record *out);
enum { OP_RECORD_NAME = 128 };
void op_history_name(const struct op_record *recent, char name[OP_RECORD_NAME]);
// Its number, and what it is and where it was submitted, if that is known.
void op_history_describe(const struct gpu_stream *own, uint64_t sequence,
                     char *text, size_t size);
// Records that a wait for it took too long, with how far it is.
rnl_status stream_timed_out(const struct stream *stream);
void op_history_finish(struct gpu_stream *own);

// The driver was given one more operation. With the stream's lock held.
static inline void stream_count_locked(struct stream *stream)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    uint64_t number =
        atomic_load_explicit(&stream->enqueued, memory_order_relaxed) + 1;
    struct gpu_stream *own = gpu_stream_of(stream);
    ASSERT(number > atomic_load(&timeline_of(own)->submitted));
    atomic_store_explicit(&timeline_of(own)->submitted, number,
                          memory_order_relaxed);
    atomic_store_explicit(&stream->enqueued, number, memory_order_release);
}

// The driver is about to be given the op. With the stream's lock held, as is
// the next.
static inline void stream_note_submitted_locked(struct gpu_stream *own,
                                                const struct op *op)
{
    ASSERT(lock_is_held(&own->lock));
    op_history_put_locked(own, op);  // it may be over before this call is
    ASSERT(op->sequence > atomic_load(&timeline_of(own)->submitted));
    atomic_store_explicit(&timeline_of(own)->submitted, op->sequence,
                          memory_order_relaxed);
}

// Behind what was submitted: leaves a marker if the progress thread asks for
// one.
void stream_mark_wanted_locked(struct stream *stream);

static inline void stream_mark_locked(struct stream *stream)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    const struct gpu_stream *own = gpu_stream_of(stream);
    if (__builtin_expect(atomic_load_explicit(&own->mark_wanted,
                                              memory_order_relaxed), 0))
        stream_mark_wanted_locked(stream);
}
