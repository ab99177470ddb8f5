// Timing: how long a device takes for work that a callback enqueues.
//
//   static rnl_status step(rnl_stream stream, size_t iteration, void *data)
//   {
//       return rnl_enqueue_function(stream, …);
//   }
//   rnl_time_and_wait(stream, 100, step, NULL, &total_ns);
//
// Work that was enqueued before does not count. The first iteration often pays
// for what later ones find ready (compiled code, memory, clocks): time a few
// first and throw the result away.
#ifndef RUNNEL_TIMING_H
#define RUNNEL_TIMING_H

#include <runnel/status.h>

// Enqueues the work of one iteration, numbered from 0, on `stream`. It runs on
// the calling thread and may call everything in Runnel. What it returns, unless
// RNL_OK, ends the timing.
typedef rnl_status (*rnl_time_fn)(rnl_stream stream, size_t iteration,
                                  void *user_data);

RNL_BEGIN_DECLS

// Calls `function` `iterations` times and blocks until the work is done.
// `*out_total_ns` is the time that all of it took together, in nanoseconds of
// the device's clock, from the end of earlier work on the stream to the end of
// the last iteration's; 0 for no iteration. Only work of `stream`, and work
// that `stream` waits for, is seen. RNL_ERROR_UNSUPPORTED without
// RNL_FEATURE_EVENT_TIMING. When `function` returns an error, returns that at
// once: work enqueued so far still runs, and rnl_last_error() is the
// callback's.
RNL_API rnl_status rnl_time_and_wait(rnl_stream stream, size_t iterations,
                                     rnl_time_fn function, void *user_data,
                                     uint64_t *out_total_ns);

RNL_END_DECLS

#endif
