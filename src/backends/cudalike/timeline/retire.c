#include "backends/cudalike/timeline/retire.h"

#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/progress.h"
#include "backends/cudalike/timeline/reaper.h"
#include "backends/cudalike/timeline/timeline.h"

#include "core/stream/release_point.h"

// --- Entries -----------------------------------------------------------------

static struct retired *entry_of(struct op *op)
{
    return &gpu_op_of(op)->retired;
}

static struct op *op_of(struct task *task)
{
    return gpu_op_from(task, offsetof(struct gpu_op, retired.task));
}

static void end_op(struct task *task);

static struct retired *next_of(const struct retired *entry)
{
    return (struct retired *)entry->task.next;
}

// Inserts the entry behind all entries with the same or a smaller value. Most
// entries go to the end.
static void list_locked(struct timeline *timeline, struct retired *entry)
{
    ASSERT(lock_is_held(&timeline->lock));
    struct retired *oldest = atomic_load(&timeline->retired), *before = NULL;
    if (oldest && timeline->retired_last->value <= entry->value)
        before = timeline->retired_last;
    struct retired *at = oldest;
    for (; !before && at && at->value <= entry->value; at = next_of(at))
        if (!at->task.next || next_of(at)->value > entry->value)
            before = at;
    entry->task.next = before ? before->task.next : (struct task *)oldest;
    if (before)
        before->task.next = &entry->task;
    else
        atomic_store(&timeline->retired, entry);
    if (!entry->task.next)
        timeline->retired_last = entry;
    ASSERT(!before || before->value <= entry->value);
    ASSERT(!entry->task.next || entry->value < next_of(entry)->value);
    ASSERT(!timeline->retired_last->task.next);
}

void timeline_retire(struct timeline *timeline, uint64_t value,
                     struct retired *entry, void (*end)(struct task *task))
{
    entry->value = value;
    entry->task.run = end;
    lock_take(&timeline->lock);
    bool waits = atomic_load(&timeline->completed) < value;
    if (waits)
        list_locked(timeline, entry);
    lock_give(&timeline->lock);
    if (!waits)
        end(&entry->task);
    // The stream may have got there before the entry was listed. No other
    // thread then saw the entry.
    else if (atomic_load(&timeline->completed) >= value)
        timeline_end_retired(timeline);
}

// If a graph launch owes host functions, only the progress thread takes its
// entry, because that thread has the functions called in order.
static bool is_left_to_progress(struct retired *entry)
{
    if (entry->task.run != end_op || progress_is_here())
        return false;
    const struct op *op = op_of(&entry->task);
    return op->kind == OP_GRAPH && hooks_of(op)->graph_owes(op);
}

static struct retired *take_complete(struct timeline *timeline)
{
    lock_take(&timeline->lock);
    struct retired *entry = atomic_load(&timeline->retired);
    ASSERT(!entry || !entry->task.next ||
           entry->value <= next_of(entry)->value);
    if (entry && entry->value <= atomic_load(&timeline->completed) &&
        !is_left_to_progress(entry))
        atomic_store(&timeline->retired, next_of(entry));
    else
        entry = NULL;
    lock_give(&timeline->lock);
    return entry;
}

void timeline_end_retired(struct timeline *timeline)
{
    struct retired *entry;
    while ((entry = take_complete(timeline)))
        entry->task.run(&entry->task);
}

// --- Operations --------------------------------------------------------------

// True if the object can be given up once the driver has the work. All
// remaining objects are kept until the work is done.
static bool goes_with_stream(const struct stream *stream,
                             struct object *object)
{
    enum object_kind kind = object->class->kind;
    if (kind != OBJECT_BUFFER)  // code is unloaded when the device is idle
        return kind == OBJECT_FUNCTION || kind == OBJECT_MODULE;
    return buffer_is_ordered_by((struct buffer *)object, stream);
}

bool op_must_outlive(const struct stream *stream, const struct op *op)
{
    for (size_t i = 0; i < op->kept_count; i++)
        if (!goes_with_stream(stream, op->kept[i]))
            return true;
    return false;
}

struct op *op_keeper(const struct op *op)
{
    size_t count = op->kept_count;
    bool fits = count <= OP_INLINE_KEPT;
    struct op *keeper = op_create(op->stream, OP_RELEASE,
                                  fits ? 0 : count * sizeof *op->kept);
    if (!keeper)
        return NULL;
    if (!fits)
        keeper->kept = keeper->payload;
    for (size_t i = 0; i < count; i++) {
        object_ref(op->kept[i]);
        keeper->kept[keeper->kept_count++] = op->kept[i];
    }
    keeper->sequence = op->sequence;
    return keeper;
}

static void finish(struct task *task)
{
    op_finish(op_of(task));
}

static void finish_graph(struct op *op)
{
    if (hooks_of(op)->graph_owes(op))
        hooks_of(op)->graph_call(op);
    hooks_of(op)->graph_over(op);
    op_finish(op);
}

static void finish_kept_graph(struct task *task)
{
    struct stream *stream = op_of(task)->stream;
    finish_graph(op_of(task));
    object_unref(&stream->object);
}

// True if no object ends with the op: each kept object has further references.
static bool ends_alone(struct op *op)
{
    while (op->kept_count > 0 &&
           object_unref_unless_last(op->kept[op->kept_count - 1]))
        op->kept_count--;
    return op->kept_count == 0;
}

void op_end_aside(struct op *op)
{
    if (!ends_alone(op))
        reaper_give(&entry_of(op)->task, finish);
    else
        op_finish(op);
}

void op_end(struct op *op)
{
    if (library_thread_is_here())
        op_end_aside(op);
    else
        op_finish(op);
}

// The host functions are called before the op goes to the reaper: the reaper's
// deleters may wait for their effects.
static void call_for_graph(struct task *task)
{
    hooks_of(op_of(task))->graph_call(op_of(task));
    reaper_give(task, finish_kept_graph);
}

// Calls the host functions owed by graph launches of a lost device, on a thread
// for no other work. An owed function and a stream's own host function may wait
// for each other.
static struct task_queue owed = {.thread_name = "rnl-owed",
                                 .lock = LOCK_RANKED(RANK_LEAF),
                                 .most = 1,
                                 .spin_ns = 0};

// A thread of its own calls the host functions that the driver did not reach.
static void end_graph(struct op *op)
{
    struct task *task = &entry_of(op)->task;
    bool owes = hooks_of(op)->graph_owes(op);
    if (!owes && !library_thread_is_here()) {
        finish_graph(op);
        return;
    }
    object_ref(&op->stream->object);  // alive: listed with the progress thread,
                                      // or kept by the caller
    task->run = call_for_graph;
    if (!owes || !task_add(&owed, task))
        reaper_give(task, finish_kept_graph);
}

void op_end_list(struct op *over)
{
    for (struct op *op = over, *next; op; op = next) {
        next = op->next;
        op_unref_ordered(op);  // perhaps before the work is done
        op_end(op);
    }
}

static void end_op(struct task *task)
{
    struct op *op = op_of(task);
    if (op->kind == OP_GRAPH)
        end_graph(op);
    else
        op_end(op);
}

// Raises the stream's `enqueued` before the give-up, although later ops of the
// list are still to come. A thread that reuses the memory checks only that
// count.
void op_retire_locked(struct op *op)
{
    ASSERT(lock_is_held(&gpu_stream_of(op->stream)->lock));
    struct timeline *timeline = stream_timeline(op->stream);
    _Atomic uint64_t *enqueued = &op->stream->enqueued;
    struct retired *entry = entry_of(op);
    op->next = NULL;
    entry->value = op->sequence;
    entry->task.run = end_op;
    lock_take(&timeline->lock);
    list_locked(timeline, entry);
    if (op->sequence > atomic_load_explicit(enqueued, memory_order_relaxed))
        atomic_store_explicit(enqueued, op->sequence, memory_order_release);
    op_unref_ordered(op);
    lock_give(&timeline->lock);
}

static void drop(struct task *task)
{
    struct stream *stream =
        (struct stream *)(void *)((char *)task -
                                  offsetof(struct gpu_stream, drop) -
                                  offsetof(struct stream, native));
    object_unref(&stream->object);
}

void stream_drop(struct stream *stream)
{
    if (!library_thread_is_here())
        object_unref(&stream->object);
    else if (!object_unref_unless_last(&stream->object))
        reaper_give(&gpu_stream_of(stream)->drop, drop);
}

// --- Helping -----------------------------------------------------------------

static bool is_of_stream(const struct task *task, const void *stream)
{
    bool ends_op = task->run == finish || task->run == finish_kept_graph;
    return ends_op && op_of((struct task *)task)->stream == stream;
}

static void help(void *stream)
{
    reaper_run(is_of_stream, stream);
}

void reaper_help(struct stream *stream)
{
    if (atomic_load_explicit(&reaper_tasks, memory_order_relaxed) > 0 &&
        !library_thread_is_here())
        fail_beside(help, stream);
}
