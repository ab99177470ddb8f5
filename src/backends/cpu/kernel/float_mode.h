// The mode of floating point arithmetic, which fibers take over from the OS
// thread that goes to them.
#pragma once

#include <stdint.h>

#if defined(__x86_64__)
enum { FLOAT_MODE_FLUSHES = 0x8040 };  // results, and operands

static inline uint64_t float_mode_read(void)
{
    return __builtin_ia32_stmxcsr();
}

static inline void float_mode_write(uint64_t mode)
{
    __builtin_ia32_ldmxcsr((unsigned)mode);
}
#elif defined(__aarch64__)
enum { FLOAT_MODE_FLUSHES = 1 << 24 };

static inline uint64_t float_mode_read(void)
{
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}

static inline void float_mode_write(uint64_t mode)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(mode));
}
#else
enum { FLOAT_MODE_FLUSHES = 0 };

static inline uint64_t float_mode_read(void)
{
    return 0;
}

static inline void float_mode_write(uint64_t mode)
{
    (void)mode;
}
#endif
