// Markers: the driver's events as recorded points of streams.
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"

struct marker {
    _Atomic uint32_t references;
    bool timing;
    bool promise;       // waits may precede the record
    _Atomic bool done;  // the marker was seen complete
    // Above 0 until a deferred record is submitted, or until a promise is kept
    // or broken.
    _Atomic uint32_t pending;
    // The stream that records the marker; NULL: unknown, or recorded at once.
    struct stream *stream;
    struct lock lock;   // guards `pending` and `stream` once shared
    struct context *home;
    void *event;
    uint64_t value;     // the stream's completed point once the marker is done;
                        // set only where needed
    struct marker *next;
};

struct marker *marker_take(struct context *context, bool timing);
// Records a marker, private to the caller, on the vendor's stream. NULL with
// the driver's code, or with 0 if a failure is recorded.
struct marker *marker_record(struct stream *stream, int *out_code);
// A marker that was never recorded, which the driver regards as complete.
struct marker *marker_complete(struct context *context);
// Resets a marker for its next record. The caller has the only reference.
static inline void marker_renew(struct marker *marker)
{
    atomic_store_explicit(&marker->done, false, memory_order_relaxed);
    atomic_store_explicit(&marker->pending, 0, memory_order_relaxed);
    marker->promise = false;
    marker->stream = NULL;
}
void marker_drop(struct context *context, struct marker *marker);
// The stream keeps spare markers for its next records, so that repeated records
// of an event take no lock but the stream's. Keeps a marker without further
// references; returns the marker that the caller drops. With the stream's lock
// held.
static inline struct marker *marker_take_spare_locked(struct stream *stream,
                                                      bool timing)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    struct marker **spare = &gpu_stream_of(stream)->spares[timing];
    struct marker *marker = *spare;
    if (__builtin_expect(!marker, 0))
        return marker_take(stream_context(stream), timing);
    *spare = NULL;
    marker_renew(marker);
    return marker;
}
static inline struct marker *marker_keep_spare_locked(struct stream *stream,
                                                      struct marker *marker)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    if (!marker ||
        atomic_load_explicit(&marker->references, memory_order_acquire) > 1)
        return marker;
    struct marker **spare = &gpu_stream_of(stream)->spares[marker->timing];
    struct marker *other = *spare;
    *spare = marker;
    return other;
}
// For a stream that ends: a late call finds no spare marker.
void marker_drop_kept(struct stream *stream);
struct marker *marker_share(struct marker *marker);
// RNL_OK, RNL_NOT_READY or a failure.
rnl_status marker_query(struct context *context, struct marker *marker);
void markers_finish(struct gpu_context *gpu);

// True if foreign code captures the vendor's stream. A query would then
// invalidate the capture, and a record becomes a node of the capture, which is
// never reached.
bool stream_asks_captured(const struct stream *stream);
static inline bool stream_captured_by_others(const struct stream *stream)
{
    return atomic_load_explicit(&gpu_stream_of(stream)->shared,
                                memory_order_relaxed) &&
           stream_asks_captured(stream);
}

// Fails if foreign code captures the stream: a wait would never end, because
// the captured work does not run.
rnl_status stream_refuse_captured(const struct stream *stream);
