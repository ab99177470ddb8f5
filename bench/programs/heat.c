#include "programs.h"

#include <string.h>

PROGRAM_TEXT(heat);

enum { N = 3072 };

// The first and the last line keep their temperature.
static void keep_lines(const float *now, float *next, size_t width)
{
    memcpy(next, now, width * sizeof *next);
    memcpy(next + (width - 1) * width, now + (width - 1) * width,
           width * sizeof *next);
}

static inline float step(const float *at, size_t width)
{
    float own = at[0];
    return own +
           0.1f * (at[-1] + at[1] + *(at - width) + at[width] - 4.0f * own);
}

static void loop(void *const *arrays, int n)
{
    const float *now = arrays[0];
    float *next = arrays[1];
    size_t width = (size_t)n;
    keep_lines(now, next, width);
#pragma omp parallel for
    for (size_t y = 1; y < width - 1; y++) {
        next[y * width] = now[y * width];
        next[y * width + width - 1] = now[y * width + width - 1];
        for (size_t x = 1; x < width - 1; x++)
            next[y * width + x] = step(&now[y * width + x], width);
    }
}

static void simd_loop(void *const *arrays, int n)
{
    const float *now = arrays[0];
    float *next = arrays[1];
    size_t width = (size_t)n;
    keep_lines(now, next, width);
#pragma omp parallel for
    for (size_t y = 1; y < width - 1; y++) {
        next[y * width] = now[y * width];
        next[y * width + width - 1] = now[y * width + width - 1];
#pragma omp simd
        for (size_t x = 1; x < width - 1; x++)
            next[y * width + x] = step(&now[y * width + x], width);
    }
}

PROGRAM(heat) = {
    PROGRAM_NAMED(heat),
    .arrays = {{N * N, 0, 100}, {N * N, .result = true}},
    .n = N,
    .grid = {N / 16, N / 16, 1},
    .block = {16, 16, 1},
    .tolerance = 1e-6,
    .loop = loop,
    .simd_loop = simd_loop,
};
