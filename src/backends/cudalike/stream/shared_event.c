// The progress thread serves both ends of a shared event. A record is an
// operation of the host queue. When the stream has reached the record, the
// thread writes the record's number and whether the stream has failed.
//
// A wait of a stream is a wait for a promise (deferred.h), which the thread
// keeps when the number appears. Until then, the work behind the wait is
// deferred. If the record failed, that work is left out.
//
// The device could write the number and wait for the number itself. But the
// device cannot see failures, and a wait for another process would block a
// hardware queue.
#include "backends/cudalike/stream/shared_event.h"

#include "backends/cudalike/driver/wait.h"
#include "backends/cudalike/stream/deferred.h"
#include "backends/cudalike/stream/event.h"
#include "backends/cudalike/stream/stream.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/host_queue.h"
#include "backends/cudalike/timeline/marker.h"
#include "backends/cudalike/timeline/progress.h"
#include "backends/cudalike/timeline/retire.h"
#include "backends/cudalike/timeline/timeline.h"

#include "core/stream/interprocess_event.h"

// --- Lifetime ----------------------------------------------------------------

static void attach(struct event *event, struct shared_event *shared)
{
    struct gpu_event *own = event_of(event);
    lock_take(&own->lock);
    own->shared = shared;
    atomic_store_explicit(&own->open, true, memory_order_relaxed);
    lock_give(&own->lock);
}

rnl_status gpu_shared_init(struct event *event)
{
    struct shared_event *shared;
    rnl_status status = shared_event_make(&shared);
    if (status == RNL_OK)
        attach(event, shared);
    return status;
}

rnl_status gpu_event_share(struct event *event, bool opens, unsigned char *key)
{
    struct shared_event *shared;
    if (!opens) {
        shared_event_get_key(event_of(event)->shared, key);
        return RNL_OK;
    }
    rnl_status status = shared_event_open(key, &shared);
    if (status == RNL_OK)
        attach(event, shared);
    return status;
}

// Returns the shared event with a reference, because another thread may release
// the event during the call. NULL after recording the failure.
static struct shared_event *keep(struct event *event)
{
    struct gpu_event *own = event_of(event);
    lock_take(&own->lock);
    struct shared_event *shared =
        own->shared ? shared_event_keep(own->shared) : NULL;
    lock_give(&own->lock);
    if (!shared)
        fail_at(RNL_ERROR_INVALID_HANDLE, "event",
                "the event was released by another thread during the call");
    return shared;
}

// --- Records -----------------------------------------------------------------

// The payload of the op of a record.
struct shared_record {
    struct shared_event *shared;  // referenced
    uint64_t number;
    uint64_t older;  // earlier record in its slot; 0: none
};

static void claim(struct shared_record *record, struct shared_event *shared)
{
    record->shared = shared_event_keep(shared);
    record->number = shared_event_claim(shared, &record->older);
    if (record->older > 0)
        shared_event_begin_wait(shared);
}

static void complete(struct shared_record *record, bool failed)
{
    shared_event_complete(record->shared, record->number, failed);
    if (record->older > 0)
        shared_event_end_wait(record->shared);
    shared_event_drop(record->shared);
}

bool shared_record_run(struct stream *stream, struct op *op)
{
    struct shared_record *record = op->payload;
    if (record->older > 0 &&
        !shared_event_is_done(record->shared, record->older)) {
        shared_events_look();
        return false;
    }
    complete(record, stream_leaves_out(stream, op->sequence));
    host_queue_complete(stream, op, RNL_OK);
    return true;
}

void shared_record_give_up(struct op *op)
{
    complete(op->payload, true);
}

static rnl_status record(struct stream *stream, struct shared_event *shared)
{
    struct op *op =
        op_create(stream, OP_TIMESTAMP, sizeof(struct shared_record));
    if (!op)
        return fail_status();
    deferred_leave_to_host(op);
    claim(op->payload, shared);
    rnl_status status = gpu_stream_submit(stream, op);
    if (status != RNL_OK) {
        complete(op->payload, true);
        op_finish(op);
    }
    return status;
}

rnl_status gpu_shared_record(struct event *event, struct stream *stream)
{
    struct shared_event *shared = keep(event);
    if (!shared)
        return fail_status();
    rnl_status status = record(stream, shared);
    shared_event_drop(shared);
    return status;
}

// --- Waits of streams --------------------------------------------------------

struct shared_wait {
    struct shared_wait *next;
    struct shared_event *shared;  // referenced
    uint64_t record;
    struct marker *marker;        // promise that releases the stream
    struct stream *stream;        // referenced
    uint64_t at;                  // number of the waiting operation
};

// Guards the list.
static struct lock waits_lock = LOCK_RANKED(RANK_LEAF);
static struct shared_wait *_Atomic waits;

static struct failure *failure_of(struct shared_event *shared, uint64_t record,
                                  struct stream *stream)
{
    struct blame blame = {.name = "wait"};
    return failure_blame(stream, &blame, RNL_ERROR_DEPENDENCY_FAILED,
                         shared_event_why(shared, record));
}

static void wait_drop(struct shared_wait *wait)
{
    marker_drop(stream_context(wait->stream), wait->marker);
    shared_event_drop(wait->shared);
    stream_drop(wait->stream);
    mem_release(wait, sizeof *wait);
}

// Returns NULL after recording the failure. The caller keeps the stream.
static struct shared_wait *wait_new(struct stream *stream,
                                    struct shared_event *shared,
                                    uint64_t record)
{
    struct shared_wait *wait = mem_allocate(sizeof *wait);
    if (!wait) {
        fail(RNL_ERROR_OUT_OF_MEMORY, "there is no memory to wait");
        return NULL;
    }
    struct marker *marker = marker_take(stream_context(stream), false);
    if (!marker) {
        mem_release(wait, sizeof *wait);
        return NULL;
    }
    marker_promise(marker);
    object_ref(&stream->object);
    *wait = (struct shared_wait){
        .shared = shared_event_keep(shared), .record = record,
        .marker = marker, .stream = stream,
        .at = atomic_load(&stream->enqueued) + 1};
    return wait;
}

static void list_wait(struct shared_wait *wait)
{
    shared_event_begin_wait(wait->shared);
    lock_take(&waits_lock);
    wait->next = atomic_load(&waits);
    atomic_store(&waits, wait);
    lock_give(&waits_lock);
    progress_wake();
}

static rnl_status wait_for(struct stream *stream, struct shared_event *shared,
                           uint64_t record)
{
    struct shared_wait *wait = wait_new(stream, shared, record);
    if (!wait)
        return fail_status();
    // The marker is pending, so the wait is deferred. A deferred wait may fail
    // later, as stream_wait_marker has noted.
    rnl_status status = stream_wait_marker(stream, wait->marker, &wait->at);
    if (status == RNL_OK)
        list_wait(wait);
    else
        wait_drop(wait);
    return status;
}

// Keeps the stream during the call, because the progress thread may drop the
// wait, with its reference, at any time.
static rnl_status wait_and_keep(struct stream *stream,
                                struct shared_event *shared, uint64_t record)
{
    rnl_status status = object_ref_for(&stream->object, "stream");
    if (status != RNL_OK)
        return status;
    status = wait_for(stream, shared, record);
    object_unref(&stream->object);
    return status;
}

rnl_status gpu_shared_join(struct stream *stream, struct event *event)
{
    struct shared_event *shared = keep(event);
    if (!shared)
        return fail_status();
    uint64_t record = shared_event_last(shared);
    rnl_status status = shared_event_state(shared, record);
    if (status == RNL_NOT_READY) {
        status = wait_and_keep(stream, shared, record);
    } else if (status != RNL_OK) {
        stream_inherit(stream, failure_of(shared, record, stream));
        status = RNL_OK;
    }
    shared_event_drop(shared);
    return status;
}

// True if the stream has given up the wait, for example on a lost device. Then
// only this wait still holds the marker.
static bool is_given_up(const struct shared_wait *wait)
{
    return atomic_load(&wait->marker->references) == 1;
}

static bool is_over(const struct shared_wait *wait)
{
    return is_given_up(wait) ||
           shared_event_state(wait->shared, wait->record) != RNL_NOT_READY;
}

static struct shared_wait *take_over(bool *out_left)
{
    struct shared_wait *over = NULL;
    lock_take(&waits_lock);
    struct shared_wait *left = NULL;
    for (struct shared_wait *at = atomic_load(&waits), *next; at; at = next) {
        struct shared_wait **list = is_over(at) ? &over : &left;
        next = at->next;
        at->next = *list;
        *list = at;
    }
    atomic_store(&waits, left);
    lock_give(&waits_lock);
    *out_left = left != NULL;
    return over;
}

// Reports the failure before the stream is released, so that the stream leaves
// out the work behind the wait.
static void end(struct shared_wait *wait)
{
    if (!is_given_up(wait) && shared_event_state(wait->shared, wait->record) ==
                                  RNL_ERROR_DEPENDENCY_FAILED)
        timeline_fail(wait->stream,
                      failure_of(wait->shared, wait->record, wait->stream),
                      wait->at, true);
    marker_settle(wait->marker, NULL);
    shared_event_end_wait(wait->shared);
    wait_drop(wait);
}

bool shared_waits_look(bool *out_left)
{
    *out_left = false;
    if (!atomic_load(&waits))
        return false;
    shared_events_look();
    struct shared_wait *over = take_over(out_left);
    for (struct shared_wait *at = over, *next; at; at = next) {
        next = at->next;
        end(at);
    }
    return over != NULL;
}

// --- Waiting on the host -----------------------------------------------------

// A wait of a thread, for the record that was the last when the wait began. The
// caller keeps the event.
struct host_wait {
    struct event *event;
    uint64_t record;
};

static rnl_status query(void *subject)
{
    struct host_wait *wait = subject;
    struct context *context = wait->event->object.context;
    struct failure *lost = atomic_load(&context->lost);
    if (lost)
        return failure_report(lost, context->default_stream);
    return shared_event_query(event_of(wait->event)->shared, &wait->record);
}

rnl_status gpu_shared_query(struct event *event)
{
    return query(&(struct host_wait){.event = event});
}

rnl_status gpu_shared_wait(struct event *event, uint64_t deadline)
{
    struct host_wait wait = {.event = event};
    rnl_status status = gpu_poll(query, &wait, RNL_SYNC_AUTO, deadline,
                                 &event_of(event)->waits);
    return status == RNL_ERROR_TIMED_OUT ? event_timed_out(event, "complete")
                                         : status;
}
