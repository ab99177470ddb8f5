// Room hip: runnel-hip-cc, which has hiprtc compile for AMD GPUs.
#pragma once

#include "base/base.h"

// The command line.
struct hip_job {
    const char *output, *names;  // files for the code object and for symbols
    const char *source, *name;
    const char *library, *comgr;  // file or name of hiprtc, and of libamd_comgr
    const char *arch;
    long parent;
    struct list options, headers, expressions;
};

// --- options.c ---------------------------------------------------------------

// The user's options as hiprtc and the source want them.
struct hip_choices {
    struct list words;     // for hiprtc
    struct list includes;  // headers in front of the source
    bool default_device;   // functions without a word are the device's
    bool opens_files;      // there are folders of headers
};

bool hip_choices_read(const struct hip_job *job, struct hip_choices *choices,
                      struct text *problem);
void hip_choices_free(struct hip_choices *choices);

// --- headers.c ---------------------------------------------------------------

// Adds names and texts of all headers that Runnel brings, but for names in
// `taken` (every second item of it is a name).
void hip_headers_add(const struct list *taken, struct list *names,
                     struct list *texts);

// Adds the lines that include what the texts ask for.
void hip_headers_ask(const struct list *texts, bool all, struct text *text);

// --- sections.cmake's file ---------------------------------------------------

struct hip_section {
    const char *name, *text;
};
extern const struct hip_section hip_sections[];  // ends with NULL

// --- hiprtc_library.c --------------------------------------------------------

struct hip_source {
    struct text text;
    struct list names, texts;  // of headers
};

// Compiles and writes the files. Returns an exit code.
int hip_compile(const struct hip_job *job, const struct hip_source *source,
                const struct list *options);
