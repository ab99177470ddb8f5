// Functions of buffers.
#pragma once

#include "core/object/buffer_object.h"
#include "core/stream/stream.h"

// An unpublished buffer without memory. NULL after recording why.
struct buffer *buffer_new(struct context *context, rnl_memory_kind kind,
                          size_t size, const char *label);

// Frees the host copy of a mapping, if any.
void map_shadow_end(struct buffer *buffer);

// A buffer, not yet published, that borrows `memory` and keeps `owner` alive.
rnl_status buffer_borrow(struct context *context, struct memory memory,
                         size_t size, struct object *owner, const char *label,
                         struct buffer **out_buffer);

// A buffer, published, of memory that Runnel did not allocate.
rnl_status buffer_wrap(struct context *context, void *pointer, size_t size,
                       const rnl_wrap_options *options, bool read_only,
                       rnl_buffer *out_buffer);

// A buffer for a graph, not yet published.
rnl_status make_graph_buffer(struct context *context, size_t size,
                             const rnl_buffer_options *options,
                             struct object **out_object);

// A buffer as `options`, which are checked and have .interprocess, ask for; not
// published.
rnl_status share_buffer_make(struct context *context, size_t size,
                             const rnl_buffer_options *options,
                             struct buffer **out_buffer);

// Makes the check sum fit bytes that were changed; for tests of what follows.
void ipc_handle_seal(rnl_ipc_handle *handle);

// Refuses a number that is no rnl_element.
rnl_status element_check(rnl_element element, const char *parameter);
// The C type of a checked element.
const char *element_name(rnl_element element);
