// y = A x for a sparse matrix of n rows in compressed rows: a warp a row, whose
// threads share the row's elements and add their sums by shuffles.
extern "C" __global__ void spmv(const int *first, const int *columns,
                                const double *values, const double *x,
                                double *y, int n)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= n)
        return;
    double sum = 0;
    for (int i = first[row] + lane; i < first[row + 1]; i += 32)
        sum += values[i] * x[columns[i]];
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (lane == 0)
        y[row] = sum;
}
