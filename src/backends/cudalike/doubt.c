#include "backends/cudalike/doubt.h"
#include "backends/cudalike/reaper.h"

#include "core/op.h"

#include <stdio.h>

// A stream that waits, already, for one in doubt.
struct follower {
    struct follower *next;
    struct stream *stream;  // referenced
    uint64_t point;         // of the other stream, that it waits for
    uint64_t at;            // its first operation that does
};

struct doubt {
    _Atomic uint32_t references;  // of the stream and of events
    struct lock lock;             // guards all below
    bool over;                    // nothing can fail any more
    struct failure *failure;
    uint64_t failed_at;           // the operation of the stream
    struct follower *followers;
};

static void drop_followers(struct follower *follower)
{
    while (follower) {
        struct follower *next = follower->next;
        stream_drop(follower->stream);
        mem_release(follower, sizeof *follower);
        follower = next;
    }
}

struct doubt *doubt_retain(struct doubt *doubt)
{
    if (doubt)
        atomic_fetch_add(&doubt->references, 1);
    return doubt;
}

void doubt_drop(struct doubt *doubt)
{
    if (!doubt || atomic_fetch_sub(&doubt->references, 1) != 1)
        return;
    drop_followers(doubt->followers);
    failure_drop(doubt->failure);
    mem_release(doubt, sizeof *doubt);
}

// Uses `fresh`, unless that is NULL, where there is no doubt yet. False when
// there is none even so.
static bool raise(struct gpu_stream *own, uint64_t sequence,
                  struct doubt *fresh, bool *out_used)
{
    lock_take(&own->list_lock);
    *out_used = fresh && !atomic_load(&own->doubt);
    if (*out_used)
        atomic_store(&own->doubt, fresh);
    bool raised = atomic_load(&own->doubt) != NULL;
    if (raised && own->doubtful < sequence)
        own->doubtful = sequence;
    lock_give(&own->list_lock);
    return raised;
}

int doubt_begin(struct stream *stream, uint64_t sequence)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    bool used;
    if (raise(own, sequence, NULL, &used))
        return 0;
    struct doubt *fresh = mem_allocate(sizeof *fresh);
    if (!fresh)
        return gpu_of(stream_context(stream))->driver->out_of_memory;
    atomic_store(&fresh->references, 1);
    raise(own, sequence, fresh, &used);
    if (!used)
        doubt_drop(fresh);
    return 0;
}

struct doubt *doubt_share_any(struct stream *stream)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    lock_take(&own->list_lock);
    struct doubt *doubt = atomic_load(&own->doubt);
    doubt_retain(doubt);
    lock_give(&own->list_lock);
    return doubt;
}

static struct failure *failure_locked(const struct doubt *doubt,
                                      uint64_t point)
{
    if (!doubt->failure || doubt->failed_at > point)
        return NULL;
    atomic_fetch_add(&doubt->failure->references, 1);
    return doubt->failure;
}

struct failure *doubt_failure(struct doubt *doubt, uint64_t point)
{
    lock_take(&doubt->lock);
    struct failure *failure = failure_locked(doubt, point);
    lock_give(&doubt->lock);
    return failure;
}

// Nothing failed, nor will.
static bool is_settled(struct doubt *doubt)
{
    lock_take(&doubt->lock);
    bool settled = doubt->over && !doubt->failure;
    lock_give(&doubt->lock);
    return settled;
}

int doubt_follow(struct doubt *doubt, uint64_t point, struct stream *stream,
                 uint64_t at)
{
    // Of a stream that is gone nobody is told.
    if (is_settled(doubt) || !object_keep_if_alive(&stream->object))
        return 0;
    struct follower *follower = mem_allocate(sizeof *follower);
    // Threads that use the same stream may have put the wait behind more.
    uint64_t last = atomic_load(&stream->enqueued);
    if (!follower || doubt_begin(stream, last > at ? last : at) != 0) {
        mem_release(follower, sizeof *follower);
        int code = gpu_of(stream_context(stream))->driver->out_of_memory;
        object_drop(&stream->object);
        return code;
    }
    *follower = (struct follower){NULL, stream, point, at};
    lock_take(&doubt->lock);
    struct failure *failure = failure_locked(doubt, point);
    bool waits = !failure && !doubt->over;
    if (waits) {
        follower->next = doubt->followers;
        doubt->followers = follower;
    }
    lock_give(&doubt->lock);
    if (failure)
        doubt_fail(stream, failure, at, true);
    if (!waits)
        drop_followers(follower);
    return 0;
}

// Adds those who wait for what failed to the list.
static void collect(struct doubt *doubt, struct failure *failure, uint64_t at,
                    struct follower **list)
{
    lock_take(&doubt->lock);
    if (!doubt->failure || at < doubt->failed_at) {
        atomic_fetch_add(&failure->references, 1);
        failure_drop(doubt->failure);
        doubt->failure = failure;
        doubt->failed_at = at;
    }
    for (struct follower **link = &doubt->followers; *link;) {
        struct follower *follower = *link;
        if (follower->point < at) {
            link = &follower->next;
            continue;
        }
        *link = follower->next;
        follower->next = *list;
        *list = follower;
    }
    lock_give(&doubt->lock);
}

static void fail_one(struct stream *stream, struct failure *failure,
                     uint64_t at, bool inherited, struct follower **list)
{
    uint64_t point;
    struct doubt *doubt = doubt_share(stream, &point);
    if (doubt)
        collect(doubt, failure, at, list);
    doubt_drop(doubt);
    atomic_fetch_add(&failure->references, 1);
    stream_fails_from(stream, at);
    stream_set_failure(stream, failure, inherited);
}

void doubt_fail(struct stream *stream, struct failure *failure, uint64_t at,
                bool inherited)
{
    struct follower *list = NULL;
    fail_one(stream, failure, at, inherited, &list);
    while (list) {
        struct follower *follower = list;
        list = follower->next;
        follower->next = NULL;
        fail_one(follower->stream, failure, follower->at, true, &list);
        drop_followers(follower);
    }
    failure_drop(failure);
}

void doubt_refuse(struct stream *stream, const struct op *op, int code)
{
    char message[160];
    const char *text = NULL;
    const struct driver *driver = gpu_of(stream_context(stream))->driver;
    // Then it is not this op's fault, and host functions need no driver.
    if (driver->is_sticky(code))
        context_lose(stream_context(stream), NULL, code);
    driver->call.error_text(code, &text);
    snprintf(message, sizeof message, "the driver refused it: %s (%d)",
             text ? text : "it does not say why", code);
    doubt_fail(stream,
               failure_create(stream, op->sequence, op, driver->status(code),
                              message),
               op->sequence, false);
}

void doubt_settle(struct stream *stream, bool all)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    if (!atomic_load_explicit(&own->doubt, memory_order_relaxed))
        return;
    lock_take(&own->list_lock);
    struct doubt *doubt = atomic_load(&own->doubt);
    if (!all && own->doubtful > atomic_load(&own->completed))
        doubt = NULL;
    if (doubt)
        atomic_store(&own->doubt, NULL);
    lock_give(&own->list_lock);
    if (!doubt)
        return;
    lock_take(&doubt->lock);
    struct follower *followers = doubt->followers;
    doubt->followers = NULL;
    doubt->over = true;
    lock_give(&doubt->lock);
    drop_followers(followers);
    doubt_drop(doubt);
}
