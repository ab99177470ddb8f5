// Templates by name expression.
template <class T> __global__ void scale(T *data, int n, T factor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] = data[i] * factor;
}

template <class T, int N>
__global__ void __launch_bounds__(64) fill(T *data)
{
    data[threadIdx.x] = T(N);
}

namespace ops {
struct Twice {
    __device__ int operator()(int x) const { return 2 * x; }
};
struct Square {
    __device__ int operator()(int x) const { return x * x; }
};
template <class Op> __global__ void apply(int *data, Op op)
{
    data[threadIdx.x] = op(data[threadIdx.x]);
}
}

template <int... N> __global__ void sum_of(int *out) { out[0] = (N + ... + 0); }

template <> __global__ void scale<short>(short *data, int n, short factor)
{
    data[threadIdx.x] = (short)(factor + n);
}
