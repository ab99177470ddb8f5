// Counts the low bytes of n words, in shared memory first.
extern "C" __global__ void histogram(const unsigned int *__restrict__ words,
                                     unsigned int *__restrict__ counts, int n)
{
    __shared__ unsigned int own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x)
        atomicAdd(&own[words[i] & 255], 1);
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}
