#include "backends/cudalike/held.h"
#include "backends/cudalike/service.h"

#include "base/clock.h"

#include <stdio.h>

// A stream that waits for a promise which was not recorded yet.
struct waiter {
    struct waiter *next;
    struct stream *stream;  // referenced
};

// What an event stands for: the last point that was recorded.
struct gpu_event {
    struct lock lock;            // guards all below
    struct marker *marker;       // NULL: never recorded
    struct failure *failure;     // of the stream at the record
    // Of a promise: `reached` is what streams wait for, written when it is
    // recorded: one more than it was.
    struct service_words *words;
    struct waiter *waiters;
    bool recorded, broken;
    bool let_on;                 // the word is written, or will be
    _Atomic uint32_t news;       // changes with the first two
};

_Static_assert(sizeof(struct gpu_event) <= GPU_EVENT_SIZE, "too little room");

static struct gpu_event *event_of(struct event *event)
{
    return event_native(event);
}

rnl_status gpu_event_init(struct event *event)
{
    (void)event;
    return RNL_OK;
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

void gpu_event_finish(struct event *event)
{
    struct gpu_event *own = event_of(event);
    struct context *context = event->object.context;
    marker_drop(context, own->marker);
    failure_drop(own->failure);
    drop_waiters(own->waiters);
    if (own->words)
        service_words_drop(gpu_of(context), own->words,
                           own->words->last + own->let_on);
}

// --- Recording -------------------------------------------------------------

// What lets those on who wait for the promise, and is then written; NULL when
// nobody does.
static struct service_words *words_to_write(struct gpu_event *own)
{
    lock_take(&own->lock);
    struct service_words *words = own->words;
    own->let_on = words != NULL;
    lock_give(&own->lock);
    return words;
}

// Those who wait come behind the stream's work.
static int keep_promise(struct event *event, struct stream *stream)
{
    struct service_words *words = words_to_write(event_of(event));
    struct gpu_context *gpu = gpu_of(event->object.context);
    if (!words)
        return 0;
    stream_lock_given(stream);
    void *before = current_enter(gpu);
    int code = call_of(gpu)->stream_write32(
        gpu_stream_of(stream)->handle, (uint64_t)(uintptr_t)words->reached,
        words->last + 1, 0);
    current_back(gpu, before);
    gpu_stream_of(stream)->last = LAST_WORK;
    lock_give(&gpu_stream_of(stream)->lock);
    return code;
}

static struct failure *broken_failure(struct event *event,
                                      struct stream *stream, const char *why)
{
    char text[160], message[256];
    struct blame blame = {.name = "wait"};
    object_describe(&event->object, text, sizeof text);
    snprintf(message, sizeof message, "%s %s", text, why);
    return failure_blame(stream, &blame, RNL_ERROR_DEPENDENCY_FAILED, message);
}

static const char released_text[] = "was released and will never be recorded";

// The streams that wait fail; then they are let on.
static void break_promise(struct event *event, struct waiter *waiter,
                          const char *why)
{
    struct service_words *words =
        waiter ? words_to_write(event_of(event)) : NULL;
    for (; waiter; waiter = waiter->next)
        stream_set_failure(waiter->stream,
                           broken_failure(event, waiter->stream, why), true);
    if (words && driver_use_begin()) {
        atomic_store(words->reached, words->last + 1);
        driver_use_end();
    }
}

static rnl_status refuse_again(const struct event *event)
{
    char text[160];
    return fail_at(RNL_ERROR_INVALID_STATE, "event",
                   "%s is a promise and was recorded already",
                   object_describe(&event->object, text, sizeof text));
}

// Returns those who wait for the promise that it is, if it is one.
static struct waiter *stand_for(struct event *event, struct marker *marker,
                                struct failure *failure)
{
    struct gpu_event *own = event_of(event);
    lock_take(&own->lock);
    struct marker *old = own->marker;
    struct failure *old_failure = own->failure;
    struct waiter *waiters = own->waiters;
    own->marker = marker;
    own->failure = failure;
    own->recorded = true;
    own->waiters = NULL;
    lock_give(&own->lock);
    marker_drop(event->object.context, old);
    failure_drop(old_failure);
    return waiters;
}

void gpu_event_stand_for(struct event *event, struct marker *marker,
                         struct failure *failure)
{
    stand_for(event, marker, failure);  // graphs record no promises
}

rnl_status gpu_event_record(struct event *event, struct stream *stream)
{
    struct context *context = event->object.context;
    struct gpu_event *own = event_of(event);
    if (event->options.promise && own->recorded)
        return refuse_again(event);
    struct marker *marker = marker_take(context, event->options.timing);
    if (!marker)
        return fail_status();
    rnl_status status = stream_record_marker(stream, marker, true);
    if (status != RNL_OK) {
        marker_drop(context, marker);
        return status;
    }
    struct waiter *waiters =
        stand_for(event, marker, stream_get_failure(stream));
    int code = keep_promise(event, stream);
    if (code != 0)
        break_promise(event, waiters, "could not be recorded");
    drop_waiters(waiters);
    atomic_fetch_add(&own->news, 1);
    futex_wake(&own->news, INT32_MAX);
    return code == 0 ? RNL_OK : driver_fail(context, code, "to record");
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
    *out_recorded = own->recorded;
    *out_broken = own->broken;
    lock_give(&own->lock);
    return marker;
}

struct marker *gpu_event_point(struct event *event,
                               struct failure **out_failure)
{
    bool recorded, broken;
    struct marker *marker =
        look(event_of(event), out_failure, &recorded, &broken);
    if (!marker || !atomic_load(&marker->done))
        return marker;
    marker_drop(event->object.context, marker);
    return NULL;
}

// False when it was recorded or broken meanwhile.
static bool add_waiter(struct gpu_event *own, struct waiter *waiter)
{
    lock_take(&own->lock);
    bool waits = !own->recorded && !own->broken;
    if (waits) {
        waiter->next = own->waiters;
        own->waiters = waiter;
    }
    lock_give(&own->lock);
    return waits;
}

static int prepare_words(struct event *event)
{
    struct gpu_event *own = event_of(event);
    struct gpu_context *gpu = gpu_of(event->object.context);
    int code = 0;
    lock_take(&own->lock);
    bool has = own->words != NULL;
    lock_give(&own->lock);
    if (has)
        return 0;
    void *before = current_enter(gpu);
    struct service_words *words = service_words_take(gpu, &code);
    current_back(gpu, before);
    lock_take(&own->lock);
    bool used = words && !own->words;
    if (used)
        own->words = words;
    lock_give(&own->lock);
    if (words && !used)
        service_words_drop(gpu, words, words->last);
    return code;
}

static int wait_for_word(struct stream *stream, struct event *event)
{
    struct gpu_context *gpu = gpu_of(stream_context(stream));
    struct gpu_stream *own = gpu_stream_of(stream);
    const struct service_words *words = event_of(event)->words;
    stream_lock_given(stream);
    void *before = current_enter(gpu);
    int code = call_of(gpu)->stream_wait32(
        own->handle, (uint64_t)(uintptr_t)words->reached, words->last + 1,
        DRIVER_WAIT_GEQ);
    current_back(gpu, before);
    own->last = LAST_WORK;
    if (code == 0)
        atomic_store(&own->given, atomic_fetch_add(&stream->submitted, 1) + 1);
    lock_give(&own->lock);
    return code;
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
    lock_take(&gpu_stream_of(stream)->lock);
    rnl_status status = service_list_locked(stream);
    lock_give(&gpu_stream_of(stream)->lock);
    int code = status == RNL_OK ? prepare_words(event) : 0;
    waiter->stream = stream;
    if (status != RNL_OK || code != 0 || !add_waiter(own, waiter)) {
        mem_release(waiter, sizeof *waiter);
        if (status != RNL_OK)
            return status;
        return code ? driver_fail(stream_context(stream), code, "to wait")
                    : gpu_event_join(stream, event);
    }
    object_keep(&stream->object);
    code = wait_for_word(stream, event);
    return code ? driver_fail(stream_context(stream), code, "to wait")
                : RNL_OK;
}

rnl_status gpu_event_join(struct stream *stream, struct event *event)
{
    struct gpu_event *own = event_of(event);
    struct failure *failure;
    bool recorded, broken;
    struct marker *marker = look(own, &failure, &recorded, &broken);
    rnl_status status = RNL_OK;
    if (broken)
        stream_inherit(stream, broken_failure(event, stream, released_text));
    stream_inherit(stream, failure);
    if (marker && !atomic_load(&marker->done))
        status = stream_wait_marker(stream, marker);
    else if (event->options.promise && !recorded && !broken)
        status = join_promise(stream, event);
    marker_drop(event->object.context, marker);
    return status;
}

void gpu_event_break(struct event *event)
{
    struct gpu_event *own = event_of(event);
    lock_take(&own->lock);
    own->broken = !own->recorded;
    struct waiter *waiters = own->broken ? own->waiters : NULL;
    if (own->broken)
        own->waiters = NULL;
    lock_give(&own->lock);
    break_promise(event, waiters, released_text);
    drop_waiters(waiters);
    atomic_fetch_add(&own->news, 1);
    futex_wake(&own->news, INT32_MAX);
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
    if (status == RNL_OK)
        status = report(event, failure);
    failure_drop(failure);
    marker_drop(context, marker);
    return status;
}

rnl_status gpu_event_native(struct event *event, void **out_native)
{
    struct gpu_event *own = event_of(event);
    lock_take(&own->lock);
    struct marker *marker = own->marker ? marker_share(own->marker) : NULL;
    lock_give(&own->lock);
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

rnl_status gpu_event_query(struct event *event)
{
    bool pending;
    return query(event, &pending);
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
    rnl_status status = RNL_OK;
    if (event->options.promise)
        status = wait_recorded(event, deadline);
    return status ? status
                  : gpu_poll(query_again, event, RNL_SYNC_AUTO, deadline);
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
