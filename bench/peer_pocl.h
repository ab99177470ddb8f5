// The PoCL peer, through OpenCL: one context, programs built before anything
// is timed, in-order queues. Where OpenCL offers two ways, the one that is
// faster on this machine is found first and used.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { POCL_ARRAYS = 5 };

// A kernel of one or two dimensions whose parameters are `factor` unless that
// is 0, the arrays, `n`.
typedef struct pocl_kernel {
    const char *source, *name, *options;
    size_t global[2], local[2];
    bool any_shape;  // other sizes than `local` may be faster
    float factor;
    int n;
    size_t array_count;
    void *arrays[POCL_ARRAYS];  // the caller's, used in place
    size_t sizes[POCL_ARRAYS];  // bytes
} pocl_kernel;

typedef struct pocl_peer {
    // Empty kernel.
    bool (*enqueue_empty)(void);   // only that
    bool (*finish)(void);
    bool (*empty_and_wait)(void);

    // y += a * x on arrays of the caller, used in place.
    bool (*axpy_prepare)(float a, float *x, float *y, size_t count);
    bool (*axpy_and_wait)(void);
    void (*axpy_release)(void);

    // ns of one of `count` operations, negative when it failed. What OpenCL
    // makes anew each time (an event) is released after the timer stopped.
    double (*markers)(unsigned count);
    double (*queries)(unsigned count);
    double (*markers_and_waits)(unsigned count);  // wait: on a second queue

    // ns a queue: `count` in-order queues, each waits for the one before and
    // runs an empty kernel; until all are done.
    double (*queues)(size_t count);

    // ns until host code ran that stands behind the queue's work.
    double (*callback)(void);
    double (*native_kernel)(void);

    // A blocking write into a buffer that is the caller's memory.
    bool (*copy_prepare)(void *to, size_t size);
    bool (*copy)(const void *from, size_t size);
    void (*copy_release)(void);

    // A kernel of the caller, compiled by `kernel_prepare`.
    bool (*kernel_prepare)(const pocl_kernel *kernel);
    bool (*kernel_and_wait)(void);
    void (*kernel_release)(void);

    const char *version;
    const char *wait_way;  // clFinish or clWaitForEvents, whichever is faster
    bool has_native_kernel;
} pocl_peer;

// The peer, opened at the first call, or NULL and the reason.
const pocl_peer *pocl_peer_open(const char **out_why);
