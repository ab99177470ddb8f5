#include "programs.h"

PROGRAM_TEXT(needleman);

enum { N = 8192, LENGTH = 32 };

static inline int greater(int a, int b)
{
    return a > b ? a : b;
}

static int score_of(const unsigned char *left, const unsigned char *right)
{
    int table[LENGTH + 1][LENGTH + 1];
    for (int i = 0; i <= LENGTH; i++)
        table[0][i] = table[i][0] = -2 * i;
    for (int row = 0; row < LENGTH; row++) {
        for (int column = 0; column < LENGTH; column++) {
            int same = left[row] % 4 == right[column] % 4;
            int match = table[row][column] + (same ? 3 : -1);
            int gap =
                greater(table[row][column + 1], table[row + 1][column]) - 2;
            table[row + 1][column + 1] = greater(match, gap);
        }
    }
    return table[LENGTH][LENGTH];
}

static void loop(void *const *arrays, int n)
{
    const unsigned char *left = arrays[0], *right = arrays[1];
    int *scores = arrays[2];
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        scores[i] = score_of(left + i * LENGTH, right + i * LENGTH);
}

PROGRAM(needleman) = {
    PROGRAM_NAMED(needleman),
    .arrays = {{N * LENGTH, 0, 256, .element = KERNEL_BYTES},
               {N * LENGTH, 0, 256, .element = KERNEL_BYTES},
               {N, .element = KERNEL_INTS, .result = true}},
    .n = N,
    .grid = {N, 1, 1},
    .block = {LENGTH, 1, 1},
    .loop = loop,
};
