#include "model.h"

#include <string.h>

static void bits_add(uint64_t *bits, const struct task *task, int index)
{
    for (int i = 0; i < TASKS / 64; i++)
        bits[i] |= task->before[i];
    bits[index / 64] |= 1ull << (index % 64);
}

// --- One task --------------------------------------------------------------

static const struct task *failed_before(const struct program *program,
                                        const struct task *task,
                                        bool by_waiting)
{
    const struct edge *edges = &program->edges[task->first_edge];
    for (int i = 0; i < task->edge_count; i++) {
        const struct task *from = &program->tasks[edges[i].from];
        bool waits = edges[i].kind == EDGE_WAIT;
        bool strong = edges[i].kind == EDGE_STREAM ||
                      edges[i].kind == EDGE_GRAPH;
        if (from->failed && (by_waiting ? waits : strong))
            return from;
    }
    return NULL;
}

static bool promise_failed(const struct program *program,
                           const struct task *task)
{
    int promised = task->promise == NONE ||
                           program->promise_is_word[task->promise]
                       ? NONE : program->promise_task[task->promise];
    return promised == PROMISE_BROKEN ||
           (promised >= 0 && program->tasks[promised].failed &&
            program->tasks[promised].stream != task->stream);
}

// The first failure counts, and that of a stream comes before what the stream
// waits for next.
static void find_failure(const struct program *program, struct task *task)
{
    const struct task *before = failed_before(program, task, false);
    task->failed = true;
    if (before)
        task->status = before->status;
    else if (task->work.kind == WORK_FAIL)
        task->status = RNL_ERROR_IO;
    else if (failed_before(program, task, true) ||
             promise_failed(program, task))
        task->status = RNL_ERROR_DEPENDENCY_FAILED;
    else
        task->failed = false;
}

// A stream that has failed does not wait any more, so its waits order nothing.
static void find_before(const struct program *program, struct task *task)
{
    const struct edge *edges = &program->edges[task->first_edge];
    memset(task->before, 0, sizeof task->before);
    for (int i = 0; i < task->edge_count; i++) {
        if (edges[i].kind == EDGE_SERIAL ||
            (edges[i].kind == EDGE_WAIT && task->failed))
            continue;
        int from = edges[i].from;
        bits_add(task->before, &program->tasks[from], from);
    }
    int promised = task->promise == NONE
                       ? NONE : program->promise_task[task->promise];
    if (promised >= 0 && !task->failed)
        bits_add(task->before, &program->tasks[promised], promised);
}

// What has no order to a task that fails, in the same launch, may run or not.
static void find_maybe(struct program *program, int failing)
{
    const struct task *culprit = &program->tasks[failing];
    if (culprit->launch == NONE || culprit->work.kind != WORK_FAIL)
        return;
    for (int i = 0; i < program->task_count; i++) {
        struct task *task = &program->tasks[i];
        if (task->launch == culprit->launch && i != failing &&
            !bit_has(task->before, failing) && !bit_has(culprit->before, i))
            task->maybe = true;
    }
}

// --- All -------------------------------------------------------------------

struct walk {
    const struct program *program;
    int *order;
    int count;
    bool seen[TASKS];
};

static void visit(struct walk *walk, int index)
{
    const struct program *program = walk->program;
    const struct task *task = &program->tasks[index];
    if (walk->seen[index])
        return;
    walk->seen[index] = true;
    for (int i = 0; i < task->edge_count; i++)
        visit(walk, program->edges[task->first_edge + i].from);
    if (task->promise != NONE && program->promise_task[task->promise] >= 0)
        visit(walk, program->promise_task[task->promise]);
    walk->order[walk->count++] = index;
}

void model_order(const struct program *program, int *order)
{
    struct walk walk = {program, order, 0, {false}};
    for (int i = 0; i < program->task_count; i++)
        visit(&walk, i);
}

void model_settle(struct program *program)
{
    int order[TASKS];
    model_order(program, order);
    for (int i = 0; i < program->task_count; i++) {
        struct task *task = &program->tasks[order[i]];
        task->maybe = false;
        find_failure(program, task);
        find_before(program, task);
    }
    for (int i = 0; i < program->task_count; i++)
        find_maybe(program, i);
}

struct task *model_begin(struct program *program)
{
    struct task *task = &program->tasks[program->task_count];
    memset(task, 0, sizeof *task);
    task->stream = task->call = task->launch = task->exec = NONE;
    task->promise = NONE;
    task->first_edge = program->edge_count;
    return task;
}

void model_edge(struct program *program, int from, enum edge_kind kind)
{
    if (from == NONE)
        return;
    program->tasks[program->task_count].edge_count++;
    program->edges[program->edge_count++] =
        (struct edge){(int16_t)from, (uint8_t)kind};
}

int model_end(struct program *program)
{
    struct task *task = &program->tasks[program->task_count];
    find_failure(program, task);
    find_before(program, task);
    return program->task_count++;
}

bool model_awaits(const struct program *program, int index, int promise)
{
    int order[TASKS];
    struct walk walk = {program, order, 0, {false}};
    if (index == NONE)
        return false;
    visit(&walk, index);
    for (int i = 0; i < walk.count; i++) {
        int awaited = program->tasks[order[i]].promise;
        if (awaited != NONE && (promise == NONE || promise == awaited) &&
            program->promise_task[awaited] == PROMISE_OPEN)
            return true;
    }
    return false;
}

// --- Footprints ------------------------------------------------------------

static void body_footprint(const struct node *node,
                           struct footprint *footprint)
{
    footprint->read[node->work.to] |= 0xffull << node->work.to_offset;
    for (int i = 0; i < node->body_count; i++)
        work_footprint(&node->body[i], footprint);
}

void node_footprint(const struct program *program, const struct node *node,
                    struct footprint *footprint)
{
    if (node->disabled)
        return;
    if (node->kind == RNL_NODE_CHILD)
        graph_footprint(program, &program->frozen[node->child], footprint);
    else if (node->kind == RNL_NODE_IF || node->kind == RNL_NODE_WHILE)
        body_footprint(node, footprint);
    else
        work_footprint(&node->work, footprint);
}

void graph_footprint(const struct program *program, const struct graph *graph,
                     struct footprint *footprint)
{
    for (int i = 0; i < graph->count; i++)
        node_footprint(program, &graph->nodes[i], footprint);
}
