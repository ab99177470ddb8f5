// Invariants of the library's own code. In a build with RUNNEL_CHECKS (the
// presets of the sanitizers, of coverage and `checks`) one that does not hold
// ends the process with one line on standard error. Other builds compile the
// condition and never evaluate it.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

_Noreturn void check_failed(const char *condition, const char *file, int line,
                            const char *function);

#ifdef RUNNEL_CHECKS

#define ASSERT(condition) \
    ((condition) ? (void)0 \
                 : check_failed(#condition, __FILE__, __LINE__, __func__))

// One less of an atomic count, which must not be 0. Gives what it was before.
#define COUNT_DOWN(count) \
    check_above_zero(atomic_fetch_sub((count), 1), #count " was above 0", \
                     __FILE__, __LINE__, __func__)

static inline uint64_t check_above_zero(uint64_t before, const char *condition,
                                        const char *file, int line,
                                        const char *function)
{
    if (before == 0)
        check_failed(condition, file, line, function);
    return before;
}

#else

#define ASSERT(condition) ((void)sizeof((condition) ? 1 : 0))
#define COUNT_DOWN(count) atomic_fetch_sub((count), 1)

#endif
