// Arithmetic and conversions that name their rounding: _rn to nearest, ties to
// even, _rz to zero, _ru up, _rd down. The directed ones take the nearest
// result and the sign of its error, so they neither change the processor's mode
// nor branch much.

// --- To nearest ------------------------------------------------------------

// Keeps the compiler from fusing what CUDA promises to round by itself.
#if defined(__x86_64__)
#define RNL_ROUNDED(x)                               \
    {                                                \
        _Pragma("clang fp reassociate(on)")          \
        x = __arithmetic_fence(x);                   \
    }
#elif defined(__aarch64__)
#define RNL_ROUNDED(x) __asm__("" : "+w"(x));
#else
#define RNL_ROUNDED(x) __asm__("" : "+m"(x));
#endif
#define RNL_EXACT(name, type, operation)      \
    RNL_INLINE type name(type x, type y)      \
    {                                         \
        type result = x operation y;          \
        RNL_ROUNDED(result)                   \
        return result;                        \
    }
RNL_EXACT(__fadd_rn, float, +)
RNL_EXACT(__fsub_rn, float, -)
RNL_EXACT(__fmul_rn, float, *)
RNL_EXACT(__fdiv_rn, float, /)
RNL_EXACT(__dadd_rn, double, +)
RNL_EXACT(__dsub_rn, double, -)
RNL_EXACT(__dmul_rn, double, *)
RNL_EXACT(__ddiv_rn, double, /)
RNL_INLINE float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
RNL_INLINE double __fma_rn(double x, double y, double z)
{
    return fma(x, y, z);
}
RNL_INLINE float __frcp_rn(float x) { return __fdiv_rn(1.0f, x); }
RNL_INLINE double __drcp_rn(double x) { return __ddiv_rn(1.0, x); }
RNL_INLINE float __fsqrt_rn(float x) { return sqrtf(x); }
RNL_INLINE double __dsqrt_rn(double x) { return sqrt(x); }
RNL_INLINE float __frsqrt_rn(float x)
{
    return float(__ddiv_rn(1.0, sqrt(double(x))));
}

// --- One step further ------------------------------------------------------

RNL_INLINE float rnl_above(float x)
{
    if (x == 0.0f)
        return __int_as_float(1);
    return __int_as_float(__float_as_int(x) + (x > 0.0f ? 1 : -1));
}
RNL_INLINE double rnl_above(double x)
{
    if (x == 0.0)
        return __longlong_as_double(1);
    return __longlong_as_double(__double_as_longlong(x) +
                                (x > 0.0 ? 1 : -1));
}

// `near` is a result rounded to nearest; `error` has the sign of the exact
// result minus `near`.
template <class T> RNL_INLINE T rnl_round_ru(T near, double error)
{
    return error > 0.0 ? rnl_above(near) : near;
}
template <class T> RNL_INLINE T rnl_round_rd(T near, double error)
{
    return error < 0.0 ? -rnl_above(-near) : near;
}
template <class T> RNL_INLINE T rnl_round_rz(T near, double error)
{
    if (near > T(0))
        return rnl_round_rd(near, error);
    return near < T(0) ? rnl_round_ru(near, error) : near;
}

// An exact number as the sum of two, of which `high` is the nearest to it.
struct rnl_pair {
    double high, low;
};

RNL_INLINE double rnl_error(float near, rnl_pair exact)
{
    double high = exact.high - double(near);
    return exact.high == double(near) || exact.high != exact.high ? exact.low
                                                                  : high;
}
RNL_INLINE double rnl_error(double, rnl_pair exact) { return exact.low; }

// The exact sum. Where it overflows, `low` still has the sign.
RNL_INLINE rnl_pair rnl_sum(double x, double y)
{
    double high = __dadd_rn(x, y);
    double part = __dsub_rn(high, x);
    double low = __dadd_rn(__dsub_rn(x, __dsub_rn(high, part)),
                           __dsub_rn(y, part));
    if (!__builtin_isfinite(high))
        low = __builtin_isfinite(x) && __builtin_isfinite(y) ? -high : 0.0;
    return rnl_pair{high, low};
}

// --- Directed arithmetic ---------------------------------------------------

// When two terms cancel, IEEE gives -0 when rounding down.
RNL_INLINE rnl_pair rnl_zero_rd(rnl_pair sum, double x, double y)
{
    if (sum.high == 0.0 && sum.low == 0.0 && (signbit(x) || signbit(y)))
        sum.high = -0.0;
    return sum;
}
RNL_INLINE rnl_pair rnl_zero_ru(rnl_pair sum, double, double) { return sum; }
RNL_INLINE rnl_pair rnl_zero_rz(rnl_pair sum, double, double) { return sum; }

// The exact product's error. Factors below 1 are made larger first where the
// error would be too small for a double; its sign stays.
RNL_INLINE double rnl_product_error(double x, double y, double near)
{
    if (!__builtin_isfinite(near))
        return __builtin_isfinite(x) && __builtin_isfinite(y) ? -near : 0.0;
    if (fabs(near) < 0x1p-900) {
        double more_x = fabs(x) < 1.0 ? 0x1p600 : 1.0;
        double more_y = fabs(y) < 1.0 ? 0x1p600 : 1.0;
        return fma(x * more_x, y * more_y, -(near * more_x * more_y));
    }
    return fma(x, y, -near);
}

// The sign of x / y - near, as both are brought near 1 first.
RNL_INLINE double rnl_quotient_error(double x, double y, double near)
{
    if (!__builtin_isfinite(near) || x == 0.0)
        return __builtin_isfinite(x) && y != 0.0 ? -near : 0.0;
    int ex, ey;
    double fx = frexp(x, &ex), fy = frexp(y, &ey);
    if (y - y != 0.0)
        return 0.0;
    double rest = fma(-ldexp(near, ey - ex), fy, fx);
    return fy < 0.0 ? -rest : rest;
}

RNL_INLINE double rnl_quotient_error(float x, float y, float near)
{
    double rest = double(x) - double(near) * double(y);
    return y < 0.0f ? -rest : rest;
}

RNL_INLINE double rnl_root_error(double x, double near)
{
    if (!__builtin_isfinite(near) || x == 0.0)
        return 0.0;
    if (x < 0x1p-900)
        return fma(-near * 0x1p300, near * 0x1p300, x * 0x1p600);
    return fma(-near, near, x);
}

// Boldo and Muller's error of a fused multiply-add, up to its leading part.
// Operands that are too small or too large for the steps are scaled near 1
// first: a product far below z is only a sign.
RNL_INLINE double rnl_fma_error(double x, double y, double z, double near)
{
    if (!__builtin_isfinite(near))
        return __builtin_isfinite(x) && __builtin_isfinite(y) &&
               __builtin_isfinite(z) ? -near : 0.0;
    double product = __dmul_rn(x, y), more_x = 1.0, more_y = 1.0;
    if (x == 0.0 || y == 0.0)
        return 0.0;
    if (fabs(product) < 0x1p-900 && fabs(z) > 0x1p-800)
        return signbit(x) == signbit(y) ? 1.0 : -1.0;
    if (fabs(product) < 0x1p-900) {
        more_x = fabs(x) < 1.0 ? 0x1p600 : 1.0;
        more_y = fabs(y) < 1.0 ? 0x1p600 : 1.0;
    } else if (fabs(product) > 0x1p1000) {
        more_x = 0x1p-100;
    }
    x *= more_x, y *= more_y;
    z = z * more_x * more_y;
    near = near * more_x * more_y;
    product = __dmul_rn(x, y);
    rnl_pair small = rnl_sum(z, fma(x, y, -product));
    rnl_pair large = rnl_sum(product, small.high);
    double rest = __dadd_rn(__dsub_rn(large.high, near), large.low);
    return __dadd_rn(rest, small.low);
}

#define RNL_DIRECTED(mode)                                                   \
    RNL_INLINE float __double2float_##mode(double x)                         \
    {                                                                        \
        float near = float(x);                                               \
        return rnl_round_##mode(near, rnl_error(near, rnl_pair{x, 0.0}));    \
    }                                                                        \
    RNL_INLINE float rnl_float_##mode(rnl_pair exact)                        \
    {                                                                        \
        float near = float(exact.high);                                      \
        return rnl_round_##mode(near, rnl_error(near, exact));               \
    }                                                                        \
    RNL_INLINE float __fadd_##mode(float x, float y)                         \
    {                                                                        \
        return rnl_float_##mode(                                             \
            rnl_zero_##mode(rnl_sum(x, y), double(x), double(y)));           \
    }                                                                        \
    RNL_INLINE float __fsub_##mode(float x, float y)                         \
    {                                                                        \
        return __fadd_##mode(x, -y);                                         \
    }                                                                        \
    RNL_INLINE float __fmul_##mode(float x, float y)                         \
    {                                                                        \
        return __double2float_##mode(double(x) * double(y));                 \
    }                                                                        \
    RNL_INLINE float __fmaf_##mode(float x, float y, float z)                \
    {                                                                        \
        double product = double(x) * double(y);                              \
        return rnl_float_##mode(                                             \
            rnl_zero_##mode(rnl_sum(product, z), product, double(z)));       \
    }                                                                        \
    RNL_INLINE float __fdiv_##mode(float x, float y)                         \
    {                                                                        \
        float near = __fdiv_rn(x, y);                                        \
        return rnl_round_##mode(near, rnl_quotient_error(x, y, near));       \
    }                                                                        \
    RNL_INLINE float __fsqrt_##mode(float x)                                 \
    {                                                                        \
        float near = sqrtf(x);                                               \
        return rnl_round_##mode(near, rnl_root_error(x, near));              \
    }                                                                        \
    RNL_INLINE float __frcp_##mode(float x)                                  \
    {                                                                        \
        return __fdiv_##mode(1.0f, x);                                       \
    }                                                                        \
    RNL_INLINE double __dadd_##mode(double x, double y)                      \
    {                                                                        \
        rnl_pair exact = rnl_zero_##mode(rnl_sum(x, y), x, y);               \
        return rnl_round_##mode(exact.high, exact.low);                      \
    }                                                                        \
    RNL_INLINE double __dsub_##mode(double x, double y)                      \
    {                                                                        \
        return __dadd_##mode(x, -y);                                         \
    }                                                                        \
    RNL_INLINE double __dmul_##mode(double x, double y)                      \
    {                                                                        \
        double near = __dmul_rn(x, y);                                       \
        return rnl_round_##mode(near, rnl_product_error(x, y, near));        \
    }                                                                        \
    RNL_INLINE double __fma_##mode(double x, double y, double z)             \
    {                                                                        \
        double near = fma(x, y, z);                                          \
        rnl_pair exact = rnl_zero_##mode(                                    \
            rnl_pair{near, rnl_fma_error(x, y, z, near)}, x * y, z);         \
        return rnl_round_##mode(exact.high, exact.low);                      \
    }                                                                        \
    RNL_INLINE double __ddiv_##mode(double x, double y)                      \
    {                                                                        \
        double near = __ddiv_rn(x, y);                                       \
        return rnl_round_##mode(near, rnl_quotient_error(x, y, near));       \
    }                                                                        \
    RNL_INLINE double __dsqrt_##mode(double x)                               \
    {                                                                        \
        double near = sqrt(x);                                               \
        return rnl_round_##mode(near, rnl_root_error(x, near));              \
    }                                                                        \
    RNL_INLINE double __drcp_##mode(double x)                                \
    {                                                                        \
        return __ddiv_##mode(1.0, x);                                        \
    }
RNL_DIRECTED(rz)
RNL_DIRECTED(ru)
RNL_DIRECTED(rd)

// The same: denormals are kept unless a kernel is compiled otherwise.
#define RNL_IEEE(mode)                                                       \
    RNL_INLINE float __fmaf_ieee_##mode(float x, float y, float z)           \
    {                                                                        \
        return __fmaf_##mode(x, y, z);                                       \
    }
RNL_IEEE(rn)
RNL_IEEE(rz)
RNL_IEEE(ru)
RNL_IEEE(rd)

// --- Floating point to integers --------------------------------------------

#define RNL_CONVERT_ROUNDED(name, F, I, low, high, function) \
    RNL_INLINE I name(F x)                                   \
    {                                                        \
        return rnl_saturate<I>(function(x), low, high);      \
    }
#define RNL_CONVERT(from, F, to, I, low, high)                               \
    RNL_CONVERT_ROUNDED(__##from##2##to##_rn, F, I, low, high, rint)         \
    RNL_CONVERT_ROUNDED(__##from##2##to##_rz, F, I, low, high, )             \
    RNL_CONVERT_ROUNDED(__##from##2##to##_ru, F, I, low, high, ceil)         \
    RNL_CONVERT_ROUNDED(__##from##2##to##_rd, F, I, low, high, floor)
#define RNL_CONVERT_ALL(from, F)                                             \
    RNL_CONVERT(from, F, int, int, -__INT_MAX__ - 1, __INT_MAX__)            \
    RNL_CONVERT(from, F, uint, unsigned int, 0u, ~0u)                        \
    RNL_CONVERT(from, F, ll, long long, -__LONG_LONG_MAX__ - 1,              \
                __LONG_LONG_MAX__)                                           \
    RNL_CONVERT(from, F, ull, unsigned long long, 0ull, ~0ull)
RNL_CONVERT_ALL(float, float)
RNL_CONVERT_ALL(double, double)

// --- Integers to floating point --------------------------------------------

RNL_INLINE rnl_pair rnl_pair_of(long long x)
{
    return rnl_sum(double(int(x >> 32)) * 0x1p32,
                   double((unsigned int)x));
}
RNL_INLINE rnl_pair rnl_pair_of(unsigned long long x)
{
    return rnl_sum(double((unsigned int)(x >> 32)) * 0x1p32,
                   double((unsigned int)x));
}
RNL_INLINE rnl_pair rnl_pair_of(int x) { return rnl_pair{double(x), 0.0}; }
RNL_INLINE rnl_pair rnl_pair_of(unsigned int x)
{
    return rnl_pair{double(x), 0.0};
}

#define RNL_TO_FLOAT_DIRECTED(name, I, mode)                  \
    RNL_INLINE float __##name##2float_##mode(I x)             \
    {                                                         \
        return rnl_float_##mode(rnl_pair_of(x));              \
    }                                                         \
    RNL_INLINE double __##name##2double_##mode(I x)           \
    {                                                         \
        rnl_pair exact = rnl_pair_of(x);                      \
        return rnl_round_##mode(exact.high, exact.low);       \
    }
#define RNL_TO_FLOAT(name, I)                                      \
    RNL_INLINE float __##name##2float_rn(I x) { return float(x); } \
    RNL_INLINE double __##name##2double_rn(I x) { return double(x); } \
    RNL_TO_FLOAT_DIRECTED(name, I, rz)                             \
    RNL_TO_FLOAT_DIRECTED(name, I, ru)                             \
    RNL_TO_FLOAT_DIRECTED(name, I, rd)
RNL_TO_FLOAT(int, int)
RNL_TO_FLOAT(uint, unsigned int)
RNL_TO_FLOAT(ll, long long)
RNL_TO_FLOAT(ull, unsigned long long)
RNL_INLINE float __double2float_rn(double x) { return float(x); }
