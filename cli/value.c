// Element types that kernels take.
#include "value.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"

// The first name of each width is the one that is printed; the rest follow
// what C programmers type. `long` has the width it has in kernels on LP64.
static const struct value_type types[] = {
    {"float", VALUE_FLOATING, 4},  {"double", VALUE_FLOATING, 8},
    {"char", VALUE_SIGNED, 1},     {"uchar", VALUE_UNSIGNED, 1},
    {"short", VALUE_SIGNED, 2},    {"ushort", VALUE_UNSIGNED, 2},
    {"int", VALUE_SIGNED, 4},      {"uint", VALUE_UNSIGNED, 4},
    {"long", VALUE_SIGNED, 8},     {"ulong", VALUE_UNSIGNED, 8},
    {"bool", VALUE_UNSIGNED, 1},   {"size_t", VALUE_UNSIGNED, 8},
    {"f32", VALUE_FLOATING, 4},    {"f64", VALUE_FLOATING, 8},
    {"i8", VALUE_SIGNED, 1},       {"u8", VALUE_UNSIGNED, 1},
    {"i16", VALUE_SIGNED, 2},      {"u16", VALUE_UNSIGNED, 2},
    {"i32", VALUE_SIGNED, 4},      {"u32", VALUE_UNSIGNED, 4},
    {"i64", VALUE_SIGNED, 8},      {"u64", VALUE_UNSIGNED, 8},
};

const struct value_type *value_type_find(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strlen(types[i].name) == length &&
            memcmp(types[i].name, name, length) == 0)
            return &types[i];
    return NULL;
}

rnl_element value_element(const struct value_type *type)
{
    static const rnl_element signed_ones[] = {
        [1] = RNL_ELEMENT_INT8, [2] = RNL_ELEMENT_INT16,
        [4] = RNL_ELEMENT_INT32, [8] = RNL_ELEMENT_INT64};
    if (type->class == VALUE_FLOATING)
        return type->size == 8 ? RNL_ELEMENT_FLOAT64 : RNL_ELEMENT_FLOAT32;
    return signed_ones[type->size] + (type->class == VALUE_UNSIGNED);
}

static const char *parse_floating(const struct value_type *type,
                                  const char *text, void *out)
{
    double value;
    const char *problem = parse_real(text, &value);
    if (problem)
        return problem;
    if (type->size == 8) {
        memcpy(out, &value, 8);
        return NULL;
    }
    float narrow = (float)value;
    if (isinf(narrow) && !isinf(value))
        return "is too large";
    memcpy(out, &narrow, 4);
    return NULL;
}

const char *value_parse(const struct value_type *type, const char *text,
                        void *out)
{
    if (type->class == VALUE_FLOATING)
        return parse_floating(type, text, out);
    int bits = (int)type->size * 8;
    uint64_t integer;
    const char *problem;
    if (strcmp(type->name, "bool") == 0) {
        problem = parse_unsigned(text, 1, &integer);
    } else if (type->class == VALUE_UNSIGNED) {
        problem = parse_unsigned(text, UINT64_MAX >> (64 - bits), &integer);
    } else {
        int64_t max = INT64_MAX >> (64 - bits), value = 0;
        problem = parse_signed(text, -max - 1, max, &value);
        integer = (uint64_t)value;
    }
    if (!problem)
        value_from_integer(type, integer, out);
    return problem;
}

void value_from_integer(const struct value_type *type, uint64_t integer,
                        void *out)
{
    if (type->class != VALUE_FLOATING) {
        // The low bytes come first on every machine that Runnel knows.
        memcpy(out, &integer, type->size);
    } else if (type->size == 8) {
        double value = (double)integer;
        memcpy(out, &value, sizeof value);
    } else {
        float value = (float)integer;
        memcpy(out, &value, sizeof value);
    }
}

// splitmix64: tiny, and the same numbers on every machine.
static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void value_random(const struct value_type *type, uint64_t *state, void *out)
{
    uint64_t bits = random_next(state);
    if (type->class != VALUE_FLOATING) {
        bool is_bool = strcmp(type->name, "bool") == 0;
        value_from_integer(type, is_bool ? bits & 1 : bits, out);
    } else if (type->size == 8) {
        double value = (double)(bits >> 11) * 0x1p-53;
        memcpy(out, &value, sizeof value);
    } else {
        float value = (float)(bits >> 40) * 0x1p-24f;
        memcpy(out, &value, sizeof value);
    }
}

static void print_float(const void *value, char text[VALUE_TEXT_SIZE])
{
    float number;
    memcpy(&number, value, sizeof number);
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, VALUE_TEXT_SIZE, "%.*g", digits, (double)number);
        if (strtof(text, NULL) == number)
            return;
    }
}

static void print_double(const void *value, char text[VALUE_TEXT_SIZE])
{
    double number;
    memcpy(&number, value, sizeof number);
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, VALUE_TEXT_SIZE, "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            return;
    }
}

static void print_integer(const struct value_type *type, const void *value,
                          char text[VALUE_TEXT_SIZE])
{
    uint64_t bits = 0;
    memcpy(&bits, value, type->size);
    if (type->class == VALUE_UNSIGNED) {
        snprintf(text, VALUE_TEXT_SIZE, "%" PRIu64, bits);
        return;
    }
    // Up to the top and down again: the sign bit fills what was not there.
    int unused = 64 - 8 * (int)type->size;
    int64_t number = (int64_t)(bits << unused) >> unused;
    snprintf(text, VALUE_TEXT_SIZE, "%" PRId64, number);
}

void value_print(const struct value_type *type, const void *value,
                 char text[VALUE_TEXT_SIZE])
{
    if (type->class != VALUE_FLOATING)
        print_integer(type, value, text);
    else if (type->size == 8)
        print_double(value, text);
    else
        print_float(value, text);
}
