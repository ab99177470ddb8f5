// Where runnel-clang is there, the clang that is installed is not started, nor,
// where it has a linker in it, another linker, unless something goes wrong.
#include "build.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static struct built built;

static void write_program(const char *name, const char *text)
{
    char path[128];
    built_write(&built, name, text);
    snprintf(path, sizeof path, "%s/%s", built.folder, name);
    assert_int_equal(chmod(path, 0700), 0);
}

static void write_kernel(void)
{
    built_write(&built, "k.cu", "extern \"C\" __global__ void k(int *out)\n"
                                "{ out[threadIdx.x] = threadIdx.x; }\n");
}

// The first clang in PATH is one that always fails, and the first linker is
// where that is not needed.
static void compiles(const char *options, bool links)
{
    static const char fails[] = "#!/bin/sh\necho it was started >&2; exit 1\n";
    char path[128], arguments[128];
    write_kernel();
    write_program("clang++-19", fails);
    if (links && getenv("TEST_LINKER"))
        write_program("ld", fails);
    snprintf(path, sizeof path, "%s:/usr/bin:/bin", built.folder);
    setenv("PATH", path, 1);
    snprintf(arguments, sizeof arguments, "--source @/k.cu %s", options);
    built_make(&built, arguments);
    assert_string_equal(built.log, "");
    assert_int_equal(built.status, 0);
    built_close(&built);
}

RNL_TEST(lanes_of_vectors)
{
    compiles("--option --tier=B", true);
}

RNL_TEST(one_block_size)
{
    compiles("--option --block-size=64x1", true);
}

RNL_TEST(thread_by_thread)
{
    compiles("--option --tier=F", false);
}

RNL_TEST(for_debugging)
{
    compiles("--debug", false);
}

// It is beside runnel-cc, and no SIMT compiler is.
RNL_TEST(a_crash_in_the_middle_leaves_it_to_the_clang_that_is_installed)
{
    char command[8300], path[128];
    write_kernel();
    write_program("runnel-clang", "#!/bin/sh\necho v 0 0; exit 70\n");
    snprintf(command, sizeof command, "cp %s %s/runnel-cc",
             getenv("RUNNEL_CC"), built.folder);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/runnel-cc", built.folder);
    setenv("RUNNEL_CC", path, 1);
    built_make(&built, "--source @/k.cu");
    assert_string_equal(built.log, "");
    assert_int_equal(built.status, 0);
    assert_non_null(built_kernel(&built, "k")->run_threads);
    built_close(&built);
}
