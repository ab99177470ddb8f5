// Atomic functions of 16 bytes.

#define RELAXED __NV_ATOMIC_RELAXED

struct alignas(16) counted {
    long long sum;
    int least, turns;
};

extern "C" __global__ void wide(int *out, const int *in, int n)
{
#if defined(__AVX__)
    __shared__ counted all;
    __shared__ float4 last;
    int t = threadIdx.x;
    const counted none = {0, 1 << 30, 0};
    float4 mine = make_float4(t, t, t, t), before;
    if (t == 0) {
        __nv_atomic_store(&all, &none, RELAXED);
        __nv_atomic_store(&last, &mine, RELAXED);
    }
    __syncthreads();
    counted old, now;
    __nv_atomic_load(&all, &old, RELAXED);
    do {
        now = old;
        now.sum += in[t] * 5000000000ll;
        now.least = in[t] < old.least ? in[t] : old.least;
        now.turns++;
    } while (!__nv_atomic_compare_exchange(&all, &old, &now, true, RELAXED,
                                           RELAXED));
    __nv_atomic_exchange(&last, &mine, &before, RELAXED);
    bool whole = before.x == before.y && before.x == before.w;
    do
        __nv_atomic_load(&all, &old, __NV_ATOMIC_ACQUIRE);
    while (old.turns < blockDim.x);
    out[t] = whole + old.least * 3 + (int)(old.sum >> 20);
#endif
}

__device__ const counted fixed[3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};

// Of memory that cannot be written.
extern "C" __global__ void wide_fixed(int *out, const int *in, int n)
{
#if defined(__AVX__)
    int t = threadIdx.x;
    counted one;
    __nv_atomic_load(&fixed[(unsigned)in[t] % 3], &one, RELAXED);
    out[t] = one.sum * 100 + one.least * 10 + one.turns;
#endif
}
