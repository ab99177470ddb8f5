// Runs the linker. Undefined symbols, and symbols that would come from the
// loading process, are reported at the lines that use them.
#include "driver/driver.h"
#include "import_table.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

static int call_linker(void *argument)
{
    const struct list *command = argument;
    return clang_link((const char *const *)command->items, command->count);
}

// Runs the linker with these words more, which are freed.
static int run_linker(const char *output, struct list *words,
                      struct text *errors)
{
    static const char *const first[] = {"ld.lld", SIMT_LINK_WORDS, "-o"};
    struct list command = {0};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        list_add(&command, first[i]);
    list_add(&command, output);
    for (size_t i = 0; i < words->count; i++)
        list_add(&command, words->items[i]);
    list_free(words);
    int status = process_run(call_linker, &command, NULL, errors);
    list_free(&command);
    return status;
}

// --- Symbols of others -------------------------------------------------------

// Adds the undefined symbols of a file: all, or those that no process gives to
// kernels. A missing hidden symbol belongs to nobody else and is NULL. False if
// the file cannot be read.
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

// --- The lines that use them -------------------------------------------------

// Links so that the linker complains of `foreign` alone: all else counts as
// defined.
static void ask_linker(struct job *job, const struct list *foreign)
{
    struct list words = {0}, all = {0};
    list_add(&words, "-z");
    list_add(&words, "defs");
    list_add(&words, "kernel.o");
    list_add(&words, "stub.o");
    read_foreign("kernel.o", true, &all);
    for (size_t i = 0; i < all.count; i++)
        if (!has(foreign, all.items[i]))
            list_format(&words, "--defsym=%s=0", all.items[i]);
    list_free(&all);
    text_free(&job->errors);
    run_linker("missing.so", &words, &job->errors);
}

// Adds the file and line of ">>> referenced by k.cu:3 (./k.cu:3)" or, where the
// line is not known, the name of the source.
static void add_use(const struct job *job, const char *place, struct text *out)
{
    size_t size = strcspn(place, " \n");
    if (size == 0 || !isdigit((unsigned char)place[size - 1])) {
        text_add(out, job->options->name);
        return;
    }
    while (strncmp(place, "./", 2) == 0)
        place += 2, size -= 2;
    size_t folder = generated_folder(place);
    text_add_bytes(out, place + folder, size - folder);
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

// Says in the words of a compiler which symbols the linker misses:
//   ld.lld: error: undefined symbol: NAME
//   >>> referenced by FILE:LINE (PATH:LINE)
static void explain_uses(const struct job *job, struct text *said)
{
    static const char missing[] = "symbol: ", use[] = ">>> referenced by ";
    const char *line = job->errors.data ? job->errors.data : "", *name = NULL;
    text_add(said, "");
    for (; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *end = line + strcspn(line, "\n");
        const char *at = strstr(line, missing);
        struct text one = {0};
        if (at && at < end)
            name = at + strlen(missing);
        if (!name || strncmp(line, use, strlen(use)) != 0)
            continue;
        add_use(job, line + strlen(use), &one);
        add_missing(name, strcspn(name, "\n"), &one);
        if (!strstr(said->data, one.data))
            text_add(said, one.data);
        text_free(&one);
    }
}

// Reports symbols that no linker complains about, such as weak symbols.
static void explain_names(const struct job *job, const struct list *foreign,
                          struct text *said)
{
    for (size_t i = 0; i < foreign->count; i++) {
        text_add(said, job->options->name);
        add_missing(foreign->items[i], strlen(foreign->items[i]), said);
    }
}

// The linker knows lines where there is debug information; without optimisation
// code is moved less far.
static int refuse_foreign(struct job *job, const struct list *foreign)
{
    size_t before = job->log.size;
    struct text said = {0};
    list_add(&job->flags.arguments, "-g1");
    list_add(&job->flags.arguments, "-O0");
    list_format(&job->flags.arguments, "-fdebug-prefix-map=%s=.",
                work_folder());
    if (clang_run(job, "-c", "kernel.o") == CC_OK) {
        ask_linker(job, foreign);
        explain_uses(job, &said);
    }
    if (said.size == 0)
        explain_names(job, foreign, &said);
    text_cut(&job->log, before);
    text_add(&job->log, said.data);
    text_free(&said);
    return CC_NOT_COMPILED;
}

// --- Linking -----------------------------------------------------------------

// Makes a stand-in for a library of the C library: an object that is linked
// with the stand-in asks its loader for the library by name.
static bool add_library(const char *file, const char *name,
                        const struct list *symbols, struct list *words)
{
    struct list own = {0}, none = {0};
    struct text empty = {0};
    if (symbols->count == 0)
        return true;
    elf_write_stub(&none, &empty);
    bool written = write_file("empty.o", empty.data, empty.size);
    text_free(&empty);
    list_format(&own, "-soname=%s", name);
    list_add(&own, "empty.o");
    for (size_t i = 0; i < symbols->count; i++)
        list_format(&own, "--defsym=%s=0", symbols->items[i]);
    list_add(words, file);
    return run_linker(file, &own, NULL) == 0 && written;
}

// Adds what the object needs beside itself: functions of numbers are the C
// library's, the compiler's own functions are in builtins.o.
static bool add_libraries(struct list *words)
{
    struct list all = {0}, math = {0}, vectors = {0};
    bool own = false;
    bool done = read_foreign("kernel.o", true, &all);
    for (size_t i = 0; i < all.count; i++) {
        const char *symbol = all.items[i];
        own |= strncmp(symbol, "__", 2) == 0;
        if (strncmp(symbol, "_ZGV", 4) == 0)
            list_add(&vectors, symbol);
        else if (import_is_math(symbol, strlen(symbol)))
            list_add(&math, symbol);
    }
    if (own) {
        done &= write_file("builtins.o", cc_builtins,
                           (size_t)(cc_builtins_end - cc_builtins));
        list_add(words, "builtins.o");
        // A source may define one of them: the first that is named counts.
        list_add(words, "--allow-multiple-definition");
    }
    done &= add_library("libm.so", "libm.so.6", &math, words) &&
            add_library("libmvec.so", "libmvec.so.1", &vectors, words);
    list_free(&all);
    list_free(&math);
    list_free(&vectors);
    return done;
}

// Whether the SIMT compiler's child has, and with nothing missing.
static bool is_linked(const struct job *job)
{
    char path[4200];
    in_folder(path, SIMT_LINKED);
    return job->vectorised && !job->unit.needs_libraries &&
           job->unit.dynamic.count == 0 && access(path, R_OK) == 0;
}

static int link_object(struct job *job)
{
    struct list words = {0};
    if (is_linked(job))
        return CC_OK;
    list_add(&words, "kernel.o");
    list_add(&words, "stub.o");
    if (job->unit.needs_libraries && !add_libraries(&words))
        return list_free(&words), report_file("write", "a temporary file");
    text_free(&job->errors);
    int status = run_linker(SIMT_LINKED, &words, &job->errors);
    if (status == 0)
        return CC_OK;
    // A hidden name is missed at once.
    struct text said = {0};
    explain_uses(job, &said);
    const bool explained = said.size > 0;
    if (explained)
        text_add(&job->log, said.data);
    else
        text_format(&job->log, "runnel-cc: the object cannot be linked:\n%s",
                    job->errors.data ? job->errors.data : "");
    text_free(&said);
    return explained ? CC_NOT_COMPILED : CC_CRASHED;
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
