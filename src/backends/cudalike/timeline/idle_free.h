// What is freed while the device is idle (idle_free.c).
#pragma once

#include "backends/cudalike/driver/gpu_context.h"

typedef void idle_release(struct gpu_context *gpu, void *subject);

// Calls `release`, which waits for the whole device, once that is idle, with
// the context current.
void free_when_idle(struct context *context, idle_release *release,
                    void *subject);
// Frees on devices that are idle. By the reaper; true when some is left that it
// has to come back for.
bool idle_frees_run(void);
// A context is there; is gone, with all that has to be freed for it.
void idle_frees_open(struct context *context);
void idle_frees_close(struct context *context);
