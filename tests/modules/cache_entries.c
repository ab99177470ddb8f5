// The disk cache: what comes out is what went in, or nothing.
#include "base/alloc.h"
#include "core/cache.h"
#include "folder.h"
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char key[] = "the key of a small entry";
static const char data[] = "what the compiler made of it";

// An empty cache, in its own folder.
static void begin(void)
{
    setenv("RUNNEL_CACHE_DIR", test_path("cache"), 1);
    test_remove("cache");
}

// True when the cache has exactly `expected` for the key.
static bool has(const void *wanted, size_t wanted_size, const void *expected,
                size_t expected_size)
{
    void *found;
    size_t size;
    if (!cache_load(wanted, wanted_size, &found, &size))
        return false;
    assert_int_equal(size, expected_size);
    assert_memory_equal(found, expected, size);
    mem_release(found, size);
    return true;
}

static bool has_entry(void)
{
    return has(key, sizeof key, data, sizeof data);
}

RNL_TEST(an_empty_cache_has_nothing)
{
    begin();
    assert_false(has_entry());
}

RNL_TEST(what_was_stored_is_loaded)
{
    begin();
    cache_store(key, sizeof key, data, sizeof data);
    assert_true(has_entry());
    assert_true(has_entry());
    assert_int_equal(mem_held(), 0);
}

RNL_TEST(another_key_has_nothing)
{
    begin();
    cache_store(key, sizeof key, data, sizeof data);
    assert_false(has(key, sizeof key - 1, data, sizeof data));
    assert_false(has("", 0, data, sizeof data));
}

RNL_TEST(the_last_store_counts)
{
    begin();
    cache_store(key, sizeof key, "old", 3);
    cache_store(key, sizeof key, data, sizeof data);
    assert_true(has_entry());
}

RNL_TEST(a_removed_entry_is_gone)
{
    begin();
    cache_store(key, sizeof key, data, sizeof data);
    cache_remove(key, sizeof key);
    assert_false(has_entry());
    cache_remove(key, sizeof key);
}

RNL_TEST(a_large_entry_comes_back)
{
    begin();
    size_t size = 5 << 20;
    unsigned char *large = malloc(size);
    for (size_t i = 0; i < size; i++)
        large[i] = (unsigned char)(i * 2654435761u >> 13);
    cache_store(key, sizeof key, large, size);
    assert_true(has(key, sizeof key, large, size));
    free(large);
}

RNL_TEST(an_empty_value_is_a_miss)
{
    begin();
    cache_store(key, sizeof key, "", 0);
    assert_false(has_entry());
}

RNL_TEST(the_directory_and_files_are_private)
{
    begin();
    cache_store(key, sizeof key, data, sizeof data);
    struct stat facts;
    assert_int_equal(stat(test_path("cache"), &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0700);
    assert_int_equal(stat(test_only_file("cache"), &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
}

RNL_TEST(no_flipped_bit_is_ever_loaded)
{
    begin();
    cache_store(key, sizeof key, data, sizeof data);
    char path[512];
    snprintf(path, sizeof path, "%s", test_only_file("cache"));
    size_t size;
    char *whole = test_read(path, &size);
    const char *name = path + strlen(test_folder()) + 1;
    for (size_t bit = 0; bit < 8 * size; bit++) {
        whole[bit / 8] ^= (char)(1 << bit % 8);
        test_write(name, whole, size);
        assert_false(has_entry());
        // It is gone, so that a good one takes its place.
        assert_int_equal(access(path, F_OK), -1);
        whole[bit / 8] ^= (char)(1 << bit % 8);
    }
    free(whole);
}

RNL_TEST(no_shortened_entry_is_ever_loaded)
{
    begin();
    cache_store(key, sizeof key, data, sizeof data);
    char path[512];
    snprintf(path, sizeof path, "%s", test_only_file("cache"));
    size_t size;
    char *whole = test_read(path, &size);
    const char *name = path + strlen(test_folder()) + 1;
    for (size_t length = 0; length < size; length++) {
        test_write(name, whole, length);
        assert_false(has_entry());
        assert_int_equal(access(path, F_OK), -1);
    }
    free(whole);
}

RNL_TEST(an_entry_with_a_tail_is_not_loaded)
{
    begin();
    cache_store(key, sizeof key, data, sizeof data);
    FILE *file = fopen(test_only_file("cache"), "ae");
    fputc('x', file);
    fclose(file);
    assert_false(has_entry());
}

RNL_TEST(an_entry_under_a_wrong_name_is_not_loaded)
{
    begin();
    cache_store("other", 5, "wrong", 5);
    char other[512];
    snprintf(other, sizeof other, "%s", test_only_file("cache"));
    test_remove("kept");
    assert_int_equal(rename(other, test_path("kept")), 0);
    cache_store(key, sizeof key, data, sizeof data);
    assert_int_equal(rename(test_path("kept"), test_only_file("cache")), 0);
    assert_false(has_entry());
}

RNL_TEST(a_folder_in_an_entrys_place_is_a_miss)
{
    begin();
    cache_store(key, sizeof key, data, sizeof data);
    char path[512];
    snprintf(path, sizeof path, "%s", test_only_file("cache"));
    unlink(path);
    mkdir(path, 0700);
    assert_false(has_entry());
    cache_store(key, sizeof key, data, sizeof data);
    assert_false(has_entry());
    rmdir(path);
}

RNL_TEST(a_pipe_in_an_entrys_place_does_not_hang)
{
    begin();
    cache_store(key, sizeof key, data, sizeof data);
    char path[512];
    snprintf(path, sizeof path, "%s", test_only_file("cache"));
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(has_entry());
}

RNL_TEST(a_link_in_an_entrys_place_is_not_followed)
{
    begin();
    cache_store(key, sizeof key, data, sizeof data);
    char path[512];
    snprintf(path, sizeof path, "%s", test_only_file("cache"));
    assert_int_equal(rename(path, test_path("elsewhere")), 0);
    assert_int_equal(symlink(test_path("elsewhere"), path), 0);
    assert_false(has_entry());
}

RNL_TEST(a_full_disk_leaves_no_trace)
{
    begin();
    cache_store("first", 5, "makes the folder", 16);
    cache_remove("first", 5);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit, none;
    getrlimit(RLIMIT_FSIZE, &limit);
    none = limit;
    none.rlim_cur = 40;
    setrlimit(RLIMIT_FSIZE, &none);
    cache_store(key, sizeof key, data, sizeof data);
    setrlimit(RLIMIT_FSIZE, &limit);
    assert_false(has_entry());
    assert_string_equal(test_only_file("cache"), "");
}

// Every value is made of its number, so that a mixture would show.
static void fill(unsigned char *value, size_t size, unsigned number)
{
    for (size_t i = 0; i < size; i++)
        value[i] = (unsigned char)(number + i * number);
}

static int write_and_read(unsigned seed)
{
    enum { KEYS = 4, SIZE = 20000 };
    static unsigned char mine[SIZE];
    for (unsigned round = 0; round < 60; round++) {
        char name[16];
        unsigned number = (seed + round) % KEYS;
        snprintf(name, sizeof name, "key %u", number);
        void *found;
        size_t size;
        fill(mine, SIZE, number);
        if (round % 3 == 0)
            cache_store(name, strlen(name), mine, SIZE);
        if (!cache_load(name, strlen(name), &found, &size))
            continue;
        bool same = size == SIZE && memcmp(found, mine, SIZE) == 0;
        mem_release(found, size);
        if (!same)
            return 1;
    }
    return 0;
}

RNL_TEST(many_processes_share_it)
{
    begin();
    pid_t children[8];
    for (unsigned i = 0; i < 8; i++) {
        children[i] = fork();
        if (children[i] == 0)
            _exit(write_and_read(i));
        assert_true(children[i] > 0);
    }
    for (unsigned i = 0; i < 8; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
}

RNL_TEST(killed_writers_do_no_harm)
{
    begin();
    for (unsigned i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0)
            for (;;)
                write_and_read(i);
        usleep(2000 + 500 * i);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        assert_int_equal(write_and_read(i), 0);
    }
}
