// Building blocks of the table of kernels, which frontend/kernel_table.cpp
// writes behind the user's text. Their names begin with rnl_ so that no macro
// of the user's replaces them. A kernel is passed as a reference to a constant
// pointer.

namespace rnl {

template <size_t... I> struct indices {};
template <size_t N, size_t... I>
struct indices_to : indices_to<N - 1, N - 1, I...> {};
template <size_t... I> struct indices_to<0, I...> {
    typedef indices<I...> type;
};

RNL_INLINE uint3 thread_of(const rnl_cpu_block *run, uint32_t number)
{
    uint32_t row = number / run->block[0];
    return uint3{number % run->block[0], row % run->block[1],
                 row / run->block[1]};
}

// Runs threads until none is left. The arguments are copies, so that no store
// of the kernel can change them. Only when a thread waited (`epoch`) may
// others have been taken by another call in between. The bounds are read from
// `run` each time: a kernel that overruns an array could change copies of them,
// and run without end.
template <const auto &Kernel, class... A>
__attribute__((flatten)) static inline void threads(rnl_cpu_block *run,
                                                    A... arguments)
{
    rnl_enter(run);
    uint32_t number = run->next_thread;
    while (number < run->thread_count) {
        const uint32_t epoch = run->epoch;
        const uint3 first = thread_of(run, number);
        uint32_t x = first.x;
        rnl_state.thread = first;
        for (;;) {
            Kernel(arguments...);
            if (__builtin_expect(run->epoch != epoch, 0) ||
                ++x >= run->block[0])
                break;
            rnl_state.thread.x = x;
        }
        const uint32_t next = run->epoch != epoch
                                  ? run->next_thread
                                  : number + (run->block[0] - first.x);
        if (__builtin_expect(next <= number, 0))
            rnl_trap("the stack was overwritten: a local array was overrun",
                     nullptr, 0);
        number = next;
    }
    run->next_thread = run->thread_count;
}

// The type in which a parameter is passed, and its place: a reference is a
// pointer.
template <class T> struct passed {
    typedef T type;
    static T &at(const void *value)
    {
        return *static_cast<T *>(const_cast<void *>(value));
    }
};
template <class T> struct passed<T &> {
    typedef T *type;
    static T &at(const void *value) { return **static_cast<T *const *>(value); }
};

template <const auto &Kernel, class... A, size_t... I>
RNL_INLINE void unpack(rnl_cpu_block *run, void (*)(A...), indices<I...>)
{
    threads<Kernel, A...>(run, passed<A>::at(run->arguments[I])...);
}

// Runs the thread that rnl_state names.
template <const auto &Kernel, class... A, size_t... I>
RNL_INLINE void rnl_run_one(const void *const *arguments, void (*)(A...),
                            indices<I...>)
{
    Kernel(passed<A>::at(arguments[I])...);
}

template <class... A>
constexpr typename indices_to<sizeof...(A)>::type indices_of(void (*)(A...))
{
    return {};
}

} // namespace rnl

// All threads of some blocks, one after another.
template <const auto &Kernel>
__attribute__((flatten, used)) void rnl_entry(rnl_cpu_block *run)
{
    rnl::unpack<Kernel>(run, Kernel, rnl::indices_of(Kernel));
}

// The SIMT compiler's input for kernel `n`, its one thread, and its output, the
// function for whole blocks, which stays undefined for a refused kernel.
// Otherwise the entry is removed.
#if defined(RNL_SIMT)
#define RNL_SIMT_PARTS(n)                                                   \
    extern "C" {                                                            \
    __attribute__((__used__)) void rnl_thread_##n(                          \
        const void *const *rnl_arguments)                                   \
    {                                                                       \
        ::rnl::rnl_run_one<rnl_function##n>(                                \
            rnl_arguments, rnl_function##n,                                 \
            ::rnl::indices_of(rnl_function##n));                            \
    }                                                                       \
    __attribute__((__weak__, __visibility__("hidden"))) void rnl_blocks_##n( \
        ::rnl_cpu_block *, unsigned long);                                  \
    }
#define RNL_RUN_BLOCKS(n) &rnl_blocks_##n
#else
#define RNL_SIMT_PARTS(n)
#define RNL_RUN_BLOCKS(n) nullptr
#endif

static int rnl_set_services(const rnl_cpu_services *services)
{
    if (services->abi != RNL_CPU_ABI ||
        services->struct_size < sizeof(rnl_cpu_services))
        return -1;
    rnl_services = services;
    return 0;
}

#if defined(RNL_FLUSH)
#define RNL_OBJECT_FLAGS RNL_CPU_OBJECT_FLUSHES
#else
#define RNL_OBJECT_FLAGS 0
#endif

// The instruction sets that -march= allows.
namespace rnl {
static constexpr uint64_t rnl_processor = 0
#if defined(__SSE3__)
    | RNL_CPU_SSE3
#endif
#if defined(__SSSE3__)
    | RNL_CPU_SSSE3
#endif
#if defined(__SSE4_1__)
    | RNL_CPU_SSE4_1
#endif
#if defined(__SSE4_2__)
    | RNL_CPU_SSE4_2
#endif
#if defined(__POPCNT__)
    | RNL_CPU_POPCNT
#endif
#if defined(__AVX__)
    | RNL_CPU_AVX
#endif
#if defined(__AVX2__)
    | RNL_CPU_AVX2
#endif
#if defined(__BMI__)
    | RNL_CPU_BMI
#endif
#if defined(__BMI2__)
    | RNL_CPU_BMI2
#endif
#if defined(__FMA__)
    | RNL_CPU_FMA
#endif
#if defined(__AVX512F__)
    | RNL_CPU_AVX512F
#endif
#if defined(__AVX512CD__)
    | RNL_CPU_AVX512CD
#endif
#if defined(__AVX512BW__)
    | RNL_CPU_AVX512BW
#endif
#if defined(__AVX512DQ__)
    | RNL_CPU_AVX512DQ
#endif
#if defined(__AVX512VL__)
    | RNL_CPU_AVX512VL
#endif
#if defined(__AVX512IFMA__)
    | RNL_CPU_AVX512IFMA
#endif
#if defined(__AVX512VBMI__)
    | RNL_CPU_AVX512VBMI
#endif
#if defined(__AVX512VBMI2__)
    | RNL_CPU_AVX512VBMI2
#endif
#if defined(__AVX512VNNI__)
    | RNL_CPU_AVX512VNNI
#endif
#if defined(__AVX512BITALG__)
    | RNL_CPU_AVX512BITALG
#endif
#if defined(__AVX512VPOPCNTDQ__)
    | RNL_CPU_AVX512VPOPCNTDQ
#endif
#if defined(__AVX512BF16__)
    | RNL_CPU_AVX512BF16
#endif
#if defined(__GFNI__)
    | RNL_CPU_GFNI
#endif
    ;
}
