// Tuned constants of room analysis. The cost of each kind of instruction is the
// table `costs` in cost_model.c, fitted to 305 kernels that ran in both tiers:
// Zen 4 with AVX-512, 2026-11-23 (0028). "Compared": several values were tried
// on the machine named. "Effect measured": the optimisation was, with this
// value alone. "Not measured": the value is a judgement. Numbers of four digits
// are pages of docs/decisions.
#pragma once

enum {
    // Iterations that the cost model assumes of a loop with unknown count.
    // Fitted with the costs: Zen 4, 2026-11-23 (0028).
    COST_ROUNDS = 8,
    // Cost of starting a thread in tier F, in simple instructions. Fitted with
    // the costs: Zen 4, 2026-11-23 (0028).
    COST_BEGIN = 12,
    // Bytes around an access that count as its structure, which prefetching
    // asks for once: a cache line. Not measured, 2026-11-22.
    NEAR = 64,
    // Values that a search for growth visits, and for the latency of an
    // iteration: precision against compile time. Not measured, 2026-11-28.
    GROWTH_LOOKS = 100,
    LATENCY_LOOKS = 400,
    // Values that an address difference visits: precision against compile time.
    // Not measured.
    DIFFERENCE_LOOKS = 1000,
    // The largest factor of an index that counts as a 32-bit index, and the
    // largest addend after which a wrapped index is no index: rows against
    // gathers. Not measured, 2026-11-23.
    FACTOR_MOST = 16,
    OFFSET_MOST = 1 << 24,
};

// Cost of an access of a thread that walks along memory, in simple
// instructions. Effect measured: Zen 5, 2026-11-28 (0028).
#define COST_WALK 2.0
