// What CUDA does not have, or not right: nothing for another device.

template <class T> __device__ void extremes(T *out, const T *in)
{
    __shared__ T least, most;
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (t == 0)
        least = most = T(0);
    __syncthreads();
    atomicMin(&least, in[i]);
    atomicMax(&most, in[i]);
    __syncthreads();
    out[i] = most * T(4) + least;
}

// @run double n=128 grid=2 block=64
extern "C" __global__ void double_extremes(double *out, const double *in,
                                           int n)
{
    extremes(out, in);
}

// @run float n=128 grid=2 block=64
extern "C" __global__ void float_extremes(float *out, const float *in, int n)
{
    extremes(out, in);
}

// As in wraps.cu, with a number that is known. The compiler of CUDA 13.0 adds
// 2^32 once too often to such an address.
// @run int n=4096 grid=1 block=256
// @run int n=4096 grid=1 block=100
extern "C" __global__ void from_the_least(int *out, const int *in, int n)
{
    int j = (int)(threadIdx.x - 5u + 0x80000000u);
    if (threadIdx.x >= 5)
        out[(long long)j + 2147483648LL] = in[(long long)j + 2147483648LL] * 3;
}
