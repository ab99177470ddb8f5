// Which tier runnel-cc chooses, and what it does when the SIMT compiler is
// missing or fails.
#include "build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct built built;
static const char simple[] =
    "extern \"C\" __global__ void k(int *out) { out[0] = 7; }\n";

// runnel-cc with another library beside it.
static void use_library(const char *file)
{
    char command[8300], path[128];
    built_write(&built, "k.cu", simple);
    snprintf(command, sizeof command, "cp %s %s/runnel-cc && cp %s "
             "%s/librunnel-simt.so", getenv("RUNNEL_CC"), built.folder, file,
             built.folder);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/runnel-cc", built.folder);
    setenv("RUNNEL_CC", path, 1);
}

// Whether the C++ compiler at hand goes with a SIMT compiler at all.
static bool is_read(void)
{
    char command[4200], line[1024];
    snprintf(command, sizeof command, "%s --identity", getenv("RUNNEL_CC"));
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(line, sizeof line, pipe));
    assert_int_equal(pclose(pipe), 0);
    return strstr(line, " simt fake ");
}

static void is_tier_f(const char *arguments)
{
    int out = 0;
    built_make(&built, arguments);
    assert_string_equal(built.log, "");
    assert_int_equal(built.status, 0);
    assert_int_equal(built.table->tier, 'F');
    built_run_ints(&built, "k", (rnl_dim3){1}, (rnl_dim3){1}, 0, &out, NULL, 0);
    assert_int_equal(out, 7);
}

static void fails(const char *arguments, const char *log)
{
    built_make(&built, arguments);
    assert_int_equal(built.status, 1);
    if (!strstr(built.log, log))
        fail_msg("said: %s", built.log);
}

RNL_TEST(tier_f_can_be_asked_for)
{
    built_write(&built, "k.cu", simple);
    is_tier_f("--source @/k.cu --option --tier=F");
    is_tier_f("--source @/k.cu --option --tier --option F");
    is_tier_f("--source @/k.cu --debug");
    built_close(&built);
}

RNL_TEST(tiers_that_cannot_be)
{
    built_write(&built, "k.cu", simple);
    fails("--source @/k.cu --option --tier=C", "error: --tier takes auto, F");
    fails("--source @/k.cu --option --tier=much_too_long", "error: --tier");
    fails("--source @/k.cu --option --tier=B --option -G", "leave out -G");
    built_close(&built);
}

RNL_TEST(a_simt_compiler_that_cannot_be_loaded)
{
    use_library("/dev/null");
    is_tier_f("--source @/k.cu");
    fails("--source @/k.cu --option --tier=B", "librunnel-simt.so");
    built_close(&built);
}

static void test_failure(const char *how, const char *log)
{
    use_library(FAKE_SIMT);
    setenv("FAKE_SIMT", how, 1);
    is_tier_f("--source @/k.cu");
    fails("--source @/k.cu --option --tier=B",
          is_read() ? log : "--tier=B needs clang 19");
    built_close(&built);
}

RNL_TEST(a_simt_compiler_that_crashes)
{
    test_failure("abort", "k.cu: error: the SIMT compiler crashed");
}

RNL_TEST(a_simt_compiler_that_fails)
{
    test_failure("fail", "k.cu: error: there is a fault\n");
}

RNL_TEST(a_kernel_that_is_refused)
{
    use_library(FAKE_SIMT);
    fails("--source @/k.cu --option --tier=B",
          is_read() ? "k.cu: error: kernel 'k' cannot be vectorised: of a "
                      "reason\n"
                    : "--tier=B needs clang 19");
    built_close(&built);
}

// Without one every kernel runs thread by thread.
RNL_TEST(no_simt_compiler)
{
    char command[256];
    use_library("/dev/null");
    snprintf(command, sizeof command, "rm %s/librunnel-simt.so", built.folder);
    assert_int_equal(system(command), 0);
    is_tier_f("--source @/k.cu");
    fails("--source @/k.cu --option --tier=B", "--tier=B needs clang 19");
    built_close(&built);
}
