// The smallest legal backend: one device that performs nothing and is always
// done. The template for a new backend, and what unit tests run the core on. It
// is not among the built-in ones.
#pragma once

#include "core/backend.h"

extern const struct backend null_backend;

// How many objects the backend has initialised and not finished: streams,
// events and live allocations.
unsigned null_live(void);

// Makes the `skip`-th next hook that can fail do so with OUT_OF_MEMORY; 0 is
// the very next. Negative: none. Returns what was left; negative: it failed.
int null_fail_after(int skip);
