// Retiring: what work of a stream may use ends once the stream is past it.
//
// An entry waits in the stream's timeline, in the order of values. Whoever sees
// that the stream got there takes it out. To end it may call the callers'
// deleters, take locks that others have while they ask the driver, or free by
// the driver, which may wait for the device: nobody that the device waits for
// may be held up by that. So threads of the library leave it to the reaper, one
// thread for all contexts of all vendors.
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"

// Has `end` called once the timeline is past `value`, at once if it is.
void timeline_retire(struct timeline *timeline, uint64_t value,
                     struct retired *entry, void (*end)(struct task *task));

// --- Operations --------------------------------------------------------------

// Whether something that the op keeps has to be there until its work is done.
bool op_must_outlive(const struct stream *stream, const struct op *op);

// Retires the op, which the driver was given. With the stream's lock held.
void op_retire_locked(struct op *op);

// An op for op_retire_locked that keeps what `op`, which borrows, does. NULL
// after recording the failure.
struct op *op_keeper(const struct op *op);

// Finishes an op.
void op_end(struct op *op);
// The same, by the reaper where that ends something, for any thread.
void op_end_aside(struct op *op);

// Drops a reference.
void stream_drop(struct stream *stream);

// --- The reaper --------------------------------------------------------------

// Starts it, if need be; false when there is no thread to be had.
bool reaper_start(void);

// Has it look at what may be freed by now (idle_free.c).
void reaper_wake(void);

// Has the reaper run the task, or runs it without one.
void reaper_give(struct task *task, void (*how)(struct task *task));

// A thread that waited for the stream ends what the reaper has not come to yet:
// memory is there again, even while a deleter of another caller blocks.
void reaper_help(struct stream *stream);
// Waits until the reaper has ended all it was given, or so long.
void reaper_await(uint64_t patience_ns);
