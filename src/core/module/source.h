// Source to compile: checked, and as the bytes that identify it.
#pragma once

#include "base/hash.h"
#include "core/backend.h"

// Checks the text and the options and fills `out`, whose options live in
// `options`; defaults are filled in. Arrays and strings stay the caller's.
rnl_status source_check(const char *text, const rnl_module_options *given,
                        rnl_module_options *options, struct source *out);

// Refuses every compiler option that is not one of option_table.h, by its name,
// and those that mean nothing to the backend.
rnl_status source_check_options(const struct source *source,
                                const struct backend *backend);

// A copy with everything it points to, in one piece; NULL when memory is short.
struct source_copy {
    struct source source;
    rnl_module_options options;
    size_t size;
};
struct source_copy *source_copy(const struct source *source);
void source_copy_free(struct source_copy *copy);

// Everything that decides what the source compiles to, but for the compiler and
// for files that the options name.
struct source_key {
    char *data;
    size_t size;
    uint64_t hash;
    const char *plain;  // the text, where there is nothing else; ends the key
    size_t text_size;   // when the key was made
    char small[1024];   // spares short sources the allocation
};

// False when memory is short.
bool source_key_make(struct source_key *key, const struct source *source,
                     const char *prefix);
void source_key_finish(struct source_key *key);

// True when what comes of the source depends on nothing but its key and the
// compiler: no files from include directories, no absolute includes.
bool source_is_closed(const struct source *source);

// The hash of all that a source which is not closed can read: every file that
// it may include, as far as those go, and the places where one could appear
// that is not there. False when that is not known: a macro names a file, an
// option does so in a way that is not followed, or there is too much.
bool source_hash_files(const struct source *source, struct hash128 *out_hash);
