// Kernel sources through runnel-cc, up to where it starts a compiler, and what
// compilers say through the filter.
//
// Input: source, "===", name expressions, one a line, "===", output of a
// compiler. The parts behind may be missing.
#include "compiler/job.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { EXPRESSIONS = 8, MOST = 4 };

static struct cc_options options;
static struct job job;

static void report(const char *at, const char *sentence)
{
    location_report(&job.scan, options.name, at, "error", sentence, &job.log);
}

// What can be asked of what was scanned: as many times as is usual.
static void look(void)
{
    bool has_value;
    const struct scan *scan = &job.scan;
    for (size_t i = 0; i < scan->refusal_count && i < SCAN_REFUSALS; i++)
        report(scan->refusals[i].at, scan->refusals[i].sentence);
    for (size_t i = 0; i < scan->global_count && i < MOST; i++)
        report(scan_find(scan, "__shared__", scan->globals[i].name,
                         &has_value), "a variable");
    for (size_t i = 0; i < scan->kernel_count && i < MOST; i++) {
        report(scan->kernels[i].at, "a kernel");
        scan_find(scan, "static", scan->kernels[i].name, &has_value);
        table_place(scan, &options.expressions, i);
        for (size_t k = 0; k < options.expressions.count; k++)
            table_has_name(&scan->kernels[i], options.expressions.items[k]);
    }
    table_place(scan, &options.expressions, scan->kernel_count + MOST);
}

// The front end on one source: all of it that runs in this process. Another one
// is called from here and nowhere else.
static void read_source(const char *source, unsigned choices)
{
    struct text before = {0}, after = {0}, table = {0};
    job.scan.int128 = choices & 1;
    job.scan.default_device = choices & 2;
    scan_source(source, &job.scan);
    parts_ask(source, choices & 4, &before);
    own_make_way(source, &before, &after);
    table_write(&job.scan, &options.expressions, "clang 19", &job.kernels,
                &table);
    look();
    text_free(&before);
    text_free(&after);
    text_free(&table);
}

static void read_errors(const char *errors)
{
    parts_missed(errors);
    diagnostics_blame_table(errors);
    diagnostics_blame_user(errors);
    diagnostics_filter(errors, &job, &job.log);
}

// Whether the preprocessor has to look first, for sources with such macros.
static void read_directives(const char *source)
{
    struct choices choices = {.standard = "-std=c++17", .target = "native"};
    struct flags flags = {0};
    list_add(&choices.macros, "DX=1");
    flags_make(&choices, &flags);
    scan_needs_cpp(source, &flags);
    list_free(&choices.macros);
    list_free(&flags.arguments);
    list_free(&flags.includes);
    text_free(&flags.defines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *source = fuzz_text(data, size), *lines[EXPRESSIONS];
    char *expressions = fuzz_cut(source), *errors = fuzz_cut(expressions);
    size_t count = fuzz_lines(expressions, lines, EXPRESSIONS);
    options = (struct cc_options){.name = "kernel.cu"};
    job = (struct job){.options = &options};
    for (size_t i = 0; i < count; i++)
        list_add(&options.expressions, lines[i]);
    // A copy of its own, so that nothing readable lies behind the source.
    char *alone = strdup(source);
    fuzz_require(alone, "memory");
    read_directives(alone);
    read_source(alone, (unsigned)size);
    read_errors(errors);
    scan_free(&job.scan);
    free(alone);
    text_free(&job.log);
    list_free(&job.kernels);
    list_free(&options.expressions);
    free(source);
    return 0;
}
