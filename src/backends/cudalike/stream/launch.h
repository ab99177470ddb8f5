// Launches, by streams and as nodes of graphs.
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"

#define LAUNCH_ATTRIBUTES_MOST 16

// The shape of a kernel, in struct driver_launch and driver_kernel_node.
#define LAUNCH_SHAPE(kernel)                                              \
    .grid_x = (kernel)->grid.x, .grid_y = (kernel)->grid.y,               \
    .grid_z = (kernel)->grid.z, .block_x = (kernel)->block.x,             \
    .block_y = (kernel)->block.y, .block_z = (kernel)->block.z,           \
    .shared_size = (unsigned)(kernel)->shared_size

// The vendor's attributes for a launch, at most LAUNCH_ATTRIBUTES_MOST. Events
// are recorded with `markers`, in their order; NULL: with none.
unsigned gpu_launch_attributes(const struct op_kernel *kernel,
                               struct marker *const *markers,
                               struct driver_launch_attribute *out);

void gpu_set_window(struct driver_launch_attribute *out,
                    const rnl_access_policy *policy);

// Of gpu_hooks.graph_launch, besides the driver's codes: an op that borrows
// cannot launch a graph that takes preparations.
#define GRAPH_PREPARES (-1)

// stream_submit, for a launch that borrows.
rnl_status gpu_stream_launch(struct stream *stream, struct op *op);
