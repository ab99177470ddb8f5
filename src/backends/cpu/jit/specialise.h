// Kernels compiled once more for the block size of their launches.
//
// A kernel that has run for some time with blocks of a single size is compiled
// for that size (`runnel-cc --only-kernel`), by a thread of low priority that
// the whole process shares. Blocks that begin later run the new code; if the
// compilation fails, the general code goes on.
// docs/decisions/0011-specialised-kernels.md has the gains.
#pragma once

#include "backends/cpu/kernel/block.h"
#include "core/backend.h"

struct specialised;   // of one kernel
struct specialiser;  // of all kernels of a module

// NULL when the module's kernels are not to be, or cannot be, compiled again.
struct specialiser *specialiser_open(const rnl_cpu_object *table,
                               const struct source *source);
// Cancels compilations for the module, whose kernels must not run.
void specialiser_close(struct specialiser *specialiser);

// NULL when the kernel cannot have any.
struct specialised *specialiser_find(struct specialiser *specialiser,
                              const rnl_cpu_kernel *kernel);

// Whether to tell it how long the kernel ran, with blocks of which size.
bool specialised_waits(const struct specialised *specialised);
void specialised_note(struct specialised *specialised, rnl_dim3 block,
                      uint64_t time_ns);

// Whether code for blocks of that size exists, which then stays; lets a run use
// the code.
bool specialised_is_ready(const struct specialised *specialised,
                          rnl_dim3 block);
uint32_t specialised_flags(const struct specialised *specialised);
void specialised_use(const struct specialised *specialised,
                     struct kernel_run *run);

// Waits until all that was asked for is done, and tells how many kernels have
// been given code for one block size; for tests.
unsigned specialiser_drain(void);
