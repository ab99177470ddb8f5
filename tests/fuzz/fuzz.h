// What the fuzz targets share.
//
// A target is one function that takes any bytes. The preset fuzz links it with
// libFuzzer, which looks for bytes that reach new code; everywhere else
// replay.c calls it with each seed once, so that no target rots. A target may
// be called any number of times in a process and leaves nothing behind.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The names are libFuzzer's. Returns 0.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Ends the process, as a crash does, unless `holds`.
void fuzz_require(bool holds, const char *what);

// A zero-terminated copy to be freed, of just this size, so that a sanitizer
// sees who reads beyond it. Zeros in it become spaces.
char *fuzz_text(const uint8_t *data, size_t size);

// Cuts `text` where a line is "===", and returns what comes after; "" when
// there is none.
char *fuzz_cut(char *text);

// Splits `text` into its lines, `most` at most; returns their number.
size_t fuzz_lines(char *text, char **lines, size_t most);

// The path of a new folder, removed with its files when the process ends.
const char *fuzz_folder(void);
