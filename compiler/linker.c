// Running the linker. What it misses, or would take from the process that loads
// the object, is told at the lines that use it.
#include "elf_view.h"
#include "import_table.h"
#include "job.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

static void add_words(struct list *command, const char *const *words)
{
    for (; *words; words++)
        list_add(command, *words);
}

// --- Symbols of others -------------------------------------------------------

// Adds the names that a file leaves to others: all, or those that no process
// gives to kernels. A hidden name that is missing is nobody else's: it is NULL.
// False if the file cannot be read.
static bool read_foreign(const char *name, bool all, struct list *foreign)
{
    char path[4200];
    struct text file = {0};
    struct elf_view view;
    in_folder(path, name);
    bool read = text_read_file(&file, path) && elf_open(&file, &view);
    for (size_t i = 1; read && i < view.symbol_count; i++) {
        const Elf64_Sym *symbol = &view.symbols[i];
        const char *missing = elf_symbol_name(&view, symbol);
        if (symbol->st_shndx == SHN_UNDEF && missing[0] &&
            ELF64_ST_TYPE(symbol->st_info) != STT_TLS &&
            ELF64_ST_VISIBILITY(symbol->st_other) == STV_DEFAULT &&
            (all || !import_is_allowed(missing)))
            list_format(foreign, "%.*s", (int)strcspn(missing, "@"), missing);
    }
    text_free(&file);
    return read;
}

static bool has(const struct list *names, const char *name)
{
    size_t i = 0;
    while (i < names->count && strcmp(names->items[i], name) != 0)
        i++;
    return i < names->count;
}

// --- What they are used for --------------------------------------------------

// Links without libraries. Whatever else is missing than `foreign` counts as
// defined, so that the linker complains of that alone.
static int ask_linker(struct job *job, const struct list *foreign)
{
    static const char *const words[] = {
        "-shared", "-nostdlib", "-Wl,-z,defs,--gc-sections,-Bsymbolic", "-o",
        "missing.so", "kernel.o", "stub.o", "-lgcc", NULL};
    struct list command = {0}, all = {0};
    list_add(&command, job->compiler.path);
    add_words(&command, words);
    read_foreign("kernel.o", true, &all);
    for (size_t i = 0; i < all.count; i++)
        if (!has(foreign, all.items[i]))
            list_format(&command, "-Wl,--defsym=%s=0", all.items[i]);
    list_free(&all);
    return command_run(job, &command, NULL);
}

// The file and line of "ld: ././kernel.cu:3: undefined …" or, where they are
// not known, the name of the source.
static void add_use(const struct job *job, const char *line, const char *end,
                    struct text *out)
{
    if (!isdigit((unsigned char)end[-1])) {
        text_add(out, job->options->name);
        return;
    }
    const char *ld = strstr(line, "ld: ");
    line = ld && ld < end ? ld + strlen("ld: ") : line;
    while (strncmp(line, "./", 2) == 0)
        line += 2;
    line += diagnostics_folder(line);
    text_add_bytes(out, line, (size_t)(end - line));
}

static bool is_about_throw(const char *name)
{
    return strncmp(name, "__cxa_", strlen("__cxa_")) == 0 ||
           strncmp(name, "typeinfo for ", strlen("typeinfo for ")) == 0 ||
           strncmp(name, "_ZTI", strlen("_ZTI")) == 0;
}

static void add_missing(const char *name, size_t size, struct text *one)
{
    if (is_about_throw(name))
        text_add(one, ": error: an exception is not supported by Runnel on the "
                      "CPU\n");
    else
        text_format(one, ": error: undefined reference to `%.*s': a kernel can "
                    "use what its source defines and what CUDA has\n",
                    (int)size, name);
}

// Says in the words of a compiler what the linker misses.
static void explain_uses(const struct job *job, struct text *said)
{
    static const char missing[] = ": undefined reference to `";
    const char *line = job->errors.data ? job->errors.data : "";
    text_add(said, "");
    for (; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *what = strstr(line, missing);
        struct text one = {0};
        if (!what || what > line + strcspn(line, "\n"))
            continue;
        const char *name = what + strlen(missing);
        size_t size = strcspn(name, "\n");
        const char *end = memrchr(name, '\'', size);
        add_use(job, line, what, &one);
        add_missing(name, end ? (size_t)(end - name) : size, &one);
        if (!strstr(said->data, one.data))
            text_add(said, one.data);
        text_free(&one);
    }
}

// The same of what no linker complains of, such as weak symbols.
static void explain_names(const struct job *job, const struct list *foreign,
                          struct text *said)
{
    for (size_t i = 0; i < foreign->count; i++) {
        text_add(said, job->options->name);
        add_missing(foreign->items[i], strlen(foreign->items[i]), said);
    }
}

// A linker tells lines where there is debug information.
static int refuse_foreign(struct job *job, const struct list *foreign)
{
    size_t before = job->log.size;
    struct text said = {0};
    ask_linker(job, foreign);
    explain_uses(job, &said);
    list_add(&job->flags.arguments, "-g1");
    // Code is moved less far.
    list_add(&job->flags.arguments, job->compiler.clang ? "-O0" : "-Og");
    list_format(&job->flags.arguments, "-fdebug-prefix-map=%s=.",
                work_folder());
    if (said.size > 0 && command_compile(job, "-c", "kernel.o") == CC_OK &&
        ask_linker(job, foreign) == CC_NOT_COMPILED) {
        text_free(&said);
        explain_uses(job, &said);
    }
    if (said.size == 0)
        explain_names(job, foreign, &said);
    job_cut_log(job, before);
    text_add(&job->log, said.data);
    text_free(&said);
    return CC_NOT_COMPILED;
}

// --- Linking -----------------------------------------------------------------

// Whether runnel-clang has, and with nothing missing.
static bool is_linked(const struct job *job)
{
    char path[4200];
    in_folder(path, SIMT_LINKED);
    return job->vectorised && !job->unit.needs_libraries &&
           job->unit.dynamic.count == 0 && access(path, R_OK) == 0;
}

// The compiler's own library has what few kernels need.
static int link_by_compiler(struct job *job)
{
    static const char *const words[] = {
        "-shared", "-nostdlib",
        "-Wl,-z,noexecstack,-Bsymbolic,--gc-sections",
        "-Wl,-init=rnl_no_init,-fini=rnl_no_fini", "-o", SIMT_LINKED,
        "kernel.o", "stub.o", "-lm", "-lc", "-lgcc", NULL};
    struct list command = {0};
    list_add(&command, job->compiler.path);
    add_words(&command, words);
    return command_run(job, &command, NULL);
}

// The linker alone takes 3 ms where a compiler that starts it takes 20, but
// reading the C library takes it another 12, and the mathematical one 5: first
// with as little as can suffice.
static int link_object(struct job *job)
{
    static const char *const ld[] = {
        "ld", SIMT_LINK_WORDS, "-o", SIMT_LINKED, "kernel.o", "stub.o", NULL};
    static const char *const libraries[][5] = {
        {NULL}, {"-z", "defs", "-lm"}, {"-z", "defs", "-lm", "-lc"}};
    int status = !is_linked(job);
    for (size_t i = job->unit.needs_libraries; status != 0 && i < 3; i++) {
        struct list command = {0};
        add_words(&command, ld);
        add_words(&command, libraries[i]);
        status = process_run(&command, work_folder(), NULL, NULL);
        list_free(&command);
    }
    return status == 0 ? CC_OK : link_by_compiler(job);
}

int linker_run(struct job *job)
{
    struct list foreign = {0};
    int status = link_object(job);
    if (status == CC_OK && read_foreign(SIMT_LINKED, false, &foreign) &&
        foreign.count > 0)
        status = refuse_foreign(job, &foreign);
    list_free(&foreign);
    return status;
}
