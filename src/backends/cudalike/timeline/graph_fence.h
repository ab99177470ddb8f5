// Where launches of graphs end.
//
// The launches of an executable graph come one after the other, which the
// driver sees to unless the graph was exchanged meanwhile (graph.c): then the
// next launch waits for a marker that is recorded at the exchange. What the
// stream was given since the last launch is waited for, too. That does no harm
// while it gets on by itself; in front of what may not, a marker is recorded,
// whose value is the launch that it is behind.
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"

// Something is there, on any device, that may wait for more than what a driver
// was given before it.
void graph_fences_enable(void);

void graph_fence_leave_locked(struct stream *stream);

// The stream is about to wait, perhaps for such a thing. Where the driver
// refuses a marker there is none, and an exchange waits for more than it has
// to, that wait included. With the stream's lock held.
static inline void stream_leave_fence_locked(struct stream *stream)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    if (__builtin_expect(gpu_stream_of(stream)->graph_at != 0, 0))
        graph_fence_leave_locked(stream);
}

// Whether the end of the launch is known: by a marker, for the caller to drop,
// or because it is over (NULL). Locks nothing that is held for long.
bool stream_fence_of(struct stream *stream, uint64_t launch,
                   struct marker **out_end);

// The stream is going.
void graph_fences_drop(struct stream *stream);
