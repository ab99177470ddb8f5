// Warp operations: shuffles of all kinds, widths and types, votes, matches,
// reductions; all lanes, some lanes, divergent lanes. What comes from a lane
// that is not there is not used.

#define ALL 0xffffffffu

// Who is here are those at the same place.
// @run int n=128 grid=1 block=128
// @run int n=100 grid=4 block=25
extern "C" __global__ void active_on_both_sides(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, x = in[i], result;
    if (x > 0) {
        unsigned mask = __activemask();
        result = __popc(mask) + __shfl_sync(mask, x, __ffs(mask) - 1);
    } else {
        unsigned mask = __activemask();
        result = __shfl_sync(mask, x, 31 - __clz(mask)) - __popc(mask);
    }
    out[i] = result;
}

// @run int n=64 grid=2 block=32
// @run int n=128 grid=1 block=128
// @run int n=64 grid=1 block=8,4,2
extern "C" __global__ void shuffle_kinds(int *out, const int *in, int n)
{
    int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int i = blockIdx.x * blockDim.x * blockDim.y * blockDim.z + t;
    int value = in[i];
    int a = __shfl_sync(ALL, value, (t * 7) & 31);
    int b = __shfl_up_sync(ALL, value, 3);
    int c = __shfl_down_sync(ALL, value, 5);
    int d = __shfl_xor_sync(ALL, value, 17);
    out[i] = a + 3 * b + 5 * c + 7 * d;
}

// @run int n=64 grid=2 block=32
extern "C" __global__ void shuffle_widths(int *out, const int *in, int n)
{
    int i = blockIdx.x * 32 + threadIdx.x, value = in[i], sum = 0;
    for (int width = 1; width <= 32; width *= 2) {
        sum = sum * 3 + __shfl_sync(ALL, value, 5, width);
        sum += __shfl_up_sync(ALL, value, 3, width);
        sum -= __shfl_down_sync(ALL, value, 2, width);
        sum ^= __shfl_xor_sync(ALL, value, width / 2, width);
        sum &= 0xffffff;
    }
    out[i] = sum;
}

// @run int n=64 grid=1 block=64
extern "C" __global__ void shuffle_wraps(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    int a = __shfl_sync(ALL, in[t], t + 40);
    int b = __shfl_sync(ALL, in[t], t * 5 + 9, 8);
    out[t] = a * 2 - b;
}

// @run unsigned n=64 grid=1 block=64
extern "C" __global__ void shuffle_unsigned(unsigned *out, const unsigned *in,
                                            int n)
{
    unsigned t = threadIdx.x;
    out[t] = __shfl_xor_sync(ALL, in[t], 1) +
             __shfl_down_sync(ALL, in[t], t & 7u);
}

// @run long long n=64 grid=1 block=64
extern "C" __global__ void shuffle_wide(long long *out, const long long *in,
                                        int n)
{
    int t = threadIdx.x;
    long long a = __shfl_sync(ALL, in[t], 31 - (t & 31));
    unsigned long long b =
        __shfl_up_sync(ALL, (unsigned long long)in[t] * 77, 9);
    out[t] = a ^ (long long)b;
}

// @run float n=64 grid=1 block=64
extern "C" __global__ void shuffle_float(float *out, const float *in, int n)
{
    int t = threadIdx.x;
    float sum = in[t];
    for (int d = 1; d < 32; d *= 2)
        sum += __shfl_xor_sync(ALL, sum, d);
    out[t] = sum + __shfl_up_sync(ALL, in[t], 1, 16);
}

// @run double n=96 grid=1 block=96
extern "C" __global__ void shuffle_double(double *out, const double *in, int n)
{
    int t = threadIdx.x;
    double a = __shfl_down_sync(ALL, in[t] / 3.0, 7);
    double b = __shfl_sync(ALL, in[t], t / 3, 16);
    out[t] = a - b;
}

// @run int n=128 grid=2 block=64
extern "C" __global__ void votes(int *out, const int *in, int n)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    unsigned positive = __ballot_sync(ALL, in[i] > 0);
    int any = __any_sync(ALL, in[i] > 990), all = __all_sync(ALL, in[i] < 990);
    out[i] = (int)(positive ^ (unsigned)(any * 3 + all * 7));
}

// @run int n=128 grid=2 block=64
extern "C" __global__ void matches(int *out, const int *in, int n)
{
    int i = blockIdx.x * 64 + threadIdx.x, same = 9;
    unsigned any = __match_any_sync(ALL, in[i] & 7);
    unsigned all = __match_all_sync(ALL, (i >> 5) * 2, &same);
    int other = 9;
    unsigned none = __match_all_sync(ALL, in[i], &other);
    out[i] = (int)(any ^ all * 3 ^ none) + same * 2 + other;
}

// @run long long n=64 grid=1 block=64
extern "C" __global__ void matches_wide(long long *out, const long long *in,
                                        int n)
{
    int t = threadIdx.x;
    long long key = (in[t] & 3) << 33;
    unsigned any = __match_any_sync(ALL, key);
    out[t] = any + __match_any_sync(ALL, (float)(t & 5));
}

// @run unsigned n=128 grid=2 block=64
extern "C" __global__ void reductions(unsigned *out, const unsigned *in, int n)
{
    unsigned i = blockIdx.x * 64 + threadIdx.x, value = in[i];
    unsigned sum = __reduce_add_sync(ALL, value);
    sum ^= __reduce_min_sync(ALL, value) * 3u;
    sum ^= __reduce_max_sync(ALL, value) * 5u;
    sum += (unsigned)__reduce_min_sync(ALL, (int)value);
    sum += (unsigned)__reduce_max_sync(ALL, (int)value);
    sum ^= __reduce_and_sync(ALL, value | 0xffu);
    sum += __reduce_or_sync(ALL, value & 0xf0u);
    sum ^= __reduce_xor_sync(ALL, value);
    out[i] = sum + threadIdx.x;
}

// Only the first 13 lanes of the last warp are there.
// @run int n=45 grid=1 block=45
extern "C" __global__ void short_warp(int *out, const int *in, int n)
{
    int t = threadIdx.x, lane = t & 31;
    unsigned mask = t < 32 ? ALL : (1u << 13) - 1u;
    int last = t < 32 ? 31 : 12;
    int sum = in[t];
    for (int d = 1; d < 32; d *= 2) {
        int other = __shfl_up_sync(mask, sum, d);
        if (lane >= d)
            sum += other;
    }
    out[t] = sum + __shfl_sync(mask, sum, last) +
             (int)__ballot_sync(mask, t & 1);
}

// @run int n=64 grid=1 block=64
extern "C" __global__ void halves(int *out, const int *in, int n)
{
    int t = threadIdx.x, lane = t & 31, value = in[t];
    if (lane < 16) {
        value += __shfl_xor_sync(0x0000ffffu, value, 3);
        value += __popc(__ballot_sync(0x0000ffffu, value > 0));
    } else {
        value -= __shfl_xor_sync(0xffff0000u, value, 5);
        value = __shfl_sync(0xffff0000u, value, 31 - (lane & 15));
    }
    out[t] = value;
}

// @run int n=128 grid=2 block=64
extern "C" __global__ void chosen_lanes(int *out, const int *in, int n)
{
    int i = blockIdx.x * 64 + threadIdx.x, value = in[i];
    bool chosen = value > 0;
    unsigned mask = __ballot_sync(ALL, chosen);
    if (chosen) {
        int leader = __ffs((int)mask) - 1;
        value += __shfl_sync(mask, value, leader);
        value += (int)__reduce_add_sync(mask, (unsigned)(value & 15));
        value ^= (int)__ballot_sync(mask, value & 1);
    } else {
        value -= __reduce_min_sync(~mask, value);
        value += __any_sync(~mask, value > 500) * 10000;
    }
    out[i] = value;
}

// @run int n=128 grid=1 block=128
extern "C" __global__ void fewer_each_round(int *out, const int *in, int n)
{
    int t = threadIdx.x, value = in[t], sum = 0;
    unsigned mask = ALL;
    for (int round = 0;; round++) {
        bool stays = round < (t % 7) + 1;
        mask = __ballot_sync(mask, stays);
        if (!stays)
            break;
        sum += __shfl_sync(mask, value, __ffs((int)mask) - 1);
        sum += __popc(mask);
    }
    out[t] = sum;
}

// @run int n=96 grid=1 block=96
extern "C" __global__ void after_return(int *out, const int *in, int n)
{
    int t = threadIdx.x, value = in[t];
    unsigned mask = __ballot_sync(ALL, value > -300);
    if (value <= -300) {
        out[t] = 0;
        return;
    }
    int rank = __popc(mask & ((1u << (t & 31)) - 1u));
    int total = (int)__reduce_add_sync(mask, (unsigned)rank);
    __syncthreads();
    unsigned even = __match_any_sync(mask, value & 1);
    out[t] = rank * 1000 + total + __popc(even) * 100000;
}

// @run int n=128 grid=1 block=128
extern "C" __global__ void one_add_per_warp(int *out, const int *in, int n)
{
    __shared__ int total;
    int t = threadIdx.x;
    if (t == 0)
        total = 0;
    __syncthreads();
    unsigned mask = __ballot_sync(ALL, in[t] & 1);
    if (in[t] & 1) {
        if ((t & 31) == __ffs((int)mask) - 1)
            atomicAdd(&total, __popc(mask));
    }
    __syncthreads();
    out[t] = total;
}

// @run int n=64 grid=1 block=64
extern "C" __global__ void nested_masks(int *out, const int *in, int n)
{
    int t = threadIdx.x, value = in[t];
    bool a = value & 1, b = value & 2;
    unsigned first = __ballot_sync(ALL, a);
    if (a) {
        unsigned second = __ballot_sync(first, b);
        if (b)
            value = __shfl_sync(second, value, __ffs((int)second) - 1);
        else
            value = (int)__reduce_max_sync(first & ~second, (unsigned)value);
        __syncwarp(first);
        value += __popc(__ballot_sync(first, value > 0));
    }
    __syncwarp();
    out[t] = value + __shfl_down_sync(ALL, value, 1);
}

// @run int n=64 grid=1 block=64
extern "C" __global__ void through_shared_memory(int *out, const int *in,
                                                 int n)
{
    __shared__ volatile int tile[64];
    int t = threadIdx.x, base = t & ~31;
    tile[t] = in[t];
    __syncwarp();
    int sum = tile[base + ((t + 1) & 31)];
    __syncwarp();
    tile[t] = sum * 2;
    __syncwarp();
    out[t] = tile[base + (31 - (t & 31))];
}

// @run int n=64 grid=1 block=64
extern "C" __global__ void broadcast_in_loop(int *out, const int *in, int n)
{
    int t = threadIdx.x, value = in[t], sum = 0;
    for (int lane = 0; lane < 32; lane++) {
        int other = __shfl_sync(ALL, value, lane);
        if (other > value)
            sum += other - value;
        else if (lane & 1)
            continue;
        sum++;
    }
    out[t] = sum;
}

__device__ __noinline__ int warp_sum(unsigned mask, int value)
{
    return (int)__reduce_add_sync(mask, (unsigned)value);
}

// @run int n=64 grid=1 block=64
extern "C" __global__ void warp_out_of_line(int *out, const int *in, int n)
{
    int t = threadIdx.x, value = in[t];
    unsigned mask = __ballot_sync(ALL, value & 4);
    if (value & 4)
        value = warp_sum(mask, value);
    out[t] = value + warp_sum(ALL, t);
}
