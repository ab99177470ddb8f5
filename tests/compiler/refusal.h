// What tests of refused sources share.
#pragma once

#include "build.h"

#include <stdio.h>
#include <string.h>

static struct built built;

// What a source must bring. Compilers differ in where something begins, so a
// place may end after its line.
struct refusal {
    const char *source;
    const char *place;
    const char *sentence;
};

static inline int count_errors(const char *log)
{
    int count = 0;
    while ((log = strstr(log, "error: ")))
        count++, log++;
    return count;
}

static inline bool is_told(const char *log, const char *place,
                           const char *sentence)
{
    for (const char *line = log; *line; line += strcspn(line, "\n") + 1) {
        const char *found = strstr(line, sentence);
        if (strncmp(line, place, strlen(place)) == 0 && found &&
            found < line + strcspn(line, "\n"))
            return true;
        if (!strchr(line, '\n'))
            break;
    }
    return false;
}

static inline void refuses_with(const struct refusal *refusal,
                                const char *arguments)
{
    char words[256];
    snprintf(words, sizeof words, "--source @/source --name k.cu %s",
             arguments);
    built_write(&built, "source", refusal->source);
    built_make(&built, words);
    if (built.status != 1 ||
        !is_told(built.log, refusal->place, refusal->sentence) ||
        count_errors(built.log) != 1 || strstr(built.log, "rnl"))
        fail_msg("%d: %s: %s%s", built.status, refusal->source, built.log,
                 "is not what was expected");
    assert_null(built.library);
    built_close(&built);
}

static inline void refuse(const struct refusal *refusals, size_t count)
{
    for (size_t i = 0; i < count; i++)
        refuses_with(&refusals[i], "");
}

#define REFUSE(refusals) refuse(refusals, sizeof refusals / sizeof *refusals)
#define K "extern \"C\" __global__ void k(int *o) "
#define MISSING " is not supported by Runnel on the CPU\n"

// Compiles, without a word.
static inline void is_taken(const char *arguments)
{
    built_make(&built, arguments);
    assert_string_equal(built.log, "");
    assert_int_equal(built.status, 0);
}

// Each alone, for debuggers as well: what is optimised away then stays.
static inline void take(const char *const *sources)
{
    for (; *sources; sources++)
        for (int debug = 0; debug < 2; debug++) {
            built_write(&built, "source", *sources);
            built_make(&built, debug ? "--source @/source --option -G"
                                     : "--source @/source");
            if (built.status != 0 || built.log[0])
                fail_msg("%d: %s: %s", built.status, *sources, built.log);
            built_close(&built);
        }
}
