// Modules and functions through the public functions, with both caches; the
// kernel compiler is a script that counts its runs.
#include "core/module/function_cache.h"
#include "folder.h"
#include "test.h"  // its `fail` would hide ours

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND "_ZN5space6secondIiEEvv"

static rnl_context context;

static void begin(void)
{
    char script[2048];
    snprintf(script, sizeof script,
             "#!/bin/sh\nwhile [ $# -gt 0 ]; do case $1 in --output) "
             "out=$2;; --source) source=$2;; --dump-assembly) : >$2;; esac; "
             "shift; done\n"
             "echo run >>%s\n"
             "if grep -q broken $source; then echo 'error: broken'; exit 1; "
             "fi\ncp %s $out\n",
             test_path("runs"), FAKE_OBJECT);
    test_script("cc", script);
    test_remove("runs");
    test_remove("cache");
    setenv("RUNNEL_CC", test_path("cc"), 1);
    setenv("RUNNEL_CACHE_DIR", test_path("cache"), 1);
    assert_ok(rnl_context_open("cpu", 0, NULL, &context));
}

static size_t runs(void)
{
    return test_line_count("runs");
}

// Nothing of the library is left.
static void end(void)
{
    assert_ok(rnl_context_release(context));
    rnl_last_error_clear();
    assert_int_equal(test_held(0), 0);
}

static rnl_function one_step(const char *source, const char *name,
                             const rnl_module_options *options)
{
    rnl_function function;
    assert_ok(rnl_function_compile(context, source, name, options, &function));
    return function;
}

static void drop(rnl_function function)
{
    assert_ok(rnl_function_release(function));
}

// --- In memory -------------------------------------------------------------

RNL_TEST(the_same_source_is_compiled_once)
{
    begin();
    rnl_function first = one_step("a", "first", NULL);
    rnl_function again = one_step("a", "first", NULL);
    assert_ptr_equal(first, again);
    assert_int_equal(runs(), 1);
    drop(first);
    drop(again);
    assert_status(rnl_function_release(again), RNL_ERROR_INVALID_HANDLE);
    end();
}

RNL_TEST(a_released_function_comes_back_at_once)
{
    begin();
    rnl_function first = one_step("a", "first", NULL);
    drop(first);
    test_remove("cache");
    rnl_function again = one_step("a", "first", NULL);
    assert_ptr_not_equal(first, again);
    assert_int_equal(runs(), 1);
    drop(again);
    end();
}

RNL_TEST(functions_of_one_source_share_the_module)
{
    begin();
    rnl_function first = one_step("a", "first", NULL);
    rnl_function second = one_step("a", SECOND, NULL);
    test_remove("cache");
    assert_int_equal(runs(), 1);
    // An expression has to be told to the compiler.
    rnl_function third = one_step("a", "space::second<int>", NULL);
    assert_int_equal(runs(), 2);
    drop(first);
    drop(second);
    drop(third);
    end();
}

RNL_TEST(whatever_differs_is_compiled_anew)
{
    begin();
    const char *const defines[] = {"-DX=1"};
    const rnl_header header = {"h.h", ""};
    const rnl_module_options *const options[] = {
        NULL,
        RNL_MODULE_OPTIONS(.name = "other.cu"),
        RNL_MODULE_OPTIONS(.options = defines, .option_count = 1),
        RNL_MODULE_OPTIONS(.headers = &header, .header_count = 1),
        RNL_MODULE_OPTIONS(.name_expressions = defines,
                           .name_expression_count = 1),
    };
    for (size_t round = 0; round < 2; round++)
        for (size_t i = 0; i < 5; i++) {
            drop(one_step("a", "first", options[i]));
            assert_int_equal(runs(), round == 0 ? i + 1 : 5);
        }
    // The label and the time limit do not matter.
    drop(one_step("a", "first",
                  RNL_MODULE_OPTIONS(.label = "l", .timeout_ns = 5000000000)));
    assert_int_equal(runs(), 5);
    end();
}

// Where the text lies is a hint, no more.
RNL_TEST(a_text_that_changes_in_its_place_is_another)
{
    begin();
    static const char *const texts[] = {"a", "b", "ba", "a ", " a", ""};
    const size_t count = sizeof texts / sizeof *texts;
    char place[4];
    for (size_t round = 0; round < 3; round++)
        for (size_t i = 0; i < count; i++) {
            strcpy(place, texts[i]);
            drop(one_step(place, "first", NULL));
            drop(one_step(place, "first", NULL));
            drop(one_step(place, SECOND, NULL));
            assert_int_equal(runs(), round == 0 ? i + 1 : count);
        }
    const char *const defines[] = {"-DX=1"};
    const rnl_module_options *options =
        RNL_MODULE_OPTIONS(.options = defines, .option_count = 1);
    drop(one_step(place, "first", options));
    drop(one_step(place, "first", options));
    drop(one_step(place, "first", NULL));
    assert_int_equal(runs(), count + 1);
    end();
}

// Another thread may write while it is looked up.
RNL_TEST(a_text_that_changes_after_its_key_was_made_is_compared_no_further)
{
    begin();
    char place[4096] = "a";
    rnl_module_options options;
    struct source source;
    struct source_key key;
    struct function_cache_hit hit;
    struct context *inside =
        (struct context *)object_find(context, OBJECT_CONTEXT);
    rnl_function function = one_step("a", "first", NULL);
    assert_ok(source_check(place, NULL, &options, &source));
    assert_true(source_key_make(&key, &source, ""));
    memset(place, 'a', sizeof place - 1);
    function_cache_find(inside, &key, "first", &hit);
    assert_ptr_equal(hit.function, function);
    assert_null(function_cache_find_plain(inside, place, "first"));
    strcpy(place, "a");
    assert_ptr_equal(function_cache_find_plain(inside, place, "first"), function);
    source_key_finish(&key);
    for (int i = 0; i < 3; i++)
        drop(function);
    end();
}

RNL_TEST(a_failure_is_not_cached)
{
    begin();
    rnl_function function;
    for (size_t i = 1; i <= 2; i++) {
        assert_status(rnl_function_compile(context, "broken", "first", NULL,
                                           &function),
                      RNL_ERROR_COMPILE_FAILED);
        assert_int_equal(runs(), i);
    }
    end();
}

RNL_TEST(a_missing_name_lists_those_there_are)
{
    begin();
    rnl_function function;
    assert_status(rnl_function_compile(context, "a", "nowhere", NULL,
                                       &function),
                  RNL_ERROR_NOT_FOUND);
    const rnl_error *error = rnl_last_error();
    assert_string_equal(error->parameter, "name");
    assert_string_equal(error->function, "rnl_function_compile");
    assert_non_null(strstr(error->message, "'first', 'space::second<int>'"));
    // What was compiled for it is of use all the same.
    drop(one_step("a", "first", NULL));
    assert_int_equal(runs(), 1);
    end();
}

RNL_TEST(a_function_outlives_its_context)
{
    begin();
    rnl_function function = one_step("a", "first", NULL);
    assert_ok(rnl_context_release(context));
    rnl_function_info info = {.struct_size = sizeof info};
    assert_ok(rnl_function_get_info(function, &info));
    assert_string_equal(info.name, "first");
    drop(function);
    assert_int_equal(test_held(0), 0);
}

RNL_TEST(a_cached_hit_leaves_the_last_error_alone)
{
    begin();
    drop(one_step("a", "first", NULL));
    assert_status(rnl_function_compile(context, NULL, NULL, NULL, NULL),
                  RNL_ERROR_INVALID_ARGUMENT);
    drop(one_step("a", "first", NULL));
    assert_int_equal(rnl_last_error()->status, RNL_ERROR_INVALID_ARGUMENT);
    end();
}

// Ends with its argument where all went well.
static void *compile_many(void *source)
{
    for (int i = 0; i < 50; i++) {
        rnl_function function;
        if (rnl_function_compile(context, source, i % 2 ? "first" : SECOND,
                                 NULL, &function) != RNL_OK ||
            rnl_function_release(function) != RNL_OK)
            return NULL;
    }
    return source;
}

RNL_TEST(threads_compile_the_same_source)
{
    begin();
    static char sources[2][2] = {"a", "b"};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, compile_many,
                       sources[i % 2]);
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert_ptr_equal(result, sources[i % 2]);
    }
    assert_true(runs() >= 2 && runs() <= 4);
    end();
}

RNL_TEST(a_full_cache_forgets_the_oldest)
{
    begin();
    drop(one_step("a", "first", NULL));
    rnl_function function = one_step("a", "first", NULL);
    const void *data;
    size_t size;
    rnl_module module;
    assert_ok(rnl_module_compile(context, "a", NULL, &module));
    assert_ok(rnl_module_binary(module, &data, &size));
    struct context *inside =
        (struct context *)object_find(context, OBJECT_CONTEXT);
    for (int i = 0; i < 1100; i++) {
        char text[16];
        rnl_module other;
        struct source_key key;
        rnl_module_options options = {.name = "k"};
        const struct source source = {text, &options};
        snprintf(text, sizeof text, "%d", i);
        assert_ok(rnl_module_load(context, data, size, NULL, &other));
        struct module *loaded =
            (struct module *)object_find(other, OBJECT_MODULE);
        assert_true(source_key_make(&key, &source, ""));
        function_cache_add(inside, &key, &loaded);
        source_key_finish(&key);
        assert_ok(rnl_module_release(other));
    }
    assert_ok(rnl_module_release(module));
    // Forgotten, but in use.
    rnl_function_info info = {.struct_size = sizeof info};
    assert_ok(rnl_function_get_info(function, &info));
    rnl_function again = one_step("a", "first", NULL);
    assert_ptr_not_equal(function, again);
    drop(function);
    drop(again);
    end();
}

// --- On disk ---------------------------------------------------------------

static void compile_module(const char *source,
                           const rnl_module_options *options)
{
    rnl_module module;
    assert_ok(rnl_module_compile(context, source, options, &module));
    assert_ok(rnl_module_release(module));
}

RNL_TEST(the_disk_cache_spares_the_compiler)
{
    begin();
    compile_module("a", NULL);
    compile_module("a", NULL);
    assert_int_equal(runs(), 1);
    compile_module("b", NULL);
    assert_int_equal(runs(), 2);
    end();
}

RNL_TEST(a_changed_compiler_compiles_anew)
{
    begin();
    compile_module("a", NULL);
    FILE *script = fopen(test_path("cc"), "ae");
    fputs("# newer\n", script);
    fclose(script);
    compile_module("a", NULL);
    assert_int_equal(runs(), 2);
    end();
}

RNL_TEST(a_damaged_entry_compiles_anew)
{
    begin();
    compile_module("a", NULL);
    char path[512];
    snprintf(path, sizeof path, "%s", test_only_file("cache"));
    assert_int_equal(truncate(path, 1000), 0);
    compile_module("a", NULL);
    assert_int_equal(runs(), 2);
    compile_module("a", NULL);
    assert_int_equal(runs(), 2);
    end();
}

// What is wrong then is not the entry.
RNL_TEST(an_entry_that_no_file_can_be_made_for_is_kept)
{
    begin();
    compile_module("a", NULL);
    rnl_module module;
    struct rlimit limit, none;
    getrlimit(RLIMIT_FSIZE, &limit);
    none = limit;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_FSIZE, &none);
    rnl_status status = rnl_module_compile(context, "a", NULL, &module);
    setrlimit(RLIMIT_FSIZE, &limit);
    assert_int_equal(status, RNL_ERROR_IO);
    assert_int_equal(rnl_last_error()->native_code, EFBIG);
    compile_module("a", NULL);
    assert_int_equal(runs(), 1);
    end();
}

RNL_TEST(sources_that_read_files_are_not_cached)
{
    begin();
    const char *const options[] = {"-I/tmp", "-include=/x",
                                   "--pre-include=/x", "--include-path=/y"};
    for (size_t i = 0; i < 4; i++)
        for (size_t round = 1; round <= 2; round++) {
            compile_module(i < 3 ? "include" : "in\\\nclu\\ \r\n\\\nde",
                           RNL_MODULE_OPTIONS(.options = options + i,
                                              .option_count = 1));
            assert_int_equal(runs(), 2 * i + round);
        }
    size_t before = runs();
    for (int round = 0; round < 2; round++) {
        compile_module("#include \"/tmp/x.h\"\n", NULL);
        compile_module("# include\t<../x.h>\n", NULL);
    }
    assert_int_equal(runs(), before + 4);
    end();
}

RNL_TEST(folders_are_of_no_matter_to_sources_that_include_nothing)
{
    begin();
    const char *const folder = "-I/tmp";
    const rnl_header header = {"a.h", "#include <b.h>\n"};
    rnl_module_options options = *RNL_MODULE_OPTIONS(.options = &folder,
                                                     .option_count = 1);
    for (size_t i = 0; i < 4; i++) {
        options.headers = &header;
        options.header_count = i / 2;
        compile_module("a", &options);
    }
    assert_int_equal(runs(), 3);
    end();
}

RNL_TEST(a_dump_needs_the_compiler)
{
    begin();
    rnl_dump *dump = RNL_DUMP(.path = "/dev/null");
    rnl_module_options *options = RNL_MODULE_OPTIONS(.dump = dump);
    compile_module("a", NULL);
    compile_module("a", options);
    drop(one_step("a", "first", options));
    drop(one_step("a", "first", options));
    assert_int_equal(runs(), 4);
    end();
}

// --- Modules ---------------------------------------------------------------

RNL_TEST(a_saved_binary_is_loaded)
{
    begin();
    rnl_module module, loaded;
    const void *data;
    const char *log;
    size_t size;
    assert_ok(rnl_module_compile(context, "a", NULL, &module));
    assert_ok(rnl_module_binary(module, &data, &size));
    test_write("saved", data, size);
    assert_ok(rnl_module_load_file(context, test_path("saved"), &loaded));
    assert_ok(rnl_module_log(loaded, &log));
    assert_string_equal(log, "");
    assert_ok(rnl_module_retain(loaded));
    assert_ok(rnl_module_release(loaded));
    assert_ok(rnl_module_release(loaded));
    assert_status(rnl_module_release(loaded), RNL_ERROR_INVALID_HANDLE);
    assert_ok(rnl_module_release(module));
    assert_ok(rnl_module_release(NULL));
    end();
}

RNL_TEST(a_function_tells_what_it_is)
{
    begin();
    rnl_module module;
    rnl_function function;
    rnl_function_info info = {.struct_size = sizeof info};
    assert_ok(rnl_module_compile(context, "a", NULL, &module));
    assert_ok(rnl_module_function(module, "first", &function));
    assert_ok(rnl_module_release(module));
    assert_ok(rnl_function_get_info(function, &info));
    assert_string_equal(info.name, "first");
    assert_string_equal(info.symbol, "first");
    assert_int_equal(info.parameter_count, 2);
    assert_int_equal(info.parameters[0].kind, RNL_VALUE_POINTER);
    assert_string_equal(info.parameters[1].type, "int");
    assert_false(info.uses_barriers);
    drop(function);
    end();
}

RNL_TEST(a_variable_is_a_buffer)
{
    begin();
    rnl_module module;
    rnl_buffer buffer, none;
    void *pointer;
    rnl_buffer_info info = {.struct_size = sizeof info};
    assert_ok(rnl_module_compile(context, "a", NULL, &module));
    assert_ok(rnl_module_global(module, "counter", &buffer));
    assert_status(rnl_module_global(module, "nothing", &none),
                  RNL_ERROR_NOT_FOUND);
    assert_non_null(strstr(rnl_last_error()->message, "'counter'"));
    assert_ok(rnl_module_release(module));
    assert_ok(rnl_buffer_get_info(buffer, &info));
    assert_int_equal(info.size, sizeof(int));
    assert_true(info.borrowed);
    assert_ok(rnl_buffer_host_pointer(buffer, &pointer));
    assert_int_equal(*(int *)pointer, 0);
    assert_ok(rnl_buffer_release(buffer));
    end();
}

// --- Bad input -------------------------------------------------------------

// The failure must name the parameter.
#define REFUSES(call, status, name)                               \
    do {                                                          \
        assert_status(call, status);                              \
        assert_string_equal(rnl_last_error()->parameter, name);   \
        assert_non_null(strstr(rnl_last_error()->message, name)); \
    } while (0)
#define NO_ARGUMENT(call, name) REFUSES(call, RNL_ERROR_INVALID_ARGUMENT, name)
#define NO_HANDLE(call, name) REFUSES(call, RNL_ERROR_INVALID_HANDLE, name)

static rnl_status compile_with(const rnl_module_options *options)
{
    rnl_module module;
    return rnl_module_compile(context, "a", options, &module);
}

RNL_TEST(bad_arguments_of_compile_are_named)
{
    begin();
    rnl_module module;
    rnl_function f;
    NO_HANDLE(rnl_module_compile(NULL, "", NULL, &module), "context");
    NO_ARGUMENT(rnl_module_compile(context, NULL, NULL, &module), "source");
    NO_ARGUMENT(rnl_module_compile(context, "", NULL, NULL), "out_module");
    NO_HANDLE(rnl_function_compile(NULL, "", "f", NULL, &f), "context");
    NO_ARGUMENT(rnl_function_compile(context, NULL, "f", NULL, &f), "source");
    NO_ARGUMENT(rnl_function_compile(context, "", NULL, NULL, &f), "name");
    NO_ARGUMENT(rnl_function_compile(context, "", "", NULL, &f), "name");
    NO_ARGUMENT(rnl_function_compile(context, "", "f", NULL, NULL),
                "out_function");
    assert_int_equal(runs(), 0);
    end();
}

RNL_TEST(bad_options_are_named)
{
    begin();
    const char *const holes[] = {"-DX", NULL}, *const empty[] = {""};
    const rnl_header no_name = {NULL, ""}, no_source = {"h", NULL};
    const rnl_module_options unknown_size = {0};
    NO_ARGUMENT(compile_with(&unknown_size), "options");
    NO_ARGUMENT(compile_with(RNL_MODULE_OPTIONS(.option_count = 1)),
                "options.options");
    NO_ARGUMENT(compile_with(RNL_MODULE_OPTIONS(.options = holes,
                                                .option_count = 2)),
                "options.options");
    NO_ARGUMENT(compile_with(RNL_MODULE_OPTIONS(.options = empty,
                                                .option_count = 1)),
                "options.options");
    NO_ARGUMENT(compile_with(RNL_MODULE_OPTIONS(.options = holes,
                                                .option_count = SIZE_MAX)),
                "options.option_count");
    NO_ARGUMENT(compile_with(RNL_MODULE_OPTIONS(.header_count = 1)),
                "options.headers");
    NO_ARGUMENT(compile_with(RNL_MODULE_OPTIONS(.headers = &no_name,
                                                .header_count = 1)),
                "options.headers");
    NO_ARGUMENT(compile_with(RNL_MODULE_OPTIONS(.headers = &no_source,
                                                .header_count = 1)),
                "options.headers");
    NO_ARGUMENT(compile_with(RNL_MODULE_OPTIONS(.name_expression_count = 9)),
                "options.name_expressions");
    NO_ARGUMENT(compile_with(RNL_MODULE_OPTIONS(.name_expressions = holes + 1,
                                                .name_expression_count = 1)),
                "options.name_expressions");
    assert_int_equal(runs(), 0);
    end();
}

RNL_TEST(bad_arguments_of_load_are_named)
{
    begin();
    rnl_module m;
    NO_HANDLE(rnl_module_load(NULL, "x", 1, NULL, &m), "context");
    NO_ARGUMENT(rnl_module_load(context, NULL, 1, NULL, &m), "data");
    NO_ARGUMENT(rnl_module_load(context, "x", 1, NULL, NULL), "out_module");
    assert_status(rnl_module_load(context, "x", 0, NULL, &m),
                  RNL_ERROR_INVALID_BINARY);
    assert_status(rnl_module_load(context, "x", 1, NULL, &m),
                  RNL_ERROR_INVALID_BINARY);
    NO_HANDLE(rnl_module_load_file(NULL, "x", &m), "context");
    NO_ARGUMENT(rnl_module_load_file(context, NULL, &m), "path");
    NO_ARGUMENT(rnl_module_load_file(context, "x", NULL), "out_module");
    assert_status(rnl_module_load_file(context, "/nowhere", &m), RNL_ERROR_IO);
    assert_status(rnl_module_load_file(context, "/tmp", &m), RNL_ERROR_IO);
    assert_status(rnl_module_load_file(context, "", &m), RNL_ERROR_IO);
    assert_status(rnl_module_load_file(context, FAKE_OBJECT, &m),
                  RNL_ERROR_INVALID_BINARY);
    test_write("empty", "", 0);
    assert_status(rnl_module_load_file(context, test_path("empty"), &m),
                  RNL_ERROR_INVALID_BINARY);
    mkfifo(test_path("fifo"), 0600);
    assert_status(rnl_module_load_file(context, test_path("fifo"), &m),
                  RNL_ERROR_IO);
    end();
}

RNL_TEST(bad_arguments_of_modules_are_named)
{
    begin();
    rnl_module module;
    rnl_function f;
    rnl_buffer buffer;
    const void *data;
    const char *log;
    size_t size;
    assert_ok(rnl_module_compile(context, "a", NULL, &module));
    NO_HANDLE(rnl_module_retain(NULL), "module");
    NO_HANDLE(rnl_module_release((rnl_module)context), "module");
    NO_HANDLE(rnl_module_binary(NULL, &data, &size), "module");
    NO_ARGUMENT(rnl_module_binary(module, NULL, &size), "out_data");
    NO_ARGUMENT(rnl_module_binary(module, &data, NULL), "out_size");
    NO_HANDLE(rnl_module_log(NULL, &log), "module");
    NO_ARGUMENT(rnl_module_log(module, NULL), "out_log");
    NO_HANDLE(rnl_module_function(NULL, "x", &f), "module");
    NO_ARGUMENT(rnl_module_function(module, NULL, &f), "name");
    NO_ARGUMENT(rnl_module_function(module, "", &f), "name");
    NO_ARGUMENT(rnl_module_function(module, "first", NULL), "out_function");
    NO_HANDLE(rnl_module_global(NULL, "x", &buffer), "module");
    NO_ARGUMENT(rnl_module_global(module, NULL, &buffer), "name");
    NO_ARGUMENT(rnl_module_global(module, "counter", NULL), "out_buffer");
    assert_ok(rnl_module_release(module));
    NO_HANDLE(rnl_module_function(module, "first", &f), "module");
    end();
}

static rnl_status native(const rnl_native_call *call)
{
    (void)call;
    return RNL_OK;
}

static rnl_status create_native(const rnl_native_options *options)
{
    rnl_function function;
    rnl_status status = rnl_function_create_native(context, "n", native,
                                                   options, &function);
    if (status == RNL_OK)
        drop(function);
    return status;
}

static rnl_status create_with(rnl_parameter parameter)
{
    return create_native(RNL_NATIVE_OPTIONS(.parameters = &parameter,
                                            .parameter_count = 1));
}

RNL_TEST(bad_arguments_of_native_functions_are_named)
{
    begin();
    rnl_function f;
    NO_HANDLE(rnl_function_create_native(NULL, "n", native, NULL, &f),
              "context");
    NO_ARGUMENT(rnl_function_create_native(context, NULL, native, NULL, &f),
                "name");
    NO_ARGUMENT(rnl_function_create_native(context, "", native, NULL, &f),
                "name");
    NO_ARGUMENT(rnl_function_create_native(context, "n", NULL, NULL, &f),
                "native");
    NO_ARGUMENT(rnl_function_create_native(context, "n", native, NULL, NULL),
                "out_function");
    NO_ARGUMENT(create_native(RNL_NATIVE_OPTIONS(.parameter_count = 1)),
                "options.parameters");
    NO_ARGUMENT(create_native(RNL_NATIVE_OPTIONS(.parameter_count = 1u << 31)),
                "options.parameter_count");
    NO_ARGUMENT(create_native(RNL_NATIVE_OPTIONS(.max_block_threads = 1u
                                                                      << 31)),
                "options.max_block_threads");
    NO_ARGUMENT(create_with((rnl_parameter){RNL_VALUE_INTEGER, 0, 4, ""}),
                "options.parameters");
    NO_ARGUMENT(create_with((rnl_parameter){RNL_VALUE_POINTER, 4, 4, ""}),
                "options.parameters");
    NO_ARGUMENT(create_with((rnl_parameter){RNL_VALUE_INTEGER, 4, 3, ""}),
                "options.parameters");
    NO_ARGUMENT(create_with((rnl_parameter){(rnl_value_kind)9, 4, 4, ""}),
                "options.parameters");
    assert_ok(create_with((rnl_parameter){RNL_VALUE_FLOAT, 4, 4, NULL}));
    assert_ok(create_native(NULL));
    end();
}

RNL_TEST(a_native_function_tells_what_it_is)
{
    begin();
    rnl_function function;
    char type[] = "float";
    rnl_parameter parameter = {RNL_VALUE_FLOAT, 4, 4, type};
    assert_ok(rnl_function_create_native(
        context, "scale", native,
        RNL_NATIVE_OPTIONS(.parameters = &parameter, .parameter_count = 1,
                           .max_block_threads = 7),
        &function));
    memset(&parameter, 0, sizeof parameter);
    memset(type, 'x', 5);
    rnl_function_info info = {.struct_size = sizeof info};
    assert_ok(rnl_function_get_info(function, &info));
    assert_string_equal(info.name, "scale");
    assert_string_equal(info.parameters[0].type, "float");
    assert_int_equal(info.max_block_threads, 7);
    NO_ARGUMENT(rnl_function_get_info(function, NULL), "out_info");
    NO_HANDLE(rnl_function_get_info(NULL, &info), "function");
    NO_HANDLE(rnl_function_retain(NULL), "function");
    assert_ok(rnl_function_retain(function));
    drop(function);
    drop(function);
    NO_HANDLE(rnl_function_release(function), "function");
    assert_ok(rnl_function_release(NULL));
    end();
}
