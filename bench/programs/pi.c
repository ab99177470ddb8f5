#include "programs.h"

PROGRAM_TEXT(pi);

enum { N = 1 << 16, POINTS = 256 };

static inline unsigned next(unsigned state)
{
    state ^= state << 13;
    state ^= state >> 17;
    return state ^ state << 5;
}

static inline unsigned count_from(unsigned state)
{
    unsigned count = 0;
    for (int k = 0; k < POINTS; k++) {
        state = next(state);
        float x = (float)(state >> 8) / 16777216.0f;
        state = next(state);
        float y = (float)(state >> 8) / 16777216.0f;
        if (x * x + y * y < 1)
            count++;
    }
    return count;
}

static void loop(void *const *arrays, int n)
{
    const unsigned *seeds = arrays[0];
    unsigned *counts = arrays[1];
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        counts[i] = count_from(seeds[i] | 1);
}

static void simd_loop(void *const *arrays, int n)
{
    const unsigned *seeds = arrays[0];
    unsigned *counts = arrays[1];
#pragma omp parallel for simd
    for (int i = 0; i < n; i++)
        counts[i] = count_from(seeds[i] | 1);
}

PROGRAM(pi) = {
    PROGRAM_NAMED(pi),
    .arrays = {{N, .element = KERNEL_WORDS},
               {N, .element = KERNEL_INTS, .result = true}},
    .n = N,
    .grid = {N / 256, 1, 1},
    .block = {256, 1, 1},
    .wrong_part = 1e-4,
    .loop = loop,
    .simd_loop = simd_loop,
};
