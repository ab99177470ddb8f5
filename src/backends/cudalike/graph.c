// Executable graphs: a plan that is changed in place where the driver lets it
// be, and exchanged for another where not.
#include "backends/cudalike/graph.h"

#include "backends/cudalike/ends.h"
#include "backends/cudalike/event.h"
#include "backends/cudalike/held.h"
#include "backends/cudalike/host_node.h"
#include "backends/cudalike/launch.h"
#include "backends/cudalike/service.h"

#include "core/graph/node_params.h"

#include <string.h>

#define NOT_IN_PLACE (-1)  // besides the driver's codes

static inline struct gpu_exec *exec_gpu(struct graph_exec *exec)
{
    return exec_native(exec);
}

static inline struct context *context_of(const struct graph_exec *exec)
{
    return exec->object.context;
}

// Those that wait for events, or for the service's copies, may wait for what
// others wait for.
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
        ends_may_block();
    return blocks || may;
}

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
    return RNL_OK;
}

void gpu_exec_finish(struct graph_exec *exec)
{
    struct gpu_exec *own = exec_gpu(exec);
    marker_drop(context_of(exec), own->old_end);
    gpu_plan_free(own->plan, own->last);  // those it prepared keep the exec
    timeline_release(own->last.timeline);
}

// --- Launches under way -----------------------------------------------------

// The stream of the last launch while that is under way, referenced; NULL: all
// are over, since each waits for the one before.
static struct stream *under_way_locked(struct graph_exec *exec)
{
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
                    const struct node *node)
{
    if (!has_work(step->kind))
        return 0;
    if (!step->enabled && !node->enabled && !gpu_step_switches(step))
        return 0;  // the driver has no node of it
    return tell(context, step, node->node_params, node->enabled,
                step->enabled != node->enabled,
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

static void commit_step(struct step *step, const struct node *node)
{
    struct node_params *old = step->node_params;
    step->enabled = node->enabled;
    if (old == node->node_params)
        return;
    step->node_params = node_params_ref(node->node_params);
    node_params_unref(old);
}

// --- Changing a node, or all ------------------------------------------------

// Nodes with their steps, in the order of both.
struct walk {
    struct context *context;
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
    return set_step(walk->context, step, node);
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
    commit_step(step, node);
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
    struct gpu_plan *plan = exec_gpu(exec)->plan;
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
    struct gpu_exec *own = exec_gpu(exec);
    uint64_t launch = own->last.value;
    // With one there was no launch since.
    if (own->old_end || stream_end_of(last, launch, &own->old_end))
        return RNL_OK;
    struct marker *made = record_end(last);
    // Meanwhile one may have been left in front of that, or the launch be over.
    if (stream_end_of(last, launch, &own->old_end))
        marker_drop(context_of(exec), made);
    else if (!(own->old_end = made))
        return fail_status();
    return RNL_OK;
}

// The plan is made without the lock: that may have to wait for copies, and who
// does those may wait for the lock.
static rnl_status exchange(struct graph_exec *exec)
{
    struct gpu_exec *own = exec_gpu(exec);
    struct gpu_plan *plan =
        gpu_plan_create(context_of(exec), exec->snapshot);
    if (!plan)
        return fail_status();
    lock_take(&own->lock);
    struct stream *last = under_way_locked(exec);
    rnl_status status = last ? mark_end_locked(exec, last) : RNL_OK;
    struct gpu_plan *old = status == RNL_OK ? own->plan : plan;
    if (status == RNL_OK)
        set_plan(own, plan);
    bool unused = atomic_fetch_sub(&old->references, 1) == 1;
    struct point point = {timeline_retain(own->last.timeline),
                          own->last.value};
    lock_give(&own->lock);
    if (last)
        object_unref(&last->object);
    if (unused)
        gpu_plan_free(old, point);
    timeline_release(point.timeline);
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
    bool done = false;
    void *before = current_enter(gpu);
    if (may_change_in_place(exec, index))
        status = change_in_place(exec, index, &done);
    if (status == RNL_OK && !done)
        status = exchange(exec);
    current_back(gpu, before);
    return status;
}

// --- Launching --------------------------------------------------------------

static inline struct gpu_plan *op_plan(const struct op *op)
{
    return (struct gpu_plan *)(uintptr_t)op->backend[0];
}

static inline struct graph_launch *op_launch(const struct op *op)
{
    return (struct graph_launch *)(uintptr_t)op->backend[1];
}

static int aim_wait(struct stream *stream, const struct step *step,
                    struct slot *slot)
{
    struct gpu_plan *plan = step->plan;
    struct event_point point = gpu_event_point(slot->event);
    slot->marker = point.marker;
    stream_inherit(stream, point.failure);
    bool listed = timeline_depend(point.at, stream,
                                  atomic_load(&stream->enqueued) + 1);
    timeline_release(point.at.timeline);
    const struct gpu_context *gpu = gpu_of(plan->context);
    return listed ? call_of(gpu)->exec_set_wait(
                        plan->exec, plan->nodes[step->first],
                        slot->marker ? slot->marker->event : plan->never)
                  : gpu->driver->out_of_memory;
}

static int aim_record(const struct step *step, struct slot *slot)
{
    struct gpu_plan *plan = step->plan;
    struct gpu_context *gpu = gpu_of(plan->context);
    slot->marker = marker_take(plan->context, slot->event->options.timing);
    if (!slot->marker)
        return gpu->driver->out_of_memory;
    return call_of(gpu)->exec_set_record(plan->exec, plan->nodes[step->first],
                                         slot->marker->event);
}

// What events are to wait for is what they stand for before the launch.
static int aim_events(struct gpu_plan *plan, struct graph_launch *launch)
{
    int code = 0;
    for (uint32_t i = 0; i < launch->count && code == 0; i++) {
        const struct step *step = &plan->steps[plan->slotted[i]];
        struct slot *slot = &launch->slots[i];
        if (!step_is_event(step))
            continue;
        slot->event = (struct event *)step->node_params->subject;
        object_ref(&slot->event->object);
        code = step->kind == RNL_NODE_EVENT_WAIT
                   ? aim_wait(launch->stream, step, slot)
                   : aim_record(step, slot);
    }
    return code;
}

static void announce_events(struct gpu_plan *plan,
                            struct graph_launch *launch)
{
    for (uint32_t i = 0; i < launch->count; i++) {
        const struct step *step = &plan->steps[plan->slotted[i]];
        if (step->kind == RNL_NODE_EVENT_RECORD)
            gpu_event_stand_for(launch->slots[i].event,
                                marker_share(launch->slots[i].marker),
                                launch->stream, launch->sequence);
    }
}

static int wait_for_old_end_locked(struct gpu_exec *own,
                                   const struct driver_functions *call,
                                   void *handle)
{
    return own->old_end ? call->stream_wait_event(handle,
                                                  own->old_end->event, 0)
                        : 0;
}

// The driver has it wait for the last launch, wherever that was. Its own on the
// same stream come in order without a mark.
static inline void leave_end_locked(const struct gpu_exec *own,
                                    struct stream *stream)
{
    const struct gpu_stream *on = gpu_stream_of(stream);
    const struct timeline *last = own->last.timeline;
    if (__builtin_expect(on->graph_of != own, 0) &&
        (own->plan->may_block || (last && last != timeline_of(on))))
        stream_leave_end_locked(stream);
}

static inline int launch_locked(struct gpu_exec *own,
                                struct graph_launch *launch,
                                struct stream *stream)
{
    struct gpu_plan *plan = own->plan;
    const struct driver_functions *call = call_of(gpu_of(plan->context));
    void *handle = gpu_stream_of(stream)->handle;
    leave_end_locked(own, stream);
    int code = wait_for_old_end_locked(own, call, handle);
    if (launch) {
        if (code == 0)
            code = aim_events(plan, launch);
        graph_launch_begin(plan, launch);
    }
    if (code == 0)
        code = call->exec_launch(plan->exec, handle);
    if (code != 0)
        return code;
    if (launch) {
        announce_events(plan, launch);
        atomic_fetch_add(&plan->references, 1);
    }
    if (plan->works) {
        marker_drop(plan->context, own->old_end);
        own->old_end = NULL;
    }
    return 0;
}

// What the graph waits for and the driver was not given yet; the caller drops
// it.
static struct marker *held_point(struct gpu_exec *own)
{
    struct marker *found = NULL;
    lock_take(&own->lock);
    const struct gpu_plan *plan = own->plan;
    for (uint32_t i = 0; i < plan->slot_count && !found; i++) {
        const struct step *step = &plan->steps[plan->slotted[i]];
        if (step->kind != RNL_NODE_EVENT_WAIT)
            continue;
        struct event_point point =
            gpu_event_point((struct event *)step->node_params->subject);
        if (point.marker && atomic_load(&point.marker->held))
            found = marker_share(point.marker);
        event_point_drop(plan->context, &point);
    }
    lock_give(&own->lock);
    return found;
}

void gpu_graph_lock(struct stream *stream, struct op *op)
{
    struct gpu_exec *own = exec_gpu(op->graph.exec);
    struct marker *marker;
    while (atomic_load(&own->prepares) && (marker = held_point(own))) {
        marker_give(marker);
        marker_drop(stream_context(stream), marker);
    }
    stream_lock_given(stream);
}

bool gpu_graph_prepares(const struct op *op)
{
    return atomic_load_explicit(&exec_gpu(op->graph.exec)->prepares,
                                memory_order_relaxed);
}

static inline void note_last_locked(struct gpu_exec *own,
                                    struct stream *stream, uint64_t launch)
{
    struct gpu_stream *on = gpu_stream_of(stream);
    if (__builtin_expect(own->last.timeline != timeline_of(on), 0)) {
        timeline_release(own->last.timeline);
        own->last.timeline = timeline_retain(timeline_of(on));
    }
    own->last.value = launch;
    if (__builtin_expect(on->graph_of != own, 0))
        on->graph_of = on->graph_at == 0 ? own : NULL;
    on->graph_at = launch;
}

int gpu_graph_launch(struct stream *stream, struct op *op, bool *out_over)
{
    struct gpu_exec *own = exec_gpu(op->graph.exec);
    struct graph_launch *launch = NULL;
    lock_take(&own->lock);
    struct gpu_plan *plan = own->plan;
    struct gpu_context *gpu = gpu_of(plan->context);
    int code = 0;
    bool prepares = plan->slot_count > 0;
    if (prepares && op->borrows) {
        lock_give(&own->lock);
        return GRAPH_PREPARES;
    }
    void *before = prepares ? current_enter(gpu) : gpu->handle;
    if (prepares) {
        launch = graph_launch_new(plan, op);
        code = launch ? 0 : gpu->driver->out_of_memory;
    }
    if (code == 0)
        code = launch_locked(own, launch, stream);
    current_back(gpu, before);
    if (code == 0 && plan->works)
        note_last_locked(own, stream, op->sequence);
    else if (code != 0 && launch)
        graph_launch_end(plan, launch);
    lock_give(&own->lock);
    op->backend[0] = (uint64_t)(uintptr_t)plan;
    op->backend[1] = (uint64_t)(uintptr_t)launch;
    *out_over = !launch;
    return code;
}

static int upload(struct gpu_exec *own, struct stream *stream)
{
    const struct driver_functions *call =
        call_of(gpu_of(stream_context(stream)));
    lock_take(&own->lock);
    leave_end_locked(own, stream);  // it waits, too
    int code = call->exec_upload(own->plan->exec,
                                 gpu_stream_of(stream)->handle);
    lock_give(&own->lock);
    return code;
}

// Counts as an operation: a plan must outlive it.
rnl_status gpu_exec_upload(struct graph_exec *exec, struct stream *stream)
{
    struct gpu_context *gpu = gpu_of(context_of(exec));
    struct gpu_stream *own = gpu_stream_of(stream);
    int code = 0;
    stream_lock_given(stream);
    rnl_status status = service_list_locked(stream);
    if (status == RNL_OK) {
        void *before = current_enter(gpu);
        code = upload(exec_gpu(exec), stream);
        current_back(gpu, before);
        own->last = LAST_WORK;
        if (code == 0)
            stream_count_locked(stream);
    }
    lock_give(&own->lock);
    return code == 0 ? status
                     : driver_fail(context_of(exec), code, "to upload");
}

bool gpu_graph_owes(const struct op *op)
{
    return op_launch(op) && graph_launch_owes(op_plan(op), op_launch(op));
}

void gpu_graph_call(const struct op *op)
{
    graph_launch_call(op_plan(op), op_launch(op));
}

void gpu_graph_over(struct op *op)
{
    struct gpu_plan *plan = op_plan(op);
    graph_launch_end(plan, op_launch(op));
    // Without the exec's lock: who has it may be held up in the driver, by a
    // call that waits for what the service is about to do.
    if (atomic_fetch_sub(&plan->references, 1) == 1)
        gpu_plan_free(plan,
                      (struct point){stream_timeline(op->stream),
                                     op->sequence});
}
