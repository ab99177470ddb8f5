// Failures that the driver reports, and the loss of a device.
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"

// Records that the driver refused `what` with `code`, and returns the status.
// If the code means that the device is lost, the context latches the failure.
rnl_status driver_fail(struct context *context, int code, const char *what);

// Latches the failure of the context: every wait ends, every call reports the
// failure. `blamed`: the stream that saw the failure, or NULL.
void context_lose(struct context *context, struct stream *blamed, int code);

// Has the driver print the output of kernels so far. The driver prints only in
// a wait of its own, and Runnel's waits are none.
void context_show_prints(struct context *context);

// After the loss of the device, a wait goes on only while threads of the
// library still copy the callers' memory. True if a thread does.
bool context_still_copies(const struct context *context);
