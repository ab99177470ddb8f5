#include "base/lock_order.h"

#include "base/biased_lock.h"
#include "base/check.h"
#include "base/thread.h"

#ifdef RUNNEL_CHECKS

// The lock that the thread took last and holds. Its address stands for the
// thread.
static _Thread_local struct lock_order *newest;

static bool is_own(const struct lock_order *order)
{
    return atomic_load_explicit(&order->owner, memory_order_relaxed) == &newest;
}

static bool has_rank(enum lock_rank rank)
{
    const struct lock_order *held = newest;
    while (held && held->rank != rank)
        held = held->before;
    return held != NULL;
}

// Whether several of that rank may be had at once.
static bool may_repeat(enum lock_rank rank)
{
    return rank == RANK_NONE || rank == RANK_GRAPH ||
           (rank == RANK_STREAM && has_rank(RANK_SUBMIT)) ||
           (rank == RANK_CONTEXT && has_rank(RANK_REGISTRY));
}

void lock_order_check(const struct lock_order *order)
{
    enum lock_rank rank = order->rank;
    bool is_taken_twice = is_own(order);
    ASSERT(!is_taken_twice);
    for (const struct lock_order *held = newest; held && rank != RANK_NONE;
         held = held->before)
        ASSERT(held->rank < rank || (held->rank == rank && may_repeat(rank)));
}

void lock_order_taken(struct lock_order *order)
{
    ASSERT(!atomic_load_explicit(&order->owner, memory_order_relaxed));
    atomic_store_explicit(&order->owner, &newest, memory_order_relaxed);
    order->before = newest;
    newest = order;
}

void lock_order_given(struct lock_order *order)
{
    ASSERT(is_own(order));
    struct lock_order **link = &newest;
    while (*link != order)
        link = &(*link)->before;
    *link = order->before;
    atomic_store_explicit(&order->owner, NULL, memory_order_relaxed);
}

bool lock_any_is_held(void)
{
    const struct lock_order *held = newest;
    while (held && held->rank == RANK_BATCH)
        held = held->before;
    return held != NULL;
}

bool lock_is_held(const struct lock *lock)
{
    return is_own(&lock->order);
}

bool biased_is_held(const struct biased_lock *lock)
{
    return is_own(&lock->order);
}

#endif
