// <cuda_fp16.h>

RNL_INLINE float rnl_half_to_float(unsigned short bits)
{
    _Float16 value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return float(value);
}
RNL_INLINE unsigned short rnl_half_from_float(float x)
{
    _Float16 value = _Float16(x);
    unsigned short bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}

RNL_NARROW_TYPE(__half, __half2, rnl_half_to_float, rnl_half_from_float)
RNL_NARROW(__half, __half2, half, half2, halves)
#if defined(__HIP__)
// hiprtc has types of these names.
#define half __half
#define half2 __half2
#else
typedef __half half;
typedef __half2 half2;
#endif
typedef __half __nv_half;
typedef __half2 __nv_half2;

#define CUDART_INF_FP16 __ushort_as_half(0x7c00u)
#define CUDART_NAN_FP16 __ushort_as_half(0x7fffu)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(0x0001u)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(0x7bffu)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half(0x8000u)
#define CUDART_ZERO_FP16 __ushort_as_half(0x0000u)
#define CUDART_ONE_FP16 __ushort_as_half(0x3c00u)
