// Words of memory that streams write and wait for.
#pragma once

#include "core/stream/op.h"

// Checks `count` operations, at least 1, and makes an unsubmitted op of them
// that references their buffers. For graph nodes, too.
rnl_status memory_ops_create(struct stream *stream, const rnl_value_op *ops,
                     size_t count, struct op **out_op);

static inline uint64_t memory_op_read(const struct memory_op *value)
{
    return value->width == 32
               ? __atomic_load_n((uint32_t *)(void *)value->address,
                                 __ATOMIC_ACQUIRE)
               : __atomic_load_n((uint64_t *)(void *)value->address,
                                 __ATOMIC_ACQUIRE);
}

static inline void memory_op_write(const struct memory_op *value)
{
    if (value->width == 32)
        __atomic_store_n((uint32_t *)(void *)value->address,
                         (uint32_t)value->value, __ATOMIC_RELEASE);
    else
        __atomic_store_n((uint64_t *)(void *)value->address, value->value,
                         __ATOMIC_RELEASE);
}

// Whether memory has the value that the operation waits for.
static inline bool memory_op_holds(const struct memory_op *value)
{
    uint64_t ones = UINT64_MAX >> (64 - value->width);
    uint64_t memory = memory_op_read(value);
    switch (value->action) {
    case RNL_WAIT_GEQ:  // the sign of the difference
        return !((memory - value->value) >> (value->width - 1) & 1);
    case RNL_WAIT_EQ:
        return memory == value->value;
    case RNL_WAIT_AND:
        return (memory & value->value) != 0;
    case RNL_WAIT_NOR:
        return (~(memory | value->value) & ones) != 0;
    default:
        return true;
    }
}
