// Native streams of the vendor that are used as streams of Runnel.
#include "backends/cudalike/driver/driver.h"
#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/stream/stream.h"
#include "backends/cudalike/timeline/device_lost.h"

static rnl_status refuse_home(const struct gpu_context *gpu, void *home)
{
    return fail_at(RNL_ERROR_INVALID_HANDLE, "native",
                   "'native' is a stream of the %s context %p, not of %p: "
                   "rnl_context_adopt gives a context for it",
                   gpu->driver->api, home, gpu->handle);
}

// A special handle belongs to the current context, so the caller makes the
// stream's context current.
static rnl_status read_facts(struct stream *stream)
{
    struct context *context = stream_context(stream);
    const struct gpu_context *gpu = gpu_of(context);
    const struct driver_functions *call = call_of(gpu);
    void *handle = stream->borrowed, *home = NULL;
    unsigned flags = 0;
    int code = call->stream_context(handle, &home);
    if (gpu->driver->status(code) == RNL_ERROR_UNSUPPORTED)
        return fail_at(RNL_ERROR_UNSUPPORTED, "native",
                       "the driver is too old to tell whose stream 'native' "
                       "is");
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
