// Atomic functions that name an order and who may look. Here every order is the
// strongest, and everyone may.

#define __NV_ATOMIC_RELAXED 0
#define __NV_ATOMIC_CONSUME 1
#define __NV_ATOMIC_ACQUIRE 2
#define __NV_ATOMIC_RELEASE 3
#define __NV_ATOMIC_ACQ_REL 4
#define __NV_ATOMIC_SEQ_CST 5
#define __NV_THREAD_SCOPE_THREAD 0
#define __NV_THREAD_SCOPE_BLOCK 1
#define __NV_THREAD_SCOPE_CLUSTER 2
#define __NV_THREAD_SCOPE_DEVICE 3
#define __NV_THREAD_SCOPE_SYSTEM 4

// A type of that size can be read and written at once.
template <size_t Size> struct rnl_sized {
    typedef unsigned int type;
};
template <> struct rnl_sized<1> {
    typedef unsigned char type;
};
template <> struct rnl_sized<2> {
    typedef unsigned short type;
};
template <> struct rnl_sized<8> {
    typedef unsigned long long type;
};

// Processors with AVX load 16 bytes at once, and all of them have cmpxchg16b.
// By that alone one would have to write in order to read, which constant memory
// does not bear.
#if defined(__AVX__) && defined(__GCC_HAVE_SYNC_COMPARE_AND_SWAP_16)
typedef unsigned __int128 rnl_wide;
template <> struct rnl_sized<16> {
    typedef rnl_wide type;
};
// Tier B has no vectors here.
RNL_INLINE rnl_wide rnl_wide_load(const rnl_wide *p)
{
#if defined(RNL_SIMT)
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);
#else
    typedef long long pair __attribute__((vector_size(16), may_alias));
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    pair value = *reinterpret_cast<const volatile pair *>(p);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    rnl_wide bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
#endif
}
RNL_INLINE rnl_wide atomicCAS(rnl_wide *p, rnl_wide compare, rnl_wide value)
{
    rnl_look(RNL_IS(compare, value));
    rnl_wide old = __sync_val_compare_and_swap(p, compare, value);
    if (old != compare)
        rnl_spin();
    return old;
}
RNL_INLINE rnl_wide atomicExch(rnl_wide *p, rnl_wide value)
{
    rnl_wide seen = 0, old;
    while ((old = __sync_val_compare_and_swap(p, seen, value)) != seen)
        seen = old;
    if (old != 0)
        rnl_spin();
    return old;
}
#endif

template <class T> struct rnl_unqualified {
    typedef T type;
};
template <class T> struct rnl_unqualified<const T> {
    typedef T type;
};
template <class T> struct rnl_unqualified<volatile T> {
    typedef T type;
};
template <class T> struct rnl_unqualified<const volatile T> {
    typedef T type;
};
template <class T> using rnl_given = typename rnl_unqualified<T>::type;
template <class T> using rnl_sized_of = typename rnl_sized<sizeof(T)>::type;

template <class T> RNL_INLINE rnl_sized_of<T> *rnl_as_sized(T *p)
{
    static_assert(sizeof(T) == sizeof(rnl_sized_of<T>),
                  "atomic functions are for objects of 1, 2, 4 or 8 bytes, and "
                  "of 16 if the processor has AVX");
    return reinterpret_cast<rnl_sized_of<T> *>(const_cast<rnl_given<T> *>(p));
}
template <class T> RNL_INLINE rnl_sized_of<T> rnl_sized_bits(T value)
{
    rnl_sized_of<T> bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}
template <class T> RNL_INLINE T rnl_of_sized(rnl_sized_of<T> bits)
{
    T value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

// Functions that take or return values are for integers.
template <class T> constexpr auto rnl_counts(int) -> decltype(T() % T(), true)
{
    return !__is_enum(T) && !__is_class(T);
}
template <class T> constexpr bool rnl_counts(long) { return false; }
#define RNL_COUNTS                                                           \
    static_assert(rnl_counts<T>(0),                                          \
                  "atomic functions that end in _n are for integers only")

// A reader may wait for another thread: as an atomic function that changes
// nothing.
template <class T>
RNL_INLINE void __nv_atomic_load(T *p, rnl_given<T> *out, int,
                                 int = __NV_THREAD_SCOPE_SYSTEM)
{
    typedef rnl_given<T> given;
    if constexpr (sizeof(rnl_sized_of<T>) > 8) {
        rnl_look(true);
        *out = rnl_of_sized<given>(rnl_wide_load(rnl_as_sized(p)));
    } else if constexpr (sizeof(T) < 4) {
        *out = rnl_of_sized<given>(__atomic_load_n(rnl_as_sized(p),
                                                   __ATOMIC_SEQ_CST));
    } else {
        *out = rnl_of_sized<given>(atomicOr(rnl_as_sized(p), 0));
    }
}
template <class T>
RNL_INLINE T __nv_atomic_load_n(T *p, int order,
                                int = __NV_THREAD_SCOPE_SYSTEM)
{
    RNL_COUNTS;
    rnl_given<T> value;
    __nv_atomic_load(p, &value, order);
    return value;
}

template <class T>
RNL_INLINE void __nv_atomic_store(T *p, const rnl_given<T> *value, int,
                                  int = __NV_THREAD_SCOPE_SYSTEM)
{
    if constexpr (sizeof(rnl_sized_of<T>) > 8)
        atomicExch(rnl_as_sized(p), rnl_sized_bits(*value));
    else
        __atomic_store_n(rnl_as_sized(p), rnl_sized_bits(*value),
                         __ATOMIC_SEQ_CST);
}
template <class T>
RNL_INLINE void __nv_atomic_store_n(T *p, rnl_given<T> value, int order,
                                    int = __NV_THREAD_SCOPE_SYSTEM)
{
    RNL_COUNTS;
    __nv_atomic_store(p, &value, order);
}

template <class T>
RNL_INLINE void __nv_atomic_exchange(T *p, const rnl_given<T> *value,
                                     rnl_given<T> *out, int,
                                     int = __NV_THREAD_SCOPE_SYSTEM)
{
    *out = rnl_of_sized<rnl_given<T>>(
        atomicExch(rnl_as_sized(p), rnl_sized_bits(*value)));
}
template <class T>
RNL_INLINE T __nv_atomic_exchange_n(T *p, rnl_given<T> value, int order,
                                    int = __NV_THREAD_SCOPE_SYSTEM)
{
    RNL_COUNTS;
    rnl_given<T> old;
    __nv_atomic_exchange(p, &value, &old, order);
    return old;
}

template <class T>
RNL_INLINE bool
__nv_atomic_compare_exchange(T *p, rnl_given<T> *expected,
                             const rnl_given<T> *value, bool, int, int,
                             int = __NV_THREAD_SCOPE_SYSTEM)
{
    rnl_sized_of<T> before = rnl_sized_bits(*expected);
    rnl_sized_of<T> old = atomicCAS(rnl_as_sized(p), before,
                                    rnl_sized_bits(*value));
    *expected = rnl_of_sized<rnl_given<T>>(old);
    return old == before;
}
template <class T>
RNL_INLINE bool
__nv_atomic_compare_exchange_n(T *p, rnl_given<T> *expected,
                               rnl_given<T> value, bool weak, int order,
                               int failed, int = __NV_THREAD_SCOPE_SYSTEM)
{
    RNL_COUNTS;
    return __nv_atomic_compare_exchange(p, expected, &value, weak, order,
                                        failed);
}
#undef RNL_COUNTS

// Signed ones that are only compared or of bits may be long.
template <class T> RNL_INLINE T *rnl_as_long(T *p)
{
    return p;
}
RNL_INLINE long long *rnl_as_long(long *p)
{
    return reinterpret_cast<long long *>(p);
}

#define RNL_SCOPED(name, call)                                               \
    template <class T>                                                       \
    RNL_INLINE T __nv_atomic_fetch_##name(T *p, rnl_given<T> value, int,     \
                                          int = __NV_THREAD_SCOPE_SYSTEM)    \
    {                                                                        \
        static_assert(sizeof(T) == 4 || sizeof(T) == 8,                      \
                      "atomic arithmetic is for numbers of 4 or 8 bytes");   \
        if constexpr (sizeof(T) == 4 || sizeof(T) == 8)                      \
            return call;                                                     \
        else                                                                 \
            return value;                                                    \
    }                                                                        \
    template <class T>                                                       \
    RNL_INLINE void __nv_atomic_##name(T *p, rnl_given<T> value, int order,  \
                                       int = __NV_THREAD_SCOPE_SYSTEM)       \
    {                                                                        \
        __nv_atomic_fetch_##name(p, value, order);                           \
    }
RNL_SCOPED(add, atomicAdd(p, value))
RNL_SCOPED(sub, atomicAdd(p, static_cast<T>(-value)))
RNL_SCOPED(and, atomicAnd(rnl_as_long(p), value))
RNL_SCOPED(or, atomicOr(rnl_as_long(p), value))
RNL_SCOPED(xor, atomicXor(rnl_as_long(p), value))
RNL_SCOPED(min, atomicMin(rnl_as_long(p), value))
RNL_SCOPED(max, atomicMax(rnl_as_long(p), value))
#undef RNL_SCOPED

RNL_INLINE void __nv_atomic_thread_fence(int, int = __NV_THREAD_SCOPE_SYSTEM)
{
    __threadfence();
}
