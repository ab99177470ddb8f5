// Element types that kernels take: names, sizes, text to bytes and back.
#pragma once

#include <runnel/base.h>

enum value_class {
    VALUE_SIGNED,
    VALUE_UNSIGNED,
    VALUE_FLOATING,
};

struct value_type {
    const char *name;      // "float"
    enum value_class class;
    size_t size;           // bytes
};

// No type is wider.
#define VALUE_MAX_SIZE 8

// Enough for any value as text.
#define VALUE_TEXT_SIZE 32

// The type whose name or alias is the first `length` characters of `name`, or
// NULL.
const struct value_type *value_type_find(const char *name, size_t length);

// All type names in one line, for a complaint.
#define VALUE_TYPE_NAMES                                                   \
    "float, double, char, uchar, short, ushort, int, uint, long, ulong, " \
    "bool, size_t, f32, f64, i8 to i64 and u8 to u64"

// The rnl_element for the options of a buffer that holds values of the type.
rnl_element value_element(const struct value_type *type);

// Reads one value; the result as for the functions of parse.h.
const char *value_parse(const struct value_type *type, const char *text,
                        void *out);

// Writes a whole number as a value of the type, cut to its width.
void value_from_integer(const struct value_type *type, uint64_t integer,
                        void *out);

// Writes a random value: floats from 0 to 1, integers over their whole range.
// `state` is any number and moves on.
void value_random(const struct value_type *type, uint64_t *state, void *out);

// Writes the shortest text that gives the same value when read again.
void value_print(const struct value_type *type, const void *value,
                 char text[VALUE_TEXT_SIZE]);
