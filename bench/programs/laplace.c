#include "programs.h"

PROGRAM_TEXT(laplace);

enum { N = 192 };

static void loop(void *const *arrays, int n)
{
    const float *from = arrays[0];
    float *to = arrays[1];
    int plane = n * n;
#pragma omp parallel for
    for (int z = 0; z < n; z++) {
        for (int y = 0; y < n; y++) {
            for (int x = 0; x < n; x++) {
                int at = z * plane + y * n + x;
                if (x == 0 || y == 0 || z == 0 || x == n - 1 || y == n - 1 ||
                    z == n - 1)
                    to[at] = from[at];
                else
                    to[at] =
                        (from[at - 1] + from[at + 1] + from[at - n] +
                         from[at + n] + from[at - plane] + from[at + plane]) *
                        (1.0f / 6.0f);
            }
        }
    }
}

static void line(const float *from, float *to, int n, int at)
{
    int plane = n * n;
    to[at] = from[at];
#pragma omp simd
    for (int i = at + 1; i < at + n - 1; i++)
        to[i] = (from[i - 1] + from[i + 1] + from[i - n] + from[i + n] +
                 from[i - plane] + from[i + plane]) *
                (1.0f / 6.0f);
    to[at + n - 1] = from[at + n - 1];
}

static void simd_loop(void *const *arrays, int n)
{
    const float *from = arrays[0];
    float *to = arrays[1];
#pragma omp parallel for
    for (int z = 0; z < n; z++) {
        for (int y = 0; y < n; y++) {
            int at = (z * n + y) * n;
            if (y > 0 && z > 0 && y < n - 1 && z < n - 1) {
                line(from, to, n, at);
                continue;
            }
            for (int x = 0; x < n; x++)
                to[at + x] = from[at + x];
        }
    }
}

PROGRAM(laplace) = {
    PROGRAM_NAMED(laplace),
    .arrays = {{N * N * N, 0, 1}, {N * N * N, .result = true}},
    .n = N,
    .grid = {N / 16, N / 16, 1},
    .block = {16, 16, 1},
    .tolerance = 1e-6,
    .loop = loop,
    .simd_loop = simd_loop,
};
