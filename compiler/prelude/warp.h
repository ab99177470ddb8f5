// Warp functions.

#define RNL_FULL_MASK 0xffffffffu

RNL_INLINE void __syncwarp(unsigned int mask = RNL_FULL_MASK)
{
    rnl_warp(RNL_CPU_WARP_SYNC, mask, 0, 0, 32);
}
// Where a default argument is written in the source: lanes that are at another
// place are not active. Two calls in branches cannot become one, either.
#define RNL_PLACE (__builtin_LINE() * 4096u + __builtin_COLUMN())
RNL_INLINE unsigned int __activemask(unsigned int place = RNL_PLACE)
{
    return static_cast<unsigned int>(
        rnl_warp(RNL_CPU_WARP_ACTIVE, 0, place, 0, 32));
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
