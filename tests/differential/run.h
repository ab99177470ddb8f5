// One kernel source compiled twice, with other options on each side, and the
// results of a launch compared: what all differential tests share.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <runnel/runnel.h>

// The type of a kernel's elements: all are
// `extern "C" __global__ void NAME(T *out, const T *in, int n)`.
enum element {
    ELEMENT_INT,
    ELEMENT_UNSIGNED,
    ELEMENT_LONG_LONG,
    ELEMENT_FLOAT,
    ELEMENT_DOUBLE,
    ELEMENT_TYPES
};

extern const char *const element_names[ELEMENT_TYPES];

struct launch {
    enum element element;
    rnl_dim3 grid, block;
    size_t shared;  // dynamic shared memory, bytes
    size_t count;   // n: elements of `out` and of `in`
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
    rnl_context context;
    rnl_stream stream;
    rnl_module modules[SIDES];
    struct verdict verdict;  // of the last call
};

// The options that make a side, each a word of its own.
struct side {
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

// Puts the environment in order: cpu devices only, no cache on disk. Before
// anything else.
void comparison_prepare(void);
