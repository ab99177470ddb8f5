// Compiling a source with runnel-cc and running what comes out, without the
// library above.
#pragma once

#include "test.h"

#include "backends/cpu/kernel/block.h"

#include <stdio.h>

struct built {
    int status;                // runnel-cc's exit status
    char log[8192];            // its standard error
    char folder[64];           // private, removed by built_close
    char object[128];          // path of the object
    void *library;
    const rnl_cpu_object *table;
    bool cooperative;          // for the next built_run
    rnl_dim3 cluster;          // the same; x is 0: none
    char failure[512];         // of the last one
};

// Runs runnel-cc with `arguments`, each a word or a quoted one as the shell
// reads them; "@" stands for the folder. The tier is that of the environment
// variable TEST_TIER where they choose none. TEST_LIMIT has what the shell does
// before. Loads the object if there is one.
void built_make(struct built *built, const char *arguments);

// The same for a file of kernels/, and fails the test if it does not compile.
void built_kernels(struct built *built, const char *file, const char *options);

// Whether kernels are made into vectors where that can be: no other tier was
// asked for.
bool built_may_be_tier_b(void);

void built_close(struct built *built);

// Opens a file to write in the folder of the next built_make, or writes one.
FILE *built_create(struct built *built, const char *name);
void built_write(struct built *built, const char *name, const char *text);

// The kernel of that name, or NULL.
const rnl_cpu_kernel *built_kernel(const struct built *built,
                                   const char *name);
const rnl_cpu_global *built_global(const struct built *built,
                                   const char *name);

// Runs all blocks of a kernel on this thread.
rnl_status built_run(struct built *built, const char *kernel, rnl_dim3 grid,
                     rnl_dim3 block, size_t shared,
                     const void *const *arguments);

// The usual shape of a kernel here: (int *out, const int *in, int n).
void built_run_ints(struct built *built, const char *kernel, rnl_dim3 grid,
                    rnl_dim3 block, size_t shared, int *out, const int *in,
                    int n);

// A number that looks random, 0 … 999.
int sample(int i);
