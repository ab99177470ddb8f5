// The queue of a stream's ops, and how an op runs.
//
// A pool of workers per context runs the streams. A stream is a queue of ops;
// its owner (one worker, or the thread that waits for the stream) takes ops off
// the head. A large op becomes a parallel_for, whose blocks other threads join
// in to run.
#pragma once

#include "backends/cpu/kernel/stop.h"
#include "core/stream/failure.h"
#include "core/stream/op.h"

struct pool;

// Kernels are compiled apart: MemorySanitizer does not see what they write, and
// is told behind each, for the buffers that its op keeps.
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

// Fields are grouped by who writes them: threads that submit, the owner, and
// hardly anyone; each group has its own cache lines.
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
    struct op *waiters, *last_waiter;  // WAIT ops of other streams, by what
                                       // they wait for
    struct stream *blocked_on; // kept by the WAIT op that is first in `batch`
    uint64_t failed_at;        // the op that failed first; 0: none
    struct failure_history history;
    _Atomic bool needs_worker; // only a worker can run what comes first
    bool poked;                // unblocked while it was running
    struct plan *plan;         // that is first in `batch` and has been begun
    struct parallel_for *shared;     // its own, if any
    struct stop_request stop;  // of its kernels, while it is being cancelled
};

// What a WAIT op waits for, in op->backend. While it is listed, it belongs to
// whoever will take it off the list.
struct wait {
    struct stream *_Atomic target;  // kept by the op; NULL: a record to come
    uint64_t sequence;      // of the target, or the launch that records it
    struct event *promise;  // kept by the op, or NULL
    struct op *next;        // in the target's or the promise's list
    _Atomic bool listed;    // in one of them
    bool order_only;        // a failure of what it waits for is not its own
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

// For who runs the first op of the queue, or a part of it.
static inline bool queue_is_cancelled(const struct queue *queue)
{
    return atomic_load_explicit(&queue->cancelled, memory_order_relaxed) >
           atomic_load_explicit(&queue->completed, memory_order_relaxed);
}

// Appends a list of ops and sees to it that somebody will run them. Gives the
// number of the first in `out_sequence`, which may be NULL.
rnl_status queue_submit(struct queue *queue, struct op *first,
                        uint64_t *out_sequence);

// Runs ops of a queue that the caller owns (state RUNNING) until it is empty,
// blocked, or done with number `until`; then gives it up. Workers run host
// functions, other threads leave them to a worker.
void queue_run(struct queue *queue, bool worker, uint64_t until);

// Waits until op `sequence` is done; the calling thread helps when it may wait
// for ever. RNL_ERROR_TIMED_OUT is recorded. `policy` is an rnl_sync_policy, or
// 0 for the usual one; with RNL_SYNC_BLOCKING it neither helps nor spins.
rnl_status queue_wait(struct queue *queue, uint64_t sequence,
                      uint64_t deadline, int policy);

// What the queue waits for, and what that waits for, as the end of a sentence;
// "" when it is not blocked.
void wait_chain_describe(struct queue *queue, char *text, size_t size);

// Somebody asks for the queue's work: sees to it that it goes on if it can.
void queue_nudge(struct queue *queue);

// Forgets the stream's failure, but for those who wait for what failed; only
// the last few are remembered.
void queue_reset(struct queue *queue);

// Forgets those, too.
void queue_forget(struct queue *queue);

// Something that the queue listed has happened: `*listed` is made false. A
// blocked queue is ready again; one that runs is poked, and its loop, too.
void queue_unblock(struct queue *queue, _Atomic bool *listed);

// For the owner of a queue that has nothing to do before it is unblocked. False
// when it was poked: it looks again. Else it is no longer the owner's.
bool queue_block(struct queue *queue, struct stream *target);

// Puts a wait into the queue.
rnl_status queue_add_wait(struct stream *stream, const struct wait *wait);

// Unblocks the queues of a list of WAIT ops, linked by their waits.
void queue_release_waits(struct op *op);

// For the owner of a queue that is cancelled and has not failed, or its plan:
// takes a wait off the list that it is in. False when somebody else has done so
// and will unblock the queue.
bool queue_withdraw_wait(struct op *op);

// The same for its first op: true when that is not to run, and the stream has
// failed. Where it waits, it is in no list any more.
bool queue_cancel_first(struct queue *queue, struct op *op);

// What fails an op of a queue that is cancelled.
#define CANCELLED_TEXT "the stream was cancelled before it had begun"

// True when what the op waits for is over; otherwise its stream's queue will be
// unblocked. A failure becomes that of the op's stream.
bool queue_wait_is_over(struct op *op);

// `op`, or the graph whose node it is, was operation `sequence` and failed.
void queue_fail(struct queue *queue, uint64_t sequence, const struct op *op,
                rnl_status status, const char *message);

// Calls a host function on this worker.
void queue_call_host(struct queue *queue, const struct op *op);

// True with a reference to the failure in `*out` when the ops up to `sequence`
// contain a failed one.
bool queue_failed(struct queue *queue, uint64_t sequence,
                  struct failure **out);

// --- Ops --------------------------------------------------------------------

// Performs a KERNEL, COPY or FILL op; on failure writes a sentence of at most
// FAILURE_MESSAGE_SIZE bytes.
rnl_status op_perform(struct pool *pool, struct queue *queue,
                      const struct op *op, char *message);

// A kernel of one block that needs nothing but to be called: its C function, or
// block_run_list. False for all other ops.
struct kernel_run;
bool op_quick_call(const struct op *op, rnl_native_call *out_call);
bool op_quick_run(const struct op *op, struct kernel_run *out_run);

// What a C function returned, as an error, with a sentence in `message`.
rnl_status op_call_failed(rnl_status status, char *message);

// True when a worker need not be woken for it at once.
bool op_is_small(const struct op *op);

// --- Hooks of streams -------------------------------------------------------

rnl_status cpu_stream_init(struct stream *stream);
void cpu_stream_finish(struct stream *stream);
void cpu_stream_reset(struct stream *stream);
rnl_status cpu_stream_cancel(struct stream *stream);
rnl_status cpu_stream_submit(struct stream *stream, struct op *first);
rnl_status cpu_stream_wait(struct stream *stream, uint64_t deadline);
rnl_status cpu_stream_join(struct stream *stream, struct stream *other);
