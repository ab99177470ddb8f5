// Loops over the grid, which several blocks go through together.

// @run int n=4096 grid=40 block=33
// @run int n=4096 grid=11,3 block=64
// @run int n=4096 grid=3 block=256
extern "C" __global__ void own_shared_memory(int *out, const int *in, int n)
{
    __shared__ int bins[16];
    __shared__ short total;
    if (threadIdx.x < 16)
        bins[threadIdx.x] = 0;
    if (threadIdx.x == 0)
        total = (short)(blockIdx.x * 3);
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n - 5;
         i += gridDim.x * blockDim.x)
        atomicAdd(&bins[(unsigned)in[i] % 16u], i + (int)blockIdx.y);
    __syncthreads();
    if (threadIdx.x < 16)
        atomicAdd(&out[(blockIdx.x * 16 + threadIdx.x) % 4096],
                  bins[threadIdx.x] + total);
}

// @run int n=4096 grid=40 block=32
// @run int n=4096 grid=21 block=128
extern "C" __global__ void tree_of_sums(int *out, const int *in, int n)
{
    __shared__ int sums[128];
    int sum = 0, least = 1 << 30, t = threadIdx.x;
    for (int i = blockIdx.x * blockDim.x + t; i <= n - 9;
         i += gridDim.x * blockDim.x) {
        sum += in[i] * 3 + (int)blockIdx.x;
        least = in[i] < least ? in[i] : least;
    }
    sums[t] = sum ^ least;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half)
            sums[t] += sums[t + half];
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + t] = sums[0] + sum;
}

// How many barriers there are depends on the block.
// @run int n=4096 grid=40 block=32
// @run int n=4096 grid=21 block=100
extern "C" __global__ void block_decides(int *out, const int *in, int n)
{
    __shared__ int value;
    unsigned all = gridDim.x * blockDim.x, sum = 0;
    unsigned gid = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned i = gid; i < (unsigned)n; i += all)
        sum += (unsigned)in[i];
    for (unsigned round = 0; round < blockIdx.x % 5; round++) {
        if (threadIdx.x == round)
            value = (int)sum;
        __syncthreads();
        sum += (unsigned)value;
        __syncthreads();
    }
    out[gid] = (int)sum;
}

// ... or on what its threads share.
// @run int n=4096 grid=40 block=32
// @run int n=4096 grid=21 block=100
extern "C" __global__ void shared_decides(int *out, const int *in, int n)
{
    __shared__ int rounds, value;
    unsigned all = gridDim.x * blockDim.x, sum = 0;
    unsigned gid = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned i = gid; i < (unsigned)n; i += all)
        sum += (unsigned)in[i];
    if (threadIdx.x == 0)
        rounds = (int)(blockIdx.x * 7 % 4);
    __syncthreads();
    for (int round = 0; round < rounds; round++) {
        if (threadIdx.x == 1)
            value = (int)sum + round;
        __syncthreads();
        sum += (unsigned)value;
        __syncthreads();
    }
    out[gid] = (int)sum;
}

// Of a size that the launch chooses.
// @run int n=4096 grid=40 block=32 shared=128
// @run int n=4096 grid=21 block=100 shared=400
extern "C" __global__ void dynamic_memory(int *out, const int *in, int n)
{
    extern __shared__ int of_all[];
    int sum = 0, t = threadIdx.x;
    for (int i = blockIdx.x * blockDim.x + t; i < n;
         i += gridDim.x * blockDim.x)
        sum += in[i];
    of_all[t] = sum;
    __syncthreads();
    out[blockIdx.x * blockDim.x + t] =
        of_all[blockDim.x - 1 - t] + (int)blockIdx.x;
}

// Barriers that count the threads of one block.
// @run int n=4096 grid=40 block=32
// @run int n=4096 grid=21 block=100
extern "C" __global__ void counted(int *out, const int *in, int n)
{
    int sum = 0, t = threadIdx.x;
    for (int i = blockIdx.x * blockDim.x + t; i < n;
         i += gridDim.x * blockDim.x)
        sum += in[i];
    int odd = __syncthreads_count((sum ^ (int)blockIdx.x) & 1);
    out[blockIdx.x * blockDim.x + t] = sum + odd;
}

// Limits that no round reaches, and those near the end of the numbers.
// @run int n=4096 grid=40 block=32
// @run int n=4096 grid=7 block=64
extern "C" __global__ void odd_limits(int *out, const int *in, int n)
{
    int all = gridDim.x * blockDim.x, sum = 0;
    int gid = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = gid; i < n - 4096; i += all)
        sum += in[i] + 1;
    for (int i = gid; i < n - 9999; i += all)
        sum += in[i] + 2;
    for (int i = gid; i < n - 4096 + gid / 4096; i += all)
        sum += in[i] + 3;
    for (unsigned i = gid; i < 0u - (unsigned)all * 65536u;
         i += all * 65536u)
        sum += in[i % 4096u];
    for (int i = gid + 100; i < n - 1; i += all)
        sum += in[i] * 5;
    for (int i = threadIdx.x; i < 40; i += 1)
        sum += in[i] * 7;
    out[gid] = sum;
}

// What several rounds of a thread leave for the next ones.
// @run int n=4096 grid=40 block=33
// @run int n=4096 grid=2 block=64
extern "C" __global__ void rounds_in_order(int *out, const int *in, int n)
{
    int all = gridDim.x * blockDim.x, last = 7, at = -1;
    int gid = blockIdx.x * blockDim.x + threadIdx.x;
    out[gid] = 0;
    for (int i = gid; i < n; i += all) {
        last = last * 31 + in[i];
        if ((last & 3) == 0)
            at = i;
        out[gid] += last ^ out[gid];
    }
    __syncthreads();
    out[gid] += at + last;
}
