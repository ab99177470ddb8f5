#include "kernels.h"

KERNEL_TEXTS(reduction);

enum { N = 16 << 20 };

static void loop(void *const *arrays, int n)
{
    const float *values = arrays[0];
    float *sums = arrays[1];
#pragma omp parallel for
    for (int block = 0; block < n / 256; block++) {
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int i = 0; i < 256; i++)
            sum += values[256 * block + i];
        sums[block] = sum;
    }
}

const kernel_spec reduction_kernel = {
    KERNEL_NAMED(reduction),
    .arrays = {{N, 0, 1}, {N / 256, .result = true}},
    .n = N,
    .grid = {N / 256, 1, 1},
    .block = {256, 1, 1},
    .fast_math = true,
    .tolerance = 1e-5,
    .loop = loop,
};
