// Reading numbers and names from the command line. Every function returns NULL
// and writes its result, or returns what is wrong with the text, to be put
// behind it in a sentence ("is not a whole number"), and writes nothing.
#pragma once

#include <runnel/base.h>

#define DEVICE_API_SIZE 16

// A whole number from 0 to `max`, decimal or 0x…, without sign or spaces.
const char *parse_unsigned(const char *text, uint64_t max, uint64_t *out);

// A whole number from `min` to `max`, with an optional sign.
const char *parse_signed(const char *text, int64_t min, int64_t max,
                         int64_t *out);

// Any real number that a double can hold, also inf and nan.
const char *parse_real(const char *text, double *out);

// A number with an optional K, M or G (or Ki, Mi, Gi), which count 1024.
const char *parse_size(const char *text, size_t *out);

// "X", "X,Y" or "X,Y,Z" with ',' or 'x' between; missing axes are 1.
const char *parse_dim3(const char *text, rnl_dim3 *out);

// "cuda" or "cuda:1".
const char *parse_device(const char *text, char api[DEVICE_API_SIZE],
                         size_t *out_index);

// Which elements of which argument to print.
struct print_range {
    bool one_argument;   // only `argument`; otherwise every buffer
    size_t argument;     // from 0, from 1 in the text
    size_t first, end;   // elements first … end - 1
};

// "[ARGUMENT=]FIRST:END".
const char *parse_range(const char *text, struct print_range *out);
