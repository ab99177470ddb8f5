// Command lines of `runnel run`, one word a line, up to where a file is read:
// options, arguments, the contents of buffers, and values as text.
#include "cli/cli.h"
#include "cli/run.h"
#include "fuzz.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 64, BUFFER_MOST = 1 << 16 };

// A value that is printed reads as the same.
static void check_value(const struct value_type *type, const void *value)
{
    char text[VALUE_TEXT_SIZE], again[VALUE_TEXT_SIZE];
    unsigned char read[VALUE_MAX_SIZE];
    value_print(type, value, text);
    const char *problem = value_parse(type, text, read);
    if (strcmp(type->name, "bool") == 0 && problem)
        return;
    fuzz_require(!problem, "what is printed can be read");
    value_print(type, read, again);
    fuzz_require(strcmp(text, again) == 0, "it reads as the same");
}

static void fill(const struct argument *argument)
{
    size_t size = argument_size(argument);
    if (size == 0 || size > BUFFER_MOST || argument->pattern == PATTERN_FILE)
        return;
    unsigned char *data = malloc(size);
    fuzz_require(data && argument_fill(argument, data), "a buffer is filled");
    for (size_t i = 0; i < 4 && i < argument->count; i++)
        check_value(argument->type, data + i * argument->type->size);
    free(data);
}

static void look(const struct run_options *options)
{
    for (size_t i = 0; i < options->argument_count; i++) {
        const struct argument *argument = &options->arguments[i];
        if (argument->is_buffer)
            fill(argument);
        else if (argument->type)
            check_value(argument->type, argument->value);
    }
    for (size_t i = 0; i < options->range_count; i++)
        fuzz_require(options->ranges[i].first <= options->ranges[i].end,
                     "a range does not end before it begins");
}

// Each alone, as other commands read them.
static void read_word(const char *word)
{
    char api[DEVICE_API_SIZE];
    size_t index, size;
    uint64_t number;
    int64_t signed_number;
    rnl_dim3 dim;
    parse_device(word, api, &index);
    parse_size(word, &size);
    parse_unsigned(word, UINT64_MAX, &number);
    parse_signed(word, INT64_MIN, INT64_MAX, &signed_number);
    parse_dim3(word, &dim);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *words[WORDS + 2] = {"run"};
    struct run_options options;
    bool done;
    int count = 1 + (int)fuzz_lines(text, words + 1, WORDS);
    words[count] = NULL;
    for (int i = 1; i < count; i++)
        read_word(words[i]);
    optind = 0;  // getopt forgets the line before
    int code = run_options_read(&options, count, words, &done);
    if (code == EXIT_OK && !done)
        look(&options);
    run_options_free(&options);
    free(text);
    return 0;
}
