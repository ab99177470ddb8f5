// Arithmetic that names its rounding. HIP's headers have it to nearest; its
// library has the rest, but for divisions.
#define RNL_DIRECTED(name, operation, mode, hip_mode, bits, T)               \
    RNL_INLINE T name##_##mode(T x, T y)                                     \
    {                                                                        \
        return __ocml_##operation##_##hip_mode##_##bits(x, y);               \
    }
#define RNL_DIRECTED_ONE(name, operation, mode, hip_mode, bits, T)           \
    RNL_INLINE T name##_##mode(T x)                                          \
    {                                                                        \
        return __ocml_##operation##_##hip_mode##_##bits(x);                  \
    }
#define RNL_DIRECTED_FMA(name, mode, hip_mode, bits, T)                      \
    RNL_INLINE T name##_##mode(T x, T y, T z)                                \
    {                                                                        \
        return __ocml_fma_##hip_mode##_##bits(x, y, z);                      \
    }
#define RNL_DIRECTED_MODE(mode, hip_mode)                                    \
    RNL_DIRECTED(__fadd, add, mode, hip_mode, f32, float)                    \
    RNL_DIRECTED(__fsub, sub, mode, hip_mode, f32, float)                    \
    RNL_DIRECTED(__fmul, mul, mode, hip_mode, f32, float)                    \
    RNL_DIRECTED_ONE(__fsqrt, sqrt, mode, hip_mode, f32, float)              \
    RNL_DIRECTED_FMA(__fmaf, mode, hip_mode, f32, float)                     \
    RNL_DIRECTED(__dadd, add, mode, hip_mode, f64, double)                   \
    RNL_DIRECTED(__dsub, sub, mode, hip_mode, f64, double)                   \
    RNL_DIRECTED(__dmul, mul, mode, hip_mode, f64, double)                   \
    RNL_DIRECTED_ONE(__dsqrt, sqrt, mode, hip_mode, f64, double)             \
    RNL_DIRECTED_FMA(__fma, mode, hip_mode, f64, double)
RNL_DIRECTED_MODE(ru, rtp)
RNL_DIRECTED_MODE(rd, rtn)
RNL_DIRECTED_MODE(rz, rtz)
