// The parts of the prelude that only some sources need: most kernels would pay
// for them in compile time for nothing.
#include "cc.h"

#include <stdio.h>
#include <string.h>

// A part is compiled where RNL_NEEDS_<name> is defined.
struct part {
    const char *name;
    const char *words[9];  // any of them in the source asks for the part
};

static const struct part parts[] = {
    {"WARP",
     {"shfl", "syncwarp", "activemask", "ballot", "any_sync", "all_sync",
      "reduce_"}},
    {"ATOMIC", {"atomic"}},
    {"ROUNDING", {"_rn", "_rz", "_ru", "_rd"}},
    {"SPECIAL", {"inv", "erfcx", "cyl_bessel", "norm"}},
    {"SIMD", {"__v", "__dp"}},
    {"HEAP", {"malloc", "free", "new", "delete", "virtual", "~"}},
    {"UNSUPPORTED",
     {"tex", "surf", "wmma", "cluster", "cuda", "__is", "__cvta", "__pipeline",
      "maxnreg"}},
};

// Headers that bring a part with them.
static const struct {
    const char *header;
    const char *parts[3];
} headers[] = {
    {"cuda_fp16.h", {"ROUNDING", "NARROW", "HALF"}},
    {"cuda_fp16.hpp", {"ROUNDING", "NARROW", "HALF"}},
    {"cuda_bf16.h", {"ROUNDING", "NARROW", "BFLOAT"}},
    {"cuda_bf16.hpp", {"ROUNDING", "NARROW", "BFLOAT"}},
    {"cooperative_groups.h", {"WARP", "GROUPS"}},
    {"cooperative_groups/reduce.h", {"WARP", "GROUPS"}},
    {"cooperative_groups/scan.h", {"WARP", "GROUPS"}},
    {"cooperative_groups/memcpy_async.h", {"WARP", "GROUPS"}},
    {"math_constants.h", {"LIMITS"}},
    {"limits.h", {"LIMITS"}},
    {"climits", {"LIMITS"}},
    {"float.h", {"LIMITS"}},
    {"cfloat", {"LIMITS"}},
};

static const char *const refused[] = {
    "mma.h", "cuda_fp8.h", "cuda/barrier", "cuda/pipeline", "cuda/atomic",
    "cuda/semaphore", "cuda/latch", "cuda_pipeline.h", "cuda_awbarrier.h",
    "cuda/std/barrier", "cuda/std/atomic", "cub/cub.cuh"};

void parts_ask(const char *source, bool all, struct text *text)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        bool wanted = all;
        for (size_t w = 0; w < 9 && parts[i].words[w]; w++)
            wanted |= strstr(source, parts[i].words[w]) != NULL;
        if (wanted)
            text_format(text, "#define RNL_NEEDS_%s\n", parts[i].name);
    }
}

// Goes back to the prelude for the parts. While kernels are searched there is
// none.
static void write_header(size_t i, struct text *text)
{
    text_add(text, "#pragma GCC system_header\n#ifdef RNL_HAS_CORE\n");
    for (size_t p = 0; p < 3 && headers[i].parts[p]; p++)
        text_format(text, "#define RNL_NEEDS_%s\n", headers[i].parts[p]);
    text_format(text, "#include \"%s../" CC_PRELUDE_FILE "\"\n#endif\n",
                strchr(headers[i].header, '/') ? "../" : "");
}

bool parts_header(size_t i, struct text *name, struct text *text)
{
    const size_t count = sizeof headers / sizeof *headers;
    if (i < count) {
        text_add(name, headers[i].header);
        write_header(i, text);
    } else if (i - count < sizeof refused / sizeof *refused) {
        text_add(name, refused[i - count]);
        text_format(text,
                    "#error <%s> is not supported by Runnel on the CPU\n",
                    name->data);
    } else {
        return false;
    }
    return true;
}
