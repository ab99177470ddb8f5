// What CUDA refuses and a C++ compiler takes, seen in the words of the source:
// to the compiler most of these words mean nothing.
#include "tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rules_refuse(struct scan *scan, struct token token,
                  const char *sentence)
{
    struct scan_refusal *grown = realloc(
        scan->refusals, (scan->refusal_count + 1) * sizeof *scan->refusals);
    if (!grown)
        exit(CC_CRASHED);
    scan->refusals = grown;
    scan->refusals[scan->refusal_count++] =
        (struct scan_refusal){token.start, sentence};
}

bool rules_enter(const struct tokens *s, size_t i, struct scan *scan)
{
    const bool few = scan->depth < SCAN_DEPTH;
    if (!few && !scan->too_deep)
        rules_refuse(scan, s->items[i - 1],
                     "more than 256 scopes in one another are not supported");
    scan->too_deep |= !few;
    scan->depth += few;
    return few;
}

// What a declaration from token `i` on declares.
struct declared {
    size_t name;  // its last word before what follows
    size_t next;  // '(' of a function, '=' or '{' of an initial value, …
};

static struct declared read_declared(const struct tokens *s, size_t i)
{
    const struct declared none = {s->count, s->count};
    struct declared found = none;
    size_t from = i;
    while (i < s->count) {
        struct token token = s->items[i];
        char c = token.start[0];
        if (token_is(token, "operator")) {
            found.name = i;
            while (i < s->count && !token_is(s->items[i], "("))
                i++;
            found.next = i;
            return found;
        }
        if (token_takes_brackets(token) && token_is(s->items[i + 1], "(")) {
            i = tokens_skip_brackets(s, i + 1);
        } else if (token_is_word(token)) {
            found.name = i++;
        } else if (c == '<') {
            i = tokens_skip_angles(s, i);
        } else if (c == '{' && tokens_open_class(s, from, i)) {
            i = from = tokens_skip_brackets(s, i);
        } else if (strchr("(={;,)-", c)) {
            found.next = i;
            return found;
        } else {
            i = c == '[' ? tokens_skip_brackets(s, i) : i + 1;
        }
    }
    return none;
}

static bool follows(const struct tokens *s, struct declared found,
                    const char *characters)
{
    return found.name < s->count &&
           strchr(characters, s->items[found.next].start[0]);
}

static const char *const device[] = {"__device__", "__global__", NULL};

static bool ends_declaration(struct token token)
{
    return strchr(";{}", token.start[0]);
}

// --- Variables by their symbols ----------------------------------------------

// Whether a symbol is the name, or mangled with it at its end: _ZZ1kPiE4name_0.
static bool is_named(const char *symbol, struct token name)
{
    char part[512];
    snprintf(part, sizeof part, "%zu%.*s", name.size, (int)name.size,
             name.start);
    const char *found = strstr(symbol, part);
    if (!found)
        return token_is(name, symbol);
    found += strlen(part);
    return found[strspn(found, "E_0123456789")] == 0;
}

// Whether a constructor whose parameters end before token `i` does anything.
static bool does_work(const struct tokens *s, size_t i)
{
    const size_t body = tokens_find_body(s, i);
    for (; i < body; i++)
        if (token_is(s->items[i], "(") && !token_is(s->items[i + 1], ")"))
            return true;
    return token_is(s->items[body], "{") && !token_is(s->items[body + 1], "}");
}

// Whether the class that is named at token `type` has a constructor without
// parameters that is not constexpr and does something.
static bool constructs(const struct tokens *s, size_t type)
{
    static const char *const words[] = {"constexpr", "consteval", NULL};
    size_t from = 0;  // where the current declaration began
    for (size_t i = 0; i + 1 < s->count; i++) {
        const struct token token = s->items[i];
        if (ends_declaration(token))
            from = i + 1;
        else if (token_same(token, s->items[type]) &&
                 token_is(s->items[i + 1], "(") &&
                 token_is(s->items[i + 2], ")") &&
                 tokens_have(s, from, i, device) &&
                 !tokens_have(s, from, i, words) && does_work(s, i + 3))
            return true;
    }
    return false;
}

const char *scan_find(const struct scan *scan, const char *word,
                      const char *symbol, bool *has_value)
{
    const char *at = NULL;
    struct tokens tokens = {0};
    tokens_read(scan->source, &tokens);
    for (size_t i = 0; i < tokens.count && !at; i++) {
        if (!token_is(tokens.items[i], word))
            continue;
        struct declared found = read_declared(&tokens, i + 1);
        if (found.name == tokens.count ||
            !is_named(symbol, tokens.items[found.name]))
            continue;
        at = tokens.items[found.name].start;
        *has_value = follows(&tokens, found, "=({")
                         ? !token_is(tokens.items[found.next + 1], "}")
                         : constructs(&tokens, found.name - 1);
    }
    tokens_free(&tokens);
    return at;
}

// --- Constant memory ---------------------------------------------------------

// What is stored to at token `i` stands at the beginning of a statement or an
// expression in brackets. Lambdas and enumerations have equal signs, too.
static bool is_stored_to(const struct tokens *s, size_t i)
{
    const struct token before = s->items[i - 1];
    const char *next = s->items[i + 1].start;
    if (token_is(before, "{") ? !token_is(s->items[i - 2], ")")
                              : !strchr(";})(", before.start[0]))
        return false;
    if ((next[0] == '+' || next[0] == '-') && next[1] == next[0])
        return true;
    return next[0] == '=' ? next[1] != '='
                          : next[0] && strchr("+-*/%&|^", next[0]) &&
                                next[1] == '=';
}

// Whether the word at token `i` may be another variable of that name.
static bool may_declare(const struct tokens *s, size_t i)
{
    static const char *const words[] = {"return", "else", "case", NULL};
    const struct token before = s->items[i - 1];
    return token_is_word(before) ? !token_is_any(before, words)
                                 : strchr("*&>,[]", before.start[0]) != NULL;
}

// A number in constant memory that is declared at token `name`.
static void check_stores(const struct tokens *s, size_t name,
                         struct scan *scan)
{
    size_t store = 0;
    for (size_t i = 1; i < s->count; i++) {
        if (i == name || !token_same(s->items[i], s->items[name]))
            continue;
        if (may_declare(s, i))
            return;
        if (!store && is_stored_to(s, i))
            store = i;
    }
    if (store)
        rules_refuse(scan, s->items[store],
                     "a __constant__ variable cannot be assigned to");
}

// At __constant__. NVRTC lets parts of arrays and classes pass.
static void check_constant(const struct tokens *s, size_t i,
                           struct scan *scan)
{
    static const char *const words[] = {
        "int", "float", "double", "unsigned", "long", "short", "char", "bool",
        "signed", "volatile", NULL};
    size_t name = i + 1;
    while (token_is_any(s->items[name], words))
        name++;
    if (name > i + 1 && token_is_word(s->items[name]) &&
        token_is_any(s->items[name + 1],
                     (const char *const[]){";", "=", NULL}))
        check_stores(s, name, scan);
}

// --- Anywhere --------------------------------------------------------------

static void check_shared(const struct tokens *s, size_t i, struct scan *scan)
{
    struct declared found;
    do {
        found = read_declared(s, i + 1);
        if (follows(s, found, "={"))
            rules_refuse(scan, s->items[found.name],
                   "a __shared__ variable cannot have an initial value");
        i = found.next;
    } while (follows(s, found, ","));
}

bool rules_are_of_device(const struct tokens *s, struct token name,
                         const char *next)
{
    static const char *const words[] = {"__device__", NULL};
    size_t from = 0;
    for (size_t i = 0; i < s->count; i++) {
        struct token token = s->items[i];
        if (ends_declaration(token))
            from = i + 1;
        else if (token_same(token, name) &&
                 tokens_have(s, from, i, words) &&
                 (!*next || token_is(name, "operator") ||
                  strchr(next, s->items[i + 1].start[0])))
            return true;
    }
    return false;
}

// Declarations without a body do no harm.
static bool is_host_function(const struct tokens *s, size_t from, size_t i)
{
    size_t open, name = tokens_find_function(s, i, &open);
    size_t body = tokens_find_body(s, i);
    static const char *const bracket[] = {"(", NULL};
    return token_is(s->items[body], "{") && tokens_have(s, i, body, bracket) &&
           !tokens_have(s, from, body, device) &&
           !(name < s->count && rules_are_of_device(s, s->items[name], "(),;"));
}

// Where the template that is declared from token `i` on ends. Braces before a
// comma or another brace initialise a member.
static size_t end_of_template(const struct tokens *s, size_t i)
{
    size_t body = tokens_find_body(s, tokens_skip_angles(s, i + 1));
    size_t end = tokens_next(s, body < s->count ? body : i);
    while (end < s->count && strchr(",{", s->items[end].start[0]))
        end = tokens_next(s, tokens_find_body(s, end));
    return end;
}

// An exception in a template does no harm until that is used.
static enum scan_throws find_throws(const struct tokens *s)
{
    enum scan_throws found = SCAN_THROWS_NOTHING;
    size_t end = 0;  // of the outermost template
    for (size_t i = 0; i < s->count; i++) {
        struct token token = s->items[i];
        if (token_is(token, "template") && token_is(s->items[i + 1], "<") &&
            i >= end)
            end = end_of_template(s, i);
        else if (!token_is(token, "throw") && !token_is(token, "try"))
            continue;
        else if (i >= end)
            return SCAN_THROWS_ANYWHERE;
        else
            found = SCAN_THROWS_IN_TEMPLATES;
    }
    return found;
}

void rules_check(const struct tokens *s, struct scan *scan)
{
    scan->throws = find_throws(s);
    static const char *const local[] = {"thread_local", "__thread",
                                        "_Thread_local", NULL};
    static const char *const wide[] = {"__int128", "__int128_t", "__uint128_t",
                                       NULL};
    static const char *const spelled[] = {"global", "shared", "constant",
                                          "managed", NULL};
    size_t from = 0;  // where the current declaration began
    for (size_t i = 0; i < s->count; i++) {
        struct token token = s->items[i];
        if (ends_declaration(token))
            from = i + 1;
        else if (token_is_any(token, local))
            rules_refuse(scan, token, "thread_local is not supported in kernels");
        else if (token_is_any(token, wide) && !scan->int128)
            rules_refuse(scan, token,
                         "integers of 128 bits need --device-int128");
        else if (token_is(token, "__shared__"))
            check_shared(s, i, scan);
        else if (token_is(token, "__constant__"))
            check_constant(s, i, scan);
        else if (token_is(token, "__attribute__") &&
                 token_is_any(s->items[i + 3], spelled))
            rules_refuse(scan, s->items[i + 3],
                         "a word of CUDA as an attribute is not supported: "
                         "write __global__, __shared__ or __constant__");
        else if (token_is(token, "__host__") && is_host_function(s, from, i))
            rules_refuse(scan, token,
                         "a function of the host is not supported: it has no "
                         "__device__ beside __host__");
    }
}

// A specification of exceptions comes after the parameters.
static void check_exceptions(const struct tokens *s, size_t open,
                             struct scan *scan)
{
    static const char *const words[] = {"noexcept", "throw", NULL};
    const size_t body = tokens_find_body(s, open);
    for (size_t i = open; i < body; i = tokens_next(s, i))
        if (token_is_any(s->items[i], words))
            rules_refuse(scan, s->items[i], "a kernel cannot be noexcept");
}

void rules_check_kernel(const struct tokens *s, size_t from, size_t i,
                        bool in_namespace, struct scan *scan)
{
    static const char *const others[] = {"__device__", "__host__", NULL};
    size_t name = i;
    while (name < s->count && !strchr("({;", s->items[name].start[0]))
        name++;
    check_exceptions(s, name, scan);
    for (size_t t = from; t < name; t++)
        if (token_is_any(s->items[t], others))
            rules_refuse(scan, s->items[t],
                         "a kernel cannot be __device__ or __host__, too");
    for (; i < name; i++)
        if (token_is(s->items[i], "operator"))
            rules_refuse(scan, s->items[i], "an operator cannot be a kernel");
        else if (token_is(s->items[i], "main") && !in_namespace)
            rules_refuse(scan, s->items[i], "a kernel cannot be called main");
}

// --- In braces ---------------------------------------------------------------

// One that is declared from token `from` on. Only members are static here.
static void check_kernel(const struct tokens *s, size_t from, size_t i,
                         struct scan *scan)
{
    size_t open, name = tokens_find_function(s, i + 1, &open);
    if (token_is(s->items[i + 1], "("))
        rules_refuse(scan, s->items[i], "a lambda cannot be a kernel");
    else if (name < s->count &&
             (token_is(s->items[from], "static") ||
              token_is(s->items[tokens_find_body(
                           s, tokens_skip_brackets(s, open))], "{")))
        rules_refuse(scan, s->items[name],
               "a kernel cannot be a member of a class or defined in a friend "
               "declaration");
}

// Of a lambda, the word comes after its captures.
static void check_variable(const struct tokens *s, size_t from, size_t i,
                           struct scan *scan)
{
    static const char *const others[] = {"static", "extern", "]", NULL};
    struct declared found = read_declared(s, i);
    if (follows(s, found, "={;,") &&
        !tokens_have(s, from, found.name, others))
        rules_refuse(scan, s->items[found.name],
               "a __device__, __constant__ or __managed__ variable of a "
               "function or class must be static");
}

void rules_check_body(const struct tokens *s, size_t from, size_t to,
                      struct scan *scan)
{
    static const char *const spaces[] = {"__device__", "__constant__",
                                         "__managed__", NULL};
    size_t start = from;  // of the current declaration
    for (size_t i = from; i < to; i++) {
        struct token token = s->items[i];
        if (ends_declaration(token) || token_is(token, ":"))
            start = i + 1;
        else if (token_is(token, "__global__"))
            check_kernel(s, start, i, scan);
        else if (token_is_any(token, spaces) &&
                 !tokens_have(s, start, i, spaces))
            check_variable(s, start, i, scan);
    }
}
