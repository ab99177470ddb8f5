// Stream memory operations, attributes of streams, and the stream's device.
#include "backends/hip/hip.h"

// The flags of CUDA that HIP does not know mean other things in newer versions.
#define CONDITION_MASK 3u

// --- Values ------------------------------------------------------------------

static bool is_wide(const struct driver_value *value)
{
    return value->operation == DRIVER_WAIT64 ||
           value->operation == DRIVER_WRITE64;
}

static bool is_wait(const struct driver_value *value)
{
    return value->operation == DRIVER_WAIT32 ||
           value->operation == DRIVER_WAIT64;
}

static bool is_cyclic(const struct driver_value *value)
{
    return is_wait(value) &&
           (value->flags & CONDITION_MASK) == DRIVER_WAIT_GEQ;
}

static unsigned quarter_of(const struct driver_value *value)
{
    return (unsigned)(value->value >> (is_wide(value) ? 62 : 30)) & 3;
}

static bool may_hang(const struct driver_value *values, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (is_cyclic(&values[i]) && quarter_of(&values[i]) == 3)
            return true;
    return false;
}

// HIP's "greater or equal" compares without regard to a wrap-around. A word
// that did not wrap around yet is larger than a value of the first quarter, so
// the wait begins with one for the clear top bit. A word that has wrapped
// around is smaller than a value of the last quarter, and the wait would never
// end. Words that are less than a quarter away from the value are compared
// right.
int hip_values_of(const struct driver_value *values, unsigned count,
                  struct driver_value *out, unsigned *out_count)
{
    unsigned made = 0;
    if (may_hang(values, count))
        return HIP_NOT_SUPPORTED;
    for (unsigned i = 0; i < count; i++) {
        const struct driver_value *value = &values[i];
        uint64_t top = UINT64_C(1) << (is_wide(value) ? 63 : 31);
        if (is_cyclic(value) && quarter_of(value) == 0) {
            out[made] = *value;
            out[made].flags = DRIVER_WAIT_NOR;
            out[made++].value = top - 1;
        }
        out[made] = *value;
        out[made++].flags = is_wait(value) ? value->flags & CONDITION_MASK : 0;
    }
    *out_count = made;
    return 0;
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
        return hip.stream_wait32(stream, value->address,
                                 (uint32_t)value->value, value->flags,
                                 UINT32_MAX);
    case DRIVER_WAIT64:
        return hip.stream_wait64(stream, value->address, value->value,
                                 value->flags, UINT64_MAX);
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

#define VALUES_MOST 32u  // at a time, for the sake of the stack

// One by one: hipStreamBatchMemOp has a thread of the GPU for each operation,
// so that a later one may come first.
static int batch(void *stream, unsigned count, struct driver_value *values,
                 unsigned flags)
{
    struct driver_value made[2 * VALUES_MOST];
    int code = flags                     ? HIP_INVALID_VALUE
               : may_hang(values, count) ? HIP_NOT_SUPPORTED
                                         : 0;
    for (unsigned i = 0; i < count && code == 0; i += VALUES_MOST) {
        unsigned some = count - i < VALUES_MOST ? count - i : VALUES_MOST;
        unsigned made_count = 0;
        code = hip_values_of(values + i, some, made, &made_count);
        if (code == 0)
            code = one_by_one(stream, made_count, made);
    }
    return code;
}

static int wait32(void *stream, uint64_t address, uint32_t value,
                  unsigned flags)
{
    return batch(stream, 1, &(struct driver_value){DRIVER_WAIT32, address,
                                                   value, flags, 0, 0}, 0);
}

// --- Streams -----------------------------------------------------------------

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

static driver_context_device_fn *get_device;  // hipGetDevice

// A default stream is the current device's.
static int context_of(void *stream, void **out_context)
{
    int device = -1, code = HIP_NOT_SUPPORTED;
    *out_context = NULL;
    if ((uintptr_t)stream <= DRIVER_STREAM_SPECIAL_MOST)
        code = get_device(&device);
    else if (hip.stream_context)
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
    int code = value < WORD_MOST ? hip_refusal() : HIP_NOT_SUPPORTED;
    (void)call;
    return code ? code
                : hip.stream_wait32(stream, word, value, DRIVER_WAIT_GEQ,
                                    UINT32_MAX);
}

const struct driver_points hip_points = {announce, await};

void hip_adapt_streams(struct driver_functions *call)
{
    write32 = call->stream_write32;
    get_device = call->context_device;
    call->stream_wait32 = wait32;
    call->stream_batch = batch;
    call->stream_set_attribute = set_attribute;
    call->stream_get_attribute = get_attribute;
    call->stream_flags = flags_of;
    call->stream_context = context_of;
}
