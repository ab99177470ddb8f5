// Command lines of `runnel`, one word a line. No file is read or written, and
// nothing is compiled: these functions fail here.
#include "cli/cli.h"
#include "cli/run.h"
#include "fuzz.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 64, BUFFER_MOST = 1 << 16 };

// --- In the place of others --------------------------------------------------

int __wrap_source_read(const char *path, char **out_text, size_t *out_size);
rnl_status __wrap_rnl_module_compile(rnl_context context, const char *source,
                                     const rnl_module_options *options,
                                     rnl_module *out_module);

int __wrap_source_read(const char *path, char **out_text, size_t *out_size)
{
    *out_text = strdup(path);
    *out_size = strlen(path);
    return *out_text ? EXIT_OK : EXIT_FAILED;
}

rnl_status __wrap_rnl_module_compile(rnl_context context, const char *source,
                                     const rnl_module_options *options,
                                     rnl_module *out_module)
{
    (void)context, (void)source, (void)options, (void)out_module;
    return RNL_ERROR_UNSUPPORTED;
}

// --- What `runnel run` reads -------------------------------------------------

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

static void read_options(int count, char **words)
{
    struct run_options options;
    bool done;
    optind = 0;  // getopt forgets the line before
    int code = run_options_read(&options, count, words, &done);
    if (code == EXIT_OK && !done)
        look(&options);
    run_options_free(&options);
}

// --- All ---------------------------------------------------------------------

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"info", command_info},   {"compile", command_compile},
    {"run", command_run},     {"cache", command_cache},
    {"help", command_help},
};

static void run(int count, char **words)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(words[0], commands[i].name) != 0)
            continue;
        complain_as(commands[i].name);
        optind = 0;
        int code = commands[i].run(count, words);
        fuzz_require(code >= EXIT_OK && code <= EXIT_USAGE, "an exit code");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *words[WORDS + 1];
    int count = (int)fuzz_lines(text, words, WORDS);
    words[count] = NULL;
    setenv("RUNNEL_CACHE_DIR", fuzz_folder(), 1);
    for (int i = 0; i < count; i++)
        read_word(words[i]);
    if (count > 0) {
        read_options(count, words);
        run(count, words);
    }
    free(text);
    return 0;
}
