#include "job.h"
#include "tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct line {
    const char *file;  // with its size, as a marker before the line names it
    size_t file_size;
    size_t number;     // in that file
    const char *start; // in the text
};

// Takes what `#line 3 "a.cu"`, or `# 3 "a.cu"` of a preprocessor, says about
// the next line.
static void read_marker(const char *text, struct line *line)
{
    char *end;
    const char *p = text + strspn(text, " \t");
    if (*p++ != '#')
        return;
    p += strspn(p, " \t");
    if (strncmp(p, "line", 4) == 0)
        p += 4;
    unsigned long number = strtoul(p, &end, 10);
    if (end == p)
        return;
    line->number = number - 1;
    p = end + strspn(end, " \t");
    if (*p == '"') {
        line->file = p + 1;
        line->file_size = strcspn(p + 1, "\"\n");
    }
}

static struct line find_line(const char *text, const char *name,
                             const char *at)
{
    struct line line = {name, strlen(name), 1, text};
    for (const char *end; (end = strchr(line.start, '\n')) && end < at;) {
        read_marker(line.start, &line);
        line.number++;
        line.start = end + 1;
    }
    return line;
}

// Line `number` of a text; its end if there is none.
static const char *nth_line(const char *text, size_t number)
{
    while (--number > 0 && *text)
        text += strcspn(text, "\n"), text += *text == '\n';
    return text;
}

// Where a word begins in a line; NULL if it is not there.
static const char *find_word(const char *line, const char *word, size_t size)
{
    const char *end = line + strcspn(line, "\n");
    for (const char *p = line; p + size <= end; p++)
        if (strncmp(p, word, size) == 0 && (p == line || !token_has(p[-1])) &&
            !token_has(p[size]))
            return p;
    return NULL;
}

// Adds the source line and a caret below the word, as clang does.
static void show(size_t number, const char *line, const char *word, size_t size,
                 struct text *out)
{
    text_format(out, "%5zu | %.*s\n      | ", number,
                (int)strcspn(line, "\r\n"), line);
    for (; line < word; line++)
        text_add(out, *line == '\t' ? "\t" : " ");
    text_add(out, "^");
    while (--size > 0)
        text_add(out, "~");
    text_add(out, "\n");
}

// Macros and comments have gone from what was preprocessed: the line as it was
// is in the file, or nowhere.
static void read_line(const struct line *line, struct text *file)
{
    char name[4096], path[4200];
    snprintf(name, sizeof name, "%.*s", (int)line->file_size, line->file);
    in_folder(path, name);
    text_read_file(file, name[0] == '/' ? name : path);
}

void location_report(const struct scan *scan, const char *name, const char *at,
                     const char *kind, const char *sentence, struct text *out)
{
    struct text file = {0};
    if (!at) {
        text_format(out, "%s: %s: %s\n", name, kind, sentence);
        return;
    }
    const struct line line = find_line(scan->source, name, at);
    const char *shown = line.start, *word = at;
    size_t size = 1;
    while (token_has(at[0]) && token_has(at[size]))
        size++;
    if (scan->preprocessed.data) {
        read_line(&line, &file);
        shown = nth_line(file.data ? file.data : "", line.number);
        word = find_word(shown, at, size);
    }
    size_t folder = diagnostics_folder(line.file);
    text_format(out, "%.*s:%zu:", (int)(line.file_size - folder),
                line.file + folder, line.number);
    if (word)
        text_format(out, "%zu:", (size_t)(word - shown) + 1);
    text_format(out, " %s: %s\n", kind, sentence);
    if (word)
        show(line.number, shown, word, size, out);
    text_free(&file);
}
