// Functions of a warp: the 32 lanes of a wave's lower or upper half, or of the
// whole wave where that has 32. Lanes of a wave run together, so masks tell
// which lanes take part, but a lane never waits for another one.
#define RNL_HAS_WARP
#define RNL_FULL_MASK 0xffffffffu

// The lane in the wave, and in the warp.
RNL_INLINE unsigned int rnl_wave_lane()
{
    return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
}
RNL_INLINE unsigned int rnl_lane() { return rnl_wave_lane() & 31u; }

// The active lanes of the warp for which the predicate holds.
RNL_INLINE unsigned int rnl_ballot(bool predicate)
{
    const unsigned long long wave = __ballot(predicate);
    return static_cast<unsigned int>(wave >> (rnl_wave_lane() & 32u));
}

RNL_INLINE void rnl_syncwarp(unsigned int = RNL_FULL_MASK)
{
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "wavefront");
    __builtin_amdgcn_wave_barrier();
}
RNL_INLINE unsigned int rnl_activemask() { return rnl_ballot(true); }
RNL_INLINE unsigned int rnl_ballot_sync(unsigned int mask, int predicate)
{
    return rnl_ballot(predicate != 0) & mask;
}
RNL_INLINE int rnl_any_sync(unsigned int mask, int predicate)
{
    return rnl_ballot_sync(mask, predicate) != 0;
}
RNL_INLINE int rnl_all_sync(unsigned int mask, int predicate)
{
    return (rnl_ballot(predicate == 0) & mask) == 0;
}

// --- Shuffles ----------------------------------------------------------------

// The value of a lane of the warp, word by word.
template <class T> RNL_INLINE T rnl_from_lane(T value, unsigned int lane)
{
    constexpr unsigned int count = (sizeof(T) + 3) / 4;
    const int from = static_cast<int>(((rnl_wave_lane() & 32u) | lane) * 4u);
    int words[count] = {};
    T result;
    __builtin_memcpy(words, &value, sizeof value);
    for (unsigned int i = 0; i < count; i++)
        words[i] = __builtin_amdgcn_ds_bpermute(from, words[i]);
    __builtin_memcpy(&result, words, sizeof result);
    return result;
}

// Parts of `width` lanes, a power of two, are shuffled by themselves.
template <class T>
RNL_INLINE T rnl_shfl_sync(unsigned int, T value, int lane, int width = 32)
{
    const unsigned int part = static_cast<unsigned int>(width) - 1u;
    return rnl_from_lane(value, (rnl_lane() & ~part) |
                                    (static_cast<unsigned int>(lane) & part));
}
template <class T>
RNL_INLINE T rnl_shfl_up_sync(unsigned int, T value, unsigned int delta,
                              int width = 32)
{
    const unsigned int part = static_cast<unsigned int>(width) - 1u;
    const unsigned int lane = rnl_lane();
    return rnl_from_lane(value, (lane & part) >= delta ? lane - delta : lane);
}
template <class T>
RNL_INLINE T rnl_shfl_down_sync(unsigned int, T value, unsigned int delta,
                                int width = 32)
{
    const unsigned int part = static_cast<unsigned int>(width) - 1u;
    const unsigned int lane = rnl_lane();
    return rnl_from_lane(value, part - (lane & part) >= delta ? lane + delta
                                                              : lane);
}
// Lanes of a part read from parts before, but not from those behind.
template <class T>
RNL_INLINE T rnl_shfl_xor_sync(unsigned int, T value, int lanes,
                               int width = 32)
{
    const unsigned int part = static_cast<unsigned int>(width) - 1u;
    const unsigned int lane = rnl_lane();
    const unsigned int from = lane ^ static_cast<unsigned int>(lanes);
    return rnl_from_lane(value, from <= (lane | part) ? from : lane);
}

// --- Matches -----------------------------------------------------------------

// Compares the lanes' values by a ballot for each bit of the value.
template <class T> RNL_INLINE unsigned int rnl_match(unsigned int mask, T value)
{
    unsigned long long bits = 0;
    unsigned int same = rnl_activemask() & mask;
    __builtin_memcpy(&bits, &value, sizeof value);
    for (unsigned int i = 0; i < 8 * sizeof value; i++) {
        const bool one = bits >> i & 1u;
        const unsigned int ones = rnl_ballot(one);
        same &= one ? ones : ~ones;
    }
    return same;
}
template <class T>
RNL_INLINE unsigned int rnl_match_any_sync(unsigned int mask, T value)
{
    return rnl_match(mask, value);
}
template <class T>
RNL_INLINE unsigned int rnl_match_all_sync(unsigned int mask, T value,
                                           int *predicate)
{
    const unsigned int there = rnl_activemask() & mask;
    *predicate = rnl_match(mask, value) == there;
    return *predicate ? there : 0u;
}

// --- Reductions --------------------------------------------------------------

// In the order of lanes, unless all lanes take part.
template <class T, class F>
RNL_INLINE T rnl_reduce(unsigned int mask, T value, F operation)
{
    unsigned int left = rnl_activemask() & mask;
    if (left == RNL_FULL_MASK) {
        for (unsigned int step = 16; step > 0; step /= 2)
            value = operation(value, rnl_from_lane(value, rnl_lane() ^ step));
        return value;
    }
    T result = rnl_from_lane(value,
                             static_cast<unsigned int>(__builtin_ctz(left)));
    while ((left &= left - 1) != 0)
        result = operation(
            result, rnl_from_lane(value, static_cast<unsigned int>(
                                             __builtin_ctz(left))));
    return result;
}
#define RNL_REDUCE(name, type, formula)                                  \
    RNL_INLINE type rnl_reduce_##name##_sync(unsigned int mask, type v)  \
    {                                                                    \
        return rnl_reduce(mask, v, [](type x, type y) -> type {          \
            return formula;                                              \
        });                                                              \
    }
RNL_REDUCE(add, int, static_cast<int>(rnl_uint(x) + rnl_uint(y)))
RNL_REDUCE(add, unsigned int, x + y)
RNL_REDUCE(min, int, y < x ? y : x)
RNL_REDUCE(min, unsigned int, y < x ? y : x)
RNL_REDUCE(max, int, x < y ? y : x)
RNL_REDUCE(max, unsigned int, x < y ? y : x)
RNL_REDUCE(and, unsigned int, x & y)
RNL_REDUCE(or, unsigned int, x | y)
RNL_REDUCE(xor, unsigned int, x ^ y)
#undef RNL_REDUCE

// Macros, because newer versions of HIP have functions of these names, which
// take masks of 64 lanes.
#define __syncwarp rnl_syncwarp
#define __activemask rnl_activemask
#define __ballot_sync rnl_ballot_sync
#define __any_sync rnl_any_sync
#define __all_sync rnl_all_sync
#define __shfl_sync rnl_shfl_sync
#define __shfl_up_sync rnl_shfl_up_sync
#define __shfl_down_sync rnl_shfl_down_sync
#define __shfl_xor_sync rnl_shfl_xor_sync
#define __match_any_sync rnl_match_any_sync
#define __match_all_sync rnl_match_all_sync
#define __reduce_add_sync rnl_reduce_add_sync
#define __reduce_min_sync rnl_reduce_min_sync
#define __reduce_max_sync rnl_reduce_max_sync
#define __reduce_and_sync rnl_reduce_and_sync
#define __reduce_or_sync rnl_reduce_or_sync
#define __reduce_xor_sync rnl_reduce_xor_sync
