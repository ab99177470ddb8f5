// What the tests of stream memory operations share.
#pragma once

#include "suite.h"

#include <sched.h>
#include <stdatomic.h>

// A buffer that both host code and the device reach.
struct words {
    rnl_buffer buffer;
    union {
        _Atomic uint32_t *w32;
        _Atomic uint64_t *w64;
        void *pointer;
    };
};

static inline struct words new_words(size_t size)
{
    struct words words = {NULL, {NULL}};
    suite_need(RNL_FEATURE_MEMORY_OPERATIONS);
    expect_ok(rnl_buffer_create(suite_context(), size,
                                RNL_BUFFER_OPTIONS(.kind = RNL_MEMORY_HOST),
                                &words.buffer));
    expect_ok(rnl_buffer_host_pointer(words.buffer, &words.pointer));
    memset(words.pointer, 0, size);
    return words;
}

static inline void synchronize(rnl_stream stream)
{
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
}

static inline void expect_shut(rnl_stream stream)
{
    expect_error(rnl_stream_synchronize(stream, 0), RNL_ERROR_TIMED_OUT, NULL);
    assert_status(rnl_stream_query(stream), RNL_NOT_READY);
}

// Until the library called it, without a call that makes it look.
static inline void await_calls(struct host_calls *calls, int count)
{
    while (atomic_load(&calls->count) < count)
        sched_yield();
}

static inline void count_on(rnl_stream stream, struct host_calls *calls)
{
    expect_ok(rnl_enqueue_host_function(stream, count_host_call, calls));
}

static inline rnl_value_op op_on(struct words words, rnl_value_action action,
                                 size_t offset, uint64_t value)
{
    return *RNL_VALUE_OP(.action = action, .width = 32,
                         .buffer = words.buffer, .offset = offset,
                         .value = value);
}
