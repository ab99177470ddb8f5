// Finds the kernels and variables of a source without understanding C++: it
// follows namespaces, extern "C" blocks and braces, and reads the declarations
// that carry __global__, __device__, __constant__ or __managed__.
#include "tokens.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// --- Declarations ----------------------------------------------------------

// The type of a parameter is its text without name and default.
static void add_type(const struct tokens *s, size_t from, size_t to,
                     struct list *types)
{
    size_t end = from;
    while (end < to && !token_is(s->items[end], "="))
        end++;
    size_t last = end, words = 0;
    for (size_t i = from; i < end; i++)
        words += token_is_word(s->items[i]) &&
                 !token_is(s->items[i], "const");
    static const char *const simple[] = {
        "int", "char", "short", "long", "float", "double", "bool", "unsigned",
        "signed", "__restrict__", "restrict", "const"};
    if (end > from && words > 1 && token_is_word(s->items[end - 1])) {
        last = end - 1;
        for (size_t i = 0; i < sizeof simple / sizeof *simple; i++)
            if (token_is(s->items[end - 1], simple[i]))
                last = end;
        if (last > from && token_is(s->items[last - 1], "::"))
            last = end;
    }
    char *type = tokens_copy(s, from, last);
    list_add(types, type);
    free(type);
}

static void read_parameters(const struct tokens *s, size_t open, size_t close,
                            struct list *types)
{
    size_t from = open + 1;
    int angles = 0;
    if (from >= close ||
        (from + 1 == close && token_is(s->items[from], "void")))
        return;
    for (size_t i = from; i <= close; i++) {
        char c = s->items[i].start[0];
        if (i == close || (c == ',' && angles <= 0)) {
            add_type(s, from, i, types);
            from = i + 1;
        } else if (c == '(' || c == '[' || c == '{') {
            i = tokens_skip_brackets(s, i) - 1;
        } else if (c == '<') {
            angles++;
        } else if (c == '>') {
            angles--;
        }
    }
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

// The first `most` arguments of a word between two tokens; "" if there is none.
static char *read_arguments(const struct tokens *s, size_t from, size_t to,
                            const char *word, int most)
{
    for (size_t i = from; i + 1 < to; i++) {
        if (!token_is(s->items[i], word))
            continue;
        size_t end = tokens_skip_brackets(s, i + 1) - 1, comma = i + 2;
        while (comma < end && (most -= token_is(s->items[comma], ",")) > 0)
            comma = tokens_next(s, comma);
        return tokens_copy(s, i + 2, comma);
    }
    return copy_string("");
}

static bool begins_with(const char *scope, const char *first)
{
    const size_t size = strlen(first);
    return strncmp(scope, first, size) == 0 &&
           (!scope[size] || scope[size] == ':');
}

// A scope without aliases of namespaces, as long as it is of a sane length;
// takes the string.
static char *resolve(const struct scan *scan, char *scope)
{
    enum { SANE = 1000 };
    for (size_t i = scan->aliases.count; i-- > 0 && strlen(scope) < SANE;) {
        const size_t size = strlen(scan->aliases.items[i]);
        if (!begins_with(scope, scan->aliases.items[i]))
            continue;
        struct text real = {0};
        text_add(&real, scan->aliased.items[i]);
        text_add(&real, scope + size);
        free(scope);
        scope = real.data;
    }
    return scope;
}

// The scope of a kernel that is named at token `name`, which may say where it
// was declared: void a::b::k().
static char *read_scope(const struct tokens *s, size_t name,
                        struct place place, const struct scan *scan)
{
    size_t first = name;
    while (first > 1 && token_is(s->items[first - 1], "::") &&
           token_is_word(s->items[first - 2]) &&
           !token_is(s->items[first - 2], "void"))
        first -= 2;
    struct text path = {0};
    text_add(&path, token_is(s->items[first - 1], "::") ? "" : place.scope);
    for (; first < name; first += 2) {
        text_add(&path, path.size ? "::" : "");
        text_add_bytes(&path, s->items[first].start, s->items[first].size);
    }
    return resolve(scan, path.data);
}

// Of a name that ends before token `end`, and parameters from `open` on.
static struct scan_kernel *add_kernel(const struct tokens *s, size_t name,
                                      size_t end, size_t open,
                                      struct place place, struct scan *scan)
{
    scan->kernels =
        append(scan->kernels, scan->kernel_count, sizeof *scan->kernels);
    struct scan_kernel *kernel = &scan->kernels[scan->kernel_count++];
    kernel->scope = read_scope(s, name, place, scan);
    kernel->name = tokens_copy(s, name, end);
    kernel->at = s->items[name].start;
    read_parameters(s, open, tokens_skip_brackets(s, open) - 1,
                    &kernel->types);
    return kernel;
}

// The name of an instance of a template from token `i` on, with what it is an
// instance for unless the parameters tell; s->count if there is none.
static size_t find_instance(const struct tokens *s, size_t i, size_t *end,
                            size_t *open)
{
    for (size_t t = i; t < s->count && !strchr("(;{", s->items[t].start[0]);
         t++) {
        if (token_takes_brackets(s->items[t]) &&
            token_is(s->items[t + 1], "("))
            t = tokens_skip_brackets(s, t + 1) - 1;
        if (!token_is_word(s->items[t]) || !token_is(s->items[t + 1], "<"))
            continue;
        *open = *end = tokens_skip_angles(s, t + 1);
        if (*end < s->count && token_is(s->items[*end], "("))
            return t;
    }
    const size_t name = tokens_find_function(s, i, open);
    *end = name + 1;
    return name;
}

// template __global__ void k<int>(int *); makes a kernel of a template.
static size_t read_instance(const struct tokens *s, size_t i,
                            struct place place, struct scan *scan)
{
    size_t end, open, name = find_instance(s, i, &end, &open);
    scan->not_inline = true;
    if (name == s->count)
        return i;
    add_kernel(s, name, end, open, place, scan);
    return open;
}

// Reads a declaration that began at token `from` and has __global__ before
// token `i`; if it is a definition, adds it. Returns the index to go on from.
static size_t read_kernel(const struct tokens *s, size_t from, size_t i,
                          struct place place, struct scan *scan)
{
    bool is_template = false, extern_c = place.extern_c;
    bool begins_template = token_is(s->items[from], "template");
    if (begins_template && !token_is(s->items[from + 1], "<"))
        return read_instance(s, i, place, scan);
    if (token_is(s->items[from + 1], "template")) {
        scan->not_inline = true;  // extern template, made elsewhere
        return i;
    }
    // template <> __global__ void k<int>(int *) {}
    bool special = begins_template && token_is(s->items[from + 2], ">");
    // __global__ [[gnu::hot]] void k() {}
    scan->not_inline |= token_is(s->items[i], "[");
    size_t end, open, name = special ? find_instance(s, i, &end, &open)
                                     : tokens_find_function(s, i, &open);
    rules_check_kernel(s, from, i, place.scope[0], scan);
    if (name == s->count)
        return i;
    for (size_t t = from; t < name; t++) {
        is_template |= token_is(s->items[t], "template") && !special;
        extern_c |= token_is(s->items[t], "extern") &&
                    token_is(s->items[t + 1], "\"C\"");
    }
    size_t after = tokens_find_body(s, tokens_skip_brackets(s, open));
    if (!token_is(s->items[after], "{"))
        return after;
    struct scan_kernel *kernel =
        add_kernel(s, name, special ? end : name + 1, open, place, scan);
    kernel->bounds = read_arguments(s, from, name, "__launch_bounds__", 1);
    kernel->cluster = read_arguments(s, from, name, "__cluster_dims__", 4);
    kernel->is_template = is_template || tokens_have_auto(s, open);
    kernel->extern_c = extern_c;
    if (extern_c && own_is_of_prelude(kernel->name) &&
        parts_are_called(kernel->name))
        rules_refuse(scan, s->items[name],
                     "a kernel with C linkage cannot have the name of a "
                     "function of CUDA's");
    return after;
}

static void add_global(const struct tokens *s, size_t name,
                       struct scan_global found, const char *scope,
                       struct scan *scan)
{
    scan->globals =
        append(scan->globals, scan->global_count, sizeof *scan->globals);
    struct scan_global *global = &scan->globals[scan->global_count++];
    *global = found;
    global->scope = copy_string(scope);
    global->name = tokens_copy(s, name, name + 1);
}

static size_t find_bracket(const struct tokens *s, size_t i)
{
    while (i < s->count && !token_is(s->items[i], "("))
        i++;
    return i;
}

// Reads a variable's declaration, which ends at ';'. Functions and declarations
// without definition are passed over.
static size_t read_global(const struct tokens *s, size_t from, size_t i,
                          struct place place, struct scan *scan)
{
    static const char *const spaces[] = {"__device__", "__constant__",
                                         "__managed__", "__shared__", NULL};
    struct scan_global found = {0};
    bool defined = true;
    size_t name = 0;
    for (size_t t = from; t < i; t++) {
        found.is_template |= token_is(s->items[t], "template");
        defined &= !token_is(s->items[t], "extern");
    }
    for (; i < s->count; i++) {
        struct token token = s->items[i];
        char c = token.start[0];
        found.constant |= token_is(token, "__constant__");
        if (token_is(token, "__global__"))
            return read_kernel(s, from, i + 1, place, scan);
        if (token_is(token, "extern") || token_is(token, "using") ||
            token_is(token, "typedef"))
            defined = false;
        if (token_takes_brackets(token) && token_is(s->items[i + 1], "(")) {
            i = tokens_skip_brackets(s, i + 1) - 1;
        } else if (c == '(' || token_is(token, "operator")) {
            return find_bracket(s, i);  // a function
        } else if (c == '<') {
            size_t end = tokens_skip_angles(s, i);
            defined &= end < s->count;
            i = end < s->count ? end - 1 : i;
        } else if (tokens_skip_attributes(s, i) > i) {
            i = tokens_skip_attributes(s, i) - 1;
        } else if (token_has(c)) {
            name = token_is_any(token, spaces) ? name : i;
        } else if (c == '{' && tokens_open_class(s, from, i)) {
            from = tokens_skip_brackets(s, i);
            i = from - 1;
            name = 0;
        } else if (c == '{' && !name) {
            return i;  // of a function whose parameters came before
        } else if (c == '[' || c == '=' || c == '{' || c == ',' || c == ';') {
            // One that was declared in a scope of its own cannot be named here.
            if (name && defined && !token_is(s->items[name - 1], "::"))
                add_global(s, name, found, place.scope, scan);
            name = 0;
            while (i < s->count && !token_is(s->items[i], ",") &&
                   !token_is(s->items[i], ";"))
                i = tokens_next(s, i);
            if (token_is(s->items[i], ";"))
                return i;
        }
    }
    return i;
}

// --- Scopes ----------------------------------------------------------------

static size_t scan_scope(const struct tokens *s, size_t i, struct place place,
                         struct scan *scan);

// namespace b = a; whose other name begins at token `i`.
static void add_alias(const struct tokens *s, size_t i, struct place place,
                      const char *alias, struct scan *scan)
{
    struct text real = {0};
    const bool whole = token_is(s->items[i], "::");
    text_add(&real, whole ? "" : place.scope);
    for (i += whole; token_is_word(s->items[i]); i++) {
        text_add(&real, real.size ? "::" : "");
        text_add_bytes(&real, s->items[i].start, s->items[i].size);
        i += token_is(s->items[i + 1], "::");
    }
    char *scope = resolve(scan, real.data);
    // One that begins with itself would grow wherever it is used.
    bool known = begins_with(scope, alias);
    for (i = 0; i < scan->aliases.count; i++)
        known |= strcmp(scan->aliases.items[i], alias) == 0 &&
                 strcmp(scan->aliased.items[i], scope) == 0;
    if (!known) {
        list_add(&scan->aliases, alias);
        list_add(&scan->aliased, scope);
    }
    free(scope);
}

// At `namespace`: enters it. An unnamed one is called "-", and an inline one
// has a "+" before its name.
static size_t scan_namespace(const struct tokens *s, size_t i,
                             struct place place, struct scan *scan)
{
    struct text scope = {0};
    text_add(&scope, place.scope);
    size_t names = 0;
    bool is_inline = i > 0 && token_is(s->items[i - 1], "inline");
    for (i++; i < s->count && !token_is(s->items[i], "{"); i++) {
        struct token token = s->items[i];
        if (token_is(token, "="))
            add_alias(s, i + 1, place, scope.data, scan);
        if (token_is(token, ";") || token_is(token, "=")) {
            text_free(&scope);
            return i;
        }
        if (token_takes_brackets(token))
            i = tokens_skip_brackets(s, i + 1) - 1;
        else if (token_is(token, "["))
            i = tokens_skip_brackets(s, i) - 1;
        else if (token_is(token, "inline"))
            is_inline = true;  // namespace a::inline b
        else if (token_is_word(token)) {
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
static size_t scan_scope(const struct tokens *s, size_t i, struct place place,
                         struct scan *scan)
{
    size_t from = i;  // where the current declaration began
    if (!rules_enter(s, i, scan))
        return s->count;
    while (i < s->count) {
        struct token token = s->items[i];
        if (token_is(token, "}")) {
            scan->depth--;
            return i + 1;
        }
        if (token_is(token, "namespace") && !token_is(s->items[i - (i > 0)],
                                                  "using")) {
            i = from = scan_namespace(s, i, place, scan);
        } else if (token_is(token, "extern") &&
                   s->items[i + 1].start[0] == '"' &&
                   token_is(s->items[i + 2], "{")) {
            bool is_c = token_is(s->items[i + 1], "\"C\"");
            i = from = scan_scope(s, i + 3, (struct place){place.scope, is_c},
                                  scan);
        } else if (token_is(token, "template") &&
                   token_is(s->items[i + 1], "<")) {
            size_t end = tokens_skip_angles(s, i + 1);
            i = end < s->count ? end : i + 2;
        } else if (token_is(token, "requires")) {
            i = tokens_skip_requirement(s, i);
        } else if (token_is(token, "__global__")) {
            i = read_kernel(s, from, i + 1, place, scan);
        } else if (token_is(token, "__constant__") ||
                   token_is(token, "__device__") ||
                   token_is(token, "__managed__")) {
            i = read_global(s, from, i, place, scan);
        } else if (token_is(token, "{") || token_is(token, "(")) {
            const size_t open = i;
            i = tokens_skip_brackets(s, i);
            rules_check_body(s, open + 1, i, scan);
            from = token_is(token, "{") ? i : from;
        } else {
            i++;
            from = token_is(token, ";") ? i : from;
        }
    }
    return i;
}

void scan_source(const char *source, struct scan *scan)
{
    struct tokens tokens = {0};
    tokens_read(source, &tokens);
    scan->source = source;
    rules_check(&tokens, scan);
    if (!scan->default_device)
        hosts_check(&tokens, scan);
    // A stray closing brace ends the outermost scope too early; go on after it.
    for (size_t i = 0; i < tokens.count;)
        i = scan_scope(&tokens, i, (struct place){"", false}, scan);
    tokens_free(&tokens);
}

void scan_free(struct scan *scan)
{
    for (size_t i = 0; i < scan->kernel_count; i++) {
        free(scan->kernels[i].scope);
        free(scan->kernels[i].name);
        free(scan->kernels[i].bounds);
        free(scan->kernels[i].cluster);
        list_free(&scan->kernels[i].types);
    }
    for (size_t i = 0; i < scan->global_count; i++) {
        free(scan->globals[i].scope);
        free(scan->globals[i].name);
    }
    free(scan->kernels);
    free(scan->globals);
    free(scan->refusals);
    list_free(&scan->aliases);
    list_free(&scan->aliased);
    text_free(&scan->preprocessed);
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
    while (token_has(*value))
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
        bool after_comment =
            line > text + 1 && strncmp(line - 2, "*/", 2) == 0;
        if (line > text && line[-1] != '\n' && !after_comment)
            continue;  // in the middle of a line
        const char *word = p + 1 + strspn(p + 1, " \t");
        size_t size = (size_t)(tokens_skip_line(p) - p);
        if (strncmp(word, "pragma", 6) == 0 || strncmp(word, "line", 4) == 0 ||
            strncmp(word, "undef", 5) == 0)
            continue;
        if (strncmp(word, "define", 6) != 0 || !is_harmless_define(p, size))
            return true;
    }
    return false;
}

// Whether a line goes on in the next one, which may divide any word.
static bool has_continuation(const char *text)
{
    for (const char *p = text; (p = strchr(p, '\\')); p++)
        if (p[1 + strspn(p + 1, " \t\v\f\r")] == '\n')
            return true;
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
                  has_directives(source) || has_continuation(source);
    text_free(&own);
    return needed;
}
