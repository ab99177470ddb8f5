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

// --- The vendor's streams as Runnel's ---------------------------------------

static rnl_status refuse_home(const struct gpu_context *gpu, void *home)
{
    return fail_at(RNL_ERROR_INVALID_HANDLE, "native",
                   "'native' is a stream of the %s context %p, not of %p: "
                   "rnl_context_adopt gives a context for it",
                   gpu->driver->api, home, gpu->handle);
}

// A special handle is of the current context, which has to be ours.
static rnl_status read_facts(struct stream *stream)
{
    struct context *context = stream_context(stream);
    const struct gpu_context *gpu = gpu_of(context);
    const struct driver_functions *call = call_of(gpu);
    void *handle = stream->borrowed, *home = NULL;
    unsigned flags = 0;
    int code = call->stream_context(handle, &home);
    if (code == 0 && home != gpu->handle)
        return refuse_home(gpu, home);
    if (code == 0)
        code = call->stream_flags(handle, &flags);
    if (code == 0)
        code = call->stream_priority(handle, &stream->priority);
    stream->flags &= ~RNL_STREAM_NON_BLOCKING;
    if (flags & DRIVER_STREAM_NON_BLOCKING)
        stream->flags |= RNL_STREAM_NON_BLOCKING;
    return code == 0 ? RNL_OK
                     : driver_fail(context, code,
                                   "to describe the stream 'native'");
}

rnl_status gpu_stream_borrow(struct stream *stream)
{
    const struct gpu_context *gpu = gpu_of(stream_context(stream));
    if ((uintptr_t)stream->borrowed == DRIVER_STREAM_PER_THREAD)
        return fail_at(RNL_ERROR_UNSUPPORTED, "native",
                       "RNL_NATIVE_PER_THREAD is another stream on each "
                       "thread, and threads of Runnel give it work and ask "
                       "how far it is: use a stream of rnl_stream_create, and "
                       "rnl_event_native for waits between the two");
    void *before = current_enter(gpu);
    rnl_status status = read_facts(stream);
    current_back(gpu, before);
    return status;
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
