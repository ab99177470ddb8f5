// Streams, events, memory and operations of the backend.
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"

rnl_status stream_record_marker(struct stream *stream, struct marker *marker);
// `*out_at`: the operation that waits; nothing on failure.
rnl_status stream_wait_marker(struct stream *stream, struct marker *marker,
                              uint64_t *out_at);

// --- Hooks -----------------------------------------------------------------

// Reads what a borrowed stream is, which has to be of the context.
rnl_status gpu_stream_borrow(struct stream *stream);
// The driver's values of a stream's attributes; its context is current.
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
// Lets the event stand for a marker that is given away, recorded on `stream`
// behind operation `value`.
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

// They give the driver's code; 0 is success.
int gpu_launch(struct stream *stream, struct op *op);  // launch.c
int gpu_hint(struct stream *stream, struct op *op);    // memory.c
// Copies, fills and values, on any of the vendor's streams. `*out_begun`: some
// of it runs, also where the driver refused the rest.
int gpu_give(struct context *context, void *handle, const struct op *op,
             bool *out_begun);                         // copy.c

// What the host has to do of a graph's node so that it reads and writes when it
// is its turn, and the driver holds nobody up.
enum host_part {
    HOST_NOTHING,
    HOST_CALLS,   // a function; no copy
    HOST_COPIES,  // all of it: it stays within the host
    HOST_READS,   // ordinary memory is read …
    HOST_WRITES,  // … or written
};
enum host_part gpu_host_part(struct context *context, const struct op *op);
