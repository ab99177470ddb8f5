// What CUDA refuses and a C++ compiler takes, seen in the words of the source:
// to the compiler most of these words mean nothing.
#include "tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void refuse(struct scan *scan, struct token token, const char *sentence)
{
    struct scan_refusal *grown = realloc(
        scan->refusals, (scan->refusal_count + 1) * sizeof *scan->refusals);
    if (!grown)
        exit(CC_CRASHED);
    scan->refusals = grown;
    scan->refusals[scan->refusal_count++] =
        (struct scan_refusal){token.start, sentence};
}

static bool is_any(struct token token, const char *const *words)
{
    while (*words && !token_is(token, *words))
        words++;
    return *words;
}

static bool has_any(const struct tokens *s, size_t from, size_t to,
                    const char *const *words)
{
    while (from < to && !is_any(s->items[from], words))
        from++;
    return from < to;
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
        *has_value = follows(&tokens, found, "=({") &&
                     !token_is(tokens.items[found.next + 1], "}");
    }
    tokens_free(&tokens);
    return at;
}

// --- Anywhere --------------------------------------------------------------

static void check_shared(const struct tokens *s, size_t i, struct scan *scan)
{
    struct declared found;
    do {
        found = read_declared(s, i + 1);
        if (follows(s, found, "={"))
            refuse(scan, s->items[found.name],
                   "a __shared__ variable cannot have an initial value");
        i = found.next;
    } while (follows(s, found, ","));
}

static const char *const device[] = {"__device__", "__global__", NULL};

static bool ends_declaration(struct token token)
{
    return strchr(";{}", token.start[0]);
}

// Whether some function of that name is one of the device's.
static bool is_of_device(const struct tokens *s, struct token name)
{
    size_t from = 0;
    for (size_t i = 0; i < s->count; i++) {
        struct token token = s->items[i];
        if (ends_declaration(token))
            from = i + 1;
        else if (token.size == name.size &&
                 memcmp(token.start, name.start, name.size) == 0 &&
                 has_any(s, from, i, device))
            return true;
    }
    return false;
}

// Declarations without a body do no harm.
static bool is_host_function(const struct tokens *s, size_t from, size_t i)
{
    size_t open, name = tokens_find_function(s, i, &open);
    size_t body = tokens_find_body(s, i);
    return token_is(s->items[body], "{") && !has_any(s, from, body, device) &&
           !(name < s->count && is_of_device(s, s->items[name]));
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
    size_t from = 0;  // where the current declaration began
    for (size_t i = 0; i < s->count; i++) {
        struct token token = s->items[i];
        if (ends_declaration(token))
            from = i + 1;
        else if (is_any(token, local))
            refuse(scan, token, "thread_local is not supported in kernels");
        else if (is_any(token, wide) && !scan->int128)
            refuse(scan, token, "integers of 128 bits need --device-int128");
        else if (token_is(token, "__shared__"))
            check_shared(s, i, scan);
        else if (token_is(token, "__host__") && is_host_function(s, from, i))
            refuse(scan, token,
                   "a function of the host is not supported: it has no "
                   "__device__ beside __host__");
    }
}

void rules_check_kernel(const struct tokens *s, size_t i, bool in_namespace,
                        struct scan *scan)
{
    for (; i < s->count && !strchr("({;", s->items[i].start[0]); i++)
        if (token_is(s->items[i], "operator"))
            refuse(scan, s->items[i], "an operator cannot be a kernel");
        else if (token_is(s->items[i], "main") && !in_namespace)
            refuse(scan, s->items[i], "a kernel cannot be called main");
}

// --- In braces ---------------------------------------------------------------

// One that is declared from token `from` on. Only members are static here.
static void check_kernel(const struct tokens *s, size_t from, size_t i,
                         struct scan *scan)
{
    size_t open, name = tokens_find_function(s, i + 1, &open);
    if (token_is(s->items[i + 1], "("))
        refuse(scan, s->items[i], "a lambda cannot be a kernel");
    else if (name < s->count &&
             (token_is(s->items[from], "static") ||
              token_is(s->items[tokens_find_body(
                           s, tokens_skip_brackets(s, open))], "{")))
        refuse(scan, s->items[name],
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
        !has_any(s, from, found.name, others))
        refuse(scan, s->items[found.name],
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
        else if (is_any(token, spaces) && !has_any(s, start, i, spaces))
            check_variable(s, start, i, scan);
    }
}
