// Finds the kernels and variables of a source without understanding C++: it
// follows namespaces, extern "C" blocks and braces, and reads the declarations
// that carry __global__, __device__, __constant__ or __managed__.
#include "cc.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct token {
    const char *start;
    size_t size;
};

struct scanner {
    const char *at;
    struct token *tokens;   // all of the source
    size_t count, capacity;
};

// --- Tokens ----------------------------------------------------------------

static bool is_word(int c)
{
    return isalnum((unsigned char)c) || c == '_' || (c & 0x80);
}

static bool equals(struct token token, const char *text)
{
    return token.size == strlen(text) &&
           memcmp(token.start, text, token.size) == 0;
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

static const char *skip_line(const char *p)
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
        else if (p[0] == '/' && p[1] == '/')
            p = skip_line(p);
        else if (p[0] == '/' && p[1] == '*') {
            const char *end = strstr(p + 2, "*/");
            p = end ? end + 2 : p + strlen(p);
        } else if (*p == '#' && *line_start)
            p = skip_line(p);
        else
            return p;
    }
}

static const char *end_of_token(const char *p)
{
    if (*p == '"' || *p == '\'')
        return skip_quoted(p);
    if (isdigit((unsigned char)*p)) {
        while (is_word(*p) || *p == '.' || (*p == '\'' && is_word(p[1])))
            p++;
        return p;
    }
    if (!is_word(*p))
        return p[0] == ':' && p[1] == ':' ? p + 2 : p + 1;
    const char *start = p;
    while (is_word(*p))
        p++;
    if (*p == '"' && p[-1] == 'R' && p - start <= 3)
        return skip_raw_string(p);
    return p;
}

static void add_token(struct scanner *scanner, const char *start, size_t size)
{
    if (scanner->count == scanner->capacity) {
        scanner->capacity = 2 * scanner->capacity + 256;
        struct token *grown = realloc(
            scanner->tokens, scanner->capacity * sizeof *scanner->tokens);
        if (!grown)
            exit(CC_CRASHED);
        scanner->tokens = grown;
    }
    scanner->tokens[scanner->count++] = (struct token){start, size};
}

static void tokenize(struct scanner *scanner)
{
    bool line_start = true;
    const char *p = scanner->at;
    while (*(p = skip_space(p, &line_start))) {
        const char *end = end_of_token(p);
        add_token(scanner, p, (size_t)(end - p));
        line_start = false;
        p = end;
    }
    // Reading a little beyond the end is then harmless.
    size_t count = scanner->count;
    for (int i = 0; i < 4; i++)
        add_token(scanner, p, 0);
    scanner->count = count;
}

// The index after the bracket that closes the one at `i`.
static size_t skip_brackets(const struct scanner *s, size_t i)
{
    int depth = 0;
    for (; i < s->count; i++) {
        char c = s->tokens[i].start[0];
        if (c == '(' || c == '[' || c == '{')
            depth++;
        else if ((c == ')' || c == ']' || c == '}') && --depth == 0)
            return i + 1;
    }
    return i;
}

static size_t skip_angles(const struct scanner *s, size_t i)
{
    int depth = 0;
    for (; i < s->count; i++) {
        char c = s->tokens[i].start[0];
        if (c == '(' || c == '[' || c == '{')
            i = skip_brackets(s, i) - 1;
        else if (c == ';')
            return i;
        else if (c == '<')
            depth++;
        else if (c == '>' && --depth == 0)
            return i + 1;
    }
    return i;
}

// The source text from token `from` up to, without, token `to`, in one line.
static void add_text(const struct scanner *s, size_t from, size_t to,
                     struct text *text)
{
    for (size_t i = from; i < to; i++) {
        const struct token *token = &s->tokens[i];
        if (i > from && token[-1].start + token[-1].size != token->start)
            text_add(text, " ");
        text_add_bytes(text, token->start, token->size);
    }
}

static char *copy_text(const struct scanner *s, size_t from, size_t to)
{
    struct text text = {0};
    text_add(&text, "");
    add_text(s, from, to, &text);
    return text.data;
}

// --- Declarations ----------------------------------------------------------

// The type of a parameter is its text without name and default.
static void add_type(const struct scanner *s, size_t from, size_t to,
                     struct list *types)
{
    size_t end = from;
    while (end < to && !equals(s->tokens[end], "="))
        end++;
    size_t last = end, words = 0;
    for (size_t i = from; i < end; i++)
        words += is_word(s->tokens[i].start[0]) &&
                 !equals(s->tokens[i], "const");
    static const char *const simple[] = {
        "int", "char", "short", "long", "float", "double", "bool", "unsigned",
        "signed", "__restrict__", "restrict", "const"};
    if (end > from && words > 1 && is_word(s->tokens[end - 1].start[0])) {
        last = end - 1;
        for (size_t i = 0; i < sizeof simple / sizeof *simple; i++)
            if (equals(s->tokens[end - 1], simple[i]))
                last = end;
        if (last > from && equals(s->tokens[last - 1], "::"))
            last = end;
    }
    char *type = copy_text(s, from, last);
    list_add(types, type);
    free(type);
}

static void read_parameters(const struct scanner *s, size_t open, size_t close,
                            struct list *types)
{
    size_t from = open + 1;
    int angles = 0;
    if (from >= close || (from + 1 == close && equals(s->tokens[from], "void")))
        return;
    for (size_t i = from; i <= close; i++) {
        char c = s->tokens[i].start[0];
        if (i == close || (c == ',' && angles <= 0)) {
            add_type(s, from, i, types);
            from = i + 1;
        } else if (c == '(' || c == '[' || c == '{') {
            i = skip_brackets(s, i) - 1;
        } else if (c == '<') {
            angles++;
        } else if (c == '>') {
            angles--;
        }
    }
}

// Words that take arguments in brackets before a declared name.
static bool takes_brackets(struct token token)
{
    static const char *const words[] = {
        "__launch_bounds__", "__attribute__", "__cluster_dims__", "alignas",
        "__align__", "decltype", "__declspec", "__maxnreg__", "typeof",
        "__builtin_align__", "noexcept"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (equals(token, words[i]))
            return true;
    return false;
}

static void *append(void *items, size_t count, size_t size)
{
    void *grown = realloc(items, (count + 1) * size);
    if (!grown)
        exit(CC_CRASHED);
    memset((char *)grown + count * size, 0, size);
    return grown;
}

static char *copy_string(const char *string)
{
    struct text text = {0};
    text_add(&text, string);
    return text.data;
}

struct place {
    const char *scope;
    bool extern_c;
};

// The first argument of __launch_bounds__ between two tokens; NULL if none.
static char *read_bounds(const struct scanner *s, size_t from, size_t to)
{
    for (size_t i = from; i + 1 < to; i++) {
        if (!equals(s->tokens[i], "__launch_bounds__"))
            continue;
        size_t end = skip_brackets(s, i + 1) - 1, comma = i + 2;
        while (comma < end && !equals(s->tokens[comma], ","))
            comma = equals(s->tokens[comma], "(") ? skip_brackets(s, comma)
                                                  : comma + 1;
        return copy_text(s, i + 2, comma);
    }
    return NULL;
}

// The token that names the function declared from token `i` on: the word before
// the first bracket. s->count if there is none.
static size_t find_function(const struct scanner *s, size_t i)
{
    while (i < s->count) {
        struct token token = s->tokens[i];
        if (equals(token, ";") || equals(token, "{"))
            return s->count;
        bool bracket = equals(s->tokens[i + 1], "(");
        if (bracket && takes_brackets(token))
            i = skip_brackets(s, i + 1);
        else if (bracket && is_word(token.start[0]))
            return i;
        else
            i++;
    }
    return s->count;
}

// Reads a declaration that began at token `from` and has __global__ before
// token `i`; if it is a definition, adds it. Returns the index to go on from.
static size_t read_kernel(const struct scanner *s, size_t from, size_t i,
                          struct place place, struct scan *scan)
{
    bool is_template = false, extern_c = place.extern_c;
    scan->instantiates |= equals(s->tokens[from], "template") &&
                          !equals(s->tokens[from + 1], "<");
    size_t name = find_function(s, i);
    if (name == s->count)
        return i;
    for (size_t t = from; t < name; t++) {
        is_template |= equals(s->tokens[t], "template");
        extern_c |= equals(s->tokens[t], "extern") &&
                    equals(s->tokens[t + 1], "\"C\"");
    }
    size_t after = skip_brackets(s, name + 1);
    if (!equals(s->tokens[after], "{"))
        return after;
    scan->kernels =
        append(scan->kernels, scan->kernel_count, sizeof *scan->kernels);
    struct scan_kernel *kernel = &scan->kernels[scan->kernel_count++];
    kernel->scope = copy_string(place.scope);
    kernel->name = copy_text(s, name, name + 1);
    kernel->bounds = read_bounds(s, from, name);
    kernel->is_template = is_template;
    kernel->extern_c = extern_c;
    read_parameters(s, name + 1, after - 1, &kernel->types);
    return after;
}

static void add_global(const struct scanner *s, size_t name,
                       struct place place, bool constant, struct scan *scan)
{
    scan->globals =
        append(scan->globals, scan->global_count, sizeof *scan->globals);
    struct scan_global *global = &scan->globals[scan->global_count++];
    global->scope = copy_string(place.scope);
    global->name = copy_text(s, name, name + 1);
    global->constant = constant;
}

// Reads a variable's declaration, which ends at ';'. Functions, templates and
// declarations without definition are passed over.
static size_t read_global(const struct scanner *s, size_t from, size_t i,
                          struct place place, struct scan *scan)
{
    bool constant = false, defined = true;
    size_t name = 0;
    for (size_t t = from; t < i; t++)
        defined &= !equals(s->tokens[t], "template") &&
                   !equals(s->tokens[t], "extern");
    for (; i < s->count; i++) {
        struct token token = s->tokens[i];
        char c = token.start[0];
        constant |= equals(token, "__constant__");
        if (equals(token, "extern") || equals(token, "operator") ||
            equals(token, "using") || equals(token, "typedef"))
            defined = false;
        if (takes_brackets(token) && equals(s->tokens[i + 1], "(")) {
            i = skip_brackets(s, i + 1) - 1;
        } else if (c == '(') {
            return i;  // a function
        } else if (c == '<') {
            i = skip_angles(s, i) - 1;
        } else if (is_word(c)) {
            name = i;
        } else if (c == '{' && name && equals(s->tokens[name], "struct")) {
            return i;
        } else if (c == '[' || c == '=' || c == '{' || c == ',' || c == ';') {
            if (name && defined)
                add_global(s, name, place, constant, scan);
            name = 0;
            while (i < s->count && !equals(s->tokens[i], ",") &&
                   !equals(s->tokens[i], ";")) {
                c = s->tokens[i].start[0];
                i = c == '(' || c == '[' || c == '{' ? skip_brackets(s, i)
                                                     : i + 1;
            }
            if (equals(s->tokens[i], ";"))
                return i;
        }
    }
    return i;
}

// --- Scopes ----------------------------------------------------------------

static size_t scan_scope(const struct scanner *s, size_t i, struct place place,
                         struct scan *scan);

// At `namespace`: enters it. An unnamed one is called "-", and an inline one
// has a "+" before its name.
static size_t scan_namespace(const struct scanner *s, size_t i,
                             struct place place, struct scan *scan)
{
    struct text scope = {0};
    text_add(&scope, place.scope);
    size_t names = 0;
    bool is_inline = i > 0 && equals(s->tokens[i - 1], "inline");
    for (i++; i < s->count && !equals(s->tokens[i], "{"); i++) {
        struct token token = s->tokens[i];
        if (equals(token, ";") || equals(token, "=")) {
            text_free(&scope);
            return i;
        }
        if (takes_brackets(token))
            i = skip_brackets(s, i + 1) - 1;
        else if (equals(token, "["))
            i = skip_brackets(s, i) - 1;
        else if (equals(token, "inline"))
            is_inline = true;  // namespace a::inline b
        else if (is_word(token.start[0])) {
            text_add(&scope, scope.size ? "::" : "");
            text_add(&scope, is_inline ? "+" : "");
            is_inline = false;
            text_add_bytes(&scope, token.start, token.size);
            names++;
        }
    }
    if (names == 0)
        text_add(&scope, scope.size ? "::-" : "-");
    i = scan_scope(s, i + 1, (struct place){scope.data, place.extern_c}, scan);
    text_free(&scope);
    return i;
}

// Scans declarations up to the closing brace of the scope.
static size_t scan_scope(const struct scanner *s, size_t i, struct place place,
                         struct scan *scan)
{
    size_t from = i;  // where the current declaration began
    while (i < s->count) {
        struct token token = s->tokens[i];
        if (equals(token, "}"))
            return i + 1;
        if (equals(token, "namespace") && !equals(s->tokens[i - (i > 0)],
                                                  "using")) {
            i = from = scan_namespace(s, i, place, scan);
        } else if (equals(token, "extern") &&
                   equals(s->tokens[i + 1], "\"C\"") &&
                   equals(s->tokens[i + 2], "{")) {
            i = from = scan_scope(s, i + 3, (struct place){place.scope, true},
                                  scan);
        } else if (equals(token, "template") &&
                   equals(s->tokens[i + 1], "<")) {
            i = skip_angles(s, i + 1);
        } else if (equals(token, "__global__")) {
            i = read_kernel(s, from, i + 1, place, scan);
        } else if (equals(token, "__constant__") ||
                   equals(token, "__device__") ||
                   equals(token, "__managed__")) {
            i = read_global(s, from, i, place, scan);
        } else if (equals(token, "{") || equals(token, "(")) {
            i = skip_brackets(s, i);
            from = equals(token, "{") ? i : from;
        } else {
            i++;
            from = equals(token, ";") ? i : from;
        }
    }
    return i;
}

void scan_source(const char *source, struct scan *scan)
{
    struct scanner scanner = {.at = source};
    tokenize(&scanner);
    // A stray closing brace ends the outermost scope too early; go on after it.
    for (size_t i = 0; i < scanner.count;)
        i = scan_scope(&scanner, i, (struct place){"", false}, scan);
    free(scanner.tokens);
}

void scan_free(struct scan *scan)
{
    for (size_t i = 0; i < scan->kernel_count; i++) {
        free(scan->kernels[i].scope);
        free(scan->kernels[i].name);
        free(scan->kernels[i].bounds);
        list_free(&scan->kernels[i].types);
    }
    for (size_t i = 0; i < scan->global_count; i++) {
        free(scan->globals[i].scope);
        free(scan->globals[i].name);
    }
    free(scan->kernels);
    free(scan->globals);
    *scan = (struct scan){0};
}

// --- Is the preprocessor needed? -------------------------------------------

// Whether a #define, from '#' to the end of its line, can neither make nor
// rename a kernel: it stands for a value.
static bool is_harmless_define(const char *line, size_t size)
{
    static const char *const words[] = {
        "__", "{", "}", "namespace", "extern", "template", "//", "/*", "##"};
    struct text text = {0};
    text_add_bytes(&text, line, size);
    const char *value = strstr(text.data, "define") + strlen("define");
    value += strspn(value, " \t");
    while (is_word(*value))
        value++;
    if (*value == '(')
        value += strcspn(value, ")") + (strchr(value, ')') != NULL);
    value += strspn(value, " \t\\\r\n");
    bool harmless = !isalpha((unsigned char)*value) && *value != '_';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        harmless &= !strstr(text.data, words[i]);
    text_free(&text);
    return harmless;
}

// Whether a text has directives that matter to the scanner.
static bool has_directives(const char *text)
{
    for (const char *p = text; (p = strchr(p, '#')); p++) {
        const char *line = p;
        while (line > text && line[-1] != '\n' &&
               isspace((unsigned char)line[-1]))
            line--;
        if (line > text && line[-1] != '\n')
            continue;  // in the middle of a line
        const char *word = p + 1 + strspn(p + 1, " \t");
        size_t size = (size_t)(skip_line(p) - p);
        if (strncmp(word, "pragma", 6) == 0 || strncmp(word, "line", 4) == 0 ||
            strncmp(word, "undef", 5) == 0)
            continue;
        if (strncmp(word, "define", 6) != 0 || !is_harmless_define(p, size))
            return true;
    }
    return false;
}

// Starting the preprocessor costs a fifth of a compilation, so sources without
// anything that could hide, make or rename a kernel go without.
bool scan_needs_cpp(const char *source, const struct flags *flags)
{
    // The last lines of the defines are runnel-cc's own.
    struct text own = {0};
    text_add_bytes(&own, flags->defines.data,
                   (size_t)(strstr(flags->defines.data, "#ifdef NDEBUG") -
                            flags->defines.data));
    bool needed = flags->includes.count > 0 || has_directives(own.data) ||
                  has_directives(source);
    text_free(&own);
    return needed;
}
