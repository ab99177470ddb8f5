// Memory and time, and what else every source gets.

namespace std {
template <class T> struct rnl_bare {
    typedef T type;
};
template <class T> struct rnl_bare<T &> {
    typedef T type;
};
template <class T> struct rnl_bare<T &&> {
    typedef T type;
};
} // namespace std

#define RNL_LOAD(name) \
    template <class T> RNL_INLINE T name(const T *p) { return *p; }
// Converts a value to the type in memory.
#define RNL_STORE(name)                                               \
    template <class T>                                                \
    RNL_INLINE void name(T *p, typename std::rnl_bare<T>::type value) \
    {                                                                 \
        *p = value;                                                   \
    }
RNL_LOAD(__ldg)
RNL_LOAD(__ldca)
RNL_LOAD(__ldcg)
RNL_LOAD(__ldcs)
RNL_LOAD(__ldlu)
RNL_LOAD(__ldcv)
RNL_STORE(__stcg)
RNL_STORE(__stcs)
RNL_STORE(__stwb)
RNL_STORE(__stwt)

#define __assume(condition) __builtin_assume(condition)

RNL_INLINE long long clock64()
{
#if defined(__x86_64__)
    return (long long)__builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    return (long long)__builtin_arm_rsr64("cntvct_el0");
#else
    return 0;
#endif
}
RNL_INLINE clock_t clock() { return (int)clock64(); }

extern "C" void *memcpy(void *, const void *, size_t) noexcept;
extern "C" void *memmove(void *, const void *, size_t) noexcept;
extern "C" void *memset(void *, int, size_t) noexcept;
extern "C" int memcmp(const void *, const void *, size_t) noexcept;
extern "C" size_t strlen(const char *) noexcept;

// Symbols that code with virtual functions refers to.
extern "C" __attribute__((weak)) void __cxa_pure_virtual()
{
    rnl_trap("a pure virtual function was called", nullptr, 0);
}

namespace std {
template <class T>
constexpr typename rnl_bare<T>::type &&move(T &&value) noexcept
{
    return static_cast<typename rnl_bare<T>::type &&>(value);
}
template <class T>
constexpr T &&forward(typename rnl_bare<T>::type &value) noexcept
{
    return static_cast<T &&>(value);
}
template <class T>
constexpr T &&forward(typename rnl_bare<T>::type &&value) noexcept
{
    return static_cast<T &&>(value);
}

// The compiler makes an initializer list of braces: these two members, in this
// order.
#ifndef RNL_NO_LIST
template <class T> class initializer_list {
    const T *first;
    size_t count;

public:
    typedef T value_type;
    typedef const T &reference, &const_reference;
    typedef size_t size_type;
    typedef const T *iterator, *const_iterator;
    constexpr initializer_list() noexcept : first(nullptr), count(0) {}
    constexpr size_t size() const noexcept { return count; }
    constexpr const T *begin() const noexcept { return first; }
    constexpr const T *end() const noexcept { return first + count; }
};
#endif
} // namespace std
