// One kernel source compiled twice, with other options or for another device on
// each side, and the results of a launch compared: what all differential tests
// share.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <runnel/runnel.h>

// The type of a kernel's elements: all are
// `extern "C" __global__ void NAME(T *out, const T *in, int n)`, some with more
// arguments of type int.
enum element {
    ELEMENT_INT,
    ELEMENT_UNSIGNED,
    ELEMENT_LONG_LONG,
    ELEMENT_FLOAT,
    ELEMENT_DOUBLE,
    ELEMENT_TYPES
};

extern const char *const element_names[ELEMENT_TYPES];

enum { MORE_MAX = 2 };

struct launch {
    enum element element;
    rnl_dim3 grid, block;
    size_t shared;  // dynamic shared memory, bytes
    size_t count;   // n: elements of `out` and of `in`
    int more[MORE_MAX];  // arguments behind n
    size_t more_count;
    uint64_t ulp;   // how far floats may be apart
};

enum outcome {
    OUTCOME_SAME,
    OUTCOME_DIFFERENT,
    OUTCOME_INVALID,  // does not even compile on the first side
    OUTCOME_FAILED,   // a side did not compile or failed as it ran
    OUTCOME_CRASHED,  // the process ended, or did not end
};

enum { SIDES = 2 };

struct verdict {
    enum outcome outcome;
    char message[4096];
};

struct comparison {
    rnl_context contexts[SIDES];
    rnl_stream streams[SIDES];
    rnl_module modules[SIDES];
    struct verdict verdict;  // of the last call
};

// What makes a side. Options are a word each.
struct side {
    const char *device;  // NULL: the cpu
    const char *options[16];
    size_t count;
};

// Compiles `source` for both sides. False: see the verdict. To be closed in
// any case.
bool comparison_open(struct comparison *comparison, const char *source,
                     const struct side sides[SIDES]);
void comparison_close(struct comparison *comparison);

// Runs `kernel` on both sides. True when they agree.
bool comparison_run(struct comparison *comparison, const char *kernel,
                    const struct launch *launch);

// Puts the environment in order: no cache on disk, and no devices but those of
// the sides. Before anything else.
void comparison_prepare(const struct side sides[SIDES]);
