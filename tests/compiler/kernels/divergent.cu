// Threads of a block at barriers in different lines.
#include <cooperative_groups.h>

extern "C" __global__ void fail_two_barriers(int *out, int)
{
    if (threadIdx.x < 16)
        __syncthreads();
    else
        out[0] = __syncthreads_count(1);
    out[threadIdx.x] = 1;
}

// Some threads leave the loop, and wait behind it.
extern "C" __global__ void fail_other_rounds(int *out, int)
{
    for (unsigned i = 0; i < 1 + threadIdx.x / 32; i++)
        __syncthreads();
    cooperative_groups::this_thread_block().sync();
    out[threadIdx.x] = 1;
}

__device__ inline void meet() { __syncthreads(); }

// The others have ended, or wait in the same line.
extern "C" __global__ void some_have_ended(int *out, int limit)
{
    if ((int)threadIdx.x >= limit)
        return;
    if (threadIdx.x % 2)
        meet();
    else
        meet();
    __syncthreads(), out[threadIdx.x] = 5;
    out[threadIdx.x] += __syncthreads_count(1);
}

extern "C" __global__ void works(int *out, int)
{
    out[threadIdx.x] = 42;
}
