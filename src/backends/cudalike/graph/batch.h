// Batches: many small operations in a row, given to the driver as one launch of
// a graph that is kept, which costs it a fraction of as many launches.
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"

// Gives the first ops of a list to the driver, if that pays, and returns how
// many. When none: `*out_alone` are better given one by one, at least 1. With
// the stream's lock held and its context current.
size_t gpu_batch_give(struct stream *stream, const struct op *first,
                      size_t *out_alone);

// At the stream's end: nothing is in flight. With the context current.
void gpu_batches_finish(struct stream *stream);
