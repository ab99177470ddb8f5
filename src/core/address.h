// Finds the memory that an address lies in.
#pragma once

#include "core/core.h"

// Whether all of these bytes, at least 1, lie in one piece of memory that the
// context knows: a live buffer whose memory it may use, or memory that it
// allocated or registered. `*out_buffer` is the buffer, kept for the caller, or
// NULL where there is none.
bool address_is_known(struct context *context, const void *start, size_t size,
                      struct object **out_buffer);
