#include "core/backend.h"
#include "core/object/buffer_object.h"
#include "core/object/check.h"
#include "core/object/context_object.h"
#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/stream/stream.h"

// --- Effect ----------------------------------------------------------------

static bool is_attribute(rnl_stream_attribute_id id)
{
    return id == RNL_STREAM_ACCESS_POLICY || id == RNL_STREAM_SYNC_POLICY ||
           id == RNL_STREAM_PRIORITY || id == RNL_STREAM_DOMAIN_MAP ||
           id == RNL_STREAM_DOMAIN;
}

static const char *why_without_effect(rnl_stream_attribute_id id)
{
    switch (id) {
    case RNL_STREAM_ACCESS_POLICY:
        return "this device's caches take no hints about ranges of memory";
    case RNL_STREAM_SYNC_POLICY:
        return "threads wait for this device in one way only";
    case RNL_STREAM_PRIORITY:
        return "streams of this device have no priorities";
    default:
        return "fences of this device order all memory: it has one domain";
    }
}

static void write_effect(const struct stream *stream,
                         rnl_stream_attribute *attribute)
{
    uint32_t heeded = stream->backend->stream_attributes;
    attribute->has_effect = heeded & BACKEND_ATTRIBUTE(attribute->id);
    attribute->reason =
        attribute->has_effect ? "" : why_without_effect(attribute->id);
}

// --- Values ----------------------------------------------------------------

static rnl_status refuse(const char *parameter, const char *what, int value)
{
    return fail_at(RNL_ERROR_INVALID_ARGUMENT, parameter, "%d is no %s", value,
                   what);
}

static rnl_status check_access(const rnl_access_policy *policy,
                               const char *parameter)
{
    if (policy->hit < RNL_ACCESS_NORMAL || policy->hit > RNL_ACCESS_PERSISTING)
        return refuse(parameter, "rnl_access_property", (int)policy->hit);
    if (policy->miss < RNL_ACCESS_NORMAL ||
        policy->miss > RNL_ACCESS_STREAMING)
        return refuse(parameter, "rnl_access_property for misses",
                      (int)policy->miss);
    if (!(policy->hit_ratio >= 0 && policy->hit_ratio <= 1))
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, parameter,
                       "the hit ratio is %g, not a share from 0 to 1",
                       (double)policy->hit_ratio);
    if (policy->base && policy->buffer)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, parameter,
                       "the window has both a base and a buffer");
    if (!policy->buffer && policy->size == RNL_WHOLE)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, parameter,
                       "RNL_WHOLE needs a buffer; a window at an address has a "
                       "size in bytes");
    if (!policy->base && !policy->buffer && policy->size > 0)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, parameter,
                       "the window has %zu bytes, but its base is NULL",
                       policy->size);
    return RNL_OK;
}

static rnl_status resolve_window(struct context *context,
                                 rnl_access_policy *policy,
                                 const char *parameter)
{
    struct object *object = object_find_ref(policy->buffer, OBJECT_BUFFER);
    if (!object)
        return object_refuse(policy->buffer, OBJECT_BUFFER, parameter);
    const struct buffer *buffer = (struct buffer *)object;
    rnl_status status =
        buffer_take_range(buffer, policy->offset, &policy->size, parameter);
    if (status == RNL_OK && !context_may_use(context, object->context))
        status = fail_at(RNL_ERROR_INVALID_HANDLE, parameter,
                         "the window's buffer belongs to another context, to "
                         "which the stream's has no peer access: see "
                         "rnl_context_enable_peer");
    policy->base = buffer->memory.device;
    policy->buffer = NULL;
    object_unref(object);
    return status;
}

rnl_status access_policy_check(struct context *context,
                               rnl_access_policy *policy,
                               const char *parameter)
{
    uintptr_t start;
    rnl_status status = check_access(policy, parameter);
    if (status == RNL_OK && policy->buffer)
        status = resolve_window(context, policy, parameter);
    if (status != RNL_OK || policy->offset == 0)
        return status;
    if (__builtin_add_overflow((uintptr_t)policy->base, policy->offset, &start))
        return fail_at(RNL_ERROR_OUT_OF_RANGE, parameter,
                       "%zu bytes behind %p leave the address space",
                       policy->offset, policy->base);
    policy->base = (void *)start;
    policy->offset = 0;
    return RNL_OK;
}

static rnl_status check_value(struct stream *stream,
                              rnl_stream_attribute *attribute)
{
    rnl_sync_policy policy = attribute->value.sync_policy;
    rnl_memory_domain domain = attribute->value.domain;
    switch (attribute->id) {
    case RNL_STREAM_ACCESS_POLICY:
        return access_policy_check(stream_context(stream),
                                   &attribute->value.access_policy,
                                   "attribute");
    case RNL_STREAM_SYNC_POLICY:
        return policy >= RNL_SYNC_AUTO && policy <= RNL_SYNC_BLOCKING
                   ? RNL_OK
                   : refuse("attribute", "rnl_sync_policy", (int)policy);
    case RNL_STREAM_DOMAIN:
        return domain >= RNL_DOMAIN_DEFAULT && domain <= RNL_DOMAIN_REMOTE
                   ? RNL_OK
                   : refuse("attribute", "rnl_memory_domain", (int)domain);
    case RNL_STREAM_DOMAIN_MAP:
        return RNL_OK;
    case RNL_STREAM_PRIORITY:
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "attribute",
                       "a stream's priority is fixed when it is created");
    default:
        return refuse("attribute", "rnl_stream_attribute_id",
                      (int)attribute->id);
    }
}

static void store(struct stream *stream, const rnl_stream_attribute *attribute)
{
    struct stream_attributes *all = &stream->attributes;
    lock_take(&stream->attribute_lock);
    if (attribute->id == RNL_STREAM_ACCESS_POLICY)
        all->access_policy = attribute->value.access_policy;
    else if (attribute->id == RNL_STREAM_SYNC_POLICY)
        all->sync_policy = attribute->value.sync_policy;
    else if (attribute->id == RNL_STREAM_DOMAIN_MAP)
        all->domain_map = attribute->value.domain_map;
    else
        all->domain = attribute->value.domain;
    atomic_store(&stream->sync_policy, (int)all->sync_policy);
    atomic_fetch_add(&stream->attribute_changes, 1);
    lock_give(&stream->attribute_lock);
}

struct stream_attributes stream_get_attributes(struct stream *stream)
{
    lock_take(&stream->attribute_lock);
    struct stream_attributes all = stream->attributes;
    lock_give(&stream->attribute_lock);
    if (all.sync_policy == 0)
        all.sync_policy = RNL_SYNC_AUTO;
    return all;
}

// The values of a borrowed stream are the driver's until Runnel sets some.
static void read_borrowed(struct stream *stream)
{
    struct native_facts facts = {0};
    if (!stream->borrowed || atomic_load(&stream->attribute_changes) > 0)
        return;
    stream->backend->native(&stream->object, NULL, &facts);
    lock_take(&stream->attribute_lock);
    if (atomic_load(&stream->attribute_changes) == 0)
        stream->attributes = facts.attributes;
    lock_give(&stream->attribute_lock);
}

// --- Calls -----------------------------------------------------------------

rnl_status rnl_stream_set_attribute(rnl_stream handle,
                                    const rnl_stream_attribute *given)
{
    struct stream *stream;
    rnl_stream_attribute attribute;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_stream(handle, "stream", &stream)) ||
        (status = check_pointer(given, "attribute")) ||
        (status = options_read(&attribute, sizeof attribute, given,
                               "attribute")) ||
        (status = check_value(stream, &attribute)))
        return status;
    read_borrowed(stream);
    store(stream, &attribute);
    return RNL_OK;
}

static void load(struct stream *stream, rnl_stream_attribute *attribute)
{
    read_borrowed(stream);
    struct stream_attributes all = stream_get_attributes(stream);
    if (attribute->id == RNL_STREAM_ACCESS_POLICY)
        attribute->value.access_policy = all.access_policy;
    else if (attribute->id == RNL_STREAM_SYNC_POLICY)
        attribute->value.sync_policy = all.sync_policy;
    else if (attribute->id == RNL_STREAM_PRIORITY)
        attribute->value.priority = stream->priority;
    else if (attribute->id == RNL_STREAM_DOMAIN_MAP)
        attribute->value.domain_map = all.domain_map;
    else
        attribute->value.domain = all.domain;
}

rnl_status rnl_stream_get_attribute(rnl_stream handle,
                                    rnl_stream_attribute_id id,
                                    rnl_stream_attribute *out_attribute)
{
    struct stream *stream;
    CALL status = ENTER();
    if (status != RNL_OK || (status = check_stream(handle, "stream", &stream)))
        return status;
    if (!is_attribute(id))
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "id",
                       "%d is no rnl_stream_attribute_id", (int)id);
    rnl_stream_attribute attribute = {.id = id};
    load(stream, &attribute);
    write_effect(stream, &attribute);
    return info_write(out_attribute, &attribute, sizeof attribute,
                      "out_attribute");
}

rnl_status rnl_stream_copy_attributes(rnl_stream to_handle,
                                      rnl_stream from_handle)
{
    struct stream *to, *from;
    CALL status = ENTER();
    if (status != RNL_OK || (status = check_stream(to_handle, "to", &to)) ||
        (status = check_other_stream(from_handle, "from", &from)))
        return status;
    if (stream_context(to) != stream_context(from))
        return fail_at(RNL_ERROR_INVALID_HANDLE, "from",
                       "'from' belongs to another context than 'to'");
    read_borrowed(from);
    struct stream_attributes all = stream_get_attributes(from);
    lock_take(&to->attribute_lock);
    to->attributes = all;
    atomic_store(&to->sync_policy, (int)all.sync_policy);
    atomic_fetch_add(&to->attribute_changes, 1);
    lock_give(&to->attribute_lock);
    return RNL_OK;
}
