// Cooperative launches: blocks that wait for each other.
#include "suite.h"

#include <stdatomic.h>

static const rnl_launch_attribute cooperative = {RNL_LAUNCH_COOPERATIVE,
                                                 {true}};
static const rnl_launch_attribute ordinary = {RNL_LAUNCH_COOPERATIVE,
                                              {false}};

#define COOPERATIVE .attributes = &cooperative, .attribute_count = 1

#define INCLUDE                             \
    "#include <cooperative_groups.h>\n"     \
    "namespace cg = cooperative_groups;\n"

static const char sums[] = INCLUDE
    // The halves of out are added until one number is left.
    "extern \"C\" __global__ void sum(int *out, int count) {\n"
    "    cg::grid_group grid = cg::this_grid();\n"
    "    int all = grid.size();\n"
    "    for (int half = count / 2; half > 0; half /= 2) {\n"
    "        for (int i = grid.thread_rank(); i < half; i += all)\n"
    "            out[i] += out[i + half];\n"
    "        grid.sync();\n"
    "    }\n"
    "    int sum = out[0];\n"
    "    grid.sync();\n"
    "    for (int i = grid.thread_rank(); i < count; i += all)\n"
    "        out[i] = grid.is_valid() ? sum : -1;\n"
    "}\n"
    "extern \"C\" __global__ void traps(int *out, int n) {\n"
    "    cg::grid_group grid = cg::this_grid();\n"
    "    if (int(blockIdx.x) == n) __trap();\n"
    "    grid.sync();\n"
    "    out[grid.thread_rank()] = 0;\n"
    "}\n"
    "extern \"C\" __global__ void leaves(int *out, int n) {\n"
    "    cg::grid_group grid = cg::this_grid();\n"
    "    if (int(blockIdx.x) >= n) return;\n"
    "    atomicAdd(out, 1);\n"
    "    grid.sync();\n"
    "    if (out[0] != n * int(blockDim.x)) __trap();\n"
    "}\n"
    "extern \"C\" __global__ void part(int *out, int n) {\n"
    "    __shared__ int shared;\n"
    "    if (threadIdx.x == 0) shared = n;\n"
    "    if (threadIdx.x % 2) __syncthreads(); else cg::this_grid().sync();\n"
    "    out[0] = shared;\n"
    "}\n";

static rnl_function make(const char *name)
{
    suite_need(RNL_FEATURE_COOPERATIVE_LAUNCH);
    return suite_compile(sums, name);
}

static void sum(rnl_function function, rnl_dim3 grid, rnl_dim3 block)
{
    enum { COUNT = 2048 };
    rnl_buffer buffer = suite_ints(COUNT, 3);
    expect_ok(rnl_enqueue_function(
        suite_stream(), function,
        RNL_LAUNCH(.grid = grid, .block = block, COOPERATIVE),
        RNL_ARGS(buffer, (int)COUNT)));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    suite_expect_ints(buffer, COUNT, 3 * COUNT);
    expect_ok(rnl_buffer_release(buffer));
}

// The launch fails, and its stream works again after a reset.
static void fails(rnl_function function, const rnl_launch *launch, int n,
                  const char *words)
{
    rnl_stream stream = suite_new_stream();
    rnl_buffer buffer = suite_ints(4096, 1);
    expect_ok(rnl_enqueue_function(stream, function, launch,
                                   RNL_ARGS(buffer, n)));
    expect_error(rnl_stream_synchronize(stream, RNL_FOREVER),
                 RNL_ERROR_LAUNCH_FAILED, NULL);
    if (suite_is_cpu() && !strstr(rnl_last_error()->message, words))
        fail_msg("%s", rnl_last_error()->message);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(blocks_meet_at_the_barrier_of_the_grid)
{
    rnl_function function = make("sum");
    for (int time = 0; time < 2; time++) {
        sum(function, (rnl_dim3){1, 1, 1}, (rnl_dim3){1, 1, 1});
        sum(function, (rnl_dim3){13, 1, 1}, (rnl_dim3){40, 1, 1});
        sum(function, (rnl_dim3){2, 3, 2}, (rnl_dim3){4, 2, 5});
    }
    expect_ok(rnl_function_release(function));
}

RNL_TEST(many_streams_launch_cooperatively)
{
    enum { STREAMS = 4, COUNT = 256 };
    rnl_function function = make("sum");
    rnl_stream streams[STREAMS];
    rnl_buffer buffers[STREAMS];
    for (int i = 0; i < STREAMS; i++) {
        streams[i] = suite_new_stream();
        buffers[i] = suite_ints(COUNT, i);
        expect_ok(rnl_enqueue_function(
            streams[i], function,
            RNL_LAUNCH(.grid = {4}, .block = {32}, COOPERATIVE),
            RNL_ARGS(buffers[i], (int)COUNT)));
    }
    for (int i = 0; i < STREAMS; i++) {
        expect_ok(rnl_stream_synchronize(streams[i], RNL_FOREVER));
        suite_expect_ints(buffers[i], COUNT, i * COUNT);
        expect_ok(rnl_buffer_release(buffers[i]));
        expect_ok(rnl_stream_release(streams[i]));
    }
    expect_ok(rnl_function_release(function));
}

RNL_TEST(blocks_that_ended_are_not_waited_for_by_the_grid)
{
    if (!suite_is_cpu())
        test_skip("undefined on a gpu");
    rnl_function function = make("leaves");
    for (int n = 0; n <= 6; n += 3) {
        rnl_buffer buffer = suite_ints(1, 0);
        expect_ok(rnl_enqueue_function(
            suite_stream(), function,
            RNL_LAUNCH(.grid = {6}, .block = {33}, COOPERATIVE),
            RNL_ARGS(buffer, n)));
        expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
        suite_expect_ints(buffer, 1, n * 33);
        expect_ok(rnl_buffer_release(buffer));
    }
    expect_ok(rnl_function_release(function));
}

RNL_TEST(a_trap_fails_the_launch_while_other_blocks_wait)
{
    if (!suite_is_cpu())
        test_skip("a trap breaks the context");
    rnl_function function = make("traps"), after = make("sum");
    fails(function, RNL_LAUNCH(.grid = {6}, .block = {33}, COOPERATIVE), 4,
          "block (4, 0, 0), thread (0, 0, 0)");
    sum(after, (rnl_dim3){3, 1, 1}, (rnl_dim3){40, 1, 1});
    expect_ok(rnl_function_release(after));
    expect_ok(rnl_function_release(function));
}

RNL_TEST(a_grid_barrier_that_some_threads_miss_fails)
{
    if (!suite_is_cpu())
        test_skip("undefined on a gpu");
    rnl_function function = make("part");
    fails(function, RNL_LAUNCH(.grid = {3}, .block = {33}, COOPERATIVE), 1,
          "the barrier is divergent");
    expect_ok(rnl_function_release(function));
}

RNL_TEST(the_grid_does_not_wait_in_other_launches)
{
    if (!suite_is_cpu())
        test_skip("undefined on a gpu");
    rnl_function function = make("sum");
    fails(function, RNL_LAUNCH(.grid = {3}, .block = {33}), 64,
          "in a launch that is not cooperative");
    fails(function,
          RNL_LAUNCH(.grid = {1}, .block = {1}, .attributes = &ordinary,
                     .attribute_count = 1), 64,
          "in a launch that is not cooperative");
    expect_ok(rnl_function_release(function));
}

RNL_TEST(a_cooperative_launch_that_is_too_large_is_refused)
{
    const rnl_dim3 grids[] = {{1 << 30, 1, 1}, {65, 1, 1}, {1, 65535, 1},
                              {1, 1, 65}, {5, 5, 5}, {65535, 65535, 65535}};
    rnl_function function = make("sum");
    rnl_buffer buffer = suite_ints(64, 1);
    for (int i = 0; i < 6 && suite_is_cpu(); i++)
        expect_error(rnl_enqueue_function(
                         suite_stream(), function,
                         RNL_LAUNCH(.grid = grids[i], .block = {32, 32},
                                    COOPERATIVE),
                         RNL_ARGS(buffer, 64)),
                     RNL_ERROR_INVALID_ARGUMENT, "grid");
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    suite_expect_ints(buffer, 64, 1);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_function_release(function));
}

// Kernels that cannot wait need not be kept alive, so any grid will do.
static rnl_status count_blocks(const rnl_native_call *call)
{
    atomic_fetch_add((_Atomic int *)call->user_data, (int)call->block_count);
    return RNL_OK;
}

RNL_TEST(any_kernel_can_be_launched_cooperatively)
{
    _Atomic int blocks = 0;
    suite_need(RNL_FEATURE_COOPERATIVE_LAUNCH);
    rnl_function native = suite_native("count", count_blocks, &blocks);
    rnl_function plain = suite_compile(
        "extern \"C\" __global__ void plain(int *out) {\n"
        "    if (threadIdx.x == 0) atomicAdd(out, 1);\n"
        "}\n", "plain");
    rnl_buffer buffer = suite_ints(1, 0);
    expect_ok(rnl_enqueue_function(
        suite_stream(), native,
        RNL_LAUNCH(.grid = {1000}, .block = {128}, COOPERATIVE), RNL_NO_ARGS));
    expect_ok(rnl_enqueue_function(
        suite_stream(), plain,
        RNL_LAUNCH(.grid = {1000}, .block = {128}, COOPERATIVE),
        RNL_ARGS(buffer)));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    suite_expect_ints(buffer, 1, 1000);
    assert_int_equal(blocks, 1000);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_function_release(plain));
    expect_ok(rnl_function_release(native));
}
