// The vendor's handles, for code that calls the vendor itself.
#include "backends/cudalike/ends.h"
#include "backends/cudalike/held.h"

static void *share(struct stream *stream)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    ends_may_block();
    lock_take(&own->lock);
    atomic_store(&own->shared, true);
    lock_give(&own->lock);
    stream_give_all(stream);
    return own->handle;
}

rnl_status gpu_native(struct object *object, void **out_native)
{
    switch (object->class->kind) {
    case OBJECT_CONTEXT:
        *out_native = gpu_of((struct context *)object)->handle;
        return RNL_OK;
    case OBJECT_STREAM:
        *out_native = share((struct stream *)object);
        return RNL_OK;
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
