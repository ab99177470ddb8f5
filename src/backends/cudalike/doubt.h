// Failures that come late. What the service does for a stream, and a wait for a
// promise, may fail long after the call: until it is past the last of these the
// stream is in doubt, and who waits for it is told of its failure, as are the
// events that were recorded on it.
#pragma once

#include "backends/cudalike/cudalike.h"

// The operation with that number may fail late. 0 or the driver's code for no
// memory.
int doubt_begin(struct stream *stream, uint64_t sequence);

// The stream's doubt, referenced, and how far it got; NULL when it has none.
struct doubt *doubt_share_any(struct stream *stream);
static inline struct doubt *doubt_share(struct stream *stream,
                                        uint64_t *out_point)
{
    *out_point = atomic_load(&stream->enqueued);
    return atomic_load_explicit(&gpu_stream_of(stream)->doubt,
                                memory_order_relaxed)
               ? doubt_share_any(stream)
               : NULL;
}
struct doubt *doubt_retain(struct doubt *doubt);  // NULL is fine, as below
void doubt_drop(struct doubt *doubt);

// The failure that came before `point`, referenced, or NULL.
struct failure *doubt_failure(struct doubt *doubt, uint64_t point);

// Work of `stream` from number `at` on waits for what is in doubt up to
// `point`. 0 or the driver's code for no memory.
int doubt_follow(struct doubt *doubt, uint64_t point, struct stream *stream,
                 uint64_t at);

// Operation `at` of the stream failed: its failure, which is taken over, and
// that of all who wait.
void doubt_fail(struct stream *stream, struct failure *failure, uint64_t at,
                bool inherited);

// The same for what the driver refused with the code.
void doubt_refuse(struct stream *stream, const struct op *op, int code);

// The stream got that far. `all`: it is at its end.
void doubt_settle(struct stream *stream, bool all);
