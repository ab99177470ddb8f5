// Arithmetic and conversions that name their rounding, against the processor's
// own rounding modes.
#include "build.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

enum { BLOCKS = 16, THREADS = 128, COUNT = BLOCKS * THREADS };

static struct built built;
static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD,
                            FE_DOWNWARD};

static uint64_t random_bits(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

// Any number, or one that shares its size with others.
static float some_float(int i)
{
    static const float special[] = {
        0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN, 0x1p-149f,
        -0x1p-149f, 0x1p-126f, 0x1.fffffep127f, -0x1.fffffep127f, 0x1p-70f,
        3.0f, 0x1.000002p0f, 0x1.fffffep-1f};
    uint32_t bits = (uint32_t)random_bits();
    float value;
    if (i % 4 == 0)
        return special[bits % 16];
    if (i % 2)
        bits = (bits & 0x807fffff) | (120 + (bits >> 23) % 14) << 23;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double some_double(int i)
{
    static const double special[] = {
        0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN, 0x1p-1074,
        -0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp1023,
        -0x1.fffffffffffffp1023, 0x1p-520, 3.0, 0x1.0000000000001p0, 0x1p-149};
    uint64_t bits = random_bits();
    double value;
    if (i % 4 == 0)
        return special[bits % 16];
    if (i % 2)
        bits = (bits & 0x800fffffffffffff) | (1010 + (bits >> 52) % 30) << 52;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float float_model(int operation, volatile float x, volatile float y,
                         volatile float z)
{
    switch (operation) {
    case 0: return x + y;
    case 1: return x - y;
    case 2: return x * y;
    case 3: return x / y;
    case 4: return sqrtf(x);
    case 5: return fmaf(x, y, z);
    default: return 1.0f / x;
    }
}

static double double_model(int operation, volatile double x, volatile double y,
                           volatile double z)
{
    switch (operation) {
    case 0: return x + y;
    case 1: return x - y;
    case 2: return x * y;
    case 3: return x / y;
    case 4: return sqrt(x);
    case 5: return fma(x, y, z);
    case 6: return 1.0 / x;
    default: return (float)x;
    }
}

// The same number with the same sign; any NaN is as good as another.
static bool same(double x, double y)
{
    return (isnan(x) && isnan(y)) ||
           (x == y && signbit(x) == signbit(y));
}

static void run(const char *kernel, const void *const *arguments)
{
    rnl_status status = built_run(&built, kernel, (rnl_dim3){BLOCKS},
                                  (rnl_dim3){THREADS}, 0, arguments);
    if (status != RNL_OK)
        fail_msg("%s: %s", kernel, built.failure);
}

RNL_TEST(arithmetic_of_floats)
{
    static float x[COUNT], y[COUNT], z[COUNT], got[COUNT];
    float *in[] = {x, y, z}, *out = got;
    built_kernels(&built, "rounding.cu", "--option --tier=F");
    for (int i = 0; i < COUNT; i++) {
        x[i] = some_float(i);
        y[i] = some_float(i / 4);
        z[i] = i % 8 == 3 ? -x[i] * y[i] : some_float(i / 16);
    }
    for (int which = 0; which < 7 * 4; which++) {
        const void *arguments[] = {&out, in, in + 1, in + 2, &which};
        run("round_float", arguments);
        for (int i = 0; i < COUNT; i++) {
            fesetround(modes[which % 4]);
            volatile float want = float_model(which / 4, x[i], y[i], z[i]);
            fesetround(FE_TONEAREST);
            if (!same(want, got[i]))
                fail_msg("case %d of %a, %a, %a is %a, not %a", which, x[i],
                         y[i], z[i], got[i], want);
        }
    }
    built_close(&built);
}

RNL_TEST(arithmetic_of_doubles)
{
    static double x[COUNT], y[COUNT], z[COUNT], got[COUNT];
    double *in[] = {x, y, z}, *out = got;
    built_kernels(&built, "rounding.cu", "--option --tier=F");
    for (int which = 0; which < 8 * 4; which++) {
        for (int i = 0; i < COUNT; i++) {
            x[i] = some_double(i);
            y[i] = some_double(i / 4);
            z[i] = i % 8 == 3 ? -x[i] * y[i] : some_double(i / 16);
        }
        const void *arguments[] = {&out, in, in + 1, in + 2, &which};
        run("round_double", arguments);
        for (int i = 0; i < COUNT; i++) {
            fesetround(modes[which % 4]);
            volatile double want = double_model(which / 4, x[i], y[i], z[i]);
            fesetround(FE_TONEAREST);
            if (!same(want, got[i]))
                fail_msg("case %d of %a, %a, %a is %a, not %a", which, x[i],
                         y[i], z[i], got[i], want);
        }
    }
    built_close(&built);
}

// --- Conversions -----------------------------------------------------------

static double from_integer(int which, volatile long long x)
{
    volatile unsigned long long u = (unsigned long long)x;
    switch (which) {
    case 0: return (float)x;
    case 1: return (float)u;
    case 2: return (float)(int)x;
    case 3: return (float)(unsigned int)x;
    case 4: return (double)x;
    default: return (double)u;
    }
}

RNL_TEST(integers_to_floating_point)
{
    static long long x[COUNT], *in = x;
    static double got[COUNT], *out = got;
    built_kernels(&built, "rounding.cu", "--option --tier=F");
    for (int i = 0; i < COUNT; i++)
        x[i] = (long long)(random_bits() >> random_bits() % 64) - i % 3;
    x[0] = INT64_MIN, x[1] = INT64_MAX, x[2] = -1, x[3] = 0;
    for (int which = 0; which < 6 * 4; which++) {
        const void *arguments[] = {&out, &in, &which};
        run("round_integers", arguments);
        for (int i = 0; i < COUNT; i++) {
            fesetround(modes[which % 4]);
            volatile double want = from_integer(which / 4, x[i]);
            fesetround(FE_TONEAREST);
            if (want != got[i])
                fail_msg("case %d of %lld is %a, not %a", which, x[i], got[i],
                         want);
        }
    }
    built_close(&built);
}

static long long to_integer(int kind, bool wide, long double x)
{
    static const long double low[] = {-0x1p31L, 0, -0x1p63L, 0};
    static const long double high[] = {0x1p31L - 1, 0x1p32L - 1, 0x1p63L - 1,
                                       0x1p64L - 1};
    static const uint64_t not_a_number[] = {
        UINT64_C(0xffffffff80000000), 0x80000000, UINT64_C(1) << 63,
        UINT64_C(1) << 63};
    if (isnan(x))
        return wide || kind >= 2 ? (long long)not_a_number[kind] : 0;
    x = x < low[kind] ? low[kind] : x > high[kind] ? high[kind] : x;
    return kind == 3 ? (long long)(unsigned long long)x : (long long)x;
}

static void some_numbers(double x[COUNT])
{
    static const double sizes[] = {0x1p-3, 4, 0x1p31, 0x1p32, 0x1p63, 0x1p65};
    for (int i = 0; i < COUNT; i++)
        x[i] = (double)(int64_t)random_bits() * 0x1p-62 * sizes[i % 6];
    x[0] = NAN, x[1] = INFINITY, x[2] = -INFINITY, x[3] = 0x1p63, x[4] = 2.5;
    x[5] = 0x1p31, x[6] = -0.0, x[7] = -0x1p31 - 0.5, x[8] = 0x1p64;
}

RNL_TEST(floating_point_to_integers)
{
    static double x[COUNT], *in = x;
    static long long got[COUNT], *out = got;
    built_kernels(&built, "rounding.cu", "--option --tier=F");
    some_numbers(x);
    for (int which = 0; which < 8 * 4; which++) {
        const void *arguments[] = {&out, &in, &which};
        bool wide = which / 4 < 4;
        run("round_to_integers", arguments);
        for (int i = 0; i < COUNT; i++) {
            volatile double value = wide ? x[i] : (float)x[i];
            fesetround(modes[which % 4]);
            volatile double whole = nearbyint(value);
            fesetround(FE_TONEAREST);
            long long want = to_integer(which / 4 % 4, wide, whole);
            if (want != got[i])
                fail_msg("case %d of %a is %lld, not %lld", which, value,
                         got[i], want);
        }
    }
    built_close(&built);
}

// As a GPU does it (seen on an H100), where C++ leaves it open: narrow types
// are parts of 32 bits.
RNL_TEST(casts_saturate)
{
    static double x[COUNT], *in = x;
    static long long got[COUNT], *out = got;
    if (!built_may_be_tier_b())
        test_skip("tier F was asked for");
    built_kernels(&built, "rounding.cu", "--option --tier=B");
    some_numbers(x);
    for (int which = 0; which < 12; which++) {
        const void *arguments[] = {&out, &in, &which};
        bool wide = which % 2;
        int kind = which / 2;
        run("casts", arguments);
        for (int i = 0; i < COUNT; i++) {
            long double value = wide ? x[i] : (double)(float)x[i];
            long long want = to_integer(kind % 4, wide, truncl(value));
            want = kind < 4 ? want : kind == 4 ? (int16_t)want : (uint8_t)want;
            if (want != got[i])
                fail_msg("case %d of %Lg is %lld, not %lld", which, value,
                         got[i], want);
        }
    }
    built_close(&built);
}
