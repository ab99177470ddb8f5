// Atomic functions that name an order and who may look, of CUDA 12.8 and newer,
// barriers by number, and kinds of memory.

#define RELAXED __NV_ATOMIC_RELAXED
#define BLOCK __NV_THREAD_SCOPE_BLOCK

// @run int n=128 grid=2 block=64
// @run int n=100 block=50
extern "C" __global__ void scoped_counters(int *out, const int *in, int n)
{
    __shared__ int sum, most, bits;
    __shared__ unsigned long long wide;
    __shared__ float real;
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t == 0) {
        sum = most = bits = 0;
        wide = 0;
        __nv_atomic_store_n(&sum, 5, __NV_ATOMIC_RELEASE, BLOCK);
        real = 0;
    }
    __barrier_sync(0);
    __nv_atomic_fetch_add(&sum, in[i], RELAXED, BLOCK);
    __nv_atomic_max(&most, in[i], RELAXED, BLOCK);
    __nv_atomic_fetch_xor(&bits, in[i], RELAXED);
    __nv_atomic_add(&wide, (unsigned)in[i] * 3000000000ull, RELAXED);
    __nv_atomic_sub(&real, (float)(in[i] & 7), __NV_ATOMIC_ACQ_REL, BLOCK);
    __nv_atomic_sub(&sum, 1, __NV_ATOMIC_SEQ_CST);
    __barrier_sync(0);
    out[i] = sum + most * 3 + __nv_atomic_load_n(&bits, __NV_ATOMIC_ACQUIRE) +
             (int)(wide >> 20) + (int)real;
}

// @run int n=64 block=64
extern "C" __global__ void scoped_exchange(int *out, const int *in, int n)
{
    struct pair {
        short a, b;
        float f;
    };
    __shared__ pair best;
    __shared__ int turns;
    int t = threadIdx.x;
    if (t == 0) {
        pair first = {0, -1, 0.0f};
        __nv_atomic_store(&best, &first, RELAXED, BLOCK);
        turns = 0;
    }
    __syncthreads();
    pair old, mine = {(short)in[t], (short)t, in[t] * 0.5f};
    __nv_atomic_load(&best, &old, RELAXED, BLOCK);
    while (old.a < mine.a || (old.a == mine.a && old.b < mine.b))
        if (__nv_atomic_compare_exchange(&best, &old, &mine, true,
                                         __NV_ATOMIC_ACQ_REL, RELAXED, BLOCK))
            break;
    int expected = t;
    bool same = __nv_atomic_compare_exchange_n(&turns, &expected, t, false,
                                               RELAXED, RELAXED);
    __syncthreads();
    out[t] = best.a * 100 + best.b + (int)best.f + (same == (expected == t));
    __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, BLOCK);
    if (t == 1)
        out[t] += __nv_atomic_exchange_n(&turns, 7, RELAXED, BLOCK);
}

// @run int n=96 grid=3 block=32
extern "C" __global__ void scoped_bytes(int *out, const int *in, int n)
{
    __shared__ unsigned char bytes[32];
    int t = threadIdx.x, i = blockIdx.x * 32 + t;
    __nv_atomic_store_n(&bytes[t], (unsigned char)in[i], RELAXED, BLOCK);
    __syncthreads();
    out[i] = __nv_atomic_load_n(&bytes[t ^ 1], RELAXED, BLOCK);
}

__constant__ int table[2] = {1, 2};
__device__ int global[2];

// @run int n=128 grid=2 block=64 shared=64
extern "C" __global__ void kinds_of_memory(int *out, const int *in, int n)
{
    __shared__ int s[64];
    extern __shared__ int d[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    unsigned of_s = (unsigned)__cvta_generic_to_shared(s + t);
    *(int *)__cvta_shared_to_generic(of_s) = in[i];
    __syncthreads();
    out[i] = s[t] + __isShared(s + t) + 2 * __isShared(d) +
             4 * __isShared(out) + 8 * __isGlobal(out) + 16 * __isGlobal(s) +
             32 * __isGlobal(global) + 64 * __isConstant(out + t) +
             128 * (of_s - (unsigned)__cvta_generic_to_shared(s) == 4 * t) +
             table[t & 1];
}

// @run int n=128 grid=2 block=64
// @run int n=100 block=50
extern "C" __global__ void scoped_longs(int *out, const int *in, int n)
{
    __shared__ long least, most, all, any, odd;
    __shared__ unsigned long high, bits;
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t == 0) {
        least = most = any = odd = 0;
        all = -1;
        high = bits = 0;
    }
    __barrier_sync(0);
    long v = (long)in[i] * 5000000001l;
    __nv_atomic_fetch_min(&least, -v, RELAXED, BLOCK);
    __nv_atomic_fetch_max(&most, v, RELAXED, BLOCK);
    __nv_atomic_fetch_and(&all, v | 7, RELAXED, BLOCK);
    __nv_atomic_fetch_or(&any, v, RELAXED, BLOCK);
    __nv_atomic_xor(&odd, v, RELAXED, BLOCK);
    __nv_atomic_fetch_max(&high, (unsigned long)v, RELAXED, BLOCK);
    __nv_atomic_fetch_xor(&bits, (unsigned long)v, RELAXED, BLOCK);
    __barrier_sync(0);
    long sum = least * 3 + most + all + any * 5 + odd * 7;
    unsigned long other = high ^ bits;
    out[i] = (int)(sum >> 16) ^ (int)sum ^ (int)(other >> 20);
}
