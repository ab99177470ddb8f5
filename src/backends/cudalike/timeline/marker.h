// Markers: the driver's events as recorded points of streams.
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"

struct marker {
    _Atomic uint32_t references;
    bool timing;
    bool promise;       // others wait for it before it is recorded
    _Atomic bool done;  // seen to be complete
    // What has to come first: that a stream gives its record to the driver, and
    // of a promise that it is kept or broken.
    _Atomic uint32_t pending;
    struct stream *stream;  // that records it; NULL: not known, or at once
    struct lock lock;   // guards both once others know the marker
    struct context *home;
    void *event;
    uint64_t value;     // what its stream has done once it is done; set where
                        // somebody asks for that
    struct marker *next;
};

struct marker *marker_take(struct context *context, bool timing);
// A record of what the vendor's stream was given, of which others know nothing.
// NULL with the driver's code, or 0 if a failure is recorded.
struct marker *marker_record(struct stream *stream, int *out_code);
// One that was never recorded, which is complete to the driver, too.
struct marker *marker_complete(struct context *context);
// Nobody else has it, and it is to be recorded again.
static inline void marker_renew(struct marker *marker)
{
    atomic_store_explicit(&marker->done, false, memory_order_relaxed);
    atomic_store_explicit(&marker->pending, 0, memory_order_relaxed);
    marker->promise = false;
    marker->stream = NULL;
}
void marker_drop(struct context *context, struct marker *marker);
// The same for the stream's own next records, with its lock held: events that
// are recorded again and again take no other's lock for that. Keeps what nobody
// else looks at; returns what is to be dropped.
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
// For a stream that ends: a call that comes late finds none.
void marker_drop_kept(struct stream *stream);
struct marker *marker_share(struct marker *marker);
// RNL_OK, RNL_NOT_READY or a failure.
rnl_status marker_query(struct context *context, struct marker *marker);
void markers_finish(struct gpu_context *gpu);

// Others may capture what they do with their stream: a look at it would make
// that invalid, and what is recorded in it is never reached.
bool stream_asks_captured(const struct stream *stream);
static inline bool stream_captured_by_others(const struct stream *stream)
{
    return atomic_load_explicit(&gpu_stream_of(stream)->shared,
                                memory_order_relaxed) &&
           stream_asks_captured(stream);
}

// Who waits for a stream that others capture would wait for itself.
rnl_status stream_refuse_captured(const struct stream *stream);
