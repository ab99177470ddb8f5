// The table of passes: runnel-cc prints it, and each pass can be dumped, and
// skipped unless other code needs it.
#include "build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PASSES_MOST = 100, COUNT = 256 };

static struct built built;

// Small kernels: a barrier, shared and private memory, a grid-stride loop, a
// struct and halves of a branch; warps; atomics and a loop that waits; calls,
// also by pointers and recursive; 16 bits and divisions; halves, estimates and
// functions of the C library; a tile; a store behind a branch.
static const char source[] =
    "struct pair { int a, b; };\n"
    "extern \"C\" __global__ void mixed(int *out, const int *in, int n)\n"
    "{\n"
    "    __shared__ int tile[64];\n"
    "    int own[4] = {0};\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    for (int j = i; j < n; j += gridDim.x * blockDim.x)\n"
    "        own[j & 3] += in[j];\n"
    "    tile[threadIdx.x] = own[i & 3];\n"
    "    __syncthreads();\n"
    "    pair p = ((const pair *)in)[i / 2];\n"
    "    int all = tile[63 - threadIdx.x] + p.a * p.b;\n"
    "    for (int j = 0; j < 4; j++)\n"
    "        all += in[4 * (i / 4) + j];\n"
    "    if (all % 3)\n"
    "        all = all / 3 - (i | 1);\n"
    "    out[i] = all;\n"
    "}\n"
    "#ifndef ONE_KERNEL\n"
    "#include <cuda_fp16.h>\n"
    "extern \"C\" __global__ void warps(int *out, const int *in, int n)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x, sum = in[i];\n"
    "    for (int step = 16; step > 0; step /= 2)\n"
    "        sum += __shfl_xor_sync(~0u, sum, step);\n"
    "    unsigned odd = __ballot_sync(~0u, in[i] & 1);\n"
    "    out[i] = sum + __popc(odd) + __syncthreads_count(in[i] > n);\n"
    "}\n"
    "__device__ int turns[4];\n"
    "extern \"C\" __global__ void locks(int *out, const int *in, int n)\n"
    "{\n"
    "    __shared__ int most;\n"
    "    if (threadIdx.x == 0)\n"
    "        most = 0;\n"
    "    __syncthreads();\n"
    "    atomicMax(&most, in[threadIdx.x]);\n"
    "    if (threadIdx.x == 33)\n"
    "        atomicExch(&turns[blockIdx.x], 1);\n"
    "    if (threadIdx.x == 1)\n"
    "        while (atomicAdd(&turns[blockIdx.x], 0) == 0) {}\n"
    "    __syncthreads();\n"
    "    out[blockIdx.x * blockDim.x + threadIdx.x] = most + n;\n"
    "}\n"
    "__device__ int twice(int a) { return 2 * a; }\n"
    "__device__ int less(int a) { return a - 1; }\n"
    "__device__ int (*const ways[])(int) = {twice, less};\n"
    "__device__ int depth(int a) { return a < 2 ? a : depth(a / 2) + a % 3; }\n"
    "__device__ __noinline__ void swap(int *a, int *b)\n"
    "{ int c = *a; *a = *b; *b = c; }\n"
    "extern \"C\" __global__ void calls(int *out, const int *in, int n)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    int a = in[i], b = depth(in[i]);\n"
    "    swap(&a, &b);\n"
    "    out[i] = a - 3 * b + ways[i & 1](n);\n"
    "}\n"
    "extern \"C\" __global__ void narrow(int *out, const int *in, int n)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    const unsigned char *bytes = (const unsigned char *)in;\n"
    "    int sum = 0;\n"
    "    for (int j = 0; j < 8; j++)\n"
    "        sum += (short)(bytes[(4 * i + j) % (4 * n)] * 3 >> 1);\n"
    "    unsigned long long wide = (unsigned long long)in[i] << 33;\n"
    "    out[i] = sum / (in[i] % 7 + 1) + (int)(wide / 3 >> 20) + __clz(sum);\n"
    "}\n"
    "extern \"C\" __global__ void floats(int *out, const int *in, int n)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    __half h = __hadd(__int2half_rn(in[i] % 64), __float2half(0.5f));\n"
    "    double root = sqrt((double)in[i] * in[i]);\n"
    "    float whole = floorf(in[i] / 4.0f) + fmaf(in[i], 2, 1);\n"
    "    float power = exp2f((float)(in[i] % 8)) + cosf(0.0f * n);\n"
    "    out[i] = (int)(4 * __half2float(h)) + (int)root + (int)whole +\n"
    "             (int)rintf(power);\n"
    "}\n"
    "extern \"C\" __global__ void tiles(int *out, const int *in, int n)\n"
    "{\n"
    "    __shared__ int a[64], b[64];\n"
    "    int sum = 0;\n"
    "    for (int k = 0; k < n; k += 64) {\n"
    "        a[threadIdx.x] = in[k + threadIdx.x];\n"
    "        b[threadIdx.x] = in[n - 1 - k - threadIdx.x];\n"
    "        __syncthreads();\n"
    "        for (int j = 0; j < 64; j++)\n"
    "            sum += a[j] * b[(j + threadIdx.x) % 64];\n"
    "        __syncthreads();\n"
    "    }\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (sum & 1)\n"
    "        out[i] = sum;\n"
    "    else\n"
    "        switch (in[i] % 5) {\n"
    "        case 0: return;\n"
    "        case 1: out[i] = 7; break;\n"
    "        default: out[i] = in[i];\n"
    "        }\n"
    "}\n"
    "#endif\n";
static const char *const kernels[] = {"mixed", "warps", "locks", "calls",
                                      "narrow", "floats", "tiles"};
enum { KERNELS = sizeof kernels / sizeof *kernels };

// Of runnel-cc --list-passes.
static struct pass {
    char name[64];
    bool needed;
} passes[PASSES_MOST];
static unsigned pass_count;

static void list_passes(void)
{
    char command[256], line[256];
    snprintf(command, sizeof command, "'%s' --list-passes",
             getenv("RUNNEL_CC"));
    FILE *list = popen(command, "r");
    assert_non_null(list);
    for (pass_count = 0; fgets(line, sizeof line, list);) {
        if (line[0] == ' ')
            continue;
        assert_true(pass_count < PASSES_MOST);
        struct pass *pass = &passes[pass_count++];
        pass->needed = strstr(line, " (needed)") != NULL;
        snprintf(pass->name, sizeof pass->name, "%.*s",
                 (int)strcspn(line, " \n"), line);
    }
    assert_int_equal(pclose(list), 0);
    assert_true(pass_count > 40);
}

static void make(const char *format, const char *name, const char *more)
{
    char arguments[512];
    built_write(&built, "k.cu", source);
    snprintf(arguments, sizeof arguments, format, name);
    snprintf(arguments + strlen(arguments),
             sizeof arguments - strlen(arguments), " --source @/k.cu%s", more);
    built_make(&built, arguments);
}

static bool has_dump(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/p.%s.ll", built.folder, name);
    return access(path, R_OK) == 0;
}

static void run(int out[KERNELS][COUNT])
{
    int in[COUNT];
    for (int i = 0; i < COUNT; i++)
        in[i] = sample(i);
    memset(out, 0, KERNELS * sizeof *out);
    for (int i = 0; i < KERNELS; i++)
        built_run_ints(&built, kernels[i], (rnl_dim3){4, 1, 1},
                       (rnl_dim3){64, 1, 1}, 0, out[i], in, COUNT);
}

static void skip_pass(const char *name, const char *options,
                      int expected[KERNELS][COUNT])
{
    int out[KERNELS][COUNT];
    make("--skip-pass=%s", name, options);
    if (built.status != 0 || built.log[0])
        fail_msg("without %s: %s", name, built.log);
    run(out);
    for (int k = 0; k < KERNELS; k++)
        if (memcmp(out[k], expected[k], sizeof out[k]) != 0)
            fail_msg("without %s other results of %s", name, kernels[k]);
    built_close(&built);
}

// Skips each pass that is not needed; the results stay the same.
static void skip_each(const char *options)
{
    int expected[KERNELS][COUNT];
    list_passes();
    make("%s", "", options);
    assert_string_equal(built.log, "");
    run(expected);
    built_close(&built);
    for (unsigned i = 0; i < pass_count; i++)
        if (!passes[i].needed)
            skip_pass(passes[i].name, options, expected);
}

RNL_TEST(passes_that_are_not_needed_can_be_skipped)
{
    skip_each(" --option --tier=B-or-F");
}

RNL_TEST(passes_for_one_block_size_can_be_skipped)
{
    skip_each(" --option --tier=B-or-F --option --block-size=64");
}

RNL_TEST(passes_of_tier_f_can_be_skipped)
{
    static const char *const names[] = {"one-target", "rotate-loops", "tbaa",
                                        "optimise", "split-blocks-again"};
    int expected[KERNELS][COUNT];
    make("%s", "", " --option --tier=F");
    run(expected);
    built_close(&built);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        skip_pass(names[i], " --option --tier=F", expected);
}

// Tier F has no calls of functions that must be inlined.
RNL_TEST(without_optimise_the_prelude_is_inlined)
{
    char path[256], line[512];
    make("--skip-pass=%s --dump-ir @/p", "optimise", " --option --tier=F");
    assert_int_equal(built.status, 0);
    snprintf(path, sizeof path, "%s/p.finished.ll", built.folder);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (strstr(line, "alwaysinline"))
            fail_msg("left: %s", line);
    fclose(file);
    built_close(&built);
}

RNL_TEST(the_cost_model_can_be_skipped)
{
    int expected[KERNELS][COUNT];
    make("%s", "", " --option --tier=auto");
    run(expected);
    built_close(&built);
    skip_pass("profitability", " --option --tier=auto", expected);
}

RNL_TEST(passes_that_are_needed_are_not_skipped)
{
    unsigned needed = 0;
    list_passes();
    for (unsigned i = 0; i < pass_count; i++) {
        char sentence[192];
        if (!passes[i].needed)
            continue;
        make("--skip-pass=%s", passes[i].name, " --option --tier=B-or-F");
        assert_int_equal(built.status, 5);
        snprintf(sentence, sizeof sentence,
                 "a pass that is needed cannot be skipped: %.63s: ",
                 passes[i].name);
        if (!strstr(built.log, sentence))
            fail_msg("said: %s", built.log);
        built_close(&built);
        needed++;
    }
    assert_true(needed > 10 && needed < pass_count);
}

RNL_TEST(a_pass_is_dumped)
{
    unsigned dumped = 0;
    list_passes();
    for (unsigned i = 0; i < pass_count; i++) {
        char fixed[80];
        make("--dump-ir @/p --dump-after=%s", passes[i].name,
             " --option --block-size=64 --option -DONE_KERNEL");
        snprintf(fixed, sizeof fixed, "fixed.%s", passes[i].name);
        assert_int_equal(built.status, 0);
        bool made = has_dump(passes[i].name) || has_dump(fixed);
        bool said = strstr(built.log, "did not run") != NULL;
        if (made == said)
            fail_msg("%s: dumped %d, said: %s", passes[i].name, made,
                     built.log);
        assert_false(has_dump("source"));
        dumped += made;
        built_close(&built);
    }
    assert_true(dumped + 10 > pass_count);
}

RNL_TEST(names_that_no_pass_has)
{
    make("--skip-pass=%s", "nonsense", " --option --tier=B");
    assert_int_equal(built.status, 5);
    assert_non_null(strstr(built.log, "--skip-pass: there is no pass "
                                      "'nonsense'"));
    built_close(&built);
    make("--dump-ir @/p --dump-after %s", "nonsense", " --option --tier=B");
    assert_int_equal(built.status, 5);
    assert_non_null(strstr(built.log, "--dump-after: there is no pass "
                                      "'nonsense'"));
    built_close(&built);
    make("--dump-after=%s", "reg2mem", " --option --tier=B");
    assert_int_equal(built.status, 2);
    assert_non_null(strstr(built.log, "--dump-after needs --dump-ir PREFIX"));
    built_close(&built);
}
