// Changes of an executable graph: in place where the driver takes them, else by
// another plan.
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

#define NOT_IN_PLACE (-1)  // besides the driver's codes

// --- Launches under way -----------------------------------------------------

// The stream of the last launch while that is under way, referenced; NULL: all
// are over, since each waits for the one before.
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

// Sets a step's driver nodes, one after the other.
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

static int set_recipe(struct context *context, const struct step *step,
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

// Tells the driver that the step is another, or is as it was.
static int tell(struct context *context, const struct step *step,
                const struct node_params *node_params, bool enabled,
                bool switches, bool changes)
{
    int code = switches ? set_enabled(context, step, enabled) : 0;
    // What is enabled has forgotten what it was given (CUDA driver 580.159).
    if (code == 0 && (changes || (switches && enabled)))
        code = step->fixed ? NOT_IN_PLACE
                           : set_recipe(context, step, node_params);
    return code;
}

// The step itself is as before.
static int set_step(struct context *context, const struct step *step,
                    const struct node *node, bool enabled)
{
    if (!has_work(step->kind))
        return 0;
    if (!step->enabled && !enabled && !gpu_step_switches(step))
        return 0;  // the driver has no node of it
    return tell(context, step, node->node_params, enabled,
                step->enabled != enabled,
                step->node_params != node->node_params);
}

// Undoes set_step as far as it got; the driver took these once.
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

// Nodes with their steps, in the order of both.
struct walk {
    struct context *context;
    struct gpu_plan *plan;
    struct step *next;
    int (*visit)(struct walk *, struct step *, const struct node *);
    uint32_t left;  // steps to go before it ends
    int code;
    size_t changes;  // node_params_list that are exchanged
    struct node_params_list *old;
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

static int visit_set(struct walk *walk, struct step *step,
                     const struct node *node)
{
    if (node_has_bodies(step->kind) &&
        step->node_params->word != node->node_params->word)
        return NOT_IN_PLACE;
    return set_step(walk->context, step, node, node->enabled);
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
        recipes_add(walk->old, node_params_ref(step->node_params));
    return 0;
}

static uint32_t step_of(const struct graph *graph, uint32_t index)
{
    uint32_t step = 0;
    for (uint32_t i = 0; i < index; i++)
        step += gpu_steps_of(&graph->nodes[i]);
    return step;
}

// Visits the steps of one node, or of all; the first `most` of them. Returns
// how many it came to.
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

// Before they are exchanged: that cannot fail any more.
static rnl_status keep_used_locked(struct graph_exec *exec, uint32_t index)
{
    ASSERT(lock_is_held(&exec_gpu(exec)->lock));
    struct walk walk = {.visit = visit_count};
    walk_steps(exec, index, UINT32_MAX, &walk);
    if (walk.changes == 0)
        return RNL_OK;
    walk.old = recipes_new(walk.changes);
    if (!walk.old)
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory to change a graph that runs");
    walk.visit = visit_keep;
    walk_steps(exec, index, UINT32_MAX, &walk);
    recipes_drop_behind(walk.old, exec_gpu(exec)->last);
    return RNL_OK;
}

// Other inner graphs have other steps.
static bool may_change_in_place(const struct graph_exec *exec, uint32_t index)
{
    return index == UINT32_MAX || !exec->snapshot->nodes[index].inner;
}

// --- Spare plans -------------------------------------------------------------
//
// A plan that was exchanged for another one stays with its executable graph. It
// is told every change but those of fills that are enabled or disabled, so it
// can be exchanged back without a new executable graph of the driver's, for
// which a context has room only while its device is idle.

static bool keeps_state(const struct step *step)
{
    return step->fixed || !gpu_step_switches(step);
}

static int visit_tell_spare(struct walk *walk, struct step *step,
                            const struct node *node)
{
    bool enabled = keeps_state(step) ? step->enabled : node->enabled;
    if (node_has_bodies(step->kind) &&
        step->node_params->word != node->node_params->word)
        return NOT_IN_PLACE;
    int code = set_step(walk->context, step, node, enabled);
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

// Gives up the plan's reference; launches under way may have others.
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

static void drop_spare(struct graph_exec *exec, uint32_t index)
{
    struct gpu_plan **spares = exec_gpu(exec)->spares;
    drop_plan(exec, spares[index]);
    COUNT_DOWN(&gpu_of(context_of(exec))->spares);
    for (; index + 1 < SPARE_PLANS; index++)
        spares[index] = spares[index + 1];
    spares[index] = NULL;
}

// The newest comes first, and the oldest is dropped for it. A context keeps few
// spare plans, since the driver's room for graphs is the context's.
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

void gpu_exec_drop_spares(struct graph_exec *exec)
{
    while (exec_gpu(exec)->spares[0])
        drop_spare(exec, 0);
}

// Those that refuse the change are of no use any more.
static void tell_spares(struct graph_exec *exec, uint32_t index)
{
    struct gpu_plan **spares = exec_gpu(exec)->spares;
    for (uint32_t i = 0; i < SPARE_PLANS && spares[i];)
        if (visit_spare(exec, index, spares[i], visit_tell_spare) == 0)
            i++;
        else
            drop_spare(exec, i);
}

// Takes the spare plan that does what the snapshot says; NULL: there is none.
static struct gpu_plan *take_spare(struct graph_exec *exec)
{
    struct gpu_plan **spares = exec_gpu(exec)->spares;
    for (uint32_t i = 0; i < SPARE_PLANS && spares[i]; i++) {
        struct gpu_plan *plan = spares[i];
        if (visit_spare(exec, UINT32_MAX, plan, visit_compare_state) != 0)
            continue;
        atomic_fetch_add(&plan->references, 1);
        drop_spare(exec, i);
        return plan;
    }
    return NULL;
}

// --- Another plan -----------------------------------------------------------

// NULL after recording the failure. The stream's lock is not taken: who has it
// may be waiting for the exec's.
static struct marker *record_end(struct stream *last)
{
    int code = 0;
    struct marker *made = stream_refuse_captured(last) == RNL_OK  // by others
                              ? marker_record(last, &code) : NULL;
    if (code != 0)
        driver_fail(stream_context(last), code, "to change a graph");
    return made;
}

// Where launches under way end: the next plan's come after them.
static rnl_status mark_end_locked(struct graph_exec *exec, struct stream *last)
{
    ASSERT(lock_is_held(&exec_gpu(exec)->lock));
    struct gpu_exec *own = exec_gpu(exec);
    uint64_t launch = own->last.value;
    // With one there was no launch since.
    if (own->old_end || stream_fence_of(last, launch, &own->old_end))
        return RNL_OK;
    struct marker *made = record_end(last);
    // Meanwhile one may have been left in front of that, or the launch be over.
    if (stream_fence_of(last, launch, &own->old_end))
        marker_drop(context_of(exec), made);
    else if (!(own->old_end = made))
        return fail_status();
    return RNL_OK;
}

// The plan is made without the lock: that may have to wait for copies, and who
// does those may wait for the lock.
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
        exec_set_plan(own, plan);
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

// `*out_done` false: it cannot be, and all is as before.
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
        gpu_exec_drop_spares(exec);
    }
    if (status == RNL_OK && !done)
        status = exchange(exec, same_steps);
    if (status != RNL_OK)
        gpu_exec_drop_spares(exec);  // they were told the change
    current_back(gpu, before);
    return status;
}
