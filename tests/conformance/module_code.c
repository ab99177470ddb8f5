// What is in a module: its kernels, and the vendor's code.
#include "suite.h"

#include <stdio.h>

static const char source[] =
    "struct pair { double low; char more[5]; };\n"
    "__device__ int helper(int x) { return x + 1; }\n"
    "extern \"C\" __global__ void first(int *out, int by) {\n"
    "    out[threadIdx.x] = helper(by);\n"
    "}\n"
    "namespace a {\n"
    "__global__ void __launch_bounds__(64) second(float *out, pair value) {\n"
    "    out[0] = value.low + value.more[0];\n"
    "}\n"
    "}\n"
    "template <class T> __global__ void third(T *data, T by) {\n"
    "    data[threadIdx.x] *= by;\n"
    "}\n";

static const char *const expressions[] = {"third<float>", "third<double>"};

static rnl_module module_of(const rnl_module_options *options)
{
    rnl_module module = NULL;
    suite_need(RNL_FEATURE_COMPILE);
    expect_ok(rnl_module_compile(suite_context(), source, options, &module));
    return module;
}

// --- Kernels ---------------------------------------------------------------

enum { MOST = 16 };

static rnl_function_info info_of(rnl_function function)
{
    rnl_function_info info = {.struct_size = sizeof info};
    expect_ok(rnl_function_get_info(function, &info));
    return info;
}

static rnl_function find(rnl_function *functions, size_t count,
                         const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(info_of(functions[i]).name, name) == 0)
            return functions[i];
    print_error("'%s' is not listed\n", name);
    assert_true(false);
    return NULL;
}

static void release_all(rnl_function *functions, size_t count)
{
    for (size_t i = 0; i < count; i++)
        expect_ok(rnl_function_release(functions[i]));
}

static void check_second(rnl_function function)
{
    rnl_function_info info = info_of(function);
    assert_int_equal(info.parameter_count, 2);
    // A driver tells no more of eight bytes than that they are there.
    assert_true(info.parameters[0].kind == RNL_VALUE_POINTER ||
                info.parameters[0].kind == RNL_VALUE_UNKNOWN);
    assert_int_equal(info.parameters[0].size, sizeof(void *));
    assert_int_equal(info.parameters[1].kind, RNL_VALUE_STRUCT);
    assert_int_equal(info.parameters[1].size, 16);
    assert_true(info.max_block_threads > 0);
}

RNL_TEST(a_module_lists_its_kernels)
{
    rnl_module module = module_of(RNL_MODULE_OPTIONS(
        .name_expressions = expressions, .name_expression_count = 2));
    rnl_function functions[MOST] = {0};
    size_t count = 0;
    expect_ok(rnl_module_get_functions(module, functions, MOST, &count));
    assert_int_equal(count, 4);
    assert_null(functions[4]);
    assert_non_null(find(functions, count, "third<float>"));
    assert_non_null(find(functions, count, "third<double>"));
    check_second(find(functions, count, "a::second"));

    rnl_function first = find(functions, count, "first");
    assert_int_equal(info_of(first).parameter_count, 2);
    rnl_buffer buffer = suite_ints(4, 0);
    expect_ok(rnl_module_release(module));  // the functions keep it
    expect_ok(rnl_enqueue_function(suite_stream(), first,
                                   RNL_LAUNCH(.grid = {1}, .block = {4}),
                                   RNL_ARGS(buffer, 6)));
    suite_expect_ints(buffer, 4, 7);
    expect_ok(rnl_buffer_release(buffer));
    release_all(functions, count);
}

RNL_TEST(a_list_of_kernels_is_as_long_as_asked)
{
    rnl_module module = module_of(NULL);
    rnl_function functions[MOST] = {0};
    size_t count = 0;
    expect_ok(rnl_module_get_functions(module, NULL, 0, &count));
    assert_int_equal(count, 2);
    count = 0;
    expect_ok(rnl_module_get_functions(module, functions, 1, &count));
    assert_int_equal(count, 2);
    assert_non_null(functions[0]);
    assert_null(functions[1]);
    expect_ok(rnl_function_release(functions[0]));
    expect_ok(rnl_module_release(module));
}

RNL_TEST(a_module_without_kernels_lists_none)
{
    rnl_module module = suite_module("__device__ int alone;\n");
    rnl_function functions[MOST] = {0};
    size_t count = 7;
    expect_ok(rnl_module_get_functions(module, functions, MOST, &count));
    assert_int_equal(count, 0);
    assert_null(functions[0]);
    expect_ok(rnl_module_release(module));
}

RNL_TEST(a_list_of_kernels_needs_its_arguments)
{
    rnl_module module = module_of(NULL);
    rnl_module unloaded = module_of(RNL_MODULE_OPTIONS(.binary_only = true));
    rnl_function functions[MOST] = {0};
    size_t count = 0;
    expect_error(rnl_module_get_functions(module, NULL, 1, &count),
                 RNL_ERROR_INVALID_ARGUMENT, "out_functions");
    expect_error(rnl_module_get_functions(module, functions, MOST, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_count");
    expect_error(rnl_module_get_functions(unloaded, functions, MOST, &count),
                 RNL_ERROR_INVALID_STATE, "module");
    assert_null(functions[0]);
    expect_ok(rnl_module_release(module));
    expect_ok(rnl_module_release(unloaded));
}

// --- Code ------------------------------------------------------------------

static const rnl_code_kind kinds[] = {RNL_CODE_OBJECT, RNL_CODE_PTX,
                                      RNL_CODE_CUBIN, RNL_CODE_FATBIN};

// The one kind that the module has; all others are refused in words.
static rnl_code_kind kind_of(rnl_module module, const char **out_data,
                             size_t *out_size)
{
    rnl_code_kind found = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const void *data = NULL;
        size_t size = 0;
        rnl_status status =
            rnl_module_native_code(module, kinds[i], &data, &size);
        if (status == RNL_OK) {
            assert_int_equal(found, 0);
            assert_non_null(data);
            assert_true(size > 0);
            found = kinds[i];
            *out_data = data;
            *out_size = size;
        } else {
            expect_error(status, RNL_ERROR_UNSUPPORTED, "kind");
            assert_null(data);
        }
    }
    return found;
}

RNL_TEST(the_vendors_code_comes_out_of_a_module)
{
    rnl_module module = module_of(NULL);
    rnl_module unloaded = module_of(RNL_MODULE_OPTIONS(.binary_only = true));
    const char *data = NULL, *again = NULL;
    size_t size = 0, size_again = 0;
    rnl_code_kind kind = kind_of(module, &data, &size);
    assert_int_equal(kind_of(unloaded, &again, &size_again), kind);
    if (kind == RNL_CODE_PTX) {
        assert_true(data[size - 1] != '\0');
    } else {
        assert_int_equal(kind, suite_is_cpu() ? RNL_CODE_OBJECT
                                              : RNL_CODE_CUBIN);
        assert_memory_equal(data, "\177ELF", 4);
        assert_memory_equal(again, "\177ELF", 4);
    }
    expect_ok(rnl_module_release(module));
    expect_ok(rnl_module_release(unloaded));
}

// A driver takes what came out, and so does Runnel of a GPU.
RNL_TEST(ptx_comes_out_of_a_module_that_has_it)
{
    rnl_device_info device = {.struct_size = sizeof device};
    expect_ok(rnl_device_get_info(suite_device(), &device));
    if (suite_is_cpu())
        test_skip("no PTX on a cpu");
    if (suite_is_hip())
        test_skip("no PTX on an AMD GPU");
    char option[32];
    snprintf(option, sizeof option, "-arch=compute_%d%d", device.compute_major,
             device.compute_minor);
    const char *const options[] = {option};
    rnl_module module = module_of(RNL_MODULE_OPTIONS(.options = options,
                                                     .option_count = 1));
    const char *data = NULL;
    size_t size = 0;
    assert_int_equal(kind_of(module, &data, &size), RNL_CODE_PTX);
    char *text = strndup(data, size);
    assert_non_null(text);
    assert_int_equal(strlen(text), size);
    assert_non_null(strstr(text, ".entry first("));
    rnl_module loaded = NULL;
    rnl_function functions[MOST] = {0};
    size_t count = 0;
    expect_ok(rnl_module_load(suite_context(), data, size, NULL, &loaded));
    expect_ok(rnl_module_get_functions(loaded, functions, MOST, &count));
    assert_int_equal(count, 2);
    check_second(find(functions, count, "a::second"));
    release_all(functions, count);
    assert_int_equal(kind_of(loaded, &data, &size), RNL_CODE_PTX);
    free(text);
    expect_ok(rnl_module_release(loaded));
    expect_ok(rnl_module_release(module));
}

RNL_TEST(a_cubin_that_came_out_is_loaded_again)
{
    if (suite_is_cpu())
        test_skip("no cubin on a cpu");
    rnl_module module = module_of(NULL), loaded = NULL;
    const char *data = NULL, *again = NULL;
    size_t size = 0, size_again = 0, count = 0;
    rnl_function functions[MOST] = {0};
    if (kind_of(module, &data, &size) != RNL_CODE_CUBIN)
        test_skip("the compiler makes PTX for this device");
    expect_ok(rnl_module_load(suite_context(), data, size, NULL, &loaded));
    assert_int_equal(kind_of(loaded, &again, &size_again), RNL_CODE_CUBIN);
    assert_int_equal(size_again, size);
    assert_memory_equal(again, data, size);
    rnl_status status =
        rnl_module_get_functions(loaded, functions, MOST, &count);
    if (status == RNL_OK) {
        assert_int_equal(count, 2);
        release_all(functions, count);
    } else {
        expect_error(status, RNL_ERROR_UNSUPPORTED, "module");
        assert_non_null(strstr(rnl_last_error()->message, "from 12.4 on"));
        assert_true(suite_driver_is_old());
    }
    expect_ok(rnl_module_release(loaded));
    expect_ok(rnl_module_release(module));
}

RNL_TEST(native_code_needs_its_arguments)
{
    rnl_module module = module_of(NULL);
    const void *data = NULL;
    size_t size = 0;
    expect_error(rnl_module_native_code(module, 0, &data, &size),
                 RNL_ERROR_INVALID_ARGUMENT, "kind");
    expect_error(rnl_module_native_code(module, 5, &data, &size),
                 RNL_ERROR_INVALID_ARGUMENT, "kind");
    expect_error(rnl_module_native_code(module, RNL_CODE_OBJECT, NULL, &size),
                 RNL_ERROR_INVALID_ARGUMENT, "out_data");
    expect_error(rnl_module_native_code(module, RNL_CODE_OBJECT, &data, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_size");
    assert_null(data);
    expect_ok(rnl_module_release(module));
}
