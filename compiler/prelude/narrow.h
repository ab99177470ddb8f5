// The common part of __half and __nv_bfloat16, as macros over the 16-bit type T
// and the type T2 of two. Both are computed as floats and rounded once.

// Rounds to odd: no later rounding to fewer bits goes wrong by the earlier one.
RNL_INLINE float rnl_odd(rnl_pair exact)
{
    float near = float(exact.high);
    double error = rnl_error(near, exact);
    int bits = __float_as_int(near);
    if (error == 0.0 || error != error || (bits & 1))
        return near;
    if (near == 0.0f)
        return __int_as_float(error > 0.0 ? 1 : int(0x80000001u));
    return __int_as_float(bits + ((error > 0.0) == (near > 0.0f) ? 1 : -1));
}

// --- The types -------------------------------------------------------------

#define RNL_NARROW_FROM(T, I)                      \
    T(I value) : T(rnl_odd(rnl_pair_of(value))) {} \
    T &operator=(I value) { return *this = T(value); }
#define RNL_NARROW_TYPE(T, T2, to_float, from_float)                         \
    struct T##_raw {                                                         \
        unsigned short x;                                                    \
    };                                                                       \
    struct __attribute__((aligned(4))) T2##_raw {                            \
        unsigned short x, y;                                                 \
    };                                                                       \
    struct T {                                                               \
        unsigned short __x;                                                  \
        T() = default;                                                       \
        constexpr T(T##_raw raw) : __x(raw.x) {}                             \
        T(float value) : __x(from_float(value)) {}                           \
        T(double value) : T(rnl_odd(rnl_pair{value, 0.0})) {}                \
        RNL_NARROW_FROM(T, short)                                            \
        RNL_NARROW_FROM(T, unsigned short)                                   \
        RNL_NARROW_FROM(T, int)                                              \
        RNL_NARROW_FROM(T, unsigned int)                                     \
        RNL_NARROW_FROM(T, long)                                             \
        RNL_NARROW_FROM(T, unsigned long)                                    \
        RNL_NARROW_FROM(T, long long)                                        \
        RNL_NARROW_FROM(T, unsigned long long)                               \
        operator float() const { return to_float(__x); }                     \
        operator T##_raw() const { return T##_raw{__x}; }                    \
        T &operator=(float value) { return *this = T(value); }               \
        T &operator=(double value) { return *this = T(value); }              \
    };                                                                       \
    struct __attribute__((aligned(4))) T2 {                                  \
        T x, y;                                                              \
        T2() = default;                                                      \
        T2(const T &low, const T &high) : x(low), y(high) {}                 \
        T2(T2##_raw raw) : x(T##_raw{raw.x}), y(T##_raw{raw.y}) {}           \
        operator T2##_raw() const { return T2##_raw{x.__x, y.__x}; }         \
    };
RNL_INLINE rnl_pair rnl_pair_of(short x) { return rnl_pair_of(int(x)); }
RNL_INLINE rnl_pair rnl_pair_of(unsigned short x)
{
    return rnl_pair_of(int(x));
}
RNL_INLINE rnl_pair rnl_pair_of(long x)
{
    return rnl_pair_of(static_cast<long long>(x));
}
RNL_INLINE rnl_pair rnl_pair_of(unsigned long x)
{
    return rnl_pair_of(static_cast<unsigned long long>(x));
}

// --- Arithmetic and comparison ---------------------------------------------

#define RNL_NARROW_OPERATOR(T, T2, symbol, name)                             \
    RNL_INLINE T operator symbol(const T &x, const T &y)                     \
    {                                                                        \
        return T(float(x) symbol float(y));                                  \
    }                                                                        \
    RNL_INLINE T &operator symbol##=(T &x, const T &y)                       \
    {                                                                        \
        return x = x symbol y;                                               \
    }                                                                        \
    RNL_INLINE T2 operator symbol(const T2 &x, const T2 &y)                  \
    {                                                                        \
        return T2(x.x symbol y.x, x.y symbol y.y);                           \
    }                                                                        \
    RNL_INLINE T2 &operator symbol##=(T2 &x, const T2 &y)                    \
    {                                                                        \
        return x = x symbol y;                                               \
    }                                                                        \
    RNL_NARROW_2(T, T2, __h##name, x symbol y)                               \
    RNL_NARROW_2(T, T2, __h##name##_rn, x symbol y)                          \
    RNL_NARROW_2(T, T2, __h##name##_sat,                                     \
                 T(__saturatef(float(x symbol y))))

// A function of one, two or three numbers with its form for two lanes.
#define RNL_NARROW_1(T, T2, one, two, formula)                               \
    RNL_INLINE T one(T x) { return formula; }                                \
    RNL_INLINE T2 two(T2 x) { return T2(one(x.x), one(x.y)); }
#define RNL_NARROW_2_AS(T, T2, one, two, formula)                         \
    RNL_INLINE T one(T x, T y) { return formula; }                           \
    RNL_INLINE T2 two(T2 x, T2 y)                                            \
    {                                                                        \
        return T2(one(x.x, y.x), one(x.y, y.y));                             \
    }
#define RNL_NARROW_2(T, T2, name, formula) \
    RNL_INLINE T name(T x, T y) { return formula; }
#define RNL_NARROW_2_LANES(T, T2, one, two)                                  \
    RNL_INLINE T2 two(T2 x, T2 y)                                            \
    {                                                                        \
        return T2(one(x.x, y.x), one(x.y, y.y));                             \
    }
#define RNL_NARROW_3(T, T2, one, two, formula)                               \
    RNL_INLINE T one(T x, T y, T z) { return formula; }                      \
    RNL_INLINE T2 two(T2 x, T2 y, T2 z)                                      \
    {                                                                        \
        return T2(one(x.x, y.x, z.x), one(x.y, y.y, z.y));                   \
    }

// Comparisons. The forms with u hold, too, when a number is NaN.
#define RNL_NARROW_COMPARE(T, T2, name, symbol)                              \
    RNL_INLINE bool operator symbol(const T &x, const T &y)                  \
    {                                                                        \
        return float(x) symbol float(y);                                     \
    }                                                                        \
    RNL_INLINE bool operator symbol(const T2 &x, const T2 &y)                \
    {                                                                        \
        return x.x symbol y.x && x.y symbol y.y;                             \
    }                                                                        \
    RNL_NARROW_COMPARE_FORM(T, T2, name, false,                              \
                            float(x) symbol float(y) &&                      \
                                !__builtin_isunordered(float(x), float(y)))  \
    RNL_NARROW_COMPARE_FORM(T, T2, name##u, true,                            \
                            float(x) symbol float(y) ||                      \
                                __builtin_isunordered(float(x), float(y)))
#define RNL_NARROW_COMPARE_FORM(T, T2, name, unordered, formula)             \
    RNL_INLINE bool __h##name(T x, T y) { return formula; }                  \
    RNL_INLINE T2 __h##name##2(T2 x, T2 y)                                   \
    {                                                                        \
        return T2(T(float(__h##name(x.x, y.x))),                             \
                  T(float(__h##name(x.y, y.y))));                            \
    }                                                                        \
    RNL_INLINE bool __hb##name##2(T2 x, T2 y)                                \
    {                                                                        \
        return __h##name(x.x, y.x) && __h##name(x.y, y.y);                   \
    }                                                                        \
    RNL_INLINE unsigned int __h##name##2_mask(T2 x, T2 y)                    \
    {                                                                        \
        return (__h##name(x.x, y.x) ? 0xffffu : 0u) |                        \
               (__h##name(x.y, y.y) ? 0xffff0000u : 0u);                     \
    }

#define RNL_NARROW_ARITHMETIC(T, T2)                                         \
    RNL_NARROW_OPERATOR(T, T2, +, add)                                       \
    RNL_NARROW_OPERATOR(T, T2, -, sub)                                       \
    RNL_NARROW_OPERATOR(T, T2, *, mul)                                       \
    RNL_NARROW_OPERATOR(T, T2, /, div)                                       \
    RNL_NARROW_2_LANES(T, T2, __hadd, __hadd2)                               \
    RNL_NARROW_2_LANES(T, T2, __hsub, __hsub2)                               \
    RNL_NARROW_2_LANES(T, T2, __hmul, __hmul2)                               \
    RNL_NARROW_2_LANES(T, T2, __hdiv, __h2div)                               \
    RNL_NARROW_2_LANES(T, T2, __hadd, __hadd2_rn)                            \
    RNL_NARROW_2_LANES(T, T2, __hsub, __hsub2_rn)                            \
    RNL_NARROW_2_LANES(T, T2, __hmul, __hmul2_rn)                            \
    RNL_NARROW_2_LANES(T, T2, __hadd_sat, __hadd2_sat)                       \
    RNL_NARROW_2_LANES(T, T2, __hsub_sat, __hsub2_sat)                       \
    RNL_NARROW_2_LANES(T, T2, __hmul_sat, __hmul2_sat)                       \
    RNL_NARROW_3(T, T2, __hfma, __hfma2,                                     \
                 T(rnl_odd(rnl_sum(double(float(x)) * double(float(y)),      \
                                   float(z)))))                              \
    RNL_NARROW_3(T, T2, __hfma_sat, __hfma2_sat,                             \
                 T(__saturatef(float(__hfma(x, y, z)))))                     \
    RNL_NARROW_3(T, T2, __hfma_relu, __hfma2_relu,                           \
                 rnl_relu(__hfma(x, y, z)))                                  \
    RNL_NARROW_1(T, T2, __hneg, __hneg2,                                     \
                 T(T##_raw{static_cast<unsigned short>(x.__x ^ 0x8000u)}))   \
    RNL_NARROW_1(T, T2, __habs, __habs2,                                     \
                 T(T##_raw{static_cast<unsigned short>(x.__x & 0x7fffu)}))   \
    RNL_INLINE T operator-(const T &x) { return __hneg(x); }                 \
    RNL_INLINE T operator+(const T &x) { return x; }                         \
    RNL_INLINE T2 operator-(const T2 &x) { return __hneg2(x); }              \
    RNL_INLINE T2 operator+(const T2 &x) { return x; }                       \
    RNL_INLINE T &operator++(T &x) { return x += T(1.0f); }                  \
    RNL_INLINE T &operator--(T &x) { return x -= T(1.0f); }                  \
    RNL_INLINE T operator++(T &x, int)                                       \
    {                                                                        \
        T old = x;                                                           \
        ++x;                                                                 \
        return old;                                                          \
    }                                                                        \
    RNL_INLINE T operator--(T &x, int)                                       \
    {                                                                        \
        T old = x;                                                           \
        --x;                                                                 \
        return old;                                                          \
    }                                                                        \
    RNL_NARROW_COMPARE(T, T2, eq, ==)                                        \
    RNL_NARROW_COMPARE(T, T2, ne, !=)                                        \
    RNL_NARROW_COMPARE(T, T2, lt, <)                                         \
    RNL_NARROW_COMPARE(T, T2, le, <=)                                        \
    RNL_NARROW_COMPARE(T, T2, gt, >)                                         \
    RNL_NARROW_COMPARE(T, T2, ge, >=)                                        \
    RNL_INLINE bool __hisnan(T x) { return float(x) != float(x); }           \
    RNL_INLINE T2 __hisnan2(T2 x)                                            \
    {                                                                        \
        return T2(T(float(__hisnan(x.x))), T(float(__hisnan(x.y))));         \
    }                                                                        \
    RNL_INLINE int __hisinf(T x)                                             \
    {                                                                        \
        return __builtin_isinf(float(x)) ? (x.__x & 0x8000u ? -1 : 1) : 0;   \
    }                                                                        \
    RNL_NARROW_2_AS(T, T2, __hmax, __hmax2,                                  \
                    float(x) > float(y) || __hisnan(y) ? x : y)              \
    RNL_NARROW_2_AS(T, T2, __hmin, __hmin2,                                  \
                    float(x) < float(y) || __hisnan(y) ? x : y)              \
    RNL_NARROW_2_AS(T, T2, __hmax_nan, __hmax2_nan,                          \
                    __hisnan(x) ? x : __hisnan(y) ? y : __hmax(x, y))        \
    RNL_NARROW_2_AS(T, T2, __hmin_nan, __hmin2_nan,                          \
                    __hisnan(x) ? x : __hisnan(y) ? y : __hmin(x, y))

template <class T> RNL_INLINE T rnl_relu(T x)
{
    return float(x) > 0.0f || float(x) != float(x) ? x : T(0.0f);
}

#define RNL_NARROW_MATH(T, T2)                                               \
    RNL_NARROW_1(T, T2, hceil, h2ceil, T(ceilf(float(x))))                   \
    RNL_NARROW_1(T, T2, hfloor, h2floor, T(floorf(float(x))))                \
    RNL_NARROW_1(T, T2, htrunc, h2trunc, T(truncf(float(x))))                \
    RNL_NARROW_1(T, T2, hrint, h2rint, T(rintf(float(x))))                   \
    RNL_NARROW_1(T, T2, hsqrt, h2sqrt, T(sqrtf(float(x))))                   \
    RNL_NARROW_1(T, T2, hrsqrt, h2rsqrt, T(1.0f / sqrtf(float(x))))          \
    RNL_NARROW_1(T, T2, hrcp, h2rcp, T(1.0f / float(x)))                     \
    RNL_NARROW_1(T, T2, hexp, h2exp, T(expf(float(x))))                      \
    RNL_NARROW_1(T, T2, hexp2, h2exp2, T(exp2f(float(x))))                   \
    RNL_NARROW_1(T, T2, hexp10, h2exp10, T(exp10f(float(x))))                \
    RNL_NARROW_1(T, T2, hlog, h2log, T(logf(float(x))))                      \
    RNL_NARROW_1(T, T2, hlog2, h2log2, T(log2f(float(x))))                   \
    RNL_NARROW_1(T, T2, hlog10, h2log10, T(log10f(float(x))))                \
    RNL_NARROW_1(T, T2, hsin, h2sin, T(sinf(float(x))))                      \
    RNL_NARROW_1(T, T2, hcos, h2cos, T(cosf(float(x))))                      \
    RNL_NARROW_1(T, T2, htanh, h2tanh, T(tanhf(float(x))))                   \
    RNL_NARROW_1(T, T2, htanh_approx, h2tanh_approx, T(tanhf(float(x))))     \
    RNL_INLINE T2 __hcmadd(T2 x, T2 y, T2 z)                                 \
    {                                                                        \
        return T2(__hfma(__hneg(x.y), y.y, __hfma(x.x, y.x, z.x)),           \
                  __hfma(x.y, y.x, __hfma(x.x, y.y, z.y)));                  \
    }

// --- Threads ---------------------------------------------------------------

template <class To, class From> RNL_INLINE To rnl_same_bits(From from)
{
    static_assert(sizeof(To) == sizeof(From), "");
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}

// Only where their parts are.
#if defined(RNL_HAS_WARP)
#define RNL_NARROW_SHUFFLE(T, Bits)                                          \
    RNL_NARROW_SHUFFLE_FORM(T, Bits, __shfl_sync, int)                       \
    RNL_NARROW_SHUFFLE_FORM(T, Bits, __shfl_up_sync, unsigned int)           \
    RNL_NARROW_SHUFFLE_FORM(T, Bits, __shfl_down_sync, unsigned int)         \
    RNL_NARROW_SHUFFLE_FORM(T, Bits, __shfl_xor_sync, int)
#else
#define RNL_NARROW_SHUFFLE(T, Bits)
#endif
#define RNL_NARROW_SHUFFLE_FORM(T, Bits, name, Which)                        \
    RNL_INLINE T name(unsigned int mask, T value, Which which,               \
                      int width = 32)                                        \
    {                                                                        \
        unsigned int bits = rnl_same_bits<Bits>(value);                      \
        return rnl_same_bits<T>(                                             \
            static_cast<Bits>(name(mask, bits, which, width)));              \
    }

#define RNL_NARROW_ATOMIC_FORM(T, Bits, name, formula)                       \
    RNL_INLINE T name(T *p, T value)                                         \
    {                                                                        \
        Bits *bits = reinterpret_cast<Bits *>(p);                            \
        Bits old = *static_cast<volatile Bits *>(bits), seen;                \
        while ((seen = atomicCAS(bits, old, rnl_same_bits<Bits>(             \
                    T(rnl_same_bits<T>(old) formula)))) != old)              \
            old = seen;                                                      \
        return rnl_same_bits<T>(old);                                        \
    }
#if defined(RNL_HAS_ATOMIC)
#define RNL_NARROW_ATOMIC(T, Bits)                                           \
    RNL_NARROW_ATOMIC_FORM(T, Bits, atomicAdd, + value)                      \
    RNL_NARROW_ATOMIC_FORM(T, Bits, atomicAdd_block, + value)                \
    RNL_NARROW_ATOMIC_FORM(T, Bits, atomicAdd_system, + value)
#else
#define RNL_NARROW_ATOMIC(T, Bits)
#endif
typedef unsigned short rnl_ushort;

// --- Conversions -----------------------------------------------------------

// Rounds a float as `mode` tells, from the nearest and its error.
#define RNL_NARROW_DIRECTED(T, name)                                         \
    RNL_INLINE T rnl_step(T near, int away)                                  \
    {                                                                        \
        return T(T##_raw{static_cast<unsigned short>(near.__x + away)});     \
    }                                                                        \
    RNL_INLINE T __float2##name##_ru(float x)                                \
    {                                                                        \
        T near(x);                                                           \
        if (!(float(near) < x))                                              \
            return near;                                                     \
        if (float(near) == 0.0f)                                             \
            return T(T##_raw{1});                                            \
        return rnl_step(near, float(near) > 0.0f ? 1 : -1);                  \
    }                                                                        \
    RNL_INLINE T __float2##name##_rd(float x)                                \
    {                                                                        \
        return __hneg(__float2##name##_ru(-x));                              \
    }                                                                        \
    RNL_INLINE T __float2##name##_rz(float x)                                \
    {                                                                        \
        return x < 0.0f ? __float2##name##_ru(x) : __float2##name##_rd(x);   \
    }                                                                        \
    RNL_INLINE T __float2##name##_rn(float x) { return T(x); }               \
    RNL_INLINE T __float2##name(float x) { return T(x); }                    \
    RNL_INLINE T __double2##name(double x) { return T(x); }

#define RNL_NARROW_INTEGER_MODE(T, name, integer, via, I, mode)              \
    RNL_INLINE I __##name##2##integer##_##mode(T x)                          \
    {                                                                        \
        return rnl_saturate_to<I>(__float2##via##_##mode(float(x)));         \
    }                                                                        \
    RNL_INLINE T __##integer##2##name##_##mode(I x)                          \
    {                                                                        \
        return __float2##name##_##mode(__##via##2float_##mode(x));           \
    }
#define RNL_NARROW_INTEGER(T, name, integer, via, I)                         \
    RNL_NARROW_INTEGER_MODE(T, name, integer, via, I, rz)                    \
    RNL_NARROW_INTEGER_MODE(T, name, integer, via, I, ru)                    \
    RNL_NARROW_INTEGER_MODE(T, name, integer, via, I, rd)                    \
    RNL_INLINE I __##name##2##integer##_rn(T x)                              \
    {                                                                        \
        return rnl_saturate_to<I>(__float2##via##_rn(float(x)));             \
    }                                                                        \
    RNL_INLINE T __##integer##2##name##_rn(I x) { return T(x); }

// The input is the saturated result of a wider conversion.
template <class To, class From> RNL_INLINE To rnl_saturate_to(From x)
{
    if (sizeof(To) == sizeof(From))
        return To(x);
    constexpr bool has_sign = To(-1) < To(0);
    constexpr From high = From(~0ull >> (64 - 8 * sizeof(To) + has_sign));
    constexpr From low = has_sign ? From(-high - 1) : From(0);
    return To(x < low ? low : x > high ? high : x);
}

#define RNL_NARROW_CONVERT(T, T2, name, pair, pairs)                         \
    RNL_NARROW_DIRECTED(T, name)                                             \
    RNL_NARROW_INTEGER(T, name, int, int, int)                               \
    RNL_NARROW_INTEGER(T, name, uint, uint, unsigned int)                    \
    RNL_NARROW_INTEGER(T, name, short, int, short)                           \
    RNL_NARROW_INTEGER(T, name, ushort, uint, unsigned short)                \
    RNL_NARROW_INTEGER(T, name, ll, ll, long long)                           \
    RNL_NARROW_INTEGER(T, name, ull, ull, unsigned long long)                \
    RNL_INLINE signed char __##name##2char_rz(T x)                           \
    {                                                                        \
        return rnl_saturate_to<signed char>(__float2int_rz(float(x)));       \
    }                                                                        \
    RNL_INLINE unsigned char __##name##2uchar_rz(T x)                        \
    {                                                                        \
        return rnl_saturate_to<unsigned char>(__float2uint_rz(float(x)));    \
    }                                                                        \
    RNL_INLINE float __##name##2float(T x) { return float(x); }              \
    RNL_INLINE T2 __float2##pair##_rn(float x) { return T2(T(x), T(x)); }    \
    RNL_INLINE T2 __floats2##pair##_rn(float x, float y)                     \
    {                                                                        \
        return T2(T(x), T(y));                                               \
    }                                                                        \
    RNL_INLINE T2 __float22##pair##_rn(float2 v)                             \
    {                                                                        \
        return T2(T(v.x), T(v.y));                                           \
    }                                                                        \
    RNL_INLINE float2 __##pair##2float2(T2 v)                                \
    {                                                                        \
        return make_float2(float(v.x), float(v.y));                          \
    }                                                                        \
    RNL_INLINE float __low2float(T2 v) { return float(v.x); }                \
    RNL_INLINE float __high2float(T2 v) { return float(v.y); }               \
    RNL_INLINE T2 __##pairs##2##pair(T x, T y) { return T2(x, y); }          \
    RNL_INLINE T __low2##name(T2 v) { return v.x; }                          \
    RNL_INLINE T __high2##name(T2 v) { return v.y; }                         \
    RNL_INLINE T2 __##name##2##pair(T x) { return T2(x, x); }                \
    RNL_INLINE T2 __low2##pair(T2 v) { return T2(v.x, v.x); }                \
    RNL_INLINE T2 __high2##pair(T2 v) { return T2(v.y, v.y); }               \
    RNL_INLINE T2 __lows2##pair(T2 a, T2 b) { return T2(a.x, b.x); }         \
    RNL_INLINE T2 __highs2##pair(T2 a, T2 b) { return T2(a.y, b.y); }        \
    RNL_INLINE T2 make_##pair(T x, T y) { return T2(x, y); }                 \
    RNL_INLINE T2 __lowhigh2highlow(T2 v) { return T2(v.y, v.x); }           \
    RNL_INLINE short __##name##_as_short(T x) { return short(x.__x); }       \
    RNL_INLINE unsigned short __##name##_as_ushort(T x) { return x.__x; }    \
    RNL_INLINE T __short_as_##name(short x)                                  \
    {                                                                        \
        return T(T##_raw{static_cast<unsigned short>(x)});                   \
    }                                                                        \
    RNL_INLINE T __ushort_as_##name(unsigned short x)                        \
    {                                                                        \
        return T(T##_raw{x});                                                \
    }

#define RNL_NARROW(T, T2, name, pair, pairs)                                 \
    RNL_NARROW_ARITHMETIC(T, T2)                                             \
    RNL_NARROW_MATH(T, T2)                                                   \
    RNL_NARROW_CONVERT(T, T2, name, pair, pairs)                             \
    RNL_NARROW_SHUFFLE(T, rnl_ushort)                                        \
    RNL_NARROW_SHUFFLE(T2, rnl_uint)                                         \
    RNL_NARROW_ATOMIC(T, rnl_ushort)                                         \
    RNL_NARROW_ATOMIC(T2, rnl_uint)
