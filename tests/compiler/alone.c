// Where runnel-clang is there, the clang that is installed is not started.
#include "build.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static struct built built;

// The first clang in PATH is one that always fails.
static void compiles(const char *options)
{
    char path[128], arguments[128];
    built_write(&built, "k.cu", "extern \"C\" __global__ void k(int *out)\n"
                                "{ out[threadIdx.x] = threadIdx.x; }\n");
    built_write(&built, "clang++-19", "#!/bin/sh\n"
                                      "echo it was started >&2; exit 1\n");
    snprintf(path, sizeof path, "%s/clang++-19", built.folder);
    assert_int_equal(chmod(path, 0700), 0);
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
    compiles("--option --tier=B");
}

RNL_TEST(one_block_size)
{
    compiles("--option --block-size=64x1");
}

RNL_TEST(thread_by_thread)
{
    compiles("--option --tier=F");
}

RNL_TEST(for_debugging)
{
    compiles("--debug");
}
