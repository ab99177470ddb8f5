#include "kernels.h"

KERNEL_TEXTS(saxpy);

enum { N = 16 << 20 };

// Small, so that y stays tame through all runs.
static const float factor = 1e-4f;

static void loop(void *const *arrays, int n)
{
    const float *restrict x = arrays[0];
    float *restrict y = arrays[1];
#pragma omp parallel for simd
    for (int i = 0; i < n; i++)
        y[i] += factor * x[i];
}

const kernel_spec saxpy_kernel = {
    KERNEL_NAMED(saxpy),
    .arrays = {{N, 0, 1000}, {N, 0, 1, .result = true}},
    .factor = 1e-4f,
    .n = N,
    .grid = {256, 1, 1},
    .block = {256, 1, 1},
    .tolerance = 1e-6,
    .loop = loop,
};
