// Module options and sources, as the core checks, copies and names them.
//
// Input: options, one a line, "===", name expressions, "===", headers, each a
// name, a space and its text, "===", source.
#include "base/hash.h"
#include "core/module/source.h"
#include "core/object/context_object.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 16 };

// Of files that the source includes, wherever this runs.
static void compare_files(const struct source *source,
                          const struct source *copy)
{
    struct hash128 one, other;
    bool found = source_hash_files(source, &one);
    fuzz_require(source_hash_files(copy, &other) == found,
                 "a copy includes files as its source does");
    fuzz_require(!found || (one.low == other.low && one.high == other.high),
                 "a copy includes the same files");
}

static void compare(const struct source *source)
{
    struct source_copy *copy = source_copy(source);
    struct source_key one, other;
    fuzz_require(copy, "memory for a copy");
    fuzz_require(source_key_make(&one, source, "fuzz") &&
                     source_key_make(&other, &copy->source, "fuzz"),
                 "memory for keys");
    fuzz_require(one.size == other.size && one.hash == other.hash &&
                     memcmp(one.data, other.data, one.size) == 0,
                 "a copy has the key of its source");
    fuzz_require(source_is_closed(source) == source_is_closed(&copy->source),
                 "a copy includes what its source does");
    source_key_finish(&one);
    source_key_finish(&other);
    compare_files(source, &copy->source);
    source_copy_free(copy);
}

static size_t read_headers(char *text, rnl_header *headers)
{
    char *lines[MOST];
    size_t count = fuzz_lines(text, lines, MOST);
    for (size_t i = 0; i < count; i++) {
        char *space = strchrnul(lines[i], ' ');
        headers[i].name = lines[i];
        headers[i].source = *space ? space + 1 : NULL;
        *space = 0;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    char *expressions = fuzz_cut(text), *headers = fuzz_cut(expressions);
    char *source = fuzz_cut(headers);
    char *words[MOST], *names[MOST];
    rnl_header given[MOST];
    rnl_module_options options = {
        .struct_size = sizeof options,
        .options = (const char *const *)words,
        .option_count = fuzz_lines(text, words, MOST),
        .name_expressions = (const char *const *)names,
        .name_expression_count = fuzz_lines(expressions, names, MOST),
        .headers = given,
        .header_count = read_headers(headers, given),
    };
    rnl_module_options read;
    struct source checked;
    rnl_status status = source_check(source, &options, &read, &checked);
    if (status == RNL_OK)
        compare(&checked);
    else
        fuzz_require(rnl_last_error()->message[0], "a refusal has a sentence");
    free(text);
    return 0;
}
