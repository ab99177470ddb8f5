#include "core/stream/stream.h"

#include "base/clock.h"
#include "core/backend.h"
#include "core/object/check.h"
#include "core/object/config.h"
#include "core/object/context_object.h"
#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/object/release.h"
#include "core/stream/capture.h"
#include "core/stream/event.h"
#include "core/stream/failure.h"

#include <string.h>

static void stream_unlink(struct stream *stream)
{
    struct context *context = stream_context(stream);
    lock_take(&context->lock);
    *stream->link = stream->next;
    if (stream->next)
        stream->next->link = stream->link;
    lock_give(&context->lock);
}

static void stream_link(struct stream *stream)
{
    struct context *context = stream_context(stream);
    lock_take(&context->lock);
    stream->next = context->streams;
    stream->link = &context->streams;
    if (stream->next)
        stream->next->link = &stream->next;
    context->streams = stream;
    lock_give(&context->lock);
}

static void stream_finish(struct object *object)
{
    struct stream *stream = (struct stream *)object;
    stream_unlink(stream);
    stream_context(stream)->pool.stream_finish(stream);
    stream->backend->stream_finish(stream);
    failure_unref(atomic_exchange(&stream->failure, NULL));
}

// Releases of buffers read the progress of the default stream without a
// reference, also after the last reference went with the context's handle.
static bool stream_stays(struct object *object)
{
    struct context *context = object->context;
    struct stream *stream = (struct stream *)object;
    lock_take(&context->owned_lock);
    bool stays = context->default_stream == stream;
    stream->over = stays;
    lock_give(&context->owned_lock);
    return stays;
}

static struct object_class *class_of(const struct backend *backend)
{
    static const struct object_class like = {.kind = OBJECT_STREAM,
                                             .finish = stream_finish,
                                             .stays = stream_stays};
    static struct object_class classes[BACKENDS_MAX];
    return object_class_of(&classes[backend_index(backend)], &like,
                           sizeof(struct stream) + backend->stream_size);
}

int stream_clamp_priority(const rnl_device_info *info, int priority)
{
    if (priority < info->priority_greatest)
        return info->priority_greatest;
    return priority > info->priority_least ? info->priority_least : priority;
}

// Not yet published. `borrowed`: a vendor's stream, or NULL for a new one.
static rnl_status stream_new(struct context *context, void *borrowed,
                             const rnl_stream_options *options,
                             struct stream **out_stream)
{
    struct stream *stream = (struct stream *)object_create(
        class_of(context->backend), context, options->label);
    if (!stream)
        return fail_status();
    stream->backend = context->backend;
    stream->priority = stream_clamp_priority(&context->device->info,
                                             options->priority);
    lock_set_rank(&stream->batch_lock, RANK_BATCH);
    lock_set_rank(&stream->attribute_lock, RANK_LEAF);
    lock_set_rank(&stream->failure_lock, RANK_LEAF);
    stream->flags = options->flags;
    stream->borrowed = borrowed;
    if (!config_get()->blocking && !(options->flags & RNL_STREAM_BATCHED))
        stream->inline_launch = context->backend->stream_launch;
    if (options->flags & RNL_STREAM_BATCHED)
        atomic_store(&context->has_batched, true);
    rnl_status status = context->backend->stream_init(stream);
    if (status != RNL_OK) {
        object_abandon(&stream->object);
        return status;
    }
    stream_link(stream);
    *out_stream = stream;
    return RNL_OK;
}

// --- The streams of a context -----------------------------------------------

static struct stream *next_stream(struct context *context,
                                  struct stream *stream)
{
    lock_take(&context->lock);
    struct stream *next = stream ? stream->next : context->streams;
    while (next && !object_ref_if_alive(&next->object))
        next = next->next;
    lock_give(&context->lock);
    if (stream)
        object_unref(&stream->object);
    return next;
}

rnl_status context_each_stream(struct context *context,
                               rnl_status (*visit)(struct stream *, void *),
                               void *argument)
{
    rnl_status first = RNL_OK;
    struct stream *stream = next_stream(context, NULL);
    while (stream) {
        rnl_status status = visit(stream, argument);
        first = first ? first : status;
        stream = next_stream(context, stream);
    }
    return first;
}

struct stream *context_find_stream(struct context *context, uint64_t id)
{
    struct stream *stream = next_stream(context, NULL);
    while (stream && stream->object.id != id)
        stream = next_stream(context, stream);
    return stream;
}

// --- The default stream ----------------------------------------------------

static rnl_status new_default(struct context *context,
                              struct stream **out_stream)
{
    rnl_stream_options options = {.struct_size = sizeof options,
                                  .label = "default"};
    return stream_new(context, NULL, &options, out_stream);
}

static void set_default_locked(struct context *context, struct stream *stream)
{
    ASSERT(lock_is_held(&context->owned_lock));
    stream->is_default = true;
    context->default_stream = stream;
    object_publish(&stream->object);
}

rnl_status default_stream_create(struct context *context)
{
    struct stream *stream;
    rnl_status status = new_default(context, &stream);
    if (status != RNL_OK)
        return status;
    lock_take(&context->owned_lock);
    set_default_locked(context, stream);
    lock_give(&context->owned_lock);
    return RNL_OK;
}

// Buffers ordered by the default stream may have a release point of the former
// default stream, whose work may still run: the new stream waits for the
// former.
static rnl_status come_behind(struct stream *stream, struct stream *former)
{
    if (!object_ref_if_alive(&former->object))
        return RNL_OK;
    rnl_status status = stream->backend->stream_join(stream, former);
    object_unref(&former->object);
    return status;
}

static rnl_status refuse_borrowed(void)
{
    return fail_at(RNL_ERROR_INVALID_STATE, "context",
                   "the caller's last reference to the context was released, "
                   "and its default stream with it: rnl_context_retain first");
}

rnl_status default_stream_renew(struct context *context)
{
    struct stream *former = context->default_stream, *stream;
    rnl_status status = object_users(&context->object) == 0
                            ? refuse_borrowed()
                            : new_default(context, &stream);
    if (status != RNL_OK)
        return status;
    status = come_behind(stream, former);
    lock_take(&context->owned_lock);
    bool owned = object_users(&context->object) > 0;
    bool renew = status == RNL_OK && owned &&
                 context->default_stream == former && !former->is_default;
    bool over = renew && former->over;
    if (renew)
        set_default_locked(context, stream);
    lock_give(&context->owned_lock);
    if (!renew)
        object_unref(&stream->object);
    if (over)
        object_discard(&former->object);
    return status ? status : owned ? RNL_OK : refuse_borrowed();
}

struct stream *default_stream_take_locked(struct context *context)
{
    ASSERT(lock_is_held(&context->owned_lock));
    struct stream *stream = context->default_stream;
    if (!stream->is_default)
        return NULL;
    stream->is_default = false;  // from now on like any other, if retained
    object_ref(&stream->object);
    return stream;
}

void default_stream_release(struct stream *stream)
{
    bool last = false;
    object_release_last(object_handle(&stream->object), OBJECT_STREAM,
                        "stream", &last);
    if (last)
        capture_stream_gone(stream);
    object_unref(&stream->object);
}

bool default_stream_keep(struct context *context)
{
    return object_ref_if_alive(&context->default_stream->object);
}

// --- Life ------------------------------------------------------------------

static rnl_status check_flags(struct context *context, rnl_stream_flags flags)
{
    if (flags & ~(RNL_STREAM_NON_BLOCKING | RNL_STREAM_BATCHED))
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "options",
                       "the stream flags 0x%x contain bits that mean nothing",
                       flags);
    return flags & RNL_STREAM_BATCHED
               ? context_need(context, RNL_FEATURE_BATCHED_STREAMS, "options",
                              "batched streams are")
               : RNL_OK;
}

rnl_status stream_create(struct context *context, void *borrowed,
                         const rnl_stream_options *given,
                         rnl_stream *out_stream)
{
    rnl_stream_options options;
    struct stream *stream;
    rnl_status status = options_read(&options, sizeof options, given,
                                     "options");
    if (status != RNL_OK ||
        (status = check_pointer(out_stream, "out_stream")) ||
        (status = check_flags(context, options.flags)) ||
        (status = stream_new(context, borrowed, &options, &stream)))
        return status;
    *out_stream = object_publish(&stream->object);
    return RNL_OK;
}

rnl_status rnl_stream_create(rnl_context handle,
                             const rnl_stream_options *options,
                             rnl_stream *out_stream)
{
    struct context *context;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_context(handle, "context", &context)))
        return status;
    return stream_create(context, NULL, options, out_stream);
}

rnl_status rnl_stream_retain(rnl_stream stream)
{
    rnl_status status = ENTER();
    return status ? status : object_retain(stream, OBJECT_STREAM, "stream");
}

// Work that was enqueued still runs.
static void last_released(struct stream *stream)
{
    capture_stream_gone(stream);
    if (stream->flags & RNL_STREAM_BATCHED)
        batch_close(stream);
}

static rnl_status refuse_default(void)
{
    return fail_at(RNL_ERROR_INVALID_STATE, "stream",
                   "the default stream belongs to its context and is not "
                   "released by itself");
}

// Whether the stream is a default stream is checked when one reference is left:
// an ending context clears the flag before the context gives up its own
// reference.
rnl_status rnl_stream_release(rnl_stream handle)
{
    rnl_status status = ENTER_RELEASE();
    if (status != RNL_OK || !handle)
        return status;
    bool last = false;
    struct object *object = object_find_ref(handle, OBJECT_STREAM);
    bool released = object && object_release_but_last(object, handle);
    if (!released && object && ((struct stream *)object)->is_default)
        status = refuse_default();
    else if (!released)
        status = object_release_found(object, handle, OBJECT_STREAM, "stream",
                                      &last);
    if (last)
        last_released((struct stream *)object);
    if (object)
        object_unref(object);
    return status;
}

rnl_status rnl_stream_get_info(rnl_stream handle, rnl_stream_info *out_info)
{
    struct stream *stream;
    CALL status = ENTER();
    if (status != RNL_OK || (status = check_stream(handle, "stream", &stream)))
        return status;
    struct native_facts facts = {0};
    if (stream->backend->native)
        stream->backend->native(&stream->object, NULL, &facts);
    rnl_stream_info info = {
        .id = stream->object.id,
        .context = object_handle(&stream_context(stream)->object),
        .priority = stream->priority,
        .flags = stream->flags,
        .label = stream->object.label ? stream->object.label : "",
        .native_id = facts.id,
    };
    return info_write(out_info, &info, sizeof info, "out_info");
}

// --- Failures --------------------------------------------------------------

struct failure *stream_ref_failure(struct stream *stream)
{
    lock_take(&stream->failure_lock);
    struct failure *failure = atomic_load(&stream->failure);
    if (failure)
        atomic_fetch_add(&failure->references, 1);
    lock_give(&stream->failure_lock);
    return failure;
}

void stream_set_failure(struct stream *stream, struct failure *failure,
                        bool inherited)
{
    lock_take(&stream->failure_lock);
    struct failure *surplus = failure;
    if (!atomic_load(&stream->failure)) {
        atomic_store(&stream->inherited, inherited);
        atomic_store_explicit(&stream->failure, failure, memory_order_release);
        surplus = NULL;
    }
    lock_give(&stream->failure_lock);
    failure_unref(surplus);
}

void stream_clear_failure(struct stream *stream)
{
    lock_take(&stream->failure_lock);
    struct failure *failure = atomic_exchange(&stream->failure, NULL);
    atomic_store(&stream->inherited, false);
    lock_give(&stream->failure_lock);
    failure_unref(failure);
}

rnl_status stream_report_failure(struct stream *stream)
{
    struct failure *lost = atomic_load_explicit(&stream_context(stream)->lost,
                                                memory_order_acquire);
    if (lost)
        return failure_report(lost, stream);
    struct failure *failure = stream_get_failure(stream);
    if (!failure)
        return RNL_OK;
    rnl_status status = failure_report(failure, stream);
    failure_unref(failure);
    return status;
}

// --- Waiting ---------------------------------------------------------------

static rnl_status looked(struct stream *stream, rnl_status status)
{
    if (atomic_load_explicit(&stream->deferred.first, memory_order_relaxed))
        stream_context(stream)->pool.passed(stream_context(stream));
    return status ? status : stream_check_failure(stream);
}

rnl_status stream_wait_done(struct stream *stream, uint64_t timeout_ns)
{
    uint64_t deadline = clock_deadline(timeout_ns);
    rnl_status status = stream_flush(stream);
    if (status == RNL_OK)
        status = stream->backend->stream_wait(stream, deadline);
    return looked(stream, status);
}

rnl_status rnl_stream_query(rnl_stream handle)
{
    struct stream *stream;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_stream(handle, "stream", &stream)) ||
        (status = capture_check_stream(stream)))
        return status;
    status = stream_flush(stream);
    if (status == RNL_OK)
        status = stream->backend->stream_query(stream);
    return looked(stream, status);
}

// Waiting keeps the stream: another thread may release it meanwhile.
static rnl_status wait_handle(rnl_stream handle, uint64_t timeout_ns)
{
    struct object *object = object_find_ref(handle, OBJECT_STREAM);
    if (!object)
        return object_refuse(handle, OBJECT_STREAM, "stream");
    rnl_status status = capture_check_stream((struct stream *)object);
    if (status == RNL_OK)
        status = stream_wait_done((struct stream *)object, timeout_ns);
    object_unref(object);
    return status;
}

rnl_status stream_wait_handle(rnl_stream handle)
{
    return wait_handle(handle, RNL_FOREVER);
}

rnl_status rnl_stream_synchronize(rnl_stream handle, uint64_t timeout_ns)
{
    rnl_status status = ENTER();
    return status ? status : wait_handle(handle, timeout_ns);
}

rnl_status rnl_stream_reset_and_wait(rnl_stream handle)
{
    rnl_status status = ENTER();
    if (status != RNL_OK)
        return status;
    struct object *object = object_find_ref(handle, OBJECT_STREAM);
    if (!object)
        return object_refuse(handle, OBJECT_STREAM, "stream");
    struct stream *stream = (struct stream *)object;
    status = capture_check_stream(stream);
    if (status == RNL_OK)
        stream_flush(stream);  // a failure is about to be forgotten
    if (status == RNL_OK)
        status = stream->backend->stream_wait(stream, RNL_FOREVER);
    if (status == RNL_OK) {
        if (stream->backend->stream_reset)
            stream->backend->stream_reset(stream);
        else
            stream_clear_failure(stream);
        status = stream_check_failure(stream);
    }
    object_unref(object);
    return status;
}

// Collected ops of a batched stream count as in flight, too.
rnl_status rnl_stream_cancel(rnl_stream handle)
{
    rnl_status status = ENTER();
    if (status != RNL_OK)
        return status;
    struct object *object = object_find_ref(handle, OBJECT_STREAM);
    if (!object)
        return object_refuse(handle, OBJECT_STREAM, "stream");
    struct stream *stream = (struct stream *)object;
    status = capture_refuse(stream);
    if (status == RNL_OK)
        status = context_need(stream_context(stream), RNL_FEATURE_CANCEL,
                              "stream", "cancelling work is");
    if (status == RNL_OK) {
        stream_flush(stream);  // which tells of an earlier failure only
        status = stream->backend->stream_cancel(stream);
    }
    object_unref(object);
    return status;
}

// --- Order between streams -------------------------------------------------

static rnl_status same_api(struct stream *stream, struct context *other,
                           const char *parameter)
{
    if (stream->backend == other->backend)
        return RNL_OK;
    return fail_at(RNL_ERROR_UNSUPPORTED, parameter,
                   "'%s' belongs to %s; a stream of %s cannot wait for it",
                   parameter, other->backend->api, stream->backend->api);
}

static rnl_status wait_event(rnl_stream handle, rnl_event event_handle,
                             bool external)
{
    struct stream *stream;
    struct event *event;
    CALL status = check_stream(handle, "stream", &stream);
    if (status != RNL_OK ||
        (status = check_event(event_handle, "event", &event)) ||
        (status = same_api(stream, event->object.context, "event")) ||
        (status = stream_check_failure(stream)) ||
        (capture_is_used() &&
         capture_wait(stream, event, external, &status)) ||
        (status = stream_flush(stream)))
        return status;
    return stream->backend->event_join(stream, event);
}

rnl_status rnl_enqueue_wait_event(rnl_stream stream, rnl_event event)
{
    rnl_status status = ENTER();
    return status ? status : wait_event(stream, event, false);
}

rnl_status rnl_enqueue_external_wait(rnl_stream stream, rnl_event event)
{
    rnl_status status = ENTER();
    return status ? status : wait_event(stream, event, true);
}

// Both streams may be batched: `stream` must not overtake its own work, and the
// work of `other` has to run.
static rnl_status join(struct stream *other, void *argument)
{
    struct stream *stream = argument;
    rnl_status status;
    if (stream == other)
        return RNL_OK;
    if ((status = stream_flush(stream)) || (status = stream_flush(other)))
        return status;
    return stream->backend->stream_join(stream, other);
}

static rnl_status wait_stream(rnl_stream handle, rnl_stream other_handle)
{
    struct stream *stream, *other;
    rnl_status status;
    if ((status = check_stream(handle, "stream", &stream)) ||
        (status = check_other_stream(other_handle, "other", &other)) ||
        (status = same_api(stream, stream_context(other), "other")) ||
        (status = stream_check_failure(stream)) ||
        (capture_is_used() && capture_join(stream, other, &status)))
        return status;
    return join(other, stream);
}

rnl_status rnl_enqueue_wait_stream(rnl_stream stream, rnl_stream other)
{
    rnl_status status = ENTER();
    if (status != RNL_OK)
        return status;
    status = wait_stream(stream, other);
    object_clear_hazard(
        HAZARD_OTHER);  // nothing else is protected; a hot call
    object_unprotect(HAZARD_STREAM);
    return status;
}

rnl_status rnl_enqueue_wait_context(rnl_stream handle,
                                    rnl_context other_handle)
{
    struct stream *stream;
    struct context *other;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_stream(handle, "stream", &stream)) ||
        (status = check_context(other_handle, "other", &other)) ||
        (status = same_api(stream, other, "other")) ||
        (status = stream_check_failure(stream)) ||
        (status = capture_refuse(stream)) ||
        (status = capture_check_context(other, false)))
        return status;
    return context_each_stream(other, join, stream);
}
