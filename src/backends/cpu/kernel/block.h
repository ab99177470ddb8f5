// Runs the blocks of a kernel of a cpu object; run_blocks chooses the tier. In
// tier F, the threads of a block run in turn on the calling OS thread, and each
// thread that must wait gets a fiber. <runnel/cpu_object.h> has the contract
// with the object.
#pragma once

#include "backends/cpu/kernel/stop.h"

#include <runnel/cpu_object.h>
#include <runnel/status.h>
#include <stdbool.h>

// The most threads a block may have.
enum { BLOCK_THREADS_MOST = 1024 };

struct kernel_run {
    const rnl_cpu_object *object;  // the kernel's
    const rnl_cpu_kernel *kernel;
    rnl_dim3 grid, block;          // no zeros
    size_t shared_size;            // dynamic, at most object->dynamic_limit
    const void *const *arguments;  // address of each parameter's value
    bool cooperative;
    const struct kernel_run *next; // for block_run_list; NULL: the last
    const struct stop_scope *scope;// of the first in a list; NULL: not stopped
    struct code_range code;        // where a signal may stop it
    rnl_dim3 cluster;              // blocks per axis; x is 0: no clusters
};

// Whether the kernel has `run_blocks`, that is, tier B. Objects made before
// there was tier B have shorter records.
static inline bool block_has_lanes(const rnl_cpu_object *object,
                                   const rnl_cpu_kernel *kernel)
{
    return object->kernel_size >= offsetof(rnl_cpu_kernel, block_size) &&
           kernel->run_blocks;
}

// Whether `next` may stand behind `run` in a list: both run whole blocks, with
// the same mode of floating-point arithmetic, and neither is cooperative.
bool block_can_follow(const struct kernel_run *run,
                      const struct kernel_run *next);

// The most threads that a cooperative launch of a kernel that needs all its
// blocks at once may have; each that waits has a stack.
enum { GRID_THREADS_MOST = 65536 };

// Where block memory is not the OS thread's own, blocks can take turns.
#if defined(__x86_64__)
enum { BLOCK_COOPERATES = 1 };
#else
enum { BLOCK_COOPERATES = 0 };
#endif

// Whether a cooperative launch of the kernel needs all blocks at once, which
// block_run must then be given. Other kernels cannot wait for another block.
bool block_needs_grid(const rnl_cpu_object *object,
                      const rnl_cpu_kernel *kernel);

// The most blocks that a cluster may have; what every GPU with clusters takes.
enum { CLUSTER_BLOCKS_MOST = 8 };

// Blocks of a cluster of the run; 1 where there are no clusters.
uint64_t block_cluster_size(const struct kernel_run *run);

// Block memory of one block, bytes.
uint64_t block_memory_size(const rnl_cpu_object *object, size_t shared_size);

// The services for every object's `set_services`, which is called before any
// run.
const rnl_cpu_services *block_services(void);

// Runs blocks `first_block` … `first_block + block_count - 1`, numbered x
// fastest; of a run with clusters, so many clusters, each with all its blocks
// alive. For a cooperative run that needs its grid, all blocks are alive. May
// be called by several OS threads at once, but not from inside a kernel.
// RNL_ERROR_LAUNCH_FAILED: a thread trapped or waits for ever;
// RNL_ERROR_OUT_OF_MEMORY: no room for a stack or for shared memory;
// RNL_ERROR_INVALID_ARGUMENT: the block is too large. On failure `failure` has
// the reason, blocks not begun are not run, and waiting threads are dropped.
rnl_status block_run(const struct kernel_run *run, uint64_t first_block,
                     uint64_t block_count, char *failure, size_t failure_size);

// Runs all blocks of each kernel in a list, in order, which pays the cost of
// entering and leaving once. On failure `*out_failed` is the failed kernel, and
// later kernels are not run.
rnl_status block_run_list(const struct kernel_run *first,
                          const struct kernel_run **out_failed, char *failure,
                          size_t failure_size);

// Frees the stacks and block memory that the calling OS thread keeps for its
// next launches. Happens by itself when the thread ends.
void block_thread_finish(void);

// Bytes of address space that the calling OS thread keeps.
size_t block_thread_held(void);
