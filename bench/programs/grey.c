#include "programs.h"

PROGRAM_TEXT(grey);

enum { N = 16 << 20 };

static void loop(void *const *arrays, int n)
{
    const unsigned char *pixels = arrays[0];
    unsigned char *greys = arrays[1];
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        greys[i] = (unsigned char)(0.299f * pixels[3 * i] +
                                   0.587f * pixels[3 * i + 1] +
                                   0.114f * pixels[3 * i + 2]);
}

static void simd_loop(void *const *arrays, int n)
{
    const unsigned char *pixels = arrays[0];
    unsigned char *greys = arrays[1];
#pragma omp parallel for simd
    for (int i = 0; i < n; i++)
        greys[i] = (unsigned char)(0.299f * pixels[3 * i] +
                                   0.587f * pixels[3 * i + 1] +
                                   0.114f * pixels[3 * i + 2]);
}

PROGRAM(grey) = {
    PROGRAM_NAMED(grey),
    .arrays = {{3 * N, 0, 256, .element = KERNEL_BYTES},
               {N, .element = KERNEL_BYTES, .result = true}},
    .n = N,
    .grid = {N / 256, 1, 1},
    .block = {256, 1, 1},
    .wrong_part = 1e-4,  // the last bit of a sum may carry
    .loop = loop,
    .simd_loop = simd_loop,
};
