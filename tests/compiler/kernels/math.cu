// Math functions against libm, and integer intrinsics.
#define CASE(number, value) case number: out[i] = value; break;

extern "C" __global__ void math_float(float *out, const float *in, int which)
{
    int i = threadIdx.x;
    float x = in[i];
    switch (which) {
        CASE(0, sinf(x))
        CASE(1, cos(x))
        CASE(2, expf(x))
        CASE(3, log(x))
        CASE(4, sqrtf(x))
        CASE(5, rsqrtf(x))
        CASE(6, powf(x, 1.5f))
        CASE(7, tanhf(x))
        CASE(8, fabsf(-x))
        CASE(9, __expf(x))
        CASE(10, __logf(x))
        CASE(11, __sinf(x))
        CASE(12, __cosf(x))
        CASE(13, __powf(x, 2.0f))
        CASE(14, __fdividef(x, 3.0f))
        CASE(15, atan2f(x, 2.0f))
        CASE(16, erff(x))
        CASE(17, cbrtf(x))
        CASE(18, floorf(x) + ceil(x) + truncf(x) + rint(x))
        CASE(19, fminf(x, 1.0f) + fmaxf(x, 2.0f))
        CASE(20, min(x, 1.0f) + max(x, 2.0f))
        CASE(21, __saturatef(x - 0.5f))
        CASE(22, __fmaf_rn(x, x, -1.0f))
        CASE(23, log2f(x) + exp2(x) + log1pf(x))
        CASE(24, hypotf(x, 4.0f))
        CASE(25, fmodf(x, 0.75f))
    }
}

extern "C" __global__ void math_double(double *out, const double *in, int which)
{
    int i = threadIdx.x;
    double x = in[i];
    switch (which) {
        CASE(0, sin(x))
        CASE(1, cos(x))
        CASE(2, exp(x))
        CASE(3, log(x))
        CASE(4, sqrt(x))
        CASE(5, rsqrt(x))
        CASE(6, pow(x, 1.5))
        CASE(7, tanh(x))
        CASE(8, fma(x, x, -1.0))
        CASE(9, lgamma(x))
        CASE(10, normcdf(x))
        CASE(11, erfc(x))
    }
}

extern "C" __global__ void math_integers(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    unsigned u = (unsigned)in[t];
    int *o = out + 20 * t;
    o[0] = __popc(u);
    o[1] = __clz(in[t]);
    o[2] = __ffs(in[t]);
    o[3] = (int)__brev(u);
    o[4] = __mulhi(in[t], 1 << 20);
    o[5] = (int)__umulhi(u, 1u << 20);
    o[6] = __mul24(in[t], 3);
    o[7] = (int)__byte_perm(u, 0x44332211u, 0xf258);
    o[8] = (int)__funnelshift_l(u, 0x12345678u, 8);
    o[9] = (int)__funnelshift_r(u, 0x12345678u, 8);
    o[10] = __float_as_int(1.5f);
    o[11] = (int)__int_as_float(0x40400000);
    o[12] = __float2int_rn(2.5f) * 1000 + __float2int_rz(2.9f) * 100 +
            __float2int_ru(2.1f) * 10 + __float2int_rd(2.9f);
    o[13] = __popcll((unsigned long long)u << 20);
    o[14] = __clzll((long long)u) + __ffsll((long long)u << 8);
    o[15] = (int)(__brevll(u) >> 32);
    o[16] = min(in[t], 7) + max(7, in[t]) + min(7u, u) + abs(-in[t]);
    o[17] = (int)__ldg(in + t);
    o[18] = __float2int_rn(3e10f) == 2147483647 && __float2int_rz(nanf("")) == 0;
    o[19] = isnan(nanf("")) + 2 * isinf(INFINITY) + 4 * isfinite(1.0f) +
            8 * !isnan(1.0);
}

// Products that must be rounded by themselves, and those that may be fused.
extern "C" __global__ void math_rounding(float *out, float a, float b, float c)
{
    out[0] = __fadd_rn(__fmul_rn(a, b), c);
    out[1] = fmaf(a, b, c);
    out[2] = a * b + c;
}
