// Fibers, and what an OS thread keeps for them.
#include "build.h"

#include "backends/cpu/kernel/fiber.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static struct fiber native, *fibers[64];
static int order[1024], order_count;

struct job {
    int number;
    int turns;
};

static void count_turns(void *argument)
{
    struct job *job = argument;
    double kept = job->number * 0.5;
    for (int i = 0; i < job->turns; i++) {
        order[order_count++] = job->number * 100 + i;
        fiber_switch(fibers[job->number], &native);
        assert_true(kept == job->number * 0.5);
    }
    order[order_count++] = -job->number;
    for (;;)
        fiber_switch(fibers[job->number], &native);
}

RNL_TEST(fibers_take_turns)
{
    struct job jobs[3] = {{0, 3}, {1, 3}, {2, 3}};
    fiber_init_native(&native);
    for (int i = 0; i < 3; i++)
        fibers[i] = fiber_create(count_turns, &jobs[i]);
    for (int turn = 0; turn < 4; turn++)
        for (int i = 0; i < 3; i++)
            fiber_switch(&native, fibers[i]);
    static const int want[] = {0, 100, 200, 1, 101, 201, 2, 102, 202, 0, -1,
                               -2};
    assert_int_equal(order_count, 12);
    assert_memory_equal(order, want, sizeof want);
    for (int i = 0; i < 3; i++)
        fiber_destroy(fibers[i]);
}

static void use_stack(void *argument)
{
    volatile char bytes[FIBER_STACK_SIZE - 16384];
    bytes[0] = 1;
    bytes[sizeof bytes - 1] = 2;
    *(int *)argument = bytes[0] + bytes[sizeof bytes - 1];
    // Vector code needs the alignment that the ABI promises.
    struct __attribute__((aligned(16))) {
        char c[16];
    } aligned = {{0}};
    volatile uintptr_t address = (uintptr_t)&aligned;
    *(int *)argument += (int)(address % 16);
    for (;;)
        fiber_switch(fibers[0], &native);
}

RNL_TEST(stacks_are_large_and_aligned)
{
    int result = 0;
    fiber_init_native(&native);
    for (int i = 0; i < 30; i++) {
        fibers[0] = fiber_create(use_stack, &result);
        fiber_switch(&native, fibers[0]);
        assert_int_equal(result, 3);
        assert_true((uintptr_t)fibers[0]->stack_pointer % 8 == 0);
        fiber_destroy(fibers[0]);
    }
}

RNL_TEST(a_reset_fiber_starts_anew)
{
    struct job job = {0, 5};
    int result = 0;
    fiber_init_native(&native);
    fibers[0] = fiber_create(count_turns, &job);
    fiber_switch(&native, fibers[0]);
    fiber_switch(&native, fibers[0]);
    assert_int_equal(order[1], 1);
    fiber_reset(fibers[0], use_stack, &result);
    fiber_switch(&native, fibers[0]);
    assert_int_equal(result, 3);
    fiber_destroy(fibers[0]);
}

// --- What a thread keeps ---------------------------------------------------

static struct built built;

static void *run_on_thread(void *argument)
{
    int out[512] = {0}, in[512] = {0};
    for (int i = 0; i < 512; i++)
        in[i] = i;
    for (int i = 0; i < 20; i++)
        built_run_ints(argument, "warp_block_sum", (rnl_dim3){4},
                       (rnl_dim3){512}, 0, out, in, 0);
    assert_int_equal(out[3], 511 * 512 / 2 + 3);
    return NULL;
}

RNL_TEST(blocks_run_on_many_threads)
{
    pthread_t threads[4];
    built_kernels(&built, "warp.cu", "");
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, run_on_thread, &built);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    built_close(&built);
}

RNL_TEST(stacks_are_kept_until_asked_for)
{
    built_kernels(&built, "warp.cu", "--option --tier=F");
    assert_int_equal(block_thread_held(), 0);
    run_on_thread(&built);
    size_t held = block_thread_held();
    assert_true(held > 512 * FIBER_STACK_SIZE);
    run_on_thread(&built);
    assert_int_equal(block_thread_held(), held);
    block_thread_finish();
    assert_int_equal(block_thread_held(), 0);
    block_thread_finish();
    run_on_thread(&built);
    assert_int_equal(block_thread_held(), held);
    built_close(&built);
}

static size_t address_space(void)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%zu", &pages), 1);
    fclose(file);
    return pages * 4096;
}

// No memory for stacks is a status, and the thread works afterwards.
RNL_TEST(running_out_of_stacks_is_an_error)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    test_skip("sanitizers need all of the address space");
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
    test_skip("sanitizers need all of the address space");
#endif
#endif
    static int in[512], out[512], *to = out, n;
    const int *from = in;
    const void *arguments[] = {&to, &from, &n};
    struct rlimit old, small;
    built_kernels(&built, "warp.cu", "--option --tier=F");
    getrlimit(RLIMIT_AS, &old);
    for (size_t room = 0; room < (size_t)16 << 20; room += (size_t)3 << 20) {
        small = old;
        small.rlim_cur = address_space() + room;
        setrlimit(RLIMIT_AS, &small);
        rnl_status status = built_run(&built, "warp_block_sum", (rnl_dim3){1},
                                      (rnl_dim3){512}, 0, arguments);
        setrlimit(RLIMIT_AS, &old);
        assert_int_equal(status, RNL_ERROR_OUT_OF_MEMORY);
        assert_non_null(strstr(built.failure, "no memory for "));
        block_thread_finish();
    }
    assert_int_equal(built_run(&built, "warp_block_sum", (rnl_dim3){1},
                               (rnl_dim3){512}, 0, arguments), RNL_OK);
    built_close(&built);
}

// --- Which blocks ----------------------------------------------------------

RNL_TEST(a_part_of_a_grid)
{
    static int out[8 * 16], want[8 * 16];
    int *to = out, n = 0;
    const void *arguments[] = {&to, &to, &n};
    built_kernels(&built, "shared.cu", "");
    struct kernel_run run = {.object = built.table,
                             .kernel = built_kernel(&built, "shared_private"),
                             .grid = {8, 1, 1}, .block = {16, 1, 1},
                             .arguments = arguments};
    assert_int_equal(block_run(&run, 3, 4, built.failure, 10), RNL_OK);
    for (int i = 3 * 16; i < 7 * 16; i++)
        want[i] = i / 16;
    assert_memory_equal(out, want, sizeof out);
    assert_int_equal(block_run(&run, 3, 0, built.failure, 10), RNL_OK);
    built_close(&built);
}
