// Where launches of graphs end.
//
// The launches of an executable graph come one after the other, which the
// driver sees to unless the graph was exchanged meanwhile (graph.c): then the
// next launch waits for a mark that is made at the exchange. What the stream
// was given since the last launch is waited for, too. That does no harm while
// it gets on by itself; in front of what may not, a mark is left.
#pragma once

#include "backends/cudalike/cudalike.h"

// Of the stream's launches up to `behind`, but for those of older ones.
struct end {
    struct end *next;
    struct marker *marker;
    uint64_t behind;
};

// The driver is about to be given something, on any device, that may wait for
// more than what it was given before.
void ends_may_block(void);

int ends_leave_locked(struct stream *stream);

// The stream is about to wait, perhaps for such a thing. 0 or the driver's
// code. With the stream's lock held.
static inline int stream_leave_end_locked(struct stream *stream)
{
    return gpu_stream_of(stream)->graph_at ? ends_leave_locked(stream) : 0;
}

// The mark behind the launch, for the caller to drop; NULL: none was left, so
// whatever came behind it gets on by itself. Locks nothing that is held for
// long.
struct marker *stream_end_of(struct stream *stream, uint64_t launch);

void ends_drop(struct stream *stream);
