// From steps to calls and tasks: captures, graphs, launches.
#include "plan.h"

#include <string.h>

enum { FLAT_MOST = 90 };  // nodes of a graph, children included

static bool is_loop(const struct node *node)
{
    return node->kind == RNL_NODE_IF || node->kind == RNL_NODE_WHILE;
}

static rnl_node_kind kind_of(const struct work *work)
{
    switch (work->kind) {
    case WORK_NOTHING:
        return RNL_NODE_EMPTY;
    case WORK_FILL:
        return RNL_NODE_FILL;
    case WORK_COPY:
        return RNL_NODE_COPY;
    case WORK_HOST:
        return RNL_NODE_HOST_FUNCTION;
    case WORK_WRITE:
        return RNL_NODE_VALUES;
    default:
        return RNL_NODE_FUNCTION;
    }
}

static int flat_count(const struct program *program, const struct graph *graph)
{
    int count = 0;
    for (int i = 0; i < graph->count; i++)
        count += graph->nodes[i].kind == RNL_NODE_CHILD
                     ? 2 + flat_count(program, &program->frozen[
                                                   graph->nodes[i].child])
                     : 1;
    return count;
}

static bool nodes_conflict(const struct program *program,
                           const struct node *one, const struct node *other)
{
    struct footprint a = {0}, b = {0};
    node_footprint(program, one, &a);
    node_footprint(program, other, &b);
    return footprints_conflict(&a, &b);
}

// --- Nodes -----------------------------------------------------------------

static uint64_t closure(const struct graph *graph, uint64_t set)
{
    uint64_t all = set;
    for (int i = 0; i < graph->count; i++)
        if (set >> i & 1)
            all |= graph->nodes[i].before_all;
    return all;
}

static void append(struct graph *graph, const struct node *node,
                   uint64_t after)
{
    struct node *made = &graph->nodes[graph->count];
    *made = *node;
    made->after = after;
    made->before_all = closure(graph, after);
    graph->count++;
}

// The newest node that `node` would race with behind `after`.
static int find_racer(const struct plan *plan, const struct graph *graph,
                      const struct node *node, uint64_t after)
{
    uint64_t before = closure(graph, after);
    for (int i = graph->count - 1; i >= 0; i--)
        if (!(before >> i & 1) &&
            nodes_conflict(plan->program, node, &graph->nodes[i]))
            return i;
    return NONE;
}

// Whether node `index` could do `work` without a race.
static bool may_become(const struct plan *plan, const struct graph *graph,
                       int index, const struct work *work)
{
    const struct node *old = &graph->nodes[index];
    struct node node = {.kind = old->kind, .work = *work};
    if (old->kind == RNL_NODE_EMPTY || kind_of(work) != old->kind)
        return false;
    for (int i = 0; i < graph->count; i++)
        if (i != index && !(old->before_all >> i & 1) &&
            !(graph->nodes[i].before_all >> index & 1) &&
            nodes_conflict(plan->program, &node, &graph->nodes[i]))
            return false;
    return true;
}

// --- Captures --------------------------------------------------------------

static struct plan_capture *capture_of(struct plan *plan, int stream)
{
    int capture = plan->streams[stream].capture;
    return capture == NONE ? NULL : &plan->captures[capture];
}

// A stream that may turn out to have failed cannot be captured for certain.
static bool may_join(const struct plan *plan, int stream)
{
    return !plan_has_failed(plan, stream) &&
           !(plan->program->failures && plan_is_blocked(plan, stream));
}

static void begin_capture(struct plan *plan, int stream, bool relaxed)
{
    int index = plan->captures[0].active ? 1 : 0;
    struct plan_capture *capture = &plan->captures[index];
    if (capture->active || plan_is_captured(plan, stream) ||
        !may_join(plan, stream))
        return;
    memset(capture, 0, sizeof *capture);
    capture->active = capture->graph.exists = true;
    capture->relaxed = relaxed;
    capture->origin = stream;
    capture->graph.serial = ++plan->serial;
    plan->streams[stream].capture = index;
    plan->streams[stream].set = 0;
    plan_call(plan, CALL_BEGIN, stream)->value = relaxed;
}

static void join(struct plan *plan, int stream, int capture, uint64_t set)
{
    struct plan_stream *at = &plan->streams[stream];
    if (at->capture == NONE)
        at->set = 0;
    at->capture = capture;
    at->set |= set;
}

void plan_captured_record(struct plan *plan, int stream, int event)
{
    const struct plan_stream *at = &plan->streams[stream];
    plan_call(plan, CALL_RECORD, stream)->event = event;
    plan->events[event] = (struct plan_event){
        .recorded = true, .task = NONE, .capture = at->capture,
        .serial = capture_of(plan, stream)->graph.serial, .set = at->set};
}

static bool can_meet(struct plan *plan, int stream, int capture)
{
    int own = plan->streams[stream].capture;
    return own == NONE ? may_join(plan, stream) : own == capture;
}

void plan_captured_wait(struct plan *plan, int stream, int event)
{
    const struct plan_event *at = &plan->events[event];
    const struct plan_capture *capture = &plan->captures[at->capture];
    if (!capture->active || capture->graph.serial != at->serial ||
        !can_meet(plan, stream, at->capture))
        return;
    plan_call(plan, CALL_WAIT, stream)->event = event;
    join(plan, stream, at->capture, at->set);
}

void plan_captured_join(struct plan *plan, int stream, int other)
{
    const struct plan_stream *at = &plan->streams[other];
    if (at->capture == NONE || !can_meet(plan, stream, at->capture))
        return;
    plan_call(plan, CALL_WAIT_STREAM, stream)->other = other;
    join(plan, stream, at->capture, at->set);
}

static void bring_back(struct plan *plan, int to, int from, bool by_event)
{
    if (by_event) {
        plan_captured_record(plan, from, TEMPORARY);
        plan_captured_wait(plan, to, TEMPORARY);
    } else {
        plan_captured_join(plan, to, from);
    }
}

// A stream of the capture that comes after node `index`.
static int find_member(struct plan *plan, int capture, int index)
{
    const struct graph *graph = &plan->captures[capture].graph;
    for (int i = 0; i < STREAMS; i++)
        if (plan->streams[i].capture == capture &&
            closure(graph, plan->streams[i].set) >> index & 1)
            return i;
    return NONE;
}

void plan_captured_work(struct plan *plan, const struct step *step)
{
    struct plan_stream *at = &plan->streams[step->a];
    struct graph *graph = &capture_of(plan, step->a)->graph;
    struct node node = {.kind = kind_of(&step->work), .work = step->work};
    int racer;
    if (graph->count == NODES)
        return;
    while ((racer = find_racer(plan, graph, &node, at->set)) != NONE) {
        int other = find_member(plan, at->capture, racer);
        if (other == NONE)
            return;
        bring_back(plan, step->a, other, racer % 2);
    }
    plan_call(plan, CALL_WORK, step->a)->added = node;
    append(graph, &node, at->set);
    at->set = 1ull << (graph->count - 1);
}

void plan_end_capture(struct plan *plan, int index, int slot)
{
    struct plan_capture *capture = &plan->captures[index];
    struct plan_stream *origin = &plan->streams[capture->origin];
    for (int i = 0; i < STREAMS; i++)
        if (plan->streams[i].capture == index &&
            plan->streams[i].set & ~closure(&capture->graph, origin->set))
            bring_back(plan, capture->origin, i, i % 2);
    plan_call(plan, CALL_END, capture->origin)->graph = slot;
    plan->graphs[slot] = capture->graph;
    capture->active = false;
    for (int i = 0; i < STREAMS; i++)
        if (plan->streams[i].capture == index)
            plan->streams[i].capture = NONE;
}

// --- Building --------------------------------------------------------------

static struct graph *need_graph(struct plan *plan, int slot)
{
    struct graph *graph = &plan->graphs[slot];
    if (graph->exists)
        return graph;
    memset(graph, 0, sizeof *graph);
    graph->exists = true;
    graph->serial = ++plan->serial;
    plan_call(plan, CALL_GRAPH_NEW, NONE)->graph = slot;
    return graph;
}

// Behind some of the nodes, and all that it would race with.
static struct call *add_node(struct plan *plan, int slot, struct node *node,
                             uint64_t some)
{
    struct graph *graph = need_graph(plan, slot);
    if (graph->count == NODES ||
        flat_count(plan->program, graph) + 2 > FLAT_MOST)
        return NULL;
    uint64_t after = some & some >> 20 & ((1ull << graph->count) - 1);
    int racer;
    while ((racer = find_racer(plan, graph, node, after)) != NONE)
        after |= 1ull << racer;
    append(graph, node, after);
    struct call *call = plan_call(plan, CALL_ADD_NODE, NONE);
    call->graph = slot;
    call->added = graph->nodes[graph->count - 1];
    return call;
}

static void add_work(struct plan *plan, const struct step *step)
{
    struct node node = {.work = step->work};
    if (step->c % 16 == 0)
        node.work = (struct work){.kind = WORK_NOTHING};
    node.kind = kind_of(&node.work);
    add_node(plan, step->b % GRAPHS, &node, step->value);
}

static void add_child(struct plan *plan, const struct step *step)
{
    struct program *program = plan->program;
    const struct graph *child = &plan->graphs[step->c % GRAPHS];
    struct graph *graph = need_graph(plan, step->b % GRAPHS);
    if (!child->exists || program->frozen_count == FROZEN ||
        flat_count(program, child) + flat_count(program, graph) + 4 >
            FLAT_MOST)
        return;
    struct node node = {.kind = RNL_NODE_CHILD, .child = program->frozen_count};
    program->frozen[program->frozen_count++] = *child;
    struct call *call = add_node(plan, step->b % GRAPHS, &node, step->value);
    if (call)
        call->other = step->c % GRAPHS;
}

// The word that decides is the body's last work to change, and no other's.
static void add_body(struct plan *plan, const struct step *step)
{
    if (!machine_has_bodies()) {
        add_work(plan, step);
        return;
    }
    bool again = step->c % 2;
    struct node node = {.kind = again ? RNL_NODE_WHILE : RNL_NODE_IF,
                        .work = step->work};
    uint64_t word = 0xffull << step->work.to_offset;
    for (int i = 0; i < BODY - 1; i++) {
        struct footprint footprint = {0};
        work_footprint(&step->body[i], &footprint);
        int to = step->work.to;
        if (step->body[i].kind != WORK_NOTHING &&
            !((footprint.write[to] | footprint.add[to]) & word))
            node.body[node.body_count++] = step->body[i];
    }
    if (again)
        node.body[node.body_count++] = step->work;
    add_node(plan, step->b % GRAPHS, &node, step->value);
}

static void set_node(struct plan *plan, const struct step *step)
{
    int slot = step->b % GRAPHS;
    struct graph *graph = &plan->graphs[slot];
    if (!graph->exists || graph->count == 0)
        return;
    int index = step->c % graph->count;
    if (!may_become(plan, graph, index, &step->work))
        return;
    graph->nodes[index].work = step->work;
    struct call *call = plan_call(plan, CALL_SET_NODE, NONE);
    call->graph = slot;
    call->node = index;
    call->added = graph->nodes[index];
}

static void clone(struct plan *plan, int from, int to)
{
    if (!plan->graphs[from].exists || from == to)
        return;
    plan->graphs[to] = plan->graphs[from];
    plan->graphs[to].serial = ++plan->serial;
    struct call *call = plan_call(plan, CALL_CLONE, NONE);
    call->graph = from;
    call->other = to;
}

// --- Executable graphs -----------------------------------------------------

static void instantiate(struct plan *plan, int slot, int index)
{
    struct plan_exec *exec = &plan->execs[index];
    if (!plan->graphs[slot].exists || !plan_is_calm(plan))
        return;
    exec->graph = plan->graphs[slot];
    exec->source = slot;
    exec->serial = exec->graph.serial;
    exec->id = ++plan->serial;
    exec->last = NONE;
    struct call *call = plan_call(plan, CALL_INSTANTIATE, NONE);
    call->graph = slot;
    call->exec = index;
}

static void begin_task(struct plan *plan, int stream, int exec)
{
    struct task *task = model_begin(plan->program);
    task->stream = stream;
    task->call = plan->program->call_count - 1;
    task->launch = plan->launches;
    task->exec = plan->execs[exec].id;
}

static int expand(struct plan *plan, int stream, int exec,
                  const struct graph *graph, int begin);

static int expand_node(struct plan *plan, int stream, int exec,
                       const struct node *node)
{
    struct program *program = plan->program;
    struct task *task = &program->tasks[program->task_count];
    if (node->kind == RNL_NODE_CHILD) {
        int begin = model_end(program);
        return expand(plan, stream, exec, &program->frozen[node->child],
                      begin);
    }
    node_footprint(program, node, &task->footprint);
    if (is_loop(node)) {
        task->kind = node->kind;
        task->word = node->work;
        memcpy(task->body, node->body, sizeof task->body);
        task->body_count = node->body_count;
    }
    if (!node->disabled)
        task->work = node->work;
    if (is_loop(node))
        task->work.kind = WORK_NOTHING;
    return model_end(program);
}

// Adds the tasks of a graph; returns the one that comes after them all.
static int expand(struct plan *plan, int stream, int exec,
                  const struct graph *graph, int begin)
{
    int tasks[NODES];
    for (int i = 0; i < graph->count; i++) {
        const struct node *node = &graph->nodes[i];
        begin_task(plan, stream, exec);
        for (int k = 0; k < i; k++)
            if (node->after >> k & 1)
                model_edge(plan->program, tasks[k], EDGE_GRAPH);
        if (!node->after)
            model_edge(plan->program, begin, EDGE_GRAPH);
        tasks[i] = expand_node(plan, stream, exec, node);
    }
    begin_task(plan, stream, exec);
    model_edge(plan->program, begin, EDGE_GRAPH);
    for (int i = 0; i < graph->count; i++)
        model_edge(plan->program, tasks[i], EDGE_GRAPH);
    return model_end(plan->program);
}

static bool has_work(const struct program *program, const struct graph *graph)
{
    for (int i = 0; i < graph->count; i++) {
        const struct node *node = &graph->nodes[i];
        if (node->kind == RNL_NODE_CHILD
                ? has_work(program, &program->frozen[node->child])
                : node->kind != RNL_NODE_EMPTY)
            return true;
    }
    return false;
}

static void launch(struct plan *plan, int stream, int index)
{
    struct plan_exec *exec = &plan->execs[index];
    struct footprint footprint = {0};
    if (!exec->graph.exists || plan_is_captured(plan, stream))
        return;
    graph_footprint(plan->program, &exec->graph, &footprint);
    if (!plan_make_room(plan, stream, &footprint, exec->id))
        return;
    plan_enqueue(plan, CALL_LAUNCH, stream)->exec = index;
    plan->launches++;
    struct task *task = plan_begin(plan, stream);
    task->launch = plan->launches;
    // Without work a driver has nothing to keep apart.
    if (machine_is_cpu() || has_work(plan->program, &exec->graph))
        model_edge(plan->program, exec->last, EDGE_SERIAL);
    int begin = model_end(plan->program);
    exec->last = expand(plan, stream, index, &exec->graph, begin);
    plan->streams[stream].tail = exec->last;
}

// --- Changing executable graphs --------------------------------------------

static bool same_shape(const struct program *program,
                       const struct graph *one, const struct graph *other)
{
    bool same = one->count == other->count;
    for (int i = 0; same && i < one->count; i++) {
        const struct node *a = &one->nodes[i], *b = &other->nodes[i];
        same = a->kind == b->kind && a->after == b->after &&
               a->body_count == b->body_count;
        for (int k = 0; same && k < a->body_count; k++)
            same = kind_of(&a->body[k]) == kind_of(&b->body[k]);
        if (same && a->kind == RNL_NODE_CHILD)
            same = same_shape(program, &program->frozen[a->child],
                              &program->frozen[b->child]);
    }
    return same;
}

static void update(struct plan *plan, int index, int slot)
{
    struct plan_exec *exec = &plan->execs[index];
    const struct graph *graph = &plan->graphs[slot];
    if (!exec->graph.exists || !graph->exists)
        return;
    struct call *call = plan_call(plan, CALL_UPDATE, NONE);
    call->exec = index;
    call->graph = slot;
    call->answer = ANSWER_EXACT;
    call->expected = same_shape(plan->program, &exec->graph, graph)
                         ? RNL_OK : RNL_ERROR_GRAPH_UPDATE;
    for (int i = 0; call->expected == RNL_OK && i < graph->count; i++) {
        bool disabled = exec->graph.nodes[i].disabled;
        exec->graph.nodes[i] = graph->nodes[i];
        exec->graph.nodes[i].disabled = disabled;
    }
}

// Nodes are named by those of the graph that it was made of.
static struct node *find_node(struct plan *plan, struct plan_exec *exec,
                              int number, int *index)
{
    const struct graph *source = &plan->graphs[exec->source];
    if (!exec->graph.exists || exec->graph.count == 0 ||
        source->serial != exec->serial)
        return NULL;
    *index = number % exec->graph.count;
    return &exec->graph.nodes[*index];
}

static void set_exec_node(struct plan *plan, const struct step *step)
{
    int number = step->c % EXECS, index;
    struct plan_exec *exec = &plan->execs[number];
    struct node *node = find_node(plan, exec, step->b, &index);
    if (!node || !may_become(plan, &exec->graph, index, &step->work))
        return;
    node->work = step->work;
    struct call *call = plan_call(plan, CALL_SET_EXEC_NODE, NONE);
    call->exec = number;
    call->graph = exec->source;
    call->node = index;
    call->added = *node;
}

static void enable(struct plan *plan, const struct step *step)
{
    int number = step->c % EXECS, index;
    struct plan_exec *exec = &plan->execs[number];
    struct node *node = find_node(plan, exec, step->b, &index);
    bool on = step->value % 2;
    if (!node || is_loop(node) || node->kind == RNL_NODE_CHILD ||
        node->kind == RNL_NODE_EMPTY || node->kind == RNL_NODE_VALUES)
        return;
    bool off = node->disabled;
    node->disabled = false;
    if (on && off && !may_become(plan, &exec->graph, index, &node->work)) {
        node->disabled = true;
        return;
    }
    node->disabled = !on;
    struct call *call = plan_call(plan, CALL_ENABLE, NONE);
    call->exec = number;
    call->graph = exec->source;
    call->node = index;
    call->value = on;
}

static void end_capture(struct plan *plan, int capture, int slot)
{
    if (plan->captures[capture].active)
        plan_end_capture(plan, capture, slot);
}

bool plan_graph_step(struct plan *plan, const struct step *step)
{
    int capture = plan->streams[step->a].capture;
    int slot = step->b % GRAPHS, exec = step->c % EXECS;
    switch (step->kind) {
    case STEP_BEGIN:
        begin_capture(plan, step->a, step->value % 2);
        return true;
    case STEP_END:
        end_capture(plan, capture != NONE ? capture : (int)(step->value % 2),
                    slot);
        return true;
    case STEP_ADD_NODE:
        add_work(plan, step);
        return true;
    case STEP_ADD_CHILD:
        add_child(plan, step);
        return true;
    case STEP_ADD_BODY:
        add_body(plan, step);
        return true;
    case STEP_SET_NODE:
        set_node(plan, step);
        return true;
    case STEP_CLONE:
        clone(plan, slot, step->c % GRAPHS);
        return true;
    case STEP_INSTANTIATE:
        instantiate(plan, slot, exec);
        return true;
    case STEP_LAUNCH:
        launch(plan, step->a, exec);
        return true;
    case STEP_UPDATE:
        update(plan, exec, slot);
        return true;
    case STEP_SET_EXEC_NODE:
        set_exec_node(plan, step);
        return true;
    case STEP_ENABLE:
        enable(plan, step);
        return true;
    default:
        return false;
    }
}
