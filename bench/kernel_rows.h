// Rows of a group of kernels: each beside its loops, the group's geometric mean
// and its lowest ratio.
#pragma once

#include "harness.h"
#include "kernel_spec.h"

// How a kernel's work is done.
typedef enum kernel_way {
    KERNEL_FIXED,    // by Runnel, compiled for the size of its blocks
    KERNEL_GENERAL,  // by Runnel, for any size
    KERNEL_POCL,
    KERNEL_INTEL,   // by Intel's OpenCL
    KERNEL_OPENMP,  // by the loop
    KERNEL_SIMD,    // by the loop with `omp simd`, or without
                    // such a loop by the plain loop
} kernel_way;

enum { KERNEL_WAYS = 6 };

// The plan of kernel `number` of a group.
#define KERNEL_PLAN(number, title, text)                                       \
    {                                                                          \
        .name = title, .what = text, .size = (number), .rounds = 9,            \
        .samples = 2, .warm = 1, .limit_ns = 3500000000u                       \
    }

typedef struct kernel_group {
    const kernel_spec *const *specs;
    const bench_plan *plans;  // one for each kernel, in the same order; then
    size_t count;             // those of the mean (size `count`) and of the
                              // lowest ratio beside way i (size `count` + i)
    struct {
        const char *name;
        kernel_way way;
    } ways[KERNEL_WAYS];  // the first is Runnel's
    size_t way_count;
    // The same kernel with loops of another compiler, or NULL. The faster of
    // both is measured.
    const kernel_spec *(*other_compiler)(const kernel_spec *spec);
} kernel_group;

void kernel_group_run(bench_run *bench, const bench_plan *plan,
                      const kernel_group *group);
