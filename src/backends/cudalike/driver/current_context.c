// The current context of the caller's thread, and helpers that need only the
// driver.
#include "backends/cudalike/driver/driver.h"
#include "backends/cudalike/driver/gpu_context.h"

void *current_enter(const struct gpu_context *gpu)
{
    void *before = NULL;
    call_of(gpu)->context_get(&before);
    // If the context cannot be made current, the thread gets none instead of a
    // foreign one: calls then fail.
    if (before != gpu->handle && call_of(gpu)->context_set(gpu->handle) != 0)
        call_of(gpu)->context_set(NULL);
    return before;
}

int gpu_create_aside(const struct gpu_context *gpu, void **out_stream)
{
    return call_of(gpu)->stream_create(out_stream, DRIVER_STREAM_NON_BLOCKING,
                                       gpu->driver->priority_greatest);
}

rnl_status driver_fail_early(const struct driver *driver, int code,
                             const char *what)
{
    const char *name = NULL, *text = NULL;
    driver->call.error_name(code, &name);
    driver->call.error_text(code, &text);
    rnl_status status =
        fail(driver->status(code), "the driver refused %s: %s (%s)", what,
             text ? text : "it does not say why", name ? name : "no name");
    fail_set_native(code, name ? name : "");
    return status;
}
