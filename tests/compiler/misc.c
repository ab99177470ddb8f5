// Control flow, calls, stacks, math, printf, and kernels that fail.
#include "build.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 4096 };

static int in[MOST], out[MOST], want[MOST];
static struct built built;

static void begin(const char *file, const char *options)
{
    for (int i = 0; i < MOST; i++)
        in[i] = sample(i);
    built_kernels(&built, file, options);
}

static void run(const char *kernel, rnl_dim3 grid, rnl_dim3 block,
                size_t shared, int n, int count)
{
    built_run_ints(&built, kernel, grid, block, shared, out, in, n);
    for (int i = 0; i < count; i++)
        if (out[i] != want[i])
            fail_msg("%s: element %d is %d, not %d", kernel, i, out[i],
                     want[i]);
    memset(out, 0, sizeof out);
    memset(want, 0, sizeof want);
}

RNL_TEST(rings_are_not_miscompiled)
{
    begin("misc.cu", "");
    for (int i = 0; i < 128; i++)
        want[i] = 2 * in[i * 3 & 127] + in[i];
    run("misc_ring", (rnl_dim3){1}, (rnl_dim3){128}, 0, 0, 128);
    for (int i = 0; i < 128; i++)
        want[i] = 2 * in[i * 3 & 127] + in[i];
    run("misc_ring_loop", (rnl_dim3){1}, (rnl_dim3){1}, 0, 0, 128);
    built_close(&built);
}

RNL_TEST(calls_of_every_kind)
{
    begin("misc.cu", "");
    want[1] = 1;
    for (int i = 2; i < 20; i++)
        want[i] = want[i - 1] + want[i - 2];
    run("misc_recursion", (rnl_dim3){1}, (rnl_dim3){20}, 0, 0, 20);
    for (int t = 0; t < 40; t++)
        want[t] = t & 1 ? in[t] * 2 : in[t] + 1;
    run("misc_pointers", (rnl_dim3){1}, (rnl_dim3){40}, 0, 0, 40);
    for (int t = 0; t < 40; t++)
        want[t] = in[t] + 100;
    run("misc_hidden_barrier", (rnl_dim3){1}, (rnl_dim3){40}, 0, 0, 40);
    for (int t = 0; t < 40; t++)
        want[t] = in[t] * 3 + t + (t & 7);
    run("misc_lambda", (rnl_dim3){1}, (rnl_dim3){40}, 0, 3, 40);
    for (int t = 0; t < 40; t++)
        want[t] = t & 1 ? in[t] * in[t] : in[t];
    run("misc_virtual", (rnl_dim3){1}, (rnl_dim3){40}, 0, 3, 40);
    for (int t = 0; t < 5; t++)
        for (int i = 9; i >= 0; i--)
            want[t] = want[t] * 2 + in[i];
    run("misc_new", (rnl_dim3){1}, (rnl_dim3){5}, 0, 10, 5);
    built_close(&built);
}

static int collatz_like(int value)
{
    int steps = 0;
    while (true) {
        if (value % 4 == 2) {
            value -= 1;
            continue;
        }
        if (value % 4 == 0)
            value /= 2, steps += 10;
        else if (value % 4 == 1)
            value = 3 * value + 1, steps += 10;
        else
            value += 5;
        if (++steps > 50 || value > 100000)
            return steps * 1000 + value % 1000;
    }
}

RNL_TEST(control_flow)
{
    begin("misc.cu", "");
    for (int t = 0; t < 100; t++)
        want[t] = collatz_like(in[t]);
    run("misc_control", (rnl_dim3){1}, (rnl_dim3){100}, 0, 0, 100);
    built_close(&built);
}

RNL_TEST(classics)
{
    begin("misc.cu", "");
    for (int i = 0; i < 24 * 24; i++)
        for (int k = 0; k < 24; k++)
            want[i] += in[i / 24 * 24 + k] * in[k * 24 + i % 24];
    run("misc_matmul", (rnl_dim3){3, 3}, (rnl_dim3){8, 8}, 0, 24, 576);
    for (int i = 0; i < 4000; i++)
        want[0] += in[i];
    run("misc_reduce", (rnl_dim3){3}, (rnl_dim3){128}, 512, 4000, 1);
    for (int t = 0; t < 64; t++) {
        want[2 * t] = 2 * (in[4 * t] + in[4 * t + 1]);
        want[2 * t + 1] = in[4 * t + 2] + in[4 * t + 3] + 250 + 12;
    }
    run("misc_vectors", (rnl_dim3){1}, (rnl_dim3){64}, 0, 0, 128);
    for (int t = 0; t < 8; t++)
        want[t] = 1;
    run("misc_clock", (rnl_dim3){1}, (rnl_dim3){8}, 0, 0, 8);
    built_close(&built);
}

RNL_TEST(large_frames)
{
    begin("misc.cu", "");
    for (int t = 0; t < 20; t++)
        for (int i = 0; i < 100; i++)
            want[t] += t + i;
    run("misc_stack", (rnl_dim3){2}, (rnl_dim3){20}, 0, 0, 20);
    built_close(&built);
}

RNL_TEST(options_that_change_code)
{
    float data[3], *to = data, a = 1.0f + 0x1p-12f, b = a,
          c = -(1.0f + 0x1p-11f);
    const void *arguments[] = {&to, &a, &b, &c};
    begin("math.cu", "");
    assert_int_equal(built_run(&built, "math_rounding", (rnl_dim3){1},
                               (rnl_dim3){1}, 0, arguments), RNL_OK);
    assert_true(data[0] == 0.0f && data[1] == 0x1p-24f);
    built_close(&built);
    begin("math.cu", "--option --fmad=false");
    assert_int_equal(built_run(&built, "math_rounding", (rnl_dim3){1},
                               (rnl_dim3){1}, 0, arguments), RNL_OK);
    assert_true(data[1] == 0x1p-24f && data[2] == 0.0f);
    built_close(&built);
}

RNL_TEST(unoptimised_code_is_the_same)
{
    begin("misc.cu", "--debug");
    for (int i = 0; i < 24 * 24; i++)
        for (int k = 0; k < 24; k++)
            want[i] += in[i / 24 * 24 + k] * in[k * 24 + i % 24];
    run("misc_matmul", (rnl_dim3){3, 3}, (rnl_dim3){8, 8}, 0, 24, 576);
    built_close(&built);
}

// --- Math ------------------------------------------------------------------

static float float_model(int which, float x)
{
    switch (which) {
    case 0: return sinf(x);
    case 1: return cosf(x);
    case 2: return expf(x);
    case 3: return logf(x);
    case 4: return sqrtf(x);
    case 5: return 1.0f / sqrtf(x);
    case 6: return powf(x, 1.5f);
    case 7: return tanhf(x);
    case 8: return x;
    case 9: return expf(x);
    case 10: return logf(x);
    case 11: return sinf(x);
    case 12: return cosf(x);
    case 13: return x * x;
    case 14: return x / 3.0f;
    case 15: return atan2f(x, 2.0f);
    case 16: return erff(x);
    case 17: return cbrtf(x);
    case 18: return floorf(x) + ceilf(x) + truncf(x) + rintf(x);
    case 19:
    case 20: return fminf(x, 1.0f) + fmaxf(x, 2.0f);
    case 21: return fminf(fmaxf(x - 0.5f, 0.0f), 1.0f);
    case 22: return fmaf(x, x, -1.0f);
    case 23: return log2f(x) + exp2f(x) + log1pf(x);
    case 24: return hypotf(x, 4.0f);
    default: return fmodf(x, 0.75f);
    }
}

static double double_model(int which, double x)
{
    switch (which) {
    case 0: return sin(x);
    case 1: return cos(x);
    case 2: return exp(x);
    case 3: return log(x);
    case 4: return sqrt(x);
    case 5: return 1.0 / sqrt(x);
    case 6: return pow(x, 1.5);
    case 7: return tanh(x);
    case 8: return fma(x, x, -1.0);
    case 9: return lgamma(x);
    case 10: return 0.5 * erfc(-x * 0.70710678118654752440);
    default: return erfc(x);
    }
}

RNL_TEST(float_math_is_within_two_ulp)
{
    float x[32], y[32], *from = x, *to = y;
    begin("math.cu", "");
    for (int i = 0; i < 32; i++)
        x[i] = 0.07f + (float)i * 0.19f;
    for (int which = 0; which < 26; which++) {
        const void *arguments[] = {&to, &from, &which};
        assert_int_equal(built_run(&built, "math_float", (rnl_dim3){1},
                                   (rnl_dim3){32}, 0, arguments), RNL_OK);
        for (int i = 0; i < 32; i++) {
            float expected = float_model(which, x[i]);
            float ulp = nextafterf(fabsf(expected), INFINITY) - fabsf(expected);
            if (!(fabsf(y[i] - expected) <= 2 * ulp))
                fail_msg("case %d of %g is %.9g, not %.9g", which,
                         (double)x[i], (double)y[i], (double)expected);
        }
    }
    built_close(&built);
}

RNL_TEST(double_math_is_within_two_ulp)
{
    double x[32], y[32], *from = x, *to = y;
    begin("math.cu", "");
    for (int i = 0; i < 32; i++)
        x[i] = 0.07 + i * 0.19;
    for (int which = 0; which < 12; which++) {
        const void *arguments[] = {&to, &from, &which};
        assert_int_equal(built_run(&built, "math_double", (rnl_dim3){1},
                                   (rnl_dim3){32}, 0, arguments), RNL_OK);
        for (int i = 0; i < 32; i++) {
            double expected = double_model(which, x[i]);
            double ulp = nextafter(fabs(expected), INFINITY) - fabs(expected);
            if (!(fabs(y[i] - expected) <= 2 * ulp))
                fail_msg("case %d of %g is %.17g, not %.17g", which, x[i],
                         y[i], expected);
        }
    }
    built_close(&built);
}

static uint32_t reverse_bits(uint32_t x)
{
    uint32_t result = 0;
    for (int i = 0; i < 32; i++)
        result |= (x >> i & 1) << (31 - i);
    return result;
}

RNL_TEST(integer_intrinsics)
{
    begin("math.cu", "");
    in[0] = 0;
    in[1] = -5;
    for (int t = 0; t < 32; t++) {
        uint32_t u = (uint32_t)in[t];
        int *w = want + 20 * t;
        w[0] = __builtin_popcount(u);
        w[1] = u ? __builtin_clz(u) : 32;
        w[2] = __builtin_ffs(in[t]);
        w[3] = (int)reverse_bits(u);
        w[4] = (int)((int64_t)in[t] * (1 << 20) >> 32);
        w[5] = (int)((uint64_t)u * (1 << 20) >> 32);
        w[6] = in[t] * 3;
        // 0xf258 takes bytes 0, 5, 2 and 7 of the eight: the highest bit of
        // each digit means nothing.
        w[7] = (int)((u & 0xff) | 0x22u << 8 | (u & 0xff0000) | 0x44000000u);
        w[8] = 0x34567800 | (int)(u >> 24);
        w[9] = (int)(u >> 8 | 0x78u << 24);
        w[10] = 0x3fc00000;
        w[11] = 3;
        w[12] = 2 * 1000 + 2 * 100 + 3 * 10 + 2;
        w[13] = __builtin_popcount(u);
        w[14] = u ? 32 + __builtin_clz(u) + __builtin_ctz(u) + 9 : 64;
        w[15] = (int)reverse_bits(u);
        w[16] = (in[t] < 7 ? in[t] : 7) + (in[t] > 7 ? in[t] : 7) +
                (int)(u < 7 ? u : 7) + (in[t] < 0 ? -in[t] : in[t]);
        w[17] = in[t];
        w[18] = 1;
        w[19] = 15;
    }
    run("math_integers", (rnl_dim3){1}, (rnl_dim3){32}, 0, 0, 640);
    built_close(&built);
}

// --- printf ----------------------------------------------------------------

// Runs a kernel with standard output in a file and returns what it printed.
static void capture(const char *kernel, rnl_dim3 grid, rnl_dim3 block,
                    const void *const *arguments, char text[1024])
{
    char path[] = "/tmp/runnel-print-XXXXXX";
    int file = mkstemp(path), saved = dup(STDOUT_FILENO);
    fflush(stdout);
    dup2(file, STDOUT_FILENO);
    rnl_status status = built_run(&built, kernel, grid, block, 0, arguments);
    fflush(stdout);
    dup2(saved, STDOUT_FILENO);
    ssize_t size = pread(file, text, 1023, 0);
    text[size > 0 ? size : 0] = 0;
    close(file);
    close(saved);
    unlink(path);
    assert_int_equal(status, RNL_OK);
}

RNL_TEST(kernels_print)
{
    char text[1024];
    int base = 3;
    const void *arguments[] = {&base};
    begin("print.cu", "");
    capture("print_indices", (rnl_dim3){2}, (rnl_dim3){2}, arguments, text);
    assert_string_equal(text,
                        "block 0 thread 0: text 1.50 25769803776%\n"
                        "block 0 thread 1: text 1.50 25769803776%\n"
                        "block 1 thread 0: text 1.50 25769803776%\n"
                        "block 1 thread 1: text 1.50 25769803776%\n");
    capture("print_nothing", (rnl_dim3){1}, (rnl_dim3){1}, NULL, text);
    assert_string_equal(text, "no arguments\n");
    built_close(&built);
}

// --- Failures --------------------------------------------------------------

static void fails(const char *kernel, rnl_dim3 grid, rnl_dim3 block, int limit,
                  const char *expected)
{
    int *to = out;
    const void *arguments[] = {&to, &limit};
    rnl_status status = built_run(&built, kernel, grid, block, 0, arguments);
    assert_int_equal(status, RNL_ERROR_LAUNCH_FAILED);
    assert_string_equal(built.failure, expected);
    // The thread works as before.
    assert_int_equal(built_run(&built, "works", (rnl_dim3){1},
                               (rnl_dim3){200}, 0, arguments), RNL_OK);
    for (int i = 0; i < 200; i++)
        assert_int_equal(out[i], 42);
}

RNL_TEST(failed_assertions_fail_the_launch)
{
    begin("failing.cu", "");
    fails("fail_assert", (rnl_dim3){4}, (rnl_dim3){64}, 130,
          "block (2, 0, 0), thread (2, 0, 0): failing.cu:5: assertion "
          "`i < limit && \"too far\"` failed");
    built_close(&built);
    begin("failing.cu", "--option -DNDEBUG");
    int *to = out, limit = 1;
    const void *arguments[] = {&to, &limit};
    assert_int_equal(built_run(&built, "fail_assert", (rnl_dim3){1},
                               (rnl_dim3){8}, 0, arguments), RNL_OK);
    built_close(&built);
}

RNL_TEST(traps_fail_the_launch)
{
    begin("failing.cu", "");
    for (int i = 0; i < 3; i++)
        fails("fail_trap", (rnl_dim3){1, 2}, (rnl_dim3){8, 8}, 5,
              "block (0, 0, 0), thread (0, 5, 0): __trap() was called");
    built_close(&built);
}

RNL_TEST(threads_that_wait_for_ever_fail_the_launch)
{
    begin("failing.cu", "--option --tier=F");
    fails("fail_divergent", (rnl_dim3){1}, (rnl_dim3){32}, 0,
          "block (0, 0, 0), thread (16, 0, 0): waits for ever in __syncwarp "
          "with mask 0xffffffff, while thread (0, 0, 0) waits at "
          "the barrier in line 21: the barrier is divergent");
    fails("fail_other_operation", (rnl_dim3){1}, (rnl_dim3){32}, 0,
          "block (0, 0, 0), thread (16, 0, 0): waits for ever in __any_sync "
          "with mask 0xffffffff: other lanes of that mask wait in another warp "
          "operation");
    fails("fail_own_lane", (rnl_dim3){1}, (rnl_dim3){32}, 0,
          "block (0, 0, 0), thread (16, 0, 0): __shfl_down_sync was called "
          "with mask 0x0000ffff, which lacks the calling lane 16");
    built_close(&built);
}

static void check_lines(const char *arguments, bool one_by_one)
{
    int *to = out, limit = 20;
    const void *values[] = {&to, &limit};
    begin("divergent.cu", arguments);
    fails("fail_two_barriers", (rnl_dim3){2}, (rnl_dim3){64}, 0,
          "block (0, 0, 0), thread (16, 0, 0): waits for ever at the barrier "
          "in line 9, while thread (0, 0, 0) waits at the barrier in line 7: "
          "two different barriers");
    if (one_by_one)
        fails("fail_other_rounds", (rnl_dim3){2}, (rnl_dim3){64}, 0,
              "block (0, 0, 0), thread (32, 0, 0): waits for ever at the "
              "barrier in line 17, while thread (0, 0, 0) waits at the barrier "
              "in line 18: two different barriers");
    memset(out, 0, sizeof out);
    assert_int_equal(built_run(&built, "some_have_ended", (rnl_dim3){2},
                               (rnl_dim3){64}, 0, values), RNL_OK);
    for (int i = 0; i < 64; i++)
        assert_int_equal(out[i], i < limit ? 5 + limit : 0);
    built_close(&built);
}

// Without an option, kernels whose barriers may diverge are of tier F, but not
// those where only whole warps go apart.
RNL_TEST(threads_at_different_barriers_fail_the_launch)
{
    check_lines("--option --tier=F", true);
    check_lines("--option -G", true);
    check_lines("", false);
}

// Lanes of a vector do not wait for each other: what such a kernel computes is
// undefined, but it ends.
RNL_TEST(threads_that_wait_for_ever_end_as_lanes)
{
    static const char *const kernels[] = {
        "fail_divergent", "fail_other_operation", "fail_own_lane"};
    int *to = out, limit = 0;
    const void *arguments[] = {&to, &limit};
    if (!built_may_be_tier_b())
        test_skip("tier F was asked for");
    begin("failing.cu", "--option --tier=B");
    for (size_t i = 0; i < 3; i++)
        for (uint32_t threads = 17; threads <= 64; threads += 15)
            assert_int_equal(built_run(&built, kernels[i], (rnl_dim3){2},
                                       (rnl_dim3){threads}, 0, arguments),
                             RNL_OK);
    built_close(&built);
}

RNL_TEST(blocks_that_are_too_large)
{
    int *to = out, limit = 0;
    const void *arguments[] = {&to, &limit};
    begin("failing.cu", "");
    assert_int_equal(built_run(&built, "works", (rnl_dim3){1},
                               (rnl_dim3){1025}, 0, arguments),
                     RNL_ERROR_INVALID_ARGUMENT);
    assert_int_equal(built_run(&built, "works", (rnl_dim3){1},
                               (rnl_dim3){65536, 65536, 2}, 0, arguments),
                     RNL_ERROR_INVALID_ARGUMENT);
    built_close(&built);
}

// --- Memory by its address --------------------------------------------------

// A bit for each answer, of what is shared, global and constant.
static const char spaces[] =
    "__constant__ int table[2] = {1, 2};\n"
    "__device__ int global[2];\n"
    "__device__ int bits(const void *p)\n"
    "{ return __isShared(p) | __isGlobal(p) << 1 | __isConstant(p) << 2; }\n"
    "extern \"C\" __global__ void ask(int *out, const int *in, int n)\n"
    "{\n"
    "    __shared__ int s[128];\n"
    "    extern __shared__ int d[];\n"
    "    int t = threadIdx.x + blockIdx.x * blockDim.x;\n"
    "    s[threadIdx.x] = t;\n"
    "    out[t] = bits(s + threadIdx.x) | bits(d) << 4 |\n"
    "             bits((char *)d + n - 1) << 8 | bits((char *)d + n) << 12 |\n"
    "             bits(table + 1) << 16 | bits(global + 1) << 20 |\n"
    "             bits(out + t) << 24;\n"
    "}\n"
    "extern \"C\" __global__ void convert(int *out, const int *in, int n)\n"
    "{\n"
    "    __shared__ int s[128];\n"
    "    extern __shared__ int d[];\n"
    "    int t = threadIdx.x, l = t;\n"
    "    unsigned of_s = (unsigned)__cvta_generic_to_shared(s + t);\n"
    "    *(int *)__cvta_shared_to_generic(of_s) = in[t];\n"
    "    d[t % 4] = t % 4;\n"
    "    __syncthreads();\n"
    "    l += *(int *)__cvta_shared_to_generic(\n"
    "        __cvta_generic_to_shared(d) + 4 * (t % 4));\n"
    "    size_t of_out = __cvta_generic_to_global(out);\n"
    "    ((int *)__cvta_global_to_generic(of_out))[t] = s[t] + l +\n"
    "        (of_s - (unsigned)__cvta_generic_to_shared(s) == 4 * t) +\n"
    "        ((const int *)__cvta_constant_to_generic(\n"
    "            __cvta_generic_to_constant(table)))[1] +\n"
    "        *(int *)__cvta_local_to_generic(__cvta_generic_to_local(&l));\n"
    "}\n";

RNL_TEST(addresses_tell_their_memory)
{
    static const unsigned threads[] = {1, 8, 32, 70, 128};
    built_write(&built, "space.cu", spaces);
    built_make(&built, "--source @/space.cu");
    assert_string_equal(built.log, "");
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        const rnl_dim3 block = {threads[i]};
        const int count = (int)threads[i];
        for (int t = 0; t < 3 * count; t++)
            want[t] = 0x2242111;
        run("ask", (rnl_dim3){3}, block, 64, 64, 3 * count);
        for (int t = 0; t < count; t++) {
            in[t] = sample(t);
            want[t] = in[t] + 2 * (t + t % 4) + 1 + 2;
        }
        run("convert", (rnl_dim3){1}, block, 16, 0, count);
    }
    built_close(&built);
}

// --- Bools -------------------------------------------------------------------

// The second is not made into vectors, which is known only once it is read.
static const char bools[] =
    "__device__ void put(int *out, const bool *in, int t)\n"
    "{\n"
    "    int number = in[t];\n"
    "    out[t] = (in[t] ? 1 : 0) | !in[t] << 1 |\n"
    "             (in[t] && in[t ^ 1]) << 2 | number << 3;\n"
    "}\n"
    "extern \"C\" __global__ void lanes(int *out, const bool *in)\n"
    "{ put(out, in, threadIdx.x); }\n"
    "__device__ void (*volatile chosen)(int *, const bool *, int) = put;\n"
    "extern \"C\" __global__ void threads(int *out, const bool *in)\n"
    "{ chosen(out, in, threadIdx.x); }\n";

RNL_TEST(bools_of_any_byte)
{
    static const char *const kernels[] = {"lanes", "threads"};
    signed char bytes[256];
    for (int i = 0; i < 256; i++) {
        int next = (i ^ 1) - 128;
        bytes[i] = (signed char)(i - 128);
        want[i] = (bytes[i] != 0) | !bytes[i] << 1 |
                  (bytes[i] && next) << 2 | bytes[i] * 8;
    }
    built_write(&built, "k.cu", bools);
    built_make(&built, "--source @/k.cu --option --tier=B-or-F");
    assert_string_equal(built.log, "");
    for (int k = 0; k < 2; k++) {
        int *to = out;
        const signed char *from = bytes;
        assert_int_equal(built.table->kernels[k].run_blocks != NULL, k == 0);
        assert_int_equal(built_run(&built, kernels[k], (rnl_dim3){1},
                                   (rnl_dim3){256}, 0,
                                   (const void *const[]){&to, &from}), RNL_OK);
        assert_memory_equal(out, want, 256 * sizeof *out);
        memset(out, 0, sizeof out);
    }
    built_close(&built);
}

// --- Parts of numbers --------------------------------------------------------

// Numbers of every exponent and sign, also denormal ones.
static float any_float(int i)
{
    uint32_t bits = (uint32_t)sample(i) * 8391 + (uint32_t)i;
    float number;
    bits = (bits & 0x7fffff) >> (i % 512 == 0 ? i / 512 * 3 : 0);
    bits |= (uint32_t)i << 23;
    memcpy(&number, &bits, sizeof number);
    return number;
}

RNL_TEST(numbers_of_every_kind_are_taken_apart)
{
    static float numbers[MOST], parts[MOST];
    float *to = parts;
    const float *from = numbers;
    int *powers = out;
    for (int i = 0; i < MOST; i++)
        numbers[i] = any_float(i);
    numbers[1] = 0, numbers[2] = -0.0f;
    numbers[3] = INFINITY, numbers[4] = -INFINITY;
    built_write(&built, "k.cu",
                "__global__ void k(float *parts, int *powers, float *in) {\n"
                "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                "    parts[i] = frexpf(in[i], &powers[i]);\n}\n");
    built_make(&built, "--source @/k.cu");
    assert_string_equal(built.log, "");
    assert_int_equal(built_run(&built, "k", (rnl_dim3){MOST / 256},
                               (rnl_dim3){256}, 0,
                               (const void *const[]){&to, &powers, &from}),
                     RNL_OK);
    for (int i = 0; i < MOST; i++) {
        int power = 0;
        float part = frexpf(numbers[i], &power);
        assert_int_equal(powers[i], isfinite(part) ? power : 0);
        if (isnan(part))
            assert_true(isnan(parts[i]));
        else
            assert_memory_equal(&parts[i], &part, sizeof part);
    }
    built_close(&built);
}
