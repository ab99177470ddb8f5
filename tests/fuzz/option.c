// Options of runnel-cc, one word a line.
#include "compiler/driver/driver.h"
#include "fuzz.h"

#include <stdlib.h>

enum { WORDS = 64 };

static void make_flags(const struct choices *choices)
{
    struct flags flags = {0};
    flags_make(choices, &flags);
    list_free(&flags.arguments);
    list_free(&flags.includes);
    text_free(&flags.defines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *lines[WORDS];
    struct list words = {0}, notes = {0};
    struct choices choices = {0};
    struct text problem = {0};
    size_t count = fuzz_lines(text, lines, WORDS);
    for (size_t i = 0; i < count; i++)
        list_add(&words, lines[i]);
    bool read = choices_read(&words, &choices, &notes, &problem);
    fuzz_require(read == (problem.size == 0), "a refusal has a sentence");
    if (read)
        make_flags(&choices);
    choices_free(&choices);
    list_free(&words);
    list_free(&notes);
    text_free(&problem);
    free(text);
    return 0;
}
