// From a graph to a plan.
#include "backends/cpu/kernel/block.h"
#include "backends/cpu/scheduler/graph_plan.h"
#include "backends/cpu/scheduler/queue.h"
#include "backends/cpu/scheduler/tuning.h"
#include "core/graph/graph.h"
#include "core/graph/node_params.h"
#include "core/stream/op.h"

// The first and last step of a node in the plan; different only for nodes with
// inner graphs.
struct graph_span {
    uint32_t first, last;
};

// --- Counting --------------------------------------------------------------

static bool is_leaf(const struct node *node)
{
    return node->before_count == 0;
}

static void count(const struct graph *graph, size_t *steps, size_t *edges);

// Counts a step behind the graph `inner`, an edge from the step before the
// graph to its roots, and from its leaves to the step behind.
static void count_inner(const struct graph *inner, size_t *steps,
                        size_t *edges)
{
    *steps += 1;
    *edges += 1;
    for (uint32_t k = 0; k < inner->count; k++)
        if (inner->nodes[k].kind)
            *edges += (inner->nodes[k].after_count == 0) +
                      is_leaf(&inner->nodes[k]);
    count(inner, steps, edges);
}

static void count(const struct graph *graph, size_t *steps, size_t *edges)
{
    *edges += graph->edge_count;
    for (uint32_t i = 0; i < graph->count; i++) {
        const struct node *node = &graph->nodes[i];
        bool bodies = node_has_bodies(node->kind);
        *steps += (node->kind != 0) + bodies;
        for (const struct graph *inner = node->inner; inner;
             inner = inner->sibling) {
            *steps += bodies;
            *edges += bodies ? 2 : 0;
            count_inner(inner, steps, edges);
        }
    }
}

// --- Steps -----------------------------------------------------------------

static enum step_kind kind_of_ops(const struct node *node, struct step *step)
{
    const struct op *ops = node->node_params->ops;
    if (!node->enabled || !ops)
        return STEP_NOTHING;
    if (ops->kind == OP_KERNEL &&
        ops->kernel.function->native_flags & RNL_NATIVE_WAITS)
        return STEP_OUTSIDE;
    if (!ops->next && op_quick_call(ops, &step->call)) {
        step->function = ops->kernel.function->native_fn;
        return STEP_CALL;
    }
    if (!ops->next && op_quick_run(ops, &step->run))
        return STEP_RUN;
    return STEP_OPS;
}

static enum step_kind kind_of(const struct node *node, struct step *step)
{
    switch (node->kind) {
    case RNL_NODE_FUNCTION:
    case RNL_NODE_COPY:
    case RNL_NODE_FILL:
        return kind_of_ops(node, step);
    case RNL_NODE_HOST_FUNCTION:
        return node->enabled ? STEP_HOST : STEP_NOTHING;
    case RNL_NODE_VALUES:
        return node->node_params->ops ? STEP_VALUES : STEP_NOTHING;
    case RNL_NODE_EVENT_RECORD:
        return STEP_RECORD;
    case RNL_NODE_EVENT_WAIT:
        return STEP_WAIT;
    case RNL_NODE_IF:
    case RNL_NODE_WHILE:
    case RNL_NODE_SWITCH:
        step->decides = node->kind;
        return STEP_DECIDE;
    default:
        return STEP_NOTHING;
    }
}

static void set_kind(struct plan *plan, struct step *step,
                     const struct node *node)
{
    step->kind = kind_of(node, step);
    if (step->kind == STEP_RUN)
        step->run.scope = &plan->scope;
    plan->waits_outside |= step->kind == STEP_OUTSIDE;
}

static bool fill_step(struct plan *plan, struct step *step,
                      const struct node *node)
{
    *step = (struct step){0};
    set_kind(plan, step, node);
    if (step->kind == STEP_WAIT) {
        step->wait = mem_allocate_aligned(sizeof *step->wait, 64);
        if (!step->wait) {
            fail(RNL_ERROR_OUT_OF_MEMORY, "there is no memory for a wait");
            return false;
        }
        step->wait->kind = OP_WAIT;
        step->wait->kept = step->wait->kept_inline;
    }
    step->node_params = node_params_ref(node->node_params);
    return true;
}

static void step_finish(struct step *step)
{
    node_params_unref(step->node_params);
    mem_release(step->wait, sizeof *step->wait);
}

// --- Edges: first a list of pairs, then followers by step --------------------

struct flat {
    struct plan *plan;
    uint32_t *from, *to;
    size_t edge_count;
};

static void connect(struct flat *flat, uint32_t from, uint32_t to)
{
    flat->from[flat->edge_count] = from;
    flat->to[flat->edge_count++] = to;
    flat->plan->steps[to].needs++;
}

static bool flatten(struct flat *flat, const struct graph *graph,
                    struct graph_span *spans);

static bool flatten_inner(struct flat *flat, const struct graph *inner,
                          struct graph_span *span)
{
    struct plan *plan = flat->plan;
    size_t size = inner->count * sizeof(struct graph_span);
    struct graph_span *spans = mem_allocate(size);
    bool fits = spans && flatten(flat, inner, spans);
    if (fits) {
        span->last = plan->count++;
        connect(flat, span->first, span->last);
    }
    for (uint32_t i = 0; fits && i < inner->count; i++) {
        const struct node *node = &inner->nodes[i];
        if (node->kind && node->after_count == 0)
            connect(flat, span->first, spans[i].first);
        if (node->kind && is_leaf(node))
            connect(flat, spans[i].last, span->last);
    }
    mem_release(spans, size);
    return fits;
}

static bool flatten_bodies(struct flat *flat, const struct graph *inner,
                           struct graph_span *span)
{
    struct plan *plan = flat->plan;
    uint32_t decide = span->first, entered = plan->count;
    bool fits = true;
    plan->branches++;
    for (; inner && fits; inner = inner->sibling) {
        struct graph_span body = {.first = plan->count++};
        connect(flat, decide, body.first);
        fits = flatten_inner(flat, inner, &body);
        if (!fits)
            break;
        plan->steps[body.last].kind = STEP_LEAVE;
        plan->steps[body.last].target = decide;
    }
    span->last = plan->steps[decide].target = plan->count++;
    for (uint32_t i = entered; i < span->last && fits; i++)
        if (plan->steps[i].kind == STEP_LEAVE &&
            plan->steps[i].target == decide)
            connect(flat, i, span->last);
    return fits;
}

static bool flatten_node(struct flat *flat, const struct graph *graph,
                         uint32_t index, struct graph_span *spans)
{
    struct plan *plan = flat->plan;
    const struct node *node = &graph->nodes[index];
    struct graph_span *span = &spans[index];
    span->first = span->last = plan->count;
    if (!fill_step(plan, &plan->steps[plan->count], node)) {
        step_finish(&plan->steps[plan->count]);
        return false;
    }
    if (node->kind == RNL_NODE_EVENT_WAIT)
        plan->steps[plan->count].point = plan->target_count++;
    plan->records += node->kind == RNL_NODE_EVENT_RECORD;
    plan->hosts += node->kind == RNL_NODE_HOST_FUNCTION;
    plan->count++;
    for (uint32_t i = 0; i < node->after_count; i++)
        connect(flat, spans[node->after[i]].last, span->first);
    if (node_has_bodies(node->kind))
        return flatten_bodies(flat, node->inner, span);
    return node->kind != RNL_NODE_CHILD ||
           flatten_inner(flat, node->inner, span);
}

static bool flatten(struct flat *flat, const struct graph *graph,
                    struct graph_span *spans)
{
    struct topological_order order;
    if (!topological_order_init(&order, graph))
        return false;
    bool fits = true;
    for (uint32_t i = 0; i < order.count && fits; i++)
        fits = flatten_node(flat, graph, order.indices[i], spans);
    topological_order_finish(&order);
    return fits;
}

static void list_followers(struct flat *flat)
{
    struct plan *plan = flat->plan;
    for (size_t i = 0; i < flat->edge_count; i++)
        plan->steps[flat->from[i]].end++;
    uint32_t sum = 0;
    for (uint32_t i = 0; i < plan->count; i++) {
        sum += plan->steps[i].end;
        plan->steps[i].first = plan->steps[i].end = sum;
    }
    for (size_t i = flat->edge_count; i-- > 0;)
        plan->followers[--plan->steps[flat->from[i]].first] = flat->to[i];
}

static void find_straight(struct plan *plan)
{
    plan->straight = true;
    for (uint32_t i = 0; i + 1 < plan->count; i++) {
        struct step *step = &plan->steps[i];
        step->straight = step->end - step->first == 1 &&
                         plan->followers[step->first] == i + 1 &&
                         plan->steps[i + 1].needs == 1;
        plan->straight &= step->straight;
    }
}

// Links a step to the step before, so that both run together.
static void link_run(struct plan *plan, uint32_t index)
{
    if (index == 0 || index >= plan->count)
        return;
    struct step *step = &plan->steps[index], *before = step - 1;
    if (before->kind != STEP_RUN)
        return;
    bool linked = step->kind == STEP_RUN && index % CHAIN != 0 &&
                  block_can_follow(&before->run, &step->run);
    before->run.next = linked ? &step->run : NULL;
}

// --- Plans -----------------------------------------------------------------

static bool plan_reserve(struct plan *plan, const struct graph *graph,
                         size_t steps, size_t edges)
{
    if (steps >= UINT32_MAX / 2 || edges >= UINT32_MAX / 2)
        return false;
    plan->most = (uint32_t)steps;
    plan->follower_count = (uint32_t)edges;
    plan->node_count = graph->count;
    plan->steps = mem_allocate(steps * sizeof *plan->steps);
    plan->followers = mem_allocate(edges * sizeof *plan->followers);
    plan->step_of = mem_allocate(graph->count * sizeof *plan->step_of);
    plan->left = mem_allocate(steps * sizeof *plan->left);
    plan->slots = mem_allocate(steps * sizeof *plan->slots);
    plan->parked = mem_allocate(steps * sizeof *plan->parked);
    return plan->steps && plan->followers && plan->step_of && plan->left &&
           plan->slots && plan->parked;
}

static bool plan_fill(struct plan *plan, const struct graph *graph)
{
    size_t spans_size = graph->count * sizeof(struct graph_span);
    size_t edges_size = plan->follower_count * sizeof(uint32_t);
    struct graph_span *spans = mem_allocate(spans_size);
    struct flat flat = {.plan = plan, .from = mem_allocate(edges_size),
                        .to = mem_allocate(edges_size)};
    bool fits = spans && flat.from && flat.to && flatten(&flat, graph, spans);
    if (fits) {
        list_followers(&flat);
        find_straight(plan);
        for (uint32_t i = 0; i < plan->count; i++)
            link_run(plan, i);
        for (uint32_t i = 0; i < graph->count; i++)
            plan->step_of[i] = spans[i].last;
    }
    mem_release(spans, spans_size);
    mem_release(flat.from, edges_size);
    mem_release(flat.to, edges_size);
    return fits;
}

struct plan *plan_create(const struct graph *graph)
{
    struct plan *plan = mem_allocate_aligned(sizeof *plan, 64);
    if (plan) {
        size_t steps = 0, edges = 0;
        atomic_init(&plan->references, 1);
        lock_set_rank(&plan->lock, RANK_CPU_PLAN);
        count(graph, &steps, &edges);
        if (plan_reserve(plan, graph, steps, edges) && plan_fill(plan, graph))
            return plan;
        plan_unref(plan);
    }
    fail(RNL_ERROR_OUT_OF_MEMORY,
         "there is no memory to lay out a graph of %u nodes",
         graph->live_count);
    return NULL;
}

static void plan_free(struct plan *plan)
{
    for (uint32_t i = 0; i < plan->count; i++)
        step_finish(&plan->steps[i]);
    mem_release(plan->steps, plan->most * sizeof *plan->steps);
    mem_release(plan->followers,
                plan->follower_count * sizeof *plan->followers);
    mem_release(plan->step_of, plan->node_count * sizeof *plan->step_of);
    mem_release(plan->left, plan->most * sizeof *plan->left);
    mem_release(plan->slots, plan->most * sizeof *plan->slots);
    mem_release(plan->parked, plan->most * sizeof *plan->parked);
    mem_release(plan, sizeof *plan);
}

void plan_unref(struct plan *plan)
{
    if (COUNT_DOWN(&plan->references) == 1)
        plan_free(plan);
}

bool plan_change(struct plan *plan, const struct graph *graph, uint32_t index)
{
    const struct node *node = &graph->nodes[index];
    if (node->inner)
        return false;
    uint32_t at = plan->step_of[index];
    struct step *step = &plan->steps[at];
    node_params_unref(step->node_params);
    step->node_params = node_params_ref(node->node_params);
    set_kind(plan, step, node);
    link_run(plan, at);
    link_run(plan, at + 1);
    return true;
}
