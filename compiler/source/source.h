// Room source: the text around a kernel source. Sections of the prelude that
// the source needs, names that the source overrides, files that the source
// includes, and clang's diagnostics about the source.
#pragma once

#include "base/base.h"

#include <string.h>

// Generated files, relative to the private folder.
#define CC_PRELUDE_FILE "rnl-prelude.h"
#define CC_DEFINES_FILE "rnl-defines.h"
#define CC_TABLE_FILE "rnl_table"
#define CC_RECORDS_FILE "rnl_records"  // name expressions and table
#define CC_EXPRESSION_FILE "name-expression"
#define CC_HEADER_FOLDER "rnl-headers"
#define CC_STUB_FOLDER "rnl-stubs"
#define CC_PARTS_FOLDER "rnl-parts"  // headers in front of those of -I

// --- embed.cmake -------------------------------------------------------------

extern const char cc_prelude[];
extern const size_t cc_prelude_size;
extern const size_t cc_prelude_core_size;  // up to the #endif that ends it

// --- prelude_sections.c ------------------------------------------------------

// Adds the directives that request the sections which `source` mentions, or all
// sections. The directives go in front of the prelude.
void prelude_ask(const char *source, bool all, struct text *text);

// Adds the directives for the sections that headers of the standard library
// use.
void prelude_ask_library(struct text *text);

// True if errors of the compiler may come from a section that is missing.
bool prelude_is_incomplete(const char *errors);

// The name and text of built-in header number i, which requests a section or is
// refused. False after the last header.
bool prelude_header(size_t i, struct text *name, struct text *text);

// True if a user's header of that name goes before the built-in one: a header
// of the language does. CUDA's own headers are for GPUs in a toolkit's folder.
bool prelude_header_gives_way(const char *header);

// --- user_overrides.c --------------------------------------------------------

// Adds directives around the prelude that rename its functions, types and
// variables in `names`, each name with its declaration in the source.
void overrides_write(const struct list *names, struct text *before,
                     struct text *after);

// --- include_scan.c ----------------------------------------------------------

// Adds the files of -I folders that a text includes, directly or not. False if
// some may be missing: `complete` is false, or a directive has no plain name.
bool include_scan(const struct list *arguments, bool complete,
                  struct text *seen);

// True if an untrusted text has no #embed; otherwise the log has the error.
bool embeds_check(const char *name, const char *text, struct text *log);

// --- diagnostics.c -----------------------------------------------------------

// The source that diagnostics are about.
struct diagnosed {
    const char *name;
    const struct text *text;
    bool no_warnings;
};

// Adds the diagnostics for the user: no generated text, and no errors that
// follow from other errors.
void diagnostics_filter(const char *errors, const struct diagnosed *source,
                        struct text *out);

// The length of a path's prefix that names a generated folder.
size_t generated_folder(const char *path);

// --- diagnostic_block.c: a compiler's messages -------------------------------

static inline bool line_begins(const char *line, size_t size, const char *word)
{
    return size >= strlen(word) && memcmp(line, word, strlen(word)) == 0;
}

// The size of a line with its end.
static inline size_t line_size(const char *line)
{
    size_t size = strcspn(line, "\n");
    return size + (line[size] == '\n');
}

// True for a head: "file:line:…".
bool line_starts_block(const char *line, size_t size);

// A diagnostic: announcing lines, a head "file:line:…", and lines that show the
// place in the source. Other text forms diagnostics without a head.
struct diagnostic {
    const char *start, *end;
    const char *head;
    size_t head_size;
};

// Returns the first diagnostic of a text.
struct diagnostic diagnostic_next(const char *at);

// True if the head of a diagnostic contains a phrase.
bool diagnostic_says(const struct diagnostic *block, const char *words);

// --- diagnostic_hints.c ------------------------------------------------------

// Writes a sentence that tells the user how to mend an error. False if clang's
// sentence is kept.
bool diagnostic_hint(const struct diagnostic *block, struct text *sentence);
