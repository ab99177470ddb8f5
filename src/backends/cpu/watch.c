// Words that blocked queues wait for. Nobody is told when host code or a kernel
// writes one, so threads that have nothing better to do look at them: workers
// while they idle, and threads that synchronize. What the pool itself writes is
// looked for at once.

#include "backends/cpu/cpu.h"

#include <stdio.h>

#define TICKS_MOST 400  // for a look at one word

static unsigned bucket_of(const char *address)
{
    // Words of one kind are often next to each other or a page apart.
    uint64_t hash = (uint64_t)(uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15);
    return (unsigned)(hash >> 58);
}

// --- Looking ---------------------------------------------------------------

// Moves those of the bucket whose values hold to the list `*taken`.
static void take_locked(struct watches *all, unsigned bucket,
                        struct watch **taken)
{
    struct watch **link = &all->buckets[bucket];
    while (*link) {
        struct watch *watch = *link;
        if (!value_holds(watch->value)) {
            link = &watch->next;
            continue;
        }
        *link = watch->next;
        watch->next = *taken;
        *taken = watch;
        atomic_fetch_sub(&all->count, 1);
    }
    if (!all->buckets[bucket])
        all->occupied &= ~(UINT64_C(1) << bucket);
}

static bool release(struct watch *watch)
{
    bool any = watch != NULL;
    while (watch) {
        // Once unblocked, the watch is its queue's again.
        struct watch *next = watch->next;
        queue_unblock(watch->queue);
        watch = next;
    }
    return any;
}

// What it took, but for times in which the thread did not have a processor.
static void note_look(struct watches *all, uint64_t start)
{
    uint64_t most = TICKS_MOST * (uint64_t)(atomic_load(&all->count) + 1);
    uint64_t end = clock_ticks();
    uint64_t cost = end - start < most ? end - start : most;
    atomic_store_explicit(&all->looked, end, memory_order_relaxed);
    atomic_store_explicit(&all->cost, cost, memory_order_relaxed);
}

bool watch_glance_now(struct pool *pool, unsigned pause)
{
    struct watches *all = &pool->watches;
    uint64_t start = clock_ticks();
    uint64_t cost = atomic_load_explicit(&all->cost, memory_order_relaxed);
    uint64_t since =
        start - atomic_load_explicit(&all->looked, memory_order_relaxed);
    if (since < pause * cost || !lock_try(&all->lock))
        return false;
    struct watch *taken = NULL;
    for (uint64_t left = all->occupied; left; left &= left - 1)
        take_locked(all, (unsigned)__builtin_ctzll(left), &taken);
    note_look(all, start);
    lock_give(&all->lock);
    return release(taken);
}

bool watch_look_at(struct pool *pool, const char *address)
{
    struct watches *all = &pool->watches;
    if (atomic_load(&all->count) == 0)
        return false;
    struct watch *taken = NULL;
    lock_take(&all->lock);
    take_locked(all, bucket_of(address), &taken);
    lock_give(&all->lock);
    return release(taken);
}

uint64_t watch_nap_ns(struct pool *pool, uint64_t wanted)
{
    if (!watch_pending(pool))
        return wanted;
    // Two ticks a nanosecond: a look takes at most about a 64th of the time.
    uint64_t most = 32 * atomic_load_explicit(&pool->watches.cost,
                                              memory_order_relaxed);
    most = most > WATCH_NAP_NS ? most : WATCH_NAP_NS;
    return wanted < most ? wanted : most;
}

// --- Waiting ---------------------------------------------------------------

bool watch_add(struct pool *pool, struct watch *watch)
{
    struct watches *all = &pool->watches;
    // Counted first: who goes to sleep without having seen the count is seen by
    // pool_watch_begin. Once listed, queue and pool may be gone at any moment.
    atomic_fetch_add(&all->count, 1);
    pool_watch_begin(pool);
    lock_take(&all->lock);
    bool holds = value_holds(watch->value);
    if (holds) {
        atomic_fetch_sub(&all->count, 1);
    } else {
        unsigned bucket = bucket_of(watch->value->address);
        watch->next = all->buckets[bucket];
        all->buckets[bucket] = watch;
        all->occupied |= UINT64_C(1) << bucket;
    }
    lock_give(&all->lock);
    return !holds;
}

void watch_describe(const struct watch *watch, char *text, size_t size)
{
    static const char *const words[] = {
        [RNL_WAIT_GEQ] = "at least", [RNL_WAIT_EQ] = "equal to",
        [RNL_WAIT_AND] = "sharing a bit with",
        [RNL_WAIT_NOR] = "free of a bit outside of",
    };
    const struct value *value = watch->value;
    snprintf(text, size,
             "it waits for the %u-bit word at %p, which is 0x%llx, to be %s "
             "0x%llx",
             value->width, (void *)value->address,
             (unsigned long long)value_read(value), words[value->action],
             (unsigned long long)value->value);
}
