// Buffers of a pool that wait for their release stream, at that stream.
#pragma once

#include "core/core.h"

// What is asked for, and where it is looked for.
struct pool_request {
    rnl_memory_kind kind;
    size_t size, capacity;
    unsigned bin;
};

static inline bool pool_fits(const struct buffer *buffer,
                             const struct pool_request *request)
{
    return buffer->kind == request->kind &&
           buffer->capacity >= request->capacity &&
           buffer->capacity - request->capacity <= request->capacity / 4;
}

// Puts a list, linked by next_kept, where the next buffers are taken from. What
// the pool may not keep is added to `*out_gone`, for pool_discard_list.
void pool_keep_list(struct memory_pool *pool, struct buffer *buffer,
                    struct buffer **out_gone);
// Not under a lock: streams may end.
void pool_discard_list(struct context *context, struct buffer *buffer);

// True when the buffer is at its stream now, from where another thread may
// already have taken it. `stream` NULL: the default stream.
bool pool_wait_at_stream(struct buffer *buffer, struct stream *stream);

// What waits for nothing any more becomes anybody's or goes back.
void pool_collect(struct context *context);

// Has the backend find out how far streams are where something waits.
void pool_look(struct context *context);

// One that waits for the stream that the new one is for, or NULL.
struct buffer *pool_find_waiting(struct memory_pool *pool,
                                 struct stream *stream,
                                 const struct pool_request *request);
