// Tuned constants of room scheduler. "Compared": several values were tried on
// the machine named. "Effect measured": the mechanism was, with this value
// alone. "Not measured": the value is a judgement. Numbers of four digits are
// pages of docs/decisions. Ticks are those of the processor's time stamp
// counter, 2 to 4 for each ns.
#pragma once

// --- pool.c: idle workers ----------------------------------------------------

// The sentinel's first and last nap: latency of small work against wake-ups of
// an idle process. Effect measured, machine not noted, 2026-11-21 (0009, 0026).
#define NAP_FIRST_NS 50000
#define NAP_LAST_NS 3200000
// Idle time after which operations that were kept are freed. Not measured,
// 2026-11-27.
#define REST_NS 6400000
// Pauses of the processor between two looks while a worker spins, about a
// microsecond. Not measured, 2026-11-21.
#define SPIN_ROUND 64
// Extra workers while host functions block: progress against memory. Not
// measured, 2026-11-21.
#define THREADS_BLOCKED_MOST 256
// Ticks that a worker stays with a stream while others wait, 2 to 8 ms. Not
// measured, 2026-11-27 (0043).
#define STREAM_SLICE_TICKS 8000000

// --- queue.c -----------------------------------------------------------------

// Small operations that no thread took before a worker is woken for them. Not
// measured, 2026-11-21.
#define PATIENCE 16
// Streams that a waiting thread goes through to find work that it can run,
// since waits may form a circle. Not measured, 2026-11-21.
#define HOPS_MOST 64

// --- op_run.c: copies and launches -------------------------------------------

// Bytes that are copied or filled as one unit. Large copies use large units, so
// that the C library writes past the caches. Large units had 32 MiB before; no
// figures are kept, 2026-11-21.
#define UNIT_SMALL ((size_t)128 << 10)
#define UNIT_LARGE ((size_t)8 << 20)
// Bytes of a share: bandwidth against the wait of work of a higher priority.
// Not measured, 2026-11-27 (0043).
#define SHARE_BYTES ((size_t)32 << 20)
// Bytes from which on a copy is shared among workers. Not measured, 2026-11-21.
#define PARALLEL_BYTES ((size_t)256 << 10)
// Bytes of a copy and threads of a launch that wake no worker. Effect measured,
// machine not noted, 2026-11-21 (0009).
#define SMALL_BYTES ((size_t)64 << 10)
#define SMALL_THREADS 4096u
// Blocks of a unit where lanes are blocks, and units for each thread of the
// pool: cost of a call against shares of equal length. Not measured, 2026-11-28
// (0033).
#define ACROSS_LEAST 32
#define ACROSS_MOST 1024
#define ACROSS_UNITS 8
// Threads of a block in y from which on code for blocks of any size makes lanes
// of blocks. Not measured, 2026-11-28 (0033).
#define ACROSS_TALL 9

// --- parallel_for.c: shares of a launch --------------------------------------

// The part that an owner runs before other workers may join: the first units
// may hold all of the work. Compared with 256, after which workers slept,
// machine not noted, 2026-11-22.
#define FIRST_PARTS 4096
// The estimated rest from which on spinning threads join, sleeping workers are
// woken, and workers are woken before the first unit. Not measured, 2026-11-21
// and 2026-11-22 (0009).
#define ALONE_TICKS 2000
#define WAKE_TICKS 20000
#define EXPECT_TICKS 60000
// Cost of one more wake-up before the first share, 2 to 4 us, against the work
// that the worker takes over. Effect measured: 16 cores of a Xeon, 2026-11-29
// (0054).
#define WAKE_COST_TICKS 8000
// Time after which workers are woken whatever the estimate, because a first
// part can mislead. Not measured, 2026-11-21.
#define LOOK_NS 100000
// The longest share. Memory is fast in few long runs, 1 to 4 ms, so that work
// of a higher priority need not wait for long; if units are not known to be
// alike, 30 to 130 us, so that all threads finish at about the same time.
// Effect measured: Zen 5, 2026-11-28 (0054).
#define LONG_SHARE_TICKS 4000000
#define SHARE_TICKS 131072
// Growth from one share to the next, and in a pool of one thread, which shares
// for time limits alone. Not measured, 2026-11-27.
#define GROWTH 2
#define GROWTH_ALONE 64
// Units are long if a share's units took this many times the mean, and count if
// a thread spent more than this part of its time there and 0.1 ms. Effect
// measured: Zen 5, 2026-11-28 (0054).
#define LONG_UNITS 2
#define PART_THAT_COUNTS 8
#define TICKS_THAT_COUNT (2 * SHARE_TICKS)
// Where units are long, the part of an equal share that long ones get, and the
// least share of average ones, 4 to 16 us, because to begin a share costs 0.1
// us. Effect measured: Zen 5, 2026-11-28 (0054).
#define PART_OF_EQUAL 16
#define LEAST_SHARE_TICKS 16384

// --- graph_build.c, graph_launch.c, graph_run.c: replays ---------------------

// Steps that are run in one go: calls against time limits. Not measured,
// 2026-11-21.
#define CHAIN 64
// Ticks that a step takes on average before steps are shared among workers. Not
// measured, 2026-11-21 (0016).
#define GRAPH_SHARE_TICKS 6000
// Steps of a graph that wakes no worker, and ticks of its last launch, 10 to 20
// us. Effect measured, machine not noted, 2026-11-22 (0009).
#define SMALL_STEPS 64
#define BRIEF_TICKS 40000
// Steps that run singly at first, and C functions that run together afterwards,
// without a check in between. Effect measured in instructions, 2026-11-22.
#define LOOKED_AT 8
#define CALLS_MOST 4
// Steps before the first check for waiting work; then more steps at once, as
// long as they take fewer ticks. Not measured, 2026-11-27 (0043).
#define GRAPH_SLICE_STEPS 8
#define GRAPH_SLICE_TICKS 4000000

// --- value_waiters.c, interprocess_event.c -----------------------------------

// The longest nap between polls while waits are young, 1 ms: latency against
// wake-ups. Effect measured, machine not noted, 2026-11-22 (0026).
#define VALUE_POLL_NAP_NS 1000000
#define NAP_SHORTEST_NS (VALUE_POLL_NAP_NS / 20)
#define NAP_LONGEST_NS (8 * VALUE_POLL_NAP_NS)
// Ticks that a poll of one word may take before polls are spread. Not measured,
// 2026-11-21.
#define VALUE_TICKS_MOST 400
// Pauses between polls, in lengths of a poll: of a thread without other work,
// and between operations. Not measured, 2026-11-21.
#define VALUE_POLL_IDLE 4
#define VALUE_POLL_BUSY 32
// Nap of a thread that waits for an event of another process. Not measured,
// 2026-11-28.
#define EVENT_NAP_NS 100000
