#include "cc.h"

#include <ctype.h>
#include <string.h>

static bool contains(const char *line, size_t size, const char *word)
{
    size_t length = strlen(word);
    for (size_t i = 0; i + length <= size; i++)
        if (memcmp(line + i, word, length) == 0)
            return true;
    return false;
}

static bool begins(const char *line, size_t size, const char *word)
{
    return size >= strlen(word) && memcmp(line, word, strlen(word)) == 0;
}

// A diagnostic is a line "file:line:…" and all lines up to the next one: they
// show its place in the source.
static bool starts_block(const char *line, size_t size)
{
    const char *colon = memchr(line, ':', size);
    return colon && colon > line && !isspace((unsigned char)line[0]) &&
           isdigit((unsigned char)colon[1]);
}

// "In file included from x:1:" and gcc's "x: In function 'f':" announce the
// diagnostic that follows.
static bool announces(const char *line, size_t size)
{
    return begins(line, size, "In file included from ") ||
           (size > 2 && line[size - 2] == ':' &&
            (contains(line, size, ": In ") || contains(line, size, ": At ")));
}

static bool is_generated(const char *line, size_t size)
{
    static const char *const files[] = {
        CC_PRELUDE_FILE, ("./" CC_PRELUDE_FILE), ("../" CC_PRELUDE_FILE),
        ("../../" CC_PRELUDE_FILE), CC_TABLE_FILE,
        "<scratch space>", "<built-in>", "<command-line>"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (begins(line, size, files[i]))
            return true;
    return false;
}

// Lines about including or being inside the prelude say nothing to the user.
static bool is_noise(const char *line, size_t size)
{
    static const char *const about[] = {
        "In file included from <command-line>",
        "In file included from <built-in>", CC_PRELUDE_FILE ": In ",
        CC_TABLE_FILE ": In ", CC_TABLE_FILE ": At ",
        "compilation terminated"};
    for (size_t i = 0; i < sizeof about / sizeof *about; i++)
        if (begins(line, size, about[i]))
            return true;
    // "1 warning generated." would count what is left out.
    return isdigit((unsigned char)line[0]) &&
           contains(line, size, "generated.");
}

// Copies a line, leaving out the folders that runnel-cc made up, and in the
// words of CUDA.
static void add_line(const char *line, size_t size, struct text *out)
{
    static const struct {
        const char *said, *instead;
    } words[] = {
        {"./" CC_HEADER_FOLDER "/", ""}, {CC_HEADER_FOLDER "/", ""},
        {"./" CC_STUB_FOLDER "/", ""}, {CC_STUB_FOLDER "/", ""},
        {"./" CC_PARTS_FOLDER "/", ""}, {CC_PARTS_FOLDER "/", ""},
        {"GNU-style inline assembly is disabled",
         "inline PTX is not supported by Runnel on the CPU"}};
    const size_t count = sizeof words / sizeof *words;
    for (size_t i = 0; i < size;) {
        size_t w = 0;
        while (w < count && !begins(line + i, size - i, words[w].said))
            w++;
        if (w < count) {
            text_add(out, words[w].instead);
            i += strlen(words[w].said);
        } else {
            text_add_bytes(out, line + i++, 1);
        }
    }
}

// A note belongs to the error or warning before it.
struct filter {
    bool dropping;
    bool primary_dropped;
};

static void start_block(struct filter *filter, const char *line, size_t size)
{
    bool generated = is_generated(line, size);
    if (contains(line, size, " note: ")) {
        filter->dropping = generated || filter->primary_dropped;
        return;
    }
    // An error in the prelude is worth more than a clean log.
    filter->dropping = filter->primary_dropped =
        generated && (!contains(line, size, " error: ") ||
                      begins(line, size, CC_TABLE_FILE));
}

bool diagnostics_blame_table(const char *errors)
{
    for (; *errors; errors += strcspn(errors, "\n"), errors += *errors != 0) {
        size_t size = strcspn(errors, "\n");
        if (begins(errors, size, CC_TABLE_FILE ":") &&
            contains(errors, size, " error: "))
            return true;
    }
    return false;
}

void diagnostics_filter(const char *errors, struct text *out)
{
    struct filter filter = {false, false};
    text_add(out, "");
    while (*errors) {
        const char *end = strchr(errors, '\n');
        size_t size = end ? (size_t)(end - errors) + 1 : strlen(errors);
        if (starts_block(errors, size))
            start_block(&filter, errors, size);
        else if (is_noise(errors, size) || announces(errors, size))
            filter.dropping = is_noise(errors, size);
        if (!filter.dropping)
            add_line(errors, size, out);
        errors += size;
    }
}

// The line that ends before `end`.
static const char *line_before(const char *text, const char *end)
{
    const char *start = end;
    while (start > text && start[-1] != '\n')
        start--;
    return start;
}

void diagnostics_explain(struct text *log)
{
    const char *launch = log->data ? strstr(log->data, "<<<") : NULL;
    if (!launch)
        return;
    // The line before the one shown says where it is.
    const char *shown = line_before(log->data, launch);
    if (shown == log->data)
        return;
    const char *place = line_before(log->data, shown - 1);
    const char *error = strstr(place, " error: ");
    if (!error || error > shown)
        return;
    struct text text = {0};
    text_add_bytes(&text, place, (size_t)(error - place));
    text_add(&text, " error: a launch by a kernel (<<<...>>>) is not "
                    "supported by Runnel on the CPU\n");
    text_add(log, text.data);
    text_free(&text);
}
