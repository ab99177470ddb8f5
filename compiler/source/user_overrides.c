// Sources that define a name of the prelude, such as float sinf(float). NVRTC
// calls the source's function, also above its definition. If a source does not
// compile, frontend/user_overrides.cpp lists such names, and the source is
// compiled again with a prelude in which they are renamed.

#include "source/source.h"

#include <stdlib.h>
#include <string.h>

// Templates that call the prelude's functions of exactly these types, or of all
// types if none of the source's functions fits. RNL_TAKES tests that, with the
// name in brackets, because functions of classes do not count.
static const char templates[] =
    "template <class T> int rnl_alike(T *, T *);\n"
    "template <class A> struct rnl_exactly {\n"
    "    A value;\n"
    "    template <class B, class = decltype(rnl_alike((A *)0, (B *)0))>\n"
    "    constexpr operator B() const { return value; }\n"
    "};\n"
    "template <class A, bool> struct rnl_passed { A value; };\n"
    "template <class A> struct rnl_passed<A, true> {\n"
    "    rnl_exactly<A> value;\n"
    "};\n"
    "#define RNL_TAKES(name)                                             \\\n"
    "    char (&rnl_takes_##name(...))[2];                               \\\n"
    "    template <class... A> auto rnl_takes_##name(A... a)             \\\n"
    "        -> decltype((name)(a...), *(char (*)[1])0);\n"
    "#define RNL_MAY_TAKE(name) char (&rnl_takes_##name(...))[1];\n"
    "#define RNL_OTHERS(name)                                            \\\n"
    "    template <class... A> RNL_INLINE auto name(A... a)              \\\n"
    "        -> decltype(rnl_other_##name(                               \\\n"
    "            rnl_passed<A, sizeof rnl_takes_##name(a...) == 1>{a}    \\\n"
    "                .value...))                                         \\\n"
    "    {                                                               \\\n"
    "        return rnl_other_##name(a...);                              \\\n"
    "    }\n";


// Renames a function of the prelude by a macro with parameters, which affects
// declarations and calls, but not names that the prelude joins or lists.
static void rename_function(const char *name, struct text *before,
                            struct text *after)
{
    text_format(before,
                "#pragma push_macro(\"%s\")\n"
                "#undef %s\n"
                "#define %s(...) rnl_other_%s(__VA_ARGS__)\n"
                "#pragma redefine_extname rnl_other_%s %s\n",
                name, name, name, name, name, name);
    text_format(after, "#pragma pop_macro(\"%s\")\n", name);
}

// A name without parameters: a type or a variable.
static void rename_word(const char *name, struct text *before,
                        struct text *after)
{
    text_format(before, "#define %s rnl_%s\n", name, name);
    text_format(after, "#undef %s\n", name);
}

// Splits "name declaration"; returns the declaration.
static char *cut_name(char *line)
{
    char *end = line + strcspn(line, " ");
    if (*end)
        *end++ = 0;
    return end;
}

static bool is_function(const char *declaration)
{
    return strcmp(declaration, "-") != 0;
}

// Only once, also where headers include the prelude again.
static void add_function(const char *name, const char *declaration,
                         struct text *after)
{
    // Before the source, as a static one, which no compiler takes for libm's.
    text_format(after, "%s\n#pragma clang force_cuda_host_device begin\n"
                "%s(%s)\nRNL_OTHERS(%s)\n"
                "#pragma clang force_cuda_host_device end\n", declaration,
                *declaration ? "RNL_TAKES" : "RNL_MAY_TAKE", name, name);
}

void overrides_write(const struct list *own, struct text *before,
                  struct text *after)
{
    struct text functions = {0};
    for (size_t i = 0; i < own->count; i++) {
        char *name = strdup(own->items[i]), *declaration = cut_name(name);
        if (is_function(declaration)) {
            rename_function(name, before, after);
            add_function(name, declaration, &functions);
        } else {
            rename_word(name, before, after);
        }
        free(name);
    }
    if (functions.size > 0)
        text_format(after, "#ifndef RNL_OTHERS\n%s%s#endif\n", templates,
                    functions.data);
    text_free(&functions);
}
