// RNL_ARGS for C++11 and later.
// Included by <runnel/launch.h>; not for direct use.
#ifndef RUNNEL_LAUNCH_ARGS_HPP
#define RUNNEL_LAUNCH_ARGS_HPP

#include <runnel/launch.h>
#include <type_traits>

// --- One argument, by its C++ type -----------------------------------------

inline rnl_arg rnl_arg_of(const rnl_arg &value)
{
    return value;
}

inline rnl_arg rnl_arg_of(rnl_buffer value)
{
    return rnl_arg_of_buffer(value);
}

inline rnl_arg rnl_arg_of(float value)
{
    return rnl_arg_of_float(value);
}

inline rnl_arg rnl_arg_of(double value)
{
    return rnl_arg_of_double(value);
}

template <class T>
struct rnl_is_integer
    : std::integral_constant<bool, std::is_integral<T>::value ||
                                       std::is_enum<T>::value> {
};

template <class T>
struct rnl_is_pointer
    : std::integral_constant<
          bool, std::is_pointer<typename std::decay<T>::type>::value ||
                    std::is_same<T, decltype(nullptr)>::value> {
};

template <class T>
inline typename std::enable_if<rnl_is_integer<T>::value, rnl_arg>::type
rnl_arg_of(const T &value)
{
    return rnl_arg_of_integer(static_cast<uint64_t>(value), sizeof(T));
}

template <class T>
inline typename std::enable_if<rnl_is_pointer<T>::value, rnl_arg>::type
rnl_arg_of(const T &value)
{
    return rnl_arg_of_pointer(value);
}

// A struct is taken by reference and copied at the launch, so it must live
// until the end of the full expression.
template <class T>
inline typename std::enable_if<
    !rnl_is_integer<T>::value && !rnl_is_pointer<T>::value, rnl_arg>::type
rnl_arg_of(const T &value)
{
    static_assert(std::is_trivially_copyable<T>::value,
                  "a launch copies its arguments byte by byte");
    return rnl_arg_of_struct(&value, sizeof value);
}

// --- All arguments of a launch ---------------------------------------------

// Holds the arguments until the end of the full expression.
template <size_t N>
struct rnl_arg_pack {
    rnl_arg items[N];
    rnl_args args;
    operator const rnl_args *()
    {
        args.struct_size = sizeof(rnl_args);
        args.count = N;
        args.items = items;
        return &args;
    }
};

template <class... T>
inline rnl_arg_pack<sizeof...(T)> rnl_arg_pack_of(const T &...values)
{
    return {{rnl_arg_of(values)...}, {0, 0, nullptr}};
}

#define RNL_ARGS(...) rnl_arg_pack_of(__VA_ARGS__)

#endif
