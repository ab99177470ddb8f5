// Functions that have one right result, bit by bit: those of words, of their
// parts, and of floats with all roundings.

// The words of `in`, and of every fifth one that is awkward for somebody.
__device__ unsigned awkward(unsigned x)
{
    const unsigned words[16] = {
        0u, 1u, 0xffffffffu, 0x80000000u, 0x7fffffffu, 0x7f800000u,
        0xff800000u, 0x7fc00000u, 0x00000003u, 0x807fffffu, 0x3f800000u,
        0xbf000000u, 0x4effffffu, 0x4f000000u, 0xcf000000u, 0x80808080u};
    return x % 5u ? x : words[(x >> 8) & 15u];
}

// Signalling NaNs are nobody's business.
__device__ float number(unsigned word)
{
    return __uint_as_float((word & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u
                                                              : word);
}

// Which NaN it is does not count.
__device__ unsigned bits(float x)
{
    return x != x ? 0x7fc00000u : __float_as_uint(x);
}

#define CASE(number, value) case number: r = value; break;

// Four of them: the function with each rounding, and what is made of that.
#define MODES(number, to, name, ...)          \
    CASE(number, to(name##_rn(__VA_ARGS__)))     \
    CASE(number + 1, to(name##_rz(__VA_ARGS__))) \
    CASE(number + 2, to(name##_ru(__VA_ARGS__))) \
    CASE(number + 3, to(name##_rd(__VA_ARGS__)))

// Casts of what does not fit are not the same in tier F.
template <class T> __device__ T small(T x)
{
    return x < T(120) && x > T(-120) ? x : T(77.75);
}

// @run unsigned n=4096 grid=16 block=256
extern "C" __global__ void words(unsigned *out, const unsigned *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = awkward(in[i]), b = awkward(in[n - 1 - i]);
    unsigned c = awkward(in[i * 7 % n]), r = 0u;
    switch (i % 37) {
    case 0: r = __popc(a); break;
    case 1: r = __popcll((unsigned long long)a << 32 | b); break;
    case 2: r = __clz((int)a); break;
    case 3:
        r = __clzll((long long)((unsigned long long)a << 32 | b) >> (c & 63u));
        break;
    case 4: r = __ffs((int)(a << (c & 31u))); break;
    case 5: r = __ffsll((long long)((unsigned long long)a << 32)); break;
    case 6: r = __brev(a); break;
    case 7: r = (unsigned)(__brevll(a) >> 20); break;
    case 8: r = __mulhi((int)a, (int)b); break;
    case 9: r = __umulhi(a, b); break;
    case 10:
        r = (unsigned)__mul64hi((long long)a << 31 ^ b, (long long)b << 30 ^ a);
        break;
    case 11:
        r = (unsigned)__umul64hi((unsigned long long)a << 32 | c,
            (unsigned long long)b << 32 | a);
        break;
    case 12: r = __mul24((int)a, (int)b); break;
    case 13: r = __umul24(a, b); break;
    case 14: r = __hadd((int)a, (int)b); break;
    case 15: r = __rhadd((int)a, (int)b); break;
    case 16: r = __uhadd(a, b); break;
    case 17: r = __urhadd(a, b); break;
    case 18: r = __sad((int)a, (int)b, c); break;
    case 19: r = __usad(a, b, c); break;
    case 20: r = __byte_perm(a, b, c); break;
    case 21: r = __funnelshift_l(a, b, c); break;
    case 22: r = __funnelshift_r(a, b, c); break;
    case 23: r = __funnelshift_lc(a, b, c & 63u); break;
    case 24: r = __funnelshift_rc(a, b, c & 63u); break;
    case 25: r = (unsigned)abs((int)a); break;
    case 26: r = (unsigned)(labs((long)(int)a) >> 1); break;
    case 27: r = (unsigned)(llabs((long long)a << 31) >> 20); break;
    case 28: r = min((int)a, (int)b); break;
    case 29: r = max(a, b); break;
    case 30: r = (unsigned)min((long long)(int)a, (long long)b); break;
    case 31: r = __dp4a((int)a, (int)b, (int)c); break;
    case 32: r = __dp4a(a, b, c); break;
    case 33: r = __dp2a_lo((int)a, (int)b, (int)c); break;
    case 34: r = __dp2a_hi(a, b, c); break;
    case 35: r = (int)a >> (b & 31u); break;
    case 36:
        r = (unsigned)((long long)((unsigned long long)a << 32 | b) >>
                       (c & 63u));
        break;
    }
    out[i] = r;
}

// @run unsigned n=4096 grid=16 block=256
extern "C" __global__ void lanes_of_words(unsigned *out,
                                          const unsigned *in,
                                          int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = awkward(in[i]), b = awkward(in[n - 1 - i]);
    unsigned c = awkward(in[i * 7 % n]), r = 0u;
    switch (i % 74) {
    case 0: r = __vadd2(a, b); break;
    case 1: r = __vsub2(a, b); break;
    case 2: r = __vaddss2(a, b); break;
    case 3: r = __vaddus2(a, b); break;
    case 4: r = __vsubss2(a, b); break;
    case 5: r = __vsubus2(a, b); break;
    case 6: r = __vavgs2(a, b); break;
    case 7: r = __vavgu2(a, b); break;
    case 8: r = __vhaddu2(a, b); break;
    case 9: r = __vmaxs2(a, b); break;
    case 10: r = __vmaxu2(a, b); break;
    case 11: r = __vmins2(a, b); break;
    case 12: r = __vminu2(a, b); break;
    case 13: r = __vabsdiffs2(a, b); break;
    case 14: r = __vabsdiffu2(a, b); break;
    case 15: r = __vcmpeq2(a, b); break;
    case 16: r = __vcmpne2(a, b); break;
    case 17: r = __vcmpges2(a, b); break;
    case 18: r = __vcmpgeu2(a, b); break;
    case 19: r = __vcmpgts2(a, b); break;
    case 20: r = __vcmpgtu2(a, b); break;
    case 21: r = __vcmples2(a, b); break;
    case 22: r = __vcmpleu2(a, b); break;
    case 23: r = __vcmplts2(a, b); break;
    case 24: r = __vcmpltu2(a, b); break;
    case 25: r = __vseteq2(a, b); break;
    case 26: r = __vsetne2(a, b); break;
    case 27: r = __vsetges2(a, b); break;
    case 28: r = __vsetgtu2(a, b); break;
    case 29: r = __vsetles2(a, b); break;
    case 30: r = __vsetltu2(a, b); break;
    case 31: r = __vsads2(a, b); break;
    case 32: r = __vsadu2(a, b); break;
    case 33: r = __vabs2(a); break;
    case 34: r = __vabsss2(a); break;
    case 35: r = __vneg2(a); break;
    case 36: r = __vnegss2(a); break;
    case 37: r = __vadd4(a, b); break;
    case 38: r = __vsub4(a, b); break;
    case 39: r = __vaddss4(a, b); break;
    case 40: r = __vaddus4(a, b); break;
    case 41: r = __vsubss4(a, b); break;
    case 42: r = __vsubus4(a, b); break;
    case 43: r = __vavgs4(a, b); break;
    case 44: r = __vavgu4(a, b); break;
    case 45: r = __vhaddu4(a, b); break;
    case 46: r = __vmaxs4(a, b); break;
    case 47: r = __vmaxu4(a, b); break;
    case 48: r = __vmins4(a, b); break;
    case 49: r = __vminu4(a, b); break;
    case 50: r = __vabsdiffs4(a, b); break;
    case 51: r = __vabsdiffu4(a, b); break;
    case 52: r = __vcmpeq4(a, b); break;
    case 53: r = __vcmpne4(a, b); break;
    case 54: r = __vcmpges4(a, b); break;
    case 55: r = __vcmpgeu4(a, b); break;
    case 56: r = __vcmpgts4(a, b); break;
    case 57: r = __vcmpgtu4(a, b); break;
    case 58: r = __vcmples4(a, b); break;
    case 59: r = __vcmpleu4(a, b); break;
    case 60: r = __vcmplts4(a, b); break;
    case 61: r = __vcmpltu4(a, b); break;
    case 62: r = __vseteq4(a, b); break;
    case 63: r = __vsetne4(a, b); break;
    case 64: r = __vsetges4(a, b); break;
    case 65: r = __vsetgtu4(a, b); break;
    case 66: r = __vsetles4(a, b); break;
    case 67: r = __vsetltu4(a, b); break;
    case 68: r = __vsads4(a, b); break;
    case 69: r = __vsadu4(a, b); break;
    case 70: r = __vabs4(a); break;
    case 71: r = __vabsss4(a); break;
    case 72: r = __vneg4(a); break;
    case 73: r = __vnegss4(a); break;
    }
    out[i] = r;
}

// @run unsigned n=4096 grid=16 block=256
extern "C" __global__ void bounds(unsigned *out, const unsigned *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = awkward(in[i]), b = awkward(in[n - 1 - i]);
    unsigned c = awkward(in[i * 7 % n]), r = 0u;
    bool high = false, low = false;
    if (c % 3u == 0u)
        b = a;
    switch (i % 40) {
    case 0: r = (unsigned)__viaddmax_s32((int)a, (int)b, (int)c); break;
    case 1: r = (unsigned)__viaddmin_s32((int)a, (int)b, (int)c); break;
    case 2: r = (unsigned)__vimax3_s32((int)a, (int)b, (int)c); break;
    case 3: r = (unsigned)__vimin3_s32((int)a, (int)b, (int)c); break;
    case 4: r = (unsigned)__viaddmax_s32_relu((int)a, (int)b, (int)c); break;
    case 5: r = (unsigned)__viaddmin_s32_relu((int)a, (int)b, (int)c); break;
    case 6: r = (unsigned)__vimax3_s32_relu((int)a, (int)b, (int)c); break;
    case 7: r = (unsigned)__vimin3_s32_relu((int)a, (int)b, (int)c); break;
    case 8: r = (unsigned)__vimax_s32_relu((int)a, (int)b); break;
    case 9: r = (unsigned)__vimin_s32_relu((int)a, (int)b); break;
    case 10: r = (unsigned)__vibmax_s32((int)a, (int)b, &high); break;
    case 11: r = (unsigned)__vibmin_s32((int)a, (int)b, &high); break;
    case 12: r = __viaddmax_u32(a, b, c); break;
    case 13: r = __viaddmin_u32(a, b, c); break;
    case 14: r = __vimax3_u32(a, b, c); break;
    case 15: r = __vimin3_u32(a, b, c); break;
    case 16: r = __vibmax_u32(a, b, &high); break;
    case 17: r = __vibmin_u32(a, b, &high); break;
    case 18: r = __viaddmax_s16x2(a, b, c); break;
    case 19: r = __viaddmin_s16x2(a, b, c); break;
    case 20: r = __vimax3_s16x2(a, b, c); break;
    case 21: r = __vimin3_s16x2(a, b, c); break;
    case 22: r = __viaddmax_s16x2_relu(a, b, c); break;
    case 23: r = __viaddmin_s16x2_relu(a, b, c); break;
    case 24: r = __vimax3_s16x2_relu(a, b, c); break;
    case 25: r = __vimin3_s16x2_relu(a, b, c); break;
    case 26: r = __vimax_s16x2_relu(a, b); break;
    case 27: r = __vimin_s16x2_relu(a, b); break;
    case 28: r = __vibmax_s16x2(a, b, &high, &low); break;
    case 29: r = __vibmin_s16x2(a, b, &high, &low); break;
    case 30: r = __viaddmax_u16x2(a, b, c); break;
    case 31: r = __viaddmin_u16x2(a, b, c); break;
    case 32: r = __vimax3_u16x2(a, b, c); break;
    case 33: r = __vimin3_u16x2(a, b, c); break;
    case 34: r = __vibmax_u16x2(a, b, &high, &low); break;
    case 35: r = __vibmin_u16x2(a, b, &high, &low); break;
    case 36: r = __fns(a, b & 31u, (int)(c & 15u) - 7); break;
    case 37: r = __urhadd(a, b); break;
    case 38: r = __isnanf(__uint_as_float(a)) != 0; break;
    case 39: r = __finitef(__uint_as_float(a)) != 0; break;
    }
    out[i] = r ^ high * 4u ^ low * 8u;
}

__device__ unsigned middle(long long x) { return (unsigned)(x >> 7); }
__device__ unsigned middle(unsigned long long x)
{
    return (unsigned)(x >> 7);
}

// @run unsigned n=4096 grid=16 block=256
extern "C" __global__ void float_conversions(unsigned *out,
                                             const unsigned *in,
                                             int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = number(awkward(in[i]));
    float y = number(awkward(in[n - 1 - i]));
    float z = number(awkward(in[i * 7 % n]));
    unsigned r = 0u;
    switch (i % 40) {
    MODES(0, unsigned, __float2int, x)
    MODES(4, unsigned, __float2uint, x)
    MODES(8, middle, __float2ll, x * 3.5f)
    MODES(12, middle, __float2ull, x * 3.5f)
    MODES(16, bits, __int2float, (int)bits(x))
    MODES(20, bits, __uint2float, bits(x))
    MODES(24, bits, __ll2float, (long long)bits(x) << 29 ^ bits(y))
    MODES(28, bits, __ull2float, (unsigned long long)bits(x) << 32 | bits(y))
    case 32: r = (unsigned)(int)small(x); break;
    case 33: r = (unsigned)fabsf(small(x)); break;
    case 34: r = (unsigned)(short)small(x); break;
    case 35: r = (unsigned)(unsigned char)fabsf(small(x)); break;
    case 36: r = (unsigned)((long long)small(x) >> 5); break;
    case 37: r = (unsigned)((unsigned long long)fabsf(small(x)) >> 5); break;
    case 38: r = (unsigned)(x != 0.0f); break;
    case 39: r = bits((float)(short)bits(x)); break;
    }
    out[i] = r;
}

// @run unsigned n=4096 grid=16 block=256
extern "C" __global__ void float_operations(unsigned *out,
                                            const unsigned *in,
                                            int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = number(awkward(in[i]));
    float y = number(awkward(in[n - 1 - i]));
    float z = number(awkward(in[i * 7 % n]));
    unsigned r = 0u;
    switch (i % 56) {
    MODES(0, bits, __fadd, x, y)
    MODES(4, bits, __fsub, x, y)
    MODES(8, bits, __fmul, x, y)
    MODES(12, bits, __fmaf, x, y, z)
    MODES(16, bits, __fdiv, x, y)
    MODES(20, bits, __frcp, x)
    MODES(24, bits, __fsqrt, x)
    case 28: r = bits(x / y); break;
    case 29: r = bits(sqrtf(x)); break;
    case 30: r = bits(fmodf(x, y)); break;
    case 31: r = bits(remainderf(x, y)); break;
    case 32: r = bits(rintf(x)); break;
    case 33: r = bits(roundf(x)); break;
    case 34: r = bits(truncf(x)); break;
    case 35: r = bits(floorf(x)); break;
    case 36: r = bits(ceilf(x)); break;
    case 37: r = bits(nearbyintf(x)); break;
    case 38: r = (unsigned)lrintf(x); break;
    case 39: r = (unsigned)lroundf(x); break;
    case 40: r = (unsigned)(llrintf(x) >> 3); break;
    case 41: r = bits(copysignf(x, y)); break;
    case 42: r = bits(nextafterf(x, y)); break;
    case 43: r = bits(ldexpf(x, (int)(bits(y) & 63u) - 32)); break;
    case 44: r = bits(scalbnf(x, (int)(bits(y) & 511u) - 256)); break;
    case 45: r = bits(logbf(x)); break;
    case 46: r = (unsigned)ilogbf(x); break;
    case 47: r = bits(fdimf(x, y)); break;
    case 48: r = bits(fminf(x, y)); break;
    case 49: r = bits(fmaxf(x, y)); break;
    case 50: r = bits(fabsf(x)); break;
    case 51: r = bits(__saturatef(x)); break;
    case 52:
        r = (unsigned)isnan(x) + 2u * isinf(x) + 4u * isfinite(x) +
            8u * (signbit(x) != 0);
        break;
    case 53: r = bits(fmaf(x, y, z)); break;
    case 54: r = bits(x - y * z); break;
    case 55:
        r = (unsigned)(x < y) + 2u * (x <= y) + 4u * (x == y) +
            8u * (x != y) + 16u * (x > y);
        break;
    }
    out[i] = r;
}

__device__ long long awkward_wide(long long x)
{
    const unsigned long long words[12] = {
        0ull, 1ull, 0x8000000000000000ull, 0x7ff0000000000000ull,
        0xfff0000000000000ull, 0x7ff8000000000000ull, 0x41dfffffffc00000ull,
        0x41e0000000000000ull, 0xc1e0000000000000ull, 0x43dfffffffffffffull,
        0x43e0000000000000ull, 0x3fe0000000000000ull};
    // `in` has small numbers: its bits go where an exponent of any size is.
    long long wide = (long long)((unsigned long long)x * 0x9e3779b97f4a7c15ull);
    if (x % 3 == 0)  // near what integers hold
        wide = (wide & (long long)0x83ffffffffffffffull) | 0x4000000000000000ll;
    return x % 5 ? wide : (long long)words[(unsigned long long)wide % 12ull];
}
__device__ long long bits(double x)
{
    return x != x ? 0x7ff8000000000000ll : __double_as_longlong(x);
}

// @run long long n=4096 grid=16 block=256
extern "C" __global__ void double_conversions(long long *out,
                                              const long long *in,
                                              int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double x = __longlong_as_double(awkward_wide(in[i]));
    double y = __longlong_as_double(awkward_wide(in[n - 1 - i]));
    double z = __longlong_as_double(awkward_wide(in[i * 7 % n]));
    long long r = 0;
    switch (i % 36) {
    MODES(0, , __double2int, x)
    MODES(4, , __double2uint, x)
    MODES(8, , __double2ll, x)
    MODES(12, (long long), __double2ull, x)
    MODES(16, bits, __double2float, x)
    MODES(20, bits, __ll2double, __double_as_longlong(x))
    MODES(24, bits, __ull2double, (unsigned long long)__double_as_longlong(x))
    case 28: r = (int)small(x); break;
    case 29: r = (long long)(unsigned)fabs(small(x)); break;
    case 30: r = (long long)small(x); break;
    case 31: r = (long long)(unsigned long long)fabs(small(x)); break;
    case 32: r = bits((double)(float)x); break;
    case 33: r = __double2hiint(x); break;
    case 34: r = (unsigned)__double2loint(x); break;
    case 35:
        r = bits(__hiloint2double(__double2hiint(x), __double2loint(y)));
        break;
    }
    out[i] = r;
}

// @run long long n=4096 grid=16 block=256
extern "C" __global__ void double_operations(long long *out,
                                             const long long *in,
                                             int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double x = __longlong_as_double(awkward_wide(in[i]));
    double y = __longlong_as_double(awkward_wide(in[n - 1 - i]));
    double z = __longlong_as_double(awkward_wide(in[i * 7 % n]));
    long long r = 0;
    switch (i % 49) {
    MODES(0, bits, __dadd, x, y)
    MODES(4, bits, __dsub, x, y)
    MODES(8, bits, __dmul, x, y)
    MODES(12, bits, __fma, x, y, z)
    MODES(16, bits, __ddiv, x, y)
    MODES(20, bits, __drcp, x)
    MODES(24, bits, __dsqrt, x)
    case 28: r = bits(x / y); break;
    case 29: r = bits(sqrt(x)); break;
    case 30: r = bits(fmod(x, y)); break;
    case 31: r = bits(remainder(x, y)); break;
    case 32: r = bits(rint(x)); break;
    case 33: r = bits(round(x)); break;
    case 34: r = bits(trunc(x)); break;
    case 35: r = bits(floor(x)); break;
    case 36: r = bits(ceil(x)); break;
    case 37: r = (long long)lrint(x); break;
    case 38: r = llround(x); break;
    case 39: r = bits(copysign(x, y)); break;
    case 40: r = bits(nextafter(x, y)); break;
    case 41: r = bits(ldexp(x, (int)(__double2loint(y) & 127) - 64)); break;
    case 42: r = bits(logb(x)); break;
    case 43: r = ilogb(x); break;
    case 44: r = bits(fdim(x, y)); break;
    case 45: r = bits(fmin(x, y)); break;
    case 46: r = bits(fmax(x, y)); break;
    case 47:
        r = isnan(x) + 2 * isinf(x) + 4 * isfinite(x) + 8 * (signbit(x) != 0);
        break;
    case 48: r = bits(fma(x, y, z)); break;
    }
    out[i] = r;
}
