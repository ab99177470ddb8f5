#include "base/biased_lock.h"

// From then on its owner is not in, and will not go in as the owner.
static void suspend_locked(struct biased_lock *lock, uint64_t owner,
                           enum biased_role as)
{
    ASSERT(lock_is_held(&lock->lock));
    unsigned tries = 0;
    atomic_store_explicit(&lock->owner, 0, memory_order_relaxed);
    asymmetric_fence_heavy();
    while (atomic_load_explicit(&lock->inside, memory_order_acquire))
        spin_once(&tries);
    lock->guests += as != BIASED_RARELY;
    if (lock->guests < BIASED_GUESTS_MOST)
        lock->suspended = owner;
}

void biased_lock_take_slowly(struct biased_lock *lock, uint64_t me,
                        enum biased_role as)
{
    lock_take(&lock->lock);
    uint64_t owner = atomic_load_explicit(&lock->owner, memory_order_relaxed);
    if (owner && owner != me)
        suspend_locked(lock, owner, as);
    else if (as == BIASED_OWN && lock->guests < BIASED_GUESTS_MOST)
        atomic_store_explicit(&lock->owner, me, memory_order_relaxed);
}

void biased_lock_give_slowly(struct biased_lock *lock)
{
    if (lock->suspended)
        atomic_store_explicit(&lock->owner, lock->suspended,
                              memory_order_release);
    lock->suspended = 0;
    lock_give(&lock->lock);
}
