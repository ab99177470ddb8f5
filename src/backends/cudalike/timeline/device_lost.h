// Failures that the driver reports, and devices that are lost by them.
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"

// Records that the driver refused `what` with `code`, and returns the status. A
// code that means that the device is lost latches the context.
rnl_status driver_fail(struct context *context, int code, const char *what);

// Latches the context: every wait ends, every call reports the failure.
// `blamed`: the stream at which it was seen, or NULL.
void context_lose(struct context *context, struct stream *blamed, int code);

// What kernels printed by now reaches standard output: the driver brings it
// there where it waits itself, which we do not have it do.
void context_show_prints(struct context *context);

// Of a lost device nothing is waited for but what the library's own threads
// still do with the callers' memory.
bool context_still_copies(const struct context *context);
