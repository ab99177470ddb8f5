// Shared libraries that are looked for at run time.
#pragma once

#include "base/text.h"

// Opens the first of `names`, NULL at the end, that there is, for good. What
// was tried, and what the system said, is added to `tried`. NULL when there is
// none.
void *shared_open(const char *const *names, struct text *tried);

// NULL when the library has no such symbol.
void *shared_symbol(void *library, const char *name);
