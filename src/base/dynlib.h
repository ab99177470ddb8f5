// Shared libraries that are looked for at run time.
#pragma once

#include "base/text.h"

// Opens the first library of `names` that exists, for good; NULL ends the list.
// Adds the names tried, with the system's reasons, to `tried`. NULL if none
// exists.
void *dynlib_open(const char *const *names, struct text *tried);

// Loads and unloads what a program loads again and again. The system's loader
// has a lock that a forked child finds taken for ever: a fork waits for these.
void *dynlib_load(const char *path);
void dynlib_unload(void *library);

// Hooks around a fork.
void dynlib_before_fork(void);
void dynlib_after_fork_in_parent(void);
void dynlib_after_fork_in_child(void);

// NULL when the library has no such symbol.
void *dynlib_symbol(void *library, const char *name);

// Where the library lies that has what is at `address`; NULL: none.
const void *dynlib_base(const void *address);
