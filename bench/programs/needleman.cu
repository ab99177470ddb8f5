// Needleman and Wunsch's scores of n pairs of sequences of 32 letters, a block
// a pair: the diagonals one after the other in shared memory.
#define LENGTH 32

extern "C" __global__ void needleman(const unsigned char *left,
                                     const unsigned char *right, int *scores,
                                     int n)
{
    __shared__ int table[LENGTH + 1][LENGTH + 1];
    __shared__ unsigned char a[LENGTH], b[LENGTH];
    int t = threadIdx.x;
    a[t] = left[blockIdx.x * LENGTH + t] % 4;
    b[t] = right[blockIdx.x * LENGTH + t] % 4;
    table[0][t + 1] = -2 * (t + 1);
    table[t + 1][0] = -2 * (t + 1);
    if (t == 0)
        table[0][0] = 0;
    __syncthreads();
    for (int diagonal = 0; diagonal < 2 * LENGTH - 1; diagonal++) {
        int column = t, row = diagonal - t;
        if (row >= 0 && row < LENGTH) {
            int match = table[row][column] + (a[row] == b[column] ? 3 : -1);
            int gap = max(table[row][column + 1], table[row + 1][column]) - 2;
            table[row + 1][column + 1] = max(match, gap);
        }
        __syncthreads();
    }
    if (t == 0)
        scores[blockIdx.x] = table[LENGTH][LENGTH];
}
