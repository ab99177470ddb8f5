// Plans: a snapshot as the driver's executable graph.
//
// Children are laid out inline, so every node of the snapshot has driver nodes
// of its own, which can get new parameters. Nodes in the body of a conditional
// node are an exception, because the driver does not let bodies change.
#pragma once

#include "backends/cudalike/stream/lowering.h"
#include "backends/cudalike/stream/stream.h"

struct gpu_plan;

// A node of the snapshot.
struct step {
    struct gpu_plan *plan;
    rnl_node_kind kind;
    bool enabled;
    bool fixed;             // inside the body of a conditional node
    bool by_host;           // the host does all of a copy, or a part
    bool early;             // has a kernel that waits for its predecessors by
                            // itself
    struct node_params *node_params;  // shared
    uint32_t first, count;  // its working driver nodes, in plan->nodes; none if
                            // it is disabled and cannot be switched
};

static inline bool step_is_event(const struct step *step)
{
    return step->kind == RNL_NODE_EVENT_RECORD ||
           step->kind == RNL_NODE_EVENT_WAIT;
}

// True if the driver can enable and disable the nodes of the step. Otherwise,
// the graph changes to another plan.
bool gpu_step_switches(const struct step *step);

// Work of the host for which the driver calls host_node_run.
struct host_work {
    struct host_work *next;  // of the plan
    struct host_work *next_watched;
    uint64_t number;         // name of the work for the driver
    struct step *step;
    uint32_t slot;
    uint32_t op;             // index in the step's node_params
    enum host_part part;
    char *staged;            // page-locked, packed data that the host reads or
                             // writes for the device
    size_t size;             // bytes of `staged`
};

// The state of one launch of a plan: calls of its host nodes, and the points
// that its events stand for.
struct graph_launch {
    struct graph_launch *next;
    struct stream *stream;
    uint64_t sequence;  // number of the operation
    uint32_t count;
    struct slot {
        struct node_params
            *node_params;       // shared; of a host function or a copy
        struct event *event;    // referenced, and …
        struct marker *marker;  // … its marker
        bool arrived;           // the driver has reached the node
    } slots[];
};

struct gpu_plan {
    _Atomic uint32_t references;  // held by the exec, and by launches under way
                                  // with slots
    struct context *context;
    void *graph, *exec;           // the driver's; the graph names the nodes
    struct step *steps;
    uint32_t count;
    void **nodes;                 // the driver's
    uint32_t node_count, node_most;
    uint32_t *slotted;            // steps that each launch prepares
    uint32_t slot_count, slot_most;
    void *never;                  // an event that is never recorded
    struct pinned *pinned;        // page-locked memory of its copies
    struct host_work *host_works;
    bool works;                   // false: launches wait for no earlier launch
    bool may_block;               // launches may block (graph_fence.h)
    struct exec_references *used;         // room for all steps
    struct lock lock;             // guards the launches under way
    struct graph_launch *launches;  // oldest first
};

// A list of node_params that launches under way may use.
struct exec_references;
struct exec_references *exec_references_new(size_t most);  // NULL: no memory
void exec_references_add(struct exec_references *references,
                 struct node_params *shared);
void exec_references_drop(struct exec_references *references);
// Drops the list once the launch `last` is over.
void exec_references_retire(struct exec_references *references,
                         struct point last);

// Returns NULL after recording the failure.
struct gpu_plan *gpu_plan_create(struct context *context,
                                 const struct graph *snapshot);
// `last` is the last launch of the plan.
void gpu_plan_free(struct gpu_plan *plan, struct point last);

// gpu_steps_of counts the steps of a node with all inner nodes; gpu_steps_in
// counts the steps of a whole graph.
uint32_t gpu_steps_of(const struct node *node);
uint32_t gpu_steps_in(const struct graph *graph);
// Returns the largest number of slots that launches may need for the node.
uint32_t gpu_slots_of(const struct node *node);

// Gives the library's kernel that reads the number of an IF or WHILE. Returns 0
// or the driver's code. The context is current.
int gpu_condition_kernel(struct context *context, void **out_function);
void gpu_condition_kernel_finish(struct gpu_context *gpu);

// True if the step can take these node_params instead: the host's part and the
// form of fills must agree.
bool gpu_step_can_have(const struct step *step,
                       const struct node_params *node_params);
// Visits the pieces of the device's part of a copy in which the host reads or
// writes.
int gpu_rest_pieces(const struct host_work *work, const struct op *op,
                    int (*visit)(struct piece *, void *), void *argument);
// Visits the device's pieces of the node_params, which the step has or can
// have.
int gpu_step_pieces(const struct step *step,
                    const struct node_params *node_params,
                    int (*visit)(struct piece *, void *), void *argument);
