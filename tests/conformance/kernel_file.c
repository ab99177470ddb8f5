// Kernels in files, and in the program.
#include "folder.h"
#include "suite.h"

#include <runnel/embedded.h>
#include <stdio.h>
#include <unistd.h>

static void put_text(const char *name, const char *text)
{
    test_write(name, text, strlen(text));
}

static rnl_status compile(const char *path, const rnl_module_options *options,
                          rnl_module *out_module)
{
    return suite_unless_old(
        rnl_module_compile_file(suite_context(), path, options, out_module));
}

// What the kernel `put` of the module writes.
static int result_of(rnl_module module)
{
    rnl_function function = NULL;
    rnl_buffer buffer = suite_ints(1, 0);
    int value = 0;
    expect_ok(rnl_module_function(module, "put", &function));
    expect_ok(rnl_enqueue_function(suite_stream(), function,
                                   RNL_LAUNCH(.grid = {1}, .block = {1}),
                                   RNL_ARGS(buffer)));
    suite_download(&value, buffer, sizeof value);
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_buffer_release(buffer));
    return value;
}

#define KERNEL(value) \
    "extern \"C\" __global__ void put(int *p) { *p = " value "; }\n"

RNL_TEST(a_kernel_file_compiles_with_what_lies_beside_it)
{
    suite_need(RNL_FEATURE_COMPILE);
    put_text("value.h", "#define VALUE 6\n");
    put_text("a.cu", "#include \"value.h\"\n" KERNEL("VALUE * FACTOR"));
    const char *const options[] = {"-DFACTOR=7"};
    rnl_module module = NULL;
    expect_ok(compile(test_path("a.cu"),
                      RNL_MODULE_OPTIONS(.options = options, .option_count = 1),
                      &module));
    assert_int_equal(result_of(module), 42);
    expect_ok(rnl_module_release(module));

    // The header was changed: the module is another.
    put_text("value.h", "#define VALUE 5\n");
    expect_ok(compile(test_path("a.cu"),
                      RNL_MODULE_OPTIONS(.options = options, .option_count = 1),
                      &module));
    assert_int_equal(result_of(module), 35);
    expect_ok(rnl_module_release(module));
}

RNL_TEST(a_path_without_a_folder_is_of_the_working_folder)
{
    suite_need(RNL_FEATURE_COMPILE);
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    put_text("value.h", "#define VALUE 6\n");
    put_text("a.cu", "#include \"value.h\"\n" KERNEL("VALUE"));
    rnl_module module = NULL;
    assert_int_equal(chdir(test_folder()), 0);
    rnl_status status = compile("a.cu", NULL, &module);
    assert_int_equal(chdir(before), 0);
    expect_ok(status);
    assert_int_equal(result_of(module), 6);
    expect_ok(rnl_module_release(module));
}

RNL_TEST(diagnostics_name_the_file)
{
    suite_need(RNL_FEATURE_COMPILE);
    rnl_module module = NULL;
    put_text("a.cu", "\nint x = ;\n");
    expect_error(compile(test_path("a.cu"), NULL, &module),
                 RNL_ERROR_COMPILE_FAILED, NULL);
    char place[160];
    snprintf(place, sizeof place, "%s:2", test_path("a.cu"));
    if (suite_is_cpu())
        assert_non_null(strstr(rnl_last_error()->log, place));
    expect_error(compile(test_path("a.cu"),
                         RNL_MODULE_OPTIONS(.name = "mine.cu"), &module),
                 RNL_ERROR_COMPILE_FAILED, NULL);
    if (suite_is_cpu())
        assert_non_null(strstr(rnl_last_error()->log, "mine.cu:2"));
    put_text("bad.h", "int y = ;\n");
    put_text("a.cu", "#include \"bad.h\"\n" KERNEL("1"));
    expect_error(compile(test_path("a.cu"), NULL, &module),
                 RNL_ERROR_COMPILE_FAILED, NULL);
    assert_non_null(strstr(rnl_last_error()->log, "bad.h:1"));
    assert_null(module);
}

RNL_TEST(an_untrusted_file_includes_what_lies_beside_it)
{
    suite_need(RNL_FEATURE_COMPILE);
    if (!suite_is_cpu())
        test_skip("the compiler of a GPU is not confined");
    put_text("value.h", "#define VALUE 6\n");
    put_text("a.cu", "#include \"value.h\"\n" KERNEL("VALUE"));
    rnl_module module = NULL;
    expect_ok(compile(test_path("a.cu"), RNL_MODULE_OPTIONS(.untrusted = true),
                      &module));
    assert_int_equal(result_of(module), 6);
    expect_ok(rnl_module_release(module));
}

RNL_TEST(a_file_that_is_no_source_is_refused)
{
    suite_need(RNL_FEATURE_COMPILE);
    rnl_module module = NULL;
    expect_error(compile(test_path("absent.cu"), NULL, &module), RNL_ERROR_IO,
                 "path");
    assert_non_null(strstr(rnl_last_error()->message, "absent.cu"));
    expect_error(compile(test_folder(), NULL, &module), RNL_ERROR_IO, "path");
    expect_error(compile("", NULL, &module), RNL_ERROR_INVALID_ARGUMENT,
                 "path");
    expect_error(compile(NULL, NULL, &module), RNL_ERROR_INVALID_ARGUMENT,
                 "path");
    test_write("a.cu", "int x;\0", 7);
    expect_error(compile(test_path("a.cu"), NULL, &module),
                 RNL_ERROR_INVALID_ARGUMENT, "path");
    assert_non_null(strstr(rnl_last_error()->message, "byte 6 is zero"));
    expect_error(compile(test_path("a.cu"),
                         RNL_MODULE_OPTIONS(.option_count = 3), &module),
                 RNL_ERROR_INVALID_ARGUMENT, "options.options");
    expect_error(compile(test_path("a.cu"), NULL, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_module");
    assert_null(module);
}

RNL_TEST(an_empty_file_is_a_module_without_kernels)
{
    suite_need(RNL_FEATURE_COMPILE);
    rnl_module module = NULL;
    size_t count = 1;
    put_text("a.cu", "");
    expect_ok(compile(test_path("a.cu"), NULL, &module));
    expect_ok(rnl_module_get_functions(module, NULL, 0, &count));
    assert_int_equal(count, 0);
    expect_ok(rnl_module_release(module));
}

// --- In the program --------------------------------------------------------

static rnl_status load(const rnl_embedded *embedded, rnl_module *out_module)
{
    return suite_unless_old(
        rnl_module_load_embedded(suite_context(), embedded, out_module));
}

RNL_TEST(embedded_source_compiles_with_its_headers)
{
    suite_need(RNL_FEATURE_COMPILE);
    const char *const options[] = {"-DFACTOR=7"};
    const rnl_header headers[] = {{"value.h", "#define VALUE 6\n"}};
    rnl_module module = NULL;
    expect_ok(load(RNL_EMBEDDED(.name = "in.cu",
                                .source = "#include \"value.h\"\n" KERNEL(
                                    "VALUE * FACTOR"),
                                .options = options, .option_count = 1,
                                .headers = headers, .header_count = 1),
                   &module));
    assert_int_equal(result_of(module), 42);
    expect_ok(rnl_module_release(module));
    module = NULL;
    expect_error(
        load(RNL_EMBEDDED(.name = "in.cu", .source = "int x = ;\n"), &module),
        RNL_ERROR_COMPILE_FAILED, NULL);
    assert_non_null(strstr(rnl_last_error()->log, "in.cu"));
    assert_null(module);
}

// The object that cannot be here comes first.
RNL_TEST(the_first_object_that_fits_is_loaded)
{
    suite_need(RNL_FEATURE_COMPILE);
    rnl_module made = suite_module(KERNEL("3")), module = NULL;
    const void *data = NULL;
    size_t size = 0;
    expect_ok(rnl_module_binary(made, &data, &size));
    const rnl_embedded_object objects[] = {{"other", "no binary", 9},
                                           {"this one", data, size}};
    expect_ok(load(RNL_EMBEDDED(.name = "in.cu", .source = KERNEL("4"),
                                .objects = objects, .object_count = 2),
                   &module));
    assert_int_equal(result_of(module), 3);
    expect_ok(rnl_module_release(module));
    expect_ok(load(RNL_EMBEDDED(.name = "in.cu", .source = KERNEL("4"),
                                .objects = objects, .object_count = 1),
                   &module));
    assert_int_equal(result_of(module), 4);
    expect_ok(rnl_module_release(module));
    // A fault of the source shows where an object is loaded, too.
    expect_error(load(RNL_EMBEDDED(.name = "in.cu", .source = KERNEL("4"),
                                   .header_count = 5, .objects = objects,
                                   .object_count = 2),
                      &module),
                 RNL_ERROR_INVALID_ARGUMENT, NULL);
    expect_ok(rnl_module_release(made));
}

RNL_TEST(embedded_kernels_that_cannot_be_are_refused)
{
    suite_need(RNL_FEATURE_COMPILE);
    rnl_module module = NULL;
    const rnl_embedded_object object = {"x86-64-v4", "no binary", 9};
    const rnl_embedded_object empty = {"x86-64-v4", NULL, 9};
    const rnl_embedded_object nameless = {NULL, "no binary", 9};
    expect_error(load(RNL_EMBEDDED(.name = "in.cu"), &module),
                 RNL_ERROR_INVALID_ARGUMENT, "embedded");
    expect_error(load(RNL_EMBEDDED(.object_count = 2), &module),
                 RNL_ERROR_INVALID_ARGUMENT, "embedded");
    expect_error(
        load(RNL_EMBEDDED(.objects = &empty, .object_count = 1), &module),
        RNL_ERROR_INVALID_ARGUMENT, "embedded");
    expect_error(
        load(RNL_EMBEDDED(.objects = &nameless, .object_count = 1), &module),
        RNL_ERROR_INVALID_ARGUMENT, "embedded");
    expect_error(load(RNL_EMBEDDED(.name = "in.cu", .objects = &object,
                                   .object_count = 1),
                      &module),
                 RNL_ERROR_INVALID_BINARY, "embedded");
    assert_non_null(strstr(rnl_last_error()->message, "in.cu (x86-64-v4)"));
    expect_error(load(NULL, &module), RNL_ERROR_INVALID_ARGUMENT, "embedded");
    expect_error(load(RNL_EMBEDDED(.source = ""), NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_module");
    assert_null(module);
}
