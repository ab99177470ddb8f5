#include "base/thread.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void lock_take_slowly(struct lock *lock)
{
    unsigned tries = 0;
    do {
        while (atomic_load_explicit(&lock->held, memory_order_relaxed)) {
            if (++tries % 64 == 0)
                sched_yield();
            else
                cpu_relax();
        }
    } while (!lock_try(lock));
}

void futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t deadline)
{
    // BITSET takes an absolute time, so a spurious return needs no arithmetic.
    struct timespec at = {(time_t)(deadline / 1000000000u),
                          (long)(deadline % 1000000000u)};
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value,
            deadline == RNL_FOREVER ? NULL : &at, NULL,
            FUTEX_BITSET_MATCH_ANY);
}

void futex_wake(_Atomic uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static _Atomic unsigned fail_skip, fail_count;

static bool fault_injected(void)
{
    if (atomic_load_explicit(&fail_count, memory_order_relaxed) == 0)
        return false;
    if (atomic_load(&fail_skip) > 0) {
        atomic_fetch_sub(&fail_skip, 1);
        return false;
    }
    atomic_fetch_sub(&fail_count, 1);
    return true;
}

void thread_fail_next(unsigned skip, unsigned count)
{
    atomic_store(&fail_skip, skip);
    atomic_store(&fail_count, count);
}

static const char *hold_name;
static _Atomic(void (*)(void)) hold_next;

void thread_hold_next(const char *name, void (*hold)(void))
{
    hold_name = name;
    atomic_store(&hold_next, hold);
}

static void hold(const char *name)
{
    if (!atomic_load_explicit(&hold_next, memory_order_acquire) ||
        strcmp(name, hold_name) != 0)
        return;
    void (*function)(void) = atomic_exchange(&hold_next, NULL);
    if (function)
        function();
}

bool thread_start(pthread_t *out_thread, const char *name, void *(*run)(void *),
                  void *argument)
{
    hold(name);
    if (fault_injected())
        return false;
    // The host's signals are the host's business: a worker takes none.
    sigset_t all, old;
    sigfillset(&all);
    // Those that a thread brings on itself stay deliverable to a handler.
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        sigdelset(&all, own[i]);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int error = pthread_create(out_thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (error == 0)
        pthread_setname_np(*out_thread, name);
    return error == 0;
}
