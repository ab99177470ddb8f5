// Room base: texts, child processes, the private folder, and the sandbox.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Exit codes of runnel-cc, and results of many functions. README.md has the
// table.
enum cc_exit {
    CC_OK = 0,
    CC_NOT_COMPILED = 1,
    CC_USAGE = 2,
    CC_CRASHED = 4,
    CC_OPTION = 5,
    CC_FILE = 6,
    CC_LIMIT = 7,
    CC_LIBRARY = 8,  // runnel-hip-cc only
};

// --- text.c: strings and lists that grow -------------------------------------

struct text {
    char *data;  // zero-terminated; never NULL after the first addition
    size_t size;
    size_t capacity;
};

// A lack of memory ends the program with CC_CRASHED.
void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const void *bytes, size_t size);
void text_format(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Adds a C string literal with its quotes.
void text_add_literal(struct text *text, const char *string);
// Shortens a text to `size` bytes; a shorter one stays.
void text_cut(struct text *text, size_t size);
void text_free(struct text *text);

struct list {
    char **items;  // ends with NULL after the first addition
    size_t count;
};

void list_add(struct list *list, const char *string);
void list_format(struct list *list, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void list_free(struct list *list);

// Reads a file, or standard input for "-". False with errno set.
bool text_read_file(struct text *text, const char *path);
bool text_write_file(const char *path, const void *data, size_t size);

// --- option.c: one of the user's options -------------------------------------

struct option_rule;

struct option_value {
    const struct option_rule *rule;
    size_t row;         // the rule's in option_table.h
    const char *value;  // NULL where the option has none
    bool on;            // of a switch
};

// Reads the option at `*i`, and moves `*i` to its value if that is the next
// word. False, with a problem, for an unknown option or a wrong value.
bool option_read(const struct list *words, size_t *i,
                 struct option_value *out_read, struct text *problem);

// --- report.c ----------------------------------------------------------------

// The program's name in reports.
extern const char *report_program;
// Prints an error of the command line; returns the exit code.
int report(int code, const char *format, const char *argument);
// Prints an error of a file, after errno; returns CC_FILE.
int report_file(const char *action, const char *path);

// --- process.c: child processes ----------------------------------------------

void process_catch_signals(void);

// Ends this process by SIGTERM when the parent ends. TMPDIR is the parent's
// private folder, which is then removed as well. False if the parent has ended.
bool process_end_with(long parent);

// Ends the process if a signal asks for that.
void process_die_if_signalled(void);

// A child that calls a function inside the private folder and the sandbox.
struct process {
    int id;
    int output, errors;  // pipes to read from
    int problem;         // errno of a failed start
};

#define PROCESS_NONE {-1, -1, -1, 0}
enum { PROCESS_NOT_SET_UP = 127 };  // a child's exit code; its errors say why

// The function's result is the exit status. A failed start is reported by
// process_finish. At most two children at a time.
void process_start(int (*function)(void *), void *argument,
                   struct process *process);
// Adds the child's output to `output` and `errors` (NULL: dropped) until both
// pipes are closed.
void process_listen(struct process *process, struct text *output,
                    struct text *errors);
// Listens and waits for the end. Returns the exit status, 128 + signal, or -1
// with errno set if there was no child.
int process_finish(struct process *process, struct text *output,
                   struct text *errors);
// Starts, listens and finishes.
int process_run(int (*function)(void *), void *argument, struct text *output,
                struct text *errors);

// --- work_folder.c: the private folder and its files -------------------------

// The private folder, made at the first call; NULL with errno set. The folder
// is removed at exit and on SIGTERM, SIGINT and SIGHUP.
const char *work_folder(void);
void work_folder_remove(void);

// Removes a folder and all that is in it.
void folder_remove(const char *path);

// The path of a file in the private folder.
void in_folder(char path[4200], const char *name);
bool write_file(const char *name, const void *data, size_t size);

// True if a relative name stays inside its folder.
bool is_inside(const char *name);

// --- sandbox.c: limits and Landlock ------------------------------------------

struct limits {
    uint64_t memory;   // bytes of address space, of each process
    uint64_t seconds;  // of processor time, of each process
    uint64_t file;     // bytes of each file
    size_t log;        // bytes of all diagnostics
};

extern const struct limits trusted_limits, untrusted_limits;

// Limits this process and all its children. The stack may grow, where allowed.
void sandbox_limit(const struct limits *limits);

// False if the stack's hard limit is too small for a compiler.
bool sandbox_has_stack(void);

// Children from now on see only the private folder and the -I folders of a
// compiler's arguments, and gain no privileges. False without Landlock: other
// files stay visible.
bool sandbox_prepare(const struct list *arguments);

// In a child: enters the sandbox.
bool sandbox_enter(void);

// True if an untrusted source may include a file, by its path in the private
// folder. `user` is the list of a compiler's arguments.
bool sandbox_may_include(void *user, const char *path);
