// Text for people on standard output: colours, two columns, human units.
#pragma once

#include <runnel/base.h>

enum paint {
    PAINT_NONE,
    PAINT_TITLE,
    PAINT_GOOD,
    PAINT_BAD,
    PAINT_FAINT,
};

// Enough for any of the units below.
#define UNIT_TEXT_SIZE 32

// Width of the first column, and of the page.
#define COLUMN_WIDTH 24
#define PAGE_WIDTH 80

// Prints in a colour where standard output is a terminal that wants it.
__attribute__((format(printf, 2, 3)))
void print_painted(enum paint paint, const char *format, ...);

// One row: a name in the first column, text in the second.
__attribute__((format(printf, 2, 3)))
void print_row(const char *name, const char *format, ...);

// Words of `text`, each line indented and at most PAGE_WIDTH long where the
// words allow it; line ends in `text` are kept.
void print_wrapped(const char *text, int indent);

// "24.0 GiB", "48 KiB", "17 B".
const char *unit_bytes(uint64_t bytes, char text[UNIT_TEXT_SIZE]);

// "3.20 GHz"; "unknown" for 0.
const char *unit_clock(uint64_t khz, char text[UNIT_TEXT_SIZE]);

// "812 ns", "12.3 us", "4.56 ms", "7.89 s".
const char *unit_time(uint64_t ns, char text[UNIT_TEXT_SIZE]);

// False, after a complaint, when standard output could not take everything.
bool output_finish(void);
