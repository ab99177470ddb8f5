// Kernels compiled once more for the block size that they are launched with.
//
// A kernel that has run for some time with blocks of one size is compiled for
// that size alone (`runnel-cc --only-kernel`), by one thread of low priority
// for all of the process. Blocks that begin later use what comes of it; where
// nothing does, the general code goes on. docs/decisions/block-size-code.md
// tells what it gains.
#pragma once

#include "backends/cpu/kernel/block.h"
#include "core/backend.h"

struct specialised;   // of one kernel
struct specialiser;  // of all kernels of a module

// NULL when the module's kernels are not to be, or cannot be, compiled again.
struct specialiser *specialiser_open(const rnl_cpu_object *table,
                               const struct source *source);
// Gives up what is being compiled for them. No kernel of theirs may run.
void specialiser_close(struct specialiser *specialiser);

// NULL when the kernel cannot have any.
struct specialised *specialiser_find(struct specialiser *specialiser,
                              const rnl_cpu_kernel *kernel);

// Whether to tell it how long the kernel ran, with blocks of which size.
bool specialised_waits(const struct specialised *specialised);
void specialised_note(struct specialised *specialised, rnl_dim3 block,
                      uint64_t time_ns);

// Whether there is code for blocks of that size, which then stays; lets a run
// use it.
bool specialised_is_ready(const struct specialised *specialised,
                          rnl_dim3 block);
uint32_t specialised_flags(const struct specialised *specialised);
void specialised_use(const struct specialised *specialised,
                     struct kernel_run *run);

// Waits until all that was asked for is done, and tells how many kernels have
// been given code for one block size; for tests.
unsigned specialiser_drain(void);
