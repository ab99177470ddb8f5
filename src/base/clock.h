// Monotonic time and deadlines, in nanoseconds.
#pragma once

#include <runnel/base.h>
#include <time.h>

static inline uint64_t clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// The moment `timeout_ns` from now; RNL_FOREVER stays for ever.
static inline uint64_t clock_deadline(uint64_t timeout_ns)
{
    uint64_t deadline;
    if (timeout_ns == RNL_FOREVER ||
        __builtin_add_overflow(clock_now(), timeout_ns, &deadline))
        return RNL_FOREVER;
    return deadline;
}

// Processor time of the calling thread. A system call.
static inline uint64_t clock_of_thread(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// A counter that grows one to four times a nanosecond: for rough decisions that
// cannot afford clock_now.
static inline uint64_t clock_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return clock_now() * 2;
#endif
}
