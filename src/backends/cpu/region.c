#include "backends/cpu/cpu.h"

#include <math.h>
#include <string.h>

// An op is tried alone first, beginning with a small part: who worked last may
// still spin, but not for long. Once it seems that as much as this is left,
// others are let in. The sleeping ones are woken when much more is to be
// expected, or after a while: a first part can be misleading.
#define FIRST_PARTS 4096
#define ALONE_TICKS 2000
#define WAKE_TICKS 20000
#define EXPECT_TICKS 60000
#define LOOK_NS 100000

static void run_part(struct region *region, uint64_t first, uint64_t count)
{
    char message[REGION_MESSAGE];
    rnl_status status = region->run(region, first, count, message);
    if (status == RNL_OK)
        return;
    if (atomic_exchange(&region->failed, 1) == 0) {
        region->status = status;
        memcpy(region->message, message, sizeof message);
    }
    atomic_store(&region->taken, region->total);  // nobody starts more
}

static uint64_t part_size(const struct region *region, uint64_t taken)
{
    if (region->share > 0)
        return region->share;
    uint64_t pieces = (uint64_t)region->most * (region->in_rows ? 1 : 2);
    uint64_t part = (region->total - taken) / pieces;
    return part ? part : 1;
}

// Shares shrink towards the end, so that all finish at about the same time;
// rows begin with equal ones.
static bool take_part(struct region *region)
{
    uint64_t taken = atomic_load_explicit(&region->taken,
                                          memory_order_relaxed);
    if (taken >= region->total)
        return false;
    uint64_t count = part_size(region, taken);
    uint64_t first = atomic_fetch_add(&region->taken, count);
    if (first >= region->total)
        return false;
    uint64_t left = region->total - first;
    run_part(region, first, count < left ? count : left);
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
    atomic_fetch_sub(&pool->region_count, 1);
}

static bool has_more(const struct region *region, bool worker)
{
    return region->any ? region->any(region, worker)
                       : atomic_load(&region->taken) < region->total;
}

static struct region *find_locked(struct pool *pool, struct queue *queue)
{
    struct region *next;
    for (struct region *at = pool->regions; at; at = next) {
        next = at->next;
        if (!has_more(at, true))
            close_locked(pool, at);  // nothing is left to join for
        else if (!queue || (at->queue == queue && has_more(at, false)))
            return at;
    }
    return NULL;
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
    while (region->take ? region->take(region, !queue) : take_part(region)) {
    }
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
    open_to_others(pool, region);
    if (woken)
        pool_notify(pool, false);
    while (take_part(region)) {
        if (woken || clock_ticks() - start < WAKE_TICKS)
            continue;
        pool_notify(pool, false);
        woken = true;
    }
    wait_for_others(pool, region, true);
}

// Runs growing parts until the op is done or turns out to be long: gives the
// ticks that the rest would take, or 0 when it is done.
static double run_alone(struct region *region)
{
    uint64_t part = region->total / FIRST_PARTS;
    uint64_t start = clock_ticks(), done = 0;
    part = part ? part : 1;
    while (done < region->total) {
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
            return rest;
        }
        part = left;
    }
    atomic_store(&region->taken, done);
    return 0;
}

rnl_status region_run(struct pool *pool, struct region *region, bool parallel)
{
    region->most = pool->width;
    // Memory is fastest in few long runs, and its parts take equally long.
    region->share =
        parallel ? (region->total + pool->width - 1) / pool->width : 0;
    double expected = INFINITY;
    if (region->total == 1 || pool->width == 1)
        run_part(region, 0, region->total);
    else if (parallel || (expected = run_alone(region)) > 0)
        run_shared(pool, region, expected);
    return region->status;
}
