// Room driver: the command line, and the steps from a source to an object.
#pragma once

#include "base/base.h"
#include "frontend/clang.h"
#include "object/object.h"
#include "source/source.h"

// Part of the identity. Change this number whenever the same input gives
// another object.
#define CC_VERSION "5"

// --- main.c: the command line ------------------------------------------------

struct cc_options {
    const char *output;
    const char *source;         // path or "-"
    const char *name;           // in diagnostics
    const char *dump_assembly;
    const char *dump_ir;        // prefix of paths
    const char *dump_after;  // the only pass of which there is a dump, or NULL
    struct list skipped;        // passes
    bool untrusted;             // compile in the sandbox
    long parent;                // process whose end ends this one, or 0
    struct list options;        // NVRTC's
    struct list headers;        // NAME=FILE
    struct list expressions;
};

extern const char cc_help[];  // help.c

// --- options.c: NVRTC's options, and Runnel's own ----------------------------

// Strings that are not in lists belong to the command line.
struct choices {
    const char *standard;   // as clang's option
    const char *tier;       // "auto", "F", "B" or "B-or-F"
    const char *target;     // as -march= names it
    unsigned block_size[3]; // that gets code of its own; [0] 0: none
    const char *only;       // kernel that is compiled for that size, or NULL
    bool contract, flush, precise_division;
    bool approximate;       // functions of floats may be
    bool debug, line_info, report_tiers, report_includes, no_warnings;
    bool default_device;
    struct list folders;    // of -I
    struct list includes;   // of -include
    struct list macros;     // "DX=1" and "UX", in their order
    struct list passed;     // to clang, as they are
};

// False with a sentence in `problem` for an option that is refused. Sentences
// about options without effect go to `notes`.
bool choices_read(const struct list *words, struct choices *choices,
                  struct list *notes, struct text *problem);
void choices_free(struct choices *choices);

// The processor: "native", or RUNNEL_CPU_TARGET.
const char *compiler_target(void);

// --- flags.c: the same choices for clang -------------------------------------

struct flags {
    struct list arguments;
    struct text defines;    // the user's -D and -U as directives
    struct list includes;   // the user's -include
};

// Adds predefined macros and the user's choices. Relative folders become
// absolute, since clang runs in the private folder. The user's macros must not
// reach into the prelude, so they become a file behind the prelude.
void flags_make(const struct choices *choices, struct flags *flags);

// --- identity.c --------------------------------------------------------------

// Adds one line for cache keys.
void compiler_identity(struct text *line);

// --- job.c: one compilation --------------------------------------------------

// The verdict of the SIMT compiler on one kernel.
struct simt_verdict {
    char *why;       // the kernel is left to tier F; NULL: it has lanes
    uint32_t flags;  // RNL_CPU_KERNEL_… that only its IR shows
};

struct job {
    const struct cc_options *options;
    struct choices choices;
    struct flags flags;
    struct text source;
    struct text log;       // diagnostics, filtered
    struct text errors;    // of the last clang, unfiltered
    char *file;            // the source's name inside the private folder
    struct elf_unit unit;
    bool all_sections;     // of the prelude
    struct list overrides; // names of the prelude that the source defines
    struct list kernels;   // names, in the order of the table
    struct simt_verdict *verdicts;  // one per kernel
    struct process worker; // the SIMT compiler's child
    bool vectorised;       // the SIMT compiler made the object
    struct text no_vectors; // the reason if it did not
};

// Compiles a source. Returns the exit code.
int job_run(const struct cc_options *options);

// --- files.c: files of a compilation; exit codes -----------------------------

int write_headers(struct job *job);
int write_stubs(const struct job *job);
int write_prelude(const struct job *job);

// --- includes.c: files that the source includes ------------------------------

// Has clang note them, if `--report-includes` asks for that.
void includes_words(const struct job *job, struct list *command);

// Adds a line for each to the log: "k.cu: remark: includes '/folder/x.h'".
void includes_report(struct job *job);

// --- run_clang.c -------------------------------------------------------------

// Fills a command with clang and all flags but those of the kind of output.
void clang_words(const struct job *job, struct list *command);

// The source for such a command.
struct clang_source clang_source_of(struct job *job, const struct list *words);

// The exit code for a child's status; the child's diagnostics go to the log.
int clang_result(struct job *job, int status);

// Compiles the source to `kind` ("-c").
int clang_run(struct job *job, const char *kind, const char *output);

// Compiles once more, without a second set of warnings.
int clang_run_again(struct job *job, const char *kind, const char *output);

// --- linker.c ----------------------------------------------------------------

// Links kernel.o, and refuses undefined symbols that a process does not give to
// kernels. Returns the exit code. builtins.o has functions that compilers call
// themselves, such as __divti3.
int linker_run(struct job *job);

// --- verdicts.c --------------------------------------------------------------

// Reads a child's lines about kernels. True if the SIMT compiler has made an
// object.
bool verdicts_read(struct job *job, struct text *said);
void verdicts_forget(struct job *job);

// Notes a name of the prelude that the source defines, once.
void overrides_add(struct job *job, const char *name);

// --- tiers.c -----------------------------------------------------------------

// The number of the only kernel to compile, or a number that no kernel has.
unsigned tiers_find_kernel(const struct job *job);

// Makes kernel.o, with lanes where they are wanted and possible.
int tiers_compile(struct job *job);

// Adds the tier of each kernel to the log.
void tiers_report(struct job *job);

// Copies the SIMT compiler's flags and reasons into the compiled unit.
void tiers_note(struct job *job);

// --- passes.c: passes of the SIMT compiler, by name --------------------------

// Prints the table of passes. Returns the exit code.
int passes_print(void);
// Refuses names of passes that are unknown, or needed and skipped. Returns the
// exit code.
int passes_check(const struct cc_options *options);

// --- dump.c ------------------------------------------------------------------

// Prefix of the SIMT compiler's dump files in the private folder.
#define DUMP_IR_STEM "ir"

// Writes assembly and IR for the user, after linking. Returns the exit code.
int dump_write(struct job *job);
