// Integer and float arithmetic: widths, casts, division, shifts, bits.

#ifndef NAN  // NVRTC has no header that says so
#define NAN __int_as_float(0x7fc00000)
#define INFINITY __int_as_float(0x7f800000)
#endif

// @run unsigned n=256 grid=2 block=128
extern "C" __global__ void divide_unsigned(unsigned *out, const unsigned *in,
                                           int n)
{
    unsigned i = blockIdx.x * 128 + threadIdx.x, d = (in[i] >> 20) + 1;
    out[i] = in[n - 1 - i] / d + in[i] % d * 3 + in[i] / 7 + in[i] % 10;
}

// @run int n=256 grid=2 block=128
extern "C" __global__ void divide_signed(int *out, const int *in, int n)
{
    int i = blockIdx.x * 128 + threadIdx.x, d = in[i] == 0 ? 1 : in[i];
    int x = in[n - 1 - i] * 1000;
    out[i] = x / d - x % d + x / -9 + x % 16 + x / 8;
}

// Only some threads divide, the others would by 0.
// @run int n=256 grid=2 block=128
extern "C" __global__ void divide_guarded(int *out, const int *in, int n)
{
    int i = blockIdx.x * 128 + threadIdx.x, d = in[i] / 300, value = 5;
    if (d != 0)
        value = 1000 / d + 1001 % d;
    out[i] = d > 0 ? value / d : value;
}

// @run long long n=256 grid=2 block=128
extern "C" __global__ void divide_wide(long long *out, const long long *in,
                                       int n)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    long long d = in[n - 1 - i] / 1000 | 1;
    unsigned long long u = (unsigned long long)in[i];
    out[i] = in[i] / d + in[i] % d + (long long)(u / 1000003 + u % 17) +
             in[i] / (i + 1);
}

// @run unsigned n=256 grid=2 block=128
extern "C" __global__ void shifts(unsigned *out, const unsigned *in, int n)
{
    unsigned i = blockIdx.x * 128 + threadIdx.x, v = in[i], s = v & 31u;
    unsigned signed_part = (unsigned)((int)v >> s) + (unsigned)((int)v >> 3);
    out[i] = (v << s) ^ (v >> (31u - s)) ^ signed_part ^ (1u << (i & 31u)) ^
             (v << 7 | v >> 25);
}

// The constants are more than a function has without calls.
// @run long long n=256 grid=2 block=128
extern "C" __global__ void divide_by_wide_constants(long long *out,
                                                    const long long *in, int n)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    unsigned long long edges[] = {0, ~0ull, 1ull << 63, (1ull << 63) - 1};
    unsigned long long u = (unsigned long long)in[i] * 0x9e3779b97f4a7c15ull;
    if (i % 8 < 4)
        u = edges[i % 4] + i / 64;
    long long s = (long long)u;
    unsigned long long hash = u / 3;
    hash = hash * 31 + u % 7;
    hash = hash * 31 + u / 0xfffffffffffffffbull;
    hash = hash * 31 + u / 0x8000000000000001ull;
    hash = hash * 31 + u % 0x7fffffffffffffffull;
    hash = hash * 31 + u / 1000000007 % 0xffffffff00000001ull;
    hash = hash * 31 + (unsigned long long)(s / -3);
    hash = hash * 31 + (unsigned long long)(s % 10);
    hash = hash * 31 + (unsigned long long)(s / 86400);
    hash = hash * 31 + (unsigned long long)(s % -1000003);
    hash = hash * 31 + (unsigned long long)(s / 0x7fffffffffffffffll);
    hash = hash * 31 + (unsigned long long)(s / -0x7fffffffffffffffll);
    out[i] = (long long)hash;
}

// Only some threads divide, the others would by 0.
// @run long long n=256 grid=2 block=128
extern "C" __global__ void divide_wide_guarded(long long *out,
                                               const long long *in, int n)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    long long d = (in[i] >> 30) % 9, value = 5;
    if (d != 0)
        value = in[n - 1 - i] / d + (long long)((unsigned long long)in[i] % d);
    out[i] = value * 3 + d;
}

// @run long long n=256 grid=2 block=128
extern "C" __global__ void shifts_wide(long long *out, const long long *in,
                                       int n)
{
    int i = blockIdx.x * 128 + threadIdx.x, s = (int)(in[i] & 63);
    unsigned long long u = (unsigned long long)in[i];
    out[i] = (long long)(u << s ^ u >> s) ^ in[i] >> (s & 31) ^
             (long long)(1ull << (i & 63));
}

// @run unsigned n=256 grid=2 block=128
extern "C" __global__ void bits(unsigned *out, const unsigned *in, int n)
{
    unsigned i = blockIdx.x * 128 + threadIdx.x;
    unsigned v = i & 1 ? in[i] : in[i] & 0xff0u;
    out[i] = __popc(v) + __clz((int)v) * 64 + __ffs((int)v) * 4096 +
             (__brev(v) ^ __byte_perm(v, in[n - 1 - i], v));
}

// @run long long n=256 grid=2 block=128
extern "C" __global__ void bits_wide(long long *out, const long long *in, int n)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    long long v = i % 3 ? in[i] : in[i] & 0xff000;
    out[i] = __popcll((unsigned long long)v) + __clzll(v) * 128 +
             __ffsll(v) * 65536 +
             (long long)(__brevll((unsigned long long)v) >> 8);
}

// @run unsigned n=256 grid=2 block=128
extern "C" __global__ void high_products(unsigned *out, const unsigned *in,
                                         int n)
{
    unsigned i = blockIdx.x * 128 + threadIdx.x, a = in[i], b = in[n - 1 - i];
    unsigned long long wide = (unsigned long long)a * b;
    out[i] = __umulhi(a, b) ^ (unsigned)__mulhi((int)a, (int)b) ^
             (unsigned)(wide >> 13) ^ __umul24(a, b) ^
             (unsigned)__mul24((int)a, (int)b) ^
             (unsigned)__umul64hi(wide, (unsigned long long)b << 32);
}

// @run unsigned n=256 grid=2 block=128
extern "C" __global__ void helpers(unsigned *out, const unsigned *in, int n)
{
    unsigned i = blockIdx.x * 128 + threadIdx.x, a = in[i], b = in[n - 1 - i];
    out[i] = __usad(a, b, i) + __uhadd(a, b) +
             (unsigned)__rhadd((int)a, (int)b) +
             __funnelshift_l(a, b, a) + __funnelshift_r(a, b, b & 31u) +
             __sad((int)a / 2, (int)b / 2, 3u);
}

// @run int n=256 grid=2 block=128
extern "C" __global__ void extremes(int *out, const int *in, int n)
{
    int i = blockIdx.x * 128 + threadIdx.x, a = in[i], b = in[n - 1 - i];
    unsigned u = max((unsigned)a, 5u) - min((unsigned)b, 100u);
    out[i] = min(a, b) * 3 + max(a, b) + abs(a - b) + (int)(u & 0xffffu) +
             (int)min(a * (1ll << 33), (long long)b);
}

// @run int n=256 grid=2 block=128
extern "C" __global__ void casts(int *out, const int *in, int n)
{
    int i = blockIdx.x * 128 + threadIdx.x, v = in[i] * 12345;
    int sum = (signed char)v + (unsigned char)v * 2 + (short)v * 3;
    sum += (unsigned short)v + (int)(v != 0) + (char)(v >> 4);
    sum += (int)((long long)v * 70000 >> 20) + (int)(unsigned)(unsigned char)-v;
    out[i] = sum;
}

// @run float n=256 grid=2 block=128
extern "C" __global__ void float_casts(float *out, const float *in, int n)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    float v = in[i];
    float sum = (float)(int)v + (float)(unsigned)fabsf(v) + (float)(short)v;
    sum += (float)(long long)(v * 1000.0f) + (float)(double)v;
    sum += (float)(unsigned long long)(fabsf(v) * 3.0f) + (float)(v > 1.0f);
    out[i] = sum + (float)(i * 123456789u) + (float)(1ull << (i & 63));
}

// @run double n=256 grid=2 block=128
extern "C" __global__ void double_casts(double *out, const double *in, int n)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    double v = in[i] / 3;
    out[i] = (double)(float)v + (double)(long long)(v * 1e6) + (int)v +
             __longlong_as_double(__double_as_longlong(v) ^ 1) +
             __hiloint2double(__double2hiint(v), 7);
}

// @run float n=256 grid=2 block=128
extern "C" __global__ void rounded_to_int(float *out, const float *in, int n)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    float v = i == 9 ? NAN : i == 10 ? 1e20f : i == 11 ? -1e20f : in[i];
    out[i] = __float2int_rn(v) * 0.5f + __float2int_rz(v) + __float2int_ru(v) +
             __float2int_rd(v) + (float)__float2uint_rz(v) +
             (float)__float2ll_rn(v);
}

// @run float n=256 grid=2 block=128
extern "C" __global__ void float_bits(float *out, const float *in, int n)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    unsigned u = __float_as_uint(in[i]);
    unsigned exponent = u >> 23 & 255u;
    out[i] = __uint_as_float((u & 0x807fffffu) | (exponent / 2 + 60u) << 23) +
             (float)exponent;
}

// @run float n=256 grid=2 block=128
extern "C" __global__ void float_compares(float *out, const float *in, int n)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    float a = i % 5 ? in[i] : NAN, b = i % 7 ? in[n - 1 - i] : INFINITY;
    int bits = (a < b) | (a <= b) << 1 | (a == b) << 2 | (a != b) << 3 |
               !(a > b) << 4 | !(a >= b) << 5 | isnan(a) << 6 | isinf(b) << 7 |
               signbit(a - 1.0f > 0.0f ? -1.0f : b) << 8;
    out[i] = (float)bits;
}

// @run float n=256 grid=2 block=128
extern "C" __global__ void exact_forms(float *out, const float *in, int n)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    float a = in[i] * 0.1f, b = in[n - 1 - i] * 0.3f + 1000.0f;
    out[i] = __fadd_rn(__fmul_rn(a, b), a) + __fdiv_rn(a, b) +
             __fsqrt_rn(b) + __fmaf_rn(a, b, -a) + __fsub_rn(a, b);
}

// @run unsigned n=512 grid=4 block=128
extern "C" __global__ void hash(unsigned *out, const unsigned *in, int n)
{
    unsigned i = blockIdx.x * 128 + threadIdx.x, h = 2166136261u;
    for (int k = 0; k < 4; k++) {
        h ^= in[i] >> (8 * k) & 255u;
        h *= 16777619u;
    }
    unsigned long long state = in[i] | 1ull << 40;
    for (int k = 0; k < 10; k++)
        state = state * 6364136223846793005ull + 1442695040888963407ull;
    out[i] = h ^ (unsigned)(state >> 33);
}

// @run long long n=128 grid=1 block=128
extern "C" __global__ void power_modulo(long long *out, const long long *in,
                                        int n)
{
    unsigned long long base = (unsigned long long)in[threadIdx.x] % 1000003;
    unsigned long long result = 1;
    for (unsigned e = threadIdx.x * 37 + 1; e; e >>= 1) {
        if (e & 1)
            result = result * base % 1000003;
        base = base * base % 1000003;
    }
    out[threadIdx.x] = (long long)result;
}

// Numbers beyond the ends of a type become its ends.
// @run long long n=320 block=64
extern "C" __global__ void too_large(long long *out, const long long *in, int n)
{
    int t = threadIdx.x;
    float x = (float)in[t] * 1e30f;
    out[t] = (int)(x);
    out[t + 64] = (unsigned)(x);
    out[t + 128] = (long long)(x);
    out[t + 192] = (long long)(unsigned long long)((double)x * 1e30);
    out[t + 256] = (int)(-x);
}
