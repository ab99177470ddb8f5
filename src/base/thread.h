// Locks, futexes and threads: what the standard's threads lack.
#pragma once

#include "base/check.h"
#include "base/lock_order.h"

#include <runnel/base.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static inline void cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// --- A lock for short critical sections ------------------------------------
//
// One atomic exchange to take, one store to give: half the cost of a mutex.
// Waiting threads yield, so a preempted holder gets its processor back.

struct lock {
    atomic_bool held;
#ifdef RUNNEL_CHECKS
    struct lock_order order;
#endif
};

// For a lock that is no static one, which LOCK_RANKED gives its rank: where it
// begins to be used.
static inline void lock_set_rank(struct lock *lock, enum lock_rank rank)
{
    LOCK_SET_RANK(lock, rank);
}

// By this thread. For ASSERT: only builds with RUNNEL_CHECKS know.
bool lock_is_held(const struct lock *lock);
// Any lock but that of a batch: the null backend, which only tests open, runs
// host functions while a batch is submitted.
bool lock_any_is_held(void);

// Between two looks at what another thread is about to do.
static inline void spin_once(unsigned *tries)
{
    if (++*tries % 64 == 0)
        sched_yield();
    else
        cpu_relax();
}

void lock_take_slowly(struct lock *lock);

static inline void lock_take(struct lock *lock)
{
    LOCK_CHECK(lock);
    if (atomic_exchange_explicit(&lock->held, true, memory_order_acquire))
        lock_take_slowly(lock);
    LOCK_TAKEN(lock);
}

static inline bool lock_try(struct lock *lock)
{
    if (atomic_exchange_explicit(&lock->held, true, memory_order_acquire))
        return false;
    LOCK_TAKEN(lock);
    return true;
}

static inline void lock_give(struct lock *lock)
{
    LOCK_GIVEN(lock);
    atomic_store_explicit(&lock->held, false, memory_order_release);
}

// --- Futex -----------------------------------------------------------------

// Sleeps while `*word` is `value`, at most until `deadline` (clock_now's time).
// May return early for no reason.
void futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t deadline);

// Wakes up to `count` sleepers.
void futex_wake(_Atomic uint32_t *word, int count);

// The same for sleepers of several kinds, as bits: wakes sleepers that share a
// bit with `kinds`. Returns their number.
void futex_wait_as(_Atomic uint32_t *word, uint32_t value, uint64_t deadline,
                   uint32_t kinds);
int futex_wake_of(_Atomic uint32_t *word, int count, uint32_t kinds);

// --- Threads ---------------------------------------------------------------

// Starts a joinable thread with every signal blocked, named for debuggers.
// False when the system refuses.
bool thread_start(pthread_t *out_thread, const char *name, void *(*run)(void *),
                  void *argument);

// The same with a stack of that size; 0 is the process's default, which the
// host may have made small.
bool thread_start_sized(pthread_t *out_thread, const char *name,
                        size_t stack_size, void *(*run)(void *),
                        void *argument);

// Asks the system to run the calling thread soon after a wake-up, also on the
// waker's processor; or no longer. A hint, which some systems ignore.
void thread_be_prompt(bool prompt);

// Functions called around a fork; NULL: nothing.
struct fork_hooks {
    void (*before)(void), (*in_parent)(void), (*in_child)(void);
};

// Registers the hooks for every later fork, unless `noticed` says that they are
// registered. False without memory. Concurrent callers may register twice.
bool thread_notice_forks(atomic_bool *noticed,
                         const struct fork_hooks *hooks);

// Makes thread_start, and thread_notice_forks, fail `count` times after `skip`
// successes; for tests.
void thread_fail_next(unsigned skip, unsigned count);

// Makes the next thread_start of that name, or thread_notice_forks by the name
// "fork", call `hold` before all else; for tests.
void thread_hold_next(const char *name, void (*hold)(void));
