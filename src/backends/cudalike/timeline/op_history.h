// The operation history of a stream, for failures and time-outs.
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"

// The facts of an operation for a failure report. Each submission writes a
// record, so a kernel is stored as its function's handle instead of a copied
// name.
struct op_record {
    const char *file;
    int line;
    bool labelled;
    const void *function;  // a handle; NULL unless a kernel
    const char *name;      // static name unless a kernel
    char label[40];        // when `labelled`
};

struct op_history;

// Remembers an operation; its sequence is above 0. With the stream's lock held.
void op_history_put_locked(struct gpu_stream *own, const struct op *op);
// Finds the record of an operation; false if not kept any more.
bool op_history_find(const struct gpu_stream *own, uint64_t sequence,
                 struct op_record *out);
enum { OP_RECORD_NAME = 128 };
void op_history_name(const struct op_record *recent, char name[OP_RECORD_NAME]);
// Writes the number and, if known, the name and the place of submission.
void op_history_describe(const struct gpu_stream *own, uint64_t sequence,
                     char *text, size_t size);
// Records that a wait for the stream timed out, with the stream's progress.
rnl_status stream_timed_out(const struct stream *stream);
void op_history_finish(struct gpu_stream *own);

// Counts one more operation that the driver was given. With the stream's lock
// held.
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

// Notes an op that the driver is about to get. With the stream's lock held, as
// for the next function.
static inline void stream_note_submitted_locked(struct gpu_stream *own,
                                                const struct op *op)
{
    ASSERT(lock_is_held(&own->lock));
    op_history_put_locked(own, op);  // the op may end during the driver's call
    ASSERT(op->sequence > atomic_load(&timeline_of(own)->submitted));
    atomic_store_explicit(&timeline_of(own)->submitted, op->sequence,
                          memory_order_relaxed);
}

// Records a marker behind the submitted work if the progress thread asks for
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
