// Kernels for other processors than the one at hand: what RUNNEL_CPU_TARGET
// asks for.
#include "build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct built built;
static const char tangents[] =
    "extern \"C\" __global__ void k(float *out, double *wide) {\n"
    "    int i = threadIdx.x;\n"
    "    out[i] = tanf(out[i]);\n"
    "    wide[i] = hypot(wide[i], 2.0);\n"
    "}\n";

static void read_assembly(char *text, size_t size)
{
    char path[128];
    snprintf(path, sizeof path, "%s/k.s", built.folder);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, size - 1, file)] = 0;
    fclose(file);
}

static void calls(const char *target, const char *first, const char *second)
{
    static char text[1 << 20];
    setenv("RUNNEL_CPU_TARGET", target, 1);
    built_write(&built, "k.cu", tangents);
    built_make(&built, "--source @/k.cu --dump-assembly @/k.s");
    assert_string_equal(built.log, "");
    assert_int_equal(built.status, 0);
    read_assembly(text, sizeof text);
    if (!strstr(text, first) || !strstr(text, second))
        fail_msg("for %s, %s or %s is not called", target, first, second);
    built_close(&built);
}

RNL_TEST(functions_of_vectors_are_as_wide_as_the_processor_has_them)
{
#if defined(__x86_64__)
    if (!built_may_be_tier_b())
        skip();
    calls("x86-64", "_ZGVbN4v_tanf", "_ZGVbN2vv_hypot");
    calls("x86-64-v3", "_ZGVdN8v_tanf", "_ZGVdN4vv_hypot");
    calls("x86-64-v4", "_ZGVeN16v_tanf", "_ZGVeN8vv_hypot");
    unsetenv("RUNNEL_CPU_TARGET");
#else
    skip();
#endif
}

#if defined(__x86_64__)
static const char common[] =
    "extern \"C\" __global__ void k(float *out) {\n"
    "    int i = threadIdx.x;\n"
    "    float x = out[i], s, c;\n"
    "    sincospif(x, &s, &c);\n"
    "    out[i] = expf(s) + exp2f(c) + powf(s, c) + tanhf(x) + erff(x) +\n"
    "             logf(x) + log10f(x) + exp10f(x) + rsqrtf(x) + sinf(x) +\n"
    "             __sinf(s) + __cosf(s) + cosf(s);\n"
    "#define TWICE(code) code code\n"
    "#if MANY\n"
    "    TWICE(TWICE(TWICE(TWICE(TWICE(TWICE(TWICE(\n"
    "        x = sinf(x) + powf(x, 2.0f); )))))))\n"
    "    out[i] += x;\n"
    "#endif\n"
    "}\n";

static void check_common(const char *target, bool many)
{
    static char text[1 << 20];
    char arguments[160];
    snprintf(arguments, sizeof arguments,
             "--source @/k.cu --dump-assembly @/k.s --option --target=%s "
             "--option --tier=B --option -DMANY=%d", target, many);
    built_write(&built, "k.cu", common);
    built_make(&built, arguments);
    assert_string_equal(built.log, "");
    read_assembly(text, sizeof text);
    assert_null(strstr(text, "_ZGV"));
    assert_non_null(strstr(text, "rnl_lanes_powf."));
    assert_non_null(strstr(text, "rnl_lanes_sinf."));
    assert_non_null(strstr(text, "rnl_lanes_cosf."));
    assert_true((strstr(text, "vrsqrt14ps") != NULL) ==
                (strcmp(target, "x86-64-v4") == 0));
    built_close(&built);
}

// However many: long ones are functions of vectors then.
RNL_TEST(common_functions_of_floats_are_in_the_lanes)
{
    static const char *const targets[] = {"x86-64", "x86-64-v3", "x86-64-v4"};
    if (!built_may_be_tier_b())
        skip();
    for (int t = 0; t < 3; t++) {
        check_common(targets[t], false);
        check_common(targets[t], true);
    }
}

static const char alike[] =
    "extern \"C\" __global__ void k(float *out, float u, float v) {\n"
    "    int i = threadIdx.x;\n"
    "    out[i] = powf(out[i], 2.0f) + sinf(u) + cosf(v) + powf(u, v) *\n"
    "             rsqrtf(u);\n"
    "}\n";

// Nor is there a function of lanes that nothing calls.
RNL_TEST(what_all_lanes_have_alike_is_computed_once)
{
    static char text[1 << 20];
    if (!built_may_be_tier_b())
        skip();
    built_write(&built, "k.cu", alike);
    built_make(&built, "--source @/k.cu --dump-assembly @/k.s --option "
                       "--target=x86-64-v4 --option --tier=B");
    assert_string_equal(built.log, "");
    read_assembly(text, sizeof text);
    assert_null(strstr(text, "rnl_lanes_"));
    assert_null(strstr(text, "vrsqrt14ps"));
    assert_null(strstr(text, "vsqrtps"));
    assert_null(strstr(text, "rnl_enter"));
    assert_non_null(strstr(text, "vsqrtss"));
    built_close(&built);
}

// Which of `sets` an object for that target may use.
static uint64_t uses(const char *target, uint64_t sets)
{
    char arguments[128];
    snprintf(arguments, sizeof arguments,
             "--source @/k.cu --option --target=%s", target);
    built_write(&built, "k.cu", tangents);
    built_make(&built, arguments);
    assert_string_equal(built.log, "");
    uint64_t found = built.table->processor & sets;
    built_close(&built);
    return found;
}
#endif

#if defined(__x86_64__)
static const char product[] =
    "extern \"C\" __global__ void k(const float *a, const float *b,\n"
    "                             float *c) {\n"
    "    __shared__ float rows[16][16], columns[16][16];\n"
    "    int x = threadIdx.x, y = threadIdx.y;\n"
    "    float sum = 0;\n"
    "    for (int tile = 0; tile < 64; tile += 16) {\n"
    "        rows[y][x] = a[y * 64 + tile + x];\n"
    "        columns[y][x] = b[(tile + y) * 16 + x];\n"
    "        __syncthreads();\n"
    "        for (int k = 0; k < 16; k++)\n"
    "            sum += rows[y][k] * columns[k][x];\n"
    "        __syncthreads();\n"
    "    }\n"
    "    c[y * 16 + x] = sum;\n"
    "}\n";
#endif

// What all gangs read of shared memory is loaded before their loop, so that a
// factor of each sum is in a register and the other is read where it is needed.
RNL_TEST(a_tile_that_all_chunks_read_stays_in_registers)
{
#if defined(__x86_64__)
    static char text[1 << 20];
    if (!built_may_be_tier_b())
        skip();
    built_write(&built, "k.cu", product);
    built_make(&built, "--source @/k.cu --dump-assembly @/k.s "
                       "--option --target=x86-64-v4 "
                       "--option --block-size=16x16");
    assert_string_equal(built.log, "");
    read_assembly(text, sizeof text);
    assert_non_null(strstr(text, "{1to16}, %zmm"));
    built_close(&built);
#else
    skip();
#endif
}

#if defined(__x86_64__)
static const char scan[] =
    "extern \"C\" __global__ void k(const float *from, float *to) {\n"
    "    __shared__ float line[512];\n"
    "    int x = threadIdx.x;\n"
    "    line[x] = from[x];\n"
    "    __syncthreads();\n"
    "    for (int far = 1; far < blockDim.x; far *= 2) {\n"
    "        float more = x >= far ? line[x - far] : 0;\n"
    "        __syncthreads();\n"
    "        line[x] += more;\n"
    "        __syncthreads();\n"
    "    }\n"
    "    to[x] = line[x];\n"
    "}\n";

static unsigned count(const char *text, const char *word)
{
    unsigned found = 0;
    while ((text = strstr(text, word))) {
        found++;
        text++;
    }
    return found;
}

// The code for blocks of one size, with AVX-512.
static const char *read_fixed(const char *source, const char *size)
{
    static char text[1 << 20];
    char arguments[160];
    snprintf(arguments, sizeof arguments,
             "--source @/k.cu --dump-assembly @/k.s "
             "--option --target=x86-64-v4 --option --block-size=%s", size);
    built_write(&built, "k.cu", source);
    built_make(&built, arguments);
    assert_string_equal(built.log, "");
    read_assembly(text, sizeof text);
    built_close(&built);
    char *begin = strstr(text, "\nrnl_fixed_0:");
    assert_non_null(begin);
    char *end = strstr(begin, "\n.Lfunc_end");
    assert_non_null(end);
    *end = 0;
    return begin;
}
#endif

// Each gang of a block has its own code, and no memory for what it keeps; but
// not where that is more than registers hold.
RNL_TEST(what_small_blocks_keep_over_barriers_stays_in_registers)
{
#if defined(__x86_64__)
    if (!built_may_be_tier_b())
        skip();
    const char *code = read_fixed(product, "16x16");
    assert_int_equal(count(code, "rnl_scratch"), 0);
    assert_true(count(code, "\tvfmadd") >= 16 * 16);
    assert_int_equal(count(read_fixed(scan, "256"), "rnl_scratch"), 0);
    assert_int_equal(count(read_fixed(scan, "512"), "rnl_scratch"), 1);
#else
    skip();
#endif
}

#if defined(__x86_64__)
static const char halo[] =
    "extern \"C\" __global__ void k(const float *from, float *to) {\n"
    "    __shared__ float line[34];\n"
    "    int x = threadIdx.x, at = blockIdx.x * 32 + x;\n"
    "    line[x + 1] = from[at];\n"
    "    if (x == 0) line[0] = from[at - 1];\n"
    "    if (x == 31) line[33] = from[at + 1];\n"
    "    __syncthreads();\n"
    "    to[at] = line[x] + line[x + 2];\n"
    "}\n";
#endif

RNL_TEST(what_lanes_store_at_one_place_is_one_store)
{
#if defined(__x86_64__)
    if (!built_may_be_tier_b())
        skip();
    assert_int_equal(count(read_fixed(halo, "32"), "scatter"), 0);
#else
    skip();
#endif
}

#if defined(__x86_64__)
static const char columns[] =
    "extern \"C\" __global__ void k(float *a, const float *b, int n) {\n"
    "    int x = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    int y = blockIdx.y * blockDim.y + threadIdx.y;\n"
    "    if (y < n) a[n * x + y] -= b[n * x] * a[y];\n"
    "}\n";
#endif

RNL_TEST(lanes_lie_along_y_where_memory_is_contiguous_there)
{
#if defined(__x86_64__)
    if (!built_may_be_tier_b())
        skip();
    const char *code = read_fixed(columns, "16x16");
    assert_int_equal(count(code, "scatter"), 0);
    assert_int_equal(count(code, "gather"), 0);
#else
    skip();
#endif
}

#if defined(__x86_64__)
static const char centres[] =
    "extern \"C\" __global__ void k(const float *a, const float *c, int *o,\n"
    "                             int n) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x, best = 0;\n"
    "    float least = 3e38f;\n"
    "    if (i >= n) return;\n"
    "    for (int k = 0; k < 16; k++) {\n"
    "        float sum = 0;\n"
    "        for (int f = 0; f < 8; f++) {\n"
    "            float part = a[f * n + i] - c[k * 8 + f];\n"
    "            sum += part * part;\n"
    "        }\n"
    "        if (sum < least) { least = sum; best = k; }\n"
    "    }\n"
    "    o[i] = best;\n"
    "}\n";
#endif

RNL_TEST(numbers_that_all_lanes_share_are_operands_in_memory)
{
#if defined(__x86_64__)
    if (!built_may_be_tier_b())
        skip();
    assert_true(count(read_fixed(centres, "256"), "{1to16}") >= 8);
#else
    skip();
#endif
}

#if defined(__x86_64__)
static const char diagonals[] =
    "extern \"C\" __global__ void k(int *to, const int *from) {\n"
    "    __shared__ int table[33][33];\n"
    "    int t = threadIdx.x;\n"
    "    table[0][t + 1] = from[t];\n"
    "    table[t + 1][0] = t;\n"
    "    __syncthreads();\n"
    "    for (int d = 0; d < 63; d++) {\n"
    "        int row = d - t;\n"
    "        if (row >= 0 && row < 32)\n"
    "            table[row + 1][t + 1] = max(table[row][t + 1],\n"
    "                                        table[row + 1][t] - 2);\n"
    "        __syncthreads();\n"
    "    }\n"
    "    to[t] = table[32][t + 1];\n"
    "}\n";

// A stencil, whose neighbours cost more as shuffles than as loads.
static const char smooth[] =
    "extern \"C\" __global__ void k(const float *from, float *to) {\n"
    "    __shared__ float line[256];\n"
    "    int t = threadIdx.x, i = blockIdx.x * 256 + t;\n"
    "    int left = t > 0 ? t - 1 : 0, right = t < 255 ? t + 1 : 255;\n"
    "    line[t] = from[i];\n"
    "    __syncthreads();\n"
    "    for (int step = 0; step < 16; step++) {\n"
    "        float mean = line[left] + line[t] + line[right];\n"
    "        __syncthreads();\n"
    "        line[t] = mean / 3;\n"
    "        __syncthreads();\n"
    "    }\n"
    "    to[i] = line[t];\n"
    "}\n";
#endif

RNL_TEST(shared_memory_is_in_registers_where_that_is_cheaper)
{
#if defined(__x86_64__)
    if (!built_may_be_tier_b())
        skip();
    const char *code = read_fixed(diagonals, "32");
    assert_int_equal(count(code, "scatter"), 0);
    assert_int_equal(count(code, "gather"), 0);
    assert_int_equal(count(code, "table"), 0);
    assert_true(count(read_fixed(smooth, "256"), "line") > 0);
#else
    skip();
#endif
}

RNL_TEST(objects_tell_the_instruction_sets_of_their_target)
{
#if defined(__x86_64__)
    const uint64_t avx2 = RNL_CPU_AVX2 | RNL_CPU_FMA | RNL_CPU_BMI2;
    const uint64_t avx512 = RNL_CPU_AVX512F | RNL_CPU_AVX512BW |
                            RNL_CPU_AVX512DQ | RNL_CPU_AVX512VL;
    assert_int_equal(uses("x86-64", avx2 | avx512 | RNL_CPU_SSE3), 0);
    assert_int_equal(uses("x86-64-v3", avx2 | avx512), avx2);
    assert_int_equal(uses("x86-64-v4", avx2 | avx512), avx2 | avx512);
#else
    skip();
#endif
}
