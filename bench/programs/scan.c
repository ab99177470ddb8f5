#include "programs.h"

PROGRAM_TEXT(scan);

enum { N = 8 << 20, BLOCK = 256 };

static void loop(void *const *arrays, int n)
{
    const int *values = arrays[0], *before_blocks = arrays[1];
    int *sums = arrays[2];
#pragma omp parallel for
    for (int block = 0; block < n / BLOCK; block++) {
        int sum = before_blocks[block];
        for (int i = block * BLOCK; i < (block + 1) * BLOCK; i++) {
            sums[i] = sum;
            sum += values[i];
        }
    }
}

static void simd_loop(void *const *arrays, int n)
{
    const int *values = arrays[0], *before_blocks = arrays[1];
    int *sums = arrays[2];
#pragma omp parallel for
    for (int block = 0; block < n / BLOCK; block++) {
        int sum = before_blocks[block];
#pragma omp simd reduction(inscan, + : sum)
        for (int i = block * BLOCK; i < (block + 1) * BLOCK; i++) {
            sums[i] = sum;
#pragma omp scan exclusive(sum)
            sum += values[i];
        }
    }
}

PROGRAM(scan) = {
    PROGRAM_NAMED(scan),
    .arrays = {{N, -100, 100, .element = KERNEL_INTS},
               {N / BLOCK, -10000, 10000, .element = KERNEL_INTS},
               {N, .element = KERNEL_INTS, .result = true}},
    .n = N,
    .grid = {N / BLOCK, 1, 1},
    .block = {BLOCK, 1, 1},
    .loop = loop,
    .simd_loop = simd_loop,
};
