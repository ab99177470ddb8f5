#include "programs.h"

PROGRAM_TEXT(spmv);

enum { N = 1 << 16, DEGREE = 64 };

static void loop(void *const *arrays, int n)
{
    const int *first = arrays[0], *columns = arrays[1];
    const double *values = arrays[2], *x = arrays[3];
    double *y = arrays[4];
#pragma omp parallel for
    for (int row = 0; row < n; row++) {
        double sum = 0;
        for (int i = first[row]; i < first[row + 1]; i++)
            sum += values[i] * x[columns[i]];
        y[row] = sum;
    }
}

static void simd_loop(void *const *arrays, int n)
{
    const int *first = arrays[0], *columns = arrays[1];
    const double *values = arrays[2], *x = arrays[3];
    double *y = arrays[4];
#pragma omp parallel for
    for (int row = 0; row < n; row++) {
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int i = first[row]; i < first[row + 1]; i++)
            sum += values[i] * x[columns[i]];
        y[row] = sum;
    }
}

// Rows of 0 to 127 elements, within 2,048 columns of the diagonal.
static void prepare(void *const *arrays, int n)
{
    int *first = arrays[0], *columns = arrays[1];
    unsigned random = 1;
    first[0] = 0;
    for (int row = 0; row < n; row++) {
        random = random * 1664525u + 1013904223u;
        int count = (int)(random >> 25);
        if (first[row] + count > n * DEGREE)
            count = 0;
        first[row + 1] = first[row] + count;
        for (int i = first[row]; i < first[row + 1]; i++) {
            random = random * 1664525u + 1013904223u;
            columns[i] = (row + (int)(random >> 20) - 2048 + n) % n;
        }
    }
}

PROGRAM(spmv) = {
    PROGRAM_NAMED(spmv),
    .arrays = {{N + 1, .element = KERNEL_INTS},
               {N * DEGREE, .element = KERNEL_INTS},
               {N * DEGREE, -1, 1, .element = KERNEL_DOUBLES},
               {N, -1, 1, .element = KERNEL_DOUBLES},
               {N, .element = KERNEL_DOUBLES, .result = true}},
    .n = N,
    .grid = {N * 32 / 256, 1, 1},
    .block = {256, 1, 1},
    .tolerance = 1e-9,
    .prepare = prepare,
    .loop = loop,
    .simd_loop = simd_loop,
};
