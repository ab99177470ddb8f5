// The disk cache and the processes of compilers, while faults are injected: a
// cache of this program's own, and a script that stands in for the compiler.
#include "folder.h"
#include "sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

__attribute__((constructor)) static void choose_cache(void)
{
    setenv("RUNNEL_CC", test_path("cc"), 1);
    setenv("RUNNEL_CACHE_DIR", test_path("cache"), 1);
    setenv("RUNNEL_CACHE_SIZE", "60000", 1);
}

static void make_compiler(void)
{
    char script[2048];
    snprintf(script, sizeof script,
             "#!/bin/sh\nwhile [ $# -gt 0 ]; do case $1 in --output) "
             "out=$2;; esac; shift; done\necho 'a warning' >&2\n"
             "cp %s $out\n",
             FAKE_OBJECT);
    test_script("cc", script);
}

static void make_folder(void)
{
    make_compiler();
    test_remove("cache");
    assert_int_equal(mkdir(test_path("cache"), 0700), 0);
}

// Names in the cache's folder, by turns.
static void each_file(void (*change)(const char *path))
{
    DIR *folder = opendir(test_path("cache"));
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)) != NULL) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s", test_path("cache"),
                 entry->d_name);
        if (entry->d_name[0] != '.')
            change(path);
    }
    if (folder)
        closedir(folder);
}

static void make_old(const char *path)
{
    const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void damage(const char *path)
{
    assert_int_equal(truncate(path, 1000), 0);
}

// What a writer leaves that is killed.
static void leave_behind(const char *path)
{
    char left[700];
    const char *name = strrchr(path, '/') + 1;
    snprintf(left, sizeof left, "%.*s.%s.77.1", (int)(name - path), path,
             name);
    int fd = open(left, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && close(fd) == 0);
    make_old(left);
}

static rnl_status compile(rnl_context context, const char *text)
{
    rnl_module module = NULL;
    rnl_status status =
        rnl_module_compile(context, text, RNL_MODULE_OPTIONS(.label = "one"),
                           &module);
    RELEASE(rnl_module_release(module));
    return status;
}

// From no folder at all to an entry that is read.
static rnl_status store_and_load(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    test_remove("cache");
    TRY(compile(t->context, "one"));
    TRY(compile(t->context, "one"));
    return status;
}

// A source that is longer than what a key has room for, compiled twice in
// memory, too.
static rnl_status keep_long_sources(struct sweep_set *t)
{
    static char text[4096];
    static const char *const names[] = {"space::second<int>", "first",
                                        "first"};
    rnl_status status = RNL_OK;
    rnl_function functions[3] = {0};
    memset(text, 'x', sizeof text - 1);
    test_remove("cache");
    TRY(compile(t->context, text));
    for (int i = 0; i < 3; i++)
        TRY(rnl_function_compile(t->context, text, names[i], NULL,
                                 &functions[i]));
    EXPECT(fault_met() || functions[1] == functions[2]);  // or not kept
    for (int i = 0; i < 3; i++)
        RELEASE(rnl_function_release(functions[i]));
    return status;
}

static rnl_status meet_old_entries(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    TRY(compile(t->context, "old"));
    if (status == RNL_OK)
        each_file(make_old);
    TRY(compile(t->context, "old"));
    return status;
}

static rnl_status meet_damage(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    TRY(compile(t->context, "damaged"));
    if (status == RNL_OK)
        each_file(damage);
    TRY(compile(t->context, "damaged"));
    return status;
}

// More than the cache may hold.
static rnl_status fill(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    char text[16];
    for (int i = 0; i < 5; i++) {
        snprintf(text, sizeof text, "number %d", i);
        TRY(compile(t->context, text));
    }
    return status;
}

static rnl_status count_entry(const rnl_cache_entry *entry, void *user_data)
{
    ++*(uint64_t *)user_data;
    return entry->name[0] ? RNL_OK : RNL_ERROR_INTERNAL;
}

static rnl_status prune(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    rnl_cache_info info = {.struct_size = sizeof info};
    uint64_t visited = 0, count = 0, size = 0;
    TRY(compile(t->context, "kept"));
    if (status == RNL_OK)
        each_file(leave_behind);
    TRY(rnl_cache_get_info(&info));
    TRY(rnl_cache_visit(count_entry, &visited));
    if (status == RNL_OK)
        each_file(damage);
    TRY(rnl_cache_prune(1000000, &count, &size));
    TRY(compile(t->context, "kept"));
    TRY(rnl_cache_prune(0, &count, &size));
    EXPECT(fault_met() || (visited == 1 && count == 1 && size > 0));
    return status;
}

static const struct scenario scenarios[] = {
    {"entries that are stored and loaded", NULL, store_and_load,
     {RNL_FEATURE_COMPILE}, make_compiler},
    {"long sources", NULL, keep_long_sources, {RNL_FEATURE_COMPILE},
     make_compiler},
    {"old entries", NULL, meet_old_entries, {RNL_FEATURE_COMPILE},
     make_folder},
    {"damaged entries", NULL, meet_damage, {RNL_FEATURE_COMPILE},
     make_folder},
    {"a full cache", NULL, fill, {RNL_FEATURE_COMPILE}, make_folder},
    {"pruning", NULL, prune, {RNL_FEATURE_COMPILE}, make_folder},
    {0},
};

RNL_TEST(the_cache_survives_failed_allocations)
{
    make_compiler();
    sweep_memory(scenarios);
}

RNL_TEST(the_cache_survives_failed_system_calls)
{
    make_compiler();
    sweep_system(scenarios);
}

RNL_TEST(the_cache_survives_pairs_of_faults)
{
    make_compiler();
    sweep_pairs(scenarios);
}
