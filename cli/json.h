// Writes JSON to standard output, value by value. Numbers of 64 bits keep all
// their digits; text that is not UTF-8 is made so.
//
//   struct json json = {0};
//   json_begin(&json, NULL, '{');
//   json_string(&json, "name", "cpu:0");
//   json_end(&json, '}');
#pragma once

#include <runnel/base.h>

struct json {
    int depth;
    bool comma;  // a value of the same object or array came before
};

// Starts an object with '{' or an array with '['. In an object every value has
// a key, in an array and at the top it is NULL.
void json_begin(struct json *json, const char *key, char bracket);
void json_end(struct json *json, char bracket);

void json_string(struct json *json, const char *key, const char *value);
void json_unsigned(struct json *json, const char *key, uint64_t value);
void json_signed(struct json *json, const char *key, int64_t value);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);

// A number that is already text; values that JSON lacks (nan, inf) are
// written as a string.
void json_number(struct json *json, const char *key, const char *digits);

// [x, y, z]
void json_dim3(struct json *json, const char *key, rnl_dim3 dim);
