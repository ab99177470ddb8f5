// From a source to an object.

#include "driver/driver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// The source, with the table of its kernels behind it.
static int write_source(struct job *job)
{
    // The file has the user's name where that can be, and a #line otherwise:
    // the compiler takes '-' for the start of an option and '@' for a file of
    // options.
    const char *name = job->options->name;
    struct text text = {0};
    if (is_inside(name) && strncmp(name, "rnl-", 4) != 0 && name[0] != '-' &&
        name[0] != '@') {
        free(job->file);
        job->file = strdup(name);
    } else {
        free(job->file);
        job->file = strdup("rnl-source.cu");
        text_add(&text, "#line 1 ");
        text_add_literal(&text, name);
        text_add(&text, "\n");
    }
    text_add_bytes(&text, job->source.data, job->source.size);
    text_format(&text, "\n#line 1 \"" CC_TABLE_FILE "\"\n%s", clang_pragmas);
    bool written = job->file && write_file(job->file, text.data, text.size);
    text_free(&text);
    return written ? CC_OK : report_file("write", "the source");
}

// Changes the prelude if that may fix the errors of the source: missing names,
// and names that the source defines itself.
static bool adapt_prelude(struct job *job, size_t owned)
{
    // clang drops enumerators that are there twice.
    if (strstr(job->errors.data, "redefinition of 'warpSize'") && owned == 0)
        overrides_add(job, "warpSize -");
    bool sections =
        !job->all_sections && prelude_is_incomplete(job->errors.data);
    job->all_sections |= sections;
    return sections || job->overrides.count > owned;
}

// Where all sections do not help, the first errors are the better ones.
static int compile_kernels(struct job *job)
{
    const size_t before = job->log.size;
    struct text first = {0};
    size_t owned = 0;
    int status = tiers_compile(job);
    while (status == CC_NOT_COMPILED && job->errors.data &&
           adapt_prelude(job, owned)) {
        owned = job->overrides.count;
        if (!first.data)
            text_add(&first, job->log.data ? job->log.data + before : "");
        text_free(&job->no_vectors);
        text_cut(&job->log, before);
        status = write_prelude(job);
        if (status == CC_OK)
            status = tiers_compile(job);
    }
    if (first.data && status == CC_NOT_COMPILED && job->errors.data &&
        prelude_is_incomplete(job->errors.data)) {
        text_cut(&job->log, before);
        text_add(&job->log, first.data);
    }
    text_free(&first);
    return status;
}

static int read_unit(struct job *job)
{
    char path[4200];
    struct text file = {0}, stub = {0};
    in_folder(path, "kernel.o");
    bool read = text_read_file(&file, path) && elf_read_unit(&file, &job->unit);
    text_free(&file);
    if (read && job->choices.only)
        memcpy(job->unit.kernels[tiers_find_kernel(job)].block_size,
               job->choices.block_size, sizeof job->choices.block_size);
    if (!read) {
        text_add(&job->log, "runnel-cc: the compiler's object file cannot be "
                            "understood\n");
        return CC_CRASHED;
    }
    if (job->unit.constructs) {
        text_format(&job->log, "%s: error: dynamic initialization is not "
                    "supported by Runnel on the CPU\n", job->options->name);
        return CC_NOT_COMPILED;
    }
    tiers_note(job);
    job->unit.tells_thread = job->choices.debug;
    elf_write_stub(&job->unit.dynamic, &stub);
    bool written = write_file("stub.o", stub.data, stub.size);
    text_free(&stub);
    return written ? CC_OK : report_file("write", "a temporary file");
}

// Writes a file completely or not at all. A special file, like /dev/null, is
// written in place.
static bool put(const char *output, const struct text *file)
{
    struct stat there;
    struct text beside = {0};
    if (stat(output, &there) == 0 && !S_ISREG(there.st_mode))
        return text_write_file(output, file->data, file->size);
    text_format(&beside, "%s.%ld.tmp", output, (long)getpid());
    bool done = text_write_file(beside.data, file->data, file->size) &&
                rename(beside.data, output) == 0;
    int error = errno;
    if (!done)
        unlink(beside.data);
    errno = error;
    text_free(&beside);
    return done;
}

// Completes the linked object and moves it to its place.
static int deliver(struct job *job)
{
    char path[4200];
    struct text file = {0};
    in_folder(path, SIMT_LINKED);
    if (!text_read_file(&file, path) || !elf_patch(&file, &job->unit)) {
        text_add(&job->log, "runnel-cc: the linked object cannot be "
                            "understood\n");
        text_free(&file);
        return CC_CRASHED;
    }
    const char *output = job->options->output;
    int status = put(output, &file) ? CC_OK : report_file("write", output);
    text_free(&file);
    return status;
}

static void confine(struct job *job)
{
    if (job->options->untrusted && !sandbox_prepare(&job->flags.arguments))
        text_format(&job->log, "%s: note: this kernel has no Landlock: the "
                    "compiler is limited, but not kept from other files\n",
                    job->options->name);
}

static void print_log(const struct job *job)
{
    size_t most = (job->options->untrusted ? untrusted_limits
                                           : trusted_limits).log;
    if (!job->log.data)
        return;
    if (job->log.size > most)
        fprintf(stderr, "%.*s\nrunnel-cc: the rest of %zu bytes is left out\n",
                (int)most, job->log.data, job->log.size);
    else
        fputs(job->log.data, stderr);
}

static int run_job(struct job *job)
{
    int status;
    flags_make(&job->choices, &job->flags);
    confine(job);
    if ((status = write_headers(job)) || (status = write_stubs(job)) ||
        (status = write_source(job)))
        return status;
    if (!write_file(CC_DEFINES_FILE, job->flags.defines.data,
                    job->flags.defines.size))
        return report_file("write", "a temporary file");
    if (job->options->untrusted &&
        !embeds_check(job->options->name, job->source.data, &job->log))
        return CC_NOT_COMPILED;
    if ((status = write_prelude(job)) || (status = compile_kernels(job)) ||
        (status = read_unit(job)) || (status = linker_run(job)))
        return status;
    status = dump_write(job);
    if (job->choices.report_tiers)
        tiers_report(job);
    if (job->choices.report_includes)
        includes_report(job);
    return status ? status : deliver(job);
}

static int read_choices(struct job *job)
{
    struct list notes = {0};
    struct text problem = {0};
    const char *name = job->options->name;
    bool read = choices_read(&job->options->options, &job->choices, &notes,
                             &problem);
    if (!read)
        text_format(&job->log, "%s: error: %s\n", name, problem.data);
    for (size_t i = 0; i < notes.count && !job->choices.no_warnings; i++)
        text_format(&job->log, "%s: note: %s\n", name, notes.items[i]);
    list_free(&notes);
    text_free(&problem);
    return read ? CC_OK : CC_OPTION;
}

int job_run(const struct cc_options *options)
{
    struct job job = {.options = options, .worker = PROCESS_NONE};
    int status = read_choices(&job);
    if (status == CC_OK && !text_read_file(&job.source, options->source))
        status = report_file("read", options->source);
    if (status == CC_OK && !work_folder())
        status = report_file("make a folder in", "TMPDIR");
    if (status == CC_OK)
        status = run_job(&job);
    print_log(&job);
    process_finish(&job.worker, NULL, NULL);
    process_die_if_signalled();
    work_folder_remove();
    choices_free(&job.choices);
    text_free(&job.no_vectors);
    list_free(&job.flags.arguments);
    list_free(&job.flags.includes);
    text_free(&job.flags.defines);
    text_free(&job.source);
    text_free(&job.log);
    text_free(&job.errors);
    elf_unit_free(&job.unit);
    verdicts_forget(&job);
    list_free(&job.overrides);
    free(job.file);
    return status;
}
