// Chooses between the tiers, and runs the SIMT compiler's child.

#include "driver/driver.h"

#include <runnel/cpu_object.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool must_vectorise(const struct job *job)
{
    return strcmp(job->choices.tier, "B") == 0;
}

// Whether no kernel is to have lanes. The source then has none of what lanes
// need.
static bool is_scalar(const struct job *job)
{
    return strcmp(job->choices.tier, "F") == 0;
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
        "-fstrict-float-cast-overflow", "-Xclang",
        "-disable-llvm-passes", "-emit-llvm", "-c", "-o", "kernel.bc"};
    clang_words(job, command);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        list_add(command, words[i]);
    if (!is_scalar(job))
        list_add(command, "-DRNL_SIMT");
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

// --- The SIMT compiler's child ----------------------------------------------

struct call {
    struct list command;
    struct simt_job simt;
    struct clang_source source;
};

static int call_simt(void *argument)
{
    struct call *call = argument;
    return clang_compile(&call->source);
}

static void make_call(struct job *job, struct call *call)
{
    struct simt_job *simt = &call->simt;
    bitcode_command(job, &call->command);
    simt->object = "kernel.o";
    simt->target = job->choices.target;
    simt->scalar_only = is_scalar(job);
    simt->force_vectors = strcmp(job->choices.tier, "auto") != 0;
    simt->dump = job->options->dump_ir ? DUMP_IR_STEM : NULL;
    simt->dump_after = job->options->dump_after;
    simt->skipped = (const char *const *)job->options->skipped.items;
    simt->skipped_count = job->options->skipped.count;
    simt->assembly = job->options->dump_assembly ? "kernel.s" : NULL;
    // Limits hold for each process, so an untrusted source has one.
    simt->alone = job->options->untrusted;
    memcpy(simt->block_size, job->choices.block_size, sizeof simt->block_size);
    simt->only = job->choices.only != NULL;
    call->source = clang_source_of(job, &call->command);
    call->source.simt = simt;
    call->source.only = job->choices.only;
}

// Where the child has succeeded, nobody waits until it has ended: that takes
// milliseconds for a process of its size.
static int call_child(struct job *job)
{
    struct call call = {0};
    struct text output = {0};
    make_call(job, &call);
    text_free(&job->errors);
    process_finish(&job->worker, NULL, NULL);
    process_start(call_simt, &call, &job->worker);
    process_listen(&job->worker, &output, &job->errors);
    job->vectorised = verdicts_read(job, &output);
    if (!job->vectorised && job->no_vectors.size == 0)
        text_add(&job->no_vectors, "the SIMT compiler crashed");
    int status = job->vectorised
                     ? 0 : process_finish(&job->worker, NULL, NULL);
    text_free(&output);
    list_free(&call.command);
    return status;
}

// --- Either tier -------------------------------------------------------------

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

static int compile_by_simt(struct job *job)
{
    int status = call_child(job);
    bool crashed = status >= CLANG_CRASHED && !job->options->untrusted;
    if (!crashed)
        status = clang_result(job, status);
    if (!crashed && status != CC_OK)
        return status;
    // A crash may be the SIMT compiler's alone; an error of the source is told
    // by the ordinary compilation.
    if (!job->vectorised)
        status = crashed ? clang_run(job, "-c", "kernel.o")
                         : clang_run_again(job, "-c", "kernel.o");
    if (status == CC_OK && must_vectorise(job))
        status = job->vectorised ? report_refused(job)
                                 : refuse_tier(job, job->no_vectors.data);
    return status;
}

int tiers_compile(struct job *job)
{
    if (job->choices.debug) {
        text_add(&job->no_vectors, "it is compiled for debugging");
        return clang_run(job, "-c", "kernel.o");
    }
    if (is_scalar(job))
        text_add(&job->no_vectors, "--tier=F was asked for");
    return compile_by_simt(job);
}

// Why a kernel has no lanes; NULL if it has.
static const char *reason_of(const struct job *job, size_t kernel)
{
    if (!job->vectorised || is_scalar(job))
        return job->no_vectors.data;
    return kernel < job->kernels.count ? job->verdicts[kernel].why : NULL;
}

void tiers_note(struct job *job)
{
    const bool asked = job->choices.debug || is_scalar(job);
    for (size_t i = 0; i < job->unit.kernel_count; i++) {
        struct elf_kernel *kernel = &job->unit.kernels[i];
        if (job->vectorised && i < job->kernels.count)
            kernel->flags |= job->verdicts[i].flags;
        if (asked)
            kernel->flags |= RNL_CPU_KERNEL_ASKED;
        kernel->reason = reason_of(job, i);
    }
}

void tiers_report(struct job *job)
{
    for (size_t i = 0; i < job->kernels.count; i++) {
        const char *why = reason_of(job, i);
        text_format(&job->log, "%s: remark: kernel '%s': tier %s%s\n",
                    job->options->name, job->kernels.items[i],
                    why ? "F: " : "B", why ? why : "");
    }
}
