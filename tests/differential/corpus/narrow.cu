// __half and __nv_bfloat16: operations, comparisons and conversions, which have
// one right result.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// Which NaN it is does not count.
__device__ unsigned raw(__half x)
{
    return __hisnan(x) ? 0x7e00u : __half_as_ushort(x);
}
__device__ unsigned raw(__nv_bfloat16 x)
{
    return __hisnan(x) ? 0x7fc0u : __bfloat16_as_ushort(x);
}

#define CASE(number, value) case number: r = value; break;
#define MODES(number, to, name, ...)          \
    CASE(number, to(name##_rn(__VA_ARGS__)))     \
    CASE(number + 1, to(name##_rz(__VA_ARGS__))) \
    CASE(number + 2, to(name##_ru(__VA_ARGS__))) \
    CASE(number + 3, to(name##_rd(__VA_ARGS__)))

enum { OPERATIONS = 21, ALL = OPERATIONS + 28 };

template <class T> __device__ unsigned operation(int which, T x, T y, T z)
{
    unsigned r = 0u;
    switch (which) {
    CASE(0, raw(x + y))
    CASE(1, raw(x - y))
    CASE(2, raw(x * y))
    CASE(3, raw(x / y))
    CASE(4, raw(__hfma(x, y, z)))
    CASE(5, raw(hsqrt(x)))
    CASE(6, raw(__hmax(x, y)))
    CASE(7, raw(__hmin(x, y)))
    CASE(8, raw(__hmax_nan(x, y)))
    CASE(9, raw(-x))
    CASE(10, raw(__habs(x)))
    CASE(11, raw(__hadd_sat(x, y)))
    CASE(12, raw(__hmul_sat(x, y)))
    CASE(13, raw(__hfma_sat(x, y, z)))
    CASE(14, raw(hfloor(x)))
    CASE(15, raw(hceil(x)))
    CASE(16, raw(htrunc(x)))
    CASE(17, raw(hrint(x)))
    CASE(18, (x < y) + 2u * (x <= y) + 4u * (x == y) + 8u * (x != y) +
                 16u * (x > y))
    CASE(19, __hltu(x, y) + 2u * __hgeu(x, y) + 4u * __hequ(x, y) +
                 8u * __hneu(x, y))
    CASE(20, __hisnan(x) + 2u * (__hisinf(x) != 0))
    }
    return r;
}

__device__ unsigned halfword(short x) { return (unsigned short)x; }

// From and to the type that functions call `name`.
#define CONVERSIONS(T, name)                                                 \
    MODES(OPERATIONS, raw, __float2##name, __uint_as_float(w))               \
    MODES(OPERATIONS + 4, unsigned, __##name##2int, x)                       \
    MODES(OPERATIONS + 8, unsigned, __##name##2uint, x)                      \
    MODES(OPERATIONS + 12, halfword, __##name##2short, x)                    \
    MODES(OPERATIONS + 16, raw, __int2##name, (int)w >> (w & 31u))           \
    MODES(OPERATIONS + 20, raw, __uint2##name, w >> (w & 31u))               \
    CASE(OPERATIONS + 24, __hisnan(x) ? 0u                                   \
                                      : __float_as_uint(__##name##2float(x))) \
    CASE(OPERATIONS + 25,                                                    \
         raw(__double2##name((double)__uint_as_float(w) * 1.0001)))          \
    CASE(OPERATIONS + 26,                                                    \
         (unsigned)(int)(fabsf((float)x) < 9e4f ? (float)x : 5.0f))          \
    CASE(OPERATIONS + 27, raw(T((int)w % 70000)))

#define KERNEL(T, name)                                                      \
    int i = blockIdx.x * blockDim.x + threadIdx.x, which = i % ALL;          \
    unsigned w = in[i], v = in[n - 1 - i], r = 0u;                           \
    T x = __ushort_as_##name(w >> 7), y = __ushort_as_##name(v >> 9);        \
    T z = __ushort_as_##name((w ^ v) >> 5);                                  \
    switch (which) {                                                         \
    CONVERSIONS(T, name)                                                     \
    default:                                                                 \
        r = operation(which, x, y, z);                                       \
    }                                                                        \
    out[i] = r;

// @run unsigned n=16384 grid=64 block=256
extern "C" __global__ void halves(unsigned *out, const unsigned *in, int n)
{
    KERNEL(__half, half)
}

// @run unsigned n=16384 grid=64 block=256
extern "C" __global__ void bfloats(unsigned *out, const unsigned *in, int n)
{
    KERNEL(__nv_bfloat16, bfloat16)
}

// @run unsigned n=256 grid=2 block=128
extern "C" __global__ void assigned_integers(unsigned *out, const unsigned *in,
                                             int n)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    __half a, b;
    __nv_bfloat16 c, d;
    a = in[i];
    b = (long long)in[i] - 5000000;
    c = (unsigned short)in[i];
    d = (unsigned long long)in[i] << (i & 31);
    out[i] = raw(a) + 3 * raw(b) + 7 * raw(c) + 31 * raw(d);
}
