// The directory of the disk cache, and the files in it.
#include "base/env.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "core/module/disk_cache.h"
#include "core/module/function.h"
#include "core/object/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ENTRY_VERSION 1u
#define ENTRY_SIZE_MAX ((size_t)1 << 30)

// The start of a file; the key and the data follow.
struct entry_header {
    char magic[8];
    struct hash128 checksum;  // of everything behind it in the file
    uint64_t version, key_size, data_size;
};

#define CHECKED_FROM offsetof(struct entry_header, version)

static const char entry_magic[8] = "RNLCACHE";

struct entry_name disk_cache_entry_name(const void *key, size_t key_size)
{
    struct entry_name name;
    struct hash128 hash = hash_128(key, key_size);
    snprintf(name.text, sizeof name.text, "%016llx%016llx",
             (unsigned long long)hash.high, (unsigned long long)hash.low);
    return name;
}

// --- The directory ---------------------------------------------------------

bool disk_cache_path(struct text *path)
{
    const char *configured = config_get()->cache_dir;
    const char *xdg = env_get("XDG_CACHE_HOME");
    const char *home = env_get("HOME");
    if (configured && *configured)
        text_add(path, "%s", configured);
    else if (xdg && xdg[0] == '/')
        text_add(path, "%s/runnel", xdg);
    else if (home && home[0] == '/')
        text_add(path, "%s/.cache/runnel", home);
    return path->length > 0 && !path->failed;
}

// Creates the missing directories of `path`, for this user alone; 0 or the
// first error.
static int make_directories(char *path)
{
    int first = 0;
    for (char *at = path + 1;; at++) {
        char end = *at;
        if (end && end != '/')
            continue;
        *at = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST && first == 0)
            first = errno;
        *at = end;
        if (!end)
            return first;
    }
}

// Code is loaded from here, so nobody else may be able to write to it.
static const char *directory_fault(int fd)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0)
        return strerror(errno);
    if (facts.st_uid != geteuid())
        return "it belongs to another user";
    if (facts.st_mode & (S_IWGRP | S_IWOTH))
        return "others may write to it";
    return NULL;
}

static int open_path(char *path, const char **out_fault)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    int fd = open(path, flags);
    if (fd < 0 && errno == ENOENT) {
        int error = make_directories(path);
        fd = open(path, flags);
        errno = fd < 0 && error ? error : errno;
    }
    *out_fault = fd < 0 ? strerror(errno) : directory_fault(fd);
    if (!*out_fault)
        return fd;
    log_write(RNL_LOG_DEBUG, "the cache directory %s is not used: %s", path,
              *out_fault);
    if (fd >= 0)
        close(fd);
    return -1;
}

int disk_cache_open(const char **out_fault)
{
    struct text path = {0};
    *out_fault = "neither RUNNEL_CACHE_DIR nor HOME names a place";
    int fd = disk_cache_path(&path) ? open_path(path.data, out_fault) : -1;
    text_finish(&path);
    return fd;
}

// --- Entries ---------------------------------------------------------------

static struct hash128 checksum_of(const char *file, size_t size)
{
    return hash_128(file + CHECKED_FROM, size - CHECKED_FROM);
}

// The size of its key; 0 for all but a whole, undamaged entry.
static size_t entry_verify(const char *file, size_t size)
{
    struct entry_header header;
    if (size < sizeof header)
        return 0;
    memcpy(&header, file, sizeof header);
    if (memcmp(header.magic, entry_magic, sizeof entry_magic) != 0 ||
        header.version != ENTRY_VERSION ||
        size - sizeof header < header.key_size ||
        header.data_size != size - sizeof header - header.key_size)
        return 0;
    struct hash128 checksum = checksum_of(file, size);
    return checksum.low == header.checksum.low &&
                   checksum.high == header.checksum.high
               ? header.key_size
               : 0;
}

bool disk_cache_entry_is_of(const char *file, size_t size, const void *key,
                       size_t key_size)
{
    return entry_verify(file, size) == key_size && key_size > 0 &&
           memcmp(file + sizeof(struct entry_header), key, key_size) == 0;
}

// Marks an entry as used, to the minute, so that eviction keeps the entry.
static void entry_touch(int fd)
{
    struct stat facts;
    if (fstat(fd, &facts) == 0 && time(NULL) - facts.st_mtime > 60)
        futimens(fd, NULL);
}

bool disk_cache_entry_read(int directory, const char *name, bool used,
                      void **out_file, size_t *out_size)
{
    int fd = openat(directory, name,
                    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    int error = file_read(fd, ENTRY_SIZE_MAX, out_file, out_size);
    if (used && error == 0)
        entry_touch(fd);
    close(fd);
    return error == 0;
}

bool disk_cache_read(int directory, const char *name,
                     struct disk_cache_contents *out)
{
    *out = (struct disk_cache_contents){0};
    if (!disk_cache_entry_read(directory, name, false, &out->file, &out->size))
        return false;
    size_t key_size = entry_verify(out->file, out->size);
    if (key_size == 0)
        return true;
    const char *key = (const char *)out->file + sizeof(struct entry_header);
    if (strcmp(disk_cache_entry_name(key, key_size).text, name) == 0) {
        out->key = key;
        out->key_size = key_size;
    }
    return true;
}

void disk_cache_contents_free(struct disk_cache_contents *contents)
{
    mem_release(contents->file, contents->size);
}

char *disk_cache_entry_make(const void *key, size_t key_size, const void *data,
                       size_t data_size, size_t *out_size)
{
    struct entry_header header = {.version = ENTRY_VERSION,
                                  .key_size = key_size,
                                  .data_size = data_size};
    size_t size;
    if (__builtin_add_overflow(sizeof header + key_size, data_size, &size) ||
        size > ENTRY_SIZE_MAX)
        return NULL;
    char *file = mem_allocate(size);
    if (!file)
        return NULL;
    memcpy(header.magic, entry_magic, sizeof entry_magic);
    memcpy(file, &header, sizeof header);
    memcpy(file + sizeof header, key, key_size);
    memcpy(file + sizeof header + key_size, data, data_size);
    header.checksum = checksum_of(file, size);
    memcpy(file, &header, sizeof header);
    *out_size = size;
    return file;
}

size_t disk_cache_entry_data(size_t key_size)
{
    return sizeof(struct entry_header) + key_size;
}
