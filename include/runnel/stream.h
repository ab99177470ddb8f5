// Streams: ordered queues of work on one context.
//
// Work on one stream runs in the order it was issued. Work on different streams
// has no order unless an event or a wait makes one.
//
// Lifetime: counted; keeps its context alive. Releasing a stream never blocks
//           and never cancels: what was enqueued still runs.
// Threads:  safe; calls of several threads interleave in some order.
//
// Failure: when an operation fails while it runs, the stream keeps the first
// failure. Operations behind it, and those of other streams that wait for them,
// do not run; host functions among them are called with the status. Calls that
// enqueue work, query or wait report the failure until
// rnl_stream_reset_and_wait; recording an event and giving memory back go on.
#ifndef RUNNEL_STREAM_H
#define RUNNEL_STREAM_H

#include <runnel/status.h>

// RNL_STREAM_NON_BLOCKING, RNL_STREAM_BATCHED, their sum, or 0.
typedef uint32_t rnl_stream_flags;

// No implicit order with the vendor's legacy default stream.
#define RNL_STREAM_NON_BLOCKING 1u

// Work is collected, and submitted together: by rnl_stream_flush, when there is
// much of it (at most 128 operations), and by every call that looks at how far
// the stream is: query, synchronize and other calls that wait, recording an
// event, waits of or for the stream, the caller's last release. Cheaper for
// many small launches; nothing else differs from an ordinary stream.
#define RNL_STREAM_BATCHED 2u

// How a stream is made.
typedef struct rnl_stream_options {
    size_t struct_size;
    int priority;            // smaller runs sooner; clamped to the device's
                             // priority_greatest … priority_least; 0 is normal.
                             // cpu: work of a smaller number waits for some ms
                             // of others' blocks, or for one block; work of
                             // the same number takes turns of 2 to 8 ms
    rnl_stream_flags flags;  // RNL_STREAM_…
    const char *label;       // shown in errors and logs; copied
} rnl_stream_options;

#define RNL_STREAM_OPTIONS(...) RNL_LITERAL(rnl_stream_options, __VA_ARGS__)

// Properties of a stream. `label` lives as long as the stream.
typedef struct rnl_stream_info {
    size_t struct_size;
    uint64_t id;           // unique in this process, never reused
    rnl_context context;   // borrowed, and never NULL
    int priority;          // after clamping
    rnl_stream_flags flags;
    const char *label;     // "" when none was given; "default" of the
                           // context's default stream
    uint64_t native_id;    // the driver's number, as its profilers show it
                           // (cuStreamGetId); 0: it has none, as on the cpu
                           // and before CUDA 12.0
} rnl_stream_info;

// A function that the host runs in stream order. `status` is RNL_OK, or the
// failure of earlier work: the function is always called exactly once.
typedef void (*rnl_host_fn)(rnl_status status, void *user_data);

// Destructor of user data: called once, after the last reference is gone, on
// the thread that dropped it or a thread of the library. Calls of Runnel inside
// are refused, and do not change rnl_last_error() of the call that runs the
// destructor.
typedef void (*rnl_destroy_fn)(void *user_data);

// A host function with its user data and destructor.
typedef struct rnl_host_call {
    size_t struct_size;
    rnl_host_fn function;
    void *user_data;
    rnl_destroy_fn destroy;  // of `user_data`: behind the call, and, if it was
                             // captured, with the last graph that has it; not
                             // where rnl_enqueue_host_call fails
    const char *label;       // named in errors; copied
} rnl_host_call;

#define RNL_HOST_CALL(...) RNL_LITERAL(rnl_host_call, __VA_ARGS__)

RNL_BEGIN_DECLS

// Creates a stream on `context`. Stands for cuStreamCreateWithPriority.
RNL_API rnl_status rnl_stream_create(rnl_context context,
                                     const rnl_stream_options *options,
                                     rnl_stream *out_stream);

// Adds a reference for the caller.
RNL_API rnl_status rnl_stream_retain(rnl_stream stream);

// Drops one. The default stream of a context has no reference to drop:
// RNL_ERROR_INVALID_STATE.
RNL_API rnl_status rnl_stream_release(rnl_stream stream);

// Fills `*out_info`, whose struct_size the caller has set.
RNL_API rnl_status rnl_stream_get_info(rnl_stream stream,
                                       rnl_stream_info *out_info);

// Submits what a stream with RNL_STREAM_BATCHED has collected; does nothing on
// another stream. Needed before anything outside of Runnel waits for the work.
// Does not block. Returns the failure of the stream.
RNL_API rnl_status rnl_stream_flush(rnl_stream stream);

// RNL_OK when all work submitted before the call is done, RNL_NOT_READY when it
// is not, or the failure of the stream. Stands for cuStreamQuery.
RNL_API rnl_status rnl_stream_query(rnl_stream stream);

// Blocks until all work submitted before the call is done, or `timeout_ns` has
// passed: RNL_ERROR_TIMED_OUT leaves the stream as it was, and the message says
// what the stream waits for (cpu: the whole chain of streams and promises, and
// whether the chain is a circle). The calling thread may run work of the cpu
// itself, which is faster than waking another thread: any kernels of the stream
// with RNL_FOREVER, else only small work whose time is bounded, such as kernels
// without loops.
// Returns the failure of the stream. Stands for cuStreamSynchronize.
RNL_API rnl_status rnl_stream_synchronize(rnl_stream stream,
                                          uint64_t timeout_ns);

// Waits like rnl_stream_synchronize without limit, then forgets the stream's
// failure so that it can be used again. RNL_ERROR_DEVICE_LOST when the whole
// context is lost.
RNL_API rnl_status rnl_stream_reset_and_wait(rnl_stream stream);

// Ends what the stream has in flight, and does not block: work that was
// submitted before the call and has not begun is dropped, waits for events,
// streams and values end at once, and kernels that run are stopped within about
// a millisecond, wherever they are, endless loops included. The stream fails
// with RNL_ERROR_CANCELLED, which tells what was stopped or dropped first, and
// can be used again after rnl_stream_reset_and_wait. Without work in flight
// nothing happens. Host functions that run, and C functions as kernels, end by
// themselves; host functions behind them are called with the failure. A graph
// whose executable graph also runs on another stream waits for that launch.
// Memory that a stopped kernel was writing holds some of its results. A batched
// stream submits its collected work before. Legal from any thread.
// RNL_ERROR_UNSUPPORTED without RNL_FEATURE_CANCEL: drivers of GPUs cannot take
// work back. Without RNL_FEATURE_KERNEL_LIMIT kernels that run end by
// themselves, too. RNL_ERROR_OUT_OF_MEMORY, and nothing is cancelled, when the
// system gives no thread to look after it. Stands for no vendor call.
RNL_API rnl_status rnl_stream_cancel(rnl_stream stream);

// Makes later work of `stream` wait for what `event` stands for now. An event
// that was never recorded stands for nothing (as in CUDA), unless it is a
// promise: then the wait lasts until it is recorded and complete. The event may
// be of another context. Does not block. Stands for cuStreamWaitEvent.
RNL_API rnl_status rnl_enqueue_wait_event(rnl_stream stream, rnl_event event);

// Makes later work of `stream` wait for all work submitted to `other` so far.
RNL_API rnl_status rnl_enqueue_wait_stream(rnl_stream stream,
                                           rnl_stream other);

// Makes later work of `stream` wait for all work submitted to any stream of
// `other` so far.
RNL_API rnl_status rnl_enqueue_wait_context(rnl_stream stream,
                                            rnl_context other);

// Runs `function` once on a thread of the library after all earlier work of the
// stream; later work waits for its end. `function` may not call Runnel.
// `user_data` must live until it ran. RNL_ERROR_UNSUPPORTED without
// RNL_FEATURE_HOST_FUNCTIONS, which drivers below CUDA 11.7 lack. Stands for
// cuLaunchHostFunc.
RNL_API rnl_status rnl_enqueue_host_function(rnl_stream stream,
                                             rnl_host_fn function,
                                             void *user_data);

// The same with a destructor for `user_data`, and a label. Stands for
// cuLaunchHostFunc and cuUserObjectCreate.
RNL_API rnl_status rnl_enqueue_host_call(rnl_stream stream,
                                         const rnl_host_call *call);

// Makes the host function that the calling thread runs fail its stream with
// RNL_ERROR_LAUNCH_FAILED and `message` (copied; at most 511 bytes are shown),
// once the function returns: work behind it does not run. The first call of a
// function counts. In a graph on a GPU, nodes behind the function run all the
// same, and work behind the graph does not. RNL_ERROR_NOT_PERMITTED outside of
// host functions. Stands for no vendor call.
RNL_API rnl_status rnl_host_function_fail(const char *message);

RNL_END_DECLS

#endif
