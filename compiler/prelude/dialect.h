// The CUDA dialect as C++17: words, built-in variables, services of the host.
// Like NVRTC, kernel source includes nothing; this text comes before it.
#pragma GCC system_header

// --- Words -----------------------------------------------------------------

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __constant__ __attribute__((constant))
#define __shared__ __attribute__((shared))
#define __managed__ __attribute__((device))
#define __grid_constant__
// A third argument, the blocks per cluster, has no effect.
#define RNL_LAUNCH_BOUNDS(threads, blocks, ...) \
    __attribute__((launch_bounds(threads, blocks)))
#define __launch_bounds__(...) RNL_LAUNCH_BOUNDS(__VA_ARGS__, 0, 0)
// clang 19 has no such attribute: frontend/kernel_table.cpp reads this one.
#define __cluster_dims__(...) \
    __attribute__((annotate("rnl.cluster", __VA_ARGS__)))
#define __maxnreg__(...)
#define __nv_pure__
#define __CUDA_ARCH_HAS_FEATURE__(feature) __CUDA_ARCH_FEAT_##feature
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))

#define __forceinline__ __inline__ __attribute__((always_inline))
#define __inline_hint__ __inline__

// Symbols that runnel-cc finds by name in the object.
#define RNL_FOUND __attribute__((__used__))

#define RNL_INLINE static inline __attribute__((always_inline, unused))
// Waiting functions are kept out of line in a section of their own: a kernel
// from which this section can be reached may wait (see object/elf.c).
// No thread may be moved past one, nor may two calls become one.
#define RNL_CONVERGENT __attribute__((convergent))
#define RNL_WAITS                                                       \
    static RNL_CONVERGENT                                               \
        __attribute__((noinline, unused, section(".text.rnl_waits")))

// The SIMT compiler, for which RNL_SIMT is defined, knows functions and
// rnl_state by name (compiler/simt/simt.h): internal linkage alone would mangle
// the names. The compiler calls some functions itself, so they are kept;
// built-in variables never change for a thread.
#define RNL_NAMED(name) __asm__(#name)
#if defined(RNL_SIMT)
#define RNL_KEPT __attribute__((used))
#define RNL_CONSTANT __attribute__((const))
#else
#define RNL_KEPT
#define RNL_CONSTANT
#endif

// In macros a type is one word.
typedef unsigned int rnl_uint;
typedef unsigned long rnl_ulong;
typedef long long rnl_llong;
typedef unsigned long long rnl_ullong;

// --- Vectors that built-in variables are made of ----------------------------

struct uint3 {
    unsigned int x, y, z;
};

struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int vx = 1, unsigned int vy = 1,
                   unsigned int vz = 1)
        : x(vx), y(vy), z(vz)
    {
    }
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return uint3{x, y, z}; }
};

RNL_INLINE uint3 make_uint3(unsigned int x, unsigned int y, unsigned int z)
{
    return uint3{x, y, z};
}

// --- Built-in variables ----------------------------------------------------

// The state of the running block, in block memory. The address never leaves
// this translation unit, so that stores of the kernel cannot change the state.
struct rnl_state_type {
    uint3 thread, block, block_size, grid_size;
    rnl_cpu_block *run;
    unsigned int failures;  // of compare-and-swap, since the last yield
    unsigned int arrived;   // threads, at a barrier of the block's cluster
};

extern "C" {
static __shared__ rnl_state_type rnl_state RNL_NAMED(rnl_state);
}

#define RNL_GETTER(name, value)                                       \
    extern "C" {                                                      \
    static unsigned int name() RNL_NAMED(name);                       \
    RNL_INLINE __attribute__((used)) RNL_CONSTANT unsigned int name() \
    {                                                                 \
        return value;                                                 \
    }                                                                 \
    }
RNL_GETTER(rnl_thread_x, rnl_state.thread.x)
RNL_GETTER(rnl_thread_y, rnl_state.thread.y)
RNL_GETTER(rnl_thread_z, rnl_state.thread.z)
RNL_GETTER(rnl_block_x, rnl_state.block.x)
RNL_GETTER(rnl_block_y, rnl_state.block.y)
RNL_GETTER(rnl_block_z, rnl_state.block.z)
RNL_GETTER(rnl_block_size_x, rnl_state.block_size.x)
RNL_GETTER(rnl_block_size_y, rnl_state.block_size.y)
RNL_GETTER(rnl_block_size_z, rnl_state.block_size.z)
RNL_GETTER(rnl_grid_size_x, rnl_state.grid_size.x)
RNL_GETTER(rnl_grid_size_y, rnl_state.grid_size.y)
RNL_GETTER(rnl_grid_size_z, rnl_state.grid_size.z)

// Every function that reads these gets copies of its own, made by the functions
// above (frontend/device_ir.cpp).
#define RNL_BUILT_IN(type, name, symbol) \
    extern const __device__ type name RNL_NAMED(symbol);
RNL_BUILT_IN(uint3, threadIdx, rnl_built_in_thread)
RNL_BUILT_IN(uint3, blockIdx, rnl_built_in_block)
RNL_BUILT_IN(dim3, blockDim, rnl_built_in_block_size)
RNL_BUILT_IN(dim3, gridDim, rnl_built_in_grid_size)
#undef RNL_BUILT_IN
static constexpr int warpSize = 32;

// --- Services --------------------------------------------------------------

static __device__ const rnl_cpu_services *rnl_services;

#if defined(__x86_64__)
// Thread-local variables are what CUDA shares in a block: their addresses come
// from the host's block memory, not from the loader.
struct rnl_tls_index {
    unsigned long module, offset;
};

extern "C" __attribute__((visibility("hidden"))) RNL_FOUND void *
__tls_get_addr(rnl_tls_index *index)
{
    return static_cast<char *>(rnl_services->block_memory()) + index->offset;
}
#endif

RNL_INLINE unsigned int rnl_thread_number()
{
    return rnl_state.thread.x +
           rnl_state.block_size.x *
               (rnl_state.thread.y +
                rnl_state.block_size.y * rnl_state.thread.z);
}

extern "C" {

static int rnl_sync(int kind, int predicate, int line) RNL_NAMED(rnl_sync);
static unsigned long long rnl_warp(int kind, unsigned int mask,
                                   unsigned long long value,
                                   unsigned int argument, int width)
    RNL_NAMED(rnl_warp);
static void rnl_yield() RNL_NAMED(rnl_yield);
static void rnl_spin() RNL_NAMED(rnl_spin);
[[noreturn]] static void rnl_trap(const char *message, const char *file,
                                  int line) RNL_NAMED(rnl_trap);
static void *rnl_scratch(rnl_cpu_block *run, uint64_t size)
    RNL_NAMED(rnl_scratch);
static void rnl_enter(rnl_cpu_block *run) RNL_NAMED(rnl_enter);

// Other threads change rnl_state.thread while a thread waits.
RNL_WAITS int rnl_sync(int kind, int predicate, int line)
{
    uint3 thread = rnl_state.thread;
    int result = rnl_services->sync_threads_at(
        rnl_state.run, rnl_thread_number(), static_cast<rnl_cpu_sync>(kind),
        predicate, static_cast<uint32_t>(line));
    rnl_state.thread = thread;
    return result;
}

RNL_WAITS unsigned long long rnl_warp(int kind, unsigned int mask,
                                      unsigned long long value,
                                      unsigned int argument, int width)
{
    uint3 thread = rnl_state.thread;
    rnl_cpu_warp_op op = {};
    op.kind = static_cast<unsigned int>(kind);
    op.mask = mask;
    op.value = value;
    op.argument = argument;
    op.width = static_cast<unsigned int>(width);
    unsigned long long result =
        rnl_services->warp(rnl_state.run, rnl_thread_number(), &op);
    rnl_state.thread = thread;
    return result;
}

RNL_WAITS void rnl_yield()
{
    uint3 thread = rnl_state.thread;
    rnl_state.failures = 0;
    rnl_services->yield(rnl_state.run, rnl_thread_number());
    rnl_state.thread = thread;
}

// Called where a thread may be spinning until another one acts.
RNL_INLINE RNL_KEPT void rnl_spin()
{
    if (++rnl_state.failures >= 16)
        rnl_yield();
}

[[noreturn]] static RNL_KEPT __attribute__((noinline, cold, unused)) void
rnl_trap(const char *message, const char *file, int line)
{
    rnl_services->trap(rnl_state.run, rnl_thread_number(), message, file,
                       line);
    __builtin_unreachable();
}

RNL_INLINE RNL_KEPT void *rnl_scratch(rnl_cpu_block *run, uint64_t size)
{
    return rnl_services->scratch(run, size);
}

// Keeps blocks' constants where the kernel's built-in variables read them.
RNL_INLINE RNL_KEPT void rnl_enter(rnl_cpu_block *run)
{
    rnl_state.run = run;
    rnl_state.block = uint3{run->index[0], run->index[1], run->index[2]};
    rnl_state.block_size =
        uint3{run->block[0], run->block[1], run->block[2]};
    rnl_state.grid_size = uint3{run->grid[0], run->grid[1], run->grid[2]};
}

} // extern "C"

extern "C" {
__attribute__((format(printf, 1, 2), unused)) static int
printf(const char *format, ...) RNL_NAMED(rnl_printf);
int printf(const char *format, ...)
{
    __builtin_va_list arguments;
    __builtin_va_start(arguments, format);
    int result = rnl_services->print(format, arguments);
    __builtin_va_end(arguments);
    return result;
}
} // extern "C"

RNL_INLINE void __trap() { rnl_trap("__trap() was called", nullptr, 0); }
RNL_INLINE void __brkpt() {}

// Defined to nothing after the user's options if they ask for NDEBUG.
#define assert(...)                                                        \
    (static_cast<bool>(__VA_ARGS__)                                        \
         ? static_cast<void>(0)                                            \
         : rnl_trap("assertion `" #__VA_ARGS__ "` failed", __FILE__,       \
                    __LINE__))
