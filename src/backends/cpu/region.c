#include "backends/cpu/cpu.h"

#include <math.h>
#include <string.h>

// An op is tried alone first, beginning with one unit, since those at the front
// may hold all of the work: who worked last may still spin, but not for long.
// Once it seems that as much as this is left, others are let in. The sleeping
// ones are woken when much more is to be expected, or after a while: a first
// part can be misleading. A kernel whose last launches took so long that the
// sleeping ones were worth a wake-up is shared from its first unit on.
#define FIRST_PARTS 4096
#define ALONE_TICKS 2000
#define WAKE_TICKS 20000
#define EXPECT_TICKS 60000
#define LOOK_NS 100000

// How long a share takes at most, as far as those before tell. Memory is fast
// in few long runs: 1 to 4 ms, so that work of a higher priority need not wait
// for long. If units are not known to be alike, 30 to 130 us, so that all
// threads finish at about the same time.
#define LONG_SHARE_TICKS 4000000
#define SHARE_TICKS 131072
#define GROWTH 2
#define GROWTH_ALONE 64

// Units are long if those of a share took this many times the mean. A share has
// at most half of an equal part of the units, so that it may take as long as an
// equal part then. They count if a thread had more than an 8th of its time for
// them, and more than 0.1 ms or so.
#define LONG_UNITS 2
#define PART_THAT_COUNTS 8
#define TICKS_THAT_COUNT (2 * SHARE_TICKS)

// Where units are long, a share of long ones only takes a 16th of an equal
// part. Shares of average units take at least 4 to 16 us, because to begin a
// share costs 0.1 us or more.
#define PART_OF_EQUAL 16
#define LEAST_SHARE_TICKS 16384

#define FRACTION 16  // of a tick, in struct unit_times

static void fail_part(struct region *region, rnl_status status,
                      const char *message)
{
    if (atomic_exchange(&region->failed, 1) == 0) {
        region->status = status;
        memcpy(region->message, message, REGION_MESSAGE);
    }
    atomic_store(&region->taken, region->total);  // nobody starts more
}

static void run_part(struct region *region, uint64_t first, uint64_t count)
{
    char message[REGION_MESSAGE];
    rnl_status status = region->run(region, first, count, message);
    if (status != RNL_OK)
        fail_part(region, status, message);
}

// Before another part of it is begun.
static bool is_stopped(struct region *region)
{
    char message[REGION_MESSAGE];
    const struct stop_scope *scope = &region->scope;
    enum stop_reason reason = 0;
    if (region->queue && queue_is_cancelled(region->queue))
        reason = STOP_CANCELLED;
    else if (scope->deadline != 0 && clock_now() > scope->deadline)
        reason = STOP_LIMIT;
    if (__builtin_expect(reason == 0, 1))
        return false;
    stop_describe_launch(reason, reason == STOP_LIMIT ? scope->watch->limit_ns
                                                      : 0,
                         message, sizeof message);
    fail_part(region, stop_status(reason), message);
    return true;
}

// How many units one who takes part takes at once, by what the last ones took.
struct pace {
    uint64_t most;
    uint64_t since;   // clock_ticks at the beginning
    uint64_t mark;    // the same at the end of the last ones
    uint64_t growth;  // how many times as many it may be the next time
    uint64_t long_ticks, long_units;
    uint64_t begin, ran;  // ns at the beginning, if the mean is known: of the
                          // clock, and of the thread's processor time
};

static struct pace pace_begin(const struct region *region, uint64_t growth)
{
    uint64_t now = clock_ticks();
    struct pace pace = {region->first_most, now, now, growth, 0, 0, 0, 0};
    if (region->mean > 0) {
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

// The most units of the next share, if `count` units took `ticks`.
static uint64_t most_of(const struct region *region, uint64_t count,
                        uint64_t ticks)
{
    double share = (double)region->share_ticks;
    uint64_t most = at_least_one((double)count * share / ((double)ticks + 1));
    return most < region->limit ? most : region->limit;
}

// Adds a share to the long ones if its units took far longer than the mean.
static void look_for_long(const struct region *region, struct pace *pace,
                          uint64_t count, uint64_t spent)
{
    if (region->mean > 0 &&
        (double)spent * FRACTION >=
            LONG_UNITS * (double)region->mean * (double)count) {
        pace->long_ticks += spent;
        pace->long_units += count;
    }
}

// The next ones may take longer than the last.
static void keep_pace(const struct region *region, struct pace *pace,
                      uint64_t count)
{
    uint64_t now = clock_ticks(), spent = now - pace->mark;
    pace->mark = now;
    look_for_long(region, pace, count, spent);
    if (spent <= region->share_ticks && count < pace->most)
        return;
    uint64_t most = most_of(region, count, spent);
    if (most < pace->most)
        pace->most = most;
    else if (count == pace->most)
        pace->most = most / pace->growth < count ? most : pace->growth * count;
}

static uint64_t part_size(const struct region *region, uint64_t taken)
{
    if (region->share > 0)
        return region->share;
    uint64_t pieces = region->most;
    if (pieces > 1 && !region->in_rows)
        pieces *= 2;
    uint64_t part = (region->total - taken) / pieces;
    return part ? part : 1;
}

// Shares shrink towards the end, so that all finish at about the same time;
// rows begin with equal ones.
static bool take_part(struct region *region, struct pace *pace)
{
    uint64_t taken = atomic_load_explicit(&region->taken,
                                          memory_order_relaxed);
    if (taken >= region->total || is_stopped(region))
        return false;
    uint64_t count = part_size(region, taken);
    if (count > pace->most)
        count = pace->most;
    uint64_t first = atomic_fetch_add(&region->taken, count);
    if (first >= region->total)
        return false;
    uint64_t left = region->total - first;
    count = count < left ? count : left;
    run_part(region, first, count);
    keep_pace(region, pace, count);
    return true;
}

// Ticks in which the thread ran: one that wakes another thread often loses its
// processor to that.
static double ticks_run(const struct pace *pace)
{
    double ticks = (double)(clock_ticks() - pace->since);
    double rate = ticks / ((double)(clock_now() - pace->begin) + 1);
    return (double)(clock_of_thread() - pace->ran) * rate;
}

// Adds what a thread measured to the region. Time in which the thread did not
// run is taken off the time of the shares with long units.
static void report(struct region *region, const struct pace *pace)
{
    double spent = (double)(pace->mark - pace->since);
    if (!region->history)
        return;
    if (region->mean > 0) {
        double others = spent - (double)pace->long_ticks;
        double ran = ticks_run(pace);
        spent = ran < spent ? ran : spent;
        double rest = spent - others;
        if (rest > TICKS_THAT_COUNT && rest > spent / PART_THAT_COUNTS) {
            atomic_fetch_add(&region->long_ticks, (uint64_t)rest);
            atomic_fetch_add(&region->long_units, pace->long_units);
        }
    }
    atomic_fetch_add(&region->spent, (uint64_t)spent);
}

// A launch whose units were all slower than those of the launches before has no
// long ones. Without a mean to compare with, it is taken to have some, but for
// rows, which lose most by small shares.
static uint64_t longest_of(struct region *region, uint64_t mean)
{
    uint64_t units = atomic_load(&region->long_units);
    if (region->mean == 0)
        return region->in_rows ? 0 : LONG_UNITS * mean;
    uint64_t longest =
        units ? atomic_load(&region->long_ticks) * FRACTION / units : 0;
    return longest >= LONG_UNITS * mean ? longest : 0;
}

static void note_history(struct region *region)
{
    if (!region->history || atomic_load(&region->failed))
        return;
    struct unit_times times = {0};
    uint64_t spent = atomic_load(&region->spent);
    if (spent > EXPECT_TICKS) {
        times.mean = spent * FRACTION / region->total + 1;
        times.longest = longest_of(region, times.mean) / region->unit;
        times.mean = (times.mean + region->unit - 1) / region->unit;
    }
    history_note(region->history, &times);
}

// --- Sharing ---------------------------------------------------------------

static void open_locked(struct pool *pool, struct region *region)
{
    ASSERT(lock_is_held(&pool->lock));
    region->next = pool->regions;
    region->link = &pool->regions;
    if (region->next)
        region->next->link = &region->next;
    pool->regions = region;
    region->open = true;
    for (unsigned rank = region->rank; rank-- > 0;)
        atomic_fetch_add(&pool->regions_above[rank], 1);
    atomic_fetch_add(&pool->region_count, 1);
}

static void open_to_others(struct pool *pool, struct region *region)
{
    atomic_store(&region->participants, 1);
    lock_take(&pool->lock);
    open_locked(pool, region);
    lock_give(&pool->lock);
}

static bool open_again_locked(struct pool *pool, struct region *region)
{
    ASSERT(lock_is_held(&pool->lock));
    bool opens = !region->open;
    if (opens)
        open_locked(pool, region);
    return opens;
}

void region_offer(struct pool *pool, struct region *region, bool blocks)
{
    if (pool->width == 1 && !blocks)
        return;
    lock_take(&pool->lock);
    bool opens = open_again_locked(pool, region);
    lock_give(&pool->lock);
    if (opens)
        pool_notify(pool, false);
}

bool region_poke(struct pool *pool, struct region *region)
{
    atomic_store(&region->poked, true);
    lock_take(&pool->lock);
    bool opens = (pool->width > 1 || pool->blocked > 0) &&
                 open_again_locked(pool, region);
    lock_give(&pool->lock);
    return opens;
}

static void close_locked(struct pool *pool, struct region *region)
{
    ASSERT(lock_is_held(&pool->lock));
    if (!region->open)
        return;
    *region->link = region->next;
    if (region->next)
        region->next->link = region->link;
    region->open = false;
    for (unsigned rank = region->rank; rank-- > 0;)
        COUNT_DOWN(&pool->regions_above[rank]);
    COUNT_DOWN(&pool->region_count);
}

static bool has_more(const struct region *region, bool worker)
{
    return region->any ? region->any(region, worker)
                       : atomic_load(&region->taken) < region->total;
}

// The most urgent one.
static struct region *find_locked(struct pool *pool, struct queue *queue)
{
    ASSERT(lock_is_held(&pool->lock));
    struct region *next, *best = NULL;
    for (struct region *at = pool->regions; at; at = next) {
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
static void leave_early(struct pool *pool, struct region *region)
{
    lock_take(&pool->lock);
    if (has_more(region, true))
        open_again_locked(pool, region);
    lock_give(&pool->lock);
}

// Until nothing is left to take, or something else wants a turn of a worker.
static void take_parts(struct pool *pool, struct region *region, bool worker)
{
    struct pace pace = pace_begin(region, GROWTH);
    while (region->take ? region->take(region, worker)
                        : take_part(region, &pace)) {
        uint64_t now = region->take ? clock_ticks() : pace.mark;
        if (!worker || !pool_wants_turn(pool, region->rank, pace.since, now))
            continue;
        leave_early(pool, region);
        break;
    }
    report(region, &pace);
}

bool region_join(struct pool *pool, struct queue *queue)
{
    if (atomic_load_explicit(&pool->region_count, memory_order_relaxed) == 0)
        return false;
    lock_take(&pool->lock);
    struct region *region = find_locked(pool, queue);
    if (region &&
        atomic_fetch_add(&region->participants, 1) + 1 >= region->most)
        close_locked(pool, region);
    bool more = pool->regions != NULL;
    lock_give(&pool->lock);
    if (!region)
        return false;
    if (more)
        pool_notify(pool, false);
    take_parts(pool, region, !queue);
    // The owner frees the region once it sees that nobody is left: the wake
    // may then hit a word that is something else, which wakes for no reason.
    if (COUNT_DOWN(&region->participants) == 2)
        futex_wake(&region->participants, 1);
    return true;
}

// What only a worker can take keeps the region open.
static void close_if_done(struct pool *pool, struct region *region)
{
    lock_take(&pool->lock);
    if (!has_more(region, true))
        close_locked(pool, region);
    lock_give(&pool->lock);
}

// False as soon as there is something to take again. What is waited for may be
// a step that takes as long as others want, and those need workers: a worker
// that waits for long has another one in its place.
static bool wait_for_others(struct pool *pool, struct region *region,
                            bool worker)
{
    close_if_done(pool, region);
    bool alone = true, replaced = false;
    uint64_t end = 0;
    uint32_t others;
    for (unsigned i = 0; (others = atomic_load(&region->participants)) > 1;
         i++) {
        if (region->any && region->any(region, worker)) {
            alone = false;
            break;
        }
        if (region->any)
            watch_glance(pool, GLANCE_IDLE);
        cpu_relax();
        if (i % 64 != 63)
            continue;
        uint64_t now = clock_now();
        end = end ? end : now + pool->spin_ns;
        if (now < end)
            continue;
        if (region->any && worker && !replaced) {
            replaced = true;
            pool_block_begin(pool);
        }
        // Nobody wakes the owner for a new step, so it looks now and then.
        futex_wait(&region->participants, others,
                   region->any ? now + LOOK_NS : RNL_FOREVER);
    }
    if (replaced)
        pool_block_end(pool);
    return alone;
}

bool region_close(struct pool *pool, struct region *region, bool worker)
{
    bool alone = false;
    while (!alone) {
        if (!wait_for_others(pool, region, worker) ||
            region->any(region, worker))
            return false;
        lock_take(&pool->lock);
        alone = atomic_load(&region->participants) == 1;
        if (alone)
            close_locked(pool, region);
        lock_give(&pool->lock);
    }
    // Somebody may have come and gone since.
    return !region->any(region, worker);
}

// `expected`: ticks that it will take one thread.
static void run_shared(struct pool *pool, struct region *region,
                       double expected)
{
    bool woken = expected > EXPECT_TICKS;
    open_to_others(pool, region);
    if (woken)
        pool_notify(pool, false);
    struct pace pace = pace_begin(region, GROWTH);
    struct turn turn = {.since = pace.since};
    while (take_part(region, &pace)) {
        turn_pass(pool, region->rank, &turn, pace.mark);
        if (woken || pace.mark - pace.since < WAKE_TICKS)
            continue;
        pool_notify(pool, false);
        pace.mark = clock_ticks();  // the next units did not take that time
        woken = true;
    }
    report(region, &pace);
    wait_for_others(pool, region, true);
    turn_end(pool, &turn);
}

// Runs growing parts until the op is done or turns out to be long: gives the
// ticks that the rest would take, or 0 when it is done.
static double run_alone(struct region *region)
{
    uint64_t part = 1, start = clock_ticks(), done = 0, ticks = 0;
    double rest = 0;
    while (done < region->total && rest <= ALONE_TICKS && !is_stopped(region)) {
        uint64_t left = region->total - done;
        part = part < left ? part : left;
        run_part(region, done, part);
        done += part;
        if (atomic_load_explicit(&region->failed, memory_order_relaxed))
            return 0;
        ticks = clock_ticks() - start;
        left = region->total - done;
        // Long enough to judge: how long would the rest take?
        if (ticks > ALONE_TICKS / 4) {
            rest = (double)ticks * (double)left / (double)done;
            part = left;
        } else {
            part *= 4;
        }
    }
    // The pool's lock, which others take before they read these, orders the
    // stores.
    atomic_store_explicit(&region->taken, done, memory_order_relaxed);
    atomic_store_explicit(&region->spent, ticks, memory_order_relaxed);
    if (rest <= ALONE_TICKS)
        return 0;
    region->first_most = most_of(region, done, ticks);
    // The next ones may take far longer.
    if (!region->in_rows && region->first_most > done)
        region->first_most = done;
    return rest;
}

// With a pool that is one thread wide nobody is let in, and entering a kernel
// often would be all for nothing.
static void run_in_turns(struct pool *pool, struct region *region,
                         bool parallel)
{
    struct pace pace = pace_begin(region, GROWTH_ALONE);
    struct turn turn = {.since = pace.since};
    if (!parallel)
        pace.most = region->total / FIRST_PARTS + 1;
    while (take_part(region, &pace))
        turn_pass(pool, region->rank, &turn, pace.mark);
    turn_end(pool, &turn);
}

static uint64_t equal_shares(const struct pool *pool,
                             const struct region *region)
{
    uint64_t share = (region->total + pool->width - 1) / pool->width;
    return region->share_most && share > region->share_most
               ? region->share_most
               : share;
}

// Limits the shares of a launch that has long units.
static void limit_shares(const struct pool *pool, struct region *region,
                         const struct unit_times *times)
{
    double mean = (double)times->mean, longest = (double)times->longest;
    double most =
        mean * (double)region->total / (longest * PART_OF_EQUAL * pool->width);
    double least = (double)LEAST_SHARE_TICKS * FRACTION / mean;
    region->limit = at_least_one(most > least ? most : least);
    region->share_ticks = SHARE_TICKS;
    region->in_rows = false;
    region->first_most = 1;
}

// Returns the ticks that one thread would take for the launch, by the history
// of the kernel; 0 if the history is not known, or if the last launches were
// short.
static double foresee(const struct pool *pool, struct region *region)
{
    if (!region->history)
        return 0;
    struct unit_times times = history_get(region->history);  // of blocks
    times.mean *= region->unit;
    times.longest *= region->unit;
    double all = (double)times.mean * (double)region->total / FRACTION;
    if (all <= EXPECT_TICKS)
        return 0;
    region->mean = times.mean;
    region->share_ticks = LONG_SHARE_TICKS;
    region->first_most = most_of(region, region->total, at_least_one(all));
    if (times.longest > 0)
        limit_shares(pool, region, &times);
    return all;
}

static void run_with_others(struct pool *pool, struct region *region,
                            bool parallel)
{
    double expected = parallel ? INFINITY : foresee(pool, region);
    if (expected == 0)
        expected = run_alone(region);
    if (expected > 0)
        run_shared(pool, region, expected);
    note_history(region);
}

rnl_status region_run(struct pool *pool, struct region *region, bool parallel)
{
    region->most = pool->width;
    region->first_most = region->limit = UINT64_MAX;
    region->mean = 0;
    region->share_ticks = parallel || region->in_rows || pool->width == 1
                              ? LONG_SHARE_TICKS
                              : SHARE_TICKS;
    // Memory is fastest in few long runs, and its parts take equally long.
    region->share = parallel ? equal_shares(pool, region) : 0;
    if (region->total == 1)
        run_part(region, 0, region->total);
    else if (pool->width == 1)
        run_in_turns(pool, region, parallel);
    else
        run_with_others(pool, region, parallel);
    return region->status;
}
