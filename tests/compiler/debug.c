// Line information of kernels, and what a fault tells in a debuggable one.
#include "build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct built built;

static const char source[] =
    "extern \"C\" __global__ void k(int *out, int bad)\n"
    "{\n"
    "    int index = threadIdx.x;\n"
    "    out[index] = index;\n"
    "    __syncthreads();\n"
    "    if (index == bad)\n"
    "        *(volatile int *)8 = out[0];\n"
    "}\n";

// Whether the lines of the object name this one of the source.
static bool has_line(const char *name, int line)
{
    char command[512], text[1024], wanted[16];
    bool found = false;
    snprintf(command, sizeof command, "readelf --debug-dump=decodedline %s",
             built.object);
    snprintf(wanted, sizeof wanted, "%d", line);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    while (fgets(text, sizeof text, pipe)) {
        char file[256], number[32];
        if (sscanf(text, "%255s %31s", file, number) == 2 &&
            strstr(file, name) && strcmp(number, wanted) == 0)
            found = true;
    }
    pclose(pipe);
    return found;
}

static bool mentions(const char *what)
{
    char command[8192];
    snprintf(command, sizeof command,
             "readelf --debug-dump=info %s | grep -q -e '%s'", built.object,
             what);
    return system(command) == 0;
}

static void need_readelf(void)
{
    if (system("readelf --version > /dev/null 2>&1") != 0)
        test_skip("no readelf");
}

RNL_TEST(debuggable_kernels_have_lines)
{
    need_readelf();
    built_write(&built, "k.cu", source);
    built_make(&built, "--source @/k.cu --name folder/own.cu --option -G");
    assert_string_equal(built.log, "");
    assert_int_equal(built.status, 0);
    static const int lines[] = {3, 4, 6, 7};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!has_line("own.cu", lines[i]))
            fail_msg("no line %d", lines[i]);
    assert_false(has_line("own.cu", 9));
    // Debuggers start from where the compiler was called.
    char here[4096];
    assert_non_null(getcwd(here, sizeof here));
    assert_true(mentions(here));
    assert_true(mentions("folder/own.cu"));
    assert_true(mentions("index"));
    assert_false(mentions("runnel-cc-"));
    built_close(&built);
}

RNL_TEST(optimised_kernels_have_lines_on_request)
{
    need_readelf();
    built_write(&built, "k.cu", source);
    built_make(&built, "--source @/k.cu --name own.cu --option --tier=F");
    assert_false(has_line("own.cu", 4));
    built_make(&built, "--source @/k.cu --name own.cu --option --tier=F "
                       "--option -lineinfo");
    assert_int_equal(built.status, 0);
    assert_true(has_line("own.cu", 4));
    built_close(&built);
}

RNL_TEST(vectors_have_lines_on_request)
{
    need_readelf();
    if (!built_may_be_tier_b())
        test_skip("tier F was asked for");
    built_write(&built, "k.cu", source);
    built_make(&built, "--source @/k.cu --name own.cu --option --tier=B "
                       "--option -lineinfo");
    assert_string_equal(built.log, "");
    assert_true(has_line("own.cu", 4));
    assert_true(has_line("own.cu", 7));
    built_close(&built);
}

// --- In the library ----------------------------------------------------------

static const char *fault(int bad, unsigned width, unsigned height)
{
    static const char *const options[] = {"-G"};
    rnl_context context;
    rnl_stream stream;
    rnl_buffer buffer;
    rnl_function function;
    assert_ok(rnl_context_open("cpu", 0, NULL, &context));
    assert_ok(rnl_context_default_stream(context, &stream));
    assert_ok(rnl_buffer_create(context, 4096, NULL, &buffer));
    assert_ok(rnl_function_compile(
        context, source, "k",
        RNL_MODULE_OPTIONS(.options = options, .option_count = 1), &function));
    assert_ok(rnl_enqueue_function(stream, function,
                                   RNL_LAUNCH(.grid = {1},
                                              .block = {width, height}),
                                   RNL_ARGS(buffer, bad)));
    assert_status(rnl_stream_synchronize(stream, RNL_FOREVER),
                  RNL_ERROR_LAUNCH_FAILED);
    static char message[1024];
    snprintf(message, sizeof message, "%s", rnl_last_error()->message);
    rnl_function_release(function);
    rnl_buffer_release(buffer);
    rnl_context_release(context);
    return message;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CONTAINED false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define CONTAINED false
#endif
#endif
#if !defined(CONTAINED)
#define CONTAINED true
#endif

RNL_TEST(a_fault_tells_the_thread)
{
#if defined(__x86_64__)
    if (!CONTAINED)
        test_skip("faults are the sanitizer's");
    const char *message = fault(37, 40, 1);
    if (!strstr(message, "block (0, 0, 0), thread (37, 0, 0): "))
        fail_msg("said: %s", message);
    message = fault(3, 5, 2);
    if (!strstr(message, "block (0, 0, 0), thread (3, 0, 0): ") &&
        !strstr(message, "block (0, 0, 0), thread (3, 1, 0): "))
        fail_msg("said: %s", message);
#else
    test_skip("not x86-64");
#endif
}

static int files_of_modules(const char *folder)
{
    char command[256], line[32] = "";
    snprintf(command, sizeof command, "find %s -name module.so | wc -l",
             folder);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(line, sizeof line, pipe));
    pclose(pipe);
    return atoi(line);
}

// Debuggers read it there.
RNL_TEST(debuggable_modules_have_a_file)
{
    static const char *const options[] = {"-G"};
    char folder[] = "/tmp/runnel-test-XXXXXX";
    rnl_context context;
    rnl_module plain, module;
    assert_non_null(mkdtemp(folder));
    setenv("TMPDIR", folder, 1);
    assert_ok(rnl_context_open("cpu", 0, NULL, &context));
    assert_ok(rnl_module_compile(context, source, NULL, &plain));
    assert_int_equal(files_of_modules(folder), 0);
    assert_ok(rnl_module_compile(
        context, source,
        RNL_MODULE_OPTIONS(.options = options, .option_count = 1), &module));
    assert_int_equal(files_of_modules(folder), 1);
    rnl_module_release(module);
    rnl_module_release(plain);
    rnl_context_release(context);
    assert_int_equal(rmdir(folder), 0);
}
