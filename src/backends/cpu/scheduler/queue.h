// The queue of a stream's ops, and the running of an op.
//
// A pool of workers per context runs the streams. The owner of a queue (a
// worker, or the thread that waits for the stream) takes ops off the head. A
// large op becomes a parallel_for, and further threads join to run its blocks.
#pragma once

#include "backends/cpu/kernel/stop.h"
#include "core/stream/failure.h"
#include "core/stream/op.h"

struct pool;

// Kernels are compiled apart, so MemorySanitizer does not see their writes. The
// backend reports the buffers of an op as written after each kernel.
#define MSAN_NOTES_WRITES 0
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#undef MSAN_NOTES_WRITES
#define MSAN_NOTES_WRITES 1
#endif
#endif

enum queue_state {
    QUEUE_IDLE,     // empty
    QUEUE_READY,    // in the pool's ready list
    QUEUE_RUNNING,  // some thread owns it
    QUEUE_BLOCKED,  // its head waits for another stream, a promise or a value
};

// Fields are grouped by writer: submitting threads, the owner, and rare
// writers; each group has its own cache lines.
struct queue {
    struct lock lock;  // guards the group
    enum queue_state state;
    struct stream *stream;
    struct op *head, *tail;    // submitted, not yet taken by an owner
    uint32_t untaken;          // how many those are
    struct queue *previous, *next;  // ready list; guarded by the pool's lock
    bool listed;

    _Alignas(64) struct op *batch;  // the owner's: taken, the first is running
    _Atomic uint64_t completed;     // number of the last op done
    _Atomic uint64_t cancelled;     // ops up to this number are to end

    // Waiters and sleepers are guarded by the lock. `attention` counts both, so
    // that completing an op need not look while nobody waits.
    _Alignas(64) _Atomic uint32_t attention;
    _Atomic uint32_t signal;   // futex of sleepers
    uint32_t sleepers;
    struct op *waiters, *last_waiter;  // WAIT ops of other streams, by target
    struct stream *blocked_on; // kept by the WAIT op that is first in `batch`
    uint64_t failed_at;        // the op that failed first; 0: none
    struct failure_history history;
    _Atomic bool needs_worker; // only a worker can run what comes first
    bool poked;                // unblocked while it was running
    struct plan *plan;         // that is first in `batch` and has been begun
    struct parallel_for *shared;     // its own, if any
    struct stop_request stop;  // stops its kernels while cancelled
};

// The target of a WAIT op, in op->backend. A listed wait belongs to the thread
// that takes the wait off the list.
struct wait {
    struct stream *_Atomic target;  // kept by the op; NULL: a record to come
    uint64_t sequence;      // of the target, or the launch that records it
    struct event *promise;  // kept by the op, or NULL
    struct op *next;        // in the target's or the promise's list
    _Atomic bool listed;    // in either list
    bool order_only;        // does not inherit the target's failure
};

_Static_assert(sizeof(struct wait) <= sizeof((struct op *)0)->backend,
               "a wait fits into its op");

static inline struct wait *op_wait(struct op *op)
{
    return (struct wait *)op->backend;
}

static inline struct queue *stream_queue(struct stream *stream)
{
    return stream_native(stream);
}

// For the thread that runs the first op of the queue, or a part of the op.
static inline bool queue_is_cancelled(const struct queue *queue)
{
    return atomic_load_explicit(&queue->cancelled, memory_order_relaxed) >
           atomic_load_explicit(&queue->completed, memory_order_relaxed);
}

// Appends a list of ops and ensures that a thread will run them. Stores the
// number of the first in `out_sequence`, which may be NULL.
rnl_status queue_submit(struct queue *queue, struct op *first,
                        uint64_t *out_sequence);

// A thread that runs a queue while it waits for op `until` of it. With a
// deadline the thread only runs ops that are short for certain.
struct helper {
    uint64_t until;
    uint64_t deadline;  // RNL_FOREVER: none
};

// Runs ops of a queue that the caller owns (state RUNNING) until the queue is
// empty or blocked, or the caller should leave it; then gives the queue up.
// `helper` is NULL for workers, which alone run host functions.
void queue_run(struct queue *queue, const struct helper *helper);

// Waits until op `sequence` is done; the calling thread helps. The failure
// RNL_ERROR_TIMED_OUT is recorded, with the chain of waits that blocks the
// queue. `policy` is an rnl_sync_policy, or 0 for the usual policy;
// RNL_SYNC_BLOCKING neither helps nor spins.
rnl_status queue_wait(struct queue *queue, uint64_t sequence,
                      uint64_t deadline, int policy);

// A thread needs the queue's work: ensures progress if possible.
void queue_nudge(struct queue *queue);

// Forgets the stream's failure, except for waiters of failed ops; only the last
// few failures are remembered.
void queue_reset(struct queue *queue);

// Forgets those, too.
void queue_forget(struct queue *queue);

// Called when a listed wait of the queue is over: clears `*listed`. A blocked
// queue becomes ready; a running queue and its loop are poked.
void queue_unblock(struct queue *queue, _Atomic bool *listed);

// For the owner of a queue that must be unblocked first. False if the queue was
// poked: the owner looks again. Else the owner gives the queue up.
bool queue_block(struct queue *queue, struct stream *target);

// Puts a wait into the queue.
rnl_status queue_add_wait(struct stream *stream, const struct wait *wait);

// Unblocks the queues of a list of WAIT ops, linked by their waits.
void queue_release_waits(struct op *op);

// For the owner of a queue, or plan, that is cancelled and has not failed:
// takes a wait off its list. False if another thread has done so and will
// unblock the queue.
bool queue_withdraw_wait(struct op *op);

// The same for the first op: true if the op is not to run, and the stream has
// failed. The op is in no list any more.
bool queue_cancel_first(struct queue *queue, struct op *op);

// The failure text of ops of a cancelled queue.
#define CANCELLED_TEXT "the stream was cancelled before it had begun"

// True if the op's wait is over; otherwise its stream's queue will be
// unblocked. A failure becomes that of the op's stream.
bool queue_wait_is_over(struct op *op);

// `op`, or the graph whose node it is, was operation `sequence` and failed.
void queue_fail(struct queue *queue, uint64_t sequence, const struct op *op,
                rnl_status status, const char *message);

// Calls a host function on this worker. If the function fails its stream, the
// failure is the thread's last one.
rnl_status queue_call_host(struct queue *queue, const struct op *op);

// True with a reference to the failure in `*out` when the ops up to `sequence`
// contain a failed one.
bool queue_failed(struct queue *queue, uint64_t sequence,
                  struct failure **out);

// --- Ops --------------------------------------------------------------------

// Performs a KERNEL, COPY or FILL op; on failure writes a sentence of at most
// FAILURE_MESSAGE_SIZE bytes.
rnl_status op_perform(struct pool *pool, struct queue *queue,
                      const struct op *op, char *message);

// A kernel of a single block that only needs to be called: its C function, or
// block_run_list. False for all remaining ops.
struct kernel_run;
bool op_quick_call(const struct op *op, rnl_native_call *out_call);
bool op_quick_run(const struct op *op, struct kernel_run *out_run);

// The error of a C function's result, with a sentence in `message`.
rnl_status op_call_failed(const struct op *op, rnl_status status,
                          char *message);

// True when a worker need not be woken for it at once.
bool op_is_small(const struct op *op);

// True when the op is small and its time is bounded: a thread with a time limit
// may run it.
bool op_is_short(const struct op *op);

// --- Hooks of streams -------------------------------------------------------

rnl_status cpu_stream_init(struct stream *stream);
void cpu_stream_finish(struct stream *stream);
void cpu_stream_reset(struct stream *stream);
rnl_status cpu_stream_cancel(struct stream *stream);
rnl_status cpu_stream_submit(struct stream *stream, struct op *first);
rnl_status cpu_stream_query(struct stream *stream);
rnl_status cpu_stream_wait(struct stream *stream, uint64_t deadline);
rnl_status cpu_stream_join(struct stream *stream, struct stream *other);
