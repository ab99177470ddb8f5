// Buffers that several processes share.
#pragma once

#include "core/backend.h"

#include <runnel/interprocess.h>

// An event without options, not published. NULL after recording why.
struct event *event_make(struct context *context);

// A buffer as `options`, which are checked and have .interprocess, ask for; not
// published.
rnl_status share_buffer_make(struct context *context, size_t size,
                             const rnl_buffer_options *options,
                             struct buffer **out_buffer);

// Makes the check sum fit bytes that were changed; for tests of what follows.
void ipc_handle_seal(rnl_ipc_handle *handle);
