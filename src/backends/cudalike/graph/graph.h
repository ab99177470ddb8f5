// Executable graphs of the shared backend.
#pragma once

#include "backends/cudalike/graph/plan.h"
#include "backends/cudalike/tuning.h"

struct gpu_exec {
    struct lock lock;        // guards all but `spares`, and the calls that
                             // change `plan` in the driver
    struct gpu_plan *plan;   // counted, by launches that it prepares
    _Atomic bool prepares;   // the plan has slots; also read without the lock
    struct point last;       // last launch; retained
    struct marker *old_end;  // end of a former plan's launches, or NULL
    struct gpu_plan *spares[SPARE_PLANS];  // newest first; the changing
                                           // thread's own
};

static inline struct gpu_exec *exec_gpu(struct graph_exec *exec)
{
    return exec_native(exec);
}

static inline struct context *context_of(const struct graph_exec *exec)
{
    return exec->object.context;
}

rnl_status gpu_exec_init(struct graph_exec *exec);
void gpu_exec_finish(struct graph_exec *exec);
rnl_status gpu_exec_change(struct graph_exec *exec, uint32_t index);
rnl_status gpu_exec_upload(struct graph_exec *exec, struct stream *stream);

// Takes the stream's lock once the graph can be launched at once: the driver
// has the records of all events that the graph waits for.
int gpu_graph_lock(struct stream *stream, struct op *op);

// gpu_graph_prepares is true if each launch has slots to prepare.
// gpu_graph_launch launches the graph. The caller holds the stream's lock, and
// the context is current. `*out_over` is true if the op is no longer needed and
// the exec need not outlive the launch.
bool gpu_graph_prepares(const struct op *op);
int gpu_graph_launch(struct stream *stream, struct op *op, bool *out_over);

// True if a launch that ended too soon has host functions left to call. A
// thread for host functions must call them.
bool gpu_graph_owes(const struct op *op);

// Calls the host functions that such a launch has left.
void gpu_graph_call(const struct op *op);

// Drops everything that a launch has kept for its op, after the launch is over.
void gpu_graph_over(struct op *op);
