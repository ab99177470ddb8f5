// Asymmetric fences, for two threads that each write a word and then read the
// word of the other thread, the light side often and the heavy side rarely: at
// least one of the threads sees the write of the other.
#pragma once

#include "base/read_mostly.h"

#include <stdatomic.h>

enum fence_mode {
    // Both sides are ordinary fences.
    FENCE_LOCAL,
    // As FENCE_LOCAL, but threads may have passed the light side before.
    FENCE_SETTLING,
    // The heavy side makes the system run a fence on all processors of the
    // process, so the light side needs none.
    FENCE_REMOTE,
};

#define FENCE_SETTLE_NS 1000000  // no processor keeps a store to itself so long

// Asks the system for that; until then, and where it refuses, both are ordinary
// fences.
void asymmetric_fence_open(void);

static inline void asymmetric_fence_light(void)
{
    int mode =
        atomic_load_explicit(&read_mostly.fence_mode, memory_order_relaxed);
    if (__builtin_expect(mode == FENCE_REMOTE, 1))
        atomic_signal_fence(memory_order_seq_cst);
    else
        atomic_thread_fence(memory_order_seq_cst);
}

// Takes microseconds.
void asymmetric_fence_heavy(void);
