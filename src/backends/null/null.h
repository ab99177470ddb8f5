// The smallest legal backend: one device that performs nothing and is always
// done. The null backend is the template for a new backend, and unit tests run
// the core on the null device. The null backend is not built in.
#pragma once

#include "core/backend.h"

extern const struct backend null_backend;

// The number of objects that are initialised and not finished: streams, events
// and live allocations.
unsigned null_live(void);

// Makes the `skip`-th next hook that can fail return OUT_OF_MEMORY; 0 is the
// very next. Negative: none. Returns the rest of the last count; negative: the
// hook failed.
int null_fail_after(int skip);
