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

// @run unsigned n=16384 grid=64 block=256
extern "C" __global__ void halves(unsigned *out, const unsigned *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned w = in[i], v = in[n - 1 - i], r = 0u;
    __half x = __ushort_as_half(w >> 7), y = __ushort_as_half(v >> 9);
    __half z = __ushort_as_half((w ^ v) >> 5);
    switch (i % 49) {
    case 0: r = raw(x + y); break;
    case 1: r = raw(x - y); break;
    case 2: r = raw(x * y); break;
    case 3: r = raw(x / y); break;
    case 4: r = raw(__hfma(x, y, z)); break;
    case 5: r = raw(hsqrt(x)); break;
    case 6: r = raw(__hmax(x, y)); break;
    case 7: r = raw(__hmin(x, y)); break;
    case 8: r = raw(__hmax_nan(x, y)); break;
    case 9: r = raw(-x); break;
    case 10: r = raw(__habs(x)); break;
    case 11: r = raw(__hadd_sat(x, y)); break;
    case 12: r = raw(__hmul_sat(x, y)); break;
    case 13: r = raw(__hfma_sat(x, y, z)); break;
    case 14: r = raw(hfloor(x)); break;
    case 15: r = raw(hceil(x)); break;
    case 16: r = raw(htrunc(x)); break;
    case 17: r = raw(hrint(x)); break;
    case 18:
        r = (x < y) + 2u * (x <= y) + 4u * (x == y) + 8u * (x != y) +
            16u * (x > y);
        break;
    case 19:
        r = __hltu(x, y) + 2u * __hgeu(x, y) + 4u * __hequ(x, y) +
            8u * __hneu(x, y);
        break;
    case 20: r = __hisnan(x) + 2u * (__hisinf(x) != 0); break;
    case 21: r = raw(__float2half_rn(__uint_as_float(w))); break;
    case 22: r = (unsigned)__half2int_rn(x); break;
    case 23: r = __half2uint_rn(x); break;
    case 24: r = (unsigned)(unsigned short)__half2short_rn(x); break;
    case 25: r = raw(__int2half_rn((int)w >> (w & 31u))); break;
    case 26: r = raw(__uint2half_rn(w >> (w & 31u))); break;
    case 27: r = raw(__float2half_rz(__uint_as_float(w))); break;
    case 28: r = (unsigned)__half2int_rz(x); break;
    case 29: r = __half2uint_rz(x); break;
    case 30: r = (unsigned)(unsigned short)__half2short_rz(x); break;
    case 31: r = raw(__int2half_rz((int)w >> (w & 31u))); break;
    case 32: r = raw(__uint2half_rz(w >> (w & 31u))); break;
    case 33: r = raw(__float2half_ru(__uint_as_float(w))); break;
    case 34: r = (unsigned)__half2int_ru(x); break;
    case 35: r = __half2uint_ru(x); break;
    case 36: r = (unsigned)(unsigned short)__half2short_ru(x); break;
    case 37: r = raw(__int2half_ru((int)w >> (w & 31u))); break;
    case 38: r = raw(__uint2half_ru(w >> (w & 31u))); break;
    case 39: r = raw(__float2half_rd(__uint_as_float(w))); break;
    case 40: r = (unsigned)__half2int_rd(x); break;
    case 41: r = __half2uint_rd(x); break;
    case 42: r = (unsigned)(unsigned short)__half2short_rd(x); break;
    case 43: r = raw(__int2half_rd((int)w >> (w & 31u))); break;
    case 44: r = raw(__uint2half_rd(w >> (w & 31u))); break;
    case 45:
        r = __float_as_uint(__half2float(x)) & (__hisnan(x) ? 0u : ~0u);
        break;
    case 46: r = raw(__double2half((double)__uint_as_float(w) * 1.0001)); break;
    case 47:
        r = (unsigned)(int)(fabsf((float)x) < 9e4f ? (float)x : 5.0f);
        break;
    case 48: r = raw(__half((int)w % 70000)); break;
    }
    out[i] = r;
}

// @run unsigned n=16384 grid=64 block=256
extern "C" __global__ void bfloats(unsigned *out, const unsigned *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned w = in[i], v = in[n - 1 - i], r = 0u;
    __nv_bfloat16 x = __ushort_as_bfloat16(w >> 7);
    __nv_bfloat16 y = __ushort_as_bfloat16(v >> 9);
    __nv_bfloat16 z = __ushort_as_bfloat16((w ^ v) >> 5);
    switch (i % 49) {
    case 0: r = raw(x + y); break;
    case 1: r = raw(x - y); break;
    case 2: r = raw(x * y); break;
    case 3: r = raw(x / y); break;
    case 4: r = raw(__hfma(x, y, z)); break;
    case 5: r = raw(hsqrt(x)); break;
    case 6: r = raw(__hmax(x, y)); break;
    case 7: r = raw(__hmin(x, y)); break;
    case 8: r = raw(__hmax_nan(x, y)); break;
    case 9: r = raw(-x); break;
    case 10: r = raw(__habs(x)); break;
    case 11: r = raw(__hadd_sat(x, y)); break;
    case 12: r = raw(__hmul_sat(x, y)); break;
    case 13: r = raw(__hfma_sat(x, y, z)); break;
    case 14: r = raw(hfloor(x)); break;
    case 15: r = raw(hceil(x)); break;
    case 16: r = raw(htrunc(x)); break;
    case 17: r = raw(hrint(x)); break;
    case 18:
        r = (x < y) + 2u * (x <= y) + 4u * (x == y) + 8u * (x != y) +
            16u * (x > y);
        break;
    case 19:
        r = __hltu(x, y) + 2u * __hgeu(x, y) + 4u * __hequ(x, y) +
            8u * __hneu(x, y);
        break;
    case 20: r = __hisnan(x) + 2u * (__hisinf(x) != 0); break;
    case 21: r = raw(__float2bfloat16_rn(__uint_as_float(w))); break;
    case 22: r = (unsigned)__bfloat162int_rn(x); break;
    case 23: r = __bfloat162uint_rn(x); break;
    case 24: r = (unsigned)(unsigned short)__bfloat162short_rn(x); break;
    case 25: r = raw(__int2bfloat16_rn((int)w >> (w & 31u))); break;
    case 26: r = raw(__uint2bfloat16_rn(w >> (w & 31u))); break;
    case 27: r = raw(__float2bfloat16_rz(__uint_as_float(w))); break;
    case 28: r = (unsigned)__bfloat162int_rz(x); break;
    case 29: r = __bfloat162uint_rz(x); break;
    case 30: r = (unsigned)(unsigned short)__bfloat162short_rz(x); break;
    case 31: r = raw(__int2bfloat16_rz((int)w >> (w & 31u))); break;
    case 32: r = raw(__uint2bfloat16_rz(w >> (w & 31u))); break;
    case 33: r = raw(__float2bfloat16_ru(__uint_as_float(w))); break;
    case 34: r = (unsigned)__bfloat162int_ru(x); break;
    case 35: r = __bfloat162uint_ru(x); break;
    case 36: r = (unsigned)(unsigned short)__bfloat162short_ru(x); break;
    case 37: r = raw(__int2bfloat16_ru((int)w >> (w & 31u))); break;
    case 38: r = raw(__uint2bfloat16_ru(w >> (w & 31u))); break;
    case 39: r = raw(__float2bfloat16_rd(__uint_as_float(w))); break;
    case 40: r = (unsigned)__bfloat162int_rd(x); break;
    case 41: r = __bfloat162uint_rd(x); break;
    case 42: r = (unsigned)(unsigned short)__bfloat162short_rd(x); break;
    case 43: r = raw(__int2bfloat16_rd((int)w >> (w & 31u))); break;
    case 44: r = raw(__uint2bfloat16_rd(w >> (w & 31u))); break;
    case 45:
        r = __float_as_uint(__bfloat162float(x)) & (__hisnan(x) ? 0u : ~0u);
        break;
    case 46:
        r = raw(__double2bfloat16((double)__uint_as_float(w) * 1.0001));
        break;
    case 47:
        r = (unsigned)(int)(fabsf((float)x) < 9e4f ? (float)x : 5.0f);
        break;
    case 48: r = raw(__nv_bfloat16((int)w % 70000)); break;
    }
    out[i] = r;
}
