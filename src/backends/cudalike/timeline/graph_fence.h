// Graph fences: the ends of graph launches.
//
// The launches of an executable graph run one after the other. The driver
// orders the launches unless the graph was exchanged in between (graph.c).
// After an exchange the next launch waits for a marker behind the last launch.
//
// A marker recorded at the exchange also covers later work of that stream. The
// extra wait is harmless as long as the later work always proceeds. In front of
// work that may block, the stream records a marker, whose value is the last
// launch before.
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"

// Announces that some work, on any device, may wait for more than the work that
// its driver was given before.
void graph_fences_enable(void);

void graph_fence_leave_locked(struct stream *stream);

// Called before the stream submits a wait that may block. If the driver refuses
// a marker, an exchange later waits for more than necessary, including this
// wait. With the stream's lock held.
static inline void stream_leave_fence_locked(struct stream *stream)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    if (__builtin_expect(gpu_stream_of(stream)->graph_at != 0, 0))
        graph_fence_leave_locked(stream);
}

// True if the end of the launch is known. `*out_end`: a marker that the caller
// drops, or NULL if the launch is over. Takes no lock that is held for long.
bool stream_fence_of(struct stream *stream, uint64_t launch,
                   struct marker **out_end);

// Drops the fences of a stream that ends.
void graph_fences_drop(struct stream *stream);
