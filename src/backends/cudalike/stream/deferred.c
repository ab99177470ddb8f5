// The deferred operations of a stream.
//
// Streams share a few hardware queues. A stream that waits for the host blocks
// the other streams of its queue. A full queue blocks every thread that calls
// the driver, including the thread that could end the wait.
//
// So an operation behind a host function, or behind a copy of ordinary memory,
// is deferred until the host is done. A wait for an event is deferred until its
// record is submitted, and a wait for a promise until the promise is kept or
// broken. The driver only gets work that proceeds without the host. A stream
// that has failed skips the waits behind the failure.
//
// A graph launch, and other users of the native stream, need all work in the
// driver at once. Then everything is submitted, and the driver itself waits for
// the host's word.
#include "backends/cudalike/stream/deferred.h"

#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/graph_fence.h"
#include "backends/cudalike/timeline/host_queue.h"
#include "backends/cudalike/timeline/marker.h"
#include "backends/cudalike/timeline/op_history.h"
#include "backends/cudalike/timeline/progress.h"
#include "backends/cudalike/timeline/timeline.h"
#include "backends/cudalike/tuning.h"

// The right to take the locks of several streams; taken before any such lock.
static struct lock submit_lock = LOCK_RANKED(RANK_SUBMIT);

// --- Markers that are not recorded yet ---------------------------------------

static struct marker *op_marker(const struct op *op)
{
    return gpu_op_of(op)->point.marker;
}

bool deferred_is_for_host(const struct op *op)
{
    return gpu_op_of(op)->point.for_host;
}

void deferred_leave_to_host(struct op *op)
{
    gpu_op_of(op)->point.for_host = true;
}

void marker_promise(struct marker *marker)
{
    marker->promise = true;
    atomic_store(&marker->pending, 1);
}

void marker_settle(struct marker *marker, struct stream *stream)
{
    lock_take(&marker->lock);
    if (stream)
        marker->stream = stream;
    else
        atomic_store(&marker->done, true);
    COUNT_DOWN(&marker->pending);
    lock_give(&marker->lock);
}

struct op *deferred_marker_op(struct stream *stream, enum op_kind kind,
                          struct marker *marker)
{
    struct op *op = op_create(stream, kind, 0);
    if (!op)
        return NULL;
    gpu_op_of(op)->point.marker = marker_share(marker);
    gpu_op_of(op)->point.for_host = false;
    object_ref(&marker->home->object);
    op->kept[op->kept_count++] = &marker->home->object;
    if (kind == OP_TIMESTAMP) {
        lock_take(&marker->lock);
        marker->stream = stream;
        atomic_fetch_add(&marker->pending, 1);
        lock_give(&marker->lock);
    }
    return op;
}

// Returns the stream that is to record the marker; the caller drops the stream.
// NULL: no stream has to. A stream that is gone was given the record of a
// promise that is about to be kept.
static struct stream *recorder_of(struct marker *marker)
{
    lock_take(&marker->lock);
    struct stream *stream =
        atomic_load(&marker->pending) ? marker->stream : NULL;
    if (stream && !object_ref_if_alive(&stream->object))
        stream = NULL;
    lock_give(&marker->lock);
    return stream;
}

void deferred_marker_over(struct op *op, bool recorded)
{
    struct marker *marker = op_marker(op);
    if (op->kind == OP_TIMESTAMP) {
        marker_settle(marker, recorded ? op->stream : NULL);
        progress_wake();
    }
    marker_drop(marker->home, marker);
}

// True if the stream itself records the marker, before the wait or, for a
// promise, behind the wait. Then the stream need not wait.
static bool is_own(struct stream *stream, struct marker *marker)
{
    lock_take(&marker->lock);
    bool own = marker->stream == stream;
    lock_give(&marker->lock);
    return own;
}

bool deferred_wait_is_over(struct stream *stream, const struct op *op)
{
    struct marker *marker = op_marker(op);
    return context_is_lost(stream_context(stream)) || is_own(stream, marker) ||
           marker_query(marker->home, marker) != RNL_NOT_READY;
}

int deferred_marker_submit(struct stream *stream, struct op *op)
{
    struct gpu_context *gpu = gpu_of(stream_context(stream));
    void *handle = gpu_stream_of(stream)->handle;
    struct marker *marker = op_marker(op);
    bool lost = context_is_lost(stream_context(stream));
    int code = 0;
    if (!lost && op->kind == OP_TIMESTAMP)
        code = call_of(gpu)->event_record(marker->event, handle);
    // A marker that is still pending belongs to a wait that the stream skips.
    if (!lost && op->kind == OP_WAIT && !atomic_load(&marker->done) &&
        !atomic_load(&marker->pending) && !is_own(stream, marker)) {
        stream_leave_fence_locked(stream);
        code = call_of(gpu)->stream_wait_event(handle, marker->event, 0);
    }
    if (code == 0)
        deferred_marker_over(op, true);
    return code;
}

// --- Conditions --------------------------------------------------------------

bool stream_still_defers_locked(struct stream *stream)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    struct gpu_stream *own = gpu_stream_of(stream);
    bool holds = own->deferred || host_queue_is_busy_locked(stream);
    atomic_store_explicit(&own->defers, holds, memory_order_release);
    return holds;
}

// True if the op waits for a marker that another thread has to release.
static bool waits_for_others(struct stream *stream, const struct op *op)
{
    return op->kind == OP_WAIT && atomic_load(&op_marker(op)->pending) &&
           !deferred_is_for_host(op) && !is_own(stream, op_marker(op)) &&
           !context_is_lost(stream_context(stream)) &&
           !stream_skips_wait(stream, op->sequence);
}

bool deferred_may_submit_locked(struct stream *stream, const struct op *op)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    // Host functions run in order anyway, so the next need not wait for the
    // queue.
    if (host_queue_is_busy_locked(stream))
        return op->kind == OP_HOST &&
               gpu_stream_of(stream)->last == LAST_HOST;
    return !waits_for_others(stream, op);
}

void stream_defer_locked(struct stream *stream, struct op *first)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    struct gpu_stream *own = gpu_stream_of(stream);
    if (own->deferred)
        own->deferred_last->next = first;
    else
        own->deferred = first;
    while (first->next)
        first = first->next;
    own->deferred_last = first;
    atomic_store_explicit(&own->defers, true, memory_order_release);
}

// --- Submitting --------------------------------------------------------------

static size_t room_locked(const struct gpu_stream *own)
{
    ASSERT(lock_is_held(&own->lock));
    uint64_t submitted = atomic_load(&timeline_of(own)->submitted);
    uint64_t completed = atomic_load(&timeline_of(own)->completed);
    // On a lost device, `completed` may pass `submitted`.
    uint64_t under_way = submitted > completed ? submitted - completed : 0;
    return under_way < UNDER_WAY_MOST ? UNDER_WAY_MOST - (size_t)under_way : 0;
}

// Returns the marker that the oldest deferred op waits for, or NULL.
static struct marker *awaited_locked(struct stream *stream)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    const struct op *op = gpu_stream_of(stream)->deferred;
    return op && waits_for_others(stream, op) ? op_marker(op) : NULL;
}

bool deferred_only_writes(const struct op *op)
{
    bool only = op->kind == OP_MEMORY_OPS;
    for (size_t i = 0; only && i < op->memory_ops.count; i++)
        only = op->memory_ops.items[i].action == RNL_WRITE_VALUE;
    return only;
}

static size_t count_writes_locked(const struct gpu_stream *own)
{
    ASSERT(lock_is_held(&own->lock));
    size_t count = 0;
    for (const struct op *op = own->deferred; op && deferred_only_writes(op);
         op = op->next)
        count++;
    return count;
}

// Submits the deferred ops that may go. `writes`: only values to be written.
static __attribute__((noinline)) bool submit_ready(struct stream *stream,
                                                bool writes)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    struct gpu_context *gpu = gpu_of(stream_context(stream));
    struct op *over = NULL;
    if (!lock_try(&own->lock))
        return false;
    size_t room = room_locked(own);
    size_t most = writes ? count_writes_locked(own) : room;
    most = most < room ? most : room;
    bool may = own->deferred &&
               deferred_may_submit_locked(stream, own->deferred);
    if (may && (most > 0 || !writes)) {
        void *before = current_enter(gpu);
        stream_submit_deferred_locked(stream, most, &over);
        if (!writes)
            stream_mark_locked(stream);
        current_back(gpu, before);
    }
    stream_defers_locked(stream);
    // The thread that releases the marker wakes the progress thread.
    atomic_store(&own->awaits,
                 own->deferred && waits_for_others(stream, own->deferred));
    lock_give(&own->lock);
    op_end_list(over);
    return may && most > 0;
}

static bool may_defer(const struct stream *stream)
{
    return atomic_load_explicit(&gpu_stream_of(stream)->defers,
                                memory_order_acquire);
}

bool stream_submit_ready(struct stream *stream)
{
    return may_defer(stream) && submit_ready(stream, false);
}

bool stream_submit_writes(struct stream *stream)
{
    return may_defer(stream) && submit_ready(stream, true);
}

// Submits the deferred ops, up to the record of `until` or to the end. An op
// before a record never depends on an op behind the record. Promises are the
// exception and are left to the progress thread, so this function meets no
// stream twice. Returns 0, or the code by which the driver refused to wait for
// the host; the remaining ops are then still deferred.
static int submit_all(struct stream *stream, const struct marker *until,
                      struct op **over)
{
    struct gpu_context *gpu = gpu_of(stream_context(stream));
    struct gpu_stream *own = gpu_stream_of(stream);
    void *before = current_enter(gpu);
    int code = 0;
    lock_take(&own->lock);
    while (code == 0 && stream_defers_locked(stream) &&
           (!until || atomic_load(&until->pending))) {
        code = host_queue_await_locked(stream);
        if (code != 0)
            break;
        struct marker *marker = awaited_locked(stream);
        bool promise = marker && marker->promise;
        struct stream *other =
            marker && !promise ? recorder_of(marker) : NULL;
        if (promise)
            deferred_leave_to_host(own->deferred);
        if (other)
            code = submit_all(other, marker, over);
        if (other)
            object_unref(&other->object);
        stream_submit_deferred_locked(stream, SIZE_MAX, over);
        stream_mark_locked(stream);
    }
    lock_give(&own->lock);
    current_back(gpu, before);
    return code;
}

int stream_submit_all(struct stream *stream)
{
    struct op *over = NULL;
    if (!atomic_load_explicit(&gpu_stream_of(stream)->defers,
                              memory_order_acquire))
        return 0;
    lock_take(&submit_lock);
    int code = submit_all(stream, NULL, &over);
    lock_give(&submit_lock);
    op_end_list(over);
    return code;
}

void stream_submit_for_others(struct stream *stream)
{
    bool shared = atomic_load(&gpu_stream_of(stream)->shared);
    int code = shared ? stream_submit_all(stream) : 0;
    struct blame blame = {.sequence = atomic_load(&stream->enqueued),
                          .name = "wait"};
    if (code != 0)
        stream_refuse_blamed(stream, &blame, code);
}

int stream_lock_submitted(struct stream *stream)
{
    for (;;) {
        lock_take(&gpu_stream_of(stream)->lock);
        if (!stream_defers_locked(stream))
            return 0;
        lock_give(&gpu_stream_of(stream)->lock);
        int code = stream_submit_all(stream);
        if (code != 0)
            return code;
    }
}

int marker_submit(struct marker *marker)
{
    struct stream *stream = recorder_of(marker);
    if (!stream)
        return 0;
    int code = stream_submit_all(stream);
    object_unref(&stream->object);
    return code;
}
