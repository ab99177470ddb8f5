// Kernel files and the compiler's options, for the commands that compile.
#pragma once

#include <runnel/base.h>

// Words for the compiler, owned.
struct words {
    char **items;
    size_t count;
};

// Adds `prefix` and `text`, together one word. An exit code.
int words_add(struct words *words, const char *prefix, const char *text);
void words_free(struct words *words);

// Lets `file` include what lies beside it, as with every compiler.
int words_add_own_folder(struct words *words, const char *file);

// All of a file, or of standard input for "-", with a zero behind it. An exit
// code, after a complaint if it is not EXIT_OK.
int source_read(const char *path, char **out_text, size_t *out_size);

// The name of a file in diagnostics.
const char *source_name(const char *path);
