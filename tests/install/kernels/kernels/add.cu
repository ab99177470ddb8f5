template <class T>
__global__ void add(T *data, int count, T value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        data[i] += value;
}
