// A source as tokens, without knowing what they mean.
#pragma once

#include "cc.h"

struct token {
    const char *start;  // in the text that was read
    size_t size;
};

struct tokens {
    struct token *items;  // reading a little beyond the end is harmless
    size_t count, capacity;
};

void tokens_read(const char *text, struct tokens *tokens);
void tokens_free(struct tokens *tokens);

// Of words: names, keywords and numbers.
bool token_has(int c);
bool token_is(struct token token, const char *text);
bool token_same(struct token token, struct token other);
bool token_is_any(struct token token, const char *const *words);  // to NULL
bool token_is_word(struct token token);
// Those that take arguments in brackets and are no functions.
bool token_takes_brackets(struct token token);

// After a comment or a directive that ends with its line.
const char *tokens_skip_line(const char *p);

// The index after token `i`, or after the bracket that closes the one there.
size_t tokens_next(const struct tokens *s, size_t i);

// The index after the bracket, or the angle, that closes the one at `i`. Angles
// may be operators as well: s->count if none closes it before a semicolon.
size_t tokens_skip_brackets(const struct tokens *s, size_t i);
size_t tokens_skip_angles(const struct tokens *s, size_t i);

// The index after the attributes that may be at `i`: [[gnu::noinline]].
size_t tokens_skip_attributes(const struct tokens *s, size_t i);

// The index after `requires` at `i` and, in an expression, what that requires.
// Braces after a clause are a function's.
size_t tokens_skip_requirement(const struct tokens *s, size_t i);

// Whether the brace at `i` begins the members of a class or enumeration in a
// declaration from token `from` on.
bool tokens_open_class(const struct tokens *s, size_t from, size_t i);

// Whether one of the words, up to NULL, is there before token `to`.
bool tokens_have(const struct tokens *s, size_t from, size_t to,
                 const char *const *words);

// Whether a parameter makes a template of the function whose parameters begin
// at token `open`: k(auto *p).
bool tokens_have_auto(const struct tokens *s, size_t open);

// The source text from token `from` up to, without, token `to`, in one line.
char *tokens_copy(const struct tokens *s, size_t from, size_t to);

// The token that names the function declared from token `i` on, the word before
// the first bracket, and the bracket that opens its parameters. s->count if
// there is none.
size_t tokens_find_function(const struct tokens *s, size_t i, size_t *open);

// The brace that begins the body of the function whose parameters end before
// token `i`, or the semicolon that stands for it.
size_t tokens_find_body(const struct tokens *s, size_t i);

// --- rules.c ----------------------------------------------------------------

// Add what CUDA refuses and a C++ compiler does not: anywhere, in a kernel's
// declaration from token `from`, whose __global__ comes before token `i`, in
// the braces of a class or a function.
void rules_check(const struct tokens *s, struct scan *scan);
void rules_check_kernel(const struct tokens *s, size_t from, size_t i,
                        bool in_namespace, struct scan *scan);
void rules_check_body(const struct tokens *s, size_t from, size_t to,
                      struct scan *scan);
void rules_refuse(struct scan *scan, struct token token,
                  const char *sentence);
// Counts the scope that begins at token `i` in scan->depth, to be reduced at
// its end. Too deep a one is refused, once: who reads it recurses.
bool rules_enter(const struct tokens *s, size_t i, struct scan *scan);
// Whether something of that name is declared as one of the device. One of the
// characters, if there are any, comes after a function's.
bool rules_are_of_device(const struct tokens *s, struct token name,
                         const char *next);

// --- hosts.c ----------------------------------------------------------------

// Adds functions and variables that are the host's for want of a word.
void hosts_check(const struct tokens *s, struct scan *scan);
