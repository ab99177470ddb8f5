// Cancelling the ops in flight on a stream. The caller only sets the mark: the
// queue's owner takes waits out of their lists, drops ops not begun and fails
// the stream, and the watchdog stops running kernels (kernel/stop.h).
#include "backends/cpu/kernel/stop.h"
#include "backends/cpu/scheduler/event.h"
#include "backends/cpu/scheduler/graph_plan.h"
#include "backends/cpu/scheduler/pool.h"
#include "backends/cpu/scheduler/queue.h"
#include "backends/cpu/scheduler/value_waiters.h"
#include "core/stream/op.h"
#include "core/stream/stream.h"

#include <stdio.h>

// In the list of a stream's queue.
static bool leave_target(struct op *op)
{
    struct queue *target = stream_queue(op_wait(op)->target);
    lock_take(&target->lock);
    struct op **link = &target->waiters, *before = NULL;
    for (; *link && *link != op; link = &op_wait(before)->next)
        before = *link;
    bool found = *link != NULL;
    if (found) {
        *link = op_wait(op)->next;
        if (target->last_waiter == op)
            target->last_waiter = before;
        COUNT_DOWN(&target->attention);
    }
    lock_give(&target->lock);
    return found;
}

bool queue_withdraw_wait(struct op *op)
{
    struct wait *wait = op_wait(op);
    if (!atomic_load(&wait->listed))
        return true;
    bool left = wait->target ? leave_target(op) : event_withdraw(op);
    if (left)
        atomic_store(&wait->listed, false);
    return left;
}

// A wait for another launch of the same executable graph stays: the two share
// its plan. So do ops that run although the stream has failed.
static bool can_be_dropped(struct queue *queue, struct op *op)
{
    switch (op->kind) {
    case OP_WAIT:
        return !op_wait(op)->order_only && queue_withdraw_wait(op);
    case OP_MEMORY_OPS:
        return op->memory_ops.done == 0 ||
               !atomic_load(&op_value_waiter(op)->listed) ||
               value_waiter_withdraw(stream_pool(queue->stream),
                                     op_value_waiter(op));
    case OP_GRAPH:  // which looks itself
    case OP_TIMESTAMP:
    case OP_RELEASE:
        return false;
    default:
        return true;
    }
}

static const char *words_for(const struct op *op)
{
    if (op->kind == OP_WAIT ||
        (op->kind == OP_MEMORY_OPS && op->memory_ops.done > 0))
        return "the stream was cancelled while it waited";
    return CANCELLED_TEXT;
}

bool queue_cancel_first(struct queue *queue, struct op *op)
{
    if (!can_be_dropped(queue, op))
        return false;
    queue_fail(queue, op->sequence, op, RNL_ERROR_CANCELLED, words_for(op));
    return true;
}

rnl_status cpu_stream_cancel(struct stream *stream)
{
    struct queue *queue = stream_queue(stream);
    struct pool *pool = stream_pool(stream);
    _Atomic bool nothing;
    uint64_t until = atomic_load(&stream->enqueued);
    if (atomic_load(&queue->completed) >= until)
        return RNL_OK;
    rnl_status status = watchdog_start(&pool->watchdog);
    if (status != RNL_OK)
        return status;
    lock_take(&queue->lock);
    // Another thread may have cancelled more.
    if (atomic_load(&queue->cancelled) < until)
        atomic_store(&queue->cancelled, until);
    if (queue->plan)
        plan_cancel_locked(queue->plan);
    lock_give(&queue->lock);
    queue_unblock(queue, &nothing);  // its owner looks again
    watchdog_add(&pool->watchdog, &queue->stop);
    pool_nudge(pool);
    return RNL_OK;
}
