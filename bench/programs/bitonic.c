#include "programs.h"

PROGRAM_TEXT(bitonic);

enum { N = 8 << 20, LENGTH = 4096 };

static void loop(void *const *arrays, int length)
{
    float *values = arrays[0];
    unsigned distance = (unsigned)length / 4;
#pragma omp parallel for
    for (unsigned i = 0; i < N; i++) {
        unsigned other = i ^ distance;
        if (other > i) {
            int rising = (i & (unsigned)length) == 0;
            if ((values[i] > values[other]) == rising) {
                float kept = values[i];
                values[i] = values[other];
                values[other] = kept;
            }
        }
    }
}

static void simd_loop(void *const *arrays, int length)
{
    float *values = arrays[0];
    unsigned distance = (unsigned)length / 4;
#pragma omp parallel for simd
    for (unsigned i = 0; i < N; i++) {
        unsigned other = i ^ distance;
        if (other > i) {
            int rising = (i & (unsigned)length) == 0;
            if ((values[i] > values[other]) == rising) {
                float kept = values[i];
                values[i] = values[other];
                values[other] = kept;
            }
        }
    }
}

PROGRAM(bitonic) = {
    PROGRAM_NAMED(bitonic),
    .arrays = {{N, 0, 1, .result = true}},
    .n = LENGTH,
    .step = LENGTH / 4,
    .grid = {N / 512, 1, 1},
    .block = {512, 1, 1},
    .loop = loop,
    .simd_loop = simd_loop,
};
