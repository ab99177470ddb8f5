// runnel-cc: what its parts share.
#pragma once

#include "generated.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simt/simt.h"

// Exit codes, also of the parts. README.md has the table.
enum cc_exit {
    CC_OK = 0,
    CC_NOT_COMPILED = 1,
    CC_USAGE = 2,
    CC_CRASHED = 4,
    CC_OPTION = 5,
    CC_FILE = 6,
    CC_LIMIT = 7,
};

// Part of the identity; changes whenever the same input gives another object.
#define CC_VERSION "5"

// --- text.c: strings that grow ---------------------------------------------

struct text {
    char *data;  // always zero-terminated; never NULL once something was added
    size_t size;
    size_t capacity;
};

// These end the program with CC_CRASHED when memory is short.
void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const void *bytes, size_t size);
void text_format(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// As a C string literal with its quotes.
void text_add_literal(struct text *text, const char *string);
void text_free(struct text *text);

struct list {
    char **items;  // ends with NULL once something was added
    size_t count;
};

void list_add(struct list *list, const char *string);
void list_format(struct list *list, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void list_free(struct list *list);

// Reads a file, or standard input for "-". False with errno set.
bool text_read_file(struct text *text, const char *path);
bool text_write_file(const char *path, const void *data, size_t size);

// --- The command line (main.c) ---------------------------------------------

struct cc_options {
    const char *output;
    const char *source;         // path or "-"
    const char *name;           // in diagnostics
    const char *dump_assembly;
    const char *dump_ir;        // prefix of paths
    bool untrusted;             // confine the compilers
    long parent;                // whose end is ours, or 0
    struct list options;        // as NVRTC takes them
    struct list headers;        // NAME=FILE
    struct list expressions;
};

extern const char cc_help[];  // help.c

// --- options.c: NVRTC's options, and Runnel's own --------------------------

// What they ask for. Strings that are not in lists belong to the command line.
struct choices {
    const char *standard;   // as the compiler's option
    const char *tier;       // "auto", "F", "B" or "B-or-F"
    const char *target;     // as -march= names it
    unsigned block_size[3]; // that gets code of its own; [0] 0: none
    const char *only;       // kernel that is made for that size alone, or NULL
    bool contract, flush, precise_division;
    bool approximate;       // functions of floats may be
    bool debug, line_info, report_tiers, no_warnings;
    bool default_device;
    struct list folders;    // of -I
    struct list includes;   // of -include
    struct list macros;     // "DX=1" and "UX", in their order
    struct list passed;     // for the compiler, as they are
};

// False with a sentence in `problem` for an option that cannot be. Sentences
// about those that have no effect go to `notes`.
bool choices_read(const struct list *words, struct choices *choices,
                  struct list *notes, struct text *problem);
void choices_free(struct choices *choices);

// --- flags.c: the same for a C++ compiler ----------------------------------

struct flags {
    struct list arguments;  // for compiler and preprocessor
    struct text defines;    // the user's -D and -U as directives
    struct list includes;   // the user's -include
};

// What the prelude predefines, and the user's choices. Relative directories are
// made absolute, because the compiler runs in the temporary folder. The user's
// macros must not reach into the prelude, so they become a file after it.
void flags_make(const struct choices *choices, struct flags *flags);

// "native", or what RUNNEL_CPU_TARGET says.
const char *compiler_target(void);

// --- identity.c ------------------------------------------------------------

// One line for cache keys.
void compiler_identity(struct text *line);

// --- process.c: child processes and the temporary folder -------------------

// The private folder, made at the first call; NULL with errno set. Removed at
// exit and on SIGTERM, SIGINT and SIGHUP.
const char *work_folder(void);
void work_folder_remove(void);
void process_catch_signals(void);

// From now on, SIGTERM comes when the parent ends; TMPDIR is its private folder
// and then goes, too. False if it has ended.
bool process_end_with(long parent);

// Ends the process if a signal asks for it.
void process_die_if_signalled(void);

// A child that calls a function in the private folder, confined where that was
// asked for.
struct process {
    int id;
    int output, errors;  // ends to read from
    int problem;         // errno, where it was not started
};

#define PROCESS_NONE {-1, -1, -1, 0}
enum { PROCESS_NOT_SET_UP = 127 };  // a child's exit code; its errors say why

// The function's result is the exit status. If no child can be made, finishing
// it tells. Two at a time.
void process_start(int (*function)(void *), void *argument,
                   struct process *process);
// Adds what the child says to `output` and `errors`, either may be NULL
// (dropped), until it says no more.
void process_listen(struct process *process, struct text *output,
                    struct text *errors);
// The same, and waits for the end. Returns the exit status, 128 + signal, or -1
// with errno set when there was no child.
int process_finish(struct process *process, struct text *output,
                   struct text *errors);
// All three.
int process_run(int (*function)(void *), void *argument, struct text *output,
                struct text *errors);

// --- tiers.c -----------------------------------------------------------------

// The verdict of the SIMT compiler on one kernel.
struct simt_verdict {
    char *why;       // it is left to tier F; NULL if not
    uint32_t flags;  // RNL_CPU_KERNEL_… that only its IR shows
};

// --- parts.c: what only some sources need of the prelude --------------------

// Adds the directives that ask for the parts which `source` mentions, or for
// all; they go before the prelude.
void parts_ask(const char *source, bool all, struct text *text);

// Adds the directives for the parts that headers of the standard library use.
void parts_ask_library(struct text *text);

// Whether errors of the compiler may come from a part that is not there.
bool parts_missed(const char *errors);

// The name and text of header number i, of those that bring a part with them
// or say that it is not there. False after the last.
bool parts_header(size_t i, struct text *name, struct text *text);

// Whether a header of that name in a folder of the user's goes before: those of
// the language do, CUDA's own, which a toolkit's folder has for GPUs, do not.
bool parts_give_way(const char *header);

// --- own.c: what a source declares although the prelude has it --------------

// Adds what lets the prelude give way to the functions, types and variables in
// `own`, each with its declaration, before and after the prelude.
void own_make_way(const struct list *own, struct text *before,
                  struct text *after);

// --- elf.c, link.c: what was compiled, and what linking needs ---------------

// What only the compiled object tells about one kernel.
struct elf_kernel {
    unsigned block_size[3];  // the only one it is for; [0] 0: all
    uint32_t flags;        // of its record
    bool has_threads;      // its record's functions
    bool has_blocks;
    uint32_t shared_size;
    const char *reason;    // why it has no lanes; NULL if it has
};

struct elf_unit {
    struct list dynamic;   // undefined thread-local symbols
    bool constructs;       // a loader would run code
    bool needs_libraries;  // some symbol is not in every process
    struct elf_kernel *kernels;
    size_t kernel_count;
    bool tells_thread;     // rnl_state.thread is right at every fault
};

// Reads a relocatable object. False if it is not one.
bool elf_read_unit(const struct text *file, struct elf_unit *unit);
void elf_unit_free(struct elf_unit *unit);

// Makes a relocatable object that defines `names`, all at one address, in
// thread-local memory.
void elf_write_stub(const struct list *names, struct text *file);

// Writes sizes, flags and symbols into the table of a linked object.
bool elf_patch(struct text *file, const struct elf_unit *unit);

// --- diagnostics.c ---------------------------------------------------------

// Bytes at the start of a path that name a folder which runnel-cc made up.
size_t diagnostics_folder(const char *path);

extern const char cc_prelude[];
extern const size_t cc_prelude_size;
extern const size_t cc_prelude_core_size;  // up to the #endif that ends it

// builtins.o: functions that compilers call themselves, such as __divti3.
extern const char cc_builtins[], cc_builtins_end[];
