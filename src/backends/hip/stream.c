// Stream memory operations, attributes of streams, and the stream's device.
#include "backends/hip/hip.h"

// The flags of CUDA that HIP does not know mean other things in newer versions.
#define CONDITION_MASK 3u

static int wait32(void *stream, uint64_t address, uint32_t value,
                  unsigned flags)
{
    return hip.stream_wait32(stream, address, value, flags & CONDITION_MASK,
                             UINT32_MAX);
}

static driver_stream_write32_fn *write32;  // hipStreamWriteValue32

static int one(void *stream, const struct driver_value *value)
{
    switch (value->operation) {
    case DRIVER_WRITE32:
        return write32(stream, value->address, (uint32_t)value->value, 0);
    case DRIVER_WRITE64:
        return hip.stream_write64(stream, value->address, value->value, 0);
    case DRIVER_WAIT32:
        return wait32(stream, value->address, (uint32_t)value->value,
                      value->flags);
    case DRIVER_WAIT64:
        return hip.stream_wait64(stream, value->address, value->value,
                                 value->flags & CONDITION_MASK, UINT64_MAX);
    default:
        return HIP_INVALID_VALUE;
    }
}

static int one_by_one(void *stream, unsigned count,
                      const struct driver_value *values)
{
    int code = 0;
    for (unsigned i = 0; i < count && code == 0; i++)
        code = one(stream, &values[i]);
    return code;
}

// HIP 7.0 to 7.2 refuse every batch as an invalid value, because of a defect in
// their check.
static int batch(void *stream, unsigned count, struct driver_value *values,
                 unsigned flags)
{
    int code = HIP_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++)
        values[i].flags &= CONDITION_MASK;
    if (hip.stream_batch && count > 1)
        code = hip.stream_batch(stream, count, values, flags);
    return code == HIP_INVALID_VALUE ? one_by_one(stream, count, values)
                                     : code;
}

static int set_attribute(void *stream, int id, const void *value)
{
    return hip.stream_set_attribute
               ? hip.stream_set_attribute(stream, id, value)
               : HIP_NOT_SUPPORTED;
}

static int get_attribute(void *stream, int id, void *out_value)
{
    return hip.stream_get_attribute
               ? hip.stream_get_attribute(stream, id, out_value)
               : HIP_NOT_SUPPORTED;
}

// HIP refuses the default stream here.
static int flags_of(void *stream, unsigned *out_flags)
{
    *out_flags = 0;
    return (uintptr_t)stream <= DRIVER_STREAM_SPECIAL_MOST
               ? 0 : hip.stream_flags(stream, out_flags);
}

static driver_context_get_fn *context_get;  // context.c

// A default stream is the current device's.
static int context_of(void *stream, void **out_context)
{
    int device = -1, code = HIP_NOT_SUPPORTED;
    *out_context = NULL;
    if ((uintptr_t)stream <= DRIVER_STREAM_SPECIAL_MOST)
        return context_get(out_context);
    if (hip.stream_context)
        code = hip.stream_context(stream, &device);
    if (code == 0)
        *out_context = (void *)(uintptr_t)(device + 1);
    return code;
}

// --- Signals between a stream and the host -----------------------------------

static int announce(const struct driver_functions *call, void *stream,
                    uint64_t word, uint32_t value)
{
    return call->stream_write32(stream, word, value, 0);
}

// HIP compares without regard to a wrap-around. A word that came near its end
// could no longer be waited for without the danger of waiting for ever.
#define WORD_MOST (UINT32_C(3) << 30)

static int await(const struct driver_functions *call, void *stream,
                 uint64_t word, uint32_t value)
{
    return value < WORD_MOST ? call->stream_wait32(stream, word, value,
                                                   DRIVER_WAIT_GEQ)
                             : HIP_NOT_SUPPORTED;
}

const struct driver_points hip_points = {announce, await};

void hip_adapt_streams(struct driver_functions *call)
{
    write32 = call->stream_write32;
    context_get = call->context_get;
    call->stream_wait32 = wait32;
    call->stream_batch = batch;
    call->stream_set_attribute = set_attribute;
    call->stream_get_attribute = get_attribute;
    call->stream_flags = flags_of;
    call->stream_context = context_of;
}
