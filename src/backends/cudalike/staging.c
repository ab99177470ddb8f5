// Copies from and to ordinary host memory, done by the service once the stream
// got there: on a stream of the context's own, so that nothing else is held up
// on the device.
#include "backends/cudalike/service.h"

rnl_status staging_copy(struct stream *stream, const struct op_copy *copy)
{
    struct context *context = stream_context(stream);
    struct gpu_context *gpu = gpu_of(context);
    void *before = current_enter(gpu);
    int code = gpu_copy_on(call_of(gpu), gpu->own_stream, copy);
    if (code == 0)
        code = call_of(gpu)->stream_synchronize(gpu->own_stream);
    current_back(gpu, before);
    return code == 0 ? RNL_OK
                     : driver_fail(context, code, "to copy host memory");
}
