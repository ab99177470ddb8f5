// Indices that wrap in lanes and threads that have no part in what follows.
// @options --fmad=false --block-size=256

// Thread 0 has no round, others have.
// @run int n=4096 grid=3 block=256
// @run int n=1200 grid=3 block=100
extern "C" __global__ void stride_begins_below_zero(int *out, const int *in,
                                                    int n)
{
    unsigned all = gridDim.x * blockDim.x, sum = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x - 16u;
         i < all * 4u; i += all) {
        sum = sum * 3u + (unsigned)in[i];
        out[i] = (int)sum;
    }
}

// @run int n=4096 grid=3 block=256
// @run int n=1200 grid=3 block=100
extern "C" __global__ void wide_stride_begins_below_zero(int *out,
                                                         const int *in, int n)
{
    const size_t all = gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x - 5u; i < all * 4u;
         i += all)
        out[i] = in[i] * 2 + 1;
}

// The index is widened under a guard that lane 0 does not pass.
// @run int n=4096 grid=1 block=256
// @run int n=4096 grid=1 block=100
extern "C" __global__ void widened_behind_guard(int *out, const int *in, int n)
{
    unsigned sum = 0, product = threadIdx.x;
    for (size_t i = threadIdx.x - 7u; i < blockDim.x * 4u; i += blockDim.x) {
        for (unsigned k = 0; k < 3u && in[i] > -500; k++)
            product = product * 5u + (unsigned)in[i + k];
        sum += blockDim.x;
        product ^= sum;
        out[i] = in[i];
    }
    out[n / 2 + (int)threadIdx.x] = (int)product;
    out[n / 2 + 256 + (int)threadIdx.x] = (int)sum;
}

// Blocks whose first element is negative store behind the wrap and before it.
// T is a power of two, so that each thread has an element of its own.
// @run int n=4096 grid=8 block=256
// @run int n=4096 grid=32 block=64
// @run int n=4096 grid=8 block=16,4,2
extern "C" __global__ void store_across_wrap(int *out, const int *in, int n)
{
    __shared__ unsigned line[256], turned[256];
    unsigned T = blockDim.x * blockDim.y * blockDim.z;
    unsigned tid = threadIdx.x + blockDim.x * (threadIdx.y +
                                               blockDim.y * threadIdx.z);
    unsigned gid = blockIdx.x * T + tid;
    line[tid] = (unsigned)in[gid % (unsigned)n];
    __syncthreads();
    unsigned by = line[0];
    turned[(tid + by) % T] = line[tid] * 3u + tid;
    __syncthreads();
    line[(tid + by % T + 0xffffffe0u) & (T - 1u)] = turned[T - 1u - tid];
    __syncthreads();
    if (gid < (unsigned)n)
        out[gid] = (int)(turned[tid] ^ line[tid] << 1);
}

// Structs at an index that might wrap between lanes, and does not.
// @run int n=4096 grid=4,4 block=32,4
// @run int n=4096 grid=9,2 block=15,8
// @run int n=4096 grid=128,2 block=1,8
// @run int n=4096 grid=40,1 block=1,16
extern "C" __global__ void pairs_of_a_matrix(int *out, const int *in, int n)
{
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned row = (unsigned)n / 32u;
    if (x >= row)
        return;
    unsigned at = y * row + x;
    int2 pair = ((const int2 *)in)[at];
    pair.x = pair.x * 3 - pair.y;
    pair.y += (int)x;
    ((int2 *)out)[at] = pair;
}

// Rows of structs that begin anew in the middle of a chunk; of three members,
// two are read.
// @run int n=4096 grid=4,4 block=32,4
// @run int n=4096 grid=128,2 block=1,8
extern "C" __global__ void structs_begin_anew(int *out, const int *in, int n)
{
    struct three { int a, b, c; };
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned row = (unsigned)n / 32u, at = y * row + x;
    const three *some = (const three *)in + at % 200u;
    int2 pair = make_int2(some->a - some->c, (int)at);
    ((int2 *)out)[at < 1000u ? at : 3047u - at] = pair;
}

// Indices that begin at the least number there is: before it they wrap, in
// threads that have no part.
// @run int n=4096 grid=1 block=256 more=-2147483648
// @run int n=4096 grid=1 block=100 more=-2147483648
extern "C" __global__ void from_a_bound(int *out, const int *in, int n,
                                        int least)
{
    int x = (int)threadIdx.x - 5;
    if (x < 0)
        return;
    long long j = least + x;
    if (in[x] > 0)
        out[j - least] = in[j - least] * 3;
    else
        out[j - least] = in[j - least + 1] + 7;
}

// @run int n=4096 grid=1 block=256 more=2147483647
// @run int n=4096 grid=1 block=100 more=2147483647
extern "C" __global__ void down_from_a_bound(int *out, const int *in, int n,
                                             int most)
{
    long long bound = most;
    int j = most - ((int)threadIdx.x - 5);
    if (threadIdx.x >= 5)
        out[bound - j] = in[bound - j] * 3;
}

// The number itself is asked for.
// @run long long n=4096 grid=1 block=256 more=-2147483648
// @run long long n=4096 grid=1 block=100 more=-2147483648
extern "C" __global__ void numbers_from_a_bound(long long *out,
                                                const long long *in, int n,
                                                int least)
{
    int x = (int)threadIdx.x - 5;
    if (x < 0)
        return;
    long long j = least + x;
    if (in[x] > 0)
        out[x] = j;
    else if (in[x] < -100)
        out[x] = j * 3;
    out[x + 512] = j ^ in[x];
}
