#include "backends/cuda/nvrtc.h"

#include <ctype.h>
#include <string.h>

// The first line of a message: FILE(LINE): KIND: …
struct head {
    const char *file;
    size_t file_length;
    const char *line;  // digits
    size_t line_length;
    const char *rest;
};

static bool is_kind(const char *text)
{
    static const char *const kinds[] = {"error", "warning", "remark", "note",
                                        "catastrophic error",
                                        "internal error", "command-line error"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strncmp(text, kinds[i], strlen(kinds[i])) == 0)
            return true;
    return false;
}

static bool read_head(const char *line, size_t length, struct head *head)
{
    for (size_t i = 1; i < length; i++) {
        if (line[i] != '(' || !isdigit((unsigned char)line[i + 1]))
            continue;
        size_t digits = strspn(line + i + 1, "0123456789");
        const char *rest = line + i + 1 + digits;
        if (strncmp(rest, "): ", 3) == 0 && is_kind(rest + 3)) {
            *head = (struct head){line, i, line + i + 1, digits, rest + 3};
            return true;
        }
    }
    return false;
}

// The column of the caret, from 1, in a line of spaces and one caret; 0 for any
// further kind of line. NVRTC indents by two.
static size_t caret_column(const char *line, size_t length)
{
    size_t blank = strspn(line, " \t");
    while (length > blank + 1 && isspace((unsigned char)line[length - 1]))
        length--;
    return blank >= 2 && length == blank + 1 && line[blank] == '^' ? blank - 1
                                                                   : 0;
}

// The column of the message whose first line is at `at`; 0 if the message shows
// none.
static size_t find_column(const char *at)
{
    struct head head;
    for (at += strcspn(at, "\n"); *at == '\n'; at += strcspn(at, "\n")) {
        at++;
        size_t length = strcspn(at, "\n");
        size_t column = caret_column(at, length);
        if (column > 0 || length == 0 || read_head(at, length, &head))
            return column;
    }
    return 0;
}

static void add_head(struct text *out, const struct head *head, size_t column)
{
    text_add_bytes(out, head->file, head->file_length);
    text_add(out, ":%.*s:", (int)head->line_length, head->line);
    if (column > 0)
        text_add(out, "%zu:", column);
    text_add(out, " ");
    text_add_bytes(out, head->rest, strcspn(head->rest, "\n"));
}

void nvrtc_translate(const char *log, struct text *out_log)
{
    struct head head;
    while (*log) {
        size_t length = strcspn(log, "\n");
        if (read_head(log, length, &head))
            add_head(out_log, &head, find_column(log));
        else
            text_add_bytes(out_log, log, length);
        log += length;
        if (*log == '\n') {
            text_add_bytes(out_log, "\n", 1);
            log++;
        }
    }
}
