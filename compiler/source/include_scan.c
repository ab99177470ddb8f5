// The files of -I folders that a source includes. Their text tells which parts
// of the prelude are needed, so that the others need not be compiled.

#include "source/source.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILES_MOST = 200, BYTES_MOST = 8 << 20 };

struct reading {
    const struct list *arguments;  // of the compiler, -I among them
    struct list files;             // that were read
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static bool was_read(const struct reading *reading, const char *path)
{
    for (size_t i = 0; i < reading->files.count; i++)
        if (strcmp(reading->files.items[i], path) == 0)
            return true;
    return false;
}

// Notes the file of that name in a folder, if the file exists.
static void look(struct reading *reading, const char *folder, const char *name)
{
    struct text path = {0};
    text_format(&path, "%s/%s", folder, name);
    if (is_file(path.data) && !was_read(reading, path.data))
        list_add(&reading->files, path.data);
    text_free(&path);
}

// Notes all files that the name may mean: beside the includer, whose path is
// NULL for the source, and in each folder.
static void look_everywhere(struct reading *reading, const char *includer,
                            const char *name)
{
    const char *end = includer ? strrchr(includer, '/') : NULL;
    if (end) {
        char *folder = strndup(includer, (size_t)(end - includer));
        if (folder)
            look(reading, folder, name);
        free(folder);
    }
    for (size_t i = 0; i < reading->arguments->count; i++) {
        const char *word = reading->arguments->items[i];
        if (strncmp(word, "-I/", 3) == 0)
            look(reading, word + 2, name);
    }
}

// Whether `at` is the word of a directive: "#" comes before it in its line.
static bool is_directive(const char *text, const char *at)
{
    while (at > text && is_blank(at[-1]))
        at--;
    return at > text && at[-1] == '#';
}

// Reads the name of a directive. False if it is not plain: made by a macro, or
// a path from the root.
static bool take_name(struct reading *reading, const char *includer,
                      const char *at)
{
    if (strncmp(at, "_next", 5) == 0)
        at += 5;
    while (is_blank(*at))
        at++;
    if (*at != '"' && *at != '<')
        return false;
    size_t size = strcspn(at + 1, *at == '"' ? "\"\n" : ">\n");
    char *name = strndup(at + 1, size);
    const bool plain = name && at[1 + size] != '\n' && name[0] != '/';
    if (plain)
        look_everywhere(reading, includer, name);
    free(name);
    return plain;
}

// Notes the files that one text includes. Directives in strings and comments
// count, too: a file more only costs time.
static bool take_names(struct reading *reading, const char *includer,
                       const char *text)
{
    static const char *const words[] = {"include", "import"};
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        const size_t size = strlen(words[w]);
        const char *at = text;
        for (; (at = strstr(at, words[w])); at += size)
            if (is_directive(text, at) &&
                !take_name(reading, includer, at + size))
                return false;
    }
    return true;
}

bool include_scan(const struct list *arguments, bool complete,
                  struct text *seen)
{
    struct reading reading = {.arguments = arguments};
    text_add(seen, "\n");
    bool known = complete && take_names(&reading, NULL, seen->data);
    for (size_t i = 0; known && i < reading.files.count; i++) {
        struct text text = {0};
        known = i < FILES_MOST && seen->size < BYTES_MOST &&
                text_read_file(&text, reading.files.items[i]) &&
                take_names(&reading, reading.files.items[i], text.data);
        text_add(seen, "\n");
        text_add_bytes(seen, text.data, text.size);
        text_free(&text);
    }
    list_free(&reading.files);
    return known;
}

// The first character before `p`, without spaces and line continuations.
static const char *before_spaces(const char *text, const char *p)
{
    while (p > text && strchr(" \t\v\f\r\n\\", p[-1]))
        p--;
    return p > text ? p - 1 : text;
}

// Compilers with #embed read a file without a preprocessor line that names the
// file. A directive may have comments before its name and continued lines
// inside, so every possible directive is refused.
bool embeds_check(const char *name, const char *text, struct text *log)
{
    static const char word[] = "embed";
    for (const char *start = text; (start = strchr(start, 'e')); start++) {
        const char *p = start;
        size_t found = 0;
        for (; *p && word[found]; p++)
            if (*p == word[found])
                found++;
            else if (!strchr(" \t\v\f\r\n\\", *p))
                break;
        bool longer = isalnum((unsigned char)*p) || *p == '_';
        const char *last = before_spaces(text, start);
        bool directive = *last == '#' || *last == '/' || *last == '=' ||
                         (*last == ':' && last > text && last[-1] == '%');
        if (word[found] || longer || last == start || !directive ||
            (*last == '/' && (last == text || last[-1] != '*')) ||
            (*last == '=' && (last < text + 2 || last[-1] != '?')))
            continue;
        text_format(log, "%s: error: #embed is not allowed in untrusted "
                    "source: use an array of numbers\n", name);
        return false;
    }
    return true;
}
