// The OpenMP peer. Its code stands in a file of its own, compiled as its users
// would: -O3 -march=native -fopenmp.
#pragma once

#include <stddef.h>

typedef enum openmp_schedule {
    OPENMP_STATIC,   // chunks of one
    OPENMP_DYNAMIC,  // the same
    OPENMP_GUIDED,
} openmp_schedule;

typedef struct openmp_peer {
    int (*threads)(void);
    void (*region)(void);  // an empty parallel region
    void (*axpy)(float a, const float *x, float *y, size_t count);
    void (*copy)(void *to, const void *from, size_t size);  // on all threads
    // `levels` times: a task for each of the `wide` cells (16 ints apart) adds
    // 1, and a task that depends on all of them comes after.
    void (*tasks)(int *cells, size_t wide, size_t levels);
    // Calls `body` with each number below `count`.
    void (*loop)(openmp_schedule schedule, void (*body)(void *data, size_t i),
                 void *data, size_t count);
} openmp_peer;

// The peer, or NULL and the reason.
const openmp_peer *openmp_peer_open(const char **out_why);
