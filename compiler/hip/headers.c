// The headers that kernels may include, and the sections of the prelude that a
// source gets without an include where it has one of their words.
#include "hip/hip.h"

#include <string.h>

#define FOLDER "runnel-hip/"

struct section_words {
    const char *section;
    const char *words[12];
};

// "dialect" is first, and for every source.
static const struct section_words asked[] = {
    {"warp", {"shfl", "syncwarp", "activemask", "ballot", "_any", "_all",
              "match", "reduce_"}},
    {"atomic", {"atomic"}},
    {"scoped", {"__nv_atomic", "__NV_"}},
    {"simd", {"__v", "__dp"}},
    {"rounding", {"_ru", "_rd", "_rz"}},
    {"alignment", {"alignas"}},
    {"list", {"initializer_list", ": {"}},
};

struct header {
    const char *name;
    const char *sections[3];
};

static const struct header headers[] = {
    {"cuda_fp16.h", {"half"}},
    {"cuda_fp16.hpp", {"half"}},
    {"cuda_bf16.h", {"half", "bfloat"}},
    {"cuda_bf16.hpp", {"half", "bfloat"}},
    {"cooperative_groups.h", {"groups"}},
    {"cooperative_groups/reduce.h", {"groups"}},
    {"cooperative_groups/scan.h", {"groups"}},
    {"cooperative_groups/memcpy_async.h", {"groups"}},
    {"math_constants.h", {"constants"}},
    {"math.h", {"pi"}},
    {"cmath", {"pi", "cmath"}},
    {"cstdlib", {"cmath"}},
    {"algorithm", {"cmath"}},
    {"initializer_list", {"list"}},
    {"type_traits", {"limits", "traits"}},
    {"limits", {"limits", "traits"}},
    {"limits.h", {"limits"}},
    {"climits", {"limits"}},
    {"float.h", {"limits"}},
    {"cfloat", {"limits"}},
    {"stdint.h", {"limits"}},
    {"cstdint", {"limits"}},
    {"inttypes.h", {"limits"}},
    {"cinttypes", {"limits"}},
    {"assert.h", {NULL}},
    {"cassert", {NULL}},
    {"cstddef", {NULL}},
    {"cstdio", {NULL}},
    {"cstring", {NULL}},
    {"cuda.h", {NULL}},
    {"cuda_runtime.h", {NULL}},
    {"cuda_runtime_api.h", {NULL}},
    {"device_functions.h", {NULL}},
    {"device_launch_parameters.h", {NULL}},
    {"stddef.h", {NULL}},
    {"stdio.h", {NULL}},
    {"stdlib.h", {NULL}},
    {"string.h", {NULL}},
    {"vector_types.h", {NULL}},
};

static bool is_taken(const struct list *taken, const char *name)
{
    for (size_t i = 0; i < taken->count; i++)
        if (strcmp(taken->items[i], name) == 0)
            return true;
    return false;
}

static void write_header(const struct header *header, struct text *text)
{
    const char *up = strchr(header->name, '/') ? "../" : "";
    text_add(text, "#pragma once\n");
    for (size_t i = 0; i < 3 && header->sections[i]; i++)
        text_format(text, "#include \"%s" FOLDER "%s.h\"\n", up,
                    header->sections[i]);
}

void hip_headers_add(const struct list *taken, struct list *names,
                     struct list *texts)
{
    for (const struct hip_section *section = hip_sections; section->name;
         section++) {
        list_format(names, FOLDER "%s.h", section->name);
        list_add(texts, section->text);
    }
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        struct text text = {0};
        if (is_taken(taken, headers[i].name))
            continue;
        write_header(&headers[i], &text);
        list_add(names, headers[i].name);
        list_add(texts, text.data);
        text_free(&text);
    }
}

static bool has_word(const struct section_words *section,
                     const struct list *texts)
{
    for (size_t t = 0; t < texts->count; t++)
        for (size_t i = 0; section->words[i]; i++)
            if (strstr(texts->items[t], section->words[i]))
                return true;
    return false;
}

void hip_headers_ask(const struct list *texts, bool all, struct text *text)
{
    text_add(text, "#include \"" FOLDER "dialect.h\"\n");
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        if (all || has_word(&asked[i], texts))
            text_format(text, "#include \"" FOLDER "%s.h\"\n",
                        asked[i].section);
}
