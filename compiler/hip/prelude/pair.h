// Numbers of more bits than a double has, for conversions to 16 bits.
// The sum of two numbers, of which `high` is the nearest to it.
struct rnl_pair {
    double high, low;
};
RNL_INLINE double rnl_error(float near, rnl_pair exact)
{
    const double high = exact.high - double(near);
    return exact.high == double(near) || exact.high != exact.high ? exact.low
                                                                  : high;
}
// The exact sum.
RNL_INLINE rnl_pair rnl_sum(double x, double y)
{
    const double high = __dadd_rn(x, y);
    const double part = __dsub_rn(high, x);
    return rnl_pair{high, __dadd_rn(__dsub_rn(x, __dsub_rn(high, part)),
                                    __dsub_rn(y, part))};
}
RNL_INLINE rnl_pair rnl_pair_of(long long x)
{
    return rnl_sum(double(int(x >> 32)) * 0x1p32,
                   double((unsigned int)x));
}
RNL_INLINE rnl_pair rnl_pair_of(unsigned long long x)
{
    return rnl_sum(double((unsigned int)(x >> 32)) * 0x1p32,
                   double((unsigned int)x));
}
RNL_INLINE rnl_pair rnl_pair_of(int x) { return rnl_pair{double(x), 0.0}; }
RNL_INLINE rnl_pair rnl_pair_of(unsigned int x)
{
    return rnl_pair{double(x), 0.0};
}
