// Frees that need an idle device (idle_free.c).
#pragma once

#include "backends/cudalike/driver/gpu_context.h"

typedef void idle_release(struct gpu_context *gpu, void *subject);

// Calls `release` with the context current once the device is idle, because
// `release` waits for the whole device.
void free_when_idle(struct context *context, idle_release *release,
                    void *subject);
// Adds an open context. Closing hands over the context with all its frees, for
// the time when the device is idle.
void idle_frees_open(struct context *context);
void idle_frees_close(struct context *context);
