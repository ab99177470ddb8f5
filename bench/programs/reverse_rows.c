#include "programs.h"

PROGRAM_TEXT(reverse_rows);

enum { N = 4096 };

static void loop(void *const *arrays, int n)
{
    float *matrix = arrays[0];
#pragma omp parallel for
    for (int row = 0; row < n / 2; row++) {
        int last = n - 1 - row;
        for (int i = row; i < last; i++) {
            int back = last - (i - row);
            float top = matrix[row * n + i];
            matrix[row * n + i] = matrix[last * n + back];
            matrix[last * n + back] = top;
        }
    }
}

static void simd_loop(void *const *arrays, int n)
{
    float *matrix = arrays[0];
#pragma omp parallel for
    for (int row = 0; row < n / 2; row++) {
        int last = n - 1 - row;
#pragma omp simd
        for (int i = row; i < last; i++) {
            int back = last - (i - row);
            float top = matrix[row * n + i];
            matrix[row * n + i] = matrix[last * n + back];
            matrix[last * n + back] = top;
        }
    }
}

PROGRAM(reverse_rows) = {
    PROGRAM_NAMED(reverse_rows),
    .arrays = {{N * N, 0, 1, .result = true}},
    .n = N,
    .grid = {N / 2 / 128, 1, 1},
    .block = {128, 1, 1},
    .loop = loop,
    .simd_loop = simd_loop,
};
