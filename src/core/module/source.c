#include "core/module/source.h"

#include "core/backend.h"
#include "core/module/dump.h"
#include "core/object/check.h"

#include <string.h>

#define COUNT_MAX 65536  // of options, headers, expressions
#define NAME_DEFAULT "kernel.cu"
#define TIMEOUT_DEFAULT_NS (60 * UINT64_C(1000000000))

// --- Checks ----------------------------------------------------------------

static rnl_status check_count(const void *array, size_t count,
                              const char *parameter, const char *counter)
{
    if (count > COUNT_MAX)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, counter,
                       "'%s' is %zu where at most %d are possible", counter,
                       count, COUNT_MAX);
    if (count > 0 && !array)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, parameter,
                       "'%s' is NULL though '%s' is %zu", parameter, counter,
                       count);
    return RNL_OK;
}

static rnl_status refuse_item(const char *parameter, size_t index,
                              const char *what)
{
    return fail_at(RNL_ERROR_INVALID_ARGUMENT, parameter,
                   "'%s[%zu]%s", parameter, index, what);
}

static rnl_status check_strings(const char *const *strings, size_t count,
                                const char *parameter, const char *counter)
{
    rnl_status status = check_count(strings, count, parameter, counter);
    for (size_t i = 0; status == RNL_OK && i < count; i++)
        if (!strings[i])
            status = refuse_item(parameter, i, "' is NULL");
        else if (!strings[i][0])
            status = refuse_item(parameter, i, "' is empty");
    return status;
}

static rnl_status check_headers(const rnl_header *headers, size_t count)
{
    rnl_status status =
        check_count(headers, count, "options.headers", "options.header_count");
    for (size_t i = 0; status == RNL_OK && i < count; i++)
        if (!headers[i].name || !headers[i].name[0])
            status = refuse_item("options.headers", i,
                                 ".name' is NULL or empty");
        else if (!headers[i].source)
            status = refuse_item("options.headers", i, ".source' is NULL");
    return status;
}

static rnl_status check_options(const rnl_module_options *options)
{
    rnl_status status =
        check_strings(options->options, options->option_count,
                      "options.options", "options.option_count");
    if (status == RNL_OK)
        status = check_headers(options->headers, options->header_count);
    if (status == RNL_OK)
        status = check_strings(options->name_expressions,
                               options->name_expression_count,
                               "options.name_expressions",
                               "options.name_expression_count");
    return status;
}

rnl_status source_check(const char *text, const rnl_module_options *given,
                        rnl_module_options *options, struct source *out)
{
    rnl_status status = check_pointer(text, "source");
    if (status == RNL_OK)
        status = options_read(options, sizeof *options, given, "options");
    if (status == RNL_OK)
        status = check_options(options);
    rnl_dump dump = {0};
    if (status == RNL_OK && options->dump)
        status = dump_check(options->dump, &dump);
    if (status != RNL_OK)
        return status;
    if (!options->name || !options->name[0])
        options->name = NAME_DEFAULT;
    if (options->timeout_ns == 0)
        options->timeout_ns = TIMEOUT_DEFAULT_NS;
    // NVRTC refuses a byte order mark, which editors may write.
    if (strncmp(text, "\xEF\xBB\xBF", 3) == 0)
        text += 3;
    *out = (struct source){text, options, dump};
    return RNL_OK;
}

// --- Copies ----------------------------------------------------------------

// Filled twice: once without memory, to learn the size.
struct source_piece {
    char *data;
    size_t size;
};

static void *place(struct source_piece *piece, const void *from, size_t size)
{
    char *to = piece->data ? piece->data + piece->size : NULL;
    if (to && size)
        memcpy(to, from, size);
    piece->size += (size + 7) & ~(size_t)7;
    return to;
}

static const char *place_string(struct source_piece *piece, const char *string)
{
    return string ? place(piece, string, strlen(string) + 1) : NULL;
}

static const char *const *place_strings(struct source_piece *piece,
                                        const char *const *strings,
                                        size_t count)
{
    const char **list = place(piece, strings, count * sizeof *list);
    for (size_t i = 0; i < count; i++) {
        const char *string = place_string(piece, strings[i]);
        if (list)
            list[i] = string;
    }
    return list;
}

static const rnl_header *place_headers(struct source_piece *piece,
                                       const rnl_header *headers, size_t count)
{
    rnl_header *list = place(piece, headers, count * sizeof *list);
    for (size_t i = 0; i < count; i++) {
        const char *name = place_string(piece, headers[i].name);
        const char *text = place_string(piece, headers[i].source);
        if (list) {
            list[i].name = name;
            list[i].source = text;
        }
    }
    return list;
}

static void copy_into(struct source_piece *piece, const struct source *source,
                      struct source_copy *copy)
{
    const rnl_module_options *from = source->options;
    place(piece, copy, sizeof *copy);
    copy->options = *from;
    copy->options.name = place_string(piece, from->name);
    copy->options.label = NULL;
    copy->options.dump = NULL;
    copy->options.options =
        place_strings(piece, from->options, from->option_count);
    copy->options.headers =
        place_headers(piece, from->headers, from->header_count);
    copy->options.name_expressions = place_strings(
        piece, from->name_expressions, from->name_expression_count);
    copy->source.text = place_string(piece, source->text);
    copy->size = piece->size;
}

struct source_copy *source_copy(const struct source *source)
{
    struct source_copy counted = {0};
    struct source_piece piece = {0};
    copy_into(&piece, source, &counted);
    struct source_copy *copy = mem_allocate(piece.size);
    if (!copy)
        return NULL;
    piece = (struct source_piece){.data = (char *)copy};
    copy_into(&piece, source, &counted);
    *copy = counted;
    copy->source.options = &copy->options;
    return copy;
}

void source_copy_free(struct source_copy *copy)
{
    if (copy)
        mem_release(copy, copy->size);
}

// --- The key ---------------------------------------------------------------
//
// A list of numbers and length-prefixed strings, so that no two different
// sources have the same bytes. Written a second time, with the known size, if
// the first buffer was too small.

struct writer {
    char *data;
    size_t room, size;
};

static void put(struct writer *to, const void *bytes, size_t size)
{
    to->size += size;
    if (to->size <= to->room)
        memcpy(to->data + to->size - size, bytes, size);
}

static void put_number(struct writer *to, uint64_t number)
{
    put(to, &number, sizeof number);
}

static void put_bytes(struct writer *to, const char *bytes, size_t size)
{
    put_number(to, size);
    put(to, bytes, size);
}

static void put_string(struct writer *to, const char *string)
{
    put_bytes(to, string, strlen(string));
}

static void put_strings(struct writer *to, const char *const *strings,
                        size_t count)
{
    put_number(to, count);
    for (size_t i = 0; i < count; i++)
        put_string(to, strings[i]);
}

static void put_all(struct writer *to, const struct source *source,
                    size_t text_size, const char *prefix)
{
    const rnl_module_options *options = source->options;
    put_string(to, prefix);
    put_string(to, options->name);
    put_strings(to, options->options, options->option_count);
    put_number(to, options->header_count);
    for (size_t i = 0; i < options->header_count; i++) {
        put_string(to, options->headers[i].name);
        put_string(to, options->headers[i].source);
    }
    put_strings(to, options->name_expressions,
                options->name_expression_count);
    put_bytes(to, source->text, text_size);
}

static bool is_plain(const struct source *source, const char *prefix)
{
    const rnl_module_options *options = source->options;
    return options->option_count == 0 && options->header_count == 0 &&
           options->name_expression_count == 0 && !prefix[0] &&
           strcmp(options->name, NAME_DEFAULT) == 0;
}

bool source_key_make(struct source_key *key, const struct source *source,
                     const char *prefix)
{
    key->plain = is_plain(source, prefix) ? source->text : NULL;
    key->text_size = strlen(source->text);
    struct writer writer = {key->small, sizeof key->small, 0};
    put_all(&writer, source, key->text_size, prefix);
    key->data = key->small;
    key->size = writer.size;
    if (key->size > sizeof key->small) {
        key->data = mem_allocate(key->size);
        if (!key->data)
            return false;
        writer = (struct writer){key->data, key->size, 0};
        put_all(&writer, source, key->text_size, prefix);
    }
    key->hash = hash_64(key->data, key->size);
    return true;
}

void source_key_finish(struct source_key *key)
{
    if (key->data != key->small)
        mem_release(key->data, key->size);
    key->data = NULL;
}
