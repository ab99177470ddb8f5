// Hosts of the real kernel compiler that are killed, and places without a /dev.
#include "folder.h"
#include "test.h"

#include <runnel/runnel.h>

#include <dirent.h>
#include <glob.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Takes a compiler some seconds.
static char *long_source(void)
{
    enum { STEPS = 3000 };
    static const char step[] = "o[i % 7] = o[i % 11] * o[i % 13] + i++;\n";
    static const char start[] =
        "extern \"C\" __global__ void k(int *o) { int i = o[0];\n";
    char *text = malloc(sizeof start + STEPS * sizeof step + 3), *end;
    assert_non_null(text);
    end = stpcpy(text, start);
    for (int i = 0; i < STEPS; i++)
        end = stpcpy(end, step);
    strcpy(end, "}\n");
    return text;
}

static int compile(const char *text)
{
    rnl_context context;
    rnl_module module;
    rnl_status status = rnl_context_open("cpu", 0, NULL, &context);
    if (status == RNL_OK)
        status = rnl_module_compile(context, text, NULL, &module);
    return (int)status;
}

static size_t count_entries(const char *path)
{
    size_t count = 0;
    DIR *folder = opendir(path);
    struct dirent *entry;
    while (folder && (entry = readdir(folder)))
        count += entry->d_name[0] != '.';
    if (folder)
        closedir(folder);
    return count;
}

// Until the folder has something, or nothing, in it; at most half a minute.
static bool wait_for_entries(const char *path, bool some)
{
    for (int i = 0; i < 3000; i++) {
        if ((count_entries(path) > 0) == some)
            return true;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return false;
}

// Until the compiler has a folder of its own in the host's: a host that is
// killed before has nobody who removes its folder.
static void wait_for_compiler(const char *path)
{
    char pattern[512];
    snprintf(pattern, sizeof pattern, "%s/*/runnel-cc-*", path);
    for (;;) {
        glob_t found;
        int result = glob(pattern, 0, NULL, &found);
        if (result == 0)
            globfree(&found);
        if (result != GLOB_NOMATCH)
            break;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

RNL_TEST(a_killed_host_leaves_nothing_behind)
{
    char *text = long_source(), temporary[256];
    setenv("RUNNEL_CACHE_DISABLE", "1", 1);
    mkdir(test_path("temporary"), 0700);
    snprintf(temporary, sizeof temporary, "%s", test_path("temporary"));
    setenv("TMPDIR", temporary, 1);
    pid_t host = fork();
    if (host == 0)
        _exit(compile(text));
    free(text);
    wait_for_compiler(temporary);
    kill(host, SIGKILL);
    assert_int_equal(waitpid(host, NULL, 0), host);
    assert_true(wait_for_entries(temporary, false));
}

// 77: such a place cannot be made here.
static int compile_without_dev(void)
{
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", "/dev", "tmpfs", 0, NULL) != 0)
        return 77;
    return compile("extern \"C\" __global__ void k(int *o) { o[0] = 1; }");
}

RNL_TEST(a_compiler_needs_no_dev_null)
{
    setenv("RUNNEL_CACHE_DISABLE", "1", 1);
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(compile_without_dev());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), RNL_OK);
}
