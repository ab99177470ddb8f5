#include "backends/cudalike/timeline/graph_fence.h"

#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/marker.h"

// If a program has no work that may block, its streams record no fences.
static _Atomic bool blocks;

void graph_fences_enable(void)
{
    if (!atomic_load_explicit(&blocks, memory_order_relaxed))
        atomic_store(&blocks, true);
}

static bool is_passed(struct stream *stream, const struct marker *end)
{
    const struct gpu_context *gpu = gpu_of(stream_context(stream));
    return atomic_load(&stream_timeline(stream)->completed) >= end->value ||
           call_of(gpu)->event_query(end->event) == 0;
}

// `completed` may lag behind: the fences' events tell earlier that launches are
// over.
static void drop_passed_locked(struct stream *stream)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    struct gpu_stream *own = gpu_stream_of(stream);
    for (struct marker *end; (end = own->fences) && is_passed(stream, end);) {
        lock_take(&own->fences_lock);
        own->fences = end->next;
        own->graphs_over = end->value;
        lock_give(&own->fences_lock);
        marker_drop(stream_context(stream), end);
    }
}

static void leave(void *subject)
{
    int code;
    struct stream *stream = subject;
    struct gpu_stream *own = gpu_stream_of(stream);
    struct marker *end = marker_record(stream, &code);
    if (!end)
        return;
    end->value = own->graph_at;
    end->next = NULL;
    lock_take(&own->fences_lock);
    if (own->fences)
        own->fences_last->next = end;
    else
        own->fences = end;
    own->fences_last = end;
    lock_give(&own->fences_lock);
    own->graph_at = 0;
}

void graph_fence_leave_locked(struct stream *stream)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    struct gpu_stream *own = gpu_stream_of(stream);
    if (!atomic_load(&blocks) || stream_captured_by_others(stream))
        return;
    drop_passed_locked(stream);
    if (atomic_load(&timeline_of(own)->completed) >= own->graph_at)
        own->graph_at = 0;
    else
        fail_beside(leave, stream);
}

bool stream_fence_of(struct stream *stream, uint64_t launch,
                   struct marker **out_end)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    lock_take(&own->fences_lock);
    struct marker *end = own->fences;
    while (end && end->value < launch)
        end = end->next;
    bool over = own->graphs_over >= launch ||
                atomic_load(&timeline_of(own)->completed) >= launch;
    *out_end = end && !over ? marker_share(end) : NULL;
    lock_give(&own->fences_lock);
    return end || over;
}

void graph_fences_drop(struct stream *stream)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    for (struct marker *end = own->fences, *next; end; end = next) {
        next = end->next;
        marker_drop(stream_context(stream), end);
    }
    own->fences = own->fences_last = NULL;
}
