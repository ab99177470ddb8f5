#include "backends/cpu/scheduler/event.h"

#include "backends/cpu/scheduler/cpu_op.h"
#include "backends/cpu/scheduler/queue.h"
#include "base/clock.h"
#include "core/object/object.h"
#include "core/stream/event.h"
#include "core/stream/failure.h"
#include "core/stream/interprocess_event.h"
#include "core/stream/op.h"
#include "core/stream/stream.h"

#include <string.h>

rnl_status cpu_event_init(struct event *event)
{
    *event_cpu(event) = (struct cpu_event){0};  // it was never recorded
    lock_set_rank(&event_cpu(event)->lock, RANK_CPU_EVENT);
    return event->options.interprocess
               ? shared_event_make(&event_cpu(event)->shared)
               : RNL_OK;
}

// A stream that waits for a promise, as operation `sequence`. Consecutive waits
// of a stream share an entry.
struct joined {
    struct joined *next;
    uint64_t stream_id, sequence;
};

void cpu_event_finish(struct event *event)
{
    struct cpu_event *cpu = event_cpu(event);
    for (struct joined *joined; (joined = cpu->joined);) {
        cpu->joined = joined->next;
        mem_release(joined, sizeof *joined);
    }
    mem_release(cpu->expected, cpu->expected_most * sizeof *cpu->expected);
    lock_take(&cpu->lock);
    struct stream *stream = cpu->stream;
    struct shared_event *shared = cpu->shared;
    cpu->stream = NULL;
    cpu->shared = NULL;
    cpu->gone = true;
    lock_give(&cpu->lock);
    if (stream)
        object_unref(&stream->object);
    shared_event_drop(shared);
}

// --- Recording -------------------------------------------------------------

static rnl_status already_recorded(struct event *event)
{
    char text[160];
    return fail_at(RNL_ERROR_INVALID_STATE, "event",
                   "%s is a promise and was already recorded",
                   object_describe(&event->object, text, sizeof text));
}

static rnl_status already_gone(void)
{
    return fail_at(RNL_ERROR_INVALID_HANDLE, "event",
                   "the event was released by another thread during the call");
}

// The stream's own wait comes before all later ops.
static __attribute__((noinline)) bool
waits_for_promise(struct event *event, struct stream *stream)
{
    struct cpu_event *cpu = event_cpu(event);
    lock_take(&cpu->lock);
    uint64_t last = 0;
    for (struct joined *joined = cpu->joined; joined; joined = joined->next)
        if (joined->stream_id == stream->object.id && joined->sequence > last)
            last = joined->sequence;
    lock_give(&cpu->lock);
    return atomic_load(&stream_queue(stream)->completed) < last;
}

static bool stream_is_idle(struct stream *stream)
{
    return atomic_load_explicit(&stream_queue(stream)->completed,
                                memory_order_acquire) >=
           atomic_load_explicit(&stream->enqueued, memory_order_acquire);
}

// An op that notes the time, made before the event is locked and changed. NULL
// with RNL_OK when the event needs none.
static rnl_status make_timestamp(struct event *event, struct stream *stream,
                             bool idle, struct op **out_op)
{
    *out_op = NULL;
    if (!event->options.timing || idle)
        return RNL_OK;
    rnl_status status = object_ref_for(&event->object, "event");
    if (status != RNL_OK)
        return status;
    struct op *op = op_create(stream, OP_TIMESTAMP, 0);
    if (!op) {
        object_unref(&event->object);
        return RNL_ERROR_OUT_OF_MEMORY;
    }
    op->kept[op->kept_count++] = &event->object;
    cpu_op_of(op)->timestamp.event = event;
    cpu_op_of(op)->timestamp.record = 0;
    *out_op = op;
    return RNL_OK;
}

// Takes over the reference to the stream. Returns the former stream, which the
// caller gives up outside the lock. The event stays locked while its timestamp
// op is submitted, so that the op carries this record's number.
static rnl_status record_locked(struct event *event, struct stream *stream,
                                struct op *timestamp, bool idle,
                                struct stream **old)
{
    ASSERT(lock_is_held(&event_cpu(event)->lock));
    struct cpu_event *cpu = event_cpu(event);
    if (cpu->gone)
        return already_gone();
    if (timestamp) {
        cpu_op_of(timestamp)->timestamp.record = cpu->record + 1;
        rnl_status status = queue_submit(stream_queue(stream), timestamp,
                                         NULL);
        if (status != RNL_OK)
            return status;
    }
    cpu->record++;
    cpu->launch = 0;
    cpu->to_come = false;
    cpu->time = event->options.timing && idle ? clock_now() : 0;
    *old = cpu->stream;
    cpu->stream = stream;
    cpu->sequence = atomic_load(&stream->enqueued);
    cpu->recorded = true;
    bool done = idle && !atomic_load_explicit(&stream->failure,
                                              memory_order_relaxed);
    atomic_store_explicit(&cpu->done, done, memory_order_release);
    return RNL_OK;
}

static void announce_record(struct cpu_event *cpu, struct op *waiters)
{
    atomic_fetch_add(&cpu->recorded_word, 1);
    futex_wake(&cpu->recorded_word, INT32_MAX);
    queue_release_waits(waiters);
}

// On an idle stream the event is complete, and stands for no stream any more.
static rnl_status record_done(struct event *event)
{
    struct cpu_event *cpu = event_cpu(event);
    lock_take(&cpu->lock);
    bool gone = cpu->gone;
    cpu->record++;
    cpu->launch = 0;
    cpu->to_come = false;
    cpu->time = event->options.timing ? clock_now() : 0;
    struct stream *old = cpu->stream;
    cpu->stream = NULL;
    cpu->recorded = true;
    atomic_store_explicit(&cpu->done, true, memory_order_release);
    lock_give(&cpu->lock);
    if (old)
        object_unref(&old->object);
    return gone ? already_gone() : RNL_OK;
}

rnl_status cpu_event_record(struct event *event, struct stream *stream)
{
    struct cpu_event *cpu = event_cpu(event);
    bool promise = event->options.promise;
    bool idle = stream_is_idle(stream);
    struct stream *old = stream;
    struct op *waiters = NULL, *timestamp;
    if (idle && event_is_plain(event) && !atomic_load(&stream->failure))
        return record_done(event);
    if (promise && waits_for_promise(event, stream))
        return event_refuse_cycle(event, stream);
    if (event->options.interprocess)
        return cpu_interprocess_record(event, stream);
    rnl_status status = object_ref_for(&stream->object, "stream");
    if (status != RNL_OK)
        return status;
    status = make_timestamp(event, stream, idle, &timestamp);
    if (status != RNL_OK)
        goto drop;
    lock_take(&cpu->lock);
    bool again = promise && cpu->recorded;
    if (!again)
        status = record_locked(event, stream, timestamp, idle, &old);
    // Others wait for launches, which this is not.
    if (promise && !again && status == RNL_OK) {
        waiters = cpu->waiters;
        cpu->waiters = NULL;
    }
    lock_give(&cpu->lock);
    if (timestamp && (again || status != RNL_OK))
        op_finish(timestamp);
    if (again)
        status = already_recorded(event);
    else if (promise && status == RNL_OK)
        announce_record(cpu, waiters);

drop:
    if (old)
        object_unref(&old->object);
    return status;
}

void event_write_timestamp(struct op *op)
{
    struct event *event = cpu_op_of(op)->timestamp.event;
    struct cpu_event *cpu = event_cpu(event);
    if (event->options.interprocess) {
        cpu_interprocess_timestamp(op);
        return;
    }
    lock_take(&cpu->lock);
    if (cpu->record == cpu_op_of(op)->timestamp.record)
        cpu->time = clock_now();
    lock_give(&cpu->lock);
}

// --- Recording by graphs ---------------------------------------------------

// NULL when the launch is over and not waited for.
static struct expected_launch *find_locked(const struct cpu_event *cpu,
                                    uint64_t launch)
{
    ASSERT(lock_is_held(&cpu->lock));
    struct expected_launch *first = cpu->expected + cpu->expected_first;
    for (uint32_t i = 0; i < cpu->expected_count; i++)
        if (first[i].launch == launch)
            return &first[i];
    return NULL;
}

static bool is_expected_locked(const struct cpu_event *cpu, uint64_t launch)
{
    ASSERT(lock_is_held(&cpu->lock));
    const struct expected_launch *entry = find_locked(cpu, launch);
    return entry && entry->records > 0;
}

// Removes unused entries; returns a failure for failure_unref.
static struct failure *tidy_locked(struct cpu_event *cpu,
                                   struct expected_launch *entry)
{
    ASSERT(lock_is_held(&cpu->lock));
    struct failure *failure = entry->failure;
    if (entry->records > 0 || entry->waits > 0)
        return NULL;
    struct expected_launch *first = cpu->expected + cpu->expected_first;
    memmove(first + 1, first, (size_t)(entry - first) * sizeof *first);
    cpu->expected_first++;
    ASSERT(cpu->expected_count > 0);
    cpu->expected_count--;
    return failure;
}

void event_expect(struct event *event, uint64_t launch)
{
    struct cpu_event *cpu = event_cpu(event);
    lock_take(&cpu->lock);
    cpu->reserved--;
    // Another launch may have come between two records of this one.
    struct expected_launch *entry = find_locked(cpu, launch);
    if (entry)
        entry->records++;
    else
        cpu->expected[cpu->expected_first + cpu->expected_count++] =
            (struct expected_launch){.launch = launch, .records = 1};
    cpu->launch = launch;
    cpu->to_come = true;
    atomic_store_explicit(&cpu->done, false, memory_order_release);
    lock_give(&cpu->lock);
}

static struct op *take_waiters_locked(struct cpu_event *cpu, uint64_t launch)
{
    ASSERT(lock_is_held(&cpu->lock));
    struct op *taken = NULL, **link = &cpu->waiters;
    while (*link) {
        struct op *op = *link;
        struct wait *wait = op_wait(op);
        if (wait->sequence != launch) {
            link = &wait->next;
            continue;
        }
        *link = wait->next;
        wait->next = taken;
        taken = op;
    }
    return taken;
}

// Returns the stream that it stood for before.
static struct stream *arrive_locked(struct event *event, struct stream *failed,
                                    uint64_t sequence, bool last)
{
    ASSERT(lock_is_held(&event_cpu(event)->lock));
    struct cpu_event *cpu = event_cpu(event);
    struct stream *old = cpu->stream;
    cpu->record++;
    cpu->time = event->options.timing ? clock_now() : 0;
    cpu->stream = failed;
    cpu->sequence = sequence;
    cpu->recorded = true;
    cpu->to_come = !last;
    atomic_store_explicit(&cpu->done, last && !failed, memory_order_release);
    return old;
}

// Counts a record as arrived; true for the last. Takes over the failure and
// returns references to give up.
static bool settle_record_locked(struct cpu_event *cpu, uint64_t launch,
                                 struct failure **failure)
{
    ASSERT(lock_is_held(&cpu->lock));
    struct expected_launch *entry = find_locked(cpu, launch);
    if (--entry->records > 0)
        return false;
    entry->failure = *failure;
    *failure = tidy_locked(cpu, entry);
    return true;
}

void event_arrive(struct event *event, uint64_t launch, struct stream *failed,
                  uint64_t sequence)
{
    struct cpu_event *cpu = event_cpu(event);
    struct op *waiters = NULL;
    struct stream *old = failed;
    struct failure *failure = failed ? stream_get_failure(failed) : NULL;
    if (failed)
        object_ref(&failed->object);
    lock_take(&cpu->lock);
    bool last = settle_record_locked(cpu, launch, &failure);
    if (last)
        waiters = take_waiters_locked(cpu, launch);
    // A later record counts instead.
    if (cpu->launch == launch)
        old = arrive_locked(event, failed, sequence, last);
    lock_give(&cpu->lock);
    failure_unref(failure);
    if (last)
        announce_record(cpu, waiters);
    if (old)
        object_unref(&old->object);
}

// --- Waiting ---------------------------------------------------------------

// To be recorded: a promise, or a node of a launch under way.
static bool is_awaited_locked(const struct event *event,
                              const struct cpu_event *cpu)
{
    ASSERT(lock_is_held(&cpu->lock));
    return cpu->to_come || (event->options.promise && !cpu->recorded);
}

// A certain record: that of a launch, or the first.
static bool is_to_come_locked(const struct event *event,
                              const struct cpu_event *cpu, uint64_t launch)
{
    ASSERT(lock_is_held(&cpu->lock));
    return launch ? is_expected_locked(cpu, launch)
                  : is_awaited_locked(event, cpu);
}

enum time_point {
    TARGET_NONE,  // never recorded, or known to be complete
    TARGET_TO_COME,
    TARGET_ON_STREAM,
};

// The event's target, with a reference to the stream; or the launch that will
// record the event. `waits`: the launch's result is kept until event_unwait.
static enum time_point target_of(struct event *event, bool waits,
                                 struct stream **out_stream,
                                 uint64_t *out_sequence)
{
    struct cpu_event *cpu = event_cpu(event);
    enum time_point point = TARGET_NONE;
    lock_take(&cpu->lock);
    bool done = atomic_load_explicit(&cpu->done, memory_order_acquire);
    if (is_awaited_locked(event, cpu))
        point = TARGET_TO_COME;
    else if (cpu->recorded && !done && cpu->stream)
        point = TARGET_ON_STREAM;
    if (point == TARGET_ON_STREAM) {
        *out_stream = cpu->stream;
        *out_sequence = cpu->sequence;
        object_ref(&cpu->stream->object);
    } else if (point == TARGET_TO_COME) {
        *out_sequence = cpu->to_come ? cpu->launch : 0;
        if (waits && cpu->to_come)
            find_locked(cpu, cpu->launch)->waits++;
    }
    lock_give(&cpu->lock);
    return point;
}

void event_unwait(struct event *event, uint64_t launch)
{
    struct cpu_event *cpu = event_cpu(event);
    lock_take(&cpu->lock);
    struct expected_launch *entry = find_locked(cpu, launch);
    entry->waits--;
    struct failure *failure = tidy_locked(cpu, entry);
    lock_give(&cpu->lock);
    failure_unref(failure);
}

// Notes that the stream, which was just given a wait, waits for a promise.
static void note_joined(struct event *event, struct stream *stream,
                        struct joined *made)
{
    struct cpu_event *cpu = event_cpu(event);
    lock_take(&cpu->lock);
    struct joined *joined = cpu->joined;
    if (!joined || joined->stream_id != stream->object.id) {
        *made = (struct joined){cpu->joined, stream->object.id};
        cpu->joined = joined = made;
        made = NULL;
    }
    joined->sequence = atomic_load(&stream->enqueued);
    lock_give(&cpu->lock);
    mem_release(made, sizeof *made);
}

static rnl_status join_promise(struct stream *stream, struct event *event)
{
    struct wait wait = {.promise = event};
    struct joined *joined = mem_allocate(sizeof *joined);
    if (!joined)
        return fail(RNL_ERROR_OUT_OF_MEMORY, "there is no memory to wait");
    rnl_status status = queue_add_wait(stream, &wait);
    if (status == RNL_OK)
        note_joined(event, stream, joined);
    else
        mem_release(joined, sizeof *joined);
    return status;
}

static rnl_status join_to_come(struct stream *stream, struct event *event,
                               uint64_t launch)
{
    struct wait wait = {.sequence = launch, .promise = event};
    if (!launch)
        return join_promise(stream, event);
    rnl_status status = queue_add_wait(stream, &wait);
    if (status != RNL_OK)
        event_unwait(event, launch);
    return status;
}

rnl_status cpu_event_join(struct stream *stream, struct event *event)
{
    struct cpu_event *cpu = event_cpu(event);
    struct stream *target;
    uint64_t sequence;
    if (atomic_load_explicit(&cpu->done, memory_order_acquire))
        return RNL_OK;
    if (event->options.interprocess)
        return cpu_interprocess_join(stream, event);
    enum time_point point = target_of(event, true, &target, &sequence);
    if (point == TARGET_NONE)
        return RNL_OK;
    if (point == TARGET_TO_COME)
        return join_to_come(stream, event, sequence);
    // Ops of the same stream are already in order.
    struct wait wait = {.target = target, .sequence = sequence};
    rnl_status status =
        target == stream ? RNL_OK : queue_add_wait(stream, &wait);
    object_unref(&target->object);
    return status;
}

struct wait event_target(struct event *event)
{
    struct stream *target;
    uint64_t sequence;
    switch (target_of(event, true, &target, &sequence)) {
    case TARGET_TO_COME:
        return (struct wait){.sequence = sequence, .promise = event};
    case TARGET_ON_STREAM:
        return (struct wait){.target = target, .sequence = sequence};
    default:
        return (struct wait){0};
    }
}

void event_target_unref(const struct wait *point)
{
    if (point->target)
        object_unref(&point->target->object);
    else if (point->promise && point->sequence)
        event_unwait(point->promise, point->sequence);
}

// Makes the op wait for what the promise turned out to stand for.
static void settle(struct op *op, struct stream *stream, uint64_t sequence)
{
    struct wait *wait = op_wait(op);
    object_ref(&stream->object);
    op->kept[op->kept_count++] = &stream->object;
    // Later ops of the event's own stream are in order anyway.
    wait->sequence = stream == op->stream ? 0 : sequence;
    wait->target = stream;
}

bool event_resolve(struct op *op, bool *out_broken, struct failure **out_lost)
{
    struct wait *wait = op_wait(op);
    struct event *event = wait->promise;
    struct cpu_event *cpu = event_cpu(event);
    lock_take(&cpu->lock);
    bool known = cpu->broken ||
                 !is_to_come_locked(event, cpu, wait->sequence);
    *out_broken = cpu->broken;
    if (!known) {
        atomic_store(&wait->listed, true);
        wait->next = cpu->waiters;
        cpu->waiters = op;
    } else if (wait->sequence) {
        *out_lost = find_locked(cpu, wait->sequence)->failure;
        if (*out_lost)
            atomic_fetch_add(&(*out_lost)->references, 1);
    } else if (cpu->stream) {
        settle(op, cpu->stream, cpu->sequence);
    }
    lock_give(&cpu->lock);
    return known;
}

bool event_withdraw(struct op *op)
{
    struct cpu_event *cpu = event_cpu(op_wait(op)->promise);
    lock_take(&cpu->lock);
    struct op **link = &cpu->waiters;
    while (*link && *link != op)
        link = &op_wait(*link)->next;
    bool found = *link != NULL;
    if (found)
        *link = op_wait(op)->next;
    lock_give(&cpu->lock);
    return found;
}

void cpu_event_break(struct event *event)
{
    struct cpu_event *cpu = event_cpu(event);
    lock_take(&cpu->lock);
    cpu->broken = !cpu->recorded;
    struct op *waiters = cpu->waiters;
    cpu->waiters = NULL;
    lock_give(&cpu->lock);
    announce_record(cpu, waiters);
}

rnl_status cpu_event_query(struct event *event)
{
    struct cpu_event *cpu = event_cpu(event);
    struct stream *stream;
    uint64_t sequence;
    if (atomic_load_explicit(&cpu->done, memory_order_acquire))
        return RNL_OK;
    if (event->options.interprocess)
        return cpu_interprocess_query(event);
    enum time_point point = target_of(event, false, &stream, &sequence);
    if (point != TARGET_ON_STREAM)
        return point == TARGET_TO_COME ? RNL_NOT_READY : RNL_OK;
    struct queue *queue = stream_queue(stream);
    struct failure *failure = NULL;
    rnl_status status = RNL_OK;
    if (atomic_load_explicit(&queue->completed, memory_order_acquire) <
        sequence) {
        queue_nudge(queue);
        status = RNL_NOT_READY;
    } else if (queue_failed(queue, sequence, &failure)) {
        status = failure_report(failure, stream);
        failure_unref(failure);
    } else {
        // Only for the point that was looked at: it may have moved since.
        lock_take(&cpu->lock);
        if (cpu->stream == stream && cpu->sequence == sequence)
            atomic_store_explicit(&cpu->done, 1, memory_order_release);
        lock_give(&cpu->lock);
    }
    object_unref(&stream->object);
    return status;
}

// Sleeps until a promise, or by a launch under way, is recorded.
static rnl_status await_record(struct event *event, uint64_t deadline)
{
    struct cpu_event *cpu = event_cpu(event);
    uint64_t launch = 0;
    for (;;) {
        lock_take(&cpu->lock);
        if (!launch && cpu->to_come)
            launch = cpu->launch;
        bool recorded = !is_to_come_locked(event, cpu, launch);
        bool broken = cpu->broken;
        uint32_t word = atomic_load(&cpu->recorded_word);
        lock_give(&cpu->lock);
        if (recorded && !broken)
            return RNL_OK;
        if (broken)
            return fail_at(RNL_ERROR_DEPENDENCY_FAILED, "event",
                           "the promise was released without being recorded");
        if (deadline != RNL_FOREVER && clock_now() >= deadline)
            return event_timed_out(event, "recorded");
        futex_wait(&cpu->recorded_word, word, deadline);
    }
}

rnl_status cpu_event_wait(struct event *event, uint64_t deadline)
{
    struct stream *stream;
    uint64_t sequence;
    if (event->options.interprocess)
        return cpu_interprocess_wait(event, deadline);
    rnl_status status = await_record(event, deadline);
    if (status != RNL_OK ||
        target_of(event, false, &stream, &sequence) != TARGET_ON_STREAM)
        return status;
    status = queue_wait(stream_queue(stream), sequence, deadline,
                        event->options.blocking_sync ? RNL_SYNC_BLOCKING : 0);
    object_unref(&stream->object);
    return status ? status : cpu_event_query(event);
}

static rnl_status time_of(struct event *event, struct event **out_wrong,
                          uint64_t *out_ns)
{
    struct cpu_event *cpu = event_cpu(event);
    lock_take(&cpu->lock);
    bool recorded = cpu->recorded || cpu->to_come;
    uint64_t time = cpu->to_come ? 0 : cpu->time;
    lock_give(&cpu->lock);
    *out_wrong = event;
    if (!recorded)
        return RNL_ERROR_INVALID_STATE;
    if (time == 0)
        return RNL_NOT_READY;
    *out_wrong = NULL;
    *out_ns = time;
    return RNL_OK;
}

rnl_status cpu_event_elapsed(struct event *start, struct event *end,
                             struct event **out_wrong, int64_t *out_ns)
{
    uint64_t from, to;
    rnl_status status = time_of(start, out_wrong, &from);
    if (status != RNL_OK || (status = time_of(end, out_wrong, &to)))
        return status;
    *out_ns = (int64_t)(to - from);
    return RNL_OK;
}
