// The host queue of a stream: host functions, copies of ordinary memory,
// records of shared events, and waits that the driver does not make.
//
// The queue counts its operations from 1 and, like a timeline, has points that
// only grow: `submitted`, and `completed` in the words. The stream announces by
// `reached` that an operation is due. The driver may wait until `done` has the
// operation's number, which the host then stores.
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"

// The device reads and writes `reached` and `done`, in page-locked memory, at
// the same address as the host. The next owner of the words counts on from the
// last owner's values, because a write of the last owner may be under way.
struct host_words {
    _Atomic uint32_t *reached, *done;
    _Atomic uint32_t completed;  // equals `done`, in ordinary memory
    uint32_t last;               // `reached` once all writes are over
    struct host_words *next;     // in the list of free words
};

// Appends an op to the queue; work that is submitted later waits for the op.
// Returns 0 or the driver's code; on 0 the queue owns the op. With the stream's
// lock held and its context current.
int host_queue_submit_locked(struct stream *stream, struct op *op);

// The same for a host function whose announcement the driver refused: the
// function is called once the operations before have ended.
void host_queue_submit_refused_locked(struct stream *stream, struct op *op);

// True if the host has operations left for which the driver does not wait. With
// the stream's lock held.
bool host_queue_is_busy_locked(struct stream *stream);

// Has the driver's stream wait for all of the queue. Returns 0, or the driver's
// code: then the host still has operations that the driver does not wait for.
// With the stream's lock held and its context current.
int host_queue_await_locked(struct stream *stream);

// Starts the operations that the stream has reached, in order. True if at least
// one was started. `asks`: whether the driver may be asked. Called by the
// progress thread.
bool host_queue_run(struct stream *stream, bool asks);

// Takes the oldest operation out of the queue if the operation is due; NULL:
// none is. The caller may put the operation back if the start has to be
// delayed. The progress thread takes any operation, all remaining threads only
// copies.
struct op *host_queue_take(struct stream *stream, bool only_copies);
void host_queue_put_back(struct stream *stream, struct op *op);

// True if an operation waits to be started.
bool host_queue_has_work(struct stream *stream);

// Ends an operation and lets the stream continue. If `status` is a failure,
// recorded for this thread, the stream fails with the same failure.
void host_queue_complete(struct stream *stream, struct op *op,
                         rnl_status status);

// Does the next operation if the operation is a copy. For a thread that waits
// for the stream: waking the progress thread takes longer than a small copy.
void host_queue_help(struct stream *stream);

// The status that a host function of the stream's operation gets now.
rnl_status host_function_status(struct stream *stream, uint64_t sequence);

// Calls a host function, on a thread of the library if one can be had. Ends in
// host_queue_complete.
void host_function_start(struct op *op);

// The stream's next host function if it is due, for the thread that called the
// previous one. NULL: that thread stops calling.
struct op *host_queue_next_function(struct stream *stream);

// `last`: the last number that the device was told to write.
void host_words_drop(struct gpu_context *gpu, struct host_words *words,
                     uint32_t last);
void host_words_finish(struct gpu_context *gpu);
