// What the user reads when a source does not compile, word by word.
#include "build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct built built;

// Compiles a text called kernel.cu that is wrong and compares all that is said.
static void says(const char *source, const char *options, const char *said)
{
    char arguments[256];
    built_write(&built, "source", source);
    snprintf(arguments, sizeof arguments, "--source @/source --name kernel.cu "
             "%s", options);
    built_make(&built, arguments);
    assert_int_equal(built.status, 1);
    assert_string_equal(built.log, said);
    assert_null(built.library);
    built_close(&built);
}

RNL_TEST(unknown_identifier)
{
    says("extern \"C\" __global__ void k(int *out)\n"
         "{\n"
         "    out[threadIdx.x] = nonexistent;\n"
         "}\n", "",
         "kernel.cu:3:24: error: use of undeclared identifier 'nonexistent'\n"
         "    3 |     out[threadIdx.x] = nonexistent;\n"
         "      |                        ^\n");
}

RNL_TEST(missing_semicolon)
{
    says("extern \"C\" __global__ void k(int *out)\n"
         "{\n"
         "    int i = threadIdx.x\n"
         "    out[i] = 1;\n"
         "}\n", "",
         "kernel.cu:3:24: error: expected ';' at end of declaration\n"
         "    3 |     int i = threadIdx.x\n"
         "      |                        ^\n"
         "      |                        ;\n");
}

RNL_TEST(wrong_type)
{
    says("extern \"C\" __global__ void k(float *out)\n"
         "{\n"
         "    float4 v = make_float4(1, 2, 3, 4);\n"
         "    out[0] = v;\n"
         "}\n", "",
         "kernel.cu:4:14: error: assigning to 'float' from incompatible type "
         "'float4'\n"
         "    4 |     out[0] = v;\n"
         "      |              ^\n");
}

// No list of all that the prelude has.
RNL_TEST(built_in_variables_are_of_types_of_cuda)
{
    says("__global__ void k() {\n"
         "int i = threadIdx;\n"
         "int j = gridDim * 2;\n"
         "j = std::printf(\"\");\n"
         "}\n", "",
         "kernel.cu:2:5: error: no viable conversion from 'const uint3' to "
         "'int'\n"
         "    2 | int i = threadIdx;\n"
         "      |     ^   ~~~~~~~~~\n"
         "kernel.cu:3:17: error: invalid operands to binary expression ('const "
         "dim3' and 'int')\n"
         "    3 | int j = gridDim * 2;\n"
         "      |         ~~~~~~~ ^ ~\n"
         "kernel.cu:4:5: error: no member named 'printf' in namespace 'std'; "
         "did you mean simply 'printf'?\n"
         "    4 | j = std::printf(\"\");\n"
         "      |     ^~~~~~~~~~~\n"
         "      |     printf\n");
}

RNL_TEST(wrong_call_of_a_builtin)
{
    says("extern \"C\" __global__ void k(float *out)\n"
         "{\n"
         "    atomicAdd(out, \"one\");\n"
         "}\n", "",
         "kernel.cu:3:5: error: no matching function for call to 'atomicAdd'\n"
         "    3 |     atomicAdd(out, \"one\");\n"
         "      |     ^~~~~~~~~\n");
}

RNL_TEST(missing_brace_at_the_end)
{
    says("extern \"C\" __global__ void k(float *out)\n"
         "{\n"
         "    out[0] = 1;\n", "",
         "kernel.cu:3:16: error: expected '}'\n"
         "    3 |     out[0] = 1;\n"
         "      |                ^\n"
         "kernel.cu:2:1: note: to match this '{'\n"
         "    2 | {\n"
         "      | ^\n");
}

RNL_TEST(error_in_a_header)
{
    built_write(&built, "util", "#pragma once\n"
                                "inline __device__ int f() { return zzz; }\n");
    says("#include <lib/util.h>\n"
         "extern \"C\" __global__ void k(int *out) { out[0] = f(); }\n",
         "--header lib/util.h=@/util",
         "In file included from kernel.cu:1:\n"
         "lib/util.h:2:36: error: use of undeclared identifier 'zzz'\n"
         "    2 | inline __device__ int f() { return zzz; }\n"
         "      |                                    ^\n");
}

RNL_TEST(missing_header)
{
    says("#include \"nowhere.h\"\n", "",
         "kernel.cu:1:10: fatal error: 'nowhere.h' file not found\n"
         "    1 | #include \"nowhere.h\"\n"
         "      |          ^~~~~~~~~~~\n");
}

RNL_TEST(wrong_name_expression)
{
    says("template <class T> __global__ void k(T *out) { out[0] = 1; }\n",
         "--name-expression 'k<floot>'",
         "name-expression:1:3: error: use of undeclared identifier 'floot'; "
         "did you mean 'float'?\n"
         "    1 | k<floot>\n"
         "      |   ^\n");
}

RNL_TEST(error_directive)
{
    says("#if X > 1\n#error too large\n#endif\n", "--option -DX=2",
         "kernel.cu:2:2: error: too large\n"
         "    2 | #error too large\n"
         "      |  ^\n");
}

RNL_TEST(warnings_do_not_fail)
{
    built_write(&built, "source",
                "extern \"C\" __global__ void k(int *out)\n"
                "{\n"
                "    printf(\"%d\\n\", 1.5);\n"
                "    out[0] = 1;\n"
                "}\n");
    built_make(&built, "--source @/source --name kernel.cu --option "
                       "-Wformat");
    assert_int_equal(built.status, 0);
    assert_non_null(strstr(built.log, "kernel.cu:3:"));
    assert_non_null(strstr(built.log, "warning: "));
    assert_null(strstr(built.log, "rnl-"));
    built_close(&built);
}

RNL_TEST(names_with_folders)
{
    built_write(&built, "source", "__device__ int x = y;\n");
    built_make(&built, "--source @/source --name src/kernels/a.cu");
    assert_int_equal(strncmp(built.log, "src/kernels/a.cu:1:20: error: ", 30),
                     0);
    assert_non_null(strstr(built.log, "    1 | __device__ int x = y;\n"));
    built_make(&built, "--source @/source");
    char start[160];
    snprintf(start, sizeof start, "%s/source:1:20: error: ", built.folder);
    assert_int_equal(strncmp(built.log, start, strlen(start)), 0);
    assert_non_null(strstr(built.log, "    1 | __device__ int x = y;\n"));
    built_close(&built);
}

static void make_folder(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", built.folder, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

// What is wrong in CUDA's libraries says nothing to people. A folder of the
// user's that is called like one of theirs is another thing.
RNL_TEST(libraries_that_are_found)
{
    char said[512];
    built_write(&built, "source",
                "#include \"u.h\"\n__global__ void k(int *o) {}\n");
    make_folder("include");
    make_folder("include/thrust");
    built_write(&built, "include/u.h", "\n#include <thrust/sort.h>\n");
    built_write(&built, "include/thrust/version.h", "");
    built_write(&built, "include/thrust/sort.h",
                "#include \"detail.h\"\n#error incompatible\n");
    built_write(&built, "include/thrust/detail.h",
                "#error incompatible\n#include <features.h>\n");
    built_make(&built, "--source @/source --name kernel.cu "
                       "--option -I@/include");
    assert_int_equal(built.status, 1);
    snprintf(said, sizeof said, "%s%s/include/u.h:2: error: <thrust/sort.h> "
             "is not supported by Runnel on the CPU\n",
             "In file included from kernel.cu:1:\n",
             built.folder);
    assert_string_equal(built.log, said);
    // Each alone: what is the user's own stands where it is.
    static const char *const own[] = {"cuda", "cub", "nv"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        char name[64];
        snprintf(name, sizeof name, "include/%s", own[i]);
        make_folder(name);
        snprintf(name, sizeof name, "include/%s/own.h", own[i]);
        built_write(&built, name, "__device__ int x = y;\n");
        snprintf(said, sizeof said, "#include <%s/own.h>\n", own[i]);
        built_write(&built, "include/u.h", said);
        built_make(&built, "--source @/source --name kernel.cu "
                           "--option -I@/include");
        snprintf(said, sizeof said, "%s:1:20: error: ", name);
        assert_non_null(strstr(built.log, said));
        assert_null(strstr(built.log, "supported"));
    }
    built_close(&built);
}

// Each line is told once, and 1 is not the beginning of 12.
RNL_TEST(lines_that_begin_alike)
{
    built_write(&built, "source",
                "__device__ void f() { cudaFree(0); cudaFree(0); }\n"
                "\n\n\n\n\n\n\n\n\n\n"
                "__global__ void k(int *o) { cudaMalloc(&o, 4); }\n");
    built_make(&built, "--source @/source --name kernel.cu");
    const char *first = strstr(built.log, "cudaFree is not supported");
    assert_non_null(first);
    assert_null(strstr(first + 1, "cudaFree is not supported"));
    assert_non_null(strstr(first, "cudaMalloc is not supported"));
    built_close(&built);
}

RNL_TEST(of_much_assembly_the_beginning_is_told)
{
    char source[4096] = "__global__ void k(int *o)\n{\n";
    size_t count = 0;
    for (int i = 0; i < 30; i++)
        strcat(source, "    asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(*o));\n");
    strcat(source, "}\n");
    built_write(&built, "source", source);
    built_make(&built, "--source @/source --name kernel.cu");
    assert_int_equal(built.status, 1);
    for (const char *at = built.log; (at = strstr(at, "error: ")); at++)
        count++;
    assert_in_range(count, 10, 20);
    assert_non_null(strstr(built.log, "kernel.cu:3:"));
    built_close(&built);
}
