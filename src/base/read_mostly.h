// Data that every launch reads lies together: after a driver's call cache lines
// and pages are cold, and each costs the launch a miss.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

// Read by every launch and rarely written, so alone in this line.
extern struct read_mostly {
    _Alignas(64) _Atomic int fence_mode;    // asymmetric_fence.h
    _Atomic uint32_t capture_traces;        // stream/capture.h
    _Atomic uint32_t call_ends;  // work of ending calls (object/handle.h)
} read_mostly;

// For its functions.
#define HOT __attribute__((hot))
