#include "kernels.h"

KERNEL_TEXTS(vector_add);

enum { N = 16 << 20 };

static void loop(void *const *arrays, int n)
{
    const float *restrict a = arrays[0], *restrict b = arrays[1];
    float *restrict sum = arrays[2];
#pragma omp parallel for simd
    for (int i = 0; i < n; i++)
        sum[i] = a[i] + b[i];
}

const kernel_spec vector_add_kernel = {
    KERNEL_NAMED(vector_add),
    .arrays = {{N, 0, 1}, {N, 0, 1}, {N, .result = true}},
    .n = N,
    .grid = {N / 256, 1, 1},
    .block = {256, 1, 1},
    .any_shape = true,
    .loop = loop,
};
