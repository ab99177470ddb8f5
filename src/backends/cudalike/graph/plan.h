// Plans: a snapshot as the driver's executable graph.
//
// Children are laid out in line, so every node of the snapshot has driver nodes
// of its own, which can be given other parameters; but for those inside of an
// IF or WHILE, whose bodies the driver does not let change.
#pragma once

#include "backends/cudalike/stream/lowering.h"
#include "backends/cudalike/stream/stream.h"

struct gpu_plan;

// One node of the snapshot.
struct step {
    struct gpu_plan *plan;
    rnl_node_kind kind;
    bool enabled;
    bool fixed;             // in a body
    bool by_host;           // the host copies, or some of it
    bool early;             // it has a kernel that needs to wait by itself
    struct node_params *node_params;  // shared
    uint32_t first, count;  // its driver nodes that work, in plan->nodes; none
                            // if it is disabled and the driver cannot
};

static inline bool step_is_event(const struct step *step)
{
    return step->kind == RNL_NODE_EVENT_RECORD ||
           step->kind == RNL_NODE_EVENT_WAIT;
}

// Whether the driver enables and disables the nodes of the step; where it does
// not, another plan does.
bool gpu_step_switches(const struct step *step);

// What the driver calls the host for.
struct host_work {
    struct host_work *next;  // of the plan
    struct host_work *next_watched;
    uint64_t number;         // by which the driver knows it
    struct step *step;
    uint32_t slot;
    uint32_t op;             // which of the step's node_params
    enum host_part part;
    char *staged;            // what it reads or writes for the device, packed;
    size_t size;             // page-locked
};

// One launch of a plan, as far as it has a state of its own: what host nodes
// call and what events stand for.
struct graph_launch {
    struct graph_launch *next;
    struct stream *stream;
    uint64_t sequence;  // of the operation
    uint32_t count;
    struct slot {
        struct node_params
            *node_params;       // shared; of a host function to be called
        struct event *event;    // referenced, as is …
        struct marker *marker;  // … what stands for it
        bool arrived;           // the driver came to the host node
    } slots[];
};

struct gpu_plan {
    _Atomic uint32_t references;  // of the exec, and of launches under way
                                  // that it prepared
    struct context *context;
    void *graph, *exec;           // the driver's; the graph names the nodes
    struct step *steps;
    uint32_t count;
    void **nodes;                 // the driver's
    uint32_t node_count, node_most;
    uint32_t *slotted;            // the steps of what launches prepare
    uint32_t slot_count, slot_most;
    void *never;                  // an event that is never recorded
    struct pinned *pinned;        // page-locked memory of its copies
    struct host_work *host_works;
    bool works;                   // else its launches wait for none before
    bool may_block;               // its launches may wait (graph_fence.h)
    struct node_params_list *used;         // room for those of the steps
    struct lock lock;             // guards the launches under way
    struct graph_launch *launches;  // oldest first
};

// What launches under way may use.
struct node_params_list;
struct node_params_list *recipes_new(size_t most);  // NULL: no memory
void recipes_add(struct node_params_list *node_params_list,
                 struct node_params *shared);
void recipes_drop(struct node_params_list *node_params_list);
// Once the last of them is over.
void recipes_drop_behind(struct node_params_list *node_params_list,
                         struct point last);

// NULL after recording why.
struct gpu_plan *gpu_plan_create(struct context *context,
                                 const struct graph *snapshot);
// `last`: its last launch.
void gpu_plan_free(struct gpu_plan *plan, struct point last);

// How many steps a node takes, itself and what is inside, and how many all of a
// graph's.
uint32_t gpu_steps_of(const struct node *node);
uint32_t gpu_steps_in(const struct graph *graph);
// How many of what launches prepare it has at most.
uint32_t gpu_slots_of(const struct node *node);

// What a kernel of the library's own looks at to decide on an IF or WHILE: 0 or
// the driver's code. With the context current.
int gpu_decider(struct context *context, void **out_function);
void gpu_decider_finish(struct gpu_context *gpu);

// Whether the step can have that node_params instead, as to the host's part and
// the form of fills.
bool gpu_step_can_have(const struct step *step,
                       const struct node_params *node_params);
// What the driver does of a copy in which the host reads or writes.
int gpu_rest_pieces(const struct host_work *work, const struct op *op,
                    int (*visit)(struct piece *, void *), void *argument);
// What it does of a node_params that the step has or can have.
int gpu_step_pieces(const struct step *step,
                    const struct node_params *node_params,
                    int (*visit)(struct piece *, void *), void *argument);
