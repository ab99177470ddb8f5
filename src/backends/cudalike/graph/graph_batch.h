// Batches: many small operations in a row, submitted as one launch of a kept
// graph. The launch costs the driver a fraction of as many single launches.
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"

// Submits the first ops of a list as one batch if that pays, and returns their
// number. If the result is 0, `*out_alone` ops, at least 1, are better
// submitted singly. The caller holds the stream's lock, and the context is
// current.
size_t gpu_batch_give(struct stream *stream, const struct op *first,
                      size_t *out_alone);

// Frees the batches at the stream's end, when nothing is in flight. The context
// is current.
void gpu_batches_finish(struct stream *stream);
