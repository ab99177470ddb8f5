// State of the block that an OS thread runs; used by block.c and warp_ops.c.
#pragma once

#include "backends/cpu/kernel/block.h"
#include "backends/cpu/kernel/fault.h"
#include "backends/cpu/kernel/fiber.h"
#include "backends/cpu/kernel/stop.h"

struct grid;

enum { WARP_SIZE = 32, WARPS_MOST = BLOCK_THREADS_MOST / WARP_SIZE };

// A thread that waits. Lies on its fiber's stack.
struct block_waiter {
    struct block_waiter *next;
    struct fiber *fiber;
    uint32_t thread;
    uint64_t result;
    int predicate;           // block barrier
    rnl_cpu_sync sync;
    uint32_t line;           // of the barrier; 0: not known
    rnl_cpu_warp_op op;      // warp operation
};

struct waiter_queue {
    struct block_waiter *first, **end;
    uint32_t count;
};

// Lanes of a warp that wait for each other: the same operation and mask. Lies
// on the stack of the lane that came first.
struct warp_group {
    struct warp_group *next;
    uint32_t kind, mask;
    uint32_t arrived;        // lanes
    struct block_waiter *lanes[WARP_SIZE];
};

struct warp {
    struct warp_group *groups;
    uint32_t suspended;      // lanes that have begun and not ended, but for the
                             // one that runs
};

struct runner {
    rnl_cpu_block block;     // as the object sees it
    const struct kernel_run *run;
    uint64_t blocks_left;    // after the current one
    struct fiber native;     // the OS thread itself
    struct fiber *current;
    struct fiber *idle;      // fibers that wait for a block
    struct fiber *made;      // all fibers
    size_t fiber_count;
    char *memory;            // block memory
    size_t memory_size;
    char *memory_here;       // of the block that runs: this, or the grid's
    char *scratch;           // of kernels that run whole blocks
    size_t scratch_size;
    struct waiter_queue ready;    // may go on
    struct waiter_queue yielded;  // may go on when nothing else can
    struct waiter_queue barrier;  // at the block barrier
    struct waiter_queue at_grid;  // at the barrier of the grid
    struct waiter_queue at_cluster;  // for all of the block
    struct grid *grid;       // where several blocks are alive, else NULL
    struct resident *cluster_blocks;  // kept for clusters; NULL: none yet
    uint32_t futile_yields;
    struct warp warps[WARPS_MOST];
    rnl_status status;
    char *failure;
    size_t failure_size;
    volatile bool inside;    // a fault is the kernel's
    struct fault fault;
    struct stop_thread stop;
    stack_t signal_stack, former_stack;
};

// The calling OS thread's; NULL where it has run no kernel. For signal handlers
// too.
struct runner *runner_here(void);

// In a service: the calling thread's runner. A kernel may have overwritten the
// block record that it passes; the launch fails unless the record is the
// running block's.
struct runner *runner_check(const rnl_cpu_block *block, uint32_t thread);

void waiter_queue_clear(struct waiter_queue *queue);
void waiter_queue_add(struct waiter_queue *queue, struct block_waiter *waiter);
struct block_waiter *waiter_queue_take(struct waiter_queue *queue);

// Appends all of `from`.
void waiter_queue_move(struct waiter_queue *from, struct waiter_queue *to);

// Makes the runner's own block memory at least so large; its contents are lost.
// False when memory is short.
bool runner_reserve_memory(struct runner *runner, uint64_t size);

// Makes `memory` what the service block_memory gives.
void runner_use_memory(struct runner *runner, char *memory);

// Suspends the calling thread, which is already in a queue or group, until it
// is put into `ready`. Further threads run meanwhile.
void runner_wait(struct runner *runner, struct block_waiter *self);

// Fails the launch and leaves the block for good.
_Noreturn void runner_fail(struct runner *runner, rnl_status status,
                           uint32_t thread, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

// Writes a failure's text: where it was, and `text`. The thread may be
// RUNNER_NO_THREAD.
#define RUNNER_NO_THREAD UINT32_MAX
void runner_write_failure(const struct runner *runner, uint32_t thread,
                          const char *text);

// "(x, y, z)" of a thread.
void runner_name_thread(const struct runner *runner, uint32_t thread,
                        char name[48]);

// kernel/barrier.c -----------------------------------------------------------

// All live threads wait at the block's barrier: resumes them, or fails the
// launch if they wait at different barriers.
void barrier_release(struct runner *runner);

// Fails the launch: some threads wait at a barrier, while others wait for lanes
// among them, or at the grid's barrier.
_Noreturn void barrier_fail(struct runner *runner);

// cooperative.c --------------------------------------------------------------

// A block of a grid that is not running now.
struct resident {
    struct resident *next;
    rnl_cpu_block block;
    struct waiter_queue ready, barrier, at_grid, at_cluster;
    struct warp warps[WARPS_MOST];
    char *scratch;           // as the runner's, while others run
    size_t scratch_size;
    uint64_t arrived, ended; // blocks of the cluster whose first block this is
};

struct resident_queue {
    struct resident *first, **end;
};

// Live blocks that take turns on an OS thread: the blocks of a grid, or of a
// cluster after another. The blocks of a cluster follow each other.
struct grid {
    struct resident *residents, *running;
    uint64_t count, begun;
    rnl_dim3 cluster;        // blocks per axis, no zeros
    uint64_t cluster_size;
    uint64_t first;          // number of the first resident's cluster
    uint64_t clusters_left;  // that come after those that are alive
    uint64_t meeting;        // blocks waiting for their cluster
    struct resident_queue runnable, arrived;  // others have ended
    char *memory;            // the block memories
    size_t memory_size, stride;
    char *scratch;           // the runner's own
    size_t scratch_size;
};

// Makes the runner, whose first block is about to begin, run a grid of `count`
// blocks. False when memory is short.
bool grid_open(struct grid *grid, struct runner *runner, uint64_t count);

// The same for `count` clusters from number `first` on, one after another.
bool grid_open_clusters(struct grid *grid, struct runner *runner,
                        uint64_t first, uint64_t count);
void grid_close(struct grid *grid, struct runner *runner);

// Bytes that a runner keeps for clusters besides its block memory.
size_t grid_clusters_held(const struct runner *runner);
void grid_free_clusters(struct runner *runner);

// The services sync_grid and sync_cluster.
void grid_sync(rnl_cpu_block *block, uint32_t thread);
void grid_sync_cluster(rnl_cpu_block *block, uint32_t thread);

// The running block has ended: goes to another one, which has threads that are
// ready or have not begun. False when all have ended.
bool grid_end(struct runner *runner);

// The same, for a block whose threads all wait at the barrier of the grid.
void grid_arrive(struct runner *runner);

// The same, for a block that waits for its cluster.
void grid_meet(struct runner *runner);

// The same, for a block that waits for values in memory.
void grid_pass(struct runner *runner);

// warp_ops.c -----------------------------------------------------------------

uint64_t warp_operate(rnl_cpu_block *block, uint32_t thread,
                      const rnl_cpu_warp_op *op);

// Nothing can run: completes the groups that wait only for lanes that have
// ended. True if some did.
bool warp_release_ended(struct runner *runner);

// No thread can run: completes the groups that query the active lanes.
bool warp_release_active(struct runner *runner);

// A lane that waits in a group, for a failure's text; NULL if none does.
struct block_waiter *warp_any_waiter(const struct runner *runner);

const char *warp_kind_name(uint32_t kind);

// print.c --------------------------------------------------------------------

// Counts the arguments of a format: the result of CUDA's printf.
int print_arguments(const char *format);
