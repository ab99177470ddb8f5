// Fences for two threads of which each writes a word and then reads the
// other's, where one is in a hurry and the other is not: at least one of them
// sees what the other wrote. (Known as asymmetric fences.)
#pragma once

#include "base/often.h"

#include <stdatomic.h>

enum fence_mode {
    FENCE_LOCAL,     // both are ordinary fences
    FENCE_SETTLING,  // again, but threads may have passed fence_light before
    FENCE_REMOTE,    // the system runs fence_heavy's on all processors of the
                     // process, so that fence_light needs none
};

#define FENCE_SETTLE_NS 1000000  // no processor keeps a store to itself so long

// Asks the system for that; until then, and where it refuses, both are ordinary
// fences.
void fence_open(void);

static inline void fence_light(void)
{
    int mode = atomic_load_explicit(&often.fence_mode, memory_order_relaxed);
    if (__builtin_expect(mode == FENCE_REMOTE, 1))
        atomic_signal_fence(memory_order_seq_cst);
    else
        atomic_thread_fence(memory_order_seq_cst);
}

// Takes microseconds.
void fence_heavy(void);
