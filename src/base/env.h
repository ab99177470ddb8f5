// The environment, as far as it may be believed.
#pragma once

// getenv; NULL for all in a program that has more rights than who started it:
// variables name programs and libraries that would be run with these.
const char *env_get(const char *name);
