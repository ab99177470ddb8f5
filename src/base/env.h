// The environment, as far as it may be believed.
#pragma once

#include <stdbool.h>

// Not in a program that has more rights than who started it (setuid, file
// capabilities): variables name programs and libraries that would be run with
// these.
bool env_is_trusted(void);

// getenv; NULL for all where they are not believed.
const char *env_get(const char *name);
