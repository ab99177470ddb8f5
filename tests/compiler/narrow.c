// Numbers of 16 bits against exact arithmetic rounded by hand.
#include "build.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

enum { BLOCKS = 64, THREADS = 64, COUNT = BLOCKS * THREADS };

struct format {
    const char *kernel;
    int bits;        // of the significand, the hidden one included
    int least;       // exponent of the smallest normal number
    double most;
};

static const struct format half = {"half_arithmetic", 11, -14, 65504};
static const struct format bfloat = {"bfloat_arithmetic", 8, -126,
                                     0x1.fep127};
static struct built built;

static double decode(const struct format *format, unsigned bits)
{
    int stored = format->bits - 1;
    int exponent = (int)(bits >> stored & ((1u << (15 - stored)) - 1));
    int top = (1 << (15 - stored)) - 1;
    double part = bits & ((1u << stored) - 1), value;
    if (exponent == top)
        value = part != 0 ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexp(part, format->least - stored);
    else
        value = ldexp(part + (1 << stored), format->least + exponent - 1 -
                      stored);
    return bits & 0x8000 ? -value : value;
}

// In the processor's rounding mode.
static double rounded(const struct format *format, long double x)
{
    int exponent;
    if (x == 0 || !isfinite(x))
        return (double)x;
    frexpl(x, &exponent);
    exponent = exponent - 1 < format->least ? format->least : exponent - 1;
    int unit = exponent - format->bits + 1;
    volatile long double whole = ldexpl(x, -unit);
    double value = (double)ldexpl(nearbyintl(whole), unit);
    if (fabs(value) <= format->most)
        return copysign(value, (double)x);
    int mode = fegetround();
    bool grows = mode == FE_TONEAREST || (mode == FE_UPWARD && x > 0) ||
                 (mode == FE_DOWNWARD && x < 0);
    return copysign(grows ? INFINITY : format->most, (double)x);
}

static bool same(double x, double y)
{
    return (isnan(x) && isnan(y)) || (x == y && signbit(x) == signbit(y));
}

static void run(const char *kernel, unsigned blocks, unsigned threads,
                const void *const *arguments)
{
    rnl_status status = built_run(&built, kernel, (rnl_dim3){blocks},
                                  (rnl_dim3){threads}, 0, arguments);
    if (status != RNL_OK)
        fail_msg("%s: %s", kernel, built.failure);
}

// --- Arithmetic ------------------------------------------------------------

static unsigned some_bits(const struct format *format, int i)
{
    uint32_t bits = (uint32_t)(i + 1) * 2654435761u;
    bits ^= bits >> 15;
    bits *= 2246822519u;
    bits = bits >> 13 & 0xffff;
    // Most exponents near each other, or sums would tell nothing.
    if (i % 4 && format->bits == 8)
        bits = (bits & 0x87ff) | 0x3800;
    return bits;
}

// x * y + z with a last bit that tells what was cut off.
static long double fused(double x, double y, double z)
{
    feclearexcept(FE_INEXACT);
    fesetround(FE_TOWARDZERO);
    volatile long double sum = fmal(x, y, z);
    fesetround(FE_TONEAREST);
    long double result = sum;
    if (fetestexcept(FE_INEXACT) && isfinite(result))
        *(unsigned char *)&result |= 1;
    return result;
}

static double computed(int which, double x, double y, double z,
                       const struct format *format)
{
    switch (which) {
    case 0: return rounded(format, (long double)x + y);
    case 1: return rounded(format, (long double)x - y);
    case 2: return rounded(format, (long double)x * y);
    case 3: return rounded(format, (long double)x / y);
    case 4: return rounded(format, fused(x, y, z));
    case 5: return rounded(format, sqrtl(x));
    case 6: return fmax(x, y);
    case 7: return fmin(x, y);
    case 8: return -x;
    case 9: return fabs(x);
    case 10: return fmin(1.0, fmax(0.0, rounded(format, (long double)x + y)));
    case 11: return floor(x);
    default: return rint(x);
    }
}

static unsigned compared(int which, double x, double y)
{
    switch (which) {
    case 13: return x < y;
    case 14: return x == y;
    case 15: return !(x < y);
    case 16: return x < y || x > y;
    default: return isnan(x);
    }
}

static void check_arithmetic(const struct format *format, int which)
{
    static uint16_t x[COUNT], y[COUNT], z[COUNT], got[COUNT];
    uint16_t *in[] = {x, y, z}, *out = got;
    for (int i = 0; i < COUNT; i++) {
        x[i] = (uint16_t)some_bits(format, i);
        y[i] = (uint16_t)some_bits(format, i / 3 + 7);
        z[i] = (uint16_t)some_bits(format, i / 5 + 91);
    }
    const void *arguments[] = {&out, in, in + 1, in + 2, &which};
    run(format->kernel, BLOCKS, THREADS, arguments);
    for (int i = 0; i < COUNT; i++) {
        double a = decode(format, x[i]), b = decode(format, y[i]),
               c = decode(format, z[i]);
        bool right = which < 13
            ? computed(which, a, b, c, format) == decode(format, got[i]) ||
              (isnan(decode(format, got[i])) &&
               isnan(computed(which, a, b, c, format))) ||
              (which == 10 && isnan(a + b))
            : compared(which, a, b) == got[i];
        if (!right)
            fail_msg("%s case %d of %a, %a, %a is %a", format->kernel, which,
                     a, b, c, decode(format, got[i]));
    }
}

RNL_TEST(arithmetic_rounds_once)
{
    built_kernels(&built, "narrow.cu", "--option --tier=F");
    for (int which = 0; which < 18; which++) {
        check_arithmetic(&half, which);
        check_arithmetic(&bfloat, which);
    }
    built_close(&built);
}

// --- Conversions -----------------------------------------------------------

RNL_TEST(every_number_as_a_float)
{
    static float halves[65536], bfloats[65536];
    float *to[] = {halves, bfloats};
    const void *arguments[] = {to, to + 1};
    built_kernels(&built, "narrow.cu", "--option --tier=F");
    run("narrow_to_float", 256, 256, arguments);
    for (unsigned i = 0; i < 65536; i++) {
        assert_true(same(halves[i], decode(&half, i)));
        assert_true(same(bfloats[i], decode(&bfloat, i)));
    }
    built_close(&built);
}

static void check_conversion(int which, const double *in)
{
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD,
                                FE_DOWNWARD};
    static uint16_t got[COUNT], *out = got;
    const struct format *format = which / 4 == 1 || which == 9 ? &bfloat
                                                               : &half;
    const void *arguments[] = {&out, &in, &which};
    run("narrow_from", BLOCKS, THREADS, arguments);
    for (int i = 0; i < COUNT; i++) {
        volatile double value = which < 8 ? (float)in[i] : in[i];
        fesetround(which < 8 ? modes[which % 4] : FE_TONEAREST);
        double want = rounded(format, value);
        fesetround(FE_TONEAREST);
        if (!same(want, decode(format, got[i])))
            fail_msg("case %d of %a is %a, not %a", which, value,
                     decode(format, got[i]), want);
    }
}

RNL_TEST(conversions_round_as_named)
{
    static double in[COUNT];
    built_kernels(&built, "narrow.cu", "--option --tier=F");
    for (int i = 0; i < COUNT; i++) {
        double step = ldexp(sample(i) - 500, sample(i + 5000) % 60 - 45);
        // Close to numbers and to the middles between them.
        in[i] = decode(&half, (unsigned)i * 16 + (unsigned)i % 7) +
                (i % 3 ? step * 0x1p-40 : step);
    }
    in[0] = 65519.99, in[1] = 65520, in[2] = 1e300, in[3] = -0.0;
    in[4] = 0x1p-25, in[5] = 0x1.000001p-25, in[6] = 1 + 0x1p-11;
    in[7] = 1 + 0x1p-11 + 0x1p-40, in[8] = 1 + 0x1p-8, in[9] = 1e-60;
    for (int which = 0; which < 10; which++)
        check_conversion(which, in);
    built_close(&built);
}

RNL_TEST(halves_and_integers)
{
    int in[32], got[32 * 12], *to = got, n = 0;
    const int *from = in;
    const void *arguments[] = {&to, &from, &n};
    built_kernels(&built, "narrow.cu", "--option --tier=F");
    for (int i = 0; i < 32; i++)
        in[i] = i < 2 ? 4 + 8 * i : sample(i);
    run("half_integers", 1, 32, arguments);
    for (int i = 0; i < 32; i++) {
        int *g = got + 12 * i;
        double h = in[i] * 0.125;
        double large = in[i] * 7, near = rounded(&half, large);
        fesetround(FE_DOWNWARD);
        double low = rounded(&half, large);
        fesetround(FE_UPWARD);
        double high = rounded(&half, large);
        fesetround(FE_TONEAREST);
        double want[12] = {rint(h), trunc(h), ceil(h), floor(h), -rint(h), 0,
                           fmin(255, trunc(h * 16)), floor(h), near, low, high,
                           in[i]};
        for (int k = 0; k < 12; k++)
            assert_true(g[k] == (int)want[k]);
    }
    built_close(&built);
}

RNL_TEST(pairs_of_halves)
{
    float in[33], got[32 * 12], *to = got;
    int n = 0;
    const float *from = in;
    const void *arguments[] = {&to, &from, &n};
    built_kernels(&built, "narrow.cu", "--option --tier=F");
    for (int i = 0; i < 33; i++)
        in[i] = (float)(sample(i) % 64) * 0.25f - 4;
    run("half_pairs", 1, 32, arguments);
    for (int t = 0; t < 32; t++) {
        float x = in[t], y = in[t + 1];
        bool both = x > 2 && y > 2;
        float want[12] = {
            2 * x + 1, 2 * y + 2, 2 * x - 2, 2 * y - 2, x > 2,
            (float)(1 + 2 * both + 4),
            (float)((x > 2 ? 0xffffu : 0) | (y > 2 ? 0xffff0000u : 0)),
            in[(t ^ 1) + 1], in[t + 1 < 32 ? t + 1 : t], y + 2,
            floorf(x + 2), 8};
        for (int k = 0; k < 12; k++)
            if (got[12 * t + k] != want[k])
                fail_msg("thread %d: value %d is %g, not %g", t, k,
                         got[12 * t + k], want[k]);
    }
    built_close(&built);
}

RNL_TEST(atomic_sums_of_16_bits)
{
    uint16_t sum[4] = {0}, *halves = sum;
    uint16_t pair[2] __attribute__((aligned(4))) = {0}, *pairs = pair;
    uint16_t other[2] __attribute__((aligned(4))) = {0}, *bfloats = other;
    const void *arguments[] = {&halves, &pairs, &bfloats};
    built_kernels(&built, "narrow.cu", "--option --tier=F");
    run("narrow_sums", 2, 96, arguments);
    assert_true(decode(&half, sum[0]) == 96);
    assert_true(decode(&half, sum[1]) == 576);
    assert_true(decode(&half, pair[0]) == 192);
    assert_true(decode(&half, pair[1]) == 384);
    assert_true(decode(&bfloat, other[0]) == 5);
    assert_int_equal(other[1], 0);
    built_close(&built);
}
