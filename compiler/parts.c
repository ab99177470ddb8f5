// The parts of the prelude that only some sources need: most kernels would pay
// for them in compile time for nothing.
#include "tokens.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

// A part is compiled where RNL_NEEDS_<name> is defined. Parts that use others
// share words with them.
struct part {
    const char *name;
    const char *words;  // any of them in the source asks for the part,
    const char *calls;  // or a call of a function that begins so
};

static const char math[] =
    "abs acos asin atan brev byte_perm cbrt ceil clz copysign cos double2 "
    "double_as erf exp fabs fdim fdivide ffs finite float_as floor fm fns "
    "frexp funnel hadd hiloint hypot ilogb int_as is j0 j1 jn labs ldexp "
    "lgamma llabs llm llr log longlong_as lr max min mod mul nan nearby "
    "nextafter popc pow rcbrt rem rhadd rhypot rint round rsqrt sad saturate "
    "scalb signbit sin sqrt tan tgamma trunc uhadd uint_as ullm umax umin "
    "umul urhadd usad y0 y1 yn";

static const struct part parts[] = {
    {"VECTOR", "char1 char2 char3 char4 short1 short2 short3 short4 int1 int2 "
               "int3 int4 long1 long2 long3 long4 float1 float2 float3 float4 "
               "double1 double2 double3 double4 __v __dp", ""},
    {"MATH", "INFINITY NAN inv erfcx cyl_bessel norm _rn _rz _ru _rd", math},
    {"WARP", "shfl syncwarp activemask ballot any_sync all_sync reduce_", ""},
    {"ATOMIC", "atomic", ""},
    {"SCOPED", "__nv_atomic __NV_", ""},
    {"ROUNDING", "_rn _rz _ru _rd", ""},
    {"SPECIAL", "inv erfcx cyl_bessel norm", ""},
    {"SIMD", "__v __dp", ""},
    {"HEAP", "alloc free new delete virtual ~", ""},
    {"ALIGNMENT", "alignas", ""},
    {"SPACE", "__is __cvta_", ""},
};

// Headers that bring a part with them.
static const struct {
    const char *header;
    const char *parts[5];
} headers[] = {
    {"cuda_fp16.h", {"VECTOR", "MATH", "ROUNDING", "NARROW", "HALF"}},
    {"cuda_fp16.hpp", {"VECTOR", "MATH", "ROUNDING", "NARROW", "HALF"}},
    {"cuda_bf16.h", {"VECTOR", "MATH", "ROUNDING", "NARROW", "BFLOAT"}},
    {"cuda_bf16.hpp", {"VECTOR", "MATH", "ROUNDING", "NARROW", "BFLOAT"}},
    {"cooperative_groups.h", {"MATH", "WARP", "GROUPS"}},
    {"cooperative_groups/reduce.h", {"MATH", "WARP", "GROUPS"}},
    {"cooperative_groups/scan.h", {"MATH", "WARP", "GROUPS"}},
    {"cooperative_groups/memcpy_async.h", {"MATH", "WARP", "GROUPS"}},
    {"math_constants.h", {"MATH", "LIMITS"}},
    {"limits.h", {"MATH", "LIMITS"}},
    {"climits", {"MATH", "LIMITS"}},
    {"float.h", {"MATH", "LIMITS"}},
    {"cfloat", {"MATH", "LIMITS"}},
};

static const char *const refused[] = {
    "mma.h", "cuda_fp8.h", "cuda/barrier", "cuda/pipeline", "cuda/atomic",
    "cuda/semaphore", "cuda/latch", "cuda_pipeline.h", "cuda_awbarrier.h",
    "cuda/std/barrier", "cuda/std/atomic", "cub/cub.cuh"};

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
    char word[24];
    for (int size; sscanf(words, "%23s%n", word, &size) == 1; words += size)
        if (has(source, word))
            return true;
    return false;
}

void parts_ask(const char *source, bool all, struct text *text)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (all || has_any(source, parts[i].words, has_word) ||
            has_any(source, parts[i].calls, has_call))
            text_format(text, "#define RNL_NEEDS_%s\n", parts[i].name);
}

// --- Types that the source brings -------------------------------------------

// NVRTC has none of these, so sources declare them, often as long long.
static const char *const own_types[] = {"int64_t", "uint64_t", "intptr_t",
                                        "uintptr_t"};

// "typedef long long NAME;" or "using NAME = long long;" outside of all braces
// but those of extern "C".
static bool declares(const struct tokens *s, const char *name)
{
    size_t from = 0;  // where the current declaration began
    for (size_t i = 0; i < s->count; i++) {
        if (token_is(s->items[i], "{") &&
            (i == 0 || s->items[i - 1].start[0] != '"'))
            i = tokens_skip_brackets(s, i) - 1;
        if (strchr(";{}", s->items[i].start[0]))
            from = i + 1;
        else if (token_is(s->items[i], name) &&
                 (token_is(s->items[from], "typedef")
                      ? token_is(s->items[i + 1], ";")
                      : token_is(s->items[from], "using") &&
                            token_is(s->items[i + 1], "=")))
            return true;
    }
    return false;
}

static void make_way_for_types(const struct tokens *s, struct text *before,
                               struct text *after)
{
    for (size_t i = 0; i < sizeof own_types / sizeof *own_types; i++) {
        const char *name = own_types[i];
        if (!declares(s, name))
            continue;
        text_format(before, "#define %s rnl_%s\n", name, name);
        text_format(after, "#undef %s\n", name);
    }
}

// --- Functions that the source brings ---------------------------------------

// A source may define CUDA's functions of numbers anew, as float sinf(float).
// Compilers know what libm's are, whatever the source says, so its own get
// another name, by which the prelude's of other types are called, too.

static bool is_number(struct token token)
{
    static const char *const words[] = {"float", "double", "int", "unsigned",
                                        "long", "short", "char", "bool", NULL};
    return token_is_any(token, words);
}

// Or pointers to such.
static bool are_numbers(const struct tokens *s, size_t open, size_t close)
{
    for (size_t i = open; i < close; i++) {
        const bool begins = i == open || token_is(s->items[i], ",");
        i += begins;
        i += begins && token_is(s->items[i], "const");
        const struct token token = s->items[i];
        if (begins ? !is_number(token)
                   : !token_is_word(token) && !token_is(token, "*"))
            return false;
    }
    return true;
}

// Whether it declares a function of that name, or has a macro do so.
static bool prelude_has(const char *word, size_t size)
{
    char wanted[40];
    snprintf(wanted, sizeof wanted, "%.*s", (int)size, word);
    for (const char *at = cc_prelude; (at = strstr(at, wanted)); at++) {
        const char *line = at;
        while (line > cc_prelude && line[-1] != '\n')
            line--;
        const bool is_function = strncmp(line, "RNL_INLINE ", 11) == 0 ||
                                 strncmp(line, "extern ", 7) == 0;
        if (line < at && !is_word(at[-1]) && !is_word(at[size]) &&
            (is_function ? at[size] == '(' : strncmp(line, "RNL_", 4) == 0))
            return true;
    }
    return false;
}

// Macros of the prelude add the ending of functions of floats.
static bool is_of_prelude(struct token name)
{
    char call[40];
    snprintf(call, sizeof call, "%.*s(", (int)name.size, name.start);
    return has_any(call, math, has_call) &&
           (prelude_has(name.start, name.size) ||
            (name.start[name.size - 1] == 'f' &&
             prelude_has(name.start, name.size - 1)));
}

// Whether the function whose name is token `i` is one of CUDA's, defined here
// with numbers for parameters.
static bool defines(const struct tokens *s, size_t i)
{
    const struct token before = s->items[i - 1];
    if (!token_is(s->items[i + 1], "(") ||
        (!is_number(before) && !token_is(before, "void")) ||
        !is_of_prelude(s->items[i]))
        return false;
    const size_t end = tokens_skip_brackets(s, i + 1);
    return token_is(s->items[tokens_find_body(s, end)], "{") &&
           are_numbers(s, i + 1, end - 1);
}

// Those of the prelude for just these types, which the source's take
// precedence over.
static const char others[] =
    "template <class T> int rnl_alike(T *, T *);\n"
    "template <class A> struct rnl_exactly {\n"
    "    A value;\n"
    "    template <class B, class = decltype(rnl_alike((A *)0, (B *)0))>\n"
    "    constexpr operator B() const { return value; }\n"
    "};\n"
    "#define RNL_OTHERS(name)                                          \\\n"
    "    template <class... A> RNL_INLINE auto rnl_own_##name(A... a)  \\\n"
    "        -> decltype(name(rnl_exactly<A>{a}...))                   \\\n"
    "    {                                                             \\\n"
    "        return name(a...);                                        \\\n"
    "    }\n";

static void add_function(struct token name, struct text *made)
{
    char word[40], define[100];
    snprintf(word, sizeof word, "%.*s", (int)name.size, name.start);
    snprintf(define, sizeof define, "#define %s rnl_own_%s\n", word, word);
    if (!made->data || !strstr(made->data, define))
        text_format(made, "RNL_OTHERS(%s)\n%s", word, define);
}

// Once, also where headers include the prelude again.
static void make_way_for_functions(const struct tokens *s, struct text *after)
{
    struct text made = {0};
    size_t from = 0;  // where the current declaration began
    for (size_t i = 0; i < s->count; i++) {
        const bool open = token_is(s->items[i], "{");
        if (open && (i == 0 || s->items[i - 1].start[0] != '"'))
            i = tokens_skip_brackets(s, i) - 1;
        if (strchr(";{}", s->items[i].start[0]))
            from = i + 1;
        else if (i > from && !token_is(s->items[from], "template") &&
                 defines(s, i))
            add_function(s->items[i], &made);
    }
    if (made.size > 0)
        text_format(after, "#ifndef RNL_OTHERS\n%s%s#endif\n", others,
                    made.data);
    text_free(&made);
}

void parts_make_way(const char *source, struct text *before, struct text *after)
{
    struct tokens tokens = {0};
    tokens_read(source, &tokens);
    make_way_for_types(&tokens, before, after);
    make_way_for_functions(&tokens, after);
    tokens_free(&tokens);
}

// --- Parts that were not asked for -------------------------------------------

// Names that are made by macros or passed on show no call.
bool parts_missed(const char *errors)
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

// Goes back to the prelude for the parts. While kernels are searched there is
// none.
static void write_header(size_t i, struct text *text)
{
    text_add(text, "#pragma GCC system_header\n#ifdef RNL_HAS_CORE\n");
    for (size_t p = 0; p < 5 && headers[i].parts[p]; p++)
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
