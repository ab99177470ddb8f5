// Atomics of every kind, on global and shared memory. Which thread comes first
// does not show.

// @run int n=300 grid=3 block=100
// @run int n=128 grid=4 block=32
extern "C" __global__ void global_kinds(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, value = in[i];
    if (i < 8)
        atomicExch(&out[i + 8], 0);
    atomicAdd(&out[0], value);
    atomicSub(&out[1], value);
    atomicMin(&out[2], value);
    atomicMax(&out[3], value);
    atomicAnd(&out[4], value);
    atomicOr(&out[5], value);
    atomicXor(&out[6], value);
}

// @run unsigned n=300 grid=3 block=100
extern "C" __global__ void unsigned_kinds(unsigned *out, const unsigned *in,
                                          int n)
{
    unsigned value = in[blockIdx.x * blockDim.x + threadIdx.x];
    atomicAdd(&out[value & 3u], value);
    atomicMin(&out[4 + (value & 3u)], value);
    atomicMax(&out[8 + (value & 3u)], value);
    atomicXor(&out[12 + (value & 3u)], value);
    atomicOr(&out[16], value & 0x0fu);
    atomicAnd(&out[17], value | 0xffu);
}

// @run long long n=200 grid=2 block=100
extern "C" __global__ void wide_kinds(long long *out, const long long *in,
                                      int n)
{
    long long value = in[blockIdx.x * blockDim.x + threadIdx.x];
    unsigned long long *bits = (unsigned long long *)out;
    atomicAdd(bits, (unsigned long long)value);
    atomicMax(&bits[1], (unsigned long long)value);
    atomicMin(&out[2], value);
    atomicXor(&bits[3 + (value & 1)], (unsigned long long)value);
    if (value > 0)
        atomicAdd(&bits[5], 1ull);
}

// The sums are exact.
// @run float n=200 grid=2 block=100
extern "C" __global__ void float_sums(float *out, const float *in, int n)
{
    __shared__ float sums[4];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t < 4)
        sums[t] = 0.0f;
    __syncthreads();
    atomicAdd(&sums[i & 3], in[i]);
    __syncthreads();
    out[i] = sums[t & 3];
}

// @run double n=128 grid=2 block=64
extern "C" __global__ void double_sums(double *out, const double *in, int n)
{
    __shared__ double sum;
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (t == 0)
        sum = 0.0;
    __syncthreads();
    atomicAdd(&sum, in[i]);
    __syncthreads();
    out[i] = sum * 4;
}

// @run int n=256 grid=2 block=128
extern "C" __global__ void shared_kinds(int *out, const int *in, int n)
{
    __shared__ int totals[8];
    int t = threadIdx.x, i = blockIdx.x * 128 + t, value = in[i];
    if (t < 8)
        totals[t] = t;
    __syncthreads();
    atomicAdd(&totals[0], value);
    if (value > 0)
        atomicSub(&totals[1], value);
    atomicMin(&totals[2], value);
    atomicMax(&totals[3], value);
    atomicAnd(&totals[4], value | 1);
    atomicOr(&totals[5], value & 0x33);
    if (t & 1)
        atomicXor(&totals[6], value);
    __syncthreads();
    out[i] = totals[t & 7];
}

// Each ticket is taken once.
// @run int n=200 grid=2 block=100
extern "C" __global__ void tickets(int *out, const int *in, int n)
{
    __shared__ unsigned next;
    __shared__ int taken[100];
    int t = threadIdx.x;
    taken[t] = 0;
    if (t == 0)
        next = 0;
    __syncthreads();
    unsigned mine = in[t] > -2000 ? atomicAdd(&next, 1u) : 0u;
    atomicAdd(&taken[mine], 1);
    __syncthreads();
    out[blockIdx.x * 100 + t] = taken[t] * 1000 + (int)next;
}

// @run int n=128 grid=2 block=64
extern "C" __global__ void old_values(int *out, const int *in, int n)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    out[i] = in[i];
    int a = atomicAdd(&out[i], 5);
    int b = atomicMax(&out[i], 100);
    int c = atomicExch(&out[i], i);
    int d = atomicCAS(&out[i], i, c);
    int e = atomicCAS(&out[i], -1, 7);
    atomicAdd(&out[i], a * 3 + b * 5 + d * 11 + e);
}

// @run unsigned n=64 grid=1 block=64
extern "C" __global__ void increments(unsigned *out, const unsigned *in, int n)
{
    __shared__ unsigned up, down;
    unsigned t = threadIdx.x;
    if (t == 0)
        up = down = 3;
    __syncthreads();
    atomicInc(&up, 10);
    atomicDec(&down, 10);
    __syncthreads();
    out[t] = up * 100 + down;
    unsigned old = atomicInc(&out[t], 5);
    old += atomicDec(&out[t], 1000);
    atomicAdd(&out[t], old);
}

// @run int n=128 grid=2 block=64
extern "C" __global__ void maximum_by_cas(int *out, const int *in, int n)
{
    __shared__ int best;
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (t == 0)
        best = -5000;
    __syncthreads();
    int seen = best;
    while (in[i] > seen) {
        int old = atomicCAS(&best, seen, in[i]);
        if (old == seen)
            break;
        seen = old;
    }
    __syncthreads();
    out[i] = best;
}

// @run int n=64 grid=1 block=64
extern "C" __global__ void lock_per_thread(int *out, const int *in, int n)
{
    __shared__ int lock, total;
    int t = threadIdx.x;
    if (t == 0)
        lock = total = 0;
    __syncthreads();
    bool done = false;
    while (!done) {
        if (atomicCAS(&lock, 0, 1) == 0) {
            __threadfence_block();
            *(volatile int *)&total = *(volatile int *)&total + in[t];
            __threadfence_block();
            atomicExch(&lock, 0);
            done = true;
        }
    }
    __syncthreads();
    out[t] = total;
}

// @run float n=64 grid=1 block=64
extern "C" __global__ void float_extremes(float *out, const float *in, int n)
{
    __shared__ int high, low;
    int t = threadIdx.x;
    if (t == 0)
        high = __float_as_int(0.0f), low = __float_as_int(1000.0f);
    __syncthreads();
    float value = fabsf(in[t]) + 0.5f;
    atomicMax(&high, __float_as_int(value));
    atomicMin(&low, __float_as_int(value));
    __syncthreads();
    out[t] = __int_as_float(high) - __int_as_float(low);
}

// @run int n=256 grid=2 block=128
extern "C" __global__ void divergent_sums(int *out, const int *in, int n)
{
    __shared__ int bins[16];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    if (t < 16)
        bins[t] = 0;
    __syncthreads();
    for (int k = 0; k < (in[i] & 7); k++) {
        if (in[(i + k) & 255] > 0)
            atomicAdd(&bins[k], 1);
        else
            atomicAdd_block(&bins[8 + (i & 7)], k);
    }
    __syncthreads();
    out[i] = bins[t & 15];
}

// @run int n=64 grid=4 block=64
extern "C" __global__ void last_block(int *out, const int *in, int n)
{
    atomicAdd(&out[threadIdx.x], in[threadIdx.x] * (int)(blockIdx.x + 1));
    __threadfence();
    atomicAdd_system(&out[(threadIdx.x + 1) & 63], 1);
}

// @run int n=256 grid=1 block=100
// @run int n=256 grid=2 block=8,4,2
extern "C" __global__ void extremes_in_loops(int *out, const int *in, int n)
{
    __shared__ unsigned high[8];
    unsigned t = threadIdx.x +
                 blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned size = blockDim.x * blockDim.y * blockDim.z, steps = 0;
    if (t < 8u)
        high[t] = t;
    __syncthreads();
    for (int k = 0; k < (in[t] & 7); k++) {
        atomicMax(&high[k & 3], (unsigned)in[t + k] & 1023u);
        if (in[t + k] > 100)
            atomicMin(&high[4 + (t & 3u)], (unsigned)k);
    }
    for (int k = (int)(t & 3u); k < 5; k++)
        steps = steps * 3u + atomicInc((unsigned *)out + blockIdx.x * size + t,
                                       (unsigned)k + 2u);
    __syncthreads();
    out[blockIdx.x * size + t] = (int)(steps + high[t & 7u]);
}

// How often each value occurs, by a table of values with their counts.
// @run int n=1000 block=256
// @run int n=300 block=33
extern "C" __global__ void counts_in_a_table(int *out, const int *in, int n)
{
    __shared__ int values[2048], counts[2048];
    const int none = -1 << 31;
    for (int i = threadIdx.x; i < 2048; i += blockDim.x) {
        values[i] = none;
        counts[i] = 0;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        unsigned at = (unsigned)in[i] * 2654435761u >> 21;
        for (;; at = (at + 1) & 2047u) {
            int old = atomicCAS(&values[at], none, in[i]);
            if (old == none || old == in[i])
                break;
        }
        atomicAdd(&counts[at], 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        unsigned at = (unsigned)in[i] * 2654435761u >> 21;
        while (values[at] != in[i])
            at = (at + 1) & 2047u;
        out[i] = counts[at];
    }
}

// All threads at one place, some of them, or none. Sums are exact.
// @run int n=300 grid=3 block=100
// @run int n=128 grid=1 block=128
extern "C" __global__ void one_place(int *out, const int *in, int n)
{
    __shared__ int s[8];
    int t = threadIdx.x, value = in[blockIdx.x * blockDim.x + t];
    if (t < 8)
        s[t] = in[t];
    __syncthreads();
    atomicAdd(&s[0], value);
    atomicMax(&s[1], value);
    atomicMin(&s[2], value);
    if (value & 4)
        atomicXor(&s[3], value);
    if (value % 7 == t % 7)
        atomicAnd(&s[4], value);
    else
        atomicOr(&s[5], value);
    if (t > 2000)
        atomicSub(&s[6], value);
    atomicSub(&s[7], 3);
    __syncthreads();
    if (t < 8)
        atomicAdd(&out[t], s[t]);
    atomicMax(&out[8], value);
    atomicMin((unsigned *)&out[9], (unsigned)value);
    if (value < 0)
        atomicMax((unsigned *)&out[10], (unsigned)value);
}

// Each gets a place of its own; which one does not show.
// @run int n=600 grid=2 block=100
extern "C" __global__ void places_in_turn(int *out, const int *in, int n)
{
    __shared__ int count, taken[128];
    int t = threadIdx.x;
    taken[t % 128] = 0;
    if (t == 0)
        count = 0;
    __syncthreads();
    if (in[t] % 3) {
        int place = atomicAdd(&count, 1 + (t & 1));
        atomicAdd(&taken[place % 128], 1);
        if (t & 1)
            atomicAdd(&taken[(place + 1) % 128], 1);
    }
    __syncthreads();
    atomicAdd(&out[t], taken[t % 128]);
    atomicAdd(&out[n / 2], atomicAdd(&out[n / 2 + 1], 2) & 1);
    if (t == 0)
        atomicAdd(&out[n / 2 + 2], count);
}

// @run float n=300 grid=3 block=100
extern "C" __global__ void float_at_one_place(float *out, const float *in,
                                              int n)
{
    __shared__ float s[2];
    int t = threadIdx.x;
    float value = truncf(in[blockIdx.x * blockDim.x + t] * 4);
    if (t < 2)
        s[t] = -0.0f;
    __syncthreads();
    atomicAdd(&s[0], value);
    if (value > 2)
        atomicAdd(&s[1], value);
    __syncthreads();
    if (t < 2)
        atomicAdd(&out[t], s[t]);
    atomicAdd(&out[2], value);
    if (value < 0)
        atomicAdd(&out[3], 0.5f);
    atomicAdd(&out[4 + (t & 3)], value);
}

// @run double n=256 grid=2 block=128
extern "C" __global__ void double_at_one_place(double *out, const double *in,
                                               int n)
{
    double value = trunc(in[blockIdx.x * blockDim.x + threadIdx.x] * 8);
    atomicAdd(&out[0], value);
    if (value > 0)
        atomicAdd(&out[1], value);
}
