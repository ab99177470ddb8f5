// Launching a function: shape, attributes and arguments.
//
//   rnl_enqueue_function(stream, scale,
//                        RNL_LAUNCH(.grid = {blocks}, .block = {256}),
//                        RNL_ARGS(buffer, count, 2.0f));
//   rnl_enqueue_function(stream, scale, RNL_LAUNCH_FOR(count),
//                        RNL_ARGS(buffer, count, 2.0f));
#ifndef RUNNEL_LAUNCH_H
#define RUNNEL_LAUNCH_H

#include <runnel/launch_attribute.h>
#include <runnel/module.h>

// --- Shape -----------------------------------------------------------------

// Fills the module's `__constant__` variable `symbol` from `data` (copied at
// the call) in stream order before the launch.
typedef struct rnl_constant {
    const char *symbol;
    const void *data;
    size_t size;  // bytes; at most the variable's
} rnl_constant;

// How a function is launched. `grid` counts blocks, also with a cluster, and
// must be divisible by it. `cluster`: blocks that run together and reach each
// other's shared memory, at most max_cluster_blocks of the device; zeros: none,
// or what the kernel's __cluster_dims__ says, from which it cannot differ.
// Needs RNL_FEATURE_CLUSTERS; not for C functions.
typedef struct rnl_launch {
    size_t struct_size;
    rnl_dim3 grid, block, cluster;
    size_t shared_size;  // dynamic shared memory, bytes per block; beyond 48 KB
                         // the function's limit is raised as needed
    const rnl_launch_attribute *attributes;  // <runnel/launch_attribute.h>;
                                             // copied
    size_t attribute_count;
    const rnl_constant *constants;
    size_t constant_count;
    const char *label;   // named in errors; copied
    // Where it was enqueued: `file` must stay valid for good, as __FILE__ does.
    // RNL_LAUNCH fills both.
    const char *file;
    int line;
    // Instead of a grid: at least so many threads along x. The block is `block`
    // or, where that is zero, 256 threads or the most that the function can
    // have; the grid is rounded up to whole blocks and clusters, so the kernel
    // compares its index with the count. RNL_ERROR_INVALID_ARGUMENT for a grid
    // besides, for a block of several axes, and for more blocks than the
    // device's limit.
    uint64_t threads;
} rnl_launch;

#ifdef __cplusplus
#define RNL_LAUNCH(...) \
    rnl_launch_at(RNL_LITERAL(rnl_launch, __VA_ARGS__), __FILE__, __LINE__)

inline rnl_literal<rnl_launch> rnl_launch_at(rnl_literal<rnl_launch> launch,
                                             const char *file, int line)
{
    launch.value.file = file;
    launch.value.line = line;
    return launch;
}
#else
#define RNL_LAUNCH(...) \
    RNL_LITERAL(rnl_launch, .file = __FILE__, .line = __LINE__, __VA_ARGS__)
#endif

// A launch of `count` threads. A negative count is refused, as it is too large.
// A count of 0 launches one block, whose threads find nothing to do.
#ifdef __cplusplus
#define RNL_LAUNCH_FOR(count) \
    RNL_LAUNCH(.threads = rnl_at_least_one(static_cast<uint64_t>(count)))
#else
#define RNL_LAUNCH_FOR(count) \
    RNL_LAUNCH(.threads = rnl_at_least_one((uint64_t)(count)))
#endif

static inline uint64_t rnl_at_least_one(uint64_t count)
{
    return count ? count : 1;
}

// --- Arguments -------------------------------------------------------------

// One argument. Made by RNL_ARGS from the C type of each expression, or by hand
// for a binding.
typedef struct rnl_arg {
    uint32_t kind;  // rnl_value_kind, or RNL_ARG_BUFFER
    uint32_t size;  // bytes of the value
    union {
        uint64_t integer;
        double real;
        float single;
        const void *pointer;  // the address; for RNL_VALUE_STRUCT, of the bytes
        rnl_buffer buffer;
    } value;
} rnl_arg;

// The kind of an argument that is a buffer.
#define RNL_ARG_BUFFER 16u

// The arguments of a launch, in the order of the parameters.
typedef struct rnl_args {
    size_t struct_size;
    size_t count;
    const rnl_arg *items;
} rnl_args;

RNL_BEGIN_DECLS

// Launches `function` on `stream`. Argument values are copied at the call;
// buffers are kept alive until the launch is done. Checked on every backend, by
// position: RNL_ERROR_ARGUMENT_MISMATCH when their number, a kind, a size or a
// buffer's known elements (<runnel/buffer.h>) differ from the function's
// parameters (no conversions: an int is not a size_t, 2.0 is not 2.0f).
// RNL_ERROR_INVALID_ARGUMENT for dimensions that are zero or beyond the limits
// of device or function, for a cluster that is too large, does not divide the
// grid or is not the kernel's own, and for a cooperative launch of more blocks
// than can be resident; cpu: of 65536 threads, if the kernel waits. `args` may
// be NULL for none. What fails while the kernel runs is the stream's failure;
// cpu: a wild pointer or a full stack too, as RNL_ERROR_LAUNCH_FAILED. An
// integer division by zero is such a failure or gives some number.
// Stands for cuLaunchKernelEx.
RNL_API rnl_status rnl_enqueue_function(rnl_stream stream,
                                        rnl_function function,
                                        const rnl_launch *launch,
                                        const rnl_args *args);

RNL_END_DECLS

// --- Sugar: RNL_ARGS(a, b, …), up to 32 arguments, or RNL_NO_ARGS ----------
//
// Integers, floats, pointers and buffers are taken by their C type. Wrap a
// struct as RNL_ARG_STRUCT(variable).

#ifdef __cplusplus
#define RNL_NO_ARGS static_cast<const rnl_args *>(nullptr)
#else
#define RNL_NO_ARGS ((const rnl_args *)NULL)
#endif

static inline rnl_arg rnl_arg_of_integer(uint64_t value, uint32_t size)
{
    rnl_arg arg = {RNL_VALUE_INTEGER, size, {0}};
    arg.value.integer = value;
    return arg;
}

static inline rnl_arg rnl_arg_of_double(double value)
{
    rnl_arg arg = {RNL_VALUE_FLOAT, sizeof value, {0}};
    arg.value.real = value;
    return arg;
}

static inline rnl_arg rnl_arg_of_float(float value)
{
    rnl_arg arg = {RNL_VALUE_FLOAT, sizeof value, {0}};
    arg.value.single = value;
    return arg;
}

static inline rnl_arg rnl_arg_of_pointer(const void *value)
{
    rnl_arg arg = {RNL_VALUE_POINTER, sizeof value, {0}};
    arg.value.pointer = value;
    return arg;
}

static inline rnl_arg rnl_arg_of_buffer(rnl_buffer value)
{
    rnl_arg arg = {RNL_ARG_BUFFER, sizeof(void *), {0}};
    arg.value.buffer = value;
    return arg;
}

static inline rnl_arg rnl_arg_of_struct(const void *value, uint32_t size)
{
    rnl_arg arg = {RNL_VALUE_STRUCT, size, {0}};
    arg.value.pointer = value;
    return arg;
}

#define RNL_ARG_STRUCT(variable) \
    rnl_arg_of_struct(&(variable), sizeof(variable))

#ifdef __cplusplus
#include <runnel/launch_args.hpp>
#else
#include <runnel/launch_args.h>
#endif

#endif
