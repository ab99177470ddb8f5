// Whether threads become lanes or stay what they are, and what comes of it.
#include "job.h"

#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

static bool must_vectorise(const struct job *job)
{
    return strcmp(job->choices.tier, "B") == 0;
}

static int refuse_tier(struct job *job, const char *why)
{
    text_format(&job->log, "%s: error: %s\n", job->options->name, why);
    return CC_NOT_COMPILED;
}

static void bitcode_command(const struct job *job, struct list *command)
{
    // Conversions to integers saturate by comparisons, which become vectors.
    static const char *const words[] = {
        "-DRNL_SIMT", "-fstrict-float-cast-overflow", "-Xclang",
        "-disable-llvm-passes", "-emit-llvm", "-c", "-o", "kernel.bc"};
    command_start(job, command, true);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        list_add(command, words[i]);
    if (job->choices.approximate)
        list_add(command, "-fapprox-func");
    list_add(command, job->file);
}

unsigned tiers_find_kernel(const struct job *job)
{
    size_t i = 0;
    while (i < job->kernels.count &&
           strcmp(job->kernels.items[i], job->choices.only) != 0)
        i++;
    return (unsigned)i;
}

static struct simt_verdict *make_verdicts(struct job *job)
{
    if (!job->verdicts)
        job->verdicts = calloc(job->kernels.count + 1, sizeof *job->verdicts);
    if (!job->verdicts)
        text_add(&job->no_vectors, "memory is short");
    return job->verdicts;
}

// --- By runnel-clang -------------------------------------------------------

static void add_pair(struct list *command, const char *word, const char *value)
{
    list_add(command, word);
    list_add(command, value);
}

// It runs in the private folder, and the dumps' names are relative to ours.
static void add_dump(const struct job *job, struct list *command)
{
    char here[4096];
    const char *dump = job->options->dump_ir;
    list_add(command, "--dump");
    if (dump[0] != '/' && getcwd(here, sizeof here))
        list_format(command, "%s/%s", here, dump);
    else
        list_add(command, dump);
}

// The object as text: for the user, or to look for the source's own assembly.
static bool wants_assembly(const struct job *job)
{
    return job->options->dump_assembly || mentions_assembly(job);
}

static void quick_command(const struct job *job, struct list *command)
{
    const unsigned *block = job->choices.block_size;
    struct list clang = {0};
    list_add(command, job->quick);
    add_pair(command, "--object", "kernel.o");
    add_pair(command, "--target", job->choices.target);
    add_pair(command, "--tier", job->choices.tier);
    if (job->options->dump_ir)
        add_dump(job, command);
    if (wants_assembly(job))
        add_pair(command, "--assembly", "kernel.s");
    if (block[0]) {
        list_add(command, "--block-size");
        list_format(command, "%ux%ux%u", block[0], block[1], block[2]);
    }
    if (job->choices.only) {
        list_add(command, "--only");
        list_format(command, "%u", tiers_find_kernel(job));
    }
    list_add(command, "--");
    bitcode_command(job, &clang);
    for (size_t i = 0; i < clang.count; i++)
        list_add(command, clang.items[i]);
    list_free(&clang);
}

// False where that cannot tell what comes of it. Where it has succeeded it may
// still be about to end after it.
static bool compile_quickly(struct job *job, int *out_status)
{
    struct list command = {0};
    struct text output = {0};
    struct process *process = &job->worker.process;
    if (!job->quick[0] || !make_verdicts(job))
        return false;
    quick_command(job, &command);
    text_free(&job->errors);
    simt_finish(&job->worker);
    process_start(&command, work_folder(), process);
    process_listen(process, &output, &job->errors, -1);
    job->vectorised = simt_read(&output, job->verdicts, job->kernels.count,
                                &job->no_vectors);
    int status = job->vectorised ? 0 : process_finish(process, NULL, NULL);
    bool known = !command_declined(job, status);
    if (known)
        *out_status = command_judge(job, status);
    else
        text_free(&job->no_vectors);
    text_free(&output);
    list_free(&command);
    return known;
}

// --- By clang, and by a worker beside it ------------------------------------

static void start_worker(struct job *job)
{
    char bitcode[4200], object[4200], assembly[4200];
    in_folder(bitcode, "kernel.bc");
    in_folder(object, "kernel.o");
    in_folder(assembly, "kernel.s");
    struct simt_job work = {
        .bitcode = bitcode, .object = object, .target = job->choices.target,
        .dump = job->options->dump_ir,
        .wherever = strcmp(job->choices.tier, "auto") != 0,
        .assembly = wants_assembly(job) ? assembly : NULL};
    memcpy(work.block_size, job->choices.block_size, sizeof work.block_size);
    if (job->choices.only) {
        work.only = true;
        work.kernel = tiers_find_kernel(job);
    }
    simt_finish(&job->worker);
    simt_start(&job->worker, &work);
}

// Both at once. A file of the compiler's gets its name when it is complete,
// which is some milliseconds before the compiler has ended.
static int compile_bitcode(struct job *job)
{
    struct process process;
    struct list command = {0};
    int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (watch >= 0)
        inotify_add_watch(watch, work_folder(), IN_MOVED_TO);
    bitcode_command(job, &command);
    process_start(&command, work_folder(), &process);
    list_free(&command);
    start_worker(job);
    text_free(&job->errors);
    if (process_listen(&process, NULL, &job->errors, watch))
        simt_go(&job->worker);
    int status = process_finish(&process, NULL, &job->errors);
    if (watch >= 0)
        close(watch);
    return command_judge(job, status);
}

// The worker may still be about to end after it.
static int compile_in_steps(struct job *job)
{
    int status = compile_bitcode(job);
    if (status == CC_OK && make_verdicts(job))
        job->vectorised = simt_listen(&job->worker, job->verdicts,
                                      job->kernels.count, &job->no_vectors);
    return status;
}

// --- Either ----------------------------------------------------------------

static int report_refused(struct job *job)
{
    int status = CC_OK;
    for (size_t i = 0; i < job->kernels.count; i++) {
        if (!job->verdicts[i].why)
            continue;
        status = CC_NOT_COMPILED;
        text_format(&job->log,
                    "%s: error: kernel '%s' cannot be vectorised: %s\n",
                    job->options->name, job->kernels.items[i],
                    job->verdicts[i].why);
    }
    return status;
}

static int compile_vectors(struct job *job)
{
    int status;
    if (!compile_quickly(job, &status))
        status = compile_in_steps(job);
    if (status != CC_OK)
        return status;
    // What is an error in any tier is told as that, whoever crashed over it.
    if (!job->vectorised)
        status = command_compile_again(job, "-c", "kernel.o");
    if (status == CC_OK && must_vectorise(job))
        status = job->vectorised ? report_refused(job)
                                 : refuse_tier(job, job->no_vectors.data);
    return status;
}

int tiers_compile(struct job *job)
{
    char path[4096];
    bool possible = job->compiler.clang &&
                    job->compiler.version == SIMT_CLANG &&
                    (job->quick[0] || find_beside(SIMT_LIBRARY, path));
    if (must_vectorise(job) && !possible)
        return refuse_tier(job, "--tier=B needs clang 19 and "
                                "librunnel-simt.so beside runnel-cc");
    if (strcmp(job->choices.tier, "F") == 0)
        text_add(&job->no_vectors, "--tier=F was asked for");
    else if (job->choices.debug)
        text_add(&job->no_vectors, "it is compiled for debugging");
    else if (!possible)
        text_add(&job->no_vectors, "there is no clang 19 with a SIMT compiler");
    else
        return compile_vectors(job);
    return command_compile(job, "-c", "kernel.o");
}

void tiers_report(struct job *job)
{
    for (size_t i = 0; i < job->kernels.count; i++) {
        const char *why = job->vectorised ? job->verdicts[i].why
                                          : job->no_vectors.data;
        text_format(&job->log, "%s: remark: kernel '%s': tier %s%s\n",
                    job->options->name, job->kernels.items[i],
                    why ? "F: " : "B", why ? why : "");
    }
}
