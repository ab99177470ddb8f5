// Kernels that run whole blocks by themselves, as vector code does.
#include "test.h"

#include "backends/cpu/kernel/block.h"


#include <stddef.h>
#include <stdint.h>
#include <string.h>

static struct seen {
    uint64_t calls, blocks;
    uint32_t first[3];
    char *scratch;
} seen;
static const rnl_cpu_services *services;
static char failure[512];

static void run_threads(rnl_cpu_block *block)
{
    block->next_thread = block->thread_count;
    seen.calls++;
}

static void record(rnl_cpu_block *block, uint64_t count)
{
    seen.calls++;
    seen.blocks += count;
    memcpy(seen.first, block->index, sizeof seen.first);
}

static void trap_in_third(rnl_cpu_block *block, uint64_t count)
{
    for (; count > 0; count--, block->index[0]++)
        if (block->index[0] == 2)
            services->trap(block, 37, "it is the third", NULL, 0);
}

static void use_scratch(rnl_cpu_block *block, uint64_t count)
{
    seen.scratch = services->scratch(block, 1000);
    memset(seen.scratch, 1, 1000);
    seen.scratch = services->scratch(block, 300000);
    memset(seen.scratch, 2, 300000);
    seen.blocks += count;
}

static void want_too_much(rnl_cpu_block *block, uint64_t count)
{
    (void)count;
    services->scratch(block, UINT64_MAX / 4);
    seen.calls++;
}

static rnl_status run(rnl_cpu_kernel kernel, size_t kernel_size, rnl_dim3 grid,
                      uint64_t first, uint64_t count)
{
    rnl_cpu_object object = {.kernel_size = (uint32_t)kernel_size};
    struct kernel_run run = {&object, &kernel, grid, {64, 1, 1}, 0, NULL,
                             false};
    services = block_services();
    memset(&seen, 0, sizeof seen);
    return block_run(&run, first, count, failure, sizeof failure);
}

static rnl_status run_blocks(void (*function)(rnl_cpu_block *, uint64_t))
{
    rnl_cpu_kernel kernel = {.form = RNL_CPU_FORM_BLOCKS,
                             .run_blocks = function};
    return run(kernel, sizeof kernel, (rnl_dim3){5, 1, 1}, 0, 5);
}

RNL_TEST(whole_blocks_are_preferred)
{
    rnl_cpu_kernel kernel = {.form = RNL_CPU_FORM_THREADS,
                             .run_threads = run_threads, .run_blocks = record};
    assert_int_equal(run(kernel, sizeof kernel, (rnl_dim3){3, 2, 4}, 7, 11),
                     RNL_OK);
    assert_int_equal(seen.calls, 1);
    assert_int_equal(seen.blocks, 11);
    assert_int_equal(seen.first[0], 1);
    assert_int_equal(seen.first[1], 0);
    assert_int_equal(seen.first[2], 1);
    block_thread_finish();
}

RNL_TEST(records_of_old_objects_end_before)
{
    rnl_cpu_kernel kernel = {.form = RNL_CPU_FORM_THREADS,
                             .run_threads = run_threads, .run_blocks = record};
    size_t size = offsetof(rnl_cpu_kernel, run_blocks);
    assert_int_equal(run(kernel, size, (rnl_dim3){5, 1, 1}, 0, 5), RNL_OK);
    assert_int_equal(seen.calls, 5);
    assert_int_equal(seen.blocks, 0);
    block_thread_finish();
}

RNL_TEST(a_trap_tells_block_and_thread)
{
    assert_int_equal(run_blocks(trap_in_third), RNL_ERROR_LAUNCH_FAILED);
    assert_string_equal(failure, "block (2, 0, 0), thread (37, 0, 0): it is "
                                 "the third");
    assert_int_equal(run_blocks(record), RNL_OK);
    assert_int_equal(seen.blocks, 5);
    block_thread_finish();
}

RNL_TEST(scratch_memory_is_aligned_and_kept)
{
    assert_int_equal(run_blocks(use_scratch), RNL_OK);
    char *first = seen.scratch;
    assert_int_equal((uintptr_t)first % RNL_CPU_MEMORY_ALIGNMENT, 0);
    assert_int_equal(first[299999], 2);
    assert_true(block_thread_held() >= 300000);
    assert_int_equal(run_blocks(use_scratch), RNL_OK);
    assert_ptr_equal(seen.scratch, first);
    block_thread_finish();
    assert_int_equal(block_thread_held(), 0);
}

RNL_TEST(scratch_memory_that_is_not_there)
{
    assert_int_equal(run_blocks(want_too_much), RNL_ERROR_OUT_OF_MEMORY);
    assert_int_equal(seen.calls, 0);
    assert_non_null(strstr(failure, "no memory for 4611686018427387903 bytes"));
    block_thread_finish();
}
