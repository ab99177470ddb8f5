// A timeline: how far the work of one stream is, and from where on it failed.
//
// Operations of a stream are numbered from 1. Three points tell how far they
// are, and only ever grow: *enqueued*, accepted by Runnel, which the core keeps
// in struct stream; *submitted*, given to the driver; *completed*, seen done.
// Events, executable graphs and memory to be freed refer to a point by
// (timeline, value). A timeline outlives its stream; all is complete then.
//
// An operation may fail after its call returned: a copy or a host function by
// the library's threads, a wait for a promise, what is deferred. A failure
// holds from its operation on. Streams that wait for such an operation are
// watched as dependents, and fail with it.
#pragma once

#include "backends/cudalike/driver/worker_threads.h"
#include "core/stream/failure.h"
#include "core/stream/op.h"

struct dependent;

// An entry of the retire queue (retire.h), in the memory of what it ends.
struct retired {
    struct task task;  // ends it
    uint64_t value;    // … once the timeline got there
};

struct timeline {
    _Atomic uint32_t references;  // of the stream, events, graphs …
    uint64_t stream_id;
    _Atomic uint64_t submitted, completed;
    _Atomic uint64_t failed_from; // the first operation that failed; 0: none
    _Atomic uint64_t fallible;    // the last one that may yet fail; 0: none
    _Atomic bool has_history;     // a reset has ended a failure
    struct lock lock;             // guards all below, and changes of the above
    struct failure *failure;      // from `failed_from` on
    struct failure_history history;
    struct dependent *dependents;
    struct retired *_Atomic retired;  // retire.h's, first to come first; also
    struct retired *retired_last;     // looked at without the lock
    struct timeline *next;        // among those to be used again
};

// Stands for the timeline of a stream that is gone: all is complete.
extern struct timeline timeline_ended;

// A point of a timeline that something waits for. A NULL timeline is a point
// that is always reached.
struct point {
    struct timeline *timeline;
    uint64_t value;
};

// NULL without memory.
struct timeline *timeline_create(uint64_t stream_id);
// With the last context gone, gives memory back. Until then it stays memory of
// timelines, since calls may come late to a stream that is gone.
void timelines_trim(void);
// NULL is fine for both.
struct timeline *timeline_retain(struct timeline *timeline);
void timeline_release(struct timeline *timeline);

static inline bool point_is_reached(struct point point)
{
    return !point.timeline ||
           atomic_load_explicit(&point.timeline->completed,
                                memory_order_acquire) >= point.value;
}

// Whether what is enqueued now has failed, or may yet. In this order: an
// operation notes its failure before it is no longer fallible.
static inline bool timeline_may_fail(const struct timeline *timeline)
{
    return atomic_load_explicit(&timeline->fallible, memory_order_acquire) ||
           atomic_load_explicit(&timeline->failed_from, memory_order_acquire);
}

// Whether nothing of it ever failed, nor may yet.
static inline bool timeline_is_sound(const struct timeline *timeline)
{
    return !timeline_may_fail(timeline) &&
           !atomic_load_explicit(&timeline->has_history, memory_order_acquire);
}

// Operations up to `value` are complete. Drops the dependents that can inherit
// no failure any more, and ends what retired.
void timeline_complete(struct timeline *timeline, uint64_t value);
// In retire.c.
void timeline_end_retired(struct timeline *timeline);

// The operation with that number may fail after its call has returned.
void timeline_expect_failure(struct timeline *timeline, uint64_t value);

// The failure that holds at the point, with a reference, or NULL.
struct failure *timeline_failure(struct timeline *timeline, uint64_t value);

// Operation `at` of `stream` and those behind it depend on the point: they fail
// with it. False without memory to list that.
bool timeline_depend(struct point point, struct stream *stream, uint64_t at);

// Operation `at` of the stream failed, and with it what depends on it. Takes
// over the reference. `inherited`: the failure is another stream's.
void timeline_fail(struct stream *stream, struct failure *failure, uint64_t at,
                   bool inherited);

// If the core failed the stream, notes that, from operation `at` on.
void timeline_note_failure(struct stream *stream, uint64_t at);

// The stream is gone: all is complete.
void timeline_close(struct stream *stream);

// Takes over the reference; NULL is fine.
void stream_inherit(struct stream *stream, struct failure *failure);
// timeline_depend; records the failure.
rnl_status stream_depend(struct stream *stream, struct point point,
                         uint64_t at);
// Whether the operation is left out, because it or one before it failed.
bool stream_leaves_out(struct stream *stream, uint64_t sequence);
// The driver refused the operation with the code, after its call returned.
void stream_refuse_late(struct stream *stream, const struct op *op, int code);

// The hook: the stream forgets its failure.
void gpu_stream_reset(struct stream *stream);
