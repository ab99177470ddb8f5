// What is left of a loop over the grid or a block, when some threads have one
// round less than others.

// @run int n=4096 grid=4 block=33
// @run int n=4096 grid=4 block=64
// @run int n=4096 grid=4 block=256
extern "C" __global__ void last_index(int *out, const int *in, int n)
{
    unsigned gid = blockIdx.x * blockDim.x + threadIdx.x, last = gid;
    for (int i = threadIdx.x; i < (int)blockDim.x * 3 - 5; i += blockDim.x) {
        out[2048 + i] = in[i > 0 ? i - 1 : 0];
        last = threadIdx.x * 3u + (unsigned)in[i];
    }
    out[gid] = (int)last;
}

// @run int n=4096 grid=4 block=33
// @run int n=4096 grid=4 block=64
// @run int n=4096 grid=4 block=256
extern "C" __global__ void count_of_rounds(int *out, const int *in, int n)
{
    unsigned all = gridDim.x * blockDim.x, rounds = 0, hash = 1;
    unsigned gid = blockIdx.x * blockDim.x + threadIdx.x, last = 0;
    for (unsigned i = gid; i < all * 3u - 7u; i += all) {
        out[all + i % all] += in[i];
        hash = hash * 3u ^ rounds;
        last = hash + blockIdx.x;
        rounds++;
    }
    out[gid] = (int)(rounds * 1000u + last + hash);
}

// @run int n=4096 grid=4 block=33
// @run int n=4096 grid=3 block=100
// @run int n=4096 grid=4 block=256
extern "C" __global__ void end_of_pointer(int *out, const int *in, int n)
{
    const int *at = in;
    int all = gridDim.x * blockDim.x, sum = 0;
    int gid = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = gid; i < all * 2 + 9; i += all) {
        at = in + i;
        sum += *at;
    }
    out[gid] = sum * 3 + at[1];
    __syncthreads();
    out[gid] += at[2];
}

// @run int n=20000 grid=4 block=256
// @run int n=20000 grid=3 block=256
extern "C" __global__ void histogram_of_rounds(int *out, const int *in, int n)
{
    __shared__ int bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x)
        atomicAdd(&bins[in[i] & 255], 1);
    __syncthreads();
    atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

// @run int n=20000 grid=4 block=64
// @run int n=20000 grid=3 block=100
// @run int n=20000 grid=4 block=256
extern "C" __global__ void two_carry_one_value(int *out, const int *in, int n)
{
    int all = gridDim.x * blockDim.x, a = 1, b = 2;
    int gid = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = gid; i < n - 7; i += all) {
        int value = a + in[i];
        a = value;
        b = value;
    }
    out[gid] = a * 3 + b;
}

// @run int n=20000 grid=4 block=64
// @run int n=20000 grid=3 block=100
// @run int n=20000 grid=4 block=256
extern "C" __global__ void two_take_turns(int *out, const int *in, int n)
{
    int all = gridDim.x * blockDim.x, a = 1, b = 2;
    int gid = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = gid; i < n - 7; i += all) {
        int value = a + in[i];
        a = b;
        b = value;
    }
    out[gid] = a * 3 + b;
}
