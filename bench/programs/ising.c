#include "programs.h"

#include <math.h>

PROGRAM_TEXT(ising);

enum { N = 2048 };

static signed char flipped(const signed char *spins, const signed char *others,
                           const float *chances, int n, int row, int column)
{
    int half = n / 2;
    int up = row > 0 ? row - 1 : n - 1;
    int down = row < n - 1 ? row + 1 : 0;
    int side;
    if (row % 2)
        side = column + 1 < half ? column + 1 : 0;
    else
        side = column > 0 ? column - 1 : half - 1;
    int sum = others[up * half + column] + others[down * half + column] +
              others[row * half + column] + others[row * half + side];
    signed char spin = spins[row * half + column];
    float ratio = expf(-0.88f * (float)sum * (float)spin);
    return chances[row * half + column] < ratio ? (signed char)-spin : spin;
}

static void loop(void *const *arrays, int n)
{
    signed char *spins = arrays[0];
    const signed char *others = arrays[1];
    const float *chances = arrays[2];
#pragma omp parallel for
    for (int row = 0; row < n; row++) {
        for (int column = 0; column < n / 2; column++)
            spins[row * (n / 2) + column] =
                flipped(spins, others, chances, n, row, column);
    }
}

static void simd_loop(void *const *arrays, int n)
{
    signed char *spins = arrays[0];
    const signed char *others = arrays[1];
    const float *chances = arrays[2];
#pragma omp parallel for
    for (int row = 0; row < n; row++) {
#pragma omp simd
        for (int column = 0; column < n / 2; column++)
            spins[row * (n / 2) + column] =
                flipped(spins, others, chances, n, row, column);
    }
}

// Random bytes become spins of -1 and 1.
static void prepare(void *const *arrays, int n)
{
    signed char *spins = arrays[0], *others = arrays[1];
    for (int i = 0; i < n * n / 2; i++) {
        spins[i] = spins[i] < 0 ? -1 : 1;
        others[i] = others[i] < 0 ? -1 : 1;
    }
}

PROGRAM(ising) = {
    PROGRAM_NAMED(ising),
    .arrays = {{N * N / 2, 0, 256, .element = KERNEL_BYTES, .result = true},
               {N * N / 2, 0, 256, .element = KERNEL_BYTES},
               {N * N / 2, 0, 1}},
    .n = N,
    .grid = {N / 2 / 16, N / 16, 1},
    .block = {16, 16, 1},
    .wrong_part = 1e-5,
    .prepare = prepare,
    .loop = loop,
    .simd_loop = simd_loop,
};
