// Kernel launches, on streams and as nodes of graphs.
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"

#define LAUNCH_ATTRIBUTES_MOST 16

// The shape of a kernel, in struct driver_launch and driver_kernel_node.
#define LAUNCH_SHAPE(kernel)                                              \
    .grid_x = (kernel)->grid.x, .grid_y = (kernel)->grid.y,               \
    .grid_z = (kernel)->grid.z, .block_x = (kernel)->block.x,             \
    .block_y = (kernel)->block.y, .block_z = (kernel)->block.z,           \
    .shared_size = (unsigned)(kernel)->shared_size

// Fills in the vendor's attributes for a launch, at most
// LAUNCH_ATTRIBUTES_MOST. The launch records its events with `markers`, in
// order; NULL: the launch records no event.
unsigned gpu_launch_attributes(const struct op_kernel *kernel,
                               struct marker *const *markers,
                               struct driver_launch_attribute *out);

void gpu_set_window(struct driver_launch_attribute *out,
                    const rnl_access_policy *policy);

// A code of gpu_hooks.graph_launch besides the driver's: a borrowing op cannot
// launch a graph with slots to prepare.
#define GRAPH_PREPARES (-1)

enum launch_result gpu_stream_launch(struct stream *stream, struct op *op);
