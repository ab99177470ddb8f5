#include "programs.h"

PROGRAM_TEXT(kmeans);

enum { N = 1 << 20, FEATURES = 8, CENTRES = 16 };

static inline int nearest_to(const float *features, const float *centres, int n,
                             int i)
{
    int best = 0;
    float least = 3.4e38f;
    for (int c = 0; c < CENTRES; c++) {
        float distance = 0;
        for (int f = 0; f < FEATURES; f++) {
            float part = features[f * n + i] - centres[c * FEATURES + f];
            distance += part * part;
        }
        if (distance < least) {
            least = distance;
            best = c;
        }
    }
    return best;
}

static void loop(void *const *arrays, int n)
{
    const float *features = arrays[0], *centres = arrays[1];
    int *nearest = arrays[2];
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        nearest[i] = nearest_to(features, centres, n, i);
}

static void simd_loop(void *const *arrays, int n)
{
    const float *features = arrays[0], *centres = arrays[1];
    int *nearest = arrays[2];
#pragma omp parallel for simd
    for (int i = 0; i < n; i++)
        nearest[i] = nearest_to(features, centres, n, i);
}

PROGRAM(kmeans) = {
    PROGRAM_NAMED(kmeans),
    .arrays = {{N * FEATURES, 0, 1},
               {CENTRES * FEATURES, 0, 1},
               {N, .element = KERNEL_INTS, .result = true}},
    .n = N,
    .grid = {N / 256, 1, 1},
    .block = {256, 1, 1},
    .wrong_part = 1e-4,
    .loop = loop,
    .simd_loop = simd_loop,
};
