// Tuned constants of room widen. "Compared": several values were tried on the
// machine named. "Effect measured": the optimisation was, with this value
// alone. "Not measured": the value is a judgement. Numbers of four digits are
// pages of docs/decisions.
#pragma once

enum {
    // atomic.c: instructions that compute an index again from memory, against a
    // vector that is stored and read lane by lane. Effect measured: Zen 5,
    // 2026-11-22.
    REREAD_DEPTH = 4,
    // division.c, memory_access.c: divisions by 64-bit constants, and accesses
    // lane by lane, that are inlined; speed against compile time. Not measured,
    // 2026-11-23 and 2026-11-21.
    DIVISIONS_INLINE_MOST = 8,
    ACCESSES_INLINE_MOST = 24,
    // nontemporal.c: bytes that a launch writes by one store before its lines
    // bypass the caches: reads of lines against hits of the next kernel. Effect
    // measured: EPYC with 32 MiB of L3, and a Xeon, 2026-11-22 (0019).
    KEPT_MOST = 16 << 20,
    // nontemporal.c: instructions for each store of a kernel or loop that
    // memory holds up. Effect measured: Black-Scholes lost 5 % without a limit,
    // Zen 5, 2026-11-22 (0019).
    BRIEF_MOST = 80,
    // prefetch.c: bytes ahead of all rows together, and least bytes of each:
    // latency against lines that come too early. AHEAD compared with 2 and 4
    // KiB: Zen 5, 2026-11-22 (0027). AHEAD_LEAST not measured.
    AHEAD = 8192,
    AHEAD_LEAST = 512,
    // prefetch.c: length of a kernel whose next iterations a processor sees, so
    // that it loads ahead by itself. Effect measured, 2026-11-22 (0027).
    FORESEEN_MOST = 48,
    // struct_access.c: units that are loaded for each that is used, and units
    // of a small aggregate: wide loads against unused bytes. Not measured,
    // 2026-11-23 (0031).
    UNUSED_MOST = 4,
    SMALL_UNITS = 4,
};
