// <type_traits> and <limits>, as far as kernels use them.
namespace std {
template <class T, T Value> struct integral_constant {
    static constexpr T value = Value;
    typedef T value_type;
    typedef integral_constant type;
    constexpr operator T() const noexcept { return Value; }
    constexpr T operator()() const noexcept { return Value; }
};
template <bool Value> using bool_constant = integral_constant<bool, Value>;
typedef bool_constant<true> true_type;
typedef bool_constant<false> false_type;

template <bool, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> {
    typedef T type;
};
template <bool Value, class T = void>
using enable_if_t = typename enable_if<Value, T>::type;
template <bool, class T, class> struct conditional {
    typedef T type;
};
template <class T, class U> struct conditional<false, T, U> {
    typedef U type;
};
template <bool Value, class T, class U>
using conditional_t = typename conditional<Value, T, U>::type;
template <class...> using void_t = void;

#define RNL_TRAIT(name, ...)                                                \
    template <class T> struct name : bool_constant<__VA_ARGS__> {};         \
    template <class T> inline constexpr bool name##_v = __VA_ARGS__;
RNL_TRAIT(is_void, __is_void(T))
RNL_TRAIT(is_integral, __is_integral(T))
RNL_TRAIT(is_floating_point, __is_floating_point(T))
RNL_TRAIT(is_arithmetic, __is_arithmetic(T))
RNL_TRAIT(is_signed, __is_signed(T))
RNL_TRAIT(is_unsigned, __is_unsigned(T))
RNL_TRAIT(is_const, __is_const(T))
RNL_TRAIT(is_volatile, __is_volatile(T))
RNL_TRAIT(is_pointer, __is_pointer(T))
RNL_TRAIT(is_reference, __is_reference(T))
RNL_TRAIT(is_array, __is_array(T))
RNL_TRAIT(is_enum, __is_enum(T))
RNL_TRAIT(is_class, __is_class(T))
RNL_TRAIT(is_union, __is_union(T))
RNL_TRAIT(is_function, __is_function(T))
RNL_TRAIT(is_empty, __is_empty(T))
RNL_TRAIT(is_trivial, __is_trivial(T))
RNL_TRAIT(is_pod, __is_pod(T))
RNL_TRAIT(is_standard_layout, __is_standard_layout(T))
RNL_TRAIT(is_trivially_copyable, __is_trivially_copyable(T))
#undef RNL_TRAIT
#define RNL_TRAIT(name, ...)                                                \
    template <class T, class U> struct name : bool_constant<__VA_ARGS__> {}; \
    template <class T, class U> inline constexpr bool name##_v = __VA_ARGS__;
RNL_TRAIT(is_same, __is_same(T, U))
RNL_TRAIT(is_base_of, __is_base_of(T, U))
RNL_TRAIT(is_convertible, __is_convertible(T, U))
RNL_TRAIT(is_assignable, __is_assignable(T, U))
#undef RNL_TRAIT
template <class T, class... A>
struct is_constructible : bool_constant<__is_constructible(T, A...)> {};

#define RNL_TYPE(name, builtin)                                             \
    template <class T> struct name {                                        \
        typedef builtin(T) type;                                            \
    };                                                                      \
    template <class T> using name##_t = builtin(T);
RNL_TYPE(remove_cv, __remove_cv)
RNL_TYPE(remove_const, __remove_const)
RNL_TYPE(remove_volatile, __remove_volatile)
RNL_TYPE(remove_reference, __remove_reference_t)
RNL_TYPE(remove_pointer, __remove_pointer)
RNL_TYPE(remove_extent, __remove_extent)
RNL_TYPE(add_pointer, __add_pointer)
RNL_TYPE(decay, __decay)
RNL_TYPE(make_signed, __make_signed)
RNL_TYPE(make_unsigned, __make_unsigned)
RNL_TYPE(underlying_type, __underlying_type)
#undef RNL_TYPE
template <class T> struct add_const {
    typedef const T type;
};
template <class T> using add_const_t = const T;
template <class T> T &&declval() noexcept;

template <class T> struct numeric_limits {
    static constexpr bool is_specialized = false;
};
#define RNL_LIMITS(type, least, most)                                       \
    template <> struct numeric_limits<type> {                               \
        static constexpr bool is_specialized = true, is_integer = true;     \
        static constexpr bool is_signed = (type)-1 < (type)0;               \
        static constexpr int digits = 8 * sizeof(type) - is_signed;         \
        static constexpr type min() noexcept { return least; }              \
        static constexpr type lowest() noexcept { return least; }           \
        static constexpr type max() noexcept { return most; }               \
    };
RNL_LIMITS(bool, false, true)
RNL_LIMITS(char, CHAR_MIN, CHAR_MAX)
RNL_LIMITS(signed char, SCHAR_MIN, SCHAR_MAX)
RNL_LIMITS(unsigned char, 0, UCHAR_MAX)
RNL_LIMITS(short, SHRT_MIN, SHRT_MAX)
RNL_LIMITS(unsigned short, 0, USHRT_MAX)
RNL_LIMITS(int, INT_MIN, INT_MAX)
RNL_LIMITS(unsigned int, 0, UINT_MAX)
RNL_LIMITS(long, LONG_MIN, LONG_MAX)
RNL_LIMITS(unsigned long, 0, ULONG_MAX)
RNL_LIMITS(long long, LLONG_MIN, LLONG_MAX)
RNL_LIMITS(unsigned long long, 0, ULLONG_MAX)
#undef RNL_LIMITS
#define RNL_LIMITS(type, prefix, infinite, quiet)                           \
    template <> struct numeric_limits<type> {                               \
        static constexpr bool is_specialized = true, is_integer = false;    \
        static constexpr bool is_signed = true, has_infinity = true;        \
        static constexpr bool has_quiet_NaN = true, is_iec559 = true;       \
        static constexpr int digits = prefix##_MANT_DIG;                    \
        static constexpr int max_digits10 = prefix##_DECIMAL_DIG;           \
        static constexpr type min() noexcept { return prefix##_MIN; }       \
        static constexpr type lowest() noexcept { return -prefix##_MAX; }   \
        static constexpr type max() noexcept { return prefix##_MAX; }       \
        static constexpr type epsilon() noexcept { return prefix##_EPSILON; } \
        static constexpr type denorm_min() noexcept                         \
        {                                                                   \
            return prefix##_TRUE_MIN;                                       \
        }                                                                   \
        static constexpr type infinity() noexcept { return infinite; }      \
        static constexpr type quiet_NaN() noexcept { return quiet; }        \
    };
RNL_LIMITS(float, FLT, __builtin_inff(), __builtin_nanf(""))
RNL_LIMITS(double, DBL, __builtin_inf(), __builtin_nan(""))
#undef RNL_LIMITS
} // namespace std
