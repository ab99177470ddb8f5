#include "base/clock.h"
#include "base/log.h"
#include "core/backend.h"
#include "core/context/library.h"
#include "core/memory/host_memory.h"
#include "core/memory/memory_pool.h"
#include "core/module/function_cache.h"
#include "core/module/launch.h"
#include "core/object/check.h"
#include "core/object/context_object.h"
#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/object/release.h"
#include "core/stream/capture.h"
#include "core/stream/event.h"
#include "core/stream/failure.h"
#include "core/stream/stream.h"

static void peers_free_list(struct peer *peer)
{
    for (struct peer *next; peer; peer = next) {
        next = peer->next;
        mem_release(peer, sizeof *peer);
    }
}

static void context_finish(struct object *object)
{
    struct context *context = (struct context *)object;
    function_cache_finish(context);
    host_ranges_finish(context);
    event_pool_finish(context);
    memory_pool_finish(context);
    context->backend->context_finish(context);
    peers_free_list(context->peers);
    failure_unref(atomic_load(&context->lost));
    object_discard(&context->default_stream->object);
}

static struct object_class *class_of(const struct backend *backend)
{
    static const struct object_class like = {.kind = OBJECT_CONTEXT,
                                             .finish = context_finish,
                                             .keeps_handle = true};
    static struct object_class classes[BACKENDS_MAX];
    return object_class_of(&classes[backend_index(backend)], &like,
                           sizeof(struct context) + backend->context_size);
}

// --- Opening ---------------------------------------------------------------

// The backend's features that device and driver have. Whether a compiler is
// present may change, and is checked on each query.
static uint32_t find_features(struct context *context)
{
    const struct backend *backend = context->backend;
    uint32_t features = BACKEND_FEATURE(RNL_FEATURE_COMPILE);
    for (int i = RNL_FEATURE_COMPILE + 1; i <= FEATURE_LAST; i++)
        if (!backend->feature_reason(context, (rnl_feature)i)[0])
            features |= BACKEND_FEATURE(i);
    return features & backend->features;
}

// The device that an adopted context turned out to be of.
static rnl_status find_device(struct context *context)
{
    for (size_t i = 0; i < library_device_count(); i++) {
        struct device *device = library_device(i);
        if (device->backend != context->backend ||
            device->index != context->adopted_index)
            continue;
        context->device = device;
        return RNL_OK;
    }
    return fail_at(RNL_ERROR_NO_DEVICE, "native",
                   "the context is one of %s:%u, which RUNNEL_DEVICES hides",
                   context->backend->api, context->adopted_index);
}

// Around the vendor's context `adopted`, if any: `device` is of the same api.
static rnl_status context_open(struct device *device, void *adopted,
                               const rnl_context_options *options,
                               rnl_context *out_context)
{
    struct context *context = (struct context *)object_create(
        class_of(device->backend), NULL, options->label);
    if (!context)
        return fail_status();
    context->device = device;
    context->backend = device->backend;
    context->options = *options;
    lock_set_rank(&context->owned_lock, RANK_OWNED);
    lock_set_rank(&context->lock, RANK_CONTEXT);
    context->options.label = NULL;
    context->adopted = adopted;
    rnl_status status = device->backend->context_init(context);
    if (status != RNL_OK)
        goto abandon;
    if (adopted && (status = find_device(context)))
        goto finish;
    device = context->device;
    context->features = find_features(context);
    context->launch_attributes = launch_attributes_of(context);
    if (options->kernel_limit_ns > 0)
        status = context_need(context, RNL_FEATURE_KERNEL_LIMIT, "options",
                              "a time limit of kernels is");
    if (status == RNL_OK)
        status = memory_pool_init(context);
    if (status != RNL_OK)
        goto finish;
    status = default_stream_create(context);
    if (status != RNL_OK)
        goto finish_pool;
    *out_context = object_publish(&context->object);
    log_write(RNL_LOG_INFO, "%s %s:%u (%s)", adopted ? "adopted" : "opened",
              device->info.api, device->index, device->info.name);
    return RNL_OK;

finish_pool:
    memory_pool_finish(context);
finish:
    context->options.deleter = NULL;  // not adopted
    context->backend->context_finish(context);
abandon:
    object_abandon(&context->object);
    return status;
}

static rnl_status context_create(rnl_device handle, void *adopted,
                                 const rnl_context_options *given,
                                 rnl_context *out_context)
{
    struct device *device;
    rnl_context_options options;
    rnl_status status = library_open();
    if (status != RNL_OK ||
        (status = check_device(handle, "device", &device)) ||
        (status = options_read(&options, sizeof options, given, "options")) ||
        (status = check_pointer(out_context, "out_context")))
        return status;
    if (options.threads > 1024)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "options",
                       "%u threads are asked for; 1024 is the most",
                       options.threads);
    if (options.deleter && !adopted)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "options",
                       "a deleter is for contexts that are adopted: this one "
                       "is Runnel's own");
    if (adopted && !device->backend->native)
        return fail_at(RNL_ERROR_UNSUPPORTED, "api",
                       "%s has no vendor's driver whose context this could be",
                       device->info.api);
    return context_open(device, adopted, &options, out_context);
}

rnl_status rnl_context_create(rnl_device device,
                              const rnl_context_options *options,
                              rnl_context *out_context)
{
    rnl_status status = ENTER();
    return status ? status
                  : context_create(device, NULL, options, out_context);
}

rnl_status rnl_context_open(const char *api, size_t index,
                            const rnl_context_options *options,
                            rnl_context *out_context)
{
    rnl_device device;
    rnl_status status = ENTER();
    if (status != RNL_OK || (status = device_get(api, index, &device)))
        return status;
    return context_create(device, NULL, options, out_context);
}

rnl_status rnl_context_adopt(const char *api, void *native,
                             const rnl_context_options *options,
                             rnl_context *out_context)
{
    rnl_device device;
    rnl_status status = ENTER();
    if (status != RNL_OK || (status = check_pointer(api, "api")) ||
        (status = check_pointer(native, "native")) ||
        (status = device_get(api, 0, &device)))
        return status;
    return context_create(device, native, options, out_context);
}

// Objects that would keep the context for ever end with the caller's last
// reference, and are made again with the next one. Called after each change
// from or to zero: the last caller sees the final count.
static void settle(struct context *context)
{
    struct stream *stream = NULL;
    lock_take(&context->owned_lock);
    if (object_users(&context->object) > 0) {
        memory_pool_open(context);
    } else {
        stream = default_stream_take_locked(context);
        memory_pool_close(context);
    }
    lock_give(&context->owned_lock);
    if (stream)
        default_stream_release(stream);
}

rnl_status rnl_context_retain(rnl_context handle)
{
    rnl_status status = ENTER();
    if (status != RNL_OK)
        return status;
    struct object *object = object_find_ref(handle, OBJECT_CONTEXT);
    if (!object)
        return object_refuse(handle, OBJECT_CONTEXT, "context");
    status = object_retain(handle, OBJECT_CONTEXT, "context");
    if (status == RNL_OK)
        settle((struct context *)object);
    object_unref(object);
    return status;
}

rnl_status rnl_context_release(rnl_context handle)
{
    rnl_status status = ENTER_RELEASE();
    if (status != RNL_OK || !handle)
        return status;
    struct object *object = object_find_ref(handle, OBJECT_CONTEXT);
    if (!object)
        return object_refuse(handle, OBJECT_CONTEXT, "context");
    bool last;
    if (!object_release_kept(object, handle, &last))
        status = fail_at(RNL_ERROR_INVALID_HANDLE, "context",
                         "'context' was released as often as it was retained: "
                         "its handle is borrowed from what lives of it, and "
                         "there is nothing to release");
    else if (last)
        settle((struct context *)object);
    object_unref(object);
    return status;
}

// --- Facts -----------------------------------------------------------------

rnl_status rnl_context_device(rnl_context handle, rnl_device *out_device)
{
    struct context *context;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_context(handle, "context", &context)) ||
        (status = check_pointer(out_device, "out_device")))
        return status;
    *out_device = object_handle(&context->device->object);
    return RNL_OK;
}

rnl_status rnl_context_id(rnl_context handle, uint64_t *out_id)
{
    struct context *context;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_context(handle, "context", &context)) ||
        (status = check_pointer(out_id, "out_id")))
        return status;
    *out_id = context->object.id;
    return RNL_OK;
}

rnl_status rnl_context_memory(rnl_context handle, size_t *out_free,
                              size_t *out_total)
{
    struct context *context;
    size_t left, total;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_context(handle, "context", &context)))
        return status;
    context->pool.passed(context);
    if ((status = context->backend->context_memory(context, &left, &total)))
        return status;
    if (out_free)
        *out_free = left;
    if (out_total)
        *out_total = total;
    return RNL_OK;
}

rnl_status rnl_context_is_compatible(rnl_context handle,
                                     const char **out_reason)
{
    struct context *context;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_context(handle, "context", &context)))
        return status;
    // A backend with too old a driver offers no device.
    if (out_reason)
        *out_reason = "the driver and the device are new enough";
    return RNL_OK;
}

static const char *lacks_compiler(struct context *context)
{
    const char *reason =
        context->backend->feature_reason(context, RNL_FEATURE_COMPILE);
    return reason[0] ? reason : NULL;
}

rnl_status rnl_context_supports(rnl_context handle, rnl_feature feature,
                                const char **out_reason)
{
    struct context *context;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_context(handle, "context", &context)))
        return status;
    if (feature < RNL_FEATURE_COMPILE || feature > FEATURE_LAST)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "feature",
                       "%d is no rnl_feature", (int)feature);
    const char *reason = context_lacks(context, feature);
    if (!reason && feature == RNL_FEATURE_COMPILE)
        reason = lacks_compiler(context);
    if (out_reason)
        *out_reason = reason ? reason : "supported";
    if (!reason)
        return RNL_OK;
    return fail_at(RNL_ERROR_UNSUPPORTED, "feature", "not supported: %s",
                   reason);
}

rnl_status rnl_context_priority_range(rnl_context handle, int *out_least,
                                      int *out_greatest)
{
    struct context *context;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_context(handle, "context", &context)))
        return status;
    if (out_least)
        *out_least = context->device->info.priority_least;
    if (out_greatest)
        *out_greatest = context->device->info.priority_greatest;
    return RNL_OK;
}

rnl_status rnl_context_default_stream(rnl_context handle,
                                      rnl_stream *out_stream)
{
    struct context *context;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_context(handle, "context", &context)) ||
        (status = check_pointer(out_stream, "out_stream")))
        return status;
    if (!context->default_stream->is_default &&
        (status = default_stream_renew(context)))
        return status;
    *out_stream = object_handle(&context->default_stream->object);
    return RNL_OK;
}

// --- Waiting ---------------------------------------------------------------

// The stream after `stream` in the context (the first for NULL), referenced;
// gives up the reference to `stream`.
struct wait_all {
    uint64_t deadline;
    rnl_status first;  // the reported status, with the details
};

static rnl_status wait_for(struct stream *stream, void *argument)
{
    struct wait_all *all = argument;
    if (all->first == RNL_ERROR_TIMED_OUT)
        return all->first;
    rnl_status status = stream->backend->stream_wait(stream, all->deadline);
    if (status != RNL_OK)
        all->first = status;
    else if (all->first == RNL_OK)
        all->first = stream_check_failure(stream);
    return all->first;
}

// Flushes all streams before the first wait, because a stream may wait for ops
// that another collected.
static rnl_status flush(struct stream *stream, void *argument)
{
    (void)argument;
    return stream_flush(stream);
}

rnl_status rnl_context_synchronize(rnl_context handle, uint64_t timeout_ns)
{
    rnl_status status = ENTER();
    if (status != RNL_OK)
        return status;
    struct object *object = object_find_ref(handle, OBJECT_CONTEXT);
    if (!object)
        return object_refuse(handle, OBJECT_CONTEXT, "context");
    struct context *context = (struct context *)object;
    struct wait_all all = {.deadline = clock_deadline(timeout_ns),
                           .first = capture_check_context(context, true)};
    if (all.first == RNL_OK && atomic_load(&context->has_batched))
        context_each_stream(context, flush, NULL);
    if (all.first == RNL_OK)
        context_each_stream(context, wait_for, &all);
    context->pool.passed(context);
    host_ranges_collect(context);
    object_unref(object);
    return all.first;
}

// --- Peers -----------------------------------------------------------------

static bool can_access(struct context *context, struct context *peer)
{
    return context == peer ||
           (context->backend == peer->backend &&
            context->backend->peer_access &&
            context->backend->peer_access(context, peer, PEER_ASK) == RNL_OK);
}

rnl_status rnl_context_can_access_peer(rnl_context handle, rnl_context other,
                                       bool *out_can)
{
    struct context *context, *peer;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_context(handle, "context", &context)) ||
        (status = check_other_context(other, "peer", &peer)) ||
        (status = check_pointer(out_can, "out_can")))
        return status;
    *out_can = can_access(context, peer);
    return RNL_OK;
}

static rnl_status peer_add(struct context *context, struct context *other)
{
    struct peer *peer = mem_allocate(sizeof *peer);
    if (!peer)
        return fail(RNL_ERROR_OUT_OF_MEMORY, "there is no memory for a peer");
    rnl_status status = context->backend->peer_access(context, other,
                                                      PEER_ENABLE);
    if (status != RNL_OK) {
        mem_release(peer, sizeof *peer);
        return status;
    }
    peer->id = other->object.id;
    lock_take(&context->lock);
    peer->next = context->peers;
    context->peers = peer;
    lock_give(&context->lock);
    return RNL_OK;
}

rnl_status rnl_context_enable_peer(rnl_context handle, rnl_context other)
{
    struct context *context, *peer;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_context(handle, "context", &context)) ||
        (status = check_other_context(other, "peer", &peer)))
        return status;
    if (context_may_use(context, peer))
        return RNL_OK;
    if (!can_access(context, peer))
        return fail_at(RNL_ERROR_UNSUPPORTED, "peer",
                       "%s:%u cannot reach the memory of %s:%u",
                       context->device->info.api, context->device->index,
                       peer->device->info.api, peer->device->index);
    return peer_add(context, peer);
}

// Checks that a stream of the context is idle, after giving a batched stream's
// work to the backend.
static rnl_status look_at(struct stream *stream, void *argument)
{
    (void)argument;
    rnl_status status = stream_flush(stream);
    if (status == RNL_OK)
        status = stream->backend->stream_query(stream);
    return status == RNL_NOT_READY ? status : RNL_OK;
}

// Two threads may have enabled the same.
static bool peer_remove(struct context *context, uint64_t id)
{
    struct peer *gone = NULL;
    lock_take(&context->lock);
    for (struct peer **link = &context->peers; *link;) {
        struct peer *peer = *link;
        if (peer->id != id) {
            link = &peer->next;
            continue;
        }
        *link = peer->next;
        peer->next = gone;
        gone = peer;
    }
    lock_give(&context->lock);
    bool found = gone != NULL;
    peers_free_list(gone);
    return found;
}

// After the removal no work that uses the memory is accepted.
rnl_status rnl_context_disable_peer(rnl_context handle, rnl_context other)
{
    struct context *context, *peer;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_context(handle, "context", &context)) ||
        (status = check_other_context(other, "peer", &peer)))
        return status;
    if (context == peer)
        return fail_at(RNL_ERROR_INVALID_STATE, "peer",
                       "'peer' is the context itself, which always reaches "
                       "its own memory");
    if (!context_may_use(context, peer))
        return RNL_OK;
    if ((status = capture_check_context(context, false)))
        return status;
    if (context_each_stream(context, look_at, NULL) == RNL_NOT_READY)
        return fail_at(RNL_ERROR_INVALID_STATE, "context",
                       "the context has work in flight, which may use memory "
                       "of the peer: synchronize the context first");
    if (!peer_remove(context, peer->object.id))
        return RNL_OK;
    return context->backend->peer_access(context, peer, PEER_DISABLE);
}
