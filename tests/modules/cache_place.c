// Where the disk cache lies, and when it is not used.
#include "base/alloc.h"
#include "core/module/disk_cache.h"
#include "folder.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char key[] = "key";

// RUNNEL_CACHE_DIR is unset in every test of this program: the library reads it
// once.
static void begin(const char *xdg, const char *home)
{
    unsetenv("RUNNEL_CACHE_DIR");
    test_remove("home");
    mkdir(test_path("home"), 0700);
    xdg ? setenv("XDG_CACHE_HOME", xdg, 1) : unsetenv("XDG_CACHE_HOME");
    home ? setenv("HOME", home, 1) : unsetenv("HOME");
}

static bool works(void)
{
    void *found;
    size_t size;
    disk_cache_store(key, sizeof key, "value", 5);
    if (!disk_cache_load(key, sizeof key, &found, &size))
        return false;
    mem_release(found, size);
    return true;
}

RNL_TEST(without_any_place_nothing_is_stored)
{
    begin(NULL, NULL);
    assert_false(works());
    begin("", "");
    assert_false(works());
}

RNL_TEST(relative_places_are_not_used)
{
    begin("relative", "also/relative");
    assert_false(works());
    assert_int_equal(access("relative", F_OK), -1);
}

RNL_TEST(the_home_folder_is_the_default)
{
    begin(NULL, test_path("home"));
    assert_true(works());
    assert_int_equal(access(test_path("home/.cache/runnel"), F_OK), 0);
}

RNL_TEST(xdg_goes_before_home)
{
    begin(test_path("home/a/b"), test_path("home"));
    assert_true(works());
    assert_int_equal(access(test_path("home/a/b/runnel"), F_OK), 0);
    assert_int_equal(access(test_path("home/.cache"), F_OK), -1);
}

RNL_TEST(a_folder_that_cannot_be_made_says_why)
{
    const char *fault = "";
    if (mkdir("/sys/runnel", 0700) == 0 || errno == ENOENT)
        test_skip("folders can be made in /sys, or it is not there");
    char why[128];
    snprintf(why, sizeof why, "%s", strerror(errno));
    begin("/sys/runnel", NULL);
    assert_int_equal(disk_cache_open(&fault), -1);
    assert_string_equal(fault, why);
}

static void try_mode(mode_t mode, bool expected)
{
    begin(test_path("home"), NULL);
    mkdir(test_path("home/runnel"), 0700);
    chmod(test_path("home/runnel"), mode);
    assert_int_equal(works(), expected);
    chmod(test_path("home/runnel"), 0700);
}

RNL_TEST(a_folder_that_others_may_write_to_is_not_used)
{
    try_mode(0777, false);
    try_mode(0770, false);
    try_mode(0702, false);
}

RNL_TEST(a_folder_that_others_may_read_is_used)
{
    try_mode(0755, true);
}

RNL_TEST(a_folder_of_another_user_is_not_used)
{
    if (geteuid() != 0)
        test_skip("only root can give folders away");
    begin(test_path("home"), NULL);
    mkdir(test_path("home/runnel"), 0700);
    assert_int_equal(chown(test_path("home/runnel"), 12345, 12345), 0);
    assert_false(works());
}

RNL_TEST(a_folder_that_cannot_be_made_is_no_error)
{
    begin("/proc/nowhere", NULL);
    assert_false(works());
    begin(test_path("home/file"), NULL);
    test_write("home/file", "x", 1);
    assert_false(works());
}

RNL_TEST(a_folder_that_cannot_be_written_is_no_error)
{
    begin("/sys", NULL);
    assert_false(works());
}
