#include "kernels.h"

KERNEL_TEXTS(mandelbrot);

enum { N = 1024 };

static unsigned escape(float cx, float cy)
{
    float x = 0, y = 0;
    unsigned steps = 0;
    while (steps < 256 && x * x + y * y < 4) {
        float next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
        steps++;
    }
    return steps;
}

static void loop(void *const *arrays, int n)
{
    unsigned *picture = arrays[0];
#pragma omp parallel for schedule(dynamic, 4)
    for (int row = 0; row < n; row++) {
        float cy = -1.5f + 3.0f * (float)row / (float)n;
        for (int column = 0; column < n; column++) {
            float cx = -2 + 3.0f * (float)column / (float)n;
            picture[row * n + column] = escape(cx, cy);
        }
    }
}

const kernel_spec mandelbrot_kernel = {
    KERNEL_NAMED(mandelbrot),
    .arrays = {{N * N, .element = KERNEL_INTS, .result = true}},
    .n = N,
    .grid = {N / 32, N / 8, 1},
    .block = {32, 8, 1},
    .any_shape = true,
    .wrong_part = 5e-3,
    .loop = loop,
};
