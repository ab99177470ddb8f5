// <limits.h>, <float.h> and <stdint.h> under all their names.
#define CHAR_BIT 8
#define MB_LEN_MAX 16
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define CHAR_MIN SCHAR_MIN
#define CHAR_MAX SCHAR_MAX
#define SHRT_MIN (-32768)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MAX __INT_MAX__
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX (~0u)
#define LONG_MAX __LONG_MAX__
#define LONG_MIN (-LONG_MAX - 1)
#define ULONG_MAX (~0ul)
#define LLONG_MAX __LONG_LONG_MAX__
#define LLONG_MIN (-LLONG_MAX - 1)
#define ULLONG_MAX (~0ull)

#define FLT_RADIX 2
#define FLT_MANT_DIG __FLT_MANT_DIG__
#define FLT_DIG __FLT_DIG__
#define FLT_EPSILON __FLT_EPSILON__
#define FLT_MIN __FLT_MIN__
#define FLT_MAX __FLT_MAX__
#define FLT_MIN_EXP __FLT_MIN_EXP__
#define FLT_MAX_EXP __FLT_MAX_EXP__
#define DBL_MANT_DIG __DBL_MANT_DIG__
#define DBL_DIG __DBL_DIG__
#define DBL_EPSILON double(__DBL_EPSILON__)
#define DBL_MIN double(__DBL_MIN__)
#define DBL_MAX double(__DBL_MAX__)
#define DBL_MIN_EXP __DBL_MIN_EXP__
#define DBL_MAX_EXP __DBL_MAX_EXP__
#define FLT_MIN_10_EXP __FLT_MIN_10_EXP__
#define FLT_MAX_10_EXP __FLT_MAX_10_EXP__
#define FLT_DECIMAL_DIG __FLT_DECIMAL_DIG__
#define FLT_TRUE_MIN __FLT_DENORM_MIN__
#define FLT_HAS_SUBNORM 1
#define DBL_MIN_10_EXP __DBL_MIN_10_EXP__
#define DBL_MAX_10_EXP __DBL_MAX_10_EXP__
#define DBL_DECIMAL_DIG __DBL_DECIMAL_DIG__
#define DBL_TRUE_MIN double(__DBL_DENORM_MIN__)
#define DBL_HAS_SUBNORM 1
#define DECIMAL_DIG __DBL_DECIMAL_DIG__
#define FLT_EVAL_METHOD 0
#define FLT_ROUNDS 1

#define INT8_MAX 127
#define INT8_MIN (-127 - 1)
#define UINT8_MAX 255
#define INT_LEAST8_MAX 127
#define INT_LEAST8_MIN (-127 - 1)
#define UINT_LEAST8_MAX 255
#define INT_FAST8_MAX 127
#define INT_FAST8_MIN (-127 - 1)
#define UINT_FAST8_MAX 255
#define INT16_MAX 32767
#define INT16_MIN (-32767 - 1)
#define UINT16_MAX 65535
#define INT_LEAST16_MAX 32767
#define INT_LEAST16_MIN (-32767 - 1)
#define UINT_LEAST16_MAX 65535
#define INT_FAST16_MAX 9223372036854775807l
#define INT_FAST16_MIN (-9223372036854775807l - 1)
#define UINT_FAST16_MAX 18446744073709551615ul
#define INT32_MAX 2147483647
#define INT32_MIN (-2147483647 - 1)
#define UINT32_MAX 4294967295u
#define INT_LEAST32_MAX 2147483647
#define INT_LEAST32_MIN (-2147483647 - 1)
#define UINT_LEAST32_MAX 4294967295u
#define INT_FAST32_MAX 9223372036854775807l
#define INT_FAST32_MIN (-9223372036854775807l - 1)
#define UINT_FAST32_MAX 18446744073709551615ul
#define INT64_MAX 9223372036854775807l
#define INT64_MIN (-9223372036854775807l - 1)
#define UINT64_MAX 18446744073709551615ul
#define INT_LEAST64_MAX 9223372036854775807l
#define INT_LEAST64_MIN (-9223372036854775807l - 1)
#define UINT_LEAST64_MAX 18446744073709551615ul
#define INT_FAST64_MAX 9223372036854775807l
#define INT_FAST64_MIN (-9223372036854775807l - 1)
#define UINT_FAST64_MAX 18446744073709551615ul
#define INTPTR_MAX INT64_MAX
#define INTPTR_MIN INT64_MIN
#define UINTPTR_MAX UINT64_MAX
#define INTMAX_MAX INT64_MAX
#define INTMAX_MIN INT64_MIN
#define UINTMAX_MAX UINT64_MAX
#define PTRDIFF_MAX INT64_MAX
#define PTRDIFF_MIN INT64_MIN
#define SIZE_MAX UINT64_MAX
#define PRId32 "d"
#define PRIi32 "i"
#define PRIu32 "u"
#define PRIx32 "x"
#define PRIX32 "X"
#define PRId64 "ld"
#define PRIi64 "li"
#define PRIu64 "lu"
#define PRIx64 "lx"
#define PRIX64 "lX"
#define INT8_C(x) x
#define INT16_C(x) x
#define INT32_C(x) x
#define INT64_C(x) x##l
#define UINT8_C(x) x
#define UINT16_C(x) x
#define UINT32_C(x) x##u
#define INTMAX_C(x) x##l
#define UINTMAX_C(x) x##ul

typedef int8_t int_least8_t, int_fast8_t;
typedef int16_t int_least16_t;
typedef int32_t int_least32_t;
typedef int64_t int_least64_t, int_fast16_t, int_fast32_t, int_fast64_t;
typedef uint8_t uint_least8_t, uint_fast8_t;
typedef uint16_t uint_least16_t;
typedef uint32_t uint_least32_t;
typedef uint64_t uint_least64_t, uint_fast16_t, uint_fast32_t, uint_fast64_t;
typedef int64_t intmax_t;
typedef uint64_t uintmax_t;
namespace std {
using ::int_fast8_t;
using ::int_fast16_t;
using ::int_fast32_t;
using ::int_fast64_t;
using ::uint_fast8_t;
using ::uint_fast16_t;
using ::uint_fast32_t;
using ::uint_fast64_t;
using ::int_least8_t;
using ::int_least16_t;
using ::int_least32_t;
using ::int_least64_t;
using ::uint_least8_t;
using ::uint_least16_t;
using ::uint_least32_t;
using ::uint_least64_t;
using ::intmax_t;
using ::uintmax_t;
} // namespace std
