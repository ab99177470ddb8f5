// Signals between a stream and the host, by stream memory operations.
#include "backends/cuda/cuda.h"

static int announce(const struct driver_functions *call, void *stream,
                    uint64_t word, uint32_t value)
{
    return call->stream_write32(stream, word, value, 0);
}

static int await(const struct driver_functions *call, void *stream,
                 uint64_t word, uint32_t value)
{
    return call->stream_wait32(stream, word, value,
                               DRIVER_WAIT_GEQ);
}

const struct driver_points *cuda_points(const struct driver_functions *call)
{
    static const struct driver_points points = {announce, await};
    return call->stream_write32 && call->stream_wait32 ? &points : NULL;
}
