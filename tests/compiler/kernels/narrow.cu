// __half and __nv_bfloat16: the same kernels for both.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define CASE(number, value) case number: out[i] = raw(value); break;

__device__ unsigned short raw(__half x) { return __half_as_ushort(x); }
__device__ unsigned short raw(__nv_bfloat16 x)
{
    return __bfloat16_as_ushort(x);
}
__device__ unsigned short raw(bool x) { return x; }

template <class T>
__device__ void arithmetic(unsigned short *out, const T *a, const T *b,
                           const T *c, int which)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    T x = a[i], y = b[i], z = c[i];
    switch (which) {
        CASE(0, x + y)
        CASE(1, x - y)
        CASE(2, x * y)
        CASE(3, x / y)
        CASE(4, __hfma(x, y, z))
        CASE(5, hsqrt(x))
        CASE(6, __hmax(x, y))
        CASE(7, __hmin(x, y))
        CASE(8, -x)
        CASE(9, __habs(x))
        CASE(10, __hadd_sat(x, y))
        CASE(11, hfloor(x))
        CASE(12, hrint(x))
        CASE(13, x < y)
        CASE(14, x == y)
        CASE(15, __hgeu(x, y))
        CASE(16, __hne(x, y))
        CASE(17, __hisnan(x))
    }
}

extern "C" __global__ void half_arithmetic(unsigned short *out,
                                           const __half *a, const __half *b,
                                           const __half *c, int which)
{
    arithmetic(out, a, b, c, which);
}
extern "C" __global__ void bfloat_arithmetic(unsigned short *out,
                                             const __nv_bfloat16 *a,
                                             const __nv_bfloat16 *b,
                                             const __nv_bfloat16 *c, int which)
{
    arithmetic(out, a, b, c, which);
}

extern "C" __global__ void narrow_to_float(float *half, float *bfloat)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    half[i] = __half2float(__ushort_as_half(i));
    bfloat[i] = __bfloat162float(__ushort_as_bfloat16(i));
}

extern "C" __global__ void narrow_from(unsigned short *out, const double *in,
                                       int which)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double d = in[i];
    float f = (float)d;
    switch (which) {
        CASE(0, __float2half_rn(f))
        CASE(1, __float2half_rz(f))
        CASE(2, __float2half_ru(f))
        CASE(3, __float2half_rd(f))
        CASE(4, __float2bfloat16_rn(f))
        CASE(5, __float2bfloat16_rz(f))
        CASE(6, __float2bfloat16_ru(f))
        CASE(7, __float2bfloat16_rd(f))
        CASE(8, __double2half(d))
        CASE(9, __double2bfloat16(d))
    }
}

extern "C" __global__ void half_integers(int *out, const int *in, int)
{
    int i = threadIdx.x, *o = out + 12 * i;
    __half h = __float2half(in[i] * 0.125f);
    o[0] = __half2int_rn(h);
    o[1] = __half2int_rz(h);
    o[2] = __half2int_ru(h);
    o[3] = __half2int_rd(h);
    o[4] = __half2short_rn(__hneg(h));
    o[5] = (int)__half2uint_rz(__hneg(h));
    o[6] = __half2uchar_rz(h * __half(16));
    o[7] = (int)__half2ll_rd(h);
    o[8] = (int)__half2float(__int2half_rn(in[i] * 7));
    o[9] = (int)__half2float(__int2half_rd(in[i] * 7));
    o[10] = (int)__half2float(__uint2half_ru(in[i] * 7u));
    o[11] = (int)(float)__half((long long)in[i]);
}

extern "C" __global__ void half_pairs(float *out, const float *in, int)
{
    int t = threadIdx.x;
    float *o = out + 12 * t;
    __half2 a = __floats2half2_rn(in[t], in[t + 1]);
    __half2 b = __float2half2_rn(2.0f);
    __half2 c = __hfma2(a, b, __halves2half2(__float2half(1.0f), b.x));
    o[0] = __low2float(c);
    o[1] = __high2float(c);
    c = a * b - __half2half2(__low2half(b));
    o[2] = __half22float2(c).x;
    o[3] = __half22float2(__lowhigh2highlow(c)).x;
    o[4] = __half2float(__hgt2(a, b).x);
    o[5] = __hbeq2(a, a) + 2 * __hbgt2(a, b) + 4 * (a == a) + 8 * (a != a);
    o[6] = (float)__hgt2_mask(a, b);
    o[7] = (float)__shfl_xor_sync(~0u, a, 1).y;
    o[8] = (float)__shfl_down_sync(~0u, a.x, 1);
    a += b;
    o[9] = (float)__highs2half2(a, b).x;
    o[10] = (float)h2floor(a).x;
    o[11] = (float)sizeof(half2) + alignof(half2);
}

extern "C" __global__ void narrow_sums(__half *sum, __half2 *pair,
                                       __nv_bfloat16 *other)
{
    __shared__ __half all;
    if (threadIdx.x == 0)
        all = 0.0f;
    __syncthreads();
    atomicAdd(&all, __half(1));
    atomicAdd(pair, __half2(1, 2));
    __half before = atomicAdd(&sum[1], __half(3));
    if (__heq(before, __half(0.0f)))
        atomicAdd(other, __nv_bfloat16(5));
    __syncthreads();
    if (threadIdx.x == 0)
        sum[0] = all;
}
