// What CUDA does not have: nothing for another device.

// @run double n=128 grid=2 block=64
extern "C" __global__ void double_extremes(double *out, const double *in,
                                           int n)
{
    __shared__ double least, most;
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (t == 0)
        least = most = 0.0;
    __syncthreads();
    atomicMin(&least, in[i]);
    atomicMax(&most, in[i]);
    __syncthreads();
    out[i] = most * 4 + least;
}

// @run float n=128 grid=2 block=64
extern "C" __global__ void float_extremes(float *out, const float *in, int n)
{
    __shared__ float least, most;
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (t == 0)
        least = most = 0.0f;
    __syncthreads();
    atomicMin(&least, in[i]);
    atomicMax(&most, in[i]);
    __syncthreads();
    out[i] = most * 4 + least;
}
