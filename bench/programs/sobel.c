#include "programs.h"

#include <stdlib.h>

PROGRAM_TEXT(sobel);

enum { N = 4096 };

static inline unsigned char strength_at(const unsigned char *at, int n)
{
    int gx = at[-n + 1] + 2 * at[1] + at[n + 1] - at[-n - 1] - 2 * at[-1] -
             at[n - 1];
    int gy = at[n - 1] + 2 * at[n] + at[n + 1] - at[-n - 1] - 2 * at[-n] -
             at[-n + 1];
    int strength = abs(gx) + abs(gy);
    return (unsigned char)(strength > 255 ? 255 : strength);
}

static void loop(void *const *arrays, int n)
{
    const unsigned char *image = arrays[0];
    unsigned char *edges = arrays[1];
#pragma omp parallel for
    for (int y = 1; y < n - 1; y++) {
        for (int x = 1; x < n - 1; x++)
            edges[y * n + x] = strength_at(image + y * n + x, n);
    }
}

static void simd_loop(void *const *arrays, int n)
{
    const unsigned char *image = arrays[0];
    unsigned char *edges = arrays[1];
#pragma omp parallel for
    for (int y = 1; y < n - 1; y++) {
#pragma omp simd
        for (int x = 1; x < n - 1; x++)
            edges[y * n + x] = strength_at(image + y * n + x, n);
    }
}

PROGRAM(sobel) = {
    PROGRAM_NAMED(sobel),
    .arrays = {{N * N, 0, 256, .element = KERNEL_BYTES},
               {N * N, .element = KERNEL_BYTES, .result = true}},
    .n = N,
    .grid = {N / 16, N / 16, 1},
    .block = {16, 16, 1},
    .loop = loop,
    .simd_loop = simd_loop,
};
