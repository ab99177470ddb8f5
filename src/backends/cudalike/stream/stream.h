// Streams, events, memory and operations of the backend.
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"

rnl_status stream_record_marker(struct stream *stream, struct marker *marker);
// `*out_at` is the number of the waiting operation; on failure, `*out_at` is
// unchanged.
rnl_status stream_wait_marker(struct stream *stream, struct marker *marker,
                              uint64_t *out_at);
// Asks the driver whether all submitted work is done: RNL_OK, RNL_NOT_READY or
// a failure.
rnl_status stream_poll(struct stream *stream);
// The same, for a caller with the stream's lock. The wait is operation
// `enqueued`.
rnl_status stream_wait_marker_locked(struct stream *stream,
                                     struct marker *marker);
// Gives the stream's lock back after such a wait.
void stream_give_wait(struct stream *stream);

// --- Hooks -----------------------------------------------------------------

// Reads the properties of a borrowed stream, which must belong to the context.
rnl_status gpu_stream_borrow(struct stream *stream);
// Returns the driver's values of a stream's attributes. The context is current.
struct stream_attributes gpu_read_attributes(struct stream *stream);

rnl_status gpu_stream_init(struct stream *stream);
void gpu_stream_finish(struct stream *stream);
rnl_status gpu_stream_submit(struct stream *stream, struct op *first);
rnl_status gpu_stream_query(struct stream *stream);
rnl_status gpu_stream_wait(struct stream *stream, uint64_t deadline);
rnl_status gpu_stream_join(struct stream *stream, struct stream *other);

rnl_status gpu_event_init(struct event *event);
void gpu_event_finish(struct event *event);
rnl_status gpu_event_record(struct event *event, struct stream *stream);
rnl_status gpu_event_join(struct stream *stream, struct event *event);
rnl_status gpu_event_native(struct event *event, void **out_native);
rnl_status gpu_event_query(struct event *event);
rnl_status gpu_event_wait(struct event *event, uint64_t deadline);
rnl_status gpu_event_elapsed(struct event *start, struct event *end,
                             struct event **out_wrong, int64_t *out_ns);
void gpu_event_break(struct event *event);
rnl_status gpu_event_share(struct event *event, bool opens,
                           unsigned char *key);  // shared_event.c
// Sets the event to a marker, recorded on `stream` behind operation `value`.
// The event takes over the marker.
void gpu_event_stand_for(struct event *event, struct marker *marker,
                         struct stream *stream, uint64_t value);

rnl_status gpu_memory_allocate(struct context *context, rnl_memory_kind kind,
                               size_t size, struct memory *out_memory);
rnl_status gpu_memory_share(struct context *context, bool opens, size_t size,
                            unsigned char *key, struct memory *out_memory);
void gpu_memory_free(struct context *context, rnl_memory_kind kind,
                     struct memory memory, size_t size);
rnl_status gpu_memory_advise(struct context *context, void *address,
                             size_t size, rnl_memory_advice advice);
rnl_status gpu_host_register(struct context *context, void *pointer,
                             size_t size, bool locked);

// --- Operations, each with the context current and the stream's lock held ----

// Each function returns the driver's code; 0 is success.
int gpu_launch(struct stream *stream, struct op *op);  // launch.c
int gpu_hint(struct stream *stream, struct op *op);    // memory.c
// Submits a copy, a fill or values to any native stream. `*out_begun` is true
// if some part runs, even if the driver refused the rest.
int gpu_give(struct context *context, void *handle, const struct op *op,
             bool *out_begun);                         // copy.c

// The host's part of a graph node. With this part, memory is read and written
// at the node's turn, and the driver blocks no thread.
enum host_part {
    HOST_NOTHING,
    HOST_CALLS,   // calls a function; no copy
    HOST_COPIES,  // copies all, within the host
    HOST_READS,   // reads ordinary memory …
    HOST_WRITES,  // … or writes to it
};
enum host_part gpu_host_part(struct context *context, const struct op *op);
