#include "core/backend.h"
#include "core/memory/memory_pool.h"
#include "core/object/buffer_object.h"
#include "core/object/context_object.h"
#include "core/object/object.h"
#include "core/object/pool_state.h"
#include "core/stream/release_point.h"
#include "core/stream/stream.h"
#include "core/tuning.h"

static void unlist_locked(struct stream *stream)
{
    ASSERT(lock_is_held(&stream_context(stream)->pool.deferred_lock));
    struct pool_deferred *waiting = &stream->deferred;
    *waiting->link = waiting->next;
    if (waiting->next)
        waiting->next->deferred.link = waiting->link;
    waiting->link = NULL;
}

static void wait_locked(struct memory_pool *pool, struct stream *stream,
                        struct buffer *buffer)
{
    ASSERT(lock_is_held(&pool->deferred_lock));
    struct pool_deferred *waiting = &stream->deferred;
    buffer->next_kept = NULL;
    if (atomic_load(&waiting->first))
        waiting->last->next_kept = buffer;
    else
        atomic_store(&waiting->first, buffer);
    waiting->last = buffer;
    atomic_fetch_add(&pool->deferred_count, 1);
    if (waiting->link)
        return;
    waiting->next = pool->deferred_streams;
    waiting->link = &pool->deferred_streams;
    if (waiting->next)
        waiting->next->deferred.link = &waiting->next;
    pool->deferred_streams = stream;
}

bool pool_defer(struct buffer *buffer, struct stream *stream)
{
    struct context *context = buffer->object.context;
    struct memory_pool *pool = &context->pool;
    uint64_t point = atomic_load_explicit(&buffer->release_point,
                                          memory_order_relaxed);
    if (point == 0)
        return false;
    struct stream *target = stream ? stream : context->default_stream;
    bool closed = !stream && atomic_load_explicit(&pool->closed,
                                                  memory_order_acquire);
    if ((!closed && stream_has_passed(target, point)) ||
        (!stream && !default_stream_keep(context)))
        return false;
    lock_take(&pool->deferred_lock);
    bool waits = !stream_has_passed(target, point);
    if (waits)
        wait_locked(pool, target, buffer);
    lock_give(&pool->deferred_lock);
    if (!stream)
        object_unref(&target->object);
    return waits;
}

struct buffer *pool_take_ready_locked(struct memory_pool *pool,
                                   struct stream *stream, bool all)
{
    ASSERT(lock_is_held(&pool->deferred_lock));
    struct buffer *first = atomic_load(&stream->deferred.first), *ready = NULL;
    while (first && (all || stream_has_passed(stream, first->release_point))) {
        struct buffer *next = first->next_kept;
        first->next_kept = ready;
        ready = first;
        first = next;
        COUNT_DOWN(&pool->deferred_count);
    }
    atomic_store(&stream->deferred.first, first);
    if (!first && stream->deferred.link)
        unlist_locked(stream);
    return ready;
}

static rnl_status look(struct stream *stream, void *unused)
{
    (void)unused;
    if (atomic_load(&stream->deferred.first))
        stream->backend->stream_query(stream);
    return RNL_OK;
}

void pool_poll_streams(struct context *context)
{
    if (pool_has_deferred(&context->pool))
        context_each_stream(context, look, NULL);
}

struct buffer *pool_take_deferred(struct memory_pool *pool,
                                 struct stream *stream,
                                 const struct pool_request *request)
{
    if (!stream || !atomic_load_explicit(&stream->deferred.first,
                                         memory_order_relaxed))
        return NULL;
    lock_take(&pool->deferred_lock);
    struct buffer *at = atomic_load(&stream->deferred.first), *before = NULL;
    for (int looks = 1; at && (at->spent || !pool_fits(at, request)); looks++) {
        before = at;
        at = looks < POOL_LOOK_MOST ? at->next_kept : NULL;
    }
    if (at) {
        if (before)
            before->next_kept = at->next_kept;
        else
            atomic_store(&stream->deferred.first, at->next_kept);
        if (stream->deferred.last == at)
            stream->deferred.last = before;
        COUNT_DOWN(&pool->deferred_count);
        if (!atomic_load(&stream->deferred.first))
            unlist_locked(stream);
    }
    lock_give(&pool->deferred_lock);
    return at;
}
