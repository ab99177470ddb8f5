// Copies between the device and ordinary memory whose end the caller awaits.
// The calling thread does a small copy itself, because waking a library thread
// takes longer.
#include "backends/cudalike/driver/driver.h"
#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/stream/copy.h"
#include "backends/cudalike/stream/deferred.h"
#include "backends/cudalike/stream/staging.h"
#include "backends/cudalike/stream/stream.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/idle_free.h"
#include "backends/cudalike/timeline/marker.h"
#include "backends/cudalike/timeline/progress.h"
#include "backends/cudalike/tuning.h"

// Page-locked memory for a small copy. Belongs to a context.
struct bounce {
    struct bounce *next;
    void *memory;
};

static void bounce_free(const struct gpu_context *gpu, struct bounce *bounce)
{
    call_of(gpu)->host_free(bounce->memory);
    mem_release(bounce, sizeof *bounce);
}

static void bounce_release(struct gpu_context *gpu, void *bounce)
{
    bounce_free(gpu, bounce);
}

void bounces_finish(struct gpu_context *gpu)
{
    while (gpu->bounces) {
        struct bounce *bounce = gpu->bounces;
        gpu->bounces = bounce->next;
        bounce_free(gpu, bounce);
    }
}

static struct bounce *bounce_new(const struct gpu_context *gpu)
{
    struct bounce *bounce = mem_allocate(sizeof *bounce);
    if (!bounce)
        return NULL;
    void *before = current_enter(gpu);
    int code = call_of(gpu)->host_allocate(&bounce->memory, BOUNCE_SIZE,
                                           DRIVER_HOST_PORTABLE);
    current_back(gpu, before);
    if (code == 0)
        return bounce;
    mem_release(bounce, sizeof *bounce);
    return NULL;
}

static struct bounce *bounce_take(struct gpu_context *gpu)
{
    lock_take(&gpu->lock);
    struct bounce *bounce = gpu->bounces;
    if (bounce)
        gpu->bounces = bounce->next;
    lock_give(&gpu->lock);
    return bounce ? bounce : bounce_new(gpu);
}

static void bounce_drop(struct gpu_context *gpu, struct bounce *bounce)
{
    lock_take(&gpu->lock);
    bounce->next = gpu->bounces;
    gpu->bounces = bounce;
    lock_give(&gpu->lock);
}

// Replaces the ordinary end of the copy by the page-locked memory. Returns the
// host's part, done before the device's part if the host reads, and afterwards
// if the host writes.
static struct op_copy put_between(struct context *context, struct op_copy *copy,
                                  enum host_part part, char *memory)
{
    struct op_copy rest = *copy;
    if (part == HOST_READS) {
        copy_to_packed(&rest, memory);
        copy_from_packed(copy, memory);
        copy->from_context = context;
        copy->from_host = true;
    } else {
        copy_from_packed(&rest, memory);
        copy_to_packed(copy, memory);
        copy->to_context = context;
        copy->to_host = true;
    }
    return rest;
}

static rnl_status do_rest(const struct op_copy *rest)
{
    if (!driver_use_begin())
        return driver_use_fail();
    copy_by_host(rest);
    driver_use_end();
    return RNL_OK;
}

// Copies through the bounce; the device's part keeps the stream's order. Takes
// over the op.
static rnl_status copy_through(struct stream *stream, struct op *op,
                               enum host_part part, struct bounce *bounce)
{
    struct context *context = stream_context(stream);
    struct op_copy rest =
        put_between(context, &op->copy, part, bounce->memory);
    rnl_status status = part == HOST_READS ? do_rest(&rest) : RNL_OK;
    if (status == RNL_OK)
        status = gpu_stream_submit(stream, op);
    if (status != RNL_OK)
        op_finish(op);
    else
        status = stream_wait_done(stream, RNL_FOREVER);
    if (status == RNL_OK && part == HOST_WRITES)
        status = do_rest(&rest);
    if (status == RNL_OK)
        bounce_drop(gpu_of(context), bounce);
    else  // the device may use the bounce
        free_when_idle(context, bounce_release, bounce);
    return status;
}

// Waits for earlier work of other code, on the native stream and on the
// vendor's legacy default stream.
static rnl_status await_others(struct stream *stream)
{
    if (stream_has_points(stream))
        return RNL_OK;
    struct context *context = stream_context(stream);
    struct marker *marker = marker_take(context, false);
    if (!marker)
        return fail_status();
    rnl_status status = stream_record_marker(stream, marker);
    if (status == RNL_OK)
        status = stream_wait_done(stream, RNL_FOREVER);
    marker_drop(context, marker);
    return status;
}

// The caller may have no current context.
static enum host_part host_part(struct context *context, const struct op *op)
{
    const struct gpu_context *gpu = gpu_of(context);
    void *before = current_enter(gpu);
    enum host_part part = gpu_host_part(context, op);
    current_back(gpu, before);
    return part;
}

rnl_status gpu_copy_awaited(struct stream *stream, struct op *op)
{
    struct context *context = stream_context(stream);
    bool *ended = op->copy.awaited;
    op->copy.awaited = NULL;
    rnl_status status = stream_refuse_captured(stream);
    if (status != RNL_OK)
        return status;
    if (!host_queue_is_supported(gpu_of(context)) ||
        gpu_copy_is_taken_early(stream, op))
        return gpu_stream_submit(stream, op);
    enum host_part part = host_part(context, op);
    // Earlier operations may write to the memory that the host reads.
    if (part == HOST_READS)
        status = stream_wait_done(stream, RNL_FOREVER);
    if (status != RNL_OK)
        return status;
    // A waiting thread carries a large copy in host_queue_help.
    if ((part != HOST_READS && part != HOST_WRITES) ||
        packed_size(&op->copy) > BOUNCE_SIZE ||
        gpu_copy_is_taken_early(stream, op))
        return gpu_stream_submit(stream, op);
    if (part == HOST_READS)
        status = await_others(stream);
    if (status != RNL_OK)
        return status;
    struct bounce *bounce = bounce_take(gpu_of(context));
    if (!bounce)
        return gpu_stream_submit(stream, op);
    *ended = true;
    return copy_through(stream, op, part, bounce);
}
