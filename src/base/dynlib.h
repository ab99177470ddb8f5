// Shared libraries that are looked for at run time.
#pragma once

#include "base/text.h"

// Opens the first of `names`, NULL at the end, that there is, for good. What
// was tried, and what the system said, is added to `tried`. NULL when there is
// none.
void *dynlib_open(const char *const *names, struct text *tried);

// Loads and unloads what a program loads again and again. The system's loader
// has a lock that a forked child finds taken for ever: a fork waits for these.
void *dynlib_load(const char *path);
void dynlib_unload(void *library);

// For who is told of forks.
void dynlib_before_fork(void);
void dynlib_after_fork_in_parent(void);
void dynlib_after_fork_in_child(void);

// NULL when the library has no such symbol.
void *dynlib_symbol(void *library, const char *name);

// Where the library lies that has what is at `address`; NULL: none.
const void *dynlib_base(const void *address);
