#include "programs.h"

#include <math.h>

PROGRAM_TEXT(front_loaded);

enum { N = 100000, TERMS = 200 };

static void loop(void *const *arrays, int n)
{
    const float *values = arrays[0];
    float *results = arrays[1];
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        float sum = 0;
        for (int k = 1; k <= TERMS; k++)
            sum += sqrtf(values[i] + (float)k) / (float)k;
        results[i] = sum;
    }
}

static void simd_loop(void *const *arrays, int n)
{
    const float *values = arrays[0];
    float *results = arrays[1];
#pragma omp parallel for simd
    for (int i = 0; i < n; i++) {
        float sum = 0;
        for (int k = 1; k <= TERMS; k++)
            sum += sqrtf(values[i] + (float)k) / (float)k;
        results[i] = sum;
    }
}

PROGRAM(front_loaded) = {
    PROGRAM_NAMED(front_loaded),
    .arrays = {{N, 0, 1}, {N, .result = true}},
    .n = N,
    .grid = {100096, 1, 1},
    .block = {256, 1, 1},
    .tolerance = 1e-5,
    .loop = loop,
    .simd_loop = simd_loop,
};
