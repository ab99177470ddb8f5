#include "kernels.h"

#include <math.h>

KERNEL_TEXTS(nbody);

enum { N = 16384 };

// A structure of arrays: what the vectoriser likes best.
static float x[N], y[N], z[N], mass[N];

static void split(const float *bodies, int n)
{
    for (int i = 0; i < n; i++) {
        x[i] = bodies[4 * i];
        y[i] = bodies[4 * i + 1];
        z[i] = bodies[4 * i + 2];
        mass[i] = bodies[4 * i + 3];
    }
}

static void attract(int i, int n, float *result)
{
    float own_x = x[i], own_y = y[i], own_z = z[i];
    float ax = 0, ay = 0, az = 0;
#pragma omp simd reduction(+ : ax, ay, az)
    for (int k = 0; k < n; k++) {
        float dx = x[k] - own_x, dy = y[k] - own_y, dz = z[k] - own_z;
        float near = 1 / sqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
        float pull = mass[k] * near * near * near;
        ax += dx * pull;
        ay += dy * pull;
        az += dz * pull;
    }
    result[0] = ax;
    result[1] = ay;
    result[2] = az;
    result[3] = 0;
}

static void loop(void *const *arrays, int n)
{
    float *result = arrays[1];
    split(arrays[0], n);
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        attract(i, n, result + 4 * i);
}

const kernel_spec nbody_kernel = {
    KERNEL_NAMED(nbody),
    .arrays = {{4 * N, 0, 10}, {4 * N, .result = true}},
    .n = N,
    .grid = {N / 256, 1, 1},
    .block = {256, 1, 1},
    .fast_math = true,
    .tolerance = 2e-3,
    .loop = loop,
};
