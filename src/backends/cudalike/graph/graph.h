// Executable graphs of the shared backend.
#pragma once

#include "backends/cudalike/graph/plan.h"

enum { SPARE_PLANS = 4, SPARE_PLANS_OF_CONTEXT = 12 };

struct gpu_exec {
    struct lock lock;        // guards all but `spares`, and what the driver is
                             // told of `plan`
    struct gpu_plan *plan;   // counted, by launches that it prepares
    _Atomic bool prepares;   // it has slots; read without the lock, too
    struct point last;       // launch; retained
    struct marker *old_end;  // where launches of a former plan end; NULL: none
    struct gpu_plan *spares[SPARE_PLANS];  // newest first; of who changes it
};

static inline struct gpu_exec *exec_gpu(struct graph_exec *exec)
{
    return exec_native(exec);
}

static inline struct context *context_of(const struct graph_exec *exec)
{
    return exec->object.context;
}

// Whose launches come next. With the exec's lock, or before anybody knows it.
void exec_set_plan(struct gpu_exec *own, struct gpu_plan *plan);

rnl_status gpu_exec_init(struct graph_exec *exec);
void gpu_exec_finish(struct graph_exec *exec);
rnl_status gpu_exec_change(struct graph_exec *exec, uint32_t index);
void gpu_exec_drop_spares(struct graph_exec *exec);
rnl_status gpu_exec_upload(struct graph_exec *exec, struct stream *stream);

// Takes the stream's lock when the graph can be launched at once: what it waits
// for was given to the driver.
void gpu_graph_lock(struct stream *stream, struct op *op);

// Launches with the stream's lock held and its context current. `*out_over`:
// the op is not needed any more, nor need the exec outlive the launch.
bool gpu_graph_prepares(const struct op *op);
int gpu_graph_launch(struct stream *stream, struct op *op, bool *out_over);

// True when a launch that ended too soon has host functions to be called, by a
// thread for them.
bool gpu_graph_owes(const struct op *op);

// Calls them.
void gpu_graph_call(const struct op *op);

// A launch whose op was needed is over: drops what it has kept.
void gpu_graph_over(struct op *op);
