// Atomic functions.

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

#define RNL_ATOMIC(name, type, body) \
    RNL_INLINE type name(type *p, type v) { body; }

#define RNL_ATOMIC_REPLACE(type, bits)                                       \
    RNL_ATOMIC(atomicMin, type, return rnl_replace<bits>(                    \
        p, [=](type old) { return v < old ? v : old; }))                     \
    RNL_ATOMIC(atomicMax, type, return rnl_replace<bits>(                    \
        p, [=](type old) { return v > old ? v : old; }))

// The SIMT compiler makes a single operation, unlike a loop, fast on shared
// memory, and where all lanes use one address.
#if defined(RNL_SIMT)
#define RNL_ATOMIC_ONE(name, type, fetch)                                    \
    RNL_ATOMIC(name, type, return fetch(p, v, __ATOMIC_RELAXED))
#define RNL_ATOMIC_MIN_MAX(type, bits)                                       \
    RNL_ATOMIC_ONE(atomicMin, type, __atomic_fetch_min)                      \
    RNL_ATOMIC_ONE(atomicMax, type, __atomic_fetch_max)
#define RNL_ATOMIC_ADD(type, bits)                                           \
    RNL_ATOMIC_ONE(atomicAdd, type, __atomic_fetch_add)
#else
#define RNL_ATOMIC_MIN_MAX(type, bits) RNL_ATOMIC_REPLACE(type, bits)
#define RNL_ATOMIC_ADD(type, bits)                                           \
    RNL_ATOMIC(atomicAdd, type, return rnl_replace<bits>(                    \
        p, [=](type old) { return old + v; }))
#endif

// An atomic function that leaves memory as it is asks whether another thread
// has acted. The SIMT compiler sees that by itself (simt/kernel/spin_loops.c).
#if defined(RNL_SIMT)
#define RNL_IS(value, same) false
#else
#define RNL_IS(value, same) (__builtin_constant_p(value) && value == (same))
#endif
RNL_INLINE void rnl_look(bool only)
{
    if (only)
        rnl_spin();
}

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

#define RNL_ATOMIC_CAS(type)                                                 \
    RNL_INLINE type atomicCAS(type *p, type compare, type value)             \
    {                                                                        \
        rnl_look(RNL_IS(compare, value));                                    \
        type old = compare;                                                  \
        if (!__atomic_compare_exchange_n(p, &old, value, false,              \
                                         __ATOMIC_ACQ_REL,                   \
                                         __ATOMIC_ACQUIRE))                  \
            rnl_spin();                                                      \
        return old;                                                          \
    }

#define RNL_ATOMIC_FETCH(name, type, fetch, same)                            \
    RNL_ATOMIC(name, type,                                                   \
               rnl_look(RNL_IS(v, static_cast<type>(same)));                 \
               return fetch(p, v, __ATOMIC_RELAXED))

#define RNL_ATOMIC_INTEGER(type, bits)                                       \
    RNL_ATOMIC_FETCH(atomicAdd, type, __atomic_fetch_add, 0)                 \
    RNL_ATOMIC_FETCH(atomicSub, type, __atomic_fetch_sub, 0)                 \
    RNL_ATOMIC_FETCH(atomicAnd, type, __atomic_fetch_and, -1)                \
    RNL_ATOMIC_FETCH(atomicOr, type, __atomic_fetch_or, 0)                   \
    RNL_ATOMIC_FETCH(atomicXor, type, __atomic_fetch_xor, 0)                 \
    RNL_ATOMIC_MIN_MAX(type, bits)                                           \
    RNL_ATOMIC_EXCHANGE(type, bits)                                          \
    RNL_ATOMIC_CAS(type)

#define RNL_ATOMIC_FLOAT(type, bits)                                         \
    RNL_ATOMIC_ADD(type, bits)                                               \
    RNL_ATOMIC_REPLACE(type, bits)                                           \
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

// The forms that name who may look are the same. Templates cost the compiler
// less than an overload for each type.
#define RNL_ATOMIC_FORM(name, form)                                          \
    template <class T, class... V>                                           \
    RNL_INLINE auto form(T *p, V... v)->decltype(name(p, v...))              \
    {                                                                        \
        return name(p, v...);                                                \
    }
#define RNL_ATOMIC_FORMS(name)            \
    RNL_ATOMIC_FORM(name, name##_block)   \
    RNL_ATOMIC_FORM(name, name##_system)
RNL_ATOMIC_FORMS(atomicAdd)
RNL_ATOMIC_FORMS(atomicSub)
RNL_ATOMIC_FORMS(atomicAnd)
RNL_ATOMIC_FORMS(atomicOr)
RNL_ATOMIC_FORMS(atomicXor)
RNL_ATOMIC_FORMS(atomicMin)
RNL_ATOMIC_FORMS(atomicMax)
RNL_ATOMIC_FORMS(atomicExch)
RNL_ATOMIC_FORMS(atomicCAS)
RNL_ATOMIC_FORMS(atomicInc)
RNL_ATOMIC_FORMS(atomicDec)
