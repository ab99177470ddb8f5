// Special functions that libm lacks, for doubles; floats go through them. Their
// errors stay below those that CUDA documents.

#define RNL_SPECIAL(name)                                           \
    RNL_INLINE float name##f(float x) { return float(name(double(x))); } \
    RNL_INLINE float name(float x) { return name##f(x); }

// --- Inverse error functions -----------------------------------------------

// The y with erfc(y) == x for 0 < x <= 1, in steps on its logarithm, which is
// nearly a parabola.
static __attribute__((unused)) double rnl_erfcinv(double x)
{
    const double goal = log(x);
    double y = sqrt(0.5 * (sqrt(4.0 + goal * goal * 4.0) - 2.0));
    for (int i = 0; i < 8; i++) {
        double here = erfc(y);
        if (here == 0.0) {
            y *= 0.95;
            continue;
        }
        double slope = 1.12837916709551257390 * exp(-y * y) / here;
        double step = fabs(here - x) < 0.1 * x ? (here - x) / x
                                               : log(here) - goal;
        y += step / slope;
        if (fabs(step) < 1e-16)
            break;
    }
    return y;
}
static __attribute__((unused)) double erfinv(double x)
{
    if (!(fabs(x) < 1.0))
        return fabs(x) == 1.0 ? x * (double)INFINITY : (double)NAN;
    if (fabs(x) > 0.5)
        return copysign(rnl_erfcinv(1.0 - fabs(x)), x);
    if (fabs(x) < 1e-9)
        return x * 0.88622692545275801365;
    double y = x * (0.886226925 + 0.232013666 * x * x);
    for (int i = 0; i < 4; i++) {
        double step = (erf(y) - x) * 0.88622692545275801365 * exp(y * y);
        y -= step / (1.0 + y * step);
    }
    return y;
}
static __attribute__((unused)) double erfcinv(double x)
{
    if (!(x >= 0.0 && x <= 2.0))
        return (double)NAN;
    if (x == 0.0 || x == 2.0)
        return x == 0.0 ? (double)INFINITY : -(double)INFINITY;
    if (x >= 0.5 && x <= 1.5)
        return erfinv(1.0 - x);
    return x < 1.0 ? rnl_erfcinv(x) : -rnl_erfcinv(2.0 - x);
}
RNL_INLINE double normcdfinv(double x)
{
    return -1.41421356237309504880 * erfcinv(2.0 * x);
}
static __attribute__((unused)) double erfcx(double x)
{
    if (x < -27.0)
        return (double)INFINITY;
    if (x < 25.0) {
        double square = x * x;
        double rest = fma(x, x, -square);
        return exp(square) * (erfc(x) * (1.0 + rest));
    }
    double sum = 1.0, term = 1.0;
    for (int k = 1; k < 9; k++) {
        term *= (1.0 - 2.0 * k) * (0.5 / x) / x;
        sum += term;
    }
    return 0.56418958354775628695 / x * sum;
}
RNL_SPECIAL(erfinv)
RNL_SPECIAL(erfcinv)
RNL_SPECIAL(normcdfinv)
RNL_SPECIAL(erfcx)

// --- Modified Bessel functions ---------------------------------------------

// Bessel functions of order 0 or 1, for x >= 0: the power series, whose terms
// are all positive, or the asymptotic series.
static __attribute__((unused)) double rnl_bessel(double x, int order)
{
    double term = 1.0, sum = 1.0;
    if (x < 25.0) {
        for (int k = 1; term > 1e-17 * sum; k++) {
            term *= 0.25 * x * x / (double(k) * double(k + order));
            sum += term;
        }
        return order ? 0.5 * x * sum : sum;
    }
    for (int k = 1; k < 50 && fabs(term) > 1e-17; k++) {
        double odd = 2.0 * k - 1.0;
        term *= (odd * odd - 4.0 * order) / (8.0 * k * x);
        sum += term;
    }
    if (x > 720.0)
        return (double)INFINITY;
    sum /= sqrt(6.28318530717958647693 * x);
    if (x < 700.0)
        return exp(x) * sum;
    double root = exp(0.5 * x);
    return root * sum * root;
}
RNL_INLINE double cyl_bessel_i0(double x) { return rnl_bessel(fabs(x), 0); }
RNL_INLINE double cyl_bessel_i1(double x)
{
    return copysign(rnl_bessel(fabs(x), 1), x);
}
RNL_SPECIAL(cyl_bessel_i0)
RNL_SPECIAL(cyl_bessel_i1)

// --- Norms -----------------------------------------------------------------

// Norms of any length, scaled so that neither squares nor their sum overflow.
static __attribute__((unused)) double norm(int count, const double *values)
{
    double most = 0.0, sum = 0.0;
    bool infinite = false;
    for (int i = 0; i < count; i++) {
        most = fmax(most, fabs(values[i]));
        infinite |= __builtin_isinf(values[i]) != 0;
    }
    if (infinite || most == 0.0)
        return most;
    int exponent;
    frexp(most, &exponent);
    for (int i = 0; i < count; i++) {
        double value = ldexp(values[i], -exponent);
        sum = fma(value, value, sum);
    }
    return ldexp(sqrt(sum), exponent);
}
static __attribute__((unused)) float normf(int count, const float *values)
{
    double sum = 0.0;
    bool infinite = false;
    for (int i = 0; i < count; i++) {
        sum += double(values[i]) * double(values[i]);
        infinite |= __builtin_isinf(values[i]) != 0;
    }
    return infinite ? INFINITY : float(sqrt(sum));
}
RNL_INLINE float norm(int count, const float *p) { return normf(count, p); }
RNL_INLINE double rnorm(int count, const double *p)
{
    return 1.0 / norm(count, p);
}
RNL_INLINE float rnormf(int count, const float *p)
{
    return 1.0f / normf(count, p);
}
RNL_INLINE float rnorm(int count, const float *p) { return rnormf(count, p); }
RNL_INLINE double norm4d(double x, double y, double z, double w)
{
    const double values[] = {x, y, z, w};
    return norm(4, values);
}
RNL_INLINE float norm4df(float x, float y, float z, float w)
{
    const float values[] = {x, y, z, w};
    return normf(4, values);
}
RNL_INLINE double rnorm4d(double x, double y, double z, double w)
{
    return 1.0 / norm4d(x, y, z, w);
}
RNL_INLINE float rnorm4df(float x, float y, float z, float w)
{
    return 1.0f / norm4df(x, y, z, w);
}
