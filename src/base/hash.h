// Hashes. XXH3 is compiled in, so that nothing has to be linked.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stddef.h>
#include <stdint.h>

struct hash128 {
    uint64_t low, high;
};

static inline uint64_t hash_64(const void *data, size_t size)
{
    return XXH3_64bits(data, size);
}

static inline struct hash128 hash_128(const void *data, size_t size)
{
    XXH128_hash_t hash = XXH3_128bits(data, size);
    return (struct hash128){hash.low64, hash.high64};
}
