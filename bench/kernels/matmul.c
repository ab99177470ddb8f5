#include "kernels.h"

KERNEL_TEXTS(matmul);

enum { N = 1024, ROWS = 8, COLUMNS = 64 };

// ROWS x COLUMNS results at a time, which stay in registers.
static void block(const float *restrict a, const float *restrict b,
                  float *restrict c)
{
    float sums[ROWS][COLUMNS] = {0};
    for (int k = 0; k < N; k++) {
        for (int row = 0; row < ROWS; row++) {
#pragma omp simd
            for (int column = 0; column < COLUMNS; column++)
                sums[row][column] += a[row * N + k] * b[k * N + column];
        }
    }
    for (int row = 0; row < ROWS; row++) {
        for (int column = 0; column < COLUMNS; column++)
            c[row * N + column] = sums[row][column];
    }
}

static void loop(void *const *arrays, int n)
{
    const float *a = arrays[0], *b = arrays[1];
    float *c = arrays[2];
    (void)n;
#pragma omp parallel for collapse(2)
    for (int column = 0; column < N; column += COLUMNS) {
        for (int row = 0; row < N; row += ROWS)
            block(a + row * N, b + column, c + row * N + column);
    }
}

const kernel_spec matmul_kernel = {
    KERNEL_NAMED(matmul),
    .arrays = {{N * N, -1, 1}, {N * N, -1, 1}, {N * N, .result = true}},
    .n = N,
    .grid = {N / 16, N / 16, 1},
    .block = {16, 16, 1},
    .tolerance = 1e-4,
    .loop = loop,
};
