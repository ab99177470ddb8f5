// Copies of which the host does a part: one end is packed memory instead.
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"

static inline size_t packed_size(const struct op_copy *copy)
{
    return copy->width * copy->height * copy->depth;
}

void copy_from_packed(struct op_copy *copy, const char *memory);
void copy_to_packed(struct op_copy *copy, char *memory);

// The host does all of it.
void copy_by_host(const struct op_copy *copy);

// Whether the driver takes a copy to the device at once, being so little: of
// what was given with the operation, or of what nothing before it can change.
bool gpu_copy_is_taken_early(struct stream *stream, const struct op *op);
bool gpu_copy_needs_host(struct stream *stream, const struct op *op);

// stream_submit, for a copy that is awaited.
rnl_status gpu_copy_awaited(struct stream *stream, struct op *op);
