#include "core/stream/event.h"

#include "base/clock.h"
#include "core/backend.h"
#include "core/object/check.h"
#include "core/object/context_object.h"
#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/object/release.h"
#include "core/stream/capture.h"
#include "core/stream/stream.h"

static rnl_status need(struct context *context, bool wanted,
                       rnl_feature feature, const char *what)
{
    return wanted ? context_need(context, feature, "options", what) : RNL_OK;
}

rnl_status event_timed_out(struct event *event, const char *what)
{
    char text[160];
    fail_at(RNL_ERROR_TIMED_OUT, "event",
            "the time limit passed before %s was %s",
            object_describe(&event->object, text, sizeof text), what);
    fail_set_object("%s", text);
    return RNL_ERROR_TIMED_OUT;
}

rnl_status event_refuse_cycle(const struct event *event,
                               const struct stream *stream)
{
    char text[160], name[96];
    return fail_at(RNL_ERROR_INVALID_STATE, "event",
                   "%s waits for the promise %s, which would be recorded "
                   "behind that wait: they wait for each other for good; "
                   "record it on another stream",
                   object_describe(&stream->object, name, sizeof name),
                   object_describe(&event->object, text, sizeof text));
}

static __attribute__((noinline)) rnl_status
read_options(struct context *context, const rnl_event_options *given,
             rnl_event_options *options)
{
    rnl_status status;
    if ((status = options_read(options, sizeof *options, given, "options")) ||
        (status = need(context, options->timing, RNL_FEATURE_EVENT_TIMING,
                       "timing events are")) ||
        (status = need(context, options->interprocess,
                       RNL_FEATURE_INTERPROCESS, "interprocess events are")))
        return status;
    if (options->interprocess && (options->timing || options->promise))
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "options",
                       ".interprocess goes without .%s",
                       options->timing ? "timing" : "promise");
    return need(context, options->promise, RNL_FEATURE_PROMISES,
                "promise events are");
}

// Not published yet. NULL after recording why.
static inline struct event *event_new(struct context *context,
                                      const rnl_event_options *given)
{
    static const rnl_event_options none = {.struct_size = sizeof none};
    rnl_event_options read;
    if (given && read_options(context, given, &read) != RNL_OK)
        return NULL;
    const rnl_event_options *options = given ? &read : &none;
    struct event *event = event_pool_take(context, options->label);
    if (!event)
        return NULL;
    event->options = *options;
    event->options.label = NULL;
    if (event->backend->event_init(event) == RNL_OK)
        return event;
    event_pool_give(event);
    return NULL;
}

struct event *event_make(struct context *context)
{
    return event_new(context, NULL);
}

rnl_status rnl_event_create(rnl_context handle,
                            const rnl_event_options *options,
                            rnl_event *out_event)
{
    struct context *context;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_context(handle, "context", &context)) ||
        (status = check_pointer(out_event, "out_event")))
        return status;
    struct event *event = event_new(context, options);
    if (!event)
        return fail_status();
    *out_event = object_publish(&event->object);
    return RNL_OK;
}

rnl_status rnl_event_retain(rnl_event event)
{
    rnl_status status = ENTER();
    return status ? status : object_retain(event, OBJECT_EVENT, "event");
}

// Waiters of a promise that will never be recorded fail.
static rnl_status release_promise(rnl_event handle)
{
    struct object *object = object_find_ref(handle, OBJECT_EVENT);
    struct event *event = (struct event *)object;
    bool last;
    rnl_status status =
        object_release_found(object, handle, OBJECT_EVENT, "event", &last);
    if (last)
        event->backend->event_break(event);
    if (object)
        object_unref(object);
    return status;
}

rnl_status rnl_event_release(rnl_event event)
{
    bool last;
    rnl_status status = ENTER_RELEASE();
    if (status != RNL_OK || !event)
        return status;
    struct object *object = object_find(event, OBJECT_EVENT);
    if (object && ((struct event *)object)->options.promise)
        return release_promise(event);
    return object_release_found(object, event, OBJECT_EVENT, "event", &last);
}

static __attribute__((noinline)) rnl_status
foreign_event(const struct event *event)
{
    char text[160];
    return fail_at(RNL_ERROR_INVALID_HANDLE, "event",
                   "%s belongs to another context than the stream",
                   object_describe(&event->object, text, sizeof text));
}

static inline rnl_status record(struct stream *stream, struct event *event,
                                bool external)
{
    rnl_status status;
    if (capture_is_used() && capture_record(stream, event, external, &status))
        return status;
    if ((status = stream_flush(stream)))
        return status;
    status = event->backend->event_record(event, stream);
    if (status == RNL_OK)
        atomic_store_explicit(&event->recorded, true, memory_order_relaxed);
    return status;
}

rnl_status event_record_behind(struct event *event, struct stream *stream)
{
    return record(stream, event, false);
}

void event_note_record(struct event *event)
{
    capture_forget(event);
    atomic_store_explicit(&event->recorded, true, memory_order_relaxed);
}

static inline __attribute__((always_inline)) rnl_status
enqueue_record(rnl_stream stream_handle, rnl_event handle, bool external)
{
    struct stream *stream;
    struct event *event;
    rnl_status status = check_stream(stream_handle, "stream", &stream);
    if (status == RNL_OK &&
        (status = check_event(handle, "event", &event)) == RNL_OK)
        status = event->object.context == stream_context(stream)
                     ? record(stream, event, external)
                     : foreign_event(event);
    object_unprotect(HAZARD_STREAM);  // no more is: this call is made often
    return status;
}

rnl_status rnl_enqueue_event_record(rnl_stream stream, rnl_event event)
{
    rnl_status status = ENTER();
    return status ? status : enqueue_record(stream, event, false);
}

rnl_status rnl_enqueue_external_record(rnl_stream stream, rnl_event event)
{
    rnl_status status = ENTER();
    return status ? status : enqueue_record(stream, event, true);
}

rnl_status rnl_enqueue_event(rnl_stream stream_handle,
                             const rnl_event_options *options,
                             rnl_event *out_event)
{
    struct stream *stream;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_stream(stream_handle, "stream", &stream)) ||
        (status = check_pointer(out_event, "out_event")))
        return status;
    struct event *event = event_new(stream_context(stream), options);
    if (!event)
        return fail_status();
    status = record(stream, event, false);
    if (status == RNL_OK)
        *out_event = object_publish(&event->object);
    else
        object_unref(&event->object);
    return status;
}

static __attribute__((noinline)) rnl_status query_slowly(rnl_event handle)
{
    rnl_status status = enter_call("rnl_event_query");
    if (status != RNL_OK)
        return status;
    struct object *object = object_find_ref(handle, OBJECT_EVENT);
    if (!object)
        return object_refuse(handle, OBJECT_EVENT, "event");
    struct event *event = (struct event *)object;
    status = capture_check_event(event);
    if (status == RNL_OK)
        status = event->backend->event_query(event);
    object_unref(object);
    return status;
}

// Programs poll with it, so the usual case needs no frame.
rnl_status rnl_event_query(rnl_event handle)
{
    // Before the lookup: a lookup inside a callback must not overwrite the
    // hazard pointer of the outer call.
    if (thread_state.callback_depth || capture_is_used())
        return query_slowly(handle);
    thread_state.function = __func__;
    struct event *event = (struct event *)object_find(handle, OBJECT_EVENT);
    return event ? event->backend->event_query(event) : query_slowly(handle);
}

rnl_status rnl_event_synchronize(rnl_event handle, uint64_t timeout_ns)
{
    rnl_status status = ENTER();
    if (status != RNL_OK)
        return status;
    struct object *object = object_find_ref(handle, OBJECT_EVENT);
    if (!object)
        return object_refuse(handle, OBJECT_EVENT, "event");
    struct event *event = (struct event *)object;
    status = capture_check_event(event);
    if (status == RNL_OK)
        status = event->backend->event_wait(event, clock_deadline(timeout_ns));
    object->context->pool.passed(object->context);
    object_unref(object);
    return status;
}

// --- Elapsed time ----------------------------------------------------------

static rnl_status refuse_event(rnl_status status, const struct event *event,
                               const char *parameter, const char *why)
{
    char text[160];
    object_describe(&event->object, text, sizeof text);
    fail_at(status, parameter, "%s ('%s') %s", text, parameter, why);
    fail_set_object("%s", text);
    return status;
}

static rnl_status check_timed(struct event *event, const char *parameter)
{
    if (!event->options.timing)
        return refuse_event(RNL_ERROR_INVALID_ARGUMENT, event, parameter,
                            "was created without .timing");
    if (event_is_captured(event))
        return refuse_event(RNL_ERROR_CAPTURED_EVENT, event, parameter,
                            "was recorded in a capture");
    return RNL_OK;
}

static rnl_status elapsed(struct event *start, struct event *end,
                          int64_t *out_ns)
{
    struct event *wrong = NULL;
    rnl_status status =
        end->backend->event_elapsed(start, end, &wrong, out_ns);
    const char *parameter = wrong == start ? "start" : "end";
    if (wrong && status == RNL_ERROR_INVALID_STATE)
        return refuse_event(status, wrong, parameter, "was never recorded");
    if (wrong && status == RNL_NOT_READY)
        return refuse_event(status, wrong, parameter, "is not complete yet");
    return status;
}

static rnl_status elapsed_between(struct event *start, struct event *end,
                                  uint64_t *out_ns)
{
    int64_t ns;
    rnl_status status = check_pointer(out_ns, "out_ns");
    if (status != RNL_OK)
        return status;
    if (start->backend != end->backend)
        return fail_at(RNL_ERROR_INVALID_HANDLE, "end",
                       "'start' is of %s and 'end' of %s", start->backend->api,
                       end->backend->api);
    if ((status = check_timed(start, "start")) ||
        (status = check_timed(end, "end")) ||
        (status = elapsed(start, end, &ns)))
        return status;
    if (ns < 0)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "end",
                       "'end' completed before 'start'");
    *out_ns = (uint64_t)ns;
    return RNL_OK;
}

rnl_status rnl_event_elapsed(rnl_event start_handle, rnl_event end_handle,
                             uint64_t *out_ns)
{
    rnl_status status = ENTER();
    if (status != RNL_OK)
        return status;
    struct object *start = object_find_ref(start_handle, OBJECT_EVENT);
    if (!start)
        return object_refuse(start_handle, OBJECT_EVENT, "start");
    struct object *end = object_find_ref(end_handle, OBJECT_EVENT);
    status = end ? elapsed_between((struct event *)start,
                                   (struct event *)end, out_ns)
                 : object_refuse(end_handle, OBJECT_EVENT, "end");
    object_unref(start);
    if (end)
        object_unref(end);
    return status;
}
