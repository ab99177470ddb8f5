// Kernel sources through what runnel-cc reads of them itself, and what clang
// says through the filter.
//
// Input: source, "===", output of clang, which may be missing.
#include "compiler/source/source.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static void read_source(const char *source, unsigned choices)
{
    struct text before = {0}, after = {0};
    struct list names = {0};
    prelude_ask(source, choices & 1, &before);
    list_add(&names, source);
    overrides_write(&names, &before, &after);
    list_free(&names);
    text_free(&before);
    text_free(&after);
}

static void read_errors(const char *errors)
{
    struct text text = {0}, log = {0};
    const struct diagnosed source = {.name = "kernel.cu", .text = &text};
    prelude_is_incomplete(errors);
    diagnostics_filter(errors, &source, &log);
    text_free(&log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *source = fuzz_text(data, size);
    char *errors = fuzz_cut(source);
    // A copy of its own, so that nothing readable lies behind the source.
    char *alone = strdup(source);
    fuzz_require(alone, "memory");
    read_source(alone, (unsigned)size);
    read_errors(errors);
    free(alone);
    free(source);
    return 0;
}
