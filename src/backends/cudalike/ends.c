#include "backends/cudalike/ends.h"

// A program of nothing that may block leaves no marks.
static _Atomic bool may_block;

void ends_may_block(void)
{
    if (!atomic_load_explicit(&may_block, memory_order_relaxed))
        atomic_store(&may_block, true);
}

static void end_free(struct context *context, struct end *end)
{
    marker_drop(context, end->marker);
    mem_release(end, sizeof *end);
}

static bool is_passed(struct stream *stream, const struct end *end)
{
    const struct gpu_context *gpu = gpu_of(stream_context(stream));
    return atomic_load(&gpu_stream_of(stream)->completed) >= end->behind ||
           call_of(gpu)->event_query(end->marker->event) == 0;
}

// Nobody asks for them any more.
static void drop_passed_locked(struct stream *stream)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    for (struct end *end; (end = own->ends) && is_passed(stream, end);) {
        lock_take(&own->list_lock);
        own->ends = end->next;
        lock_give(&own->list_lock);
        end_free(stream_context(stream), end);
    }
}

static void append_locked(struct gpu_stream *own, struct end *end)
{
    lock_take(&own->list_lock);
    if (own->ends)
        own->ends_last->next = end;
    else
        own->ends = end;
    own->ends_last = end;
    lock_give(&own->list_lock);
}

static int leave(struct stream *stream)
{
    struct context *context = stream_context(stream);
    struct gpu_context *gpu = gpu_of(context);
    struct gpu_stream *own = gpu_stream_of(stream);
    struct end *end = mem_allocate(sizeof *end);
    if (!end)
        return gpu->driver->out_of_memory;
    end->behind = own->graph_at;
    end->marker = marker_take(context, false);
    int code = end->marker ? call_of(gpu)->event_record(end->marker->event,
                                                        own->handle)
                           : gpu->driver->out_of_memory;
    if (code == 0)
        append_locked(own, end);
    else
        end_free(context, end);
    return code;
}

int ends_leave_locked(struct stream *stream)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    int code = 0;
    if (!atomic_load(&may_block) || stream_is_captured(stream))
        return 0;
    drop_passed_locked(stream);
    if (atomic_load(&own->completed) < own->graph_at)
        code = leave(stream);
    if (code == 0)
        own->graph_at = 0;
    return code;
}

struct marker *stream_end_of(struct stream *stream, uint64_t launch)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    lock_take(&own->list_lock);
    struct end *end = own->ends;
    while (end && end->behind < launch)
        end = end->next;
    struct marker *marker = end ? marker_share(end->marker) : NULL;
    lock_give(&own->list_lock);
    return marker;
}

void ends_drop(struct stream *stream)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    for (struct end *end = own->ends, *next; end; end = next) {
        next = end->next;
        end_free(stream_context(stream), end);
    }
    own->ends = NULL;
}
