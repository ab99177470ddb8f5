// The parts of the prelude, each alone, and the libraries of an object.
#include "build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct built built;

// A kernel of one statement, after some text.
static void make_with(const char *options, const char *before,
                      const char *statement)
{
    char source[1024], line[256];
    snprintf(source, sizeof source,
             "%s\nextern \"C\" __global__ void k(int *out, const int *in, "
             "int n)\n{\n    int i = threadIdx.x;\n    %s\n}\n",
             before, statement);
    built_write(&built, "k.cu", source);
    snprintf(line, sizeof line, "--source @/k.cu %s", options);
    built_make(&built, line);
    if (built.status != 0 || built.log[0])
        fail_msg("%s: said: %s", statement, built.log);
}

static void make(const char *before, const char *statement)
{
    make_with("", before, statement);
}

static void gives(const char *before, const char *statement, int expected)
{
    int in[32] = {4, 9, 16}, out[32] = {0};
    make(before, statement);
    built_run_ints(&built, "k", (rnl_dim3){1}, (rnl_dim3){32}, 0, out, in, 32);
    if (out[1] != expected)
        fail_msg("%s: gave %d", statement, out[1]);
    built_close(&built);
}

RNL_TEST(parts_are_enough_alone)
{
    gives("", "out[i] = sqrtf(in[i]);", 3);
    gives("", "out[i] = max(in[i], 8) - __clz(1);", -22);
    gives("", "out[i] = INFINITY > in[i];", 1);
    gives("", "float4 v{1.f, 2.f, 3.f, 4.f}; out[i] = v.w;", 4);
    gives("", "out[i] = __shfl_sync(~0u, in[i], 2);", 16);
    gives("", "out[i] = atomicMax_block(&out[i], in[i]) + 5;", 5);
    gives("", "out[i] = __vadd2(in[i], 1);", 10);
    gives("", "out[i] = __float2int_rz(in[i] + .5f);", 9);
    gives("", "out[i] = normcdfinv(.5) + in[i];", 9);
    gives("", "int *p = new int(in[i]); out[i] = *p; delete p;", 9);
}

static void gives_with_folder(const char *before, int expected)
{
    int in[32] = {4, 9, 16}, out[32] = {0};
    built_write(&built, "first.h", "#pragma once\n# include \"second.h\"\n");
    built_write(&built, "second.h",
                "#pragma once\n#include <first.h>\n"
                "__device__ float half_root(float x)\n"
                "{ float4 v{0, x, 0, 0}; return sqrtf(v.y) / 2; }\n");
    make_with("--option -I@", before, "out[i] = 10 * half_root(in[i]);");
    built_run_ints(&built, "k", (rnl_dim3){1}, (rnl_dim3){32}, 0, out, in, 32);
    if (out[1] != expected)
        fail_msg("%s: gave %d", before, out[1]);
    built_close(&built);
}

RNL_TEST(headers_of_folders_ask_for_parts)
{
    gives_with_folder("#include \"first.h\"", 15);
    gives_with_folder("# \\\ninclude <second.h>", 15);
    gives_with_folder("#define SECOND \"second.h\"\n#include SECOND", 15);
    gives_with_folder("#if __has_include(\"first.h\")\n"
                      "#include/**/\"first.h\"\n#endif", 15);
    gives_with_folder("#import \"second.h\"", 15);
}

RNL_TEST(a_cosine_is_stored_after_its_sine)
{
    gives("", "float v; sincosf(in[i] + 2, &v, &v); out[i] = 1e7f * v;", 44256);
    gives("", "double v; sincos(in[i] + 2., &v, &v); out[i] = 1e7 * v;", 44256);
}

RNL_TEST(headers_bring_what_they_use)
{
    gives("#include <cooperative_groups.h>",
          "out[i] = cooperative_groups::this_thread_block().size();", 32);
    gives("#include <limits.h>", "out[i] = INT_MAX - in[i];", 2147483638);
    gives("#include <cuda_bf16.h>",
          "out[i] = __bfloat162float(__float2bfloat16(in[i]));", 9);
}

// What the source defines is meant where it fits, and the prelude's elsewhere.
RNL_TEST(functions_of_numbers_may_be_defined_anew)
{
    static const char sine[] =
        "__device__ float sinf(float x) { return x + 1; }";
    static const char most[] =
        "static inline __device__ int max(int a, int b) { return a + b; }";
    gives(sine, "out[i] = sinf(in[i]);", 10);
    gives(sine, "out[i] = sinf(1.0 * in[i]);", 10);
    gives(sine, "float (*f)(float) = sinf; out[i] = f(in[i]);", 10);
    gives("extern \"C\" {\n__device__ float powf(const float x, float y)\n"
          "{ return x - y; }\n}", "out[i] = powf(in[i], 2);", 7);
    gives("static inline __device__ float rsqrtf(float x) { return x; }",
          "out[i] = rsqrtf(in[i]);", 9);
    gives("__device__ double sqrt(double x) { return x; }",
          "out[i] = sqrt(9.0) * in[i] + sqrt(9.0f);", 84);
    gives("__device__ void sincosf(float x, float *s, float *c)\n"
          "{ *s = x; *c = 2; }",
          "float s, c; sincosf(in[i], &s, &c); out[i] = s + c;", 11);
    gives(most, "out[i] = max(in[i], 1) * 100 + max(2.0f, 3.0f) * 10;", 1030);
    gives("#include <cuda_fp16.h>\n"
          "__device__ float sqrtf(float x) { return 5; }",
          "out[i] = sqrtf(in[i]) * 10 + __half2float(hsqrt(in[i]));", 53);
}

// NVRTC declares them all, and so does what comes before the source here.
RNL_TEST(functions_are_meant_before_they_are_defined)
{
    gives("__device__ int more(int x) { return max(x, 1); }\n"
          "template <class T> __device__ T most(T x) { return max(x, T(2)); }\n"
          "__device__ __forceinline__ int max(int a, int b) { return a + b; }",
          "out[i] = more(in[i]) * 100 + most(in[i]) + most(3.0f) * 10;", 1041);
    gives("extern \"C\" __device__ float sinf(float x) noexcept;\n"
          "__device__ float more(float x) { return sinf(x); }\n"
          "extern \"C\" __device__ float sinf(float x) noexcept\n"
          "{ return x + 1; }", "out[i] = more(in[i]);", 10);
}

RNL_TEST(functions_may_be_defined_in_many_words)
{
    gives("typedef unsigned int uint;\nusing real = float;\n"
          "__device__ uint max(uint a, uint b = 4) { return a + b; }\n"
          "static real __device__ min(real a, const real b) { return a - b; }",
          "out[i] = max((uint)in[i]) * 10 + min(8.0f, 2.0f);", 136);
    gives("#include <stdint.h>\n__device__ uint32_t max(uint32_t a, uint32_t b)"
          "\n{ return a + b; }\n__device__ int64_t min(int64_t a, int64_t b)\n"
          "{ return a - b; }",
          "out[i] = max((uint32_t)in[i], 3u) * 10 + min(8l, 2l);", 126);
    gives("typedef long long int64_t;\n"
          "__device__ int64_t min(int64_t a, int64_t b) { return a - b; }",
          "out[i] = min(8ll, 2ll) * 10 + min(8l, 2l);", 62);
    gives("__device__ [[nodiscard]] int (max)(int, signed) { return 7; }",
          "out[i] = max(in[i], 3);", 7);
    gives("__device__ int \\\nmax(int a,\\\n int b) { return a + b; }",
          "out[i] = max(in[i], 3);", 12);
    gives("__device__ float norm(int n, float const a[]) { return a[n]; }",
          "float a[] = {2, 7}; out[i] = norm(1, a);", 7);
    gives("__device__ auto abs(int x) { return x + 1; }",
          "out[i] = abs(in[i]);", 10);
    gives("__device__ unsigned umax(unsigned a, unsigned b) { return a + b; }\n"
          "__device__ int __shfl_sync(unsigned, int x, int, int n = 32)\n"
          "{ return x * n; }",
          "out[i] = umax(__shfl_sync(1, in[i], 0, 2), 3);", 21);
}

// The source is compiled as it is: no macro has the name of a function in it.
RNL_TEST(functions_that_are_defined_are_no_macros)
{
    static const char length[] =
        "static __device__ int length(const char *s)\n"
        "{ int n = 0; while (s[n]) n++; return n; }\n";
    char text[512];
    gives("#undef max\n#ifndef max\n"
          "__device__ int max(int a, int b) { return a + b; }\n#endif",
          "out[i] = max(in[i], 3);", 12);
    gives("__device__ int max(int a, int b) { return a + b; }\n"
          "#ifdef max\n#undef max\n#endif", "out[i] = max(in[i], 3);", 12);
    gives("__device__ int max(int a, int b) { return a + b; }\n"
          "#define max(a, b) ((a) * (b))", "out[i] = max(in[i], 3);", 27);
    snprintf(text, sizeof text, "%s__device__ int max(int a, int b)\n"
             "{ return length(__func__); }", length);
    gives(text, "out[i] = max(in[i], 3);", 3);
    snprintf(text, sizeof text, "%s#define SAY(x) #x\n#define TELL(x) SAY(x)\n"
             "__device__ int max(int a, int b) { return a + b; }", length);
    gives(text, "out[i] = length(TELL(max(1, 2)));", 9);
}

// The prelude goes on meaning its own.
RNL_TEST(functions_of_the_prelude_call_each_other)
{
    gives("__device__ float sqrtf(float x) { return 5; }\n"
          "#include <cuda_fp16.h>",
          "out[i] = sqrtf(in[i]) * 10 + __half2float(hsqrt(in[i]));", 53);
    gives("extern \"C\" {\n"
          "__device__ float sinf(float x) { return x + 1; }\n"
          "__device__ double sin(double x) { return x + 2; }\n}",
          "float s, c, x = in[i] - 7; sincosf(x, &s, &c);\n"
          "out[i] = int(s * 100) + int(sinf(x)) * 100 + int(sin(x) * 100)\n"
          "+ int(sin(1.0 * x)) * 1000;", 4480);
}

RNL_TEST(functions_of_others_take_what_the_own_do_not)
{
    static const char most[] =
        "__device__ int max(int a, int b, int c) { return a + b + c; }\n";
    gives(most, "short s = in[i]; out[i] = max(s, s) + max(s, s, s);", 36);
    gives("enum side { LEFT, RIGHT = 5 };\n"
          "__device__ int max(int a, int b) { return a + b; }",
          "short s = in[i]; out[i] = max(LEFT, RIGHT) * 100 + max(s, s);", 518);
    gives("template <class T> struct pair { T a, b; };\n"
          "__device__ pair<float> max(float a, float b, float c)\n"
          "{ return {a, c}; }",
          "out[i] = max(1.0f, 2.0f, 3.0f).b + max(in[i], 1);", 12);
}

// As much of the code for processors before 6.0 has them.
RNL_TEST(atomics_may_be_defined_anew)
{
    static const char add[] =
        "__device__ double atomicAdd(double *p, double v)\n"
        "{ auto a = (unsigned long long *)p; auto old = *a, seen = old;\n"
        "  do { seen = old; old = atomicCAS(a, seen, (unsigned long long)\n"
        "  __double_as_longlong(2 * v + __longlong_as_double(seen)));\n"
        "  } while (seen != old);\n  return __longlong_as_double(old); }\n"
        "__device__ double total;\n__device__ unsigned calls;";
    gives(add, "if (i == 1) { atomicAdd(&calls, 3); atomicAdd(&total, 1);\n"
          "atomicAdd(&total, in[i]); out[i] = total * 10 + calls; }", 203);
    gives("static __forceinline__ __device__ float atomicMax(float *p, float v)"
          "\n{ return *p = v; }",
          "float f = 20; int m = 3; atomicMax(&f, 7.0f);\n"
          "atomicMax(&m, in[i]); out[i] = m * 10 + f;", 97);
}

RNL_TEST(functions_that_are_others_are_left_alone)
{
    gives("#if 0\n__device__ float sinf(float x) { return 1; }\n#endif",
          "out[i] = in[i] + sinf(0);", 9);
    gives("namespace own { __device__ float cosf(float x) { return x; } }",
          "out[i] = own::cosf(in[i]) + cosf(0);", 10);
    gives("struct angle { float a; __device__ float sinf() { return a; } };",
          "out[i] = angle{in[i] * 1.0f}.sinf() + sinf(0);", 9);
    gives("__device__ float sinf(float2 x) { return x.y; }",
          "out[i] = sinf(float2{0, 9}) + sinf(0.0f);", 9);
    gives("template <class T> __device__ T max(T a, T b) { return a + b; }",
          "out[i] = max(in[i], 1);", 9);
    gives("__device__ float cosine(float x) { return x; }",  // a local one's
          "auto f = cosine; out[i] = f(in[i]);", 9);
}

RNL_TEST(messages_name_functions_as_the_source_does)
{
    built_write(&built, "k.cu",
                "__device__ float sinf(float x) { return x; }\n"
                "extern \"C\" __global__ void k(float *p)\n"
                "{ *p = sinf(1, 2, 3); }\n");
    built_make(&built, "--source @/k.cu");
    assert_int_equal(built.status, 1);
    assert_non_null(strstr(built.log, "sinf"));
    assert_null(strstr(built.log, "rnl_"));
    built_close(&built);
}

// Only the compiler sees them.
RNL_TEST(names_that_macros_make)
{
    static const char join[] = "#define JOIN(a, b) a##b";
    gives(join, "out[i] = JOIN(sq, rtf)(in[i]);", 3);
    gives(join, "JOIN(flo, at2) v{2.f, 7.f}; out[i] = v.y;", 7);
    gives("template <float (*F)(float)> __device__ float apply(float x)\n"
          "{ return F(x); }", "out[i] = apply<sqrtf>(in[i]);", 3);
}

static bool object_says(const char *word)
{
    static char bytes[65536];
    FILE *file = fopen(built.object, "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return memmem(bytes, size, word, strlen(word)) != NULL;
}

RNL_TEST(libraries_are_linked_where_needed)
{
    make("struct big { int items[500]; };",
         "((big *)out)[i] = ((const big *)in)[i];");
    assert_false(object_says("libc.so"));
    assert_false(object_says("libm"));
    built_close(&built);
    make("", "out[i] = sinf(in[i]);");
    assert_true(object_says("libm"));
    built_close(&built);
}
