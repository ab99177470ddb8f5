// clang, the SIMT compiler and the linker lld, which runnel-cc is linked with.
//
// Each function needs a process of its own (process_run): LLVM has global state
// and ends the process on internal errors. Diagnostics go to standard error.
#pragma once

#include "simt/simt.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// A source, whose text ends with the two pragmas that clang_pragmas has: name
// expressions and the table of kernels are put there.
struct clang_source {
    const char *const *words;  // clang's command line; words[0] its name
    size_t count;
    const char *const *expressions;
    size_t expression_count;
    bool default_device;       // what has no word for its place is the device's
    struct simt_job *simt;     // or NULL: clang's own code, for one thread
    const char *only;          // the kernel that is simt->kernel, or NULL
    // Whether a file may be included; NULL: all may.
    bool (*may_include)(void *user, const char *path);
    void *user;
};

#define CLANG_EXPRESSIONS "rnl_expressions"
#define CLANG_TABLE "rnl_table"
extern const char clang_pragmas[];

// The version of the clang that is linked in, such as "19.1.7".
const char *clang_version(void);

// The name of this machine's processor, such as "znver4".
const char *clang_processor(void);

// Compiles a source. Returns 0, 1 for its errors, or CLANG_CRASHED. Standard
// output has a line for each kernel, "k NAME", before lines for `simt`'s
// callbacks, which driver/tiers.c reads; with `simt`, the linker makes
// SIMT_LINKED of the object.
int clang_compile(const struct clang_source *source);

// Links, by the words of ld.lld's command line, words[0] its name. 0 or 1.
int clang_link(const char *const *words, size_t count);

enum { CLANG_CRASHED = 70 };

// builtins.o: functions that compilers call themselves, such as __divti3.
extern const char cc_builtins[], cc_builtins_end[];

#ifdef __cplusplus
}
#endif
