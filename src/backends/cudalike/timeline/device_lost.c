// Failures that the driver reports, and the loss of a device.
#include "backends/cudalike/timeline/device_lost.h"

#include "backends/cudalike/driver/driver.h"
#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/driver/sync_gate.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/op_history.h"
#include "backends/cudalike/timeline/progress.h"
#include "backends/cudalike/timeline/timeline.h"

#include <stdio.h>

// --- Failing ---------------------------------------------------------------

rnl_status driver_fail(struct context *context, int code, const char *what)
{
    const struct driver *driver = gpu_of(context)->driver;
    // A context that is being opened has no stream to blame, and no other
    // thread knows the context yet.
    if (!driver->is_sticky(code) || !context->default_stream)
        return driver_fail_early(driver, code, what);
    context_lose(context, NULL, code);
    rnl_status status = failure_report(atomic_load(&context->lost),
                                       context->default_stream);
    const char *name = NULL;
    driver->call.error_name(code, &name);
    fail_set_native(code, name ? name : "");
    return status;
}

// --- A lost device ---------------------------------------------------------

// The work that may be at fault: of a single stream, or of several.
struct suspects {
    struct stream *stream;  // the last one found; only compared and described
    uint64_t first, last;
    size_t streams;
};

static rnl_status suspect(struct stream *stream, void *argument)
{
    struct suspects *suspects = argument;
    const struct timeline *timeline = stream_timeline(stream);
    uint64_t completed = atomic_load(&timeline->completed);
    uint64_t submitted = atomic_load(&timeline->submitted);
    if (completed >= submitted)
        return RNL_OK;
    suspects->stream = stream;
    suspects->first = completed + 1;
    suspects->last = submitted;
    suspects->streams++;
    return RNL_OK;
}

// The failed operation is usually a kernel. If the range has exactly one
// kernel, returns its number; otherwise 0.
static uint64_t only_kernel(const struct suspects *suspects)
{
    uint64_t found = 0;
    struct op_record recent;
    for (uint64_t i = suspects->first; i <= suspects->last; i++) {
        if (!op_history_find(gpu_stream_of(suspects->stream), i, &recent))
            return 0;
        if (recent.function && found)
            return 0;
        if (recent.function)
            found = i;
    }
    return found;
}

static void describe_range(const struct suspects *suspects, char *text,
                           size_t size)
{
    char first[160], last[160];
    if (suspects->first == suspects->last || only_kernel(suspects))
        return;
    const struct gpu_stream *own = gpu_stream_of(suspects->stream);
    op_history_describe(own, suspects->first, first, sizeof first);
    op_history_describe(own, suspects->last, last, sizeof last);
    snprintf(text, size,
             "; it is one of operations %s to %s of the stream: "
             "RUNNEL_BLOCKING=1 tells which",
             first, last);
}

static struct failure *blame_for(struct context *context,
                                 const struct suspects *suspects,
                                 rnl_status status, const char *message)
{
    struct op_record recent = {0};
    char name[OP_RECORD_NAME];
    uint64_t sequence = 0;
    struct stream *stream = context->default_stream;
    if (suspects->streams) {
        stream = suspects->stream;
        sequence = only_kernel(suspects);
        sequence = sequence ? sequence : suspects->last;
        op_history_find(gpu_stream_of(stream), sequence, &recent);
    }
    op_history_name(&recent, name);
    struct blame blame = {
        .sequence = sequence,
        .file = recent.file,
        .line = recent.line,
        .name = name,
        .label = recent.labelled ? recent.label : NULL,
    };
    return failure_blame(stream, &blame, status, message);
}

static struct failure *lost_failure(struct context *context,
                                    const struct suspects *suspects, int code)
{
    const struct driver *driver = gpu_of(context)->driver;
    const char *name = NULL, *text = NULL;
    char message[512], range[400] = "";
    driver->call.error_name(code, &name);
    driver->call.error_text(code, &text);
    if (suspects->streams == 1)
        describe_range(suspects, range, sizeof range);
    else if (suspects->streams > 1)
        snprintf(range, sizeof range,
                 "; several streams had work under way");
    snprintf(message, sizeof message, "the device is lost: %s (%s)%.380s",
             text ? text : "an error", name ? name : "no name", range);
    return blame_for(context, suspects, driver->status(code), message);
}

void context_show_prints(struct context *context)
{
    struct gpu_context *gpu = gpu_of(context);
    if (!atomic_load_explicit(&gpu->prints, memory_order_relaxed) ||
        context_is_lost(context) || progress_is_here())
        return;
    void *before = current_enter(gpu);
    call_of(gpu)->stream_synchronize(gpu->copy_stream);  // any stream would do
    current_back(gpu, before);
}

bool context_still_copies(const struct context *context)
{
    return context_is_lost(context) && sync_gate_has_copies(gpu_of(context));
}

void context_lose(struct context *context, struct stream *blamed, int code)
{
    if (context_is_lost(context))
        return;
    struct suspects suspects = {0};
    if (blamed)
        suspect(blamed, &suspects);
    else
        context_each_stream(context, suspect, &suspects);
    struct failure *failure = lost_failure(context, &suspects, code);
    struct failure *none = NULL;
    if (!atomic_compare_exchange_strong(&context->lost, &none, failure))
        failure_unref(failure);
    progress_wake();
}
