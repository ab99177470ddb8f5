#include "programs.h"

#include <string.h>

PROGRAM_TEXT(heat);

enum { N = 3072 };

static void loop(void *const *arrays, int n)
{
    const float *now = arrays[0];
    float *next = arrays[1];
    size_t width = (size_t)n;
    memcpy(next, now, width * sizeof *next);
    memcpy(next + (width - 1) * width, now + (width - 1) * width,
           width * sizeof *next);
#pragma omp parallel for
    for (size_t y = 1; y < width - 1; y++) {
        next[y * width] = now[y * width];
        next[y * width + width - 1] = now[y * width + width - 1];
        for (size_t x = 1; x < width - 1; x++) {
            size_t at = y * width + x;
            float own = now[at];
            next[at] =
                own + 0.1f * (now[at - 1] + now[at + 1] + now[at - width] +
                              now[at + width] - 4.0f * own);
        }
    }
}

static void simd_loop(void *const *arrays, int n)
{
    const float *now = arrays[0];
    float *next = arrays[1];
    size_t width = (size_t)n;
    memcpy(next, now, width * sizeof *next);
    memcpy(next + (width - 1) * width, now + (width - 1) * width,
           width * sizeof *next);
#pragma omp parallel for
    for (size_t y = 1; y < width - 1; y++) {
        next[y * width] = now[y * width];
        next[y * width + width - 1] = now[y * width + width - 1];
#pragma omp simd
        for (size_t x = 1; x < width - 1; x++) {
            size_t at = y * width + x;
            float own = now[at];
            next[at] =
                own + 0.1f * (now[at - 1] + now[at + 1] + now[at - width] +
                              now[at + width] - 4.0f * own);
        }
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
