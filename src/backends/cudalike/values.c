#include "backends/cudalike/cudalike.h"

#define VALUES_AT_ONCE 64

// `flushes`: the device can; where it cannot, nothing comes past the bus that
// would have to be.
struct driver_value gpu_value(const struct value *value, bool flushes)
{
    static const unsigned conditions[] = {
        [RNL_WAIT_GEQ] = DRIVER_WAIT_GEQ,
        [RNL_WAIT_EQ] = DRIVER_WAIT_EQ,
        [RNL_WAIT_AND] = DRIVER_WAIT_AND,
        [RNL_WAIT_NOR] = DRIVER_WAIT_NOR,
    };
    bool writes = value->action == RNL_WRITE_VALUE, wide = value->width == 64;
    unsigned flags = writes ? 0 : conditions[value->action];
    if (value->flags & RNL_VALUE_FLUSH && flushes)
        flags |= DRIVER_WAIT_FLUSH;
    return (struct driver_value){
        .operation = writes ? (wide ? DRIVER_WRITE64 : DRIVER_WRITE32)
                            : (wide ? DRIVER_WAIT64 : DRIVER_WAIT32),
        .address = (uint64_t)(uintptr_t)value->address,
        .value = value->value,
        .flags = flags,
    };
}

int gpu_values(struct stream *stream, struct op *op)
{
    const struct gpu_context *gpu = gpu_of(stream_context(stream));
    const struct driver_functions *call = call_of(gpu);
    void *handle = gpu_stream_of(stream)->handle;
    struct driver_value values[VALUES_AT_ONCE];
    int code = 0;
    for (size_t i = 0; i < op->values.count && code == 0;) {
        unsigned count = 0;
        while (i < op->values.count && count < VALUES_AT_ONCE)
            values[count++] = gpu_value(&op->values.items[i++], gpu->flushes);
        code = call->stream_batch(handle, count, values, 0);
    }
    return code;
}
