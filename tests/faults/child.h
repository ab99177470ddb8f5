// Tests in processes of their own with an environment of their own: the parent
// never uses the library, which reads its environment once.
#pragma once

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A new private folder; removed by child_remove.
void child_folder(char *path, size_t size);
void child_remove(const char *folder);

// Writes a shell script that can be run, "#!/bin/sh" in front.
void child_script(const char *path, const char *text);

// How many lines a file has; 0 when there is none.
size_t child_lines(const char *path);

// Runs `body` in a new process with the variables `environment` ("NAME=value",
// or "NAME" to unset it; NULL at the end). Fails the test when body returns
// other than 0 or is ended by a signal.
void child_run(int (*body)(void), const char *const *environment);

// Inside `body`: leaves it with the line number when `condition` is false.
#define CHECK(condition)                                                \
    do {                                                                \
        if (!(condition)) {                                             \
            fprintf(stderr, "%s:%d: %s\n    last error: %s\n",         \
                    __FILE__, __LINE__, #condition,                     \
                    rnl_last_error()->message);                         \
            return 1;                                                   \
        }                                                               \
    } while (0)

// Compiles a kernel with the real compiler and checks what it computes.
int child_computes(void);

// Checks that the library still does other work on `context`.
int child_still_works(rnl_context context);

// The kernel compiler of the build; skips the test where there is none.
const char *child_compiler(void);
