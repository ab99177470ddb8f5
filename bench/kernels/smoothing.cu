// Smooths each 256 of n floats 16 times, in shared memory.
extern "C" __global__ void smoothing(const float *__restrict__ values,
                                     float *__restrict__ result, int n)
{
    __shared__ float line[256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    int left = t > 0 ? t - 1 : 0;
    int right = t < 255 ? t + 1 : 255;
    line[t] = i < n ? values[i] : 0;
    __syncthreads();
    for (int step = 0; step < 16; step++) {
        float mean = 0.25f * line[left] + 0.5f * line[t] + 0.25f * line[right];
        __syncthreads();
        line[t] = mean;
        __syncthreads();
    }
    if (i < n)
        result[i] = line[t];
}
