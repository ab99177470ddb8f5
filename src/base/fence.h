// Fences for two threads of which each writes a word and then reads the
// other's, where one is in a hurry and the other is not: at least one of them
// sees what the other wrote. (Known as asymmetric fences.)
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

// Set once the system runs fence_heavy's fence on all processors of the
// process, so that fence_light needs none.
extern _Atomic bool fence_is_remote;

// Asks the system for that; until then, and where it refuses, both are ordinary
// fences.
void fence_open(void);

static inline void fence_light(void)
{
    if (__builtin_expect(atomic_load_explicit(&fence_is_remote,
                                              memory_order_relaxed), 1))
        atomic_signal_fence(memory_order_seq_cst);
    else
        atomic_thread_fence(memory_order_seq_cst);
}

// Takes microseconds.
void fence_heavy(void);
