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
    struct marker *spare;        // for the next record
    struct failure *failure;     // of the stream at the record
    struct doubt *_Atomic doubt; // what may still fail …
    uint64_t point;              // … up to there
    // Of a promise: `reached` is what streams wait for, written when it is
    // recorded: one more than it was.
    struct service_words *words;
    struct waiter *waiters;
    bool recorded, broken;
    bool let_on;                 // the word is written, or will be
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
    return !own->recorded && !is_open(own);
}

rnl_status gpu_event_init(struct event *event)
{
    struct gpu_event *own = event_of(event);
    if (!is_blank(own))
        *own = (struct gpu_event){0};
    if (event->options.promise)
        atomic_store_explicit(&own->open, true, memory_order_relaxed);
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
    if (is_blank(own))
        return;
    marker_drop(context, own->marker);
    marker_drop(context, own->spare);
    failure_drop(own->failure);
    doubt_drop(own->doubt);
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

// Streams come behind this one's work.
static int write_word(struct service_words *words, struct stream *stream)
{
    struct gpu_context *gpu = gpu_of(stream_context(stream));
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
        doubt_fail(waiter->stream, broken_failure(event, waiter->stream, why),
                   waiter->at, true);
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

static struct marker *take_marker(struct event *event)
{
    struct gpu_event *own = event_of(event);
    lock_take(&own->lock);
    struct marker *spare = own->spare;
    own->spare = NULL;
    lock_give(&own->lock);
    if (!spare)
        return marker_take(event->object.context, event->options.timing);
    atomic_store_explicit(&spare->done, false, memory_order_relaxed);
    return spare;
}

// Events that are recorded again and again have two markers in turn, and need
// no other's lock. Whoever looks at one has a reference. Returns what is to be
// dropped.
static struct marker *exchange_marker_locked(struct gpu_event *own,
                                             struct marker *marker)
{
    struct marker *old = own->marker;
    own->marker = marker;
    if (!old || own->spare ||
        atomic_load_explicit(&old->references, memory_order_acquire) > 1)
        return old;
    own->spare = old;
    return NULL;
}

// `marker` NULL: for what is done. Returns those who wait for the promise that
// it is, if it is one.
static struct waiter *stand_for(struct event *event, struct marker *marker,
                                struct stream *stream)
{
    struct gpu_event *own = event_of(event);
    uint64_t point;
    struct doubt *doubt = doubt_share(stream, &point);
    struct failure *failure = stream_get_failure(stream);
    lock_take(&own->lock);
    struct marker *old = exchange_marker_locked(own, marker);
    struct failure *old_failure = own->failure;
    struct waiter *waiters = own->waiters;
    struct doubt *old_doubt =
        atomic_load_explicit(&own->doubt, memory_order_relaxed);
    own->failure = failure;
    atomic_store_explicit(&own->doubt, doubt, memory_order_relaxed);
    own->point = point;
    own->recorded = true;
    own->waiters = NULL;
    atomic_store_explicit(&own->open, marker || failure || doubt,
                          memory_order_release);
    lock_give(&own->lock);
    marker_drop(event->object.context, old);
    failure_drop(old_failure);
    doubt_drop(old_doubt);
    return waiters;
}

void gpu_event_stand_for(struct event *event, struct marker *marker,
                         struct stream *stream)
{
    stand_for(event, marker, stream);  // graphs record no promises
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
        struct failure *failure = stream_get_failure(stream);
        if (failure)
            doubt_fail(waiter->stream, failure, waiter->at, true);
        if (code == 0)
            code = gpu_event_follow(event, waiter->stream, waiter->at);
    }
    return code;
}

static int keep_promise(struct event *event, struct stream *stream,
                        struct waiter *waiters)
{
    struct gpu_event *own = event_of(event);
    struct service_words *words = words_to_write(own);
    int told = tell_waiters(event, waiters, stream);
    int code = words ? write_word(words, stream) : 0;
    if (code != 0)
        break_promise(event, waiters, "could not be recorded");
    drop_waiters(waiters);
    atomic_fetch_add(&own->news, 1);
    futex_wake(&own->news, INT32_MAX);
    return code ? code : told;
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

rnl_status gpu_event_record(struct event *event, struct stream *stream)
{
    struct context *context = event->object.context;
    struct gpu_event *own = event_of(event);
    if (is_done_at_once(event, stream)) {
        if (is_open(own))
            stand_for(event, NULL, stream);
        return RNL_OK;
    }
    if (event->options.promise && own->recorded)
        return refuse_again(event);
    struct marker *marker = take_marker(event);
    if (!marker)
        return fail_status();
    rnl_status status = stream_record_marker(stream, marker, true);
    if (status != RNL_OK) {
        marker_drop(context, marker);
        return status;
    }
    struct waiter *waiters = stand_for(event, marker, stream);
    int code =
        event->options.promise ? keep_promise(event, stream, waiters) : 0;
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
        stream_count_locked(stream);
    lock_give(&own->lock);
    return code;
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
    lock_take(&gpu_stream_of(stream)->lock);
    rnl_status status = service_list_locked(stream);
    lock_give(&gpu_stream_of(stream)->lock);
    waiter->stream = stream;
    waiter->at = atomic_load(&stream->submitted) + 1;
    int code = status == RNL_OK ? doubt_begin(stream, waiter->at) : 0;
    code = status == RNL_OK && code == 0 ? prepare_words(event) : code;
    if (status != RNL_OK || code != 0 || !add_waiter(own, waiter)) {
        mem_release(waiter, sizeof *waiter);
        if (status != RNL_OK)
            return status;
        return code ? driver_fail(stream_context(stream), code, "to wait")
                    : gpu_event_join(stream, event);
    }
    object_keep(&stream->object);
    code = wait_for_word(stream, event);
    if (code != 0)
        take_waiter_back(own, waiter);
    // Other threads may have submitted more before it.
    doubt_begin(stream, atomic_load(&stream->submitted));
    return code ? driver_fail(stream_context(stream), code, "to wait")
                : RNL_OK;
}

rnl_status gpu_event_join(struct stream *stream, struct event *event)
{
    struct gpu_event *own = event_of(event);
    struct failure *failure;
    bool recorded, broken;
    if (!is_open(own))
        return RNL_OK;
    struct marker *marker = look(own, &failure, &recorded, &broken);
    uint64_t at = atomic_load(&stream->submitted) + 1;
    rnl_status status = RNL_OK;
    if (broken)
        stream_inherit(stream, broken_failure(event, stream, released_text));
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
        own->recorded = true;
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
