// clang, the SIMT compiler and the linker lld, which runnel-cc is linked with.
//
// Each function needs a process of its own (process_run): LLVM has global state
// and ends the process on internal errors. Diagnostics go to standard error.
#pragma once

#include "../simt/simt.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// The version of the clang that is linked in, such as "19.1.7".
const char *clang_version(void);

// Executes one command line of clang, words[0] its name. Returns 0, 1 for
// errors of the source, or CLANG_CRASHED.
int clang_compile(const char *const *words, size_t count);

// The same for a command that compiles: the SIMT compiler makes the object that
// `job` names, whose callbacks become the lines that simt.c reads, and the
// linker makes SIMT_LINKED of it.
int clang_vectorise(const char *const *words, size_t count,
                    struct simt_job *job);

// Links, by the words of ld.lld's command line, words[0] its name. 0 or 1.
int clang_link(const char *const *words, size_t count);

enum { CLANG_CRASHED = 70 };

#ifdef __cplusplus
}
#endif
