// A growing text. Running out of memory is remembered, not reported each time.
#pragma once

#include <runnel/base.h>

struct text {
    char *data;  // zero-terminated once something was added
    size_t length, capacity;
    bool failed;  // memory was short: what is in `data` is not all
};

void text_add(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void text_add_bytes(struct text *text, const void *bytes, size_t size);

// Never NULL.
const char *text_get(const struct text *text);

// Finds the line of a compiler's log that states the error: the first with
// "error:", else the first. Returns the length, at most 512.
int text_first_error(const char *log, const char **out_line);

// Ends a text that filled `store` and was cut with dots, not in the middle of a
// character.
void text_end_cut(char *store, size_t size);

// Frees and empties the text.
void text_finish(struct text *text);
