// What kernels from source compute: one test for each thing of the dialect.
#include "suite.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

// Runs `function` on one argument, a buffer of `count` ints that are all 0
// before, and gives what they are after.
static void run(rnl_function function, const rnl_launch *launch, int *ints,
                size_t count)
{
    rnl_buffer buffer = suite_ints(count, 0);
    expect_ok(rnl_enqueue_function(suite_stream(), function, launch,
                                   RNL_ARGS(buffer)));
    suite_download(ints, buffer, count * sizeof *ints);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(scalar_add)
{
    rnl_function function = suite_compile(
        "extern \"C\" __global__ void scalar_add(float *vector, int size,\n"
        "                                        float scalar) {\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    if (i < size) vector[i] += scalar;\n"
        "}\n", "scalar_add");
    enum { COUNT = 20 };
    float values[COUNT + 1];
    for (int i = 0; i <= COUNT; i++)
        values[i] = (float)i;
    rnl_buffer buffer = suite_new_buffer(sizeof values);
    suite_upload(buffer, values, sizeof values);
    expect_ok(rnl_enqueue_function(suite_stream(), function,
                                   RNL_LAUNCH(.grid = {2}, .block = {16}),
                                   RNL_ARGS(buffer, 20, 20.0f)));
    suite_download(values, buffer, sizeof values);
    for (int i = 0; i < COUNT; i++)
        assert_true(values[i] == (float)i + 20);
    assert_true(values[COUNT] == COUNT);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_function_release(function));
}

RNL_TEST(indices_in_three_dimensions)
{
    rnl_function function = suite_compile(
        "extern \"C\" __global__ void indices(int *out) {\n"
        "    int x = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    int y = blockIdx.y * blockDim.y + threadIdx.y;\n"
        "    int z = blockIdx.z * blockDim.z + threadIdx.z;\n"
        "    int w = gridDim.x * blockDim.x, h = gridDim.y * blockDim.y;\n"
        "    out[(z * h + y) * w + x] += x + 100 * y + 10000 * z + 1;\n"
        "}\n", "indices");
    enum { W = 3 * 5, H = 2 * 4, D = 2 * 3 };
    static int ints[W * H * D];
    run(function, RNL_LAUNCH(.grid = {3, 2, 2}, .block = {5, 4, 3}), ints,
        W * H * D);
    for (int i = 0; i < W * H * D; i++)
        assert_int_equal(ints[i], i % W + 100 * (i / W % H) +
                                      10000 * (i / W / H) + 1);
    expect_ok(rnl_function_release(function));
}

RNL_TEST(a_two_dimensional_launch)
{
    rnl_function function = suite_compile(
        "extern \"C\" __global__ void plane(int *out) {\n"
        "    int x = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    int y = blockIdx.y * blockDim.y + threadIdx.y;\n"
        "    if (threadIdx.z == 0 && blockIdx.z == 0 && blockDim.z == 1 &&\n"
        "        gridDim.z == 1)\n"
        "        out[y * 32 + x] += y * 32 + x;\n"
        "}\n", "plane");
    static int ints[32 * 16];
    run(function, RNL_LAUNCH(.grid = {4, 2}, .block = {8, 8}), ints, 32 * 16);
    for (int i = 0; i < 32 * 16; i++)
        assert_int_equal(ints[i], i);
    expect_ok(rnl_function_release(function));
}

RNL_TEST(static_shared_memory_and_barriers)
{
    rnl_function function = suite_compile(
        "extern \"C\" __global__ void reduce(int *out) {\n"
        "    __shared__ int sums[256];\n"
        "    int t = threadIdx.x;\n"
        "    sums[t] = t + (int)blockIdx.x;\n"
        "    __syncthreads();\n"
        "    for (int half = 128; half > 0; half /= 2) {\n"
        "        if (t < half) sums[t] += sums[t + half];\n"
        "        __syncthreads();\n"
        "    }\n"
        "    if (t == 0) out[blockIdx.x] = sums[0];\n"
        "}\n", "reduce");
    int ints[37];
    run(function, RNL_LAUNCH(.grid = {37}, .block = {256}), ints, 37);
    for (int i = 0; i < 37; i++)
        assert_int_equal(ints[i], 255 * 256 / 2 + 256 * i);
    expect_ok(rnl_function_release(function));
}

RNL_TEST(dynamic_shared_memory_beyond_48_kb)
{
    rnl_device_info info = {.struct_size = sizeof info};
    expect_ok(rnl_device_get_info(suite_device(), &info));
    if (info.shared_per_block_max < 60000)
        test_skip("blocks have no 60000 bytes of shared memory");
    rnl_function function = suite_compile(
        "extern \"C\" __global__ void reverse(int *out) {\n"
        "    extern __shared__ int whole[];\n"
        "    for (int i = threadIdx.x; i < 15000; i += blockDim.x)\n"
        "        whole[i] = i;\n"
        "    __syncthreads();\n"
        "    for (int i = threadIdx.x; i < 15000; i += blockDim.x)\n"
        "        out[blockIdx.x * 15000 + i] = whole[14999 - i];\n"
        "}\n", "reverse");
    static int ints[2 * 15000];
    run(function, RNL_LAUNCH(.grid = {2}, .block = {128},
                             .shared_size = 60000), ints, 2 * 15000);
    for (int i = 0; i < 15000; i++) {
        assert_int_equal(ints[i], 14999 - i);
        assert_int_equal(ints[15000 + i], 14999 - i);
    }
    expect_ok(rnl_function_release(function));
}

RNL_TEST(barriers_that_count_and_vote)
{
    rnl_function function = suite_compile(
        "extern \"C\" __global__ void votes(int *out) {\n"
        "    int t = threadIdx.x;\n"
        "    int n = __syncthreads_count(t % 3 == 0);\n"
        "    int all = __syncthreads_and(t < 96);\n"
        "    int any = __syncthreads_or(t == 95);\n"
        "    int none = __syncthreads_or(t == 1000);\n"
        "    out[t] = n * 1000 + (all != 0) * 100 + (any != 0) * 10 +\n"
        "             (none != 0);\n"
        "}\n", "votes");
    int ints[96];
    run(function, RNL_LAUNCH(.grid = {1}, .block = {96}), ints, 96);
    for (int i = 0; i < 96; i++)
        assert_int_equal(ints[i], 32110);
    expect_ok(rnl_function_release(function));
}

RNL_TEST(shuffles_move_values_between_lanes)
{
    rnl_function function = suite_compile(
        "extern \"C\" __global__ void shuffle(int *out) {\n"
        "    int t = threadIdx.x, lane = t % warpSize;\n"
        "    unsigned all = 0xffffffffu;\n"
        "    out[t] = __shfl_sync(all, t * 2, 3);\n"
        "    out[64 + t] = __shfl_down_sync(all, t, 1);\n"
        "    out[128 + t] = __shfl_up_sync(all, t, 2);\n"
        "    out[192 + t] = __shfl_xor_sync(all, t, 4);\n"
        "    int sum = lane;\n"
        "    for (int d = 16; d; d /= 2)\n"
        "        sum += __shfl_xor_sync(all, sum, d);\n"
        "    out[256 + t] = sum;\n"
        "}\n", "shuffle");
    rnl_device_info info = {.struct_size = sizeof info};
    expect_ok(rnl_device_get_info(suite_device(), &info));
    if (info.warp_size != 32)
        test_skip("warps have %u lanes", info.warp_size);
    int ints[320];
    run(function, RNL_LAUNCH(.grid = {1}, .block = {64}), ints, 320);
    for (int t = 0; t < 64; t++) {
        int lane = t % 32, base = t - lane;
        assert_int_equal(ints[t], (base + 3) * 2);
        assert_int_equal(ints[64 + t], lane < 31 ? t + 1 : t);
        assert_int_equal(ints[128 + t], lane >= 2 ? t - 2 : t);
        assert_int_equal(ints[192 + t], base + (lane ^ 4));
        assert_int_equal(ints[256 + t], 31 * 32 / 2);
    }
    expect_ok(rnl_function_release(function));
}

RNL_TEST(votes_see_the_whole_warp)
{
    rnl_function function = suite_compile(
        "extern \"C\" __global__ void vote(int *out) {\n"
        "    int t = threadIdx.x;\n"
        "    unsigned all = 0xffffffffu;\n"
        "    out[t] = (int)__ballot_sync(all, t % 2);\n"
        "    out[32 + t] = (__any_sync(all, t == 31) != 0) * 100 +\n"
        "                  (__all_sync(all, t < 32) != 0) * 10 +\n"
        "                  (__all_sync(all, t < 31) != 0);\n"
        "    __syncwarp();\n"
        "}\n", "vote");
    int ints[64];
    run(function, RNL_LAUNCH(.grid = {1}, .block = {32}), ints, 64);
    for (int i = 0; i < 32; i++) {
        assert_int_equal((unsigned)ints[i], 0xaaaaaaaau);
        assert_int_equal(ints[32 + i], 110);
    }
    expect_ok(rnl_function_release(function));
}

RNL_TEST(atomics_lose_nothing)
{
    rnl_function function = suite_compile(
        "extern \"C\" __global__ void atomics(int *out) {\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    atomicAdd(&out[0], 1);\n"
        "    atomicSub(&out[1], 2);\n"
        "    atomicMax(&out[2], i);\n"
        "    atomicMin(&out[3], -i);\n"
        "    atomicOr(&out[4], 1 << (i % 31));\n"
        "    atomicXor(&out[5], 1);\n"
        "    atomicAdd((float *)&out[6], 0.5f);\n"
        "    atomicInc((unsigned *)&out[7], 9u);\n"
        "    int seen = out[8], expected;\n"
        "    do {\n"
        "        expected = seen;\n"
        "        seen = atomicCAS(&out[8], expected, expected + 3);\n"
        "    } while (seen != expected);\n"
        "    if (atomicExch(&out[9], i + 1) == 0) atomicAdd(&out[10], 1);\n"
        "    atomicAdd((unsigned long long *)&out[12], 1ull << 20);\n"
        "}\n", "atomics");
    int ints[14];
    const int n = 64 * 128;
    run(function, RNL_LAUNCH(.grid = {64}, .block = {128}), ints, 14);
    float half;
    unsigned long long wide;
    memcpy(&half, &ints[6], 4);
    memcpy(&wide, &ints[12], 8);
    assert_int_equal(ints[0], n);
    assert_int_equal(ints[1], -2 * n);
    assert_int_equal(ints[2], n - 1);
    assert_int_equal(ints[3], -(n - 1));
    assert_int_equal(ints[4], 0x7fffffff);
    assert_int_equal(ints[5], 0);
    assert_true(half == 0.5f * (float)n);
    assert_int_equal(ints[7], n % 10);
    assert_int_equal(ints[8], 3 * n);
    assert_int_equal(ints[10], 1);
    assert_true(wide == (unsigned long long)n << 20);
    expect_ok(rnl_function_release(function));
}

// Standard output of what runs between, in `text`.
static int stdout_saved;
static FILE *stdout_file;

static void capture_begin(void)
{
    fflush(stdout);
    stdout_file = tmpfile();
    assert_non_null(stdout_file);
    stdout_saved = dup(STDOUT_FILENO);
    dup2(fileno(stdout_file), STDOUT_FILENO);
}

static size_t capture_end(char *text, size_t size)
{
    fflush(stdout);
    dup2(stdout_saved, STDOUT_FILENO);
    close(stdout_saved);
    rewind(stdout_file);
    size_t length = fread(text, 1, size - 1, stdout_file);
    text[length] = '\0';
    fclose(stdout_file);
    return length;
}

RNL_TEST(kernels_print)
{
    rnl_function function = suite_compile(
        "extern \"C\" __global__ void hello(int *out) {\n"
        "    printf(\"thread %d of %s: %.2f %lld %c%%\\n\", "
        "(int)threadIdx.x, \"block\", 1.5, 1ll << 40, 'x');\n"
        "    out[threadIdx.x] = 1;\n"
        "}\n", "hello");
    char text[4096], line[128];
    int ints[4];
    capture_begin();
    run(function, RNL_LAUNCH(.grid = {1}, .block = {4}), ints, 4);
    capture_end(text, sizeof text);
    for (int i = 0; i < 4; i++) {
        snprintf(line, sizeof line,
                 "thread %d of block: 1.50 1099511627776 x%%\n", i);
        if (!strstr(text, line))
            fail_msg("%s is not in the output: %s", line, text);
    }
    expect_ok(rnl_function_release(function));
}

// Also where nothing is copied behind it.
RNL_TEST(what_kernels_print_is_there_for_who_waits)
{
    rnl_function function = suite_compile(
        "extern \"C\" __global__ void hello(int *out) {\n"
        "    printf(\"told\\n\");\n"
        "}\n", "hello");
    rnl_event event;
    char text[64];
    void *nothing = NULL;
    expect_ok(rnl_event_create(suite_context(), NULL, &event));
    for (int i = 0; i < 3; i++) {
        capture_begin();
        expect_ok(rnl_enqueue_function(suite_stream(), function,
                                       RNL_LAUNCH(.grid = {1}, .block = {1}),
                                       RNL_ARGS(nothing)));
        expect_ok(rnl_enqueue_event_record(suite_stream(), event));
        expect_ok(i == 0   ? rnl_stream_synchronize(suite_stream(),
                                                    RNL_FOREVER)
                  : i == 1 ? rnl_event_synchronize(event, RNL_FOREVER)
                           : rnl_context_synchronize(suite_context(),
                                                     RNL_FOREVER));
        capture_end(text, sizeof text);
        assert_string_equal(text, "told\n");
    }
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_function_release(function));
}

RNL_TEST(an_early_return_does_not_hang_a_kernel_with_barriers)
{
    rnl_function function = suite_compile(
        "extern \"C\" __global__ void early(int *out) {\n"
        "    __shared__ int sum;\n"
        "    if (threadIdx.x == 0) sum = 0;\n"
        "    __syncthreads();\n"
        "    if (blockIdx.x == 1) return;\n"
        "    atomicAdd(&sum, 1);\n"
        "    __syncthreads();\n"
        "    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;\n"
        "}\n", "early");
    int ints[96];
    run(function, RNL_LAUNCH(.grid = {3}, .block = {32}), ints, 96);
    for (int i = 0; i < 96; i++)
        assert_int_equal(ints[i], i / 32 == 1 ? 0 : 32);
    expect_ok(rnl_function_release(function));
}

RNL_TEST(device_functions_math_and_vector_types)
{
    rnl_function function = suite_compile(
        "__device__ __forceinline__ float square(float x) { return x * x; }\n"
        "struct box { float2 a; int3 b; };\n"
        "extern \"C\" __global__ void maths(int *out) {\n"
        "    float f = sqrtf(square((float)threadIdx.x));\n"
        "    float2 two = make_float2(f, 1.0f);\n"
        "    int4 four = make_int4(1, 2, 3, 4);\n"
        "    box b = {two, make_int3(5, 6, 7)};\n"
        "    out[threadIdx.x] = (int)(fmaf(b.a.x, 2.0f, b.a.y)) + four.w +\n"
        "        b.b.z + min(1, 2) + max(1, 2) + __popc(255) + __clz(1);\n"
        "}\n", "maths");
    int ints[16];
    run(function, RNL_LAUNCH(.grid = {1}, .block = {16}), ints, 16);
    for (int i = 0; i < 16; i++)
        assert_int_equal(ints[i], 2 * i + 1 + 4 + 7 + 1 + 2 + 8 + 31);
    expect_ok(rnl_function_release(function));
}

RNL_TEST(a_struct_by_value_reaches_the_kernel)
{
    struct pair {
        int a;
        double b;
    } pair = {3, 4.5};
    rnl_function function = suite_compile(
        "struct pair { int a; double b; };\n"
        "extern \"C\" __global__ void take(int *out, pair p, char c,\n"
        "    short s, unsigned long long w, bool yes, double d) {\n"
        "    out[0] = p.a; out[1] = (int)(p.b * 10); out[2] = c;\n"
        "    out[3] = s; out[4] = (int)(w >> 32); out[5] = yes;\n"
        "    out[6] = (int)(d * 4);\n"
        "}\n", "take");
    int ints[7];
    rnl_buffer buffer = suite_ints(7, 0);
    expect_ok(rnl_enqueue_function(
        suite_stream(), function, RNL_LAUNCH(.grid = {1}, .block = {1}),
        RNL_ARGS(buffer, RNL_ARG_STRUCT(pair), (char)-5, (short)-6,
                 7ull << 32, (bool)true, 0.25)));
    suite_download(ints, buffer, sizeof ints);
    const int expected[7] = {3, 45, -5, -6, 7, 1, 1};
    assert_memory_equal(ints, expected, sizeof ints);
    expect_error(rnl_enqueue_function(
                     suite_stream(), function,
                     RNL_LAUNCH(.grid = {1}, .block = {1}),
                     RNL_ARGS(buffer, RNL_ARG_STRUCT(pair), (char)-5,
                              (short)-6, 7u, (bool)true, 0.25)),
                 RNL_ERROR_ARGUMENT_MISMATCH, "args");
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_function_release(function));
}

RNL_TEST(constants_are_mapped_in_stream_order)
{
    rnl_function function = suite_compile(
        "__constant__ int table[4];\n"
        "extern \"C\" __global__ void look(int *out) {\n"
        "    out[threadIdx.x] = table[threadIdx.x];\n"
        "}\n", "look");
    rnl_stream stream = suite_new_stream();
    rnl_buffer a = suite_ints(4, 0), b = suite_ints(4, 0);
    int values[4] = {1, 2, 3, 4}, ints[4];
    const rnl_constant constant = {"table", values, sizeof values};
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_enqueue_function(
        stream, function,
        RNL_LAUNCH(.grid = {1}, .block = {4}, .constants = &constant,
                   .constant_count = 1), RNL_ARGS(a)));
    for (int i = 0; i < 4; i++)
        values[i] *= 10;
    expect_ok(rnl_enqueue_function(
        stream, function,
        RNL_LAUNCH(.grid = {1}, .block = {4}, .constants = &constant,
                   .constant_count = 1), RNL_ARGS(b)));
    memset(values, 0, sizeof values);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    suite_download(ints, a, sizeof ints);
    for (int i = 0; i < 4; i++)
        assert_int_equal(ints[i], i + 1);
    suite_download(ints, b, sizeof ints);
    for (int i = 0; i < 4; i++)
        assert_int_equal(ints[i], 10 * (i + 1));
    gate_free(gate);
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(b));
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(constants_that_do_not_fit_are_refused)
{
    rnl_function function = suite_compile(
        "__constant__ int table[4];\n"
        "extern \"C\" __global__ void look(int *out) {\n"
        "    out[threadIdx.x] = table[threadIdx.x];\n"
        "}\n", "look");
    int values[5] = {0};
    const rnl_constant large = {"table", values, 20};
    const rnl_constant other = {"tables", values, 16};
    rnl_buffer buffer = suite_ints(4, 9);
    expect_error(rnl_enqueue_function(
                     suite_stream(), function,
                     RNL_LAUNCH(.grid = {1}, .block = {4},
                                .constants = &large, .constant_count = 1),
                     RNL_ARGS(buffer)),
                 RNL_ERROR_OUT_OF_RANGE, "constants");
    expect_error(rnl_enqueue_function(
                     suite_stream(), function,
                     RNL_LAUNCH(.grid = {1}, .block = {4},
                                .constants = &other, .constant_count = 1),
                     RNL_ARGS(buffer)),
                 RNL_ERROR_NOT_FOUND, "constants");
    suite_expect_ints(buffer, 4, 9);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_function_release(function));
}
