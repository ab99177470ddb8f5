#include "programs.h"

PROGRAM_TEXT(pagerank);

enum { N = 1 << 19, DEGREE = 8 };

static void loop(void *const *arrays, int n)
{
    const int *first_links = arrays[0], *links = arrays[1];
    const float *shares = arrays[2];
    float *ranks = arrays[3];
#pragma omp parallel for
    for (int page = 0; page < n; page++) {
        float sum = 0;
        for (int i = first_links[page]; i < first_links[page + 1]; i++)
            sum += shares[links[i]];
        ranks[page] = 0.15f / (float)n + 0.85f * sum;
    }
}

static void simd_loop(void *const *arrays, int n)
{
    const int *first_links = arrays[0], *links = arrays[1];
    const float *shares = arrays[2];
    float *ranks = arrays[3];
#pragma omp parallel for
    for (int page = 0; page < n; page++) {
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int i = first_links[page]; i < first_links[page + 1]; i++)
            sum += shares[links[i]];
        ranks[page] = 0.15f / (float)n + 0.85f * sum;
    }
}

// A few pages have very many links, most have few: 1 to 4, 1 in 32 has 48 more
// and 1 in 1024 some 1,000 more.
static void prepare(void *const *arrays, int n)
{
    int *first_links = arrays[0];
    unsigned random = 1;
    first_links[0] = 0;
    for (int page = 0; page < n; page++) {
        random = random * 1664525u + 1013904223u;
        int degree = 1 + (int)(random >> 30);
        degree += (random >> 25 & 31) ? 0 : 48;
        degree += (random >> 15 & 1023) ? 0 : 1000;
        if (first_links[page] + degree > n * DEGREE)
            degree = 0;
        first_links[page + 1] = first_links[page] + degree;
    }
}

PROGRAM(pagerank) = {
    PROGRAM_NAMED(pagerank),
    .arrays = {{N + 1, .element = KERNEL_INTS},
               {N * DEGREE, 0, N, .element = KERNEL_INTS},
               {N, 0, 1},
               {N, .result = true}},
    .n = N,
    .grid = {N / 256, 1, 1},
    .block = {256, 1, 1},
    .tolerance = 1e-5,
    .prepare = prepare,
    .loop = loop,
    .simd_loop = simd_loop,
};
