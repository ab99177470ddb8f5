// Copies of ordinary host memory, for the progress thread.
#pragma once

#include "backends/cudalike/timeline/progress.h"

// True if the copy is worth several threads.
bool staging_takes(const struct op *op);

// Starts the copy in the background; host_queue_complete is called at its end.
// False if memory or threads are short: then the caller uses staging_copy.
bool staging_start(struct stream *stream, struct op *op);

// Copies during the call. Returns RNL_OK or a failure.
rnl_status staging_copy(struct stream *stream, const struct op *op);

// Copies for a waiting caller. The staging threads help if the copy is worth
// several threads.
rnl_status staging_copy_with(struct stream *stream, const struct op *op);

// Frees everything that a context keeps for copies.
void staging_finish(struct gpu_context *gpu);
void bounces_finish(struct gpu_context *gpu);
