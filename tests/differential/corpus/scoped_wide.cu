// Atomic functions of 16 bytes, which processors with AVX have, and GPUs (whose
// compiler is not GNU's).

#define RELAXED __NV_ATOMIC_RELAXED
#define BLOCK __NV_THREAD_SCOPE_BLOCK

struct alignas(16) counted {
    long long sum;
    int least, turns;
};

// Memory that cannot be written, and volatile memory.
__device__ const counted fixed[3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};

// @run int n=64 block=32
extern "C" __global__ void scoped_fixed(int *out, const int *in, int n)
{
#if defined(__AVX__) || !defined(__GNUC__)
    __shared__ volatile __align__(16) long long places[32][2];
    typedef ulonglong2 two;
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    counted one;
    two value = {(unsigned long long)in[i], 5}, seen;
    volatile two *place = (volatile two *)&places[t];
    __nv_atomic_load(&fixed[((unsigned)in[i] + t) % 3], &one, RELAXED, BLOCK);
    __nv_atomic_store(place, &value, RELAXED, BLOCK);
    value.y = one.turns;
    __nv_atomic_exchange(place, &value, &seen, RELAXED, BLOCK);
    int old = (int)seen.y;
    __nv_atomic_load(place, &seen, RELAXED, BLOCK);
    out[i] = one.sum * 100 + one.least * 10 + (int)seen.y + (int)seen.x + old;
#endif
}
