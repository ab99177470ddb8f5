// Barriers, warp functions, fences and atomics.

// --- Block barriers and fences ---------------------------------------------

RNL_INLINE void __syncthreads() { rnl_sync(RNL_CPU_SYNC_PLAIN, 0); }
RNL_INLINE int __syncthreads_count(int predicate)
{
    return rnl_sync(RNL_CPU_SYNC_COUNT, predicate);
}
RNL_INLINE int __syncthreads_and(int predicate)
{
    return rnl_sync(RNL_CPU_SYNC_AND, predicate);
}
RNL_INLINE int __syncthreads_or(int predicate)
{
    return rnl_sync(RNL_CPU_SYNC_OR, predicate);
}

RNL_INLINE void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
RNL_INLINE void __threadfence_block()
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
RNL_INLINE void __threadfence_system() { __threadfence(); }
RNL_INLINE void __nanosleep(unsigned int) { rnl_yield(); }

// --- Warp functions --------------------------------------------------------

#define RNL_FULL_MASK 0xffffffffu

RNL_INLINE void __syncwarp(unsigned int mask = RNL_FULL_MASK)
{
    rnl_warp(RNL_CPU_WARP_SYNC, mask, 0, 0, 32);
}
RNL_INLINE unsigned int __activemask()
{
    return static_cast<unsigned int>(
        rnl_warp(RNL_CPU_WARP_ACTIVE, 0, 0, 0, 32));
}
RNL_INLINE unsigned int __ballot_sync(unsigned int mask, int predicate)
{
    return static_cast<unsigned int>(
        rnl_warp(RNL_CPU_WARP_BALLOT, mask, predicate != 0, 0, 32));
}
RNL_INLINE int __any_sync(unsigned int mask, int predicate)
{
    return static_cast<int>(
        rnl_warp(RNL_CPU_WARP_ANY, mask, predicate != 0, 0, 32));
}
RNL_INLINE int __all_sync(unsigned int mask, int predicate)
{
    return static_cast<int>(
        rnl_warp(RNL_CPU_WARP_ALL, mask, predicate != 0, 0, 32));
}

// The bits of a value of up to 8 bytes, and back.
template <class T> RNL_INLINE unsigned long long rnl_bits(T value)
{
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    return bits;
}
template <class T> RNL_INLINE T rnl_of_bits(unsigned long long bits)
{
    T value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

#define RNL_SHUFFLE(type)                                                    \
    RNL_INLINE type __shfl_sync(unsigned int mask, type value, int lane,     \
                                int width = 32)                              \
    {                                                                        \
        return rnl_of_bits<type>(                                            \
            rnl_warp(RNL_CPU_WARP_SHUFFLE, mask, rnl_bits(value),            \
                     static_cast<unsigned int>(lane), width));               \
    }                                                                        \
    RNL_INLINE type __shfl_up_sync(unsigned int mask, type value,            \
                                   unsigned int delta, int width = 32)       \
    {                                                                        \
        return rnl_of_bits<type>(rnl_warp(RNL_CPU_WARP_SHUFFLE_UP, mask,     \
                                          rnl_bits(value), delta, width));   \
    }                                                                        \
    RNL_INLINE type __shfl_down_sync(unsigned int mask, type value,          \
                                     unsigned int delta, int width = 32)     \
    {                                                                        \
        return rnl_of_bits<type>(rnl_warp(RNL_CPU_WARP_SHUFFLE_DOWN, mask,   \
                                          rnl_bits(value), delta, width));   \
    }                                                                        \
    RNL_INLINE type __shfl_xor_sync(unsigned int mask, type value,           \
                                    int lane_mask, int width = 32)           \
    {                                                                        \
        return rnl_of_bits<type>(                                            \
            rnl_warp(RNL_CPU_WARP_SHUFFLE_XOR, mask, rnl_bits(value),        \
                     static_cast<unsigned int>(lane_mask), width));          \
    }
RNL_SHUFFLE(int)
RNL_SHUFFLE(unsigned int)
RNL_SHUFFLE(long)
RNL_SHUFFLE(unsigned long)
RNL_SHUFFLE(long long)
RNL_SHUFFLE(unsigned long long)
RNL_SHUFFLE(float)
RNL_SHUFFLE(double)

#define RNL_MATCH(type)                                                      \
    RNL_INLINE unsigned int __match_any_sync(unsigned int mask, type value)  \
    {                                                                        \
        return static_cast<unsigned int>(rnl_warp(                           \
            RNL_CPU_WARP_MATCH_ANY, mask, rnl_bits(value), 0, 32));          \
    }                                                                        \
    RNL_INLINE unsigned int __match_all_sync(unsigned int mask, type value,  \
                                             int *predicate)                 \
    {                                                                        \
        unsigned int same = static_cast<unsigned int>(rnl_warp(              \
            RNL_CPU_WARP_MATCH_ALL, mask, rnl_bits(value), 0, 32));          \
        *predicate = same != 0;                                              \
        return same;                                                         \
    }
RNL_MATCH(int)
RNL_MATCH(unsigned int)
RNL_MATCH(long)
RNL_MATCH(unsigned long)
RNL_MATCH(long long)
RNL_MATCH(unsigned long long)
RNL_MATCH(float)
RNL_MATCH(double)

#define RNL_REDUCE(name, type, kind)                                         \
    RNL_INLINE type __reduce_##name##_sync(unsigned int mask, type value)    \
    {                                                                        \
        return static_cast<type>(rnl_warp(                                   \
            kind, mask, static_cast<unsigned int>(value), 0, 32));           \
    }
RNL_REDUCE(add, int, RNL_CPU_WARP_ADD)
RNL_REDUCE(add, unsigned int, RNL_CPU_WARP_ADD)
RNL_REDUCE(min, int, RNL_CPU_WARP_MIN_SIGNED)
RNL_REDUCE(min, unsigned int, RNL_CPU_WARP_MIN)
RNL_REDUCE(max, int, RNL_CPU_WARP_MAX_SIGNED)
RNL_REDUCE(max, unsigned int, RNL_CPU_WARP_MAX)
RNL_REDUCE(and, unsigned int, RNL_CPU_WARP_AND)
RNL_REDUCE(or, unsigned int, RNL_CPU_WARP_OR)
RNL_REDUCE(xor, unsigned int, RNL_CPU_WARP_XOR)

// --- Atomics ---------------------------------------------------------------

// Replaces *p by f(old) and gives the old value. Works for every type of 2, 4
// or 8 bytes.
template <class Bits, class T, class F> RNL_INLINE T rnl_replace(T *p, F f)
{
    Bits *bits = reinterpret_cast<Bits *>(p);
    Bits old = __atomic_load_n(bits, __ATOMIC_RELAXED);
    for (;;) {
        T before;
        __builtin_memcpy(&before, &old, sizeof before);
        T after = f(before);
        Bits next;
        __builtin_memcpy(&next, &after, sizeof next);
        if (__atomic_compare_exchange_n(bits, &old, next, true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return before;
    }
}

// Defines atomicX and its _block and _system forms with one body.
#define RNL_ATOMIC(name, type, body)                                         \
    RNL_INLINE type name(type *p, type v) { body; }                          \
    RNL_INLINE type name##_block(type *p, type v) { body; }                  \
    RNL_INLINE type name##_system(type *p, type v) { body; }

#define RNL_ATOMIC_MIN_MAX(type, bits)                                       \
    RNL_ATOMIC(atomicMin, type, return rnl_replace<bits>(                    \
        p, [=](type old) { return v < old ? v : old; }))                     \
    RNL_ATOMIC(atomicMax, type, return rnl_replace<bits>(                    \
        p, [=](type old) { return v > old ? v : old; }))

// A lock taken by exchange or compare-and-swap may be held by a thread that can
// only run when this one yields.
#define RNL_ATOMIC_EXCHANGE(type, bits)                                      \
    RNL_ATOMIC(atomicExch, type, {                                           \
        bits old = __atomic_exchange_n(reinterpret_cast<bits *>(p),          \
                                       static_cast<bits>(rnl_bits(v)),       \
                                       __ATOMIC_ACQ_REL);                    \
        if (__builtin_expect(old != 0, 0))                                   \
            rnl_spin();                                                      \
        return rnl_of_bits<type>(old);                                       \
    })

#define RNL_ATOMIC_CAS_FORM(name, type)                                      \
    RNL_INLINE type name(type *p, type compare, type value)                  \
    {                                                                        \
        type old = compare;                                                  \
        if (!__atomic_compare_exchange_n(p, &old, value, false,              \
                                         __ATOMIC_ACQ_REL,                   \
                                         __ATOMIC_ACQUIRE))                  \
            rnl_spin();                                                      \
        return old;                                                          \
    }
#define RNL_ATOMIC_CAS(type)                 \
    RNL_ATOMIC_CAS_FORM(atomicCAS, type)        \
    RNL_ATOMIC_CAS_FORM(atomicCAS_block, type)  \
    RNL_ATOMIC_CAS_FORM(atomicCAS_system, type)

#define RNL_ATOMIC_INTEGER(type, bits)                                       \
    RNL_ATOMIC(atomicAdd, type,                                              \
               return __atomic_fetch_add(p, v, __ATOMIC_RELAXED))            \
    RNL_ATOMIC(atomicSub, type,                                              \
               return __atomic_fetch_sub(p, v, __ATOMIC_RELAXED))            \
    RNL_ATOMIC(atomicAnd, type,                                              \
               return __atomic_fetch_and(p, v, __ATOMIC_RELAXED))            \
    RNL_ATOMIC(atomicOr, type,                                               \
               return __atomic_fetch_or(p, v, __ATOMIC_RELAXED))             \
    RNL_ATOMIC(atomicXor, type,                                              \
               return __atomic_fetch_xor(p, v, __ATOMIC_RELAXED))            \
    RNL_ATOMIC_MIN_MAX(type, bits)                                           \
    RNL_ATOMIC_EXCHANGE(type, bits)                                          \
    RNL_ATOMIC_CAS(type)

#define RNL_ATOMIC_FLOAT(type, bits)                                         \
    RNL_ATOMIC(atomicAdd, type, return rnl_replace<bits>(                    \
        p, [=](type old) { return old + v; }))                               \
    RNL_ATOMIC_MIN_MAX(type, bits)                                           \
    RNL_ATOMIC_EXCHANGE(type, bits)

RNL_ATOMIC_INTEGER(int, unsigned int)
RNL_ATOMIC_INTEGER(unsigned int, unsigned int)
RNL_ATOMIC_INTEGER(unsigned long, unsigned long)
RNL_ATOMIC_INTEGER(long long, unsigned long long)
RNL_ATOMIC_INTEGER(unsigned long long, unsigned long long)
RNL_ATOMIC_FLOAT(float, unsigned int)
RNL_ATOMIC_FLOAT(double, unsigned long long)
RNL_ATOMIC_CAS(unsigned short)
RNL_ATOMIC(atomicInc, unsigned int, return rnl_replace<unsigned int>(
    p, [=](unsigned int old) { return old >= v ? 0 : old + 1; }))
RNL_ATOMIC(atomicDec, unsigned int, return rnl_replace<unsigned int>(
    p, [=](unsigned int old) { return old == 0 || old > v ? v : old - 1; }))
