// Kernel arguments as they are written on the command line.
#include "argument.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "parse.h"

// The part of `text` behind `prefix`, or NULL.
static const char *behind(const char *text, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

// The part of `text` before the next `stop`, as a string of its own; NULL when
// the word is too long.
static const char *copy_part(const char *text, char stop, char part[64])
{
    const char *end = strchrnul(text, stop);
    size_t length = (size_t)(end - text);
    if (length >= 64)
        return NULL;
    memcpy(part, text, length);
    part[length] = 0;
    return part;
}

// Reads the value at the start of the list and moves on behind it.
static const char *next_value(const struct value_type *type, const char **list,
                              void *out)
{
    char part[64];
    if (!copy_part(*list, ',', part))
        return "has a value that is too long";
    const char *problem = value_parse(type, part, out);
    if (problem)
        return problem;
    *list = strchrnul(*list, ',');
    if (**list == ',')
        ++*list;
    else
        *list = NULL;
    return NULL;
}

static const char *check_values(const struct argument *argument)
{
    unsigned char value[VALUE_MAX_SIZE];
    const char *list = argument->text;
    while (list)
        if (next_value(argument->type, &list, value))
            return "has a value that does not fit its type";
    return NULL;
}

static const char *parse_pattern(const char *text, struct argument *out)
{
    const char *rest;
    if (!strcmp(text, "zeros")) {
        out->pattern = PATTERN_ZEROS;
    } else if (!strcmp(text, "ones")) {
        out->pattern = PATTERN_ONES;
    } else if (!strcmp(text, "iota")) {
        out->pattern = PATTERN_IOTA;
    } else if (!strcmp(text, "random")) {
        out->pattern = PATTERN_RANDOM;
    } else if ((rest = behind(text, "random:"))) {
        out->pattern = PATTERN_RANDOM;
        if (parse_unsigned(rest, UINT64_MAX, &out->seed))
            return "has a seed that is not a whole number";
    } else if ((rest = behind(text, "="))) {
        out->pattern = PATTERN_VALUES;
        out->text = rest;
        return check_values(out);
    } else if ((rest = behind(text, "file:"))) {
        out->pattern = PATTERN_FILE;
        out->text = rest;
        if (!rest[0])
            return "names no file";
    } else {
        return "has a pattern that is none of zeros, ones, iota, random, "
               "random:SEED, =VALUE,... and file:PATH";
    }
    return NULL;
}

// The type before the colon at `*text`, which moves on behind it.
static const char *parse_type(const char **text, struct argument *out)
{
    const char *colon = strchr(*text, ':');
    if (!colon)
        return "is none of TYPE:VALUE, buffer:TYPE:COUNT[:PATTERN] and null";
    out->type = value_type_find(*text, (size_t)(colon - *text));
    if (!out->type)
        return "has a type that is unknown; the types are " VALUE_TYPE_NAMES;
    *text = colon + 1;
    return NULL;
}

static const char *parse_buffer(const char *text, struct argument *out)
{
    out->is_buffer = true;
    const char *problem = parse_type(&text, out);
    if (problem)
        return problem;
    char count[64];
    if (!copy_part(text, ':', count) || parse_size(count, &out->count))
        return "has a count that is not a number with an optional K, M or G";
    if (out->count > SIZE_MAX / out->type->size)
        return "has a count that is too large";
    const char *colon = strchr(text, ':');
    return colon ? parse_pattern(colon + 1, out) : NULL;
}

const char *argument_parse(const char *text, struct argument *out)
{
    struct argument argument = {0};
    const char *problem, *rest = behind(text, "buffer:");
    if (rest)
        problem = parse_buffer(rest, &argument);
    else if (!strcmp(text, "null"))
        problem = NULL;
    else if (!(problem = parse_type(&text, &argument)) &&
             value_parse(argument.type, text, argument.value))
        problem = "has a value that does not fit its type";
    if (!problem)
        *out = argument;
    return problem;
}

size_t argument_size(const struct argument *argument)
{
    return argument->is_buffer ? argument->count * argument->type->size : 0;
}

static bool fill_from_file(const struct argument *argument, void *data)
{
    size_t size = argument_size(argument);
    FILE *file = fopen(argument->text, "rb");
    size_t got = file ? fread(data, 1, size, file) : 0;
    bool failed = !file || ferror(file);
    if (failed)
        complain("'%s' cannot be read: %s", argument->text, strerror(errno));
    else if (got < size)
        complain("'%s' has %zu bytes where the buffer needs %zu",
                 argument->text, got, size);
    if (file)
        fclose(file);
    return !failed && got == size;
}

static void fill_from_values(const struct argument *argument, char *data)
{
    const char *list = argument->text;
    for (size_t i = 0; i < argument->count; i++) {
        next_value(argument->type, &list, data + i * argument->type->size);
        if (!list)
            list = argument->text;
    }
}

bool argument_fill(const struct argument *argument, void *data)
{
    const struct value_type *type = argument->type;
    uint64_t state = argument->seed;
    switch (argument->pattern) {
    case PATTERN_FILE:
        return fill_from_file(argument, data);
    case PATTERN_VALUES:
        fill_from_values(argument, data);
        return true;
    case PATTERN_ZEROS:
        memset(data, 0, argument_size(argument));
        return true;
    default:
        break;
    }
    for (size_t i = 0; i < argument->count; i++) {
        void *element = (char *)data + i * type->size;
        if (argument->pattern == PATTERN_RANDOM)
            value_random(type, &state, element);
        else
            value_from_integer(type, argument->pattern == PATTERN_ONES ? 1 : i,
                               element);
    }
    return true;
}
