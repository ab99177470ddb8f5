// runnel-cc is looked for anew each time, which costs microseconds: what was
// installed, replaced or removed a moment ago counts.
#include "backends/cpu/jit/compile.h"

#include "backends/cpu/jit/find_compiler.h"
#include "backends/cpu/jit/object_file.h"
#include "backends/cpu/jit/tuning.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/scratch.h"
#include "base/spawn.h"
#include "base/text.h"
#include "core/backend.h"
#include "core/module/dump.h"
#include "core/object/context_object.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Files of the job that are dumps; for IR the prefix of their names.
#define DUMP_ASSEMBLY "assembly"
#define DUMP_IR "ir"

// Exit codes of runnel-cc.
enum {
    CODE_OK = 0,
    CODE_NOT_COMPILED = 1,
    CODE_USAGE = 2,
    CODE_OPTION = 5,
    CODE_FILE = 6,
    CODE_LIMIT = 7,
};

// A run of the compiler.
struct compile_job {
    char program[FIND_PATH_SIZE];
    struct scratch folder;        // holds all files of the job
    char path[FIND_PATH_SIZE + 16];  // of a file
    const struct source *source;
    const atomic_bool *stop;      // or NULL
    struct text words;            // the command line, each word with its end
    size_t word_count;
    struct spawn_result result;
};

// --- The private folder ----------------------------------------------------

static rnl_status fail_file(const char *what, const char *path, int error)
{
    fail(error == ENOMEM ? RNL_ERROR_OUT_OF_MEMORY : RNL_ERROR_IO,
         "%s %s failed: %s", what, path, strerror(error));
    fail_set_native(error, strerror(error));
    return error == ENOMEM ? RNL_ERROR_OUT_OF_MEMORY : RNL_ERROR_IO;
}

static rnl_status folder_make(struct compile_job *job)
{
    // The path leaves room for names of files.
    int error = scratch_make(&job->folder, 32);
    return error ? fail_file("making the directory", job->folder.path, error)
                 : RNL_OK;
}

static rnl_status put_file(const char *path, const char *text)
{
    int error = file_write_path(path, text, strlen(text));
    return error ? fail_file("writing", path, error) : RNL_OK;
}

static const char *in_folder(struct compile_job *job, const char *name)
{
    snprintf(job->path, sizeof job->path, "%s/%s", job->folder.path, name);
    return job->path;
}

// --- The command line ------------------------------------------------------

static void add_word(struct compile_job *job, const char *word)
{
    text_add_bytes(&job->words, word, strlen(word) + 1);
    job->word_count++;
}

static void add_pair(struct compile_job *job, const char *option,
                     const char *value)
{
    add_word(job, option);
    add_word(job, value);
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

static rnl_status add_header(struct compile_job *job, const rnl_header *header,
                             size_t index)
{
    struct text word = {0};
    if (!is_file_inside(header->name))
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "options.headers",
                       "on a cpu a header cannot be called '%s'",
                       header->name);
    text_add(&word, "%s=%s/header-%zu", header->name, job->folder.path,
             index);
    rnl_status status = RNL_OK;
    if (!word.failed) {
        status = put_file(word.data + strlen(header->name) + 1,
                          header->source);
        add_pair(job, "--header", word.data);
    }
    job->words.failed |= word.failed;
    text_finish(&word);
    return status;
}

static void add_options(struct compile_job *job)
{
    const rnl_module_options *options = job->source->options;
    for (size_t i = 0; i < options->option_count; i++)
        add_pair(job, "--option", options->options[i]);
    for (size_t i = 0; i < options->name_expression_count; i++)
        add_pair(job, "--name-expression", options->name_expressions[i]);
    if (dump_wants(job->source, RNL_DUMP_ASSEMBLY))
        add_pair(job, "--dump-assembly", in_folder(job, DUMP_ASSEMBLY));
    if (dump_wants(job->source, RNL_DUMP_IR))
        add_pair(job, "--dump-ir", in_folder(job, DUMP_IR));
    if (options->untrusted)
        add_word(job, "--untrusted");
    // The compiler ends when this process is killed, and removes the folder.
    char parent[24];
    snprintf(parent, sizeof parent, "%ld", (long)getpid());
    add_pair(job, "--parent", parent);
}

// Writes the job's files, too.
static rnl_status prepare(struct compile_job *job)
{
    const rnl_module_options *options = job->source->options;
    add_word(job, job->program);
    add_pair(job, "--output", in_folder(job, "object"));
    add_pair(job, "--source", in_folder(job, "source"));
    add_pair(job, "--name", options->name);
    rnl_status status = put_file(job->path, job->source->text);
    for (size_t i = 0; status == RNL_OK && i < options->header_count; i++)
        status = add_header(job, &options->headers[i], i);
    add_options(job);
    return status;
}

// --- Running ---------------------------------------------------------------

static char **make_arguments(const struct compile_job *job)
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

static rnl_status run(struct compile_job *job, uint64_t timeout_ns)
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
    rnl_status status = error == ENOMEM || error == EAGAIN
                            ? RNL_ERROR_OUT_OF_MEMORY
                        : error == EMFILE || error == ENFILE
                            ? RNL_ERROR_IO
                            : RNL_ERROR_COMPILER_UNAVAILABLE;
    fail(status, "the kernel compiler %s cannot be started: %s", job->program,
         strerror(error));
    fail_set_native(error, strerror(error));
    return status;
}

// --- What came of it -------------------------------------------------------

static rnl_status refuse(const struct compile_job *job, rnl_status status,
                         const char *what)
{
    return fail_compiler(status, what, text_get(&job->result.output));
}

// Half a complaint is worse than none: it may name the wrong place.
static rnl_status check_output(const struct compile_job *job)
{
    if (job->result.output.failed)
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory for what the compiler says");
    if (job->result.read_error)
        return fail_file("reading the output of", job->program,
                         job->result.read_error);
    return RNL_OK;
}

static rnl_status refuse_crash(const struct compile_job *job, const char *what)
{
    struct text text = {0};
    text_add(&text, "the kernel compiler %s %s", job->program, what);
    rnl_status status =
        refuse(job, RNL_ERROR_COMPILER_CRASHED, text_get(&text));
    text_finish(&text);
    return status;
}

static rnl_status judge_exit(const struct compile_job *job)
{
    char what[64];
    switch (job->result.code) {
    case CODE_OK:
        return RNL_OK;
    case CODE_NOT_COMPILED:
        return refuse(job, RNL_ERROR_COMPILE_FAILED,
                      "the kernel source does not compile");
    case CODE_OPTION:
        return refuse(job, RNL_ERROR_INVALID_ARGUMENT,
                      "a compiler option is wrong");
    case CODE_FILE:
        return refuse(job, RNL_ERROR_IO,
                      "the kernel compiler cannot use a file");
    case CODE_LIMIT:
        return refuse(job, RNL_ERROR_COMPILER_UNAVAILABLE,
                      "a limit of the system keeps the kernel compiler from "
                      "running");
    case CODE_USAGE:
        return refuse_crash(job, "did not understand what it was asked");
    default:
        snprintf(what, sizeof what, "failed with exit code %d",
                 job->result.code);
        return refuse_crash(job, what);
    }
}

static rnl_status judge(const struct compile_job *job)
{
    char what[96];
    switch (job->result.end) {
    case SPAWN_EXITED:
        return judge_exit(job);
    case SPAWN_SIGNALLED:
        snprintf(what, sizeof what, "was killed by signal %d (%s)",
                 job->result.code, strsignal(job->result.code));
        return refuse_crash(job, what);
    case SPAWN_TIMED_OUT:
        snprintf(what, sizeof what, "was stopped at the time limit of %.1f s",
                 (double)job->source->options->timeout_ns * 1e-9);
        return refuse_crash(job, what);
    default:
        return RNL_OK;  // the object, or its absence, will tell
    }
}

static rnl_status read_object(struct compile_job *job,
                              struct compiled_binary *out_binary)
{
    const char *path = in_folder(job, "object");
    void *data;
    size_t size;
    int error = file_read_path(path, OBJECT_SIZE_MAX, &data, &size);
    if (error == ENOMEM)
        return fail_file("reading", path, error);
    if (error == ENOENT && job->result.end == SPAWN_REAPED &&
        job->result.output.length > 0)
        return refuse(job, RNL_ERROR_COMPILE_FAILED,
                      "the kernel source does not compile");
    if (error)
        return refuse_crash(job, "wrote no object");
    const char *fault = object_file_fault(data, size);
    rnl_status status = RNL_OK;
    if (fault)
        status = refuse_crash(job, "wrote a damaged object");
    else
        status =
            object_file_wrap(data, size, &out_binary->data, &out_binary->size);
    mem_release(data, size);
    return status;
}

// --- Dumps -----------------------------------------------------------------

static rnl_status check_dump(const struct source *source)
{
    return dump_wants(source, RNL_DUMP_MACHINE)
               ? dump_refuse("disassembled machine code", "on a cpu "
                             "RNL_DUMP_ASSEMBLY is what the machine runs")
               : RNL_OK;
}

// A stage that is not there is none that was made.
static rnl_status read_dump(struct compile_job *job, rnl_dump_kind kind,
                            const char *file, const char *name,
                            struct compiled_binary *binary)
{
    void *data;
    size_t size;
    const char *path = in_folder(job, file);
    int error = file_read_path(path, OBJECT_SIZE_MAX, &data, &size);
    if (error == ENOENT)
        return kind == RNL_DUMP_IR ? RNL_OK
                                   : refuse_crash(job, "wrote no assembly");
    if (error)
        return fail_file("reading", path, error);
    rnl_status status = dump_add(binary, kind, name, data, size);
    mem_release(data, size);
    return status;
}

// The stages in the compiler's order; "fixed" is code for one block size.
static rnl_status read_stages(struct compile_job *job,
                              struct compiled_binary *binary)
{
    static const char *const files[] = {
        DUMP_IR ".source.ll", DUMP_IR ".threads.ll", DUMP_IR ".vectors.ll",
        DUMP_IR ".finished.ll", DUMP_IR ".fixed.ll",
        DUMP_IR ".fixed.finished.ll",
    };
    rnl_status status = RNL_OK;
    for (size_t i = 0; status == RNL_OK && i < sizeof files / sizeof files[0];
         i++)
        status = read_dump(job, RNL_DUMP_IR, files[i],
                           files[i] + strlen(DUMP_IR "."), binary);
    if (status != RNL_OK || binary->dumped)
        return status;
    return refuse_crash(job, "wrote no LLVM IR");
}

static rnl_status read_dumps(struct compile_job *job,
                             struct compiled_binary *binary)
{
    rnl_status status = RNL_OK;
    if (dump_wants(job->source, RNL_DUMP_IR))
        status = read_stages(job, binary);
    if (status == RNL_OK && dump_wants(job->source, RNL_DUMP_ASSEMBLY))
        status = read_dump(job, RNL_DUMP_ASSEMBLY, DUMP_ASSEMBLY, "s", binary);
    return status;
}

// --- All -------------------------------------------------------------------

static rnl_status perform(struct compile_job *job,
                          struct compiled_binary *out_binary)
{
    rnl_status status = prepare(job);
    if (status == RNL_OK)
        status = run(job, job->source->options->timeout_ns);
    if (status == RNL_OK)
        status = check_output(job);
    if (status == RNL_OK)
        status = judge(job);
    if (status == RNL_OK)
        status = read_object(job, out_binary);
    if (status == RNL_OK)
        status = read_dumps(job, out_binary);
    if (status == RNL_OK && job->result.output.length > 0)
        out_binary->log = text_copy(job->result.output.data);
    return status;
}

// --- Compiler version ------------------------------------------------------

// From "runnel-cc 5 abi 1 … target native:0123456789abcdef (znver4)", takes the
// part before " target " and, without the hash, the part behind.
static void read_version(const struct compile_job *job, const char *line,
                         rnl_compiler_info *out_info)
{
    static const char mark[] = " target ";
    const char *end = line + strcspn(line, "\n");
    const char *target = strstr(line, mark);
    if (!target || target > end)
        target = end;
    snprintf(out_info->path, sizeof out_info->path, "%s", job->program);
    snprintf(out_info->version, sizeof out_info->version, "%.*s",
             (int)(target - line), line);
    if (target == end)
        return;
    target += sizeof mark - 1;
    size_t name = strcspn(target, ": \n");
    const char *rest = target + name + strcspn(target + name, " \n");
    snprintf(out_info->target, sizeof out_info->target, "%.*s%.*s", (int)name,
             target, (int)(end - rest), rest);
}

static rnl_status ask_version(struct compile_job *job,
                              rnl_compiler_info *out_info)
{
    add_word(job, job->program);
    add_word(job, "--identity");
    rnl_status status = run(job, VERSION_TIMEOUT_NS);
    if (status == RNL_OK)
        status = check_output(job);
    const struct spawn_result *result = &job->result;
    bool told = (result->end == SPAWN_EXITED && result->code == CODE_OK) ||
                result->end == SPAWN_REAPED;
    if (status == RNL_OK && (!told || result->output.length == 0))
        status = refuse_crash(job, "does not tell its version");
    if (status == RNL_OK)
        read_version(job, result->output.data, out_info);
    return status;
}

static void job_free(struct compile_job *job)
{
    text_finish(&job->result.output);
    text_finish(&job->words);
    mem_release(job, sizeof *job);
}

rnl_status cpu_compiler_info(rnl_compiler_info *out_info)
{
    struct compile_job *job = mem_allocate(sizeof *job);
    if (!job)
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory to ask the compiler");
    rnl_status status = find_compiler(job->program);
    if (status == RNL_OK)
        status = folder_make(job);
    if (status == RNL_OK) {
        status = ask_version(job, out_info);
        scratch_remove(&job->folder);
    }
    job_free(job);
    return status;
}

// --- Compiling -------------------------------------------------------------

rnl_status cpu_module_compile(struct context *context,
                              const struct source *source,
                              struct compiled_binary *out_binary)
{
    (void)context;
    return compile_source(source, NULL, out_binary);
}

rnl_status compile_source(const struct source *source,
                          const atomic_bool *stop,
                          struct compiled_binary *out_binary)
{
    struct compile_job *job = mem_allocate(sizeof *job);
    if (!job)
        return fail(RNL_ERROR_OUT_OF_MEMORY, "there is no memory to compile");
    job->source = source;
    job->stop = stop;
    rnl_status status = check_dump(source);
    if (status == RNL_OK)
        status = find_compiler(job->program);
    if (status == RNL_OK)
        status = folder_make(job);
    if (status == RNL_OK) {
        status = perform(job, out_binary);
        scratch_remove(&job->folder);
    }
    job_free(job);
    return status;
}
