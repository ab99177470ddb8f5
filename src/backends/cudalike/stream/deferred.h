// What streams hold back from the driver, so that nothing of ours that waits
// for the host, or for a promise, stands in a hardware queue.
#pragma once

#include "backends/cudalike/timeline/device_lost.h"
#include "backends/cudalike/timeline/host_queue.h"
#include "backends/cudalike/timeline/marker.h"
#include "backends/cudalike/timeline/op_history.h"
#include "backends/cudalike/timeline/progress.h"

// Each with the stream's lock held.

// Whether what comes now has to be held, too.
bool stream_still_defers_locked(struct stream *stream);
static inline bool stream_defers_locked(struct stream *stream)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    return atomic_load_explicit(&gpu_stream_of(stream)->defers,
                                memory_order_relaxed) &&
           stream_still_defers_locked(stream);
}
// Holds a list of ops, which have their numbers, behind what is held.
void stream_defer_locked(struct stream *stream, struct op *first);
// Whether the oldest one can be given, the stream holding nothing older.
bool deferred_may_submit_locked(struct stream *stream, const struct op *op);
// Gives what can be given, so many ops at most; `*over`: those that are over.
// The context is current. In stream.c.
void stream_submit_deferred_locked(struct stream *stream, size_t most,
                             struct op **over);

// The stream's attributes as they are now, for what comes; `changes`: their
// number. The context is current. In stream_attribute.c, as the next.
rnl_status stream_apply_attributes_locked(struct stream *stream,
                                          uint32_t changes);
void gpu_give_attributes(struct stream *stream, const struct op *op);

// Holds a record of a marker (OP_TIMESTAMP) or a wait for one (OP_WAIT);
// `counted`: as an operation.
rnl_status stream_defer_marker_locked(struct stream *stream, enum op_kind kind,
                                     struct marker *marker, bool counted);
// Of a stream that nobody else gives work, and that waits for nobody unasked,
// the newest record stays known: those with nothing between share its marker.
static inline bool stream_has_points(const struct stream *stream)
{
    return stream->flags & RNL_STREAM_NON_BLOCKING &&
           !atomic_load_explicit(&gpu_stream_of(stream)->shared,
                                 memory_order_relaxed);
}
// NULL: it has to be recorded.
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
// It was recorded, and nobody else knows it yet.
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
// Records a marker, or holds the record; the context is current. `counted`: as
// an operation, which those who wait for the stream wait for.
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

// A record of what the stream was given so far: its point, or another one. NULL
// after recording the failure.
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

// An op that records a marker (OP_TIMESTAMP) or waits for one (OP_WAIT); NULL
// after recording the failure.
struct op *deferred_marker_op(struct stream *stream, enum op_kind kind,
                          struct marker *marker);
int deferred_marker_submit(struct stream *stream, struct op *op);
// It is over, for a reason or another.
void deferred_marker_over(struct op *op, bool recorded);

// True for a wait for a promise if the driver must have what comes behind it,
// and for a record of a shared event: the progress thread is asked to do it.
bool deferred_is_for_host(const struct op *op);
// Marks a record of a shared event, which has no marker.
void deferred_leave_to_host(struct op *op);
bool deferred_wait_is_over(struct stream *stream, const struct op *op);

// Whether it writes values and waits for none.
bool deferred_only_writes(const struct op *op);

// --- Without locks -----------------------------------------------------------

// Gives what can be given by now, unless the stream is in use; true when there
// was something.
bool stream_submit_ready(struct stream *stream);
// The same, but only values that come first and are to be written: that holds
// nobody up while another call waits for the device (H100).
bool stream_submit_writes(struct stream *stream);
// Gives all: the driver waits for the host itself.
void stream_submit_all(struct stream *stream);
// Takes the stream's lock when nothing is held.
void stream_lock_submitted(struct stream *stream);
// Has the marker recorded by the driver, if it is not yet.
void marker_submit(struct marker *marker);

// Nobody else knows the marker yet, which is to be a promise.
void marker_promise(struct marker *marker);
// One thing less has to come first. `stream` records it; NULL: none will.
void marker_settle(struct marker *marker, struct stream *stream);
