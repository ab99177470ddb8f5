// Native functions: C functions as kernels of a cpu context.
#ifndef RUNNEL_CPU_H
#define RUNNEL_CPU_H

#include <runnel/module.h>

// The share of a launch that one call of a native function does: blocks
// `first_block` … `first_block + block_count - 1`, numbered x fastest. Calls of
// one launch run on several threads at once and cover every block once.
typedef struct rnl_native_call {
    size_t struct_size;
    rnl_dim3 grid, block;       // as launched, zeros already replaced by 1
    uint64_t first_block;
    uint64_t block_count;
    const void *const *arguments;  // address of each argument's value
    void *shared;               // the launch's dynamic bytes, this call's own
    size_t shared_size;
    void *user_data;            // as given at creation
} rnl_native_call;

// A kernel in C. It may not call Runnel, except for rnl_native_fail. Returning
// other than RNL_OK fails the launch with that status. A wild pointer in it
// crashes the program, as in any C function: only compiled kernels are
// contained.
typedef rnl_status (*rnl_native_fn)(const rnl_native_call *call);

// Bits of rnl_native_options.flags.
typedef uint32_t rnl_native_flags;

// The function waits for something outside of its context, another process for
// one: meanwhile another thread does the work of the pool.
#define RNL_NATIVE_WAITS 1u

// A thread is woken for a launch at once, as for large work. Without the flag a
// small launch begins when a thread synchronizes or comes by, which takes some
// milliseconds at most.
#define RNL_NATIVE_PROMPT 2u

// How a C function is launched.
typedef struct rnl_native_options {
    size_t struct_size;
    // The signature, checked at each launch; copied, `type` texts too.
    const rnl_parameter *parameters;
    size_t parameter_count;
    void *user_data;             // must outlive the function's launches
    uint32_t max_block_threads;  // 0: the device's limit
    rnl_native_flags flags;      // RNL_NATIVE_…
} rnl_native_options;

#define RNL_NATIVE_OPTIONS(...) RNL_LITERAL(rnl_native_options, __VA_ARGS__)

RNL_BEGIN_DECLS

// Makes a function of `native`, to be launched like any other and released with
// rnl_function_release. `name` appears in errors. RNL_ERROR_UNSUPPORTED on a
// context that is not cpu.
RNL_API rnl_status rnl_function_create_native(rnl_context context,
                                              const char *name,
                                              rnl_native_fn native,
                                              const rnl_native_options *options,
                                              rnl_function *out_function);

// Says more of the failure `status` that the native function on the calling
// thread returns next: `message` (copied; at most 511 bytes) instead of the
// sentence of the status; the message is lost when memory is short. With
// `keep_buffers` the buffers of the launch are never freed, since something
// that the function began may still write to them; rnl_trim then counts them
// for good. Only functions with RNL_NATIVE_WAITS may demand that: the stream
// reuses the memory of others' buffers before they have ended. Returns
// `status`, which the function must return in turn: otherwise a later failure
// of that status on the thread is told with this message.
// RNL_ERROR_NOT_PERMITTED outside of native functions. Does not block. Stands
// for no vendor call.
RNL_API rnl_status rnl_native_fail(rnl_status status, const char *message,
                                   bool keep_buffers);

RNL_END_DECLS

#endif
