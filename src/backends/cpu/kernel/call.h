// Calls from a fiber into kernel code. A kernel may overwrite all of its stack,
// so what its caller needs again is kept in the fiber's record, out of reach.
#pragma once

#include <runnel/cpu_object.h>
#include <stdbool.h>
#include <stdint.h>

struct fiber;

// run_blocks of a kernel, or run_threads, which does not look at the count.
typedef void kernel_function(void);

// Runs kernel(block, count) on `fiber`, which runs. False if the kernel has
// overwritten the stack above its own frames: the caller's variables are not to
// be trusted then.
bool kernel_call(struct fiber *fiber, kernel_function *kernel,
                 rnl_cpu_block *block, uint64_t count);

// Whether the stack above the frames of the kernel that `fiber` runs is as
// kernel_call left it.
bool kernel_call_is_intact(const struct fiber *fiber);
