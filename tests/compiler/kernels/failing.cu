// Kernels that fail while they run.
extern "C" __global__ void fail_assert(int *out, int limit)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(i < limit && "too far");
    out[i] = i;
}

extern "C" __global__ void fail_trap(int *out, int limit)
{
    __syncthreads();
    if ((int)threadIdx.y == limit)
        __trap();
    __syncthreads();
    out[threadIdx.x] = 1;
}

extern "C" __global__ void fail_divergent(int *out, int)
{
    if (threadIdx.x < 16)
        __syncthreads();
    else
        __syncwarp(0xffffffff);
    out[threadIdx.x] = 1;
}

extern "C" __global__ void fail_other_operation(int *out, int)
{
    if (threadIdx.x < 16)
        out[threadIdx.x] = (int)__ballot_sync(0xffffffff, 1);
    else
        out[threadIdx.x] = __any_sync(0xffffffff, 1);
}

extern "C" __global__ void fail_own_lane(int *out, int)
{
    out[threadIdx.x] = __shfl_down_sync(0x0000ffff, (int)threadIdx.x, 1);
}

extern "C" __global__ void works(int *out, int)
{
    __syncthreads();
    out[threadIdx.x] = 42;
}
