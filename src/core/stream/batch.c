#include "core/backend.h"
#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/stream/failure.h"
#include "core/stream/op.h"
#include "core/stream/stream.h"
#include "core/tuning.h"

// A batched stream submits its ops as one list. The batch lock is held over the
// backend's submit; otherwise another thread could submit later work in
// between.

static uint32_t count_of(const struct stream *stream)
{
    return atomic_load_explicit(&stream->batch_count, memory_order_relaxed);
}

static void set_count_locked(struct stream *stream, uint32_t count)
{
    ASSERT(lock_is_held(&stream->batch_lock));
    atomic_store_explicit(&stream->batch_count, count, memory_order_release);
}

// Submits the whole batch. Returns the ops that the backend refused, for
// abandon.
static struct op *submit_locked(struct stream *stream, rnl_status *out_status)
{
    ASSERT(lock_is_held(&stream->batch_lock));
    struct op *first = stream->batch;
    stream->batch = stream->batch_last = NULL;
    *out_status = RNL_OK;
    if (!first)
        return NULL;
    *out_status = stream->backend->stream_submit(stream, first);
    set_count_locked(stream, 0);
    if (*out_status == RNL_OK)
        return NULL;
    // The calls returned RNL_OK, so the refused ops fail as if they had run.
    stream_set_failure(stream,
                       failure_create(stream, 0, first, *out_status,
                                      rnl_last_error()->message),
                       false);
    return first;
}

static void abandon(struct op *first, rnl_status status)
{
    for (struct op *op = first; op; op = op->next) {
        if (op->kind != OP_HOST)
            continue;
        host_function_call(&op->host, status);
    }
    op_finish_list(first);
}

static bool is_full(const struct stream *stream)
{
    return count_of(stream) >= BATCH_FIRST << stream->batch_growth;
}

static void append_locked(struct stream *stream, struct op *op)
{
    ASSERT(lock_is_held(&stream->batch_lock));
    if (stream->batch)
        stream->batch_last->next = op;
    else
        stream->batch = op;
    stream->batch_last = op;
    set_count_locked(stream, count_of(stream) + 1);
}

// A graph launch is prepared by its submission, so a refusal is reported now.
static bool goes_alone(const struct op *op)
{
    return op->kind == OP_GRAPH ||
           (op->kind == OP_HOST &&
            context_lacks(stream_context(op->stream),
                          RNL_FEATURE_HOST_FUNCTIONS));
}

rnl_status batch_add(struct op *op)
{
    struct stream *stream = op->stream;
    struct op *refused = NULL;
    rnl_status status = RNL_OK, lost = RNL_OK;
    lock_take(&stream->batch_lock);
    bool alone = stream->batch_closed || goes_alone(op);
    if (!alone)
        append_locked(stream, op);
    bool full = is_full(stream);
    if (alone || full)
        refused = submit_locked(stream, &lost);
    if (full && BATCH_FIRST << stream->batch_growth < BATCH_MOST)
        stream->batch_growth++;
    if (alone)
        status = stream->backend->stream_submit(stream, op);
    lock_give(&stream->batch_lock);
    abandon(refused, lost);
    if (status != RNL_OK)
        op_finish(op);
    return status;
}

static rnl_status flush(struct stream *stream, bool close)
{
    rnl_status status;
    lock_take(&stream->batch_lock);
    stream->batch_closed = stream->batch_closed || close;
    struct op *refused = submit_locked(stream, &status);
    stream->batch_growth = 0;
    lock_give(&stream->batch_lock);
    abandon(refused, status);
    return status;
}

rnl_status batch_flush(struct stream *stream)
{
    return flush(stream, false);
}

void batch_close(struct stream *stream)
{
    flush(stream, true);
}

rnl_status rnl_stream_flush(rnl_stream handle)
{
    rnl_status status = ENTER();
    if (status != RNL_OK)
        return status;
    struct object *object = object_find_ref(handle, OBJECT_STREAM);
    if (!object)
        return object_refuse(handle, OBJECT_STREAM, "stream");
    struct stream *stream = (struct stream *)object;
    status = stream_flush(stream);
    if (status == RNL_OK)
        status = stream_check_failure(stream);
    object_unref(object);
    return status;
}
