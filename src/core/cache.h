// The disk cache of compiled binaries.
//
// Safe by construction: an entry is named by the hash of its full key, holds
// the key and a checksum, and appears under its name only when complete. What
// does not verify is removed and made again. Nothing here is ever an error: a
// cache that cannot be used only costs time.
#pragma once

#include <runnel/base.h>

// A copy of what is stored under `key`, to be given back with mem_release, or
// false.
bool cache_load(const void *key, size_t key_size, void **out_data,
                size_t *out_size);

void cache_store(const void *key, size_t key_size, const void *data,
                 size_t size);

// Removes an entry whose contents turned out to be of no use.
void cache_remove(const void *key, size_t key_size);
