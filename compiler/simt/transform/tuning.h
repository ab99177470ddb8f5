// Tuned constants of room transform, in instructions unless noted. "Compared":
// several values were tried on the machine named. "Effect measured": the
// optimisation was, with this value alone. "Not measured": the value is a
// judgement. Numbers of four digits are pages of docs/decisions.
#pragma once

enum {
    // demote_to_stack.c: uses of a number that is kept on the stack; loads
    // against the time of register allocation. Effect measured, machine not
    // noted, 2026-11-23 (0020).
    USES_MOST = 250,
    // hoist_stores.c: predecessors that receive a copy of a store; latency
    // against code size. Effect measured: Zen 4, 2026-11-24 (0025).
    BEFORE_MOST = 2,
    // interleave_reductions.c: sums of a chain that takes turns with others.
    // Effect measured: Zen 4 and Zen 5, 2026-11-22 and 2026-11-25 (0036).
    REDUCTION_LONG = 8,
    // loop_interchange.c: rows of memory that a gang goes along in turn.
    // Compared with 8: Zen 5, 2026-11-22 (0018).
    ROWS_MOST = 4,
    // loop_rotate.c, store_merge.c: blocks of a function that LLVM's own passes
    // finish soon. Not measured, 2026-11-22.
    BLOCKS_SHORT = 1000,
    // loop_rotate.c: instructions of a loop's condition that are copied. Not
    // measured, 2026-11-23.
    HEADER_MOST = 16,
    // private_layout.c: elements that a memset becomes stores of. Not measured,
    // 2026-11-23.
    SET_MOST = 64,
    // shared_forwarding.c: bytes of a variable, bytes that are remembered for
    // all blocks, and vectors of which a load is made: compile time. Not
    // measured, 2026-11-29.
    BYTES_MOST = 16384,
    STATES_MOST = 8 << 20,
    SOURCES_MOST = 32,
    // shared_forwarding.c: costs in loads of a register: a register of a load
    // that spans several stores, a register of a shuffle, a lane that leaves a
    // vector. Compared: Zen 4, 2026-11-29 (0060).
    SPAN_COST = 2,
    SHUFFLE_COST = 2,
    EXTRACT_COST = 2,
    // shared_callees.c: copies of a function that are always inlined, and
    // instructions of more copies together: speed of calls against compile
    // time. Effect measured, machine not noted, 2026-11-22 (0020).
    COPIES_FEW = 32,
    TOGETHER_MOST = 20000,
    // shared_callees.c: length of a function that pays a call, and callers of
    // callers that are counted. Not measured, 2026-11-22.
    BODY_LEAST = 16,
    DEPTH_MOST = 20,
    // split_blocks.c: length of a block that is split, and of its pieces: the
    // time of code generation against values in memory. Effect measured,
    // machine not noted, 2026-11-22 (0020).
    BLOCK_MOST = 2000,
    PIECE = 1000,
    // store_merge.c: pieces of a function, and blocks of a piece. Effect
    // measured, machine not noted, 2026-11-22 (0020).
    PIECES_MOST = 64,
    PIECE_LEAST = 100,
    // tile_forwarding.c: loads of a row before those of the next row. Effect
    // measured: Zen 4, 2026-11-24 (0036).
    LEAST_OF_ROW = 8,
    // unroll_phases.c: length of an iteration. Not measured, 2026-11-29.
    PHASE_MOST = 2000,
    // unroll_rows.c: length of an iteration, and of all that become one: wide
    // loads against code size. Not measured, 2026-11-23 (0032).
    ITERATION_MOST = 48,
    UNROLLED_MOST = 192,
    // unroll_rows.c: bytes of one load of a lane, and iterations that become
    // one. Effect measured: Zen 4, 2026-11-23 (0032).
    LOADED = 16,
    COUNT_LEAST = 4,
    COUNT_MOST = 8,
    // unroll_rows.c: bytes that an iteration advances, and values that the
    // search for slopes visits. Not measured, 2026-11-23.
    STEP_MOST = 8,
    VALUES_MOST = 200,
};

// shared_forwarding.c: what shuffles may cost, as a share of what they save.
// Shuffles also need registers, and constants that say which lanes they take.
// Compared: Zen 4, 2026-11-29: a scan, 0.57, takes 0.4 of its time; a stencil
// of three points whose neighbours are shuffled, 0.83, would take 1.1 (0060).
#define SHUFFLES_MOST 0.67
