#include "backends/cuda/ptx.h"

#include "base/alloc.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MAX 4096

// A word or a single character.
struct token {
    const char *start;
    size_t length;  // 0 at the end
};

struct reader {
    const char *at;
    struct token token;
    char *word;  // WORD_MAX bytes
};

// --- Tokens ------------------------------------------------------------------

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("_$.%", c));
}

static const char *skip_string(const char *at)
{
    for (at++; *at && *at != '"' && *at != '\n'; at++)
        at += *at == '\\' && at[1];
    return at + (*at == '"');
}

static const char *skip_space(const char *at)
{
    for (;;) {
        if (isspace((unsigned char)*at)) {
            at++;
        } else if (at[0] == '/' && at[1] == '/') {
            at += strcspn(at, "\n");
        } else if (at[0] == '/' && at[1] == '*') {
            const char *end = strstr(at + 2, "*/");
            at = end ? end + 2 : at + strlen(at);
        } else if (*at == '"') {
            at = skip_string(at);
        } else {
            return at;
        }
    }
}

static bool next(struct reader *reader)
{
    const char *start = skip_space(reader->at), *end = start;
    while (in_word(*end))
        end++;
    if (end == start && *start)
        end++;
    reader->token = (struct token){start, (size_t)(end - start)};
    reader->at = end;
    return end > start;
}

static bool is(const struct reader *reader, const char *word)
{
    const struct token *token = &reader->token;
    return token->length == strlen(word) &&
           memcmp(token->start, word, token->length) == 0;
}

static bool is_directive(const struct reader *reader)
{
    return reader->token.start[0] == '.';
}

static bool is_name(const struct reader *reader)
{
    char c = reader->token.start[0];
    return isalpha((unsigned char)c) || (c && strchr("_$%", c));
}

// Moves behind the next token. The token's number, or 0.
static uint64_t number(struct reader *reader)
{
    if (!next(reader) || !isdigit((unsigned char)reader->token.start[0]))
        return 0;
    return strtoull(reader->token.start, NULL, 0);
}

// Copies the token to reader->word.
static bool take_word(const struct reader *reader)
{
    const struct token *token = &reader->token;
    if (token->length >= WORD_MAX)
        return false;
    memcpy(reader->word, token->start, token->length);
    reader->word[token->length] = '\0';
    return true;
}

// --- Parameters --------------------------------------------------------------

// An integer of eight bytes may be a pointer in the source.
static const struct type {
    const char *name;
    rnl_value_kind kind;
    uint32_t size;
} types[] = {
    {".u8", RNL_VALUE_INTEGER, 1},   {".s8", RNL_VALUE_INTEGER, 1},
    {".u16", RNL_VALUE_INTEGER, 2},  {".s16", RNL_VALUE_INTEGER, 2},
    {".u32", RNL_VALUE_INTEGER, 4},  {".s32", RNL_VALUE_INTEGER, 4},
    {".u64", RNL_VALUE_UNKNOWN, 8},  {".s64", RNL_VALUE_UNKNOWN, 8},
    {".f32", RNL_VALUE_FLOAT, 4},    {".f64", RNL_VALUE_FLOAT, 8},
    {".b8", RNL_VALUE_UNKNOWN, 1},   {".b16", RNL_VALUE_UNKNOWN, 2},
    {".b32", RNL_VALUE_UNKNOWN, 4},  {".b64", RNL_VALUE_UNKNOWN, 8},
    {".f16", RNL_VALUE_UNKNOWN, 2},  {".b128", RNL_VALUE_STRUCT, 16},
};

static const struct type *find_type(const struct reader *reader)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (is(reader, types[i].name))
            return &types[i];
    return NULL;
}

struct declared {
    const struct type *type;
    uint64_t alignment, count;
    bool pointer, array;
};

// Reads up to the comma or the closing bracket.
static struct declared read_declared(struct reader *reader)
{
    struct declared declared = {.count = 1};
    do {
        const struct type *type = find_type(reader);
        if (type)
            declared.type = type;
        else if (is(reader, ".ptr"))
            declared.pointer = true;
        // Behind .ptr, .align is the alignment of the memory pointed to.
        else if (is(reader, ".align") && !declared.pointer)
            declared.alignment = number(reader);
        else if (is(reader, ".align"))
            number(reader);
        else if (is(reader, "[")) {
            declared.array = true;
            declared.count = number(reader);
        }
    } while (next(reader) && !is(reader, ",") && !is(reader, ")"));
    return declared;
}

static void add_parameter(struct image_maker *maker,
                          const struct declared *declared)
{
    if (!declared->type || declared->count > UINT32_MAX) {
        image_add_parameter(maker, RNL_VALUE_UNKNOWN, 0, 0);
        return;
    }
    rnl_value_kind kind = declared->type->kind;
    uint64_t size = declared->type->size * declared->count;
    if (declared->array)
        kind = RNL_VALUE_STRUCT;
    else if (declared->pointer && size == 8)
        kind = RNL_VALUE_POINTER;
    image_add_parameter(maker, kind, size,
                        declared->alignment ? declared->alignment
                                            : declared->type->size);
}

static void read_parameters(struct reader *reader, struct image_maker *maker)
{
    image_add_typed(maker);
    if (!is(reader, "("))
        return;
    while (next(reader) && !is(reader, ")")) {
        struct declared declared = read_declared(reader);
        add_parameter(maker, &declared);
        if (is(reader, ")"))
            break;
    }
}

// --- Kernels and variables ---------------------------------------------------

static void read_entry(struct reader *reader, struct image_maker *maker)
{
    if (!next(reader) || !is_name(reader) || !take_word(reader))
        return;
    const char *behind = reader->at;
    image_add(maker, IMAGE_KERNEL, NULL, reader->word);
    next(reader);
    read_parameters(reader, maker);
    // If a body begins at once, the caller skips the body.
    if (is(reader, "{"))
        reader->at = behind;
}

// True for variables of the compiler itself, which have no name in the source.
static bool is_private(const char *name)
{
    return name[0] == '$' || strncmp(name, "__unnamed_", 10) == 0;
}

static void skip_statement(struct reader *reader)
{
    while (!is(reader, ";") && next(reader))
        continue;
}

static void read_variable(struct reader *reader, struct image_maker *maker)
{
    while (next(reader) && !is_name(reader) && !is(reader, ";")) {
        if (is(reader, "("))  // .attribute's argument
            while (next(reader) && !is(reader, ")"))
                continue;
    }
    if (reader->token.length > 0 && is_name(reader) &&
        take_word(reader) && !is_private(reader->word))
        image_add(maker, IMAGE_VARIABLE, NULL, reader->word);
    skip_statement(reader);
}

static void read_all(struct reader *reader, struct image_maker *maker)
{
    size_t depth = 0;
    bool foreign = false;  // declared here, defined elsewhere
    while (next(reader)) {
        if (is(reader, "{")) {
            depth++;
        } else if (is(reader, "}")) {
            depth -= depth > 0;
        } else if (depth > 0 || !is_directive(reader)) {
            continue;
        } else if (is(reader, ".extern")) {
            foreign = true;
        } else if (is(reader, ".entry")) {
            read_entry(reader, maker);
            foreign = false;
        } else if (is(reader, ".global") || is(reader, ".const")) {
            if (foreign)
                skip_statement(reader);
            else
                read_variable(reader, maker);
            foreign = false;
        } else if (is(reader, ".func")) {
            foreign = false;
        }
    }
}

void ptx_read(const char *text, struct image_maker *maker)
{
    struct reader reader = {.at = text, .word = mem_allocate(WORD_MAX)};
    maker->failed |= !reader.word;
    if (reader.word)
        read_all(&reader, maker);
    mem_release(reader.word, WORD_MAX);
}

// --- Waiting -----------------------------------------------------------------

static bool begins(const struct reader *reader, const char *prefix)
{
    size_t length = strlen(prefix);
    return reader->token.length >= length &&
           memcmp(reader->token.start, prefix, length) == 0;
}

// The wait does not cover the caches for constants and textures, and the
// assembler moves texture reads in front of the wait. The driver assembles for
// linking, which makes calls slower. Kernels with clusters or with waits of
// their own are left as in the source.
static bool stands_against_waiting(const struct reader *reader)
{
    static const char *const prefixes[] = {
        ".const", ".texref", "tex.", "tld4.", "txq.", "call",
        ".explicitcluster", ".reqnctapercluster", "griddepcontrol."};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (begins(reader, prefixes[i]))
            return true;
    return false;
}

static bool may_wait(const char *text)
{
    struct reader reader = {.at = text};
    while (next(&reader))
        if (stands_against_waiting(&reader))
            return false;
    return true;
}

bool ptx_wait_first(const char *text, struct text *out)
{
    struct reader reader = {.at = text};
    const char *copied = text;
    bool entry = false;
    if (!may_wait(text))
        return false;
    while (next(&reader)) {
        if (is(&reader, ".pragma")) {
            skip_statement(&reader);
        } else if (is(&reader, ".entry") || is(&reader, ";")) {
            entry = is(&reader, ".entry");
        } else if (entry && is(&reader, "{")) {
            text_add_bytes(out, copied, (size_t)(reader.at - copied));
            text_add(out, "\n\tgriddepcontrol.wait;");
            copied = reader.at;
            entry = false;
        }
    }
    text_add_bytes(out, copied, strlen(copied));
    return !out->failed;
}
