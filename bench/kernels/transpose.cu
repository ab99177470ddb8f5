// The transpose of n x n floats, through shared tiles of 32 x 32 with a column
// more, as against bank conflicts.
extern "C" __global__ void transpose(const float *__restrict__ from,
                                     float *__restrict__ to, int n)
{
    __shared__ float tile[32][33];
    int left = blockIdx.x * 32, top = blockIdx.y * 32;
    for (int y = threadIdx.y; y < 32; y += 8)
        tile[y][threadIdx.x] = from[(top + y) * n + left + threadIdx.x];
    __syncthreads();
    for (int y = threadIdx.y; y < 32; y += 8)
        to[(left + y) * n + top + threadIdx.x] = tile[threadIdx.x][y];
}
