// Math functions and intrinsics. The functions are libm's.

#ifndef INFINITY
#define INFINITY (__builtin_inff())
#endif
#ifndef NAN
#define NAN (__builtin_nanf(""))
#endif

// --- Functions of floating-point numbers -----------------------------------

// A function of libm that inspects bits does not flush denormal numbers. Vector
// functions do, if compilers know the function as one.
#if defined(RNL_FLUSH)
RNL_INLINE float rnl_flushed(float x)
{
    return __builtin_fabsf(x) < 1.17549435e-38f ? x * 0.0f : x;
}
#define RNL_BITS1(name)                            \
    RNL_INLINE float name(float x)                 \
    {                                              \
        return __builtin_##name(rnl_flushed(x));   \
    }
#define RNL_BITS2(name)                                            \
    RNL_INLINE float name(float x, float y)                        \
    {                                                              \
        return __builtin_##name(rnl_flushed(x), rnl_flushed(y));   \
    }
#else
#define rnl_flushed(x) (x)
#define RNL_BITS1(name) RNL_PLAIN1(name)
#define RNL_BITS2(name) RNL_PLAIN2(name)
#endif
#if defined(RNL_SIMT)
#define RNL_LIBM1(name) RNL_PLAIN1(name)
#define RNL_LIBM2(name) RNL_PLAIN2(name)
#else
#define RNL_LIBM1(name) RNL_BITS1(name)
#define RNL_LIBM2(name) RNL_BITS2(name)
#endif
#define RNL_PLAIN1(name) extern "C" float name(float) noexcept;
#define RNL_PLAIN2(name) extern "C" float name(float, float) noexcept;

// Declares libm's f and ff, and the overload f(float).
#define RNL_MATH1_BY(libm, name)             \
    extern "C" double name(double) noexcept; \
    libm(name##f)                            \
    RNL_INLINE float name(float x) { return name##f(x); }
#define RNL_MATH2_BY(libm, name)                       \
    extern "C" double name(double, double) noexcept;   \
    libm(name##f)                                      \
    RNL_INLINE float name(float x, float y) { return name##f(x, y); } \
    RNL_INLINE double name(float x, double y) { return name(double(x), y); } \
    RNL_INLINE double name(double x, float y) { return name(x, double(y)); }
#define RNL_MATH1(name) RNL_MATH1_BY(RNL_LIBM1, name)
#define RNL_MATH2(name) RNL_MATH2_BY(RNL_LIBM2, name)
// Where bits do not matter, or no compiler knows the function.
#define RNL_EXACT1(name) RNL_MATH1_BY(RNL_PLAIN1, name)
#define RNL_EXACT2(name) RNL_MATH2_BY(RNL_PLAIN2, name)

#if defined(RNL_SIMT)
// The same by the functions of floats.h and lanes.h, which one of the types may
// not need. Static functions are not libm's to clang.
#define RNL_LANES_FLOAT(name)                                      \
    RNL_INLINE float name##f(float x) { return rnl_##name##f(x); } \
    RNL_INLINE float name(float x) { return name##f(x); }
#define RNL_LANES_DOUBLE(name) \
    RNL_INLINE double name(double x) { return rnl_##name(x); }
#define RNL_LANES(name)   \
    RNL_LANES_FLOAT(name) \
    RNL_LANES_DOUBLE(name)
#define RNL_LANES_SINGLE(name)               \
    extern "C" double name(double) noexcept; \
    RNL_LANES_FLOAT(name)
#define RNL_LANES_WIDE(name)                              \
    extern "C" float name##f(float) noexcept;             \
    RNL_INLINE float name(float x) { return name##f(x); } \
    RNL_LANES_DOUBLE(name)
#endif

RNL_MATH1(acos)
RNL_MATH1(acosh)
RNL_MATH1(asin)
RNL_MATH1(asinh)
RNL_MATH1(atan)
RNL_MATH1(atanh)
RNL_EXACT1(ceil)
RNL_MATH1(cosh)
RNL_MATH1(erfc)
RNL_MATH1(expm1)
RNL_EXACT1(fabs)
RNL_EXACT1(floor)
RNL_EXACT1(j0)
RNL_EXACT1(j1)
RNL_MATH1_BY(RNL_BITS1, lgamma)
RNL_MATH1(log1p)
RNL_MATH1(log2)
RNL_MATH1_BY(RNL_BITS1, logb)
RNL_EXACT1(nearbyint)
RNL_EXACT1(rint)
RNL_EXACT1(round)
RNL_MATH1(sinh)
RNL_EXACT1(sqrt)
RNL_MATH1(tan)
RNL_MATH1(tgamma)
RNL_EXACT1(trunc)
RNL_EXACT1(y0)
RNL_EXACT1(y1)
#if defined(RNL_SIMT)
RNL_LANES(exp)
RNL_LANES(log)
RNL_LANES_WIDE(cos)
RNL_LANES_WIDE(sin)
RNL_LANES_SINGLE(erf)
RNL_LANES_SINGLE(exp2)
#else
RNL_MATH1(cos)
RNL_MATH1(erf)
RNL_MATH1(exp)
RNL_MATH1(exp2)
RNL_MATH1(log)
RNL_MATH1(sin)
#endif

// Doubles: libm's functions are up to 2.6 units in the last place off and
// CUDA's 1, so libm's functions with more digits compute them. Tier B does not
// know the wider type, and therefore does not inline these functions.
#define RNL_MATH_LONG(name)                                         \
    extern "C" long double name##l(long double) noexcept;           \
    static double rnl_long_##name(double) RNL_NAMED(rnl_long_##name); \
    static __attribute__((noinline, unused)) double                 \
    rnl_long_##name(double x)                                       \
    {                                                               \
        return double(name##l(x));                                  \
    }                                                               \
    RNL_INLINE double name(double x) { return rnl_long_##name(x); }
RNL_MATH_LONG(exp10)
RNL_MATH_LONG(log10)
RNL_MATH_LONG(tanh)
#if defined(RNL_SIMT)
RNL_LANES_FLOAT(exp10)
RNL_LANES_FLOAT(log10)
RNL_LANES_FLOAT(tanh)
#else
extern "C" float exp10f(float) noexcept;
RNL_LIBM1(log10f)
extern "C" double rnl_libm_tanh(double) noexcept __asm__("tanh");
RNL_INLINE float exp10(float x) { return exp10f(x); }
RNL_INLINE float log10(float x) { return log10f(x); }
RNL_INLINE float tanhf(float x) { return float(rnl_libm_tanh(x)); }
RNL_INLINE float tanh(float x) { return tanhf(x); }
#endif

// One Newton step from libm's result, with exact products. For the least
// numbers they would not be exact, so such numbers are scaled up.
extern "C" double rnl_libm_cbrt(double) noexcept __asm__("cbrt");
RNL_LIBM1(cbrtf)
RNL_INLINE float cbrt(float x) { return cbrtf(x); }
RNL_INLINE double cbrt(double x)
{
    bool tiny = __builtin_fabs(x) < 1e-290;
    double scaled = tiny ? x * 0x1p174 : x;
    double y = rnl_libm_cbrt(scaled), square = y * y;
    double rest = __builtin_fma(square, y, -scaled) +
                  __builtin_fma(y, y, -square) * y;
    double step = rest / (3.0 * square);
    y -= step - step == 0.0 ? step : 0.0;
    return tiny ? y * 0x1p-58 : y;
}

RNL_MATH2(atan2)
RNL_EXACT2(copysign)
RNL_MATH2(fdim)
RNL_EXACT2(fmax)
RNL_EXACT2(fmin)
RNL_MATH2(fmod)
RNL_MATH2(hypot)
RNL_EXACT2(nextafter)
RNL_MATH2(pow)
RNL_MATH2(remainder)

// Declares libm's `result f(type, second)`, its float form and the overload.
#define RNL_MATH_MIXED(result, name, second)                 \
    extern "C" result name(double, second) noexcept;         \
    extern "C" RNL_FLOAT_##result name##f(float, second) noexcept; \
    RNL_INLINE RNL_FLOAT_##result name(float x, second y)    \
    {                                                     \
        return name##f(x, y);                                \
    }
#define RNL_FLOAT_double float
RNL_MATH_MIXED(double, ldexp, int)
RNL_MATH_MIXED(double, scalbn, int)
RNL_MATH_MIXED(double, scalbln, long)

extern "C" double frexp(double, int *) noexcept;
// By its bits: lanes cannot hold the pair that compilers make of it.
RNL_INLINE float frexpf(float x, int *exponent)
{
    bool tiny = __builtin_fabsf(x) < 1.17549435e-38f;
    float scaled = tiny ? rnl_flushed(x) * 0x1p24f : x;
    unsigned int bits = (unsigned int)rnl_bits(scaled);
    int power = int(bits >> 23 & 255);
    bool plain = power != 0 && power != 255;
    *exponent = plain ? power - (tiny ? 150 : 126) : 0;
    return plain ? rnl_of_bits<float>((bits & 0x807fffff) | 0x3f000000)
                 : scaled;
}
RNL_INLINE float frexp(float x, int *exponent) { return frexpf(x, exponent); }
extern "C" int ilogb(double) noexcept;
RNL_INLINE int ilogbf(float x) { return __builtin_ilogbf(rnl_flushed(x)); }
RNL_INLINE int ilogb(float x) { return ilogbf(x); }

// A whole number as an integer: saturated. NaN gives 0, or the lowest (of
// unsigned types the middle) where a side has 64 bits, as in PTX.
template <class I, class F> RNL_INLINE I rnl_saturate(F x, I low, I high)
{
#if defined(RNL_SIMT)
    return I(x);  // all its conversions do that
#endif
    if (!(x == x))
        return sizeof(F) == 8 || sizeof(I) == 8
                   ? I(1ull << (sizeof(I) * 8 - 1)) : I(0);
    if (x <= F(low))
        return low;
    return x >= F(high) ? high : I(x);
}

#define RNL_MATH_ROUND(result, name, round)                                  \
    RNL_INLINE result name(double x)                                         \
    {                                                                        \
        return rnl_saturate<result>(round(x), -__LONG_MAX__ - 1,             \
                                    __LONG_MAX__);                           \
    }                                                                        \
    RNL_INLINE result name##f(float x)                                       \
    {                                                                        \
        return rnl_saturate<result>(round##f(x), -__LONG_MAX__ - 1,          \
                                    __LONG_MAX__);                           \
    }                                                                        \
    RNL_INLINE result name(float x) { return name##f(x); }
RNL_MATH_ROUND(long, lrint, rint)
RNL_MATH_ROUND(long, lround, round)
RNL_MATH_ROUND(long long, llrint, rint)
RNL_MATH_ROUND(long long, llround, round)

extern "C" double fma(double, double, double) noexcept;
extern "C" float fmaf(float, float, float) noexcept;
extern "C" double modf(double, double *) noexcept;
extern "C" float modff(float, float *) noexcept;
extern "C" double remquo(double, double, int *) noexcept;
extern "C" float remquof(float, float, int *) noexcept;
extern "C" double jn(int, double) noexcept;
extern "C" float jnf(int, float) noexcept;
extern "C" double yn(int, double) noexcept;
extern "C" float ynf(int, float) noexcept;
extern "C" double nan(const char *) noexcept;
extern "C" float nanf(const char *) noexcept;
// In this order: both may go to one place, where libm's order depends on x.
RNL_INLINE void sincos(double x, double *s, double *c)
{
    *s = sin(x);
    *c = cos(x);
}
RNL_INLINE void sincosf(float x, float *s, float *c)
{
    *s = sinf(x);
    *c = cosf(x);
}
extern "C" int abs(int) noexcept;
extern "C" long labs(long) noexcept;
extern "C" long long llabs(long long) noexcept;

RNL_INLINE float fma(float x, float y, float z) { return fmaf(x, y, z); }
RNL_INLINE float modf(float x, float *whole) { return modff(x, whole); }
RNL_INLINE void sincos(float x, float *s, float *c) { sincosf(x, s, c); }
RNL_INLINE long abs(long x) { return labs(x); }
RNL_INLINE long long abs(long long x) { return llabs(x); }
RNL_INLINE float abs(float x) { return fabsf(x); }
RNL_INLINE double abs(double x) { return fabs(x); }
RNL_INLINE double pow(double x, int n) { return pow(x, double(n)); }
RNL_INLINE float pow(float x, int n) { return powf(x, float(n)); }

RNL_INLINE double rsqrt(double x) { return 1.0 / sqrt(x); }
// The compiler's own use of estimates makes no number of zero.
RNL_INLINE float rnl_rsqrt(float x)
{
    _Pragma("clang fp reciprocal(off)")
    return 1.0f / sqrtf(x);
}
#if defined(RNL_SIMT) && defined(__AVX512F__)
// For varying lanes an improved estimate (widen/call.c). The estimates of other
// processors are too rough.
static float rnl_rsqrt_near(float) RNL_NAMED(rnl_rsqrt_near);
static __attribute__((unused, const)) float rnl_rsqrt_near(float x)
{
    return rnl_rsqrt(x);
}
RNL_INLINE float rsqrtf(float x) { return rnl_rsqrt_near(x); }
#else
RNL_INLINE float rsqrtf(float x) { return rnl_rsqrt(x); }
#endif
RNL_INLINE float rsqrt(float x) { return rsqrtf(x); }

// x as whole halves and what is left, at most a quarter: exact, so zeros keep
// their place and small results their digits.
RNL_INLINE double rnl_half_turn(double x, int *quarter)
{
    double rest = x - 2.0 * rint(0.5 * x), halves = rint(2.0 * rest);
    *quarter = __builtin_isfinite(x) ? int(halves) & 3 : 0;
    return 3.14159265358979323846 * (rest - 0.5 * halves);
}
RNL_INLINE double sinpi(double x)
{
    int quarter;
    double angle = rnl_half_turn(x, &quarter);
    double size = quarter & 1 ? cos(angle) : sin(angle);
    if (size == 0.0)
        return copysign(size, x);
    return quarter & 2 ? -size : size;
}
RNL_INLINE double cospi(double x)
{
    int quarter;
    double angle = rnl_half_turn(x, &quarter);
    double size = quarter & 1 ? -sin(angle) : cos(angle);
    return size == 0.0 ? 0.0 : quarter & 2 ? -size : size;
}
#if defined(RNL_SIMT)
RNL_INLINE float sinpif(float x) { return rnl_angle_of_pi(x).sine; }
RNL_INLINE float cospif(float x) { return rnl_angle_of_pi(x).cosine; }
#else
RNL_INLINE float sinpif(float x) { return float(sinpi(double(x))); }
RNL_INLINE float cospif(float x) { return float(cospi(double(x))); }
#endif
RNL_INLINE float sinpi(float x) { return sinpif(x); }
RNL_INLINE float cospi(float x) { return cospif(x); }
RNL_INLINE void sincospi(double x, double *s, double *c)
{
    *s = sinpi(x);
    *c = cospi(x);
}
RNL_INLINE void sincospif(float x, float *s, float *c)
{
    *s = sinpif(x);
    *c = cospif(x);
}
RNL_INLINE void sincospi(float x, float *s, float *c) { sincospif(x, s, c); }
// erfc is steep where its argument is large, so that needs all its digits.
RNL_INLINE double normcdf(double x)
{
    double high = x * -0.70710678118654752440;
    double low = fma(x, -0.70710678118654752440, -high) +
                 x * 4.83364665672645670e-17;
    double slope = 0.56418958354775628695 * exp(-high * high);
    return 0.5 * erfc(high) - (x - x == 0.0 ? low * slope : 0.0);
}
RNL_INLINE float normcdff(float x)
{
    return float(0.5 * erfc(double(x) * -0.70710678118654752440));
}
RNL_INLINE float normcdf(float x) { return normcdff(x); }
// With one step of Newton's, whose products are exact.
RNL_INLINE double rcbrt(double x)
{
    double y = 1.0 / cbrt(x), square = y * y, product = x * y;
    double rest = fma(-square, product, 1.0) -
                  (fma(y, y, -square) * product +
                   square * fma(x, y, -product));
    return rest - rest == 0.0 ? fma(y, rest * 0.33333333333333333, y) : y;
}
RNL_INLINE float rcbrtf(float x) { return float(1.0 / cbrt(double(x))); }
RNL_INLINE float rcbrt(float x) { return rcbrtf(x); }
RNL_INLINE double rhypot(double x, double y) { return 1.0 / hypot(x, y); }
RNL_INLINE float rhypotf(float x, float y) { return 1.0f / hypotf(x, y); }
RNL_INLINE double norm3d(double x, double y, double z)
{
    return hypot(hypot(x, y), z);
}
RNL_INLINE float norm3df(float x, float y, float z)
{
    return hypotf(hypotf(x, y), z);
}
RNL_INLINE double rnorm3d(double x, double y, double z)
{
    return 1.0 / norm3d(x, y, z);
}
RNL_INLINE float rnorm3df(float x, float y, float z)
{
    return 1.0f / norm3df(x, y, z);
}

#define RNL_CLASSIFY(name, builtin)                             \
    RNL_INLINE bool name(float x) { return builtin(x) != 0; }   \
    RNL_INLINE bool name(double x) { return builtin(x) != 0; }
RNL_CLASSIFY(isnan, __builtin_isnan)
RNL_CLASSIFY(isinf, __builtin_isinf)
RNL_CLASSIFY(isfinite, __builtin_isfinite)
RNL_CLASSIFY(signbit, __builtin_signbit)

#define RNL_CLASSIFY_NAMED(name, builtin)                             \
    RNL_INLINE int name(double x) { return builtin(x) != 0; }         \
    RNL_INLINE int name##f(float x) { return builtin(x) != 0; }
RNL_CLASSIFY_NAMED(__isnan, __builtin_isnan)
RNL_CLASSIFY_NAMED(__isinf, __builtin_isinf)
RNL_CLASSIFY_NAMED(__finite, __builtin_isfinite)
RNL_CLASSIFY_NAMED(__signbit, __builtin_signbit)

// --- Fast and exactly rounded forms ----------------------------------------

RNL_INLINE float __expf(float x) { return expf(x); }
RNL_INLINE float __exp10f(float x) { return exp10f(x); }
RNL_INLINE float __logf(float x) { return logf(x); }
RNL_INLINE float __log2f(float x) { return log2f(x); }
RNL_INLINE float __log10f(float x) { return log10f(x); }
RNL_INLINE float __tanhf(float x) { return tanhf(x); }
#if defined(RNL_SIMT)
RNL_INLINE float __sinf(float x) { return rnl_fast_sinf(x); }
RNL_INLINE float __cosf(float x) { return rnl_fast_cosf(x); }
RNL_INLINE float __tanf(float x) { return __sinf(x) / __cosf(x); }
#else
RNL_INLINE float __sinf(float x) { return sinf(x); }
RNL_INLINE float __cosf(float x) { return cosf(x); }
RNL_INLINE float __tanf(float x) { return tanf(x); }
#endif
RNL_INLINE void __sincosf(float x, float *s, float *c)
{
    *s = __sinf(x);
    *c = __cosf(x);
}
RNL_INLINE float __powf(float x, float y) { return powf(x, y); }
RNL_INLINE float __fdividef(float x, float y) { return x / y; }
RNL_INLINE float fdividef(float x, float y) { return x / y; }
RNL_INLINE double fdivide(double x, double y) { return x / y; }
RNL_INLINE float __saturatef(float x)
{
    return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f;
}

// --- Bits ------------------------------------------------------------------

#define RNL_REINTERPRET(name, to, from)         \
    RNL_INLINE to name(from x)                  \
    {                                           \
        to result;                              \
        __builtin_memcpy(&result, &x, sizeof x); \
        return result;                          \
    }
RNL_REINTERPRET(__float_as_int, int, float)
RNL_REINTERPRET(__float_as_uint, unsigned int, float)
RNL_REINTERPRET(__int_as_float, float, int)
RNL_REINTERPRET(__uint_as_float, float, unsigned int)
RNL_REINTERPRET(__double_as_longlong, long long, double)
RNL_REINTERPRET(__longlong_as_double, double, long long)
RNL_INLINE int __double2hiint(double x)
{
    return int(__double_as_longlong(x) >> 32);
}
RNL_INLINE int __double2loint(double x)
{
    return int(__double_as_longlong(x));
}
RNL_INLINE double __hiloint2double(int high, int low)
{
    return __longlong_as_double((long long)((unsigned long long)high << 32 |
                                            (unsigned int)low));
}

// --- Integers --------------------------------------------------------------

RNL_INLINE int __popc(unsigned int x) { return __builtin_popcount(x); }
RNL_INLINE int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}
RNL_INLINE int __clz(int x)
{
    return x ? __builtin_clz((unsigned int)x) : 32;
}
RNL_INLINE int __clzll(long long x)
{
    return x ? __builtin_clzll((unsigned long long)x) : 64;
}
RNL_INLINE int __ffs(int x) { return __builtin_ffs(x); }
RNL_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
RNL_INLINE unsigned int __brev(unsigned int x)
{
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
RNL_INLINE unsigned long long __brevll(unsigned long long x)
{
    return (unsigned long long)__brev((unsigned int)x) << 32 |
           __brev((unsigned int)(x >> 32));
}
RNL_INLINE int __mulhi(int x, int y)
{
    return int((long long)x * y >> 32);
}
RNL_INLINE unsigned int __umulhi(unsigned int x, unsigned int y)
{
    return (unsigned int)((unsigned long long)x * y >> 32);
}
RNL_INLINE long long __mul64hi(long long x, long long y)
{
    return (long long)((__int128)x * y >> 64);
}
RNL_INLINE unsigned long long __umul64hi(unsigned long long x,
                                         unsigned long long y)
{
    return (unsigned long long)((unsigned __int128)x * y >> 64);
}
RNL_INLINE int __mul24(int x, int y)
{
    return int((unsigned int)(int(unsigned(x) << 8) >> 8) *
               (unsigned int)(int(unsigned(y) << 8) >> 8));
}
RNL_INLINE unsigned int __umul24(unsigned int x, unsigned int y)
{
    return (x & 0xffffffu) * (y & 0xffffffu);
}
RNL_INLINE int __hadd(int x, int y)
{
    return int(((long long)x + y) >> 1);
}
RNL_INLINE int __rhadd(int x, int y)
{
    return int(((long long)x + y + 1) >> 1);
}
RNL_INLINE unsigned int __uhadd(unsigned int x, unsigned int y)
{
    return (unsigned int)(((unsigned long long)x + y) >> 1);
}
RNL_INLINE unsigned int __urhadd(unsigned int x, unsigned int y)
{
    return (unsigned int)(((unsigned long long)x + y + 1) >> 1);
}
RNL_INLINE unsigned int __sad(int x, int y, unsigned int z)
{
    long long d = (long long)x - y;
    return z + (unsigned int)(d < 0 ? -d : d);
}
RNL_INLINE unsigned int __usad(unsigned int x, unsigned int y, unsigned int z)
{
    return z + (x > y ? x - y : y - x);
}

// The position of the offset-th bit of `mask` from bit `base` on, up, or down
// for a negative offset; 0: `base` itself. ~0: nowhere.
RNL_INLINE unsigned int __fns(unsigned int mask, unsigned int base, int offset)
{
    unsigned int left = offset < 0 ? 0u - offset : offset;
    for (unsigned int at = base; at < 32u; at += offset < 0 ? ~0u : 1u) {
        if (mask >> at & 1u && left-- <= 1u)
            return at;
        if (offset == 0)
            break;
    }
    return ~0u;
}

// Byte i of the result is byte (selector's nibble i) of y:x.
RNL_INLINE unsigned int __byte_perm(unsigned int x, unsigned int y,
                                    unsigned int selector)
{
    unsigned long long both = (unsigned long long)y << 32 | x;
    unsigned int result = 0;
    for (int i = 0; i < 4; i++) {
        unsigned int from = selector >> (4 * i) & 7u;  // PTX's has a bit more
        result |= ((unsigned int)(both >> (8 * from)) & 255u) << (8 * i);
    }
    return result;
}
RNL_INLINE unsigned int __funnelshift_l(unsigned int low, unsigned int high,
                                        unsigned int shift)
{
    unsigned long long both = (unsigned long long)high << 32 | low;
    return (unsigned int)(both << (shift & 31u) >> 32);
}
RNL_INLINE unsigned int __funnelshift_r(unsigned int low, unsigned int high,
                                        unsigned int shift)
{
    unsigned long long both = (unsigned long long)high << 32 | low;
    return (unsigned int)(both >> (shift & 31u));
}
RNL_INLINE unsigned int __funnelshift_lc(unsigned int low, unsigned int high,
                                         unsigned int shift)
{
    return shift >= 32u ? low : __funnelshift_l(low, high, shift);
}
RNL_INLINE unsigned int __funnelshift_rc(unsigned int low, unsigned int high,
                                         unsigned int shift)
{
    return shift >= 32u ? high : __funnelshift_r(low, high, shift);
}

// --- Minimum and maximum ---------------------------------------------------

// CUDA's overloads: mixed operands take the usual common type.
#define RNL_MIN_MAX(result, a, b)                                        \
    RNL_INLINE result min(a x, b y)                                      \
    {                                                                    \
        return result(x) < result(y) ? result(x) : result(y);            \
    }                                                                    \
    RNL_INLINE result max(a x, b y)                                      \
    {                                                                    \
        return result(x) > result(y) ? result(x) : result(y);            \
    }
RNL_MIN_MAX(int, int, int)
RNL_MIN_MAX(rnl_uint, rnl_uint, rnl_uint)
RNL_MIN_MAX(rnl_uint, int, rnl_uint)
RNL_MIN_MAX(rnl_uint, rnl_uint, int)
RNL_MIN_MAX(long, long, long)
RNL_MIN_MAX(rnl_ulong, rnl_ulong, rnl_ulong)
RNL_MIN_MAX(rnl_ulong, long, rnl_ulong)
RNL_MIN_MAX(rnl_ulong, rnl_ulong, long)
RNL_MIN_MAX(rnl_llong, rnl_llong, rnl_llong)
RNL_MIN_MAX(rnl_ullong, rnl_ullong, rnl_ullong)
RNL_MIN_MAX(rnl_ullong, rnl_llong, rnl_ullong)
RNL_MIN_MAX(rnl_ullong, rnl_ullong, rnl_llong)
#define RNL_MIN_MAX_NAMED(least, most, type)                     \
    RNL_INLINE type least(type x, type y) { return min(x, y); }  \
    RNL_INLINE type most(type x, type y) { return max(x, y); }
RNL_MIN_MAX_NAMED(umin, umax, rnl_uint)
RNL_MIN_MAX_NAMED(llmin, llmax, rnl_llong)
RNL_MIN_MAX_NAMED(ullmin, ullmax, rnl_ullong)
RNL_INLINE float min(float x, float y) { return fminf(x, y); }
RNL_INLINE float max(float x, float y) { return fmaxf(x, y); }
RNL_INLINE double min(double x, double y) { return fmin(x, y); }
RNL_INLINE double max(double x, double y) { return fmax(x, y); }
RNL_INLINE double min(float x, double y) { return fmin(double(x), y); }
RNL_INLINE double max(float x, double y) { return fmax(double(x), y); }
RNL_INLINE double min(double x, float y) { return fmin(x, double(y)); }
RNL_INLINE double max(double x, float y) { return fmax(x, double(y)); }
