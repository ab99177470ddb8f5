// Blocks with one thread in x, for code of one block size.
// @options --block-size=1x32

// Neighbours in x are in other blocks.
// @run int n=9600 grid=40,4 block=1,32
// @run int n=1300 grid=20 block=1,32
// @run int n=900 grid=5,2 block=1,32
extern "C" __global__ void rows_y(int *out, const int *in, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int at = y * (gridDim.x * blockDim.x) + x;
    if (at > 0 && at < n - 1)
        out[at] = in[at - 1] * 3 + in[at] + (in[at + 1] ^ (x - y));
}

// Neighbours in y are beside each other.
// @run float n=9600 grid=40,4 block=1,32
// @run float n=1300 grid=20 block=1,32
extern "C" __global__ void columns_y(float *out, const float *in, int n)
{
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned at = x * gridDim.y * blockDim.y + y;
    if (at < n)
        out[at] = in[at] * 0.5f + in[n - 1 - at];
}

// Members of structs, in blocks of one row and of several.
// @run float n=12800 grid=40 block=1,32
struct four { float a, b, c, d; };
extern "C" __global__ void records_y(float *out, const float *in, int n)
{
    int at = blockIdx.x + gridDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    if (at * 4 + 4 > n)
        return;
    four v = ((const four *)in)[at];
    ((four *)out)[at] = {v.d + 1, v.a - v.b, v.c * 0.25f, v.a};
}

// Lanes part, stay in loops for as long as they want, and end.
// @run int n=4000 grid=37,2 block=1,32
extern "C" __global__ void ways_y(int *out, const int *in, int n)
{
    int x = blockIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, sum = 0;
    int at = y * gridDim.x + x;
    if (at >= n || in[at] % 7 == 3)
        return;
    for (int k = in[at] & 15; k < 20; k += 1 + (x & 3)) {
        if ((in[(at + k) % n] & 9) == 8)
            break;
        sum += in[(at * 5 + k) % n] >> (k & 7);
    }
    if (sum & 1)
        out[at] = sum * 3 + y;
    else
        out[at] = -sum;
}

// @run int n=64 grid=33,3 block=1,32
extern "C" __global__ void counts_y(int *out, const int *in, int n)
{
    int at = blockIdx.x * 5 + blockIdx.y + threadIdx.y * 3;
    atomicAdd(out + at % 40, in[at % n] & 15);
    atomicMax(out + 50, at ^ in[(at * 7) % n]);
    atomicAdd(out + 60, 1);
}

// What a block shares is its own.
// @run int n=2560 grid=40 block=1,32
extern "C" __global__ void reversed_y(int *out, const int *in, int n)
{
    __shared__ int all[64];
    int t = threadIdx.y + threadIdx.z * blockDim.y;
    int count = blockDim.y * blockDim.z, at = blockIdx.x * count + t;
    all[t] = at < n ? in[at] : 0;
    __syncthreads();
    int sum = 0;
    for (int step = 1; step < count; step *= 2) {
        sum += all[(t + step) % count];
        __syncthreads();
        all[t] += sum & 255;
        __syncthreads();
    }
    if (at < n)
        out[at] = all[count - 1 - t] + sum;
}

// Calls are made lane by lane; arrays of each thread's own.
// @run double n=1280 grid=40 block=1,32
extern "C" __global__ void calls_y(double *out, const double *in, int n)
{
    int at = blockIdx.x + gridDim.x * threadIdx.y;
    double own[8], sum = 0;
    if (at >= n)
        return;
    for (int k = 0; k < 8; k++)
        own[k] = fmod(in[(at + k) % n], 3.5);
    for (int k = 0; k < 8; k++)
        sum = sum * 0.5 + own[(k * 3 + at) & 7];
    out[at] = sum + threadIdx.y;
}
