// One compilation, and the files that it writes.
#pragma once

#include "cc.h"
#include "frontend/clang.h"

struct job {
    const struct cc_options *options;
    struct choices choices;
    struct flags flags;
    struct text source;
    struct text log;       // diagnostics, filtered
    struct text errors;    // of the last command, as they came
    char *file;            // the source's name inside the folder
    struct elf_unit unit;
    bool all_parts;        // of the prelude, asked for or not
    struct list own;       // what the source has of the prelude's names
    struct list kernels;   // their names, in the order of the table
    struct simt_verdict *verdicts;  // one for each
    struct process worker; // the SIMT compiler's child
    bool vectorised;       // the SIMT compiler made the object
    struct text no_vectors; // why it did not
};

// Say what is wrong with the command line, or with a file after errno; return
// the exit code.
int complain(int code, const char *format, const char *what);
int complain_file(const char *action, const char *path);

// Takes back what was said since the log had that size.
void job_cut_log(struct job *job, size_t size);

// --- confine.c: what processes that compile may use -------------------------

struct limits {
    uint64_t memory;   // bytes of address space, of each process
    uint64_t seconds;  // of processor time, of each process
    uint64_t file;     // bytes of each file
    size_t log;        // bytes of all diagnostics
};

extern const struct limits trusted_limits, untrusted_limits;

// Of this process and all that it starts. The stack grows, where it may.
void confine_limit(const struct limits *limits);

// Whether a compiler could have a stack that is of use.
bool confine_has_stack(void);

// From now on, children see the private folder and folders of headers, and what
// they are made of, and gain no privileges. False where the kernel has no
// Landlock: nothing then keeps them from other files.
bool confine_wall(const struct job *job);

// In a child: closes the wall around it.
bool confine_enter(void);

// Whether untrusted source may include a file, by its path in the private
// folder. `user` is the job.
bool confine_may_include(void *user, const char *path);

// Whether an untrusted text has no #embed; otherwise the log has the error.
bool confine_judge_embeds(struct job *job, const char *name, const char *text);

// --- files.c: the private folder -------------------------------------------

// The path of a file in it.
void in_folder(char path[4200], const char *name);
bool write_file(const char *name, const void *data, size_t size);

// Whether a name stays inside the folder it is put in.
bool is_inside(const char *name);

// These return exit codes.
int write_headers(struct job *job);
int write_stubs(const struct job *job);
int write_prelude(const struct job *job);

// includes.c: adds the files of -I folders that the text includes, and those
// that they include. False where some may be missing: the source is untrusted,
// -include names files, or a directive has no plain name.
bool includes_read(const struct job *job, struct text *seen);

// --- commands.c: the C++ compiler's ----------------------------------------

// Fills a command with the compiler and all flags but those that tell what to
// make.
void command_start(const struct job *job, struct list *command);

// The source as those words have it.
struct clang_source command_source(struct job *job, const struct list *words);

// What a compiler's end means; its diagnostics go to the log.
int command_judge(struct job *job, int status);

// Makes that of the source, as `kind` ("-c") says.
int command_compile(struct job *job, const char *kind, const char *output);

// Compiles once more what has compiled: the warnings of the first time suffice.
int command_compile_again(struct job *job, const char *kind,
                          const char *output);

// --- linker.c ---------------------------------------------------------------

// Makes the shared object of kernel.o, and refuses what it would ask of the
// process that loads it. Returns the exit code.
int linker_run(struct job *job);

// --- tiers.c ----------------------------------------------------------------

// The number of the one kernel that was asked for, or one that no kernel has.
unsigned tiers_find_kernel(const struct job *job);

// Takes what a child has said of the kernels. Whether the SIMT compiler has
// made an object.
bool tiers_read(struct job *job, struct text *said);
void tiers_forget(struct job *job);

// Notes what the source has of the prelude's names, each once.
void tiers_add_own(struct job *job, const char *own);

// Makes kernel.o: threads one by one, or vectors where they are wanted and
// possible.
int tiers_compile(struct job *job);

// For people and programs who asked what became of each kernel.
void tiers_report(struct job *job);

// Notes the SIMT compiler's flags of each kernel in the compiled unit, and the
// reason for those without lanes.
void tiers_note(struct job *job);

// --- dump.c: what the user wants to read ------------------------------------

// Prefix of the SIMT compiler's dump files in the private folder.
#define DUMP_IR_STEM "ir"

// Writes the assembly and the IR where they were asked for, once the object is
// linked. Returns the exit code.
int dump_write(struct job *job);

// --- diagnostics.c ----------------------------------------------------------

// Adds what the user should read of the compiler's output: nothing about
// generated text, and of errors not those that follow from others.
void diagnostics_filter(const char *errors, const struct job *job,
                        struct text *out);
