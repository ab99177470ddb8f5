// Tuned constants of cudalike, by room. "Compared": several values were tried
// on the machine named. "Effect measured": the mechanism was, with this value
// alone. "Not measured": the value is a judgement. Numbers of four digits are
// pages of docs/decisions.
#pragma once

#include <stddef.h>
#include <stdint.h>

// --- driver ------------------------------------------------------------------

// driver_use.c: time that the end of the process waits for threads in the
// driver. Not measured, 2026-11-22.
#define EXIT_PATIENCE_NS UINT64_C(100000000)
// wait.c: the shortest spin at the begin and end of a wait, and the longest
// wait that is spun throughout, because naps often end this late: latency
// against processor time. Effect measured, machine not noted, 2026-11-22
// (0023).
#define SPIN_NS UINT64_C(50000)
#define SPIN_MOST_NS UINT64_C(500000)
// wait.c: the shortest and the longest nap between two looks. Not measured,
// 2026-11-22.
#define NAP_LEAST_NS UINT64_C(20000)
#define NAP_MOST_NS UINT64_C(250000)
// wait.c: time that a wait of a device goes on after the process began to end.
// Not measured, 2026-11-22.
#define ENDING_NS UINT64_C(500000000)
// wait.h: durations of earlier waits that are kept for a stream or event, of
// which a wait expects one; a power of 2. Compared with one, which saw short
// waits late, machine not noted, 2026-11-22 (0023).
#define WAITS_KEPT 4

// --- timeline ----------------------------------------------------------------

// reaper.c: pause between two attempts at frees that were not possible. Not
// measured, 2026-11-28.
#define IDLE_FREE_NS UINT64_C(2000000)

// --- stream ------------------------------------------------------------------

// copy.c: bytes of ordinary memory that an operation keeps a copy of: an extra
// copy against a wait for the host. Not measured, 2026-11-22.
#define PAYLOAD_MOST ((size_t)64 << 10)
// deferred.c: operations under way above which the progress thread submits no
// deferred ones. A caller that finds a hardware queue full must wait, and the
// progress thread must not. Not measured.
#define UNDER_WAY_MOST 512
// memory.c: time that an allocation waits for retired memory when there is no
// other. Not measured.
#define ALLOCATION_PATIENCE_NS UINT64_C(100000000)
// staging.c: the most threads and slots that RUNNEL_STAGING takes, and the
// smallest piece. Not measured, 2026-11-22.
#define THREADS_MOST 32
#define SLOTS_MOST 4
#define PIECE_LEAST ((size_t)256 << 10)
// staging.c: a copy of up to so many times the page-locked memory stores whole
// lines. Effect measured: H100, 2026-11-24 (0038).
#define PINNED_TIMES 2
// staging.c: bytes up to which the driver copies to the device as fast.
// Measured: H100, 2026-11-24 (0038).
#define DRIVERS_MOST ((size_t)1 << 20)
// staging.c: the expected wait of a caller while the other threads carry their
// last pieces. Effect measured: H100, 2026-11-24 (0038).
#define LAST_PIECES_US 400
// staging.c: pieces that a thread carries before the thread looks for another
// waiting copy: bandwidth against fairness. Not measured, 2026-11-22.
#define TURN_PIECES 8
// sync_copy.c: bytes of a synchronous copy that goes through page-locked memory
// in the stream's order. Effect measured: H100, 2026-11-24 (0038).
#define BOUNCE_SIZE ((size_t)256 << 10)

// --- graph -------------------------------------------------------------------

// graph_batch.c: operations of a batch that becomes a graph; a shorter batch is
// as fast operation by operation. Not measured, 2026-11-22.
#define BATCH_LEAST 8
// graph_batch.c: graphs of batches that a context keeps, and shapes of batches
// that a context remembers until they come again: device memory against misses.
// Not measured, 2026-11-22.
#define BATCHES 16
#define BATCHES_SEEN 64
// graph.h: plans that an executable graph keeps, and all graphs of a context.
// Not measured, but the limit of the driver is: it makes some 30 plans of a
// context and more only while its device is idle, H100, 2026-11-28 (0022).
enum { SPARE_PLANS = 4, SPARE_PLANS_OF_CONTEXT = 12 };

// --- context -----------------------------------------------------------------

// progress.c: rounds without news before a stream leaves the list of the
// progress thread. Not measured, 2026-11-22.
#define IDLE_ROUNDS 32
// progress.c: time between two queries of the driver: latency against calls
// that hold up threads which launch. Effect measured on the fake driver: 10,000
// queries in 4 ms before, 200 since, 2026-11-23.
#define ASK_NS UINT64_C(20000)
