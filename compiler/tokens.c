#include "tokens.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool token_has(int c)
{
    return isalnum((unsigned char)c) || c == '_' || (c & 0x80);
}

bool token_same(struct token token, struct token other)
{
    return token.size == other.size &&
           memcmp(token.start, other.start, token.size) == 0;
}

bool token_is(struct token token, const char *text)
{
    return token_same(token, (struct token){text, strlen(text)});
}

bool token_is_any(struct token token, const char *const *words)
{
    while (*words && !token_is(token, *words))
        words++;
    return *words;
}

bool token_is_word(struct token token)
{
    return token_has(token.start[0]);
}

bool token_takes_brackets(struct token token)
{
    static const char *const words[] = {
        "__launch_bounds__", "__attribute__", "__cluster_dims__", "alignas",
        "__align__", "decltype", "__declspec", "__maxnreg__", "typeof",
        "__builtin_align__", "noexcept", "sizeof", "alignof", "__typeof__",
        "__underlying_type", NULL};
    return token_is_any(token, words);
}

// After R"tag( up to )tag".
static const char *skip_raw_string(const char *quote)
{
    const char *open = strchr(quote, '(');
    if (!open)
        return quote + strlen(quote);
    size_t tag = (size_t)(open - quote - 1);
    for (const char *p = open + 1; *p; p++)
        if (*p == ')' && strncmp(p + 1, quote + 1, tag) == 0 &&
            p[1 + tag] == '"')
            return p + tag + 2;
    return quote + strlen(quote);
}

static const char *skip_quoted(const char *p)
{
    char quote = *p++;
    while (*p && *p != quote && *p != '\n')
        p += p[0] == '\\' && p[1] ? 2 : 1;
    return *p == quote ? p + 1 : p;
}

const char *tokens_skip_line(const char *p)
{
    while (*p && *p != '\n')
        p += p[0] == '\\' && p[1] ? 2 : 1;
    return p;
}

// To the next token: over white space, comments and directives.
static const char *skip_space(const char *p, bool *line_start)
{
    for (;;) {
        if (*p == '\n')
            *line_start = true, p++;
        else if (isspace((unsigned char)*p))
            p++;
        else if (p[0] == '\\' && p[1] == '\n')
            p += 2;
        else if (p[0] == '/' && p[1] == '/')
            p = tokens_skip_line(p);
        else if (p[0] == '/' && p[1] == '*') {
            const char *end = strstr(p + 2, "*/");
            p = end ? end + 2 : p + strlen(p);
        } else if (*p == '#' && *line_start)
            p = tokens_skip_line(p);
        else
            return p;
    }
}

static const char *end_of_token(const char *p)
{
    if (*p == '"' || *p == '\'')
        return skip_quoted(p);
    if (isdigit((unsigned char)*p)) {
        while (token_has(*p) || *p == '.' || (*p == '\'' && token_has(p[1])))
            p++;
        return p;
    }
    if (!token_has(*p))
        return p[0] == ':' && p[1] == ':' ? p + 2 : p + 1;
    const char *start = p;
    while (token_has(*p))
        p++;
    if (*p == '"' && p[-1] == 'R' && p - start <= 3)
        return skip_raw_string(p);
    return p;
}

static void add_token(struct tokens *tokens, const char *start, size_t size)
{
    if (tokens->count == tokens->capacity) {
        tokens->capacity = 2 * tokens->capacity + 256;
        struct token *grown =
            realloc(tokens->items, tokens->capacity * sizeof *tokens->items);
        if (!grown)
            exit(CC_CRASHED);
        tokens->items = grown;
    }
    tokens->items[tokens->count++] = (struct token){start, size};
}

void tokens_read(const char *text, struct tokens *tokens)
{
    bool line_start = true;
    const char *p = text;
    while (*(p = skip_space(p, &line_start))) {
        const char *end = end_of_token(p);
        add_token(tokens, p, (size_t)(end - p));
        line_start = false;
        p = end;
    }
    size_t count = tokens->count;
    for (int i = 0; i < 4; i++)
        add_token(tokens, p, 0);
    tokens->count = count;
}

void tokens_free(struct tokens *tokens)
{
    free(tokens->items);
    *tokens = (struct tokens){0};
}

size_t tokens_skip_brackets(const struct tokens *s, size_t i)
{
    int depth = 0;
    for (; i < s->count; i++) {
        char c = s->items[i].start[0];
        if (c == '(' || c == '[' || c == '{')
            depth++;
        else if ((c == ')' || c == ']' || c == '}') && --depth == 0)
            return i + 1;
    }
    return i;
}

size_t tokens_next(const struct tokens *s, size_t i)
{
    char c = s->items[i].start[0];
    return c == '(' || c == '[' || c == '{' ? tokens_skip_brackets(s, i)
                                            : i + 1;
}

// Whether an angle after another is part of "<=", "<<", ">=" or "->", or comes
// after a value.
static bool is_operator(const struct tokens *s, size_t i)
{
    const struct token before = s->items[i - 1];
    const char *angle = s->items[i].start;
    if (*angle == '>')
        return angle[1] == '=' || angle[-1] == '-';
    return angle[1] == '=' || angle[1] == '<' || !token_is_word(before) ||
           isdigit((unsigned char)before.start[0]);
}

size_t tokens_skip_angles(const struct tokens *s, size_t i)
{
    const size_t first = i;
    int depth = 0;
    for (; i < s->count; i++) {
        char c = s->items[i].start[0];
        if (c == '(' || c == '[' || c == '{')
            i = tokens_skip_brackets(s, i) - 1;
        else if (c == ';')
            return s->count;
        else if ((c != '<' && c != '>') || (i > first && is_operator(s, i)))
            continue;
        else if (c == '<')
            depth++;
        else if (--depth == 0)
            return i + 1;
    }
    return s->count;
}

size_t tokens_skip_requirement(const struct tokens *s, size_t i)
{
    const struct token before = s->items[i - (i > 0)];
    if (!token_is(before, "requires") && !strchr("&|!=", before.start[0]))
        return i + 1;
    i++;
    if (token_is(s->items[i], "("))
        i = tokens_skip_brackets(s, i);
    return token_is(s->items[i], "{") ? tokens_skip_brackets(s, i) : i;
}

bool tokens_open_class(const struct tokens *s, size_t from, size_t i)
{
    static const char *const words[] = {"struct", "class", "union", "enum",
                                        NULL};
    size_t t = i;
    while (t > from && !token_is_any(s->items[t - 1], words))
        t--;
    if (t == from)
        return false;
    while (token_takes_brackets(s->items[t]) || token_is(s->items[t], "["))
        t = tokens_skip_brackets(s, t + token_is_word(s->items[t]));
    t += token_is_word(s->items[t]);
    t += token_is(s->items[t], "final");
    return t == i || (t < i && token_is(s->items[t], ":"));
}

bool tokens_have(const struct tokens *s, size_t from, size_t to,
                 const char *const *words)
{
    while (from < to && !token_is_any(s->items[from], words))
        from++;
    return from < to;
}

bool tokens_have_auto(const struct tokens *s, size_t open)
{
    const size_t close = tokens_skip_brackets(s, open) - 1;
    for (size_t i = open + 1; i < close; i = tokens_next(s, i))
        if (token_is(s->items[i], "auto"))
            return true;
    return false;
}

char *tokens_copy(const struct tokens *s, size_t from, size_t to)
{
    struct text text = {0};
    text_add(&text, "");
    for (size_t i = from; i < to; i++) {
        const struct token *token = &s->items[i];
        if (i > from && token[-1].start + token[-1].size != token->start)
            text_add(&text, " ");
        text_add_bytes(&text, token->start, token->size);
    }
    return text.data;
}

// Whether a function named at token `i` is so in brackets: (f)(int).
static bool is_bracketed(const struct tokens *s, size_t i)
{
    return token_is(s->items[i], "(") && token_is_word(s->items[i + 1]) &&
           token_is(s->items[i + 2], ")") && token_is(s->items[i + 3], "(");
}

size_t tokens_skip_attributes(const struct tokens *s, size_t i)
{
    while (token_is(s->items[i], "[") && token_is(s->items[i + 1], "["))
        i = tokens_skip_brackets(s, i);
    return i;
}

size_t tokens_find_function(const struct tokens *s, size_t i, size_t *open)
{
    while (i < s->count) {
        struct token token = s->items[i];
        if (token_is(token, ";") || token_is(token, "{"))
            return s->count;
        size_t next = tokens_skip_attributes(s, i + 1);
        bool bracket = token_is(s->items[next], "(");
        if (bracket && token_takes_brackets(token))
            i = tokens_skip_brackets(s, next);
        else if (bracket && token_is_word(token)) {
            bool bracketed = is_bracketed(s, next);
            *open = bracketed ? next + 3 : next;
            return bracketed ? next + 1 : i;
        } else
            i = next;
    }
    return s->count;
}

size_t tokens_find_body(const struct tokens *s, size_t i)
{
    while (i < s->count && !token_is(s->items[i], "{") &&
           !token_is(s->items[i], ";"))
        i = tokens_next(s, i);
    return i;
}
