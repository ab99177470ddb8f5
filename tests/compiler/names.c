// Kernels are found wherever they stand, under the names they have.
#include "build.h"

#include <stdio.h>
#include <string.h>

static struct built built;

static int first_result(const char *kernel)
{
    int out[64] = {0};
    built_run_ints(&built, kernel, (rnl_dim3){1}, (rnl_dim3){1}, 0, out, out,
                   5);
    return out[0];
}

RNL_TEST(kernels_in_all_places)
{
    static const char *const names[] = {
        "a::kernel", "a::b::kernel", "c::d::kernel", "unnamed", "with_static",
        "in_block", "bounded", "bounded_too", "overloaded", "declared_first",
        "c_declared_first", "spread", "uses_class", "a::b::outside"};
    built_kernels(&built, "names.cu", "");
    for (int i = 0; i < 14; i++)
        if (strcmp(names[i], "overloaded") != 0)
            assert_int_equal(first_result(names[i]), i + 1);
    assert_int_equal(built_kernel(&built, "no_parameters")->parameter_count, 0);
    assert_int_equal(built_kernel(&built, "spread")->parameter_count, 3);
    assert_int_equal(built.table->kernel_count, 18);
    built_close(&built);
}

// Attributes and words after them hide nothing that follows.
RNL_TEST(kernels_after_attributes_of_others)
{
    static const char *const before[] = {
        "__device__ [[nodiscard]] int g() { return 1; }\n",
        "int h;\n__device__ [[nodiscard]] int g() { return 1; }\n",
        "__device__ [[maybe_unused]] int v = 1, w;\n",
        "__constant__ [[maybe_unused]] int v[2] = {1, 2};\n",
        "__device__ int v [[maybe_unused]] = 2, w [[maybe_unused]];\n",
        "int f() __device__;\n",
        "enum e : int { A };\n__device__ __underlying_type(e) v = 1, w;\n",
    };
    static const unsigned globals[] = {0, 1, 2, 1, 2, 0, 2};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        char source[512];
        snprintf(source, sizeof source,
                 "%sextern \"C\" __global__ void a(int *o) { *o = 4; }\n"
                 "__global__ void b(int *o) { *o = 5; }\n", before[i]);
        built_write(&built, "k.cu", source);
        built_make(&built, "--source @/k.cu --option -default-device");
        assert_string_equal(built.log, "");
        assert_int_equal(built.status, 0);
        assert_int_equal(built.table->kernel_count, 2);
        assert_int_equal(built.table->global_count, globals[i]);
        assert_int_equal(first_result("a"), 4);
        assert_int_equal(first_result("b"), 5);
        built_close(&built);
    }
}

RNL_TEST(symbols_are_the_mangled_names)
{
    built_kernels(&built, "names.cu", "");
    assert_string_equal(built_kernel(&built, "in_block")->symbol, "in_block");
    assert_string_equal(built_kernel(&built, "a::b::kernel")->symbol,
                        "_ZN1a1b6kernelEPiPKii");
    assert_string_equal(built_kernel(&built, "declared_first")->symbol,
                        "_Z14declared_firstPiPKii");
    assert_string_equal(built_kernel(&built, "no_parameters")->symbol,
                        "_Z13no_parametersv");
    built_close(&built);
}

RNL_TEST(overloads_are_told_apart_by_symbol)
{
    int found = 0;
    built_kernels(&built, "names.cu", "");
    for (uint32_t i = 0; i < built.table->kernel_count; i++) {
        const rnl_cpu_kernel *kernel = &built.table->kernels[i];
        if (strcmp(kernel->symbol, "_Z10overloadedPiPKii") == 0)
            found += kernel->parameter_count == 3;
        if (strcmp(kernel->symbol, "_Z10overloadedPff") == 0)
            found += kernel->parameter_count == 2 &&
                     kernel->parameters[1].kind == RNL_VALUE_FLOAT;
    }
    assert_int_equal(found, 2);
    built_close(&built);
}

RNL_TEST(kernels_may_be_called_like_functions)
{
    int in[4] = {5, 2, 9, 1}, out[4] = {0};
    built_write(&built, "k.cu",
                "__global__ void max(int *out, const int *in, int n)\n"
                "{ int i = threadIdx.x; out[i] = max(in[i], 3) + n; }\n"
                "namespace own { __global__ void atomicAdd(int *p) {} }\n"
                "__global__ void round(float, int (&p)[2], int n = 1) {}\n"
                "template <class T> __global__ void min(T *p) {}\n"
                "extern \"C\" __global__ void reduce(int *p) {}\n");
    built_make(&built, "--source @/k.cu --name-expression 'min<int>'");
    assert_string_equal(built.log, "");
    assert_non_null(built_kernel(&built, "own::atomicAdd"));
    assert_non_null(built_kernel(&built, "round"));
    assert_non_null(built_kernel(&built, "min<int>"));
    assert_non_null(built_kernel(&built, "reduce"));
    built_run_ints(&built, "max", (rnl_dim3){1}, (rnl_dim3){4}, 0, out, in, 4);
    assert_int_equal(out[0], 9);
    assert_int_equal(out[1], 7);
    built_close(&built);
}

RNL_TEST(launch_bounds_are_told)
{
    built_kernels(&built, "names.cu", "");
    assert_int_equal(built_kernel(&built, "bounded")->max_block_threads, 128);
    assert_int_equal(built_kernel(&built, "bounded_too")->max_block_threads,
                     192);
    assert_int_equal(built_kernel(&built, "spread")->max_block_threads, 1024);
    built_close(&built);
}

static void expect_cluster(const char *name, uint32_t x, uint32_t y, uint32_t z)
{
    const uint32_t *cluster = built_kernel(&built, name)->cluster;
    if (cluster[0] != x || cluster[1] != y || cluster[2] != z)
        fail_msg("%s has %u, %u, %u", name, cluster[0], cluster[1], cluster[2]);
}

RNL_TEST(dimensions_of_clusters_are_told)
{
    built_write(&built, "k.cu",
                "#define SIZE 4\n#define TWO 2\n#define PAIR(x) x, 1\n"
                "namespace a { constexpr int size = 3; __global__ void\n"
                "__cluster_dims__(size) k(int *o) { *o = 1; } }\n"
                "__cluster_dims__(2, TWO, 2) __global__ void all(int *o) {}\n"
                "__global__ void __launch_bounds__(64, 2)\n"
                "__cluster_dims__((SIZE + TWO), 1) both(int *o) {}\n"
                "__global__ void __cluster_dims__(PAIR(8), 1) pair(int *o) {}\n"
                "__global__ void none(int *o) { }\n"
                "template <class T> __global__ void __cluster_dims__(SIZE, 2)\n"
                "some(T *o) { }\n"
                "template __global__ void some<long>(long *);\n");
    built_make(&built, "--source @/k.cu --name-expression 'some<int>'");
    assert_string_equal(built.log, "");
    expect_cluster("a::k", 3, 0, 0);
    expect_cluster("all", 2, 2, 2);
    expect_cluster("both", 6, 1, 0);
    expect_cluster("pair", 8, 1, 1);
    expect_cluster("none", 0, 0, 0);
    expect_cluster("some<int>", 4, 2, 0);
    expect_cluster("some<long>", 4, 2, 0);
    assert_int_equal(built_kernel(&built, "both")->max_block_threads, 64);
    built_close(&built);
}

RNL_TEST(dimensions_of_clusters_are_numbers)
{
    static const char *const wrong[] = {"1, 2, 3, 4", "-1", "1.5", "n",
                                        "\"a\""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[128];
        snprintf(text, sizeof text,
                 "__global__ void __cluster_dims__(%s) k(int *o) {}\n",
                 wrong[i]);
        built_write(&built, "k.cu", text);
        built_make(&built, "--source @/k.cu");
        assert_int_not_equal(built.status, 0);
        if (!strstr(built.log, "k.cu:1:"))
            fail_msg("(%s): %s", wrong[i], built.log);
        built_close(&built);
    }
}

RNL_TEST(templates_by_name_expression)
{
    built_kernels(&built, "templates.cu",
                  "--name-expression 'scale<float>' "
                  "--name-expression '&scale<double>' "
                  "--name-expression 'fill<int, 7>' "
                  "--name-expression 'ops::apply<ops::Twice>' "
                  "--name-expression 'ops::apply< ops::Square >' "
                  "--name-expression 'sum_of<1,2,(3>2)>'");
    float data[8] = {1, 2, 3, 4, 5, 6, 7, 8}, *to = data, factor = 1.5f;
    int n = 7, numbers[8] = {0, 1, 2, 3, 4, 5, 6, 7}, *ints = numbers;
    char op = 0;
    const void *scale[] = {&to, &n, &factor}, *apply[] = {&ints, &op};
    assert_int_equal(built_run(&built, "scale<float>", (rnl_dim3){2},
                               (rnl_dim3){4}, 0, scale), RNL_OK);
    assert_true(data[6] == 10.5f && data[7] == 8.0f);
    assert_int_equal(built_run(&built, "ops::apply<ops::Twice>", (rnl_dim3){1},
                               (rnl_dim3){8}, 0, apply), RNL_OK);
    assert_int_equal(built_run(&built, "ops::apply< ops::Square >",
                               (rnl_dim3){1}, (rnl_dim3){8}, 0, apply), RNL_OK);
    assert_int_equal(numbers[7], 196);
    assert_int_equal(first_result("fill<int, 7>"), 7);
    assert_int_equal(first_result("sum_of<1,2,(3>2)>"), 4);
    assert_int_equal(built_kernel(&built, "fill<int, 7>")->max_block_threads,
                     64);
    assert_string_equal(built_kernel(&built, "scale<float>")->symbol,
                        "_Z5scaleIfEvPT_iS0_");
    assert_int_equal(
        built_kernel(&built, "&scale<double>")->parameters[2].size, 8);
    assert_int_equal(built.table->kernel_count, 7);
    built_close(&built);
}

RNL_TEST(name_expressions_of_plain_kernels)
{
    built_write(&built, "k.cu",
                "__global__ void k(int *out) { *out = 4; }\n"
                "namespace n { __global__ void k(int *out) { *out = 5; } }\n"
                "__global__ void two(int *out) { *out = 6; }\n"
                "__global__ void two(float *out) { *out = 7; }\n");
    built_make(&built, "--source @/k.cu --name-expression k "
                       "--name-expression '&k' --name-expression ::k "
                       "--name-expression '&n::k' "
                       "--name-expression '(void (*)(int *))two'");
    assert_string_equal(built.log, "");
    assert_int_equal(first_result("k"), 4);
    assert_int_equal(first_result("&k"), 4);
    assert_int_equal(first_result("::k"), 4);
    assert_int_equal(first_result("n::k"), 5);
    assert_int_equal(first_result("&n::k"), 5);
    assert_int_equal(first_result("(void (*)(int *))two"), 6);
    assert_string_equal(built_kernel(&built, "&n::k")->symbol, "_ZN1n1kEPi");
    built_close(&built);
}

RNL_TEST(name_expressions_of_variables)
{
    built_write(&built, "k.cu",
                "template <class T> __device__ T table[3] = {1, 2, 3};\n"
                "template <class T> __constant__ T scale = 4;\n"
                "__constant__ int v = 7;\n"
                "namespace a { __device__ int v = 5, k = 6; }\n"
                "template <class T> __global__ void k(T *out)\n"
                "{ *out = table<T>[1] + scale<T>; }\n");
    built_make(&built, "--source @/k.cu --name-expression '&table<short>' "
                       "--name-expression '& scale<int>' "
                       "--name-expression '&a::v' --name-expression '&a::k' "
                       "--name-expression 'k<int>'");
    assert_string_equal(built.log, "");
    assert_int_equal(built.table->global_count, 7);
    const rnl_cpu_global *table = built_global(&built, "&table<short>"),
                         *scale = built_global(&built, "& scale<int>");
    assert_int_equal(table->size, 3 * sizeof(short));
    assert_int_equal(((short *)table->address)[2], 3);
    assert_int_equal(table->flags, 0);
    assert_int_equal(scale->alignment, sizeof(int));
    assert_int_equal(scale->flags, RNL_CPU_GLOBAL_CONSTANT);
    assert_ptr_equal(built_global(&built, "&a::v")->address,
                     built_global(&built, "a::v")->address);
    assert_int_equal(built_global(&built, "&a::v")->flags, 0);
    assert_ptr_equal(built_global(&built, "&a::k")->address,
                     built_global(&built, "a::k")->address);
    assert_int_equal(first_result("k<int>"), 6);
    built_close(&built);
}

RNL_TEST(templates_that_are_instantiated)
{
    built_write(&built, "k.cu",
                "template <class T> __global__ void k(T *out) { *out = 4; }\n"
                "template __global__ void k<float>(float *);\n"
                "extern template __global__ void k<long>(long *);\n"
                "template <> __global__ void k(short *out) { *out = 5; }\n"
                "template __global__ void k<int>(int *);\n"
                "static __global__ void other(int *out) { *out = 6; }\n");
    built_make(&built, "--source @/k.cu --name-expression 'k<int>'");
    assert_string_equal(built.log, "");
    assert_int_equal(built.table->kernel_count, 4);
    assert_int_equal(first_result("k<int>"), 4);
    assert_int_equal(first_result("other"), 6);
    assert_string_equal(built_kernel(&built, "k<float>")->symbol,
                        "_Z1kIfEvPT_");
    built_close(&built);
}

RNL_TEST(kernels_for_certain_arguments)
{
    built_write(&built, "k.cu",
                "namespace a {\n"
                "template <class T> __global__ void\n"
                "__launch_bounds__(64) k(T *o) { *o = 1; }\n"
                "template <> __global__ void k<short>(short *o);\n}\n"
                "template <> __global__ void a::k<int>(int *o) { *o = 2; }\n"
                "template <> void __global__ __launch_bounds__(32)\n"
                "a::k<float>(float *o) { *o = 3; }\n"
                "template <class T> __global__ void deduced(T *o)\n"
                "{ *o = 4; }\n"
                "template __global__ void deduced(int *);\n"
                "__global__ void k(int *o) { *o = 5; }\n");
    built_make(&built, "--source @/k.cu --name-expression 'a::k<int>'");
    assert_string_equal(built.log, "");
    assert_int_equal(built.table->kernel_count, 4);
    assert_int_equal(first_result("a::k<int>"), 2);
    assert_int_equal(first_result("deduced<int>"), 4);
    assert_int_equal(first_result("k"), 5);
    assert_int_equal(built_kernel(&built, "a::k<float>")->max_block_threads,
                     32);
    // Neither is an instance of the template.
    assert_int_equal(built_kernel(&built, "a::k<int>")->max_block_threads,
                     1024);
    assert_int_equal(built_kernel(&built, "k")->max_block_threads, 1024);
    built_close(&built);
}

RNL_TEST(instances_of_templates)
{
    built_write(&built, "k.cu",
                "namespace a {\n"
                "template <class T, int N> __global__ void\n"
                "__launch_bounds__(64) k(T *out) { *out = T{N}; }\n"
                "template <int N> __global__ void k(float *, int *out)\n"
                "{ *out = N + 1; }\n"
                "struct s { int x; };\n"
                "template __global__ void k<s, (4 > 3)>(s *);\n}\n"
                "template __global__ void a::k<int, 7>(int *);\n"
                "template __global__ void __launch_bounds__(64)\n"
                "a::k<8>(float *, int *);\n");
    built_make(&built, "--source @/k.cu");
    assert_string_equal(built.log, "");
    assert_int_equal(built.table->kernel_count, 3);
    assert_int_equal(first_result("a::k<int, 7>"), 7);
    assert_int_equal(built_kernel(&built, "a::k<int, 7>")->max_block_threads,
                     64);
    assert_string_equal(built_kernel(&built, "a::k<int, 7>")->symbol,
                        "_ZN1a1kIiLi7EEEvPT_");
    assert_non_null(built_kernel(&built, "a::k<a::s, 1>"));
    assert_int_equal(built_kernel(&built, "a::k<8>")->parameter_count, 2);
    built_close(&built);
}

RNL_TEST(kernels_made_by_macros)
{
    int in[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[8];
    built_kernels(&built, "macros.cu", "--option -DWANTED=77");
    built_run_ints(&built, "macro_add", (rnl_dim3){1}, (rnl_dim3){8}, 0, out,
                   in, 100);
    assert_int_equal(out[7], 108);
    built_run_ints(&built, "macro_multiply", (rnl_dim3){1}, (rnl_dim3){8}, 0,
                   out, in, 100);
    assert_int_equal(out[7], 800);
    assert_int_equal(first_result("macro_wanted"), 77);
    assert_int_equal(first_result("macro_arch"), 1);
    assert_int_equal(first_result("macro_text"), '_');
    assert_null(built_kernel(&built, "macro_unwanted"));
    assert_int_equal(built.table->kernel_count, 5);
    built_close(&built);
    built_kernels(&built, "macros.cu", "");
    assert_int_equal(first_result("macro_unwanted"), -1);
    built_close(&built);
}

// A macro of the command line may name a type or a kernel, and must not reach
// into what comes before the source.
RNL_TEST(options_that_define_macros)
{
    int in = 0;
    float out[4] = {0}, *to = out;
    const void *arguments[] = {&to, &in};
    built_write(&built, "k.cu",
                "extern \"C\" __global__ void NAME(T *A, int count)\n"
                "{ A[0] = N + count; }\n");
    built_make(&built, "--source @/k.cu --option -DNAME=renamed "
                       "--option -DT=float --option -DA=kernel "
                       "--option -DN=64 --option -Dcount=x "
                       "--option -Dmin=3 --option '-Dthread=this is wrong'");
    assert_string_equal(built.log, "");
    assert_int_equal(built.status, 0);
    assert_int_equal(built_run(&built, "renamed", (rnl_dim3){1}, (rnl_dim3){1},
                               0, arguments), RNL_OK);
    assert_true(out[0] == 64.0f);
    built_close(&built);
}

RNL_TEST(source_without_kernels)
{
    built_write(&built, "k.cu", "__device__ int alone = 3;\n");
    built_make(&built, "--source @/k.cu");
    assert_int_equal(built.status, 0);
    assert_int_equal(built.table->kernel_count, 0);
    assert_int_equal(*(int *)built_global(&built, "alone")->address, 3);
    built_close(&built);
    built_write(&built, "k.cu", "");
    built_make(&built, "--source @/k.cu");
    assert_int_equal(built.status, 0);
    assert_int_equal(built.table->global_count, 0);
    built_close(&built);
}

RNL_TEST(whether_a_kernel_waits)
{
    built_kernels(&built, "misc.cu", "");
    const uint32_t asked = built_may_be_tier_b() ? 0 : RNL_CPU_KERNEL_ASKED;
    const uint32_t waits = RNL_CPU_KERNEL_WAITS | asked;
    assert_int_equal(built_kernel(&built, "misc_recursion")->flags, asked);
    assert_int_equal(built_kernel(&built, "misc_ring_loop")->flags, asked);
    assert_int_equal(built_kernel(&built, "misc_matmul")->flags, waits);
    assert_int_equal(built_kernel(&built, "misc_hidden_barrier")->flags,
                     waits);
    built_close(&built);
}

// Makes a source, and tells the kernel's first result.
static int first_of(const char *source, const char *kernel,
                    const char *arguments)
{
    char words[256];
    snprintf(words, sizeof words, "--source @/k.cu %s", arguments);
    built_write(&built, "k.cu", source);
    built_make(&built, words);
    assert_string_equal(built.log, "");
    assert_int_equal(built.status, 0);
    assert_int_equal(built.table->kernel_count, 1);
    int result = first_result(kernel);
    built_close(&built);
    return result;
}

RNL_TEST(attributes_hide_no_kernel)
{
    assert_int_equal(
        first_of("__global__ void k [[gnu::noinline]] [[maybe_unused]] "
                 "(int *out) { *out = 4; }", "k", ""), 4);
    assert_int_equal(
        first_of("__global__ void (k)(int *out [[maybe_unused]]) "
                 "{ *out = 5; }", "k", ""), 5);
    assert_int_equal(
        first_of("__global__ [[maybe_unused]] void k(int *out) { *out = 6; }",
                 "k", ""), 6);
    assert_int_equal(
        first_of("extern \"C\" __global__ [[gnu::hot]] void k(int *out) "
                 "{ *out = 7; }", "k", ""), 7);
}

RNL_TEST(instances_that_are_made_elsewhere)
{
    static const char source[] =
        "template <class T> __global__ void t(T *out) { *out = 3; }\n"
        "extern template __global__ void t<float>(float *);\n"
        "__global__ void k(int *out) { *out = 2; }\n";
    assert_int_equal(first_of(source, "k", ""), 2);
}

RNL_TEST(automatic_parameters_make_a_template)
{
    static const char source[] =
        "template <class T> concept small = sizeof(T) <= 4;\n"
        "__global__ void k(small auto *out, auto...) { *out = 3; }\n";
    assert_int_equal(first_of(source, "k<int>",
                              "--option -std=c++20 --name-expression 'k<int>'"),
                     3);
    assert_int_equal(
        first_of("template <class T> requires requires(T t) { t + 1; } && "
                 "(sizeof(T) > 1)\n__global__ void k(T *out) { *out = 4; }\n",
                 "k<int>", "--option -std=c++20 --name-expression 'k<int>'"),
        4);
}

RNL_TEST(namespaces_with_other_names)
{
    built_write(&built, "k.cu",
                "namespace a { namespace b { __global__ void k(int *out); } }\n"
                "namespace a { namespace c = b; }\n"
                "namespace d = a; namespace e = ::d::c;\n"
                "namespace b { __global__ void k(int *out) { *out = 1; } }\n"
                "__global__ void e::k(int *out) { *out = 2; }\n");
    built_make(&built, "--source @/k.cu");
    assert_string_equal(built.log, "");
    assert_int_equal(first_result("b::k"), 1);
    assert_int_equal(first_result("a::b::k"), 2);
    built_close(&built);
}

// --- Sources that know how the table is made ---------------------------------

RNL_TEST(pragmas_of_the_source_make_no_table)
{
    built_write(&built, "k.cu",
                "extern \"C\" __global__ void a(int *o) { *o = 4; }\n;\n"
                "#pragma rnl_expressions\n;\n#pragma rnl_table\n;\n"
                "_Pragma(\"rnl_table\");\n"
                "extern \"C\" __global__ void b(int *o) { *o = 5; }\n");
    built_make(&built, "--source @/k.cu --option -w");
    assert_int_equal(built.status, 0);
    assert_int_equal(built.table->kernel_count, 2);
    assert_int_equal(first_result("b"), 5);
    built_close(&built);
}

RNL_TEST(system_headers_have_kernels)
{
    built_write(&built, "x.h", "#pragma GCC system_header\n"
                "__device__ int v = 7;\n"
                "extern \"C\" __global__ void a(int *o) { *o = v; }\n");
    built_write(&built, "k.cu", "#include \"x.h\"\n# 2 \"y.h\" 3\n"
                "extern \"C\" __global__ void b(int *o) { *o = 5; }\n");
    built_make(&built, "--source @/k.cu --header x.h=@/x.h");
    assert_int_equal(built.status, 0);
    assert_int_equal(built.table->kernel_count, 2);
    assert_int_equal(built.table->global_count, 1);
    assert_int_equal(first_result("a"), 7);
    built_close(&built);
}

RNL_TEST(deleted_kernels_are_none)
{
    built_write(&built, "k.cu", "__global__ void a(int) = delete;\n"
                "__global__ void b(int *o) { *o = 5; }\n");
    built_make(&built, "--source @/k.cu");
    assert_string_equal(built.log, "");
    assert_int_equal(built.table->kernel_count, 1);
    built_close(&built);
}

RNL_TEST(macros_may_be_called_like_words_of_the_table)
{
    built_write(&built, "k.cu", "#define constexpr\n#define const\n"
                "#define static inline\n#define auto int\n"
                "#define nullptr 0\n"
                "__global__ void b(int *o) { *o = 5; }\n");
    built_make(&built, "--source @/k.cu --name-expression b");
    assert_string_equal(built.log, "");
    assert_int_equal(built.table->kernel_count, 1);
    built_close(&built);
}
