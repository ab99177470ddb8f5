#include "folder.h"

#include "test.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[256];
static pid_t owner;

static int remove_entry(const char *path, const struct stat *facts, int type,
                        struct FTW *walk)
{
    (void)facts;
    (void)type;
    (void)walk;
    return remove(path);
}

static void remove_folder(void)
{
    if (getpid() == owner)
        nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

const char *test_folder(void)
{
    if (folder[0])
        return folder;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/runnel-test-XXXXXX",
             base && *base ? base : "/tmp");
    if (!mkdtemp(folder))
        abort();
    owner = getpid();
    atexit(remove_folder);
    return folder;
}

const char *test_path(const char *name)
{
    static char paths[8][512];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder(), name);
    return path;
}

void test_remove(const char *name)
{
    nftw(test_path(name), remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

void test_write(const char *name, const void *data, size_t size)
{
    FILE *file = fopen(test_path(name), "we");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

void test_script(const char *name, const char *text)
{
    test_remove(name);
    test_write(name, text, strlen(text));
    assert_int_equal(chmod(test_path(name), 0755), 0);
}

char *test_read(const char *path, size_t *out_size)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return NULL;
    struct stat facts;
    assert_int_equal(fstat(fileno(file), &facts), 0);
    size_t size = (size_t)facts.st_size;
    char *data = calloc(1, size + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, size, file), size);
    fclose(file);
    *out_size = size;
    return data;
}

size_t test_line_count(const char *name)
{
    size_t size, count = 0;
    char *text = test_read(test_path(name), &size);
    for (size_t i = 0; text && i < size; i++)
        count += text[i] == '\n';
    free(text);
    return count;
}

const char *test_only_file(const char *name)
{
    static char found[512];
    found[0] = '\0';
    DIR *entries = opendir(test_path(name));
    assert_non_null(entries);
    struct dirent *entry;
    while ((entry = readdir(entries))) {
        if (entry->d_name[0] == '.' && strlen(entry->d_name) < 3)
            continue;
        assert_string_equal(found, "");
        snprintf(found, sizeof found, "%s/%s", test_path(name), entry->d_name);
    }
    closedir(entries);
    return found;
}
