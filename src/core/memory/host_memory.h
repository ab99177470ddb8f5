// Host memory that a context knows, and the memory of an address.
#pragma once

#include "core/object/context_object.h"

// True when one allocated or registered range has all these bytes.
bool host_range_has(struct context *context, uintptr_t start, size_t size);

// The range that has the byte; false: none.
bool host_range_find(struct context *context, uintptr_t address,
                     uintptr_t *out_start, size_t *out_size,
                     bool *out_allocated);

// Frees host memory that the caller left to the context's end.
void host_ranges_finish(struct context *context);

// Frees what was kept for work that is done by now.
void host_ranges_collect(struct context *context);

// Whether all of these bytes, at least 1, lie in one piece of memory that the
// context knows: a live buffer of an accessible context, or allocated or
// registered host memory. `*out_buffer` is the buffer, referenced for the
// caller, or NULL for host memory.
bool address_is_known(struct context *context, const void *start, size_t size,
                      struct object **out_buffer);
