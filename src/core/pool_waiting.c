#include "core/pool_waiting.h"

#include "core/backend.h"

// Of a create: others wait for the lock meanwhile.
#define LOOKS_MOST 64

// What a batch has collected comes before the point, too.
uint64_t stream_point(const struct stream *stream)
{
    uint64_t point = atomic_load_explicit(&stream->batch_count,
                                          memory_order_acquire);
    return point + atomic_load_explicit(&stream->enqueued,
                                        memory_order_relaxed);
}

// A point may count ops of a batch that were submitted meanwhile, or refused:
// with an empty batch no other can come before it.
bool stream_has_passed(const struct stream *stream, uint64_t point)
{
    const _Atomic uint64_t *completed =
        atomic_load_explicit(&stream->completed, memory_order_relaxed);
    if (!completed)
        return true;
    if (atomic_load_explicit(&stream->batch_count, memory_order_acquire) == 0) {
        uint64_t submitted = atomic_load_explicit(&stream->enqueued,
                                                  memory_order_acquire);
        point = point < submitted ? point : submitted;
    }
    return atomic_load_explicit(completed, memory_order_acquire) >= point;
}

static void unlist_locked(struct stream *stream)
{
    ASSERT(lock_is_held(&stream_context(stream)->pool.waiting_lock));
    struct pool_waiting *waiting = &stream->waiting;
    *waiting->link = waiting->next;
    if (waiting->next)
        waiting->next->waiting.link = waiting->link;
    waiting->link = NULL;
}

static void wait_locked(struct memory_pool *pool, struct stream *stream,
                        struct buffer *buffer)
{
    ASSERT(lock_is_held(&pool->waiting_lock));
    struct pool_waiting *waiting = &stream->waiting;
    buffer->next_kept = NULL;
    if (atomic_load(&waiting->first))
        waiting->last->next_kept = buffer;
    else
        atomic_store(&waiting->first, buffer);
    waiting->last = buffer;
    atomic_fetch_add(&pool->waiting_count, 1);
    if (waiting->link)
        return;
    waiting->next = pool->waiting_streams;
    waiting->link = &pool->waiting_streams;
    if (waiting->next)
        waiting->next->waiting.link = &waiting->next;
    pool->waiting_streams = stream;
}

bool pool_wait_at_stream(struct buffer *buffer, struct stream *stream)
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
    lock_take(&pool->waiting_lock);
    bool waits = !stream_has_passed(target, point);
    if (waits)
        wait_locked(pool, target, buffer);
    lock_give(&pool->waiting_lock);
    if (!stream)
        object_drop(&target->object);
    return waits;
}

// Takes those out of a stream's list whose time has come, up to the first that
// has to wait, or all.
static struct buffer *ready_locked(struct memory_pool *pool,
                                   struct stream *stream, bool all)
{
    ASSERT(lock_is_held(&pool->waiting_lock));
    struct buffer *first = atomic_load(&stream->waiting.first), *ready = NULL;
    while (first && (all || stream_has_passed(stream, first->release_point))) {
        struct buffer *next = first->next_kept;
        first->next_kept = ready;
        ready = first;
        first = next;
        COUNT_DOWN(&pool->waiting_count);
    }
    atomic_store(&stream->waiting.first, first);
    if (!first && stream->waiting.link)
        unlist_locked(stream);
    return ready;
}

static bool has_waiting(struct memory_pool *pool)
{
    return atomic_load_explicit(&pool->waiting_count,
                                memory_order_relaxed) > 0;
}

void pool_collect(struct context *context)
{
    struct memory_pool *pool = &context->pool;
    struct buffer *gone = NULL;
    if (!has_waiting(pool))
        return;
    lock_take(&pool->waiting_lock);
    struct stream *stream = pool->waiting_streams;
    while (stream) {
        struct stream *next = stream->waiting.next;
        pool_keep_list(pool, ready_locked(pool, stream, false), &gone);
        stream = next;
    }
    lock_give(&pool->waiting_lock);
    pool_discard_list(context, gone);
}

static rnl_status look(struct stream *stream, void *unused)
{
    (void)unused;
    if (atomic_load(&stream->waiting.first))
        stream->backend->stream_wait(stream, DEADLINE_LOOK);
    return RNL_OK;
}

void pool_look(struct context *context)
{
    if (has_waiting(&context->pool))
        context_each_stream(context, look, NULL);
}

void memory_pool_passed(struct context *context)
{
    if (context->pool.threshold != SIZE_MAX)
        pool_collect(context);
}

void memory_pool_stream_finish(struct stream *stream)
{
    struct context *context = stream_context(stream);
    struct memory_pool *pool = &context->pool;
    struct buffer *gone = NULL;
    if (!atomic_load(&stream->waiting.first))
        return;
    lock_take(&pool->waiting_lock);
    pool_keep_list(pool, ready_locked(pool, stream, true), &gone);
    lock_give(&pool->waiting_lock);
    pool_discard_list(context, gone);
}

struct buffer *pool_find_waiting(struct memory_pool *pool,
                                 struct stream *stream,
                                 const struct pool_request *request)
{
    if (!stream || !atomic_load_explicit(&stream->waiting.first,
                                         memory_order_relaxed))
        return NULL;
    lock_take(&pool->waiting_lock);
    struct buffer *at = atomic_load(&stream->waiting.first), *before = NULL;
    for (int looks = 1; at && (at->spent || !pool_fits(at, request)); looks++) {
        before = at;
        at = looks < LOOKS_MOST ? at->next_kept : NULL;
    }
    if (at) {
        if (before)
            before->next_kept = at->next_kept;
        else
            atomic_store(&stream->waiting.first, at->next_kept);
        if (stream->waiting.last == at)
            stream->waiting.last = before;
        COUNT_DOWN(&pool->waiting_count);
        if (!atomic_load(&stream->waiting.first))
            unlist_locked(stream);
    }
    lock_give(&pool->waiting_lock);
    return at;
}
