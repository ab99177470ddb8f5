// Running a kernel compiler, a program of its own.
#include "core/module/compiler_process.h"

#include "base/clock.h"
#include "base/file.h"
#include "core/backend.h"
#include "core/tuning.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// Exit codes of runnel-cc and runnel-hip-cc.
enum {
    CODE_OK = 0,
    CODE_NOT_COMPILED = 1,
    CODE_USAGE = 2,
    CODE_OPTION = 5,
    CODE_FILE = 6,
    CODE_LIMIT = 7,
    CODE_LIBRARY = 8,
};

// --- The private folder ----------------------------------------------------

rnl_status compiler_fail_file(const char *what, const char *path, int error)
{
    fail(error == ENOMEM ? RNL_ERROR_OUT_OF_MEMORY : RNL_ERROR_IO,
         "%s %s failed: %s", what, path, strerror(error));
    fail_set_native(error, strerror(error));
    return error == ENOMEM ? RNL_ERROR_OUT_OF_MEMORY : RNL_ERROR_IO;
}

rnl_status compiler_begin(struct compiler_job *job)
{
    // The path leaves room for names of files.
    int error = scratch_make(&job->folder, 32);
    return error ? compiler_fail_file("making the directory", job->folder.path,
                                      error)
                 : RNL_OK;
}

void compiler_end(struct compiler_job *job)
{
    scratch_remove(&job->folder);
}

void compiler_free(struct compiler_job *job)
{
    text_finish(&job->result.output);
    text_finish(&job->words);
    mem_release(job, sizeof *job);
}

static rnl_status put_file(const char *path, const char *text)
{
    int error = file_write_path(path, text, strlen(text));
    return error ? compiler_fail_file("writing", path, error) : RNL_OK;
}

const char *compiler_file(struct compiler_job *job, const char *name)
{
    snprintf(job->path, sizeof job->path, "%s/%s", job->folder.path, name);
    return job->path;
}

// --- The command line ------------------------------------------------------

void compiler_word(struct compiler_job *job, const char *word)
{
    text_add_bytes(&job->words, word, strlen(word) + 1);
    job->word_count++;
}

void compiler_pair(struct compiler_job *job, const char *option,
                   const char *value)
{
    compiler_word(job, option);
    compiler_word(job, value);
}

// Headers are files of a folder for the compiler, passed as NAME=PATH.
static bool is_file_inside(const char *name)
{
    size_t size = strlen(name);
    if (size > 1000 || name[0] == '/' || name[size - 1] == '/' ||
        strstr(name, "=/"))
        return false;
    for (const char *part = name; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == 0))
            return false;
    }
    return true;
}

static rnl_status add_header(struct compiler_job *job, const rnl_header *header,
                             size_t index)
{
    struct text word = {0};
    if (!is_file_inside(header->name))
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "options.headers",
                       "a header cannot be called '%s'", header->name);
    text_add(&word, "%s=%s/header-%zu", header->name, job->folder.path, index);
    rnl_status status = RNL_OK;
    if (!word.failed) {
        status = put_file(word.data + strlen(header->name) + 1, header->source);
        compiler_pair(job, "--header", word.data);
    }
    job->words.failed |= word.failed;
    text_finish(&word);
    return status;
}

static void add_options(struct compiler_job *job)
{
    const rnl_module_options *options = job->source->options;
    for (size_t i = 0; i < options->option_count; i++)
        compiler_pair(job, "--option", options->options[i]);
    for (size_t i = 0; i < options->name_expression_count; i++)
        compiler_pair(job, "--name-expression", options->name_expressions[i]);
    // The compiler ends when this process is killed, and removes the folder.
    char parent[24];
    snprintf(parent, sizeof parent, "%ld", (long)getpid());
    compiler_pair(job, "--parent", parent);
}

rnl_status compiler_source(struct compiler_job *job)
{
    const rnl_module_options *options = job->source->options;
    compiler_word(job, job->program);
    compiler_pair(job, "--output", compiler_file(job, "object"));
    compiler_pair(job, "--source", compiler_file(job, "source"));
    compiler_pair(job, "--name", options->name);
    rnl_status status = put_file(job->path, job->source->text);
    for (size_t i = 0; status == RNL_OK && i < options->header_count; i++)
        status = add_header(job, &options->headers[i], i);
    add_options(job);
    return status;
}

// --- Running ---------------------------------------------------------------

static char **make_arguments(const struct compiler_job *job)
{
    char **arguments = mem_allocate((job->word_count + 1) * sizeof(char *));
    char *word = job->words.data;
    if (!arguments || job->words.failed) {
        mem_release(arguments, (job->word_count + 1) * sizeof(char *));
        return NULL;
    }
    for (size_t i = 0; i < job->word_count; i++) {
        arguments[i] = word;
        word += strlen(word) + 1;
    }
    return arguments;
}

static rnl_status run(struct compiler_job *job, uint64_t timeout_ns)
{
    char **arguments = make_arguments(job);
    if (!arguments)
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory for the compiler's command line");
    uint64_t deadline = clock_deadline(timeout_ns);
    int error = spawn_run(arguments, job->folder.path, deadline, job->stop,
                          &job->result);
    mem_release(arguments, (job->word_count + 1) * sizeof(char *));
    if (!error)
        return RNL_OK;
    rnl_status status =
        error == ENOMEM || error == EAGAIN   ? RNL_ERROR_OUT_OF_MEMORY
        : error == EMFILE || error == ENFILE ? RNL_ERROR_IO
                                             : RNL_ERROR_COMPILER_UNAVAILABLE;
    fail(status, "the kernel compiler %s cannot be started: %s", job->program,
         strerror(error));
    fail_set_native(error, strerror(error));
    return status;
}

// --- What came of it -------------------------------------------------------

rnl_status compiler_refuse(const struct compiler_job *job, rnl_status status,
                           const char *what)
{
    return fail_compiler(status, what, text_get(&job->result.output));
}

// Half a complaint is worse than none: it may name the wrong place.
static rnl_status check_output(const struct compiler_job *job)
{
    if (job->result.output.failed)
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory for what the compiler says");
    if (job->result.read_error)
        return compiler_fail_file("reading the output of", job->program,
                                  job->result.read_error);
    return RNL_OK;
}

rnl_status compiler_refuse_crash(const struct compiler_job *job,
                                 const char *what)
{
    struct text text = {0};
    text_add(&text, "the kernel compiler %s %s", job->program, what);
    rnl_status status =
        compiler_refuse(job, RNL_ERROR_COMPILER_CRASHED, text_get(&text));
    text_finish(&text);
    return status;
}

static rnl_status judge_exit(const struct compiler_job *job)
{
    char what[64];
    switch (job->result.code) {
    case CODE_OK:
        return RNL_OK;
    case CODE_NOT_COMPILED:
        return compiler_refuse(job, RNL_ERROR_COMPILE_FAILED,
                               "the kernel source does not compile");
    case CODE_OPTION:
        return compiler_refuse(job, RNL_ERROR_INVALID_ARGUMENT,
                               "a compiler option is wrong");
    case CODE_FILE:
        return compiler_refuse(job, RNL_ERROR_IO,
                               "the kernel compiler cannot use a file");
    case CODE_LIMIT:
        return compiler_refuse(
            job, RNL_ERROR_COMPILER_UNAVAILABLE,
            "a limit of the system keeps the kernel compiler from "
            "running");
    case CODE_LIBRARY:
        return compiler_refuse(job, RNL_ERROR_COMPILER_UNAVAILABLE,
                               "the kernel compiler cannot use a library");
    case CODE_USAGE:
        return compiler_refuse_crash(job,
                                     "did not understand what it was asked");
    default:
        snprintf(what, sizeof what, "failed with exit code %d",
                 job->result.code);
        return compiler_refuse_crash(job, what);
    }
}

rnl_status compiler_judge(const struct compiler_job *job)
{
    char what[96];
    switch (job->result.end) {
    case SPAWN_EXITED:
        return judge_exit(job);
    case SPAWN_SIGNALLED:
        snprintf(what, sizeof what, "was killed by signal %d (%s)",
                 job->result.code, strsignal(job->result.code));
        return compiler_refuse_crash(job, what);
    case SPAWN_TIMED_OUT:
        snprintf(what, sizeof what, "was stopped at the time limit of %.1f s",
                 (double)job->source->options->timeout_ns * 1e-9);
        return compiler_refuse_crash(job, what);
    default:
        return RNL_OK;  // the object, or its absence, will tell
    }
}

rnl_status compiler_run(struct compiler_job *job, uint64_t timeout_ns)
{
    rnl_status status = run(job, timeout_ns);
    return status == RNL_OK ? check_output(job) : status;
}

rnl_status compiler_object(struct compiler_job *job, void **out_data,
                           size_t *out_size)
{
    const char *path = compiler_file(job, "object");
    int error = file_read_path(path, COMPILER_OBJECT_MAX, out_data, out_size);
    if (error == ENOMEM)
        return compiler_fail_file("reading", path, error);
    if (error == ENOENT && job->result.end == SPAWN_REAPED &&
        job->result.output.length > 0)
        return compiler_refuse(job, RNL_ERROR_COMPILE_FAILED,
                               "the kernel source does not compile");
    return error ? compiler_refuse_crash(job, "wrote no object") : RNL_OK;
}
