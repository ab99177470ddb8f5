// The commonest mistakes: where each is told, and in which words.
#include "build.h"

#include <stdio.h>
#include <string.h>

static struct built built;

#define K "__global__ void k(int *o)\n"

static const struct mistake {
    const char *source;
    const char *line;  // the first of the log
} mistakes[] = {
    {"__global__ void k(flaot *o)\n{\n    o[0] = 1;\n}\n",
     "k.cu:1:19: error: unknown type name 'flaot'"},
    {K "{\n    int value = 1;\n    o[0] = valu;\n}\n",
     "k.cu:4:12: error: use of undeclared identifier 'valu'; did you "
     "mean 'value'?"},
    {K "{\n    o[0] = __syncthread();\n}\n",
     "k.cu:3:12: error: use of undeclared identifier '__syncthread'; "
     "did you mean '__syncthreads'?"},
    {"#include <vector>\n" K "{\n    std::vector<int> v(3);\n"
     "    o[0] = v.size();\n}\n",
     "k.cu:4:22: error: std::vector is a class of the host, which "
     "kernels cannot use"},
    {"__global__ void j(int *o) { *o = 1; }\n" K "{\n    j<<<1, 1>>>(o);\n"
     "}\n",
     "k.cu:4:5: error: a launch by a kernel (<<<...>>>) is not "
     "supported by Runnel on the CPU"},
    {"int f(int x) { return x + 1; }\n" K "{\n    o[0] = f(1);\n}\n",
     "k.cu:4:12: error: 'f' is a function of the host: __device__ is "
     "missing in its declaration"},
    {K "{\n    int a = 1\n    o[0] = a;\n}\n",
     "k.cu:3:14: error: expected ';' at end of declaration"},
    {K "{\n    if (o[0]) {\n        o[0] = 1;\n}\n",
     "k.cu:5:2: error: expected '}'"},
    {"__device__ int f(int a, int b) { return a + b; }\n" K "{\n"
     "    o[0] = f(1);\n}\n",
     "k.cu:4:12: error: no matching function for call to 'f': "
     "requires 2 arguments, but 1 was provided"},
    {"#include \"nothing.h\"\n" K "{\n    o[0] = 1;\n}\n",
     "k.cu:1:10: fatal error: 'nothing.h' file not found"},
    {"template <class T> __device__ T f(T x) { return x; }\n" K "{\n"
     "    o[0] = f<3>(1);\n}\n",
     "k.cu:4:12: error: no matching function for call to 'f': "
     "invalid explicitly-specified argument for template parameter "
     "'T'"},
    {"template <int N> __device__ int f() { return N; }\n" K "{\n"
     "    o[0] = f<float>();\n}\n",
     "k.cu:4:12: error: no matching function for call to 'f': "
     "invalid explicitly-specified argument for template parameter "
     "'N'"},
    {"#include <cstdlib>\n#include <stdio.h>\n" K "{\n    o[0] = rand();\n"
     "}\n",
     "k.cu:5:12: error: use of undeclared identifier 'rand'"},
    {"__host__ int f() { return 1; }\n" K "{\n    o[0] = f();\n}\n",
     "k.cu:4:12: error: 'f' is a function of the host: __device__ is "
     "missing in its declaration"},
    {"int limit = 3;\n" K "{\n    o[0] = limit;\n}\n",
     "k.cu:4:12: error: reference to __host__ variable 'limit' in "
     "__global__ function"},
    {"__global__ int k(int *o)\n{\n    return o[0];\n}\n",
     "k.cu:1:12: error: kernel function type 'int (int *)' must have "
     "void return type"},
    {K "{\n    __shared__ int s[2] = {1, 2};\n    o[0] = s[0];\n}\n",
     "k.cu:3:20: error: initialization is not supported for "
     "__shared__ variables"},
    {K "{\n    int a[100000000];\n    for (int i = 0; i < 100000000; i++)\n"
     "        a[i] = o[i];\n    o[0] = a[o[1]];\n}\n",
     "k.cu:3:9: error: array 'a' has 400000000 bytes, more "
     "than the local memory of a thread"},
    {"__device__ int f(int);\n" K "{\n    o[0] = f(1);\n}\n",
     "k.cu:4: error: undefined reference to `f(int)': a kernel can "
     "use what its source defines and what CUDA has"},
    {"__device__ int f() { return 1; }\n__device__ int f() { return 2; }\n"
     K "{\n    o[0] = f();\n}\n",
     "k.cu:2:16: error: redefinition of 'f'"},
    {"__global__ void k(const int *o)\n{\n    o[0] = 1;\n}\n",
     "k.cu:3:10: error: read-only variable is not assignable"},
    {K "{\n    const int a = 1;\n    a = 2;\n    o[0] = a;\n}\n",
     "k.cu:4:7: error: cannot assign to variable 'a' with "
     "const-qualified type 'const int'"},
    {"__global__ void k(__half *o)\n{\n    o[0] = __float2half(1.0f);\n}\n",
     "k.cu:1:19: error: unknown type name '__half': #include "
     "<cuda_fp16.h> is missing"},
    {"__global__ void k(__nv_bfloat16 *o)\n{\n}\n",
     "k.cu:1:19: error: unknown type name '__nv_bfloat16': #include "
     "<cuda_bf16.h> is missing"},
    {K "{\n    printf(\"%s\\n\", o[0]);\n}\n",
     "k.cu:3:20: warning: format specifies type 'char *' but the "
     "argument has type 'int' [-Wformat]"},
    {K "{\n    threadIdx.x = 1;\n    o[0] = 1;\n}\n",
     "k.cu:3:17: error: threadIdx cannot be assigned to"},
    {K "{\n    blockDim = dim3(1);\n    o[0] = 1;\n}\n",
     "k.cu:3:14: error: a built-in variable cannot be assigned to"},
    {K "{\n    extern __shared__ int s[];\n    s[0] = 1;\n"
     "    o[0] = s[0];\n}\n__global__ void j(float *o)\n{\n"
     "    extern __shared__ float s[];\n    o[0] = s[0];\n}\n",
     "k.cu:9:29: error: redeclaration of 's' with a different type: "
     "'float[]' vs 'int[]'"},
    {"#include <string>\n" K "{\n    std::string s = \"x\";\n"
     "    o[0] = s[0];\n}\n",
     "k.cu:4:17: error: std::string is a class of the host, which "
     "kernels cannot use"},
    {"struct s { int a; };\n" K "{\n    s x;\n    o[0] = x.b;\n}\n",
     "k.cu:5:14: error: no member named 'b' in 's'"},
    {"__global__ void k(int *o, int n)\n{\n    int a[n];\n"
     "    o[0] = a[0];\n}\n",
     "k.cu:3:11: error: an array of variable length is not supported "
     "by Runnel on the CPU"},
    {"#include <algorithm>\n" K "{\n    std::sort(o, o + 3);\n}\n",
     "k.cu:4:10: error: no member named 'sort' in namespace 'std'"},
    {K "{\n    int *p;\n    cudaMalloc(&p, 4);\n    o[0] = *p;\n}\n",
     "k.cu:4:5: error: cudaMalloc is not supported by Runnel on the "
     "CPU"},
};

static void tells(const char *source, const char *arguments, const char *line)
{
    char words[256];
    snprintf(words, sizeof words, "--source @/source --name k.cu %s",
             arguments);
    built_write(&built, "source", source);
    built_make(&built, words);
    const size_t size = strcspn(built.log, "\n");
    if (strlen(line) != size || strncmp(built.log, line, size) != 0 ||
        strstr(built.log, "rnl"))
        fail_msg("%s: %s, instead of: %s", source, built.log, line);
    if (strstr(line, "error: "))
        assert_int_equal(built.status, 1);
    built_close(&built);
}

RNL_TEST(mistakes_are_told_at_their_place)
{
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
        tells(mistakes[i].source, "", mistakes[i].line);
}

// The log would have the name: this one alone may.
RNL_TEST(names_of_the_table_are_reserved)
{
    built_write(&built, "source", "__device__ int rnl_kernel0;\n" K "{\n}\n");
    built_make(&built, "--source @/source --name k.cu");
    assert_int_equal(built.status, 1);
    assert_ptr_equal(strstr(built.log, "k.cu:1:16: error: names that begin "
                                       "with rnl_ are reserved\n"), built.log);
    built_close(&built);
}

RNL_TEST(mistakes_in_name_expressions)
{
    static const char source[] = "template <class T> __global__ void k(T *o)\n"
                                 "{\n    *o = 1;\n}\n";
    tells(source, "--name-expression j",
          "name-expression:1:1: error: use of undeclared identifier 'j'");
    tells(source, "--name-expression 'k<3>'",
          "name-expression: error: a name expression names a kernel or a "
          "variable, with template arguments that its template takes");
    tells(source, "--name-expression '1 + 1'",
          "name-expression:1:3: error: a name expression names a kernel or a "
          "variable");
}
