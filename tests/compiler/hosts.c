// Functions without __device__ or __global__ are the host's, as with NVRTC, and
// their bodies are not read.
#include "refusal.h"

RNL_TEST(functions_without_a_word_are_the_hosts)
{
    static const char *const sources[] = {
        "int f(int x) { return missing(x); }\n" K "{}",
        "template <class T> T f(T x) { return x.a.b; }\n" K "{}",
        "namespace a { namespace b {\nextern \"C\" { int f() { return x; } }\n"
        "} }\n" K "{}",
        "struct s {\n  int a, b{2};\n  int get() const { return nowhere; }\n"
        "};\n" K "{}",
        "struct s { int a, b; s() : a(1), b{2} { undeclared(); } };\n" K "{}",
        "__global__ void g(int *o, float f) {}\n"
        "int main()\n{\n  std::vector<int> v(4);\n  int *p;\n"
        "  cudaMalloc(&p, 16);\n  g<<<dim3(1, 2), 32, 0, stream>>>(p, 1);\n"
        "  if (cudaDeviceSynchronize() != cudaSuccess) throw v;\n"
        "  return v[0];\n}\n",
        NULL};
    take(sources);
}

RNL_TEST(variables_without_a_word_are_the_hosts)
{
    static const char sentence[] =
        "reference to __host__ variable 'v' in __global__ function";
    static const struct refusal refusals[] = {
        {"int v = 3;\n" K "{ o[0] = v; }", "k.cu:2:47:", sentence},
        {"namespace a {\nstatic unsigned long v[3];\n}\n"
         K "{ o[0] = a::v[1]; }", "k.cu:4:50:", sentence},
        {"__host__ int *v;\n" K "{ o[0] = *v; }", "k.cu:", "v"},
    };
    REFUSE(refusals);
    static const char *const sources[] = {
        "int v = 3;\nextern float *w;\nstruct s { s(int); } x(v);\n" K "{}",
        NULL};
    take(sources);
}

// Clang lets lambdas be what they are used as.
RNL_TEST(generic_lambdas_are_taken)
{
    static const char *const sources[] = {
        K "{\n  auto l = [](auto x) { return x; };\n  o[0] = l(1);\n}",
        "template <class F> __device__ int f(F f) { return f(1); }\n"
        "__device__ int g()\n{ return f([=](int, auto &&...x) { return 1; }); "
        "}\n" K "{ o[0] = g(); }",
        NULL};
    take(sources);
}

// What may be constant, declared elsewhere or of a class that nobody knows.
RNL_TEST(what_may_be_the_devices)
{
    static const char *const sources[] = {
        "__device__ int f(int);\nint f(int x) { return x; }\n"
        "struct s { int a; __device__ int get(); };\n"
        "int s::get() { return a; }\n" K "{ o[0] = f(1) + s{2}.get(); }",
        "struct s { s() = default; s(int) = delete; int a : 3, b = 2; };\n"
        "int __device__ f(int x) { return x; }\n"
        "__device__ int (*g(int x))(int) { return f; }\n"
        "template <class T> using u = T;\nusing v = int (*)(int);\n"
        "typedef int (*w)(int);\nenum e : int { A, B };\n"
        "static_assert(sizeof(int) == 4, \"\");\n"
        "[[nodiscard]] __device__ int h() { return 1; }\n"
        "struct alignas(16) x : s { enum { C }; int c; __device__ x() : s{}, "
        "c{1} {} __device__ operator int() const { return c; }\n"
        "  __device__ int operator()(int i) const { return i; } };\n"
        K "{ x z; o[0] = z + z(1) + A; }",
        "constexpr int a[] = {1, 2};\nconst float b = 3.0f;\n"
        "static constexpr unsigned c = 4;\nusing d = const int;\nd e = 5;\n"
        "const char *const t = \"x\";\n"
        "struct p { int x; static constexpr int n = 2; } constexpr q = {1};\n"
        "template <int N> __device__ int n = N;\n"
        K "{ o[0] = a[o[1]] + int(b) + c + e + t[0] + q.x + n<3> + p::n; }",
        "struct c { void (*fn)(int *){}; int (*p)(int){nullptr};\n"
        "  int (c::*f)(int){nullptr}; int (*a)[3]{nullptr};\n"
        "  const int (&r)[2]{b}; static constexpr int b[2]{}; };\n"
        "typedef int t;\nconstexpr t (*p)(int){nullptr};\n"
        "void (*const q)(int){};\nconst int a(3), b{2};\n"
        "const int (d)[2]{1, 2};\nconstexpr int (h){4};\n"
        "enum e : int { A };\n"
        "struct u { __underlying_type(e) y{3}; int z : sizeof(int); };\n"
        K "{ struct l { int (*p)(int){nullptr}; } v;\n"
        "  o[0] = a + b + d[1] + h + !v.p + u{}.y; }",
        "typedef int t;\ntemplate <class T> using same = T;\n"
        "namespace n { struct s { int x; }; }\n"
        "const t (a){2};\nconst n::s (b){3};\nstatic constexpr t (c){4};\n"
        "struct u { t (x){5}; const t (y){6}; };\n"
        K "{ o[0] = a + b.x + c + u{}.x; }",
        "typedef int f(int);\ntypedef int (g)(int);\n"
        "namespace n { using h = auto(int) -> int; }\n"
        "__device__ f f1, f2;\nextern \"C\" __device__ g g1;\n"
        "__device__ n::h h1;\n__device__ f *p;\n__device__ int v;\n"
        "int f1(int x) { return x + 1; }\n"
        "int f2(int x) { return x + 2; }\n"
        "__device__ int g1(int x) { return x + 3; }\n"
        "__device__ int h1(int x) { return x + 4; }\n"
        K "{ p = f1; o[0] = p(1) + f2(2) + g1(3) + h1(4) + v; }",
        "template <class T> __device__ int f(T v)\n"
        "{ auto l = [&](auto x) { return x; }; return l(1); }\n" K "{}",
        "struct t { __device__ int operator()(int *p) const { return *p; } };\n"
        K "{ t v[1]; o[0] = v[0](new auto(5)) + v[0](new auto{6}); }",
        K "{ auto l = [&](int x) { return x + 1; };\n"
        "  struct s { int a; } v = {l(1)}; o[0] = v.a; }",
        NULL};
    take(sources);
}

RNL_TEST(words_of_newer_languages)
{
    built_write(&built, "source",
                "template <class T> concept small = sizeof(T) <= 4;\n"
                "template <small T> __device__ T f(T x) { return x; }\n"
                "template <class T> requires (sizeof(T) == 4)\n"
                "struct s { T x;\n"
                "  bool operator==(const s &) const = default; };\n"
                "template <class T> requires requires(T t) { t + 1; }\n"
                "struct r { T x; };\n"
                K "{ s<int> v{f(1)}; r<int> w{2}; o[0] = v == v && w.x; }");
    is_taken("--source @/source --option -std=c++20");
    built_close(&built);
}

// Functions with `auto` parameters are templates, which nobody uses here.
RNL_TEST(generic_lambdas_in_functions_with_auto)
{
    static const char *const sources[] = {
        "__device__ int f(auto v) { return [](auto x) { return x; }(v); }\n",
        "__global__ void g(auto *p)\n"
        "{ auto l = [](auto x) { return x; }; *p = l(1); }\n",
        "__device__ int f(auto... v) { return [](auto x) { return x; }(1); }\n",
        "template <class T> concept C = sizeof(T) == 4;\n"
        "__device__ int f(int, C auto v)\n"
        "{ return [](auto x) { return x; }(v); }\n",
        "__device__ int (*f(auto v))(int)\n"
        "{ auto l = [](auto x) { return x; }; return l(nullptr); }\n",
        "struct s {};\n__device__ int operator+(s, auto v)\n"
        "{ return [](auto x) { return x; }(v); }\n"};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        char source[512];
        snprintf(source, sizeof source, "%s" K "{}", sources[i]);
        built_write(&built, "source", source);
        is_taken("--source @/source --option -std=c++20");
        built_close(&built);
    }
}

RNL_TEST(all_is_the_devices_if_asked_for)
{
    built_write(&built, "source",
                "int v = 3;\nstruct s { int a; int get() { return a; } };\n"
                "int f(int x) { return x + v; }\n"
                K "{ o[0] = f(1) + s{2}.get(); }");
    is_taken("--source @/source --option -default-device");
    built_close(&built);
    built_write(&built, "source",
                K "{ auto l = [](auto x) { return x; }; o[0] = l(1); }");
    is_taken("--source @/source --option -default-device");
    built_close(&built);
    built_write(&built, "source", "int f() { return 1; }\n" K "{ *o = f(); }");
    is_taken("--source @/source --option "
             "--device-as-default-execution-space");
    built_close(&built);
}

// --- Words that do not go together ------------------------------------------

RNL_TEST(kernels_with_another_word)
{
    static const char sentence[] = "attributes are not compatible";
    static const struct refusal refusals[] = {
        {"__device__ __global__ void g(int *) {}\n" K "{}", "k.cu:1:12:",
         sentence},
        {"__global__ __host__ void g(int *) {}\n" K "{}", "k.cu:1:12:",
         sentence},
        {"__device__ static __global__ void g(int *) {}\n" K "{}",
         "k.cu:1:19:", sentence},
    };
    REFUSE(refusals);
}

RNL_TEST(kernels_that_are_noexcept)
{
    static const char sentence[] = "a kernel cannot be noexcept";
    static const struct refusal refusals[] = {
        {"__global__ void g(int *) noexcept {}\n" K "{}", "k.cu:1:17:",
         sentence},
        {"__global__ void __launch_bounds__(32)\ng(int *) noexcept(false) {}\n"
         K "{}", "k.cu:2:1:", sentence},
        {"template <class T>\n__global__ void g(T *) throw() {}\n" K "{}",
         "k.cu:2:17:", sentence},
    };
    REFUSE(refusals);
}

RNL_TEST(words_as_attributes)
{
    static const char *const sources[] = {
        "__attribute__((global)) void g(int *) {}\n" K "{}",
        K "{\n  __attribute__((shared)) int s[32];\n  s[o[0]] = 1;\n}",
        NULL};
    take(sources);
}

// --- Constant memory --------------------------------------------------------

RNL_TEST(numbers_in_constant_memory_are_not_assigned)
{
    static const char sentence[] =
        "a __constant__ variable cannot be assigned to";
    static const struct refusal refusals[] = {
        {"__constant__ int c;\n" K "{ c = 1; }", "k.cu:1:18:", sentence},
        {"__constant__ float c = 2;\n" K "{ if (o[0]) c *= 3; }", "k.cu:1:20:",
         sentence},
        {"__constant__ int c[3];\n" K "{ o[0] = 1;\n  c[o[1]]++; }",
         "k.cu:1:18:", sentence},
    };
    REFUSE(refusals);
    static const char *const sources[] = {
        "__constant__ int c;\n" K "{ int c = 1; c = 2; o[0] = c; }",
        "__constant__ int c;\n__device__ int f(int c) { c++; return c; }\n"
        K "{ o[0] = f(c); }",
        "__constant__ int c = 2;\n"
        K "{ auto l = [c = 3] { return c; }; o[0] = l() + (c == 2); }",
        "__constant__ int c = 2;\n"
        K "{ enum e { c = 1 }; struct s { int x; } v; v.x = ::c; o[0] = v.x; }",
        "__constant__ int c[3];\nstruct s { int c; };\n"
        K "{ s v; v.c = 1; o[0] = v.c + c[1]; }",
        NULL};
    take(sources);
}

RNL_TEST(static_variables_whose_constructors_work)
{
    static const char sentence[] =
        "dynamic initialization is not supported";
    static const struct refusal refusals[] = {
        {"struct s { int a; __device__ s() : a(threadIdx.x) {} };\n"
         K "{\n  static s v;\n  o[0] = v.a++;\n}", "k.cu:3:12:", sentence},
        {"struct s { int a; __device__ s() { a = 3; } };\n"
         K "{\n  static s v;\n  o[0] = v.a++;\n}", "k.cu:3:12:", sentence},
    };
    REFUSE(refusals);
    static const char *const sources[] = {
        "struct t { int b; __device__ t() {} };\n"
        "struct s { t b; int a; __device__ s() : b() {} };\n"
        K "{ static s v; o[0] = v.a++; }",
        "struct s { int a; __device__ constexpr s() : a(3) {} };\n"
        K "{ static s v; o[0] = v.a++; }",
        NULL};
    take(sources);
}

RNL_TEST(constants_of_the_host_are_not_in_the_table)
{
    built_write(&built, "source",
                "struct ops { int (*open)(int); void (*close)(); };\n"
                "static int opened(int x) { return x; }\nvoid closed() {}\n"
                "static const ops table = {opened, closed};\n"
                "static ops other = {opened, closed};\n"
                "const int m = 5;\nconstexpr int n = 6;\n"
                "static const char *const names[] = {\"a\", \"b\"};\n"
                "__constant__ int c = 1;\n__device__ const int d = 2;\n"
                K "{ o[0] = m + n + names[o[1] & 1][0] + c + d; }");
    is_taken("--source @/source");
    assert_int_equal(built.table->global_count, 2);
    assert_int_equal(built_global(&built, "c")->flags, RNL_CPU_GLOBAL_CONSTANT);
    assert_int_equal(built_global(&built, "d")->flags, 0);
    built_close(&built);
}

RNL_TEST(register_variables)
{
    static const char *const sources[] = {
        K "{ register int a = o[1]; for (register int i = 0; i < 3; i++)\n"
        "    a += i;\n  o[0] = a; }",
        NULL};
    take(sources);
}

// --- Headers that only the host's code uses ----------------------------------

RNL_TEST(headers_of_host_libraries)
{
    static const char *const sources[] = {
        "#include <cublas_v2.h>\n#include <curand.h>\n#include <cufft.h>\n"
        "cublasHandle_t handle;\ncurandGenerator_t numbers;\n"
        "const char *name(cudaError_t e) { return cudaGetErrorString(e); }\n"
        "const char *name(cublasStatus_t e) { return \"\"; }\n"
        "const char *name(cufftResult e) { return \"\"; }\n"
        "__device__ __half h;\n" K "{ o[0] = (int)(float)h; }",
        "#include <nvtx3/nvToolsExt.h>\n#include <mpi.h>\n#include <omp.h>\n"
        "#include <sys/stat.h>\n#include <strings.h>\n#include <stdbool.h>\n"
        "#include <getopt.h>\nstatic struct option options[] =\n"
        "    {{\"n\", required_argument, nullptr, 'n'}, {}};\n"
        "int ranks(MPI_Comm c) { int n; MPI_Comm_size(c, &n); return n; }\n"
        K "{ bool b = true; o[0] = b; }",
        "#include <inttypes.h>\n"
        K "{ printf(\"%\" PRId32 \" %\" PRIu64 \"\\n\", o[0],\n"
        "           (uint64_t)o[1]); }",
        "#include <chrono>\n#include <iterator>\nusing std::end;\n"
        "typedef std::chrono::high_resolution_clock::time_point time;\n"
        "std::chrono::milliseconds since(time t);\n" K "{ o[0] = 1; }",
        "std::size_t f(std::uint64_t);\n"
        "struct s { static constexpr std::size_t n = sizeof(std::int8_t); };\n"
        K "{ o[0] = s::n; }",
        NULL};
    take(sources);
}

RNL_TEST(types_of_the_runtime)
{
    static const char *const sources[] = {
        "static cudaDeviceProp properties;\ncudaMemLocation place;\n"
        "struct s { cudaEvent_t event; cudaResourceDesc what;\n"
        "  cudaTextureDesc how; cudaMemAllocationHandleType handle;\n"
        "  cudaMemPoolPtrExportData data; cudaGraphNode_t node;\n"
        "  cudaExtent extent; cudaPitchedPtr pitched; cudaUUID_t id; };\n"
        "enum cudaError check(cudaFuncAttributes *a, cudaLimit limit,\n"
        "                     CUresult r = CUDA_SUCCESS);\n"
        "void f(cudaTextureReadMode m = cudaReadModeElementType);\n"
        K "{ cudaError_t e = cudaSuccess; o[0] = e; }",
        NULL};
    take(sources);
}
