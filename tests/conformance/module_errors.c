// Source that does not compile, names that are not there, bad arguments.
#include "suite.h"

#include <stdio.h>
#include <unistd.h>

static rnl_status compile(const char *source,
                          const rnl_module_options *options,
                          rnl_module *out_module)
{
    suite_need(RNL_FEATURE_COMPILE);
    return rnl_module_compile(suite_context(), source, options, out_module);
}

// The compiler's log of `source`, which must fail and leave nothing.
static const char *log_of(const char *source,
                          const rnl_module_options *options)
{
    suite_need(RNL_FEATURE_COMPILE);
    rnl_module module = NULL;
    expect_error(rnl_module_compile(suite_context(), source, options,
                                    &module),
                 RNL_ERROR_COMPILE_FAILED, NULL);
    assert_null(module);
    const char *log = rnl_last_error()->log;
    assert_non_null(log);
    return log;
}

static void expect_in(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in: %s", part, text);
}

RNL_TEST(an_error_has_file_line_and_caret)
{
    const char *log = log_of(
        "extern \"C\" __global__ void f(int *p) {\n"
        "    p[0] = 1;\n"
        "    p[1] = undeclared_thing;\n"
        "}\n", RNL_MODULE_OPTIONS(.name = "waves.cu"));
    expect_in(log, "waves.cu:3:12");
    expect_in(log, "undeclared_thing");
    expect_in(log, "p[1] = undeclared_thing;");
    expect_in(log, "^");
}

RNL_TEST(an_unknown_option_is_refused)
{
    static const char *const options[] = {"--use_slow_math"};
    rnl_module module = NULL;
    expect_error(compile("", RNL_MODULE_OPTIONS(.options = options,
                                                .option_count = 1),
                         &module),
                 RNL_ERROR_INVALID_ARGUMENT, NULL);
    expect_in(rnl_last_error()->message, "--use_slow_math");
}

// Only the compiler of the cpu is confined.
RNL_TEST(untrusted_text_reads_no_file_or_is_refused)
{
    static const char source[] = "#include \"/etc/passwd\"\n";
    rnl_module module = NULL;
    rnl_status status = compile(source, RNL_MODULE_OPTIONS(.untrusted = true),
                                &module);
    const rnl_error *error = rnl_last_error();
    assert_null(module);
    if (suite_is_cpu()) {
        assert_int_equal(status, RNL_ERROR_COMPILE_FAILED);
        assert_null(strstr(error->log, "root:"));
        expect_in(error->log, "/etc/passwd");
    } else if (status == RNL_ERROR_UNSUPPORTED) {
        assert_string_equal(error->parameter, "options.untrusted");
        expect_in(error->message, "a process of its own");
        expect_in(error->message, strcmp(suite_api(), "hip") == 0
                                      ? "runnel-hip-cc"
                                      : "inside this process");
    }
}

RNL_TEST(an_option_that_loads_code_is_refused)
{
    static const char *const options[] = {"-w", "-fplugin=absent.so"};
    rnl_module module = NULL;
    expect_error(compile("", RNL_MODULE_OPTIONS(.options = options,
                                                .option_count = 2),
                         &module),
                 RNL_ERROR_INVALID_ARGUMENT, "options.options");
    expect_in(rnl_last_error()->message, "'-fplugin=absent.so'");
}

RNL_TEST(without_a_name_the_file_is_kernel_cu)
{
    expect_in(log_of("\n\nint x = ;\n", NULL), "kernel.cu:3:");
}

RNL_TEST(an_error_in_a_header_names_the_header)
{
    const rnl_header header = {"broken.h", "\nint broken = \"text\";\n"};
    const char *log =
        log_of("#include \"broken.h\"\n",
               RNL_MODULE_OPTIONS(.headers = &header, .header_count = 1));
    expect_in(log, "broken.h:2:");
}

RNL_TEST(all_errors_are_in_the_log)
{
    const char *log = log_of("int a = first_missing;\n"
                             "int b = second_missing;\n"
                             "int c = third_missing;\n", NULL);
    expect_in(log, "first_missing");
    expect_in(log, "second_missing");
    expect_in(log, "third_missing");
}

RNL_TEST(the_error_directive_fails_with_its_text)
{
    expect_in(log_of("#error \"wrong number of \\303\\244pples\"\n", NULL),
              "wrong number of");
}

RNL_TEST(a_missing_header_is_named)
{
    expect_in(log_of("#include \"nowhere/to/find.h\"\n", NULL),
              "nowhere/to/find.h");
}

RNL_TEST(a_long_log_is_never_cut)
{
    enum { LINES = 300 };
    static char source[LINES * 64];
    char last[64];
    size_t length = 0;
    for (int i = 0; i < LINES; i++)
        length += (size_t)snprintf(
            source + length, sizeof source - length,
            "#warning this is the warning with number %d\n", i);
    snprintf(source + length, sizeof source - length, "#error the end\n");
    const char *log = log_of(source, NULL);
    snprintf(last, sizeof last, "with number %d", LINES - 1);
    expect_in(log, "with number 0");
    expect_in(log, last);
    expect_in(log, "the end");
}

RNL_TEST(warnings_are_in_the_log_of_the_module)
{
    // A source of its own, so that no cache has it.
    char source[256];
    snprintf(source, sizeof source,
             "#warning mind the gap\n// %p %ld\n"
             "extern \"C\" __global__ void f() {}\n", (void *)&source,
             (long)getpid());
    rnl_module module = NULL;
    const char *log = NULL;
    expect_ok(compile(source, NULL, &module));
    expect_ok(rnl_module_log(module, &log));
    expect_in(log, "mind the gap");
    expect_ok(rnl_module_release(module));
}

RNL_TEST(a_failure_is_forgotten_by_the_next_compile)
{
    log_of("int x = ;\n", NULL);
    rnl_module module = NULL;
    expect_ok(compile("extern \"C\" __global__ void f() {}\n", NULL,
                      &module));
    expect_ok(rnl_module_release(module));
}

RNL_TEST(a_kernel_that_returns_something_does_not_compile)
{
    log_of("extern \"C\" __global__ int f(int *p) { return *p; }\n", NULL);
}

RNL_TEST(empty_source_has_no_functions)
{
    rnl_module module = NULL;
    rnl_function function = NULL;
    expect_ok(compile("", NULL, &module));
    expect_error(rnl_module_function(module, "f", &function),
                 RNL_ERROR_NOT_FOUND, "name");
    expect_ok(rnl_module_release(module));
    assert_null(function);
}

RNL_TEST(a_missing_function_lists_those_there_are)
{
    rnl_module module = suite_module(
        "extern \"C\" __global__ void alpha() {}\n"
        "extern \"C\" __global__ void beta() {}\n"
        "__device__ int gamma_variable;\n");
    rnl_function function = NULL;
    const char *const names[] = {"alpah", "_", "gamma_variable", "main",
                                 "alpha<int>"};
    for (int i = 0; i < 5; i++) {
        expect_error(rnl_module_function(module, names[i], &function),
                     RNL_ERROR_NOT_FOUND, "name");
        expect_in(rnl_last_error()->message, "alpha");
        expect_in(rnl_last_error()->message, "beta");
    }
    expect_error(rnl_module_function(module, "", &function),
                 RNL_ERROR_INVALID_ARGUMENT, "name");
    assert_null(function);
    expect_ok(rnl_module_release(module));
}

RNL_TEST(a_missing_global_is_not_found)
{
    rnl_module module = suite_module(
        "extern \"C\" __global__ void alpha() {}\n"
        "__device__ int there;\n");
    rnl_buffer buffer = NULL;
    const char *const names[] = {"their", "_", "alpha", "environ", "stdout"};
    for (int i = 0; i < 5; i++)
        expect_error(rnl_module_global(module, names[i], &buffer),
                     RNL_ERROR_NOT_FOUND, "name");
    expect_error(rnl_module_global(module, "", &buffer),
                 RNL_ERROR_INVALID_ARGUMENT, "name");
    assert_null(buffer);
    expect_ok(rnl_module_release(module));
}

RNL_TEST(a_name_expression_that_means_nothing_fails)
{
    suite_need(RNL_FEATURE_COMPILE);
    const char *const names[] = {"scale<no_such_type>"};
    rnl_module module = NULL;
    expect_error(rnl_module_compile(
                     suite_context(),
                     "template <class T> __global__ void scale(T *p) {}\n",
                     RNL_MODULE_OPTIONS(.name_expressions = names,
                                        .name_expression_count = 1), &module),
                 RNL_ERROR_COMPILE_FAILED, NULL);
    assert_null(module);
}

RNL_TEST(one_step_of_a_missing_name_is_not_found_or_fails)
{
    suite_need(RNL_FEATURE_COMPILE);
    rnl_function function = NULL;
    rnl_status status = rnl_function_compile(
        suite_context(), "extern \"C\" __global__ void alpha() {}\n", "alpah",
        NULL, &function);
    assert_true(status == RNL_ERROR_NOT_FOUND ||
                status == RNL_ERROR_COMPILE_FAILED);
    assert_int_equal(rnl_last_error()->status, status);
    assert_null(function);
    // The failure is not cached.
    function = suite_compile("extern \"C\" __global__ void alpha() {}\n",
                             "alpha");
    expect_ok(rnl_function_release(function));
}

RNL_TEST(compile_arguments_are_checked)
{
    rnl_context context = suite_context();
    rnl_module module = NULL;
    rnl_function function = NULL;
    rnl_module_options no_size = {.struct_size = 0};
    expect_error(rnl_module_compile(context, NULL, NULL, &module),
                 RNL_ERROR_INVALID_ARGUMENT, "source");
    expect_error(rnl_module_compile(context, "", NULL, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_module");
    expect_error(rnl_module_compile(context, "", &no_size, &module),
                 RNL_ERROR_INVALID_ARGUMENT, "options");
    expect_error(rnl_function_compile(context, NULL, "f", NULL, &function),
                 RNL_ERROR_INVALID_ARGUMENT, "source");
    expect_error(rnl_function_compile(context, "", NULL, NULL, &function),
                 RNL_ERROR_INVALID_ARGUMENT, "name");
    expect_error(rnl_function_compile(context, "", "f", NULL, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_function");
    expect_error(rnl_function_compile(context, "", "f", &no_size, &function),
                 RNL_ERROR_INVALID_ARGUMENT, "options");
    assert_null(module);
    assert_null(function);
}

RNL_TEST(option_lists_with_holes_are_refused)
{
    rnl_context context = suite_context();
    rnl_module module = NULL;
    const char *const strings[] = {"-DA=1", NULL};
    const rnl_header headers[] = {{NULL, "int x;"}, {"a.h", NULL}};
    const rnl_module_options rows[] = {
        {.options = NULL, .option_count = 1},
        {.options = strings, .option_count = 2},
        {.headers = NULL, .header_count = 1},
        {.headers = &headers[0], .header_count = 1},
        {.headers = &headers[1], .header_count = 1},
        {.name_expressions = NULL, .name_expression_count = 1},
        {.name_expressions = strings, .name_expression_count = 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rnl_module_options options = rows[i];
        options.struct_size = sizeof options;
        expect_error(rnl_module_compile(context, "", &options, &module),
                     RNL_ERROR_INVALID_ARGUMENT, "options");
    }
    assert_null(module);
}

RNL_TEST(module_results_may_not_be_null)
{
    rnl_module module =
        suite_module("extern \"C\" __global__ void f() {}\n");
    const void *data;
    size_t size;
    rnl_function function = NULL;
    rnl_buffer buffer = NULL;
    expect_error(rnl_module_binary(module, NULL, &size),
                 RNL_ERROR_INVALID_ARGUMENT, "out_data");
    expect_error(rnl_module_binary(module, &data, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_size");
    expect_error(rnl_module_log(module, NULL), RNL_ERROR_INVALID_ARGUMENT,
                 "out_log");
    expect_error(rnl_module_function(module, "f", NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_function");
    expect_error(rnl_module_function(module, NULL, &function),
                 RNL_ERROR_INVALID_ARGUMENT, "name");
    expect_error(rnl_module_global(module, NULL, &buffer),
                 RNL_ERROR_INVALID_ARGUMENT, "name");
    expect_error(rnl_module_global(module, "f", NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_buffer");
    expect_error(rnl_module_load(suite_context(), "x", 1, NULL, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_module");
    expect_error(rnl_module_load_file(suite_context(), "x", NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_module");
    function = NULL;
    expect_ok(rnl_module_function(module, "f", &function));
    rnl_function_info info = {.struct_size = 0};
    expect_error(rnl_function_get_info(function, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_info");
    expect_error(rnl_function_get_info(function, &info),
                 RNL_ERROR_INVALID_ARGUMENT, "out_info");
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_module_release(module));
}

RNL_TEST(a_loop_without_end_in_the_compiler_times_out)
{
    suite_need(RNL_FEATURE_COMPILE);
    if (!suite_is_cpu())
        test_skip("only where the compiler is a process of its own");
    rnl_module module = NULL;
    expect_error(
        rnl_module_compile(
            suite_context(),
            "template <int N, int M> struct tree {\n"
            "    enum { value = tree<N - 1, M * 2>::value +\n"
            "                   tree<N - 1, M * 2 + 1>::value };\n"
            "};\n"
            "template <int M> struct tree<0, M> { enum { value = M }; };\n"
            "__device__ int x = tree<24, 0>::value;\n",
            RNL_MODULE_OPTIONS(.timeout_ns = 300 * 1000000ull), &module),
        RNL_ERROR_COMPILER_CRASHED, NULL);
    assert_null(module);
}
