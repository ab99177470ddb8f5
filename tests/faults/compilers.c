// Kernel compilers that misbehave, played by shell scripts: each gives the
// documented status and a sentence, and the library works on.
#include "child.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static rnl_status expected;
static const char *expected_word;
static uint64_t timeout_ns;

static int compile_fails(void)
{
    rnl_context context = NULL;
    rnl_module module = NULL;
    rnl_function function = NULL;
    CHECK(rnl_context_open("cpu", 0, NULL, &context) == RNL_OK);
    for (int i = 0; i < 2; i++) {
        CHECK(rnl_module_compile(
                  context, "extern \"C\" __global__ void f() {}\n",
                  RNL_MODULE_OPTIONS(.timeout_ns = timeout_ns), &module) ==
              expected);
        const rnl_error *error = rnl_last_error();
        CHECK(error->status == expected);
        CHECK(strlen(error->message) >= 12);
        CHECK(!strcmp(error->function, "rnl_module_compile"));
        CHECK(!expected_word || strstr(error->message, expected_word) ||
              (error->log && strstr(error->log, expected_word)));
        CHECK(!module);
    }
    CHECK(rnl_function_compile(context,
                               "extern \"C\" __global__ void f() {}\n", "f",
                               RNL_MODULE_OPTIONS(.timeout_ns = timeout_ns),
                               &function) == expected);
    CHECK(!function);
    return child_still_works(context);
}

// Runs compile_fails with a compiler that is the script `text`; with NULL there
// is no file.
static void try_script(const char *text, rnl_status status, const char *word)
{
    char folder[64], script[96], compiler[128], cache[128];
    child_folder(folder, sizeof folder);
    snprintf(script, sizeof script, "%s/cc", folder);
    snprintf(compiler, sizeof compiler, "RUNNEL_CC=%s", script);
    snprintf(cache, sizeof cache, "RUNNEL_CACHE_DIR=%s/cache", folder);
    if (text)
        child_script(script, text);
    expected = status;
    expected_word = word;
    const char *const environment[] = {compiler, cache, "RUNNEL_LOG", NULL};
    child_run(compile_fails, environment);
    child_remove(folder);
}

RNL_TEST(a_missing_compiler_is_unavailable)
{
    try_script(NULL, RNL_ERROR_COMPILER_UNAVAILABLE, "/cc");
}

static void without_permission(const char *mode_script)
{
    char folder[64], script[96], compiler[128];
    child_folder(folder, sizeof folder);
    snprintf(script, sizeof script, "%s/cc", folder);
    snprintf(compiler, sizeof compiler, "RUNNEL_CC=%s", script);
    child_script(script, mode_script);
    assert_int_equal(chmod(script, 0600), 0);
    expected = RNL_ERROR_COMPILER_UNAVAILABLE;
    expected_word = "/cc";
    const char *const environment[] = {compiler, "RUNNEL_CACHE_DISABLE=1",
                                       NULL};
    child_run(compile_fails, environment);
    child_remove(folder);
}

RNL_TEST(a_compiler_that_is_not_executable_is_unavailable)
{
    without_permission("exit 0");
}

RNL_TEST(a_folder_is_no_compiler)
{
    expected = RNL_ERROR_COMPILER_UNAVAILABLE;
    expected_word = NULL;
    const char *const environment[] = {"RUNNEL_CC=/tmp",
                                       "RUNNEL_CACHE_DISABLE=1", NULL};
    child_run(compile_fails, environment);
}

RNL_TEST(a_killed_compiler_has_crashed)
{
    try_script("kill -9 $$", RNL_ERROR_COMPILER_CRASHED, NULL);
}

RNL_TEST(an_aborted_compiler_has_crashed)
{
    try_script("kill -6 $$", RNL_ERROR_COMPILER_CRASHED, NULL);
    try_script("kill -11 $$", RNL_ERROR_COMPILER_CRASHED, NULL);
}

RNL_TEST(a_hanging_compiler_is_ended_at_the_time_limit)
{
    timeout_ns = 200 * 1000000ull;
    try_script("while :; do sleep 100; done", RNL_ERROR_COMPILER_CRASHED,
               NULL);
    timeout_ns = 0;
}

RNL_TEST(a_compiler_that_ignores_signals_is_ended_too)
{
    timeout_ns = 200 * 1000000ull;
    try_script("trap '' TERM INT HUP\nwhile :; do sleep 100; done",
               RNL_ERROR_COMPILER_CRASHED, NULL);
    timeout_ns = 0;
}

RNL_TEST(a_compiler_that_fails_with_garbage)
{
    try_script("head -c 100000 /dev/urandom >&2\n"
               "head -c 100000 /dev/urandom\nexit 99",
               RNL_ERROR_COMPILER_CRASHED, NULL);
}

RNL_TEST(a_compiler_that_succeeds_without_an_object)
{
    try_script("exit 0", RNL_ERROR_COMPILER_CRASHED, NULL);
}

// What follows --output is where the object goes, whatever the rest says.
#define FIND_OUTPUT                                       \
    "out=\n"                                              \
    "while [ $# -gt 0 ]; do\n"                            \
    "    case $1 in\n"                                    \
    "    --output) out=$2 ;;\n"                           \
    "    esac\n"                                          \
    "    shift\n"                                         \
    "done\n"                                              \
    "[ -n \"$out\" ] || exit 0\n"

static rnl_status damaged;

static int object_is_refused(void)
{
    rnl_context context = NULL;
    rnl_module module = NULL;
    CHECK(rnl_context_open("cpu", 0, NULL, &context) == RNL_OK);
    damaged = rnl_module_compile(
        context, "extern \"C\" __global__ void f() {}\n", NULL, &module);
    CHECK(damaged == RNL_ERROR_COMPILER_CRASHED ||
          damaged == RNL_ERROR_INVALID_BINARY);
    CHECK(rnl_last_error()->status == damaged);
    CHECK(strlen(rnl_last_error()->message) >= 12);
    CHECK(!module);
    return child_still_works(context);
}

static void try_object(const char *text)
{
    char folder[64], script[96], compiler[128], cache[128];
    child_folder(folder, sizeof folder);
    snprintf(script, sizeof script, "%s/cc", folder);
    snprintf(compiler, sizeof compiler, "RUNNEL_CC=%s", script);
    snprintf(cache, sizeof cache, "RUNNEL_CACHE_DIR=%s/cache", folder);
    child_script(script, text);
    const char *const environment[] = {compiler, cache, NULL};
    child_run(object_is_refused, environment);
    // Once more: nothing bad may have been cached.
    child_run(object_is_refused, environment);
    child_remove(folder);
}

RNL_TEST(a_compiler_that_writes_an_empty_object)
{
    try_object(FIND_OUTPUT ": > \"$out\"");
}

RNL_TEST(a_compiler_that_writes_garbage)
{
    try_object(FIND_OUTPUT "head -c 5000 /dev/urandom > \"$out\"");
}

RNL_TEST(a_compiler_that_writes_another_library)
{
    try_object(FIND_OUTPUT "cp /bin/sh \"$out\"");
}

RNL_TEST(a_compiler_that_makes_a_folder)
{
    try_object(FIND_OUTPUT "rm -f \"$out\"; mkdir \"$out\"");
}

RNL_TEST(a_compiler_that_cuts_its_object_short)
{
    const char *real = child_compiler();
    char text[1024];
    // The real one works, then the object loses its end.
    snprintf(text, sizeof text,
             "\"%s\" \"$@\" || exit\n" FIND_OUTPUT
             "size=$(wc -c < \"$out\")\n"
             "head -c $((size / 2)) \"$out\" > \"$out.cut\"\n"
             "cat \"$out.cut\" > \"$out\"; rm \"$out.cut\"",
             real);
    try_object(text);
}

RNL_TEST(a_compiler_that_flips_a_byte_of_its_object)
{
    const char *real = child_compiler();
    char text[1024];
    // In the header, which every loader needs.
    snprintf(text, sizeof text,
             "\"%s\" \"$@\" || exit\n" FIND_OUTPUT
             "printf '\\377' | dd of=\"$out\" bs=1 seek=18 conv=notrunc "
             "2>/dev/null",
             real);
    try_object(text);
}

static int supports_says_no(void)
{
    rnl_context context = NULL;
    const char *reason = NULL;
    CHECK(rnl_context_open("cpu", 0, NULL, &context) == RNL_OK);
    CHECK(rnl_context_supports(context, RNL_FEATURE_COMPILE, &reason) ==
          RNL_ERROR_UNSUPPORTED);
    CHECK(strstr(reason, "RUNNEL_CC"));
    return child_still_works(context);
}

RNL_TEST(the_feature_query_answers_without_a_compiler)
{
    const char *const environment[] = {"RUNNEL_CC=/nonexistent/cc", NULL};
    child_run(supports_says_no, environment);
}

// A finished object needs no compiler at all.
static char object_path[128];

static int save_object(void)
{
    rnl_context context = NULL;
    rnl_module module = NULL;
    const void *data = NULL;
    size_t size = 0;
    CHECK(rnl_context_open("cpu", 0, NULL, &context) == RNL_OK);
    CHECK(rnl_module_compile(context,
                             "extern \"C\" __global__ void f(int *p) {\n"
                             "    *p = 77;\n"
                             "}\n", NULL, &module) == RNL_OK);
    CHECK(rnl_module_binary(module, &data, &size) == RNL_OK);
    FILE *file = fopen(object_path, "w");
    CHECK(file);
    CHECK(fwrite(data, 1, size, file) == size);
    return fclose(file);
}

static int load_object(void)
{
    rnl_context context = NULL;
    rnl_stream stream = NULL;
    rnl_module module = NULL;
    rnl_function function = NULL;
    rnl_buffer buffer = NULL;
    int value = 0;
    CHECK(rnl_context_open("cpu", 0, NULL, &context) == RNL_OK);
    CHECK(rnl_context_default_stream(context, &stream) == RNL_OK);
    CHECK(rnl_module_load_file(context, object_path, &module) == RNL_OK);
    CHECK(rnl_module_function(module, "f", &function) == RNL_OK);
    CHECK(rnl_buffer_create(context, 4, NULL, &buffer) == RNL_OK);
    CHECK(rnl_enqueue_function(stream, function,
                               RNL_LAUNCH(.grid = {1}, .block = {1}),
                               RNL_ARGS(buffer)) == RNL_OK);
    CHECK(rnl_copy_from_buffer_and_wait(stream, &value, buffer, 0, 4) ==
          RNL_OK);
    CHECK(value == 77);
    return 0;
}

RNL_TEST(a_finished_object_needs_no_compiler)
{
    char folder[64];
    child_compiler();
    child_folder(folder, sizeof folder);
    snprintf(object_path, sizeof object_path, "%s/object", folder);
    const char *const with[] = {"RUNNEL_CACHE_DISABLE=1", NULL};
    const char *const without[] = {"RUNNEL_CC=/nonexistent/cc",
                                   "PATH=/nonexistent", NULL};
    child_run(save_object, with);
    child_run(load_object, without);
    child_remove(folder);
}
