// y += a * x, grid-stride.
extern "C" __global__ void saxpy(float a, const float *__restrict__ x,
                                 float *__restrict__ y, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x)
        y[i] += a * x[i];
}
