// Errors whose words in C++ do not tell what is wrong in CUDA.

#include "source/source.h"

#include <ctype.h>
#include <string.h>

// The beginning of a quoted name that a head has, behind `before`, or NULL.
static const char *quoted(const struct diagnostic *block, const char *before)
{
    if (!block->head)
        return NULL;
    const char *end = block->head + block->head_size;
    const char *at = memmem(block->head, block->head_size, before,
                            strlen(before));
    return at && at + strlen(before) < end ? at + strlen(before) : NULL;
}

// True if a name is in a list, or begins like an entry that ends with '*'.
static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++) {
        const size_t size = strcspn(*names, "*");
        if (strncmp(name, *names, size) == 0 &&
            ((*names)[size] || (!isalnum((unsigned char)name[size]) &&
                                name[size] != '_')))
            return true;
    }
    return false;
}

// The header that a source forgot.
static const char *find_home(const struct diagnostic *block)
{
    static const char *const halves[] = {
        "half", "half2", "__half*", "__float2half*", "__floats2half*", NULL};
    static const char *const bfloats[] = {
        "__nv_bfloat*", "nv_bfloat*", "__float2bfloat*", "__bfloat*", NULL};
    static const char *const limits[] = {
        "FLT_*", "DBL_*", NULL};
    static const char *const integers[] = {
        "INT_M*", "UINT_MAX", "LONG_M*", "ULONG_MAX", "LLONG_M*", "CHAR_BIT",
        "INT32_M*", "UINT32_MAX", "INT64_M*", "UINT64_MAX", NULL};
    static const char *const groups[] = {"cooperative_groups", NULL};
    const char *name = quoted(block, "undeclared identifier '");
    name = name ? name : quoted(block, "unknown type name '");
    if (!name)
        return NULL;
    return is_one_of(name, halves) ? "cuda_fp16.h"
           : is_one_of(name, bfloats) ? "cuda_bf16.h"
           : is_one_of(name, limits) ? "float.h"
           : is_one_of(name, integers) ? "limits.h"
           : is_one_of(name, groups) ? "cooperative_groups.h" : NULL;
}

// Why nothing fits a call: what the notes agree on.
static bool find_reason(const struct diagnostic *block, struct text *reason)
{
    static const char *const before[] = {"not viable: ", "ignored: "};
    struct diagnostic note;
    for (const char *at = block->end; *at; at = note.end) {
        note = diagnostic_next(at);
        if (!diagnostic_says(&note, " note: "))
            break;
        const char *why = quoted(&note, before[0]);
        why = why ? why : quoted(&note, before[1]);
        const size_t size = why ? strcspn(why, "\n") : 0;
        if (!why || (reason->size > 0 &&
                     (reason->size != size ||
                      memcmp(reason->data, why, size) != 0)))
            return false;
        if (reason->size == 0)
            text_add_bytes(reason, why, size);
    }
    return reason->size > 0;
}

static void reword_call(const struct diagnostic *block, struct text *sentence)
{
    struct text reason = {0};
    const char *name = quoted(block, "function for call to '");
    const char *message = strstr(block->head, " error: ") + strlen(" error: ");
    if (!find_reason(block, &reason))
        ;
    else if (strstr(reason.data, "'const dim3'") ||
             strstr(reason.data, "'const uint3'"))
        text_add(sentence, "a built-in variable cannot be assigned to");
    else if (name && strstr(reason.data, "call to __host__ function"))
        text_format(sentence, "'%.*s' is a function of the host: __device__ is "
                    "missing in its declaration", (int)strcspn(name, "'"),
                    name);
    else
        text_format(sentence, "%.*s: %s", (int)strcspn(message, "\n"), message,
                    reason.data);
    text_free(&reason);
}

bool diagnostic_hint(const struct diagnostic *block, struct text *sentence)
{
    static const char *const variables[] = {"threadIdx", "blockIdx",
                                            "blockDim", "gridDim", NULL};
    static const char *const classes[] = {
        "vector", "string", "string_view", "map", "multimap", "set",
        "multiset", "unordered_*", "deque", "list", "queue", "stack",
        "function", "shared_ptr", "unique_ptr", "weak_ptr", "variant",
        "optional", "thread", "mutex", NULL};
    const char *variable = quoted(block, "cannot assign to variable '");
    const char *home = find_home(block), *type = quoted(block, "'std::");
    const char *message = quoted(block, " error: ");
    if (!message)
        return false;
    if (variable && is_one_of(variable, variables))
        text_format(sentence, "%.*s cannot be assigned to",
                    (int)strcspn(variable, "'"), variable);
    else if (home)
        text_format(sentence, "%.*s: #include <%s> is missing",
                    (int)strcspn(message, "\n"), message, home);
    else if (type && is_one_of(type, classes))
        text_format(sentence, "std::%.*s is a class of the host, which kernels "
                    "cannot use", (int)strcspn(type, "'<"), type);
    else if (diagnostic_says(block, " error: no matching function") ||
             diagnostic_says(block, " error: no viable overloaded '='"))
        reword_call(block, sentence);
    return sentence->size > 0;
}
