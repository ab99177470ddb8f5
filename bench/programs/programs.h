// Small programs as somebody writes them who tunes nothing: the CUDA kernel
// (NAME.cu), and in NAME.c the loop with `omp parallel for` that does the same,
// once as written and once with the promises of `omp simd` where they hold.
#pragma once

#include "../kernel_spec.h"

// The name of a program's kernel_spec.
#define PROGRAM(name) const kernel_spec name##_program
#define PROGRAM_TEXT(name) extern const char name##_cu[]
#define PROGRAM_NAMED(text) \
    .name = #text, .cuda = text##_cu, .compiler = PROGRAM_COMPILER

#define PROGRAM_TEXT_OF(number) #number
#define PROGRAM_VERSION(name, number) name " " PROGRAM_TEXT_OF(number)
#ifdef __clang__
#define PROGRAM_COMPILER PROGRAM_VERSION("clang", __clang_major__)
#else
#define PROGRAM_COMPILER PROGRAM_VERSION("gcc", __GNUC__)
#endif

extern PROGRAM(bfs);
extern PROGRAM(bitonic);
extern PROGRAM(columns);
extern PROGRAM(floyd);
extern PROGRAM(front_loaded);
extern PROGRAM(grey);
extern PROGRAM(heat);
extern PROGRAM(ising);
extern PROGRAM(kmeans);
extern PROGRAM(laplace);
extern PROGRAM(murmur);
extern PROGRAM(needleman);
extern PROGRAM(pagerank);
extern PROGRAM(particles);
extern PROGRAM(pi);
extern PROGRAM(reverse_rows);
extern PROGRAM(scan);
extern PROGRAM(sha256);
extern PROGRAM(sobel);
extern PROGRAM(spmv);
