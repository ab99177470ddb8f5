// Tuned constants of core, by room. "Compared": several values were tried on
// the machine named. "Effect measured": the mechanism was, with this value
// alone. "Not measured": the value is a judgement. Numbers of four digits are
// pages of docs/decisions.
#pragma once

#include <stddef.h>
#include <stdint.h>

// --- object ------------------------------------------------------------------

// config.c: time that a worker spins before the worker sleeps: latency against
// processor time. Not measured, 2026-11-21.
#define SPIN_DEFAULT_US 30
// config.c: time in a kernel after which the kernel is compiled for its block
// size: about the processor time of the compiler, so that a program pays at
// most twice. Measured: 31 kernels of the bench take 28 to 182 ms, 50 in the
// geometric mean, Zen 4, 2026-11-29 (0011).
#define SPECIALISE_AFTER_NS UINT64_C(50000000)
// config.c: bytes of the disk cache. Not measured, 2026-11-22.
#define CACHE_SIZE_DEFAULT (UINT64_C(1) << 30)
// pool_state.h: parts of a memory pool, by thread: contention against memory
// that other threads cannot reuse. Not measured, 2026-11-21.
#define POOL_PARTS 32
// quarantine.c: deaths in its class before an object is reused, and dead
// objects that are cleared at once, since all threads are asked; at most the
// bits of `seen`. Not measured, 2026-11-21 and 2026-11-22 (0005).
#define QUARANTINE 64
#define CLEARED_AT_ONCE 32

// --- stream ------------------------------------------------------------------

// batch.c: operations of the first batch and of later batches: small ones
// first, so that the device starts soon, then larger ones, but not so large
// that the device waits long for the last operations. Batches had 256 before;
// no figures are kept, 2026-11-23.
#define BATCH_FIRST 32u
#define BATCH_MOST 128u
// failure_history.c: failures before resets that a stream remembers. Not
// measured, 2026-11-28.
#define FAILURES_OLDER_MOST 8
// interprocess_event.c: time between two looks whether a recording process
// lives. Not measured, 2026-11-28.
enum { RECORDER_LOOK_NS = 20000000 };
// op.c: operations that a thread's cache and the common cache exchange at once,
// and operations of a thread's cache: contention against memory. Not measured,
// 2026-11-21.
#define OP_BATCH 32
#define OP_THREAD_MOST (2 * OP_BATCH)
// op.c: batches that are freed at once, some tens of microseconds; op.h:
// batches that stay at rest, 768 KiB. Not measured, 2026-11-27.
#define OP_GIVEN_AT_ONCE 64
#define OP_BATCHES_AT_REST 64

// --- memory ------------------------------------------------------------------

// buffer.c: the least bytes of device memory that a stream's workers zero
// rather than the caller. Compared with other sizes: Zen 5, 2026-11-28 (0053).
#define ZEROED_BY_WORKERS ((size_t)16 << 20)
// memory_pool.c, pool_deferred.c: blocks of a list that a search visits: reuse
// against the time under the lock. Not measured, 2026-11-21 and 2026-11-26
// (0014, 0041).
#define POOL_LOOK_MOST 64

// --- module ------------------------------------------------------------------

// compiler_process.c: bytes of an object that is loaded: no source makes as
// many, and a broken compiler may not fill the memory. Not measured,
// 2026-11-21.
#define COMPILER_OBJECT_MAX ((size_t)1 << 29)
// function.h: arguments from which on a launch packs their values, since
// drivers copy few values as fast singly. Effect measured with 64 arguments:
// H100, 2026-11-22.
enum { PACKED_LEAST = 8 };
// launch_threads.c: threads of a block that a launch leaves to the library:
// occupancy of a GPU against the work of a last, partial block. Not measured,
// 2026-11-29; the usual choice of CUDA programs.
#define BLOCK_THREADS 256u
// function_cache.c: buckets of the cache, places of hints by the address of a
// text, and modules that a context keeps: memory against compiling again. Not
// measured, 2026-11-21 and 2026-11-22.
#define FUNCTION_BUCKETS 64
#define FUNCTION_HINTS 64
#define CACHED_MODULES_MAX 1024
// disk_cache_evict.c: age in seconds of a file that no writer still writes. Not
// measured, 2026-11-22.
#define LEFT_BEHIND_S 3600

// --- graph -------------------------------------------------------------------

// node.c: nodes that are searched for followers before the followers are
// listed. Not measured, 2026-11-27.
#define FOLLOWERS_LOOKED_AT 8
