// A stream's attributes apply to work that is enqueued after the change. So the
// driver gets new attributes with the next work, behind all deferred work.
#include "backends/cudalike/driver/driver.h"
#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/stream/deferred.h"
#include "backends/cudalike/stream/launch.h"
#include "backends/cudalike/stream/stream.h"
#include "backends/cudalike/timeline/gpu_stream.h"

#include <string.h>

static void tell(struct stream *stream, const struct stream_attributes *given)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    const struct driver_functions *call =
        call_of(gpu_of(stream_context(stream)));
    struct driver_launch_attribute value = {0};
    gpu_set_window(&value, &given->access_policy);
    call->stream_set_attribute(own->handle, DRIVER_LAUNCH_ACCESS_POLICY,
                               value.bytes);
    value = (struct driver_launch_attribute){0};
    value.domain_map.default_domain = given->domain_map.default_domain;
    value.domain_map.remote_domain = given->domain_map.remote_domain;
    call->stream_set_attribute(own->handle, DRIVER_LAUNCH_DOMAIN_MAP,
                               value.bytes);
    value = (struct driver_launch_attribute){.number = (int)given->domain};
    call->stream_set_attribute(own->handle, DRIVER_LAUNCH_DOMAIN,
                               value.bytes);
}

// Returns 0 for an attribute that the driver does not know, or not for this
// stream.
static struct driver_launch_attribute read_value(struct stream *stream, int id)
{
    struct driver_launch_attribute value = {0};
    if (call_of(gpu_of(stream_context(stream)))
            ->stream_get_attribute(gpu_stream_of(stream)->handle, id,
                                   value.bytes) != 0)
        value = (struct driver_launch_attribute){0};
    return value;
}

struct stream_attributes gpu_read_attributes(struct stream *stream)
{
    struct stream_attributes all = {0};
    struct driver_launch_attribute value =
        read_value(stream, DRIVER_LAUNCH_ACCESS_POLICY);
    all.access_policy = (rnl_access_policy){
        .base = value.window.base,
        .size = value.window.size,
        .hit_ratio = value.window.hit_ratio,
        .hit = (rnl_access_property)value.window.hit,
        .miss = (rnl_access_property)value.window.miss,
    };
    value = read_value(stream, DRIVER_LAUNCH_SYNC_POLICY);
    if (value.number >= RNL_SYNC_AUTO && value.number <= RNL_SYNC_BLOCKING)
        all.sync_policy = (rnl_sync_policy)value.number;  // else never set
    value = read_value(stream, DRIVER_LAUNCH_DOMAIN_MAP);
    all.domain_map = (rnl_domain_map){value.domain_map.default_domain,
                                      value.domain_map.remote_domain};
    value = read_value(stream, DRIVER_LAUNCH_DOMAIN);
    all.domain = (rnl_memory_domain)value.number;
    return all;
}

static rnl_status hold(struct stream *stream,
                       const struct stream_attributes *given)
{
    struct op *op = op_create(stream, OP_ATTRIBUTES, sizeof *given);
    if (!op)
        return fail_status();
    memcpy(op->payload, given, sizeof *given);
    op->sequence = atomic_load(&stream->enqueued);
    stream_defer_locked(stream, op);
    return RNL_OK;
}

void gpu_give_attributes(struct stream *stream, const struct op *op)
{
    tell(stream, op->payload);
}

rnl_status stream_apply_attributes_locked(struct stream *stream,
                                          uint32_t changes)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    struct stream_attributes given = stream_get_attributes(stream);
    rnl_status status = RNL_OK;
    if (stream_defers_locked(stream))
        status = hold(stream, &given);
    else
        tell(stream, &given);
    if (status == RNL_OK)
        gpu_stream_of(stream)->applied = changes;
    return status;
}
