// What a stream has not given to the driver yet.
//
// Streams share a few hardware queues, where one that waits for the host holds
// up the others, and a full queue holds up everybody who calls the driver, also
// who would let it on. So what comes behind a host function or a copy of
// ordinary memory stays here until that is done, and so does what waits for an
// event that was recorded behind one, or for a promise until it is kept or
// broken. The driver is only given what gets on without us.
//
// Where it must have all at once, for a graph or for others who use its stream,
// it waits for our word itself.
#include "backends/cudalike/held.h"

#include "backends/cudalike/ends.h"
#include "backends/cudalike/retire.h"
#include "backends/cudalike/service.h"

// Whoever has it may take the locks of several streams. Taken before those.
static struct lock give_lock;

// --- Markers that are not recorded yet ---------------------------------------

// Behind the words of an item of the service.
#define MARKER_WORD 2
#define SERVICE_WORD 3  // whether the op is to be one

static struct marker *op_marker(const struct op *op)
{
    return (struct marker *)(uintptr_t)op->backend[MARKER_WORD];
}

bool held_is_for_service(const struct op *op)
{
    return op->backend[SERVICE_WORD];
}

void held_leave_to_service(struct op *op)
{
    op->backend[SERVICE_WORD] = true;
}

void marker_promise(struct marker *marker)
{
    marker->promise = true;
    atomic_store(&marker->held, 1);
}

void marker_let_go(struct marker *marker, struct stream *stream)
{
    lock_take(&marker->lock);
    if (stream)
        marker->stream = stream;
    else
        atomic_store(&marker->done, true);
    atomic_fetch_sub(&marker->held, 1);
    lock_give(&marker->lock);
}

struct op *held_marker_op(struct stream *stream, enum op_kind kind,
                          struct marker *marker)
{
    struct op *op = op_create(stream, kind, 0);
    if (!op)
        return NULL;
    op->backend[MARKER_WORD] = (uint64_t)(uintptr_t)marker_share(marker);
    op->backend[SERVICE_WORD] = false;
    object_ref(&marker->home->object);
    op->kept[op->kept_count++] = &marker->home->object;
    if (kind == OP_TIMESTAMP) {
        lock_take(&marker->lock);
        marker->stream = stream;
        atomic_fetch_add(&marker->held, 1);
        lock_give(&marker->lock);
    }
    return op;
}

// The stream that is to record it, which the caller drops; NULL: it was. One
// that is gone was given the record of a promise that is about to be kept.
static struct stream *recorder_of(struct marker *marker)
{
    lock_take(&marker->lock);
    struct stream *stream =
        atomic_load(&marker->held) ? marker->stream : NULL;
    if (stream && !object_ref_if_alive(&stream->object))
        stream = NULL;
    lock_give(&marker->lock);
    return stream;
}

void held_marker_over(struct op *op, bool recorded)
{
    struct marker *marker = op_marker(op);
    if (op->kind == OP_TIMESTAMP) {
        marker_let_go(marker, recorded ? op->stream : NULL);
        service_wake();
    }
    marker_drop(marker->home, marker);
}

// Whether the wait is for what the stream recorded before it, or, of a promise,
// behind it: that is no wait.
static bool is_own(struct stream *stream, struct marker *marker)
{
    lock_take(&marker->lock);
    bool own = marker->stream == stream;
    lock_give(&marker->lock);
    return own;
}

bool held_wait_is_over(struct stream *stream, const struct op *op)
{
    struct marker *marker = op_marker(op);
    return context_is_lost(stream_context(stream)) || is_own(stream, marker) ||
           marker_query(marker->home, marker) != RNL_NOT_READY;
}

int held_give_marker(struct stream *stream, struct op *op)
{
    struct gpu_context *gpu = gpu_of(stream_context(stream));
    void *handle = gpu_stream_of(stream)->handle;
    struct marker *marker = op_marker(op);
    bool lost = context_is_lost(stream_context(stream));
    int code = 0;
    if (!lost && op->kind == OP_TIMESTAMP)
        code = call_of(gpu)->event_record(marker->event, handle);
    if (!lost && op->kind == OP_WAIT && !atomic_load(&marker->done) &&
        !is_own(stream, marker)) {
        stream_leave_end_locked(stream);
        code = call_of(gpu)->stream_wait_event(handle, marker->event, 0);
    }
    if (code == 0)
        held_marker_over(op, true);
    return code;
}

// --- Whether -----------------------------------------------------------------

bool stream_waits_for_host_locked(struct stream *stream)
{
    const struct gpu_stream *own = gpu_stream_of(stream);
    if (own->asked == own->waited || context_is_lost(stream_context(stream)))
        return false;
    uint32_t done =
        atomic_load_explicit(&own->words->finished, memory_order_acquire);
    return (int32_t)(done - own->asked) < 0;
}

bool stream_still_holds_locked(struct stream *stream)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    bool holds = own->held || stream_waits_for_host_locked(stream);
    atomic_store_explicit(&own->holds, holds, memory_order_release);
    return holds;
}

// Whether it waits for a marker that others are to let go.
static bool waits_for_others(struct stream *stream, const struct op *op)
{
    return op->kind == OP_WAIT && atomic_load(&op_marker(op)->held) &&
           !held_is_for_service(op) && !is_own(stream, op_marker(op)) &&
           !context_is_lost(stream_context(stream));
}

bool held_may_go_locked(struct stream *stream, const struct op *op)
{
    // Host functions run one behind the other anyway.
    if (stream_waits_for_host_locked(stream))
        return op->kind == OP_HOST &&
               gpu_stream_of(stream)->last == LAST_HOST;
    return !waits_for_others(stream, op);
}

void stream_hold_locked(struct stream *stream, struct op *first)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    if (own->held)
        own->held_last->next = first;
    else
        own->held = first;
    while (first->next)
        first = first->next;
    own->held_last = first;
    atomic_store_explicit(&own->holds, true, memory_order_release);
}

// --- Giving ------------------------------------------------------------------

// So many ops of what was held may be under way: whoever finds a hardware queue
// full has to wait, and the service must not.
#define GIVEN_MOST 512

static size_t room_locked(const struct gpu_stream *own)
{
    uint64_t submitted = atomic_load(&timeline_of(own)->submitted);
    uint64_t completed = atomic_load(&timeline_of(own)->completed);
    // On a lost device all counts as completed.
    uint64_t under_way = submitted > completed ? submitted - completed : 0;
    return under_way < GIVEN_MOST ? GIVEN_MOST - (size_t)under_way : 0;
}

// Of the op that comes first, if it waits.
static struct marker *awaited_locked(const struct gpu_stream *own)
{
    return own->held && own->held->kind == OP_WAIT ? op_marker(own->held)
                                                   : NULL;
}

bool held_only_writes(const struct op *op)
{
    bool only = op->kind == OP_MEMORY_OPS;
    for (size_t i = 0; only && i < op->memory_ops.count; i++)
        only = op->memory_ops.items[i].action == RNL_WRITE_VALUE;
    return only;
}

static size_t count_writes_locked(const struct gpu_stream *own)
{
    size_t count = 0;
    for (const struct op *op = own->held; op && held_only_writes(op);
         op = op->next)
        count++;
    return count;
}

// `writes`: no more than values to be written.
static __attribute__((noinline)) bool hold_less(struct stream *stream,
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
    bool may = own->held && held_may_go_locked(stream, own->held);
    if (may && (most > 0 || !writes)) {
        void *before = current_enter(gpu);
        stream_give_held_locked(stream, most, &over);
        if (!writes)
            stream_mark_locked(stream);
        current_back(gpu, before);
    }
    stream_holds_locked(stream);
    // Whoever lets the marker go wakes the service.
    atomic_store(&own->awaits,
                 own->held && waits_for_others(stream, own->held));
    lock_give(&own->lock);
    op_end_list(over);
    return may && most > 0;
}

static bool may_hold(const struct stream *stream)
{
    return atomic_load_explicit(&gpu_stream_of(stream)->holds,
                                memory_order_acquire);
}

bool stream_hold_less(struct stream *stream)
{
    return may_hold(stream) && hold_less(stream, false);
}

bool stream_write_held(struct stream *stream)
{
    return may_hold(stream) && hold_less(stream, true);
}

// The driver waits for what the service was asked.
void stream_wait_there_locked(struct stream *stream)
{
    const struct gpu_context *gpu = gpu_of(stream_context(stream));
    struct gpu_stream *own = gpu_stream_of(stream);
    if (!stream_waits_for_host_locked(stream))
        return;
    service_await_copies_locked(stream);
    ends_may_block();
    stream_leave_end_locked(stream);
    int code = call_of(gpu)->stream_wait32(
        own->handle, (uint64_t)(uintptr_t)own->words->done, own->asked,
        DRIVER_WAIT_GEQ);
    if (code != 0)
        context_lose(stream_context(stream), stream, code);
    own->waited = own->asked;
}

// Gives what is held, up to the record of `until` or to the end. What comes
// before a record never depends on what comes after it, but for promises, which
// are left to the service: no stream is met twice.
static void give_all(struct stream *stream, const struct marker *until,
                     struct op **over)
{
    struct gpu_context *gpu = gpu_of(stream_context(stream));
    struct gpu_stream *own = gpu_stream_of(stream);
    void *before = current_enter(gpu);
    lock_take(&own->lock);
    while (stream_holds_locked(stream) &&
           (!until || atomic_load(&until->held))) {
        stream_wait_there_locked(stream);
        struct marker *marker = awaited_locked(own);
        bool promise =
            marker && marker->promise && atomic_load(&marker->held);
        struct stream *other =
            marker && !promise ? recorder_of(marker) : NULL;
        if (promise)
            own->held->backend[SERVICE_WORD] = true;
        if (other)
            give_all(other, marker, over);
        if (other)
            object_unref(&other->object);
        stream_give_held_locked(stream, SIZE_MAX, over);
        stream_mark_locked(stream);
    }
    lock_give(&own->lock);
    current_back(gpu, before);
}

void stream_give_all(struct stream *stream)
{
    struct op *over = NULL;
    if (!atomic_load_explicit(&gpu_stream_of(stream)->holds,
                              memory_order_acquire))
        return;
    lock_take(&give_lock);
    give_all(stream, NULL, &over);
    lock_give(&give_lock);
    op_end_list(over);
}

void stream_lock_given(struct stream *stream)
{
    for (;;) {
        lock_take(&gpu_stream_of(stream)->lock);
        if (!stream_holds_locked(stream))
            return;
        lock_give(&gpu_stream_of(stream)->lock);
        stream_give_all(stream);
    }
}

void marker_give(struct marker *marker)
{
    struct stream *stream = recorder_of(marker);
    if (!stream)
        return;
    stream_give_all(stream);
    object_unref(&stream->object);
}
