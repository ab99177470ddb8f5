// Blocks of a single thread, for code of that size.
// @options --block-size=1

// @run float n=1000 grid=1000 block=1
// @run float n=10 grid=10 block=1
extern "C" __global__ void scaled(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i] * 0.5f + i;
}

// @run int n=500 grid=50,10 block=1
extern "C" __global__ void halves_of_rows(int *out, const int *in, int n)
{
    int i = blockIdx.x + gridDim.x * blockIdx.y, sum = 0;
    for (int k = 0; k < (i & 7); k++)
        sum += in[(i * 3 + k) % n];
    if (blockIdx.x % 3)
        out[i] = sum - blockIdx.y;
}

// @run int n=300 grid=100 block=1
extern "C" __global__ void shared_by_one(int *out, const int *in, int n)
{
    __shared__ int own[3];
    int i = blockIdx.x * 3;
    for (int k = 0; k < 3; k++)
        own[k] = in[i + k] & 1023;
    __syncthreads();
    for (int k = 0; k < 3; k++)
        out[i + k] = own[2 - k] * own[(k + in[i]) & 1];
}
