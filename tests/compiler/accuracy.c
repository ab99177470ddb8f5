// Math functions stay within the errors that CUDA documents, in units of the
// last place, against long double arithmetic.
#include "build.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

enum { BLOCKS = 32, THREADS = 64, COUNT = BLOCKS * THREADS };

typedef long double real;
static const real pi = 3.141592653589793238462643383279502884L;
static struct built built;

// --- References -------------------------------------------------------------

static real rcbrt(real x) { return 1 / cbrtl(x); }
static real rsqrt(real x) { return 1 / sqrtl(x); }
static real exp10_of(real x) { return powl(10, x); }
static real pow_17(real x) { return powl(x, 1.7f); }
static real pow_of_17(real x) { return powl(1.7f, x); }
static real hypot_3(real x) { return hypotl(x, 3); }
static real rhypot_3(real x) { return 1 / hypotl(x, 3); }
static real atan2_3(real x) { return atan2l(x, 3); }
static real fmod_03(real x) { return fmodl(x, 0.3f); }
static real norm3(real x) { return sqrtl(x * x + 13); }
static real rnorm3(real x) { return 1 / norm3(x); }
static real norm4(real x) { return sqrtl(x * x + 14); }
static real rnorm4(real x) { return 1 / norm4(x); }
static real normcdf(real x) { return erfcl(-x * sqrtl(0.5L)) / 2; }

static real sinpi(real x)
{
    real part = remainderl(x, 2);
    if (fabsl(part) > 0.5L)
        part = copysignl(1, part) - part;
    return part == 0 ? copysignl(0, x) : sinl(pi * part);
}

static real cospi(real x)
{
    return sinpi(0.5L - fabsl(remainderl(x, 2)));
}

static real erfcinv(real x)
{
    real y = 0;
    // Bisection first: Newton's steps then cannot go astray.
    real low = -7, high = 28;
    for (int i = 0; i < 30; i++) {
        y = (low + high) / 2;
        *(erfcl(y) > x ? &low : &high) = y;
    }
    for (int i = 0; i < 3; i++)
        y += (erfcl(y) - x) * sqrtl(pi) / 2 * expl(y * y);
    return y;
}

static real erfinv(real x)
{
    if (fabsl(x) > 0.25L)
        return copysignl(erfcinv(1 - fabsl(x)), x);
    real y = x * sqrtl(pi) / 2;
    for (int i = 0; i < 6; i++)
        y -= (erfl(y) - x) * sqrtl(pi) / 2 * expl(y * y);
    return y;
}

// erfcinv itself is the small one near 1.
static real erfcinv_of(real x)
{
    return x > 0.5L && x < 1.5L ? erfinv(1 - x) : erfcinv(x);
}
static real normcdfinv(real x) { return -sqrtl(2) * erfcinv_of(2 * x); }

static real erfcx(real x)
{
    if (x < 30)
        return expl(x * x) * erfcl(x) * (1 + fmal(x, x, -x * x));
    real fraction = 0;
    for (int k = 60; k > 0; k--)
        fraction = k / 2.0L / (x + fraction);
    return 1 / (sqrtl(pi) * (x + fraction));
}

static real bessel(real x, int order)
{
    real term = order ? x / 2 : 1, sum = term;
    for (int k = 1; k < 400; k++) {
        term *= x * x / 4 / ((real)k * (k + order));
        sum += term;
    }
    return sum;
}
static real bessel_0(real x) { return bessel(x, 0); }
static real bessel_1(real x) { return bessel(x, 1); }

// --- The tables -------------------------------------------------------------

struct function {
    const char *name;
    real (*exact)(real);
    double low, high;
    double bound;      // units in the last place
    double small;      // or this absolute error
    double hard;       // where a vector library was off by more; 0: unknown
};

static const struct function floats[] = {
    {"sinf", sinl, -100, 100, 2, 0},
    {"cosf", cosl, -100, 100, 2, 0},
    {"tanf", tanl, -100, 100, 4, 0},
    {"asinf", asinl, -1, 1, 2, 0},
    {"acosf", acosl, -1, 1, 2, 0},
    {"atanf", atanl, -50, 50, 2, 0},
    {"sinhf", sinhl, -80, 80, 3, 0},
    {"coshf", coshl, -80, 80, 2, 0},
    {"tanhf", tanhl, -10, 10, 2, 0},
    {"asinhf", asinhl, -50, 50, 3, 0},
    {"acoshf", acoshl, 1, 50, 4, 0},
    {"atanhf", atanhl, -0.999, 0.999, 3, 0},
    {"expf", expl, -87, 88, 1, 0},
    {"exp2f", exp2l, -120, 120, 2, 0},
    {"exp10f", exp10_of, -37, 37, 2, 0, -0x1.439e86p-6},
    {"expm1f", expm1l, -10, 10, 1, 0},
    {"logf", logl, 1e-6, 50, 1, 0},
    {"log2f", log2l, 1e-6, 50, 1, 0},
    {"log10f", log10l, 1e-6, 50, 2, 0, 0x1.555a3p+0},
    {"log1pf", log1pl, -0.99, 50, 1, 0},
    {"cbrtf", cbrtl, -50, 50, 1, 0},
    {"rcbrtf", rcbrt, -50, 50, 1, 0},
    {"sqrtf", sqrtl, 0, 50, 0.5, 0},
    {"rsqrtf", rsqrt, 1e-6, 50, 2, 0},
    {"erff", erfl, -4, 4, 2, 0, -0x1.d3a02p+1},
    {"erfcf", erfcl, -4, 9, 4, 0},
    {"lgammaf", lgammal, 2.5, 50, 6, 0},
    {"tgammaf", tgammal, 0.01, 30, 5, 0},
    {"powf", pow_17, 1e-6, 50, 4, 0},
    {"hypotf", hypot_3, -50, 50, 3, 0},
    {"rhypotf", rhypot_3, -50, 50, 2, 0},
    {"atan2f", atan2_3, -50, 50, 3, 0},
    {"sinpif", sinpi, -20, 20, 1, 0},
    {"cospif", cospi, -20, 20, 1, 0},
    {"normcdff", normcdf, -12, 8, 5, 0},
    {"erfinvf", erfinv, -0.99999, 0.99999, 2, 0},
    {"erfcinvf", erfcinv_of, 1e-30, 1.9999, 4, 0},
    {"normcdfinvf", normcdfinv, 1e-30, 0.9999, 5, 0},
    {"erfcxf", erfcx, -9, 50, 4, 0},
    {"cyl_bessel_i0f", bessel_0, 0, 80, 6, 0},
    {"cyl_bessel_i1f", bessel_1, 0, 80, 6, 0},
    {"norm3df", norm3, -50, 50, 3, 0},
    {"rnorm4df", rnorm4, -50, 50, 3, 0},
    {"fmodf", fmod_03, -50, 50, 0, 0},
    {"j0f", j0l, 0, 50, 9, 2.2e-6},
    {"j1f", j1l, 0, 50, 9, 2.2e-6},
    {"y0f", y0l, 0.01, 50, 9, 2.2e-6},
    {"y1f", y1l, 0.01, 50, 9, 2.2e-6},
    {"sincospif, cosine", cospi, -20, 20, 1, 0},
    {"sincospif, sine", sinpi, -20, 20, 1, 0},
    {"sincosf", sinl, -100, 100, 2, 0},
    {"sincosf, cosine", cosl, -100, 100, 2, 0},
    {"sinf, large", sinl, -3e5, 3e5, 2, 0, 0x1.100cd4p+13},
    {"cosf, large", cosl, -3e5, 3e5, 2, 0, 0x1.b01978p+12},
    {"powf, exponent", pow_of_17, -160, 160, 4, 0},
    {"__sinf", sinl, -3.1415926, 3.1415926, 0, 0x1.8p-22},
    {"__cosf", cosl, -3.1415926, 3.1415926, 0, 0x1.8p-22},
    {"__tanf", tanl, -1.5, 1.5, 4, 0x1p-18},
    {"__expf", expl, -80, 80, 2, 0},
    {"__exp10f", exp10_of, -37, 37, 2, 0},
    {"__logf", logl, 1e-6, 50, 1, 0},
    {"__powf", pow_17, 0.1, 10, 16, 0},
    {"__sincosf", sinl, -3.1415926, 3.1415926, 0, 0x1.8p-22},
    {"__log2f", log2l, 1e-6, 50, 2, 0},
    {"__log10f", log10l, 1e-6, 50, 2, 0},
};

static const struct function doubles[] = {
    {"sinpi", sinpi, -20, 20, 2, 0},
    {"cospi", cospi, -20, 20, 2, 0},
    {"normcdf", normcdf, -37, 8, 5, 0},
    {"erfinv", erfinv, -0.999999, 0.999999, 5, 0},
    {"erfcinv", erfcinv_of, 1e-300, 1.9999, 6, 0},
    {"normcdfinv", normcdfinv, 1e-300, 0.9999, 8, 0},
    {"erfcx", erfcx, -25, 60, 4, 0},
    {"cyl_bessel_i0", bessel_0, 0, 200, 6, 0},
    {"cyl_bessel_i1", bessel_1, 0, 200, 6, 0},
    {"norm4d", norm4, -50, 50, 3, 0},
    {"rnorm3d", rnorm3, -50, 50, 3, 0},
    {"rcbrt", rcbrt, -50, 50, 1, 0},
    {"exp", expl, -745, 709, 1, 0},
    {"log", logl, 1e-300, 1e6, 1, 0},
    {"sin", sinl, -1e6, 1e6, 2, 0},
    {"cos", cosl, -1e3, 1e3, 2, 0},
    {"tan", tanl, -100, 100, 2, 0},
    {"asin", asinl, -1, 1, 2, 0},
    {"acos", acosl, -1, 1, 2, 0},
    {"atan", atanl, -50, 50, 2, 0},
    {"erf", erfl, -6, 6, 2, 0},
    {"exp2", exp2l, -1000, 1000, 1, 0},
    {"expm1", expm1l, -30, 30, 1, 0},
    {"log1p", log1pl, -0.99, 50, 1, 0},
    {"log2", log2l, 1e-6, 50, 1, 0},
    {"acosh", acoshl, 1, 50, 3, 0},
    {"asinh", asinhl, -50, 50, 3, 0},
    {"atanh", atanhl, -0.999, 0.999, 2, 0},
    {"sinh", sinhl, -700, 700, 2, 0},
    {"pow", pow_17, 1e-6, 50, 2, 0},
    {"hypot", hypot_3, -50, 50, 2, 0},
    {"cosh", coshl, -700, 700, 1, 0},
    {"erfc", erfcl, -6, 26, 5, 0},
    {"atan2", atan2_3, -50, 50, 2, 0},
    {"cbrt", cbrtl, -1e150, 1e150, 1, 0},
    {"cbrt", cbrtl, 5e-324, 1e-20, 1, 0},
    {"tanh", tanhl, -20, 20, 1, 0},
    {"exp10", exp10_of, -307, 308, 1, 0},
    {"log10", log10l, 1e-300, 1e6, 1, 0},
};

// --- Comparing --------------------------------------------------------------

static real error_in_ulp(real got, real exact, int digits, int least)
{
    int exponent;
    if (exact == 0)
        return got == 0 ? 0 : INFINITY;
    frexpl(exact, &exponent);
    exponent = exponent < least ? least : exponent;
    return fabsl(got - exact) / ldexpl(1, exponent - digits);
}

// A grid over the range; half of it crowds towards the lower end.
static double input(const struct function *f, int i)
{
    double part = (i / 2 + 0.37) / (COUNT / 2), width = f->high - f->low;
    if (i == 0 && f->hard != 0)
        return f->hard;
    if (i % 2 == 0)
        return f->low + part * width;
    return f->low > 0 ? f->low * pow(f->high / f->low, part)
                      : (f->low + f->high) / 2 + width / 2 * pow(2, -40 * part);
}

static void run(const char *type, int number, void *out, const void *in)
{
    const void *arguments[] = {&out, &in};
    char kernel[32];
    snprintf(kernel, sizeof kernel, "%s_%d", type, number);
    rnl_status status = built_run(&built, kernel, (rnl_dim3){BLOCKS},
                                  (rnl_dim3){THREADS}, 0, arguments);
    if (status != RNL_OK)
        fail_msg("%s: %s", kernel, built.failure);
}

static void compare(const struct function *f, double in, real got, int digits,
                    int least)
{
    real exact = f->exact(in);
    real error = error_in_ulp(got, exact, digits, least);
    if (!(error <= (real)f->bound + 0.001L) &&
        !(fabsl(got - exact) <= (real)f->small))
        fail_msg("%s(%.17g) is %.17g, not %.17g: %.2f ulp", f->name, in,
                 (double)got, (double)exact, (double)error);
}

static void compare_floats(const char *options)
{
    static float in[COUNT], out[COUNT];
    built_kernels(&built, "accuracy.cu", options);
    for (int f = 0; f < (int)(sizeof floats / sizeof *floats); f++) {
        for (int i = 0; i < COUNT; i++)
            in[i] = (float)input(&floats[f], i);
        run("float", f, out, in);
        for (int i = 0; i < COUNT; i++)
            compare(&floats[f], in[i], out[i], FLT_MANT_DIG, FLT_MIN_EXP);
    }
    built_close(&built);
}

RNL_TEST(floats_are_within_the_documented_errors)
{
    compare_floats("");
}

RNL_TEST(floats_need_no_fused_multiplications)
{
    compare_floats("--option --fmad=false");
#if defined(__x86_64__)
    compare_floats("--option --target=x86-64");
#endif
}

// --- What is computed in lanes ----------------------------------------------

// By number in `floats`: what these are off by at most, with and without fused
// multiplications, and a hundredth more. Changed coefficients are to be seen.
static const struct measured {
    int number;
    double low, high, bound;  // as in floats: units, or an absolute error
    bool near_quarters;       // next to multiples of pi / 2
} in_lanes[] = {
    {12, -87, 88, 0.83, false},
    {12, -1, 1, 0.74, false},
    {13, -125, 127, 0.84, false},
    {13, -1, 1, 0.92, false},
    {14, -37, 38, 1.01, false},
    {14, -0.5, 0.5, 0.86, false},
    {16, 0.7, 1.42, 0.84, false},
    {16, 1e-3, 1e3, 0.60, false},
    {18, 0.7, 1.42, 0.83, false},
    {18, 1e-3, 1e3, 0.76, false},
    {64, 0.7, 1.42, 0.83, false},
    {8, -0.5625, 0.5625, 0.74, false},
    {8, 0.5625, 3, 1.38, false},
    {8, 3, 10, 0.52, false},
    {24, -0.9375, 0.9375, 1.08, false},
    {24, 0.9375, 2, 1.38, false},
    {24, 2, 4, 0.53, false},
    {32, -0.25, 0.25, 0.64, false},
    {32, 0.25, 0.75, 0.81, false},
    {32, -1000, 1000, 0.79, false},
    {33, -0.25, 0.25, 0.85, false},
    {33, 0.25, 0.75, 0.67, false},
    {33, -1000, 1000, 0.81, false},
    {0, -0.785, 0.785, 0.73, false},
    {0, 0.785, 2.36, 1.21, false},
    {0, -100, 100, 1.44, false},
    {0, -1e5, 1e5, 1.39, false},
    {0, -9e5, 9e5, 1.38, true},
    {0, -1e5, 1e5, 1.40, true},
    {0, 1e30, 1e38, 1.00, false},
    {1, -0.785, 0.785, 1.06, false},
    {1, 0.785, 2.36, 1.48, false},
    {1, -100, 100, 1.44, false},
    {1, -1e5, 1e5, 1.34, false},
    {1, -9e5, 9e5, 1.32, true},
    {1, -1e5, 1e5, 1.42, true},
    {1, 1e30, 1e38, 1.00, false},
    {28, 0.7, 1.42, 0.96, false},
    {28, 1e-3, 1e3, 0.93, false},
    {28, 1e-22, 1e22, 0.95, false},
    {54, -1, 1, 0.95, false},
    {54, -160, 160, 0.89, false},
    {23, 1, 4, 1.38, false},
    {23, 1e-20, 1e20, 1.43, false},
    {55, -1.58, 1.58, 1.43e-7, false},
    {55, -3.1415926, 3.1415926, 1.27e-7, false},
    {55, -1e4, 1e4, 1.91e-7, false},
    {56, -1.58, 1.58, 1.23e-7, false},
    {56, -3.1415926, 3.1415926, 1.33e-7, false},
    {56, -1e4, 1e4, 1.31e-7, false},
};

enum { RUNS = 8 };

static double spread(const struct measured *f, int i)
{
    double whole, part = modf(i * 0.6180339887498949, &whole);
    double at = f->low + part * (f->high - f->low);
    return f->near_quarters ? rint(at / (double)(pi / 2)) * (double)(pi / 2)
                            : at;
}

static double error_of(const struct measured *m, float in, float got)
{
    const struct function *f = &floats[m->number];
    real exact = f->exact(in);
    return (double)(f->small > 0 && f->bound == 0
                        ? fabsl(got - exact)
                        : error_in_ulp(got, exact, FLT_MANT_DIG, FLT_MIN_EXP));
}

static void check_measured(const struct measured *m)
{
    static float in[COUNT], out[COUNT];
    double worst = 0;
    for (int r = 0; r < RUNS; r++) {
        for (int i = 0; i < COUNT; i++)
            in[i] = (float)spread(m, r * COUNT + i);
        run("float", m->number, out, in);
        for (int i = 0; i < COUNT; i++) {
            double error = error_of(m, in[i], out[i]);
            worst = error > worst ? error : worst;
        }
    }
    if (worst > m->bound)
        fail_msg("%s from %g to %g: %g, not %g", floats[m->number].name,
                 m->low, m->high, worst, m->bound);
}

static void check_lanes(const char *options)
{
    built_kernels(&built, "accuracy.cu", options);
    for (size_t i = 0; i < sizeof in_lanes / sizeof *in_lanes; i++)
        check_measured(&in_lanes[i]);
    built_close(&built);
}

RNL_TEST(lanes_are_as_exact_as_measured)
{
    if (!built_may_be_tier_b())
        skip();
    check_lanes("--option --tier=B");
    check_lanes("--option --tier=B --option --fmad=false");
#if defined(__x86_64__)
    check_lanes("--option --tier=B --option --target=x86-64");
#endif
}

// Whole numbers are found by adding a large one and taking it away again.
RNL_TEST(sums_are_regrouped_only_in_kernels)
{
    if (!built_may_be_tier_b())
        skip();
    check_lanes("--option --tier=B --option -fassociative-math "
                "--option -fno-signed-zeros");
}

// --- What is no number, or has no end ---------------------------------------

static const float edges[] = {
    0, -0.0f, INFINITY, -INFINITY, NAN, 1, -1, 2, -3, 0.5f, -2.5f, 8388607,
    -8388609, 16777216, 4194303.5f, -4194305, 105616, -1e30f, FLT_MAX, -FLT_MAX,
    FLT_MIN, -FLT_MIN, 1e-45f, -1e-45f, 1e-40f, -104, 128, -149, 129, 88.73f,
    38.6f, -45.2f, 0.99999994f, -1.0000001f, 10.5f, -4.2f};
enum { EDGES = sizeof edges / sizeof *edges };

static void fill_edges(float *in)
{
    for (int i = 0; i < COUNT; i++)
        in[i] = edges[i % EDGES];
}

// Zeros have the exact one's sign.
static void is_same(const char *name, float x, float got, float exact,
                    double bound)
{
    bool right = isnan(exact) ? isnan(got)
                 : exact == 0 || isinf(exact)
                     ? got == exact && !signbit(got) == !signbit(exact)
                     : error_in_ulp(got, exact, FLT_MANT_DIG, FLT_MIN_EXP) <=
                           (real)bound + 1;
    if (!right)
        fail_msg("%s(%a) is %a, not %a", name, (double)x, (double)got,
                 (double)exact);
}

RNL_TEST(floats_without_an_end_are_right)
{
    static float in[COUNT], out[COUNT];
    static const int numbers[] = {0,  1,  8,  12, 13, 14, 16, 17, 18, 23,
                                  24, 32, 33, 48, 49, 50, 51, 58, 59, 60,
                                  63, 64};
    fill_edges(in);
    built_kernels(&built, "accuracy.cu", "");
    for (int n = 0; n < (int)(sizeof numbers / sizeof *numbers); n++) {
        const struct function *f = &floats[numbers[n]];
        run("float", numbers[n], out, in);
        for (int i = 0; i < EDGES; i++)
            is_same(f->name, in[i], out[i], (float)f->exact(in[i]), f->bound);
    }
    built_close(&built);
}

RNL_TEST(powers_without_an_end_are_right)
{
    static float in[COUNT], out[COUNT];
    fill_edges(in);
    built_kernels(&built, "accuracy.cu", "");
    for (int y = 0; y < EDGES; y++) {
        in[COUNT - 1] = edges[y];
        run("float", 65, out, in);
        for (int i = 0; i < EDGES; i++)
            is_same("powf", in[i], out[i], powf(in[i], edges[y]), 4);
    }
    built_close(&built);
}

static bool is_denormal(float x)
{
    return x != 0 && fabsf(x) < FLT_MIN;
}

// Where a step of Newton's multiplies zero by infinity: each lane has a root of
// its own, or all have one, and one is known when the kernel is compiled.
static void check_roots(const char *options)
{
    static float in[COUNT], out[COUNT];
    static const float same[] = {0, -0.0f, 4, INFINITY};
    fill_edges(in);
    built_kernels(&built, "accuracy.cu", options);
    run("float", 23, out, in);
    for (int i = 0; i < EDGES; i++)
        if (!is_denormal(in[i]))
            is_same("rsqrtf", in[i], out[i], 1 / sqrtf(in[i]), 2);
    for (int i = 0; i < 4; i++) {
        in[COUNT - 1] = same[i];
        run("float", 67, out, in);
        is_same("rsqrtf", same[i], out[0], 1 / sqrtf(same[i]), 2);
        assert_true(isinf(out[1]));
    }
    built_close(&built);
}

RNL_TEST(roots_of_zero_are_infinite)
{
    check_roots("");
    check_roots("--option --use_fast_math");
    check_roots("--option --use_fast_math --option --tier=F");
#if defined(__x86_64__)
    check_roots("--option --use_fast_math --option --target=x86-64");
#endif
}

// By kernel, and number in `floats`.
static void check_alike(const char *options)
{
    static float in[COUNT], out[COUNT];
    static const int numbers[][2] = {{73, 0}, {74, 1}, {75, 28}, {76, 23}};
    static const float same[] = {1e-3f, 0.5f, 3, 100, 1e5f, 3e5f, 1e10f};
    built_kernels(&built, "accuracy.cu", options);
    for (int n = 0; n < 4; n++)
        for (int s = 0; s < 7; s++) {
            const struct function *f = &floats[numbers[n][1]];
            in[COUNT - 1] = same[s];
            run("float", numbers[n][0], out, in);
            for (int i = 0; i < COUNT; i++)
                is_same(f->name, same[s], out[i], (float)f->exact(same[s]),
                        f->bound);
        }
    built_close(&built);
}

RNL_TEST(what_all_lanes_have_alike_is_right)
{
    check_alike("");
    check_alike("--option --use_fast_math");
}

RNL_TEST(fast_sines_keep_the_sign_of_zero)
{
    static float in[COUNT], out[COUNT];
    fill_edges(in);
    built_kernels(&built, "accuracy.cu", "");
    run("float", 55, out, in);
    for (int i = 0; i < 5; i++)
        is_same("__sinf", in[i], out[i], sinf(in[i]), 0);
    built_close(&built);
}

// --- Powers that are products and roots -------------------------------------

static void check_power(float x, double y, float got)
{
    float exact = (float)pow(x, y);
    if (!is_denormal(x) && !is_denormal(exact))
        is_same("powf", x, got, exact, 4);
}

static void check_powers(const char *options)
{
    static float in[COUNT], out[COUNT];
    static const double exponents[] = {2, 0.5, -1, 3};
    fill_edges(in);
    built_kernels(&built, "accuracy.cu", options);
    for (int y = 0; y < 4; y++) {
        run("float", 68 + y, out, in);
        for (int i = 0; i < EDGES; i++)
            check_power(in[i], exponents[y], out[i]);
    }
    for (int y = -3; y < 6; y++) {
        in[COUNT - 1] = (float)y;
        run("float", 72, out, in);
        for (int i = 0; i < EDGES; i++)
            check_power(in[i], y, out[i]);
    }
    built_close(&built);
}

RNL_TEST(powers_of_negative_numbers_are_right)
{
    check_powers("");
    check_powers("--option --use_fast_math");
}

// --- Denormal numbers that count as zero ------------------------------------

// Of functions that take numbers apart by their bits.
static void check_flushed(const char *options)
{
    static float in[COUNT], out[COUNT];
    static const int numbers[] = {0, 3, 16, 17, 18, 20};
    for (int i = 0; i < COUNT; i++)
        in[i] = i % 2 ? 1e-40f : -1e-45f;
    built_kernels(&built, "accuracy.cu", options);
    for (int n = 0; n < 6; n++) {
        const struct function *f = &floats[numbers[n]];
        run("float", numbers[n], out, in);
        for (int i = 0; i < 2; i++)
            is_same(f->name, in[i], out[i], (float)f->exact(i ? 0 : -0.0f), 0);
    }
    fill_edges(in);
    in[COUNT - 1] = 1e-45f;
    run("float", 65, out, in);
    for (int i = 0; i < EDGES; i++)
        is_same("powf", in[i], out[i], powf(in[i], 0), 0);
    built_close(&built);
}

RNL_TEST(denormal_operands_are_flushed)
{
    check_flushed("--option --ftz=true");
    check_flushed("--option --ftz=true --option --tier=F");
}

// --- Angles of some lanes ---------------------------------------------------

// What number i of kernel 66 adds up.
static real sum_of_angles(int i, real x)
{
    real sum = i % 3 == 0   ? sinl(x) + sinl(2 * x) + sinl(4 * x)
               : i % 3 == 1 ? sinl(8 * x) + sinl(16 * x) + cosl(x)
                            : cosl(2 * x);
    if (i % 2)
        sum += cosl(4 * x) + cosl(8 * x) + cosl(16 * x) + sinl(32 * x);
    return sum;
}

// Some are huge, and then all.
RNL_TEST(huge_angles_of_some_lanes_are_right)
{
    static float in[COUNT], out[COUNT];
    built_kernels(&built, "accuracy.cu", "");
    for (int every = 1; every <= 37; every += 12) {
        for (int i = 0; i < COUNT; i++)
            in[i] = (float)i / 64 * (i % every == 0 ? 1e6f : 1);
        run("float", 66, out, in);
        for (int i = 0; i < COUNT; i++)
            if (!(fabsl(out[i] - sum_of_angles(i, in[i])) < 2e-6L))
                fail_msg("at %g: %.9g, not %.9Lg", (double)in[i],
                         (double)out[i], sum_of_angles(i, in[i]));
    }
    built_close(&built);
}

RNL_TEST(doubles_are_within_the_documented_errors)
{
    static double in[COUNT], out[COUNT];
    built_kernels(&built, "accuracy.cu", "");
    for (int f = 0; f < (int)(sizeof doubles / sizeof *doubles); f++) {
        for (int i = 0; i < COUNT; i++)
            in[i] = input(&doubles[f], i);
        run("double", f, out, in);
        for (int i = 0; i < COUNT; i++)
            compare(&doubles[f], in[i], out[i], DBL_MANT_DIG, DBL_MIN_EXP);
    }
    built_close(&built);
}

static double cube_root_of(double x, double *out, double *in)
{
    for (int i = 0; i < COUNT; i++)
        in[i] = x;
    run("double", 34, out, in);
    return out[0];
}

// Where a step of Newton's would divide zero by zero, or infinities.
RNL_TEST(cube_roots_of_all_doubles_are_right)
{
    static double in[COUNT], out[COUNT];
    built_kernels(&built, "accuracy.cu", "");
    const double exact[] = {0, -0.0, INFINITY, -INFINITY, DBL_MAX, -DBL_MAX};
    for (int i = 0; i < (int)(sizeof exact / sizeof *exact); i++) {
        double root = cube_root_of(exact[i], out, in);
        assert_true(root == cbrt(exact[i]) &&
                    !signbit(root) == !signbit(exact[i]));
    }
    assert_true(isnan(cube_root_of(NAN, out, in)));
    built_close(&built);
}
