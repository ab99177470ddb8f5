// Events: points in streams, to wait for and to measure between.
//
// An event stands for nothing until it is recorded, then for all work that its
// stream had been given at that moment. Recording it again moves it.
//
// Lifetime: counted; keeps its context alive. May be released at any moment,
//           also while streams wait for it.
// Threads:  safe.
#ifndef RUNNEL_EVENT_H
#define RUNNEL_EVENT_H

#include <runnel/status.h>

// How an event is made.
typedef struct rnl_event_options {
    size_t struct_size;
    bool timing;         // keep the time it completes; makes recording dearer
    bool blocking_sync;  // waiting threads sleep at once instead of spinning
    bool interprocess;   // others can open it: <runnel/interprocess.h>; without
                         // timing and promise, not in captures and graphs
    bool promise;        // a wait before the first record really waits
    const char *label;   // shown in errors and logs; copied
} rnl_event_options;

#define RNL_EVENT_OPTIONS(...) RNL_LITERAL(rnl_event_options, __VA_ARGS__)

RNL_BEGIN_DECLS

// Creates an event, not recorded yet. Stands for cuEventCreate.
RNL_API rnl_status rnl_event_create(rnl_context context,
                                    const rnl_event_options *options,
                                    rnl_event *out_event);

// Adds a reference for the caller.
RNL_API rnl_status rnl_event_retain(rnl_event event);

// Drops one. A promise that goes without having been recorded is broken: work
// that waits for it fails with RNL_ERROR_DEPENDENCY_FAILED.
RNL_API rnl_status rnl_event_release(rnl_event event);

// Records `event` on `stream`, which must be of the event's context. Streams
// that already wait for an earlier record keep waiting for that one. A promise
// can be recorded once: RNL_ERROR_INVALID_STATE the second time, and on a
// stream that waits for it, since both would wait for each other for good.
// Stands for cuEventRecord.
RNL_API rnl_status rnl_enqueue_event_record(rnl_stream stream,
                                            rnl_event event);

// Creates an event and records it on `stream` in one step.
RNL_API rnl_status rnl_enqueue_event(rnl_stream stream,
                                     const rnl_event_options *options,
                                     rnl_event *out_event);

// RNL_OK when the event is complete or was never recorded, RNL_NOT_READY when
// not (or for a promise not yet recorded), or the failure of the work that the
// event stands for. Stands for cuEventQuery.
RNL_API rnl_status rnl_event_query(rnl_event event);

// Blocks until the event is complete or `timeout_ns` has passed
// (RNL_ERROR_TIMED_OUT). Returns at once for a plain event that was never
// recorded. Stands for cuEventSynchronize.
RNL_API rnl_status rnl_event_synchronize(rnl_event event, uint64_t timeout_ns);

// Nanoseconds from `start` to `end`. Both must have `.timing`
// (RNL_ERROR_INVALID_ARGUMENT), be recorded (RNL_ERROR_INVALID_STATE) and be
// complete (RNL_NOT_READY); the details name the event at fault.
// RNL_ERROR_INVALID_ARGUMENT when `end` completed before `start`. Does not
// block. Stands for cuEventElapsedTime.
RNL_API rnl_status rnl_event_elapsed(rnl_event start, rnl_event end,
                                     uint64_t *out_ns);

RNL_END_DECLS

#endif
