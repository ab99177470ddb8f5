// Private folders, and those of processes that were killed.
#include "unit.h"

#include "base/scratch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char base[64];

static void begin(void)
{
    strcpy(base, "/tmp/runnel-test-XXXXXX");
    assert_non_null(mkdtemp(base));
    setenv("TMPDIR", base, 1);
}

static void end(void)
{
    assert_int_equal(rmdir(base), 0);  // nothing stayed behind
}

static bool is_there(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0;
}

static void fill(const char *folder)
{
    char path[SCRATCH_PATH_SIZE + 16];
    snprintf(path, sizeof path, "%s/inner", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/inner/file", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
}

struct owner {
    pid_t process;
    char path[SCRATCH_PATH_SIZE];
};

// Another process that has a folder, until it is killed.
static void start(struct owner *owner)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    owner->process = fork();
    if (owner->process == 0) {
        struct scratch scratch;
        bool made = scratch_make(&scratch, 0) == 0 &&
                    write(ends[1], scratch.path, sizeof scratch.path) ==
                        (ssize_t)sizeof scratch.path;
        while (made)
            pause();
        test_exit(1);
    }
    close(ends[1]);
    size_t size = 0;
    while (size < sizeof owner->path) {
        ssize_t got =
            read(ends[0], owner->path + size, sizeof owner->path - size);
        assert_true(got > 0);
        size += (size_t)got;
    }
    close(ends[0]);
}

static void stop(struct owner *owner)
{
    kill(owner->process, SIGKILL);
    assert_int_equal(waitpid(owner->process, NULL, 0), owner->process);
}

RNL_TEST(a_private_folder_goes_with_all_that_is_in_it)
{
    struct scratch scratch;
    struct stat facts;
    begin();
    assert_int_equal(scratch_make(&scratch, 0), 0);
    assert_int_equal(stat(scratch.path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0700);
    fill(scratch.path);
    scratch_remove(&scratch);
    assert_false(is_there(scratch.path));
    end();
}

RNL_TEST(the_folder_of_a_killed_process_goes_with_the_next_one)
{
    struct owner dead;
    struct scratch scratch;
    begin();
    start(&dead);
    fill(dead.path);
    stop(&dead);
    assert_true(is_there(dead.path));
    assert_int_equal(scratch_make(&scratch, 0), 0);
    assert_false(is_there(dead.path));
    scratch_remove(&scratch);
    end();
}

RNL_TEST(the_folder_of_a_living_process_stays)
{
    struct owner living;
    struct scratch scratch, other;
    begin();
    start(&living);
    assert_int_equal(scratch_make(&scratch, 0), 0);
    assert_int_equal(scratch_make(&other, 0), 0);
    assert_true(is_there(living.path));
    assert_true(is_there(scratch.path));
    stop(&living);
    scratch_remove(&scratch);
    assert_int_equal(scratch_make(&scratch, 0), 0);
    assert_false(is_there(living.path));
    assert_true(is_there(other.path));
    scratch_remove(&scratch);
    scratch_remove(&other);
    end();
}

// Names that look alike: files, links, folders that are not of this scheme.
RNL_TEST(nothing_else_is_swept)
{
    char path[192], target[128];
    struct scratch scratch;
    begin();
    snprintf(target, sizeof target, "%s/target", base);
    assert_int_equal(mkdir(target, 0700), 0);
    fill(target);
    snprintf(path, sizeof path, "%s/runnel-own-link", base);
    assert_int_equal(symlink(target, path), 0);
    assert_int_equal(scratch_make(&scratch, 0), 0);
    scratch_remove(&scratch);
    assert_true(is_there(target));
    unlink(path);
    snprintf(path, sizeof path, "%s/inner/file", target);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/inner", target);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(target), 0);
    end();
}

RNL_TEST(a_folder_that_cannot_be_is_told)
{
    struct scratch scratch;
    char *name = malloc(5000);
    setenv("TMPDIR", "/absent", 1);
    assert_int_equal(scratch_make(&scratch, 0), ENOENT);
    assert_non_null(strstr(scratch.path, "/absent/"));
    assert_non_null(name);
    memset(name, 'x', 4999);
    name[4999] = 0;
    setenv("TMPDIR", name, 1);
    assert_int_equal(scratch_make(&scratch, 0), ENAMETOOLONG);
    assert_string_equal(scratch.path, "TMPDIR");
    free(name);
}
