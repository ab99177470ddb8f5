#include "backends/cpu/scheduler/queue.h"

#include "backends/cpu/scheduler/event.h"
#include "backends/cpu/scheduler/graph_plan.h"
#include "backends/cpu/scheduler/parallel_for.h"
#include "backends/cpu/scheduler/pool.h"
#include "backends/cpu/scheduler/tuning.h"
#include "backends/cpu/scheduler/value_waiters.h"
#include "base/clock.h"
#include "core/object/object.h"
#include "core/stream/failure.h"
#include "core/stream/op.h"
#include "core/stream/stream.h"

#include <stdio.h>

// --- Submitting ------------------------------------------------------------

static rnl_status refuse_dead(void)
{
    return fail_at(RNL_ERROR_INVALID_HANDLE, "stream",
                   "the stream was released by another thread during the call");
}

// Numbers the ops from `sequence` on and appends them to the queue.
static void append_locked(struct queue *queue, struct op *first,
                          uint64_t sequence)
{
    ASSERT(lock_is_held(&queue->lock));
    struct op *last = first;
    for (;;) {
        last->sequence = sequence;
        if (!last->next)
            break;
        last = last->next;
        sequence++;
    }
    atomic_store_explicit(&queue->stream->enqueued, sequence,
                          memory_order_release);
    if (queue->head)
        queue->tail->next = first;
    else
        queue->head = first;
    queue->tail = last;
}

// Besides the function of a kernel.
static inline bool keeps_memory(const struct op *op)
{
    const unsigned kinds = 1u << OP_COPY | 1u << OP_FILL | 1u << OP_MEMORY_OPS |
                           1u << OP_RELEASE;
    return op->kind == OP_KERNEL ? op->kept_count > 1 : kinds >> op->kind & 1;
}

// Lets the stream reuse memory while the ops are pending. No owner has the ops
// yet.
static __attribute__((noinline)) void give_up_locked(struct op *op)
{
    ASSERT(lock_is_held(&stream_queue(op->stream)->lock));
    for (; op; op = op->next)
        op_unref_ordered(op);
}

rnl_status queue_submit(struct queue *queue, struct op *first,
                        uint64_t *out_sequence)
{
    struct stream *stream = queue->stream;
    bool small = op_is_small(first), keeps = keeps_memory(first);
    uint32_t count = 1;
    for (const struct op *op = first->next; op; op = op->next, count++) {
        small = small && op_is_small(op);
        keeps |= keeps_memory(op);
    }
    lock_take(&queue->lock);
    bool idle = queue->state == QUEUE_IDLE;
    // A queue with work references its stream.
    if (idle && !object_ref_if_alive(&stream->object)) {
        lock_give(&queue->lock);
        return refuse_dead();
    }
    uint64_t sequence = atomic_load_explicit(&stream->enqueued,
                                             memory_order_relaxed) + 1;
    append_locked(queue, first, sequence);
    if (keeps && !MSAN_NOTES_WRITES)
        give_up_locked(first);
    uint32_t untaken = queue->untaken += count;
    if (idle) {
        queue->state = QUEUE_READY;
        atomic_store_explicit(&queue->needs_worker,
                              first->kind == OP_HOST, memory_order_relaxed);
    }
    // A queue that grows while nobody looks at it is worth a worker.
    bool urgent = !small || untaken % PATIENCE < count;
    bool notify = idle || (queue->state == QUEUE_READY && urgent);
    // A listed queue may run to its end, and end the stream and its pool,
    // before this thread has notified a worker.
    if (notify)
        object_ref(&stream->object);
    lock_give(&queue->lock);
    if (out_sequence)
        *out_sequence = sequence;
    if (!notify)
        return RNL_OK;
    struct pool *pool = stream_pool(stream);
    if (idle)
        pool_push(pool, queue);
    pool_notify(pool, !urgent);
    object_unref(&stream->object);
    return RNL_OK;
}

// --- Waiting for other queues ----------------------------------------------

rnl_status queue_add_wait(struct stream *stream, const struct wait *wait)
{
    struct op *op = op_create(stream, OP_WAIT, 0);
    if (!op)
        return RNL_ERROR_OUT_OF_MEMORY;
    *op_wait(op) = *wait;
    struct object *kept =
        wait->target ? &wait->target->object : &wait->promise->object;
    rnl_status status =
        object_ref_for(kept, wait->target ? "other" : "event");
    if (status == RNL_OK)
        op->kept[op->kept_count++] = kept;
    // Not op_submit, which may wait: this is no work to wait for.
    if (status == RNL_OK)
        status = queue_submit(stream_queue(stream), op, NULL);
    if (status != RNL_OK)
        op_finish(op);
    return status;
}

// With `*listed` false a running owner may run the queue to its end.
void queue_unblock(struct queue *queue, _Atomic bool *listed)
{
    struct stream *stream = queue->stream;
    struct pool *pool = stream_pool(stream);
    object_ref(&stream->object);
    lock_take(&queue->lock);
    atomic_store(listed, false);
    bool blocked = queue->state == QUEUE_BLOCKED;
    bool runs = queue->state == QUEUE_RUNNING;
    if (blocked) {
        queue->state = QUEUE_READY;
        queue->blocked_on = NULL;
        atomic_store_explicit(&queue->needs_worker, false,
                              memory_order_relaxed);
    }
    queue->poked |= runs;
    bool opened =
        runs && queue->shared && parallel_for_poke(pool, queue->shared);
    bool awaited = queue->sleepers > 0;
    lock_give(&queue->lock);
    if (blocked)
        pool_push(pool, queue);
    if (blocked || opened)
        pool_notify(pool, blocked && !awaited);
    object_unref(&stream->object);
}

bool queue_block(struct queue *queue, struct stream *target)
{
    lock_take(&queue->lock);
    bool poked = queue->poked;
    ASSERT(queue->state == QUEUE_RUNNING);
    queue->poked = false;
    if (!poked) {
        queue->state = QUEUE_BLOCKED;
        queue->blocked_on = target;
    }
    lock_give(&queue->lock);
    return !poked;
}

void queue_fail(struct queue *queue, uint64_t sequence, const struct op *op,
                rnl_status status, const char *message)
{
    bool inherited = op->kind == OP_WAIT && status != RNL_ERROR_CANCELLED;
    struct failure *failure =
        failure_create(queue->stream, sequence, op, status, message);
    lock_take(&queue->lock);
    if (!atomic_load(&queue->stream->failure))
        queue->failed_at = sequence;
    lock_give(&queue->lock);
    stream_set_failure(queue->stream, failure, inherited);
}

// Takes over the reference.
static void inherit(struct queue *queue, const struct op *op,
                    struct failure *failure)
{
    lock_take(&queue->lock);
    queue->failed_at = op->sequence;
    lock_give(&queue->lock);
    stream_set_failure(queue->stream, failure, true);
}

static void inherit_failure(struct queue *queue, struct op *op)
{
    struct failure *failure;
    const struct wait *wait = op_wait(op);
    if (!wait->order_only && queue_failed(stream_queue(wait->target),
                                          wait->sequence, &failure))
        inherit(queue, op, failure);
}

// Inserted behind waiters for the same or an earlier operation: mostly at the
// end.
static void add_waiter_locked(struct queue *target, struct op *op)
{
    ASSERT(lock_is_held(&target->lock));
    struct wait *wait = op_wait(op);
    struct op *last = target->last_waiter, **link = &target->waiters;
    if (last && op_wait(last)->sequence <= wait->sequence)
        link = &op_wait(last)->next;
    while (*link && op_wait(*link)->sequence <= wait->sequence)
        link = &op_wait(*link)->next;
    wait->next = *link;
    *link = op;
    if (!wait->next)
        target->last_waiter = op;
}

// Joins the target's list of waiters unless the target is already there.
static bool target_is_there(struct op *op)
{
    struct wait *wait = op_wait(op);
    struct queue *target = stream_queue(wait->target);
    lock_take(&target->lock);
    atomic_fetch_add(&target->attention, 1);
    bool there = atomic_load(&target->completed) >= wait->sequence;
    if (there) {
        COUNT_DOWN(&target->attention);
    } else {
        atomic_store(&wait->listed, true);
        add_waiter_locked(target, op);
    }
    lock_give(&target->lock);
    return there;
}

static void fail_broken(struct queue *queue, struct op *op)
{
    char name[96], message[FAILURE_MESSAGE_SIZE];
    snprintf(message, sizeof message,
             "the promise %s was released without being recorded",
             object_describe(&op_wait(op)->promise->object, name, sizeof name));
    queue_fail(queue, op->sequence, op, RNL_ERROR_DEPENDENCY_FAILED, message);
}

bool queue_wait_is_over(struct op *op)
{
    struct queue *queue = stream_queue(op->stream);
    struct failure *lost = NULL;
    bool broken = false;
    if (atomic_load(&op_wait(op)->listed) ||
        (!op_wait(op)->target && !event_resolve(op, &broken, &lost)))
        return false;
    if (broken)
        fail_broken(queue, op);
    if (lost)
        inherit(queue, op, lost);
    if (!op_wait(op)->target)
        return true;
    if (!target_is_there(op))
        return false;
    inherit_failure(queue, op);
    return true;
}

// False when the queue is blocked now and no longer the caller's.
static bool pass_wait(struct queue *queue, struct op *op)
{
    while (!queue_wait_is_over(op)) {
        if (queue_is_cancelled(queue) && queue_cancel_first(queue, op))
            return true;
        if (queue_block(queue, op_wait(op)->target))
            return false;
    }
    return true;
}

// The same as pass_wait.
static bool pass_values(struct queue *queue, struct op *op)
{
    struct op_memory_ops *values = &op->memory_ops;
    if (values->done == 0)
        *op_value_waiter(op) = (struct value_waiter){0};
    while (!memory_ops_run(queue, values, &values->done, op_value_waiter(op))) {
        if (queue_is_cancelled(queue) && queue_cancel_first(queue, op))
            return true;
        if (queue_block(queue, NULL))
            return false;
    }
    return true;
}

// --- Running ---------------------------------------------------------------

rnl_status queue_call_host(struct queue *queue, const struct op *op)
{
    struct failure *failure = stream_get_failure(queue->stream);
    rnl_status status =
        failure ? failure_status(failure, queue->stream) : RNL_OK;
    failure_unref(failure);
    struct pool *pool = stream_pool(queue->stream);
    pool_block_begin(pool);
    status = host_function_call(&op->host, status);
    pool_block_end(pool);
    return status;
}

static void run_op(struct queue *queue, struct op *op)
{
    char message[FAILURE_MESSAGE_SIZE];
    rnl_status status;
    switch (op->kind) {
    case OP_HOST:
        status = queue_call_host(queue, op);
        if (status != RNL_OK)
            queue_fail(queue, op->sequence, op, status,
                       rnl_last_error()->message);
        break;
    case OP_TIMESTAMP:
        event_write_timestamp(op);
        break;
    case OP_KERNEL:
    case OP_COPY:
    case OP_FILL:
        if (atomic_load_explicit(&queue->stream->failure,
                                 memory_order_relaxed))
            break;
        status = op_perform(stream_pool(queue->stream), queue, op, message);
        if (status != RNL_OK)
            queue_fail(queue, op->sequence, op, status, message);
        break;
    default:
        break;
    }
}

// Takes the waiters that op `completed` releases out of the list.
static struct op *take_waiters_locked(struct queue *queue, uint64_t completed)
{
    ASSERT(lock_is_held(&queue->lock));
    struct op *first = queue->waiters, **link = &queue->waiters;
    uint32_t count = 0;
    while (*link && op_wait(*link)->sequence <= completed) {
        link = &op_wait(*link)->next;
        count++;
    }
    if (count == 0)
        return NULL;
    queue->waiters = *link;
    *link = NULL;
    if (!queue->waiters)
        queue->last_waiter = NULL;
    atomic_fetch_sub(&queue->attention, count);
    return first;
}

void queue_release_waits(struct op *op)
{
    while (op) {
        // An unlisted op belongs to its queue again.
        struct wait *wait = op_wait(op);
        struct queue *queue = stream_queue(op->stream);
        op = wait->next;
        queue_unblock(queue, &wait->listed);
    }
}

// Wakes the waiters of ops up to `completed`.
static void announce(struct queue *queue, uint64_t completed)
{
    lock_take(&queue->lock);
    struct op *released = take_waiters_locked(queue, completed);
    bool wake = queue->sleepers > 0;
    if (wake)
        atomic_fetch_add(&queue->signal, 1);
    lock_give(&queue->lock);
    if (wake)
        futex_wake(&queue->signal, INT32_MAX);
    queue_release_waits(released);
}

static void end_op(struct op *op)
{
    const struct wait *wait = op_wait(op);
    if (op->kind == OP_GRAPH)
        graph_launch_finish(op);
    else if (op->kind == OP_WAIT && !wait->target && wait->sequence)
        event_unwait(wait->promise, wait->sequence);
}

// Ends the first op of the batch. The owner stores `completed` before reading
// `attention`, and a waiter writes `attention` before reading `completed`: at
// least one sees the other's write.
static void complete(struct queue *queue, struct op *op)
{
    const uint64_t sequence = op->sequence;
    // Such an op only gives up references: a waiter may see the op as done
    // before.
    const bool gives_back = op->kind == OP_RELEASE && op_calls_nobody(op);
    queue->batch = op->next;
    end_op(op);
    if (gives_back)
        op_finish(op);
    atomic_store(&queue->completed, sequence);
    if (atomic_load(&queue->attention) > 0)
        announce(queue, sequence);
    if (!gives_back)
        op_finish(op);
}

// Makes sure that the batch has an op. False when the queue is empty: then it
// is idle and no longer the caller's.
static bool refill(struct queue *queue)
{
    if (queue->batch)
        return true;
    struct stream *stream = queue->stream;
    lock_take(&queue->lock);
    ASSERT(queue->state == QUEUE_RUNNING);
    queue->batch = queue->head;
    queue->head = queue->tail = NULL;
    queue->untaken = 0;
    bool more = queue->batch != NULL;
    if (!more)
        queue->state = QUEUE_IDLE;
    lock_give(&queue->lock);
    if (!more)
        object_unref(&stream->object);
    return more;
}

static bool needs_worker(const struct op *op)
{
    return op->kind == OP_HOST ||
           (op->kind == OP_GRAPH && op_plan(op)->needs_worker);
}

static void give_back(struct queue *queue)
{
    lock_take(&queue->lock);
    ASSERT(queue->state == QUEUE_RUNNING);
    queue->state = QUEUE_READY;
    atomic_store_explicit(&queue->needs_worker, needs_worker(queue->batch),
                          memory_order_relaxed);
    lock_give(&queue->lock);
    struct pool *pool = stream_pool(queue->stream);
    pool_push(pool, queue);
    pool_notify(pool, false);
}

// True if a waiting thread should give the queue up before its next op.
static bool helper_should_leave(struct queue *queue,
                                const struct helper *helper)
{
    return needs_worker(queue->batch) ||
           atomic_load(&queue->completed) >= helper->until ||
           (helper->deadline != RNL_FOREVER &&
            (!op_is_short(queue->batch) || clock_now() >= helper->deadline));
}

// True if the owner should give the queue up before its next op.
static bool should_leave(struct queue *queue, const struct helper *helper,
                         unsigned done)
{
    if (helper)
        return helper_should_leave(queue, helper);
    return done > 0 && pool_prefers_other(stream_pool(queue->stream), done);
}

// Runs the first op as far as it goes. False when the queue is no longer the
// caller's.
static bool run_first(struct queue *queue, struct op *op, bool worker)
{
    bool failed = atomic_load_explicit(&queue->stream->failure,
                                       memory_order_relaxed) != NULL;
    if (__builtin_expect(atomic_load_explicit(&queue->cancelled,
                                              memory_order_relaxed) >=
                             op->sequence, 0) && !failed)
        failed = queue_cancel_first(queue, op);
    // Launches of a graph never overlap, also if cancelled.
    if (op->kind == OP_WAIT)
        return (failed && !op_wait(op)->order_only) || pass_wait(queue, op);
    if (op->kind == OP_MEMORY_OPS)
        return failed || pass_values(queue, op);
    if (op->kind != OP_GRAPH) {
        run_op(queue, op);
        return true;
    }
    enum plan_outcome outcome = plan_run(op_plan(op), queue, op, worker);
    if (outcome == PLAN_NEEDS_WORKER)
        give_back(queue);
    return outcome == PLAN_DONE;
}

void queue_run(struct queue *queue, const struct helper *helper)
{
    struct pool *pool = stream_pool(queue->stream);
    for (unsigned done = 0; refill(queue); done++) {
        if (should_leave(queue, helper, done)) {
            give_back(queue);
            return;
        }
        struct op *op = queue->batch;
        op_prefetch(op->next);
        if (!run_first(queue, op, !helper))
            return;
        complete(queue, op);
        value_poll(pool, VALUE_POLL_BUSY);
    }
}

// --- Nudging ---------------------------------------------------------------

// The value that a blocked queue waits for, or NULL.
static struct value_waiter *value_waiter_of_locked(struct queue *queue)
{
    ASSERT(lock_is_held(&queue->lock));
    return queue->state == QUEUE_BLOCKED && queue->batch->kind == OP_MEMORY_OPS
               ? op_value_waiter(queue->batch)
               : NULL;
}

void queue_nudge(struct queue *queue)
{
    lock_take(&queue->lock);
    struct value_waiter *waiter = value_waiter_of_locked(queue);
    const char *address = waiter ? waiter->value.address : NULL;
    lock_give(&queue->lock);
    struct pool *pool = stream_pool(queue->stream);
    if (address)
        value_waiters_check_at(pool, address);
    pool_nudge(pool);
}
