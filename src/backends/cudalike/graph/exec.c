// Executable graphs. A change happens in place if the driver accepts the
// change, otherwise by another plan.
#include "backends/cudalike/driver/driver.h"
#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/graph/graph.h"
#include "backends/cudalike/graph/plan.h"
#include "backends/cudalike/module/module.h"
#include "backends/cudalike/stream/launch.h"
#include "backends/cudalike/stream/lowering.h"
#include "backends/cudalike/timeline/device_lost.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/graph_fence.h"
#include "backends/cudalike/timeline/marker.h"
#include "backends/cudalike/timeline/timeline.h"

#include "core/graph/node_params.h"

#include <string.h>

#define NOT_IN_PLACE (-1)  // no driver code

// --- Launches under way -----------------------------------------------------

// Returns the stream of the last launch while that launch is under way,
// referenced. NULL: all launches are over, since each waits for the previous
// launch.
static struct stream *under_way_locked(struct graph_exec *exec)
{
    ASSERT(lock_is_held(&exec_gpu(exec)->lock));
    const struct gpu_exec *own = exec_gpu(exec);
    return point_is_reached(own->last)
               ? NULL
               : context_find_stream(context_of(exec),
                                     own->last.timeline->stream_id);
}

// --- Changing in place ------------------------------------------------------

// Sets the driver nodes of a step one by one, in order.
struct setter {
    struct context *context;
    struct gpu_plan *plan;
    const struct step *step;
    uint32_t next;
};

static int set_piece(struct piece *piece, void *argument)
{
    struct setter *setter = argument;
    struct gpu_context *gpu = gpu_of(setter->context);
    const struct driver_functions *call = call_of(gpu);
    void *exec = setter->plan->exec;
    void *node = setter->plan->nodes[setter->step->first + setter->next++];
    int code;
    switch (piece->kind) {
    case PIECE_KERNEL:
        code = gpu_allow_shared(piece->op->kernel.function,
                                piece->op->kernel.shared_size);
        return code ? code : call->exec_set_kernel(exec, node, &piece->kernel);
    case PIECE_COPY:
        return call->exec_set_copy(exec, node, &piece->copy, gpu->handle);
    case PIECE_FILL:
        return call->exec_set_fill(exec, node, &piece->fill, gpu->handle);
    default:
        return call->exec_set_values
                   ? call->exec_set_values(exec, node, &piece->values)
                   : NOT_IN_PLACE;
    }
}

static int count_piece(struct piece *piece, void *argument)
{
    (void)piece;
    ++*(uint32_t *)argument;
    return 0;
}

static bool same_attributes(struct context *context,
                            const struct node_params *a,
                            const struct node_params *b)
{
    struct driver_launch_attribute of_a[LAUNCH_ATTRIBUTES_MOST] = {0};
    struct driver_launch_attribute of_b[LAUNCH_ATTRIBUTES_MOST] = {0};
    unsigned count = gpu_node_attributes(gpu_of(context), a, of_a);
    if (count != gpu_node_attributes(gpu_of(context), b, of_b))
        return false;
    for (unsigned i = 0; i < count; i++)
        if (of_a[i].id != of_b[i].id ||
            memcmp(of_a[i].bytes, of_b[i].bytes, sizeof of_a[i].bytes))
            return false;
    return true;
}

static bool has_work(rnl_node_kind kind)
{
    return kind == RNL_NODE_FUNCTION || kind == RNL_NODE_COPY ||
           kind == RNL_NODE_FILL || kind == RNL_NODE_VALUES;
}

static int set_params(struct context *context, const struct step *step,
                      const struct node_params *node_params)
{
    struct setter setter = {context, step->plan, step, 0};
    uint32_t count = 0;
    if (node_params != step->node_params &&
        !gpu_step_can_have(step, node_params))
        return NOT_IN_PLACE;
    gpu_step_pieces(step, node_params, count_piece, &count);
    if (count != step->count ||
        !same_attributes(context, step->node_params, node_params))
        return NOT_IN_PLACE;
    return gpu_step_pieces(step, node_params, set_piece, &setter);
}

static int set_enabled(struct context *context, const struct step *step,
                       bool enabled)
{
    const struct driver_functions *call = call_of(gpu_of(context));
    int code = gpu_step_switches(step) ? 0 : NOT_IN_PLACE;
    for (uint32_t i = 0; i < step->count && code == 0; i++)
        code = call->exec_set_enabled(step->plan->exec,
                                      step->plan->nodes[step->first + i],
                                      enabled);
    return code;
}

// Gives the driver the parameters and the state of the step: the new ones, or
// the old ones again.
static int tell(struct context *context, const struct step *step,
                const struct node_params *node_params, bool enabled,
                bool switches, bool changes)
{
    int code = switches ? set_enabled(context, step, enabled) : 0;
    // A node that is enabled has lost its parameters (CUDA driver 580.159).
    if (code == 0 && (changes || (switches && enabled)))
        code = step->fixed ? NOT_IN_PLACE
                           : set_params(context, step, node_params);
    return code;
}

// Tells the driver the new state of the step. The step itself stays unchanged.
static int set_step(struct context *context, const struct step *step,
                    const struct node *node, bool enabled)
{
    if (!has_work(step->kind))
        return 0;
    if (!step->enabled && !enabled && !gpu_step_switches(step))
        return 0;  // no driver node exists
    return tell(context, step, node->node_params, enabled,
                step->enabled != enabled,
                step->node_params != node->node_params);
}

// Undoes set_step, even if set_step stopped halfway. The driver accepted the
// old parameters before.
static void unset_step(struct context *context, const struct step *step,
                       const struct node *node)
{
    if (has_work(step->kind) && !step->fixed)
        tell(context, step, step->node_params, step->enabled,
             step->enabled != node->enabled,
             step->node_params != node->node_params);
}

static void commit_step(struct step *step, const struct node *node,
                        bool enabled)
{
    struct node_params *old = step->node_params;
    step->enabled = enabled;
    if (old == node->node_params)
        return;
    step->node_params = node_params_ref(node->node_params);
    node_params_unref(old);
}

// --- Changing a node, or all ------------------------------------------------

// A walk over nodes together with their steps, in the same order.
struct walk {
    struct context *context;
    struct gpu_plan *plan;
    struct step *next;
    int (*visit)(struct walk *, struct step *, const struct node *);
    uint32_t left;  // steps to go before the end
    int code;
    size_t changes;  // node_params that are exchanged
    struct exec_references *old;
};

static bool walk_node(struct walk *walk, const struct node *node)
{
    if (!node->kind)
        return true;
    if (walk->left-- == 0)
        return false;
    walk->code = walk->visit(walk, walk->next++, node);
    bool goes_on = walk->code == 0;
    for (const struct graph *inner = node->inner; inner;
         inner = inner->sibling)
        for (uint32_t i = 0; goes_on && i < inner->count; i++)
            goes_on = walk_node(walk, &inner->nodes[i]);
    return goes_on;
}

static int set_node(const struct walk *walk, const struct step *step,
                    const struct node *node, bool enabled)
{
    if (node_has_bodies(step->kind) &&
        step->node_params->word != node->node_params->word)
        return NOT_IN_PLACE;
    return set_step(walk->context, step, node, enabled);
}

static int visit_set(struct walk *walk, struct step *step,
                     const struct node *node)
{
    return set_node(walk, step, node, node->enabled);
}

static int visit_unset(struct walk *walk, struct step *step,
                       const struct node *node)
{
    unset_step(walk->context, step, node);
    return 0;
}

static int visit_commit(struct walk *walk, struct step *step,
                        const struct node *node)
{
    (void)walk;
    commit_step(step, node, node->enabled);
    return 0;
}

static int visit_count(struct walk *walk, struct step *step,
                       const struct node *node)
{
    walk->changes += step->node_params != node->node_params;
    return 0;
}

static int visit_keep(struct walk *walk, struct step *step,
                      const struct node *node)
{
    if (step->node_params != node->node_params)
        exec_references_add(walk->old, node_params_ref(step->node_params));
    return 0;
}

static uint32_t step_of(const struct graph *graph, uint32_t index)
{
    uint32_t step = 0;
    for (uint32_t i = 0; i < index; i++)
        step += gpu_steps_of(&graph->nodes[i]);
    return step;
}

// Visits the first `most` steps of a node, or of all nodes if `index` is
// UINT32_MAX. Returns the number of steps that were reached.
static uint32_t walk_steps(struct graph_exec *exec, uint32_t index,
                           uint32_t most, struct walk *walk)
{
    const struct graph *graph = exec->snapshot;
    struct gpu_plan *plan = walk->plan ? walk->plan : exec_gpu(exec)->plan;
    bool all = index == UINT32_MAX;
    uint32_t first = all ? 0 : step_of(graph, index);
    bool goes_on = true;
    walk->context = context_of(exec);
    walk->next = plan->steps + first;
    walk->left = most;
    if (!all)
        walk_node(walk, &graph->nodes[index]);
    for (uint32_t i = 0; all && goes_on && i < graph->count; i++)
        goes_on = walk_node(walk, &graph->nodes[i]);
    return (uint32_t)(walk->next - plan->steps) - first;
}

// Keeps the node_params that launches under way may use. This runs before the
// exchange, because the exchange can no longer fail.
static rnl_status keep_used_locked(struct graph_exec *exec, uint32_t index)
{
    ASSERT(lock_is_held(&exec_gpu(exec)->lock));
    struct walk walk = {.visit = visit_count};
    walk_steps(exec, index, UINT32_MAX, &walk);
    if (walk.changes == 0)
        return RNL_OK;
    walk.old = exec_references_new(walk.changes);
    if (!walk.old)
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory to change a graph that runs");
    walk.visit = visit_keep;
    walk_steps(exec, index, UINT32_MAX, &walk);
    exec_references_retire(walk.old, exec_gpu(exec)->last);
    return RNL_OK;
}

// A node with other inner graphs has other steps, so only another plan will do.
static bool may_change_in_place(const struct graph_exec *exec, uint32_t index)
{
    return index == UINT32_MAX || !exec->snapshot->nodes[index].inner;
}

// --- The first plan ----------------------------------------------------------

// True if launches of the plan may block. Host functions, values and a WHILE
// block by themselves. A plan with waits for events or with copies of the host
// may wait for anything that those events and copies wait for.
static bool may_block(const struct gpu_plan *plan)
{
    const unsigned by_itself = 1u << RNL_NODE_HOST_FUNCTION |
                               1u << RNL_NODE_VALUES | 1u << RNL_NODE_WHILE;
    bool blocks = false, may = plan->host_works != NULL;
    for (uint32_t i = 0; i < plan->count; i++) {
        blocks |= by_itself >> plan->steps[i].kind & 1;
        may |= plan->steps[i].kind == RNL_NODE_EVENT_WAIT;
    }
    if (blocks)
        graph_fences_enable();
    return blocks || may;
}

// Makes the plan the source of the next launches. The caller holds the exec's
// lock, or no other thread knows the exec yet.
static void set_plan(struct gpu_exec *own, struct gpu_plan *plan)
{
    plan->may_block = may_block(plan);
    own->plan = plan;
    atomic_store(&own->prepares, plan->slot_count > 0);
}

rnl_status gpu_exec_init(struct graph_exec *exec)
{
    struct gpu_plan *plan = gpu_plan_create(context_of(exec), exec->snapshot);
    if (!plan)
        return fail_status();
    set_plan(exec_gpu(exec), plan);
    lock_set_rank(&exec_gpu(exec)->lock, RANK_GPU_EXEC);
    return RNL_OK;
}

// --- Spare plans -------------------------------------------------------------
// A plan that was exchanged for another plan stays with its executable graph as
// a spare plan. A spare plan is told every change but the enabling and
// disabling of steps that the driver cannot switch. So the exchange back needs
// no new executable graph of the driver's. For a new graph, a context has room
// only while its device is idle.

static bool keeps_state(const struct step *step)
{
    return step->fixed || !gpu_step_switches(step);
}

static int visit_tell_spare(struct walk *walk, struct step *step,
                            const struct node *node)
{
    bool enabled = keeps_state(step) ? step->enabled : node->enabled;
    int code = set_node(walk, step, node, enabled);
    if (code == 0)
        commit_step(step, node, enabled);
    return code;
}

static int visit_compare_rest(struct walk *walk, struct step *step,
                              const struct node *node)
{
    (void)walk;
    bool same = keeps_state(step) || step->enabled == node->enabled;
    return same && step->node_params == node->node_params ? 0 : NOT_IN_PLACE;
}

static int visit_compare_state(struct walk *walk, struct step *step,
                               const struct node *node)
{
    (void)walk;
    return step->enabled == node->enabled ? 0 : NOT_IN_PLACE;
}

static int visit_spare(struct graph_exec *exec, uint32_t index,
                       struct gpu_plan *plan,
                       int (*visit)(struct walk *, struct step *,
                                    const struct node *))
{
    struct walk walk = {.plan = plan, .visit = visit};
    walk_steps(exec, index, UINT32_MAX, &walk);
    return walk.code;
}

// Gives up this reference to the plan; launches under way may hold more.
static void drop_plan(struct graph_exec *exec, struct gpu_plan *plan)
{
    struct gpu_exec *own = exec_gpu(exec);
    lock_take(&own->lock);
    struct point last = {timeline_retain(own->last.timeline),
                         own->last.value};
    lock_give(&own->lock);
    if (COUNT_DOWN(&plan->references) == 1)
        gpu_plan_free(plan, last);
    timeline_release(last.timeline);
}

// Takes the spare plan out; the caller gets its reference.
static struct gpu_plan *remove_spare(struct graph_exec *exec, uint32_t index)
{
    struct gpu_plan **spares = exec_gpu(exec)->spares;
    struct gpu_plan *plan = spares[index];
    COUNT_DOWN(&gpu_of(context_of(exec))->spares);
    for (; index + 1 < SPARE_PLANS; index++)
        spares[index] = spares[index + 1];
    spares[index] = NULL;
    return plan;
}

static void drop_spare(struct graph_exec *exec, uint32_t index)
{
    drop_plan(exec, remove_spare(exec, index));
}

// Puts the plan first, as the newest. The oldest spare plan is dropped for
// room. A context keeps few spare plans, since the driver has room for graphs
// by context.
static void add_spare(struct graph_exec *exec, struct gpu_plan *plan)
{
    struct gpu_plan **spares = exec_gpu(exec)->spares;
    _Atomic uint32_t *count = &gpu_of(context_of(exec))->spares;
    if (spares[SPARE_PLANS - 1])
        drop_spare(exec, SPARE_PLANS - 1);
    if (atomic_fetch_add(count, 1) >= SPARE_PLANS_OF_CONTEXT) {
        COUNT_DOWN(count);
        drop_plan(exec, plan);
        return;
    }
    memmove(spares + 1, spares, (SPARE_PLANS - 1) * sizeof *spares);
    spares[0] = plan;
}

static void drop_spares(struct graph_exec *exec)
{
    while (exec_gpu(exec)->spares[0])
        drop_spare(exec, 0);
}

// A spare plan that refuses the change is useless from now on.
static void tell_spares(struct graph_exec *exec, uint32_t index)
{
    struct gpu_plan **spares = exec_gpu(exec)->spares;
    for (uint32_t i = 0; i < SPARE_PLANS && spares[i];)
        if (visit_spare(exec, index, spares[i], visit_tell_spare) == 0)
            i++;
        else
            drop_spare(exec, i);
}

// Takes the spare plan that matches the snapshot; NULL: no spare plan matches.
static struct gpu_plan *take_spare(struct graph_exec *exec)
{
    struct gpu_plan **spares = exec_gpu(exec)->spares;
    for (uint32_t i = 0; i < SPARE_PLANS && spares[i]; i++)
        if (visit_spare(exec, UINT32_MAX, spares[i], visit_compare_state) == 0)
            return remove_spare(exec, i);
    return NULL;
}

// --- Another plan -----------------------------------------------------------

// Returns NULL after recording the failure. This function does not take the
// stream's lock, because its holder may be waiting for the exec's lock.
static struct marker *record_end(struct stream *last)
{
    int code = 0;
    // The stream may be captured through the driver by code outside the
    // library.
    struct marker *made = stream_refuse_captured(last) == RNL_OK
                              ? marker_record(last, &code) : NULL;
    if (code != 0)
        driver_fail(stream_context(last), code, "to change a graph");
    return made;
}

// Marks the end of the launches under way; launches of the next plan wait for
// this marker.
static rnl_status mark_end_locked(struct graph_exec *exec, struct stream *last)
{
    ASSERT(lock_is_held(&exec_gpu(exec)->lock));
    struct gpu_exec *own = exec_gpu(exec);
    uint64_t launch = own->last.value;
    // If `old_end` is set, the graph was not launched since the last exchange.
    if (own->old_end || stream_fence_of(last, launch, &own->old_end))
        return RNL_OK;
    struct marker *made = record_end(last);
    // During the record, a thread may have left a closer graph fence, or the
    // launch may have ended. Then the recorded marker is dropped.
    if (stream_fence_of(last, launch, &own->old_end))
        marker_drop(context_of(exec), made);
    else if (!(own->old_end = made))
        return fail_status();
    return RNL_OK;
}

// Makes the plan without the exec's lock. Making a plan may wait for copies,
// and the copying thread may wait for the exec's lock.
static rnl_status exchange(struct graph_exec *exec, bool same_steps)
{
    struct gpu_exec *own = exec_gpu(exec);
    struct gpu_plan *plan = take_spare(exec);
    if (!plan)
        plan = gpu_plan_create(context_of(exec), exec->snapshot);
    if (!plan)
        return fail_status();
    lock_take(&own->lock);
    struct stream *last = under_way_locked(exec);
    rnl_status status = last ? mark_end_locked(exec, last) : RNL_OK;
    struct gpu_plan *old = status == RNL_OK ? own->plan : plan;
    if (status == RNL_OK)
        set_plan(own, plan);
    lock_give(&own->lock);
    if (last)
        object_unref(&last->object);
    if (old != plan && same_steps &&
        visit_spare(exec, UINT32_MAX, old, visit_compare_rest) == 0)
        add_spare(exec, old);
    else
        drop_plan(exec, old);
    return status;
}

// `*out_done` is false if the driver refuses the change; then everything is as
// before.
static rnl_status change_in_place(struct graph_exec *exec, uint32_t index,
                                  bool *out_done)
{
    struct gpu_exec *own = exec_gpu(exec);
    struct walk set = {.visit = visit_set}, unset = {.visit = visit_unset};
    struct walk commit = {.visit = visit_commit};
    lock_take(&own->lock);
    uint32_t count = walk_steps(exec, index, UINT32_MAX, &set);
    rnl_status status =
        set.code == 0 ? keep_used_locked(exec, index) : RNL_OK;
    *out_done = set.code == 0 && status == RNL_OK;
    if (*out_done)
        walk_steps(exec, index, UINT32_MAX, &commit);
    else
        walk_steps(exec, index, count, &unset);
    lock_give(&own->lock);
    return status;
}

rnl_status gpu_exec_change(struct graph_exec *exec, uint32_t index)
{
    struct gpu_context *gpu = gpu_of(context_of(exec));
    rnl_status status = RNL_OK;
    bool done = false, same_steps = may_change_in_place(exec, index);
    void *before = current_enter(gpu);
    if (same_steps) {
        tell_spares(exec, index);
        status = change_in_place(exec, index, &done);
    } else {
        drop_spares(exec);
    }
    if (status == RNL_OK && !done)
        status = exchange(exec, same_steps);
    if (status != RNL_OK)
        drop_spares(exec);  // spares know the failed change
    current_back(gpu, before);
    return status;
}

void gpu_exec_finish(struct graph_exec *exec)
{
    struct gpu_exec *own = exec_gpu(exec);
    marker_drop(context_of(exec), own->old_end);
    drop_spares(exec);
    // Launches with slots keep the exec, so none is under way now.
    gpu_plan_free(own->plan, own->last);
    timeline_release(own->last.timeline);
}
