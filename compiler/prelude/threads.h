// Barriers and fences of a block; and for the parts, a value as its bits.

RNL_INLINE void __syncthreads() { rnl_sync(RNL_CPU_SYNC_PLAIN, 0); }
RNL_INLINE void __barrier_sync(unsigned int) { __syncthreads(); }
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
