// The disk cache of compiled binaries.
//
// Safe by construction: an entry is named by the hash of its full key, holds
// the key and a checksum, and appears under its name only when complete. What
// does not verify is removed and made again. Nothing here is ever an error: a
// cache that cannot be used only costs time.
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

// A descriptor of the folder, or -1 where there is none to be trusted, and then
// why. All that follows goes through it, so that what was checked is what is
// used.
int disk_cache_open(const char **out_fault);

// What is in an entry's file.
struct disk_cache_contents {
    void *file;
    size_t size;
    const char *key;  // NULL when it is damaged
    size_t key_size;
};

// False when there is no such file, or no memory.
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

// Removes what was not used for longest until `most` bytes are left, and what
// writers that broke off left long ago.
void disk_cache_evict(int directory, uint64_t most, uint64_t *out_count,
                uint64_t *out_size);
