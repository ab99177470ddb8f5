// The cpu object: compiled kernels for the CPU, as a shared object.
//
// `runnel-cc` makes cpu objects and the cpu backend loads them; any other
// compiler may make them too. This header is all that both sides share. It
// needs no other header of Runnel.
//
// Form      An ELF shared object for the machine it runs on. It exports one
//           symbol, RNL_CPU_OBJECT_SYMBOL, a constant `rnl_cpu_object`. It may
//           need libc and libm, nothing else.
// Loading   Check `magic`, `abi` and the record sizes, then call
//           `set_services` once, before any kernel runs. It may be called
//           again with the same table.
// Running   A kernel is run block by block. The host fills a `rnl_cpu_block`
//           and calls the kernel's `run_threads`, which runs the threads of
//           the block one after another, from `next_thread` on. A thread that
//           must wait for others calls a service. The service may then, on
//           another stack of the same OS thread, call `run_threads` for the
//           same block again to run the threads not started yet, or go back to
//           a thread that waited before. So all threads of a block share one
//           OS thread and never run at the same moment.
//           A kernel may also have `run_blocks`, which runs whole blocks with
//           all their threads, as vector code does, and needs none of this. A
//           host prefers it where there is one. It may call the services
//           `block_memory`, `trap`, `print`, `scratch` and `sync_cluster`, and
//           no other.
// Memory    Everything that belongs to one block (`__shared__` variables, the
//           thread's index) lies at fixed offsets in the *block memory*, which
//           the host hands out through the service `block_memory`:
//           `memory_size` bytes of the object's own, and from `dynamic_offset`
//           on the dynamic shared memory of the launch. Its contents are
//           undefined when a block starts.
// Growth    Records grow at their end. The table tells the size of each record
//           as compiled; step through arrays by those sizes and read no field
//           beyond them. A change that this cannot express raises RNL_CPU_ABI.
#ifndef RUNNEL_CPU_OBJECT_H
#define RUNNEL_CPU_OBJECT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define RNL_CPU_OBJECT_SYMBOL "rnl_cpu_object"
#define RNL_CPU_OBJECT_MAGIC UINT64_C(0x4a424f5550434c52)  // "RLCPUOBJ"
#define RNL_CPU_ABI 1u

// The least alignment of block memory, and of the dynamic part inside it.
#define RNL_CPU_MEMORY_ALIGNMENT 128u

// Dynamic shared memory that every object can take; `dynamic_limit` tells more.
#define RNL_CPU_DYNAMIC_LIMIT 232448u  // 227 KiB, as on recent GPUs

#ifdef __cplusplus
extern "C" {
#endif

// --- A block being run -----------------------------------------------------

// Flags of a block.
#define RNL_CPU_BLOCK_COOPERATIVE 1u  // of a cooperative launch

// Filled by the host before `run_threads`; the object only writes
// `next_thread`. Threads are numbered x fastest.
typedef struct rnl_cpu_block {
    uint32_t struct_size;
    uint32_t thread_count;         // block[0] * block[1] * block[2]
    uint32_t grid[3];              // blocks per axis
    uint32_t block[3];             // threads per axis
    uint32_t index[3];             // this block's
    uint32_t next_thread;          // first thread that no call has taken yet
    uint32_t epoch;                // the host adds 1 whenever a thread waited:
                                   // a call must then read next_thread again
    uint32_t flags;                // RNL_CPU_BLOCK_…
    const void *const *arguments;  // address of each parameter's value
    void *host;                    // the host's own
    uint64_t dynamic_size;         // dynamic shared memory, bytes; hosts of old
                                   // end before it
    uint32_t cluster[3];           // blocks per axis of its cluster; zeros
                                   // without one, as in the next two
    uint32_t reserved;
    uint64_t cluster_memory;       // address of the block memory of its first
                                   // block
    uint64_t cluster_stride;       // bytes from there to the next block's
} rnl_cpu_block;

// --- Services of the host --------------------------------------------------

// How a block barrier combines the predicates of its threads.
typedef enum rnl_cpu_sync {
    RNL_CPU_SYNC_PLAIN = 0,  // gives 0
    RNL_CPU_SYNC_COUNT = 1,  // how many were non-zero
    RNL_CPU_SYNC_AND = 2,    // 1 if all were
    RNL_CPU_SYNC_OR = 3,     // 1 if any was
} rnl_cpu_sync;

// Operations that the lanes of a warp do together. A warp is 32 consecutive
// threads.
typedef enum rnl_cpu_warp_kind {
    RNL_CPU_WARP_SYNC = 0,        // gives 0
    RNL_CPU_WARP_SHUFFLE = 1,     // value of lane `argument`, within `width`
    RNL_CPU_WARP_SHUFFLE_UP = 2,
    RNL_CPU_WARP_SHUFFLE_DOWN = 3,
    RNL_CPU_WARP_SHUFFLE_XOR = 4,
    RNL_CPU_WARP_BALLOT = 5,      // mask of the lanes with a non-zero value
    RNL_CPU_WARP_ANY = 6,
    RNL_CPU_WARP_ALL = 7,
    RNL_CPU_WARP_MATCH_ANY = 8,   // mask of the lanes with the same value
    RNL_CPU_WARP_MATCH_ALL = 9,   // mask if all values are the same, else 0
    RNL_CPU_WARP_ADD = 10,        // reductions: of 32-bit values
    RNL_CPU_WARP_MIN = 11,
    RNL_CPU_WARP_MAX = 12,
    RNL_CPU_WARP_MIN_SIGNED = 13,
    RNL_CPU_WARP_MAX_SIGNED = 14,
    RNL_CPU_WARP_AND = 15,
    RNL_CPU_WARP_OR = 16,
    RNL_CPU_WARP_XOR = 17,
    RNL_CPU_WARP_ACTIVE = 18,     // mask of the lanes that are here together;
                                  // `value` stands for a place in the source,
                                  // `mask` is not read
} rnl_cpu_warp_kind;

typedef struct rnl_cpu_warp_op {
    uint32_t kind;      // rnl_cpu_warp_kind
    uint32_t mask;      // the lanes that take part, the caller's among them
    uint64_t value;     // the caller's; shuffles move all 64 bits
    uint32_t argument;  // shuffles: lane, delta or lane mask
    uint32_t width;     // shuffles: 1, 2, 4, 8, 16 or 32
} rnl_cpu_warp_op;

// Calls that an object may make to its host. `thread` is the number of the
// calling thread in its block. Each may be called only while `run_threads` or
// `run_blocks` runs. Calls that say so may run other threads of the block
// before they return, or never return.
typedef struct rnl_cpu_services {
    uint32_t struct_size;
    uint32_t abi;  // RNL_CPU_ABI of the host

    // The block memory of the calling OS thread.
    void *(*block_memory)(void);

    // Waits for all threads of the block that have not ended. Runs others.
    int (*sync_threads)(rnl_cpu_block *block, uint32_t thread,
                        rnl_cpu_sync kind, int predicate);

    // Waits for the lanes in op->mask that have not ended. Runs others.
    uint64_t (*warp)(rnl_cpu_block *block, uint32_t thread,
                     const rnl_cpu_warp_op *op);

    // Lets other threads run, because the caller waits for a value in memory.
    void (*yield)(rnl_cpu_block *block, uint32_t thread);

    // Fails the launch. Never returns. `file` may be NULL.
    void (*trap)(rnl_cpu_block *block, uint32_t thread, const char *message,
                 const char *file, int line);

    // Kernel printf. Returns the number of its arguments, or -1.
    int (*print)(const char *format, va_list arguments);

    // Memory for a `run_blocks` until it returns, aligned to
    // RNL_CPU_MEMORY_ALIGNMENT, its contents undefined. Only the last request
    // counts: it may move the memory, and what was in it is lost. Where memory
    // is short it fails the launch and never returns.
    void *(*scratch)(rnl_cpu_block *block, uint64_t size);

    // Waits for all threads of the grid that have not ended. Runs others, those
    // of other blocks too: block_memory() then gives those another address.
    // Fails the launch if it is not cooperative.
    void (*sync_grid)(rnl_cpu_block *block, uint32_t thread);

    // sync_threads, with the line of the barrier in the source; 0 where it is
    // not known. Fails the launch if threads wait at barriers of different
    // lines and no other thread can go on.
    int (*sync_threads_at)(rnl_cpu_block *block, uint32_t thread,
                           rnl_cpu_sync kind, int predicate, uint32_t line);

    // Waits until one thread of each block of the cluster that has not ended is
    // here, or returns at once where there is no cluster. Called by one thread
    // for all of its block, while the others wait at a block barrier or have
    // ended. Runs other blocks.
    void (*sync_cluster)(rnl_cpu_block *block, uint32_t thread);
} rnl_cpu_services;

// --- What an object holds --------------------------------------------------

typedef struct rnl_cpu_parameter {
    uint32_t kind;       // a value of rnl_value_kind (<runnel/module.h>)
    uint32_t size;       // bytes
    uint32_t alignment;  // bytes
    uint32_t element;    // of a pointer: what it points to, a value of
                         // rnl_element (<runnel/base.h>); 0 where unknown, as
                         // in older objects
    const char *type;    // as in the source; "" where unknown
} rnl_cpu_parameter;

// Flags of a kernel.
#define RNL_CPU_KERNEL_WAITS 1u    // its threads may wait for others
#define RNL_CPU_KERNEL_STRIDES 2u  // it has loops over the whole grid: many
                                   // blocks in a row are best run by one call
#define RNL_CPU_KERNEL_ASKED 4u    // without `run_blocks` because an option
                                   // (--tier=F, -G) asked for that
#define RNL_CPU_KERNEL_ACROSS 8u   // neighbours in x are run together where
                                   // blocks have one thread in x: a call is
                                   // best given 32 blocks of a row
#define RNL_CPU_KERNEL_ROWS 16u    // … or a whole row of the grid
#define RNL_CPU_KERNEL_SHORT 32u   // the work of a thread is bounded: it has no
                                   // loops, waits for nothing and calls no
                                   // function of unknown length

#define RNL_CPU_REASON_SIZE 128u

// How a kernel is run. Fields of other forms are appended to the record.
typedef enum rnl_cpu_form {
    RNL_CPU_FORM_THREADS = 1,  // `run_threads`, as above, and perhaps
                               // `run_blocks`
    RNL_CPU_FORM_BLOCKS = 2,   // only `run_blocks`; `run_threads` is NULL
} rnl_cpu_form;

typedef struct rnl_cpu_kernel {
    const char *name;    // as in the source, with namespaces: "ns::scale"; for
                         // a name expression its text: "scale<float>"
    const char *symbol;  // mangled; the same as `name` for extern "C"
    const rnl_cpu_parameter *parameters;
    uint32_t parameter_count;
    uint32_t max_block_threads;  // __launch_bounds__, else 1024
    uint32_t shared_size;        // static shared memory, bytes; 0 if unknown
    uint32_t flags;
    uint32_t form;               // rnl_cpu_form
    uint32_t reserved;
    void (*run_threads)(rnl_cpu_block *block);

    // Runs `count` blocks from block->index on, x fastest, and keeps
    // block->index up to date as it goes; NULL if there is no such function.
    // Records of objects made before there was tier B end before it.
    void (*run_blocks)(rnl_cpu_block *block, uint64_t count);

    // The only size of block that `run_blocks` takes; block_size[0] is 0 when
    // it takes all. Such a kernel has no other code, and does not touch the
    // variables of its object.
    uint32_t block_size[3];
    uint32_t reserved_2;

    // __cluster_dims__: the blocks per axis of its clusters; cluster[0] is 0
    // where the launch says. Records of older objects end before it.
    uint32_t cluster[3];
    uint32_t reserved_3;

    // Why the compiler made no `run_blocks`, for people: zero-terminated, cut
    // if it is too long; "" if there is `run_blocks`, or the reason is not
    // known. Records of older objects end before it.
    char reason[RNL_CPU_REASON_SIZE];
} rnl_cpu_kernel;

// Flags of a variable.
#define RNL_CPU_GLOBAL_CONSTANT 1u  // declared `__constant__`

// A `__device__`, `__constant__` or `__managed__` variable.
typedef struct rnl_cpu_global {
    const char *name;  // as in the source, with namespaces
    void *address;
    uint64_t size;     // bytes
    uint32_t alignment;
    uint32_t flags;
} rnl_cpu_global;

// Flags of an object.
#define RNL_CPU_OBJECT_FLUSHES 1u  // to be run with denormal numbers flushed
                                   // to zero, in operands and results
#define RNL_CPU_OBJECT_TELLS 2u    // `thread_offset` tells which thread runs

// Instruction sets of x86-64 that an object's code may use.
#define RNL_CPU_SSE3 (UINT64_C(1) << 0)
#define RNL_CPU_SSSE3 (UINT64_C(1) << 1)
#define RNL_CPU_SSE4_1 (UINT64_C(1) << 2)
#define RNL_CPU_SSE4_2 (UINT64_C(1) << 3)
#define RNL_CPU_POPCNT (UINT64_C(1) << 4)
#define RNL_CPU_AVX (UINT64_C(1) << 5)
#define RNL_CPU_AVX2 (UINT64_C(1) << 6)
#define RNL_CPU_BMI (UINT64_C(1) << 7)
#define RNL_CPU_BMI2 (UINT64_C(1) << 8)
#define RNL_CPU_FMA (UINT64_C(1) << 9)
#define RNL_CPU_AVX512F (UINT64_C(1) << 10)
#define RNL_CPU_AVX512CD (UINT64_C(1) << 11)
#define RNL_CPU_AVX512BW (UINT64_C(1) << 12)
#define RNL_CPU_AVX512DQ (UINT64_C(1) << 13)
#define RNL_CPU_AVX512VL (UINT64_C(1) << 14)
#define RNL_CPU_AVX512IFMA (UINT64_C(1) << 15)
#define RNL_CPU_AVX512VBMI (UINT64_C(1) << 16)
#define RNL_CPU_AVX512VBMI2 (UINT64_C(1) << 17)
#define RNL_CPU_AVX512VNNI (UINT64_C(1) << 18)
#define RNL_CPU_AVX512BITALG (UINT64_C(1) << 19)
#define RNL_CPU_AVX512VPOPCNTDQ (UINT64_C(1) << 20)
#define RNL_CPU_AVX512BF16 (UINT64_C(1) << 21)
#define RNL_CPU_GFNI (UINT64_C(1) << 22)

typedef struct rnl_cpu_object {
    uint64_t magic;       // RNL_CPU_OBJECT_MAGIC
    uint32_t abi;         // RNL_CPU_ABI
    uint32_t struct_size;
    uint32_t kernel_size, parameter_size, global_size, block_size;
    const char *compiler; // what made it, for people
    uint32_t tier;        // 'F': one fiber per waiting thread; 'B': some
                          // kernel has `run_blocks`
    uint32_t kernel_count;
    uint32_t global_count;
    uint32_t flags;
    const rnl_cpu_kernel *kernels;
    const rnl_cpu_global *globals;
    uint64_t memory_size;     // of block memory, without the dynamic part
    uint64_t dynamic_offset;  // of the dynamic part in block memory
    uint64_t dynamic_limit;   // largest dynamic part, bytes

    // Returns 0, or -1 when the host lacks a service that the object needs.
    int (*set_services)(const rnl_cpu_services *services);

    // Records of objects made before these were there end here.
    uint64_t processor;      // the instruction sets above
    uint64_t thread_offset;  // in block memory, of three uint32_t: the index of
                             // the thread that `run_threads` runs
} rnl_cpu_object;

#ifdef __cplusplus
}
#endif

#endif
