// What an event stands for. Events that are promises, and those who wait for
// them before they are recorded, are promise.c's; all else is event.c's.
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"

struct waiter;

// The last point that was recorded. What a record writes is one cache line.
struct gpu_event {
    struct lock lock;            // guards all below
    // False while nobody has to look: it stands for nothing, or for what is
    // done and has not failed. Read without the lock.
    _Atomic bool open;
    _Atomic bool recorded;       // read without the lock, too
    bool kept;                   // a promise: recorded, or about to be
    bool broken;                 // a promise that never will be
    struct marker *marker;       // NULL: never recorded, or done at once
    struct marker *promised;     // what a promise is to be recorded with
    struct timeline *_Atomic timeline;  // where it was recorded, retained …
    uint64_t value;                     // … behind this operation
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

// What an event stood for, to be dropped without locks.
struct stood {
    struct marker *marker;
    struct timeline *timeline;
    struct waiter *waiters;  // for the promise that it was, the caller's
};

void stood_drop(struct context *context, const struct stood *stood);

// From now on it stands for what is recorded on the stream with the marker,
// which is given away.
struct stood event_stand_for(struct event *event, struct marker *marker,
                             struct stream *stream);

// What an event stands for at one moment.
struct event_point {
    struct marker *marker;    // NULL: for nothing, or for what is done
    struct failure *failure;  // what failed already; or NULL
    struct point at;          // what may still fail, retained; or none
    bool recorded, broken;    // of a promise
};

// The caller drops it.
struct event_point gpu_event_point(struct event *event);
void event_point_drop(struct context *context,
                      const struct event_point *point);
// gpu_event_query, and whether a promise is not decided yet.
rnl_status event_query(struct event *event, bool *out_pending);

// --- Promises --------------------------------------------------------------

rnl_status promise_record(struct event *event, struct stream *stream);
// Waits on the device for one that is not recorded yet …
rnl_status promise_join(struct stream *stream, struct event *event);
// … and on the host, until it is.
rnl_status promise_wait(struct event *event, uint64_t deadline);
// Why a promise fails those on the stream that wait for it.
struct failure *promise_failure(struct event *event, struct stream *stream);
void waiters_drop(struct waiter *waiter);
