#if defined(RNL_SIMT)
// Functions of doubles that tier B computes in the lanes themselves: the vector
// functions of the C library are off by more than CUDA documents. No step needs
// a fused multiplication, and each stays right where the compiler makes one.
// Errors stay below 1 unit in the last place, 2 for sine and cosine.

// e to the x: 2^n e^r with |r| <= log(2)/2, and 2^n as two factors because
// neither the largest n nor the least has a power of its own.
RNL_INLINE double rnl_wide_power_of_two(int n)
{
    unsigned long long bits = (unsigned long long)(n + 1023) << 52;
    double power;
    __builtin_memcpy(&power, &bits, sizeof power);
    return power;
}
RNL_INLINE double rnl_exp(double x)
{
    double within = x > 710.0 ? 710.0 : x > -746.0 ? x : -746.0;
    double whole = (within * 1.4426950408889634 + 6755399441055744.0) -
                   6755399441055744.0;
    double high = within - whole * 0.6931471805582987;
    double low = whole * 1.6465949582897082e-12;
    double r = high - low;
    double rest = 2.755725283351691e-06 + r * (2.75572718102198e-07 +
                  r * (2.5106274733573296e-08 + r * 2.0915442297780116e-09));
    rest = 0.008333333333325544 + r * (0.0013888888888883327 +
           r * (0.00019841269876864356 + r * (2.4801587327007187e-05 +
           r * rest)));
    rest = 0.5 + r * (0.1666666666666667 + r * (0.04166666666666667 +
           r * rest));
    // The rounding error of r matters.
    double value = 1.0 + (high + (r * r * rest - low));
    int n = int(whole), half = n >> 1;
    value = value * rnl_wide_power_of_two(half) *
            rnl_wide_power_of_two(n - half);
    return x == x ? value : x;
}

// The logarithm of x = 2^k (1 + f) with 1 + f from 0.7 to 1.4. Where x has no
// logarithm that is a number: of zero, negative and infinite ones.
RNL_INLINE double rnl_log(double x)
{
    bool tiny = x < 2.2250738585072014e-308;
    double scaled = tiny ? x * 18014398509481984.0 : x;
    unsigned long long bits;
    __builtin_memcpy(&bits, &scaled, sizeof bits);
    int n = (int(bits >> 32) - 0x3fe6a09e) >> 20;
    bits -= (unsigned long long)n << 52;
    double f;
    __builtin_memcpy(&f, &bits, sizeof f);
    f -= 1.0;
    double k = double(tiny ? n - 54 : n), half = 0.5 * f * f;
    double s = f / (2.0 + f), z = s * s;
    double rest = 0.2222221113479508 + z * (0.18182889125261723 +
                  z * (0.15331721600556042 + z * 0.14616449685043406));
    rest = z * (0.666666666666667 + z * (0.39999999999899505 +
           z * (0.28571428625975487 + z * rest)));
    double part = s * (half + rest) + k * 1.6465949582897082e-12;
    double value = k * 0.6931471805582987 - ((half - part) - f);
    if (!(x > 0.0))
        value = x == 0.0 ? -__builtin_inf() : __builtin_nan("");
    return x == __builtin_inf() || x != x ? x : value;
}

// Sine and cosine of a number up to 100000: the remainder by pi / 2, which is
// subtracted in four parts whose products are exact.
RNL_INLINE double rnl_quarter(double x, int *quarter)
{
    double n = (x * 0.6366197723675814 + 6755399441055744.0) -
               6755399441055744.0;
    *quarter = int(n);
    return (((x - n * 1.5707963267341256) - n * 6.077100506303966e-11) -
            n * 2.0222662487111665e-21) - n * 8.4784276603689e-32;
}
RNL_INLINE double rnl_sine(double r)
{
    double z = r * r;
    double rest = -0.0001984126983657571 + z * (2.755731600817155e-06 +
                  z * (-2.5051112272573243e-08 + z * 1.5916726193889336e-10));
    return r + r * z * (-0.16666666666666666 + z * (0.008333333333330827 +
                        z * rest));
}
RNL_INLINE double rnl_cosine(double r)
{
    double z = r * r, half = 0.5 * z, most = 1.0 - half;
    double rest = 2.4801587298651292e-05 + z * (-2.755731721268659e-07 +
                  z * (2.0876134024090145e-09 - z * 1.1381754653662937e-11));
    rest = 0.041666666666666664 + z * (-0.0013888888888887322 + z * rest);
    return most + (((1.0 - most) - half) + z * z * rest);
}
// Combines the functions of an angle r's quadrant, from -pi / 4 to pi / 4.
RNL_INLINE double rnl_turn(double r, int quarter)
{
    double value = quarter & 1 ? rnl_cosine(r) : rnl_sine(r);
    return quarter & 2 ? -value : value;
}
extern "C" double rnl_libm_sin(double) noexcept __asm__("sin");
extern "C" double rnl_libm_cos(double) noexcept __asm__("cos");
RNL_INLINE double rnl_sin(double x)
{
    int quarter;
    if (!(x >= -100000.0 && x <= 100000.0))
        return rnl_libm_sin(x);
    double r = rnl_quarter(x, &quarter);
    return x == 0.0 ? x : rnl_turn(r, quarter);
}
RNL_INLINE double rnl_cos(double x)
{
    int quarter;
    if (!(x >= -100000.0 && x <= 100000.0))
        return rnl_libm_cos(x);
    double r = rnl_quarter(x, &quarter);
    return rnl_turn(r, quarter + 1);
}
#endif
