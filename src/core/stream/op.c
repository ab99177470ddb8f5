#include "core/stream/op.h"

#include "base/poison.h"
#include "core/backend.h"
#include "core/object/buffer_object.h"
#include "core/object/config.h"
#include "core/object/object.h"
#include "core/stream/capture.h"
#include "core/stream/release_point.h"
#include "core/stream/stream.h"
#include "core/tuning.h"

// Ops are recycled through small caches, one per thread, that exchange whole
// batches with a common cache: the enqueuing and the finishing thread often
// differ.

// Guards the common cache.
static struct lock pool_lock = LOCK_RANKED(RANK_LEAF);
static struct op *pool;        // batches, linked by backend[0]
_Atomic uint32_t op_batches;   // how many those are

static struct op *take_batch(void)
{
    lock_take(&pool_lock);
    struct op *batch = pool;
    if (batch) {
        pool = (struct op *)(uintptr_t)batch->backend[0];
        atomic_fetch_sub_explicit(&op_batches, 1, memory_order_relaxed);
    }
    lock_give(&pool_lock);
    return batch;
}

static void free_list(struct op *op)
{
    while (op) {
        struct op *next = op->next;
        mem_release(op, sizeof *op);
        op = next;
    }
}

static void thread_finish(void)
{
    free_list(thread_state.op_cache);
    thread_state.op_cache = NULL;
    thread_state.cached_ops = 0;
    thread_state.end_noticed = false;
}

// Before a thread's cache is filled: it has to be emptied at the thread's end.
static void notice_thread(void)
{
    if (thread_state.end_noticed)
        return;
    thread_state.end_noticed = true;
    thread_set_exit_hook(thread_finish);
    thread_notice_exit();
}

static struct op *op_take(void)
{
    struct op *op = thread_state.op_cache;
    if (!op) {
        op = take_batch();
        if (!op)
            return mem_allocate_aligned(sizeof *op, 64);
        notice_thread();
        thread_state.cached_ops = OP_BATCH;
    }
    thread_state.op_cache = op->next;
    thread_state.cached_ops--;
    op_prefetch(op->next);  // the next op to be used: in another cache
    return op;
}

#if defined(POISON_ADDRESSES) || defined(RUNNEL_NO_OP_CACHE)
// So that a use after the end is seen.
static void op_give(struct op *op)
{
    mem_release(op, sizeof *op);
}
#else
static void give_batch(struct op *batch)
{
    lock_take(&pool_lock);
    batch->backend[0] = (uint64_t)(uintptr_t)pool;
    pool = batch;
    atomic_fetch_add_explicit(&op_batches, 1, memory_order_relaxed);
    lock_give(&pool_lock);
}

// Keeps the newest batch, gives the older one away.
static void shed(void)
{
    struct op *last = thread_state.op_cache;
    for (unsigned i = 1; i < OP_BATCH; i++)
        last = last->next;
    struct op *older = last->next;
    last->next = NULL;
    thread_state.cached_ops = OP_BATCH;
    give_batch(older);
}

static void op_give(struct op *op)
{
    if (thread_state.cached_ops == 0)
        notice_thread();
    op->next = thread_state.op_cache;
    thread_state.op_cache = op;
    if (++thread_state.cached_ops == OP_THREAD_MOST)
        shed();
}
#endif

static bool payload_init(struct op *op, size_t size)
{
    op->payload = op->inline_payload;
    op->payload_size = size;
    if (size > OP_INLINE_PAYLOAD)
        op->payload = mem_allocate_aligned(size, 64);
    return op->payload != NULL;
}

struct op *op_create(struct stream *stream, enum op_kind kind,
                     size_t payload_size)
{
    struct op *op = op_take();
    if (op && !payload_init(op, payload_size)) {
        op_give(op);
        op = NULL;
    }
    if (!op) {
        fail(RNL_ERROR_OUT_OF_MEMORY,
             "there is no memory for another operation");
        return NULL;
    }
    op->next = NULL;
    op->stream = stream;
    op->sequence = 0;
    op->kind = kind;
    op->borrows = false;
    op->line = 0;
    op->file = NULL;
    op->label = NULL;
    op->kept = op->kept_inline;
    op->kept_count = 0;
    return op;
}

// False, and it stays, where that would end the object and may not.
static bool drop(const struct op *op, struct object *kept, bool may_end)
{
    uint64_t counts = atomic_load_explicit(&kept->counts,
                                           memory_order_relaxed);
    do {
        if (counts_users(counts) == 0 && kept->class->kind == OBJECT_BUFFER)
            buffer_note_last_op((struct buffer *)kept, op);
        if (counts_references(counts) == 1 && !may_end)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(
        &kept->counts, &counts, counts - 1, memory_order_acq_rel,
        memory_order_relaxed));
    if (counts_references(counts) == 1)
        object_destroy(kept);
    return true;
}

void op_unref_released(const struct op *op, struct object *kept)
{
    drop(op, kept, true);
}

void op_unref_ordered(struct op *op)
{
    // See rnl_native_fail.
    if (op->kind == OP_KERNEL &&
        op->kernel.function->native_flags & RNL_NATIVE_WAITS)
        return;
    for (size_t i = op->kept_count; i-- > 0;) {
        struct object *kept = op->kept[i];
        if (kept->class->kind == OBJECT_BUFFER &&
            buffer_is_ordered_by((struct buffer *)kept, op->stream) &&
            drop(op, kept, false))
            op->kept[i] = op->kept[--op->kept_count];
    }
}

void op_finish(struct op *op)
{
    for (size_t i = 0; i < op->kept_count; i++)
        object_unref(op->kept[i]);
    if (op->payload != op->inline_payload)
        mem_release(op->payload, op->payload_size);
    op_give(op);
}

bool op_calls_nobody(const struct op *op)
{
    for (size_t i = 0; i < op->kept_count; i++) {
        const struct object *kept = op->kept[i];
        if (kept->class->kind != OBJECT_BUFFER ||
            !((const struct buffer *)kept)->part)
            return false;
    }
    return true;
}

const char *op_name(const struct op *op)
{
    static const char *const names[] = {
        [OP_KERNEL] = "kernel",     [OP_COPY] = "copy",
        [OP_FILL] = "fill",         [OP_HOST] = "host function",
        [OP_MEMORY_OPS] = "value operation",
        [OP_WAIT] = "wait",         [OP_TIMESTAMP] = "event record",
        [OP_RELEASE] = "release",   [OP_GRAPH] = "graph",
        [OP_PREFETCH] = "prefetch", [OP_ATTACH] = "attach",
        [OP_ATTRIBUTES] = "attributes",
    };
    return op->kind == OP_KERNEL ? op->kernel.function->name : names[op->kind];
}

rnl_status op_submit_and_wait(struct op *op)
{
    struct stream *stream = op->stream;
    rnl_status status = object_ref_for(&stream->object, "stream");
    if (status != RNL_OK) {
        op_finish(op);
        return status;
    }
    status = stream_flush(stream);  // value operations may be in a batch
    bool ended = false;
    if (op->kind == OP_COPY)
        op->copy.awaited = &ended;
    if (status == RNL_OK)
        status = stream->backend->stream_submit(stream, op);
    if (status == RNL_OK && !ended)
        status = stream_wait_done(stream, RNL_FOREVER);
    else if (status != RNL_OK && !ended)
        op_finish(op);
    object_unref(&stream->object);
    return status;
}

static rnl_status submit_now(struct op *first)
{
    struct stream *stream = first->stream;
    rnl_status status = stream->backend->stream_submit(stream, first);
    if (__builtin_expect(status != RNL_OK, 0))
        op_finish_list(first);
    return status;
}

rnl_status op_submit(struct op *op)
{
    struct stream *stream = op->stream;
    rnl_status status;
    if (__builtin_expect(stream_is_captured(stream), 0) &&
        capture_ops(op, &status))
        return status;
    // A value may be written by the caller's next lines, and a release fails
    // only together with its call.
    if (__builtin_expect(config_get()->blocking, 0) &&
        op->kind != OP_MEMORY_OPS && op->kind != OP_RELEASE)
        return op_submit_and_wait(op);
    if (__builtin_expect(stream->flags & RNL_STREAM_BATCHED, 0))
        return batch_add(op);
    return submit_now(op);
}

void op_finish_list(struct op *op)
{
    while (op) {
        struct op *next = op->next;
        op_finish(op);
        op = next;
    }
}

// Op by op, if each is waited for or collected.
static rnl_status submit_each(struct op *op)
{
    while (op) {
        struct op *next = op->next;
        op->next = NULL;
        rnl_status status = op_submit(op);
        if (status != RNL_OK) {
            op_finish_list(next);
            return status;
        }
        op = next;
    }
    return RNL_OK;
}

rnl_status op_submit_list(struct op *first)
{
    rnl_status status;
    if (!first || !first->next)
        return first ? op_submit(first) : RNL_OK;
    struct stream *stream = first->stream;
    if (stream_is_captured(stream) && capture_ops(first, &status))
        return status;
    if (config_get()->blocking || stream->flags & RNL_STREAM_BATCHED)
        return submit_each(first);
    // In one list: no work of another thread comes in between.
    return submit_now(first);
}

bool op_free_surplus(void)
{
    for (int i = 0; i < OP_GIVEN_AT_ONCE && op_has_surplus(); i++)
        free_list(take_batch());
    return op_has_surplus();
}

void op_trim(void)
{
    thread_finish();
    for (struct op *batch = take_batch(); batch; batch = take_batch())
        free_list(batch);
}

void op_forked(void)
{
    pool_lock = (struct lock)LOCK_RANKED(RANK_LEAF);
    pool = NULL;
    atomic_store(&op_batches, 0);
}
