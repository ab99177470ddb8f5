#include "backends/cudalike/timeline/timeline.h"

#include "backends/cudalike/driver/driver.h"
#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/timeline/device_lost.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/marker.h"
#include "backends/cudalike/timeline/progress.h"
#include "backends/cudalike/timeline/retire.h"

#include <stdio.h>

// A stream whose operations from `at` on depend on a timeline's operations up
// to `value`.
struct dependent {
    struct dependent *next;
    struct stream *stream;  // referenced
    uint64_t value, at;
};

struct timeline timeline_ended = {.references = 1,
                                  .completed = UINT64_MAX,
                                  .lock = LOCK_RANKED(RANK_TIMELINE)};

// Guards the next two.
static struct lock pool_lock = LOCK_RANKED(RANK_LEAF);
static struct timeline *unused; // kept while a context may have late calls
static size_t used;

// Counts a timeline as used, and returns unused memory or NULL.
static struct timeline *take_unused(void)
{
    lock_take(&pool_lock);
    struct timeline *timeline = unused;
    if (timeline)
        unused = timeline->next;
    used++;
    lock_give(&pool_lock);
    return timeline;
}

static void put_unused(struct timeline *timeline)
{
    lock_take(&pool_lock);
    timeline->next = unused;
    unused = timeline;
    ASSERT(used > 0);
    used--;
    lock_give(&pool_lock);
}

void timelines_trim(void)
{
    struct timeline *rest = NULL;
    lock_take(&pool_lock);
    if (used == 0) {
        rest = unused;
        unused = NULL;
    }
    lock_give(&pool_lock);
    for (struct timeline *next; rest; rest = next) {
        next = rest->next;
        mem_release(rest, sizeof *rest);
    }
}

static void empty(struct timeline *timeline)
{
    lock_take(&timeline->lock);
    failure_unref(timeline->failure);
    timeline->failure = NULL;
    failure_history_finish(&timeline->history);
    atomic_store(&timeline->failed_from, 0);
    atomic_store(&timeline->fallible, 0);
    atomic_store(&timeline->has_history, false);
    timeline->reset_at = 0;
    lock_give(&timeline->lock);
}

static struct timeline *timeline_new(void)
{
    struct timeline *timeline = mem_allocate(sizeof *timeline);
    if (timeline) {
        lock_set_rank(&timeline->lock, RANK_TIMELINE);
        return timeline;
    }
    lock_take(&pool_lock);
    used--;
    lock_give(&pool_lock);
    return NULL;
}

struct timeline *timeline_create(uint64_t stream_id)
{
    struct timeline *timeline = take_unused();
    if (!timeline && !(timeline = timeline_new()))
        return NULL;
    atomic_store(&timeline->references, 1);
    atomic_store(&timeline->submitted, 0);
    atomic_store(&timeline->completed, 0);
    timeline->stream_id = stream_id;
    return timeline;
}

struct timeline *timeline_retain(struct timeline *timeline)
{
    ASSERT(!timeline || atomic_load(&timeline->references) > 0);
    if (timeline)
        atomic_fetch_add_explicit(&timeline->references, 1,
                                  memory_order_relaxed);
    return timeline;
}

static void drop_dependents(struct dependent *dependent)
{
    for (struct dependent *next; dependent; dependent = next) {
        next = dependent->next;
        stream_drop(dependent->stream);
        mem_release(dependent, sizeof *dependent);
    }
}

void timeline_release(struct timeline *timeline)
{
    if (timeline && COUNT_DOWN(&timeline->references) == 1) {
        empty(timeline);
        put_unused(timeline);
    }
}

// --- Progress ----------------------------------------------------------------

static void raise(_Atomic uint64_t *point, uint64_t value)
{
    uint64_t before = atomic_load(point);
    while (before < value &&
           !atomic_compare_exchange_weak(point, &before, value))
        ;
}

void timeline_expect_failure(struct timeline *timeline, uint64_t value)
{
    lock_take(&timeline->lock);
    raise(&timeline->fallible, value);
    lock_give(&timeline->lock);
}

// Takes the dependents if no operation can fail any more.
static struct dependent *take_settled(struct timeline *timeline)
{
    struct dependent *dependents = NULL;
    lock_take(&timeline->lock);
    if (atomic_load(&timeline->completed) >=
        atomic_load(&timeline->fallible)) {
        dependents = timeline->dependents;
        timeline->dependents = NULL;
        atomic_store(&timeline->fallible, 0);
    }
    lock_give(&timeline->lock);
    return dependents;
}

void timeline_complete(struct timeline *timeline, uint64_t value)
{
    raise(&timeline->completed, value);
    if (atomic_load_explicit(&timeline->fallible, memory_order_relaxed))
        drop_dependents(take_settled(timeline));
    // An entry that is being listed at this moment is seen by timeline_retire.
    if (atomic_load_explicit(&timeline->retired, memory_order_relaxed))
        timeline_end_retired(timeline);
}

void timeline_close(struct stream *stream)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    struct timeline *timeline = timeline_of(own);
    stream->completed = &timeline_ended.completed;
    atomic_store(&own->timeline, &timeline_ended);
    timeline_complete(timeline, UINT64_MAX);
    timeline_release(timeline);
}

// --- Failures ----------------------------------------------------------------

static struct failure *failure_locked(struct timeline *timeline,
                                      uint64_t value)
{
    ASSERT(lock_is_held(&timeline->lock));
    uint64_t from = atomic_load(&timeline->failed_from);
    ASSERT((timeline->failure != NULL) == (from != 0));
    if (!timeline->failure || value < from)
        return failure_history_find(&timeline->history, value);
    atomic_fetch_add(&timeline->failure->references, 1);
    return timeline->failure;
}

struct failure *timeline_failure(struct timeline *timeline, uint64_t value)
{
    lock_take(&timeline->lock);
    struct failure *failure = failure_locked(timeline, value);
    lock_give(&timeline->lock);
    return failure;
}

// The earliest failed operation counts. Does not take over the reference.
static void set_failure_locked(struct timeline *timeline,
                               struct failure *failure, uint64_t at)
{
    ASSERT(lock_is_held(&timeline->lock));
    if (timeline->failure && atomic_load(&timeline->failed_from) <= at)
        return;
    failure_unref(timeline->failure);
    atomic_fetch_add(&failure->references, 1);
    timeline->failure = failure;
    atomic_store(&timeline->failed_from, at ? at : 1);
}

void timeline_note_failure(struct stream *stream, uint64_t at)
{
    struct timeline *timeline = stream_timeline(stream);
    struct failure *failure = stream_get_failure(stream);
    if (!failure)
        return;
    lock_take(&timeline->lock);
    // A reset may have ended the failure meanwhile.
    if (!timeline->failure && atomic_load(&stream->failure) == failure)
        set_failure_locked(timeline, failure, at);
    lock_give(&timeline->lock);
    failure_unref(failure);
}

// Moves the dependents on operation `at` to the list.
static void take_dependents_locked(struct timeline *timeline, uint64_t at,
                                   struct dependent **list)
{
    ASSERT(lock_is_held(&timeline->lock));
    for (struct dependent **link = &timeline->dependents; *link;) {
        struct dependent *dependent = *link;
        if (dependent->value < at) {
            link = &dependent->next;
            continue;
        }
        *link = dependent->next;
        dependent->next = *list;
        *list = dependent;
    }
}

// A wait that a failed stream skipped stays registered. So what the stream
// waited for may still fail, after a reset of the stream.
static void fail_one(struct stream *stream, struct failure *failure,
                     uint64_t at, bool inherited, struct dependent **list)
{
    struct timeline *timeline = stream_timeline(stream);
    atomic_fetch_add(&timeline->telling, 1);
    lock_take(&timeline->lock);
    bool too_late = inherited && at <= timeline->reset_at;
    if (!too_late) {
        set_failure_locked(timeline, failure, at);
        take_dependents_locked(timeline, at, list);
    }
    lock_give(&timeline->lock);
    if (too_late)
        return;
    atomic_fetch_add(&failure->references, 1);
    stream_set_failure(stream, failure, inherited);
}

// To drop a stream may take long, so that comes last.
void timeline_fail(struct stream *stream, struct failure *failure, uint64_t at,
                   bool inherited)
{
    struct dependent *list = NULL, *told = NULL;
    fail_one(stream, failure, at, inherited, &list);
    while (list) {
        struct dependent *dependent = list;
        list = dependent->next;
        dependent->next = told;
        told = dependent;
        fail_one(dependent->stream, failure, dependent->at, true, &list);
    }
    COUNT_DOWN(&stream_timeline(stream)->telling);
    for (struct dependent *dependent = told; dependent;
         dependent = dependent->next)
        COUNT_DOWN(&stream_timeline(dependent->stream)->telling);
    progress_wake();  // the streams may skip waits now
    drop_dependents(told);
    failure_unref(failure);
}

// True if the point may yet fail; the dependent, unless NULL, is then listed.
// Otherwise stores the failure of the point, or NULL.
static bool may_yet_fail(struct point point, struct dependent *dependent,
                         struct failure **out_failure)
{
    struct timeline *timeline = point.timeline;
    lock_take(&timeline->lock);
    *out_failure = failure_locked(timeline, point.value);
    bool may = !*out_failure && atomic_load(&timeline->fallible) &&
               atomic_load(&timeline->completed) < point.value;
    if (may && dependent) {
        dependent->next = timeline->dependents;
        timeline->dependents = dependent;
    }
    lock_give(&timeline->lock);
    return may;
}

// Takes over the caller's reference to the stream, for the dependent.
static bool add_dependent(struct point point, struct stream *stream,
                          uint64_t at)
{
    struct failure *failure;
    struct dependent *dependent = mem_allocate(sizeof *dependent);
    if (!dependent) {
        object_unref(&stream->object);
        return false;
    }
    *dependent = (struct dependent){NULL, stream, point.value, at};
    // Another thread on the same stream may have enqueued work before the wait,
    // so the wait's number may be larger than `at`.
    uint64_t last = atomic_load(&stream->enqueued);
    timeline_expect_failure(stream_timeline(stream), last > at ? last : at);
    if (may_yet_fail(point, dependent, &failure))
        return true;
    if (failure)
        timeline_fail(stream, failure, at, true);
    drop_dependents(dependent);
    return true;
}

bool timeline_depend(struct point point, struct stream *stream, uint64_t at)
{
    struct failure *failure;
    // A stream that has ended needs no failure.
    if (!point.timeline || timeline_is_sound(point.timeline) ||
        !object_ref_if_alive(&stream->object))
        return true;
    if (may_yet_fail(point, NULL, &failure))
        return add_dependent(point, stream, at);
    if (failure)
        timeline_fail(stream, failure, at, true);
    object_unref(&stream->object);
    return true;
}

// --- Streams -----------------------------------------------------------------

bool stream_leaves_out(struct stream *stream, uint64_t sequence)
{
    return context_is_lost(stream_context(stream)) ||
           (atomic_load(&stream->failure) &&
            sequence >=
                atomic_load(&stream_timeline(stream)->failed_from));
}

// A failure that only the core has noted has no `failed_from`, so the stream
// skips nothing. The order of the two loads matters: timeline_fail counts
// itself before the failure.
bool stream_skips_wait(struct stream *stream, uint64_t sequence)
{
    const struct timeline *timeline = stream_timeline(stream);
    uint64_t from = atomic_load(&timeline->failed_from);
    return from != 0 && sequence > from &&
           atomic_load(&timeline->telling) == 0;
}

void stream_refuse_late(struct stream *stream, const struct op *op, int code)
{
    struct blame blame = op_blame(op);
    stream_refuse_blamed(stream, &blame, code);
}

void stream_refuse_blamed(struct stream *stream, const struct blame *blame,
                          int code)
{
    char message[160];
    const char *text = NULL;
    const struct driver *driver = gpu_of(stream_context(stream))->driver;
    // The loss of the device is not this op's fault, and host functions need no
    // driver.
    if (driver->is_sticky(code))
        context_lose(stream_context(stream), NULL, code);
    driver->call.error_text(code, &text);
    snprintf(message, sizeof message, "the driver refused it: %s (%d)",
             text ? text : "it does not say why", code);
    timeline_fail(stream,
                  failure_blame(stream, blame, driver->status(code), message),
                  blame->sequence, false);
}

void stream_inherit(struct stream *stream, struct failure *failure)
{
    if (!failure)
        return;
    if (!object_ref_if_alive(&stream->object)) {
        failure_unref(failure);
        return;
    }
    timeline_fail(stream, failure, atomic_load(&stream->enqueued) + 1, true);
    object_unref(&stream->object);
}

rnl_status stream_depend(struct stream *stream, struct point point,
                         uint64_t at)
{
    return timeline_depend(point, stream, at)
               ? RNL_OK
               : fail(RNL_ERROR_OUT_OF_MEMORY, "there is no memory to wait");
}

// --- Resets ------------------------------------------------------------------

// After a reset, the enqueued count itself stands for a point without failure,
// even with no new work. So an idle stream skips a number: its end is then
// behind the failed operations.
static void step_over_locked(struct stream *stream)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    struct timeline *timeline = stream_timeline(stream);
    uint64_t last = atomic_load(&stream->enqueued);
    if (atomic_load(&timeline->completed) < last)
        return;
    ASSERT(atomic_load(&timeline->submitted) <= last);
    atomic_store(&timeline->submitted, last + 1);
    raise(&timeline->completed, last + 1);
    atomic_store(&stream->enqueued, last + 1);
}

// With the stream's lock held. Keeps the failure only if a failed operation was
// enqueued.
static struct failure_span *end_failure_locked(struct stream *stream,
                                               struct failure_span *room)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    struct timeline *timeline = stream_timeline(stream);
    struct failure_span *surplus = room;
    lock_take(&timeline->lock);
    ASSERT(!timeline->failure == !atomic_load(&timeline->failed_from));
    struct failure_span span = {timeline->failure,
                                atomic_load(&timeline->failed_from),
                                atomic_load(&stream->enqueued), NULL};
    timeline->failure = NULL;
    if (span.failure && span.from <= span.to) {
        atomic_store(&timeline->has_history, true);
        surplus = failure_history_add(&timeline->history, span, room);
    } else {
        failure_unref(span.failure);
    }
    atomic_store(&timeline->failed_from, 0);
    timeline->reset_at = atomic_load(&timeline->completed);
    stream_clear_failure(stream);
    lock_give(&timeline->lock);
    return surplus;
}

void gpu_stream_reset(struct stream *stream)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    timeline_note_failure(stream, atomic_load(&stream->enqueued) + 1);
    if (!atomic_load(&timeline_of(own)->failed_from))
        return;
    struct failure_span *room = mem_allocate(sizeof *room);
    lock_take(&own->lock);
    struct failure_span *surplus = end_failure_locked(stream, room);
    step_over_locked(stream);
    struct marker *point = own->point;  // may stand for the failed end
    own->point = NULL;
    lock_give(&own->lock);
    marker_drop(stream_context(stream), point);
    failure_spans_unref(surplus);
}
