// Running clang, each time in a child.

#include "driver/driver.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

void clang_words(const struct job *job, struct list *command)
{
    list_add(command, "runnel-cc");
    for (size_t i = 0; i < job->flags.arguments.count; i++)
        list_add(command, job->flags.arguments.items[i]);
    includes_words(job, command);
    list_add(command, "-x");
    list_add(command, "c++");
    list_add(command, "-include");
    list_add(command, CC_PRELUDE_FILE);
    list_add(command, "-include");
    list_add(command, CC_DEFINES_FILE);
    for (size_t i = 0; i < job->flags.includes.count; i++) {
        list_add(command, "-include");
        list_add(command, job->flags.includes.items[i]);
    }
}

struct clang_source clang_source_of(struct job *job, const struct list *words)
{
    const struct cc_options *options = job->options;
    return (struct clang_source){
        .words = (const char *const *)words->items, .count = words->count,
        .expressions = (const char *const *)options->expressions.items,
        .expression_count = options->expressions.count,
        .default_device = job->choices.default_device,
        .may_include = options->untrusted ? sandbox_may_include : NULL,
        .user = &job->flags.arguments,
    };
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

int clang_result(struct job *job, int status)
{
    if (status < 0)
        return refuse_start(job);
    if (status == PROCESS_NOT_SET_UP)
        return refuse_set_up(job);
    if (job->errors.data)
        diagnostics_filter(job->errors.data,
                           &(struct diagnosed){job->options->name, &job->source,
                                               job->choices.no_warnings},
                           &job->log);
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
    return clang_compile(argument);
}

int clang_run(struct job *job, const char *kind, const char *output)
{
    struct list words = {0};
    struct text said = {0};
    clang_words(job, &words);
    list_add(&words, kind);
    list_add(&words, job->file);
    list_add(&words, "-o");
    list_add(&words, output);
    struct clang_source source = clang_source_of(job, &words);
    text_free(&job->errors);
    int status = process_run(call_clang, &source, &said, &job->errors);
    verdicts_read(job, &said);
    text_free(&said);
    list_free(&words);
    return clang_result(job, status);
}

int clang_run_again(struct job *job, const char *kind,
                          const char *output)
{
    struct text log = job->log;
    job->log = (struct text){0};
    int status = clang_run(job, kind, output);
    if (status != CC_OK)
        return text_free(&log), status;
    text_free(&job->log);
    job->log = log;
    return CC_OK;
}
