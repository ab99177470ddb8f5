// RNL_ARGS and the option macros' arguments for C++17.
// Included by <runnel/launch.h>; not for direct use.
#ifndef RUNNEL_LAUNCH_ARGS_HPP
#define RUNNEL_LAUNCH_ARGS_HPP

#include <runnel/launch.h>
#include <type_traits>

// One argument by its C++ type; a struct is taken by reference and copied at
// the launch, so it must live until the end of the full expression.
template <class T>
inline rnl_arg rnl_arg_of(const T &value)
{
    using V = std::decay_t<T>;
    if constexpr (std::is_same_v<V, rnl_arg>)
        return value;
    else if constexpr (std::is_same_v<V, rnl_buffer>)
        return rnl_arg_of_buffer(value);
    else if constexpr (std::is_same_v<V, float>)
        return rnl_arg_of_float(value);
    else if constexpr (std::is_same_v<V, double>)
        return rnl_arg_of_double(value);
    else if constexpr (std::is_integral_v<V> || std::is_enum_v<V>)
        return rnl_arg_of_integer(static_cast<uint64_t>(value), sizeof(V));
    else if constexpr (std::is_pointer_v<V> || std::is_null_pointer_v<V>)
        return rnl_arg_of_pointer(value);
    else
        return rnl_arg_of_struct(&value, sizeof value);
}

// Holds the arguments until the end of the full expression.
template <size_t N>
struct rnl_arg_pack {
    rnl_arg items[N];
    rnl_args args;
    operator const rnl_args *()
    {
        args = {sizeof(rnl_args), N, items};
        return &args;
    }
};

template <class... T>
inline rnl_arg_pack<sizeof...(T)> rnl_arg_pack_of(const T &...values)
{
    return {{rnl_arg_of(values)...}, {}};
}

#define RNL_ARGS(...) rnl_arg_pack_of(__VA_ARGS__)

#endif
