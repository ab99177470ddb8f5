// Source to compile: checked, and as the bytes that identify it.
#pragma once

#include "base/hash.h"
#include "core/backend.h"

// Checks the text and the options and fills `out`, whose options live in
// `options`; defaults are filled in. Arrays and strings stay the caller's.
rnl_status source_check(const char *text, const rnl_module_options *given,
                        rnl_module_options *options, struct source *out);

// Refuses, by name, every compiler option that is not in option_table.h or
// means nothing to the backend.
rnl_status source_check_options(const struct source *source,
                                const struct backend *backend);

// A deep copy in one allocation; NULL when memory is short.
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

// True if the result depends only on the key and the compiler: no files from
// include directories, no absolute includes.
bool source_is_closed(const struct source *source);

// The hash of all files that an open source may include, transitively, and of
// the places where a missing file could appear. False if unknown: a macro names
// a file, an option does so in an unsupported way, or there are too many files.
bool source_hash_files(const struct source *source, struct hash128 *out_hash);
