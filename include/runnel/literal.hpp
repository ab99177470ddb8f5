// Option literals and lists for C++11 and later.
// Included by <runnel/base.h>; not for direct use.
#ifndef RUNNEL_LITERAL_HPP
#define RUNNEL_LITERAL_HPP

#include <runnel/base.h>
#include <initializer_list>

// Fields are left out of literals on purpose: no warning about that. gcc takes
// macros of a system header so, clang is told where they are used.
#ifdef __clang__
#define RNL_QUIETLY(...) \
    _Pragma("clang diagnostic push") \
    _Pragma("clang diagnostic ignored \"-Wmissing-field-initializers\"") \
    __VA_ARGS__ \
    _Pragma("clang diagnostic pop")
#else
#pragma GCC system_header
#define RNL_QUIETLY(...) __VA_ARGS__
#endif

template <class T>
struct rnl_literal {
    T value;
    operator const T *() const { return &value; }
};

template <class T>
inline rnl_literal<T> rnl_literal_of(const T &value)
{
    return {value};
}

#define RNL_LITERAL(type, ...) \
    RNL_QUIETLY(rnl_literal_of(type{.struct_size = sizeof(type), __VA_ARGS__}))

// Two arguments: the first of a list's items, and how many there are.
template <class... T>
char (&rnl_count_of(const T &...))[sizeof...(T)];

#define RNL_LIST(type, ...)                          \
    std::initializer_list<type>{__VA_ARGS__}.begin(), \
        sizeof(rnl_count_of(__VA_ARGS__))

#endif
