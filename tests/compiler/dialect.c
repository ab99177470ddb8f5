// What kernels mean where C++ leaves it open or CUDA adds to it: the same in
// each tier, and as NVRTC and a GPU have it.
#include "build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL \
    "extern \"C\" __global__ void k(int *out, const int *in, int n)"

static struct built built;
static const char *const tiers[] = {"auto", "F", "B-or-F"};

static void compile(const char *source, const char *tier, const char *options)
{
    char arguments[256];
    built_write(&built, "k.cu", source);
    snprintf(arguments, sizeof arguments,
             "--source @/k.cu --option --tier=%s %s", tier, options);
    built_make(&built, arguments);
    assert_string_equal(built.log, "");
    assert_int_equal(built.status, 0);
}

// Runs k(out, in, n) with `threads` threads and compares the output.
static void gives(const char *tier, unsigned threads, const int *in, int n,
                  const int *want, int count)
{
    int out[64] = {0};
    built_run_ints(&built, "k", (rnl_dim3){1}, (rnl_dim3){threads}, 0, out, in,
                   n);
    for (int i = 0; i < count; i++)
        if (out[i] != want[i])
            fail_msg("--tier=%s: element %d is %d, not %d", tier, i, out[i],
                     want[i]);
}

RNL_TEST(shifts_by_the_width_or_more)
{
    static const int counts[] = {0, 1, 31, 32, 33, 63, 64, -1};
    enum { COUNT = sizeof counts / sizeof *counts };
    int want[4 * COUNT];
    for (int i = 0; i < COUNT; i++) {
        const unsigned n = (unsigned)counts[i];
        want[i] = n < 32 ? (int)(0x80000001u << n) : 0;
        want[i + COUNT] = n < 32 ? (int)(0x80000001u >> n) : 0;
        want[i + 2 * COUNT] = n < 32 ? (int)0x80000001 >> n : -1;
        want[i + 3 * COUNT] =
            n < 64 ? (int)((0x8000000100000001u >> n) % 1000003) : 0;
    }
    for (size_t t = 0; t < 3; t++) {
        compile("__device__ void all(int *out, unsigned x,\n"
                "                    unsigned long long y, int n)\n"
                "{\n"
                "    out[0] = x << n, out[8] = x >> n, out[16] = (int)x >> n;\n"
                "    out[24] = (y >> n) % 1000003;\n"
                "}\n"
                KERNEL "\n"
                "{\n"
                "    all(out + threadIdx.x, 0x80000001u, 0x8000000100000001u,\n"
                "        in[threadIdx.x]);\n"
                "}\n"
                "extern \"C\" __global__ void same(int *out, const int *,\n"
                "                                int n)\n"
                "{ all(out, 0x80000001u, 0x8000000100000001u, n); }\n",
                tiers[t], "");
        gives(tiers[t], COUNT, counts, 0, want, 4 * COUNT);
        for (int i = 0; i < COUNT; i++) {
            int out[32] = {0};
            built_run_ints(&built, "same", (rnl_dim3){1}, (rnl_dim3){1}, 0,
                           out, counts, counts[i]);
            for (int k = 0; k < 4; k++)
                assert_int_equal(out[8 * k], want[i + COUNT * k]);
        }
        built_close(&built);
    }
}

RNL_TEST(shifts_by_constants_of_the_width_or_more)
{
    static const int in[] = {-5, 7};
    static const int want[] = {0, 0, -1, 0, 0, -1, 0, -10};
    for (size_t t = 0; t < 3; t++) {
        compile("template <int N, class T> __device__ T left(T x)\n"
                "{ return x << N; }\n"
                "template <int N, class T> __device__ T right(T x)\n"
                "{ return x >> N; }\n"
                KERNEL "\n"
                "{\n"
                "    const int x = in[0];\n"
                "    out[0] = left<32>(x), out[1] = right<32>((unsigned)x);\n"
                "    out[2] = right<40>(x), out[3] = left<64>((long long)x);\n"
                "    out[4] = right<64>((unsigned long long)x);\n"
                "    out[5] = right<99>((long long)x);\n"
                "    out[6] = (right<32>((unsigned)in[1]) + 1) / 2;\n"
                "    out[7] = left<1>(x);\n"
                "}\n", tiers[t], "--option -w");
        gives(tiers[t], 1, in, 0, want, 8);
        built_close(&built);
    }
}

RNL_TEST(the_least_integer_by_minus_one)
{
    static const int in[] = {-2147483647 - 1, -1};
    static const int want[] = {-2147483647 - 1, 0};
    for (size_t t = 0; t < 3; t++) {
        compile(KERNEL "\n"
                "{ out[0] = in[0] / in[1]; out[1] = in[0] % in[1]; }\n",
                tiers[t], "");
        gives(tiers[t], 1, in, 0, want, 2);
        built_close(&built);
    }
}

RNL_TEST(printf_tells_its_arguments)
{
    static const int want[] = {0, 2, 3, 1, 3, 0};
    compile(KERNEL "\n"
            "{\n"
            "    out[0] = printf(\"\");\n"
            "    out[1] = printf(\"%d%s\", 12345, \"\");\n"
            "    out[2] = printf(\"%d%d%d\", 1, 2, 3);\n"
            "    out[3] = printf(\"100%% %5.2f\", 1.0);\n"
            "    out[4] = printf(\"%*.*f\", 5, 2, 1.0);\n"
            "    out[5] = printf(\"100%%\");\n"
            "}\n", "auto", "");
    gives("auto", 1, want, 0, want, 6);
    built_close(&built);
}

RNL_TEST(headers_have_their_contents)
{
    static const int want[] = {-1, 2147483647, 1, 17, 1, 1, 3};
    compile("#include <stdint.h>\n#include <cstdint>\n#include <limits.h>\n"
            "#include <cfloat>\n#include <math_constants.h>\n"
            "#include <utility>\n"
            KERNEL "\n"
            "{\n"
            "    std::uint_fast8_t small = UINT8_MAX;\n"
            "    out[0] = UINT32_MAX;\n"
            "    out[1] = INT_LEAST32_MAX;\n"
            "    out[2] = SIZE_MAX == ULONG_MAX && small == 255;\n"
            "    out[3] = DBL_DECIMAL_DIG;\n"
            "    out[4] = CUDART_TWO_TO_31_F == 2147483648.0f;\n"
            "    out[5] = CUDART_TWO_TO_52 + CUDART_PIO2_LO * 0 ==\n"
            "             (double)(INT64_C(1) << 52);\n"
            "    out[6] = std::forward<int>(3);\n"
            "}\n", "auto", "");
    gives("auto", 1, want, 0, want, 7);
    built_close(&built);
}

// Of the built-in ones, those given by name are replaced, and those of a folder
// but where that is a toolkit's, which are for GPUs.
RNL_TEST(headers_of_a_toolkit_do_not)
{
    static const int want[] = {1};
    built_write(&built, "cuda_runtime_api.h", "");
    built_write(&built, "cuda_fp16.h", "#error for GPUs\n");
    compile("#include <cuda_fp16.h>\n" KERNEL "\n"
            "{ out[0] = (int)__half2float(__float2half(1.0f)); }\n", "auto",
            "--option -I@");
    gives("auto", 1, want, 0, want, 1);
    built_close(&built);
}

RNL_TEST(headers_of_the_caller_go_first)
{
    static const char *const names[] = {"limits.h", "cfloat", "stdint.h",
                                        "math_constants.h", "cuda_fp16.h",
                                        "cooperative_groups.h", "mma.h"};
    static const int want[] = {77};
    char source[256], option[64];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(source, sizeof source, "#include <%s>\n"
                 KERNEL "\n{ out[0] = CALLERS; }\n", names[i]);
        snprintf(option, sizeof option, "--header %s=@/own", names[i]);
        built_write(&built, "own", "#define CALLERS 77\n");
        compile(source, "auto", option);
        gives("auto", 1, want, 0, want, 1);
        built_write(&built, names[i], "#define CALLERS 77\n");
        compile(source, "auto", "--option -I@");
        gives("auto", 1, want, 0, want, 1);
        built_close(&built);
    }
}

// They are variables: names of the source hide them, and they can be passed on.
RNL_TEST(built_in_variables)
{
    static const int want[] = {2, 1, 40, 41, 5, 64, 7, 2, 3, 1};
    for (size_t t = 0; t < 3; t++) {
        compile("struct shape { dim3 gridDim, blockDim; };\n"
                "namespace own { __device__ int threads()\n"
                "{ return ::blockDim.x + 0 * ::threadIdx.x; } }\n"
                "__device__ unsigned third(dim3 d) { return d.z; }\n"
                "__device__ unsigned first(uint3 d) { return d.x; }\n"
                "template <class T> __device__ unsigned any(T d)\n"
                "{ return d.x + 1; }\n"
                "__device__ int of(int threadIdx) { return threadIdx + 1; }\n"
                KERNEL "\n"
                "{\n"
                "    shape s;\n"
                "    s.gridDim = gridDim, s.blockDim = blockDim;\n"
                "    out[0] = s.blockDim.x, out[1] = s.gridDim.x;\n"
                "    int warpSize = 40;\n"
                "    out[2] = warpSize, out[3] = of(warpSize);\n"
                "    dim3 copied = threadIdx, direct(blockIdx);\n"
                "    uint3 plain = blockDim;\n"
                "    auto same = threadIdx;\n"
                "    out[4] = 5 + copied.x * 0 + direct.y + 0 * same.x;\n"
                "    out[5] = plain.x * ::warpSize;\n"
                "    out[6] = 7 * third(blockDim) + first(blockIdx);\n"
                "    out[7] = own::threads();\n"
                "    out[8] = any(blockDim);\n"
                "    const uint3 &bound = gridDim;\n"
                "    const auto [a, b, c] = gridDim;\n"
                "    out[9] = bound.x * a * b * c;\n"
                "}\n", tiers[t], "");
        gives(tiers[t], 2, want, 0, want, 10);
        built_close(&built);
    }
}

// Overloads and templates see the types that CUDA documents.
RNL_TEST(built_in_variables_have_their_types)
{
    static const int want[] = {11, 1, 2, 0, 2, 1, 3, 5};
    for (size_t t = 0; t < 3; t++) {
        compile("__device__ uint3 operator*(uint3 a, uint3 b)\n"
                "{ return make_uint3(a.x * b.x, 0, 0); }\n"
                "__device__ uint3 operator*(uint3 a, dim3 b)\n"
                "{ return make_uint3(a.x * b.x, a.y * b.y, a.z * b.z); }\n"
                "__device__ uint3 operator+(uint3 a, uint3 b)\n"
                "{ return make_uint3(a.x + b.x, a.y + b.y, a.z + b.z); }\n"
                "__device__ int which(uint3) { return 1; }\n"
                "__device__ int which(dim3) { return 2; }\n"
                "template <class T> __device__ int first(T a, T b)\n"
                "{ return a.y + b.y; }\n"
                KERNEL "\n"
                "{\n"
                "    uint3 at = blockIdx * blockDim + threadIdx;\n"
                "    if (threadIdx.x == 1) out[0] = at.x + 10;\n"
                "    out[1] = which(threadIdx), out[2] = which(gridDim);\n"
                "    out[3] = first(threadIdx, blockIdx);\n"
                "    dim3 either = n ? gridDim : blockDim;\n"
                "    out[4] = either.x, out[5] = (n ? threadIdx : at).y + 1;\n"
                "    out[6] = gridDim.x + blockDim.x;\n"
                "    auto copy = blockIdx;\n"
                "    copy.x += 5, out[7] = copy.x;\n"
                "}\n", tiers[t], "");
        gives(tiers[t], 2, want, 0, want, 8);
        built_close(&built);
    }
}

RNL_TEST(a_source_has_its_own_warp_size)
{
    static const char *const ways[] = {
        "constexpr int warpSize = 16;\n",
        "static const unsigned warpSize{16};\n",
        "enum { half = 8, warpSize = 16 };\n",
        "__constant__ int warpSize = 16;\n",
        "extern \"C\" {\nconst int warpSize = 16;\n}\n"};
    static const int own[] = {16, 16, 32}, none[] = {32, 32, 32};
    static const char rest[] =
        "#include <cooperative_groups.h>\n"
        KERNEL "\n"
        "{\n"
        "    out[0] = warpSize, out[1] = ::warpSize;\n"
        "    out[2] = cooperative_groups::tiled_partition<32>(\n"
        "        cooperative_groups::this_thread_block()).size();\n"
        "}\n";
    char source[1024];
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        snprintf(source, sizeof source, "%s%s", ways[i], rest);
        compile(source, "auto", "");
        gives("auto", 1, own, 0, own, 3);
        built_close(&built);
    }
    snprintf(source, sizeof source, "constexpr int twice = 2 * warpSize;\n"
             "struct one { int warpSize = twice; };\n"
             "__device__ int of(int warpSize = 4) { return warpSize; }\n"
             "enum class sizes { warpSize = 3 };\n%s", rest);
    compile(source, "auto", "");
    gives("auto", 1, none, 0, none, 3);
    built_close(&built);
}
