// Copies of ordinary host memory, for the progress thread.
#pragma once

#include "backends/cudalike/timeline/progress.h"

// True for a single row of more than 256 KiB between the device and ordinary
// memory, which several threads copy faster.
bool staging_takes(const struct op *op);

// Starts the copy on the staging threads: pieces go through page-locked memory
// and native streams of their own. host_queue_complete is called at the end.
// False if memory or threads are short: then the caller uses staging_copy.
bool staging_start(struct stream *stream, struct op *op);

// Has the driver copy on gpu->copy_stream and waits for the end. Returns RNL_OK
// or a failure.
rnl_status staging_copy(struct stream *stream, const struct op *op);

// Copies for a waiting caller. The staging threads help if the copy is worth
// several threads.
rnl_status staging_copy_with(struct stream *stream, const struct op *op);

// Frees everything that a context keeps for copies.
void staging_finish(struct gpu_context *gpu);
void bounces_finish(struct gpu_context *gpu);
