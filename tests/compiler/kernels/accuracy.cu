// Functions of one number, by their number in the table of accuracy.c.
#define CASE(number, value) case number: out[i] = value; break;

extern "C" __global__ void accuracy_float(float *out, const float *in,
                                          int which)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i], y;
    switch (which) {
        CASE(0, sinf(x))
        CASE(1, cosf(x))
        CASE(2, tanf(x))
        CASE(3, asinf(x))
        CASE(4, acosf(x))
        CASE(5, atanf(x))
        CASE(6, sinhf(x))
        CASE(7, coshf(x))
        CASE(8, tanhf(x))
        CASE(9, asinhf(x))
        CASE(10, acoshf(x))
        CASE(11, atanhf(x))
        CASE(12, expf(x))
        CASE(13, exp2f(x))
        CASE(14, exp10f(x))
        CASE(15, expm1f(x))
        CASE(16, logf(x))
        CASE(17, log2f(x))
        CASE(18, log10f(x))
        CASE(19, log1pf(x))
        CASE(20, cbrtf(x))
        CASE(21, rcbrtf(x))
        CASE(22, sqrtf(x))
        CASE(23, rsqrtf(x))
        CASE(24, erff(x))
        CASE(25, erfcf(x))
        CASE(26, lgammaf(x))
        CASE(27, tgammaf(x))
        CASE(28, powf(x, 1.7f))
        CASE(29, hypotf(x, 3.0f))
        CASE(30, rhypotf(x, 3.0f))
        CASE(31, atan2f(x, 3.0f))
        CASE(32, sinpif(x))
        CASE(33, cospif(x))
        CASE(34, normcdff(x))
        CASE(35, erfinvf(x))
        CASE(36, erfcinvf(x))
        CASE(37, normcdfinvf(x))
        CASE(38, erfcxf(x))
        CASE(39, cyl_bessel_i0f(x))
        CASE(40, cyl_bessel_i1f(x))
        CASE(41, norm3df(x, 2.0f, 3.0f))
        CASE(42, rnorm4df(x, 2.0f, 3.0f, -1.0f))
        CASE(43, fmodf(x, 0.3f))
        CASE(44, j0f(x))
        CASE(45, j1f(x))
        CASE(46, y0f(x))
        CASE(47, y1f(x))
        case 48: sincospif(x, &y, out + i); break;
        case 49: sincospif(x, out + i, &y); break;
        case 50: sincosf(x, out + i, &y); break;
    }
}

extern "C" __global__ void accuracy_double(double *out, const double *in,
                                           int which)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double x = in[i];
    switch (which) {
        CASE(0, sinpi(x))
        CASE(1, cospi(x))
        CASE(2, normcdf(x))
        CASE(3, erfinv(x))
        CASE(4, erfcinv(x))
        CASE(5, normcdfinv(x))
        CASE(6, erfcx(x))
        CASE(7, cyl_bessel_i0(x))
        CASE(8, cyl_bessel_i1(x))
        CASE(9, norm4d(x, 2.0, 3.0, -1.0))
        CASE(10, rnorm3d(x, 2.0, 3.0))
        CASE(11, rcbrt(x))
        CASE(12, exp(x))
        CASE(13, log(x))
        CASE(14, sin(x))
        CASE(15, cos(x))
        CASE(16, tan(x))
        CASE(17, asin(x))
        CASE(18, acos(x))
        CASE(19, atan(x))
        CASE(20, erf(x))
        CASE(21, exp2(x))
        CASE(22, expm1(x))
        CASE(23, log1p(x))
        CASE(24, log2(x))
        CASE(25, acosh(x))
        CASE(26, asinh(x))
        CASE(27, atanh(x))
        CASE(28, sinh(x))
        CASE(29, pow(x, double(1.7f)))
        CASE(30, hypot(x, 3.0))
        CASE(31, cbrt(x))
        CASE(32, cosh(x))
        CASE(33, tanh(x))
        CASE(34, exp10(x))
        CASE(35, log10(x))
        CASE(36, erfc(x))
        CASE(37, atan2(x, 3.0))
    }
}
