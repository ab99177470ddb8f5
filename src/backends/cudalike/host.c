// Host functions run on threads of their own: one that blocks must hold up
// nothing but its stream, no copy and, within reason, no other host function.
#include "backends/cudalike/service.h"

#define THREADS_MOST 16

static struct lock queue_lock;   // guards all below but the word
static struct op *queue, *queue_last;
static unsigned started, queued, busy;
static _Atomic uint32_t news;    // changes when something was queued

static void call(struct stream *stream, const struct op *op)
{
    struct context *context = stream_context(stream);
    struct failure *lost = atomic_load(&context->lost);
    rnl_status status = lost ? lost->status : RNL_OK;
    struct failure *failure = lost ? NULL : stream_get_failure(stream);
    if (failure) {
        status = failure_status(failure, stream);
        failure_drop(failure);
    }
    callback_begin();
    op->host.function(status, op->host.user_data);
    callback_end();
}

void host_run(struct op *op)
{
    struct stream *stream = op->stream;
    call(stream, op);
    service_item_done(stream, op, RNL_OK);
}

static struct op *take(void)
{
    lock_take(&queue_lock);
    struct op *op = queue;
    if (op) {
        queue = op->next;
        queued--;
        busy++;
    }
    lock_give(&queue_lock);
    return op;
}

static void leave(struct stream *stream)
{
    object_drop(&stream->object);
    lock_take(&queue_lock);
    busy--;
    lock_give(&queue_lock);
}

static void *run(void *unused)
{
    for (;;) {
        uint32_t seen = atomic_load(&news);
        struct op *op = take();
        if (!op) {
            op_trim();  // nobody would miss them here
            futex_wait(&news, seen, RNL_FOREVER);
            continue;
        }
        struct stream *stream = op->stream;
        host_run(op);
        leave(stream);
    }
    return unused;
}

// One more than there are free ones is enough.
static bool start_locked(void)
{
    pthread_t thread;
    if (queued + busy >= started && started < THREADS_MOST &&
        thread_start(&thread, "rnl-host", run, NULL)) {
        pthread_detach(thread);
        started++;
    }
    return started > 0;
}

bool host_start(struct op *op)
{
    lock_take(&queue_lock);
    bool ok = start_locked();
    if (ok) {
        object_keep(&op->stream->object);
        op->next = NULL;
        if (queue)
            queue_last->next = op;
        else
            queue = op;
        queue_last = op;
        queued++;
    }
    lock_give(&queue_lock);
    if (ok) {
        atomic_fetch_add(&news, 1);
        futex_wake(&news, 1);
    }
    return ok;
}
