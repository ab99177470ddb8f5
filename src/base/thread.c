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
        while (atomic_load_explicit(&lock->held, memory_order_relaxed))
            spin_once(&tries);
    } while (atomic_exchange_explicit(&lock->held, true,
                                      memory_order_acquire));
}

void futex_wait_as(_Atomic uint32_t *word, uint32_t value, uint64_t deadline,
                   uint32_t kinds)
{
    // BITSET takes an absolute time, so a spurious return needs no arithmetic.
    struct timespec at = {(time_t)(deadline / 1000000000u),
                          (long)(deadline % 1000000000u)};
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value,
            deadline == RNL_FOREVER ? NULL : &at, NULL, kinds);
}

int futex_wake_of(_Atomic uint32_t *word, int count, uint32_t kinds)
{
    long woken = syscall(SYS_futex, word, FUTEX_WAKE_BITSET_PRIVATE, count,
                         NULL, NULL, kinds);
    return woken > 0 ? (int)woken : 0;
}

void futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t deadline)
{
    futex_wait_as(word, value, deadline, FUTEX_BITSET_MATCH_ANY);
}

void futex_wake(_Atomic uint32_t *word, int count)
{
    futex_wake_of(word, count, FUTEX_BITSET_MATCH_ANY);
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

static int create(pthread_t *out_thread, size_t stack_size,
                  void *(*run)(void *), void *argument)
{
    pthread_attr_t attributes;
    if (stack_size == 0)
        return pthread_create(out_thread, NULL, run, argument);
    int error = pthread_attr_init(&attributes);
    if (error)
        return error;
    error = pthread_attr_setstacksize(&attributes, stack_size);
    if (error == 0)
        error = pthread_create(out_thread, &attributes, run, argument);
    pthread_attr_destroy(&attributes);
    return error;
}

bool thread_start(pthread_t *out_thread, const char *name, void *(*run)(void *),
                  void *argument)
{
    return thread_start_sized(out_thread, name, 0, run, argument);
}

bool thread_start_sized(pthread_t *out_thread, const char *name,
                        size_t stack_size, void *(*run)(void *),
                        void *argument)
{
    hold(name);
    if (fault_injected())
        return false;
    // The host's signals are the host's business: a worker takes none.
    sigset_t all, old;
    sigfillset(&all);
    // Signals that a thread raises by itself stay deliverable to a handler.
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        sigdelset(&all, own[i]);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int error = create(out_thread, stack_size, run, argument);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (error == 0)
        pthread_setname_np(*out_thread, name);
    return error == 0;
}

bool thread_notice_forks(atomic_bool *noticed, const struct fork_hooks *hooks)
{
    if (atomic_load(noticed))
        return true;
    hold("fork");
    if (fault_injected() || pthread_atfork(hooks->before, hooks->in_parent,
                                           hooks->in_child) != 0)
        return false;
    atomic_store(noticed, true);
    return true;
}

// --- Promptness ------------------------------------------------------------

// The parameter of sched_getattr and sched_setattr; not every C library
// declares it.
struct scheduling {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t slice_ns, deadline, period;
};

#define SLICE_NS 100000  // the least that Linux takes

void thread_be_prompt(bool prompt)
{
    static _Thread_local bool is_prompt;
    struct scheduling scheduling = {0};
    if (prompt == is_prompt)
        return;
    is_prompt = prompt;
    // Linux 6.12 and later: a woken thread takes the processor from a thread
    // with a longer slice. Shares stay unchanged. Older kernels ignore the
    // request.
    if (syscall(SYS_sched_getattr, 0, &scheduling, sizeof scheduling, 0) ||
        scheduling.policy != SCHED_OTHER)
        return;
    scheduling.slice_ns = prompt ? SLICE_NS : 0;
    syscall(SYS_sched_setattr, 0, &scheduling, 0);
}
