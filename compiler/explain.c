// What compilers say without a line, or about assembly, is asked once more.
#include "job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// --- Inline assembly ---------------------------------------------------------

bool explains_assembly(const struct job *job)
{
    static const char *const clang[] = {
        "<inline asm>", " in asm\n", "in inline assembly", "error in backend",
        NULL};
    static const char *const gcc[] = {
        "Assembler messages:", " 'asm'", "put constraint ",
        "constraint must ", NULL};
    const char *const *said = job->compiler.clang ? clang : gcc;
    while (*said && !strstr(job->errors.data, *said))
        said++;
    return *said;
}

// clang can tell of all of it. In functions that nobody calls it is no error.
static int ask_clang(struct job *job)
{
    list_add(&job->flags.arguments, "-fno-gnu-inline-asm");
    return command_compile(job, "-fsyntax-only", "kernel.o");
}

int explain_assembly(struct job *job, size_t before)
{
    struct text log = {0};
    text_add(&log, job->log.data ? job->log.data + before : "");
    job_cut_log(job, before);
    if (job->compiler.clang)
        ask_clang(job);
    else
        rules_report_assembly(&job->scan, job->options->name, &job->log);
    if (job->log.size == before)
        text_add(&job->log, log.data);
    text_free(&log);
    return CC_NOT_COMPILED;
}

// gcc copies names of symbols and sections into its assembly, whatever they
// contain.
static bool may_read_files(const struct job *job)
{
    return job->options->untrusted && !job->compiler.clang;
}

bool mentions_assembly(const struct job *job)
{
    return may_read_files(job) ||
           (job->scan.source && strstr(job->scan.source, "asm"));
}

// Directives that read files, or make others that do.
static bool has_file_directive(const char *assembly)
{
    static const char *const words[] = {"incbin", ".include", ".macro", ".irp",
                                        ".rep", ".mri"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasestr(assembly, words[i]))
            return true;
    return false;
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
        (has_foreign_text(assembly.data) ||
         (may_read_files(job) && has_file_directive(assembly.data)))) {
        status = explain_assembly(job, before);
        if (job->log.size == before)
            location_report(&job->scan, job->options->name, NULL, "error",
                            CC_NO_ASSEMBLY, &job->log);
    }
    text_free(&assembly);
    return status;
}

// --- Dynamic initialisation --------------------------------------------------

// The name after the number of "\t.file 1 \"k.cu\"", or after the folder of
// "\t.file 0 \"/folder\" \"k.cu\"".
static void read_file_name(const char *line, int number, struct list *files)
{
    const char *end = line + strcspn(line, "\n"), *name = NULL;
    for (const char *p = line; p < end; p++)
        if (*p == '"') {
            name = p + 1;
            p += 1 + strcspn(p + 1, "\"\n");
        }
    while ((int)files->count <= number)
        list_add(files, "");
    if (name) {
        free(files->items[number]);
        files->items[number] = strndup(name, strcspn(name, "\"\n"));
    }
}

static bool is_users(const char *file)
{
    while (strncmp(file, "./", 2) == 0 || strncmp(file, "../", 3) == 0)
        file = strchr(file, '/') + 1;
    return file[0] && strncmp(file, "rnl-", 4) != 0;
}

static void add_place(const char *file, int line, int column, struct text *out)
{
    struct text one = {0};
    text_format(&one, "%s:%d:", file + diagnostics_folder(file), line);
    if (!out->data || !strstr(out->data, one.data))
        text_format(out, "%s%d: error: dynamic initialization is not supported "
                    "by Runnel on the CPU\n", one.data, column);
    text_free(&one);
}

// From assembly: the lines of what runs before any kernel.
static void add_places(const char *assembly, struct text *out)
{
    struct list files = {0};
    bool inside = false;
    int file, line, column;
    for (const char *p = assembly; *p; p += strcspn(p, "\n"), p += *p == '\n') {
        if (sscanf(p, " .file %d", &file) == 1 && file >= 0)
            read_file_name(p, file, &files);
        else if (strncmp(p, "_Z41__static_initialization_and_", 32) == 0 ||
                 strncmp(p, "_GLOBAL__sub_I_", 15) == 0)
            inside = true;
        else if (strncmp(p, "\t.cfi_endproc", 13) == 0)
            inside = false;
        else if (inside &&
                 sscanf(p, " .loc %d %d %d", &file, &line, &column) == 3 &&
                 file >= 0 && (size_t)file < files.count &&
                 is_users(files.items[file]))
            add_place(files.items[file], line, column, out);
    }
    list_free(&files);
}

// gcc tells lines in what it makes for debuggers. What is not inlined has no
// lines there.
static void ask_gcc(struct job *job)
{
    static const char *const words[] = {"-g1", "-O2", "-fno-inline"};
    char path[4200];
    struct text assembly = {0};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        list_add(&job->flags.arguments, words[i]);
    in_folder(path, "explained.s");
    if (command_compile_again(job, "-S", "explained.s") == CC_OK &&
        text_read_file(&assembly, path))
        add_places(assembly.data, &job->log);
    text_free(&assembly);
}

// clang would name constructors that do nothing, too, so it is asked only now.
int explain_construction(struct job *job)
{
    const size_t before = job->log.size;
    if (job->compiler.clang) {
        list_add(&job->flags.arguments, "-Werror=global-constructors");
        int status = command_compile(job, "-fsyntax-only", "kernel.o");
        if (status != CC_OK)
            return status;
    } else {
        ask_gcc(job);
    }
    if (job->log.size == before)
        location_report(&job->scan, job->options->name, NULL, "error",
                        "dynamic initialization is not supported by Runnel on "
                        "the CPU", &job->log);
    return CC_NOT_COMPILED;
}
