// What CUDA has and the compiler has not, and what CUDA refuses: each is told
// once, where it stands in the user's text, and nothing else is.
#include "refusal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- Kernels --------------------------------------------------------------

RNL_TEST(signatures_that_kernels_cannot_have)
{
    static const struct refusal refusals[] = {
        {"\n__global__ int k(int *o) { return 1; }", "k.cu:2:12:",
         "must have void return type"},
        {"__global__ auto k(int *o) { return 1; }", "k.cu:1:17:",
         "must have void return type"},
        {"__global__ auto k(int *o) -> int { return 1; }", "k.cu:1:",
         "must have void return type"},
        {"__global__ void k(int *o, ...) {}", "k.cu:1:17:",
         "kernel 'k' has a variable number of parameters"},
        {"__global__ void k(int &&o) {}", "k.cu:1:17:",
         "kernel 'k' has a parameter that is an rvalue reference"},
        {"struct s { s(const s &) = delete; };\n"
         "__global__ void k(s p) {}", "k.cu:2:17:",
         "kernel 'k' has a parameter that cannot be copied"},
        {"__global__ void __launch_bounds__(n) k(int *o) {}", "k.cu:1:35:",
         "'n'"},
        {"struct s {};\n__global__ void operator+(s a, s b) {}", "k.cu:2:17:",
         "an operator cannot be a kernel"},
    };
    REFUSE(refusals);
}

RNL_TEST(kernels_that_are_no_functions_of_a_namespace)
{
    static const char sentence[] =
        "a kernel cannot be a member of a class or defined in a friend "
        "declaration";
    static const struct refusal refusals[] = {
        {"struct s {\n  __global__ void k(int *o) {}\n};", "k.cu:2:3:",
         "must be a free function or static member function"},
        {"class s { static __global__ void k(int *o) noexcept {} };",
         "k.cu:1:34:", sentence},
        {"struct s {\n  friend __global__ void k(s *o) {}\n};", "k.cu:2:26:",
         sentence},
        {K "{\n  auto l = [] __global__ (int *p) {};\n}", "k.cu:2:33:",
         "must be a free function or static member function"},
    };
    REFUSE(refusals);
}

RNL_TEST(kernels_are_found_wherever_they_come_from)
{
    static const char sentence[] = "must have void return type";
    static const struct refusal refusals[] = {
        {"namespace a { namespace {\n__global__ int k(int *o) { return 1; } } }",
         "k.cu:2:12:", sentence},
        {K "{} namespace a { __global__ int k() { return 1; } }", "k.cu:1:",
         sentence},
        {"#define KERNEL(type, name) __global__ type name() { return {}; }\n"
         "namespace a {\n  KERNEL(int, k) }", "k.cu:3:10:", sentence},
        {"#define TYPE int\n\n/* here */ namespace a {\n"
         "\t__global__ TYPE /* */  k() { return 1; } }", "k.cu:4:13:",
         sentence},
        {"#line 7 \"other.cu\"\nnamespace a { __global__ int k() { return 1; } }",
         "other.cu:7:26:", sentence},
        {"#define X\n#line 7 \"other.cu\"\n"
         "namespace a { __global__ int k() { return 1; } }", "other.cu:7:",
         sentence},
    };
    REFUSE(refusals);
    static const struct refusal in_header = {
        "#include \"lib/h.h\"\n" K "{}", "lib/h.h:2:12:", sentence};
    built_write(&built, "h", "namespace a {\n"
                             "__global__ int k() { return 1; } }\n");
    refuses_with(&in_header, "--header lib/h.h=@/h");
    static const struct refusal instance = {
        "\ntemplate <class T> __global__ T k() { return T(); }",
        "name-expression:", "a name expression names a kernel or a variable"};
    refuses_with(&instance, "--name-expression 'k<float>'");
}

RNL_TEST(name_expressions_that_are_none)
{
    static const char source[] =
        "__device__ int v, f(int x);\n"
        "namespace a { __global__ void k(int *o) {} }\n"
        "namespace a { __global__ void k(float *o) {} }\n"
        "template <class T> __global__ void t(T *o) {}\n";
    static const struct refusal overloaded = {
        source, "name-expression:",
        "'a::k' does not tell which kernel is meant"};
    refuses_with(&overloaded, "--name-expression a::k");
    static const struct refusal template = {
        source, "name-expression:", "'t' does not tell which kernel is meant"};
    refuses_with(&template, "--name-expression t");
    built_write(&built, "source", source);
    built_make(&built, "--source @/source --name k.cu --name-expression v");
    assert_int_equal(built.status, 1);
    assert_true(is_told(built.log, "name-expression:",
                        "a name expression names a kernel or a variable"));
    built_make(&built, "--source @/source --name k.cu --name-expression f");
    assert_int_equal(built.status, 1);
    assert_true(is_told(built.log, "name-expression:1:",
                        "a name expression names a kernel or a variable"));
    built_make(&built, "--source @/source --name k.cu --name-expression a::k");
    assert_true(is_told(built.log, "k.cu:2:31: note: ", "candidate"));
    assert_true(is_told(built.log, "k.cu:3:31: note: ", "candidate"));
    built_close(&built);
}

// --- Variables ------------------------------------------------------------

RNL_TEST(initial_values_of_shared_variables)
{
    static const char sentence[] =
        "initialization is not supported for __shared__ variables";
    static const struct refusal refusals[] = {
        {K "{\n  __shared__ int s = 3;\n}", "k.cu:2:18:", sentence},
        {K "{\n  __shared__ int s = 0;\n}", "k.cu:2:18:", sentence},
        {K "{\n  __shared__ int s[2] = {1, 2};\n}", "k.cu:2:18:", sentence},
        {K "{\n  __shared__ int s{};\n}", "k.cu:2:18:", sentence},
        {K "{\n  static const __shared__ int s = o[0];\n}", "k.cu:2:31:",
         sentence},
        {K "{\n  __shared__ struct { int x; } a, s = {1};\n}", "k.cu:2:35:",
         sentence},
        {K "{\n  __shared__ struct { int x; } s{};\n}", "k.cu:2:32:",
         sentence},
        {"__shared__ int s = 3;\n" K "{}", "k.cu:1:16:", sentence},
        {"#define VALUE 3\n" K "{\n  __shared__ int s = VALUE;\n}",
         "k.cu:3:18:", sentence},
    };
    REFUSE(refusals);
}

// What a class says of its members is passed over, as by CUDA.
RNL_TEST(classes_of_shared_variables_bring_no_value)
{
    built_write(&built, "source",
                "struct s { int x = 4; };\n"
                K "{\n  __shared__ s v;\n  v.x += o[0];\n  o[1] = v.x;\n}");
    built_make(&built, "--source @/source --name k.cu");
    assert_int_equal(built.status, 0);
    assert_true(is_told(built.log, "k.cu:3:16: warning: ",
                        "shared memory starts undefined"));
    built_make(&built, "--source @/source --name k.cu --option -w");
    assert_int_equal(built.status, 0);
    assert_string_equal(built.log, "");
    built_close(&built);
}

RNL_TEST(places_where_variables_cannot_be)
{
    static const char sentence[] =
        "are not allowed on non-static local variables";
    static const struct refusal refusals[] = {
        {K "{\n  __device__ int v = 3;\n}", "k.cu:2:3:", sentence},
        {K "{\n  __constant__ int v[3];\n}", "k.cu:2:3:", sentence},
        {K "{\n  static thread_local int v;\n  o[0] = v++; }", "k.cu:2:27:",
         "thread_local is not supported in kernels"},
        {"__device__ thread_local int v;\n" K "{ o[0] = v++; }", "k.cu:1:",
         "thread_local is not supported in kernels"},
    };
    REFUSE(refusals);
}

// -w mutes warnings, and errors made of them.
RNL_TEST(what_is_refused_without_warnings)
{
    static const struct refusal refusal = {
        K "{\n  int unused, v[o[0]];\n  o[1] = v[o[2]];\n}", "k.cu:2:",
        "an array of variable length" MISSING};
    refuses_with(&refusal, "--option -w");
    built_write(&built, "source", K "{ int unused; if (o[1] = 2) o[0] = 1; }");
    is_taken("--source @/source --option -w --option -Wall "
             "--option -Werror");
    built_close(&built);
}

RNL_TEST(variables_that_code_would_initialize)
{
    static const char *const sources[] = {
        "__device__ int f(int x) { return x + threadIdx.x; }\n"
        "__device__ int n = 3, v = f(n);\n" K "{ o[0] = v; }",
        "__device__ int f();\n__constant__ int v = f();\n"
        "__device__ int f() { return blockIdx.x; }\n" K "{ o[0] = v; }",
        "struct s { int x; __device__ s() : x(threadIdx.x) {} };\n"
        "__device__ s v;\n" K "{ o[0] = v.x; }"};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        const struct refusal refusal = {
            sources[i], "k.cu:2:", "dynamic initialization is not supported"};
        refuses_with(&refusal, "");
        refuses_with(&refusal, "--option -G");
    }
    static const struct refusal in_function = {
        "__device__ int f(int x) { return x + 1; }\n"
        K "{\n  static int v = f(o[1]);\n  o[0] = v++;\n}", "k.cu:3:14:",
        "dynamic initialization is not supported"};
    refuses_with(&in_function, "");
}

// --- Functions ------------------------------------------------------------

RNL_TEST(functions_of_the_host)
{
    static const struct refusal refusals[] = {
        {"\n__host__ int f() { return 1; }\n" K "{ o[0] = f(); }",
         "k.cu:3:47:", "'f' is a function of the host: __device__ is missing"},
        {"int f(int x) { return x; }\n" K "{ o[0] = f(1); }", "k.cu:2:47:",
         "'f' is a function of the host: __device__ is missing"},
        {"struct s { int a; int get() { return a; } };\n"
         K "{ o[0] = s{1}.get(); }", "k.cu:2:",
         "reference to __host__ function 'get' in __global__ function"},
    };
    REFUSE(refusals);
    built_write(&built, "source", refusals[1].source);
    built_make(&built, "--source @/source --name k.cu");
    assert_non_null(strstr(built.log, "call to __host__ function from "
                                      "__global__ function"));
    built_close(&built);
}

RNL_TEST(functions_that_are_nowhere)
{
    static const struct refusal refusals[] = {
        {"__device__ float missing(float);\n"
         "__device__ float twice(float x)\n{\n  return 2 * missing(x);\n}\n"
         K "{ o[0] = twice(o[1]); }", "k.cu:4:",
         "error: undefined reference to `missing(float)'"},
        {"extern \"C\" __device__ int missing(int);\n#define X 1\n"
         K "{\n  o[0] = 1;\n  o[1] = missing(o[2]);\n}", "k.cu:5:",
         "error: undefined reference to `missing'"},
        {"extern __device__ int missing;\n\n" K "{ o[0] = missing; }",
         "k.cu:3:", "error: undefined reference to `missing'"},
    };
    REFUSE(refusals);
}

// --- Things of C++ --------------------------------------------------------

RNL_TEST(what_kernels_cannot_do)
{
    static const struct refusal refusals[] = {
        {K "{\n  throw 1;\n}", "k.cu:2:", "an exception" MISSING},
        {K "{\n  try { *o = 1; } catch (...) {}\n}", "k.cu:2:",
         "an exception" MISSING},
        {K "{\n  *o = typeid(o) == typeid(int);\n}", "k.cu:2:",
         "typeid" MISSING},
        {"struct a { virtual __device__ int f() { return 1; } };\n"
         "struct b : a {};\n__global__ void k(a *p, int *o)\n{\n"
         "  *o = dynamic_cast<b *>(p) != nullptr;\n}", "k.cu:5:",
         "dynamic_cast" MISSING},
        {K "{\n  int v[o[0]];\n  o[1] = v[o[2]];\n}", "k.cu:2:",
         "an array of variable length" MISSING},
        {"__global__ void g(int *) {}\n" K "{\n  g<<<1, 32>>>(o);\n}",
         "k.cu:3:", "a launch by a kernel (<<<...>>>)" MISSING},
        {"template <class T> __global__ void g(T *) {}\n"
         K "{\n  g<int><<<1, 32>>>(o);\n}", "k.cu:3:",
         "a launch by a kernel (<<<...>>>)" MISSING},
        {"template <class T> __device__ T f(T x)\n{\n  if (x < 0)\n"
         "    throw 1;\n  return x;\n}\n" K "{ o[0] = f(o[1]); }", "k.cu:4:",
         "an exception" MISSING},
    };
    REFUSE(refusals);
}

RNL_TEST(integers_of_128_bits)
{
    built_write(&built, "source",
                "\n__device__ __int128_t x;\n"
                K "{ unsigned __int128 x = o[0]; o[1] = x >> 64; }");
    is_taken("--source @/source");
    is_taken("--source @/source --option --device-int128");
    built_close(&built);
    static const struct refusal arithmetic = {
        "__global__ void k(unsigned __int128 *o)\n"
        "{\n  o[1] = __nv_atomic_fetch_or(o, o[1], __NV_ATOMIC_RELAXED);\n}",
        "k.cu:3:", "atomic arithmetic is for numbers of 4 or 8 bytes"};
    refuses_with(&arithmetic, "--option --device-int128");
}

#if defined(__x86_64__)
RNL_TEST(atomics_of_16_bytes_without_avx)
{
    static const struct refusal refusal = {
        "__global__ void k(float4 *o)\n"
        "{\n  __nv_atomic_load(&o[0], &o[1], __NV_ATOMIC_RELAXED);\n}",
        "k.cu:3:", "and of 16 if the processor has AVX"};
    refuses_with(&refusal, "--option --target=x86-64-v2");
}
#endif

// --- Things of CUDA -------------------------------------------------------

// A name in a kernel, which need not have been written correctly.
static void misses(const char *statement, const char *name)
{
    char source[256], sentence[128];
    snprintf(source, sizeof source,
             "__global__ void k(int *o, cudaTextureObject_t t)\n{\n  %s\n}",
             statement);
    snprintf(sentence, sizeof sentence, " error: %s" MISSING, name);
    const struct refusal refusal = {source, "k.cu:3:", sentence};
    refuses_with(&refusal, "");
}

RNL_TEST(textures_and_surfaces)
{
    misses("o[0] = tex1Dfetch<int>(t, 3);", "tex1Dfetch");
    misses("float v; tex2D(&v, t, 1.0f, 2.0f);", "tex2D");
    misses("o[0] = texCubemapLod<int>(t, 1, 2, 3, 4);", "texCubemapLod");
    misses("surf2Dwrite(1.0f, t, 0, 0);", "surf2Dwrite");
    misses("texture<float, 2> r;", "texture");
}

RNL_TEST(the_runtime_in_kernels)
{
    misses("cudaDeviceSynchronize();", "cudaDeviceSynchronize");
    misses("void *p; cudaMalloc(&p, 4);", "cudaMalloc");
    misses("cudaFree(o);", "cudaFree");
    misses("cudaError_t e = cudaGetLastError(); o[0] = e;", "cudaGetLastError");
    misses("cudaStream_t s; cudaStreamCreateWithFlags(&s, 1);",
           "cudaStreamCreateWithFlags");
}

RNL_TEST(matrices_and_libraries)
{
    misses("__cluster_map_shared_multicast(o, 1);",
           "__cluster_map_shared_multicast");
    misses("o[0] = __clusterDimIsSpecified();", "__clusterDimIsSpecified");
    misses("nvcuda::wmma::mma_sync(o, o, o, o);", "nvcuda");
    misses("__pipeline_commit();", "__pipeline_commit");
    misses("cuda::atomic_ref<int> a(*o); a.fetch_add(1);", "cuda");
    misses("thrust::sort(o, o + 4);", "thrust");
    misses("o[0] = __isLocal(o);", "__isLocal");
    misses("o[0] = (int)__cvta_generic_to_grid_constant(o);",
           "__cvta_generic_to_grid_constant");
    static const struct refusal refusals[] = {
        {"#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
         K "{\n  auto t = cg::tiled_partition<48>(cg::this_thread_block());\n"
         "  o[0] = t.size();\n}", "k.cu:4:",
         " error: a tile has 1, 2, 4 ... or 1024 threads"},
        {K "{\n  float *f = (float *)o;\n"
         "  *f = __nv_atomic_load_n(f, __NV_ATOMIC_RELAXED);\n}", "k.cu:3:",
         "atomic functions that end in _n are for integers only"},
        {"struct s { int a[3]; };\n" K "{\n  s v;\n"
         "  __nv_atomic_load((s *)o, &v, __NV_ATOMIC_RELAXED);\n"
         "  *o = v.a[0];\n}", "k.cu:4:",
         "atomic functions are for objects of 1, 2, 4 or 8 bytes"},
        {K "{\n  unsigned long long *v = (unsigned long long *)o;\n"
         "  short *s = (short *)o;\n"
         "  *v = __nv_atomic_fetch_or(v, *v, __NV_ATOMIC_RELAXED);\n"
         "  *s = __nv_atomic_fetch_or(s, *s, __NV_ATOMIC_RELAXED);\n}",
         "k.cu:5:", "atomic arithmetic is for numbers of 4 or 8 bytes"},
    };
    REFUSE(refusals);
}

RNL_TEST(headers_that_are_not_there)
{
    static const struct refusal refusals[] = {
        {"#include <cuda/barrier>\n" K "{}", "k.cu:1:",
         "<cuda/barrier>" MISSING},
        {"#include <mma.h>\n" K "{ half h; }", "k.cu:1:",
         "<mma.h>" MISSING},
        {"#include <cuda_fp4.h>\n" K "{ __nv_fp4_e2m1 x; }", "k.cu:1:",
         "<cuda_fp4.h>" MISSING},
        {"#include <cuda_awbarrier_primitives.h>\n" K "{ __mbarrier_t b; }",
         "k.cu:1:", "<cuda_awbarrier_primitives.h>" MISSING},
        {"\n#include <thrust/sort.h>\n" K "{}", "k.cu:2:10:",
         "<thrust/sort.h>" MISSING},
        {"#include <cuda/std/limits>\n" K "{ cuda::std::f(); }",
         "k.cu:1:10:", "<cuda/std/limits>" MISSING},
        {"\n#include \"curand_kernel.h\"\n" K "{}", "k.cu:2:10:",
         "<curand_kernel.h>" MISSING},
        {"\n#include \"cudart.h\"\n" K "{}", "k.cu:2:10:", "cudart.h"},
    };
    REFUSE(refusals);
    // Where a header of the user's includes them is told there.
    built_write(&built, "source", "#include \"u.h\"\n");
    built_write(&built, "u.h", "\n#include <mma.h>\n");
    built_make(&built, "--source @/source --name k.cu --header u.h=@/u.h");
    assert_true(is_told(built.log, "u.h:2:", "<mma.h>" MISSING));
    built_close(&built);
}

// What gcc makes of it has no sentence.
#define PTX "inline PTX or other assembly"

RNL_TEST(inline_ptx)
{
    misses("asm volatile(\"membar.gl;\" ::: \"memory\");", PTX);
    misses("asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(*o));", PTX);
    misses("asm(\"mov.u32 %0, %laneid;\" : \"=r\"(*o));", PTX);
    misses("float f; asm(\"mov.f32 %0, 0;\" : \"=f\"(f)); *o = f;",
           PTX);
    misses("float *f = (float *)o; asm(\"mma {%0,%1}, {%0,%1};\" : "
           "\"+f\"(f[0]), \"+f\"(f[1]));", PTX);
}

// --- What is no error -----------------------------------------------------

RNL_TEST(what_only_looks_refused)
{
    built_write(&built, "source",
        "struct s {\n"
        "  int x;\n"
        "  __host__ __device__ s &operator=(const s &) = default;\n"
        "  __device__ explicit operator bool() const { return x; }\n"
        "  static __device__ int twice(int n = 1) { return 2 * n; }\n"
        "  friend __global__ void g(s *);\n"
        "};\n"
        "__global__ void g(s *p) { p->x = 1; }\n"
        "__device__ __forceinline__ __host__ int f(int n) { return n; }\n"
        "__shared__ int everywhere;\n"
        "__global__ auto late(int *o) -> void { *o = 1; }\n"
        "__global__ void plain(int *o) { *o = 1; }\n"
        "extern \"C\" __global__ void k(int *o)\n"
        "{\n"
        "  static __constant__ int table[] = {1, 2};\n"
        "  static const int squares[2] = {1, 4};\n"
        "  __shared__ struct { int x; } a[2], b;\n"
        "  extern __shared__ int rest[];\n"
        "  auto l = [=] __device__ (int n) { return n + table[0]; };\n"
        "  auto m = [=] __host__ __device__ { return squares[0]; };\n"
        "  a[0].x = b.x = l(1);\n"
        "  rest[0] = everywhere = m() + f(s::twice());\n"
        "  o[0] = a[0].x + rest[0] + everywhere;\n"
        "}\n");
    is_taken("--source @/source");
    assert_non_null(built_kernel(&built, "late"));
    assert_non_null(built_kernel(&built, "plain"));
    assert_non_null(built_kernel(&built, "g"));
    built_close(&built);
}

RNL_TEST(constructors_that_do_nothing)
{
    static const char *const sources[] = {
        "struct vec3 { float x, y, z; __host__ __device__ vec3() {} };\n"
        "__constant__ vec3 dirs[16];\n" K "{ o[0] = dirs[o[1]].x; }",
        "struct s { int x; __device__ s() {} };\n"
        "__device__ s &f() { static s v; return v; }\n"
        K "{ static s v, w{}; o[0] = f().x + v.x + w.x; }",
        "struct s { int x; __device__ s() {} };\n"
        "struct t : s { int y; __device__ t() : s() {} };\n"
        "__device__ t a, b[4];\n" K "{ o[0] = a.x + b[1].y; }",
        NULL};
    take(sources);
}

RNL_TEST(destructors_that_do_nothing)
{
    static const char *const sources[] = {
        "struct s { int x; __device__ ~s() {} };\n__device__ s v;\n"
        K "{ __shared__ s a[2]; a[0].x = v.x; o[0] = a[0].x; }",
        "struct s { int x; __device__ s() {} __device__ ~s() {} };\n"
        "__constant__ s v[2];\n" K "{ static s w; o[0] = v[1].x + w.x; }",
        "struct s { int x; __device__ ~s() {} };\n"
        K "{ extern __shared__ s a[]; a[0].x = 1; o[0] = a[0].x; }",
        NULL};
    take(sources);
}

RNL_TEST(angles_that_are_operators)
{
    static const char *const sources[] = {
        "template <bool B> struct tag {};\n"
        "template <class T> struct s {\n"
        "  template <class U> __device__ tag<sizeof(U) <= 4> f(U) {\n"
        "    return tag<(sizeof(U) <= 4)>(); }\n"
        "  __device__ tag<sizeof(T) < 8> kind() const {\n"
        "    return tag<(sizeof(T) < 8)>(); }\n"
        "  int x; };\n" K "{ s<int> v; v.kind(); v.f(1); o[0] = 1; }",
        "template <int N> struct a { int v[N]; };\n"
        "struct s { __device__ a<1 << 2> f() { return a<1 << 2>(); }\n"
        "  __device__ bool operator==(const s &) const { return true; } };\n"
        "__device__ a<(16 >> 2)> v;\n"
        K "{ __shared__ a<1 << 2> b; b.v[0] = 1; int c = 3;\n"
        "  o[0] = s().f().v[0] + b.v[0] + c; }",
        NULL};
    take(sources);
}

RNL_TEST(scopes_and_names)
{
    static const char *const sources[] = {
        "namespace n { typedef int t; extern __device__ t x; }\n"
        "__device__ n::t n::x = 2;\n"
        K "{ static n::t __device__ v; static ::n::t __constant__ c = 2;\n"
        "  o[0] = v + c + n::x; }",
        "extern \"C++\" {\n__device__ int v;\n"
        "__device__ int f(int n) { return n; }\n}\n" K "{ o[0] = f(v); }",
        "namespace a { __global__ void main(int *o) { *o = 1; } }",
        "/* c */ #if 0\n__host__ int f() { return 1; }\n#endif\n" K "{}",
        NULL};
    take(sources);
}

RNL_TEST(spellings_of_kernels_and_functions)
{
    static const char *const sources[] = {
        "inline __global__ void g(int *o) { *o = 1; }\n" K "{}",
        "static inline __device__ __inline_hint__ int f() { return 1; }\n"
        "static inline __global__ __launch_bounds__(64) void g(int *o)\n"
        "{ *o = f(); }\n",
        "#pragma once\n#include <vector_types.h>\n"
        "#include <vector_functions.h>\n" K "{ o[0] = make_int2(1, 2).y; }",
        K "{ __stcs(o, 3u); __stcg((float *)o, 1); }",
        "template <class T> __host__ __device__ T f(T x)\n"
        "{ if (x < 0) throw 1; return x; }\n"
        "template <class T> T g(T x) { try { f(1); } catch (...) {} }\n"
        K "{ o[0] = 1; }",
        "#define INFINITY __int_as_float(0x7f800000)\n"
        K "{ o[0] = __float_as_int(INFINITY); }",
        "typedef long long int int64_t;\nusing uint64_t = unsigned long long;\n"
        "typedef int int32_t;\ntypedef unsigned long size_t;\n"
        K "{ int64_t a = o[0]; uint64_t b = a, *p = &b;\n"
        "  atomicAdd(p, 1ull); o[1] = sizeof a + *p; }",
        "#include <cuda_fp16.h>\n  typedef unsigned long long uint64_t ;\n"
        K "{ uint64_t b = 1; atomicAdd(&b, b); o[0] = __half(b); }",
        "/* Once:\ntypedef long long int64_t;\n*/\n"
        "namespace a { typedef long long int64_t; }\n"
        "struct s { using int64_t = long long; };\n"
        "__device__ const char *text = R\"(\ntypedef long long int64_t;\n)\";\n"
        K "{ int64_t a = o[0]; o[1] = a; }",
        "inline __device__ __forceinline__ int lane()\n"
        "{ int l; asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(l)); return l; }\n"
        K "{ int i{threadIdx.x}, a[] = {i * 1.5f, 2};\n"
        "  float4 f{i, 2u, 3.0, i}; o[0] = i + a[0] + f.x; }",
        "#if defined(__NVCC__) || !defined(__CUDACC_VER_BUILD__)\n"
        "#error not NVRTC\n#endif\n"
        "static_assert(CUDART_VERSION == __CUDACC_VER_MAJOR__ * 1000 + "
        "__CUDACC_VER_MINOR__ * 10 &&\n"
        "              CUDART_VERSION == __CUDART_API_VERSION, \"\");\n"
        K "{ o[0] = __CUDA_ARCH_LIST__; }",
        "#ifdef __SIZEOF_INT128__\ntypedef __int128 wide;\n#else\n"
        "typedef long long wide;\n#endif\n" K "{ wide w = o[0]; o[1] = w; }",
        NULL};
    take(sources);
}

RNL_TEST(functions_of_the_host_that_do_no_harm)
{
    static const char *const sources[] = {
        "struct s {\n  s() = default;\n  __host__ s(int) = delete;\n"
        "  s &operator=(const s &) = default;\n  int x;\n};\n"
        "__host__ __device__ int f();\n"
        "__host__ __device__ int f() { return 1; }\n"
        K "{ s v; v.x = f(); o[0] = v.x; }",
        "__host__ __device__ int f();\nint f() { return 1; }\n"
        K "{ o[0] = f(); }",
        NULL};
    take(sources);
}

RNL_TEST(what_is_declared_is_in_the_table)
{
    built_write(&built, "source",
        "template <int N, bool B = N < 4> __device__ int f() { return B; }\n"
        "__global__ void (g)(int *o) { *o = 1; }\n"
        "extern \"C++\" { __global__ void h(int *o) { *o = 1; } }\n"
        "__constant__ struct t { int a[2]; } ct = {{1, 2}};\n"
        "__device__ struct { int x; } gs;\n"
        "__device__ struct t other{{1, 2}};\n");
    is_taken("--source @/source");
    assert_int_equal(built.table->kernel_count, 2);
    assert_non_null(built_kernel(&built, "g"));
    assert_non_null(built_kernel(&built, "h"));
    assert_int_equal(built.table->global_count, 3);
    assert_non_null(built_global(&built, "ct"));
    assert_non_null(built_global(&built, "gs"));
    assert_non_null(built_global(&built, "other"));
    built_close(&built);
}

// Names that begin like CUDA's.
RNL_TEST(mistakes_with_names_of_the_users_own)
{
    static const char *const names[] = {"surface_t", "texCoords", "cubic",
                                        "cub_util", "cuda_x", "cudart",
                                        "textureOf"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char source[256];
        snprintf(source, sizeof source, K "{\n  o[0] = %s::value;\n}",
                 names[i]);
        const struct refusal refusal = {source, "k.cu:2:", names[i]};
        refuses_with(&refusal, "");
        built_write(&built, "source", source);
        built_make(&built, "--source @/source");
        assert_null(strstr(built.log, "not supported"));
        built_close(&built);
    }
    static const struct refusal of_its_type = {
        "namespace cuda { struct s { int x; }; }\n"
        K "{\n  cuda::s v;\n  o[0] = v.y;\n}", "k.cu:4:", "'y'"};
    refuses_with(&of_its_type, "");
}

// --- More than anyone writes -------------------------------------------------

static char *repeat(const char *text, size_t count, const char *after)
{
    const size_t size = strlen(text);
    char *all = malloc(size * count + strlen(after) + 1);
    assert_non_null(all);
    for (size_t i = 0; i < count; i++)
        memcpy(all + i * size, text, size);
    strcpy(all + size * count, after);
    return all;
}

RNL_TEST(scopes_in_scopes_without_end)
{
    static const char *const scopes[] = {"namespace a{", "extern \"C\" {",
                                         "inline namespace{", "struct {"};
    for (size_t i = 0; i < 4; i++) {
        char *source = repeat(scopes[i], 100000, "");
        refuses_with(&(struct refusal){source, "k.cu:1:",
                                       "bracket nesting level exceeded "
                                       "maximum of 256"}, "");
        free(source);
    }
}

RNL_TEST(scopes_beside_scopes)
{
    char *source = repeat("namespace a { struct s; }\n", 300, K "{}");
    const char *const sources[] = {source, NULL};
    take(sources);
    free(source);
}

RNL_TEST(aliases_that_contain_themselves)
{
    char *source = repeat("namespace a = a::a;\nnamespace a = ::b::a::a;\n"
                          "namespace b = a::b::a;\n", 50, K "{}");
    built_write(&built, "source", source);
    built_make(&built, "--source @/source --name k.cu");
    assert_int_equal(built.status, 1);
    built_close(&built);
    free(source);
}
