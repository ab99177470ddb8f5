// What compilers say without a line, or about assembly, is asked once more.
#include "job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// --- Inline assembly ---------------------------------------------------------

bool explains_assembly(const struct job *job)
{
    static const char *const said[] = {
        "<inline asm>", " in asm\n", "in inline assembly", "error in backend"};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (strstr(job->errors.data, said[i]))
            return true;
    return false;
}

int explain_assembly(struct job *job, size_t before)
{
    struct text log = {0};
    text_add(&log, job->log.data ? job->log.data + before : "");
    job_cut_log(job, before);
    // In functions that nobody calls assembly is no error.
    list_add(&job->flags.arguments, "-fno-gnu-inline-asm");
    command_compile(job, "-fsyntax-only", "kernel.o");
    if (job->log.size == before)
        text_add(&job->log, log.data);
    text_free(&log);
    return CC_NOT_COMPILED;
}

bool mentions_assembly(const struct job *job)
{
    return job->scan.source && strstr(job->scan.source, "asm");
}

// Whether compilers copied text of the source into assembly: between their
// marks lies more than their own comments.
static bool has_foreign_text(const char *assembly)
{
    static const char *const starts[] = {
        "#APP", "# Start of file scope inline", "//APP", "// Start of file"};
    static const char *const ends[] = {
        "#NO_APP", "# End of file scope inline", "//NO_APP", "// End of file"};
    bool inside = false;
    for (const char *p = assembly; *p; p += strcspn(p, "\n"), p += *p == '\n') {
        const char *word = p + strspn(p, " \t");
        for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
            inside |= strncmp(word, starts[i], strlen(starts[i])) == 0;
            inside &= strncmp(word, ends[i], strlen(ends[i])) != 0;
        }
        if (inside && *word && *word != '\n' && *word != '#' &&
            strncmp(word, "//", 2) != 0)
            return true;
    }
    return false;
}

// Empty assembly, which only holds compilers back, is no assembly; nor is that
// of functions which nobody calls.
int judge_assembly(struct job *job)
{
    char path[4200];
    struct text assembly = {0};
    int status = CC_OK;
    const size_t before = job->log.size;
    in_folder(path, "kernel.s");
    if (access(path, R_OK) != 0)
        status = command_compile_again(job, "-S", "kernel.s");
    if (status == CC_OK && text_read_file(&assembly, path) &&
        has_foreign_text(assembly.data)) {
        status = explain_assembly(job, before);
        if (job->log.size == before)
            location_report(&job->scan, job->options->name, NULL, "error",
                            CC_NO_ASSEMBLY, &job->log);
    }
    text_free(&assembly);
    return status;
}

// --- Dynamic initialisation --------------------------------------------------

// clang would name constructors that do nothing, too, so it is asked only now.
int explain_construction(struct job *job)
{
    const size_t before = job->log.size;
    list_add(&job->flags.arguments, "-Werror=global-constructors");
    int status = command_compile(job, "-fsyntax-only", "kernel.o");
    if (status != CC_OK)
        return status;
    if (job->log.size == before)
        location_report(&job->scan, job->options->name, NULL, "error",
                        "dynamic initialization is not supported by Runnel on "
                        "the CPU", &job->log);
    return CC_NOT_COMPILED;
}
