// Copies between the device and ordinary memory that the caller waits for: it
// does them itself. To wake a thread of the library takes longer than copies of
// little do.
#include "backends/cudalike/copy.h"
#include "backends/cudalike/held.h"
#include "backends/cudalike/staging.h"

#define BOUNCE_SIZE ((size_t)256 << 10)

// Page-locked memory that a copy of little goes through. Belongs to a context.
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

// The device copies in the stream's order, the host behind it. Takes the op
// over.
static rnl_status copy_through(struct stream *stream, struct op *op,
                               struct bounce *bounce)
{
    struct context *context = stream_context(stream);
    struct op_copy rest = op->copy;
    copy_from_packed(&rest, bounce->memory);
    copy_to_packed(&op->copy, bounce->memory);
    op->copy.to_context = context;
    op->copy.to_host = true;
    rnl_status status = gpu_stream_submit(stream, op);
    if (status != RNL_OK)
        op_finish(op);
    else
        status = stream_wait_done(stream, RNL_FOREVER);
    if (status == RNL_OK) {
        copy_by_host(&rest);
        bounce_drop(gpu_of(context), bounce);
    } else {  // the device may be at it yet
        trash_add_waiting(context, bounce_release, bounce);
    }
    return status;
}

static rnl_status copy_now(struct stream *stream, struct op *op)
{
    const struct gpu_context *gpu = gpu_of(stream_context(stream));
    quiet_copy_await(gpu);
    rnl_status status = staging_copy_with(stream, op);
    quiet_copy_end(gpu);
    op_finish(op);
    return status;
}

// Until all is done that comes before by others: work that they gave the
// stream, and what the vendor's legacy stream was given.
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

static struct bounce *bounce_for(struct stream *stream, enum host_part part,
                                 const struct op *op)
{
    return part == HOST_WRITES && packed_size(&op->copy) <= BOUNCE_SIZE
               ? bounce_take(gpu_of(stream_context(stream)))
               : NULL;
}

rnl_status gpu_copy_awaited(struct stream *stream, struct op *op)
{
    struct context *context = stream_context(stream);
    bool *ended = op->copy.awaited;
    op->copy.awaited = NULL;
    rnl_status status = stream_refuse_captured(stream);
    if (status != RNL_OK)
        return status;
    if (!service_can_be_asked(gpu_of(context)) ||
        gpu_copy_is_taken_early(stream, op))
        return gpu_stream_submit(stream, op);
    enum host_part part = gpu_host_part(context, op);
    if (part == HOST_NOTHING)
        return gpu_stream_submit(stream, op);
    struct bounce *bounce = bounce_for(stream, part, op);
    if (bounce) {
        *ended = true;
        return copy_through(stream, op, bounce);
    }
    // What the host reads may be written by what comes before.
    status = stream_wait_done(stream, RNL_FOREVER);
    if (status == RNL_OK && gpu_copy_is_taken_early(stream, op))
        return gpu_stream_submit(stream, op);
    if (status == RNL_OK)
        status = await_others(stream);
    if (status != RNL_OK)
        return status;
    *ended = true;
    return copy_now(stream, op);
}
