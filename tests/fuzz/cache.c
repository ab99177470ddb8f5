// Files in the disk cache.
//
// Input: how it is put there, the size of a key, the key, and the rest.
#include "core/module/disk_cache.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "fuzz.h"

#include <runnel/runnel.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// As core/cache.c writes it.
struct header {
    char magic[8];
    struct hash128 checksum;
    uint64_t version, key_size, data_size;
};

struct bytes {
    const uint8_t *data;
    size_t size;
};

static void name_file(char path[8192], const char *folder,
                      const struct bytes *key)
{
    struct hash128 hash = hash_128(key->data, key->size);
    snprintf(path, 8192, "%s/%016llx%016llx", folder,
             (unsigned long long)hash.high, (unsigned long long)hash.low);
}

static void write_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    fuzz_require(file && fwrite(data, 1, size, file) == size &&
                     fclose(file) == 0, "a file can be written");
}

static rnl_status look_at(const rnl_cache_entry *entry, void *user_data)
{
    size_t *seen = user_data;
    fuzz_require(strlen(entry->name) == 32 && strlen(entry->api) < 16 &&
                     strlen(entry->source) < 1024, "an entry is described");
    ++*seen;
    return RNL_OK;
}

// Loads under the key, and compares with the end of what the file has.
static bool load(const struct bytes *key, const struct bytes *file)
{
    void *data;
    size_t size;
    if (!disk_cache_load(key->data, key->size, &data, &size))
        return false;
    fuzz_require(size <= file->size &&
                     memcmp(data, file->data + file->size - size, size) == 0,
                 "what is loaded is what is in the file");
    mem_release(data, size);
    return true;
}

// Any bytes as a file, with the right checksum if `seal`.
static void put(const char *path, const struct bytes *key, struct bytes file,
                bool seal)
{
    size_t seen = 0, behind = offsetof(struct header, version);
    uint8_t *copy = malloc(file.size + 1);
    struct hash128 hash;
    fuzz_require(copy, "memory");
    memcpy(copy, file.data, file.size);
    if (seal && file.size >= behind) {
        memcpy(copy, "RNLCACHE", 8);
        hash = hash_128(copy + behind, file.size - behind);
        memcpy(copy + 8, &hash, sizeof hash);
    }
    file.data = copy;
    write_file(path, file.data, file.size);
    rnl_cache_visit(look_at, &seen);
    fuzz_require(seen == 1, "the file is listed");
    load(key, &file);
    free(copy);
}

// A whole entry is as it was stored; with a byte changed, it is none.
static void store(const char *path, const struct bytes *key, struct bytes data)
{
    size_t at = key->size > 1 ? key->data[0] * 256u + key->data[1] : 0;
    disk_cache_store(key->data, key->size, data.data, data.size);
    fuzz_require(load(key, &data) == (key->size > 0 && data.size > 0),
                 "what is stored is loaded");
    FILE *file = fopen(path, "r+b");
    if (!file)
        return;
    at %= sizeof(struct header) + key->size + data.size;
    fseek(file, (long)at, SEEK_SET);
    int byte = fgetc(file);
    fseek(file, (long)at, SEEK_SET);
    fputc(byte ^ (1 << at % 8), file);
    fclose(file);
    fuzz_require(!load(key, &data), "a damaged entry is not loaded");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *folder;
    char path[8192];
    uint64_t count, bytes;
    if (!folder) {
        folder = fuzz_folder();
        setenv("RUNNEL_CACHE_DIR", folder, 1);
    }
    if (size < 2)
        return 0;
    struct bytes key = {data + 2, data[1]};
    if (key.size > size - 2)
        key.size = size - 2;
    struct bytes rest = {key.data + key.size, size - 2 - key.size};
    name_file(path, folder, &key);
    if (data[0] % 3 == 2)
        store(path, &key, rest);
    else
        put(path, &key, rest, data[0] % 3);
    fuzz_require(rnl_cache_prune(0, &count, &bytes) == RNL_OK, "a prune");
    return 0;
}
