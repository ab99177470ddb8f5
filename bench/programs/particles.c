#include "programs.h"

#include <math.h>

PROGRAM_TEXT(particles);

enum { N = 1 << 18, CELLS = 256 };

typedef struct pair {
    float x, y;
} pair;

static inline int least(int a, int b)
{
    return a < b ? a : b;
}

static inline int greatest(int a, int b)
{
    return a > b ? a : b;
}

static pair force_on(const pair *places, const int *first_of_cell, int i)
{
    pair own = places[i], force = {0, 0};
    int cell_x = (int)own.x, cell_y = (int)own.y;
    for (int y = greatest(cell_y - 1, 0); y <= least(cell_y + 1, CELLS - 1);
         y++) {
        for (int x = greatest(cell_x - 1, 0); x <= least(cell_x + 1, CELLS - 1);
             x++) {
            int cell = y * CELLS + x;
            for (int k = first_of_cell[cell]; k < first_of_cell[cell + 1];
                 k++) {
                if (k == i)
                    continue;
                float dx = own.x - places[k].x;
                float dy = own.y - places[k].y;
                float distance = sqrtf(dx * dx + dy * dy);
                if (distance < 1 && distance > 0) {
                    float push = (1 - distance) / distance;
                    force.x += push * dx;
                    force.y += push * dy;
                }
            }
        }
    }
    return force;
}

static void loop(void *const *arrays, int n)
{
    const pair *places = arrays[0];
    const int *first_of_cell = arrays[1];
    pair *forces = arrays[2];
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        forces[i] = force_on(places, first_of_cell, i);
}

// The three cells of a line lie one after the other.
static pair force_by_lines(const pair *places, const int *first_of_cell, int i)
{
    pair own = places[i];
    float force_x = 0, force_y = 0;
    int cell_x = (int)own.x, cell_y = (int)own.y;
    int left = greatest(cell_x - 1, 0), right = least(cell_x + 1, CELLS - 1);
    for (int y = greatest(cell_y - 1, 0); y <= least(cell_y + 1, CELLS - 1);
         y++) {
        int first = first_of_cell[y * CELLS + left];
        int end = first_of_cell[y * CELLS + right + 1];
#pragma omp simd reduction(+ : force_x, force_y)
        for (int k = first; k < end; k++) {
            float dx = own.x - places[k].x;
            float dy = own.y - places[k].y;
            float distance = sqrtf(dx * dx + dy * dy);
            float push =
                distance < 1 && distance > 0 ? (1 - distance) / distance : 0;
            force_x += push * dx;
            force_y += push * dy;
        }
    }
    return (pair){force_x, force_y};
}

static void simd_loop(void *const *arrays, int n)
{
    const pair *places = arrays[0];
    const int *first_of_cell = arrays[1];
    pair *forces = arrays[2];
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        forces[i] = force_by_lines(places, first_of_cell, i);
}

// Random places, dealt out to the cells four at a time in the mean.
static void prepare(void *const *arrays, int n)
{
    pair *places = arrays[0];
    int *first_of_cell = arrays[1];
    unsigned random = 1;
    int next = 0;
    for (int cell = 0; cell < CELLS * CELLS; cell++) {
        random = random * 1664525u + 1013904223u;
        int count = (int)(random >> 29) + (cell & 1);
        first_of_cell[cell] = next;
        for (int k = 0; k < count && next < n; k++, next++) {
            random = random * 1664525u + 1013904223u;
            float x = (float)(random >> 20) / 4096;
            float y = (float)(random >> 8 & 4095) / 4096;
            places[next] =
                (pair){(float)(cell % CELLS) + x, (float)(cell / CELLS) + y};
        }
    }
    first_of_cell[CELLS * CELLS] = next;
    for (; next < n; next++)
        places[next] = (pair){0, 0};
}

PROGRAM(particles) = {
    PROGRAM_NAMED(particles),
    .arrays = {{2 * N},
               {CELLS * CELLS + 1, .element = KERNEL_INTS},
               {2 * N, .result = true}},
    .n = N,
    .grid = {N / 128, 1, 1},
    .block = {128, 1, 1},
    .tolerance = 1e-4,
    .prepare = prepare,
    .loop = loop,
    .simd_loop = simd_loop,
};
