#include "programs.h"

PROGRAM_TEXT(bfs);

enum { N = 1 << 20, DEGREE = 8, LEVEL = 5 };

static void loop(void *const *arrays, int n)
{
    const int *first_edges = arrays[0], *edges = arrays[1];
    const unsigned char *frontier = arrays[2], *visited = arrays[3];
    int *levels = arrays[4];
    unsigned char *marked = arrays[5];
#pragma omp parallel for
    for (int node = 0; node < n; node++) {
        if (!frontier[node])
            continue;
        for (int i = first_edges[node]; i < first_edges[node + 1]; i++) {
            int other = edges[i];
            if (!visited[other]) {
                levels[other] = LEVEL;
                marked[other] = 1;
            }
        }
    }
}

// Rows of 0 to 15 edges. A quarter of the nodes is in the frontier, and so is
// visited; so is a half of the others.
static void prepare(void *const *arrays, int n)
{
    int *first_edges = arrays[0];
    unsigned char *frontier = arrays[2], *visited = arrays[3];
    unsigned random = 1;
    first_edges[0] = 0;
    for (int node = 0; node < n; node++) {
        random = random * 1664525u + 1013904223u;
        int degree = (int)(random >> 28);
        if (first_edges[node] + degree > n * DEGREE)
            degree = 0;
        first_edges[node + 1] = first_edges[node] + degree;
        frontier[node] = (random >> 20 & 3) == 0;
        visited[node] = frontier[node] || (random >> 22 & 1);
    }
}

PROGRAM(bfs) = {
    PROGRAM_NAMED(bfs),
    .arrays = {{N + 1, .element = KERNEL_INTS},
               {N * DEGREE, 0, N, .element = KERNEL_INTS},
               {N, .element = KERNEL_BYTES},
               {N, .element = KERNEL_BYTES},
               {N, .element = KERNEL_INTS, .result = true},
               {N, .element = KERNEL_BYTES, .result = true}},
    .n = N,
    .step = LEVEL,
    .grid = {N / 256, 1, 1},
    .block = {256, 1, 1},
    .prepare = prepare,
    .loop = loop,
};
