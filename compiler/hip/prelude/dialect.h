// The CUDA dialect on top of what hiprtc gives every source: words, types,
// memory and assertions.
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define __CUDA_ARCH__ 800
#define __RUNNEL__ 1
#define __RUNNEL_HIP__ 1

#define RNL_INLINE \
    static __device__ inline __attribute__((always_inline, unused))

// --- Words -------------------------------------------------------------------

#undef __launch_bounds__
// Only the threads have an effect. clang's own launch_bounds has none on a GPU
// of AMD.
#define RNL_LAUNCH_BOUNDS(threads, ...) \
    __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define __launch_bounds__(...) RNL_LAUNCH_BOUNDS(__VA_ARGS__, 1, 1)
#define __grid_constant__
#define __maxnreg__(...)
#define __nv_pure__
#define __inline_hint__ __inline__
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __assume(condition) __builtin_assume(condition)

// Warps have 32 lanes in this dialect, also where a wave has 64.
#define warpSize 32

// --- Types -------------------------------------------------------------------

// hiprtc has some of these, and another set in each version.
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef __INT64_TYPE__ rnl_int64;
typedef __UINT64_TYPE__ rnl_uint64;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef decltype(static_cast<char *>(nullptr) - static_cast<char *>(nullptr))
    ptrdiff_t;
typedef long clock_t;
#define NULL __null
#define UINT64_C(x) x##ul

#define INFINITY (__builtin_inff())
#define NAN (__builtin_nanf(""))

typedef unsigned int rnl_uint;
typedef unsigned short rnl_ushort;

// --- The standard library ----------------------------------------------------

// hiprtc's own parts of it differ between versions: sources see only Runnel's.
#define std rnl_std
namespace std {
using ::int16_t;
using ::int32_t;
using ::int8_t;
using ::intptr_t;
using ::ptrdiff_t;
using ::size_t;
using ::uint16_t;
using ::uint32_t;
using ::uint8_t;
using ::uintptr_t;
using ::rnl_int64;
using ::rnl_uint64;
typedef decltype(nullptr) nullptr_t;

template <class T> struct rnl_bare {
    typedef T type;
};
template <class T> struct rnl_bare<T &> {
    typedef T type;
};
template <class T> struct rnl_bare<T &&> {
    typedef T type;
};
template <class T>
__device__ constexpr typename rnl_bare<T>::type &&move(T &&value) noexcept
{
    return static_cast<typename rnl_bare<T>::type &&>(value);
}
template <class T>
__device__ constexpr T &&forward(typename rnl_bare<T>::type &value) noexcept
{
    return static_cast<T &&>(value);
}
template <class T>
__device__ constexpr T &&forward(typename rnl_bare<T>::type &&value) noexcept
{
    return static_cast<T &&>(value);
}
} // namespace std

// A template, because some versions of hiprtc have the plain form.
template <class T>
__device__ inline void *operator new(size_t, T *place) noexcept
{
    return place;
}

// --- Memory, time and bits ---------------------------------------------------

// Hints for caches have no effect.
#define RNL_LOAD(name) \
    template <class T> RNL_INLINE T name(const T *p) { return *p; }
#define RNL_STORE(name)                                               \
    template <class T>                                                \
    RNL_INLINE void name(T *p, typename std::rnl_bare<T>::type value) \
    {                                                                 \
        *p = value;                                                   \
    }
RNL_LOAD(__ldca)
RNL_LOAD(__ldcg)
RNL_LOAD(__ldcs)
RNL_LOAD(__ldlu)
RNL_LOAD(__ldcv)
RNL_STORE(__stcg)
RNL_STORE(__stcs)
RNL_STORE(__stwb)
RNL_STORE(__stwt)

RNL_INLINE int rnl_memcmp(const void *a, const void *b, size_t size)
{
    const unsigned char *x = static_cast<const unsigned char *>(a);
    const unsigned char *y = static_cast<const unsigned char *>(b);
    for (; size > 0; size--, x++, y++)
        if (*x != *y)
            return *x < *y ? -1 : 1;
    return 0;
}
#define memcmp rnl_memcmp
RNL_INLINE size_t rnl_strlen(const char *text)
{
    size_t size = 0;
    while (text[size])
        size++;
    return size;
}
#define strlen rnl_strlen

// The place of the n-th bit that is set, counted from `base`, downwards if
// n is negative; ~0 if there is none.
RNL_INLINE unsigned int rnl_fns(unsigned int mask, unsigned int base, int n)
{
    const int step = n < 0 ? -1 : 1;
    int left = n < 0 ? -n : n;
    if (n == 0)
        return mask >> base & 1u ? base : ~0u;
    for (int at = static_cast<int>(base); at >= 0 && at < 32; at += step) {
        left -= mask >> at & 1u;
        if (left == 0)
            return static_cast<unsigned int>(at);
    }
    return ~0u;
}
#define __fns rnl_fns

#define RNL_LEAST_MOST(prefix, type)                                         \
    RNL_INLINE type prefix##min(type x, type y) { return y < x ? y : x; }    \
    RNL_INLINE type prefix##max(type x, type y) { return x < y ? y : x; }
RNL_LEAST_MOST(u, unsigned int)
RNL_LEAST_MOST(ll, long long)
RNL_LEAST_MOST(ull, unsigned long long)
#undef RNL_LEAST_MOST

RNL_INLINE void __nanosleep(unsigned int)
{
    __builtin_amdgcn_s_sleep(1);
}
RNL_INLINE void __trap() { __builtin_trap(); }
RNL_INLINE void __brkpt() {}
RNL_INLINE void __prof_trigger(int) {}
RNL_INLINE void __barrier_sync(unsigned int) { __syncthreads(); }

// --- Spaces of addresses ----------------------------------------------------

typedef __attribute__((address_space(3))) char rnl_shared_char;
typedef __attribute__((address_space(3))) void rnl_shared_void;
RNL_INLINE unsigned int __isShared(const void *address)
{
    return __builtin_amdgcn_is_shared(
        (__attribute__((address_space(0))) const void *)address);
}
// Constants are in global memory.
RNL_INLINE unsigned int __isGlobal(const void *address)
{
    return !__isShared(address);
}
RNL_INLINE unsigned int __isConstant(const void *) { return 0; }
RNL_INLINE size_t __cvta_generic_to_shared(const void *address)
{
    return (size_t)(const rnl_shared_char *)address;
}
RNL_INLINE void *__cvta_shared_to_generic(size_t address)
{
    return (void *)(rnl_shared_char *)(unsigned int)address;
}

// --- Assertions --------------------------------------------------------------

static __device__ __attribute__((noinline, unused)) void
rnl_assertion_failed(const char *text, const char *file, int line)
{
    printf("%s:%d: assertion `%s` failed\n", file, line, text);
    __builtin_trap();
}
#undef assert
#if defined(NDEBUG)
#define assert(...) static_cast<void>(0)
#else
#define assert(...)                                                        \
    (static_cast<bool>(__VA_ARGS__)                                        \
         ? static_cast<void>(0)                                            \
         : rnl_assertion_failed(#__VA_ARGS__, __FILE__, __LINE__))
#endif

// --- Built-in variables ------------------------------------------------------

// HIP's have types of their own.
RNL_INLINE uint3 rnl_thread_index()
{
    return make_uint3(threadIdx.x, threadIdx.y, threadIdx.z);
}
RNL_INLINE uint3 rnl_block_index()
{
    return make_uint3(blockIdx.x, blockIdx.y, blockIdx.z);
}
RNL_INLINE dim3 rnl_block_size()
{
    return dim3(blockDim.x, blockDim.y, blockDim.z);
}
RNL_INLINE dim3 rnl_grid_size()
{
    return dim3(gridDim.x, gridDim.y, gridDim.z);
}
// Macros, because some versions have types of these names of another width
// class.
#define int64_t rnl_int64
#define uint64_t rnl_uint64
#define threadIdx (rnl_thread_index())
#define blockIdx (rnl_block_index())
#define blockDim (rnl_block_size())
#define gridDim (rnl_grid_size())
