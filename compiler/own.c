// What a source declares itself although the prelude has it. The source is
// compiled as it is: what gives way is the prelude.
#include "tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What is in no braces but those of extern "C".
struct own {
    const struct tokens *s;
    struct list names, types;  // of numbers, and what they stand for
    struct list functions, declared;  // of these, by declare
    struct text begin, end;    // around the prelude
    struct text once;          // after it, when it is first included
};

// --- Types ------------------------------------------------------------------

// NVRTC has none of these, so sources declare them, often as long long.
static void give_way_to_type(struct own *own, const char *name)
{
    static const char *const types[] = {"int64_t", "uint64_t", "intptr_t",
                                        "uintptr_t", NULL};
    if (!token_is_any((struct token){name, strlen(name)}, types))
        return;
    text_format(&own->begin, "#define %s rnl_%s\n", name, name);
    text_format(&own->end, "#undef %s\n", name);
}

// The word among these that the token is, or NULL.
static const char *find_word(struct token token, const char *const *words)
{
    while (*words && !token_is(token, *words))
        words++;
    return *words;
}

// The words for a number, which the source may have given another; NULL of
// anything else.
static const char *number(const struct own *own, struct token token)
{
    static const char *const words[] = {
        "float", "double", "int", "unsigned", "signed", "long", "short", "char",
        "bool", "void", "size_t", "clock_t", NULL};
    static const char *const sized[] = {  // sources may have others
        "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t",
        "int64_t", "uint64_t", NULL};
    const char *word = find_word(token, words);
    for (size_t i = 0; !word && i < own->names.count; i++)
        if (token_is(token, own->names.items[i]))
            word = own->types.items[i];
    return word ? word : find_word(token, sized);
}

// Adds the token if it is of a type of a number.
static bool add_number(const struct own *own, struct token token,
                       struct text *text)
{
    static const char *const words[] = {"const", "constexpr", "volatile", "*",
                                        NULL};
    const char *type = number(own, token);
    if (!type && !token_is_any(token, words))
        return false;
    text_add(text, " ");
    if (type)
        text_add(text, type);
    else
        text_add_bytes(text, token.start, token.size);
    return true;
}

// typedef long long NAME; or using NAME = long long; from token `from` to a
// semicolon.
static void read_type(struct own *own, size_t from, size_t semicolon)
{
    const struct tokens *s = own->s;
    const bool is_using = token_is(s->items[from], "using") &&
                          token_is(s->items[from + 2], "=");
    if (!is_using && !token_is(s->items[from], "typedef"))
        return;
    const size_t name = is_using ? from + 1 : semicolon - 1;
    const size_t end = is_using ? semicolon : name;
    char *word = tokens_copy(s, name, name + 1);
    struct text type = {0};
    size_t i = is_using ? from + 3 : from + 1;
    give_way_to_type(own, word);
    while (i < end && add_number(own, s->items[i], &type))
        i++;
    if (i == end && type.size > 0) {
        list_add(&own->names, word);
        list_add(&own->types, type.data);
    }
    text_free(&type);
    free(word);
}

// --- Variables --------------------------------------------------------------

// A built-in variable that sources declare as their own constant, from token
// `from` to a semicolon or a brace, or in the braces of an unscoped `enum`.
static void read_variable(struct own *own, size_t from, size_t to)
{
    static const char *const starts[] = {"template", "using", "typedef",
                                         "namespace", NULL};
    const struct tokens *s = own->s;
    if (from >= to || token_is_any(s->items[from], starts))
        return;
    const bool is_enum = token_is(s->items[from], "enum") &&
                         !token_is(s->items[from + 1], "class") &&
                         !token_is(s->items[from + 1], "struct") &&
                         token_is(s->items[to], "{");
    const size_t end = is_enum ? tokens_next(s, to) : to + 1;
    for (size_t i = is_enum ? to + 1 : from + 1; i + 1 < end;
         i = tokens_next(s, i)) {
        if (!is_enum && token_is(s->items[i], "="))
            return;
        if (!token_is(s->items[i], "warpSize") ||
            !strchr(is_enum ? "=,}" : "=;{", s->items[i + 1].start[0]) ||
            (is_enum && !strchr("{,", s->items[i - 1].start[0])))
            continue;
        text_add(&own->begin, "#define warpSize rnl_warpSize\n");
        text_add(&own->end, "#undef warpSize\n");
        return;
    }
}

// --- Functions --------------------------------------------------------------

// A source may define CUDA's functions anew, as float sinf(float), and means
// its own by that name, also before the definition. So it is declared before
// the source, as a static one, which no compiler takes for libm's. That of the
// prelude gets another name where it is declared and called, by a macro with
// parameters: where the prelude joins names, or lists them, they must stay.

// Whether the prelude declares a function of that name, or has a macro do so.
static bool is_in_prelude(struct token name)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, "%.*s", (int)name.size, name.start);
    for (const char *at = cc_prelude; (at = strstr(at, wanted)); at++) {
        const char *line = at, next = at[name.size];
        if (at == cc_prelude || token_has(at[-1]) || token_has(next))
            continue;
        while (line > cc_prelude && line[-1] != '\n')
            line--;
        line += strspn(line, " ");
        const bool is_function = strncmp(line, "RNL_INLINE ", 11) == 0 ||
                                 strncmp(line, "extern ", 7) == 0;
        if (is_function ? next == '(' : strncmp(line, "RNL_", 4) == 0)
            return true;
    }
    return false;
}

bool own_is_of_prelude(const char *name)
{
    const struct token whole = {name, strlen(name)};
    const struct token stem = {name, whole.size - 1};
    // Macros of the prelude add the ending of functions of floats.
    return is_in_prelude(whole) ||
           (name[stem.size] == 'f' && stem.size > 0 && is_in_prelude(stem));
}

// Adds the parameters from token `i` on, without names and default values, if
// they are numbers or pointers to such.
static bool add_parameters(const struct own *own, size_t i, size_t close,
                           struct text *text)
{
    const struct tokens *s = own->s;
    bool known = false;  // of the current one
    for (; i < close; i++) {
        const struct token token = s->items[i];
        if (strchr(",[]", token.start[0]) &&
            !(token_is(token, "]") && token_is(s->items[i + 1], "["))) {
            text_format(text, "%c", token.start[0]);
            known &= token.start[0] != ',';
        } else if (token_is(token, "=")) {
            while (i + 1 < close && !token_is(s->items[i + 1], ","))
                i = tokens_next(s, i + 1) - 1;
        } else if (!add_number(own, token, text) &&
                   !(known && token_is_word(token))) {
            return false;
        } else {
            known |= number(own, token) != NULL;
        }
    }
    return true;
}

// The prelude's functions of just these types, and all where none of the
// source's can be called. RNL_TAKES asks whether one can, in brackets because
// those of classes do not count.
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

static bool has(const struct list *list, const char *name)
{
    size_t i = 0;
    while (i < list->count && strcmp(list->items[i], name) != 0)
        i++;
    return i < list->count;
}

static void give_way_to_function(struct own *own, const char *name)
{
    if (has(&own->functions, name))
        return;
    list_add(&own->functions, name);
    text_format(&own->begin,
                "#pragma push_macro(\"%s\")\n"
                "#undef %s\n"
                "#define %s(...) rnl_other_%s(__VA_ARGS__)\n"
                "#pragma redefine_extname rnl_other_%s %s\n",
                name, name, name, name, name, name);
    text_format(&own->end, "#pragma pop_macro(\"%s\")\n", name);
}

// One of the source, from token `from` to the brace of its body.
struct function {
    size_t from, name, open, brace;
    bool extern_c;
};

// The result of the function, if that is a number or a pointer to one.
static bool add_result(const struct own *own, const struct function *f,
                       struct text *text)
{
    const struct tokens *s = own->s;
    bool known = false;
    for (size_t i = f->from; i < f->name; i = tokens_next(s, i)) {
        const struct token token = s->items[i];
        known |= add_number(own, token, text) && number(own, token);
        if (!token_is_word(token) && !strchr("*[(\"", token.start[0]))
            return false;
    }
    return known;
}

// A declaration before the source.
static void declare(struct own *own, const struct function *f,
                    const char *name, const char *parameters)
{
    static const char *const throws[] = {"noexcept", "throw", NULL};
    const struct tokens *s = own->s;
    const size_t end = tokens_skip_brackets(s, f->open);
    struct text result = {0};
    char *throwing = tokens_copy(
        s, end, tokens_have(s, end, f->brace, throws) ? f->brace : end);
    // In assembly that name may be libm's.
    const bool known = add_result(own, f, &result);
    if (known && f->extern_c)
        text_format(&own->once, "extern \"C\" { static%s %s(%s) %s "
                    "__asm__(\"rnl_own_%s\"); }\n",
                    result.data, name, parameters, throwing, name);
    else if (known)
        text_format(&own->once, "static%s %s(%s) %s;\n", result.data, name,
                    parameters, throwing);
    if (known)
        list_add(&own->declared, name);
    text_free(&result);
    free(throwing);
}

static void read_function(struct own *own, struct function f)
{
    static const char *const others[] = {"template", "__global__", NULL};
    const struct tokens *s = own->s;
    struct text parameters = {0};
    f.name = tokens_find_function(s, f.from, &f.open);
    if (f.name >= f.brace || f.name == f.from ||
        tokens_have(s, f.from, f.name, others) ||
        token_is(s->items[f.name - 1], "::"))
        return;
    char *name = tokens_copy(s, f.name, f.name + 1);
    text_add(&parameters, "");
    if (parts_are_called(name) && own_is_of_prelude(name) &&
        add_parameters(own, f.open + 1, tokens_skip_brackets(s, f.open) - 1,
                       &parameters)) {
        for (size_t i = f.from; i < f.name; i++)
            f.extern_c |= token_is(s->items[i], "\"C\"");
        give_way_to_function(own, name);
        declare(own, &f, name, parameters.data);
    }
    text_free(&parameters);
    free(name);
}

// --- The source --------------------------------------------------------------

static void read_declarations(struct own *own)
{
    const struct tokens *s = own->s;
    size_t from = 0;  // where the current declaration began
    bool extern_c = false;
    for (size_t i = 0; i < s->count; i++) {
        const char c = s->items[i].start[0];
        const bool linkage = c == '{' && i > 0 &&
                             s->items[i - 1].start[0] == '"';
        if (!linkage && (c == '{' || c == ';'))
            read_variable(own, from, i);
        if (linkage)
            extern_c = token_is(s->items[i - 1], "\"C\"");
        else if (c == '{')
            read_function(own, (struct function){.from = from, .brace = i,
                                                 .extern_c = extern_c});
        else if (c == '}')
            extern_c = false;
        else if (c == ';')
            read_type(own, from, i);
        if (!linkage)
            i = tokens_next(s, i) - 1;
        if (strchr("{;}", c))
            from = i + 1;
    }
}

// Only once, also where headers include the prelude again.
static void add_functions(const struct own *own, struct text *after)
{
    text_format(after, "#ifndef RNL_OTHERS\n%s%s",
                own->once.data ? own->once.data : "", templates);
    for (size_t i = 0; i < own->functions.count; i++) {
        const char *name = own->functions.items[i];
        text_format(after, "%s(%s)\nRNL_OTHERS(%s)\n",
                    has(&own->declared, name) ? "RNL_TAKES" : "RNL_MAY_TAKE",
                    name, name);
    }
    text_add(after, "#endif\n");
}

void own_make_way(const char *source, struct text *before, struct text *after)
{
    struct tokens tokens = {0};
    struct own own = {.s = &tokens};
    tokens_read(source, &tokens);
    read_declarations(&own);
    text_add_bytes(before, own.begin.data, own.begin.size);
    text_add_bytes(after, own.end.data, own.end.size);
    if (own.functions.count > 0)
        add_functions(&own, after);
    list_free(&own.names);
    list_free(&own.types);
    list_free(&own.functions);
    list_free(&own.declared);
    text_free(&own.begin);
    text_free(&own.end);
    text_free(&own.once);
    tokens_free(&tokens);
}
