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

// What has that size can be read and written at once.
template <size_t Size> struct rnl_sized;
template <> struct rnl_sized<1> {
    typedef unsigned char type;
};
template <> struct rnl_sized<2> {
    typedef unsigned short type;
};
template <> struct rnl_sized<4> {
    typedef unsigned int type;
};
template <> struct rnl_sized<8> {
    typedef unsigned long long type;
};
template <class T> using rnl_sized_of = typename rnl_sized<sizeof(T)>::type;
template <class T> using rnl_given = typename std::rnl_bare<T>::type;

template <class T> RNL_INLINE rnl_sized_of<T> *rnl_as_sized(T *p)
{
    return reinterpret_cast<rnl_sized_of<T> *>(const_cast<rnl_given<T> *>(p));
}
template <class T> RNL_INLINE rnl_sized_of<T> rnl_sized_bits(T value)
{
    return static_cast<rnl_sized_of<T>>(rnl_bits(value));
}

// Who reads may wait for another thread: as an atomic function that changes
// nothing.
template <class T>
RNL_INLINE T __nv_atomic_load_n(T *p, int, int = __NV_THREAD_SCOPE_SYSTEM)
{
    if constexpr (sizeof(T) < 4)
        return rnl_of_bits<T>(__atomic_load_n(rnl_as_sized(p),
                                              __ATOMIC_SEQ_CST));
    else
        return rnl_of_bits<T>(atomicOr(rnl_as_sized(p), 0));
}
template <class T>
RNL_INLINE void __nv_atomic_load(T *p, T *out, int order,
                                 int = __NV_THREAD_SCOPE_SYSTEM)
{
    *out = __nv_atomic_load_n(p, order);
}

template <class T>
RNL_INLINE void __nv_atomic_store_n(T *p, rnl_given<T> value, int,
                                    int = __NV_THREAD_SCOPE_SYSTEM)
{
    __atomic_store_n(rnl_as_sized(p), rnl_sized_bits<T>(value),
                     __ATOMIC_SEQ_CST);
}
template <class T>
RNL_INLINE void __nv_atomic_store(T *p, T *value, int order,
                                  int = __NV_THREAD_SCOPE_SYSTEM)
{
    __nv_atomic_store_n(p, *value, order);
}

template <class T>
RNL_INLINE T __nv_atomic_exchange_n(T *p, rnl_given<T> value, int,
                                    int = __NV_THREAD_SCOPE_SYSTEM)
{
    return rnl_of_bits<T>(
        atomicExch(rnl_as_sized(p), rnl_sized_bits<T>(value)));
}
template <class T>
RNL_INLINE void __nv_atomic_exchange(T *p, T *value, T *out, int order,
                                     int = __NV_THREAD_SCOPE_SYSTEM)
{
    *out = __nv_atomic_exchange_n(p, *value, order);
}

template <class T>
RNL_INLINE bool
__nv_atomic_compare_exchange_n(T *p, T *expected, rnl_given<T> value, bool,
                               int, int, int = __NV_THREAD_SCOPE_SYSTEM)
{
    rnl_sized_of<T> before = rnl_sized_bits<T>(*expected);
    rnl_sized_of<T> old = atomicCAS(rnl_as_sized(p), before,
                                   rnl_sized_bits<T>(value));
    *expected = rnl_of_bits<T>(old);
    return old == before;
}
template <class T>
RNL_INLINE bool
__nv_atomic_compare_exchange(T *p, T *expected, T *value, bool weak, int order,
                             int failed, int = __NV_THREAD_SCOPE_SYSTEM)
{
    return __nv_atomic_compare_exchange_n(p, expected, *value, weak, order,
                                          failed);
}

// Signed ones that are only compared or of bits may be long.
template <class T> RNL_INLINE T *rnl_as_long(T *p)
{
    return p;
}
RNL_INLINE long long *rnl_as_long(long *p)
{
    return reinterpret_cast<long long *>(p);
}

#define RNL_SCOPED(name, call)                                              \
    template <class T>                                                      \
    RNL_INLINE T __nv_atomic_fetch_##name(T *p, rnl_given<T> value, int,    \
                                          int = __NV_THREAD_SCOPE_SYSTEM)   \
    {                                                                       \
        return call;                                                        \
    }                                                                       \
    template <class T>                                                      \
    RNL_INLINE void __nv_atomic_##name(T *p, rnl_given<T> value, int,       \
                                       int = __NV_THREAD_SCOPE_SYSTEM)      \
    {                                                                       \
        call;                                                               \
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
