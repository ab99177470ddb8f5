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

// Goes on by one in a bucket's list; a watch whose value holds is moved to the
// list `*taken`. Returns where the next one is linked.
static struct watch **step_locked(struct watches *all, struct watch **link,
                                  struct watch **taken)
{
    ASSERT(lock_is_held(&all->lock));
    struct watch *watch = *link;
    __builtin_prefetch(watch->next);
    if (!value_holds(&watch->value))
        return &watch->next;
    *link = watch->next;
    watch->next = *taken;
    *taken = watch;
    COUNT_DOWN(&all->count);
    return link;
}

static void note_empty_locked(struct watches *all, unsigned bucket)
{
    ASSERT(lock_is_held(&all->lock));
    if (!all->buckets[bucket])
        all->occupied &= ~(UINT64_C(1) << bucket);
}

static struct watch *take_bucket_locked(struct watches *all, unsigned bucket)
{
    ASSERT(lock_is_held(&all->lock));
    struct watch *taken = NULL, **link = &all->buckets[bucket];
    while (*link)
        link = step_locked(all, link, &taken);
    note_empty_locked(all, bucket);
    return taken;
}

static unsigned first_of(uint64_t bits)
{
    return (unsigned)__builtin_ctzll(bits);
}

// With thousands of watches neither they nor their words are cached: walks the
// buckets abreast, so that many are on their way at once.
static struct watch *take_locked(struct watches *all, uint64_t buckets)
{
    ASSERT(lock_is_held(&all->lock));
    struct watch **links[WATCH_BUCKETS];
    struct watch *taken = NULL;
    uint64_t active = all->occupied & buckets;
    for (uint64_t left = active; left; left &= left - 1)
        links[first_of(left)] = &all->buckets[first_of(left)];
    while (active) {
        for (uint64_t left = active; left; left &= left - 1)
            __builtin_prefetch((*links[first_of(left)])->value.address);
        for (uint64_t left = active; left; left &= left - 1) {
            struct watch ***link = &links[first_of(left)];
            *link = step_locked(all, *link, &taken);
            if (!**link)
                active &= ~(left & -left);
        }
    }
    for (uint64_t left = all->occupied & buckets; left; left &= left - 1)
        note_empty_locked(all, first_of(left));
    return taken;
}

static bool release(struct watch *watch)
{
    bool any = watch != NULL;
    while (watch) {
        // Once it is not listed, the watch is its queue's again.
        struct watch *next = watch->next;
        struct queue *queue = watch->queue;
        queue_unblock(queue, &watch->listed);
        watch = next;
    }
    return any;
}

static uint64_t cost_most(struct watches *all)
{
    return TICKS_MOST * ((uint64_t)atomic_load(&all->count) + 1);
}

// What it took, but for times in which the thread did not have a processor.
static void note_look(struct watches *all, uint64_t start)
{
    uint64_t most = cost_most(all);
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
    struct watch *taken = take_locked(all, UINT64_MAX);
    note_look(all, start);
    lock_give(&all->lock);
    return release(taken);
}

bool watch_look_at(struct pool *pool, const char *address)
{
    struct watches *all = &pool->watches;
    if (atomic_load(&all->count) == 0)
        return false;
    lock_take(&all->lock);
    struct watch *taken = take_bucket_locked(all, bucket_of(address));
    lock_give(&all->lock);
    return release(taken);
}

// --- The sentinel ----------------------------------------------------------
//
// Young waits are often over soon: one is found after at most half of the time
// that it took, or a millisecond. What has waited for long will hardly mind a
// 32nd of that; and a look at thousands of words is spread over many naps.

#define NAP_SHORTEST_NS (WATCH_NAP_NS / 20)
#define NAP_LONGEST_NS (8 * WATCH_NAP_NS)

static uint64_t clamp(uint64_t value, uint64_t least, uint64_t most)
{
    return value < least ? least : value > most ? most : value;
}

uint64_t watch_nap_ns(uint64_t idle)
{
    if (idle < 32 * WATCH_NAP_NS)
        return clamp(idle / 2, NAP_SHORTEST_NS, WATCH_NAP_NS);
    return clamp(idle / 32, WATCH_NAP_NS, NAP_LONGEST_NS);
}

unsigned watch_share(uint64_t cost, uint64_t nap, uint64_t idle)
{
    // A 64th of the time, and less as time goes by. Two ticks a nanosecond.
    uint64_t budget = 2 * nap / clamp(idle / WATCH_NAP_NS, 64, 128);
    return (unsigned)clamp(WATCH_BUCKETS * budget / (cost + 1), 1,
                           WATCH_BUCKETS);
}

void watch_look_around(struct pool *pool, uint64_t nap, uint64_t idle)
{
    struct watches *all = &pool->watches;
    uint64_t cost = atomic_load_explicit(&all->cost, memory_order_relaxed);
    cost = clamp(cost, 0, cost_most(all));  // there may be fewer by now
    unsigned count = watch_share(cost, nap, idle);
    if (count == WATCH_BUCKETS) {
        watch_glance(pool, 0);
        return;
    }
    lock_take(&all->lock);
    uint64_t some = ((UINT64_C(1) << count) - 1) << all->next;
    all->next = all->next + count < WATCH_BUCKETS ? all->next + count : 0;
    struct watch *taken = take_locked(all, some);
    lock_give(&all->lock);
    release(taken);
}

// --- Waiting ---------------------------------------------------------------

bool watch_add(struct pool *pool, struct watch *watch)
{
    struct watches *all = &pool->watches;
    // Counted first: who goes to sleep without having seen the count is seen by
    // pool_watch_begin.
    atomic_fetch_add(&all->count, 1);
    pool_watch_begin(pool);
    lock_take(&all->lock);
    bool holds = value_holds(&watch->value);
    if (holds) {
        COUNT_DOWN(&all->count);
    } else {
        unsigned bucket = bucket_of(watch->value.address);
        watch->next = all->buckets[bucket];
        all->buckets[bucket] = watch;
        atomic_store(&watch->listed, true);
        all->occupied |= UINT64_C(1) << bucket;
    }
    lock_give(&all->lock);
    return !holds;
}

bool watch_withdraw(struct pool *pool, struct watch *watch)
{
    struct watches *all = &pool->watches;
    unsigned bucket = bucket_of(watch->value.address);
    lock_take(&all->lock);
    struct watch **link = &all->buckets[bucket];
    while (*link && *link != watch)
        link = &(*link)->next;
    bool found = *link != NULL;
    if (found) {
        *link = watch->next;
        COUNT_DOWN(&all->count);
        note_empty_locked(all, bucket);
        atomic_store(&watch->listed, false);
    }
    lock_give(&all->lock);
    return found;
}

bool watch_values(struct queue *queue, const struct op_values *values,
                  size_t *done, struct watch *watch)
{
    struct pool *pool = stream_pool(queue->stream);
    if (atomic_load(&watch->listed))
        return false;
    while (*done < values->count) {
        const struct value *value = &values->items[(*done)++];
        if (value->action == RNL_WRITE_VALUE) {
            value_write(value);
            watch_look_at(pool, value->address);
        } else if (!value_holds(value)) {
            *watch = (struct watch){.value = *value, .queue = queue};
            if (watch_add(pool, watch))
                return false;
        }
    }
    return true;
}

void watch_describe(const struct watch *watch, char *text, size_t size)
{
    static const char *const words[] = {
        [RNL_WAIT_GEQ] = "at least", [RNL_WAIT_EQ] = "equal to",
        [RNL_WAIT_AND] = "sharing a bit with",
        [RNL_WAIT_NOR] = "free of a bit outside of",
    };
    const struct value *value = &watch->value;
    snprintf(text, size,
             "the %u-bit word at %p, which is 0x%llx, to be %s 0x%llx",
             value->width, (void *)value->address,
             (unsigned long long)value_read(value), words[value->action],
             (unsigned long long)value->value);
}
