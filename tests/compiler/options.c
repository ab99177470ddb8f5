// What NVRTC's options do, and which are refused.
#include "build.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct built built;

// The loader knows an object by its path, so the last one has to go.
static void make(const char *options)
{
    char arguments[1024];
    if (built.library)
        dlclose(built.library);
    built.library = NULL;
    snprintf(arguments, sizeof arguments, "--source @/k.cu %s", options);
    built_make(&built, arguments);
}

static void use(const char *source)
{
    built_write(&built, "k.cu", source);
}

static void refuses(const char *options, const char *sentence)
{
    char expected[256];
    snprintf(expected, sizeof expected, "/k.cu: error: %s", sentence);
    make(options);
    assert_int_equal(built.status, 5);
    if (!strstr(built.log, expected))
        fail_msg("said: %s", built.log);
}

static void takes(const char *options, const char *log)
{
    make(options);
    if (built.status != 0 || !strstr(built.log, log) ||
        (!log[0] && built.log[0]))
        fail_msg("%s: said: %s", options, built.log);
}

static const char simple[] =
    "extern \"C\" __global__ void k(int *out) { out[0] = 1; }\n";

RNL_TEST(values_that_cannot_be_are_refused)
{
    use(simple);
    refuses("--option -D", "'-D' needs a value");
    refuses("--option --std", "'--std' needs a value");
    refuses("--option --std=c++98", "'c++98' is no language: --std takes "
            "c++03, c++11, c++14, c++17, c++20, c++23, gnu++17 or gnu++20");
    refuses("--option --ftz=1", "'--ftz=1': it takes true or false");
    refuses("--option -prec-div=", "'-prec-div=': it takes true or false");
    refuses("--option -G=1", "'-G=1': it takes no value");
    refuses("--option --target=", "--target needs the name of a processor");
    refuses("--option -dlto", "'-dlto' asks for another kind of output than a "
            "cpu object");
    built_close(&built);
}

RNL_TEST(options_without_effect_are_noted)
{
    use(simple);
    takes("--option --maxrregcount=32 --option -Xptxas --option -v",
          "/k.cu: note: '--maxrregcount=32' has no meaning on a CPU and is "
          "ignored\n");
    assert_non_null(strstr(built.log, "note: '-Xptxas' has no meaning"));
    takes("--option -w --option --maxrregcount=32", "");
    takes("--option -arch=sm_90 --option --restrict --option -prec-sqrt=false "
          "--option --split-compile=0 --option -opt-info=inline", "");
    built_close(&built);
}

RNL_TEST(the_preprocessor_is_told)
{
    use("#if A != 3 || defined(B) || __cplusplus < 202002\n#error no\n"
        "#endif\n");
    takes("--option -DA=2 --option --undefine-macro=A --option -D --option A=3 "
          "--option -DB --option -UB --option --std --option c++20", "");
    use("#error an error\n");
    make("--option --std=c++14");
    assert_int_equal(built.status, 1);
    built_close(&built);
}

// What is built in is not read, be it included by the source or by a header
// beside it.
RNL_TEST(headers_of_a_toolkit_add_nothing)
{
    use("#include <cuda_fp16.h>\n#include <cuComplex.h>\n"
        "#include <cuda_runtime.h>\n"
        "extern \"C\" __global__ void k(cuFloatComplex *z, __half h)\n"
        "{ z->y = z->x + __half2float(h); }\n");
    built_write(&built, "cuda_runtime_api.h", "");
    built_write(&built, "cuda_fp16.h", "#error toolkit\n");
    built_write(&built, "cuda_runtime.h",
                "#if !defined(__CUDA_RUNTIME_H__)\n#error toolkit\n"
                "#endif\n");
    built_write(&built, "vector_types.h",
                "#if !defined(__VECTOR_TYPES_H__)\n#define __VECTOR_TYPES_H__\n"
                "#define __shared__ __attribute__((shared))\n"
                "struct float2 { float x, y; };\n#endif\n");
    built_write(&built, "cuComplex.h",
                "#include \"vector_types.h\"\n"
                "typedef float2 cuFloatComplex;\n");
    takes("--option -I@/", "");
    built_close(&built);
}

// None of these headers is read, whoever includes it.
RNL_TEST(guards_of_a_toolkit_are_there)
{
    static const char *const guards[] = {
        "CUDA_RUNTIME_H", "CUDA_RUNTIME_API_H", "HOST_DEFINES_H",
        "DEVICE_TYPES_H", "DRIVER_TYPES_H", "SURFACE_TYPES_H",
        "TEXTURE_TYPES_H", "VECTOR_TYPES_H", "VECTOR_FUNCTIONS_H",
        "DEVICE_LAUNCH_PARAMETERS_H", "DEVICE_ATOMIC_FUNCTIONS_H",
        "SURFACE_INDIRECT_FUNCTIONS_H", "TEXTURE_INDIRECT_FUNCTIONS_H",
        "SM_30_INTRINSICS_H", "SM_32_INTRINSICS_H", "SM_35_INTRINSICS_H",
        "SM_35_ATOMIC_FUNCTIONS_H", "COMMON_FUNCTIONS_H", "MATH_FUNCTIONS_H",
        "DEVICE_FUNCTIONS_H", "VECTOR_FUNCTIONS_HPP",
        "CUDA_DEVICE_RUNTIME_API_H"};
    char source[4096];
    int size = snprintf(source, sizeof source, "%s", simple);
    for (size_t i = 0; i < sizeof guards / sizeof *guards; i++)
        size += snprintf(source + size, sizeof source - (size_t)size,
                         "#ifndef __%s__\n#error no __%s__\n#endif\n",
                         guards[i], guards[i]);
    assert_true((size_t)size < sizeof source);
    use(source);
    takes("", "");
    built_close(&built);
}

RNL_TEST(macros_tell_what_the_options_chose)
{
    use("#if !__CUDA_PREC_SQRT || __CUDA_ARCH_HAS_FEATURE__(SM90_ALL)\n"
        "#error roots or features\n#endif\n"
        "#if !defined(__USE_FAST_MATH__) || __USE_FAST_MATH__ != FAST || "
        "__CUDA_FTZ != FLUSH || __CUDA_PREC_DIV == FAST\n#error math\n"
        "#endif\n");
    takes("--option -DFAST=0 --option -DFLUSH=0", "");
    takes("--option -DFAST=0 --option -DFLUSH=1 --option --ftz=true", "");
    takes("--option -DFAST=1 --option -DFLUSH=1 --option --use_fast_math", "");
    built_close(&built);
}

RNL_TEST(lists_are_there_unless_the_source_has_its_own)
{
    static const char own[] =
        "namespace std { template <class T> class initializer_list {\n"
        "const T *p; unsigned long n; public: int own() const;\n"
        "__device__ constexpr initializer_list() : p(), n() {} }; }\n"
        "__device__ std::initializer_list<int> list;\n";
    use(own);
    make("");
    assert_int_equal(built.status, 1);
    assert_non_null(strstr(built.log, "redefinition of '"));
    takes("--option --builtin-initializer-list=false", "");
    use("static_assert(std::initializer_list<int>().size() == 0, \"\");\n");
    takes("--option --builtin-initializer-list=true", "");
    built_close(&built);
}

RNL_TEST(tiers_are_reported)
{
    use("__global__ void a(int *out) { *out = 1; }\n"
        "namespace n { template <class T> __global__ void b(T *out)\n"
        "{ *out = 2; } }\n");
    takes("--option --report-tiers --option --tier=F "
          "--name-expression 'n::b<int>'",
          "/k.cu: remark: kernel 'a': tier F: --tier=F was asked for\n");
    assert_non_null(strstr(built.log, "remark: kernel 'n::b<int>': tier F: "));
    if (built_may_be_tier_b())
        takes("--option --report-tiers", "remark: kernel 'a': tier B\n");
    built_close(&built);
}

// Names are as the file system has them; the prelude and headers that are given
// are no files of the user's.
RNL_TEST(includes_are_reported)
{
    use("#include <cuda_fp16.h>\n#include <given.h>\n"
        "#include \"a #$.h\"\n#include \"b.h\"\n"
        "__global__ void k(int *out) { *out = 1; }\n");
    built_write(&built, "a #$.h", "");
    built_write(&built, "b.h", "");
    takes("--option -I@ --option --report-includes --header given.h=@/b.h",
          "/a #$.h'\n");
    assert_non_null(strstr(built.log, "remark: includes '/"));
    assert_non_null(strstr(built.log, "/b.h'\n"));
    assert_null(strstr(built.log, "fp16"));
    assert_null(strstr(built.log, "given"));
    built_close(&built);
}

RNL_TEST(another_processor)
{
#if defined(__x86_64__)
    use(simple);
    takes("--option --target=x86-64", "");
    assert_int_equal(built.table->processor, 0);
    takes("--option --target=x86-64-v3", "");
    uint64_t needed = built.table->processor;
    assert_true(needed & RNL_CPU_AVX2);
    assert_true(needed & RNL_CPU_FMA);
    assert_false(needed & RNL_CPU_AVX512F);
    make("--option --target=pdp11");
    assert_int_equal(built.status, 1);
    assert_non_null(strstr(built.log, "pdp11"));
    built_close(&built);
#else
    test_skip("not x86-64");
#endif
}

// --- Arithmetic --------------------------------------------------------------

static const char halves[] =
    "extern \"C\" __global__ void k(float *out, const float *in)\n"
    "{ int i = threadIdx.x; out[i] = in[i] * 0.5f; }\n"
    "extern \"C\" __global__ void waits(float *out, const float *in)\n"
    "{\n"
    "    __shared__ float kept[40];\n"
    "    kept[39 - threadIdx.x] = in[threadIdx.x];\n"
    "    __syncthreads();\n"
    "    out[39 - threadIdx.x] = kept[threadIdx.x] * 0.5f;\n"
    "}\n";

// Halves of the least normal number, and of twice that.
static void halve(const char *kernel, const char *options, float expected)
{
    enum { COUNT = 40 };
    float in[COUNT], out[COUNT], *to = out;
    const float *from = in;
    for (int i = 0; i < COUNT; i++)
        in[i] = i % 2 ? 0x1p-126f : 0x1p-125f;
    takes(options, "");
    assert_int_equal(built_run(&built, kernel, (rnl_dim3){1},
                               (rnl_dim3){COUNT}, 0,
                               (const void *const[]){&to, &from}), RNL_OK);
    for (int i = 0; i < COUNT; i++)
        assert_true(out[i] == (i % 2 ? expected : 0x1p-126f));
    // The caller's own arithmetic is as before.
    volatile float least = 0x1p-126f;
    assert_true(least * 0.5f == 0x1p-127f);
}

RNL_TEST(denormals_are_flushed_on_request)
{
    use(halves);
    static const char *const kernels[] = {"k", "waits"};
    for (int k = 0; k < 2; k++) {
        halve(kernels[k], "", 0x1p-127f);
        halve(kernels[k], "--option --tier=F", 0x1p-127f);
        halve(kernels[k], "--option --ftz=true", 0);
        halve(kernels[k], "--option -ftz=true --option --tier=F", 0);
        halve(kernels[k], "--option --use_fast_math", 0);
        halve(kernels[k], "--option --use_fast_math --option --ftz=false",
              0x1p-127f);
    }
    built_close(&built);
}

static const char parts[] =
    "extern \"C\" __global__ void k(float *out, const float *in)\n"
    "{\n"
    "    int i = threadIdx.x, exponent;\n"
    "    out[5 * i] = frexpf(in[i], &exponent);\n"
    "    out[5 * i + 1] = exponent;\n"
    "    out[5 * i + 2] = logbf(in[i]);\n"
    "    out[5 * i + 3] = ilogbf(in[i]);\n"
    "    out[5 * i + 4] = lgammaf(in[i]);\n"
    "}\n";

// What takes numbers apart by their bits, and has no vector function.
static void take_apart(const char *options)
{
    static const float expected[][5] = {{0.5f, 2, 1, 1, 0},
                                        {0, 0, -INFINITY, INT_MIN, INFINITY}};
    float in[64], out[64 * 5], *to = out;
    const float *from = in;
    for (int i = 0; i < 64; i++)
        in[i] = i % 2 ? -1e-40f : 2;
    takes(options, "");
    assert_int_equal(built_run(&built, "k", (rnl_dim3){1}, (rnl_dim3){64}, 0,
                               (const void *const[]){&to, &from}), RNL_OK);
    for (int i = 0; i < 64 * 5; i++)
        assert_true(out[i] == expected[i / 5 % 2][i % 5]);
}

RNL_TEST(denormals_that_are_flushed_have_no_parts)
{
    use(parts);
    take_apart("--option --ftz=true");
    take_apart("--option --ftz=true --option --tier=F");
    take_apart("--option --use_fast_math");
    built_close(&built);
}

static float multiply_add(const char *options)
{
    float in[] = {1 + 0x1p-12f, 1 + 0x1p-12f, -1 - 0x1p-11f};
    float out[1] = {7}, *to = out;
    const float *from = in;
    takes(options, "");
    assert_int_equal(built_run(&built, "k", (rnl_dim3){1}, (rnl_dim3){1}, 0,
                               (const void *const[]){&to, &from}), RNL_OK);
    return out[0];
}

RNL_TEST(contraction_is_as_asked)
{
    use("extern \"C\" __global__ void k(float *out, const float *in)\n"
        "{ out[0] = in[0] * in[1] + in[2]; }\n");
    // The last bit of the product, 2^-24, is lost when it is rounded.
    assert_true(multiply_add("--option --fmad=false") == 0);
    assert_true(multiply_add("--option --use_fast_math --option -fmad=false")
                == 0);
#if defined(__x86_64__)
    assert_true(multiply_add("--option --target=x86-64-v3") == 0x1p-24f);
    assert_true(multiply_add("--option --target=x86-64-v3 --option --fmad") ==
                0x1p-24f);
#endif
    built_close(&built);
}

RNL_TEST(division_is_exact_unless_asked)
{
    use("extern \"C\" __global__ void k(float *out, const float *in)\n"
        "{ int i = threadIdx.x; out[i] = in[i] / in[40]; }\n");
    static const char *const options[] = {
        "", "--option --prec-div=true", "--option --prec-div=false"};
    for (int o = 0; o < 3; o++) {
        float in[41], out[40], *to = out;
        const float *from = in;
        for (int i = 0; i < 41; i++)
            in[i] = (float)(i + 1) * 1.37f;
        takes(options[o], "");
        assert_int_equal(built_run(&built, "k", (rnl_dim3){1}, (rnl_dim3){40},
                                   0, (const void *const[]){&to, &from}),
                         RNL_OK);
        for (int i = 0; i < 40; i++) {
            float error = fabsf(out[i] - in[i] / in[40]);
            assert_true(error <= (o == 2 ? 2e-7f * out[i] : 0));
        }
    }
    built_close(&built);
}
