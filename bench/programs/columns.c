#include "programs.h"

PROGRAM_TEXT(columns);

enum { N = 256, LINES = 4096 };

typedef struct field {
    double x, y, z, w;
} field;

static inline field damped(field value)
{
    value.x = value.x * 0.5 + 1;
    value.y = value.y * 0.5 + value.x;
    value.z = value.z * 0.5 + value.y;
    value.w = value.w * 0.5 + value.z;
    return value;
}

static void loop(void *const *arrays, int n)
{
    const field *from = arrays[0];
    field *to = arrays[1];
#pragma omp parallel for
    for (int y = 0; y < LINES; y++) {
        for (int x = 0; x < n; x++)
            to[y * n + x] = damped(from[y * n + x]);
    }
}

static void simd_loop(void *const *arrays, int n)
{
    const field *from = arrays[0];
    field *to = arrays[1];
#pragma omp parallel for
    for (int y = 0; y < LINES; y++) {
#pragma omp simd
        for (int x = 0; x < n; x++)
            to[y * n + x] = damped(from[y * n + x]);
    }
}

PROGRAM(columns) = {
    PROGRAM_NAMED(columns),
    .arrays = {{4 * N * LINES, 0, 1, .element = KERNEL_DOUBLES},
               {4 * N * LINES, .element = KERNEL_DOUBLES, .result = true}},
    .n = N,
    .grid = {N, LINES / 256, 1},
    .block = {1, 256, 1},
    .tolerance = 1e-12,
    .loop = loop,
    .simd_loop = simd_loop,
};
