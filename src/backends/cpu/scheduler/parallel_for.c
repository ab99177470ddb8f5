#include "backends/cpu/scheduler/parallel_for.h"

#include "backends/cpu/kernel/launch_history.h"
#include "backends/cpu/kernel/stop.h"
#include "backends/cpu/scheduler/pool.h"
#include "backends/cpu/scheduler/queue.h"
#include "backends/cpu/scheduler/tuning.h"
#include "base/clock.h"

#include <math.h>
#include <string.h>

// The owner tries an op alone first, beginning with a single unit, since the
// first units may hold all of the work: recently active workers still spin, but
// not for long. Once the estimated rest reaches ALONE_TICKS, spinning threads
// join. Sleeping workers are woken if the estimate is much larger, or after a
// while, because a first part can mislead. If the last launches of a kernel
// were worth a wake-up, the kernel is shared from its first unit on.

#define FRACTION 16  // of a tick, in struct unit_times

static void fail_part(struct parallel_for *loop, rnl_status status,
                      const char *message)
{
    if (atomic_exchange(&loop->failed, 1) == 0) {
        loop->status = status;
        memcpy(loop->message, message, FAILURE_MESSAGE_SIZE);
    }
    atomic_store(&loop->taken, loop->total);  // nobody starts more
}

static void run_part(struct parallel_for *loop, uint64_t first, uint64_t count)
{
    char message[FAILURE_MESSAGE_SIZE];
    rnl_status status = loop->run(loop, first, count, message);
    if (status != RNL_OK)
        fail_part(loop, status, message);
}

// Before another part of it is begun.
static bool is_stopped(struct parallel_for *loop)
{
    char message[FAILURE_MESSAGE_SIZE];
    const struct stop_scope *scope = &loop->scope;
    enum stop_reason reason = 0;
    if (loop->queue && queue_is_cancelled(loop->queue))
        reason = STOP_CANCELLED;
    else if (scope->deadline != 0 && clock_now() > scope->deadline)
        reason = STOP_LIMIT;
    if (__builtin_expect(reason == 0, 1))
        return false;
    stop_describe_launch(reason,
                         reason == STOP_LIMIT ? scope->watchdog->limit_ns : 0,
                         message, sizeof message);
    fail_part(loop, stop_status(reason), message);
    return true;
}

// The units of a thread's next share, by the time of its last ones.
struct pace {
    uint64_t most;
    uint64_t taken;   // the end of the last ones
    uint64_t since;   // clock_ticks at the beginning
    uint64_t mark;    // the same at the end of the last ones
    uint64_t growth;  // how many times as many it may be the next time
    uint64_t long_ticks, long_units;
    uint64_t begin, ran;  // ns at the beginning, if the mean is known: of the
                          // clock, and of the thread's processor time
};

static struct pace pace_begin(const struct parallel_for *loop, uint64_t growth)
{
    uint64_t now = clock_ticks();
    struct pace pace = {.most = loop->first_most,
                        .taken = atomic_load(&loop->taken),
                        .since = now,
                        .mark = now,
                        .growth = growth};
    if (loop->mean > 0) {
        pace.begin = clock_now();
        pace.ran = clock_of_thread();
    }
    return pace;
}

// As a number of at least 1 and at most 1e18.
static uint64_t at_least_one(double units)
{
    return units < 1 ? 1 : units < 1e18 ? (uint64_t)units : (uint64_t)1e18;
}

// The most units of the next share, if `count` units took `ticks` until `now`.
static uint64_t most_of(const struct parallel_for *loop, uint64_t count,
                        uint64_t ticks, uint64_t now)
{
    double share = (double)loop->share_ticks;
    uint64_t most = at_least_one((double)count * share / ((double)ticks + 1));
    return most < loop->limit || now > loop->limit_end ? most : loop->limit;
}

// Counts a share as long if its units took far longer than the mean.
static void look_for_long(const struct parallel_for *loop, struct pace *pace,
                          uint64_t count, uint64_t spent)
{
    if (loop->mean > 0 &&
        (double)spent * FRACTION >=
            LONG_UNITS * (double)loop->mean * (double)count) {
        pace->long_ticks += spent;
        pace->long_units += count;
    }
}

// The next ones may take longer than the last.
static void keep_pace(const struct parallel_for *loop, struct pace *pace,
                      uint64_t count)
{
    uint64_t now = clock_ticks(), spent = now - pace->mark;
    pace->mark = now;
    look_for_long(loop, pace, count, spent);
    if (spent <= loop->share_ticks && count < pace->most)
        return;
    uint64_t most = most_of(loop, count, spent, now);
    if (most < pace->most)
        pace->most = most;
    else if (count == pace->most)
        pace->most = most / pace->growth < count ? most : pace->growth * count;
}

static uint64_t part_size(const struct parallel_for *loop, uint64_t taken)
{
    if (loop->share > 0)
        return loop->share;
    uint64_t pieces = loop->most;
    if (pieces > 1 && !loop->in_rows)
        pieces *= 2;
    uint64_t part = (loop->total - taken) / pieces;
    return part ? part : 1;
}

// Shares shrink towards the end, so that all finish at about the same time;
// rows begin with equal ones. 0: there are none.
static uint64_t share_size(const struct parallel_for *loop,
                           const struct pace *pace)
{
    // All threads write `loop->taken`, so a load costs as much as the addition
    // that follows. Far from the end, the end of this thread's last share is
    // close enough.
    if (pace->most < part_size(loop, pace->taken) / 4)
        return pace->most;
    uint64_t taken = atomic_load_explicit(&loop->taken, memory_order_relaxed);
    if (taken >= loop->total)
        return 0;
    uint64_t count = part_size(loop, taken);
    return count < pace->most ? count : pace->most;
}

static bool take_part(struct parallel_for *loop, struct pace *pace)
{
    uint64_t count = is_stopped(loop) ? 0 : share_size(loop, pace);
    if (count == 0)
        return false;
    uint64_t first = atomic_fetch_add(&loop->taken, count);
    if (first >= loop->total)
        return false;
    uint64_t left = loop->total - first;
    count = count < left ? count : left;
    pace->taken = first + count;
    run_part(loop, first, count);
    keep_pace(loop, pace, count);
    return true;
}

// Ticks while the thread ran: a thread that wakes another often loses its
// processor.
static double ticks_run(const struct pace *pace)
{
    double ticks = (double)(clock_ticks() - pace->since);
    double rate = ticks / ((double)(clock_now() - pace->begin) + 1);
    return (double)(clock_of_thread() - pace->ran) * rate;
}

// Adds what a thread measured to the loop. Time in which the thread did not
// run is taken off the time of the shares with long units.
static void report(struct parallel_for *loop, const struct pace *pace)
{
    double spent = (double)(pace->mark - pace->since);
    if (!loop->history)
        return;
    if (loop->mean > 0) {
        double others = spent - (double)pace->long_ticks;
        double ran = ticks_run(pace);
        spent = ran < spent ? ran : spent;
        double rest = spent - others;
        if (rest > TICKS_THAT_COUNT && rest > spent / PART_THAT_COUNTS) {
            atomic_fetch_add(&loop->long_ticks, (uint64_t)rest);
            atomic_fetch_add(&loop->long_units, pace->long_units);
        }
    }
    atomic_fetch_add(&loop->spent, (uint64_t)spent);
}

// If all units were slower than in the launches before, no unit is long.
// Without a mean for comparison the launch is taken to have long units, except
// for rows, which lose most by small shares.
static uint64_t longest_of(struct parallel_for *loop, uint64_t mean)
{
    uint64_t units = atomic_load(&loop->long_units);
    if (loop->mean == 0)
        return loop->in_rows ? 0 : LONG_UNITS * mean;
    uint64_t longest =
        units ? atomic_load(&loop->long_ticks) * FRACTION / units : 0;
    return longest >= LONG_UNITS * mean ? longest : 0;
}

static void note_history(struct parallel_for *loop)
{
    if (!loop->history || atomic_load(&loop->failed))
        return;
    struct unit_times times = {0};
    uint64_t spent = atomic_load(&loop->spent);
    if (spent > EXPECT_TICKS) {
        times.mean = spent * FRACTION / loop->total + 1;
        times.longest = longest_of(loop, times.mean) / loop->unit;
        times.mean = (times.mean + loop->unit - 1) / loop->unit;
    }
    launch_history_add(loop->history, &times);
}

// --- Sharing ---------------------------------------------------------------

static void open_locked(struct pool *pool, struct parallel_for *loop)
{
    ASSERT(lock_is_held(&pool->lock));
    loop->next = pool->loops;
    loop->link = &pool->loops;
    if (loop->next)
        loop->next->link = &loop->next;
    pool->loops = loop;
    loop->open = true;
    for (unsigned rank = loop->rank; rank-- > 0;)
        atomic_fetch_add(&pool->loops_above[rank], 1);
    atomic_fetch_add(&pool->loop_count, 1);
}

static void open_to_others(struct pool *pool, struct parallel_for *loop)
{
    atomic_store(&loop->participants, 1);
    lock_take(&pool->lock);
    open_locked(pool, loop);
    lock_give(&pool->lock);
}

static bool open_again_locked(struct pool *pool, struct parallel_for *loop)
{
    ASSERT(lock_is_held(&pool->lock));
    bool opens = !loop->open;
    if (opens)
        open_locked(pool, loop);
    return opens;
}

void parallel_for_offer(struct pool *pool, struct parallel_for *loop,
                        bool blocks)
{
    if (pool->width == 1 && !blocks)
        return;
    lock_take(&pool->lock);
    bool opens = open_again_locked(pool, loop);
    lock_give(&pool->lock);
    if (opens)
        pool_notify(pool, false);
}

bool parallel_for_poke(struct pool *pool, struct parallel_for *loop)
{
    atomic_store(&loop->poked, true);
    lock_take(&pool->lock);
    bool opens = (pool->width > 1 || pool->blocked > 0 ||
                  loop->waits_outside) &&
                 open_again_locked(pool, loop);
    lock_give(&pool->lock);
    return opens;
}

static void close_locked(struct pool *pool, struct parallel_for *loop)
{
    ASSERT(lock_is_held(&pool->lock));
    if (!loop->open)
        return;
    *loop->link = loop->next;
    if (loop->next)
        loop->next->link = loop->link;
    loop->open = false;
    for (unsigned rank = loop->rank; rank-- > 0;)
        COUNT_DOWN(&pool->loops_above[rank]);
    COUNT_DOWN(&pool->loop_count);
}

static bool has_more(const struct parallel_for *loop, bool worker)
{
    return loop->any ? loop->any(loop, worker)
                       : atomic_load(&loop->taken) < loop->total;
}

// The most urgent one.
static struct parallel_for *find_locked(struct pool *pool, struct queue *queue)
{
    ASSERT(lock_is_held(&pool->lock));
    struct parallel_for *next, *best = NULL;
    for (struct parallel_for *at = pool->loops; at; at = next) {
        next = at->next;
        if (!has_more(at, true))
            close_locked(pool, at);  // nothing is left to join for
        else if ((!queue || (at->queue == queue && has_more(at, false))) &&
                 (!best || at->rank > best->rank))
            best = at;
    }
    return best;
}

// A worker leaves for something else.
static void leave_early(struct pool *pool, struct parallel_for *loop)
{
    lock_take(&pool->lock);
    if (has_more(loop, true))
        open_again_locked(pool, loop);
    lock_give(&pool->lock);
}

// Until nothing is left to take, or something else wants a turn of a worker.
static void take_parts(struct pool *pool, struct parallel_for *loop,
                       bool worker)
{
    struct pace pace = pace_begin(loop, GROWTH);
    while (loop->take ? loop->take(loop, worker)
                        : take_part(loop, &pace)) {
        uint64_t now = loop->take ? clock_ticks() : pace.mark;
        if (!worker ||
            !pool_wants_time_slice(pool, loop->rank, pace.since, now))
            continue;
        leave_early(pool, loop);
        break;
    }
    report(loop, &pace);
}

bool parallel_for_join(struct pool *pool, struct queue *queue)
{
    if (atomic_load_explicit(&pool->loop_count, memory_order_relaxed) == 0)
        return false;
    lock_take(&pool->lock);
    struct parallel_for *loop = find_locked(pool, queue);
    if (loop &&
        atomic_fetch_add(&loop->participants, 1) + 1 >= loop->most)
        close_locked(pool, loop);
    bool more = pool->loops != NULL;
    lock_give(&pool->lock);
    if (!loop)
        return false;
    if (more)
        pool_notify(pool, false);
    take_parts(pool, loop, !queue);
    // The owner frees the loop once it sees that nobody is left: the wake
    // may then hit a word that is something else, which wakes for no reason.
    if (COUNT_DOWN(&loop->participants) == 2)
        futex_wake(&loop->participants, 1);
    return true;
}

// Steps that need a worker keep the loop open.
static void close_if_done(struct pool *pool, struct parallel_for *loop)
{
    lock_take(&pool->lock);
    if (!has_more(loop, true))
        close_locked(pool, loop);
    lock_give(&pool->lock);
}

// False as soon as a step is ready again. The wait may be for a step that takes
// arbitrarily long, while further streams need workers: a worker that waits
// long is replaced by another.
static bool wait_for_others(struct pool *pool, struct parallel_for *loop,
                            bool worker)
{
    close_if_done(pool, loop);
    bool alone = true, replaced = false;
    uint64_t end = 0;
    uint32_t others;
    for (unsigned i = 0; (others = atomic_load(&loop->participants)) > 1;
         i++) {
        if (loop->any && loop->any(loop, worker)) {
            alone = false;
            break;
        }
        if (loop->any)
            value_poll(pool, VALUE_POLL_IDLE);
        cpu_relax();
        if (i % 64 != 63)
            continue;
        uint64_t now = clock_now();
        end = end ? end : now + pool->spin_ns;
        if (now < end)
            continue;
        if (loop->any && worker && !replaced) {
            replaced = true;
            pool_block_begin(pool);
        }
        // Nobody wakes the owner for a new step, so it looks now and then.
        futex_wait(&loop->participants, others,
                   loop->any ? now + LOOK_NS : RNL_FOREVER);
    }
    if (replaced)
        pool_block_end(pool);
    return alone;
}

bool parallel_for_close(struct pool *pool, struct parallel_for *loop,
                        bool worker)
{
    bool alone = false;
    while (!alone) {
        if (!wait_for_others(pool, loop, worker) ||
            loop->any(loop, worker))
            return false;
        lock_take(&pool->lock);
        alone = atomic_load(&loop->participants) == 1;
        if (alone)
            close_locked(pool, loop);
        lock_give(&pool->lock);
    }
    // Somebody may have come and gone since.
    return !loop->any(loop, worker);
}

// How many threads are worth their wake-ups: the nth one shortens the launch by
// about expected / n^2 ticks.
static unsigned helpers(const struct parallel_for *loop, double expected)
{
    unsigned count = 1;
    while (count + 1 < loop->most &&
           (double)count * count * WAKE_COST_TICKS < expected)
        count++;
    return count;
}

// `expected`: estimated ticks on a single thread.
static void run_shared(struct pool *pool, struct parallel_for *loop,
                       double expected)
{
    bool woken = expected > EXPECT_TICKS;
    open_to_others(pool, loop);
    if (woken)
        pool_notify_many(pool, helpers(loop, expected));
    struct pace pace = pace_begin(loop, GROWTH);
    struct time_slice turn = {.since = pace.since};
    while (take_part(loop, &pace)) {
        time_slice_yield(pool, loop->rank, &turn, pace.mark);
        if (woken || pace.mark - pace.since < WAKE_TICKS)
            continue;
        pool_notify(pool, false);
        pace.mark = clock_ticks();  // the next units did not take that time
        woken = true;
    }
    report(loop, &pace);
    wait_for_others(pool, loop, true);
    time_slice_end(pool, &turn);
}

// Runs growing parts until the op is done or turns out to be long: gives the
// ticks that the rest would take, or 0 when it is done.
static double run_alone(struct parallel_for *loop)
{
    uint64_t part = 1, start = clock_ticks(), done = 0, ticks = 0;
    double rest = 0;
    while (done < loop->total && rest <= ALONE_TICKS && !is_stopped(loop)) {
        uint64_t left = loop->total - done;
        part = part < left ? part : left;
        run_part(loop, done, part);
        done += part;
        if (atomic_load_explicit(&loop->failed, memory_order_relaxed))
            return 0;
        ticks = clock_ticks() - start;
        left = loop->total - done;
        // Long enough to judge: how long would the rest take?
        if (ticks > ALONE_TICKS / 4) {
            rest = (double)ticks * (double)left / (double)done;
            part = left;
        } else {
            part *= 4;
        }
    }
    // The pool's lock, taken by readers before the reads, orders the stores.
    atomic_store_explicit(&loop->taken, done, memory_order_relaxed);
    atomic_store_explicit(&loop->spent, ticks, memory_order_relaxed);
    if (rest <= ALONE_TICKS)
        return 0;
    loop->first_most = most_of(loop, done, ticks, start);
    // The next ones may take far longer.
    if (!loop->in_rows && loop->first_most > done)
        loop->first_most = done;
    return rest;
}

// With a pool that is one thread wide nobody is let in, and entering a kernel
// often would be all for nothing.
static void run_in_turns(struct pool *pool, struct parallel_for *loop,
                         bool parallel)
{
    struct pace pace = pace_begin(loop, GROWTH_ALONE);
    struct time_slice turn = {.since = pace.since};
    if (!parallel)
        pace.most = loop->total / FIRST_PARTS + 1;
    while (take_part(loop, &pace))
        time_slice_yield(pool, loop->rank, &turn, pace.mark);
    time_slice_end(pool, &turn);
}

static uint64_t equal_shares(const struct pool *pool,
                             const struct parallel_for *loop)
{
    uint64_t share = (loop->total + pool->width - 1) / pool->width;
    return loop->share_most && share > loop->share_most
               ? loop->share_most
               : share;
}

// Limits the shares of a launch that has long units.
static void limit_shares(const struct pool *pool, struct parallel_for *loop,
                         const struct unit_times *times)
{
    double mean = (double)times->mean, longest = (double)times->longest;
    double equal = mean * (double)loop->total / pool->width;
    double most = equal / (longest * PART_OF_EQUAL);
    double least = (double)LEAST_SHARE_TICKS * FRACTION / mean;
    loop->limit = at_least_one(most > least ? most : least);
    loop->limit_end =
        clock_ticks() +
        (uint64_t)(equal / FRACTION * (PART_OF_EQUAL - 1) / PART_OF_EQUAL);
    loop->share_ticks = SHARE_TICKS;
    loop->in_rows = false;
    loop->first_most = 1;
}

// Returns the ticks that one thread would take for the launch, by the history
// of the kernel; 0 if the history is not known, or if the last launches were
// short.
static double foresee(const struct pool *pool, struct parallel_for *loop)
{
    if (!loop->history)
        return 0;
    struct unit_times times = launch_history_get(loop->history);  // of blocks
    times.mean *= loop->unit;
    times.longest *= loop->unit;
    double all = (double)times.mean * (double)loop->total / FRACTION;
    if (all <= EXPECT_TICKS)
        return 0;
    loop->mean = times.mean;
    loop->share_ticks = LONG_SHARE_TICKS;
    loop->first_most = most_of(loop, loop->total, at_least_one(all), 0);
    if (times.longest > 0)
        limit_shares(pool, loop, &times);
    return all;
}

static void run_with_others(struct pool *pool, struct parallel_for *loop,
                            bool parallel)
{
    double expected = parallel ? INFINITY : foresee(pool, loop);
    if (expected == 0)
        expected = run_alone(loop);
    if (expected > 0)
        run_shared(pool, loop, expected);
    note_history(loop);
}

rnl_status parallel_for_run(struct pool *pool, struct parallel_for *loop,
                            bool parallel)
{
    loop->most = pool->width;
    loop->first_most = loop->limit = loop->limit_end = UINT64_MAX;
    loop->mean = 0;
    loop->share_ticks = parallel || loop->in_rows || pool->width == 1
                              ? LONG_SHARE_TICKS
                              : SHARE_TICKS;
    // Memory is fastest in few long runs, and its parts take equally long.
    loop->share = parallel ? equal_shares(pool, loop) : 0;
    if (loop->total == 1)
        run_part(loop, 0, loop->total);
    else if (pool->width == 1)
        run_in_turns(pool, loop, parallel);
    else
        run_with_others(pool, loop, parallel);
    return loop->status;
}
