// Sums of n floats, one a block: each thread adds up its own, a warp those of
// its threads by shuffles, the first warp those of all warps.
__device__ float warp_sum(float sum)
{
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, distance);
    return sum;
}

extern "C" __global__ void shuffle_reduction(const float *__restrict__ values,
                                             float *__restrict__ sums, int n)
{
    __shared__ float of_warps[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x)
        sum += values[i];
    sum = warp_sum(sum);
    if (lane == 0)
        of_warps[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = warp_sum(lane < blockDim.x / 32 ? of_warps[lane] : 0);
        if (lane == 0)
            sums[blockIdx.x] = sum;
    }
}
