// Sentences for people on standard error, and what the exit code is then.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const char *current_command;

void complain_as(const char *command)
{
    current_command = command;
}

static void start_line(void)
{
    // Earlier output must not come out after the complaint.
    fflush(stdout);
    fputs("runnel", stderr);
    if (current_command)
        fprintf(stderr, " %s", current_command);
    fputs(": ", stderr);
}

int complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    start_line();
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return EXIT_USAGE;
}

int complain_usage(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    start_line();
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\nTry 'runnel help%s%s'.\n", current_command ? " " : "",
            current_command ? current_command : "");
    va_end(arguments);
    return EXIT_USAGE;
}

// Whether a failure means that something wrong was asked for.
static int exit_code(rnl_status status)
{
    switch (status) {
    case RNL_ERROR_INVALID_ARGUMENT:
    case RNL_ERROR_OUT_OF_RANGE:
    case RNL_ERROR_NOT_FOUND:
    case RNL_ERROR_NO_DEVICE:
    case RNL_ERROR_ARGUMENT_MISMATCH:
        return EXIT_USAGE;
    default:
        return EXIT_FAILED;
    }
}

void write_log(FILE *file, const char *log)
{
    if (!log || !log[0])
        return;
    fputs(log, file);
    if (log[strlen(log) - 1] != '\n')
        fputc('\n', file);
}

int complain_failure(rnl_status status)
{
    const rnl_error *error = rnl_last_error();
    fflush(stdout);
    write_log(stderr, error->log);
    // Not every status comes with details of its own, RNL_NOT_READY does not.
    bool known = error->status == status && error->message[0];
    complain("%s", known ? error->message : rnl_status_text(status));
    if (known && error->native_text && error->native_text[0] &&
        !strstr(error->message, error->native_text))
        fprintf(stderr, "  %s\n", error->native_text);
    return exit_code(status);
}
