// Kernels written three times: CUDA dialect (NAME.cu), OpenCL C (NAME.cl), and
// the loop with OpenMP that somebody would write by hand (NAME.c).
#pragma once

#include "../kernel_spec.h"

extern const kernel_spec matmul_kernel, nbody_kernel, black_scholes_kernel,
    mandelbrot_kernel, reduction_kernel, shuffle_reduction_kernel,
    smoothing_kernel, histogram_kernel, transpose_kernel, saxpy_kernel,
    vector_add_kernel, stencil_kernel;
