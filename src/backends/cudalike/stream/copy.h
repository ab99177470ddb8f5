// Copies in which the host takes part: packed memory replaces the source or the
// target.
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"

static inline size_t packed_size(const struct op_copy *copy)
{
    return copy->width * copy->height * copy->depth;
}

void copy_from_packed(struct op_copy *copy, const char *memory);
void copy_to_packed(struct op_copy *copy, char *memory);

// Does the whole copy on the host.
void copy_by_host(const struct op_copy *copy);

// True if the driver reads the source of a copy to the device during the call,
// because the copy is small. The source must be the operation's own memory, or
// memory that no earlier operation can change.
bool gpu_copy_is_taken_early(struct stream *stream, const struct op *op);
bool gpu_copy_needs_host(struct stream *stream, const struct op *op);

// stream_submit, for a copy whose end the caller awaits.
rnl_status gpu_copy_awaited(struct stream *stream, struct op *op);
