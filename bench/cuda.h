// The common part of the rows of a GPU: Runnel's objects on the device, and the
// same kernels for calls of the driver by hand.
#pragma once

#include "harness.h"
#include "peer_cuda.h"

enum {
    CUDA_ARGS0,
    CUDA_ARGS3,
    CUDA_ARGS16,
    CUDA_ARGS64,
    CUDA_ADD,   // (unsigned long long *sum, int value, int ignored)
    CUDA_SPIN,  // (int *done, long long ticks): sets *done in the end
    CUDA_KERNELS,
};

typedef struct cuda_fixture {
    rnl_context context;
    rnl_stream stream, other_stream, batched;
    rnl_module module;
    rnl_function functions[CUDA_KERNELS];
    void *raw_functions[CUDA_KERNELS];
    cuda_peer raw;
    char no_runnel[200], no_kernels[200], no_batched[200], no_raw[200];
} cuda_fixture;

// Opened by the first row that asks; missing members have their reasons.
cuda_fixture *cuda_get(void);
void cuda_close(void);

// Why the driver cannot be measured by hand; `has`: it has the function.
const char *cuda_no_raw(bool has);

// As cuda_no_raw, for rows that launch kernels.
const char *cuda_no_raw_kernels(bool has);
const char *cuda_no_kernels(void);
const char *cuda_no_batched(void);

// A launch of one block of one thread, by hand. Nonzero on failure.
static inline int cuda_launch_raw(const cuda_peer *raw, void *function,
                                  void *stream, void **arguments)
{
    return raw->launch(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL);
}

// The source of the kernels; one of them is what cuda_compile.c compiles.
const char *cuda_source(void);

// In a process of its own: ns from source to function; negative: it failed.
double cuda_compile_once(bool by_hand);
