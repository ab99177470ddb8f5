// Running clang, each time in a child.
#include "clang/clang.h"
#include "job.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

void command_start(const struct job *job, struct list *command,
                   bool with_prelude)
{
    list_add(command, "runnel-cc");
    for (size_t i = 0; i < job->flags.arguments.count; i++)
        list_add(command, job->flags.arguments.items[i]);
    list_add(command, "-x");
    list_add(command, "c++");
    if (with_prelude) {
        list_add(command, "-include");
        list_add(command, CC_PRELUDE_FILE);
    }
    list_add(command, "-include");
    list_add(command, CC_DEFINES_FILE);
    for (size_t i = 0; i < job->flags.includes.count; i++) {
        list_add(command, "-include");
        list_add(command, job->flags.includes.items[i]);
    }
}

// No child could be made.
static int refuse_start(struct job *job)
{
    int problem = errno;
    text_format(&job->log, "runnel-cc: cannot start a process: %s%s\n",
                strerror(problem),
                problem == EMFILE || problem == ENFILE
                    ? "; raise the limit of open files (ulimit -n)"
                : problem == EAGAIN
                    ? "; raise the limit of processes (ulimit -u)" : "");
    return CC_LIMIT;
}

// The child could not enter the private folder, or could not be confined.
static int refuse_set_up(struct job *job)
{
    text_format(&job->log, "runnel-cc: cannot set up a process: %s\n",
                job->errors.data ? job->errors.data : "");
    text_free(&job->errors);
    return CC_LIMIT;
}

// A compiler that was killed by its limits: an error of the untrusted source.
static int refuse_hunger(struct job *job, int status)
{
    const struct limits *limits = &untrusted_limits;
    text_free(&job->errors);
    text_format(&job->log, "%s: error: the compiler was stopped (status %d): "
                "untrusted source gets %u s of processor time and %u MiB of "
                "memory\n", job->options->name, status,
                (unsigned)limits->seconds, (unsigned)(limits->memory >> 20));
    return CC_NOT_COMPILED;
}

int command_judge(struct job *job, int status)
{
    if (status < 0)
        return refuse_start(job);
    if (status == PROCESS_NOT_SET_UP)
        return refuse_set_up(job);
    if (job->errors.data)
        diagnostics_filter(job->errors.data, job, &job->log);
    if (status == 0)
        return CC_OK;
    if (status >= CLANG_CRASHED && job->options->untrusted)
        return refuse_hunger(job, status);
    if (status >= CLANG_CRASHED) {
        text_format(&job->log, "runnel-cc: clang crashed (status %d%s)\n",
                    status,
                    status == 128 + SIGXCPU ? ", its limit of processor time"
                                            : "");
        return CC_CRASHED;
    }
    return CC_NOT_COMPILED;
}

static int call_clang(void *argument)
{
    const struct list *command = argument;
    return clang_compile((const char *const *)command->items, command->count);
}

int command_run(struct job *job, struct list *command, struct text *output)
{
    text_free(&job->errors);
    int status = process_run(call_clang, command, output, &job->errors);
    list_free(command);
    return command_judge(job, status);
}

int command_compile(struct job *job, const char *kind, const char *output)
{
    struct list command = {0};
    command_start(job, &command, true);
    list_add(&command, kind);
    list_add(&command, job->file);
    list_add(&command, "-o");
    list_add(&command, output);
    return command_run(job, &command, NULL);
}

int command_compile_again(struct job *job, const char *kind,
                          const char *output)
{
    struct text log = job->log;
    job->log = (struct text){0};
    int status = command_compile(job, kind, output);
    if (status != CC_OK)
        return text_free(&log), status;
    text_free(&job->log);
    job->log = log;
    return CC_OK;
}
