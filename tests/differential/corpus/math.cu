// Math functions. Those that a vectorising compiler may take from another
// library have a tolerance.

// @run float n=256 grid=2 block=128
extern "C" __global__ void rounding(float *out, const float *in, int n)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    float v = in[i];
    out[i] = floorf(v) + 2 * ceilf(v) + 4 * truncf(v) + 8 * rintf(v) +
             16 * roundf(v) + 32 * nearbyintf(v);
}

// @run float n=256 grid=2 block=128
extern "C" __global__ void plain_functions(float *out, const float *in, int n)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    float a = in[i], b = in[n - 1 - i] + 0.5f;
    out[i] = fabsf(a) + sqrtf(fabsf(b)) + fminf(a, b) + fmaxf(a, 3.0f) +
             copysignf(a, b) + fmaf(a, b, 1.0f) + fdimf(a, b);
}

// @run float n=256 grid=2 block=128 ulp=4
extern "C" __global__ void exponentials(float *out, const float *in, int n)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    out[i] = i % 3 == 0   ? expf(in[i] * 0.05f)
             : i % 3 == 1 ? exp2f(in[i] * 0.1f)
                          : powf(fabsf(in[i]) + 0.25f, 1.5f);
}

// @run float n=256 grid=2 block=128 ulp=4
extern "C" __global__ void logarithms(float *out, const float *in, int n)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    float v = fabsf(in[i]) + 2.0f;
    out[i] = i % 3 == 0 ? logf(v) : i % 3 == 1 ? log2f(v) : log10f(v);
}

// @run float n=256 grid=2 block=128 ulp=4
extern "C" __global__ void sines(float *out, const float *in, int n)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    out[i] = i & 1 ? sinf(in[i] * 0.02f) : cosf(in[i] * 0.01f);
}

// @run float n=256 grid=2 block=128 ulp=8
extern "C" __global__ void arcs(float *out, const float *in, int n)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    float v = in[i] / 130.0f;
    switch (i & 3) {
    case 0: out[i] = asinf(v); break;
    case 1: out[i] = acosf(v); break;
    case 2: out[i] = atan2f(v, 0.3f); break;
    default: out[i] = tanhf(v * 3.0f);
    }
}

// @run double n=256 grid=2 block=128 ulp=4
extern "C" __global__ void double_functions(double *out, const double *in,
                                            int n)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    double v = fabs(in[i]) + 0.5;
    switch (i & 3) {
    case 0: out[i] = exp(v * 0.1); break;
    case 1: out[i] = log(v); break;
    case 2: out[i] = sin(v); break;
    default: out[i] = pow(v, 0.3);
    }
}

// @run float n=256 grid=2 block=128
extern "C" __global__ void taking_apart(float *out, const float *in, int n)
{
    int i = blockIdx.x * 128 + threadIdx.x, exponent = 0;
    float whole = 0.0f, part = modff(in[i], &whole);
    float mantissa = frexpf(in[i] + 0.5f, &exponent);
    out[i] = part * 2 + whole + ldexpf(mantissa, exponent & 7) +
             fmodf(in[i], 7.0f) + (float)ilogbf(fabsf(in[i]) + 1.0f);
}

// Numbers of every exponent, by their bits.
// @run float n=1024 grid=4 block=128
extern "C" __global__ void mantissas(float *out, const float *in, int n)
{
    int i = blockIdx.x * 128 + threadIdx.x, exponent;
    unsigned bits = __float_as_uint(in[i]) & 0x807fffffu;
    float number = __uint_as_float(bits | (i & 255) << 23);
    float mantissa = frexpf(number, &exponent);
    out[i] = mantissa == mantissa ? mantissa : 3.0f;
    out[512 + i] = exponent;
}

// @run float n=256 grid=2 block=128
extern "C" __global__ void quotients(float *out, const float *in, int n)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    float a = in[i], b = in[n - 1 - i];
    out[i] = a / (b + 0.0625f) + 1.0f / (a * a + 1.0f) + a / 3.0f;
}

// @run double n=256 grid=2 block=128
extern "C" __global__ void double_plain(double *out, const double *in, int n)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    double a = in[i], b = in[n - 1 - i] + 0.03;
    out[i] = a / b + sqrt(fabs(a)) + floor(a / 3) + fma(a, b, 0.1) +
             (a > b ? a : b) + fmin(a, b);
}

// @run float n=128 grid=1 block=128 ulp=16
extern "C" __global__ void square_root_by_newton(float *out, const float *in,
                                                 int n)
{
    float v = fabsf(in[threadIdx.x]) + 1.0f, x = v;
    for (int k = 0; k < 40; k++) {
        float next = 0.5f * (x + v / x);
        if (next == x)
            break;
        x = next;
    }
    out[threadIdx.x] = x;
}

// @run float n=256 grid=2 block=128
extern "C" __global__ void polynomial(float *out, const float *in, int n)
{
    const float factors[6] = {0.5f, -1.25f, 0.125f, 3.0f, -0.75f, 1.0f};
    int i = blockIdx.x * 128 + threadIdx.x;
    float x = in[i] * 0.01f, sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 6; k++)
        sum = sum * x + factors[k];
    out[i] = sum;
}
