// Plans: flattened graphs for replay. Running a plan allocates nothing and
// takes no lock per step.
//
// The owner of the launch's queue runs the plan, step after step in an order
// that the edges allow. If sharing pays off, or a step would hold up later
// ones, the plan is shared: ready steps are handed out to the owner and to
// threads that join its loop.
#pragma once

#include "backends/cpu/kernel/block.h"
#include "backends/cpu/scheduler/cpu_op.h"
#include "backends/cpu/scheduler/event.h"
#include "backends/cpu/scheduler/parallel_for.h"
#include "core/graph/graph.h"

enum step_kind {
    STEP_NOTHING,
    STEP_OPS,
    STEP_CALL,    // a C function, once
    STEP_RUN,     // a compiled kernel of one block
    STEP_RECORD,
    STEP_OUTSIDE, // a C function that waits for something outside
    // From here on: not at once, or not the next step comes next.
    STEP_HOST,    // only a worker may run it
    STEP_WAIT,    // for an event
    STEP_VALUES,
    // From here on the next step is decided at run time.
    STEP_DECIDE,  // which body is entered
    STEP_LEAVE,   // the end of a body
};

// IF, WHILE and SWITCH are a DECIDE step, the bodies in a row, and a joint
// behind. A body is an entry step, its own steps, and a LEAVE.

struct step {
    enum step_kind kind;
    bool passed;             // its wait is over, but the step still counts
    bool straight;           // its only follower is the next step, which comes
                             // after nothing else
    uint32_t needs;          // steps that it comes after
    uint32_t first, end;     // its followers in plan->followers
    struct node_params *node_params;   // shared; NULL for joints
    struct op *wait;         // WAIT: its own op; has a stream while waiting
    uint32_t point;          // WAIT: its number among WAIT steps
    union {
        struct {                 // VALUES: how many are done, and the last,
            size_t value;        // if it waits
            struct value_waiter waiter;
        };
        struct {                 // CALL
            rnl_native_fn function;
            rnl_native_call call;
        };
        struct kernel_run run;   // RUN; `next` is of the next step, if that is
                                 // to be run with it
        uint32_t next_host;      // HOST: the next one that needs a worker
        struct {                 // DECIDE, LEAVE
            rnl_node_kind decides;
            uint32_t target;     // DECIDE: where all go on; LEAVE: its DECIDE
        };
    };
};

struct plan {
    _Atomic uint32_t references;
    uint32_t count, most;    // steps
    struct step *steps;
    uint32_t follower_count;
    uint32_t *followers;
    uint32_t target_count;    // steps that are WAIT
    uint32_t records;        // steps that are RECORD
    uint32_t hosts;          // steps that are HOST, also disabled ones
    uint32_t branches;       // steps that are DECIDE
    _Atomic bool brief;      // the last launch took no longer than a wake-up
    uint32_t node_count;
    uint32_t *step_of;       // by node; of a CHILD, where it ends
    bool straight;           // all steps are
    bool waits_outside;      // some step does, or did before a change

    // The launch under way.
    struct queue *queue;
    const struct op *op;
    struct stop_scope scope; // of kernels of one block
    bool started, shared;
    bool needs_worker;       // nothing else is left to do for now
    uint32_t next;           // the next step, before sharing
    unsigned slow;           // how often in a row steps took long
    _Atomic bool failed;

    // While shared. Slots are a ring of step numbers plus one; each step is in
    // at most one slot.
    struct parallel_for loop;
    _Atomic uint32_t *left;  // per step: how many it waits for
    _Atomic uint32_t *slots;
    _Atomic uint64_t taken, given;
    _Atomic uint32_t unfinished;
    struct lock lock;        // guards all below, and what the parked wait for
    uint32_t *parked;        // steps that wait, oldest first
    uint32_t parked_count;
    uint32_t first_host, last_host;  // a queue of HOST steps for a worker
    _Atomic uint32_t host_count;     // how many those are
};

// Lays a snapshot flat; NULL after recording why.
struct plan *plan_create(const struct graph *graph);

// Takes over what a node was changed to. False when that needs a new plan.
bool plan_change(struct plan *plan, const struct graph *graph, uint32_t index);

void plan_unref(struct plan *plan);

enum plan_outcome {
    PLAN_DONE,
    PLAN_BLOCKED,       // the queue will be unblocked; no longer the caller's
    PLAN_NEEDS_WORKER,
};

// Goes on with the launch `op`, which is the first of the caller's queue.
enum plan_outcome plan_run(struct plan *plan, struct queue *queue,
                           const struct op *op, bool worker);

// For a launch under way, whose queue is locked by the caller: no step that has
// not begun does anything. The queue is cancelled.
void plan_cancel_locked(struct plan *plan);

// True when a launch of the plan is small work: not worth waking a worker for.
bool plan_is_small(const struct plan *plan);

// True when, besides, the time of each of its steps is bounded.
bool plan_is_short(const struct plan *plan);

// A step that holds up the launch under way, whose queue is blocked and locked
// by the caller; or NULL.
const struct step *plan_waiting(const struct plan *plan);

// --- Branches (graph_branch.c) ----------------------------------------------

// The DECIDE of a step that decides, itself or a LEAVE.
const struct step *branch_decide(const struct plan *plan,
                                 const struct step *step);

// The step that runs after a decision (IF, WHILE, SWITCH) or after the end of a
// body: the first step of the chosen body, or the step behind the node.
uint32_t branch_choose(const struct plan *plan, const struct step *step);

// How many steps the body has that is entered at `to`; 0: that is none.
uint32_t branch_size(const struct plan *plan, const struct step *decide,
                     uint32_t to);

// Counts anew how many of the steps from `first` to `last` each of them waits
// for.
void branch_rearm(struct plan *plan, uint32_t first, uint32_t last);

// The step behind step `i` of those that may still run: a body that was left
// alone in favour of another will not be entered any more.
uint32_t branch_ahead(const struct plan *plan, uint32_t i);

// Counts the predecessors of the steps that may still run, and these steps.
void branch_count_rest(struct plan *plan);

static inline struct plan *op_plan(const struct op *op)
{
    return cpu_op_of(op)->graph.plan;
}

// The targets of its WAIT steps at the time of the launch; referenced.
static inline struct wait *op_wait_targets(const struct op *op)
{
    return cpu_op_of(op)->graph.targets;
}

// The launch's number in the process, from 1 on.
static inline uint64_t op_launch(const struct op *op)
{
    return cpu_op_of(op)->graph.launch;
}

// --- Executable graphs (graph_launch.c) -------------------------------------

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

// Waits for a launch that was taken off its queue but has not begun.
void graph_await_launch(const struct op *op);

// Gives up the references of a finished launch, and its plan.
void graph_launch_finish(struct op *op);
