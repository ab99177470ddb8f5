// Barriers and fences of a block; and for the parts, a value as its bits. The
// line of the caller tells barriers apart.

RNL_INLINE void __syncthreads(int rnl_line = __builtin_LINE())
{
    rnl_sync(RNL_CPU_SYNC_PLAIN, 0, rnl_line);
}
RNL_INLINE void __barrier_sync(unsigned int, int rnl_line = __builtin_LINE())
{
    __syncthreads(rnl_line);
}
RNL_INLINE int __syncthreads_count(int predicate,
                                   int rnl_line = __builtin_LINE())
{
    return rnl_sync(RNL_CPU_SYNC_COUNT, predicate, rnl_line);
}
RNL_INLINE int __syncthreads_and(int predicate,
                                 int rnl_line = __builtin_LINE())
{
    return rnl_sync(RNL_CPU_SYNC_AND, predicate, rnl_line);
}
RNL_INLINE int __syncthreads_or(int predicate,
                                int rnl_line = __builtin_LINE())
{
    return rnl_sync(RNL_CPU_SYNC_OR, predicate, rnl_line);
}

RNL_INLINE void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
RNL_INLINE void __threadfence_block()
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
RNL_INLINE void __threadfence_system() { __threadfence(); }
RNL_INLINE void __prof_trigger(int) {}
RNL_INLINE void __nanosleep(unsigned int) { rnl_yield(); }

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
