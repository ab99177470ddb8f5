// Capture: work given to streams becomes a graph instead of running.
//
// Between begin and end, what is enqueued on the stream is added to a graph,
// each operation after the one before. Other streams join when they wait for an
// event recorded on a captured stream (fork), and their work comes back when a
// captured stream waits for an event of theirs (join); at the end all must have
// come back. Nothing that is captured has any effect before the graph is
// launched. Events recorded in a capture stand for points in the graph.
//
// A call that cannot be captured (waiting for a captured stream, say) is
// refused and makes the capture invalid: all later calls on its streams give
// RNL_ERROR_CAPTURE_INVALIDATED, with the name of the call that was at fault,
// until the capture is ended. docs/concepts/capture-table.md has them all.
//
// Threads: safe. What other threads may do meanwhile depends on the mode.
#ifndef RUNNEL_CAPTURE_H
#define RUNNEL_CAPTURE_H

#include <runnel/graph.h>

// The threads that may make calls which could disturb a capture under way.
typedef enum rnl_capture_mode {
    RNL_CAPTURE_THREAD_LOCAL = 0,  // all but the thread that captures
    RNL_CAPTURE_GLOBAL = 1,        // nobody
    RNL_CAPTURE_RELAXED = 2,       // everybody; any thread may end the capture
} rnl_capture_mode;

// How a capture is begun.
typedef struct rnl_capture_options {
    size_t struct_size;
    rnl_capture_mode mode;
    rnl_graph graph;        // captured work is added to it; NULL: a new one
    // The first operations come after these of `graph`.
    const rnl_node *after;
    size_t after_count;
    const char *label;      // of a new graph; copied
} rnl_capture_options;

#define RNL_CAPTURE_OPTIONS(...) RNL_LITERAL(rnl_capture_options, __VA_ARGS__)

// Whether a stream is being captured.
typedef enum rnl_capture_status {
    RNL_CAPTURE_NONE = 0,
    RNL_CAPTURE_ACTIVE = 1,
    RNL_CAPTURE_INVALIDATED = 2,
} rnl_capture_status;

// The state of a stream's capture.
typedef struct rnl_capture_info {
    size_t struct_size;
    rnl_capture_status status;
    rnl_capture_mode mode;
    uint64_t id;        // of this capture, never reused; 0 while there is none
    rnl_graph graph;    // so far; borrowed; NULL when there is none
    size_t node_count;  // nodes that the next operation of the stream comes
                        // after
} rnl_capture_info;

// Enqueues work on `stream` for rnl_stream_capture; a status that is not
// RNL_OK ends the capture without a graph.
typedef rnl_status (*rnl_capture_fn)(rnl_stream stream, void *user_data);

RNL_BEGIN_DECLS

// Begins capturing `stream`, which must not be captured already
// (RNL_ERROR_INVALID_STATE). Stands for cuStreamBeginCapture and
// cuStreamBeginCaptureToGraph.
RNL_API rnl_status rnl_stream_begin_capture(rnl_stream stream,
                                            const rnl_capture_options *options);

// Ends it and gives the caller a reference to the graph. All its streams are
// ordinary ones again, also after an error, which loses what was captured:
// RNL_ERROR_CAPTURE_UNJOINED names a stream whose work did not come back,
// RNL_ERROR_CAPTURE_INVALIDATED the call that was at fault, and
// RNL_ERROR_CAPTURE_THREAD tells that another thread began the capture, in a
// mode other than RELAXED. Only a call on a stream that joined does not end the
// capture, but makes it invalid (RNL_ERROR_CAPTURE_UNMATCHED).
// RNL_ERROR_INVALID_STATE when the stream is not captured. Stands for
// cuStreamEndCapture.
RNL_API rnl_status rnl_stream_end_capture(rnl_stream stream,
                                          rnl_graph *out_graph);

// Begins, calls `function`, and always ends. Returns what `function` returned,
// else what ending did.
RNL_API rnl_status rnl_stream_capture(rnl_stream stream,
                                      const rnl_capture_options *options,
                                      rnl_capture_fn function, void *user_data,
                                      rnl_graph *out_graph);

// Fills `*out_info`, whose struct_size the caller has set; legal in every
// state. Before the end the graph can be looked at, but not be changed, copied,
// instantiated or used for an update: RNL_ERROR_INVALID_STATE. Stands for
// cuStreamGetCaptureInfo.
RNL_API rnl_status rnl_stream_get_capture_info(rnl_stream stream,
                                               rnl_capture_info *out_info);

// Sets how far captures of other threads and its own restrict the calling
// thread, and gives the earlier mode in `*mode`. A thread begins with GLOBAL,
// and heeds the modes of all captures. With THREAD_LOCAL a thread heeds only
// its own captures, with RELAXED none. Stands for
// cuThreadExchangeStreamCaptureMode.
RNL_API rnl_status rnl_capture_exchange_mode(rnl_capture_mode *mode);

// Records `event` as a node of the graph when `stream` is captured, so that
// each launch records it for the world outside; otherwise the same as
// rnl_enqueue_event_record. Stands for CU_EVENT_RECORD_EXTERNAL.
RNL_API rnl_status rnl_enqueue_external_record(rnl_stream stream,
                                               rnl_event event);

// Likewise a wait for what `event` stands for at the launch. Stands for
// CU_EVENT_WAIT_EXTERNAL.
RNL_API rnl_status rnl_enqueue_external_wait(rnl_stream stream,
                                             rnl_event event);

RNL_END_DECLS

#endif
