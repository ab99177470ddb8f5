// What a launch of a graph has of its own: the work of its host nodes, each to
// be done once, and the points that its events stand for.
#pragma once

#include "backends/cudalike/graph/plan.h"
#include "backends/cudalike/stream/copy.h"

// What the driver calls for a host node; `number` is its work's, which the work
// has from when it is watched until it is not: the driver may come to a node in
// the moment in which the device is lost, and its plan be gone by then.
void host_node_run(void *number);
void host_work_list(struct host_work *work);
void host_work_unlist(struct host_work *work);

// What the device does of a copy in which the host reads or writes.
struct op_copy host_work_rest(const struct host_work *work,
                              const struct op_copy *copy);

// NULL when memory is short. It is nobody's before graph_launch_begin.
struct graph_launch *graph_launch_new(struct gpu_plan *plan,
                                      const struct op *op);

// Before the driver gets it: it may come to the host nodes at once.
void graph_launch_begin(struct gpu_plan *plan, struct graph_launch *launch);

// Once it is over, or was refused.
void graph_launch_end(struct gpu_plan *plan, struct graph_launch *launch);

// Calls the host functions that the driver did not come to, with the status.
void graph_launch_call(struct gpu_plan *plan, struct graph_launch *launch);
// True when there are some.
bool graph_launch_owes(struct gpu_plan *plan,
                       const struct graph_launch *launch);
