#include "backends/cudalike/stream/stream.h"

#include "backends/cudalike/driver/driver.h"
#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/driver/wait.h"
#include "backends/cudalike/stream/copy.h"
#include "backends/cudalike/stream/deferred.h"
#include "backends/cudalike/stream/shared_event.h"
#include "backends/cudalike/timeline/device_lost.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/graph_fence.h"
#include "backends/cudalike/timeline/host_queue.h"
#include "backends/cudalike/timeline/marker.h"
#include "backends/cudalike/timeline/op_history.h"
#include "backends/cudalike/timeline/progress.h"
#include "backends/cudalike/timeline/retire.h"
#include "backends/cudalike/timeline/timeline.h"
#include "base/read_mostly.h"

static rnl_status init(struct stream *stream, struct timeline *timeline)
{
    struct context *context = stream_context(stream);
    struct gpu_context *gpu = gpu_of(context);
    struct gpu_stream *own = gpu_stream_of(stream);
    unsigned flags = stream->flags & RNL_STREAM_NON_BLOCKING
                         ? DRIVER_STREAM_NON_BLOCKING
                         : 0;
    stream->completed = &timeline->completed;
    atomic_store(&own->timeline, timeline);
    own->handle = stream->borrowed;
    own->launch = call_of(gpu)->launch;
    own->shared = stream->borrowed != NULL;
    if (own->shared)
        graph_fences_enable();
    // A special handle of the vendor belongs to the current context, so calls
    // with such a handle need the stream's context.
    own->enters = !gpu->driver->handles_suffice ||
                  (own->shared && (uintptr_t)stream->borrowed <=
                                      DRIVER_STREAM_SPECIAL_MOST);
    if (stream->borrowed)
        return gpu_stream_borrow(stream);
    void *before = current_enter(gpu);
    int code = call_of(gpu)->stream_create(&own->handle, flags,
                                           stream->priority);
    current_back(gpu, before);
    return code == 0 ? RNL_OK
                     : driver_fail(context, code, "to create a stream");
}

rnl_status gpu_stream_init(struct stream *stream)
{
    struct timeline *timeline = timeline_create(stream->object.id);
    if (!timeline)
        return fail(RNL_ERROR_OUT_OF_MEMORY, "there is no memory for a stream");
    struct gpu_stream *own = gpu_stream_of(stream);
    lock_set_rank(&own->lock, RANK_STREAM);
    lock_set_rank(&own->host.lock, RANK_HOST_QUEUE);
    lock_set_rank(&own->fences_lock, RANK_LEAF);
    lock_set_rank(&own->asking, RANK_LEAF);
    rnl_status status = init(stream, timeline);
    if (status != RNL_OK)
        timeline_close(stream);
    return status;
}

void gpu_stream_finish(struct stream *stream)
{
    struct context *context = stream_context(stream);
    struct gpu_context *gpu = gpu_of(context);
    struct gpu_stream *own = gpu_stream_of(stream);
    void *before = current_enter(gpu);
    if (!stream->borrowed)
        call_of(gpu)->stream_destroy(own->handle);
    gpu->hooks->batches_finish(stream);
    current_back(gpu, before);
    marker_drop(context, own->marker);
    marker_drop_kept(stream);
    graph_fences_drop(stream);
    timeline_close(stream);
    if (own->host.words)
        host_words_drop(gpu, own->host.words, own->host.announced);
    op_history_finish(own);
}

// --- Submitting ------------------------------------------------------------

// The state of an op after its submission.
enum fate { FATE_OVER, FATE_PENDING, FATE_HOST };

static int give_graph(struct stream *stream, struct op *op, enum fate *fate)
{
    bool over = false;
    int code = hooks_of(op)->graph_launch(stream, op, &over);
    *fate = over ? FATE_OVER : FATE_PENDING;
    return code;
}

// If the driver refuses a part after accepting another part, the accepted part
// runs. So the op counts as an operation, and fails.
static int give_pieces(struct stream *stream, struct op *op, enum fate *fate)
{
    bool begun;
    int code = gpu_give(stream_context(stream),
                        gpu_stream_of(stream)->handle, op, &begun);
    if (code == 0 || !begun)
        return code;
    stream_refuse_late(stream, op, code);
    *fate = FATE_PENDING;
    return 0;
}

static int give_values(struct stream *stream, struct op *op, enum fate *fate)
{
    if (!deferred_only_writes(op)) {
        graph_fences_enable();
        stream_leave_fence_locked(stream);
    }
    return give_pieces(stream, op, fate);
}

static int give_locked(struct stream *stream, struct op *op, enum fate *fate)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    if (op->kind == OP_GRAPH)
        return give_graph(stream, op, fate);
    *fate = op_must_outlive(stream, op) ? FATE_PENDING : FATE_OVER;
    switch (op->kind) {
    case OP_KERNEL:
        return gpu_launch(stream, op);
    case OP_MEMORY_OPS:
        return give_values(stream, op, fate);
    case OP_FILL:
        return give_pieces(stream, op, fate);
    case OP_PREFETCH:
    case OP_ATTACH:
        return gpu_hint(stream, op);
    case OP_TIMESTAMP:
    case OP_WAIT:
        if (!deferred_is_for_host(op))
            return deferred_marker_submit(stream, op);
        break;
    case OP_ATTRIBUTES:
        gpu_give_attributes(stream, op);
        return 0;
    case OP_COPY:
        if (!gpu_copy_needs_host(stream, op))
            return give_pieces(stream, op, fate);
        break;
    case OP_HOST:
        break;
    default:
        return 0;
    }
    *fate = FATE_HOST;
    if (op->kind == OP_COPY)
        timeline_expect_failure(stream_timeline(stream),
                                op->sequence);
    return host_queue_submit_locked(stream, op);
}

// Records a marker if retired work, deferred ops or deferred buffers wait for
// progress of the stream, which may never be idle. The progress thread asks for
// each marker, so most operations have no marker.
void stream_mark_wanted_locked(struct stream *stream)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    struct gpu_stream *own = gpu_stream_of(stream);
    atomic_store_explicit(&own->mark_wanted, false, memory_order_relaxed);
    if (atomic_load_explicit(&own->marker, memory_order_acquire) ||
        (!atomic_load_explicit(&timeline_of(own)->retired,
                               memory_order_relaxed) &&
         !own->deferred &&
         !atomic_load_explicit(&stream->deferred.first,
                               memory_order_relaxed)) ||
        stream_captured_by_others(stream))
        return;
    int code;
    struct marker *marker = marker_record(stream, &code);
    if (!marker)
        return;
    // If the host's ops come last, the marker completes before their end, so
    // its value is `solid`.
    bool all = own->last == LAST_WORK || !host_queue_is_busy_locked(stream);
    marker->value =
        all ? atomic_load(&timeline_of(own)->submitted) : own->solid;
    ASSERT(marker->value <= atomic_load(&stream->enqueued));
    atomic_store_explicit(&own->marker, marker, memory_order_release);
}

// Ends an op that is no work of the device.
static void give_up_note(struct op *op)
{
    if (op->kind == OP_TIMESTAMP && deferred_is_for_host(op))
        shared_record_give_up(op);
    else if (op->kind == OP_TIMESTAMP || op->kind == OP_WAIT)
        deferred_marker_over(op, false);
    else if (op->kind == OP_ATTRIBUTES)
        gpu_give_attributes(op->stream, op);
}

// Ops behind a refused op are not run, but host functions are called.
static void give_up_locked(struct stream *stream, struct op *op, int code,
                           struct op **over)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    stream_refuse_late(stream, op, code);
    while (op) {
        struct op *next = op->next;
        give_up_note(op);
        if (op->kind != OP_HOST) {
            op->next = *over;
            *over = op;
        } else if (host_queue_submit_locked(stream, op) != 0) {
            host_queue_submit_refused_locked(stream, op);
        }
        op = next;
    }
}

static void put_given_locked(struct op *op, enum fate fate, struct op **over)
{
    // An op of FATE_HOST belongs to the progress thread, and may be gone
    // already.
    ASSERT(fate == FATE_HOST ||
           lock_is_held(&gpu_stream_of(op->stream)->lock));
    if (fate == FATE_PENDING) {
        op_retire_locked(op);
    } else if (fate == FATE_OVER) {
        op->next = *over;
        *over = op;
    }
}

// Notes ops that were submitted together. Returns the first op behind them.
static struct op *put_together_locked(struct stream *stream, struct op *op,
                                      size_t count, struct op **over)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    struct gpu_stream *own = gpu_stream_of(stream);
    own->last = LAST_WORK;
    for (struct op *next; count > 0; count--, op = next) {
        next = op->next;
        stream_note_submitted_locked(own, op);
        put_given_locked(
            op, op_must_outlive(stream, op) ? FATE_PENDING : FATE_OVER, over);
    }
    return op;
}

static inline bool may_go_locked(struct stream *stream, const struct op *op)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    return !atomic_load_explicit(&gpu_stream_of(stream)->defers,
                                 memory_order_relaxed) ||
           deferred_may_submit_locked(stream, op);
}

static bool is_work(const struct op *op)
{
    const unsigned others = 1u << OP_HOST | 1u << OP_TIMESTAMP | 1u << OP_WAIT |
                            1u << OP_ATTRIBUTES | 1u << OP_RELEASE;
    return !(others >> op->kind & 1);
}

// True if the op is left out: the device is lost, or the stream failed at the
// op or before. This check must follow may_go_locked, because the failure of a
// wait is known before the wait is over. A wait is never left out, because a
// stream that waits for this stream must learn of the failure.
static inline bool leaves_out_locked(struct stream *stream,
                                     const struct op *op)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    return (atomic_load_explicit(&gpu_stream_of(stream)->defers,
                                 memory_order_relaxed) ||
            atomic_load_explicit(&stream->failure, memory_order_relaxed)) &&
           is_work(op) && stream_leaves_out(stream, op->sequence);
}

// Submits ops, about `most`, until an op has to wait for the host. Returns the
// remaining ops. If `*code` is set, the driver refused the first of these.
static struct op *submit_list_locked(struct stream *stream, struct op *op,
                                   size_t most, struct op **over, int *code)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    struct gpu_stream *own = gpu_stream_of(stream);
    bool batches = most == SIZE_MAX || stream->flags & RNL_STREAM_BATCHED;
    size_t alone = batches ? 0 : SIZE_MAX;
    *code = 0;
    for (; op && most > 0 && may_go_locked(stream, op); most--) {
        if (leaves_out_locked(stream, op)) {
            struct op *left_out = op;
            op = op->next;
            put_given_locked(left_out, FATE_OVER, over);
            continue;
        }
        size_t count = alone == 0 && op->next
                           ? hooks_of(op)->batch_give(stream, op,
                                                      &alone) : 0;
        if (count > 0) {
            op = put_together_locked(stream, op, count, over);
            alone = 0;
            continue;
        }
        alone -= alone > 0;
        struct op *next = op->next;
        enum fate fate;
        // An op that is not counted has the number of the op before.
        if (op->sequence > atomic_load(&timeline_of(own)->submitted))
            stream_note_submitted_locked(own, op);
        *code = give_locked(stream, op, &fate);
        if (*code != 0) {
            op->next = next;  // the host queue may have cleared `next`
            return op;
        }
        if (fate != FATE_HOST)
            own->last = LAST_WORK;
        put_given_locked(op, fate, over);
        op = next;
    }
    return op;
}

void stream_submit_deferred_locked(struct stream *stream, size_t most,
                             struct op **over)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    struct gpu_stream *own = gpu_stream_of(stream);
    int code = 0;
    struct op *op = own->deferred;
    own->deferred = NULL;
    op = submit_list_locked(stream, op, most, over, &code);
    if (code != 0)
        give_up_locked(stream, op, code, over);
    else if (op)
        stream_defer_locked(stream, op);
}

static uint64_t number(struct op *op, uint64_t enqueued)
{
    for (; op; op = op->next)
        op->sequence = ++enqueued;
    return enqueued;
}

// Submits the ops that need not be deferred; `*over` collects the ops that are
// over for the core. Returns a code only if nothing at all was submitted.
static int submit_locked(struct stream *stream, struct op *first,
                         struct op **over)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    struct gpu_stream *own = gpu_stream_of(stream);
    uint64_t submitted = atomic_load(&timeline_of(own)->submitted);
    uint64_t enqueued = number(first, atomic_load(&stream->enqueued));
    struct op *rest = first;
    int code = 0;
    if (!stream_defers_locked(stream) || !own->deferred)
        rest = submit_list_locked(stream, first, SIZE_MAX, over, &code);
    if (code != 0 && rest == first) {
        ASSERT(submitted <= atomic_load(&timeline_of(own)->submitted));
        atomic_store(&timeline_of(own)->submitted, submitted);
        return code;
    }
    if (rest)  // the driver may still refuse
        timeline_expect_failure(timeline_of(own), enqueued);
    if (code != 0)
        give_up_locked(stream, rest, code, over);
    else if (rest)
        stream_defer_locked(stream, rest);
    ASSERT(atomic_load(&timeline_of(own)->submitted) <= enqueued);
    ASSERT(atomic_load(&stream->enqueued) <= enqueued);
    atomic_store_explicit(&stream->enqueued, enqueued, memory_order_release);
    return 0;
}

// Refuses host functions if the driver is too old for a host queue.
static rnl_status check_needs(const struct gpu_context *gpu,
                              const struct op *op)
{
    if (host_queue_is_supported(gpu))
        return RNL_OK;
    while (op && op->kind != OP_HOST)
        op = op->next;
    return op ? fail(RNL_ERROR_UNSUPPORTED,
                     "the driver is too old for host functions: it has no "
                     "stream memory operations")
              : RNL_OK;
}

HOT rnl_status gpu_stream_submit(struct stream *stream, struct op *first)
{
    struct context *context = stream_context(stream);
    struct gpu_context *gpu = gpu_of(context);
    struct gpu_stream *own = gpu_stream_of(stream);
    struct op *over = NULL;
    if (first->kind == OP_COPY && first->copy.awaited)
        return gpu_copy_awaited(stream, first);
    rnl_status status = check_needs(gpu, first);
    if (status != RNL_OK)
        return status;
    int code = 0;
    if (first->kind == OP_GRAPH)
        code = gpu->hooks->graph_lock(stream, first);
    else
        lock_take(&own->lock);
    if (code != 0)
        return driver_fail(context, code, op_name(first));
    status = context_is_lost(context)
                 ? failure_report(context->lost, stream)
                 : progress_watch_locked(stream);
    if (status != RNL_OK) {
        lock_give(&own->lock);
        return status;
    }
    uint32_t changes = atomic_load_explicit(&stream->attribute_changes,
                                            memory_order_relaxed);
    bool plain = first->kind == OP_GRAPH && changes == own->applied;
    void *before = plain ? stream_enter(stream) : current_enter(gpu);
    if (__builtin_expect(changes != own->applied, 0))
        status = stream_apply_attributes_locked(stream, changes);
    if (status == RNL_OK)
        code = submit_locked(stream, first, &over);
    stream_mark_locked(stream);
    if (plain)
        stream_leave(stream, before);
    else
        current_back(gpu, before);
    lock_give(&own->lock);
    op_end_list(over);
    return code == 0 ? status : driver_fail(context, code, op_name(first));
}

// --- Progress --------------------------------------------------------------

// The owner of a borrowed stream may destroy the stream once told that all work
// is done. So the progress thread asks under the lock `asking`. A waiter takes
// this lock before its wait returns, and the progress thread asks no more after
// that.
static int ask_driver(struct stream *stream, uint64_t point)
{
    const struct gpu_context *gpu = gpu_of(stream_context(stream));
    struct gpu_stream *own = gpu_stream_of(stream);
    bool locks = stream->borrowed && progress_is_here();
    int code = 0;
    if (locks)
        lock_take(&own->asking);
    if (!locks || atomic_load(&timeline_of(own)->completed) < point)
        code = stream_captured_by_others(stream)
                   ? gpu->driver->not_ready
                   : call_of(gpu)->stream_query(own->handle);
    if (locks)
        lock_give(&own->asking);
    return code;
}

rnl_status stream_poll(struct stream *stream)
{
    struct context *context = stream_context(stream);
    struct gpu_context *gpu = gpu_of(context);
    struct gpu_stream *own = gpu_stream_of(stream);
    uint64_t point = atomic_load_explicit(&stream->enqueued,
                                          memory_order_acquire);
    if (stream_is_done(own, point))
        return RNL_OK;
    int code = 0;
    bool holds = false;
    if (!context_is_lost(context)) {
        stream_submit_ready(stream);
        holds = atomic_load_explicit(&own->defers, memory_order_acquire);
        void *before = stream_enter(stream);
        code = ask_driver(stream, point);
        stream_leave(stream, before);
    }
    if (code == gpu->driver->not_ready || (code == 0 && holds))
        return RNL_NOT_READY;
    rnl_status status =
        code ? driver_fail(context, code, "to look at a stream") : RNL_OK;
    if (context_still_copies(context))
        return RNL_NOT_READY;
    if (status == RNL_OK)
        timeline_complete(stream_timeline(stream), point);
    return status;
}

static rnl_status poll_stream(void *subject)
{
    return stream_poll(subject);
}

// Only for a waiter without a deadline, because a large copy takes long.
static rnl_status help_and_poll(void *subject)
{
    host_queue_help(subject);
    return stream_poll(subject);
}

// Keeps the stream during a query, because another thread may release the
// stream, and the driver's stream with it.
static rnl_status look(struct stream *stream)
{
    rnl_status status = object_ref_for(&stream->object, "stream");
    if (status != RNL_OK)
        return status;
    status = stream_refuse_captured(stream);
    if (status == RNL_OK)
        status = stream_poll(stream);
    object_unref(&stream->object);
    return status;
}

static bool all_is_done(struct stream *stream)
{
    return stream_is_done(gpu_stream_of(stream),
                          atomic_load_explicit(&stream->enqueued,
                                               memory_order_acquire));
}

static rnl_status wait_until(struct stream *stream, uint64_t deadline)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    rnl_sync_policy policy = (rnl_sync_policy)atomic_load_explicit(
        &stream->sync_policy, memory_order_relaxed);
    if (all_is_done(stream))
        return RNL_OK;
    rnl_status status = stream_refuse_captured(stream);
    if (status != RNL_OK)
        return status;
    void *before = stream_enter(stream);  // once, not for each query
    status = stream_poll(stream);
    if (status == RNL_NOT_READY)
        status = gpu_poll(deadline == RNL_FOREVER ? help_and_poll : poll_stream,
                          stream, policy, deadline, &own->waits);
    if (status == RNL_ERROR_TIMED_OUT)
        status = stream_timed_out(stream);
    stream_leave(stream, before);
    return status;
}

// Frees what is done. After this the progress thread no longer looks at a
// borrowed stream whose work is done.
static void end_look(struct stream *stream)
{
    reaper_help(stream);
    if (stream->borrowed) {
        lock_take(&gpu_stream_of(stream)->asking);
        lock_give(&gpu_stream_of(stream)->asking);
    }
}

rnl_status gpu_stream_query(struct stream *stream)
{
    rnl_status status = all_is_done(stream) ? RNL_OK : look(stream);
    end_look(stream);
    return status;
}

rnl_status gpu_stream_wait(struct stream *stream, uint64_t deadline)
{
    rnl_status status = wait_until(stream, deadline);
    if (status == RNL_OK)
        context_show_prints(stream_context(stream));
    end_look(stream);
    return status;
}

// --- Order between streams -------------------------------------------------

static int give_wait_locked(struct stream *stream, struct marker *marker)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    struct gpu_context *gpu = gpu_of(stream_context(stream));
    struct gpu_stream *own = gpu_stream_of(stream);
    void *before = stream_enter(stream);
    stream_leave_fence_locked(stream);
    int code = call_of(gpu)->stream_wait_event(own->handle, marker->event, 0);
    stream_leave(stream, before);
    own->last = LAST_WORK;
    if (code == 0)
        stream_count_locked(stream);
    return code;
}

rnl_status stream_defer_marker_locked(struct stream *stream, enum op_kind kind,
                                     struct marker *marker, bool counted)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    uint64_t sequence = atomic_load(&stream->enqueued) + counted;
    struct op *op = deferred_marker_op(stream, kind, marker);
    if (!op)
        return fail_status();
    op->sequence = sequence;
    // The driver may still refuse the op.
    timeline_expect_failure(stream_timeline(stream), sequence);
    stream_defer_locked(stream, op);
    atomic_store_explicit(&stream->enqueued, op->sequence,
                          memory_order_release);
    return RNL_OK;
}

// Inline in stream_wait_marker, which comes with each wait for an event.
static inline rnl_status wait_marker_locked(struct stream *stream,
                                            struct marker *marker)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    rnl_status status = progress_watch_locked(stream);
    if (status != RNL_OK)
        return status;
    if (stream_defers_locked(stream) || atomic_load(&marker->pending))
        return stream_defer_marker_locked(stream, OP_WAIT, marker, true);
    int code = give_wait_locked(stream, marker);
    return code == 0 ? RNL_OK
                     : driver_fail(stream_context(stream), code,
                                   "to let a stream wait");
}

rnl_status stream_wait_marker_locked(struct stream *stream,
                                     struct marker *marker)
{
    return wait_marker_locked(stream, marker);
}

void stream_give_wait(struct stream *stream)
{
    lock_give(&gpu_stream_of(stream)->lock);
    stream_submit_for_others(stream);
}

rnl_status stream_wait_marker(struct stream *stream, struct marker *marker,
                              uint64_t *out_at)
{
    lock_take(&gpu_stream_of(stream)->lock);
    rnl_status status = wait_marker_locked(stream, marker);
    if (status == RNL_OK)
        *out_at = atomic_load(&stream->enqueued);
    stream_give_wait(stream);
    return status;
}

rnl_status stream_record_marker(struct stream *stream, struct marker *marker)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    void *before = stream_enter(stream);
    lock_take(&own->lock);
    rnl_status status = stream_record_locked(stream, marker, true);
    lock_give(&own->lock);
    stream_leave(stream, before);
    return status;
}

static rnl_status follow(struct stream *stream, struct stream *other,
                         uint64_t at)
{
    struct point point = {stream_timeline(other),
                          atomic_load(&other->enqueued)};
    rnl_status status = stream_depend(stream, point, at);
    stream_inherit(stream, stream_get_failure(other));
    return status;
}

// Records without counting an operation, so that the progress thread need not
// watch the stream.
static struct marker *take_record(struct stream *stream)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    void *before = stream_enter(stream);
    lock_take(&own->lock);
    struct marker *marker = stream_take_record_locked(stream, false, false);
    lock_give(&own->lock);
    stream_leave(stream, before);
    return marker;
}

// The caller keeps `other`.
static rnl_status join(struct stream *stream, struct stream *other)
{
    struct context *context = stream_context(other);
    rnl_status status = stream_refuse_captured(other);
    if (status != RNL_OK)
        return status;
    if (stream_poll(other) == RNL_OK) {
        stream_inherit(stream, stream_get_failure(other));
        return RNL_OK;
    }
    uint64_t at = 0;
    struct marker *marker = take_record(other);
    status = marker ? stream_wait_marker(stream, marker, &at) : fail_status();
    marker_drop(context, marker);
    return status == RNL_OK ? follow(stream, other, at) : status;
}

rnl_status gpu_stream_join(struct stream *stream, struct stream *other)
{
    rnl_status status = object_ref_for(&other->object, "other");
    if (status != RNL_OK)
        return status;
    status = join(stream, other);
    object_unref(&other->object);
    return status;
}
