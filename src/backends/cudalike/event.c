#include "backends/cudalike/doubt.h"
#include "backends/cudalike/held.h"
#include "backends/cudalike/service.h"

#include "base/clock.h"

#include <stdio.h>

// A stream that waits for a promise which was not recorded yet.
struct waiter {
    struct waiter *next;
    struct stream *stream;  // referenced
    uint64_t at;            // its operation that waits
};

// What an event stands for: the last point that was recorded.
struct gpu_event {
    struct lock lock;            // guards all below
    // False while nobody has to look: it stands for nothing, or for what is
    // done and has not failed. Read without the lock.
    _Atomic bool open;
    struct marker *marker;       // NULL: never recorded, or done at once
    struct marker *promised;     // what a promise is to be recorded with
    struct failure *failure;     // of the stream at the record
    struct doubt *_Atomic doubt; // what may still fail …
    uint64_t point;              // … up to there
    _Atomic uint64_t stream_id;  // where it was recorded; 0: nowhere
    struct waiter *waiters;      // for the promise …
    bool kept;                   // … which is recorded, or about to be
    _Atomic bool recorded;       // read without the lock, too
    bool broken;
    _Atomic uint32_t news;       // changes with recorded and broken
    struct waits waits;
};

_Static_assert(sizeof(struct gpu_event) <= GPU_EVENT_SIZE, "too little room");

static struct gpu_event *event_of(struct event *event)
{
    return event_native(event);
}

static bool is_open(struct gpu_event *own)
{
    return atomic_load_explicit(&own->open, memory_order_acquire);
}

// Nothing but zeros: never recorded, and no promise.
static bool is_blank(struct gpu_event *own)
{
    return !atomic_load_explicit(&own->recorded, memory_order_relaxed) &&
           !is_open(own);
}

static void drop_waiters(struct waiter *waiter)
{
    while (waiter) {
        struct waiter *next = waiter->next;
        object_drop(&waiter->stream->object);
        mem_release(waiter, sizeof *waiter);
        waiter = next;
    }
}

// What an event stood for, to be dropped without locks.
struct stood {
    struct marker *marker;
    struct failure *failure;
    struct doubt *doubt;
    struct waiter *waiters;  // for the promise that it was, the caller's
};

static inline void drop_stood(struct context *context,
                              const struct stood *stood)
{
    if (stood->marker)
        marker_drop(context, stood->marker);
    if (stood->failure)
        failure_drop(stood->failure);
    if (stood->doubt)
        doubt_drop(stood->doubt);
}

// A call that comes late may put more into it.
static void empty(struct event *event)
{
    struct gpu_event *own = event_of(event);
    struct context *context = event->object.context;
    lock_take(&own->lock);
    struct stood stood = {
        own->marker, own->failure,
        atomic_load_explicit(&own->doubt, memory_order_relaxed), own->waiters};
    struct marker *promised = own->promised;
    own->marker = own->promised = NULL;
    own->failure = NULL;
    atomic_store_explicit(&own->doubt, NULL, memory_order_relaxed);
    own->waiters = NULL;
    lock_give(&own->lock);
    marker_drop(context, promised);
    drop_stood(context, &stood);
    drop_waiters(stood.waiters);
}

void gpu_event_finish(struct event *event)
{
    if (!is_blank(event_of(event)))
        empty(event);
}

rnl_status gpu_event_init(struct event *event)
{
    struct gpu_event *own = event_of(event);
    if (own->marker || own->failure || own->doubt)
        empty(event);
    if (!is_blank(own))
        *own = (struct gpu_event){0};
    if (!event->options.promise)
        return RNL_OK;
    own->promised = marker_take(event->object.context, event->options.timing);
    if (!own->promised)
        return fail_status();
    marker_promise(own->promised);
    atomic_store_explicit(&own->open, true, memory_order_relaxed);
    return RNL_OK;
}

// --- Recording -------------------------------------------------------------

static struct failure *broken_failure(struct event *event,
                                      struct stream *stream)
{
    char text[160], message[256];
    struct blame blame = {.name = "wait"};
    object_describe(&event->object, text, sizeof text);
    snprintf(message, sizeof message,
             "%s was released and will never be recorded", text);
    return failure_blame(stream, &blame, RNL_ERROR_DEPENDENCY_FAILED, message);
}

// Those who wait for the promise get on. `stream`: which keeps it, or NULL.
static void let_on(struct marker *marker, struct stream *stream,
                   const struct waiter *waiters)
{
    marker_let_go(marker, stream);
    for (const struct waiter *waiter = waiters; waiter; waiter = waiter->next)
        stream_hold_less(waiter->stream);
    service_wake();
}

static rnl_status refuse_again(const struct event *event)
{
    char text[160];
    return fail_at(RNL_ERROR_INVALID_STATE, "event",
                   "%s is a promise and was recorded already",
                   object_describe(&event->object, text, sizeof text));
}

// Of a promise, which others may wait for by now, it stays where it is.
static struct marker *take_promised(struct event *event)
{
    struct gpu_event *own = event_of(event);
    lock_take(&own->lock);
    bool may = !own->kept && own->promised;
    struct marker *marker = may ? marker_share(own->promised) : NULL;
    own->kept = true;
    lock_give(&own->lock);
    if (!marker)
        refuse_again(event);
    return marker;
}

// It was not recorded.
static void take_back(struct event *event, struct marker *marker)
{
    struct gpu_event *own = event_of(event);
    lock_take(&own->lock);
    own->kept = false;
    lock_give(&own->lock);
    marker_drop(event->object.context, marker);
}

// `marker` NULL: for what is done.
static inline struct stood stand_for(struct event *event,
                                     struct marker *marker,
                                     struct stream *stream)
{
    struct gpu_event *own = event_of(event);
    uint64_t point;
    struct doubt *doubt = doubt_share(stream, &point);
    struct failure *failure = stream_get_failure(stream);
    lock_take(&own->lock);
    struct stood stood = {
        own->marker, own->failure,
        atomic_load_explicit(&own->doubt, memory_order_relaxed), own->waiters};
    own->marker = marker;
    own->failure = failure;
    atomic_store_explicit(&own->doubt, doubt, memory_order_relaxed);
    own->point = point;
    atomic_store_explicit(&own->stream_id, stream->object.id,
                          memory_order_relaxed);
    own->waiters = NULL;
    atomic_store_explicit(&own->recorded, true, memory_order_relaxed);
    atomic_store_explicit(&own->open, marker || failure || doubt,
                          memory_order_release);
    lock_give(&own->lock);
    return stood;
}

void gpu_event_stand_for(struct event *event, struct marker *marker,
                         struct stream *stream)
{
    struct stood stood = stand_for(event, marker, stream);
    drop_stood(event->object.context, &stood);  // graphs record no promises
}

int gpu_event_follow(struct event *event, struct stream *stream, uint64_t at)
{
    struct gpu_event *own = event_of(event);
    lock_take(&own->lock);
    struct doubt *doubt = doubt_retain(own->doubt);
    uint64_t point = own->point;
    lock_give(&own->lock);
    int code = doubt ? doubt_follow(doubt, point, stream, at) : 0;
    doubt_drop(doubt);
    return code;
}

// Those who waited for the promise get what they waited for, failure and all.
static int tell_waiters(struct event *event, struct waiter *waiters,
                        struct stream *stream)
{
    int code = 0;
    for (struct waiter *waiter = waiters; waiter; waiter = waiter->next) {
        if (waiter->stream == stream)
            continue;
        struct failure *failure = stream_get_failure(stream);
        if (failure)
            doubt_fail(waiter->stream, failure, waiter->at, true);
        if (code == 0)
            code = gpu_event_follow(event, waiter->stream, waiter->at);
    }
    return code;
}

static void promise_decided(struct gpu_event *own)
{
    atomic_fetch_add(&own->news, 1);
    futex_wake(&own->news, INT32_MAX);
}

// Takes over the marker and those who wait.
static int keep_promise(struct event *event, struct marker *marker,
                        struct stream *stream, struct waiter *waiters)
{
    struct gpu_event *own = event_of(event);
    int code = tell_waiters(event, waiters, stream);
    lock_take(&own->lock);
    bool broken = own->broken;  // by a release meanwhile
    lock_give(&own->lock);
    if (!broken)
        let_on(marker, stream, waiters);
    marker_drop(event->object.context, marker);
    drop_waiters(waiters);
    promise_decided(own);
    return code;
}

// Behind work that is done the event is complete at once, without the driver,
// but for what a blocking stream owes to the vendor's legacy default stream.
static bool is_done_at_once(const struct event *event, struct stream *stream)
{
    const struct gpu_stream *own = gpu_stream_of(stream);
    return stream->flags & RNL_STREAM_NON_BLOCKING &&
           !event->options.timing && !event->options.promise &&
           stream_is_done(own, atomic_load_explicit(&stream->submitted,
                                                    memory_order_acquire)) &&
           !atomic_load_explicit(&own->doubt, memory_order_acquire) &&
           !atomic_load_explicit(&stream->failure, memory_order_acquire) &&
           !context_is_lost(event->object.context);
}

static rnl_status record_promise(struct event *event, struct stream *stream)
{
    struct context *context = event->object.context;
    struct marker *marker = take_promised(event);
    if (!marker)
        return fail_status();
    rnl_status status = stream_record_marker(stream, marker, true);
    if (status != RNL_OK) {
        take_back(event, marker);
        return status;
    }
    struct marker *kept = marker_share(marker);
    struct stood stood = stand_for(event, marker, stream);
    drop_stood(context, &stood);
    int code = keep_promise(event, kept, stream, stood.waiters);
    return code == 0 ? RNL_OK : driver_fail(context, code, "to record");
}

static rnl_status record_locked(struct event *event, struct stream *stream,
                                struct stood *stood, int *code)
{
    struct marker *marker =
        marker_take_spare_locked(stream, event->options.timing);
    if (!marker)
        return fail_status();
    rnl_status status = stream_record_locked(stream, marker, true, code);
    if (__builtin_expect(status == RNL_OK && *code == 0, 1)) {
        *stood = stand_for(event, marker, stream);
        stood->marker = marker_keep_spare_locked(stream, stood->marker);
    } else {
        stood->marker = marker;
    }
    return status;
}

rnl_status gpu_event_record(struct event *event, struct stream *stream)
{
    struct context *context = event->object.context;
    struct gpu_stream *own = gpu_stream_of(stream);
    struct stood stood = {0};
    int code = 0;
    if (is_done_at_once(event, stream)) {
        if (is_open(event_of(event)))
            gpu_event_stand_for(event, NULL, stream);
        return RNL_OK;
    }
    if (event->options.promise)
        return record_promise(event, stream);
    void *before = stream_enter(stream);
    lock_take(&own->lock);
    rnl_status status = record_locked(event, stream, &stood, &code);
    lock_give(&own->lock);
    current_back(gpu_of(context), before);
    drop_stood(context, &stood);
    return code == 0 ? status
                     : driver_fail(context, code, "to record an event");
}

// --- Waiting on the device -------------------------------------------------

// What the event stands for now: the caller drops both.
static struct marker *look(struct gpu_event *own, struct failure **out_failure,
                           bool *out_recorded, bool *out_broken)
{
    lock_take(&own->lock);
    struct marker *marker = own->marker ? marker_share(own->marker) : NULL;
    *out_failure = own->failure;
    if (own->failure)
        atomic_fetch_add(&own->failure->references, 1);
    else if (own->doubt)
        *out_failure = doubt_failure(own->doubt, own->point);
    *out_recorded = own->recorded;
    *out_broken = own->broken;
    lock_give(&own->lock);
    return marker;
}

struct marker *gpu_event_point(struct event *event,
                               struct failure **out_failure)
{
    bool recorded, broken;
    *out_failure = NULL;
    if (!is_open(event_of(event)))
        return NULL;
    struct marker *marker =
        look(event_of(event), out_failure, &recorded, &broken);
    if (!marker || !atomic_load(&marker->done))
        return marker;
    marker_drop(event->object.context, marker);
    return NULL;
}

// Returns what the promise will be recorded with; NULL when it was recorded or
// broken meanwhile.
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

// Unless whoever recorded or broke the promise has it already.
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
        drop_waiters(waiter);
}

// Waits for a promise that is not recorded yet.
static rnl_status join_promise(struct stream *stream, struct event *event)
{
    struct gpu_event *own = event_of(event);
    if (!service_can_be_asked(gpu_of(stream_context(stream))))
        return fail(RNL_ERROR_UNSUPPORTED,
                    "the driver is too old to wait for promises: it has no "
                    "stream memory operations");
    struct waiter *waiter = mem_allocate(sizeof *waiter);
    if (!waiter)
        return fail(RNL_ERROR_OUT_OF_MEMORY, "there is no memory to wait");
    waiter->stream = stream;
    waiter->at = atomic_load(&stream->submitted) + 1;
    int code = doubt_begin(stream, waiter->at);
    // Once it is listed others may drop it.
    object_keep(&stream->object);
    struct marker *marker = code == 0 ? add_waiter(own, waiter) : NULL;
    if (!marker) {
        drop_waiters(waiter);
        return code ? driver_fail(stream_context(stream), code, "to wait")
                    : gpu_event_join(stream, event);
    }
    rnl_status status = stream_wait_marker(stream, marker);
    if (status != RNL_OK)
        take_waiter_back(own, waiter);
    // Other threads may have submitted more before it.
    doubt_begin(stream, atomic_load(&stream->submitted));
    marker_drop(event->object.context, marker);
    return status;
}

rnl_status gpu_event_join(struct stream *stream, struct event *event)
{
    struct gpu_event *own = event_of(event);
    struct failure *failure;
    bool recorded, broken;
    // The order within one stream is there already.
    if (!is_open(own) || atomic_load(&own->stream_id) == stream->object.id)
        return RNL_OK;
    struct marker *marker = look(own, &failure, &recorded, &broken);
    uint64_t at = atomic_load(&stream->submitted) + 1;
    rnl_status status = RNL_OK;
    if (broken)
        stream_inherit(stream, broken_failure(event, stream));
    stream_inherit(stream, failure);
    if (marker && !atomic_load(&marker->done))
        status = stream_wait_marker(stream, marker);
    else if (event->options.promise && !recorded && !broken)
        return join_promise(stream, event);
    marker_drop(event->object.context, marker);
    int code = status == RNL_OK ? gpu_event_follow(event, stream, at) : 0;
    return code ? driver_fail(stream_context(stream), code, "to wait")
                : status;
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
        doubt_fail(waiter->stream, broken_failure(event, waiter->stream),
                   waiter->at, true);
    if (marker)
        let_on(marker, NULL, waiters);
    marker_drop(event->object.context, marker);
    drop_waiters(waiters);
    promise_decided(own);
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

// What failed may have been noted between two looks at an event that is done
// now: a failure is noted before the work counts as over.
static struct failure *failure_since(struct event *event,
                                     const struct marker *marker)
{
    struct gpu_event *own = event_of(event);
    struct failure *failure;
    bool recorded, broken, same;
    if (!atomic_load_explicit(&own->doubt, memory_order_relaxed))
        return NULL;
    struct marker *now = look(own, &failure, &recorded, &broken);
    same = now == marker;
    marker_drop(event->object.context, now);
    if (same)
        return failure;
    failure_drop(failure);
    return NULL;
}

// Nobody has to look again, unless it stands for something else by now.
static void close_event(struct gpu_event *own, const struct marker *marker)
{
    lock_take(&own->lock);
    if (own->marker == marker)
        atomic_store_explicit(&own->open, false, memory_order_release);
    lock_give(&own->lock);
}

static rnl_status query(struct event *event, bool *out_pending)
{
    struct gpu_event *own = event_of(event);
    struct context *context = event->object.context;
    struct failure *failure;
    bool recorded, broken;
    struct marker *marker = look(own, &failure, &recorded, &broken);
    rnl_status status = marker ? marker_query(context, marker) : RNL_OK;
    *out_pending = !marker && event->options.promise && !recorded && !broken;
    if (*out_pending)
        status = RNL_NOT_READY;
    if (broken)
        status = fail(RNL_ERROR_DEPENDENCY_FAILED,
                      "the promise was released and will never be recorded");
    if (status == RNL_OK && marker && !failure)
        failure = failure_since(event, marker);
    if (status == RNL_OK)
        status = report(event, failure);
    if (status == RNL_OK && marker)
        close_event(own, marker);
    failure_drop(failure);
    marker_drop(context, marker);
    return status;
}

// Of what was done at once the driver has no event yet.
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
    struct marker *marker = share_marker(own);
    rnl_status status = RNL_OK;
    if (!marker && atomic_load(&event->recorded)) {
        status = make_marker(event);
        marker = share_marker(own);
    }
    if (status != RNL_OK)
        return status;
    void *native = marker ? marker->event : NULL;
    if (marker)
        marker_give(marker);
    marker_drop(event->object.context, marker);
    if (!native)
        return fail_at(RNL_ERROR_INVALID_STATE, "event",
                       "the event was never recorded: nothing stands for it");
    *out_native = native;
    return RNL_OK;
}

static bool is_well(struct event *event)
{
    return !is_open(event_of(event)) &&
           !context_is_lost(event->object.context);
}

static __attribute__((noinline)) rnl_status query_open(struct event *event)
{
    bool pending;
    return query(event, &pending);
}

// Programs poll with it.
rnl_status gpu_event_query(struct event *event)
{
    return is_well(event) ? RNL_OK : query_open(event);
}

static rnl_status query_again(void *event)
{
    return gpu_event_query(event);
}

// Until the promise is recorded there is nothing for the driver to wait for.
static rnl_status wait_recorded(struct event *event, uint64_t deadline)
{
    struct gpu_event *own = event_of(event);
    for (;;) {
        bool pending;
        uint32_t news = atomic_load(&own->news);
        rnl_status status = query(event, &pending);
        if (!pending)
            return status == RNL_NOT_READY ? RNL_OK : status;
        if (clock_now() >= deadline)
            return fail(RNL_ERROR_TIMED_OUT,
                        "the promise was not recorded within the time limit");
        futex_wait(&own->news, news, deadline);
    }
}

rnl_status gpu_event_wait(struct event *event, uint64_t deadline)
{
    struct gpu_context *gpu = gpu_of(event->object.context);
    rnl_status status = RNL_OK;
    if (is_well(event))
        return RNL_OK;
    if (event->options.promise)
        status = wait_recorded(event, deadline);
    if (status != RNL_OK)
        return status;
    void *before = handle_enter(gpu);
    status = gpu_poll(query_again, event, RNL_SYNC_AUTO, deadline,
                      &event_of(event)->waits);
    current_back(gpu, before);
    return status;
}

// The marker of a recorded event: the caller drops it.
static rnl_status timed_marker(struct event *event, struct event **out_wrong,
                               struct marker **out_marker)
{
    struct failure *failure;
    bool recorded, broken;
    *out_marker = look(event_of(event), &failure, &recorded, &broken);
    failure_drop(failure);
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

rnl_status gpu_event_elapsed(struct event *start, struct event *end,
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
