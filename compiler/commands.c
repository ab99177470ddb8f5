// Running the C++ compiler.
#include "job.h"

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

int command_judge(struct job *job, int status)
{
    if (job->errors.data)
        diagnostics_filter(job->errors.data, job, &job->log);
    if (status == 0)
        return CC_OK;
    // clang reports its own crashes with 70 and the signal's number + 128.
    if (status < 0 || status >= 70) {
        text_format(&job->log, "runnel-cc: %s crashed (status %d)\n",
                    job->compiler.path, status);
        return CC_CRASHED;
    }
    return CC_NOT_COMPILED;
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
    if (status != 0 && status != 1) {
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
