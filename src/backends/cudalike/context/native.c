// The vendor's handles, for code that calls the vendor itself.
#include "backends/cudalike/context/context.h"
#include "backends/cudalike/driver/driver.h"
#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/module/module.h"
#include "backends/cudalike/stream/deferred.h"
#include "backends/cudalike/stream/stream.h"
#include "backends/cudalike/timeline/device_lost.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/graph_fence.h"

static rnl_status share(struct stream *stream, void **out_native)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    graph_fences_enable();
    lock_take(&own->lock);
    atomic_store(&own->shared, true);
    lock_give(&own->lock);
    int code = stream_submit_all(stream);
    if (code != 0)
        return driver_fail(stream_context(stream), code,
                           "to let a stream wait for the host");
    *out_native = own->handle;
    return RNL_OK;
}

static void tell(struct stream *stream, struct native_facts *facts)
{
    struct gpu_context *gpu = gpu_of(stream_context(stream));
    const struct driver_functions *call = call_of(gpu);
    void *before = current_enter(gpu);
    if (!call->stream_id ||
        call->stream_id(gpu_stream_of(stream)->handle, &facts->id) != 0)
        facts->id = 0;
    if (stream->borrowed)
        facts->attributes = gpu_read_attributes(stream);
    current_back(gpu, before);
}

// --- Handles -----------------------------------------------------------------

rnl_status gpu_native(struct object *object, void **out_native,
                      struct native_facts *out_facts)
{
    if (out_facts) {
        tell((struct stream *)object, out_facts);
        return RNL_OK;
    }
    switch (object->class->kind) {
    case OBJECT_CONTEXT:
        *out_native = gpu_of((struct context *)object)->handle;
        return RNL_OK;
    case OBJECT_STREAM:
        return share((struct stream *)object, out_native);
    case OBJECT_EVENT:
        return gpu_event_native((struct event *)object, out_native);
    case OBJECT_MODULE:
        *out_native = gpu_module_of((struct module *)object)->handle;
        return RNL_OK;
    default:
        *out_native = gpu_function_of((struct function *)object)->handle;
        return RNL_OK;
    }
}
