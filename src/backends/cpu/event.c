#include "backends/cpu/cpu.h"

rnl_status cpu_event_init(struct event *event)
{
    (void)event;  // zeroed memory is an event that was never recorded
    return RNL_OK;
}

void cpu_event_finish(struct event *event)
{
    struct cpu_event *cpu = event_cpu(event);
    lock_take(&cpu->lock);
    struct stream *stream = cpu->stream;
    cpu->stream = NULL;
    cpu->gone = true;
    lock_give(&cpu->lock);
    if (stream)
        object_drop(&stream->object);
}

// --- Records to come -------------------------------------------------------

static _Atomic uint64_t last_ticket;

uint64_t event_new_ticket(void)
{
    return atomic_fetch_add_explicit(&last_ticket, 2, memory_order_relaxed) +
           2;
}

// The newest launch below `limit` whose record still counts and is to come.
static uint64_t newest_before_locked(const struct cpu_event *cpu,
                                     uint64_t limit)
{
    uint64_t newest = 0;
    for (const struct to_come *at = cpu->to_come; at; at = at->next)
        if (at->ticket < limit && at->ticket > cpu->ticket)
            newest = at->ticket;
    return newest;
}

uint64_t event_ticket_before(struct event *event, uint64_t ticket)
{
    struct cpu_event *cpu = event_cpu(event);
    lock_take(&cpu->lock);
    uint64_t before = newest_before_locked(cpu, ticket);
    lock_give(&cpu->lock);
    return before;
}

static struct to_come *find_locked(const struct cpu_event *cpu,
                                   uint64_t ticket)
{
    struct to_come *at = ticket ? cpu->to_come : NULL;
    while (at && at->ticket != ticket)
        at = at->next;
    return at;
}

// An ordinary record counts from now on, not those of launches before it.
static void supersede_locked(struct cpu_event *cpu)
{
    for (const struct to_come *at = cpu->to_come; at; at = at->next)
        cpu->ticket = at->ticket + 1;
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

static bool stream_is_idle(struct stream *stream)
{
    return atomic_load_explicit(&stream_queue(stream)->completed,
                                memory_order_acquire) >=
           atomic_load_explicit(&stream->submitted, memory_order_acquire);
}

// An op that notes the time, made before the event is locked and changed. NULL
// with RNL_OK when the event needs none.
static rnl_status make_stamp(struct event *event, struct stream *stream,
                             bool idle, struct op **out_op)
{
    *out_op = NULL;
    if (!event->options.timing || idle)
        return RNL_OK;
    rnl_status status = object_keep_for(&event->object, "event");
    if (status != RNL_OK)
        return status;
    struct op *op = op_create(stream, OP_STAMP, 0);
    if (!op) {
        object_drop(&event->object);
        return RNL_ERROR_OUT_OF_MEMORY;
    }
    op->kept[op->kept_count++] = &event->object;
    op->backend[0] = (uint64_t)(uintptr_t)event;
    op->backend[1] = 0;
    *out_op = op;
    return RNL_OK;
}

// Takes over the reference to the stream. Returns the one it had before, which
// the caller drops outside the lock. The event stays locked while its stamp is
// submitted, so that the record number in the stamp is this record's.
static rnl_status record_locked(struct event *event, struct stream *stream,
                                struct op *stamp, bool idle,
                                struct stream **old)
{
    struct cpu_event *cpu = event_cpu(event);
    if (cpu->gone)
        return already_gone();
    if (stamp) {
        stamp->backend[1] = cpu->record + 1;
        rnl_status status = queue_submit(stream_queue(stream), stamp,
                                         NULL);
        if (status != RNL_OK)
            return status;
    }
    supersede_locked(cpu);
    cpu->record++;
    cpu->time = event->options.timing && idle ? clock_now() : 0;
    *old = cpu->stream;
    cpu->stream = stream;
    cpu->sequence = atomic_load(&stream->submitted);
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
    supersede_locked(cpu);
    bool gone = cpu->gone;
    cpu->record++;
    cpu->time = event->options.timing ? clock_now() : 0;
    struct stream *old = cpu->stream;
    cpu->stream = NULL;
    cpu->recorded = true;
    atomic_store_explicit(&cpu->done, true, memory_order_release);
    lock_give(&cpu->lock);
    if (old)
        object_drop(&old->object);
    return gone ? already_gone() : RNL_OK;
}

rnl_status cpu_event_record(struct event *event, struct stream *stream)
{
    struct cpu_event *cpu = event_cpu(event);
    bool promise = event->options.promise;
    bool idle = stream_is_idle(stream);
    struct stream *old = stream;
    struct op *waiters = NULL, *stamp;
    if (idle && !promise && !atomic_load(&stream->failure))
        return record_done(event);
    rnl_status status = object_keep_for(&stream->object, "stream");
    if (status != RNL_OK)
        return status;
    status = make_stamp(event, stream, idle, &stamp);
    if (status != RNL_OK)
        goto drop;
    lock_take(&cpu->lock);
    bool again = promise && cpu->recorded;
    if (!again)
        status = record_locked(event, stream, stamp, idle, &old);
    if (!again && status == RNL_OK) {
        waiters = cpu->waiters;
        cpu->waiters = NULL;
    }
    lock_give(&cpu->lock);
    if (stamp && (again || status != RNL_OK))
        op_finish(stamp);
    if (again)
        status = already_recorded(event);
    else if (promise && status == RNL_OK)
        announce_record(cpu, waiters);

drop:
    if (old)
        object_drop(&old->object);
    return status;
}

void event_stamp(struct op *op)
{
    struct event *event = (struct event *)(uintptr_t)op->backend[0];
    struct cpu_event *cpu = event_cpu(event);
    lock_take(&cpu->lock);
    if (cpu->record == op->backend[1])
        cpu->time = clock_now();
    lock_give(&cpu->lock);
}

// --- Recording by graphs ---------------------------------------------------

void event_expect(struct event *event, struct to_come *record)
{
    struct cpu_event *cpu = event_cpu(event);
    struct to_come **link = &cpu->to_come;
    lock_take(&cpu->lock);
    while (*link)
        link = &(*link)->next;
    *link = record;
    atomic_store_explicit(&cpu->done, false, memory_order_release);
    lock_give(&cpu->lock);
}

static void unlink_locked(struct cpu_event *cpu, const struct to_come *record)
{
    struct to_come **link = &cpu->to_come;
    while (*link != record)
        link = &(*link)->next;
    *link = record->next;
}

// Returns the stream that the event stood for before, for the caller to drop.
static struct stream *arrive_locked(struct event *event, uint64_t ticket,
                                    struct stream *failed, uint64_t sequence)
{
    struct cpu_event *cpu = event_cpu(event);
    if (ticket < cpu->ticket)
        return failed;
    struct stream *old = cpu->stream;
    cpu->ticket = ticket;
    cpu->record++;
    cpu->time = event->options.timing ? clock_now() : 0;
    cpu->stream = failed;
    cpu->sequence = sequence;
    cpu->recorded = true;
    bool done = !failed && newest_before_locked(cpu, UINT64_MAX) == 0;
    atomic_store_explicit(&cpu->done, done, memory_order_release);
    return old;
}

void event_arrive(struct event *event, struct to_come *record,
                  struct stream *failed, uint64_t sequence)
{
    struct cpu_event *cpu = event_cpu(event);
    if (failed)
        object_keep(&failed->object);
    lock_take(&cpu->lock);
    unlink_locked(cpu, record);
    struct op *waiters = record->waiters;
    struct stream *old =
        arrive_locked(event, record->ticket, failed, sequence);
    lock_give(&cpu->lock);
    announce_record(cpu, waiters);
    if (old)
        object_drop(&old->object);
}

void event_give_up(struct event *event, struct to_come *record)
{
    struct cpu_event *cpu = event_cpu(event);
    lock_take(&cpu->lock);
    unlink_locked(cpu, record);
    struct op *waiters = record->waiters;
    lock_give(&cpu->lock);
    announce_record(cpu, waiters);
}

// --- Waiting ---------------------------------------------------------------

// Whether what a wait means is still to come: a promise, or the record of a
// launch.
static bool is_awaited_locked(const struct event *event,
                              const struct cpu_event *cpu, uint64_t ticket)
{
    return find_locked(cpu, ticket) ||
           (event->options.promise && !cpu->recorded);
}

enum point {
    POINT_NOWHERE,  // never recorded, or known to be complete
    POINT_TO_COME,
    POINT_ON_STREAM,
};

// What the event stands for, with a reference to the stream. `*out_sequence` is
// the launch's ticket for what is to come.
static enum point point_of(struct event *event, struct stream **out_stream,
                           uint64_t *out_sequence)
{
    struct cpu_event *cpu = event_cpu(event);
    enum point point = POINT_NOWHERE;
    lock_take(&cpu->lock);
    bool done = atomic_load_explicit(&cpu->done, memory_order_acquire);
    *out_sequence = newest_before_locked(cpu, UINT64_MAX);
    if (is_awaited_locked(event, cpu, *out_sequence))
        point = POINT_TO_COME;
    else if (cpu->recorded && !done && cpu->stream)
        point = POINT_ON_STREAM;
    if (point == POINT_ON_STREAM) {
        *out_stream = cpu->stream;
        *out_sequence = cpu->sequence;
        object_keep(&cpu->stream->object);
    }
    lock_give(&cpu->lock);
    return point;
}

rnl_status cpu_event_join(struct stream *stream, struct event *event)
{
    struct cpu_event *cpu = event_cpu(event);
    struct stream *target;
    uint64_t sequence;
    if (atomic_load_explicit(&cpu->done, memory_order_acquire))
        return RNL_OK;
    enum point point = point_of(event, &target, &sequence);
    if (point == POINT_NOWHERE)
        return RNL_OK;
    if (point == POINT_TO_COME)
        return queue_add_wait(stream, &(struct wait){.promise = event,
                                                     .ticket = sequence});
    // The order within one stream is already there.
    struct wait wait = {.target = target, .sequence = sequence};
    rnl_status status =
        target == stream ? RNL_OK : queue_add_wait(stream, &wait);
    object_drop(&target->object);
    return status;
}

// What comes later on the event's own stream is in order as it is.
static void resolve_locked(struct op *op, struct cpu_event *cpu)
{
    struct wait *wait = op_wait(op);
    if (!cpu->stream || (wait->ticket && wait->ticket != cpu->ticket))
        return;
    wait->target = cpu->stream;
    wait->sequence = cpu->stream == op->stream ? 0 : cpu->sequence;
    object_keep(&cpu->stream->object);
    op->kept[op->kept_count++] = &cpu->stream->object;
}

bool event_resolve(struct op *op, bool *out_broken)
{
    struct wait *wait = op_wait(op);
    struct cpu_event *cpu = event_cpu(wait->promise);
    lock_take(&cpu->lock);
    bool listed = atomic_load(&wait->listed);
    bool known = !listed &&
                 (cpu->broken ||
                  !is_awaited_locked(wait->promise, cpu, wait->ticket));
    *out_broken = known && cpu->broken;
    if (known) {
        resolve_locked(op, cpu);
    } else if (!listed) {
        struct to_come *record = find_locked(cpu, wait->ticket);
        struct op **list = record ? &record->waiters : &cpu->waiters;
        atomic_store(&wait->listed, true);
        wait->next = *list;
        *list = op;
    }
    lock_give(&cpu->lock);
    return known;
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
    enum point point = point_of(event, &stream, &sequence);
    if (point != POINT_ON_STREAM)
        return point == POINT_TO_COME ? RNL_NOT_READY : RNL_OK;
    struct queue *queue = stream_queue(stream);
    struct failure *failure = NULL;
    rnl_status status = RNL_OK;
    if (atomic_load_explicit(&queue->completed, memory_order_acquire) <
        sequence) {
        queue_nudge(queue);
        status = RNL_NOT_READY;
    } else if (queue_failed(queue, sequence, &failure)) {
        status = failure_report(failure, stream);
        failure_drop(failure);
    } else {
        // Only for the point that was looked at: it may have moved since.
        lock_take(&cpu->lock);
        if (cpu->stream == stream && cpu->sequence == sequence &&
            newest_before_locked(cpu, UINT64_MAX) == 0)
            atomic_store_explicit(&cpu->done, 1, memory_order_release);
        lock_give(&cpu->lock);
    }
    object_drop(&stream->object);
    return status;
}

static rnl_status timed_out(struct event *event)
{
    char text[160];
    rnl_status status =
        fail_at(RNL_ERROR_TIMED_OUT, "event",
                "the time limit passed before %s was recorded",
                object_describe(&event->object, text, sizeof text));
    fail_set_object("%s", text);
    return status;
}

// Sleeps until what is to come now is recorded.
static rnl_status await_record(struct event *event, uint64_t deadline)
{
    struct cpu_event *cpu = event_cpu(event);
    uint64_t ticket = event_ticket_before(event, UINT64_MAX);
    for (;;) {
        lock_take(&cpu->lock);
        bool recorded = !is_awaited_locked(event, cpu, ticket);
        bool broken = cpu->broken;
        uint32_t word = atomic_load(&cpu->recorded_word);
        lock_give(&cpu->lock);
        if (recorded && !broken)
            return RNL_OK;
        if (broken)
            return fail_at(RNL_ERROR_DEPENDENCY_FAILED, "event",
                           "the promise was released without being recorded");
        if (deadline != RNL_FOREVER && clock_now() >= deadline)
            return timed_out(event);
        futex_wait(&cpu->recorded_word, word, deadline);
    }
}

rnl_status cpu_event_wait(struct event *event, uint64_t deadline)
{
    struct stream *stream;
    uint64_t sequence;
    rnl_status status = await_record(event, deadline);
    if (status != RNL_OK ||
        point_of(event, &stream, &sequence) != POINT_ON_STREAM)
        return status;
    status = queue_wait(stream_queue(stream), sequence, deadline,
                        event->options.blocking_sync ? RNL_SYNC_BLOCKING : 0);
    object_drop(&stream->object);
    return status ? status : cpu_event_query(event);
}

rnl_status cpu_event_time(struct event *event, uint64_t *out_ns)
{
    struct cpu_event *cpu = event_cpu(event);
    lock_take(&cpu->lock);
    bool to_come = newest_before_locked(cpu, UINT64_MAX) != 0;
    bool recorded = cpu->recorded || to_come;
    uint64_t time = to_come ? 0 : cpu->time;
    lock_give(&cpu->lock);
    if (!recorded)
        return RNL_ERROR_INVALID_STATE;
    if (time == 0)
        return RNL_NOT_READY;
    *out_ns = time;
    return RNL_OK;
}
