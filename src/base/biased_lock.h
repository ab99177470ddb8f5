// A lock that nearly always the same thread takes, its owner: it pays no atomic
// exchange. Another thread, a guest, pays microseconds instead; where guests
// come again and again, nobody is the owner any more, and it is an ordinary
// lock. For short critical sections: who waits spins. (Known as biased
// locking.)
#pragma once

#include "base/fail.h"
#include "base/asymmetric_fence.h"
#include "base/thread.h"

struct biased_lock {
    struct lock lock;           // held by whoever is not in as the owner
    uint32_t guests;            // so far; under `lock`, as is the next
    uint64_t suspended;         // the owner while a guest is in
    _Atomic uint64_t owner;     // its thread's number; 0: none
    _Atomic uint64_t inside;    // the owner's number while it is in as such
};

#define BIASED_GUESTS_MOST 16

// The first who will take it often is its owner, and nobody else ever: an owner
// may come late and say for a moment that it is in, which would wipe out what
// another one says. Of visits those that are rare do not count.
enum biased_role { BIASED_OWN, BIASED_VISIT, BIASED_RARELY };

void biased_lock_take_slowly(struct biased_lock *lock, uint64_t me,
                        enum biased_role as);
void biased_lock_give_slowly(struct biased_lock *lock);

// `me` is the calling thread's number, here and below. Either the owner sees
// that it is none now, or the guest sees that it is in.
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
    if (__builtin_expect(!biased_lock_enter(lock, me), 0))
        biased_lock_take_slowly(lock, me, as);
}

static inline void biased_lock_give(struct biased_lock *lock, uint64_t me)
{
    if (__builtin_expect(atomic_load_explicit(&lock->inside,
                                              memory_order_relaxed) == me, 1))
        atomic_store_explicit(&lock->inside, 0, memory_order_release);
    else
        biased_lock_give_slowly(lock);
}
