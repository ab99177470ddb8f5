#include "backends/cudalike/plan.h"
#include "backends/cudalike/staging.h"

#include <stdio.h>

// --- The current context ---------------------------------------------------

void *current_enter(const struct gpu_context *gpu)
{
    void *before = NULL;
    call_of(gpu)->context_get(&before);
    // Better none than another's: calls then fail.
    if (before != gpu->handle && call_of(gpu)->context_set(gpu->handle) != 0)
        call_of(gpu)->context_set(NULL);
    return before;
}

// --- Life ------------------------------------------------------------------

static void close_device(struct gpu_context *gpu)
{
    const struct driver_functions *call = call_of(gpu);
    if (gpu->copy_stream)
        call->stream_destroy(gpu->copy_stream);
    if (gpu->own_stream)
        call->stream_destroy(gpu->own_stream);
}

int gpu_create_aside(const struct gpu_context *gpu, void **out_stream)
{
    return call_of(gpu)->stream_create(out_stream, DRIVER_STREAM_NON_BLOCKING,
                                       gpu->driver->priority_greatest);
}

// Creates the driver objects that each context owns.
static int furnish(struct gpu_context *gpu)
{
    const struct driver_functions *call = call_of(gpu);
    int flushes = 0;
    call->device_attribute(&flushes, gpu->driver->attributes->flush_writes,
                           gpu->device);
    gpu->flushes = flushes != 0;
    void *before = current_enter(gpu);
    int code = gpu_create_aside(gpu, &gpu->own_stream);
    if (code == 0)
        code = gpu_create_aside(gpu, &gpu->copy_stream);
    if (code != 0)
        close_device(gpu);
    current_back(gpu, before);
    if (code != 0 && !gpu->foreign)
        call->primary_release(gpu->device);
    return code;
}

static int open_device(struct gpu_context *gpu, uint32_t index)
{
    const struct driver_functions *call = call_of(gpu);
    int code = call->device_get(&gpu->device, (int)index);
    if (code == 0)
        code = call->primary_retain(&gpu->handle, gpu->device);
    return code ? code : furnish(gpu);
}

// Retains an adopted context that is the device's primary one, as open_device
// does. An inactive primary context cannot be the adopted one.
static int find_whose(struct gpu_context *gpu)
{
    const struct driver_functions *call = call_of(gpu);
    unsigned flags = 0;
    int active = 0;
    void *primary = NULL;
    int code = call->primary_state(gpu->device, &flags, &active);
    if (code == 0 && active)
        code = call->primary_retain(&primary, gpu->device);
    gpu->foreign = primary != gpu->handle;
    if (gpu->foreign && primary)
        call->primary_release(gpu->device);
    return code;
}

// Which device the context is of; a code for what the driver does not know. It
// makes anything current without a look (seen with CUDA 13.0), so it is asked
// for something else before.
static int look_at_context(struct gpu_context *gpu)
{
    const struct driver_functions *call = call_of(gpu);
    void *before = NULL;
    uint64_t id = 0;
    unsigned version = 0;
    int code = call->context_id ? call->context_id(gpu->handle, &id)
                                : call->context_version(gpu->handle, &version);
    if (code == 0)
        code = call->context_get(&before);
    if (code == 0)
        code = call->context_set(gpu->handle);
    if (code != 0)
        return code;
    code = call->context_device(&gpu->device);
    call->context_set(before);
    return code;
}

static rnl_status adopt(struct context *context, struct gpu_context *gpu)
{
    const struct driver *driver = gpu->driver;
    gpu->handle = context->adopted;
    int code = look_at_context(gpu), device = -1;
    if (code != 0) {
        const char *name = NULL;
        driver->call.error_name(code, &name);
        fail_at(RNL_ERROR_INVALID_ARGUMENT, "native",
                "the driver does not know %p as a context that can be used "
                "(%s)",
                gpu->handle, name ? name : "no name");
        fail_set_native(code, name ? name : "");
        return RNL_ERROR_INVALID_ARGUMENT;
    }
    while (context->adopted_index < driver->device_count &&
           (driver->call.device_get(&device, (int)context->adopted_index) ||
            device != gpu->device))
        context->adopted_index++;
    code = find_whose(gpu);
    if (code == 0)
        code = furnish(gpu);
    return code ? driver_fail_early(driver, code, "to adopt the context")
                : RNL_OK;
}

rnl_status gpu_context_init(struct context *context,
                            const struct driver *driver)
{
    struct gpu_context *gpu = gpu_of(context);
    gpu->driver = driver;
    rnl_status status = RNL_OK;
    int code = 0;
    if (context->adopted)
        status = adopt(context, gpu);
    else
        code = open_device(gpu, context->device->index);
    if (code != 0)
        status = driver_fail_early(driver, code, "to open the device");
    if (status == RNL_OK)
        idle_frees_open(context);
    return status;
}

void context_rest_finish(struct gpu_context *gpu)
{
    service_pages_finish(gpu);
    markers_finish(gpu);
    gpu_decider_finish(gpu);
    staging_finish(gpu);
    bounces_finish(gpu);
    close_device(gpu);
    timelines_trim();
}

// Other contexts of the device may have work, for which freeing memory waits.
void gpu_context_finish(struct context *context)
{
    struct gpu_context *gpu = gpu_of(context);
    gpu->deleter = context->options.deleter;
    gpu->user_data = context->options.user_data;
    gpu_peers_forget(gpu);
    idle_frees_close(context);
}

rnl_status gpu_context_memory(struct context *context, size_t *out_free,
                              size_t *out_total)
{
    struct gpu_context *gpu = gpu_of(context);
    void *before = current_enter(gpu);
    int code = call_of(gpu)->context_memory(out_free, out_total);
    current_back(gpu, before);
    return code == 0 ? RNL_OK
                     : driver_fail(context, code, "to tell the free memory");
}

// --- Failing ---------------------------------------------------------------

static rnl_status refuse(const struct driver *driver, int code,
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

rnl_status driver_fail_early(const struct driver *driver, int code,
                             const char *what)
{
    return refuse(driver, code, what);
}

rnl_status driver_fail(struct context *context, int code, const char *what)
{
    const struct driver *driver = gpu_of(context)->driver;
    // A context that is being opened has no stream to blame, and nobody else
    // knows it.
    if (!driver->is_sticky(code) || !context->default_stream)
        return refuse(driver, code, what);
    context_lose(context, NULL, code);
    rnl_status status = failure_report(atomic_load(&context->lost),
                                       context->default_stream);
    const char *name = NULL;
    driver->call.error_name(code, &name);
    fail_set_native(code, name ? name : "");
    return status;
}

// --- A lost device ---------------------------------------------------------

// The work that may be at fault: of one stream, or of several.
struct suspects {
    struct stream *stream;  // the last one met; only compared and described
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

// Kernels are what fails, as a rule: the only one there is is the suspect.
static uint64_t only_kernel(const struct suspects *suspects)
{
    uint64_t found = 0;
    struct recent recent;
    for (uint64_t i = suspects->first; i <= suspects->last; i++) {
        if (!recent_find(gpu_stream_of(suspects->stream), i, &recent))
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
    recent_describe(own, suspects->first, first, sizeof first);
    recent_describe(own, suspects->last, last, sizeof last);
    snprintf(text, size,
             "; it is one of operations %s to %s of the stream: "
             "RUNNEL_BLOCKING=1 tells which",
             first, last);
}

static struct failure *blame_for(struct context *context,
                                 const struct suspects *suspects,
                                 rnl_status status, const char *message)
{
    struct recent recent = {0};
    char name[RECENT_NAME];
    uint64_t sequence = 0;
    struct stream *stream = context->default_stream;
    if (suspects->streams) {
        stream = suspects->stream;
        sequence = only_kernel(suspects);
        sequence = sequence ? sequence : suspects->last;
        recent_find(gpu_stream_of(stream), sequence, &recent);
    }
    recent_name(&recent, name);
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
        context_is_lost(context) || service_is_here())
        return;
    void *before = current_enter(gpu);
    call_of(gpu)->stream_synchronize(gpu->copy_stream);  // of any stream
    current_back(gpu, before);
}

bool context_still_copies(const struct context *context)
{
    return context_is_lost(context) && quiet_copies(gpu_of(context));
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
    service_wake();
}
