// Copies of ordinary host memory, for the progress thread.
#pragma once

#include "backends/cudalike/timeline/progress.h"

// Whether the copy is worth several threads.
bool staging_takes(const struct op *op);

// Has it done in the background; then host_queue_complete is called. False when
// there are no means: staging_copy does it, too.
bool staging_start(struct stream *stream, struct op *op);

// Does it now. RNL_OK or a failure.
rnl_status staging_copy(struct stream *stream, const struct op *op);

// The same for a caller who waits, with the help of those threads where it is
// worth that.
rnl_status staging_copy_with(struct stream *stream, const struct op *op);

// Frees what was kept for copies of a context.
void staging_finish(struct gpu_context *gpu);
void bounces_finish(struct gpu_context *gpu);
