// The point that an event stands for. Promises, and streams that wait for a
// promise before its record, are handled in promise.c, all else in event.c.
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"

struct waiter;

// The last recorded point. A record writes only one cache line.
struct gpu_event {
    struct lock lock;            // guards all below
    // False if no thread has to look: the event is empty, or its work is done
    // and did not fail. Read without the lock.
    _Atomic bool open;
    _Atomic bool recorded;       // also read without the lock
    bool kept;                   // a promise that is recorded or about to be
    bool broken;                 // a promise that is never recorded
    struct marker *marker;       // NULL: never recorded, or done at once
    struct marker *promised;     // the marker a promise will record
    struct timeline *_Atomic timeline;  // timeline of the record, retained …
    uint64_t value;                     // … and the operation before the record
    struct waiter *waiters;      // for the promise
    struct shared_event *shared; // of an interprocess event
    _Atomic uint32_t news;       // changes with recorded and broken
    struct waits waits;
};

static inline struct gpu_event *event_of(struct event *event)
{
    return event_native(event);
}

static inline bool event_is_open(struct gpu_event *own)
{
    return atomic_load_explicit(&own->open, memory_order_acquire);
}

// The former point of an event, to be dropped without locks.
struct stood {
    struct marker *marker;
    struct timeline *timeline;
    struct waiter *waiters;  // for the former promise; the caller's
};

void stood_drop(struct context *context, const struct stood *stood);

// Sets the event to the marker's point on the stream. The event takes over the
// marker.
struct stood event_stand_for(struct event *event, struct marker *marker,
                             struct stream *stream);

// A snapshot of an event's point.
struct event_point {
    struct marker *marker;    // NULL: never recorded, or done
    struct failure *failure;  // a failure so far; or NULL
    struct point at;          // may yet fail; retained, or empty
    bool recorded, broken;    // of a promise
};

// The caller drops the point.
struct event_point gpu_event_point(struct event *event);
void event_point_drop(struct context *context,
                      const struct event_point *point);
// gpu_event_query, which also tells whether a promise is still undecided.
rnl_status event_query(struct event *event, bool *out_pending);

// --- Promises --------------------------------------------------------------

rnl_status promise_record(struct event *event, struct stream *stream);
// Lets the stream wait for a promise that is not recorded yet.
rnl_status promise_join(struct stream *stream, struct event *event);
// Blocks the calling thread until the promise is recorded.
rnl_status promise_wait(struct event *event, uint64_t deadline);
// Returns the failure for streams that wait for a broken promise.
struct failure *promise_failure(struct event *event, struct stream *stream);
void waiters_drop(struct waiter *waiter);
