#if defined(RNL_SIMT)
// Functions of floats that tier B computes in the lanes themselves, without a
// branch except for the largest angles. Their errors stay below CUDA's
// documented errors, whether or not the compiler fuses multiplications and
// additions. Rounding adds a number whose last place is 1, so the sum's bits
// are the integer; comparisons let NaN pass.

// Rounded once, or, where that takes a function, in double and again.
RNL_INLINE float rnl_fused(float x, float y, float z)
{
#if defined(__FMA__) || defined(__aarch64__)
    return __builtin_fmaf(x, y, z);
#else
    return float(double(x) * double(y) + double(z));
#endif
}
RNL_INLINE unsigned rnl_bits(float x)
{
    unsigned bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}
RNL_INLINE float rnl_of_bits(unsigned bits)
{
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}
RNL_INLINE float rnl_within(float x, float low, float high)
{
    float below = x > high ? high : x;
    return below < low ? low : below;
}
RNL_INLINE float rnl_with_sign(float size, float x)
{
    return rnl_of_bits(rnl_bits(size) | (rnl_bits(x) & 0x80000000u));
}

// --- Powers of a constant --------------------------------------------------

// The nearest whole number, and bits of which the lowest nine are 254 more.
RNL_INLINE float rnl_whole(float x, float scale, unsigned *bits)
{
    float sum = x * scale + 12583166.0f;
    *bits = rnl_bits(sum);
    return sum - 12583166.0f;
}
// Times two to the whole number with those bits, as two factors: neither the
// largest nor the least has a power of its own.
RNL_INLINE float rnl_times_power(float x, unsigned bits)
{
    unsigned half = bits >> 1;
    return x * rnl_of_bits(half << 23) * rnl_of_bits((bits - half) << 23);
}
// e to the r, for |r| up to log(2) / 2.
RNL_INLINE float rnl_exp_near(float r)
{
    float rest = 0.16666521f + r * (0.04166826f + r * (0.008368672f +
                 r * 0.0013821383f));
    return rnl_fused(r, 1.0f + r * (0.49999994f + r * rest), 1.0f);
}
// The remainder of x by the logarithm of 2, high + low.
RNL_INLINE float rnl_left(float x, float scale, float high, float low,
                          unsigned *bits)
{
    float whole = rnl_whole(x, scale, bits);
    return rnl_fused(whole, -high, x) - whole * low;
}
RNL_INLINE float rnl_expf(float x)
{
    unsigned bits;
    float within = rnl_within(x, -104.0f, 89.0f);
    float r = rnl_left(within, 1.44269504f, 0.693145752f, 1.42860682e-6f,
                       &bits);
    return rnl_times_power(rnl_exp_near(r), bits);
}
RNL_INLINE float rnl_exp2f(float x)
{
    unsigned bits;
    float within = rnl_within(x, -151.0f, 129.0f);
    float whole = rnl_whole(within, 1.0f, &bits);
    float r = (within - whole) * 0.693147182f;
    return rnl_times_power(rnl_exp_near(r), bits);
}
RNL_INLINE float rnl_exp10f(float x)
{
    unsigned bits;
    float within = rnl_within(x, -46.0f, 39.0f);
    float r = rnl_left(within, 3.32192802f, 0.301025391f, 4.60503898e-6f,
                       &bits);
    r = r * 2.30258512f - r * 3.19754365e-8f;
    return rnl_times_power(rnl_exp_near(r), bits);
}

// --- Angles ----------------------------------------------------------------

struct rnl_angle {
    float sine, cosine;
};
// Combines the functions of an angle's quadrant.
RNL_INLINE rnl_angle rnl_of_quarter(float sine, float cosine, unsigned quarter)
{
    bool odd = quarter & 1u;
    unsigned s = rnl_bits(odd ? cosine : sine);
    unsigned c = rnl_bits(odd ? sine : cosine);
    return rnl_angle{rnl_of_bits(s ^ (quarter & 2u) << 30),
                     rnl_of_bits(c ^ ((quarter + 1u) & 2u) << 30)};
}
// The remainder of an angle up to 105615 by pi / 2, which is subtracted in
// three parts.
RNL_INLINE rnl_angle rnl_angle_of(float x)
{
    float size = __builtin_fabsf(x), sum = size * 0.636619747f + 12582912.0f;
    float whole = sum - 12582912.0f;
    float r = rnl_fused(whole, -1.57079601f, size);
    r = rnl_fused(whole, -3.13916473e-7f, r);
    r = rnl_fused(whole, -5.39030253e-15f, r);
    float z = r * r;
    float sine = r + r * z * (-0.16666655f + z * (0.008332188f -
                              z * 0.00019518095f));
    float cosine = 1.0f + z * (-0.5f + z * (0.041666646f +
                   z * (-0.001388731f + z * 2.4432327e-05f)));
    rnl_angle angle = rnl_of_quarter(sine, cosine, rnl_bits(sum));
    angle.sine = rnl_of_bits(rnl_bits(angle.sine) ^
                             (rnl_bits(x) & 0x80000000u));
    return angle;
}
// The cold path: for tier B one branch around a call (widen/cold_path.c).
extern "C" float rnl_libm_sinf(float) noexcept __asm__("sinf");
extern "C" float rnl_libm_cosf(float) noexcept __asm__("cosf");
#define RNL_SELDOM(name)                                                   \
    static float rnl_seldom_##name(bool, float, float)                     \
        RNL_NAMED(rnl_seldom_##name);                                      \
    static __attribute__((unused, const)) float                            \
    rnl_seldom_##name(bool rare, float x, float value)                     \
    {                                                                      \
        return rare ? rnl_libm_##name(x) : value;                          \
    }
RNL_SELDOM(sinf)
RNL_SELDOM(cosf)
RNL_INLINE bool rnl_is_large_angle(float x)
{
    return __builtin_fabsf(x) > 105615.0f;
}
// A function rnl_lanes_NAME takes the place of NAME where lanes differ, once
// all is simplified (shared_callees.c): what clang knows of libm's holds.
static float rnl_lanes_sinf(float) RNL_NAMED(rnl_lanes_sinf);
static float rnl_lanes_cosf(float) RNL_NAMED(rnl_lanes_cosf);
static __attribute__((used, const)) float rnl_lanes_sinf(float x)
{
    return rnl_seldom_sinf(rnl_is_large_angle(x), x, rnl_angle_of(x).sine);
}
static __attribute__((used, const)) float rnl_lanes_cosf(float x)
{
    return rnl_seldom_cosf(rnl_is_large_angle(x), x, rnl_angle_of(x).cosine);
}
// The angle pi times x: all subtractions are exact. Floats from 2^24 on are
// even.
RNL_INLINE rnl_angle rnl_angle_of_pi(float x)
{
    float size = __builtin_fabsf(x);
    size = size < 16777216.0f ? size : size * 0.0f;
    float turned = size - 2.0f * ((size * 0.5f + 8388608.0f) - 8388608.0f);
    float sum = turned * 2.0f + 12582912.0f;
    float f = turned - 0.5f * (sum - 12582912.0f), z = f * f;
    float low = z * (-5.1677127f + z * (2.5501547f + z * (-0.5989812f +
                z * 0.07915745f))) - 8.74227801e-8f;
    float sine = rnl_fused(f, 3.14159274f, f * low);
    float cosine = rnl_fused(z, -4.934802f + z * (4.0586967f +
                             z * (-1.3347582f + z * 0.22898851f)), 1.0f);
    rnl_angle angle = rnl_of_quarter(sine, cosine, rnl_bits(sum));
    // Zeros are positive, but for the sine of what is negative.
    unsigned sign = rnl_bits(x) & 0x80000000u;
    return rnl_angle{rnl_of_bits(rnl_bits(angle.sine + 0.0f) ^ sign),
                     angle.cosine + 0.0f};
}
// With errors below 2^-21 for angles to 1e4.
RNL_INLINE float rnl_fast_sine(float r, unsigned half_turns)
{
    float within = rnl_within(r, -1.5707964f, 1.5707964f), z = within * within;
    float rest = 0.008333009f + z * (-0.00019806041f + z * 2.598957e-06f);
    float sine = within * (1.0f + z * (-0.16666657f + z * rest));
    return rnl_of_bits(rnl_bits(sine) ^ half_turns << 31);
}
RNL_INLINE float rnl_fast_sinf(float x)
{
    float sum = x * 0.318309873f + 12582912.0f, whole = sum - 12582912.0f;
    float r = rnl_fused(whole, -3.1415925f, x) - whole * 1.50995799e-7f;
    return rnl_fast_sine(r, rnl_bits(sum));
}
RNL_INLINE float rnl_fast_cosf(float x)
{
    float sum = (x * 0.318309873f - 0.5f) + 12582912.0f;
    float half = (sum - 12582912.0f) + 0.5f;
    float r = rnl_fused(half, 3.1415925f, -x) + half * 1.50995799e-7f;
    return rnl_fast_sine(r, rnl_bits(sum));
}

// --- Hyperbolic tangent and error function ---------------------------------

// Near 0 a polynomial; farther by way of e to the 2 |x|.
RNL_INLINE float rnl_tanhf(float x)
{
    float size = __builtin_fabsf(x), z = x * x;
    float near = size + size * z * (-0.33333313f + z * (0.13332437f +
                 z * (-0.053835757f + z * (0.021000376f -
                 z * 0.006169614f))));
    float within = size > 10.0f ? 10.0f : size;
    float sum = within * 2.88539004f + 12582912.0f;
    float f = rnl_fused(within, 2.88539004f, 12582912.0f - sum);
    unsigned bits = rnl_bits(rnl_exp_near(f * 0.693147182f));
    float power = rnl_of_bits(bits + (rnl_bits(sum) << 23));
    float far = 1.0f - 2.0f / (power + 1.0f);
    return rnl_with_sign(size >= 0.5625f ? far : near, x);
}
// Near 0 a polynomial; farther 1 less a power of 2.
RNL_INLINE float rnl_erff(float x)
{
    float size = __builtin_fabsf(x), z = x * x;
    float near = x + x * (0.12837915f + z * (-0.3761248f + z * (0.11281618f +
                 z * (-0.026758565f + z * (0.0049806875f -
                 z * 0.0005925125f)))));
    float t = size > 4.0f ? 4.0f : size;
    float power = -1.6283009f + t * (-0.91630733f + t * (-0.15330547f +
                  t * (0.034315135f + t * (-0.0052713314f +
                  t * (0.00046983417f - t * 1.6624963e-05f)))));
    power *= t;
    float sum = power + 12582912.0f, f = power - (sum - 12582912.0f);
    float rest = 0.05550712f + f * (0.009671307f + f * 0.001326914f);
    float far = 1.0f + f * (0.693147f + f * (0.24022247f + f * rest));
    far = 1.0f - rnl_of_bits(rnl_bits(far) + (rnl_bits(sum) << 23));
    return size >= 0.9375f ? rnl_with_sign(far, x) : near;
}

// --- Logarithms ------------------------------------------------------------

// A number as 2^k (1 + f), with 1 + f from 0.7 to 1.4.
RNL_INLINE float rnl_split(float x, float *k)
{
    bool tiny = x < 1.17549435e-38f;
    unsigned bits = rnl_bits(tiny ? x * 33554432.0f : x);
    int n = int(bits - 0x3f3504f3u) >> 23;
    *k = float(tiny ? n - 25 : n);
    return rnl_of_bits(bits - ((unsigned)n << 23)) - 1.0f;
}
// A logarithm, but of zero, negative and infinite numbers and of no number.
RNL_INLINE float rnl_log_of(float value, float x)
{
    if (!(x > 0.0f))
        value = x == 0.0f ? -__builtin_inff() : __builtin_nanf("");
    return x == __builtin_inff() || x != x ? x : value;
}
// The logarithm of 1 + f, less f.
RNL_INLINE float rnl_log_rest(float f)
{
    float rest = 0.142490581f + f * (-0.124256872f + f * (0.116854198f +
                 f * (-0.114797339f + f * 0.0697161183f)));
    rest = 0.333333313f + f * (-0.24999997f + f * (0.200007156f +
           f * (-0.166678026f + f * rest)));
    return f * f * (f * rest - 0.5f);
}
RNL_INLINE float rnl_logf(float x)
{
    float k, f = rnl_split(x, &k);
    float low = rnl_log_rest(f) + k * 3.19461849453e-5f;
    return rnl_log_of(k * 0.693115234375f + (f + low), x);
}
RNL_INLINE float rnl_log10f(float x)
{
    float k, f = rnl_split(x, &k);
    float low = rnl_log_rest(f) * 0.434294492f + f * -1.0103050e-8f;
    low = rnl_fused(f, 0.434294492f, low + k * 4.60503898e-6f);
    return rnl_log_of(k * 0.301025391f + low, x);
}

// --- Powers ----------------------------------------------------------------

RNL_INLINE bool rnl_is_whole(float size)
{
    return (size >= 8388608.0f) | ((size + 8388608.0f) - 8388608.0f == size);
}
// The logarithm needs the digits that the power then loses.
static float rnl_lanes_powf(float, float) RNL_NAMED(rnl_lanes_powf);
static __attribute__((used, const)) float rnl_lanes_powf(float x, float y)
{
    float k, size = __builtin_fabsf(x), f = rnl_split(size, &k);
    float times = rnl_within(y, -3.40282347e38f, 3.40282347e38f);
    k = size < __builtin_inff() ? k : size;
    k = size == 0.0f ? -__builtin_inff() : k;
    double w = f;
    double log2 = 0.20609642819865404 + w * (-0.17904506377983137 +
                  w * (0.15899736577097906 + w * (-0.1569907501801133 +
                  w * (0.1548854042420452 + w * -0.08636242138181593))));
    log2 = 1.4426950409394392 + w * (-0.7213475252299274 +
           w * (0.4808983207033534 + w * (-0.3606727977891297 +
           w * (0.28854064236469396 + w * (-0.24050429468349366 +
           w * log2)))));
    double power = (double(k) + w * log2) * double(times);
    power = power > 160.0 ? 160.0 : power;
    power = power < -160.0 ? -160.0 : power;
    double sum = power + 6755399441055998.0;  // as in rnl_whole
    unsigned long long bits;
    __builtin_memcpy(&bits, &sum, sizeof bits);
    float r = float(power - (sum - 6755399441055998.0)) * 0.693147182f;
    float value = rnl_times_power(rnl_exp_near(r), unsigned(bits) & 511u);
    float whole = __builtin_fabsf(y);
    bool odd = rnl_is_whole(whole) & !rnl_is_whole(whole * 0.5f);
    bool none = (x < 0.0f) & (size < __builtin_inff()) & !rnl_is_whole(whole);
    value = rnl_with_sign(value, odd ? x : 0.0f);
    value = none ? __builtin_nanf("") : value;
    return (x == 1.0f) | (y == 0.0f) ? 1.0f : value;
}
#endif
