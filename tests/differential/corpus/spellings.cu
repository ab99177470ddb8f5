// Loops over the grid as they are written. Those of kernels called `left_...`
// are not interchanged: see compiler/simt/README.md. No grid here covers all.
// @options --fmad=false --block-size=256
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

#define OWN (blockIdx.x * blockDim.x + threadIdx.x)
#define ALL (gridDim.x * blockDim.x)

// --- Types -------------------------------------------------------------------

// @run int n=3000 grid=3 block=256
// @run int n=3000 grid=5 block=100
// @run int n=40 grid=3 block=33
extern "C" __global__ void ints(int *out, const int *in, int n)
{
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    int stride = blockDim.x * gridDim.x;
    for (int i = first; i < n; i += stride)
        out[i] = in[i] * 3;
}

// @run int n=3000 grid=3 block=256
// @run int n=40 grid=3 block=33
extern "C" __global__ void own_number_moves(int *out, const int *in, int n)
{
    int tid = threadIdx.x + blockIdx.x * blockDim.x;
    while (tid < n) {
        out[tid] = in[tid] * 3;
        tid += blockDim.x * gridDim.x;
    }
}

// @run int n=3000 grid=3 block=256
// @run int n=3000 grid=5 block=100
extern "C" __global__ void size_of_ints(int *out, const int *in, int n)
{
    int tid = OWN, stride = ALL;
    for (size_t i = tid; i < n; i += stride)
        out[i] = in[i] * 3;
}

// @run int n=3000 grid=3 block=256
extern "C" __global__ void sizes(int *out, const int *in, int n)
{
    size_t count = n;
    for (size_t i = OWN; i < count; i += ALL)
        out[i] = in[i] * 3;
}

// @run int n=3000 grid=3 block=256
extern "C" __global__ void wide_and_signed(int *out, const int *in, int n)
{
    long long count = n;
    for (long long i = OWN; i < count; i += ALL)
        out[i] = in[i] * 3;
}

// Whatever is asked of it elsewhere, the index has 32 bits.
// @run int n=3000 grid=3 block=256
// @run int n=40 grid=3 block=33
extern "C" __global__ void int_below_size(int *out, const int *in, int n)
{
    size_t count = (size_t)n * 3 - n - n;
    for (int i = OWN; i < count; i += ALL)
        out[i] = in[i] * 3;
}

// @run int n=3000 grid=3 block=256
// @run int n=3000 grid=5 block=100
extern "C" __global__ void int_below_long(int *out, const int *in, int n)
{
    long long count = (long long)n * 3 - n - n;
    int i = OWN, stride = ALL;
    while (i < count) {
        out[i] = in[i] * 3;
        i += stride;
    }
}

// @run int n=3000 grid=3 block=256
// @run int n=3000 grid=5 block=100
extern "C" __global__ void unsigned_below_size(int *out, const int *in, int n)
{
    size_t count = (size_t)n * 3 / 4 - 7;
    for (unsigned i = OWN; i < count; i += ALL)
        out[i] = in[i] * 3;
}

// The index ends long before the limit: behind its last value it is negative,
// and no longer below.
// @run int n=3000 grid=3 block=256
// @run int n=3000 grid=5 block=100
extern "C" __global__ void int_ends_first(int *out, const int *in, int n)
{
    size_t count = (size_t)n << 32;
    int own = OWN, sum = 0;
    for (int i = own; i < count; i += ALL * ALL * ALL)
        sum += in[(i ^ i >> 16) & 1023] + (i >> 20);
    out[own] = sum;
}

// As far as no thread passes the last number.
// @run int n=3000 grid=3 block=256
// @run int n=3000 grid=5 block=100
extern "C" __global__ void up_to_the_last_int(int *out, const int *in, int n)
{
    int own = OWN, sum = 0, step = ALL << 18, end = 0x7fffffff - step + 1;
    for (int i = own; i < end; i += step)
        sum += in[(i ^ i >> 16) & 1023] + (i >> 20);
    out[own] = sum;
}

// @run int n=3000 grid=3 block=256
// @run int n=3000 grid=5 block=100
extern "C" __global__ void up_to_the_last_unsigned(int *out, const int *in,
                                                   int n)
{
    unsigned own = OWN, sum = 0, step = ALL * ALL * ALL, end = 0u - step;
    for (unsigned i = own; i <= end - 1; i += step)
        sum += in[(i ^ i >> 16) & 1023] + (i >> 20);
    out[own] = sum;
}

// Half of the threads begin with a negative number.
// @run int n=3000 grid=2 block=256 more=90
extern "C" __global__ void left_shifted_below_zero(int *out, const int *in,
                                                   int n, int limit)
{
    int own = OWN, sum = 0;
    for (int i = threadIdx.x << 24; i < limit; i += ALL << 16)
        sum = sum * 3 + in[(i + (1u << 31)) >> 21] + i;
    out[own] = sum;
}

// @run int n=3000 grid=2 block=256 more=90
extern "C" __global__ void left_cut_below_zero(int *out, const int *in, int n,
                                               int limit)
{
    int own = OWN, sum = 0;
    for (short i = threadIdx.x * 256; i < limit; i += 2048)
        sum = sum * 3 + in[(i + 32768) >> 5];
    out[own] = sum;
}

// @run int n=3000 grid=3 block=256
extern "C" __global__ void none_below_zero(int *out, const int *in, int n)
{
    int own = OWN;
    out[own] = own;
    for (int i = own; i < -n; i += ALL)
        out[i & 1023] = in[i & 1023] * 3;
}

// --- Limits ------------------------------------------------------------------

// @run int n=3000 grid=3 block=256
extern "C" __global__ void limit_comes_first(int *out, const int *in, int n)
{
    for (int i = OWN; n > i; i += ALL)
        out[i] = in[i] * 3;
}

// @run int n=3000 grid=3 block=256
// @run int n=3000 grid=5 block=100
extern "C" __global__ void half_of_them(int *out, const int *in, int n)
{
    for (int i = OWN; i < n / 2; i += ALL)
        out[i] = in[i] * 3;
    for (unsigned i = OWN; i < (unsigned)n / 4; i += ALL)
        out[n / 2 + i] = in[i] * 5;
}

// @run int n=3000 grid=3 block=256
extern "C" __global__ void the_less_of_two(int *out, const int *in, int n)
{
    for (int i = OWN; i < min(n, 1234); i += ALL)
        out[i] = in[i] * 3;
}

// @run int n=3000 grid=3 block=256
extern "C" __global__ void with_a_neighbour(int *out, const int *in, int n)
{
    for (int i = OWN + 1; i < n - 1; i += ALL)
        out[i] = in[i - 1] + in[i] * 3 + in[i + 1] * 5;
}

// Each block goes through a part of its own: all would count up to its end.
// @run int n=4096 grid=4 block=256
extern "C" __global__ void left_to_each_block(int *out, const int *in, int n)
{
    for (int i = blockIdx.x * 1024 + threadIdx.x; i < (blockIdx.x + 1) * 1024;
         i += blockDim.x)
        out[i] = in[i] * 3;
}

// What a loop writes may be its limit.
// @run int n=3000 grid=1 block=1
extern "C" __global__ void left_a_limit_in_memory(int *out, const int *in,
                                                  int n)
{
    out[0] = 7;
    for (int i = OWN; i < out[0]; i += ALL)
        out[i] = in[i] + i;
}

// Down to zero, where it wraps.
// @run int n=3000 grid=3 block=256
extern "C" __global__ void left_a_step_down(int *out, const int *in, int n)
{
    unsigned step = (unsigned)-n, count = 0;
    for (unsigned i = OWN; i < 700u; i += step + 2999u)
        count += in[i] & 7;
    out[OWN] = count;
}

// @run int n=3000 grid=3 block=256
// @run int n=3000 grid=5 block=100
extern "C" __global__ void any_step_up(int *out, const int *in, int n)
{
    int step = n / 4, sum = 0;
    for (int i = OWN; i < n; i += step)
        sum = sum * 3 + in[i];
    out[OWN] = sum;
}

// --- What is read afterwards -------------------------------------------------

// @run int n=3000 grid=3 block=256
// @run int n=3000 grid=5 block=100
// @run int n=100 grid=3 block=33
extern "C" __global__ void end_of_index(int *out, const int *in, int n)
{
    int i = OWN, own = i, sum = 0;
    for (; i < n; i += ALL)
        sum += in[i];
    out[own] = i * 3 + sum;
}

// @run int n=3000 grid=3 block=256
// @run int n=3000 grid=5 block=100
// @run int n=100 grid=3 block=33
extern "C" __global__ void last_of_index(int *out, const int *in, int n)
{
    int own = OWN, last = -1, sum = 0;
    for (int i = own; i < n - 11; i += ALL) {
        last = i;
        sum += in[i];
    }
    out[own] = last * 3 + sum;
}

// @run int n=3000 grid=3 block=256
// @run int n=3000 grid=5 block=100
extern "C" __global__ void place_of_most(int *out, const int *in, int n)
{
    int own = OWN, most = -1000000, at = -1;
    for (int i = own; i < n; i += ALL)
        if (in[i] > most) {
            most = in[i];
            at = i;
        }
    out[own] = at;
}

// --- Around the loop ---------------------------------------------------------

// @run int n=3000 grid=3 block=256
extern "C" __global__ void behind_a_return(int *out, const int *in, int n)
{
    if (n <= 0 || !in)
        return;
    for (int i = OWN; i < n; i += ALL)
        out[i] = in[i] * 3;
}

// @run int n=3000 grid=3 block=256
// @run int n=2999 grid=5 block=100
extern "C" __global__ void behind_a_branch(int *out, const int *in, int n)
{
    if (n & 1)
        for (int i = OWN; i < n; i += ALL)
            out[i] = in[i] * 3;
    else
        for (int i = OWN; i < n; i += ALL)
            out[i] = in[i] * 5 + 1;
}

// @run int n=3000 grid=3 block=256
// @run int n=3000 grid=5 block=100
extern "C" __global__ void one_after_another(int *out, const int *in, int n)
{
    for (int i = OWN; i < n; i += ALL)
        out[i] = in[i] * 3;
    for (int i = OWN; i < n; i += ALL)
        out[i] = out[i] * 5 + in[i];
    int sum = 0;
    for (int i = OWN; i < n - 5; i += ALL)
        sum += in[i];
    out[OWN] += sum;
}

// @run int n=3000 grid=3 block=256
// @run int n=3000 grid=5 block=100
extern "C" __global__ void behind_a_table(int *out, const int *in, int n)
{
    __shared__ int table[64];
    for (int k = threadIdx.x; k < 64; k += blockDim.x)
        table[k] = in[k] * 7;
    __syncthreads();
    for (int i = OWN; i < n; i += ALL)
        out[i] = table[in[i] & 63] + in[i];
}

// @run int n=3000 grid=3 block=256
// @run int n=3000 grid=5 block=100
extern "C" __global__ void sum_of_a_block(int *out, const int *in, int n)
{
    __shared__ int all;
    if (threadIdx.x == 0)
        all = 0;
    __syncthreads();
    int sum = 0;
    for (int i = OWN; i < n; i += ALL)
        sum += in[i];
    atomicAdd(&all, sum);
    __syncthreads();
    if (threadIdx.x == 0)
        out[blockIdx.x] = all;
}

// Not all threads come to the loop.
// @run int n=3000 grid=3 block=256
// @run int n=3000 grid=5 block=100
extern "C" __global__ void left_without_some(int *out, const int *in, int n)
{
    if (in[threadIdx.x] < 0)
        return;
    for (int i = OWN; i < n; i += ALL)
        out[i] = in[i] * 3;
}

// @run int n=3000 grid=3 block=256
// @run int n=3000 grid=5 block=100
extern "C" __global__ void left_to_half_a_warp(int *out, const int *in, int n)
{
    if (threadIdx.x & 16) {
        if (n == 0)
            return;
        for (int i = OWN; i < n; i += ALL)
            out[i] = in[i] * 3;
    }
}

// @run int n=3000 grid=3 block=256
extern "C" __global__ void left_to_one_block(int *out, const int *in, int n)
{
    if (blockIdx.x == 1)
        for (int i = threadIdx.x; i < n; i += blockDim.x)
            out[i] = in[i] * 3;
}

// @run int n=2048 grid=3 block=256
extern "C" __global__ void left_with_a_barrier(int *out, const int *in, int n)
{
    __shared__ int line[256];
    for (int i = threadIdx.x; i < n; i += 256) {
        line[threadIdx.x] = in[i];
        __syncthreads();
        out[i] = line[255 - threadIdx.x];
        __syncthreads();
    }
}

// --- Who writes the loop -----------------------------------------------------

template <typename F> __device__ void for_each(int n, F body)
{
    for (int i = OWN; i < n; i += ALL)
        body(i);
}

// @run int n=3000 grid=3 block=256
// @run int n=3000 grid=5 block=100
extern "C" __global__ void lambdas(int *out, const int *in, int n)
{
    int sum = 0;
    for_each(n, [=](int i) { out[i] = in[i] * 3; });
    for_each(n - 9, [&](int i) { sum += in[i]; });
    out[OWN] += sum;
}

struct steps {
    int first, step;
    __device__ int operator*() const { return first; }
    __device__ void operator++() { first += step; }
    __device__ bool operator!=(steps end) const { return first < end.first; }
};

struct all_of {
    int n;
    __device__ steps begin() const { return {(int)OWN, (int)ALL}; }
    __device__ steps end() const { return {n, 0}; }
};

// @run int n=3000 grid=3 block=256
extern "C" __global__ void ranges(int *out, const int *in, int n)
{
    for (int i : all_of{n})
        out[i] = in[i] * 3;
}

// @run int n=3000 grid=3 block=256
extern "C" __global__ void index_beside_index(int *out, const int *in, int n)
{
    long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = at; at < n; at += ALL, i = at)
        out[i] = in[i] * 3;
}

// @run int n=3000 grid=3 block=256
// @run int n=3000 grid=2,2 block=20,5
extern "C" __global__ void groups(int *out, const int *in, int n)
{
    cg::grid_group grid = cg::this_grid();
    for (int i = grid.thread_rank(); i < n; i += grid.size())
        out[i] = in[i] * 3;
}

// @run int n=3000 grid=3 block=256
// @run int n=3000 grid=2,2,2 block=5,4,3
extern "C" __global__ void wide_groups(int *out, const int *in, int n)
{
    auto grid = cg::this_grid();
    for (auto i = grid.thread_rank(); i < (size_t)n; i += grid.num_threads())
        out[i] = in[i] * 3;
}

// @run int n=3000 grid=3,2 block=32,4
// @run int n=3000 grid=2,2 block=20,5
extern "C" __global__ void planes(int *out, const int *in, int n)
{
    int block = blockIdx.x + blockIdx.y * gridDim.x;
    int size = blockDim.x * blockDim.y;
    int i = block * size + threadIdx.y * blockDim.x + threadIdx.x;
    for (; i < n; i += gridDim.x * gridDim.y * size)
        out[i] = in[i] * 3;
}

// @run int n=3000 grid=3,2 block=32,4
// @run int n=3000 grid=2,2 block=20,5
extern "C" __global__ void matrices(int *out, const int *in, int n)
{
    const int width = 75, height = n / width;
    for (int y = blockIdx.y * blockDim.y + threadIdx.y; y < height;
         y += gridDim.y * blockDim.y)
        for (int x = OWN; x < width; x += ALL)
            out[y * width + x] = in[y * width + x] * 3;
}

// --- Bodies ------------------------------------------------------------------

// @run int n=3000 grid=3 block=256
// @run int n=3000 grid=5 block=100
extern "C" __global__ void conditions(int *out, const int *in, int n)
{
    for (int i = OWN; i < n; i += ALL) {
        if (in[i] < 0)
            continue;
        int value = in[i];
        for (int k = 0; k < (value & 7); k++)
            value = value * 5 + k;
        out[i] = value;
    }
}

// @run float n=3000 grid=2 block=256
// @run float n=3000 grid=5 block=100
extern "C" __global__ void fours(float *out, const float *in, int n)
{
    float sum = 0;
    for (int i = OWN; i < n / 4; i += ALL) {
        float4 v = reinterpret_cast<const float4 *>(in)[i];
        sum += v.x + v.y * v.z - v.w;
        v.x = sum;
        reinterpret_cast<float4 *>(out)[i] = v;
    }
}

// @run int n=3000 grid=3 block=256
// @run int n=3000 grid=5 block=100
extern "C" __global__ void two_of_a_tree(int *out, const int *in, int n)
{
    __shared__ int sums[256];
    unsigned tid = threadIdx.x, count = n, sum = 0;
    unsigned i = blockIdx.x * blockDim.x * 2 + tid;
    while (i < count) {
        sum += in[i];
        if (i + blockDim.x < count)
            sum += in[i + blockDim.x] * 3;
        i += blockDim.x * 2 * gridDim.x;
    }
    sums[tid] = sum;
    __syncthreads();
    if (tid == 0) {
        for (unsigned k = 1; k < blockDim.x; k++)
            sum += sums[k];
        out[blockIdx.x] = sum;
    }
}

// @run int n=3000 grid=3 block=256
// @run int n=3000 grid=5 block=100
extern "C" __global__ void counts(int *out, const int *in, int n)
{
    if (OWN < 16)
        out[OWN] = 0;
    __syncthreads();
    for (int i = OWN; i < n; i += ALL)
        if (in[i] > 0)
            atomicAdd(&out[16 + (in[i] & 15)], 1);
}

// @run int n=3000 grid=3 block=256
// @run int n=3000 grid=5 block=100
extern "C" __global__ void only_writes(int *out, const int *in, int n)
{
    for (int i = OWN; i < n; i += ALL)
        out[i] = i * 3;
}

// @run int n=3000 grid=3 block=256
// @run int n=3000 grid=5 block=100
extern "C" __global__ void left_with_private_bins(int *out, const int *in,
                                                  int n)
{
    int bins[4] = {0, 0, 0, 0};
    for (int i = OWN; i < n; i += ALL)
        bins[in[i] & 3]++;
    out[OWN] = bins[0] + bins[1] * 3 + bins[2] * 5 + bins[n & 3];
}

// @run int n=3000 grid=3 block=256
extern "C" __global__ void left_to_itself(int *out, const int *in, int n)
{
    unsigned hits = 0, seed = in[OWN];
    for (int i = OWN; i < n; i += ALL) {
        seed = seed * 1664525u + 1013904223u;
        hits += seed >> 31;
    }
    out[OWN] = hits;
}

struct extremes {
    float sum, least, most;
    int count;
};

// @run float n=3000 grid=2 block=256
// @run float n=3000 grid=5 block=100
extern "C" __global__ void structures(float *out, const float *in, int n)
{
    extremes all = {0, 1e30f, -1e30f, 0};
    int own = OWN;
    for (int i = own; i < n; i += ALL) {
        all.sum += in[i];
        all.least = fminf(all.least, in[i]);
        all.most = fmaxf(all.most, in[i]);
        all.count++;
    }
    out[own] = all.sum + all.least * 3 + all.most * 5 + all.count;
}

// @run int n=3000 grid=3 block=256
// @run int n=3000 grid=5 block=96
extern "C" __global__ void shuffles(int *out, const int *in, int n)
{
    int sum = 0;
    for (int i = OWN; i < n; i += ALL)
        sum += in[i];
    for (int d = 16; d; d >>= 1)
        sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0)
        out[OWN / 32] = sum;
}

// @run int n=3000 grid=3 block=256
extern "C" __global__ void left_early(int *out, const int *in, int n)
{
    int sum = 0;
    for (int i = OWN; i < n; i += ALL) {
        if (in[i] > 900)
            break;
        sum += in[i];
    }
    out[OWN] = sum;
}

// Where no thread has a round, nothing says that the divisor is not 0.
// @run int n=1 grid=1 block=32
// @run int n=9 grid=1 block=32
extern "C" __global__ void left_divisors(int *out, const int *in, int n)
{
    unsigned below = n - 1;
    for (unsigned i = OWN; i < below; i += ALL)
        out[i] = in[i] / below + 1000u / below;
}

// --- Steps that lead nowhere, where no thread has a round ----------------------

// @run int n=1 grid=1 block=32
// @run int n=5 grid=1 block=32
// @run int n=4000 grid=1 block=32
extern "C" __global__ void steps_by_argument(int *out, const int *in, int n)
{
    int rounds = 0, step = n - 5;
    for (int i = OWN + 10; i < n; i += step) {
        rounds++;
        out[i] = in[i];
    }
    if (rounds)
        out[0] = 1;
}

// @run int n=2000 grid=2 block=32
extern "C" __global__ void begins_at_the_end(int *out, const int *in, int n)
{
    int step = n - 2000;
    for (int i = OWN + 2000; i < n; i += step)
        out[i] = in[i];
}
