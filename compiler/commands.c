// Running the C++ compiler.
#include "job.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

void command_start(const struct job *job, struct list *command,
                   bool with_prelude)
{
    list_add(command, job->compiler.path);
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

// A process, or a file for what it says, could not be had. `status` is that of
// process_run.
static int refuse_start(struct job *job, int status)
{
    int problem = errno;
    if (status == PROCESS_NO_PROGRAM) {
        text_format(&job->log, "runnel-cc: cannot run %s",
                    job->errors.data ? job->errors.data : "a program\n");
        return CC_LIMIT;
    }
    text_format(&job->log, "runnel-cc: cannot start %s: %s%s\n",
                job->compiler.path, strerror(problem),
                problem == EMFILE || problem == ENFILE
                    ? "; raise the limit of open files (ulimit -n)"
                : problem == EAGAIN
                    ? "; raise the limit of processes (ulimit -u)" : "");
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
    if (status < 0 || status == PROCESS_NO_PROGRAM)
        return refuse_start(job, status);
    if (job->errors.data)
        diagnostics_filter(job->errors.data, job, &job->log);
    if (status == 0)
        return CC_OK;
    // clang reports its own crashes with 70 and the signal's number + 128.
    if (status >= 70 && job->options->untrusted)
        return refuse_hunger(job, status);
    if (status >= 70) {
        text_format(&job->log, "runnel-cc: %s crashed (status %d%s)\n",
                    job->compiler.path, status,
                    status == 128 + SIGXCPU ? ", its limit of processor time"
                                            : "");
        return CC_CRASHED;
    }
    return CC_NOT_COMPILED;
}

bool command_declined(const struct job *job, int status)
{
    return status == SIMT_CLANG_DECLINES || status < 0 ||
           (!job->options->untrusted && status != 0 && status != 1);
}

// The same by runnel-clang. Whatever that does not know it has not said.
static int run_quickly(struct job *job, const struct list *command,
                       struct text *output)
{
    struct list quick = {0};
    list_add(&quick, job->quick);
    list_add(&quick, "--");
    for (size_t i = 0; i < command->count; i++)
        list_add(&quick, command->items[i]);
    struct text said = {0};
    int status = process_run(&quick, work_folder(), &said, &job->errors);
    if (status == 0 && output && said.data)
        text_add_bytes(output, said.data, said.size);
    text_free(&said);
    list_free(&quick);
    return status;
}

int command_run(struct job *job, struct list *command, struct text *output)
{
    int status = SIMT_CLANG_DECLINES;
    text_free(&job->errors);
    if (job->quick[0])
        status = run_quickly(job, command, output);
    if (command_declined(job, status)) {
        text_free(&job->errors);
        status = process_run(command, work_folder(), output, &job->errors);
    }
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
