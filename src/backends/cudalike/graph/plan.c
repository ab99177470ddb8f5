// Builds the driver's executable graph from a snapshot.
#include "backends/cudalike/graph/plan.h"

#include "backends/cudalike/driver/driver.h"
#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/driver/sync_gate.h"
#include "backends/cudalike/graph/host_node.h"
#include "backends/cudalike/stream/copy.h"
#include "backends/cudalike/stream/launch.h"
#include "backends/cudalike/stream/lowering.h"
#include "backends/cudalike/stream/stream.h"
#include "backends/cudalike/timeline/device_lost.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/idle_free.h"
#include "backends/cudalike/timeline/timeline.h"

#include "core/graph/node_params.h"

#include <string.h>

#define RECORDED (-1)  // no driver code: the failure is recorded

// An allocation of page-locked memory, freed with the plan.
struct pinned {
    struct pinned *next;
    void *pointer;
};

struct plan_builder {
    struct gpu_plan *plan;
    const struct driver_functions *call;
    void *context;    // the driver's
    bool priorities;  // some node has a priority
};

// A graph of the snapshot while its nodes are laid out.
struct layer {
    const struct graph *graph;
    void *target;         // the driver's graph
    void *begin;          // predecessor of the first nodes, or NULL
    uint32_t first_step;
    bool body;
    void **ends;          // by node: its last driver node …
    bool *kernels;        // … and whether that is a kernel
    void **after;         // room for as many as the graph has nodes
};

// A node under construction: its driver nodes in a row.
struct node_chain {
    struct plan_builder *builder;
    const struct layer *layer;
    struct step *step;
    void *const *after;   // predecessors of the next driver node
    size_t after_count;
    bool behind_kernels;  // all predecessors are kernels
    void *last;
};

// --- Driver nodes of a step -------------------------------------------------

static int out_of_memory(const struct plan_builder *builder)
{
    return gpu_of(builder->plan->context)->driver->out_of_memory;
}

static int remember_node(struct plan_builder *builder, struct step *step,
                         void *node)
{
    struct gpu_plan *plan = builder->plan;
    void **nodes = mem_room(plan->nodes, plan->node_count, &plan->node_most,
                            sizeof *nodes, 16);
    if (!nodes)
        return out_of_memory(builder);
    plan->nodes = nodes;
    if (step->count++ == 0)
        step->first = plan->node_count;
    plan->nodes[plan->node_count++] = node;
    return 0;
}

static void go_on_after(struct node_chain *chain, void *node)
{
    chain->last = node;
    chain->after = &chain->last;
    chain->after_count = 1;
    chain->behind_kernels = false;
}

static int link_node(struct node_chain *chain, void *node)
{
    go_on_after(chain, node);
    chain->builder->plan->works = true;
    return remember_node(chain->builder, chain->step, node);
}

static int add_empty(struct node_chain *chain)
{
    void *node = NULL;
    int code = chain->builder->call->graph_add_empty(
        &node, chain->layer->target, chain->after, chain->after_count);
    go_on_after(chain, node);
    return code;
}

static int set_attributes(struct node_chain *chain, void *node)
{
    struct driver_launch_attribute attributes[LAUNCH_ATTRIBUTES_MOST];
    struct plan_builder *builder = chain->builder;
    unsigned count = gpu_node_attributes(gpu_of(builder->plan->context),
                                         chain->step->node_params, attributes);
    int code = 0;
    for (unsigned i = 0; i < count && code == 0; i++) {
        builder->priorities |= attributes[i].id == DRIVER_LAUNCH_PRIORITY;
        code = builder->call->kernel_node_attribute(node, attributes[i].id,
                                                    attributes[i].bytes);
    }
    return code;
}

static int add_kernel(struct node_chain *chain, struct piece *piece)
{
    struct node_place place = {
        .graph = chain->layer->target,
        .after = chain->after,
        .count = chain->after_count,
        .behind_kernels = chain->behind_kernels && !chain->layer->body,
    };
    void *node;
    bool early = false;
    int code = gpu_add_kernel(chain->builder->plan->context, &place, piece,
                              &node, &early);
    if (code == 0)
        code = set_attributes(chain, node);
    if (code == 0)
        code = link_node(chain, node);
    chain->step->early |= early;
    chain->behind_kernels = true;
    return code;
}

// --- Page-locked memory -----------------------------------------------------

static int pin(struct plan_builder *builder, size_t size, void **out_pointer)
{
    struct pinned *pinned = mem_allocate(sizeof *pinned);
    if (!pinned)
        return out_of_memory(builder);
    int code = builder->call->host_allocate(
        &pinned->pointer, size, DRIVER_HOST_PORTABLE | DRIVER_HOST_MAPPED);
    if (code != 0) {
        mem_release(pinned, sizeof *pinned);
        return code;
    }
    pinned->next = builder->plan->pinned;
    builder->plan->pinned = pinned;
    *out_pointer = pinned->pointer;
    return 0;
}

// In the body of a conditional node, the driver accepts only copies of
// page-locked memory and of the device's.
static int prepare_body_copy(struct plan_builder *builder, struct piece *piece)
{
    struct driver_copy *copy = &piece->copy;
    if (copy->from_type == DRIVER_MEMORY_HOST &&
        piece->op->copy.from == piece->op->payload) {
        void *pinned = NULL;
        int code = pin(builder, copy->width, &pinned);
        if (code != 0)
            return code;
        copy->from_host = memcpy(pinned, copy->from_host, copy->width);
        copy->from_type = DRIVER_MEMORY_UNIFIED;
        copy->from_device = (uint64_t)(uintptr_t)pinned;
        return 0;
    }
    if (copy->from_type != DRIVER_MEMORY_HOST &&
        copy->to_type != DRIVER_MEMORY_HOST)
        return 0;
    fail_at(RNL_ERROR_UNSUPPORTED, "graph",
            "in the body of an IF, WHILE or SWITCH, %s copies only memory of "
            "the device and page-locked memory",
            gpu_of(builder->plan->context)->driver->api);
    return RECORDED;
}

// --- Adding pieces ----------------------------------------------------------

static int no_values(void)
{
    fail_at(RNL_ERROR_UNSUPPORTED, "graph",
            "the driver is too old for stream memory operations in graphs");
    return RECORDED;
}

static int add_piece(struct piece *piece, void *argument)
{
    struct node_chain *chain = argument;
    const struct plan_builder *builder = chain->builder;
    const struct driver_functions *call = builder->call;
    void *target = chain->layer->target, *node = NULL;
    void *const *after = chain->after;
    size_t count = chain->after_count;
    int code = 0;
    if (piece->kind == PIECE_KERNEL)
        return add_kernel(chain, piece);
    if (piece->kind == PIECE_COPY && chain->layer->body)
        code = prepare_body_copy(chain->builder, piece);
    if (code != 0)
        return code;
    if (piece->kind == PIECE_COPY)
        code = call->graph_add_copy(&node, target, after, count, &piece->copy,
                                    builder->context);
    else if (piece->kind == PIECE_FILL)
        code = call->graph_add_fill(&node, target, after, count, &piece->fill,
                                    builder->context);
    else if (!call->graph_add_values)
        code = no_values();
    else
        code = call->graph_add_values(&node, target, after, count,
                                      &piece->values);
    return code ? code : link_node(chain, node);
}

// --- Nodes that launches prepare --------------------------------------------

static uint32_t take_slot(const struct step *step)
{
    struct gpu_plan *plan = step->plan;
    plan->slotted[plan->slot_count] = (uint32_t)(step - plan->steps);
    return plan->slot_count++;
}

static int add_event(struct node_chain *chain)
{
    struct gpu_plan *plan = chain->builder->plan;
    const struct driver_functions *call = chain->builder->call;
    struct step *step = chain->step;
    void *node = NULL;
    int code = plan->never ? 0
                           : call->event_create(&plan->never,
                                                DRIVER_EVENT_NO_TIMING);
    if (code != 0)
        return code;
    take_slot(step);
    code = (step->kind == RNL_NODE_EVENT_RECORD
                ? call->graph_add_record
                : call->graph_add_wait)(&node, chain->layer->target,
                                        chain->after, chain->after_count,
                                        plan->never);
    return code ? code : link_node(chain, node);
}

static struct host_work *host_work_new(struct node_chain *chain,
                                       enum host_part part, uint32_t op)
{
    struct gpu_plan *plan = chain->builder->plan;
    struct host_work *work = mem_allocate(sizeof *work);
    if (!work)
        return NULL;
    *work = (struct host_work){.next = plan->host_works,
                               .step = chain->step,
                               .slot = take_slot(chain->step),
                               .op = op,
                               .part = part};
    host_work_list(work);
    return plan->host_works = work;
}

static int add_host(struct node_chain *chain, struct host_work *work)
{
    struct driver_host_node host = {host_node_run,
                                    (void *)(uintptr_t)work->number};
    void *node = NULL;
    int code = chain->builder->call->graph_add_host(
        &node, chain->layer->target, chain->after, chain->after_count, &host);
    chain->builder->plan->works = true;
    go_on_after(chain, node);
    return code;
}

static int add_function(struct node_chain *chain)
{
    struct host_work *work = host_work_new(chain, HOST_CALLS, 0);
    return work ? add_host(chain, work) : out_of_memory(chain->builder);
}

// --- Copies and other work --------------------------------------------------

// Adds a copy in which the host takes part. The driver would read ordinary
// memory at the launch. For a copy to such memory, or within the host, the
// driver would block the launching thread.
static int add_copy(struct node_chain *chain, const struct op *op,
                    uint32_t index, enum host_part part)
{
    struct plan_builder *builder = chain->builder;
    struct host_work *work = host_work_new(chain, part, index);
    if (!work)
        return out_of_memory(builder);
    chain->step->by_host = true;
    if (part == HOST_COPIES)
        return add_host(chain, work);
    void *staged = NULL;
    work->size = packed_size(&op->copy);
    int code = pin(builder, work->size, &staged);
    if (code != 0)
        return code;
    work->staged = staged;
    code = part == HOST_READS ? add_host(chain, work) : 0;
    if (code == 0)
        code = gpu_rest_pieces(work, op, add_piece, chain);
    return code == 0 && part == HOST_WRITES ? add_host(chain, work) : code;
}

static int add_work(struct node_chain *chain)
{
    struct context *context = chain->builder->plan->context;
    uint32_t index = 0;
    int code = 0;
    for (const struct op *op = chain->step->node_params->ops; op && code == 0;
         op = op->next, index++) {
        enum host_part part = chain->layer->body ? HOST_NOTHING
                                                 : gpu_host_part(context, op);
        code = part == HOST_NOTHING
                   ? gpu_op_pieces(context, op, add_piece, chain)
                   : add_copy(chain, op, index, part);
    }
    return code;
}

// --- IF, WHILE, SWITCH ------------------------------------------------------

static int lay(struct plan_builder *builder, struct layer *layer);
static int layer_init(struct plan_builder *builder, struct layer *layer);
static void layer_finish(struct layer *layer);
static size_t list_leaves(struct layer *layer);

struct condition {
    uint64_t handle;
    const uint32_t *word;
};

static int add_decision(struct node_chain *chain, struct condition *condition)
{
    struct plan_builder *builder = chain->builder;
    void *arguments[] = {&condition->handle, &condition->word};
    struct driver_kernel_node kernel = {
        .grid_x = 1, .grid_y = 1, .grid_z = 1,
        .block_x = 1, .block_y = 1, .block_z = 1,
        .arguments = arguments,
    };
    void *node = NULL;
    int code = gpu_condition_kernel(builder->plan->context, &kernel.function);
    if (code == 0)
        code = builder->call->graph_add_kernel(
            &node, chain->layer->target, chain->after, chain->after_count,
            &kernel);
    builder->plan->works = true;
    go_on_after(chain, node);
    return code;
}

static int lay_body(struct node_chain *chain, const struct node *node,
                    struct layer *layer, struct condition *condition)
{
    struct plan_builder *builder = chain->builder;
    int code = layer_init(builder, layer);
    if (code == 0)
        code = lay(builder, layer);
    if (code == 0 && node->kind == RNL_NODE_WHILE) {
        struct node_chain end = {
            .builder = builder, .layer = layer, .after = layer->after};
        end.after_count = list_leaves(layer);
        code = add_decision(&end, condition);
    }
    layer_finish(layer);
    return code;
}

static int lay_bodies(struct node_chain *chain, const struct node *node,
                      void *const *targets, struct condition *condition)
{
    uint32_t step = (uint32_t)(chain->step - chain->builder->plan->steps) + 1;
    int code = 0;
    for (const struct graph *inner = node->inner; inner && code == 0;
         inner = inner->sibling) {
        struct layer layer = {.graph = inner, .target = *targets++,
                              .first_step = step, .body = true};
        code = lay_body(chain, node, &layer, condition);
        step += gpu_steps_in(inner);
    }
    return code;
}

static int type_of(rnl_node_kind kind)
{
    return kind == RNL_NODE_IF      ? DRIVER_CONDITION_IF
           : kind == RNL_NODE_WHILE ? DRIVER_CONDITION_WHILE
                                    : DRIVER_CONDITION_SWITCH;
}

static int add_condition(struct node_chain *chain, const struct node *node)
{
    struct plan_builder *builder = chain->builder;
    const struct driver_functions *call = builder->call;
    struct condition condition = {.word = node->node_params->word};
    if (!call->graph_add_node || !call->graph_conditional) {
        fail_at(RNL_ERROR_UNSUPPORTED, "graph", "%s",
                gpu_of(builder->plan->context)->driver->conditions_lack);
        return RECORDED;
    }
    int code = call->graph_conditional(&condition.handle,
                                       chain->layer->target, builder->context,
                                       0, 0);
    if (code == 0)
        code = add_decision(chain, &condition);
    if (code != 0)
        return code;
    struct driver_node params = {.type = DRIVER_NODE_CONDITIONAL};
    params.conditional.handle = condition.handle;
    params.conditional.type = type_of(node->kind);
    params.conditional.size = node_inner_count(node);
    params.conditional.context = builder->context;
    void *conditional = NULL;
    code = call->graph_add_node(&conditional, chain->layer->target,
                                chain->after, NULL, chain->after_count,
                                &params);
    go_on_after(chain, conditional);
    return code ? code
                : lay_bodies(chain, node, params.conditional.bodies,
                             &condition);
}

// --- Children ---------------------------------------------------------------

static int add_child(struct node_chain *chain, const struct node *node)
{
    struct plan_builder *builder = chain->builder;
    int code = add_empty(chain);
    if (code != 0)
        return code;
    struct layer layer = {
        .graph = node->inner,
        .target = chain->layer->target,
        .begin = chain->last,
        .first_step = (uint32_t)(chain->step - builder->plan->steps) + 1,
        .body = chain->layer->body,
    };
    code = layer_init(builder, &layer);
    if (code == 0)
        code = lay(builder, &layer);
    size_t leaves = code == 0 ? list_leaves(&layer) : 0;
    if (leaves > 0) {
        chain->after = layer.after;
        chain->after_count = leaves;
        code = add_empty(chain);
    }
    layer_finish(&layer);
    return code;
}

// --- Layers -----------------------------------------------------------------

static int layer_init(struct plan_builder *builder, struct layer *layer)
{
    size_t count = layer->graph->count, size = count * sizeof(void *);
    layer->ends = mem_allocate(size);
    layer->after = mem_allocate(size);
    layer->kernels = mem_allocate(count);
    return size == 0 || (layer->ends && layer->after && layer->kernels)
               ? 0
               : out_of_memory(builder);
}

static void layer_finish(struct layer *layer)
{
    size_t size = layer->graph->count * sizeof(void *);
    mem_release(layer->ends, size);
    mem_release(layer->after, size);
    mem_release(layer->kernels, layer->graph->count);
}

// Lists the driver nodes at the end of the layer in layer->after.
static size_t list_leaves(struct layer *layer)
{
    size_t count = 0;
    for (uint32_t i = 0; i < layer->graph->count; i++)
        if (layer->graph->nodes[i].kind &&
            layer->graph->nodes[i].before_count == 0)
            layer->after[count++] = layer->ends[i];
    return count;
}

static int add_node(struct node_chain *chain, const struct node *node)
{
    struct step *step = chain->step;
    switch (node->kind) {
    case RNL_NODE_HOST_FUNCTION:
        return add_function(chain);
    case RNL_NODE_EVENT_RECORD:
    case RNL_NODE_EVENT_WAIT:
        return add_event(chain);
    case RNL_NODE_CHILD:
        return add_child(chain, node);
    case RNL_NODE_IF:
    case RNL_NODE_WHILE:
    case RNL_NODE_SWITCH:
        return add_condition(chain, node);
    default:
        break;
    }
    int code = 0;
    if (step->enabled || gpu_step_switches(step))
        code = add_work(chain);
    return code == 0 && !chain->last ? add_empty(chain) : code;
}

static int lay_node(struct plan_builder *builder, struct layer *layer,
                    uint32_t index, struct step *step)
{
    const struct node *node = &layer->graph->nodes[index];
    struct node_chain chain = {.builder = builder,
                               .layer = layer,
                               .step = step,
                               .after = layer->after,
                               .behind_kernels = true};
    for (uint32_t i = 0; i < node->after_count; i++) {
        layer->after[chain.after_count++] = layer->ends[node->after[i]];
        chain.behind_kernels &= layer->kernels[node->after[i]];
    }
    if (node->after_count == 0 && layer->begin) {
        chain.after = &layer->begin;
        chain.after_count = 1;
        chain.behind_kernels = false;
    }
    step->plan = builder->plan;
    step->kind = node->kind;
    step->enabled = node->enabled;
    step->fixed = layer->body;
    step->node_params = node_params_ref(node->node_params);
    int code = add_node(&chain, node);
    layer->ends[index] = chain.last;
    layer->kernels[index] = chain.behind_kernels && chain.last;
    return code;
}

// Numbers the steps in the order of the nodes, but lays them out in topological
// order.
static int lay(struct plan_builder *builder, struct layer *layer)
{
    const struct graph *graph = layer->graph;
    struct topological_order order;
    if (!topological_order_init(&order, graph))
        return RECORDED;
    size_t size = graph->count * sizeof(uint32_t);
    uint32_t *step_of = mem_allocate(size);
    int code = step_of || size == 0 ? 0 : out_of_memory(builder);
    uint32_t next = layer->first_step;
    for (uint32_t i = 0; i < graph->count && code == 0; i++) {
        step_of[i] = next;
        next += gpu_steps_of(&graph->nodes[i]);
    }
    for (uint32_t i = 0; i < order.count && code == 0; i++) {
        uint32_t index = order.indices[i];
        code = lay_node(builder, layer, index,
                        &builder->plan->steps[step_of[index]]);
    }
    mem_release(step_of, size);
    topological_order_finish(&order);
    return code;
}

// --- Plans ------------------------------------------------------------------

// Frees the driver's part on an idle device, because destroying a graph waits
// for the device (seen with CUDA 13.0).
static void plan_free(struct gpu_context *gpu, void *subject)
{
    struct gpu_plan *plan = subject;
    const struct driver_functions *call = call_of(gpu);
    if (plan->exec)
        call->exec_destroy(plan->exec);
    if (plan->graph)
        call->graph_destroy(plan->graph);
    if (plan->never)
        call->event_destroy(plan->never);
    while (plan->pinned) {
        struct pinned *pinned = plan->pinned;
        plan->pinned = pinned->next;
        call->host_free(pinned->pointer);
        mem_release(pinned, sizeof *pinned);
    }
    mem_release(plan, sizeof *plan);
}

// Launches of the plan may be under way, but none with slots.
void gpu_plan_free(struct gpu_plan *plan, struct point last)
{
    struct context *context = plan->context;
    struct exec_references *used = plan->used;
    // Host works are unlisted first; otherwise the driver could reach a host
    // node whose step is gone.
    while (plan->host_works) {
        struct host_work *work = plan->host_works;
        plan->host_works = work->next;
        host_work_unlist(work);
        mem_release(work, sizeof *work);
    }
    for (uint32_t i = 0; used && plan->steps && i < plan->count; i++)
        exec_references_add(used, plan->steps[i].node_params);
    mem_release(plan->steps, plan->count * sizeof *plan->steps);
    mem_release(plan->slotted, plan->slot_most * sizeof *plan->slotted);
    mem_release(plan->nodes, plan->node_most * sizeof *plan->nodes);
    if (used)
        exec_references_retire(used, last);
    free_when_idle(context, plan_free, plan);
}

// The priority of the stream counts only if no node has a priority.
static int instantiate(struct plan_builder *builder)
{
    struct gpu_plan *plan = builder->plan;
    unsigned long long flags =
        builder->priorities ? DRIVER_GRAPH_NODE_PRIORITIES : 0;
    sync_gate_enter_now(gpu_of(plan->context));
    int code = builder->call->graph_instantiate(&plan->exec, plan->graph,
                                                flags);
    if (code != 0 && flags != 0)
        code = builder->call->graph_instantiate(&plan->exec, plan->graph, 0);
    sync_gate_leave(gpu_of(plan->context));
    for (uint32_t i = 0; i < plan->count && code == 0; i++) {
        const struct step *step = &plan->steps[i];
        for (uint32_t k = 0; !step->enabled && k < step->count && code == 0;
             k++)
            code = builder->call->exec_set_enabled(
                plan->exec, plan->nodes[step->first + k], 0);
    }
    return code;
}

static int build(struct plan_builder *builder, const struct graph *snapshot)
{
    struct gpu_plan *plan = builder->plan;
    int code = builder->call->graph_create(&plan->graph, 0);
    if (code != 0)
        return code;
    struct layer layer = {.graph = snapshot, .target = plan->graph};
    code = layer_init(builder, &layer);
    if (code == 0)
        code = lay(builder, &layer);
    layer_finish(&layer);
    return code ? code : instantiate(builder);
}

static struct gpu_plan *plan_new(struct context *context,
                                 const struct graph *snapshot)
{
    struct gpu_plan *plan = mem_allocate(sizeof *plan);
    if (!plan)
        return NULL;
    atomic_store(&plan->references, 1);
    plan->context = context;
    lock_set_rank(&plan->lock, RANK_GPU_PLAN);
    for (uint32_t i = 0; i < snapshot->count; i++) {
        plan->count += gpu_steps_of(&snapshot->nodes[i]);
        plan->slot_most += gpu_slots_of(&snapshot->nodes[i]);
    }
    plan->steps = mem_allocate(plan->count * sizeof *plan->steps);
    plan->slotted = mem_allocate(plan->slot_most * sizeof *plan->slotted);
    plan->used = exec_references_new(plan->count);
    if (plan->used && (plan->count == 0 || (plan->steps && plan->slotted)))
        return plan;
    gpu_plan_free(plan, (struct point){0});
    return NULL;
}

struct gpu_plan *gpu_plan_create(struct context *context,
                                 const struct graph *snapshot)
{
    struct gpu_context *gpu = gpu_of(context);
    struct gpu_plan *plan = plan_new(context, snapshot);
    if (!plan) {
        fail(RNL_ERROR_OUT_OF_MEMORY,
             "there is no memory to lay out a graph of %u nodes",
             snapshot->live_count);
        return NULL;
    }
    struct plan_builder builder = {
        .plan = plan, .call = call_of(gpu), .context = gpu->handle};
    void *before = current_enter(gpu);
    int code = build(&builder, snapshot);
    current_back(gpu, before);
    if (code == 0)
        return plan;
    if (code != RECORDED)
        driver_fail(context, code, "to make a graph ready");
    gpu_plan_free(plan, (struct point){0});
    return NULL;
}
