// Values that blocked queues wait for. No thread is notified when host code or
// a kernel writes memory, so idle threads poll: workers without work, and
// threads that synchronize. Writes of the pool itself are checked at once.
#include "backends/cpu/scheduler/value_waiters.h"

#include "backends/cpu/scheduler/pool.h"
#include "backends/cpu/scheduler/queue.h"
#include "base/clock.h"
#include "core/memory/memory_ops.h"
#include "core/stream/op.h"

#include <stdio.h>

static unsigned bucket_of(const char *address)
{
    // Addresses of the same kind are often adjacent or a page apart.
    uint64_t hash = (uint64_t)(uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15);
    return (unsigned)(hash >> 58);
}

// --- Looking ---------------------------------------------------------------

// Advances in a bucket's list; moves a waiter whose value holds to the list
// `*taken`. Returns the link of the next waiter.
static struct value_waiter **step_locked(struct value_waiters *all,
                                         struct value_waiter **link,
                                         struct value_waiter **taken)
{
    ASSERT(lock_is_held(&all->lock));
    struct value_waiter *waiter = *link;
    __builtin_prefetch(waiter->next);
    if (!memory_op_holds(&waiter->value))
        return &waiter->next;
    *link = waiter->next;
    waiter->next = *taken;
    *taken = waiter;
    COUNT_DOWN(&all->count);
    return link;
}

static void note_empty_locked(struct value_waiters *all, unsigned bucket)
{
    ASSERT(lock_is_held(&all->lock));
    if (!all->buckets[bucket])
        all->occupied &= ~(UINT64_C(1) << bucket);
}

static struct value_waiter *take_bucket_locked(struct value_waiters *all,
                                               unsigned bucket)
{
    ASSERT(lock_is_held(&all->lock));
    struct value_waiter *taken = NULL, **link = &all->buckets[bucket];
    while (*link)
        link = step_locked(all, link, &taken);
    note_empty_locked(all, bucket);
    return taken;
}

static unsigned first_of(uint64_t bits)
{
    return (unsigned)__builtin_ctzll(bits);
}

// With thousands of value waiters neither waiters nor values are cached: walks
// the buckets in parallel, so that many loads overlap.
static struct value_waiter *take_locked(struct value_waiters *all,
                                        uint64_t buckets)
{
    ASSERT(lock_is_held(&all->lock));
    struct value_waiter **links[VALUE_WAITER_BUCKETS];
    struct value_waiter *taken = NULL;
    uint64_t active = all->occupied & buckets;
    for (uint64_t left = active; left; left &= left - 1)
        links[first_of(left)] = &all->buckets[first_of(left)];
    while (active) {
        for (uint64_t left = active; left; left &= left - 1)
            __builtin_prefetch((*links[first_of(left)])->value.address);
        for (uint64_t left = active; left; left &= left - 1) {
            struct value_waiter ***link = &links[first_of(left)];
            *link = step_locked(all, *link, &taken);
            if (!**link)
                active &= ~(left & -left);
        }
    }
    for (uint64_t left = all->occupied & buckets; left; left &= left - 1)
        note_empty_locked(all, first_of(left));
    return taken;
}

static bool release(struct value_waiter *waiter)
{
    bool any = waiter != NULL;
    while (waiter) {
        // An unlisted waiter belongs to its queue again.
        struct value_waiter *next = waiter->next;
        struct queue *queue = waiter->queue;
        queue_unblock(queue, &waiter->listed);
        waiter = next;
    }
    return any;
}

static uint64_t cost_most(struct value_waiters *all)
{
    return VALUE_TICKS_MOST * ((uint64_t)atomic_load(&all->count) + 1);
}

// The cost of the poll, without times in which the thread was preempted.
static void note_look(struct value_waiters *all, uint64_t start)
{
    uint64_t most = cost_most(all);
    uint64_t end = clock_ticks();
    uint64_t cost = end - start < most ? end - start : most;
    atomic_store_explicit(&all->looked, end, memory_order_relaxed);
    atomic_store_explicit(&all->cost, cost, memory_order_relaxed);
}

bool value_poll_now(struct pool *pool, unsigned pause)
{
    struct value_waiters *all = &pool->value_waiters;
    uint64_t start = clock_ticks();
    uint64_t cost = atomic_load_explicit(&all->cost, memory_order_relaxed);
    uint64_t since =
        start - atomic_load_explicit(&all->looked, memory_order_relaxed);
    if (since < pause * cost || !lock_try(&all->lock))
        return false;
    struct value_waiter *taken = take_locked(all, UINT64_MAX);
    note_look(all, start);
    lock_give(&all->lock);
    return release(taken);
}

bool value_waiters_check_at(struct pool *pool, const char *address)
{
    struct value_waiters *all = &pool->value_waiters;
    if (atomic_load(&all->count) == 0)
        return false;
    lock_take(&all->lock);
    struct value_waiter *taken = take_bucket_locked(all, bucket_of(address));
    lock_give(&all->lock);
    return release(taken);
}

// --- The sentinel ----------------------------------------------------------
//
// Young waits are often over soon: the sentinel finds the end after at most
// half of the time waited, or a millisecond. A long wait tolerates a 32nd of
// its time; and a poll of thousands of values is spread over many naps.

static uint64_t clamp(uint64_t value, uint64_t least, uint64_t most)
{
    return value < least ? least : value > most ? most : value;
}

uint64_t value_poll_nap_ns(uint64_t idle)
{
    if (idle < 32 * VALUE_POLL_NAP_NS)
        return clamp(idle / 2, NAP_SHORTEST_NS, VALUE_POLL_NAP_NS);
    return clamp(idle / 32, VALUE_POLL_NAP_NS, NAP_LONGEST_NS);
}

unsigned value_poll_share(uint64_t cost, uint64_t nap, uint64_t idle)
{
    // A 64th of the time, and less as time goes by. Two ticks a nanosecond.
    uint64_t budget = 2 * nap / clamp(idle / VALUE_POLL_NAP_NS, 64, 128);
    return (unsigned)clamp(VALUE_WAITER_BUCKETS * budget / (cost + 1), 1,
                           VALUE_WAITER_BUCKETS);
}

void value_poll_some(struct pool *pool, uint64_t nap, uint64_t idle)
{
    struct value_waiters *all = &pool->value_waiters;
    uint64_t cost = atomic_load_explicit(&all->cost, memory_order_relaxed);
    cost = clamp(cost, 0, cost_most(all));  // there may be fewer by now
    unsigned count = value_poll_share(cost, nap, idle);
    if (count == VALUE_WAITER_BUCKETS) {
        value_poll(pool, 0);
        return;
    }
    lock_take(&all->lock);
    uint64_t some = ((UINT64_C(1) << count) - 1) << all->next;
    all->next =
        all->next + count < VALUE_WAITER_BUCKETS ? all->next + count : 0;
    struct value_waiter *taken = take_locked(all, some);
    lock_give(&all->lock);
    release(taken);
}

// --- Waiting ---------------------------------------------------------------

bool value_waiter_add(struct pool *pool, struct value_waiter *waiter)
{
    struct value_waiters *all = &pool->value_waiters;
    // Counted first: who goes to sleep without having seen the count is seen by
    // pool_value_wait_begin.
    atomic_fetch_add(&all->count, 1);
    pool_value_wait_begin(pool);
    lock_take(&all->lock);
    bool holds = memory_op_holds(&waiter->value);
    if (holds) {
        COUNT_DOWN(&all->count);
    } else {
        unsigned bucket = bucket_of(waiter->value.address);
        waiter->next = all->buckets[bucket];
        all->buckets[bucket] = waiter;
        atomic_store(&waiter->listed, true);
        all->occupied |= UINT64_C(1) << bucket;
    }
    lock_give(&all->lock);
    return !holds;
}

bool value_waiter_withdraw(struct pool *pool, struct value_waiter *waiter)
{
    struct value_waiters *all = &pool->value_waiters;
    unsigned bucket = bucket_of(waiter->value.address);
    lock_take(&all->lock);
    struct value_waiter **link = &all->buckets[bucket];
    while (*link && *link != waiter)
        link = &(*link)->next;
    bool found = *link != NULL;
    if (found) {
        *link = waiter->next;
        COUNT_DOWN(&all->count);
        note_empty_locked(all, bucket);
        atomic_store(&waiter->listed, false);
    }
    lock_give(&all->lock);
    return found;
}

bool memory_ops_run(struct queue *queue, const struct op_memory_ops *values,
                  size_t *done, struct value_waiter *waiter)
{
    struct pool *pool = stream_pool(queue->stream);
    if (atomic_load(&waiter->listed))
        return false;
    while (*done < values->count) {
        const struct memory_op *value = &values->items[(*done)++];
        if (value->action == RNL_WRITE_VALUE) {
            memory_op_write(value);
            value_waiters_check_at(pool, value->address);
        } else if (!memory_op_holds(value)) {
            *waiter = (struct value_waiter){.value = *value, .queue = queue};
            if (value_waiter_add(pool, waiter))
                return false;
        }
    }
    return true;
}

void value_waiter_describe(const struct value_waiter *waiter, char *text,
                           size_t size)
{
    static const char *const words[] = {
        [RNL_WAIT_GEQ] = "at least", [RNL_WAIT_EQ] = "equal to",
        [RNL_WAIT_AND] = "sharing a bit with",
        [RNL_WAIT_NOR] = "free of a bit outside of",
    };
    const struct memory_op *value = &waiter->value;
    snprintf(text, size,
             "the %u-bit word at %p, which is 0x%llx, to be %s 0x%llx",
             value->width, (void *)value->address,
             (unsigned long long)memory_op_read(value), words[value->action],
             (unsigned long long)value->value);
}
