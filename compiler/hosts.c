// Functions and variables without a word that says where they belong are the
// host's in CUDA, and NVRTC refuses them. So they are here where tokens tell it
// for certain: who tries a kernel on the CPU learns of it there.
#include "tokens.h"

#include <string.h>

static size_t check_scope(const struct tokens *s, size_t i, size_t to,
                          bool in_class, struct scan *scan);

// One declaration, as far as it has been read.
struct declaration {
    size_t from;
    size_t name;       // the last word, or `operator`
    bool in_class;
    bool is_template;
    bool is_function;  // parameters have been seen
    bool is_clear;     // nothing has been seen that means something else
};

static bool is_simple(struct token token)
{
    static const char *const words[] = {
        "static", "inline", "extern", "__host__", "volatile", "unsigned",
        "signed", "int", "char", "short", "long", "float", "double", "bool",
        "*", "[", NULL};
    return token_is_any(token, words);
}

// A type with a name of its own may be constant.
static void judge_variable(const struct tokens *s,
                           const struct declaration *read, struct scan *scan)
{
    bool simple = !read->in_class && !read->is_template &&
                  !read->is_function && read->name > read->from;
    for (size_t i = read->from; simple && i < read->name;
         i = tokens_next(s, i))
        simple = is_simple(s->items[i]);
    if (simple && !is_simple(s->items[read->name]) &&
        !rules_are_of_device(s, s->items[read->name], ""))
        rules_refuse(scan, s->items[read->name],
                     "a variable without __device__ or __constant__ is the "
                     "host's, unless -default-device is given");
}

static void judge_function(const struct tokens *s,
                           const struct declaration *read, size_t body,
                           struct scan *scan)
{
    static const char *const words[] = {
        "__device__", "__global__", "__host__", "device", "global", "catch",
        NULL};
    if (read->is_clear && !tokens_have(s, read->from, body, words) &&
        !rules_are_of_device(s, s->items[read->name], "(),;"))
        rules_refuse(scan, s->items[read->name],
                     "a function without __device__ is the host's, unless "
                     "-default-device is given");
}

// Whether a parameter of the lambda whose parameters begin at token `open` is
// generic; auto(x) is a value: t[0](new auto(x)).
static bool is_generic(const struct tokens *s, size_t open)
{
    const size_t close = tokens_skip_brackets(s, open) - 1;
    for (size_t i = open + 1; i < close; i = tokens_next(s, i))
        if (token_is(s->items[i], "auto") &&
            !strchr("({", s->items[i + 1].start[0]))
            return true;
    return false;
}

// A template that nobody uses may have generic lambdas.
static void check_lambda(const struct tokens *s, size_t i,
                         const struct declaration *read, struct scan *scan)
{
    if (!read->is_template && !read->in_class &&
        token_is(s->items[i - 1], "]") && token_is(s->items[i], "(") &&
        is_generic(s, i))
        rules_refuse(scan, s->items[i],
                     "a generic lambda is a function of the host, unless "
                     "-default-device is given");
}

// What a function does may need classes and lambdas.
static void check_body(const struct tokens *s, size_t i, size_t to,
                       const struct declaration *read, struct scan *scan)
{
    static const char *const words[] = {"struct", "class", "union", NULL};
    for (; i < to; i++) {
        check_lambda(s, i, read, scan);
        if (!token_is_any(s->items[i], words))
            continue;
        const size_t from = i++;
        while (i < to && !strchr("{};=()", s->items[i].start[0]))
            i++;
        if (token_is(s->items[i], "{") && tokens_open_class(s, from, i)) {
            const size_t end = tokens_skip_brackets(s, i);
            check_scope(s, i + 1, end - 1, true, scan);
            i = end - 1;
        }
    }
}

// After `operator` and what it is called: operator(), operator new[].
static size_t skip_operator(const struct tokens *s, size_t i)
{
    for (i++; i < s->count && !token_is(s->items[i], "("); i++)
        ;
    return token_is(s->items[i + 1], ")") && token_is(s->items[i + 2], "(")
               ? i + 2 : i;
}

// From the colon after the parameters of a constructor to its body.
static size_t skip_initializers(const struct tokens *s, size_t i, size_t to)
{
    do {
        for (i++; i < to && !strchr("({;", s->items[i].start[0]); i++)
            if (token_is(s->items[i], "<"))
                i = tokens_skip_angles(s, i) - 1;
        i = tokens_next(s, i);
        while (i < to && token_is(s->items[i], "."))
            i++;
    } while (i < to && token_is(s->items[i], ","));
    return i;
}

static size_t skip_value(const struct tokens *s, size_t i, size_t to)
{
    while (i < to && !token_is(s->items[i], ";"))
        i = tokens_next(s, i);
    return i;
}

// Whether nothing but the words at token `to` can be the type in what has been
// read of a declaration.
static bool has_no_type(const struct tokens *s, const struct declaration *read,
                        size_t to)
{
    static const char *const words[] = {
        "const", "constexpr", "static", "inline", "volatile", NULL};
    bool constant = read->in_class;
    size_t i = read->from;
    for (; i < to && token_is_any(s->items[i], words); i++)
        constant |= token_is(s->items[i], "const") ||
                    token_is(s->items[i], "constexpr");
    while (token_is(s->items[i + 1], "::"))
        i += 2;
    return constant && i == to;
}

// Whether the bracket at token `i` names a pointer or a reference, (*p) or
// (s::*p), or what may be a variable: int (a), const t (a){2}.
static bool is_declarator(const struct tokens *s, size_t i,
                          const struct declaration *read)
{
    static const char *const types[] = {
        "void", "unsigned", "signed", "int", "char", "short", "long", "float",
        "double", "bool", "auto", "const", "volatile", NULL};
    const size_t end = tokens_skip_brackets(s, i);
    if (token_is_any(s->items[i - 1], types) ||
        strchr("*&^", s->items[i + 1].start[0]) ||
        (token_is(s->items[end], "[") && tokens_skip_attributes(s, end) == end))
        return true;
    if (token_is(s->items[end], "{") && i + 3 == end &&
        token_is_word(s->items[i + 1]) &&
        !token_is_any(s->items[i + 1], types) &&
        has_no_type(s, read, read->name))
        return true;
    for (i++; i + 1 < end; i++)
        if (token_is(s->items[i], "::") && token_is(s->items[i + 1], "*"))
            return true;
    return false;
}

// Parameters with `auto` make a template of what has them, wherever these are:
// int (*f(auto x))(int).
static void read_parameters(const struct tokens *s, size_t open,
                            struct declaration *read)
{
    read->is_function = true;
    read->is_template |= tokens_have(s, open, tokens_skip_brackets(s, open),
                                     (const char *[]){"auto", NULL});
}

// At '(', after what has been read before.
static void read_bracket(const struct tokens *s, size_t i,
                         struct declaration *read)
{
    const struct token before = s->items[i - 1];
    if (i == read->from || token_takes_brackets(before) ||
        token_is(before, "requires"))
        return;
    read->is_clear &= (token_is_word(before) || token_is(before, ">") ||
                       token_is(before, "(") || read->is_function) &&
                      (read->is_function || !is_declarator(s, i, read));
    read_parameters(s, i, read);
}

// At '{'. Returns the index to go on from, and tells whether that ends the
// declaration.
static size_t read_brace(const struct tokens *s, size_t i,
                         const struct declaration *read, struct scan *scan,
                         bool *ends)
{
    const size_t end = tokens_skip_brackets(s, i);
    *ends = read->is_function;
    if (read->is_function) {
        judge_function(s, read, i, scan);
        check_body(s, i + 1, end - 1, read, scan);
    } else if (tokens_open_class(s, read->from, i)) {
        if (!tokens_have(s, read->from, i, (const char *[]){"enum", NULL}))
            check_scope(s, i + 1, end - 1, true, scan);
    }
    return end;
}

// Reads what begins at token read->from, and returns the index after it.
static size_t read_declaration(const struct tokens *s, size_t to,
                               struct declaration *read, struct scan *scan)
{
    bool ends = false;
    size_t i = read->from;
    while (i < to && !ends) {
        const struct token token = s->items[i];
        if (token_is(token, ";") || token_is(token, "=") ||
            token_is(token, "}")) {
            if (read->name < s->count)
                judge_variable(s, read, scan);
            return token_is(token, "}") ? i + 1 : skip_value(s, i, to) + 1;
        }
        if (token_is(token, "{")) {
            i = read_brace(s, i, read, scan, &ends);
        } else if (token_is(token, "operator") && !read->is_function) {
            read->name = i;
            i = skip_operator(s, i);
            read_parameters(s, i, read);
            i = tokens_skip_brackets(s, i);
        } else if (token_is(token, "(")) {
            read_bracket(s, i, read);
            i = tokens_skip_brackets(s, i);
        } else if (token_is(token, "<")) {
            const size_t end = tokens_skip_angles(s, i);
            read->is_clear &= end < s->count;
            i = end < s->count ? end : i + 1;
        } else if (token_is(token, "requires")) {
            i = tokens_skip_requirement(s, i);
        } else if (token_is(token, ":") && read->is_function) {
            i = skip_initializers(s, i, to);
        } else {
            // const int a(3), b{2};
            read->is_clear &= !token_is(token, ",") || !read->is_function;
            if (token_is_word(token) && !read->is_function &&
                !token_takes_brackets(token))
                read->name = i;
            i = tokens_next(s, i);
        }
    }
    return i;
}

// At `namespace` or extern "C": what is in its braces. Returns the index after
// the words where there are none.
static size_t check_block(const struct tokens *s, size_t i, size_t to,
                          struct scan *scan)
{
    while (i < to && !strchr("{;=", s->items[i].start[0]))
        i = tokens_next(s, i);
    const size_t end = tokens_next(s, i);
    if (token_is(s->items[i], "{"))
        check_scope(s, i + 1, end - 1, false, scan);
    return end;
}

// Declarations up to token `to`.
static size_t check_scope(const struct tokens *s, size_t i, size_t to,
                          bool in_class, struct scan *scan)
{
    static const char *const others[] = {
        "using", "typedef", "static_assert", "concept", "asm", "__asm__", NULL};
    bool is_template = false;
    if (!rules_enter(s, i, scan))
        return to;
    while (i < to && scan->refusal_count < SCAN_REFUSALS) {
        const struct token token = s->items[i];
        const bool linkage = token_is(token, "extern") &&
                             s->items[i + 1].start[0] == '"';
        if (token_is(token, "template") && token_is(s->items[i + 1], "<")) {
            i = tokens_skip_angles(s, i + 1);
            is_template = true;
            continue;
        }
        if (token_is(token, "namespace") ||
            (linkage && token_is(s->items[i + 2], "{")))
            i = check_block(s, i, to, scan);
        else if (linkage)
            i += 2;
        else if (token_is_any(token, others))
            i = skip_value(s, i, to);
        else if (!token_is_word(token) || token_is(s->items[i + 1], ":") ||
                 token_is(s->items[i + 1], "namespace"))
            i++;
        else
            i = read_declaration(s, to, &(struct declaration){
                                            .from = i, .name = s->count,
                                            .in_class = in_class,
                                            .is_template = is_template,
                                            .is_clear = true}, scan);
        is_template = false;
    }
    scan->depth--;
    return i;
}

void hosts_check(const struct tokens *s, struct scan *scan)
{
    check_scope(s, 0, s->count, false, scan);
}
