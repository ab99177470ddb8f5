#include "backends/cudalike/stream/event.h"

#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/driver/wait.h"
#include "backends/cudalike/stream/deferred.h"
#include "backends/cudalike/stream/shared_event.h"
#include "backends/cudalike/stream/stream.h"
#include "backends/cudalike/timeline/device_lost.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/marker.h"
#include "backends/cudalike/timeline/op_history.h"
#include "backends/cudalike/timeline/timeline.h"
#include "core/stream/interprocess_event.h"

// True if the event was never recorded and is no promise; then all members are
// zero.
static bool is_blank(struct gpu_event *own)
{
    return !atomic_load_explicit(&own->recorded, memory_order_relaxed) &&
           !event_is_open(own);
}

void stood_drop(struct context *context, const struct stood *stood)
{
    if (stood->marker)
        marker_drop(context, stood->marker);
    if (stood->timeline)
        timeline_release(stood->timeline);
}

// A late call of another thread may fill the event again.
static void empty(struct event *event)
{
    struct gpu_event *own = event_of(event);
    struct context *context = event->object.context;
    lock_take(&own->lock);
    struct stood stood = {
        own->marker,
        atomic_load_explicit(&own->timeline, memory_order_relaxed),
        own->waiters};
    struct marker *promised = own->promised;
    struct shared_event *shared = own->shared;
    own->marker = own->promised = NULL;
    own->shared = NULL;
    atomic_store_explicit(&own->timeline, NULL, memory_order_relaxed);
    own->waiters = NULL;
    lock_give(&own->lock);
    marker_drop(context, promised);
    stood_drop(context, &stood);
    waiters_drop(stood.waiters);
    shared_event_drop(shared);
}

void gpu_event_finish(struct event *event)
{
    if (!is_blank(event_of(event)))
        empty(event);
}

rnl_status gpu_event_init(struct event *event)
{
    struct gpu_event *own = event_of(event);
    if (!is_blank(own)) {
        if (own->marker || own->timeline)
            empty(event);
        *own = (struct gpu_event){0};
    }
    lock_set_rank(&own->lock, RANK_GPU_EVENT);
    if (event_is_plain(event))
        return RNL_OK;
    if (event->options.interprocess)
        return gpu_shared_init(event);
    own->promised = marker_take(event->object.context, event->options.timing);
    if (!own->promised)
        return fail_status();
    marker_promise(own->promised);
    atomic_store_explicit(&own->open, true, memory_order_relaxed);
    return RNL_OK;
}

// --- Recording -------------------------------------------------------------

static inline uint64_t newest(const struct stream *stream)
{
    return atomic_load_explicit(&stream->enqueued, memory_order_acquire);
}

// `marker` is NULL if the work is done. `value` is the last operation before
// the record.
static inline struct stood stand_for(struct event *event,
                                     struct marker *marker,
                                     struct stream *stream, uint64_t value)
{
    struct gpu_event *own = event_of(event);
    struct timeline *timeline = stream_timeline(stream);
    if (__builtin_expect(atomic_load_explicit(&stream->failure,
                                              memory_order_acquire) != NULL, 0))
        timeline_note_failure(stream, value);
    lock_take(&own->lock);
    struct timeline *before = atomic_load_explicit(&own->timeline,
                                                   memory_order_relaxed);
    struct stood stood = {own->marker, NULL, own->waiters};
    if (before != timeline) {
        stood.timeline = before;
        atomic_store_explicit(&own->timeline, timeline_retain(timeline),
                              memory_order_relaxed);
    }
    own->marker = marker;
    own->value = value;
    own->waiters = NULL;
    atomic_store_explicit(&own->recorded, true, memory_order_relaxed);
    atomic_store_explicit(&own->open, marker || timeline_may_fail(timeline),
                          memory_order_release);
    lock_give(&own->lock);
    return stood;
}

struct stood event_stand_for(struct event *event, struct marker *marker,
                             struct stream *stream)
{
    return stand_for(event, marker, stream, newest(stream));
}

void gpu_event_stand_for(struct event *event, struct marker *marker,
                         struct stream *stream, uint64_t value)
{
    struct stood stood = stand_for(event, marker, stream, value);
    stood_drop(event->object.context, &stood);  // graphs record no promises
}

// True if all earlier work is done. Then the event is complete at once, without
// the driver. A blocking stream does not qualify, because its record also comes
// behind the work of the vendor's legacy default stream.
static bool is_done_at_once(const struct event *event, struct stream *stream)
{
    const struct gpu_stream *own = gpu_stream_of(stream);
    return stream->flags & RNL_STREAM_NON_BLOCKING &&
           !event->options.timing && event_is_plain(event) &&
           stream_is_done(own, atomic_load_explicit(&stream->enqueued,
                                                    memory_order_acquire)) &&
           !timeline_may_fail(timeline_of(own)) &&
           !atomic_load_explicit(&stream->failure, memory_order_acquire) &&
           !context_is_lost(event->object.context);
}

static inline rnl_status record_locked(struct event *event,
                                       struct stream *stream,
                                       struct stood *stood)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    struct marker *marker =
        stream_take_record_locked(stream, event->options.timing, true);
    if (__builtin_expect(!marker, 0))
        return fail_status();
    *stood = stand_for(event, marker, stream, newest(stream));
    stood->marker = marker_keep_spare_locked(stream, stood->marker);
    return RNL_OK;
}

rnl_status gpu_event_record(struct event *event, struct stream *stream)
{
    struct context *context = event->object.context;
    struct gpu_stream *own = gpu_stream_of(stream);
    struct stood stood = {0};
    if (is_done_at_once(event, stream)) {
        if (event_is_open(event_of(event)))
            gpu_event_stand_for(event, NULL, stream, newest(stream));
        return RNL_OK;
    }
    if (!event_is_plain(event))
        return event->options.promise ? promise_record(event, stream)
                                      : gpu_shared_record(event, stream);
    void *before = stream_enter(stream);
    lock_take(&own->lock);
    rnl_status status = record_locked(event, stream, &stood);
    lock_give(&own->lock);
    stream_leave(stream, before);
    stood_drop(context, &stood);
    return status;
}

// --- Waiting on the device -------------------------------------------------

// Returns the timeline of the record if an operation has failed or may yet
// fail; otherwise NULL.
static struct timeline *unsound_locked(const struct gpu_event *own)
{
    ASSERT(lock_is_held(&own->lock));
    struct timeline *timeline =
        atomic_load_explicit(&own->timeline, memory_order_relaxed);
    return timeline && !timeline_is_sound(timeline) ? timeline : NULL;
}

static struct failure *failure_locked(const struct gpu_event *own)
{
    ASSERT(lock_is_held(&own->lock));
    struct timeline *timeline = unsound_locked(own);
    return timeline ? timeline_failure(timeline, own->value) : NULL;
}

// Reads everything under one lock, because another thread may record the event
// again at any time.
static struct event_point look(struct gpu_event *own)
{
    lock_take(&own->lock);
    struct timeline *unsound = unsound_locked(own);
    struct event_point point = {
        .marker = own->marker ? marker_share(own->marker) : NULL,
        .at = {unsound, own->value},
        .recorded = own->recorded,
        .broken = own->broken,
    };
    if (__builtin_expect(unsound != NULL, 0)) {
        timeline_retain(unsound);
        point.failure = timeline_failure(unsound, own->value);
    }
    lock_give(&own->lock);
    return point;
}

// The marker is done, so every failure was noted before.
static void look_at_end(struct event_point *point)
{
    if (point->at.timeline && !point->failure)
        point->failure = timeline_failure(point->at.timeline, point->at.value);
}

struct event_point gpu_event_point(struct event *event)
{
    struct event_point point = {0};
    if (event_is_open(event_of(event)))
        point = look(event_of(event));
    if (point.marker && atomic_load(&point.marker->done)) {
        marker_drop(event->object.context, point.marker);
        point.marker = NULL;
        look_at_end(&point);
    }
    return point;
}

void event_point_drop(struct context *context, const struct event_point *point)
{
    marker_drop(context, point->marker);
    if (__builtin_expect(point->failure != NULL, 0))
        failure_unref(point->failure);
    if (__builtin_expect(point->at.timeline != NULL, 0))
        timeline_release(point->at.timeline);
}

static inline rnl_status join(struct stream *stream, struct event *event)
{
    if (event->options.interprocess)
        return gpu_shared_join(stream, event);
    struct event_point point = look(event_of(event));
    bool waits = point.marker && !atomic_load(&point.marker->done);
    uint64_t at = 0;
    rnl_status status = RNL_OK;
    if (!waits)
        look_at_end(&point);
    if (point.broken)
        stream_inherit(stream, promise_failure(event, stream));
    if (point.failure)
        stream_inherit(stream, point.failure);
    point.failure = NULL;
    if (waits)
        status = stream_wait_marker(stream, point.marker, &at);
    else if (event->options.promise && !point.recorded && !point.broken)
        status = promise_join(stream, event);
    if (point.at.timeline && waits && status == RNL_OK)
        status = stream_depend(stream, point.at, at);
    event_point_drop(event->object.context, &point);
    return status;
}

// The other context may end during the call, and end the event's timeline and
// marker. So this function keeps that context.
static __attribute__((noinline)) rnl_status join_other(struct stream *stream,
                                                       struct event *event)
{
    struct object *home = &event->object.context->object;
    rnl_status status = object_ref_for(home, "event");
    if (status != RNL_OK)
        return status;
    status = join(stream, event);
    object_unref(home);
    return status;
}

rnl_status gpu_event_join(struct stream *stream, struct event *event)
{
    struct gpu_event *own = event_of(event);
    // Work within one stream is ordered already.
    if (!event_is_open(own) ||
        atomic_load(&own->timeline) == stream_timeline(stream))
        return RNL_OK;
    return event->object.context == stream_context(stream)
               ? join(stream, event)
               : join_other(stream, event);
}

// --- Waiting on the host ---------------------------------------------------

static rnl_status report(struct event *event, struct failure *failure)
{
    struct stream *stream = event->object.context->default_stream;
    struct failure *lost = atomic_load(&event->object.context->lost);
    if (lost)
        return failure_report(lost, stream);
    return failure ? fail(failure->status, "%s", failure->message) : RNL_OK;
}

// Closes the event after its marker is done, so that later queries return at
// once. If the event was recorded again meanwhile, the event stays open. A
// later record may share the marker but have failed; then that failure is
// returned.
static struct failure *close_event(struct gpu_event *own,
                                   const struct marker *marker)
{
    struct failure *failure = NULL;
    lock_take(&own->lock);
    if (own->marker == marker && !(failure = failure_locked(own)))
        atomic_store_explicit(&own->open, false, memory_order_release);
    lock_give(&own->lock);
    return failure;
}

rnl_status event_query(struct event *event, bool *out_pending)
{
    struct context *context = event->object.context;
    struct event_point point = look(event_of(event));
    rnl_status status =
        point.marker ? marker_query(context, point.marker) : RNL_OK;
    *out_pending = !point.marker && event->options.promise &&
                   !point.recorded && !point.broken;
    if (*out_pending)
        status = RNL_NOT_READY;
    if (point.broken)
        status = fail(RNL_ERROR_DEPENDENCY_FAILED,
                      "the promise was released and will never be recorded");
    if (status == RNL_OK)
        look_at_end(&point);
    if (status == RNL_OK && point.marker && !point.failure &&
        !context_is_lost(context))
        point.failure = close_event(event_of(event), point.marker);
    if (status == RNL_OK)
        status = report(event, point.failure);
    event_point_drop(context, &point);
    return status;
}

// Makes a driver event for an event that was complete at once.
static rnl_status make_marker(struct event *event)
{
    struct gpu_event *own = event_of(event);
    struct marker *marker = marker_complete(event->object.context);
    if (!marker)
        return fail_status();
    lock_take(&own->lock);
    if (!own->marker) {
        own->marker = marker;
        atomic_store(&own->recorded, true);
        marker = NULL;
    }
    lock_give(&own->lock);
    marker_drop(event->object.context, marker);
    return RNL_OK;
}

static struct marker *share_marker(struct gpu_event *own)
{
    lock_take(&own->lock);
    struct marker *marker = own->marker ? marker_share(own->marker) : NULL;
    lock_give(&own->lock);
    return marker;
}

rnl_status gpu_event_native(struct event *event, void **out_native)
{
    struct gpu_event *own = event_of(event);
    if (event->options.interprocess)
        return fail_at(RNL_ERROR_UNSUPPORTED, "event",
                       "no event of the driver stands for an interprocess "
                       "event");
    struct marker *marker = share_marker(own);
    rnl_status status = RNL_OK;
    if (!marker && atomic_load(&event->recorded)) {
        status = make_marker(event);
        marker = share_marker(own);
    }
    if (status != RNL_OK)
        return status;
    void *native = marker ? marker->event : NULL;
    int code = marker ? marker_submit(marker) : 0;
    marker_drop(event->object.context, marker);
    if (code != 0)
        return driver_fail(event->object.context, code,
                           "to let a stream wait for the host");
    if (!native)
        return fail_at(RNL_ERROR_INVALID_STATE, "event",
                       "the event was never recorded: nothing stands for it");
    *out_native = native;
    return RNL_OK;
}

static bool is_well(struct event *event)
{
    return !event_is_open(event_of(event)) &&
           !context_is_lost(event->object.context);
}

// Keeps the event and its context during the query, because another thread may
// release both.
static __attribute__((noinline)) rnl_status query_open(struct event *event)
{
    bool pending;
    rnl_status status = object_ref_for(&event->object, "event");
    if (status != RNL_OK)
        return status;
    status = event->options.interprocess ? gpu_shared_query(event)
                                         : event_query(event, &pending);
    object_unref(&event->object);
    return status;
}

// Programs poll with this function, so the common case comes first.
rnl_status gpu_event_query(struct event *event)
{
    return is_well(event) ? RNL_OK : query_open(event);
}

static rnl_status query_again(void *event)
{
    return gpu_event_query(event);
}

// Reports the progress of the recording stream, unless that stream is gone.
static rnl_status timed_out(struct event *event)
{
    struct gpu_event *own = event_of(event);
    lock_take(&own->lock);
    const struct timeline *timeline = atomic_load(&own->timeline);
    uint64_t id = timeline ? timeline->stream_id : 0;
    lock_give(&own->lock);
    struct stream *recorder = context_find_stream(event->object.context, id);
    if (!recorder)
        return event_timed_out(event, "complete");
    stream_timed_out(recorder);
    object_unref(&recorder->object);
    return RNL_ERROR_TIMED_OUT;
}

static rnl_status wait_until(struct event *event, uint64_t deadline)
{
    struct gpu_context *gpu = gpu_of(event->object.context);
    rnl_status status = RNL_OK;
    if (is_well(event))
        return RNL_OK;
    if (event->options.promise)
        status = promise_wait(event, deadline);
    if (status != RNL_OK)
        return status;
    void *before = handle_enter(gpu);
    status = gpu_poll(query_again, event, RNL_SYNC_AUTO, deadline,
                      &event_of(event)->waits);
    current_back(gpu, before);
    return status == RNL_ERROR_TIMED_OUT ? timed_out(event) : status;
}

rnl_status gpu_event_wait(struct event *event, uint64_t deadline)
{
    rnl_status status = event->options.interprocess
                            ? gpu_shared_wait(event, deadline)
                            : wait_until(event, deadline);
    if (status == RNL_OK)
        context_show_prints(event->object.context);
    return status;
}

// Returns the marker of a recorded event; the caller drops the marker.
static rnl_status timed_marker(struct event *event, struct event **out_wrong,
                               struct marker **out_marker)
{
    *out_marker = share_marker(event_of(event));
    *out_wrong = *out_marker ? NULL : event;
    return *out_marker ? RNL_OK : RNL_ERROR_INVALID_STATE;
}

static rnl_status check_done(struct event *event, struct marker *marker,
                             struct event **out_wrong)
{
    rnl_status status = marker_query(event->object.context, marker);
    *out_wrong = status == RNL_OK ? NULL : event;
    return status;
}

static rnl_status between(struct context *context, struct marker *from,
                          struct marker *to, int64_t *out_ns)
{
    struct gpu_context *gpu = gpu_of(context);
    float ms = 0;
    void *before = current_enter(gpu);
    int code = call_of(gpu)->event_elapsed(&ms, from->event, to->event);
    current_back(gpu, before);
    if (code != 0)
        return driver_fail(context, code, "to tell the time between events");
    *out_ns = (int64_t)((double)ms * 1e6);
    return RNL_OK;
}

// The caller keeps both events.
static rnl_status elapsed(struct event *start, struct event *end,
                          struct event **out_wrong, int64_t *out_ns)
{
    struct marker *from, *to = NULL;
    rnl_status status = timed_marker(start, out_wrong, &from);
    if (status == RNL_OK)
        status = timed_marker(end, out_wrong, &to);
    if (status == RNL_OK)
        status = check_done(start, from, out_wrong);
    if (status == RNL_OK)
        status = check_done(end, to, out_wrong);
    if (status == RNL_OK)
        status = between(end->object.context, from, to, out_ns);
    marker_drop(start->object.context, from);
    marker_drop(end->object.context, to);
    return status;
}

rnl_status gpu_event_elapsed(struct event *start, struct event *end,
                             struct event **out_wrong, int64_t *out_ns)
{
    rnl_status status = object_ref_for(&start->object, "start");
    if (status != RNL_OK)
        return status;
    status = object_ref_for(&end->object, "end");
    if (status == RNL_OK) {
        status = elapsed(start, end, out_wrong, out_ns);
        object_unref(&end->object);
    }
    object_unref(&start->object);
    return status;
}
