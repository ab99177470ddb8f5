// Swaps the parts of an n x n matrix on both sides of its diagonals: each
// thread walks along a row of its own, of a length of its own.
extern "C" __global__ void reverse_rows(float *matrix, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n / 2)
        return;
    int last = n - 1 - row;
    for (int i = row; i < last; i++) {
        int back = last - (i - row);
        float top = matrix[row * n + i];
        matrix[row * n + i] = matrix[last * n + back];
        matrix[last * n + back] = top;
    }
}
