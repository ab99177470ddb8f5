// The folder of the disk cache, between its files.
#pragma once

#include "base/text.h"
#include "core/cache.h"

#define CACHE_NAME_SIZE 33  // of an entry: 32 digits, and the end

// False when no place is known.
bool cache_path(struct text *path);

// A descriptor of the folder, or -1 where there is none to be trusted, and then
// why. All that follows goes through it, so that what was checked is what is
// used.
int cache_open(const char **out_fault);

// What is in an entry's file.
struct cache_contents {
    void *file;
    size_t size;
    const char *key;  // NULL when it is damaged
    size_t key_size;
};

// False when there is no such file, or no memory.
bool cache_read(int directory, const char *name, struct cache_contents *out);
void cache_drop(struct cache_contents *contents);

// Removes what was not used for longest until `most` bytes are left, and what
// writers that broke off left long ago.
void cache_trim(int directory, uint64_t most, uint64_t *out_count,
                uint64_t *out_size);
