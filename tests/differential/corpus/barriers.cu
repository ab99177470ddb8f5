// Block barriers: after early returns, in uniform loops and branches, in device
// functions; static and dynamic shared memory.

// @run int n=256 grid=2 block=128
// @run int n=105 block=7,5,3
// @run int n=33 block=33
extern "C" __global__ void reverse_block(int *out, const int *in, int n)
{
    __shared__ int tile[256];
    unsigned size = blockDim.x * blockDim.y * blockDim.z;
    unsigned t = threadIdx.x +
                 blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned base = blockIdx.x * size;
    tile[t] = in[base + t];
    __syncthreads();
    out[base + t] = tile[size - 1 - t];
}

// @run int n=200 grid=1 block=256
// @run int n=37 grid=1 block=64
extern "C" __global__ void return_before_barrier(int *out, const int *in,
                                                 int n)
{
    __shared__ int sum;
    int i = threadIdx.x;
    if (i == 0)
        sum = 0;
    __syncthreads();
    if (i >= n)
        return;
    atomicAdd(&sum, in[i]);
    __syncthreads();
    out[i] = sum + in[i];
}

// @run int n=256 grid=2 block=128
// @run int n=100 grid=1 block=100
extern "C" __global__ void return_with_a_store(int *out, const int *in, int n)
{
    __shared__ int tile[128];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    tile[t] = in[i];
    __syncthreads();
    if (in[i] < 0) {
        out[i] = -1;
        return;
    }
    int other = tile[(t + 1) % blockDim.x];
    __syncthreads();
    tile[t] = other * 2;
    __syncthreads();
    out[i] = tile[t] + tile[0] * 0;
}

// @run int n=256 block=256
// @run int n=100 block=100
// @run int n=64 block=8,8
extern "C" __global__ void rounds(int *out, const int *in, int n)
{
    __shared__ int tile[256];
    int t = threadIdx.x + blockDim.x * threadIdx.y;
    tile[t] = in[t];
    __syncthreads();
    for (int round = 0; round < 10; round++) {
        int next = tile[(t + round) % n] + tile[t] / 2;
        __syncthreads();
        tile[t] = next;
        __syncthreads();
    }
    out[t] = tile[t];
}

// @run int n=512 grid=4 block=128
extern "C" __global__ void barrier_in_branch(int *out, const int *in, int n)
{
    __shared__ int tile[128];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    int value = in[i];
    if (blockIdx.x & 1) {
        tile[t] = value;
        __syncthreads();
        value += tile[127 - t];
    } else if (blockIdx.x == 2) {
        for (int k = 0; k < 3; k++) {
            __syncthreads();
            tile[(t + k) & 127] = value;
            __syncthreads();
            value -= tile[t ^ 1];
        }
    }
    out[i] = value;
}

__device__ int shifted(int *tile, int value, int by)
{
    __syncthreads();
    tile[threadIdx.x] = value;
    __syncthreads();
    return tile[(threadIdx.x + by) % blockDim.x];
}

// @run int n=300 grid=3 block=100
// @run int n=64 grid=2 block=32
extern "C" __global__ void barrier_in_function(int *out, const int *in, int n)
{
    __shared__ int tile[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = shifted(tile, in[i], 3);
    value += shifted(tile, value, 5) * 2;
    out[i] = value;
}

__device__ __noinline__ int shifted_far(int *tile, int value, int by)
{
    __syncthreads();
    tile[threadIdx.x] = value;
    __syncthreads();
    return tile[(threadIdx.x + by) % blockDim.x];
}

// @run int n=300 grid=3 block=100
extern "C" __global__ void barrier_out_of_line(int *out, const int *in, int n)
{
    __shared__ int tile[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = in[i];
    for (int k = 1; k < 4; k++)
        value = shifted_far(tile, value + k, k);
    out[i] = value;
}

// @run int n=256 grid=2 block=128 shared=1024
// @run int n=90 grid=3 block=30 shared=240
extern "C" __global__ void two_dynamic(int *out, const int *in, int n)
{
    extern __shared__ int pool[];
    int *first = pool, *second = pool + blockDim.x;
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    first[t] = in[i];
    second[blockDim.x - 1 - t] = in[i] * 3;
    __syncthreads();
    out[i] = first[(t + 1) % blockDim.x] - second[(t + 2) % blockDim.x];
}

template <class T, int Size> __device__ T *scratch()
{
    __shared__ T array[Size];
    return array;
}

// @run int n=128 grid=2 block=64
extern "C" __global__ void shared_in_template(int *out, const int *in, int n)
{
    int *ints = scratch<int, 64>();
    short *shorts = scratch<short, 64>();
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    ints[t] = in[i];
    shorts[63 - t] = (short)in[i];
    __syncthreads();
    out[i] = ints[t ^ 3] * 2 + shorts[t ^ 5];
}

// @run int n=256 grid=2 block=128
// @run int n=77 grid=1 block=77
extern "C" __global__ void barrier_votes(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int positive = __syncthreads_count(in[i] > 0);
    int all = __syncthreads_and(in[i] > -2000);
    int any = __syncthreads_or(in[i] == 5000 + (int)blockIdx.x);
    out[i] = positive * 4 + all * 2 + any;
}

// @run int n=128 block=128
// @run int n=40 block=40
extern "C" __global__ void until_all_agree(int *out, const int *in, int n)
{
    int value = in[threadIdx.x] & 1023, rounds = 0;
    do {
        if (value > 3)
            value -= value / 3;
        rounds++;
    } while (__syncthreads_or(value > 3));
    out[threadIdx.x] = value + 100 * rounds;
}

// The condition is the same for all, but read from shared memory.
// @run int n=128 block=128
// @run int n=50 block=50
extern "C" __global__ void flag_in_shared_memory(int *out, const int *in,
                                                 int n)
{
    __shared__ int left;
    int t = threadIdx.x, sum = 0;
    if (t == 0)
        left = 5;
    __syncthreads();
    while (left > 0) {
        sum += in[(t + left) % n];
        __syncthreads();
        if (t == 0)
            left--;
        __syncthreads();
    }
    out[t] = sum;
}

// @run int n=192 grid=1 block=192
extern "C" __global__ void return_inside_rounds(int *out, const int *in, int n)
{
    __shared__ int alive[10];
    int t = threadIdx.x;
    if (t < 10)
        alive[t] = 0;
    __syncthreads();
    for (int round = 0; round < 10; round++) {
        if (t % 11 == round) {
            out[t] = -round;
            return;
        }
        atomicAdd(&alive[round], in[t]);
        __syncthreads();
    }
    out[t] = alive[9];
}

// @run double n=128 grid=2 block=64
extern "C" __global__ void shared_of_many_types(double *out, const double *in,
                                                int n)
{
    __shared__ double wide[64];
    __shared__ unsigned char bytes[64];
    __shared__ struct {
        float x;
        int y[2];
    } records[64];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    wide[t] = in[i];
    bytes[t] = (unsigned char)(t * 7);
    records[t].x = (float)in[i];
    records[t].y[t & 1] = t;
    records[t].y[!(t & 1)] = -t;
    __syncthreads();
    int o = (t * 5 + 3) & 63;
    out[i] = wide[o] + bytes[o] + records[o].x + records[o].y[1];
}

// @run int n=96 block=96
extern "C" __global__ void matrix_in_shared(int *out, const int *in, int n)
{
    __shared__ int grid[8][13];
    int t = threadIdx.x, row = t / 12, column = t % 12;
    grid[row][column] = in[t];
    __syncthreads();
    out[t] = grid[7 - row][(column + 5) % 12];
}

// All end when one of them has written what was found.
// @run int n=256 grid=4 block=64
// @run int n=99 grid=3 block=33
extern "C" __global__ void return_when_found(int *out, const int *in, int n)
{
    __shared__ int count;
    int t = threadIdx.x, length = n;
    for (int round = 0; round < 9 && length > 1; round++) {
        if (t == 0)
            count = 0;
        __syncthreads();
        atomicAdd(&count, in[(t + round) % n] > round * 100);
        __syncthreads();
        if (count < (int)(blockIdx.x * 5)) {
            if (t == 0)
                out[blockIdx.x] = round;
            return;
        }
        length = count;
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = -length;
}

// Threads leave by two ways for one end, each with a number of its own.
// @run int n=66 block=66
// @run int n=64 grid=2 block=32
extern "C" __global__ void two_ways_to_an_end(int *out, const int *in, int n)
{
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, left;
    if (t % 3) {
        if (t % 5 == 1) {
            out[i] = in[0];
            left = 7;
            goto end;
        }
        out[i] = in[t % 7];
        if (t % 7 == 2) {
            out[i] = in[2];
            left = 9;
            goto end;
        }
    }
    __syncthreads();
    out[i] = in[(i + 1) % n];
    return;
end:
    out[i] += left * in[3];
}
