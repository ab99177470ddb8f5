// Running a kernel compiler, a program of its own: in a private folder, by a
// command line that all compilers of Runnel take.
#pragma once

#include "base/find_program.h"
#include "base/scratch.h"
#include "base/spawn.h"
#include "core/module/compilation.h"

#include <runnel/status.h>

// A run of the compiler. Zero at first; large, so never on a stack.
struct compiler_job {
    char program[FIND_PATH_SIZE];
    struct scratch folder;           // holds all files of the job
    char path[FIND_PATH_SIZE + 16];  // of a file
    const struct source *source;
    const atomic_bool *stop;  // or NULL
    struct text words;        // the command line, each word with its end
    size_t word_count;
    struct spawn_result result;
};

// Enclose the use of the private folder.
rnl_status compiler_begin(struct compiler_job *job);
void compiler_end(struct compiler_job *job);
void compiler_free(struct compiler_job *job);

// The path of a file in the folder, until the next call.
const char *compiler_file(struct compiler_job *job, const char *name);

// Add to the command line.
void compiler_word(struct compiler_job *job, const char *word);
void compiler_pair(struct compiler_job *job, const char *option,
                   const char *value);
// Begins the command line with the program and all that the source says, and
// writes the source's files. The compiler is to write the file "object".
rnl_status compiler_source(struct compiler_job *job);

// Runs the compiler and takes what it prints.
rnl_status compiler_run(struct compiler_job *job, uint64_t timeout_ns);

// The status for the way in which the compiler ended.
rnl_status compiler_judge(const struct compiler_job *job);

// Reads the file "object"; release with mem_release.
rnl_status compiler_object(struct compiler_job *job, void **out_data,
                           size_t *out_size);

// Fail with what the compiler printed. `what` follows the compiler's name in
// the second.
rnl_status compiler_refuse(const struct compiler_job *job, rnl_status status,
                           const char *what);
rnl_status compiler_refuse_crash(const struct compiler_job *job,
                                 const char *what);
rnl_status compiler_fail_file(const char *what, const char *path, int error);
