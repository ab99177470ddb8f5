// The disk cache of compiled binaries.
//
// Safe by construction: an entry is named by the hash of its full key, contains
// the key and a checksum, and appears under its name only when complete.
// Damaged entries are removed and made again. No fault of the cache is an
// error: an unusable cache only costs time.
#pragma once

#include "base/text.h"

#include <runnel/base.h>

// A copy of what is stored under `key`, to be given back with mem_release, or
// false.
bool disk_cache_load(const void *key, size_t key_size, void **out_data,
                size_t *out_size);

void disk_cache_store(const void *key, size_t key_size, const void *data,
                 size_t size);

// Removes an entry whose contents turned out to be of no use.
void disk_cache_remove(const void *key, size_t key_size);

// --- The directory (disk_cache_entry.c) --------------------------------------

#define DISK_CACHE_NAME_SIZE 33  // of an entry: 32 digits, and the end

// False when no place is known.
bool disk_cache_path(struct text *path);

// A descriptor of the directory, or -1 with the reason if no directory can be
// trusted. All later accesses use the descriptor, so the checked directory is
// the used one.
int disk_cache_open(const char **out_fault);

// The content of an entry's file.
struct disk_cache_contents {
    void *file;
    size_t size;
    const char *key;  // NULL when it is damaged
    size_t key_size;
};

// False if the file does not exist or memory is short.
bool disk_cache_read(int directory, const char *name,
                     struct disk_cache_contents *out);
void disk_cache_contents_free(struct disk_cache_contents *contents);

// An entry's name: 32 digits of a hash.
struct entry_name {
    char text[DISK_CACHE_NAME_SIZE];
};

struct entry_name disk_cache_entry_name(const void *key, size_t key_size);

// Reads the file of an entry; `used`: the entry stays longer.
bool disk_cache_entry_read(int directory, const char *name, bool used,
                      void **out_file, size_t *out_size);

// Whether the file is a whole, undamaged entry of exactly this key; and where
// the data begins.
bool disk_cache_entry_is_of(const char *file, size_t size, const void *key,
                       size_t key_size);
size_t disk_cache_entry_data(size_t key_size);

// An entry as a file; NULL when memory is short.
char *disk_cache_entry_make(const void *key, size_t key_size, const void *data,
                       size_t size, size_t *out_size);

// --- Eviction (disk_cache_evict.c) -------------------------------------------

// Removes the least recently used entries until `most` bytes are left, and old
// temporary files of broken-off writers.
void disk_cache_evict(int directory, uint64_t most, uint64_t *out_count,
                uint64_t *out_size);
