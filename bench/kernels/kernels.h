// A kernel written three times: CUDA dialect (NAME.cu), OpenCL C (NAME.cl), and
// the loop with OpenMP that somebody would write by hand (NAME.c).
#pragma once

#include <runnel/runnel.h>

#include <stdbool.h>
#include <stddef.h>

enum { KERNEL_ARRAYS = 5 };

// An array of 4-byte elements that all variants use in place.
typedef struct kernel_array {
    size_t count;     // 0 ends the list
    float low, high;  // filled with numbers from here to there
    bool words;       // filled with whole random words instead
    bool result;      // compared; filled again before each check
} kernel_array;

// The kernel's parameters are `factor` unless that is 0, the arrays, `n`.
typedef struct kernel_spec {
    const char *name;
    const char *cuda, *opencl;
    kernel_array arrays[KERNEL_ARRAYS];
    float factor;
    int n;
    rnl_dim3 grid, block;
    bool any_shape;     // OpenCL may have any work-group size
    bool fast_math;     // all three are compiled so: see README.md
    bool integers;      // results are integers
    bool sum_only;      // the sum of the results counts, not each
    double tolerance;   // relative to the result, or to 1 if that is larger
    double wrong_part;  // of the results that may be further off
    void (*loop)(void *const *arrays, int n);
} kernel_spec;

extern const kernel_spec matmul_kernel, nbody_kernel, black_scholes_kernel,
    mandelbrot_kernel, reduction_kernel, shuffle_reduction_kernel,
    smoothing_kernel, histogram_kernel, transpose_kernel, saxpy_kernel,
    vector_add_kernel, stencil_kernel;

// The texts of NAME.cu and NAME.cl, and what names them in a kernel_spec.
#define KERNEL_TEXTS(name) extern const char name##_cu[], name##_cl[]
#define KERNEL_NAMED(text) \
    .name = #text, .cuda = text##_cu, .opencl = text##_cl
