// Promises: events for which a stream may wait before their record.
#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/stream/deferred.h"
#include "backends/cudalike/stream/event.h"
#include "backends/cudalike/stream/stream.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/marker.h"
#include "backends/cudalike/timeline/progress.h"
#include "backends/cudalike/timeline/timeline.h"

#include "base/clock.h"

#include <stdio.h>

// A stream that waits for a promise before its record.
struct waiter {
    struct waiter *next;
    struct stream *stream;  // referenced
    uint64_t at;            // number of the waiting operation
};

void waiters_drop(struct waiter *waiter)
{
    while (waiter) {
        struct waiter *next = waiter->next;
        object_unref(&waiter->stream->object);
        mem_release(waiter, sizeof *waiter);
        waiter = next;
    }
}

struct failure *promise_failure(struct event *event, struct stream *stream)
{
    char text[160], message[256];
    struct blame blame = {.name = "wait"};
    object_describe(&event->object, text, sizeof text);
    snprintf(message, sizeof message,
             "%s was released and will never be recorded", text);
    return failure_blame(stream, &blame, RNL_ERROR_DEPENDENCY_FAILED, message);
}

// True if the wait of a promise not yet kept or broken is over: the stream had
// failed and skipped the wait.
static bool was_skipped(const struct waiter *waiter)
{
    return point_is_reached(
        (struct point){stream_timeline(waiter->stream), waiter->at});
}

// --- Keeping and breaking promises ------------------------------------------

// Releases the streams that wait for the promise. `stream` keeps the promise;
// NULL: the promise is broken.
static void let_on(struct marker *marker, struct stream *stream,
                   const struct waiter *waiters)
{
    marker_settle(marker, stream);
    for (const struct waiter *waiter = waiters; waiter; waiter = waiter->next)
        stream_submit_ready(waiter->stream);
    progress_wake();
}

static rnl_status refuse_again(const struct event *event)
{
    char text[160];
    return fail_at(RNL_ERROR_INVALID_STATE, "event",
                   "%s is a promise and was recorded already",
                   object_describe(&event->object, text, sizeof text));
}

static bool waits_locked(const struct gpu_event *own,
                         const struct stream *stream)
{
    ASSERT(lock_is_held(&own->lock));
    const struct waiter *waiter = own->waiters;
    while (waiter && (waiter->stream != stream || was_skipped(waiter)))
        waiter = waiter->next;
    return waiter != NULL;
}

// Takes the marker of a promise for its record. Other streams may wait for the
// marker already, so the event keeps the marker, too.
static struct marker *take_promised(struct event *event,
                                    struct stream *stream)
{
    struct gpu_event *own = event_of(event);
    lock_take(&own->lock);
    bool may = !own->kept && own->promised;
    bool circle = may && waits_locked(own, stream);
    struct marker *marker =
        may && !circle ? marker_share(own->promised) : NULL;
    own->kept |= !circle;
    lock_give(&own->lock);
    if (circle)
        event_refuse_cycle(event, stream);
    else if (!marker)
        refuse_again(event);
    return marker;
}

// Undoes take_promised after the record failed.
static void take_back(struct event *event, struct marker *marker)
{
    struct gpu_event *own = event_of(event);
    lock_take(&own->lock);
    own->kept = false;
    lock_give(&own->lock);
    marker_drop(event->object.context, marker);
}

// Passes the failures of the recording stream, present and future, to the
// streams that wait for the promise.
static rnl_status tell_waiters(struct event *event, struct waiter *waiters,
                               struct stream *stream)
{
    rnl_status status = RNL_OK;
    struct event_point point = gpu_event_point(event);
    for (struct waiter *waiter = waiters; waiter; waiter = waiter->next) {
        if (waiter->stream == stream || was_skipped(waiter))
            continue;
        struct failure *failure = stream_get_failure(stream);
        if (failure)
            timeline_fail(waiter->stream, failure, waiter->at, true);
        if (status == RNL_OK)
            status = stream_depend(waiter->stream, point.at, waiter->at);
    }
    event_point_drop(event->object.context, &point);
    return status;
}

// Wakes the waiting threads, which then look again.
static void announce(struct gpu_event *own)
{
    atomic_fetch_add(&own->news, 1);
    futex_wake(&own->news, INT32_MAX);
}

// Releases all waiters after the record. Takes over the marker and the waiters.
static rnl_status keep_promise(struct event *event, struct marker *marker,
                               struct stream *stream, struct waiter *waiters)
{
    struct gpu_event *own = event_of(event);
    rnl_status status = tell_waiters(event, waiters, stream);
    lock_take(&own->lock);
    bool broken = own->broken;  // by a release meanwhile
    lock_give(&own->lock);
    if (!broken)
        let_on(marker, stream, waiters);
    marker_drop(event->object.context, marker);
    waiters_drop(waiters);
    announce(own);
    return status;
}

rnl_status promise_record(struct event *event, struct stream *stream)
{
    struct context *context = event->object.context;
    struct marker *marker = take_promised(event, stream);
    if (!marker)
        return fail_status();
    rnl_status status = stream_record_marker(stream, marker);
    if (status != RNL_OK) {
        take_back(event, marker);
        return status;
    }
    struct marker *kept = marker_share(marker);
    struct stood stood = event_stand_for(event, marker, stream);
    stood_drop(context, &stood);
    return keep_promise(event, kept, stream, stood.waiters);
}

void gpu_event_break(struct event *event)
{
    struct gpu_event *own = event_of(event);
    lock_take(&own->lock);
    own->broken = !own->recorded;
    struct waiter *waiters = own->broken ? own->waiters : NULL;
    struct marker *marker = own->broken ? marker_share(own->promised) : NULL;
    if (own->broken)
        own->waiters = NULL;
    lock_give(&own->lock);
    for (struct waiter *waiter = waiters; waiter; waiter = waiter->next)
        if (!was_skipped(waiter))
            timeline_fail(waiter->stream,
                          promise_failure(event, waiter->stream), waiter->at,
                          true);
    if (marker)
        let_on(marker, NULL, waiters);
    marker_drop(event->object.context, marker);
    waiters_drop(waiters);
    announce(own);
}

// --- Waiting on the device --------------------------------------------------

// Returns the marker that the promise will record. NULL: the promise was
// recorded or broken meanwhile.
static struct marker *add_waiter(struct gpu_event *own, struct waiter *waiter)
{
    struct marker *marker = NULL;
    lock_take(&own->lock);
    if (!own->recorded && !own->broken) {
        marker = marker_share(own->promised);
        waiter->next = own->waiters;
        own->waiters = waiter;
    }
    lock_give(&own->lock);
    return marker;
}

// Removes the waiter after a failed wait, unless the thread that decided the
// promise has taken the waiter.
static void take_waiter_back(struct gpu_event *own, struct waiter *waiter)
{
    lock_take(&own->lock);
    struct waiter **link = &own->waiters;
    while (*link && *link != waiter)
        link = &(*link)->next;
    bool found = *link != NULL;
    if (found) {
        *link = waiter->next;
        waiter->next = NULL;
    }
    lock_give(&own->lock);
    if (found)
        waiters_drop(waiter);
}

static rnl_status wait_for(struct stream *stream, struct event *event)
{
    struct gpu_event *own = event_of(event);
    if (!host_queue_is_supported(gpu_of(stream_context(stream))))
        return fail(RNL_ERROR_UNSUPPORTED,
                    "the driver is too old to wait for promises: it has no "
                    "stream memory operations");
    struct waiter *waiter = mem_allocate(sizeof *waiter);
    if (!waiter)
        return fail(RNL_ERROR_OUT_OF_MEMORY, "there is no memory to wait");
    waiter->stream = stream;
    object_ref(&stream->object);
    lock_take(&gpu_stream_of(stream)->lock);
    waiter->at = atomic_load(&stream->enqueued) + 1;
    timeline_expect_failure(stream_timeline(stream), waiter->at);
    // Once listed, the waiter may be dropped by another thread.
    struct marker *marker = add_waiter(own, waiter);
    rnl_status status =
        marker ? stream_wait_marker_locked(stream, marker) : RNL_OK;
    // The next operation gets the number of a refused wait.
    if (status != RNL_OK)
        take_waiter_back(own, waiter);
    stream_give_wait(stream);
    if (!marker) {
        waiters_drop(waiter);
        return gpu_event_join(stream, event);
    }
    marker_drop(event->object.context, marker);
    return status;
}

// Keeps the stream during the call, because another thread may drop the waiter,
// with its reference, at any time.
rnl_status promise_join(struct stream *stream, struct event *event)
{
    rnl_status status = object_ref_for(&stream->object, "stream");
    if (status != RNL_OK)
        return status;
    status = wait_for(stream, event);
    object_unref(&stream->object);
    return status;
}

// --- Waiting on the host ----------------------------------------------------

// Until the promise is recorded, the driver has no event to wait for. So the
// thread sleeps on `news`.
rnl_status promise_wait(struct event *event, uint64_t deadline)
{
    struct gpu_event *own = event_of(event);
    for (;;) {
        bool pending;
        uint32_t news = atomic_load(&own->news);
        rnl_status status = event_query(event, &pending);
        if (!pending)
            return status == RNL_NOT_READY ? RNL_OK : status;
        if (clock_now() >= deadline)
            return event_timed_out(event, "recorded");
        futex_wait(&own->news, news, deadline);
    }
}
