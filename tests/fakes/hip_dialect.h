// The sources that runnel-hip-cc gives hiprtc, for compilers that have a
// prelude of their own.
#pragma once

#include <stdbool.h>
#include <string.h>

// The source begins with inclusions of the prelude's sections, and its headers
// end with those.
#define SECTIONS "runnel-hip/"

static inline const char *hip_behind_prelude(const char *source)
{
    static const char inclusion[] = "#include \"" SECTIONS;
    while (strncmp(source, inclusion, strlen(inclusion)) == 0)
        source = strchr(source, '\n') + 1;
    return source;
}

static inline int hip_own_headers(int count, const char *const *names)
{
    int own = 0;
    while (own < count && strncmp(names[own], SECTIONS, strlen(SECTIONS)) != 0)
        own++;
    return own;
}

static inline bool hip_starts(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

// clang's options as NVRTC's, or NULL.
static inline const char *hip_option_of(const char *option)
{
    static const char *const same[][2] = {
        {"-ffast-math", "--use_fast_math"},
        {"-ffp-contract=off", "--fmad=false"},
        {"-ffp-contract=fast", "--fmad=true"},
        {"-fgpu-flush-denormals-to-zero", "--ftz=true"},
        {"-fno-gpu-flush-denormals-to-zero", "--ftz=false"},
        {"-w", "-w"},
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (strcmp(option, same[i][0]) == 0)
            return same[i][1];
    return hip_starts(option, "-D") || hip_starts(option, "-U") ||
                   hip_starts(option, "-I") || hip_starts(option, "-std=")
               ? option : NULL;
}
