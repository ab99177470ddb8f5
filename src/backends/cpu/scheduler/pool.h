// The worker threads of a context.
#pragma once

#include "backends/cpu/machine/machine.h"
#include "backends/cpu/scheduler/tuning.h"
#include "backends/cpu/scheduler/value_waiters.h"

#define PRIORITIES 3  // 0 normal, -1, -2

struct parallel_for;
struct plan;

// Grouped by cache lines, as the queue is.
struct pool {
    struct lock lock;  // guards the lists, the threads and `blocked`
    struct queue *ready[PRIORITIES], *ready_last[PRIORITIES];
    _Atomic uint32_t ready_count;
    _Atomic uint32_t activity;  // changes whenever something was submitted

    _Alignas(64) _Atomic uint32_t loop_count;  // that can still be joined
    struct parallel_for *loops;

    struct value_waiters value_waiters;

    _Alignas(64) _Atomic uint32_t spinning;
    _Atomic uint32_t sleeping, waking;
    _Atomic uint32_t standing_by, lazy;  // among sleeping workers
    _Atomic uint32_t napping;       // 0, or the sentinel's even number; odd:
                                    // the sentinel dozes
    _Atomic uint32_t sentinels;     // how many there were, doubled
    _Atomic uint32_t waiting;       // host threads asleep in queue_wait
    _Atomic bool trim_requested;    // a worker was told of surplus operations
    _Atomic uint32_t wake_word;     // futex of sleeping workers; odd: stopping
    _Atomic int waker_on;           // processor of the last waker, or -1
    // Hardly ever written, and looked at after each share. By rank (0 normal,
    // higher is more urgent): ready queues, and loops that can be joined, of
    // a higher rank.
    _Alignas(64) _Atomic uint32_t ready_above[PRIORITIES];
    _Atomic uint32_t loops_above[PRIORITIES];
    unsigned width;         // how many threads may run kernels at once
    uint64_t spin_ns;
    pthread_t *threads;
    unsigned thread_count, thread_most;
    unsigned blocked;       // workers inside a host function, or replaced
    _Atomic uint32_t aside; // of those: at work on a long launch
    bool stopping;
    _Atomic uint32_t users;  // workers and the destroyer
    struct watchdog watchdog;
};

// `limit_ns`: of each launch; 0: none.
rnl_status pool_create(unsigned width, uint64_t spin_ns, uint64_t limit_ns,
                       struct pool **out_pool);

// Stops and frees the pool, from any thread, including its workers.
void pool_destroy(struct pool *pool);

// Lists a ready queue; with `notify` sees to it that a worker looks. Small work
// is not worth a wake-up of a worker that will look by itself soon.
void pool_push(struct pool *pool, struct queue *queue);
void pool_notify(struct pool *pool, bool small);

// The same for work of `count` workers: wakes the sleeping ones with one system
// call, where pool_notify wakes one, which wakes the next.
void pool_notify_many(struct pool *pool, unsigned count);

// Ensures that a worker looks if there is work.
void pool_nudge(struct pool *pool);

// The op cache has surplus ops (core/stream/op.h): lets an idle worker free
// them.
void pool_request_trim(struct pool *pool);

// True when words are watched and no worker idles in a way that looks at them.
bool pool_lacks_poller(struct pool *pool);

// Ensures that a worker polls, unless all are busy.
void pool_ensure_poller(struct pool *pool);

// The calling thread, if it is no worker, is about to leave a word to workers.
void pool_value_wait_begin(struct pool *pool);

static inline bool value_waiters_pending(struct pool *pool)
{
    return atomic_load_explicit(&pool->value_waiters.count,
                                memory_order_relaxed) > 0;
}

bool value_poll_now(struct pool *pool, unsigned pause);

// Looks at all watched words, unless the last look was less than `pause` times
// its own length ago or is going on. True when a queue was unblocked.
static inline bool value_poll(struct pool *pool, unsigned pause)
{
    return __builtin_expect(value_waiters_pending(pool), 0) &&
           value_poll_now(pool, pause);
}

// Takes this queue off the ready list; false if the queue is not listed.
bool pool_take(struct pool *pool, struct queue *queue);

// True if a worker should leave its present queue for a better queue.
bool pool_prefers_other(struct pool *pool, unsigned ops_done);

// The time slice of a long piece of work: its start (0: not yet queried), and
// whether the pool has an additional worker meanwhile.
struct time_slice {
    uint64_t since;
    bool aside;
};

static inline unsigned pool_rank(int priority)
{
    return priority >= 0 ? 0 : (unsigned)-priority;
}

// True if work of a higher rank is ready, or a queue of the same rank after a
// time slice of STREAM_SLICE_TICKS. `now` is clock_ticks.
bool pool_wants_time_slice(struct pool *pool, unsigned rank, uint64_t since,
                     uint64_t now);

// For a worker that cannot leave its work: lets another worker take its place
// if needed. time_slice_end ends the replacement.
void time_slice_yield(struct pool *pool, unsigned rank, struct time_slice *turn,
               uint64_t now);
void time_slice_end(struct pool *pool, struct time_slice *turn);

// A worker is about to be blocked by the host's code, or is back.
void pool_block_begin(struct pool *pool);
void pool_block_end(struct pool *pool);

static inline struct pool *stream_pool(struct stream *stream)
{
    struct cpu_context *context = context_native(stream_context(stream));
    return context->pool;
}
