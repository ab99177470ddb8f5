// Atomic functions. HIP's own ones differ between versions in the types that
// they take.
#define RNL_HAS_ATOMIC
#define RNL_BLOCK __HIP_MEMORY_SCOPE_WORKGROUP
#define RNL_DEVICE __HIP_MEMORY_SCOPE_AGENT
#define RNL_SYSTEM __HIP_MEMORY_SCOPE_SYSTEM

template <class T> struct rnl_same {
    typedef T type;
};
template <class T> using rnl_as = typename rnl_same<T>::type;

// An unsigned integer of the same size.
template <size_t Size> struct rnl_bits_type {
    typedef unsigned int type;
};
template <> struct rnl_bits_type<2> {
    typedef unsigned short type;
};
template <> struct rnl_bits_type<8> {
    typedef unsigned long long type;
};
template <class T> using rnl_bits_of = typename rnl_bits_type<sizeof(T)>::type;

template <class To, class From> RNL_INLINE To rnl_as_bits(From from)
{
    static_assert(sizeof(To) == sizeof(From), "");
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}

template <int Scope, class T>
RNL_INLINE T rnl_exchange(T *p, rnl_as<T> value)
{
    typedef rnl_bits_of<T> bits;
    return rnl_as_bits<T>(__hip_atomic_exchange(
        reinterpret_cast<bits *>(p), rnl_as_bits<bits>(value),
        __ATOMIC_RELAXED, Scope));
}
template <int Scope, class T>
RNL_INLINE T rnl_compare_exchange(T *p, rnl_as<T> compare, rnl_as<T> value)
{
    typedef rnl_bits_of<T> bits;
    bits old = rnl_as_bits<bits>(compare);
    __hip_atomic_compare_exchange_strong(
        reinterpret_cast<bits *>(p), &old, rnl_as_bits<bits>(value),
        __ATOMIC_RELAXED, __ATOMIC_RELAXED, Scope);
    return rnl_as_bits<T>(old);
}

// Replaces *p by f(old) and gives the old value.
template <int Scope, class T, class F> RNL_INLINE T rnl_replace(T *p, F f)
{
    T old = *const_cast<volatile T *>(p), seen;
    while (rnl_as_bits<rnl_bits_of<T>>(
               seen = rnl_compare_exchange<Scope>(p, old, f(old))) !=
           rnl_as_bits<rnl_bits_of<T>>(old))
        old = seen;
    return old;
}

#define RNL_FETCH(name, fetch)                                            \
    template <int Scope, class T>                                         \
    RNL_INLINE T name(T *p, rnl_as<T> value)                              \
    {                                                                     \
        return fetch(p, value, __ATOMIC_RELAXED, Scope);                  \
    }
RNL_FETCH(rnl_fetch_add, __hip_atomic_fetch_add)
RNL_FETCH(rnl_fetch_and, __hip_atomic_fetch_and)
RNL_FETCH(rnl_fetch_or, __hip_atomic_fetch_or)
RNL_FETCH(rnl_fetch_xor, __hip_atomic_fetch_xor)
RNL_FETCH(rnl_fetch_least, __hip_atomic_fetch_min)
RNL_FETCH(rnl_fetch_most, __hip_atomic_fetch_max)
#undef RNL_FETCH
template <int Scope, class T> RNL_INLINE T rnl_fetch_sub(T *p, rnl_as<T> value)
{
    return rnl_fetch_add<Scope>(p, static_cast<T>(-value));
}
template <class T> constexpr bool rnl_is_real = T(0.5) != T(0);
template <int Scope, class T> RNL_INLINE T rnl_fetch_min(T *p, rnl_as<T> value)
{
    if constexpr (rnl_is_real<T>)
        return rnl_replace<Scope>(
            p, [=](T old) { return value < old ? value : old; });
    else
        return rnl_fetch_least<Scope>(p, value);
}
template <int Scope, class T> RNL_INLINE T rnl_fetch_max(T *p, rnl_as<T> value)
{
    if constexpr (rnl_is_real<T>)
        return rnl_replace<Scope>(
            p, [=](T old) { return value > old ? value : old; });
    else
        return rnl_fetch_most<Scope>(p, value);
}
template <int Scope>
RNL_INLINE unsigned int rnl_fetch_inc(unsigned int *p, unsigned int most)
{
    return rnl_replace<Scope>(p, [=](unsigned int old) -> unsigned int {
        return old >= most ? 0 : old + 1;
    });
}
template <int Scope>
RNL_INLINE unsigned int rnl_fetch_dec(unsigned int *p, unsigned int most)
{
    return rnl_replace<Scope>(p, [=](unsigned int old) -> unsigned int {
        return old == 0 || old > most ? most : old - 1;
    });
}

// The three forms of a function, which differ in who sees it at once.
#define RNL_ATOMIC_FORM(form, name, Scope)                                   \
    template <class T, class... V>                                           \
    RNL_INLINE auto form(T *p, V... values)                                  \
        ->decltype(name<Scope>(p, values...))                                \
    {                                                                        \
        return name<Scope>(p, values...);                                    \
    }
#define RNL_ATOMIC(stem, name)                                               \
    RNL_ATOMIC_FORM(rnl_##stem, name, RNL_DEVICE)                            \
    RNL_ATOMIC_FORM(rnl_##stem##_block, name, RNL_BLOCK)                     \
    RNL_ATOMIC_FORM(rnl_##stem##_system, name, RNL_SYSTEM)
RNL_ATOMIC(atomicAdd, rnl_fetch_add)
RNL_ATOMIC(atomicSub, rnl_fetch_sub)
RNL_ATOMIC(atomicAnd, rnl_fetch_and)
RNL_ATOMIC(atomicOr, rnl_fetch_or)
RNL_ATOMIC(atomicXor, rnl_fetch_xor)
RNL_ATOMIC(atomicMin, rnl_fetch_min)
RNL_ATOMIC(atomicMax, rnl_fetch_max)
RNL_ATOMIC(atomicInc, rnl_fetch_inc)
RNL_ATOMIC(atomicDec, rnl_fetch_dec)
RNL_ATOMIC(atomicExch, rnl_exchange)
RNL_ATOMIC(atomicCAS, rnl_compare_exchange)
#undef RNL_ATOMIC
#undef RNL_ATOMIC_FORM

#define atomicAdd rnl_atomicAdd
#define atomicAdd_block rnl_atomicAdd_block
#define atomicAdd_system rnl_atomicAdd_system
#define atomicSub rnl_atomicSub
#define atomicSub_block rnl_atomicSub_block
#define atomicSub_system rnl_atomicSub_system
#define atomicAnd rnl_atomicAnd
#define atomicAnd_block rnl_atomicAnd_block
#define atomicAnd_system rnl_atomicAnd_system
#define atomicOr rnl_atomicOr
#define atomicOr_block rnl_atomicOr_block
#define atomicOr_system rnl_atomicOr_system
#define atomicXor rnl_atomicXor
#define atomicXor_block rnl_atomicXor_block
#define atomicXor_system rnl_atomicXor_system
#define atomicMin rnl_atomicMin
#define atomicMin_block rnl_atomicMin_block
#define atomicMin_system rnl_atomicMin_system
#define atomicMax rnl_atomicMax
#define atomicMax_block rnl_atomicMax_block
#define atomicMax_system rnl_atomicMax_system
#define atomicInc rnl_atomicInc
#define atomicInc_block rnl_atomicInc_block
#define atomicInc_system rnl_atomicInc_system
#define atomicDec rnl_atomicDec
#define atomicDec_block rnl_atomicDec_block
#define atomicDec_system rnl_atomicDec_system
#define atomicExch rnl_atomicExch
#define atomicExch_block rnl_atomicExch_block
#define atomicExch_system rnl_atomicExch_system
#define atomicCAS rnl_atomicCAS
#define atomicCAS_block rnl_atomicCAS_block
#define atomicCAS_system rnl_atomicCAS_system

// For atomic functions that name their order: no thread of a GPU has to yield.
RNL_INLINE void rnl_look(bool) {}
