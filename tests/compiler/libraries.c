// Functions that neither the source nor the prelude defines: those of the C
// library for numbers, and those that compiled code calls by itself. No other
// program and no file of a development package is needed for either.
#include "build.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static struct built built;

__extension__ typedef __int128 wide_int;
__extension__ typedef unsigned __int128 wide_unsigned;

// Where a program would be looked for, none is.
static void compile(const char *source, const char *options)
{
    char arguments[128];
    setenv("PATH", "/nowhere", 1);
    built_write(&built, "k.cu", source);
    snprintf(arguments, sizeof arguments, "--source @/k.cu %s", options);
    built_make(&built, arguments);
    setenv("PATH", "/usr/bin:/bin", 1);
    assert_string_equal(built.log, "");
    assert_int_equal(built.status, 0);
}

RNL_TEST(functions_of_the_c_library)
{
    compile("extern \"C\" __global__ void k(float *f, double *d)\n"
            "{\n"
            "    int i = threadIdx.x;\n"
            "    f[i] = sinf(f[i]) + lgammaf(f[i] + 1.5f) + powf(f[i], 2.5f);\n"
            "    d[i] = exp(d[i]) + j0(d[i]) + tgamma(d[i] + 0.5);\n"
            "}\n", "");
    float f[32], *first = f;
    double d[32], *second = d;
    for (int i = 0; i < 32; i++)
        d[i] = f[i] = (float)(i + 1) / 8;
    const void *arguments[] = {&first, &second};
    assert_ok(built_run(&built, "k", (rnl_dim3){1}, (rnl_dim3){32}, 0,
                        arguments));
    for (int i = 0; i < 32; i++) {
        const double x = (i + 1) / 8.0;
        const double single = sin(x) + lgamma(x + 1.5) + pow(x, 2.5);
        const double whole = exp(x) + j0(x) + tgamma(x + 0.5);
        assert_true(fabs(f[i] - single) < 1e-5 * (1 + fabs(single)));
        assert_true(fabs(d[i] - whole) < 1e-13 * (1 + fabs(whole)));
    }
    built_close(&built);
}

RNL_TEST(functions_of_the_compiler)
{
    compile("extern \"C\" __global__ void k(long long *x)\n"
            "{\n"
            "    int i = threadIdx.x;\n"
            "    __int128 wide = (__int128)x[i] * x[i] * x[i];\n"
            "    unsigned __int128 bits = (unsigned __int128)wide << (i + 8);\n"
            "    x[i] = (long long)(wide / (x[i] + 1)) ^\n"
            "           (long long)(bits % 1000000007u) ^\n"
            "           (long long)(double)wide;\n"
            "}\n", "--option --device-int128");
    long long x[32], *first = x;
    for (int i = 0; i < 32; i++)
        x[i] = 100000 + 977 * i;
    const void *arguments[] = {&first};
    assert_ok(built_run(&built, "k", (rnl_dim3){1}, (rnl_dim3){32}, 0,
                        arguments));
    for (int i = 0; i < 32; i++) {
        const long long n = 100000 + 977 * i;
        const wide_int wide = (wide_int)n * n * n;
        const wide_unsigned bits = (wide_unsigned)wide << (i + 8);
        assert_int_equal(x[i], (long long)(wide / (n + 1)) ^
                                   (long long)(bits % 1000000007u) ^
                                   (long long)(double)wide);
    }
    built_close(&built);
}

RNL_TEST(a_function_of_the_compiler_that_the_source_defines)
{
    compile("extern \"C\" __device__ __noinline__ __int128 __divti3(\n"
            "    __int128 a, __int128 b) { return a - b; }\n"
            "extern \"C\" __global__ void k(long long *x)\n"
            "{\n"
            "    __int128 wide = (__int128)x[0] * x[0] * x[0];\n"
            "    x[1] = (long long)(wide % (x[0] + 1));\n"
            "    x[2] = (long long)__divti3(x[0], 3);\n"
            "}\n", "--option --device-int128");
    long long x[3] = {1000003, 1, 0}, *first = x;
    const void *arguments[] = {&first};
    assert_ok(built_run(&built, "k", (rnl_dim3){1}, (rnl_dim3){1}, 0,
                        arguments));
    assert_int_equal(x[1], 1000003);
    assert_int_equal(x[2], 1000000);
    built_close(&built);
}
