#include "backends/cpu/scheduler/pool.h"

#include "backends/cpu/kernel/stop.h"
#include "backends/cpu/scheduler/parallel_for.h"
#include "backends/cpu/scheduler/queue.h"
#include "backends/cpu/scheduler/tuning.h"
#include "backends/cpu/scheduler/value_waiters.h"
#include "base/clock.h"
#include "core/stream/interprocess_event.h"
#include "core/stream/op.h"

// An idle worker spins for a while, unless enough workers already spin; then a
// single worker, the sentinel, naps: it sleeps for a time that doubles from
// NAP_FIRST to NAP_LAST and polls in between; then the worker sleeps until
// woken. While values are waited for, the pool always has a sentinel, which
// naps for half of the idle time, up to a millisecond, later eight (dozing),
// and polls the values in between.
//
// Waking a sleeper costs the waker several microseconds. A small op is usually
// followed by a wait, whose thread then runs the op itself; so while the
// sentinel naps, no worker is woken for a small op: without a waiting thread
// the sentinel finds the op after at most the pool's idle time. A dozing
// sentinel is woken like a sleeper.
//
// Schedulers often put a woken thread on the waker's processor and run the
// thread there at once, unless the thread ran just before. So another worker
// stands by while the sentinel naps: this worker asked the system to run at
// once, and is woken except for small work. A worker that ends its work on its
// waker's processor sleeps instead of spinning.

enum { STANDS_BY = 1, LAZY = 2 };  // kinds of sleepers at `wake_word`

static _Thread_local struct pool *worker_pool;  // of a worker thread
static _Thread_local int waker_on = -1;  // its waker's processor

// --- Looking for work ------------------------------------------------------

static bool loops_visible(struct pool *pool)
{
    return atomic_load_explicit(&pool->loop_count, memory_order_acquire) > 0;
}

static bool work_visible(struct pool *pool)
{
    return atomic_load(&pool->ready_count) > 0 ||
           atomic_load(&pool->loop_count) > 0 ||
           atomic_load_explicit(&pool->wake_word, memory_order_relaxed) & 1;
}

bool pool_lacks_poller(struct pool *pool)
{
    return atomic_load(&pool->value_waiters.count) > 0 &&
           atomic_load(&pool->napping) == 0 &&
           atomic_load(&pool->spinning) == 0;
}

static unsigned rank_of(const struct queue *queue)
{
    return pool_rank(queue->stream->priority);
}

static void unlist_locked(struct pool *pool, struct queue *queue)
{
    ASSERT(lock_is_held(&pool->lock));
    unsigned rank = rank_of(queue);
    if (queue->previous)
        queue->previous->next = queue->next;
    else
        pool->ready[rank] = queue->next;
    if (queue->next)
        queue->next->previous = queue->previous;
    else
        pool->ready_last[rank] = queue->previous;
    queue->previous = queue->next = NULL;
    queue->listed = false;
    COUNT_DOWN(&pool->ready_count);
    while (rank-- > 0)
        COUNT_DOWN(&pool->ready_above[rank]);
}

static struct queue *pool_pop(struct pool *pool)
{
    if (atomic_load_explicit(&pool->ready_count, memory_order_relaxed) == 0)
        return NULL;
    struct queue *queue = NULL;
    lock_take(&pool->lock);
    for (int rank = PRIORITIES - 1; rank >= 0 && !queue; rank--)
        queue = pool->ready[rank];
    if (queue)
        unlist_locked(pool, queue);
    lock_give(&pool->lock);
    return queue;
}

void pool_push(struct pool *pool, struct queue *queue)
{
    unsigned rank = rank_of(queue);
    lock_take(&pool->lock);
    queue->previous = pool->ready_last[rank];
    queue->next = NULL;
    if (queue->previous)
        queue->previous->next = queue;
    else
        pool->ready[rank] = queue;
    pool->ready_last[rank] = queue;
    queue->listed = true;
    while (rank-- > 0)
        atomic_fetch_add(&pool->ready_above[rank], 1);
    atomic_fetch_add(&pool->ready_count, 1);
    lock_give(&pool->lock);
}

bool pool_take(struct pool *pool, struct queue *queue)
{
    lock_take(&pool->lock);
    bool listed = queue->listed;
    if (listed)
        unlist_locked(pool, queue);
    lock_give(&pool->lock);
    return listed;
}

bool pool_prefers_other(struct pool *pool, unsigned ops_done)
{
    if (atomic_load_explicit(&pool->ready_above[0], memory_order_relaxed) > 0)
        return true;
    return ops_done >= 64 && atomic_load_explicit(&pool->ready_count,
                                                  memory_order_relaxed) > 0;
}

// --- Waking ----------------------------------------------------------------

static void *worker_main(void *argument);

static bool may_grow_locked(const struct pool *pool)
{
    ASSERT(lock_is_held(&pool->lock));
    return pool->thread_count < pool->thread_most &&
           pool->thread_count - pool->blocked < pool->width;
}

// Starts another worker if useful. A failure is no error: the next worker that
// is not blocked gets to the work.
static void grow(struct pool *pool)
{
    lock_take(&pool->lock);
    if (!pool->stopping && may_grow_locked(pool)) {
        atomic_fetch_add(&pool->users, 1);
        if (thread_start(&pool->threads[pool->thread_count], "runnel",
                         worker_main, pool))
            pool->thread_count++;
        else
            COUNT_DOWN(&pool->users);
    }
    lock_give(&pool->lock);
}

static bool can_grow(struct pool *pool)
{
    lock_take(&pool->lock);
    bool can = may_grow_locked(pool);
    lock_give(&pool->lock);
    return can;
}

static void wake(struct pool *pool, int count, uint32_t first)
{
    atomic_store(&pool->waker_on, sched_getcpu());
    atomic_fetch_add(&pool->wake_word, 2);
    int woken = futex_wake_of(&pool->wake_word, count, first);
    if (woken < count)
        futex_wake_of(&pool->wake_word, count - woken, STANDS_BY | LAZY);
}

static void wake_one(struct pool *pool, bool small)
{
    // One wake-up at a time: the woken worker wakes the next if need be.
    if (atomic_exchange(&pool->waking, 1) == 0)
        wake(pool, 1, small ? LAZY : STANDS_BY);
}

// And does not doze.
static bool sentinel_naps(struct pool *pool)
{
    uint32_t napping = atomic_load(&pool->napping);
    return napping != 0 && (napping & 1) == 0;
}

void pool_notify(struct pool *pool, bool small)
{
    atomic_fetch_add_explicit(&pool->activity, 1, memory_order_relaxed);
    if (atomic_load(&pool->spinning) > 0)
        return;
    if (small && sentinel_naps(pool) && atomic_load(&pool->waiting) == 0)
        return;
    if (atomic_load(&pool->sleeping) > 0)
        wake_one(pool, small);
    else if (can_grow(pool))
        grow(pool);
}

void pool_notify_many(struct pool *pool, unsigned count)
{
    unsigned spinning = atomic_load(&pool->spinning);
    if (count <= spinning + 1 || atomic_load(&pool->sleeping) == 0) {
        pool_notify(pool, false);
        return;
    }
    atomic_fetch_add_explicit(&pool->activity, 1, memory_order_relaxed);
    atomic_store(&pool->waking, 1);
    wake(pool, (int)(count - spinning), STANDS_BY);
}

void pool_nudge(struct pool *pool)
{
    value_poll(pool, VALUE_POLL_IDLE);
    if (work_visible(pool))
        pool_notify(pool, false);
    else
        pool_ensure_poller(pool);
}

void pool_request_trim(struct pool *pool)
{
    if (!atomic_exchange(&pool->trim_requested, true))
        pool_notify(pool, false);
}

void pool_ensure_poller(struct pool *pool)
{
    if (!pool_lacks_poller(pool))
        return;
    if (atomic_load(&pool->sleeping) > 0)
        wake_one(pool, true);
    else if (can_grow(pool))
        grow(pool);
}

void pool_value_wait_begin(struct pool *pool)
{
    // A worker idles next, or looks after others in work_once.
    if (worker_pool != pool)
        pool_ensure_poller(pool);
}

// How many of the reasons there are why this worker does no work for others.
static _Thread_local unsigned blocked_by;

void pool_block_begin(struct pool *pool)
{
    if (worker_pool != pool || blocked_by++ > 0)
        return;
    lock_take(&pool->lock);
    pool->blocked++;
    ASSERT(pool->blocked <= pool->thread_count);
    lock_give(&pool->lock);
    pool_nudge(pool);
}

void pool_block_end(struct pool *pool)
{
    if (worker_pool != pool || --blocked_by > 0)
        return;
    lock_take(&pool->lock);
    pool->blocked--;
    lock_give(&pool->lock);
}

// --- Taking turns ----------------------------------------------------------

static bool is_urged(struct pool *pool, unsigned rank)
{
    return atomic_load_explicit(&pool->ready_above[rank],
                                memory_order_relaxed) > 0 ||
           atomic_load_explicit(&pool->loops_above[rank],
                                memory_order_relaxed) > 0;
}

static bool has_equal(struct pool *pool, unsigned rank)
{
    return atomic_load_explicit(rank ? &pool->ready_above[rank - 1]
                                     : &pool->ready_count,
                                memory_order_relaxed) > 0;
}

bool pool_wants_time_slice(struct pool *pool, unsigned rank, uint64_t since,
                     uint64_t now)
{
    return is_urged(pool, rank) ||
           (now - since > STREAM_SLICE_TICKS && has_equal(pool, rank));
}

// Among equals no more than twice as many threads as the pool is wide work.
void time_slice_yield(struct pool *pool, unsigned rank, struct time_slice *turn,
               uint64_t now)
{
    if (turn->since == 0)
        turn->since = now;
    if (turn->aside || !pool_wants_time_slice(pool, rank, turn->since, now) ||
        worker_pool != pool)
        return;
    if (atomic_load(&pool->aside) >= pool->width && !is_urged(pool, rank))
        return;
    turn->aside = true;
    atomic_fetch_add(&pool->aside, 1);
    pool_block_begin(pool);
}

void time_slice_end(struct pool *pool, struct time_slice *turn)
{
    if (!turn->aside)
        return;
    pool_block_end(pool);
    COUNT_DOWN(&pool->aside);
}

// --- Idling ----------------------------------------------------------------

static bool keeps_waker_waiting(void)
{
    int waker = waker_on;
    waker_on = -1;
    return waker >= 0 && waker == sched_getcpu();
}

// True as soon as there is something to do.
static bool spin(struct pool *pool)
{
    uint32_t most = pool->width > 1 ? pool->width - 1 : 1;
    if (keeps_waker_waiting())
        return work_visible(pool);
    if (atomic_fetch_add(&pool->spinning, 1) >= most) {
        COUNT_DOWN(&pool->spinning);
        return work_visible(pool);
    }
    uint64_t end = clock_now() + pool->spin_ns;
    // Queues are polled about once a microsecond: a thread that enqueues and
    // waits runs its op itself by then, and a thread that enqueues much is not
    // disturbed for every op. A loop, however, needs help right now.
    do {
        for (int i = 0; i < SPIN_ROUND && !loops_visible(pool) &&
                        !value_poll(pool, VALUE_POLL_IDLE); i++)
            cpu_relax();
    } while (!work_visible(pool) && clock_now() < end);
    COUNT_DOWN(&pool->spinning);
    return work_visible(pool);
}

static void sleep_until(struct pool *pool, uint64_t deadline, uint32_t kind)
{
    _Atomic uint32_t *alike =
        kind == LAZY ? &pool->lazy : &pool->standing_by;
    // A waker relies on the threads seen here to look for work; this thread
    // looks after each of the two stores, so no wake-up is lost.
    uint32_t word = atomic_load(&pool->wake_word);
    atomic_store(&pool->waking, 0);
    atomic_fetch_add(&pool->sleeping, 1);
    atomic_fetch_add(alike, 1);
    bool leaves = deadline == RNL_FOREVER &&
                  (pool_lacks_poller(pool) || op_has_surplus());
    if (!work_visible(pool) && !leaves)
        futex_wait_as(&pool->wake_word, word, deadline, kind);
    COUNT_DOWN(alike);
    COUNT_DOWN(&pool->sleeping);
    atomic_store(&pool->waking, 0);
    waker_on = atomic_exchange(&pool->waker_on, -1);
}

// Makes the caller the sentinel instead of a dozing one. Returns its number, or
// 0.
static uint32_t become_sentinel(struct pool *pool)
{
    uint32_t old = atomic_load(&pool->napping);
    if (old != 0 && (old & 1) == 0)
        return 0;
    uint32_t self = atomic_fetch_add(&pool->sentinels, 2) + 2;
    return atomic_compare_exchange_strong(&pool->napping, &old, self) ? self
                                                                      : 0;
}

// False when it dozed, and another has become the sentinel.
static bool doze(struct pool *pool, uint32_t self, uint64_t deadline)
{
    // Before the look that sleep_until takes.
    atomic_store(&pool->napping, self | 1);
    sleep_until(pool, deadline, LAZY);
    uint32_t dozing = self | 1;
    return atomic_compare_exchange_strong(&pool->napping, &dozing, self);
}

// While words are watched. Nothing has happened since `since`.
static bool nap_polling(struct pool *pool, uint32_t self, uint64_t since)
{
    uint64_t now = clock_now(), length = value_poll_nap_ns(now - since);
    if (length <= NAP_LAST_NS)
        sleep_until(pool, now + length, LAZY);
    else if (!doze(pool, self, now + length))
        return false;
    value_poll_some(pool, length, now - since);
    shared_events_look();
    return true;
}

// Ensures that a worker stands by that has not just napped.
static void provide_for_wakes(struct pool *pool)
{
    if (atomic_load(&pool->standing_by) == 0 && can_grow(pool))
        grow(pool);
}

// Unless something was submitted since `activity`.
static void give_surplus(struct pool *pool, uint32_t activity)
{
    while (!work_visible(pool) && atomic_load(&pool->activity) == activity &&
           op_free_surplus()) {
    }
}

static bool nap(struct pool *pool)
{
    uint32_t self = become_sentinel(pool);
    if (self == 0)
        return false;
    thread_be_prompt(false);
    uint64_t length = NAP_FIRST_NS, since = clock_now();
    uint32_t activity = atomic_load(&pool->activity);
    while ((length <= NAP_LAST_NS || value_waiters_pending(pool)) &&
           !work_visible(pool)) {
        if (activity)
            provide_for_wakes(pool);
        if (!value_waiters_pending(pool))
            sleep_until(pool, clock_now() + length, LAZY);
        else if (!nap_polling(pool, self, since))
            return work_visible(pool);
        uint32_t now = atomic_load(&pool->activity);
        if (now != activity) {
            // Waiting threads have done the work.
            length = length < NAP_LAST_NS ? 2 * length : NAP_LAST_NS;
            since = clock_now();
        } else if (length <= NAP_LAST_NS) {
            length *= 2;
        } else {
            give_surplus(pool, activity);
        }
        activity = now;
    }
    atomic_store(&pool->napping, 0);
    return work_visible(pool);
}

// Not a worker that stood by while the last sentinel sleeps, unless needed.
static bool should_nap(struct pool *pool)
{
    return atomic_load(&pool->lazy) == 0 || pool_lacks_poller(pool) ||
           (atomic_load(&pool->napping) & 1);
}

// The last sentinel is the lazy one, if somebody stands by.
static uint32_t how_to_sleep(struct pool *pool)
{
    return atomic_load(&pool->napping) == 0 && atomic_load(&pool->lazy) == 0 &&
                   atomic_load(&pool->standing_by) > 0
               ? LAZY
               : STANDS_BY;
}

static void rest(struct pool *pool, uint32_t kind)
{
    bool surplus = op_has_surplus();
    uint32_t activity = atomic_load(&pool->activity);
    // Before the worker counts as asleep: later surplus wakes the worker.
    if (!surplus)
        atomic_store(&pool->trim_requested, false);
    sleep_until(pool, surplus ? clock_now() + REST_NS : RNL_FOREVER, kind);
    if (surplus)
        give_surplus(pool, activity);
}

// `worked`: since the last idling. A worker woken in vain does not spin again.
static void idle(struct pool *pool, bool worked)
{
    if (worked && spin(pool))
        return;
    if (should_nap(pool) && nap(pool))
        return;
    uint32_t kind = how_to_sleep(pool);
    thread_be_prompt(kind == STANDS_BY);
    rest(pool, kind);
}

// --- Workers ---------------------------------------------------------------

static bool work_once(struct pool *pool)
{
    // Help with something urgent goes before what is not.
    if (atomic_load_explicit(&pool->loops_above[0], memory_order_relaxed) &&
        !atomic_load_explicit(&pool->ready_above[0], memory_order_relaxed) &&
        parallel_for_join(pool, NULL))
        return true;
    struct queue *queue = pool_pop(pool);
    if (!queue)
        return parallel_for_join(pool, NULL);
    lock_take(&queue->lock);
    ASSERT(queue->state == QUEUE_READY);
    queue->state = QUEUE_RUNNING;
    lock_give(&queue->lock);
    if (atomic_load_explicit(&pool->ready_count, memory_order_relaxed) > 0)
        pool_notify(pool, false);
    else if (value_waiters_pending(pool))
        pool_ensure_poller(pool);
    queue_run(queue, NULL);
    return true;
}

static bool is_stopping(struct pool *pool)
{
    return atomic_load_explicit(&pool->wake_word, memory_order_acquire) & 1;
}

static void pool_free(struct pool *pool)
{
    mem_release(pool->threads, pool->thread_most * sizeof *pool->threads);
    mem_release(pool, sizeof *pool);
}

// The destroyer and every worker use the pool; the last user frees the pool.
static void pool_leave(struct pool *pool)
{
    if (COUNT_DOWN(&pool->users) == 1)
        pool_free(pool);
}

static void *worker_main(void *argument)
{
    struct pool *pool = argument;
    worker_pool = pool;
    bool worked = false;
    while (!is_stopping(pool)) {
        bool before = worked;
        worked = work_once(pool);
        if (!worked)
            idle(pool, before);
    }
    pool_leave(pool);
    return NULL;
}

// A time limit needs the watchdog.
static rnl_status start_threads(struct pool *pool)
{
    rnl_status status = pool->watchdog.limit_ns > 0
                            ? watchdog_start(&pool->watchdog)
                            : RNL_OK;
    if (status != RNL_OK)
        return status;
    grow(pool);
    if (pool->thread_count > 0)
        return RNL_OK;
    watchdog_finish(&pool->watchdog);
    return fail(RNL_ERROR_OUT_OF_MEMORY,
                "the system did not start a worker thread");
}

rnl_status pool_create(unsigned width, uint64_t spin_ns, uint64_t limit_ns,
                       struct pool **out_pool)
{
    rnl_status status = RNL_ERROR_OUT_OF_MEMORY;
    struct pool *pool = mem_allocate_aligned(sizeof *pool, 64);
    if (!pool)
        goto no_memory;
    atomic_store(&pool->users, 1);
    atomic_store(&pool->waker_on, -1);
    lock_set_rank(&pool->lock, RANK_LEAF);
    lock_set_rank(&pool->value_waiters.lock, RANK_LEAF);
    lock_set_rank(&pool->watchdog.lock, RANK_WATCHDOG);
    pool->width = width;
    pool->spin_ns = spin_ns;
    pool->watchdog.limit_ns = limit_ns;
    pool->thread_most = width + THREADS_BLOCKED_MOST;
    pool->threads =
        mem_allocate(pool->thread_most * sizeof *pool->threads);
    if (!pool->threads)
        goto free_pool;
    status = start_threads(pool);
    if (status != RNL_OK)
        goto free_threads;
    *out_pool = pool;
    return RNL_OK;

free_threads:
    pool_free(pool);
    return status;
free_pool:
    mem_release(pool, sizeof *pool);
no_memory:
    return fail(RNL_ERROR_OUT_OF_MEMORY, "there is no memory for workers");
}

void pool_destroy(struct pool *pool)
{
    watchdog_finish(&pool->watchdog);
    lock_take(&pool->lock);
    pool->stopping = true;
    unsigned count = pool->thread_count;
    lock_give(&pool->lock);
    atomic_fetch_or(&pool->wake_word, 1);
    futex_wake(&pool->wake_word, INT32_MAX);
    // A worker, of this pool or another, joins nobody: two pools could wait for
    // each other.
    for (unsigned i = 0; i < count; i++) {
        if (worker_pool)
            pthread_detach(pool->threads[i]);
        else
            pthread_join(pool->threads[i], NULL);
    }
    pool_leave(pool);
}
