// The host's queue of a stream: host functions, copies of ordinary memory,
// records of shared events, and waits that the driver does not make.
//
// The queue counts its operations from 1 and, like a timeline, has points that
// only grow: `submitted`, and `completed` in the words. The stream announces by
// `reached` that it got to an operation, and the driver may wait until `done`
// says that the host has done it.
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"

// The device reads and writes `reached` and `done`, in page-locked memory, at
// the same address as the host. The words count on from owner to owner: a write
// of the last owner's may be under way.
struct host_words {
    _Atomic uint32_t *reached, *done;
    _Atomic uint32_t completed;  // equals `done`, in ordinary memory
    uint32_t last;               // `reached` once all writes are over
    struct host_words *next;     // in the list of those not in use
};

// Appends an op to the queue; work that is submitted later waits for it. 0 or
// the driver's code; on 0 the queue owns the op. With the stream's lock held
// and its context current.
int host_queue_submit_locked(struct stream *stream, struct op *op);

// The same for a host function whose announcement the driver refused: it is
// called when the ones before it are done.
void host_queue_submit_refused_locked(struct stream *stream, struct op *op);

// Whether the host has something left to do, for which the driver does not
// wait. With the stream's lock held.
bool host_queue_is_busy_locked(struct stream *stream);

// Has the driver's stream wait for all of the queue. With the stream's lock
// held and its context current.
void host_queue_await_locked(struct stream *stream);

// Starts the operations that the stream has reached, in order. True if there
// was one. `asks`: whether the driver may be asked. By the progress thread.
bool host_queue_run(struct stream *stream, bool asks);

// The oldest operation if its turn has come, taken out; NULL: none. It may be
// put back if it cannot be started yet. By the progress thread; others take
// only copies.
struct op *host_queue_take(struct stream *stream, bool only_copies);
void host_queue_put_back(struct stream *stream, struct op *op);

// Whether an operation waits to be started.
bool host_queue_has_work(struct stream *stream);

// An operation is done: lets the stream on. A failure, which is recorded for
// this thread, becomes the stream's.
void host_queue_complete(struct stream *stream, struct op *op,
                         rnl_status status);

// Does the next operation if it is a copy. For a thread that waits for the
// stream: to wake the progress thread takes longer than a small copy.
void host_queue_help(struct stream *stream);

// The status that a host function of the stream's operation gets now.
rnl_status host_function_status(struct stream *stream, uint64_t sequence);

// Calls a host function, on a thread for them if there is one. Ends in
// host_queue_complete.
void host_function_start(struct op *op);

// The stream's next host function if its turn has come, for the thread that has
// called the one before. NULL: that thread calls no more.
struct op *host_queue_next_function(struct stream *stream);

// `last`: the last number that the device was told to write.
void host_words_drop(struct gpu_context *gpu, struct host_words *words,
                     uint32_t last);
void host_words_finish(struct gpu_context *gpu);
