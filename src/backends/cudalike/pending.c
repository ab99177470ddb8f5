#include "backends/cudalike/pending.h"

#include "backends/cudalike/graph.h"
#include "backends/cudalike/reaper.h"
#include "backends/cudalike/service.h"

// Whether it can be given up once the driver has the work; all else is kept
// until that is done.
static bool goes_with_stream(const struct stream *stream,
                             struct object *object)
{
    enum object_kind kind = object->class->kind;
    if (kind != OBJECT_BUFFER)  // code is unloaded by way of trash_add
        return kind == OBJECT_FUNCTION || kind == OBJECT_MODULE;
    return buffer_goes_with((struct buffer *)object, stream);
}

bool op_must_outlive(const struct stream *stream, const struct op *op)
{
    for (size_t i = 0; i < op->kept_count; i++)
        if (!goes_with_stream(stream, op->kept[i]))
            return true;
    return false;
}

// What it gives up is looked for no more: the stream's count tells of it first,
// though others of its list are still to come.
void stream_pend(struct gpu_stream *own, struct op *op)
{
    _Atomic uint64_t *enqueued = &op->stream->enqueued;
    op->next = NULL;
    lock_take(&own->list_lock);
    if (atomic_load_explicit(&own->pending, memory_order_relaxed))
        own->pending_last->next = op;
    else
        atomic_store_explicit(&own->pending, op, memory_order_relaxed);
    own->pending_last = op;
    if (op->sequence > atomic_load_explicit(enqueued, memory_order_relaxed))
        atomic_store_explicit(enqueued, op->sequence, memory_order_release);
    op_give_up(op);
    lock_give(&own->list_lock);
}

struct op *op_keeper(const struct op *op)
{
    size_t count = op->kept_count;
    bool fits = count <= OP_INLINE_KEPT;
    struct op *keeper = op_create(op->stream, OP_RELEASE,
                                  fits ? 0 : count * sizeof *op->kept);
    if (!keeper)
        return NULL;
    if (!fits)
        keeper->kept = keeper->payload;
    for (size_t i = 0; i < count; i++) {
        object_keep(op->kept[i]);
        keeper->kept[keeper->kept_count++] = op->kept[i];
    }
    keeper->sequence = op->sequence;
    return keeper;
}

// --- How far the stream got --------------------------------------------------

// The oldest op that is over by now, taken out.
static struct op *take_over_locked(struct gpu_stream *own, uint64_t point)
{
    struct op *op = atomic_load_explicit(&own->pending, memory_order_relaxed);
    if (!op || op->sequence > point ||
        (op->kind == OP_GRAPH && !service_is_here() && gpu_graph_owes(op)))
        return NULL;
    atomic_store_explicit(&own->pending, op->next, memory_order_relaxed);
    return op;
}

void stream_settle(struct stream *stream, uint64_t point)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    timeline_complete(timeline_of(own), point);
    // A look without the lock: the service comes by again.
    if (!atomic_load_explicit(&own->pending, memory_order_relaxed))
        return;
    struct op *over = NULL, **end = &over;
    lock_take(&own->list_lock);
    for (struct op *op; (op = take_over_locked(own, point)); end = &op->next)
        *end = op;
    *end = NULL;
    lock_give(&own->list_lock);
    op_end_past(over);
}
