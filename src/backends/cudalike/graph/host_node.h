// The state of one launch of a graph: the work of its host nodes, each done
// once, and the points that its events stand for.
#pragma once

#include "backends/cudalike/graph/plan.h"
#include "backends/cudalike/stream/copy.h"

// The driver calls host_node_run for a host node, with the number of its work.
// The number is valid only while the work is listed. At the moment the device
// is lost, the driver may reach a node whose plan is already gone.
void host_node_run(void *number);
void host_work_list(struct host_work *work);
void host_work_unlist(struct host_work *work);

// Returns the device's part of a copy in which the host reads or writes.
struct op_copy host_work_rest(const struct host_work *work,
                              const struct op_copy *copy);

// Returns NULL if memory is short. Before graph_launch_begin, the launch
// belongs to the caller alone.
struct graph_launch *graph_launch_new(struct gpu_plan *plan,
                                      const struct op *op);

// Called before the driver gets the launch, because the driver may reach its
// host nodes at once.
void graph_launch_begin(struct gpu_plan *plan, struct graph_launch *launch);

// Called once the launch is over, or was refused.
void graph_launch_end(struct gpu_plan *plan, struct graph_launch *launch);

// Calls the host functions whose nodes the driver never reached, with the
// status.
void graph_launch_call(struct gpu_plan *plan, struct graph_launch *launch);
// True if graph_launch_call has functions to call.
bool graph_launch_owes(struct gpu_plan *plan,
                       const struct graph_launch *launch);
