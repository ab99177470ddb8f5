// Kernel arguments as they are written on the command line:
//
//   TYPE:VALUE                     a scalar
//   buffer:TYPE:COUNT[:PATTERN]    a device buffer and its first contents
//   null                           a null pointer
#pragma once

#include "value.h"

enum pattern {
    PATTERN_ZEROS,
    PATTERN_ONES,
    PATTERN_IOTA,    // 0, 1, 2, …
    PATTERN_RANDOM,  // by `seed`
    PATTERN_VALUES,  // the ones in `text`, over and over
    PATTERN_FILE,    // the bytes of the file named by `text`
};

struct argument {
    const struct value_type *type;  // NULL: a null pointer
    bool is_buffer;
    size_t count;                   // elements of a buffer
    enum pattern pattern;
    uint64_t seed;
    const char *text;               // points into the specification
    unsigned char value[VALUE_MAX_SIZE];  // of a scalar
};

// Reads a specification, which must outlive `*out`; the result as for the
// functions of parse.h.
const char *argument_parse(const char *text, struct argument *out);

// Bytes of a buffer.
size_t argument_size(const struct argument *argument);

// Writes the first contents of a buffer, argument_size bytes, to `data`. False
// after a complaint about the file that they come from.
bool argument_fill(const struct argument *argument, void *data);
