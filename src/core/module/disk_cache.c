// Files in a private directory, without locks: a writer renames a finished
// temporary file, so readers see a whole entry or none. Entries are
// content-addressed, so the order of renames does not matter.
#include "core/module/disk_cache.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
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

static int open_directory(void)
{
    const char *fault;
    return disk_cache_open(&fault);
}

static bool take_data(const char *file, size_t size, size_t key_size,
                      void **out_data, size_t *out_size)
{
    size_t start = disk_cache_entry_data(key_size);
    if (size == start)
        return false;  // nothing worth keeping is empty
    void *data = mem_allocate(size - start);
    if (!data)
        return false;
    memcpy(data, file + start, size - start);
    *out_data = data;
    *out_size = size - start;
    return true;
}

static bool load_from(int directory, const void *key, size_t key_size,
                      void **out_data, size_t *out_size)
{
    struct entry_name name = disk_cache_entry_name(key, key_size);
    void *file;
    size_t size;
    if (!disk_cache_entry_read(directory, name.text, true, &file, &size))
        return false;
    bool loaded = false;
    if (disk_cache_entry_is_of(file, size, key, key_size)) {
        loaded = take_data(file, size, key_size, out_data, out_size);
    } else {
        log_write(RNL_LOG_DEBUG, "cache entry %s is damaged: removed",
                  name.text);
        unlinkat(directory, name.text, 0);
    }
    mem_release(file, size);
    return loaded;
}

bool disk_cache_load(const void *key, size_t key_size, void **out_data,
                size_t *out_size)
{
    int directory = open_directory();
    if (directory < 0)
        return false;
    bool loaded = load_from(directory, key, key_size, out_data, out_size);
    close(directory);
    return loaded;
}

void disk_cache_remove(const void *key, size_t key_size)
{
    int directory = open_directory();
    if (directory < 0)
        return;
    unlinkat(directory, disk_cache_entry_name(key, key_size).text, 0);
    close(directory);
}

// --- Storing ---------------------------------------------------------------

static int write_temporary(int directory, const char *name, const char *file,
                           size_t size)
{
    int fd = openat(directory, name,
                    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    int error = file_write(fd, file, size);
    if (close(fd) != 0 && error == 0)
        error = errno;
    if (error)
        unlinkat(directory, name, 0);
    return error;
}

static int entry_write(int directory, const char *name, const char *file,
                       size_t size)
{
    // Processes of several containers can share a directory and a number, so
    // a name that is taken is met by giving up.
    static _Atomic unsigned serial;
    char temporary[96];
    snprintf(temporary, sizeof temporary, ".%s.%ld.%u", name, (long)getpid(),
             atomic_fetch_add(&serial, 1));
    int error = write_temporary(directory, temporary, file, size);
    if (error)
        return error;
    if (renameat(directory, temporary, directory, name) == 0)
        return 0;
    error = errno;
    unlinkat(directory, temporary, 0);
    return error;
}

void disk_cache_store(const void *key, size_t key_size, const void *data,
                 size_t size)
{
    size_t file_size;
    char *file = disk_cache_entry_make(key, key_size, data, size, &file_size);
    if (!file)
        return;
    int directory = open_directory();
    if (directory >= 0) {
        int error =
            entry_write(directory, disk_cache_entry_name(key, key_size).text,
                        file, file_size);
        uint64_t count, removed;
        if (error)
            log_write(RNL_LOG_DEBUG, "a cache entry was not stored: %s",
                      strerror(error));
        else
            disk_cache_evict(directory, config_get()->cache_size, &count,
                             &removed);
        close(directory);
    }
    mem_release(file, file_size);
}
