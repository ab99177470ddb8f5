// A timeline: how far the work of one stream is, and the operation from which
// the stream has failed.
//
// Operations of a stream are numbered from 1. Three points describe the
// progress and only ever grow. *enqueued*: accepted by Runnel; the core keeps
// this point in struct stream. *submitted*: given to the driver. *completed*:
// seen done. Events, executable graphs and memory to be freed refer to a point
// by (timeline, value). A timeline outlives its stream; all operations count as
// complete then.
//
// Some operations may fail after the call returned: copies and host functions
// by the library's threads, waits for a promise, deferred operations. A failure
// holds from its operation on. Streams that wait for such an operation are
// listed as dependents, and fail with the operation.
#pragma once

#include "backends/cudalike/driver/worker_threads.h"
#include "core/stream/failure.h"
#include "core/stream/op.h"

struct dependent;

// An entry of the retire queue (retire.h), embedded in the object to end.
struct retired {
    struct task task;  // ends the object
    uint64_t value;    // run once the timeline gets there
};

struct timeline {
    _Atomic uint32_t references;  // by the stream, events, graphs …
    uint64_t stream_id;
    _Atomic uint64_t submitted, completed;
    _Atomic uint64_t failed_from; // the first failed operation; 0: none
    _Atomic uint64_t fallible;    // the last that may yet fail; 0: none
    _Atomic bool has_history;     // a reset has ended a failure
    _Atomic uint32_t telling;     // calls of timeline_fail that may still have
                                  // to tell dependents
    struct lock lock;             // guards all below, and changes of the above
    struct failure *failure;      // from `failed_from` on
    struct failure_history history;
    uint64_t reset_at;            // completed at the last reset: no failure of
                                  // another stream counts up to here
    struct dependent *dependents;
    struct retired *_Atomic retired;  // by value (retire.h); also read without
                                      // the lock
    struct retired *retired_last;     // the last of the list
    struct timeline *next;        // in the list of unused timelines
};

// The timeline of every stream that has ended: all is complete.
extern struct timeline timeline_ended;

// A point of a timeline that a wait is for. A point with a NULL timeline is
// always reached.
struct point {
    struct timeline *timeline;
    uint64_t value;
};

// NULL if memory is short.
struct timeline *timeline_create(uint64_t stream_id);
// Frees unused timelines once the last context has ended. Until then the memory
// remains that of timelines, because late calls may read the timeline of a
// stream that has ended.
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

// True if the work enqueued so far has failed or may yet fail. The order of the
// two loads matters: an operation stores its failure before it clears
// `fallible`.
static inline bool timeline_may_fail(const struct timeline *timeline)
{
    return atomic_load_explicit(&timeline->fallible, memory_order_acquire) ||
           atomic_load_explicit(&timeline->failed_from, memory_order_acquire);
}

// True if no operation ever failed, and none may yet fail.
static inline bool timeline_is_sound(const struct timeline *timeline)
{
    return !timeline_may_fail(timeline) &&
           !atomic_load_explicit(&timeline->has_history, memory_order_acquire);
}

// Marks operations up to `value` as complete. Drops the dependents that can
// inherit no failure any more, and ends retired entries.
void timeline_complete(struct timeline *timeline, uint64_t value);
// In retire.c.
void timeline_end_retired(struct timeline *timeline);

// Notes that the operation may fail after its call has returned.
void timeline_expect_failure(struct timeline *timeline, uint64_t value);

// The failure that holds at the point, with a reference, or NULL.
struct failure *timeline_failure(struct timeline *timeline, uint64_t value);

// Makes operation `at` of `stream` and all later operations depend on the
// point: the operations fail if the point fails. False if memory is short.
bool timeline_depend(struct point point, struct stream *stream, uint64_t at);

// Fails the stream and its dependents from operation `at` on. Takes over the
// reference. `inherited`: the failure began in another stream.
void timeline_fail(struct stream *stream, struct failure *failure, uint64_t at,
                   bool inherited);

// If the core failed the stream, notes that, from operation `at` on.
void timeline_note_failure(struct stream *stream, uint64_t at);

// Completes the timeline of a stream that ends.
void timeline_close(struct stream *stream);

// Takes over the reference; NULL is fine.
void stream_inherit(struct stream *stream, struct failure *failure);
// timeline_depend; records the failure.
rnl_status stream_depend(struct stream *stream, struct point point,
                         uint64_t at);
// True if the operation is skipped: the device is lost, or the operation or an
// earlier operation failed.
bool stream_leaves_out(struct stream *stream, uint64_t sequence);
// True if the stream need not wait at the operation: an earlier operation
// failed, and all that depend on the stream have been told.
bool stream_skips_wait(struct stream *stream, uint64_t sequence);
// Fails the stream: the driver refused the operation after the call returned.
void stream_refuse_late(struct stream *stream, const struct op *op, int code);
void stream_refuse_blamed(struct stream *stream, const struct blame *blame,
                          int code);

// The hook for a reset: ends the stream's failure.
void gpu_stream_reset(struct stream *stream);
