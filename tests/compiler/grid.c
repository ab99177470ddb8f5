// Kernels whose blocks wait for each other.
#include "build.h"

#include <string.h>

enum { MOST = 4096 };

static int in[MOST], out[2 * MOST], want[MOST];
static struct built built;

static void begin(void)
{
#if !defined(__x86_64__)
    test_skip("blocks take turns on x86-64 only");
#endif
    for (int i = 0; i < MOST; i++)
        in[i] = sample(i);
    if (!built.library)
        built_kernels(&built, "grid.cu", "");
    built.cooperative = true;
    memset(out, 0, sizeof out);
}

static void run(const char *kernel, rnl_dim3 grid, rnl_dim3 block,
                size_t shared, int n)
{
    memset(out, 0, sizeof out);
    built_run_ints(&built, kernel, grid, block, shared, out, in, n);
}

static void fails(const char *kernel, rnl_dim3 grid, rnl_dim3 block, int n,
                  const char *failure)
{
    int *to = out;
    const int *from = in;
    const void *arguments[] = {&to, &from, &n};
    assert_int_equal(built_run(&built, kernel, grid, block, 0, arguments),
                     RNL_ERROR_LAUNCH_FAILED);
    assert_string_equal(built.failure, failure);
}

static void check_rounds(rnl_dim3 grid, rnl_dim3 block, int all, int rounds)
{
    static int other[MOST];
    memcpy(want, in, sizeof want);
    for (int round = 0; round < rounds; round++) {
        memcpy(other, want, sizeof other);
        for (int i = 0; i < all; i++)
            want[i] = other[i] + other[(i + 1) % all];
    }
    run("grid_rounds", grid, block, 0, rounds);
    for (int i = 0; i < all; i++)
        if (out[i] != want[i])
            fail_msg("%d threads, %d rounds: %d is %d, not %d", all, rounds, i,
                     out[i], want[i]);
}

RNL_TEST(the_grid_waits_in_a_loop)
{
    begin();
    for (int rounds = 0; rounds < 5; rounds++) {
        check_rounds((rnl_dim3){1}, (rnl_dim3){1}, 1, rounds);
        check_rounds((rnl_dim3){37}, (rnl_dim3){1}, 37, rounds);
        check_rounds((rnl_dim3){1}, (rnl_dim3){100}, 100, rounds);
        check_rounds((rnl_dim3){5}, (rnl_dim3){33}, 165, rounds);
        check_rounds((rnl_dim3){3, 2, 4}, (rnl_dim3){4, 3, 2}, 576, rounds);
    }
    built_close(&built);
}

RNL_TEST(a_block_is_whole_after_the_grid_waited)
{
    begin();
    for (int time = 0; time < 2; time++) {
        int sum = 0;
        for (int i = 0; i < 16 * 64; i++)
            sum += in[i];
        run("grid_sum", (rnl_dim3){16}, (rnl_dim3){64}, 64 * sizeof(int), 0);
        for (int i = 0; i < 16; i++)
            assert_int_equal(out[i], sum + (i > 0));
    }
    built_close(&built);
}

RNL_TEST(threads_and_blocks_that_ended_count_as_there)
{
    begin();
    run("grid_leave", (rnl_dim3){9}, (rnl_dim3){40}, 0, 33);
    for (int i = 0; i < 9 * 40; i++)
        assert_int_equal(out[1 + i],
                         i / 40 % 2 || i % 40 >= 33 ? 0 : 5 * 33);
    run("grid_leave", (rnl_dim3){9}, (rnl_dim3){40}, 0, 0);
    assert_int_equal(out[0], 0);
    built_close(&built);
}

RNL_TEST(a_grid_barrier_of_some_threads_fails)
{
    begin();
    fails("grid_divergent", (rnl_dim3){3}, (rnl_dim3){40}, 35,
          "block (1, 0, 0), thread (35, 0, 0): waits for ever at "
          "the barrier in line 72, while thread (0, 0, 0) waits at "
          "grid_group::sync(): the barrier is divergent");
    fails("grid_divergent_warp", (rnl_dim3){3}, (rnl_dim3){40}, 0,
          "block (0, 0, 0), thread (3, 0, 0): waits for ever in __syncwarp "
          "with mask 0xffffffff, while thread (0, 0, 0) waits at "
          "grid_group::sync(): the barrier is divergent");
    check_rounds((rnl_dim3){5}, (rnl_dim3){33}, 165, 2);
    built_close(&built);
}

RNL_TEST(a_trap_ends_all_that_wait)
{
    begin();
    size_t held = 0;
    for (int time = 0; time < 3; time++) {
        fails("grid_trap", (rnl_dim3){8}, (rnl_dim3){40}, 3 * 40 + 7,
              "block (3, 0, 0), thread (7, 0, 0): __trap() was called");
        assert_int_equal(out[0], 0);
        assert_true(time == 0 || held == block_thread_held());
        held = block_thread_held();
        check_rounds((rnl_dim3){5}, (rnl_dim3){33}, 165, 2);
        memset(out, 0, sizeof out);
    }
    built_close(&built);
}

RNL_TEST(other_launches_do_not_wait_for_the_grid)
{
    begin();
    built.cooperative = false;
    fails("grid_trap", (rnl_dim3){2}, (rnl_dim3){4}, 1,
          "block (0, 0, 0), thread (0, 0, 0): grid_group::sync() in a launch "
          "that is not cooperative: it needs the attribute "
          "RNL_LAUNCH_COOPERATIVE");
    run("grid_valid", (rnl_dim3){2}, (rnl_dim3){40}, 0, 0);
    assert_int_equal(out[79], 2);
    built.cooperative = true;
    run("grid_valid", (rnl_dim3){2}, (rnl_dim3){40}, 0, 0);
    assert_int_equal(out[79], 1);
    built_close(&built);
}

RNL_TEST(blocks_spin_for_each_other)
{
    begin();
    run("grid_spin", (rnl_dim3){20}, (rnl_dim3){33}, 0, 0);
    for (int i = 0; i < 21; i++)
        assert_int_equal(out[i], i < 20);
    built_close(&built);
}

RNL_TEST(stacks_of_a_grid_are_given_back)
{
    begin();
    run("grid_rounds", (rnl_dim3){2}, (rnl_dim3){1024}, 0, 1);
    assert_true(block_thread_held() < 1100 * ((size_t)296 << 10) +
                                          ((size_t)16 << 20));
    check_rounds((rnl_dim3){4}, (rnl_dim3){1000}, 4000, 1);
    built_close(&built);
}
