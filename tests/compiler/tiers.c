// Which tier runnel-cc chooses, and what cannot be vectorised.
#include "build.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct built built;
static const char simple[] =
    "extern \"C\" __global__ void k(int *out) { out[0] = 7; }\n";

static void is_tier_f(const char *arguments)
{
    int out = 0;
    built_make(&built, arguments);
    assert_string_equal(built.log, "");
    assert_int_equal(built.status, 0);
    assert_int_equal(built.table->tier, 'F');
    assert_true(built_kernel(&built, "k")->flags & RNL_CPU_KERNEL_ASKED);
    assert_string_not_equal(built_kernel(&built, "k")->reason, "");
    built_run_ints(&built, "k", (rnl_dim3){1}, (rnl_dim3){1}, 0, &out, NULL, 0);
    assert_int_equal(out, 7);
}

static void exits(const char *arguments, int status, const char *log)
{
    built_make(&built, arguments);
    assert_int_equal(built.status, status);
    if (!strstr(built.log, log))
        fail_msg("said: %s", built.log);
}

static void fails(const char *arguments, const char *log)
{
    exits(arguments, 1, log);
}

RNL_TEST(tier_f_can_be_asked_for)
{
    built_write(&built, "k.cu", simple);
    is_tier_f("--source @/k.cu --option --tier=F");
    is_tier_f("--source @/k.cu --option --tier --option F");
    is_tier_f("--source @/k.cu --debug");
    built_close(&built);
}

RNL_TEST(tiers_that_cannot_be)
{
    built_write(&built, "k.cu", simple);
    exits("--source @/k.cu --option --tier=C", 5,
          "error: --tier takes auto, F, B or B-or-F, not 'C'");
    exits("--source @/k.cu --option --tier=much_too_long", 5, "error: --tier");
    exits("--source @/k.cu --option --tier=B --option -G", 5, "leave out -G");
    built_close(&built);
}

// --- What cannot be vectorised -----------------------------------------------

static void is_refused(const char *source, const char *why)
{
    char expected[256];
    snprintf(expected, sizeof expected,
             "k.cu: error: kernel 'k' cannot be vectorised: %s", why);
    built_write(&built, "k.cu", source);
    fails("--source @/k.cu --option --tier=B", expected);
    // In tier F it is compiled.
    built_make(&built, "--source @/k.cu --option --tier=auto");
    assert_string_equal(built.log, "");
    assert_int_equal(built.status, 0);
    const rnl_cpu_kernel *kernel = built_kernel(&built, "k");
    assert_null(kernel->run_blocks);
    assert_non_null(kernel->run_threads);
    assert_false(kernel->flags & RNL_CPU_KERNEL_ASKED);
    size_t length = strcspn(why, "\n");
    assert_int_equal(strncmp(kernel->reason, why, length), 0);
    assert_true(!why[length] || !kernel->reason[length]);
    built_close(&built);
}

#define KERNEL "extern \"C\" __global__ void k(int *out) "

static void need_simt(void)
{
    if (!built_may_be_tier_b())
        test_skip("tier F was asked for");
}

RNL_TEST(waits_that_lanes_cannot_do_are_refused)
{
    need_simt();
    is_refused(KERNEL "{ while (!*(volatile int *)out) {} out[1] = 1; }\n",
               "it waits in a loop for what another thread does\n");
    is_refused(KERNEL "{ while (!atomicAdd(out, 0)) {} out[1] = 1; }\n",
               "it waits in a loop for what another thread does\n");
    is_refused(KERNEL "{\n"
               "    int some;\n"
               "    do {\n"
               "        some = 0;\n"
               "        for (int i = 0; i < 9; i++)\n"
               "            some |= ((volatile int *)out)[i];\n"
               "    } while (!some);\n"
               "}\n", "it waits in a loop for what another thread does\n");
    is_refused(KERNEL "{\n"
               "    int i = threadIdx.x & 3;\n"
               "    while (atomicCAS(out + i, 0, 1)) i = (i + 1) & 3;\n"
               "    out[9]++;\n"
               "    atomicExch(out + i, 0);\n"
               "}\n", "it waits in a loop for what another thread does\n");
    is_refused(KERNEL "{ while (!*(volatile int *)out) __nanosleep(9); }\n",
               "it waits for other threads by __nanosleep\n");
    is_refused("__device__ int f(int n)\n"
               "{ __syncthreads(); return n ? n * f(n - 1) + f(n / 2) : 1; }\n"
               KERNEL "{ out[0] = f(out[1]); }\n",
               "a function that is not inlined waits for other threads\n");
    is_refused(KERNEL "{\n"
               "    for (int i = 0; i < 9; i++)\n"
               "        if (i < (int)threadIdx.x) {\n"
               "            out[i] = i;\n"
               "            __syncthreads();\n"
               "        }\n"
               "}\n", "a barrier stands where threads of a warp may go "
               "apart\n");
}

static void is_vectorised(const char *source)
{
    built_write(&built, "k.cu", source);
    built_make(&built, "--source @/k.cu --option --tier=B");
    assert_string_equal(built.log, "");
    assert_int_equal(built.status, 0);
    assert_string_equal(built_kernel(&built, "k")->reason, "");
    built_close(&built);
}

// One thread writes what has been found, and all of them end: what they bring
// to the end of the loop is the same for all.
RNL_TEST(barriers_in_loops_that_end_when_one_thread_has_written)
{
    need_simt();
    is_vectorised(KERNEL "{\n"
                  "    int length = out[0];\n"
                  "    for (int i = 0; i < 40 && length > 1; i++) {\n"
                  "        __syncthreads();\n"
                  "        int next = out[i];\n"
                  "        if (next < 3) {\n"
                  "            if (threadIdx.x == 0) out[1] = i;\n"
                  "            return;\n"
                  "        }\n"
                  "        length = next;\n"
                  "        __syncthreads();\n"
                  "    }\n"
                  "    if (threadIdx.x == 0) out[1] = -1;\n"
                  "}\n");
}

// Two floats are returned as a vector, and chosen as one where both are.
RNL_TEST(pairs_of_floats_stay_numbers)
{
    need_simt();
    is_vectorised("struct pair { float x, y; };\n"
                  "__device__ pair get(const pair *p) { return *p; }\n"
                  "extern \"C\" __global__ void k(pair *out, int n) {\n"
                  "    pair v = get(out), w = get(out + 1);\n"
                  "    for (int i = 0; i < n; i++) {\n"
                  "        pair m = i & 1 ? v : w;\n"
                  "        v = w;\n"
                  "        w = m;\n"
                  "    }\n"
                  "    out[threadIdx.x] = w;\n"
                  "}\n");
    is_vectorised("__device__ float2 add(float2 a, float2 b)\n"
                  "{ return make_float2(a.x + b.x, a.y - b.y); }\n"
                  "extern \"C\" __global__ void k(float2 *out, int n) {\n"
                  "    __shared__ float2 s[64];\n"
                  "    int t = threadIdx.x;\n"
                  "    float2 a[2];\n"
                  "    for (int i = 0; i < 2; i++) a[i] = out[t + 64 * i];\n"
                  "    for (int h = 1; h < 64; h *= 4) {\n"
                  "        a[0] = add(a[0], a[1]);\n"
                  "        s[t] = a[1];\n"
                  "        __syncthreads();\n"
                  "        a[1] = s[t ^ h];\n"
                  "        __syncthreads();\n"
                  "    }\n"
                  "    for (int i = 0; i < 2; i++) out[t + 64 * i] = a[i];\n"
                  "}\n");
}

RNL_TEST(numbers_are_taken_apart_in_lanes)
{
    need_simt();
    is_vectorised("extern \"C\" __global__ void k(float *out) {\n"
                  "    int t = threadIdx.x, power;\n"
                  "    float part = frexpf(out[t], &power);\n"
                  "    out[t] = part * power;\n"
                  "}\n");
    is_vectorised("extern \"C\" __global__ void k(double *out) {\n"
                  "    int t = threadIdx.x, power;\n"
                  "    double part = frexp(out[t], &power);\n"
                  "    out[t] = part * power;\n"
                  "}\n");
}

// The size of the block is the same for all lanes, whichever way they came.
RNL_TEST(barriers_in_loops_over_what_a_branch_has_read)
{
    need_simt();
    is_vectorised(KERNEL "{\n"
                  "    __shared__ int sums[256];\n"
                  "    int t = threadIdx.x, sum = 0;\n"
                  "    for (int i = t; i < out[0]; i += blockDim.x)\n"
                  "        sum += out[i];\n"
                  "    sums[t] = sum;\n"
                  "    for (int s = blockDim.x / 2; s > 0; s >>= 1) {\n"
                  "        __syncthreads();\n"
                  "        if (t < s)\n"
                  "            sums[t] += sums[t + s];\n"
                  "    }\n"
                  "    out[t] = sums[0];\n"
                  "}\n");
}

// What is loaded decides neither how often the loop goes round nor how often
// one around it does.
RNL_TEST(loops_over_what_others_change_do_not_wait)
{
    need_simt();
    is_vectorised(KERNEL "{\n"
                  "    int sum = 0;\n"
                  "    for (int i = 0; i < (int)gridDim.x; i++)\n"
                  "        sum += ((volatile int *)out)[i];\n"
                  "    out[threadIdx.x] = sum;\n"
                  "}\n");
    is_refused(KERNEL "{\n"
               "    int all, rounds = 0;\n"
               "    do {\n"
               "        all = 1;\n"
               "        rounds++;\n"
               "        for (int i = 0; i < (int)gridDim.x; i++)\n"
               "            all &= ((volatile int *)out)[i];\n"
               "    } while (!all);\n"
               "    out[threadIdx.x] = rounds;\n"
               "}\n", "it waits in a loop for what another thread does\n");
}

RNL_TEST(empty_assembly_only_holds_back_the_compiler)
{
    need_simt();
    is_vectorised(KERNEL "{\n"
                  "    int a = out[0], b = a;\n"
                  "    asm volatile(\"\" ::: \"memory\");\n"
                  "    asm(\"\" : \"+r\"(a));\n"
                  "    asm volatile(\"\" : \"+r\"(b) :: \"memory\");\n"
                  "    asm volatile(\"\" :: \"r\"(b));\n"
                  "    asm volatile(\"\" : \"+m\"(b));\n"
                  "    out[threadIdx.x] = a + b;\n"
                  "}\n");
    is_refused(KERNEL "{\n"
               "    int a = out[0], b = out[1];\n"
               "    asm(\"\" : \"+r\"(a), \"+r\"(b));\n"
               "    out[2] = a + b;\n"
               "}\n", "it has");
}

// They begin with a load, and nothing else in the loop may store.
RNL_TEST(atomic_functions_that_try_again_do_not_wait)
{
    static const char *const bodies[] = {
        "atomicMax(out + 8, i * 7)", "atomicMin(out + threadIdx.x, out[i])",
        "atomicInc((unsigned *)out + i, 5u)", "atomicAdd((float *)out, 0.5f)"};
    need_simt();
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        char source[256];
        snprintf(source, sizeof source, KERNEL
                 "{ for (int i = 0; i < out[threadIdx.x]; i++) %s; }\n",
                 bodies[i]);
        is_vectorised(source);
    }
}

RNL_TEST(loops_that_end_by_themselves_do_not_wait)
{
    need_simt();
    // What is loaded has no say in how long the loop runs.
    is_vectorised(KERNEL "{\n"
             "    int sum = 0;\n"
             "    for (int i = threadIdx.x; i < 999; i += blockDim.x)\n"
             "        sum += ((volatile int *)out)[i];\n"
             "    out[threadIdx.x] = sum;\n"
             "}\n");
    // Places of a table are kept.
    is_vectorised(KERNEL "{\n"
             "    unsigned i = threadIdx.x * 2654435761u >> 22;\n"
             "    while (atomicCAS(out + i, -1, threadIdx.x) != -1)\n"
             "        i = (i + 1) & 1023u;\n"
             "    atomicAdd(out + 1024 + i, 1);\n"
             "}\n");
    // Each round puts something else there.
    is_vectorised(KERNEL "{\n"
             "    for (int i = threadIdx.x; i < 999; i += blockDim.x)\n"
             "        out[99 + i] = atomicExch(out + i % 9, i);\n"
             "}\n");
}

// They are passed and returned as integers of 24 and 48 bits.
RNL_TEST(structures_of_odd_sizes_are_taken)
{
    need_simt();
    is_vectorised("__device__ uchar3 f(uchar3 a) { return {a.y, a.z, 1}; }\n"
             "__device__ short3 g(short3 a) { return {a.y, a.z, 1}; }\n"
             "extern \"C\" __global__ void k(uchar3 *a, short3 *b)\n"
             "{\n"
             "    a[threadIdx.x] = f(a[threadIdx.x]);\n"
             "    b[threadIdx.x] = g(b[threadIdx.x]);\n"
             "}\n");
}

RNL_TEST(calls_that_lanes_cannot_do_are_refused)
{
    need_simt();
    is_refused("__device__ int f(int n) { return n; }\n"
               "__device__ int g(int n) { return -n; }\n"
               "__device__ int (*volatile p[])(int) = {f, g};\n"
               KERNEL "{ *out = p[threadIdx.x & 1](3); }\n",
               "it calls a function through a pointer\n");
}

RNL_TEST(values_that_lanes_cannot_hold_are_refused)
{
    need_simt();
    is_refused(KERNEL "{\n"
               "    volatile int *v = (int *)__builtin_alloca(out[0]);\n"
               "    v[out[1]] = 1;\n    out[2] = v[out[3]];\n"
               "}\n", "it has a variable whose size is not constant\n");
    is_refused("struct pair { long a, b; };\n"
               "__device__ pair f(long n)\n"
               "{ pair p = {n, 1}; return n > 3 ? f(n / f(n - 1).b) : p; }\n"
               KERNEL "{ out[0] = (int)f(out[1]).a; }\n",
               "it has values of structure");
    is_refused(KERNEL "{\n"
               "    long double a = out[0];\n"
               "    for (int i = 0; i < out[1]; i++) a = a * 1.5L + i;\n"
               "    out[2] = (int)a;\n"
               "}\n", "it has values of structure");
}

// --- One block size ----------------------------------------------------------

static void run_thirds(rnl_dim3 block)
{
    int out[256] = {0};
    unsigned threads = block.x * block.y;
    built_run_ints(&built, "k", (rnl_dim3){1}, block, 0, out, NULL, 0);
    for (unsigned t = 0; t < threads; t++)
        assert_int_equal(out[t], 3 * t + block.x);
}

static const char thirds[] =
    "__device__ int own;\n"
    "extern \"C\" __global__ void other(int *out) { out[0] = ++own; }\n"
    KERNEL "{\n"
    "    __shared__ int part[256];\n"
    "    int t = threadIdx.y * blockDim.x + threadIdx.x;\n"
    "    part[t] = t;\n"
    "    __syncthreads();\n"
    "    int all = blockDim.x * blockDim.y;\n"
    "    out[t] = 2 * t + part[(t + all) % all] + blockDim.x;\n"
    "}\n";

RNL_TEST(code_for_one_block_size_stands_beside_the_other)
{
    need_simt();
    built_write(&built, "k.cu", thirds);
    built_make(&built, "--source @/k.cu --option --block-size=16x4");
    assert_string_equal(built.log, "");
    assert_int_equal(built_kernel(&built, "k")->block_size[0], 0);
    run_thirds((rnl_dim3){16, 4, 1});
    run_thirds((rnl_dim3){16, 8, 1});
    run_thirds((rnl_dim3){40, 3, 1});
    built_close(&built);
}

RNL_TEST(one_kernel_for_one_block_size)
{
    static const rnl_dim3 sizes[] = {{32, 1, 1}, {40, 1, 1}, {16, 1, 1},
                                     {16, 5, 1}, {7, 5, 1}, {64, 2, 1}};
    need_simt();
    built_write(&built, "k.cu", thirds);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char arguments[256];
        snprintf(arguments, sizeof arguments,
                 "--source @/k.cu --option --tier=B --option --only-kernel=k "
                 "--option --block-size=%ux%u", sizes[i].x, sizes[i].y);
        built_make(&built, arguments);
        assert_string_equal(built.log, "");
        const rnl_cpu_kernel *kernel = built_kernel(&built, "k");
        assert_int_equal(kernel->block_size[0], sizes[i].x);
        assert_int_equal(kernel->block_size[1], sizes[i].y);
        assert_int_equal(kernel->block_size[2], 1);
        assert_null(kernel->run_threads);
        assert_null(built_kernel(&built, "other")->run_blocks);
        run_thirds(sizes[i]);
        dlclose(built.library);
        built.library = NULL;
    }
    built_close(&built);
}

RNL_TEST(loops_over_the_grid_are_told)
{
    static const char *const steps[] = {"gridDim.x * blockDim.x", "32"};
    need_simt();
    for (unsigned i = 0; i < 2; i++) {
        char source[256];
        snprintf(source, sizeof source,
                 KERNEL "{\n"
                 "    for (int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                 "         i < 64; i += %s)\n"
                 "        out[i] += i;\n"
                 "}\n", steps[i]);
        built_write(&built, "k.cu", source);
        built_make(&built, "--source @/k.cu --option --tier=B");
        assert_int_equal(built_kernel(&built, "k")->flags,
                         i == 0 ? RNL_CPU_KERNEL_STRIDES : 0);
        built_close(&built);
    }
}

RNL_TEST(lanes_across_blocks_are_told)
{
    static const char *const rows[] = {"y * n + x", "x * n + y"};
    need_simt();
    for (unsigned i = 0; i < 2; i++) {
        char source[320];
        snprintf(source, sizeof source,
                 "extern \"C\" __global__ void k(int *out, int n) {\n"
                 "    int x = blockIdx.x * blockDim.x + threadIdx.x;\n"
                 "    int y = blockIdx.y * blockDim.y + threadIdx.y;\n"
                 "    out[%s] += 1;\n"
                 "}\n", rows[i]);
        built_write(&built, "k.cu", source);
        built_make(&built, "--source @/k.cu --option --tier=B");
        assert_int_equal(built_kernel(&built, "k")->flags,
                         (i == 0 ? RNL_CPU_KERNEL_ACROSS | RNL_CPU_KERNEL_ROWS
                                 : 0) |
                             RNL_CPU_KERNEL_SHORT);
        built_close(&built);
    }
}

RNL_TEST(bounded_work_is_told)
{
    static const struct {
        const char *body;
        bool is_short;
    } kernels[] = {
        {"out[threadIdx.x] += 3;", true},
        {"if (out[1] > 2) out[threadIdx.x] = __popc(out[0]);", true},
        {"out[threadIdx.x] = (int)expf(out[0] + 0.5f);", true},
        {"for (int i = 0; i < 4; i++) out[4 * threadIdx.x + i] += i;", true},
        {"atomicAdd(out, 1);", true},
        {"for (int i = 0; i < out[0]; i++) out[threadIdx.x] += out[i];", false},
        {"__syncthreads(); out[threadIdx.x] += 3;", false},
        {"out[threadIdx.x] = __shfl_sync(~0u, out[threadIdx.x], 0);", false},
        {"if (out[0] == 7) printf(\"seven\");", false},
        {"out[threadIdx.x] = collatz(out[threadIdx.x]);", false},
    };
    need_simt();
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        char source[512];
        snprintf(source, sizeof source,
                 "__device__ __noinline__ int collatz(int n) {\n"
                 "    int steps = 0;\n"
                 "    for (; n > 1; steps++)\n"
                 "        n = n %% 2 ? 3 * n + 1 : n / 2;\n"
                 "    return steps;\n"
                 "}\n" KERNEL "{ %s }\n",
                 kernels[i].body);
        built_write(&built, "k.cu", source);
        built_make(&built, "--source @/k.cu --option --tier=B");
        if (((built_kernel(&built, "k")->flags & RNL_CPU_KERNEL_SHORT) != 0) !=
            kernels[i].is_short)
            fail_msg("%s", kernels[i].body);
        built_close(&built);
    }
}

// In whatever way they are written.
RNL_TEST(spellings_of_loops_over_the_grid)
{
    need_simt();
    built_kernels(&built, "../../differential/corpus/spellings.cu",
                  "--option --tier=B");
    for (uint32_t i = 0; i < built.table->kernel_count; i++) {
        const rnl_cpu_kernel *kernel = &built.table->kernels[i];
        bool left = strncmp(kernel->name, "left_", 5) == 0;
        if (left == ((kernel->flags & RNL_CPU_KERNEL_STRIDES) != 0))
            fail_msg("%s: %#x", kernel->name, kernel->flags);
    }
    built_close(&built);
}

RNL_TEST(block_sizes_and_kernels_that_cannot_be)
{
    static const char *const wrong[] = {"0", "16x", "x16", "32x64", "2x2x2x2",
                                        "16*4", "-1"};
    need_simt();
    built_write(&built, "k.cu", thirds);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char arguments[128];
        snprintf(arguments, sizeof arguments,
                 "--source @/k.cu --option '--block-size=%s'", wrong[i]);
        exits(arguments, 5, "--block-size takes threads as 256, 16x16");
    }
    exits("--source @/k.cu --option --only-kernel=k", 5,
          "--only-kernel needs --tier=B and --block-size");
    fails("--source @/k.cu --option --tier=B --option --block-size=32 "
          "--option --only-kernel=none", "there is no kernel of that name");
    fails("--source @/k.cu --option --tier=B --option --block-size=32 "
          "--option --only-kernel=other", "it uses variables of its module");
    built_close(&built);
}

// --- Other ways --------------------------------------------------------------

// Nothing of such a source becomes vectors.
RNL_TEST(jumps_to_labels_by_address_are_left_to_tier_f)
{
    need_simt();
    built_write(&built, "k.cu",
                KERNEL "{\n"
                "    static void *const to[] = {&&a, &&b};\n"
                "    int t = threadIdx.x;\n    goto *to[t & 1];\n"
                "a:  out[t] = 1;\n    return;\n"
                "b:  out[t] = 2 * t;\n"
                "}\n");
    fails("--source @/k.cu --option --tier=B",
          "k.cu: error: a function jumps to addresses of labels");
    built_make(&built, "--source @/k.cu --option --tier=auto");
    assert_string_equal(built.log, "");
    int out[40] = {0};
    built_run_ints(&built, "k", (rnl_dim3){1}, (rnl_dim3){40}, 0, out, NULL, 0);
    for (int t = 0; t < 40; t++)
        assert_int_equal(out[t], t & 1 ? 2 * t : 1);
    built_close(&built);
}

// The SIMT compiler crashes over it.
RNL_TEST(inline_ptx_is_no_matter_of_tiers)
{
    need_simt();
    built_write(&built, "k.cu", "__global__ void k(float *f)\n"
                "{ asm(\"mma %0, %1;\" : \"+f\"(f[0]), \"+f\"(f[1])); }\n");
    fails("--source @/k.cu --option --tier=B",
          "error: inline PTX or other assembly is not supported");
    built_close(&built);
}

// Of a kernel in which each thread sorts numbers of its own.
static bool has_lanes(const char *tier)
{
    char arguments[64];
    snprintf(arguments, sizeof arguments, "--source @/k.cu --option --tier=%s",
             tier);
    built_write(&built, "k.cu",
                KERNEL "{\n    int all[16], t = threadIdx.x;\n"
                "    for (int i = 0; i < 16; i++)\n"
                "        all[i] = (t + i) * 7 & 15;\n"
                "    for (int i = 1; i < 16; i++) {\n"
                "        int x = all[i], k = i;\n"
                "        for (; k > 0 && all[k - 1] > x; k--)\n"
                "            all[k] = all[k - 1];\n        all[k] = x;\n    }\n"
                "    out[t] = all[3];\n}\n");
    built_make(&built, arguments);
    assert_int_equal(built.status, 0);
    int out[40] = {0};
    built_run_ints(&built, "k", (rnl_dim3){1}, (rnl_dim3){40}, 0, out, NULL, 0);
    for (int t = 0; t < 40; t++)
        assert_int_equal(out[t], 3);
    bool found = built_kernel(&built, "k")->run_blocks != NULL;
    built_close(&built);
    return found;
}

RNL_TEST(what_is_faster_one_by_one_has_no_lanes)
{
    need_simt();
    assert_false(has_lanes("auto"));
    assert_true(has_lanes("B"));
    assert_true(has_lanes("B-or-F"));
    assert_false(has_lanes("F"));
}

// The tier that is chosen for a kernel whose threads have a row `r` each.
static char tier_for(const char *body)
{
    char source[1024];
    snprintf(source, sizeof source,
             "extern \"C\" __global__ void k(float *to, float *m, "
             "const unsigned char *text, const int *at, int n)\n"
             "{ int r = blockIdx.x * blockDim.x + threadIdx.x;\n%s }\n", body);
    built_write(&built, "k.cu", source);
    built_make(&built, "--source @/k.cu --option --target=x86-64-v4");
    assert_int_equal(built.status, 0);
    char tier = built_kernel(&built, "k")->run_blocks ? 'B' : 'F';
    built_close(&built);
    return tier;
}

// Lanes would load and store a line each, all the time.
RNL_TEST(threads_that_write_along_rows_have_no_lanes)
{
    need_simt();
    assert_int_equal(tier_for("for (int i = r; i < n - r; i++) {\n"
                              "    float top = m[r * n + i];\n"
                              "    m[r * n + i] = m[(n - r) * n - i];\n"
                              "    m[(n - r) * n - i] = top; }"), 'F');
    assert_int_equal(tier_for("float s = 0;\n"
                              "for (int i = 0; i < n; i++) s += m[r * n + i];"
                              "for (int i = 0; i < n; i++) m[r * n + i] *= s;"),
                     'F');
}

// Rows that are summed are loaded in long pieces; of hashes a thread would wait
// for each round.
RNL_TEST(threads_that_sum_along_rows_have_lanes)
{
    need_simt();
    assert_int_equal(tier_for("float s = 0;\n"
                              "for (int i = 0; i < n; i++) s += m[r * n + i];"
                              "to[r] = s;"), 'B');
    assert_int_equal(tier_for("unsigned h = 2166136261u;\n"
                              "for (int i = at[r]; i < at[r + 1]; i++)\n"
                              "    h = (h ^ text[i]) * 16777619u;\n"
                              "to[r] = h;"), 'B');
}

// Lanes wait for the longest, a round of which does little.
RNL_TEST(threads_that_sum_a_few_numbers_each_have_no_lanes)
{
    need_simt();
    assert_int_equal(tier_for("int most = at[r] % 11u, k = 5, s = 0, l = 0;\n"
                              "for (; k < most; k++, l -= 3)\n"
                              "    s += at[r * 12 + k] ^ l;\n"
                              "to[r] = s * 100 + k + l * 7;"), 'F');
}

// --- Warps that talk without a barrier ---------------------------------------

// As code from before Volta does, after a loop in which lanes part.
static const char old[] =
    "extern \"C\" __global__ void k(int *out, const int *next, int n)\n{\n"
    "    __shared__ int s[48];\n"
    "    int lane = threadIdx.x & 31, i = lane + 16, at = next[lane], c = 0;\n"
    "    s[lane] = 0;\n"
    "    for (int j = 0; j < n; j++)\n"
    "        if (at & 1) { at = next[at]; c += next[at & 31]; }\n"
    "        else if (at & 2) { out[at] = c; at = next[(at >> 2) & 31]; }\n"
    "        else { at = next[at ^ 5]; if (at & 4) break; c++; }\n"
    "    s[i] = 1;\n"
    "    s[i] += s[i - 1];\n    s[i] += s[i - 2];\n    s[i] += s[i - 4];\n"
    "    s[i] += s[i - 8];\n    s[i] += s[i - 16];\n"
    "    out[lane] = s[i] + (c < -1000);\n}\n";

// Eight lanes to a gang would not do.
RNL_TEST(warps_that_talk_without_a_barrier_go_in_step)
{
    int in[64] = {0}, out[64] = {0};
    need_simt();
    built_write(&built, "k.cu", old);
    built_make(&built, "--source @/k.cu --option --tier=auto "
                       "--option --target=x86-64");
    assert_int_equal(built.status, 0);
    assert_non_null(built_kernel(&built, "k")->run_blocks);
    built_run_ints(&built, "k", (rnl_dim3){1}, (rnl_dim3){32}, 0, out, in, 10);
    for (int t = 0; t < 32; t++)
        assert_int_equal(out[t], t + 1);
    built_close(&built);
}
