// runnel-cc: kernel source in, a cpu object out. README.md tells how.
#include "clang/clang.h"
#include "job.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void job_cut_log(struct job *job, size_t size)
{
    if (size < job->log.size)
        job->log.data[job->log.size = size] = 0;
}

// --- The table of kernels ---------------------------------------------------

// Finds kernels and variables, after the preprocessor if need be. Errors of the
// preprocessor are left to the compilation, which words them better.
static int scan(struct job *job)
{
    job->scan.int128 = job->choices.int128;
    job->scan.default_device = job->choices.default_device;
    bool untrusted = job->options->untrusted;
    if (!untrusted && !scan_needs_cpp(job->source.data, &job->flags)) {
        scan_source(job->source.data, &job->scan);
        return CC_OK;
    }
    if (untrusted && !confine_judge_embeds(job, job->options->name,
                                           job->source.data))
        return CC_NOT_COMPILED;
    struct list command = {0};
    struct text *output = &job->scan.preprocessed;
    size_t before = job->log.size;
    command_start(job, &command, false);
    list_add(&command, "-E");
    list_add(&command, "-w");
    list_add(&command, job->file);
    int status = command_run(job, &command, output);
    if (status == CC_OK && output->data)
        scan_source(output->data, &job->scan);
    if (status != CC_OK && (status != CC_NOT_COMPILED || !job->errors.data))
        return status;
    job_cut_log(job, before);
    return !untrusted || !output->data ||
                   confine_judge_includes(job, output->data)
               ? CC_OK : CC_NOT_COMPILED;
}

// clang refuses what a template throws wherever it is not used; without it, the
// linker misses what throws.
static void allow_throws(struct job *job)
{
    if (job->scan.throws != SCAN_THROWS_IN_TEMPLATES)
        return;
    list_add(&job->flags.arguments, "-Xclang");
    list_add(&job->flags.arguments, "-fcxx-exceptions");
}

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
    bool written = job->file && write_file(job->file, text.data, text.size);
    text_free(&text);
    return written ? CC_OK : complain_file("write", "the source");
}

// A name alone has to be that of one kernel: no template, no other beside it.
static bool judge_expression(struct job *job, const char *expression)
{
    const struct scan *scan = &job->scan;
    bool clear = true;
    const struct scan_kernel *one = NULL;
    for (size_t i = 0; i < scan->kernel_count; i++)
        if (table_has_name(&scan->kernels[i], expression)) {
            clear &= !one && !scan->kernels[i].is_template;
            one = &scan->kernels[i];
        }
    if (clear)
        return true;
    struct text sentence = {0};
    text_format(&sentence, "'%s' does not tell which kernel is meant",
                expression);
    location_report(scan, CC_EXPRESSION_FILE, NULL, "error", sentence.data,
                    &job->log);
    text_free(&sentence);
    for (size_t i = 0; i < scan->kernel_count; i++)
        if (table_has_name(&scan->kernels[i], expression))
            location_report(scan, job->options->name, scan->kernels[i].at,
                            "note", "candidate", &job->log);
    return false;
}

// What the scan has found that CUDA does not allow: of much, the beginning.
static int judge_scan(struct job *job)
{
    const struct list *expressions = &job->options->expressions;
    int status = CC_OK;
    for (size_t i = 0; i < expressions->count; i++)
        if (!judge_expression(job, expressions->items[i]))
            status = CC_NOT_COMPILED;
    for (size_t i = 0; i < job->scan.refusal_count && i < SCAN_REFUSALS; i++)
        location_report(&job->scan, job->options->name,
                        job->scan.refusals[i].at, "error",
                        job->scan.refusals[i].sentence, &job->log);
    return job->scan.refusal_count ? CC_NOT_COMPILED : status;
}

// Puts the table after the user's text.
static int append_table(struct job *job)
{
    char version[4200], path[4200];
    struct text text = {0};
    int status = CC_OK;
    snprintf(version, sizeof version, "clang %s", clang_version());
    table_write(&job->scan, &job->options->expressions, version,
                &job->kernels, &text);
    in_folder(path, job->file);
    FILE *file = fopen(path, "ab");
    if (!file || fwrite(text.data, 1, text.size, file) != text.size)
        status = complain_file("write", path);
    if (file && fclose(file) != 0)
        status = complain_file("write", path);
    text_free(&text);
    return status;
}

// --- From source to object -------------------------------------------------

// With all parts of the prelude if there are errors that a part could mend.
static int compile_parts(struct job *job)
{
    size_t before = job->log.size;
    int status = tiers_compile(job);
    if (status != CC_NOT_COMPILED || job->all_parts || !job->errors.data ||
        !parts_missed(job->errors.data))
        return status;
    struct text log = {0}, errors = job->errors;
    if (job->log.size > before)
        text_add(&log, job->log.data + before);
    job->errors = (struct text){0};
    job->all_parts = true;
    text_free(&job->no_vectors);
    job_cut_log(job, before);
    status = write_prelude(job);
    if (status == CC_OK)
        status = tiers_compile(job);
    if (status == CC_NOT_COMPILED && job->errors.data &&
        parts_missed(job->errors.data)) {
        // No part has the name: the source's own mistake was told better.
        job_cut_log(job, before);
        text_add_bytes(&job->log, log.data, log.size);
        text_free(&job->errors);
        text_add(&job->errors, errors.data);
    }
    text_free(&log);
    text_free(&errors);
    return status;
}

// Words of clang's errors where a source needs built-in variables of the types
// that CUDA documents: in overloads, deduced types, copies.
static bool may_need_values(const char *errors)
{
    static const char *const words[] = {
        "rnl_thread_type", "rnl_block_type", "rnl_block_size_type",
        "rnl_grid_size_type", "ambiguous", "no matching function",
        "no setter defined"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(errors, words[i]))
            return true;
    return false;
}

// With built-in variables that are values of these types, if that helps.
static int compile_values(struct job *job)
{
    struct list *arguments = &job->flags.arguments;
    size_t before = job->log.size;
    int status = compile_parts(job);
    if (status != CC_NOT_COMPILED || !job->errors.data ||
        !may_need_values(job->errors.data))
        return status;
    struct text log = job->log, errors = job->errors;
    job->log = job->errors = (struct text){0};
    if (before > 0)
        text_add_bytes(&job->log, log.data, before);
    text_free(&job->no_vectors);
    list_add(arguments, "-DRNL_VALUES");
    if (compile_parts(job) == CC_OK) {
        text_free(&log);
        text_free(&errors);
        return CC_OK;
    }
    free(arguments->items[--arguments->count]);
    text_free(&job->log);
    text_free(&job->errors);
    job->log = log;
    job->errors = errors;
    return status;
}

// Compiles the source with its table. When that blames generated text, it is
// asked again what kernels cannot be, and the user's text alone whether it is
// wrong without them.
static int compile_kernels(struct job *job)
{
    size_t before = job->log.size;
    int status = compile_values(job);
    if (status == CC_OK && mentions_assembly(job))
        return judge_assembly(job);
    // Assembly of another processor can also crash clang.
    bool failed = status == CC_NOT_COMPILED ||
                  (status == CC_CRASHED && mentions_assembly(job));
    if (failed && job->errors.data && explains_assembly(job))
        return explain_assembly(job, before);
    if (status != CC_NOT_COMPILED || !job->errors.data)
        return status;
    if (!diagnostics_blame_table(job->errors.data))
        return status;
    job_cut_log(job, before);
    list_add(&job->flags.arguments, "-DRNL_EXPLAIN");
    command_compile(job, "-fsyntax-only", "kernel.o");
    bool explained =
        job->errors.data && diagnostics_blame_user(job->errors.data);
    struct text log = job->log, errors = job->errors;
    job->log = job->errors = (struct text){0};
    status = write_source(job);
    if (status == CC_OK)
        status = command_compile(job, "-fsyntax-only", "kernel.o");
    if (status == CC_OK && explained) {
        text_add(&job->log, log.data);
        status = CC_NOT_COMPILED;
    } else if (status == CC_OK) {
        text_add(&job->log, "runnel-cc: the table of kernels is wrong:\n");
        text_add(&job->log, errors.data);
        status = CC_CRASHED;
    }
    text_free(&log);
    text_free(&errors);
    return status;
}

// Whether code runs before kernels. Constructors that do nothing are optimised
// away; objects for debuggers have them, so another is made.
static bool constructs(struct job *job)
{
    char path[4200];
    struct text file = {0};
    struct elf_unit optimised = {0};
    if (!job->unit.constructs || !job->choices.debug)
        return job->unit.constructs;
    struct list *arguments = &job->flags.arguments;
    list_add(arguments, "-O2");
    in_folder(path, "optimised.o");
    bool found = command_compile_again(job, "-c", "optimised.o") == CC_OK &&
                 text_read_file(&file, path) &&
                 elf_read_unit(&file, &optimised) && optimised.constructs;
    free(arguments->items[--arguments->count]);
    text_free(&file);
    elf_unit_free(&optimised);
    return found;
}

// What only the compiled object shows.
static int judge_variables(struct job *job)
{
    const struct elf_unit *unit = &job->unit;
    bool refused = false, has_value;
    for (size_t i = 0;
         i < unit->initialized.count && !job->choices.no_warnings; i++)
        location_report(&job->scan, job->options->name,
                        scan_find(&job->scan, "__shared__",
                                  unit->initialized.items[i], &has_value),
                        "warning", "a __shared__ variable is not initialized: "
                        "shared memory starts undefined", &job->log);
    for (size_t i = 0; i < unit->guarded.count; i++) {
        const char *at = scan_find(&job->scan, "static",
                                   unit->guarded.items[i], &has_value);
        if (!at || !has_value)
            continue;  // its constructor may do nothing
        location_report(&job->scan, job->options->name, at, "error",
                        "a static variable of a function cannot have a dynamic "
                        "initializer", &job->log);
        refused = true;
    }
    if (refused)
        return CC_NOT_COMPILED;
    return constructs(job) ? explain_construction(job) : CC_OK;
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
    for (size_t i = 0; job->vectorised && i < job->unit.kernel_count &&
                       i < job->kernels.count; i++)
        job->unit.kernels[i].flags |= job->verdicts[i].flags;
    job->unit.tells_thread = job->choices.debug;
    elf_write_stub(&job->unit.dynamic, &stub);
    bool written = write_file("stub.o", stub.data, stub.size);
    text_free(&stub);
    return written ? CC_OK : complain_file("write", "a temporary file");
}

// Complete or not there; but what is no file, like /dev/null, stays what it is.
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
    int status = put(output, &file) ? CC_OK : complain_file("write", output);
    text_free(&file);
    return status;
}

static void confine(struct job *job)
{
    if (job->options->untrusted && !confine_wall(job))
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
        return complain_file("write", "a temporary file");
    if ((status = scan(job)) || (status = judge_scan(job)))
        return status;
    allow_throws(job);
    if ((status = append_table(job)) || (status = write_prelude(job)) ||
        (status = compile_kernels(job)) || (status = read_unit(job)) ||
        (status = judge_variables(job)) ||
        (status = linker_run(job)))
        return status;
    status = dump_write(job);
    if (job->choices.report_tiers)
        tiers_report(job);
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

static int compile_source(const struct cc_options *options)
{
    struct job job = {.options = options, .worker = PROCESS_NONE};
    int status = read_choices(&job);
    if (status == CC_OK && !text_read_file(&job.source, options->source))
        status = complain_file("read", options->source);
    if (status == CC_OK && !work_folder())
        status = complain_file("make a folder in", "TMPDIR");
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
    scan_free(&job.scan);
    for (size_t i = 0; job.verdicts && i < job.kernels.count; i++)
        free(job.verdicts[i].why);
    free(job.verdicts);
    list_free(&job.kernels);
    free(job.file);
    return status;
}

// --- The command line ------------------------------------------------------

static int print_identity(void)
{
    struct text line = {0};
    compiler_identity(&line);
    puts(line.data);
    text_free(&line);
    return CC_OK;
}

// Takes one option with its value. True if there is one of that name.
static bool take_option(struct cc_options *options, const char *name,
                        const char *value)
{
    if (strcmp(name, "--output") == 0)
        options->output = value;
    else if (strcmp(name, "--source") == 0)
        options->source = value;
    else if (strcmp(name, "--name") == 0)
        options->name = value;
    else if (strcmp(name, "--dump-assembly") == 0)
        options->dump_assembly = value;
    else if (strcmp(name, "--dump-ir") == 0)
        options->dump_ir = value;
    else if (strcmp(name, "--option") == 0)
        list_add(&options->options, value);
    else if (strcmp(name, "--name-expression") == 0)
        list_add(&options->expressions, value);
    else if (strcmp(name, "--parent") == 0)
        options->parent = strtol(value, NULL, 10);
    else if (strcmp(name, "--header") == 0 && strchr(value, '='))
        list_add(&options->headers, value);
    else
        return false;
    return true;
}

static int read_options(int count, char **words, struct cc_options *options)
{
    options->source = "-";
    for (int i = 1; i < count; i++) {
        if (strcmp(words[i], "--debug") == 0)
            list_add(&options->options, "-G");
        else if (strcmp(words[i], "--untrusted") == 0)
            options->untrusted = true;
        else if (i + 1 >= count ||
                 !take_option(options, words[i], words[i + 1]))
            return complain(CC_USAGE, "%s: unknown option, or its value is "
                            "missing or malformed; see runnel-cc --help",
                            words[i]);
        else
            i++;
    }
    if (!options->output)
        return complain(CC_USAGE, "%s", "--output is missing");
    if (!options->name)
        options->name = strcmp(options->source, "-") == 0 ? "kernel.cu"
                                                          : options->source;
    return CC_OK;
}

// clang and lld are to depend on their command lines alone; the names of what
// else they read, such as LLD_REPRODUCE, change from one LLVM to the next.
static void forget_environment(void)
{
    size_t kept = 0;
    for (size_t i = 0; environ && environ[i]; i++)
        if (strncmp(environ[i], "TMPDIR=", 7) == 0 ||
            strncmp(environ[i], "RUNNEL_", 7) == 0)
            environ[kept++] = environ[i];
    if (environ)
        environ[kept] = NULL;
    setenv("LC_ALL", "C", 1);  // messages of the C library
}

int main(int count, char **words)
{
    if (count == 2 && strcmp(words[1], "--help") == 0)
        return fputs(cc_help, stdout) < 0;
    if (count == 2 && strcmp(words[1], "--version") == 0)
        return puts("runnel-cc " CC_VERSION) < 0;
    if (!confine_has_stack())
        return complain(CC_LIMIT, "%s", "a compiler needs a stack of 1 MiB: "
                        "raise its limit (ulimit -s)");
    forget_environment();
    process_catch_signals();
    if (count == 2 && strcmp(words[1], "--identity") == 0)
        return print_identity();
    struct cc_options options = {0};
    int status = read_options(count, words, &options);
    confine_limit(options.untrusted ? &untrusted_limits
                                    : &trusted_limits);
    if (options.parent && !process_end_with(options.parent))
        raise(SIGTERM);
    process_die_if_signalled();
    if (status == CC_OK)
        status = compile_source(&options);
    list_free(&options.options);
    list_free(&options.headers);
    list_free(&options.expressions);
    return status;
}
