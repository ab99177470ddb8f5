// Deferred work: operations that a stream keeps back from the driver. So no
// wait for the host or for a promise stands in a hardware queue.
#pragma once

#include "backends/cudalike/timeline/device_lost.h"
#include "backends/cudalike/timeline/host_queue.h"
#include "backends/cudalike/timeline/marker.h"
#include "backends/cudalike/timeline/op_history.h"
#include "backends/cudalike/timeline/progress.h"

// The caller of each function holds the stream's lock.

// True if new operations have to be deferred, too.
bool stream_still_defers_locked(struct stream *stream);
static inline bool stream_defers_locked(struct stream *stream)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    return atomic_load_explicit(&gpu_stream_of(stream)->defers,
                                memory_order_relaxed) &&
           stream_still_defers_locked(stream);
}
// Appends a list of ops, which have their numbers, to the deferred ops.
void stream_defer_locked(struct stream *stream, struct op *first);
// True if the oldest op can be submitted; the stream defers no older op.
bool deferred_may_submit_locked(struct stream *stream, const struct op *op);
// Submits the ops that can go, at most `most`. `*over` collects the ops that
// are over. The context is current. In stream.c.
void stream_submit_deferred_locked(struct stream *stream, size_t most,
                             struct op **over);

// Applies the stream's present attributes to later work. `changes` is the
// number of the last change. The context is current. Both functions are in
// stream_attribute.c.
rnl_status stream_apply_attributes_locked(struct stream *stream,
                                          uint32_t changes);
void gpu_give_attributes(struct stream *stream, const struct op *op);

// Defers a record of a marker (OP_TIMESTAMP) or a wait for a marker (OP_WAIT).
// `counted`: the op counts as an operation.
rnl_status stream_defer_marker_locked(struct stream *stream, enum op_kind kind,
                                     struct marker *marker, bool counted);
// True if the stream keeps its newest record. Then no other code submits to the
// native stream, and the stream never waits for the legacy default stream.
// Records with no work in between share the marker.
static inline bool stream_has_points(const struct stream *stream)
{
    return stream->flags & RNL_STREAM_NON_BLOCKING &&
           !atomic_load_explicit(&gpu_stream_of(stream)->shared,
                                 memory_order_relaxed);
}
// Returns NULL if a marker has to be recorded.
static inline struct marker *stream_point_locked(struct stream *stream)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    struct gpu_stream *own = gpu_stream_of(stream);
    bool same = own->point && stream_has_points(stream) &&
                own->point->value ==
                    atomic_load_explicit(&stream->enqueued,
                                         memory_order_relaxed) &&
                !atomic_load_explicit(&stream->failure,
                                      memory_order_relaxed) &&
                !stream_defers_locked(stream) &&
                !context_is_lost(stream_context(stream));
    return same ? marker_share(own->point) : NULL;
}
// Keeps a recorded marker as the newest. No other thread knows the marker yet.
static inline void stream_put_point_locked(struct stream *stream,
                                           struct marker *marker)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    struct gpu_stream *own = gpu_stream_of(stream);
    struct marker *before = own->point;
    atomic_store_explicit(&marker->references, 2, memory_order_relaxed);
    own->point = marker;
    marker->value = atomic_load_explicit(&stream->enqueued,
                                         memory_order_relaxed);
    if (before)
        marker_drop(stream_context(stream),
                    marker_keep_spare_locked(stream, before));
}
// Records a marker, or defers the record; the context is current. `counted`:
// the record counts as an operation, which a wait for the stream includes.
static inline rnl_status stream_record_locked(struct stream *stream,
                                              struct marker *marker,
                                              bool counted)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    struct context *context = stream_context(stream);
    struct gpu_stream *own = gpu_stream_of(stream);
    bool holds = stream_defers_locked(stream);
    rnl_status status =
        counted || holds ? progress_watch_locked(stream) : RNL_OK;
    if (status != RNL_OK)
        return status;
    if (holds)
        return stream_defer_marker_locked(stream, OP_TIMESTAMP, marker,
                                          counted);
    int code = call_of(gpu_of(context))->event_record(marker->event,
                                                      own->handle);
    own->last = LAST_WORK;
    if (__builtin_expect(code != 0, 0))
        return driver_fail(context, code, "to record an event");
    if (counted)
        stream_count_locked(stream);
    if (stream_has_points(stream) && !marker->timing && !marker->promise)
        stream_put_point_locked(stream, marker);
    return RNL_OK;
}

// Returns a record of all work enqueued so far: the newest record, if still
// valid, or a new record. NULL after recording the failure.
static inline struct marker *stream_take_record_locked(struct stream *stream,
                                                       bool timing,
                                                       bool counted)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    struct marker *marker = timing ? NULL : stream_point_locked(stream);
    if (marker || !(marker = marker_take_spare_locked(stream, timing)) ||
        stream_record_locked(stream, marker, counted) == RNL_OK)
        return marker;
    marker_drop(stream_context(stream), marker);
    return NULL;
}

// Makes an op that records a marker (OP_TIMESTAMP) or waits for a marker
// (OP_WAIT). NULL after recording the failure.
struct op *deferred_marker_op(struct stream *stream, enum op_kind kind,
                          struct marker *marker);
int deferred_marker_submit(struct stream *stream, struct op *op);
// Ends such an op, whether or not the marker was recorded.
void deferred_marker_over(struct op *op, bool recorded);

// True for an op that the progress thread must do. The op is the record of a
// shared event. Or the op is a wait for a promise, and the driver must have the
// work behind the wait.
bool deferred_is_for_host(const struct op *op);
// Marks the record of a shared event, which has no marker, or a wait for a
// promise.
void deferred_leave_to_host(struct op *op);
bool deferred_wait_is_over(struct stream *stream, const struct op *op);

// True if the op writes values and waits for none.
bool deferred_only_writes(const struct op *op);

// --- Without locks -----------------------------------------------------------

// Submits the deferred ops that can go, unless the stream is in use. True if
// the function submitted something.
bool stream_submit_ready(struct stream *stream);
// Does the same, but only for values to be written at the front of the list. A
// written value blocks no thread while another call waits for the device
// (H100).
bool stream_submit_writes(struct stream *stream);
// Submits all deferred ops; the driver itself waits for the host. This function
// and the next two return 0, or the code by which the driver refused such a
// wait; then ops are still deferred.
int stream_submit_all(struct stream *stream);
// Takes the stream's lock once no op is deferred. The lock is not taken if a
// code is returned.
int stream_lock_submitted(struct stream *stream);
// Has the driver record the marker, if the record is still deferred.
int marker_submit(struct marker *marker);
// If other code got the native stream, submits all for that code's sake. A
// refused wait fails the stream.
void stream_submit_for_others(struct stream *stream);

// Turns the marker into a promise. No other thread knows the marker yet.
void marker_promise(struct marker *marker);
// Counts down the conditions of the marker. `stream` records the marker; NULL:
// no stream will.
void marker_settle(struct marker *marker, struct stream *stream);
