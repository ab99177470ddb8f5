#include "backends/cpu/cpu.h"

#include <math.h>
#include <string.h>

// An op is tried alone first, beginning with one unit, since those at the front
// may hold all of the work: who worked last may still spin, but not for long.
// Once it seems that as much as this is left, others are let in. The sleeping
// ones are woken when much more is to be expected, or after a while: a first
// part can be misleading.
#define FIRST_PARTS 4096
#define ALONE_TICKS 2000
#define WAKE_TICKS 20000
#define EXPECT_TICKS 60000
#define LOOK_NS 100000

// How long a share takes at most, as far as those before tell, so that work of
// a higher priority need not wait for long: 1 to 4 ms.
#define SHARE_TICKS 4000000
#define GROWTH 2
#define GROWTH_ALONE 64

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
    uint64_t mark;    // clock_ticks at the end of the last ones
    uint64_t growth;  // how many times as many it may be the next time
};

static uint64_t most_of(uint64_t count, uint64_t ticks)
{
    double most = (double)count * SHARE_TICKS / ((double)ticks + 1);
    return most < 1 ? 1 : most < 1e18 ? (uint64_t)most : (uint64_t)1e18;
}

// The next ones may take longer than the last.
static void keep_pace(struct pace *pace, uint64_t count)
{
    uint64_t now = clock_ticks(), spent = now - pace->mark;
    pace->mark = now;
    if (spent <= SHARE_TICKS && count < pace->most)
        return;
    uint64_t most = most_of(count, spent);
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
    run_part(region, first, count < left ? count : left);
    keep_pace(pace, count);
    return true;
}

// --- Sharing ---------------------------------------------------------------

static void open_locked(struct pool *pool, struct region *region)
{
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
    if (!region->open)
        return;
    *region->link = region->next;
    if (region->next)
        region->next->link = region->link;
    region->open = false;
    for (unsigned rank = region->rank; rank-- > 0;)
        atomic_fetch_sub(&pool->regions_above[rank], 1);
    atomic_fetch_sub(&pool->region_count, 1);
}

static bool has_more(const struct region *region, bool worker)
{
    return region->any ? region->any(region, worker)
                       : atomic_load(&region->taken) < region->total;
}

// The most urgent one.
static struct region *find_locked(struct pool *pool, struct queue *queue)
{
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
    uint64_t since = clock_ticks();
    struct pace pace = {region->first_most, since, GROWTH};
    while (region->take ? region->take(region, worker)
                        : take_part(region, &pace)) {
        uint64_t now = region->take ? clock_ticks() : pace.mark;
        if (!worker || !pool_wants_turn(pool, region->rank, since, now))
            continue;
        leave_early(pool, region);
        return;
    }
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
    if (atomic_fetch_sub(&region->participants, 1) == 2)
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
    uint64_t start = clock_ticks();
    bool woken = expected > EXPECT_TICKS;
    struct turn turn = {.since = start};
    struct pace pace = {region->first_most, start, GROWTH};
    open_to_others(pool, region);
    if (woken)
        pool_notify(pool, false);
    while (take_part(region, &pace)) {
        turn_pass(pool, region->rank, &turn, pace.mark);
        if (woken || pace.mark - start < WAKE_TICKS)
            continue;
        pool_notify(pool, false);
        woken = true;
    }
    wait_for_others(pool, region, true);
    turn_end(pool, &turn);
}

// Runs growing parts until the op is done or turns out to be long: gives the
// ticks that the rest would take, or 0 when it is done.
static double run_alone(struct region *region)
{
    uint64_t part = 1, start = clock_ticks(), done = 0;
    while (done < region->total && !is_stopped(region)) {
        uint64_t left = region->total - done;
        part = part < left ? part : left;
        run_part(region, done, part);
        done += part;
        if (atomic_load_explicit(&region->failed, memory_order_relaxed))
            return 0;
        uint64_t ticks = clock_ticks() - start;
        left = region->total - done;
        if (ticks <= ALONE_TICKS / 4) {
            part *= 4;
            continue;
        }
        // Long enough to judge: how long would the rest take?
        double rest = (double)ticks * (double)left / (double)done;
        if (rest > ALONE_TICKS) {
            atomic_store(&region->taken, done);
            region->first_most = most_of(done, ticks);
            return rest;
        }
        part = left;
    }
    atomic_store(&region->taken, done);
    return 0;
}

// With a pool that is one thread wide nobody is let in, and entering a kernel
// often would be all for nothing.
static void run_in_turns(struct pool *pool, struct region *region,
                         bool parallel)
{
    struct turn turn = {.since = clock_ticks()};
    struct pace pace = {UINT64_MAX, turn.since, GROWTH_ALONE};
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

rnl_status region_run(struct pool *pool, struct region *region, bool parallel)
{
    region->most = pool->width;
    region->first_most = UINT64_MAX;
    // Memory is fastest in few long runs, and its parts take equally long.
    region->share = parallel ? equal_shares(pool, region) : 0;
    double expected = INFINITY;
    if (region->total == 1)
        run_part(region, 0, region->total);
    else if (pool->width == 1)
        run_in_turns(pool, region, parallel);
    else if (parallel || (expected = run_alone(region)) > 0)
        run_shared(pool, region, expected);
    return region->status;
}
