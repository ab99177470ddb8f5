#include "kernels.h"

KERNEL_TEXTS(histogram);

enum { N = 16 << 20 };

static void loop(void *const *arrays, int n)
{
    const unsigned *words = arrays[0];
    unsigned *counts = arrays[1];
#pragma omp parallel for reduction(+ : counts[:256])
    for (int i = 0; i < n; i++)
        counts[words[i] & 255]++;
}

const kernel_spec histogram_kernel = {
    KERNEL_NAMED(histogram),
    .arrays = {{N, .element = KERNEL_WORDS},
               {256, .element = KERNEL_INTS, .result = true}},
    .n = N,
    .grid = {256, 1, 1},
    .block = {256, 1, 1},
    .loop = loop,
};
