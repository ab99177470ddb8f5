// Retiring: whatever work of a stream uses ends once the stream is past the
// work.
//
// An entry waits in the stream's timeline, in the order of values. Any thread
// that sees the stream past the value takes the entry out. Ending an entry may
// block: in a caller's deleter, in a free by the driver, which may wait for the
// device, or for a lock. Another thread may hold the lock during a call of the
// driver.
//
// A thread that the device waits for must not block like that. So threads of
// the library leave the entry to the reaper (reaper.h).
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"

// Calls `end` once the timeline is past `value`, at once if the value is
// reached.
void timeline_retire(struct timeline *timeline, uint64_t value,
                     struct retired *entry, void (*end)(struct task *task));

// --- Operations --------------------------------------------------------------

// True if an object that the op keeps must exist until the op's work is done.
bool op_must_outlive(const struct stream *stream, const struct op *op);

// Retires an op that the driver was given. With the stream's lock held.
void op_retire_locked(struct op *op);

// An op for op_retire_locked with references to all that `op` borrows. NULL
// after recording the failure.
struct op *op_keeper(const struct op *op);

// Finishes an op.
void op_end(struct op *op);
// The same for any thread: if an object ends with the op, the reaper does that.
void op_end_aside(struct op *op);

// Drops a reference.
void stream_drop(struct stream *stream);

// Ends the stream's entries that the reaper has not come to yet. For a thread
// that waited for the stream: memory is free again, even while another caller's
// deleter blocks.
void reaper_help(struct stream *stream);
