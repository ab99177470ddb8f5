// The pool of a context.
#pragma once

#include "core/object/buffer_object.h"

// Sets memory aside if the context's options ask for it.
rnl_status memory_pool_init(struct context *context);

// The caller has no reference to the context any more; has one again.
void memory_pool_close(struct context *context);
void memory_pool_open(struct context *context);

// Frees everything; no buffer is left.
void memory_pool_finish(struct context *context);

// A buffer with memory for `size` bytes, at least 1, not yet published and
// without a label. `stream`: it is only used in that stream's order; NULL:
// anywhere. NULL after recording why.
struct buffer *memory_pool_take(struct context *context, struct stream *stream,
                                rnl_memory_kind kind, size_t size);

// Keeps a buffer that memory_pool_take gave and that has no reference any more,
// or frees it. May end the context. `stream`: in whose order; may be NULL.
void memory_pool_give(struct buffer *buffer, struct stream *stream);

// Gives back what is not used until no more than `keep` bytes are reserved.
void memory_pool_trim(struct context *context, size_t keep);

// Memory that is no buffer's: the pool makes room for it if need be.
rnl_status memory_pool_allocate(struct context *context, rnl_memory_kind kind,
                                size_t size, struct memory *out_memory);

// --- Buffers that wait at their release stream (pool_deferred.c) ------------

// A request for memory, and the bin to search.
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

// True if the buffer is deferred at its stream, from where another thread may
// already have taken the buffer. `stream` NULL: the default stream.
bool pool_defer(struct buffer *buffer, struct stream *stream);

static inline bool pool_has_deferred(struct memory_pool *pool)
{
    return atomic_load_explicit(&pool->deferred_count,
                                memory_order_relaxed) > 0;
}

// Takes the buffers out of a stream's list whose release point the stream has
// passed, or all of them.
struct buffer *pool_take_ready_locked(struct memory_pool *pool,
                                 struct stream *stream, bool all);

// Has the backend find out how far streams are where something waits.
void pool_poll_streams(struct context *context);

// A deferred buffer of the stream that fits the request, or NULL.
struct buffer *pool_take_deferred(struct memory_pool *pool,
                                 struct stream *stream,
                                 const struct pool_request *request);
