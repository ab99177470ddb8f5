#include "programs.h"

PROGRAM_TEXT(floyd);

enum { N = 3072 };

static void loop(void *const *arrays, int n)
{
    int *lengths = arrays[0];
    int middle = n / 2;
#pragma omp parallel for
    for (int from = 0; from < n; from++) {
        for (int to = 0; to < n; to++) {
            int through = lengths[from * n + middle] + lengths[middle * n + to];
            if (through < lengths[from * n + to])
                lengths[from * n + to] = through;
        }
    }
}

static void simd_loop(void *const *arrays, int n)
{
    int *lengths = arrays[0];
    int middle = n / 2;
#pragma omp parallel for
    for (int from = 0; from < n; from++) {
        int first = lengths[from * n + middle];
#pragma omp simd
        for (int to = 0; to < n; to++) {
            int through = first + lengths[middle * n + to];
            if (through < lengths[from * n + to])
                lengths[from * n + to] = through;
        }
    }
}

PROGRAM(floyd) = {
    PROGRAM_NAMED(floyd),
    .arrays = {{N * N, 1, 1000, .element = KERNEL_INTS, .result = true}},
    .n = N,
    .step = N / 2,
    .grid = {N / 16, N / 16, 1},
    .block = {16, 16, 1},
    .loop = loop,
    .simd_loop = simd_loop,
};
