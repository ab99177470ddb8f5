// <cuda_bf16.h>

RNL_INLINE float rnl_bfloat_to_float(unsigned short bits)
{
    return __uint_as_float((unsigned int)bits << 16);
}
// The upper half of a float, rounded to nearest, ties to even.
RNL_INLINE unsigned short rnl_bfloat_from_float(float x)
{
    unsigned int bits = __float_as_uint(x);
    unsigned int rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return (unsigned short)(x == x ? rounded : 0x7fffu);
}

RNL_NARROW_TYPE(__nv_bfloat16, __nv_bfloat162, rnl_bfloat_to_float,
                rnl_bfloat_from_float)
RNL_NARROW(__nv_bfloat16, __nv_bfloat162, bfloat16, bfloat162, halves)
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#define CUDART_INF_BF16 __ushort_as_bfloat16(0x7f80u)
#define CUDART_NAN_BF16 __ushort_as_bfloat16(0x7fffu)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16(0x0001u)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16(0x7f7fu)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16(0x8000u)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16(0x0000u)
#define CUDART_ONE_BF16 __ushort_as_bfloat16(0x3f80u)
