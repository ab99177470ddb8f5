// What the table appended to the user's text is made of. Names that the table
// itself uses begin with rnl_, out of the way of the user's macros.

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
template <auto Kernel, class... A>
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

// What a parameter is passed as, and where that lies: a reference is a pointer.
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

template <auto Kernel, class... A, size_t... I>
RNL_INLINE void unpack(rnl_cpu_block *run, void (*)(A...), indices<I...>)
{
    threads<Kernel, A...>(run, passed<A>::at(run->arguments[I])...);
}

// Runs the thread that rnl_state names.
template <auto Kernel, class... A, size_t... I>
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

// --- Parameters ------------------------------------------------------------

template <class T> struct kind_of {
    static constexpr uint32_t value = __is_enum(T) ? 2 : 4;
};
template <class T> struct kind_of<T *> {
    static constexpr uint32_t value = 1;
};
#define RNL_KIND(type, number)                   \
    template <> struct kind_of<type> {           \
        static constexpr uint32_t value = number; \
    };
RNL_KIND(bool, 2)
RNL_KIND(char, 2)
RNL_KIND(signed char, 2)
RNL_KIND(unsigned char, 2)
RNL_KIND(short, 2)
RNL_KIND(unsigned short, 2)
RNL_KIND(int, 2)
RNL_KIND(unsigned int, 2)
RNL_KIND(long, 2)
RNL_KIND(unsigned long, 2)
RNL_KIND(long long, 2)
RNL_KIND(unsigned long long, 2)
RNL_KIND(wchar_t, 2)
RNL_KIND(char16_t, 2)
RNL_KIND(char32_t, 2)
RNL_KIND(float, 3)
RNL_KIND(double, 3)

template <class T> constexpr rnl_cpu_parameter parameter(const char *type)
{
    typedef typename passed<T>::type type_of;
    return {kind_of<type_of>::value, sizeof(type_of), alignof(type_of), 0,
            type};
}

// The parameters of one kernel. `types` has their texts where the scanner could
// read them.
template <size_t N> struct parameter_list {
    rnl_cpu_parameter rnl_items[N ? N : 1];
};
template <class... A, size_t... I>
constexpr parameter_list<sizeof...(A)>
parameters_of(void (*)(A...), indices<I...>, const char *const *types)
{
    return {{parameter<A>(types ? types[I] : "")...}};
}
template <class... A> constexpr uint32_t rnl_arity_of(void (*)(A...))
{
    return sizeof...(A);
}

// What keeps a function from being a kernel, if anything. Asked only once that
// has made errors, which say nothing to people.
#if defined(RNL_EXPLAIN)
template <class T> struct kind_of<T &&> {
    static constexpr uint32_t value = 0;
};
enum rnl_flaw { rnl_none, rnl_returns, rnl_variadic, rnl_refers, rnl_unique };
template <class... A> constexpr rnl_flaw rnl_flaw_of(void (*)(A...))
{
    return ((kind_of<A>::value == 0) || ... || false) ? rnl_refers
           : (__is_constructible(A, A &) && ... && true) ? rnl_none
                                                         : rnl_unique;
}
template <class... A> constexpr rnl_flaw rnl_flaw_of(void (*)(A..., ...))
{
    return rnl_variadic;
}
template <class R, class... A> constexpr rnl_flaw rnl_flaw_of(R (*)(A...))
{
    return rnl_returns;
}
#endif

// The arguments of __cluster_dims__.
struct extent {
    uint32_t rnl_value = 0;
    bool rnl_good = true;
    constexpr extent() {}
    template <class T> constexpr extent(T value)
    {
        if constexpr (kind_of<T>::value == 2)
            rnl_value = static_cast<uint32_t>(value);
        rnl_good = rnl_value > 0 && rnl_value <= 0x7fffffff;
    }
};
struct extents {
    extent rnl_x, rnl_y, rnl_z;
};

template <auto Kernel>
constexpr auto rnl_parameters_of(const char *const *types = nullptr)
{
    return parameters_of(Kernel, indices_of(Kernel), types);
}

// --- Variables -------------------------------------------------------------

// A function that is declared by its type looks like one: typedef int f(int);
// __device__ f g; But functions are never const.
template <class T> struct rnl_is_variable {
    static constexpr bool value = false;
};
template <class T> struct rnl_is_variable<const T> {
    static constexpr bool value = true;
};

template <class T> constexpr bool rnl_is_variable_at(T *)
{
    return rnl_is_variable<const T>::value;
}

template <class T>
constexpr rnl_cpu_global rnl_global_of(const char *name, T *address,
                                       uint32_t flags)
{
    if constexpr (rnl_is_variable<const T>::value)
        return {name, (void *)address, sizeof(T), alignof(T), flags};
    else
        return {};
}

template <size_t N> struct global_list {
    rnl_cpu_global rnl_items[N];
    uint32_t rnl_count;
};
template <size_t N>
constexpr global_list<N> rnl_variables_of(const rnl_cpu_global (&declared)[N])
{
    global_list<N> list = {};
    for (const rnl_cpu_global &global : declared)
        if (global.name)
            list.rnl_items[list.rnl_count++] = global;
    return list;
}

} // namespace rnl

#if defined(RNL_EXPLAIN)
#define RNL_CHECK(n, name)                                                  \
    static constexpr auto rnl_flaw##n = ::rnl::rnl_flaw_of(rnl_function##n); \
    static_assert(rnl_flaw##n != ::rnl::rnl_returns,                        \
                  "kernel '" name "' does not return void");                \
    static_assert(rnl_flaw##n != ::rnl::rnl_variadic,                       \
                  "kernel '" name "' has a variable number of parameters"); \
    static_assert(rnl_flaw##n != ::rnl::rnl_refers,                         \
                  "kernel '" name "' has a parameter that is an rvalue "    \
                  "reference");                                             \
    static_assert(rnl_flaw##n != ::rnl::rnl_unique,                         \
                  "kernel '" name "' has a parameter that cannot be copied");
#else
#define RNL_CHECK(n, name)
#endif

// The cluster of kernel `n`, for its record.
#define RNL_CLUSTER(n, ...)                                                \
    static constexpr ::rnl::extents rnl_cluster##n = {__VA_ARGS__};        \
    static_assert(rnl_cluster##n.rnl_x.rnl_good &&                         \
                      rnl_cluster##n.rnl_y.rnl_good &&                     \
                      rnl_cluster##n.rnl_z.rnl_good,                       \
                  "the dimensions of a cluster are up to three positive "  \
                  "integers");
#define RNL_CLUSTER_OF(n)                                                  \
    {rnl_cluster##n.rnl_x.rnl_value, rnl_cluster##n.rnl_y.rnl_value,       \
     rnl_cluster##n.rnl_z.rnl_value}

// The entry of a kernel. Its mangled name holds that of the kernel, which is
// how runnel-cc learns it.
template <auto Kernel>
__attribute__((flatten, used)) void rnl_entry(rnl_cpu_block *run)
{
    rnl::unpack<Kernel>(run, Kernel, rnl::indices_of(Kernel));
}

// What the SIMT compiler makes kernel `n` of: its one thread, and the function
// for whole blocks, which stays undefined where it cannot. The entry then goes;
// rnl_name_<n> leads to a function whose mangled name is still there.
#if defined(RNL_SIMT)
template <auto Kernel>
__attribute__((used)) void rnl_named(rnl_cpu_block *)
{
}
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
    extern void (*const rnl_name_##n)(::rnl_cpu_block *)                    \
        __attribute__((__used__));                                          \
    void (*const rnl_name_##n)(::rnl_cpu_block *) =                         \
        &::rnl_named<rnl_function##n>;                                      \
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

// What -march= allows the compiler to use.
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
