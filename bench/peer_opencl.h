// Peers through OpenCL: each has one context, in-order queues, and programs
// built before anything is timed. Where OpenCL offers two ways, the peer first
// finds and then uses the faster way on this machine.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { OPENCL_ARRAYS = 5 };

// A kernel of one or two dimensions whose parameters are `factor` unless that
// is 0, the arrays, `n`.
typedef struct opencl_kernel {
    const char *source, *name, *options;
    size_t global[2], local[2];
    bool any_shape;  // other sizes than `local` may be faster
    float factor;
    int n;
    size_t array_count;
    void *arrays[OPENCL_ARRAYS];  // the caller's, used in place
    size_t sizes[OPENCL_ARRAYS];  // bytes
} opencl_kernel;

// The platforms with a device for CPUs.
typedef enum opencl_platform {
    OPENCL_POCL,
    OPENCL_INTEL,
    OPENCL_PEERS,
} opencl_platform;

typedef struct opencl_state opencl_state;

typedef struct opencl_peer {
    opencl_state *state;  // the first argument of all functions

    // Empty kernel.
    bool (*enqueue_empty)(opencl_state *cl);  // only that
    bool (*finish)(opencl_state *cl);
    bool (*empty_and_wait)(opencl_state *cl);

    // y += a * x on arrays of the caller, used in place.
    bool (*axpy_prepare)(opencl_state *cl, float a, float *x, float *y,
                         size_t count);
    bool (*axpy_and_wait)(opencl_state *cl);
    void (*axpy_release)(opencl_state *cl);

    // ns of one of `count` operations, negative on failure. Objects that OpenCL
    // makes anew each time (events) are released after the timer stopped.
    double (*markers)(opencl_state *cl, unsigned count);
    double (*queries)(opencl_state *cl, unsigned count);
    double (*markers_and_waits)(opencl_state *cl,
                                unsigned count);  // wait: on a second queue

    // ns a queue: `count` in-order queues, each waits for the one before and
    // runs an empty kernel; until all are done.
    double (*queues)(opencl_state *cl, size_t count);

    // ns until host code ran that stands behind the queue's work.
    double (*callback)(opencl_state *cl);
    double (*native_kernel)(opencl_state *cl);

    // A blocking write into a buffer that is the caller's memory.
    bool (*copy_prepare)(opencl_state *cl, void *to, size_t size);
    bool (*copy)(opencl_state *cl, const void *from, size_t size);
    void (*copy_release)(opencl_state *cl);

    // A kernel of the caller, compiled by `kernel_prepare`.
    bool (*kernel_prepare)(opencl_state *cl, const opencl_kernel *kernel);
    bool (*kernel_and_wait)(opencl_state *cl);
    void (*kernel_release)(opencl_state *cl);

    const char *version;
    const char *wait_way;  // clFinish or clWaitForEvents, whichever is faster
    bool has_native_kernel;
} opencl_peer;

// The peer, opened at the first call, or NULL and the reason.
const opencl_peer *opencl_peer_open(opencl_platform which,
                                    const char **out_why);
