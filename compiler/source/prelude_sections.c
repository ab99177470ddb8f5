// The sections of the prelude that only some sources need: most kernels would
// pay for them in compile time for nothing.
#include "source/source.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

// A section is compiled where RNL_NEEDS_<name> is defined. Sections that use
// others share words with them.
struct section {
    const char *name;
    const char *words;  // any of them in the source asks for the section,
    const char *calls;  // or a call of a function that begins so
};

static const struct section sections[] = {
    {"VECTOR", "char1 char2 char3 char4 short1 short2 short3 short4 int1 int2 "
               "int3 int4 long1 long2 long3 long4 float1 float2 float3 float4 "
               "double1 double2 double3 double4 __v __dp", ""},
    {"MATH", "INFINITY NAN inv erfcx cyl_bessel norm _rn _rz _ru _rd",
     "abs acos asin atan brev byte_perm cbrt ceil clz copysign cos double2 "
     "double_as erf exp fabs fdim fdivide ffs finite float_as floor fm fns "
     "frexp funnel hadd hiloint hypot ilogb int_as is j0 j1 jn labs ldexp "
     "lgamma llabs llm llr log longlong_as lr max min mod mul nan nearby "
     "nextafter popc pow rcbrt rem rhadd rhypot rint round rsqrt sad saturate "
     "scalb signbit sin sqrt tan tgamma trunc uhadd uint_as ullm umax umin "
     "umul urhadd usad y0 y1 yn"},
    {"WARP", "shfl syncwarp activemask ballot any_sync all_sync reduce_", ""},
    {"ATOMIC", "atomic", ""},
    {"SCOPED", "__nv_atomic __NV_", ""},
    {"ROUNDING", "_rn _rz _ru _rd", ""},
    {"SPECIAL", "inv erfcx cyl_bessel norm", ""},
    {"SIMD", "__v __dp", ""},
    {"HEAP", "alloc free new delete virtual ~", ""},
    {"ALIGNMENT", "alignas", ""},
    {"SPACE", "__is __cvta_", ""},
    {"CLUSTER", "cluster", ""},
    {"RUNTIME", "cuda CU", ""},
};

// Headers that bring sections with them.
enum { SECTIONS = 7 };

static const struct {
    const char *header;
    const char *sections[SECTIONS];
} headers[] = {
    {"cuda_fp16.h", {"VECTOR", "MATH", "ROUNDING", "NARROW", "HALF"}},
    {"cuda_fp16.hpp", {"VECTOR", "MATH", "ROUNDING", "NARROW", "HALF"}},
    {"cuda_bf16.h", {"VECTOR", "MATH", "ROUNDING", "NARROW", "BFLOAT"}},
    {"cuda_bf16.hpp", {"VECTOR", "MATH", "ROUNDING", "NARROW", "BFLOAT"}},
    {"cublas_v2.h", {"VECTOR", "MATH", "ROUNDING", "NARROW", "HALF", "BFLOAT",
                     "HOST"}},
    {"cublasLt.h", {"VECTOR", "MATH", "ROUNDING", "NARROW", "HALF", "BFLOAT",
                    "HOST"}},
    {"cooperative_groups.h", {"MATH", "WARP", "GROUPS"}},
    {"cooperative_groups/reduce.h", {"MATH", "WARP", "GROUPS"}},
    {"cooperative_groups/scan.h", {"MATH", "WARP", "GROUPS"}},
    {"cooperative_groups/memcpy_async.h", {"MATH", "WARP", "GROUPS"}},
    {"math_constants.h", {"MATH", "CONSTANTS"}},
    {"math.h", {"PI"}},
    {"cmath", {"MATH", "PI", "CMATH"}},
    {"cstdlib", {"MATH", "CMATH"}},
    {"algorithm", {"MATH", "CMATH"}},
    {"type_traits", {"LIMITS", "TRAITS"}},
    {"limits", {"LIMITS", "TRAITS"}},
    {"stdio.h", {"HOST"}},
    {"cstdio", {"HOST"}},
    {"limits.h", {"LIMITS"}},
    {"climits", {"LIMITS"}},
    {"float.h", {"LIMITS"}},
    {"cfloat", {"LIMITS"}},
    {"stdint.h", {"LIMITS"}},
    {"cstdint", {"LIMITS"}},
    {"inttypes.h", {"LIMITS"}},
    {"cinttypes", {"LIMITS"}},
};

// Headers of which only the host's code uses anything.
static const char *const hosts[] = {
    "any", "array", "atomic", "bit", "bitset", "cctype", "cerrno", "charconv",
    "chrono", "clocale", "complex", "condition_variable", "csignal", "cstdarg",
    "cstdbool", "ctime", "ctype.h", "cublas.h", "cudaProfiler.h",
    "cuda_profiler_api.h", "cufft.h", "curand.h", "cusolverDn.h",
    "cusolver_common.h", "cusparse.h", "cusparse_v2.h", "cwchar", "deque",
    "dirent.h", "errno.h", "exception", "fcntl.h", "filesystem",
    "forward_list", "fstream", "functional", "future", "getopt.h",
    "immintrin.h", "initializer_list", "iomanip", "ios", "iosfwd", "iostream",
    "istream", "iterator", "libgen.h", "list", "locale", "locale.h",
    "malloc.h", "map", "memory", "memory.h", "mpi.h", "mutex", "nccl.h",
    "numeric", "nvToolsExt.h", "nvToolsExtCudaRt.h", "nvml.h",
    "nvtx3/nvToolsExt.h", "nvtx3/nvToolsExtCudaRt.h", "nvtx3/nvtx3.hpp",
    "omp.h", "optional", "ostream", "pthread.h", "queue", "random", "ratio",
    "regex", "set", "setjmp.h", "signal.h", "span", "sstream", "stack",
    "stdarg.h", "stdbool.h", "stdexcept", "streambuf", "string", "string_view",
    "strings.h", "sys/ioctl.h", "sys/mman.h", "sys/param.h", "sys/resource.h",
    "sys/stat.h", "sys/sysinfo.h", "sys/time.h", "sys/timeb.h", "sys/times.h",
    "sys/types.h", "sys/wait.h", "system_error", "thread", "time.h", "tuple",
    "typeindex", "typeinfo", "unistd.h", "unordered_map", "unordered_set",
    "valarray", "variant", "vector", "wchar.h", "x86intrin.h"};

static const char *const refused[] = {
    "mma.h", "cuda_fp8.h", "cuda_fp6.h", "cuda_fp4.h", "cuda/barrier",
    "cuda/pipeline", "cuda/atomic", "cuda/semaphore", "cuda/latch",
    "cuda_pipeline.h", "cuda_pipeline_primitives.h", "cuda_awbarrier.h",
    "cuda_awbarrier_primitives.h", "cuda/std/barrier", "cuda/std/atomic",
    "cub/cub.cuh"};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool has_word(const char *source, const char *word)
{
    return strstr(source, word) != NULL;
}

// Underscores in front do not count.
static bool has_call(const char *source, const char *stem)
{
    for (const char *at = source; (at = strstr(at, stem)); at++) {
        const char *start = at, *end = at;
        while (start > source && start[-1] == '_')
            start--;
        while (is_word(*end))
            end++;
        if ((start == source || !is_word(start[-1])) &&
            end[strspn(end, " \t\r\n")] == '(')
            return true;
    }
    return false;
}

static bool has_any(const char *source, const char *words,
                    bool (*has)(const char *source, const char *word))
{
    for (size_t size; *words; words += size + (words[size] == ' ')) {
        char word[24] = "";
        size = strcspn(words, " ");
        memcpy(word, words, size < sizeof word ? size : sizeof word - 1);
        if (has(source, word))
            return true;
    }
    return false;
}

static bool is_asked(const struct section *section, const char *source)
{
    return has_any(source, section->words, has_word) ||
           has_any(source, section->calls, has_call);
}

void prelude_ask(const char *source, bool all, struct text *text)
{
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (all || is_asked(&sections[i], source))
            text_format(text, "#define RNL_NEEDS_%s\n", sections[i].name);
}

// Headers of the standard library include others.
void prelude_ask_library(struct text *text)
{
    text_add(text, "#define RNL_NEEDS_LIMITS\n#define RNL_NEEDS_CMATH\n"
                   "#define RNL_NEEDS_TRAITS\n");
}

// --- Sections that were not asked for ----------------------------------------

// Names that are made by macros or passed on show no call.
bool prelude_is_incomplete(const char *errors)
{
    static const char *const phrases[] = {
        "declared", "unknown type name", "does not name a type",
        "no member named", "no type named", "no template named",
        "not a member"};
    const char *line = errors;
    for (; (line = strstr(line, " error: ")); line += strcspn(line, "\n")) {
        char one[512];
        snprintf(one, sizeof one, "%.*s", (int)strcspn(line, "\n"), line);
        for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++)
            if (strstr(one, phrases[i]))
                return true;
    }
    return false;
}

// Goes back to the prelude for the sections.
static void write_header(const char *header, const char *const *names,
                         struct text *text)
{
    text_add(text, "#pragma GCC system_header\n");
    for (size_t p = 0; p < SECTIONS && names[p]; p++)
        text_format(text, "#define RNL_NEEDS_%s\n", names[p]);
    text_format(text, "#include \"%s../" CC_PRELUDE_FILE "\"\n",
                strchr(header, '/') ? "../" : "");
}

// Whether a section belongs to a header of C or C++.
static bool is_language(const char *section)
{
    static const char *const names[] = {"LIMITS", "PI", "CMATH", "TRAITS",
                                        "HOST"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], section) == 0)
            return true;
    return false;
}

bool prelude_header_gives_way(const char *header)
{
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        for (size_t p = 0; p < SECTIONS && headers[i].sections[p]; p++)
            if (strcmp(headers[i].header, header) == 0 &&
                is_language(headers[i].sections[p]))
                return true;
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        if (strcmp(hosts[i], header) == 0)
            return true;
    return false;
}

bool prelude_header(size_t i, struct text *name, struct text *text)
{
    static const char *const host[] = {"HOST", NULL};
    const size_t own = sizeof headers / sizeof *headers;
    const size_t count = own + sizeof hosts / sizeof *hosts;
    if (i < own) {
        text_add(name, headers[i].header);
        write_header(headers[i].header, headers[i].sections, text);
    } else if (i < count) {
        text_add(name, hosts[i - own]);
        write_header(hosts[i - own], host, text);
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
