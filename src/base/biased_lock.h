// A lock biased to its owner, the thread that nearly always takes the lock
// without an atomic exchange. Any other thread, a guest, pays microseconds;
// after many guests the bias ends and the lock is ordinary. For short critical
// sections, since waiting threads spin. (Biased locking.)
#pragma once

#include "base/fail.h"
#include "base/asymmetric_fence.h"
#include "base/thread.h"

struct biased_lock {
    struct lock lock;           // held by whoever is not in as the owner
    uint32_t guests;            // so far; under `lock`, as is the next
    uint64_t suspended;         // the owner while a guest is in
    _Atomic uint64_t owner;     // its thread's number; 0: none
    _Atomic uint64_t inside;    // the owner's number while inside by bias
#ifdef RUNNEL_CHECKS
    struct lock_order order;    // of the thread that is inside
#endif
};

static inline void biased_set_rank(struct biased_lock *lock,
                                   enum lock_rank rank)
{
    LOCK_SET_RANK(lock, rank);
}

// As lock_is_held.
bool biased_is_held(const struct biased_lock *lock);

#define BIASED_GUESTS_MOST 16

// The first frequent taker becomes the owner. Ownership never moves: a late
// former owner could overwrite the new owner's `inside`. Rare visits do not
// count as guests.
enum biased_role { BIASED_OWN, BIASED_VISIT, BIASED_RARELY };

void biased_lock_take_slowly(struct biased_lock *lock, uint64_t me,
                        enum biased_role as);
void biased_lock_give_slowly(struct biased_lock *lock);

// `me` is the calling thread's number, here and below. Either the owner sees
// that the bias is suspended, or the guest sees the owner inside.
static inline bool biased_lock_enter(struct biased_lock *lock, uint64_t me)
{
    if (__builtin_expect(atomic_load_explicit(&lock->owner,
                                              memory_order_relaxed) != me, 0))
        return false;
    atomic_store_explicit(&lock->inside, me, memory_order_relaxed);
    asymmetric_fence_light();
    if (__builtin_expect(atomic_load_explicit(&lock->owner,
                                              memory_order_acquire) == me, 1))
        return true;
    atomic_store_explicit(&lock->inside, 0, memory_order_release);
    return false;
}

static inline void biased_lock_take(struct biased_lock *lock, uint64_t me,
                               enum biased_role as)
{
    LOCK_CHECK(lock);
    if (__builtin_expect(!biased_lock_enter(lock, me), 0))
        biased_lock_take_slowly(lock, me, as);
    LOCK_TAKEN(lock);
}

static inline void biased_lock_give(struct biased_lock *lock, uint64_t me)
{
    LOCK_GIVEN(lock);
    if (__builtin_expect(atomic_load_explicit(&lock->inside,
                                              memory_order_relaxed) == me, 1))
        atomic_store_explicit(&lock->inside, 0, memory_order_release);
    else
        biased_lock_give_slowly(lock);
}
