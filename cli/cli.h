// The common part of the commands of the `runnel` program.
#pragma once

#include <stdio.h>

#include <runnel/runnel.h>

// Exit codes, as documented by `runnel help`.
enum {
    EXIT_OK = 0,
    EXIT_FAILED = 1,  // the work failed: a device, a compiler, a kernel
    EXIT_USAGE = 2,   // the command line or an input cannot be right
};

// The commands. `argv[0]` is the command's own name.
int command_info(int argc, char **argv);
int command_check(int argc, char **argv);
int command_compile(int argc, char **argv);
int command_run(int argc, char **argv);
int command_cache(int argc, char **argv);
int command_help(int argc, char **argv);

// Prints the manual page of a command, or of the program for NULL.
int help_print(const char *command);

// Names the command in all later complaints: "runnel run: …".
void complain_as(const char *command);

// Prints one sentence on standard error; returns EXIT_USAGE.
__attribute__((format(printf, 1, 2)))
int complain(const char *format, ...);

// The same for a command line, with a line that points to the help.
__attribute__((format(printf, 1, 2)))
int complain_usage(const char *format, ...);

// Prints the details of the failure that a Runnel call on this thread just
// returned, the compiler's output first; returns the exit code for it.
int complain_failure(rnl_status status);

// Writes what a compiler said, which may be NULL or "", as it is: its carets
// point at columns.
void write_log(FILE *file, const char *log);

struct option;

// getopt_long with this program's sentences: the next option, -1 after the
// last, '?' after a complaint.
int next_option(int argc, char **argv, const char *letters,
                const struct option *options);

// Opens `name`, such as "cuda:0", or the best device for NULL; returns an exit
// code, after a complaint if it is not EXIT_OK.
int open_device(const char *name, rnl_context *out_context);

// Shows the kernel compiler of the cpu: its version, the tier that it gives a
// small kernel, and where compiled kernels are kept. For people if `json` is
// NULL. An exit code.
struct json;
int info_compiler(struct json *json);

// Writes the name of a device, "cpu:0".
void device_name(const rnl_device_info *info, char *text, size_t size);
