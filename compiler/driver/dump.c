// Texts for people: the assembly of a compilation, and the LLVM IR of its
// stages.
//
// Compilers write into the private folder, which is all that those of untrusted
// source may write to. From there this process copies.

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

static int copy_stage(const struct job *job, const char *stage)
{
    char path[4200];
    struct text name = {0}, wanted = {0};
    text_format(&name, DUMP_IR_STEM ".%s.ll", stage);
    text_format(&wanted, "%s.%s.ll", job->options->dump_ir, stage);
    in_folder(path, name.data);
    int status =
        access(path, R_OK) == 0 ? copy_out(path, wanted.data) : CC_OK;
    text_free(&name);
    text_free(&wanted);
    return status;
}

static int dump_ir(struct job *job)
{
    int status = CC_OK;
    if (!job->vectorised)
        status = make_scalar(job);
    for (size_t i = 0; status == CC_OK && i < sizeof stages / sizeof stages[0];
         i++)
        status = copy_stage(job, stages[i]);
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
