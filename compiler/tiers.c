// Whether threads become lanes or stay what they are, and what comes of it.
#include "clang/clang.h"
#include "job.h"

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
    command_start(job, command, true);
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

static struct simt_verdict *make_verdicts(struct job *job)
{
    if (!job->verdicts)
        job->verdicts = calloc(job->kernels.count + 1, sizeof *job->verdicts);
    if (!job->verdicts)
        text_add(&job->no_vectors, "memory is short");
    return job->verdicts;
}

// --- The SIMT compiler's child ----------------------------------------------

// The object as text: for the user, or to look for the source's own assembly.
static bool wants_assembly(const struct job *job)
{
    return job->options->dump_assembly || mentions_assembly(job);
}

struct call {
    struct list command;
    struct simt_job simt;
};

static int call_simt(void *argument)
{
    struct call *call = argument;
    return clang_vectorise((const char *const *)call->command.items,
                           call->command.count, &call->simt);
}

static void make_call(const struct job *job, struct call *call)
{
    struct simt_job *simt = &call->simt;
    bitcode_command(job, &call->command);
    simt->object = "kernel.o";
    simt->target = job->choices.target;
    simt->scalar_only = is_scalar(job);
    simt->wherever = strcmp(job->choices.tier, "auto") != 0;
    simt->dump = job->options->dump_ir ? DUMP_IR_STEM : NULL;
    simt->assembly = wants_assembly(job) ? "kernel.s" : NULL;
    memcpy(simt->block_size, job->choices.block_size, sizeof simt->block_size);
    if (job->choices.only) {
        simt->only = true;
        simt->kernel = tiers_find_kernel(job);
    }
}

// Reads one line of the child's: "r 3 why" for a kernel that is left to tier F,
// "v 3 1" for one that is not, with its flags, "! sentence" for a failure. True
// for ".", the last line when there is an object.
static bool read_line(struct job *job, const char *line)
{
    unsigned kernel;
    int start = 0;
    if (line[0] == '!')
        text_add(&job->no_vectors, line + 2);
    if (sscanf(line + 1, "%u %n", &kernel, &start) != 1 ||
        kernel >= job->kernels.count)
        return line[0] == '.';
    struct simt_verdict *verdict = &job->verdicts[kernel];
    const char *rest = line + 1 + start;
    if (line[0] == 'r') {
        free(verdict->why);
        verdict->why = strdup(rest);
    } else if (line[0] == 'v') {
        verdict->flags = (uint32_t)strtoul(rest, NULL, 10);
    }
    return false;
}

static bool read_verdicts(struct job *job, struct text *output)
{
    bool made = false;
    char *rest = output->data;
    for (char *line; rest && (line = strsep(&rest, "\n"));)
        if (line[0])
            made |= read_line(job, line);
    if (!made && job->no_vectors.size == 0)
        text_add(&job->no_vectors, "the SIMT compiler crashed");
    return made;
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
    job->vectorised = read_verdicts(job, &output);
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
    if (!make_verdicts(job))
        return command_compile(job, "-c", "kernel.o");
    int status = call_child(job);
    bool crashed = status >= CLANG_CRASHED && !job->options->untrusted;
    if (!crashed)
        status = command_judge(job, status);
    if (!crashed && status != CC_OK)
        return status;
    // A crash may be the SIMT compiler's alone; an error of the source is told
    // by the ordinary compilation.
    if (!job->vectorised)
        status = crashed ? command_compile(job, "-c", "kernel.o")
                         : command_compile_again(job, "-c", "kernel.o");
    if (status == CC_OK && must_vectorise(job))
        status = job->vectorised ? report_refused(job)
                                 : refuse_tier(job, job->no_vectors.data);
    return status;
}

int tiers_compile(struct job *job)
{
    if (job->choices.debug) {
        text_add(&job->no_vectors, "it is compiled for debugging");
        return command_compile(job, "-c", "kernel.o");
    }
    if (is_scalar(job))
        text_add(&job->no_vectors, "--tier=F was asked for");
    return compile_by_simt(job);
}

void tiers_report(struct job *job)
{
    for (size_t i = 0; i < job->kernels.count; i++) {
        const char *why = job->vectorised && !is_scalar(job)
                              ? job->verdicts[i].why : job->no_vectors.data;
        text_format(&job->log, "%s: remark: kernel '%s': tier %s%s\n",
                    job->options->name, job->kernels.items[i],
                    why ? "F: " : "B", why ? why : "");
    }
}
