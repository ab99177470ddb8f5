#include "backends/cudalike/context/context.h"

#include "backends/cudalike/driver/driver.h"
#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/graph/graph_batch.h"
#include "backends/cudalike/graph/graph.h"
#include "backends/cudalike/graph/plan.h"
#include "backends/cudalike/stream/staging.h"
#include "backends/cudalike/timeline/device_lost.h"
#include "backends/cudalike/timeline/host_queue.h"
#include "backends/cudalike/timeline/idle_free.h"
#include "backends/cudalike/timeline/marker.h"
#include "backends/cudalike/timeline/progress.h"
#include "backends/cudalike/timeline/timeline.h"

// --- Life ------------------------------------------------------------------

static void close_device(struct gpu_context *gpu)
{
    const struct driver_functions *call = call_of(gpu);
    if (gpu->copy_stream)
        call->stream_destroy(gpu->copy_stream);
    if (gpu->own_stream)
        call->stream_destroy(gpu->own_stream);
}

static void find_points(struct gpu_context *gpu)
{
    int can = 1, attribute = gpu->driver->attributes->wait_value;
    if (attribute >= 0 &&
        call_of(gpu)->device_attribute(&can, attribute, gpu->device) != 0)
        can = 0;
    gpu->points = can ? gpu->driver->points : NULL;
}

// Creates the driver objects that each context owns.
static int furnish(struct gpu_context *gpu)
{
    const struct driver_functions *call = call_of(gpu);
    int flushes = 0, attribute = gpu->driver->attributes->flush_writes;
    if (attribute >= 0)
        call->device_attribute(&flushes, attribute, gpu->device);
    gpu->flushes = flushes != 0;
    find_points(gpu);
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

// Finds the device of an adopted context; a code if the driver does not know
// the context. The driver makes any pointer current without a check (seen with
// CUDA 13.0), so another call checks the pointer first.
static int look_at_context(struct gpu_context *gpu)
{
    const struct driver_functions *call = call_of(gpu);
    void *before = NULL;
    uint64_t id = 0;
    unsigned version = 0;
    int code = call->context_id ? call->context_id(gpu->handle, &id)
                                : call->context_version(gpu->handle, &version);
    if (code == 0 && (code = call->context_get(&before)) != 0 && before)
        call->context_set(before);  // HIP's stands for "unknown"
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

// The context is current.
static void finish_rest(struct gpu_context *gpu)
{
    host_words_finish(gpu);
    markers_finish(gpu);
    gpu_condition_kernel_finish(gpu);
    staging_finish(gpu);
    bounces_finish(gpu);
    close_device(gpu);
    timelines_trim();
}

static const struct gpu_hooks hooks = {
    .progress = progress_run,
    .context_end = finish_rest,
    .graph_lock = gpu_graph_lock,
    .graph_prepares = gpu_graph_prepares,
    .graph_launch = gpu_graph_launch,
    .graph_owes = gpu_graph_owes,
    .graph_call = gpu_graph_call,
    .graph_over = gpu_graph_over,
    .batch_give = gpu_batch_give,
    .batches_finish = gpu_batches_finish,
};

rnl_status gpu_context_init(struct context *context,
                            const struct driver *driver)
{
    struct gpu_context *gpu = gpu_of(context);
    gpu->driver = driver;
    gpu->hooks = &hooks;
    lock_set_rank(&gpu->lock, RANK_LEAF);
    lock_set_rank(&gpu->markers[false].lock, RANK_LEAF);
    lock_set_rank(&gpu->markers[true].lock, RANK_LEAF);
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

// The device may have work of other contexts, which delays the frees.
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
