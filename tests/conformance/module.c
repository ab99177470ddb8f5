// Modules and functions: compiling, loading, names, globals, infos.
#include "suite.h"

#include <stdio.h>
#include <unistd.h>

static const char counter_source[] =
    "__device__ int counter = 5;\n"
    "__constant__ float factors[3] = {1.5f, 2.5f, 3.5f};\n"
    "extern \"C\" __global__ void bump(int *out, int by) {\n"
    "    counter += by;\n"
    "    out[0] = counter;\n"
    "}\n"
    "extern \"C\" __global__ void factor(float *out) {\n"
    "    out[threadIdx.x] = factors[threadIdx.x];\n"
    "}\n";

static const char template_source[] =
    "template <class T> __global__ void scale(T *data, T by) {\n"
    "    data[threadIdx.x] *= by;\n"
    "}\n"
    "template <int N> __global__ void put(int *data) {\n"
    "    data[threadIdx.x] = N;\n"
    "}\n";

static rnl_status compile(const char *source,
                          const rnl_module_options *options,
                          rnl_module *out_module)
{
    suite_need(RNL_FEATURE_COMPILE);
    return rnl_module_compile(suite_context(), source, options, out_module);
}

static rnl_function function_of(rnl_module module, const char *name)
{
    rnl_function function = NULL;
    expect_ok(rnl_module_function(module, name, &function));
    return function;
}

// Launches bump and returns what it wrote.
static int bump(rnl_function function, int by)
{
    int value = 0;
    rnl_buffer buffer = suite_ints(1, 0);
    expect_ok(rnl_enqueue_function(suite_stream(), function,
                                   RNL_LAUNCH(.grid = {1}, .block = {1}),
                                   RNL_ARGS(buffer, by)));
    suite_download(&value, buffer, sizeof value);
    expect_ok(rnl_buffer_release(buffer));
    return value;
}

RNL_TEST(a_module_has_functions_and_globals)
{
    rnl_module module = suite_module(counter_source);
    rnl_function function = function_of(module, "bump");
    rnl_buffer counter = NULL, factors = NULL;
    int value = 100;
    float factor = 0;
    assert_int_equal(bump(function, 1), 6);
    expect_ok(rnl_module_global(module, "counter", &counter));
    expect_ok(rnl_module_global(module, "factors", &factors));
    suite_download(&value, counter, sizeof value);
    assert_int_equal(value, 6);
    value = 40;
    suite_upload(counter, &value, sizeof value);
    assert_int_equal(bump(function, 2), 42);
    expect_ok(rnl_copy_from_buffer_and_wait(suite_stream(), &factor, factors,
                                            8, 4));
    assert_true(factor == 3.5f);
    expect_ok(rnl_buffer_release(counter));
    expect_ok(rnl_buffer_release(factors));
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_module_release(module));
}

RNL_TEST(a_global_is_a_borrowed_buffer_of_its_size)
{
    rnl_module module = suite_module(counter_source);
    rnl_buffer factors = NULL;
    rnl_buffer_info info = {.struct_size = sizeof info};
    expect_ok(rnl_module_global(module, "factors", &factors));
    expect_ok(rnl_buffer_get_info(factors, &info));
    assert_int_equal(info.size, 12);
    assert_true(info.borrowed);
    assert_ptr_equal(info.context, suite_context());
    expect_error(rnl_enqueue_fill(suite_stream(), factors, 0, 13, 0, 1),
                 RNL_ERROR_OUT_OF_RANGE, NULL);
    // It keeps the module alive.
    expect_ok(rnl_module_release(module));
    float values[3] = {0};
    suite_download(values, factors, sizeof values);
    assert_true(values[1] == 2.5f);
    expect_ok(rnl_buffer_release(factors));
}

RNL_TEST(a_function_by_its_type_is_no_global)
{
    rnl_module module = suite_module(
        "typedef int function(int);\ntypedef int (*pointer)(int);\n"
        "__device__ function twice;\n__device__ pointer chosen;\n"
        "int twice(int x) { return 2 * x; }\n"
        "extern \"C\" __global__ void bump(int *out, int n)\n"
        "{ chosen = twice; *out = chosen(n); }\n");
    rnl_function function = function_of(module, "bump");
    rnl_buffer global = NULL;
    rnl_buffer_info info = {.struct_size = sizeof info};
    assert_int_equal(bump(function, 4), 8);
    expect_error(rnl_module_global(module, "twice", &global),
                 RNL_ERROR_NOT_FOUND, "name");
    expect_ok(rnl_module_global(module, "chosen", &global));
    expect_ok(rnl_buffer_get_info(global, &info));
    assert_int_equal(info.size, sizeof(void *));
    expect_ok(rnl_buffer_release(global));
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_module_release(module));
}

RNL_TEST(a_constant_written_as_a_global_is_seen)
{
    rnl_module module = suite_module(counter_source);
    rnl_function function = function_of(module, "factor");
    rnl_buffer factors = NULL, out = suite_new_buffer(12);
    float values[3] = {7, 8, 9}, seen[3] = {0};
    expect_ok(rnl_module_global(module, "factors", &factors));
    suite_upload(factors, values, sizeof values);
    expect_ok(rnl_enqueue_function(suite_stream(), function,
                                   RNL_LAUNCH(.grid = {1}, .block = {3}),
                                   RNL_ARGS(out)));
    suite_download(seen, out, sizeof seen);
    assert_memory_equal(seen, values, sizeof values);
    expect_ok(rnl_buffer_release(factors));
    expect_ok(rnl_buffer_release(out));
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_module_release(module));
}

RNL_TEST(modules_of_one_source_have_their_own_globals)
{
    rnl_module a = suite_module(counter_source);
    rnl_module b = suite_module(counter_source);
    rnl_function bump_a = function_of(a, "bump");
    rnl_function bump_b = function_of(b, "bump");
    assert_int_equal(bump(bump_a, 10), 15);
    assert_int_equal(bump(bump_b, 1), 6);
    assert_int_equal(bump(bump_a, 10), 25);
    expect_ok(rnl_function_release(bump_a));
    expect_ok(rnl_function_release(bump_b));
    expect_ok(rnl_module_release(a));
    expect_ok(rnl_module_release(b));
}

RNL_TEST(a_function_outlives_its_module_handle)
{
    rnl_module module = suite_module(counter_source);
    rnl_function function = function_of(module, "bump");
    expect_ok(rnl_module_release(module));
    assert_int_equal(bump(function, 3), 8);
    expect_ok(rnl_function_release(function));
}

RNL_TEST(templates_are_found_by_name_expression)
{
    const char *const names[] = {"scale<float>", "scale<int>", "put<7>"};
    rnl_module module = NULL;
    expect_ok(compile(template_source,
                      RNL_MODULE_OPTIONS(.name_expressions = names,
                                         .name_expression_count = 3),
                      &module));
    int ints[2] = {3, 4};
    float floats[2] = {1.5f, 2};
    rnl_buffer buffer = suite_new_buffer(8);
    rnl_function f = function_of(module, "scale<float>");
    rnl_function i = function_of(module, "scale<int>");
    rnl_function p = function_of(module, "put<7>");
    const rnl_launch *launch = RNL_LAUNCH(.grid = {1}, .block = {2});
    suite_upload(buffer, floats, 8);
    expect_ok(rnl_enqueue_function(suite_stream(), f, launch,
                                   RNL_ARGS(buffer, 2.0f)));
    suite_download(floats, buffer, 8);
    assert_true(floats[0] == 3 && floats[1] == 4);
    suite_upload(buffer, ints, 8);
    expect_ok(rnl_enqueue_function(suite_stream(), i, launch,
                                   RNL_ARGS(buffer, 5)));
    suite_download(ints, buffer, 8);
    assert_int_equal(ints[0], 15);
    assert_int_equal(ints[1], 20);
    // A code object does not tell integers from floats.
    if (!suite_is_hip())
        expect_error(rnl_enqueue_function(suite_stream(), i, launch,
                                          RNL_ARGS(buffer, 2.0f)),
                     RNL_ERROR_ARGUMENT_MISMATCH, "args");
    expect_error(rnl_enqueue_function(suite_stream(), i, launch,
                                      RNL_ARGS(buffer, 2.0)),
                 RNL_ERROR_ARGUMENT_MISMATCH, "args");
    expect_ok(rnl_enqueue_function(suite_stream(), p, launch,
                                   RNL_ARGS(buffer)));
    suite_expect_ints(buffer, 2, 7);
    expect_ok(rnl_function_release(f));
    expect_ok(rnl_function_release(i));
    expect_ok(rnl_function_release(p));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_module_release(module));
}

RNL_TEST(a_function_says_what_it_is)
{
    rnl_module module = suite_module(
        "struct pair { int a; double b; };\n"
        "extern \"C\" __global__ void all(float *p, const int n, double d,\n"
        "                                 pair s) {\n"
        "    __shared__ int here[100];\n"
        "    here[threadIdx.x] = n + (int)d + s.a;\n"
        "    __syncthreads();\n"
        "    p[threadIdx.x] = here[99 - threadIdx.x];\n"
        "}\n");
    rnl_function function = function_of(module, "all");
    rnl_function_info info = {.struct_size = sizeof info};
    expect_ok(rnl_function_get_info(function, &info));
    assert_string_equal(info.name, "all");
    assert_string_equal(info.symbol, "all");
    assert_int_equal(info.parameter_count, 4);
    const rnl_parameter expected[] = {{RNL_VALUE_POINTER, 8, 8, ""},
                                      {RNL_VALUE_INTEGER, 4, 4, ""},
                                      {RNL_VALUE_FLOAT, 8, 8, ""},
                                      {RNL_VALUE_STRUCT, 16, 8, ""}};
    for (int i = 0; i < 4; i++) {
        const rnl_parameter *parameter = &info.parameters[i];
        assert_int_equal(parameter->size, expected[i].size);
        assert_non_null(parameter->type);
        if (parameter->kind != RNL_VALUE_UNKNOWN)
            assert_int_equal(parameter->kind, expected[i].kind);
        if (suite_is_cpu()) {
            assert_int_equal(parameter->kind, expected[i].kind);
            assert_int_equal(parameter->alignment, expected[i].alignment);
        }
    }
    assert_true(info.max_block_threads > 0);
    assert_true(info.shared_size >= 400 && info.shared_size < 4096);
    if (suite_is_cpu())
        assert_true(info.uses_barriers);
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_module_release(module));
}

RNL_TEST(a_kernel_without_barriers_says_so)
{
    rnl_function function = suite_compile(
        "extern \"C\" __global__ void plain(int *p) { p[threadIdx.x] = 1; }",
        "plain");
    rnl_function_info info = {.struct_size = sizeof info};
    expect_ok(rnl_function_get_info(function, &info));
    if (suite_is_cpu())
        assert_false(info.uses_barriers);
    assert_int_equal(info.shared_size, 0);
    expect_ok(rnl_function_release(function));
}

// --- How source is compiled ------------------------------------------------

RNL_TEST(options_defines_and_headers_reach_the_compiler)
{
    const char *const options[] = {"-DVALUE=40", "-DNAME=answer",
                                   "-std=c++17"};
    const rnl_header headers[] = {
        {"two.h", "#pragma once\n#define TWO 2\n"},
        {"more/three.h", "#include \"two.h\"\nenum { THREE = TWO + 1 };\n"}};
    rnl_module module = NULL;
    expect_ok(compile("#include \"two.h\"\n"
                      "#include <more/three.h>\n"
                      "extern \"C\" __global__ void NAME(int *out) {\n"
                      "    if constexpr (VALUE > 1)\n"
                      "        out[0] = VALUE + TWO * THREE;\n"
                      "}\n",
                      RNL_MODULE_OPTIONS(.options = options,
                                         .option_count = 3,
                                         .headers = headers,
                                         .header_count = 2), &module));
    rnl_function function = function_of(module, "answer");
    rnl_buffer buffer = suite_ints(1, 0);
    expect_ok(rnl_enqueue_function(suite_stream(), function,
                                   RNL_LAUNCH(.grid = {1}, .block = {1}),
                                   RNL_ARGS(buffer)));
    suite_expect_ints(buffer, 1, 46);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_module_release(module));
}

RNL_TEST(a_byte_order_mark_is_passed_over)
{
    rnl_module module = NULL;
    expect_ok(compile("\xEF\xBB\xBF__global__ void marked() {}\n", NULL,
                      &module));
    expect_ok(rnl_module_release(module));
}

RNL_TEST(names_of_headers_may_have_any_signs)
{
    const rnl_header header = {"a=b c.h", "#define NAMED marked\n"};
    rnl_module module = NULL;
    expect_ok(compile("#include \"a=b c.h\"\n__global__ void NAMED() {}\n",
                      RNL_MODULE_OPTIONS(.headers = &header,
                                         .header_count = 1), &module));
    expect_ok(rnl_module_release(module));
}

RNL_TEST(an_include_directory_is_searched)
{
    char directory[] = "/tmp/runnel-include-XXXXXX", path[64], option[64];
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/there.h", directory);
    snprintf(option, sizeof option, "-I%s", directory);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("#define THERE 17\n", file);
    fclose(file);
    const char *const options[] = {option};
    rnl_module module = NULL;
    rnl_status status = compile(
        "#include \"there.h\"\n"
        "extern \"C\" __global__ void f(int *p) { *p = THERE; }\n",
        RNL_MODULE_OPTIONS(.options = options, .option_count = 1), &module);
    unlink(path);
    rmdir(directory);
    expect_ok(status);
    expect_ok(rnl_module_release(module));
}

RNL_TEST(source_without_kernels_is_a_module)
{
    rnl_module module = NULL;
    rnl_function function = NULL;
    expect_ok(compile("__device__ int alone;\n", NULL, &module));
    expect_error(rnl_module_function(module, "alone", &function),
                 RNL_ERROR_NOT_FOUND, "name");
    expect_ok(rnl_module_release(module));
}

// --- Binaries --------------------------------------------------------------

RNL_TEST(a_binary_can_be_saved_and_loaded_again)
{
    rnl_module module = suite_module(counter_source), again = NULL,
               from_file = NULL;
    const void *data = NULL;
    size_t size = 0;
    const char *log = NULL;
    expect_ok(rnl_module_binary(module, &data, &size));
    assert_true(size > 0);
    void *saved = malloc(size);
    assert_non_null(saved);
    memcpy(saved, data, size);
    char path[] = "/tmp/runnel-binary-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, saved, size), size);
    close(fd);
    expect_ok(rnl_module_release(module));
    expect_ok(rnl_module_load(suite_context(), saved, size, "saved", &again));
    memset(saved, 0, size);
    free(saved);
    rnl_status status =
        rnl_module_load_file(suite_context(), path, &from_file);
    unlink(path);
    expect_ok(status);
    expect_ok(rnl_module_log(again, &log));
    assert_string_equal(log, "");
    rnl_function function = function_of(again, "bump");
    assert_int_equal(bump(function, 4), 9);
    expect_error(rnl_enqueue_function(suite_stream(), function,
                                      RNL_LAUNCH(.grid = {1}, .block = {1}),
                                      RNL_ARGS(1)),
                 RNL_ERROR_ARGUMENT_MISMATCH, "args");
    expect_ok(rnl_function_release(function));
    function = function_of(from_file, "bump");
    assert_int_equal(bump(function, 4), 9);
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_module_release(again));
    expect_ok(rnl_module_release(from_file));
}

RNL_TEST(a_module_can_be_only_its_binary)
{
    rnl_module module = NULL, loaded = NULL;
    rnl_function function = NULL;
    rnl_buffer global = NULL;
    const void *data = NULL;
    size_t size = 0;
    expect_ok(compile(counter_source,
                      RNL_MODULE_OPTIONS(.binary_only = true), &module));
    expect_error(rnl_module_function(module, "bump", &function),
                 RNL_ERROR_INVALID_STATE, "module");
    expect_error(rnl_module_global(module, "counter", &global),
                 RNL_ERROR_INVALID_STATE, "module");
    expect_ok(rnl_module_binary(module, &data, &size));
    expect_ok(rnl_module_load(suite_context(), data, size, NULL, &loaded));
    expect_ok(rnl_module_release(module));
    function = function_of(loaded, "bump");
    assert_int_equal(bump(function, 4), 9);
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_module_release(loaded));
    expect_error(rnl_function_compile(suite_context(), counter_source, "bump",
                                      RNL_MODULE_OPTIONS(.binary_only = true),
                                      &function),
                 RNL_ERROR_INVALID_ARGUMENT, "options.binary_only");
}

RNL_TEST(damaged_binaries_are_refused)
{
    rnl_module module = suite_module(counter_source), loaded = NULL;
    const void *data = NULL;
    size_t size = 0;
    expect_ok(rnl_module_binary(module, &data, &size));
    unsigned char *bytes = malloc(size);
    assert_non_null(bytes);
    // Cut short.
    const size_t cuts[] = {1, 4, 16, 63, 64, size / 2, size - 1};
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        memcpy(bytes, data, size);
        expect_error(rnl_module_load(suite_context(), bytes, cuts[i], NULL,
                                     &loaded),
                     RNL_ERROR_INVALID_BINARY, NULL);
    }
    // A flipped byte here and there; on cpu a checksum sees every one.
    for (size_t i = 0; suite_is_cpu() && i < 64; i++) {
        memcpy(bytes, data, size);
        bytes[size * i / 64] ^= 0x20;
        expect_error(rnl_module_load(suite_context(), bytes, size, NULL,
                                     &loaded),
                     RNL_ERROR_INVALID_BINARY, NULL);
    }
    assert_null(loaded);
    free(bytes);
    expect_ok(rnl_module_release(module));
}

RNL_TEST(what_is_no_binary_is_refused)
{
    rnl_module module = NULL;
    unsigned char noise[4096];
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (unsigned char)(i * i * 31 + 7);
    expect_error(rnl_module_load(suite_context(), noise, sizeof noise, NULL,
                                 &module),
                 RNL_ERROR_INVALID_BINARY, NULL);
    memcpy(noise, "\177ELF\2\1\1", 8);
    expect_error(rnl_module_load(suite_context(), noise, sizeof noise, NULL,
                                 &module),
                 RNL_ERROR_INVALID_BINARY, NULL);
    expect_error(rnl_module_load(suite_context(), "", 0, NULL, &module),
                 RNL_ERROR_INVALID_BINARY, NULL);
    expect_error(rnl_module_load(suite_context(), NULL, 10, NULL, &module),
                 RNL_ERROR_INVALID_ARGUMENT, "data");
    // An honest library is not a kernel binary either.
    expect_error(rnl_module_load_file(suite_context(), "/proc/self/exe",
                                      &module),
                 RNL_ERROR_INVALID_BINARY, NULL);
    assert_null(module);
}

RNL_TEST(files_that_cannot_be_read_are_io_errors)
{
    rnl_module module = NULL;
    const char *const paths[] = {"/nonexistent/kernel.bin", "/tmp", ""};
    for (int i = 0; i < 3; i++)
        expect_error(rnl_module_load_file(suite_context(), paths[i], &module),
                     RNL_ERROR_IO, "path");
    expect_error(rnl_module_load_file(suite_context(), NULL, &module),
                 RNL_ERROR_INVALID_ARGUMENT, "path");
    assert_null(module);
}

// --- One step --------------------------------------------------------------

RNL_TEST(one_step_compiles_once)
{
    rnl_function a = suite_compile(counter_source, "bump");
    rnl_function b = suite_compile(counter_source, "bump");
    // The same code, so the same global.
    assert_int_equal(bump(a, 1), 6);
    assert_int_equal(bump(b, 1), 7);
    expect_ok(rnl_function_release(a));
    rnl_function c = suite_compile(counter_source, "bump");
    assert_int_equal(bump(c, 1), 8);
    expect_ok(rnl_function_release(b));
    expect_ok(rnl_function_release(c));
}

RNL_TEST(one_step_gives_a_function_anew_that_was_released)
{
    const rnl_function_attribute_id id = RNL_FUNCTION_DYNAMIC_SHARED;
    rnl_function_info info = {.struct_size = sizeof info};
    int64_t before = 0, after = 0;
    rnl_function a = suite_compile(counter_source, "bump");
    expect_ok(rnl_function_get_attribute(a, id, &before));
    expect_ok(rnl_function_set_attribute(a, id, 16));
    expect_ok(rnl_function_release(a));
    rnl_function b = suite_compile(counter_source, "bump");
    assert_ptr_not_equal(a, b);
    expect_error(rnl_function_get_info(a, &info), RNL_ERROR_INVALID_HANDLE,
                 "function");
    expect_error(rnl_function_release(a), RNL_ERROR_INVALID_HANDLE,
                 "function");
    expect_ok(rnl_function_get_attribute(b, id, &after));
    assert_int_equal(after, before);
    assert_int_equal(bump(b, 1), 6);
    expect_ok(rnl_function_release(b));
}

RNL_TEST(one_step_tells_options_apart)
{
    static const char source[] =
        "extern \"C\" __global__ void put(int *p) { *p = V; }\n";
    suite_need(RNL_FEATURE_COMPILE);
    rnl_buffer buffer = suite_ints(1, 0);
    const char *const options[] = {"-DV=1", "-DV=2"};
    for (int round = 0; round < 4; round++) {
        rnl_function function = NULL;
        expect_ok(rnl_function_compile(
            suite_context(), source, "put",
            RNL_MODULE_OPTIONS(.options = &options[round % 2],
                               .option_count = 1), &function));
        expect_ok(rnl_enqueue_function(suite_stream(), function,
                                       RNL_LAUNCH(.grid = {1}, .block = {1}),
                                       RNL_ARGS(buffer)));
        suite_expect_ints(buffer, 1, round % 2 + 1);
        expect_ok(rnl_function_release(function));
    }
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(one_step_takes_a_template)
{
    rnl_function function = suite_compile(template_source, "put<12>");
    rnl_function other = suite_compile(template_source, "put<13>");
    rnl_buffer buffer = suite_ints(2, 0);
    const rnl_launch *launch = RNL_LAUNCH(.grid = {1}, .block = {2});
    expect_ok(rnl_enqueue_function(suite_stream(), function, launch,
                                   RNL_ARGS(buffer)));
    suite_expect_ints(buffer, 2, 12);
    expect_ok(rnl_enqueue_function(suite_stream(), other, launch,
                                   RNL_ARGS(buffer)));
    suite_expect_ints(buffer, 2, 13);
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_function_release(other));
    expect_ok(rnl_buffer_release(buffer));
}
