#include "kernels.h"

#include <string.h>

KERNEL_TEXTS(transpose);

enum { N = 4096, TILE = 32 };

// Through a tile of its own: writing columns straight into a matrix whose rows
// are a power of two apart takes more than twice as long.
static void transpose_tile(const float *restrict from, float *restrict to,
                           int n)
{
    float tile[TILE][TILE + 1];
    for (int row = 0; row < TILE; row++) {
        for (int column = 0; column < TILE; column++)
            tile[column][row] = from[row * n + column];
    }
    for (int row = 0; row < TILE; row++)
        memcpy(to + row * n, tile[row], TILE * sizeof *to);
}

static void loop(void *const *arrays, int n)
{
    const float *from = arrays[0];
    float *to = arrays[1];
#pragma omp parallel for collapse(2)
    for (int row = 0; row < n; row += TILE) {
        for (int column = 0; column < n; column += TILE)
            transpose_tile(from + column * n + row,
                           to + row * n + column, n);
    }
}

const kernel_spec transpose_kernel = {
    KERNEL_NAMED(transpose),
    .arrays = {{N * N, 0, 1}, {N * N, .result = true}},
    .n = N,
    .grid = {N / TILE, N / TILE, 1},
    .block = {TILE, 8, 1},
    .loop = loop,
};
