// y = a * x + y
extern "C" __global__ void axpy(int size, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size)
        y[i] = a * x[i] + y[i];
}
