// The disk cache: what comes out is what went in, or nothing.
#include "base/alloc.h"
#include "core/module/disk_cache.h"
#include "folder.h"
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
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
    if (!disk_cache_load(wanted, wanted_size, &found, &size))
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
    disk_cache_store(key, sizeof key, data, sizeof data);
    assert_true(has_entry());
    assert_true(has_entry());
    assert_int_equal(mem_held(), 0);
}

RNL_TEST(another_key_has_nothing)
{
    begin();
    disk_cache_store(key, sizeof key, data, sizeof data);
    assert_false(has(key, sizeof key - 1, data, sizeof data));
    assert_false(has("", 0, data, sizeof data));
}

RNL_TEST(the_last_store_counts)
{
    begin();
    disk_cache_store(key, sizeof key, "old", 3);
    disk_cache_store(key, sizeof key, data, sizeof data);
    assert_true(has_entry());
}

RNL_TEST(a_removed_entry_is_gone)
{
    begin();
    disk_cache_store(key, sizeof key, data, sizeof data);
    disk_cache_remove(key, sizeof key);
    assert_false(has_entry());
    disk_cache_remove(key, sizeof key);
}

RNL_TEST(a_large_entry_comes_back)
{
    begin();
    size_t size = 5 << 20;
    unsigned char *large = malloc(size);
    for (size_t i = 0; i < size; i++)
        large[i] = (unsigned char)(i * 2654435761u >> 13);
    disk_cache_store(key, sizeof key, large, size);
    assert_true(has(key, sizeof key, large, size));
    free(large);
}

RNL_TEST(an_empty_value_is_a_miss)
{
    begin();
    disk_cache_store(key, sizeof key, "", 0);
    assert_false(has_entry());
}

RNL_TEST(the_directory_and_files_are_private)
{
    begin();
    disk_cache_store(key, sizeof key, data, sizeof data);
    struct stat facts;
    assert_int_equal(stat(test_path("cache"), &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0700);
    assert_int_equal(stat(test_only_file("cache"), &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
}

RNL_TEST(no_flipped_bit_is_ever_loaded)
{
    begin();
    disk_cache_store(key, sizeof key, data, sizeof data);
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
    disk_cache_store(key, sizeof key, data, sizeof data);
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
    disk_cache_store(key, sizeof key, data, sizeof data);
    FILE *file = fopen(test_only_file("cache"), "ae");
    fputc('x', file);
    fclose(file);
    assert_false(has_entry());
}

RNL_TEST(an_entry_under_a_wrong_name_is_not_loaded)
{
    begin();
    disk_cache_store("other", 5, "wrong", 5);
    char other[512];
    snprintf(other, sizeof other, "%s", test_only_file("cache"));
    test_remove("kept");
    assert_int_equal(rename(other, test_path("kept")), 0);
    disk_cache_store(key, sizeof key, data, sizeof data);
    assert_int_equal(rename(test_path("kept"), test_only_file("cache")), 0);
    assert_false(has_entry());
}

RNL_TEST(a_folder_in_an_entrys_place_is_a_miss)
{
    begin();
    disk_cache_store(key, sizeof key, data, sizeof data);
    char path[512];
    snprintf(path, sizeof path, "%s", test_only_file("cache"));
    unlink(path);
    mkdir(path, 0700);
    assert_false(has_entry());
    disk_cache_store(key, sizeof key, data, sizeof data);
    assert_false(has_entry());
    rmdir(path);
}

RNL_TEST(a_pipe_in_an_entrys_place_does_not_hang)
{
    begin();
    disk_cache_store(key, sizeof key, data, sizeof data);
    char path[512];
    snprintf(path, sizeof path, "%s", test_only_file("cache"));
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(has_entry());
}

RNL_TEST(a_link_in_an_entrys_place_is_not_followed)
{
    begin();
    disk_cache_store(key, sizeof key, data, sizeof data);
    char path[512];
    snprintf(path, sizeof path, "%s", test_only_file("cache"));
    assert_int_equal(rename(path, test_path("elsewhere")), 0);
    assert_int_equal(symlink(test_path("elsewhere"), path), 0);
    assert_false(has_entry());
}

RNL_TEST(a_full_disk_leaves_no_trace)
{
    begin();
    disk_cache_store("first", 5, "makes the folder", 16);
    disk_cache_remove("first", 5);
    struct rlimit limit, none;
    getrlimit(RLIMIT_FSIZE, &limit);
    none = limit;
    none.rlim_cur = 40;
    setrlimit(RLIMIT_FSIZE, &none);
    disk_cache_store(key, sizeof key, data, sizeof data);
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
            disk_cache_store(name, strlen(name), mine, SIZE);
        if (!disk_cache_load(name, strlen(name), &found, &size))
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
        children[i] = test_fork();
        if (children[i] == 0)
            _exit(write_and_read(i));
    }
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(test_wait(children[i]), 0);
}

RNL_TEST(killed_writers_do_no_harm)
{
    begin();
    for (unsigned i = 0; i < 20; i++) {
        pid_t child = test_fork();
        if (child == 0)
            for (;;)
                write_and_read(i);
        usleep(2000 + 500 * i);
        kill(child, SIGKILL);
        test_wait(child);
        assert_int_equal(write_and_read(i), 0);
    }
}

// --- Sixteen processes -------------------------------------------------------

enum { WRITERS = 16, KILLS = 160, SIZE_MOST = 20000 };

struct writer {
    pid_t process;
    int progress;  // a byte for each round
};

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

// Stores and loads for ever, keys of its own and keys of all; tells each round.
static void write_for_ever(uint32_t seed, int progress)
{
    static unsigned char value[SIZE_MOST];
    for (;;) {
        uint32_t number = next_random(&seed) % 24;
        size_t size = 1 + number * 800, found_size;
        char name[16];
        void *found;
        snprintf(name, sizeof name, "key %u", number);
        fill(value, size, number);
        if (next_random(&seed) % 2)
            disk_cache_store(name, strlen(name), value, size);
        char told = 'r';
        if (disk_cache_load(name, strlen(name), &found, &found_size)) {
            if (found_size != size || memcmp(found, value, size) != 0)
                told = '!';
            mem_release(found, found_size);
        }
        if (write(progress, &told, 1) != 1)
            _exit(2);
    }
}

static struct writer start_writer(uint32_t seed)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t process = test_fork();
    if (process == 0) {
        close(ends[0]);
        write_for_ever(seed, ends[1]);
    }
    close(ends[1]);
    return (struct writer){process, ends[0]};
}

// Kills it in the midst of what it does, a number of rounds from now.
static void kill_writer(struct writer *writer, uint32_t rounds)
{
    char told;
    for (uint32_t i = 0; i <= rounds; i++) {
        assert_int_equal(read(writer->progress, &told, 1), 1);
        assert_int_equal(told, 'r');
    }
    kill(writer->process, SIGKILL);
    test_wait(writer->process);
    while (read(writer->progress, &told, 1) == 1)
        assert_int_equal(told, 'r');
    close(writer->progress);
}

// The environment is read once in a process.
static void limit_size(const char *text, uint64_t bytes)
{
    rnl_cache_info info = {.struct_size = sizeof info};
    setenv("RUNNEL_CACHE_SIZE", text, 1);
    assert_ok(rnl_cache_get_info(&info));
    if (info.size_limit != bytes)
        test_skip("only in a process of its own");
}

static rnl_status expect_whole(const rnl_cache_entry *entry, void *count)
{
    ++*(size_t *)count;
    return entry->damaged ? RNL_ERROR_INTERNAL : RNL_OK;
}

// With room for fewer entries than there are, so that they go as well as come.
static void sixteen_writers(const char *cache_size, uint64_t bytes)
{
    struct writer writers[WRITERS];
    uint32_t seed = 7;
    size_t count = 0;
    begin();
    limit_size(cache_size, bytes);
    for (uint32_t i = 0; i < WRITERS; i++)
        writers[i] = start_writer(i);
    for (uint32_t i = 0; i < KILLS; i++) {
        struct writer *writer = &writers[next_random(&seed) % WRITERS];
        kill_writer(writer, next_random(&seed) % 8);
        *writer = start_writer(100 + i);
        if (i % 16 == 0)
            assert_ok(rnl_cache_visit(expect_whole, &count));
    }
    for (uint32_t i = 0; i < WRITERS; i++)
        kill_writer(&writers[i], 0);
    assert_ok(rnl_cache_visit(expect_whole, &count));
    assert_true(count > 0);
    assert_int_equal(mem_held(), 0);
}

RNL_TEST(sixteen_killed_processes_leave_whole_entries)
{
    sixteen_writers("1G", 1 << 30);
}

RNL_TEST(sixteen_killed_processes_with_little_room)
{
    sixteen_writers("64K", 64 << 10);
}

// --- Room --------------------------------------------------------------------

static size_t entry_count(void)
{
    size_t count = 0;
    assert_ok(rnl_cache_visit(expect_whole, &count));
    return count;
}

// Three entries of some 10 KB each, the first used last.
static void store_three(void)
{
    static unsigned char value[10000];
    static const char *const names[] = {"1", "2", "3"};
    char path[600];
    for (int i = 0; i < 3; i++) {
        disk_cache_store(names[i], 1, value, sizeof value);
        // The newest file there is, made older than the next.
        struct dirent **items;
        int found = scandir(test_path("cache"), &items, NULL, NULL);
        for (int j = 0; j < found; j++) {
            snprintf(path, sizeof path, "%s/%s", test_path("cache"),
                     items[j]->d_name);
            struct stat facts;
            const struct timespec times[2] = {
                {.tv_sec = 1000000 * (i + 1)}, {.tv_sec = 1000000 * (i + 1)}};
            if (items[j]->d_name[0] != '.' && stat(path, &facts) == 0 &&
                facts.st_mtime > 1000000000)
                utimensat(AT_FDCWD, path, times, 0);
            free(items[j]);
        }
        if (found >= 0)
            free(items);
    }
}

static bool has_three(const char *name)
{
    void *found;
    size_t size;
    if (!disk_cache_load(name, 1, &found, &size))
        return false;
    mem_release(found, size);
    return true;
}

RNL_TEST(what_was_not_used_for_longest_goes_first)
{
    uint64_t count = 9, size = 9;
    begin();
    store_three();
    assert_true(has_three("1"));  // which makes it the newest
    assert_ok(rnl_cache_prune(25000, &count, &size));
    assert_int_equal(count, 1);
    assert_true(size > 10000 && size < 12000);
    assert_false(has_three("2"));
    assert_true(has_three("1") && has_three("3"));
    assert_ok(rnl_cache_prune(0, NULL, NULL));
    assert_int_equal(entry_count(), 0);
}

RNL_TEST(storing_keeps_within_the_limit)
{
    begin();
    limit_size("25000", 25000);
    store_three();
    assert_int_equal(entry_count(), 2);
    assert_false(has_three("1"));
    assert_true(has_three("2") && has_three("3"));
}

RNL_TEST(pruning_removes_what_is_damaged_and_nothing_else)
{
    uint64_t count, size;
    begin();
    disk_cache_store(key, sizeof key, data, sizeof data);
    disk_cache_store("other", 5, data, sizeof data);
    test_write("cache/0123456789abcdef0123456789abcdef", "no entry", 8);
    test_write("cache/notes", "the user's", 10);
    test_write("cache/.0123456789abcdef0123456789abcdef.1.1", "young", 5);
    test_write("cache/.0123456789abcdef0123456789abcdef.1.2", "old", 3);
    const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    utimensat(AT_FDCWD,
              test_path("cache/.0123456789abcdef0123456789abcdef.1.2"), old,
              0);
    assert_ok(rnl_cache_prune(UINT64_MAX, &count, &size));
    assert_int_equal(count, 1);
    assert_int_equal(size, 8);
    assert_true(has_entry());
    assert_int_equal(entry_count(), 2);
    assert_int_equal(access(test_path("cache/notes"), F_OK), 0);
    assert_int_equal(
        access(test_path("cache/.0123456789abcdef0123456789abcdef.1.1"), F_OK),
        0);
    assert_int_equal(
        access(test_path("cache/.0123456789abcdef0123456789abcdef.1.2"), F_OK),
        -1);
}

static rnl_status expect_damaged(const rnl_cache_entry *entry, void *count)
{
    assert_true(entry->damaged);
    assert_string_equal(entry->api, "");
    assert_string_equal(entry->source, "");
    ++*(size_t *)count;
    return RNL_OK;
}

RNL_TEST(an_empty_file_is_listed_as_damaged)
{
    size_t count = 0;
    begin();
    disk_cache_store(key, sizeof key, data, sizeof data);
    assert_ok(rnl_cache_prune(0, NULL, NULL));
    test_write("cache/0123456789abcdef0123456789abcdef", "", 0);
    assert_ok(rnl_cache_visit(expect_damaged, &count));
    assert_int_equal(count, 1);
}

static rnl_status stop_at_once(const rnl_cache_entry *entry, void *count)
{
    (void)entry;
    ++*(size_t *)count;
    return rnl_cache_prune(0, NULL, NULL) == RNL_ERROR_NOT_PERMITTED
               ? RNL_ERROR_IO : RNL_OK;
}

RNL_TEST(a_visit_can_be_ended)
{
    size_t count = 0;
    begin();
    disk_cache_store(key, sizeof key, data, sizeof data);
    disk_cache_store("other", 5, data, sizeof data);
    assert_status(rnl_cache_visit(stop_at_once, &count), RNL_ERROR_IO);
    assert_int_equal(count, 1);
    assert_status(rnl_cache_visit(NULL, NULL), RNL_ERROR_INVALID_ARGUMENT);
}

RNL_TEST(the_cache_says_where_it_is)
{
    rnl_cache_info info = {.struct_size = sizeof info}, none = {0};
    begin();
    limit_size("3M", 3 << 20);
    assert_ok(rnl_cache_get_info(&info));
    assert_string_equal(info.path, test_path("cache"));
    assert_string_equal(info.reason, "");
    assert_int_equal(info.size_limit, 3 << 20);
    chmod(test_path("cache"), 0777);
    assert_ok(rnl_cache_get_info(&info));
    assert_non_null(strstr(info.reason, "others may write"));
    assert_int_equal(entry_count(), 0);
    assert_ok(rnl_cache_prune(0, NULL, NULL));
    assert_status(rnl_cache_get_info(&none), RNL_ERROR_INVALID_ARGUMENT);
    assert_status(rnl_cache_get_info(NULL), RNL_ERROR_INVALID_ARGUMENT);
}
