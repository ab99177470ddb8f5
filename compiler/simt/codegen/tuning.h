// Tuned constants of room codegen, in instructions unless noted. "Compared":
// several values were tried on the machine named. "Effect measured": the
// optimisation was, with this value alone. "Not measured": the value is a
// judgement. Numbers of four digits are pages of docs/decisions.
#pragma once

enum {
    // block_coarsening.c: threads of a group of blocks, and bytes that its
    // blocks keep and share: long runs in memory against hits in caches. Bytes
    // compared with 16, 32 and 64 KiB: Zen 5, 2026-11-28 (0018). Threads not
    // measured, 2026-11-22.
    COARSE_THREADS = 1 << 16,
    COARSE_BYTES = 128 << 10,
    // block_coarsening.c: length of an iteration that is unrolled. Effect
    // measured: Zen 5, 2026-11-22 (0018).
    UNROLLED_MOST = 80,
    // block_coarsening.c: threads of a row of blocks: length of runs for
    // hardware prefetchers against rows that a cache holds. Compared with 1024:
    // Zen 4, 2026-11-28 (0018).
    ROW_THREADS = 4096,
    // block_coarsening.c: accesses to shared memory for each other access. Not
    // measured, 2026-11-28.
    SHARED_MOST = 4,
    // emit.c, frame_layout.c: bytes of the frames of a block, and of private
    // memory of a gang, on the stack: speed against the size of stacks. Not
    // measured, 2026-11-22 and 2026-11-21.
    FRAMES_MOST = 16384,
    STACK_MOST = 8192,
    // linearize.c: length of a block that gets a version without masks: speed
    // against code size. Not measured, 2026-11-21.
    UNMASKED_MOST = 64,
    // short_sides.c: cost of a side of a branch that lanes go through without a
    // test, and of a division or root: work against branches that are
    // mispredicted. Effect measured: Zen 5, 2026-11-28 (0028).
    SHORT_MOST = 16,
    ROOT_COST = 4,
    // uniform_barriers.c: gangs and length of a kernel whose gangs get code of
    // their own, more with 32 vector registers: registers against code size.
    // Effect measured: Zen 5, 2026-11-22 (0025).
    UNROLL_CHUNKS = 8,
    UNROLL_INSTRUCTIONS = 250,
    UNROLL_CHUNKS_WIDE = 16,
    UNROLL_INSTRUCTIONS_WIDE = 400,
    // uniform_barriers.c: threads for which a value takes half of 32 registers.
    // Compared with 512, a quarter slower: 2026-11-22 (0025).
    UNROLL_THREADS = 256,
    // uniform_condition.c: conditions within conditions that are looked at. Not
    // measured, 2026-11-28.
    DEPTH_MOST = 4,
    // variant.c: length of a kernel whose chains get several versions: speed
    // against compile time. Not measured, 2026-11-21.
    CHAINED_MOST = 300,
    // variant.c: varying values that a loop may hold with 32 lanes, and with 32
    // vector registers if it loads SHARED_LEAST uniform values, too: wide gangs
    // against values on the stack. Not measured, 2026-11-21 and 2026-11-28.
    HELD_MOST = 3,
    HELD_MOST_WIDE = 9,
    SHARED_LEAST = 8,
    // variant.c: length of a kernel that has two versions of rarely used code:
    // speed against compile time. Effect measured: Zen 5, 2026-11-23 (0029).
    PACKED_MOST = 300,
    // variant.c: length of a kernel that has code for rows of 8 threads before
    // its block size is known. Effect measured: Zen 4, 2026-11-23 (0033).
    QUARTERS_MOST = 100,
    // variant.c: threads of the shortest row that gets lanes: idle lanes
    // against gathers. Effect measured: Zen 4, 2026-11-23 (0033).
    ROW_LEAST = 3,
};

// variant.c: lanes along y are chosen if their cost is at most this share of
// the cost along x, since costs are estimates and most kernels are written for
// lanes along x. Effect measured: Zen 5, 2026-11-28 (0052).
#define Y_GAINS 0.75
