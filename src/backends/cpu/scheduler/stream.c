#include "backends/cpu/kernel/stop.h"
#include "backends/cpu/scheduler/graph_plan.h"
#include "backends/cpu/scheduler/pool.h"
#include "backends/cpu/scheduler/queue.h"
#include "core/backend.h"
#include "core/stream/failure.h"
#include "core/stream/op.h"
#include "core/stream/stream.h"

rnl_status cpu_stream_init(struct stream *stream)
{
    stream_queue(stream)->stream = stream;
    lock_set_rank(&stream_queue(stream)->lock, RANK_QUEUE);
    stream->completed = &stream_queue(stream)->completed;
    stream_queue(stream)->stop = (struct stop_request){
        .owner = stream_queue(stream),
        .done = &stream_queue(stream)->completed,
        .until = &stream_queue(stream)->cancelled,
    };
    return RNL_OK;
}

void cpu_stream_finish(struct stream *stream)
{
    watchdog_remove(&stream_pool(stream)->watchdog,
                      &stream_queue(stream)->stop);
    queue_forget(stream_queue(stream));
}

rnl_status cpu_stream_submit(struct stream *stream, struct op *first)
{
    return first->kind == OP_GRAPH
               ? graph_submit(stream, first)
               : queue_submit(stream_queue(stream), first, NULL);
}

rnl_status cpu_stream_query(struct stream *stream)
{
    struct queue *queue = stream_queue(stream);
    if (atomic_load_explicit(&queue->completed, memory_order_acquire) >=
        atomic_load_explicit(&stream->enqueued, memory_order_acquire))
        return RNL_OK;
    // A querying thread needs the work done: ensures that a worker is awake.
    queue_nudge(queue);
    return RNL_NOT_READY;
}

rnl_status cpu_stream_wait(struct stream *stream, uint64_t deadline)
{
    return queue_wait(stream_queue(stream), atomic_load(&stream->enqueued),
                      deadline,
                      atomic_load_explicit(&stream->sync_policy,
                                           memory_order_relaxed));
}

void cpu_stream_reset(struct stream *stream)
{
    queue_reset(stream_queue(stream));
    stream_clear_failure(stream);
}

rnl_status cpu_stream_join(struct stream *stream, struct stream *other)
{
    uint64_t sequence = atomic_load(&other->enqueued);
    struct queue *queue = stream_queue(other);
    struct failure *failure;
    bool done = atomic_load_explicit(&queue->completed,
                                     memory_order_acquire) >= sequence;
    // A failure of work that is done still has to reach the waiting stream.
    if (done && !queue_failed(queue, sequence, &failure))
        return RNL_OK;
    if (done)
        failure_unref(failure);
    return queue_add_wait(
        stream, &(struct wait){.target = other, .sequence = sequence});
}
