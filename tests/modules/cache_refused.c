// Entries of the disk cache that verify and are of no use.
#include "core/module/disk_cache.h"
#include "folder.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static rnl_context context;

static void begin(void)
{
    char script[2048];
    snprintf(script, sizeof script,
             "#!/bin/sh\nwhile [ $# -gt 0 ]; do case $1 in --output) "
             "out=$2;; esac; shift; done\necho run >>%s\ncp %s $out\n",
             test_path("runs"), FAKE_OBJECT);
    test_script("cc", script);
    setenv("RUNNEL_CC", test_path("cc"), 1);
    setenv("RUNNEL_CACHE_DIR", test_path("cache"), 1);
    assert_ok(rnl_context_open("cpu", 0, NULL, &context));
}

// Compiles the one source, and returns how often the compiler ran until then.
static size_t compile(void)
{
    rnl_module module;
    assert_ok(rnl_module_compile(context, "a", NULL, &module));
    assert_ok(rnl_module_release(module));
    return test_line_count("runs");
}

// Another version of the library may have taken what this one refuses.
RNL_TEST(an_entry_whose_binary_is_refused_compiles_anew)
{
    begin();
    assert_int_equal(compile(), 1);
    struct disk_cache_contents contents;
    const char *fault = NULL, *name = strrchr(test_only_file("cache"), '/') + 1;
    int directory = disk_cache_open(&fault);
    assert_true(directory >= 0);
    assert_true(disk_cache_read(directory, name, &contents));
    assert_non_null(contents.key);
    disk_cache_store(contents.key, contents.key_size, "no object", 9);
    assert_int_equal(compile(), 2);
    // Empty is as good as absent, and an entry that is too large is not kept.
    disk_cache_store(contents.key, contents.key_size, "", 0);
    assert_int_equal(compile(), 3);
    disk_cache_store(contents.key, contents.key_size, name, SIZE_MAX);
    disk_cache_store(contents.key, contents.key_size, name, (size_t)1 << 40);
    assert_int_equal(compile(), 3);
    disk_cache_contents_free(&contents);
    assert_int_equal(close(directory), 0);
    assert_ok(rnl_context_release(context));
    assert_int_equal(test_held(0), 0);
}
