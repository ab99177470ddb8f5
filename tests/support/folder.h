// A private folder of the test process, and the files in it.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Made at the first call, removed at the process's end.
const char *test_folder(void);

// "<folder>/<name>"; valid until the eighth next call.
const char *test_path(const char *name);

// Removes what is in the folder `name`, and it.
void test_remove(const char *name);

void test_write(const char *name, const void *data, size_t size);

// A shell script that can be run.
void test_script(const char *name, const char *text);

// The whole file, allocated with malloc; NULL when there is none.
char *test_read(const char *path, size_t *out_size);

size_t test_line_count(const char *name);

// The only visible file in the folder `name`; fails the test if there are more.
const char *test_only_file(const char *name);
