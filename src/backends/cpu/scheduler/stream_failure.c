// The failures of a queue, including those before a reset. A wait hands the
// failure of the awaited work on to the stream that waits (inherit_failure in
// queue.c).
#include "backends/cpu/scheduler/queue.h"
#include "core/stream/failure.h"

bool queue_failed(struct queue *queue, uint64_t sequence,
                  struct failure **out)
{
    lock_take(&queue->lock);
    bool failed = queue->failed_at && queue->failed_at <= sequence;
    *out = failed ? stream_get_failure(queue->stream)
                  : failure_history_find(&queue->history, sequence);
    lock_give(&queue->lock);
    return *out != NULL;
}

// Later ops have not failed, even if there are none: an idle queue skips a
// number, so that its end is no longer among the failed ops.
static void step_over_locked(struct queue *queue)
{
    ASSERT(lock_is_held(&queue->lock));
    _Atomic uint64_t *enqueued = &queue->stream->enqueued;
    uint64_t last = atomic_load(enqueued);
    if (atomic_load(&queue->completed) != last)
        return;
    atomic_store(&queue->completed, last + 1);
    atomic_store(enqueued, last + 1);
}

void queue_forget(struct queue *queue)
{
    failure_history_finish(&queue->history);
}

// Work that waits for what failed before the reset must still not run.
void queue_reset(struct queue *queue)
{
    struct failure *failure = stream_get_failure(queue->stream);
    if (!failure)
        return;
    struct failure_span *room = mem_allocate(sizeof *room);
    lock_take(&queue->lock);
    struct failure_span *surplus = failure_history_add(
        &queue->history,
        (struct failure_span){failure, queue->failed_at,
                              atomic_load(&queue->completed), NULL},
        room);
    queue->failed_at = 0;
    step_over_locked(queue);
    lock_give(&queue->lock);
    failure_spans_unref(surplus);
}
