// The environment, as far as it may be believed.
#pragma once

#include <stdbool.h>

// False in a program with more rights than its user (setuid, file
// capabilities): variables name programs and libraries that would run with
// these rights.
bool env_is_trusted(void);

// getenv; NULL for all where they are not believed.
const char *env_get(const char *name);
