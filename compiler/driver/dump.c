// Dumps for users: assembly, and LLVM IR after stages or after one pass.
//
// Compilers write into the private folder, the only place where compilers of
// untrusted source may write. This process copies from there.

#include "driver/driver.h"

#include <stdlib.h>
#include <unistd.h>

// The stages in the order of compilation. "fixed" is code for one block size.
static const char *const stages[] = {
    "source", "threads", "vectors", "finished", "fixed", "fixed.finished",
};

static int copy_out(const char *from, const char *to)
{
    struct text text = {0};
    int status = CC_OK;
    if (!text_read_file(&text, from) ||
        !text_write_file(to, text.data, text.size))
        status = report_file("write", to);
    text_free(&text);
    return status;
}

static int dump_assembly(struct job *job)
{
    char path[4200];
    int status = CC_OK;
    in_folder(path, "kernel.s");
    if (access(path, R_OK) != 0)
        status = clang_run_again(job, "-S", "kernel.s");
    return status == CC_OK ? copy_out(path, job->options->dump_assembly)
                           : status;
}

// The IR that the object was made of where that is clang's alone.
static int make_scalar(struct job *job)
{
    struct list *arguments = &job->flags.arguments;
    list_add(arguments, "-emit-llvm");
    int status =
        clang_run_again(job, "-S", DUMP_IR_STEM ".finished.ll");
    free(arguments->items[--arguments->count]);
    return status;
}

// Copies the dump of a stage, if the dump exists. *copied becomes true then.
static int copy_stage(const struct job *job, const char *stage, bool *copied)
{
    char path[4200];
    struct text name = {0}, wanted = {0};
    text_format(&name, DUMP_IR_STEM ".%s.ll", stage);
    text_format(&wanted, "%s.%s.ll", job->options->dump_ir, stage);
    in_folder(path, name.data);
    bool there = access(path, R_OK) == 0;
    int status = there ? copy_out(path, wanted.data) : CC_OK;
    *copied |= there;
    text_free(&name);
    text_free(&wanted);
    return status;
}

// A pass may have a dump of code for all block sizes, and one of code for one
// block size.
static int dump_pass(struct job *job)
{
    const char *pass = job->options->dump_after;
    struct text fixed = {0};
    bool copied = false;
    text_format(&fixed, "fixed.%s", pass);
    int status = copy_stage(job, pass, &copied);
    if (status == CC_OK)
        status = copy_stage(job, fixed.data, &copied);
    if (!copied)
        text_format(&job->log, "%s: note: the pass '%s' did not run\n",
                    job->options->name, pass);
    text_free(&fixed);
    return status;
}

static int dump_ir(struct job *job)
{
    int status = CC_OK;
    bool copied = false;
    if (job->options->dump_after)
        return dump_pass(job);
    if (!job->vectorised)
        status = make_scalar(job);
    for (size_t i = 0; status == CC_OK && i < sizeof stages / sizeof stages[0];
         i++)
        status = copy_stage(job, stages[i], &copied);
    return status;
}

int dump_write(struct job *job)
{
    int status = CC_OK;
    if (job->options->dump_assembly)
        status = dump_assembly(job);
    if (status == CC_OK && job->options->dump_ir)
        status = dump_ir(job);
    return status;
}
