// A kernel that the bench measures, with the loops of its peers. Its
// texts are NAME.cu and, in the folder kernels/, NAME.cl; NAME.c has the rest.
#pragma once

#include <runnel/runnel.h>

#include <stdbool.h>
#include <stddef.h>

enum { KERNEL_ARRAYS = 6 };

typedef enum kernel_element {
    KERNEL_FLOATS,   // from `low` to `high`
    KERNEL_DOUBLES,  // from `low` to `high`
    KERNEL_INTS,     // from `low` up to but not including `high`
    KERNEL_WORDS,    // any 32 bits
    KERNEL_BYTES,    // from `low` up to but not including `high`
} kernel_element;

// An array that all variants use in place, filled with random elements.
typedef struct kernel_array {
    size_t count;  // 0 ends the list
    float low, high;
    kernel_element element;
    bool result;  // compared; filled again before each check
} kernel_array;

// A loop of C, which does the work of one launch of the kernel.
typedef void kernel_loop(void *const *arrays, int n);

// The kernel's parameters are `factor` unless that is 0, the arrays, `n`, and
// `step` unless that is 0.
typedef struct kernel_spec {
    const char *name;
    const char *cuda, *opencl;
    kernel_array arrays[KERNEL_ARRAYS];
    float factor;
    int n, step;
    rnl_dim3 grid, block;
    bool any_shape;     // OpenCL may have any work-group size
    bool fast_math;     // all variants are compiled so: see README.md
    bool sum_only;      // the sum of the results counts, not each
    double tolerance;   // relative to the result, or to 1 if that is larger
    double wrong_part;  // of the results that may be further off
    void (*prepare)(void *const *arrays, int n);  // input that is not random
    kernel_loop *loop;
    kernel_loop *simd_loop;  // NULL: nobody would write `omp simd` there
    const char *compiler;    // of the loops; NULL: the build's
} kernel_spec;

// The texts of NAME.cu and NAME.cl, and what names them in a kernel_spec.
#define KERNEL_TEXTS(name) extern const char name##_cu[], name##_cl[]
#define KERNEL_NAMED(text) .name = #text, .cuda = text##_cu, .opencl = text##_cl
