// The second half of an exclusive scan of n numbers: scans each 256 in shared
// memory, by Hillis and Steele, and adds what came before the block.
extern "C" __global__ void scan(const int *values, const int *before_blocks,
                                int *sums, int n)
{
    __shared__ int line[2][256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    int out = 0;
    line[0][t] = t > 0 && i < n ? values[i - 1] : 0;
    __syncthreads();
    for (int offset = 1; offset < 256; offset *= 2) {
        int in = out;
        out = 1 - out;
        if (t >= offset)
            line[out][t] = line[in][t] + line[in][t - offset];
        else
            line[out][t] = line[in][t];
        __syncthreads();
    }
    if (i < n)
        sums[i] = line[out][t] + before_blocks[blockIdx.x];
}
