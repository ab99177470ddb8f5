// Text for people on standard output.
#include "output.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

// https://no-color.org: any value but the empty one turns colours off.
static bool colours_wanted(void)
{
    static int wanted = -1;
    if (wanted < 0) {
        const char *no_color = getenv("NO_COLOR");
        const char *term = getenv("TERM");
        wanted = isatty(STDOUT_FILENO) && !(no_color && no_color[0]) &&
                 term && strcmp(term, "dumb") != 0;
    }
    return wanted;
}

static const char *start_of(enum paint paint)
{
    switch (paint) {
    case PAINT_TITLE: return "\033[1m";
    case PAINT_GOOD: return "\033[32m";
    case PAINT_BAD: return "\033[1;31m";
    case PAINT_FAINT: return "\033[2m";
    default: return "";
    }
}

void print_painted(enum paint paint, const char *format, ...)
{
    bool colours = paint != PAINT_NONE && colours_wanted();
    va_list arguments;
    va_start(arguments, format);
    if (colours)
        fputs(start_of(paint), stdout);
    vprintf(format, arguments);
    if (colours)
        fputs("\033[0m", stdout);
    va_end(arguments);
}

void print_row(const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("  %-*s", COLUMN_WIDTH, name);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
}

// One line of `text`, without line ends, in as many lines as it takes.
static void wrap_line(const char *text, size_t length, int indent)
{
    const char *end = text + length;
    size_t column = 0;
    while (text < end) {
        size_t spaces = strspn(text, " ");
        size_t word = strcspn(text + spaces, " \n");
        if (column && column + spaces + word > PAGE_WIDTH) {
            putchar('\n');
            column = 0;
        }
        if (column == 0) {
            printf("%*s", indent, "");
            column = (size_t)indent;
        } else {
            printf("%*s", (int)spaces, "");
            column += spaces;
        }
        printf("%.*s", (int)word, text + spaces);
        column += word;
        text += spaces + word;
    }
    putchar('\n');
}

void print_wrapped(const char *text, int indent)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        wrap_line(text, length, indent);
        text += length;
        if (*text)
            text++;
    }
}

const char *unit_bytes(uint64_t bytes, char text[UNIT_TEXT_SIZE])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    double value = (double)bytes;
    while (value >= 1024 && unit < 4) {
        value /= 1024;
        unit++;
    }
    bool whole = value == (double)(uint64_t)value;
    snprintf(text, UNIT_TEXT_SIZE, "%.*f %s", whole ? 0 : 1, value,
             units[unit]);
    return text;
}

const char *unit_clock(uint64_t khz, char text[UNIT_TEXT_SIZE])
{
    if (khz == 0)
        snprintf(text, UNIT_TEXT_SIZE, "unknown");
    else if (khz < 1000000)
        snprintf(text, UNIT_TEXT_SIZE, "%" PRIu64 " MHz", khz / 1000);
    else
        snprintf(text, UNIT_TEXT_SIZE, "%.2f GHz", (double)khz / 1e6);
    return text;
}

const char *unit_time(uint64_t ns, char text[UNIT_TEXT_SIZE])
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    size_t unit = 0;
    double value = (double)ns;
    while (value >= 1000 && unit < 3) {
        value /= 1000;
        unit++;
    }
    int digits = unit == 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
    snprintf(text, UNIT_TEXT_SIZE, "%.*f %s", digits, value, units[unit]);
    return text;
}

bool output_finish(void)
{
    // Both are needed: an earlier line may have failed, or the last one.
    bool failed = fflush(stdout) != 0;
    failed |= ferror(stdout) != 0;
    if (failed)
        complain("standard output could not be written");
    return !failed;
}
