#include "programs.h"

PROGRAM_TEXT(murmur);

enum { N = 1 << 20, WORDS = 8 };

static inline unsigned rotate(unsigned value, int bits)
{
    return value << bits | value >> (32 - bits);
}

static inline unsigned hash_of(const unsigned *record)
{
    unsigned hash = 42;
    for (int k = 0; k < WORDS; k++) {
        unsigned word = record[k] * 0xcc9e2d51u;
        hash ^= rotate(word, 15) * 0x1b873593u;
        hash = rotate(hash, 13) * 5 + 0xe6546b64u;
    }
    hash ^= 4 * WORDS;
    hash ^= hash >> 16;
    hash *= 0x85ebca6bu;
    hash ^= hash >> 13;
    hash *= 0xc2b2ae35u;
    return hash ^ hash >> 16;
}

static void loop(void *const *arrays, int n)
{
    const unsigned *records = arrays[0];
    unsigned *hashes = arrays[1];
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        hashes[i] = hash_of(records + i * WORDS);
}

static void simd_loop(void *const *arrays, int n)
{
    const unsigned *records = arrays[0];
    unsigned *hashes = arrays[1];
#pragma omp parallel for simd
    for (int i = 0; i < n; i++)
        hashes[i] = hash_of(records + i * WORDS);
}

PROGRAM(murmur) = {
    PROGRAM_NAMED(murmur),
    .arrays = {{N * WORDS, .element = KERNEL_WORDS},
               {N, .element = KERNEL_INTS, .result = true}},
    .n = N,
    .grid = {N / 256, 1, 1},
    .block = {256, 1, 1},
    .loop = loop,
    .simd_loop = simd_loop,
};
