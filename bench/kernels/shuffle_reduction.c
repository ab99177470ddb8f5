#include "kernels.h"

KERNEL_TEXTS(shuffle_reduction);

enum { N = 32 << 20, BLOCKS = 256 };

static void loop(void *const *arrays, int n)
{
    const float *values = arrays[0];
    float *sums = arrays[1];
    float sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
    for (int i = 0; i < n; i++)
        sum += values[i];
    for (int i = 1; i < BLOCKS; i++)
        sums[i] = 0;
    sums[0] = sum;
}

const kernel_spec shuffle_reduction_kernel = {
    KERNEL_NAMED(shuffle_reduction),
    .arrays = {{N, 0, 1}, {BLOCKS, .result = true}},
    .n = N,
    .grid = {BLOCKS, 1, 1},
    .block = {256, 1, 1},
    .fast_math = true,
    .sum_only = true,
    .tolerance = 1e-4,
    .loop = loop,
};
