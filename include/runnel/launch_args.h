// RNL_ARGS for C11: one rnl_arg per expression, by its type.
// Included by <runnel/launch.h>; not for direct use.
#ifndef RUNNEL_LAUNCH_ARGS_H
#define RUNNEL_LAUNCH_ARGS_H

#include <runnel/launch.h>

static inline rnl_arg rnl_arg_of_arg(rnl_arg value)
{
    return value;
}

// The integer maker by type, so that each branch below is one plain function
// that converts nothing.
#define RNL_INTEGER_MAKER(name, type)                               \
    static inline rnl_arg rnl_arg_of_##name(type value)             \
    {                                                               \
        return rnl_arg_of_integer((uint64_t)value, sizeof value);   \
    }
RNL_INTEGER_MAKER(bool, bool)
RNL_INTEGER_MAKER(char, char)
RNL_INTEGER_MAKER(schar, signed char)
RNL_INTEGER_MAKER(uchar, unsigned char)
RNL_INTEGER_MAKER(short, short)
RNL_INTEGER_MAKER(ushort, unsigned short)
RNL_INTEGER_MAKER(int, int)
RNL_INTEGER_MAKER(uint, unsigned int)
RNL_INTEGER_MAKER(long, long)
RNL_INTEGER_MAKER(ulong, unsigned long)
RNL_INTEGER_MAKER(llong, long long)
RNL_INTEGER_MAKER(ullong, unsigned long long)
#undef RNL_INTEGER_MAKER

// clang-format off
#define RNL_ARG(x) _Generic((x),                                           \
    rnl_arg: rnl_arg_of_arg,           rnl_buffer: rnl_arg_of_buffer,      \
    bool: rnl_arg_of_bool,             char: rnl_arg_of_char,              \
    signed char: rnl_arg_of_schar,     unsigned char: rnl_arg_of_uchar,    \
    short: rnl_arg_of_short,           unsigned short: rnl_arg_of_ushort,  \
    int: rnl_arg_of_int,               unsigned int: rnl_arg_of_uint,      \
    long: rnl_arg_of_long,             unsigned long: rnl_arg_of_ulong,    \
    long long: rnl_arg_of_llong,       unsigned long long: rnl_arg_of_ullong,\
    float: rnl_arg_of_float,           double: rnl_arg_of_double,          \
    default: rnl_arg_of_pointer)(x)

#define RNL_ARGS(...)                                                       \
    (&(rnl_args){.struct_size = sizeof(rnl_args),                           \
                 .count = RNL_COUNT(__VA_ARGS__),                           \
                 .items = (const rnl_arg[]){RNL_EACH(__VA_ARGS__)}})

#define RNL_COUNT(...) RNL_COUNT_(__VA_ARGS__,                              \
    32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17,         \
    16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define RNL_COUNT_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13,  \
    a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27,   \
    a28, a29, a30, a31, a32, n, ...) n

#define RNL_EACH(...) \
    RNL_EACH_(RNL_COUNT(__VA_ARGS__), __VA_ARGS__)
#define RNL_EACH_(n, ...) RNL_EACH__(n, __VA_ARGS__)
#define RNL_EACH__(n, ...) RNL_E##n(__VA_ARGS__)
#define RNL_E1(x) RNL_ARG(x)
#define RNL_E2(x, ...) RNL_ARG(x), RNL_E1(__VA_ARGS__)
#define RNL_E3(x, ...) RNL_ARG(x), RNL_E2(__VA_ARGS__)
#define RNL_E4(x, ...) RNL_ARG(x), RNL_E3(__VA_ARGS__)
#define RNL_E5(x, ...) RNL_ARG(x), RNL_E4(__VA_ARGS__)
#define RNL_E6(x, ...) RNL_ARG(x), RNL_E5(__VA_ARGS__)
#define RNL_E7(x, ...) RNL_ARG(x), RNL_E6(__VA_ARGS__)
#define RNL_E8(x, ...) RNL_ARG(x), RNL_E7(__VA_ARGS__)
#define RNL_E9(x, ...) RNL_ARG(x), RNL_E8(__VA_ARGS__)
#define RNL_E10(x, ...) RNL_ARG(x), RNL_E9(__VA_ARGS__)
#define RNL_E11(x, ...) RNL_ARG(x), RNL_E10(__VA_ARGS__)
#define RNL_E12(x, ...) RNL_ARG(x), RNL_E11(__VA_ARGS__)
#define RNL_E13(x, ...) RNL_ARG(x), RNL_E12(__VA_ARGS__)
#define RNL_E14(x, ...) RNL_ARG(x), RNL_E13(__VA_ARGS__)
#define RNL_E15(x, ...) RNL_ARG(x), RNL_E14(__VA_ARGS__)
#define RNL_E16(x, ...) RNL_ARG(x), RNL_E15(__VA_ARGS__)
#define RNL_E17(x, ...) RNL_ARG(x), RNL_E16(__VA_ARGS__)
#define RNL_E18(x, ...) RNL_ARG(x), RNL_E17(__VA_ARGS__)
#define RNL_E19(x, ...) RNL_ARG(x), RNL_E18(__VA_ARGS__)
#define RNL_E20(x, ...) RNL_ARG(x), RNL_E19(__VA_ARGS__)
#define RNL_E21(x, ...) RNL_ARG(x), RNL_E20(__VA_ARGS__)
#define RNL_E22(x, ...) RNL_ARG(x), RNL_E21(__VA_ARGS__)
#define RNL_E23(x, ...) RNL_ARG(x), RNL_E22(__VA_ARGS__)
#define RNL_E24(x, ...) RNL_ARG(x), RNL_E23(__VA_ARGS__)
#define RNL_E25(x, ...) RNL_ARG(x), RNL_E24(__VA_ARGS__)
#define RNL_E26(x, ...) RNL_ARG(x), RNL_E25(__VA_ARGS__)
#define RNL_E27(x, ...) RNL_ARG(x), RNL_E26(__VA_ARGS__)
#define RNL_E28(x, ...) RNL_ARG(x), RNL_E27(__VA_ARGS__)
#define RNL_E29(x, ...) RNL_ARG(x), RNL_E28(__VA_ARGS__)
#define RNL_E30(x, ...) RNL_ARG(x), RNL_E29(__VA_ARGS__)
#define RNL_E31(x, ...) RNL_ARG(x), RNL_E30(__VA_ARGS__)
#define RNL_E32(x, ...) RNL_ARG(x), RNL_E31(__VA_ARGS__)
// clang-format on

#endif
