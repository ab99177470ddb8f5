// Tuned constants of room kernel. "Compared": several values were tried on the
// machine named. "Effect measured": the mechanism was, with this value alone.
// "Not measured": the value is a judgement. Numbers of four digits are pages of
// docs/decisions.
#pragma once

#include <stddef.h>

// fiber.h: usable bytes of a stack; threads of a GPU have less. Not measured,
// 2026-11-21.
#define FIBER_STACK_SIZE ((size_t)256 << 10)

enum {
    // block.c: stacks that a thread keeps between calls, for eight blocks of
    // 256 threads of a cluster: system calls against memory. Not measured,
    // 2026-11-27 (0048).
    CLUSTER_STACKS = 8 * 256,
    // fiber.c: steps by which the begins of stacks differ, and their number:
    // sets of the first-level cache against memory. Not measured, 2026-11-21.
    COLOUR_SIZE = 320,
    COLOUR_COUNT = 12,
    // guarded.c: bytes of a guard, wider than a page, so that a loop with large
    // steps meets the guard, too. Not measured, 2026-11-21.
    GUARD_SIZE = 16 << 10,
    // guarded.c: stacks that have guards by mprotect, each of which costs up to
    // three of the 65530 mappings of a process. Not measured, 2026-11-21.
    GUARDED_MOST = 16384,
    // fault.c: bytes below a stack where a fault counts as an overflow. Not
    // measured, 2026-11-27.
    NEAR_GUARD = 32 << 10,
};

// stop.c: time between two attempts to stop the same run, and the shortest nap
// of the thread that stops runs. Not measured, 2026-11-27 (0042).
#define STOP_AGAIN_NS 1000000
#define STOP_NAP_LEAST_NS 100000
