// Executable graphs of the cpu backend.
#pragma once

#include "backends/cpu/cpu.h"
#include "core/graph.h"

struct cpu_exec {
    struct lock lock;        // guards all of it
    struct plan *plan;       // counted, by launches
    struct stream *last;     // where its last launch is in flight, or NULL …
    uint64_t last_sequence;  // … as this operation
};

rnl_status cpu_exec_init(struct graph_exec *exec);
void cpu_exec_finish(struct graph_exec *exec);
rnl_status cpu_exec_change(struct graph_exec *exec, uint32_t index);

// Puts a launch into the stream's queue.
rnl_status graph_submit(struct stream *stream, struct op *op);

// A launch that was just taken off its queue may be on its way into it.
void graph_await_launch(const struct op *op);

// Drops what a launch that is over has kept, and its plan.
void graph_launch_finish(struct op *op);
