// The cost of replaying a graph, per node.
//
// A straight graph of tiny kernels against calls in a plain loop, the same
// kernels enqueued one by one, and PoCL; and a graph that forks eight-fold and
// joins again, a hundred times, against OpenMP's tasks and oneTBB's flow graph.
// The tiny kernel adds 1 to a number of its own, so every run can be checked.
#include "harness.h"
#include "peer_tbb.h"

#include <stdlib.h>

enum { WIDE = 8, LEVELS = 100, CELL = 16 };  // ints; a cache line a number

typedef struct graph_state {
    const bench_run *bench;
    size_t nodes;
    int *cells;  // of WIDE kernels that may run at once
    rnl_function add;
    rnl_graph_exec exec;
    rnl_status (*volatile call)(const rnl_native_call *call);
} graph_state;

static rnl_status add_one(const rnl_native_call *call)
{
    int *cell = *(int *const *)call->arguments[0];
    *cell += 1;
    return RNL_OK;
}

static const char add_source[] =
    "extern \"C\" __global__ void add_one(int *cell) { *cell += 1; }\n";

static const rnl_parameter add_parameter = {RNL_VALUE_POINTER, 8, 8, "int *"};

static int *cell_of(const graph_state *state, size_t index)
{
    return state->cells + index % WIDE * CELL;
}

static int sum(const graph_state *state)
{
    int total = 0;
    for (size_t i = 0; i < WIDE; i++)
        total += *cell_of(state, i);
    return total;
}

// --- Building --------------------------------------------------------------

static bool add_node(const graph_state *state, rnl_graph graph, size_t cell,
                     const rnl_node *after, size_t count, rnl_node *out_node)
{
    return !rnl_graph_add_node(
        graph, after, count,
        RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = state->add,
                 .launch = RNL_LAUNCH(.grid = {1}, .block = {1}),
                 .args = RNL_ARGS(cell_of(state, cell))),
        out_node);
}

static bool build_straight(const graph_state *state, rnl_graph graph)
{
    rnl_node last = NULL;
    for (size_t i = 0; i < state->nodes; i++)
        if (!add_node(state, graph, 0, &last, i > 0, &last))
            return false;
    return true;
}

static bool build_wide(const graph_state *state, rnl_graph graph)
{
    rnl_node join = NULL, fork[WIDE];
    for (size_t level = 0; level < LEVELS; level++) {
        for (size_t i = 0; i < WIDE; i++)
            if (!add_node(state, graph, i, &join, level > 0, &fork[i]))
                return false;
        if (rnl_graph_add_node(graph, fork, WIDE,
                               RNL_NODE(.kind = RNL_NODE_EMPTY), &join))
            return false;
    }
    return true;
}

static const char *build(graph_state *state,
                         bool (*nodes)(const graph_state *, rnl_graph))
{
    rnl_graph graph = NULL;
    bool fits = state->add &&
                !rnl_graph_create(state->bench->runnel.context, NULL, &graph) &&
                nodes(state, graph) &&
                !rnl_graph_instantiate(graph, &state->exec);
    rnl_graph_release(graph);
    return fits ? NULL : "no graph";
}

// --- Ways of doing it ------------------------------------------------------

static double per_node(const graph_state *state, uint64_t start)
{
    return (double)(bench_now_ns() - start) / (double)state->nodes;
}

static double replay(void *opaque)
{
    graph_state *state = opaque;
    rnl_stream stream = state->bench->runnel.stream;
    uint64_t start = bench_now_ns();
    if (rnl_enqueue_graph(stream, state->exec) ||
        rnl_stream_synchronize(stream, RNL_FOREVER))
        return -1;
    return per_node(state, start);
}

static double eager(void *opaque)
{
    graph_state *state = opaque;
    rnl_stream stream = state->bench->runnel.stream;
    uint64_t start = bench_now_ns();
    for (size_t i = 0; i < state->nodes; i++)
        if (rnl_enqueue_function(stream, state->add,
                                 RNL_LAUNCH(.grid = {1}, .block = {1}),
                                 RNL_ARGS(state->cells)))
            return -1;
    if (rnl_stream_synchronize(stream, RNL_FOREVER))
        return -1;
    return per_node(state, start);
}

static double loop(void *opaque)
{
    graph_state *state = opaque;
    const void *arguments[] = {&state->cells};
    rnl_native_call call = {.struct_size = sizeof call,
                            .grid = {1, 1, 1},
                            .block = {1, 1, 1},
                            .block_count = 1,
                            .arguments = arguments};
    uint64_t start = bench_now_ns();
    for (size_t i = 0; i < state->nodes; i++)
        if (state->call(&call))
            return -1;
    return per_node(state, start);
}

static double pocl_eager(void *opaque)
{
    graph_state *state = opaque;
    const opencl_peer *pocl = state->bench->pocl;
    uint64_t start = bench_now_ns();
    for (size_t i = 0; i < state->nodes; i++)
        if (!pocl->enqueue_empty(pocl->state))
            return -1;
    return pocl->finish(pocl->state) ? per_node(state, start) : -1;
}

static double openmp_tasks(void *opaque)
{
    graph_state *state = opaque;
    uint64_t start = bench_now_ns();
    state->bench->openmp->tasks(state->cells, WIDE, LEVELS);
    return per_node(state, start);
}

static double tbb_flow(void *opaque)
{
    graph_state *state = opaque;
    uint64_t start = bench_now_ns();
    tbb_flow_run();
    return per_node(state, start);
}

static const char *check(graph_state *state, double (*way)(void *))
{
    int before = sum(state);
    if (way(state) < 0)
        return "it failed";
    return sum(state) - before == (int)state->nodes ? NULL
                                                    : "nodes did not run once";
}

#define CHECK(way)                              \
    static const char *check_##way(void *state) \
    {                                           \
        return check(state, way);               \
    }
CHECK(replay)
CHECK(eager)
CHECK(loop)
CHECK(openmp_tasks)
CHECK(tbb_flow)
#undef CHECK

// --- Rows ------------------------------------------------------------------

static const char *make_native(graph_state *state)
{
    return rnl_function_create_native(
               state->bench->runnel.context, "add_one", add_one,
               RNL_NATIVE_OPTIONS(.parameters = &add_parameter,
                                  .parameter_count = 1),
               &state->add)
               ? "no native function"
               : NULL;
}

static const char *make_source(graph_state *state)
{
    return rnl_function_compile(state->bench->runnel.context, add_source,
                                "add_one", NULL, &state->add)
               ? "no function from source"
               : NULL;
}

static void state_finish(graph_state *state)
{
    rnl_graph_exec_release(state->exec);
    rnl_function_release(state->add);
}

static const char *first(const char *a, const char *b)
{
    return a ? a : b;
}

static void run_straight(bench_run *bench, const bench_plan *plan,
                         graph_state *native)
{
    graph_state source = *native;
    const char *no_native = make_native(native);
    const char *no_graph = first(no_native, build(native, build_straight));
    const char *no_source = make_source(&source);
    no_source = first(no_source, build(&source, build_straight));
    bench_variant variants[] = {
        {"runnel replay, native", no_graph, check_replay, replay, native},
        {"runnel replay, source", no_source, check_replay, replay, &source},
        {"runnel eager, native", no_native, check_eager, eager, native},
        {"plain C loop", NULL, check_loop, loop, native},
        {"pocl eager, empty", bench->no_pocl, NULL, pocl_eager, native},
    };
    bench_measure(bench, plan, variants, 5);
    state_finish(&source);
}

static void run_wide(bench_run *bench, const bench_plan *plan,
                     graph_state *native)
{
    const char *no_tbb = tbb_flow_open(native->cells, WIDE, CELL, LEVELS);
    const char *no_graph = make_native(native);
    no_graph = first(no_graph, build(native, build_wide));
    bench_variant variants[] = {
        {"runnel replay, native", no_graph, check_replay, replay, native},
        {"openmp tasks", bench->no_openmp, check_openmp_tasks, openmp_tasks,
         native},
        {"tbb flow graph", no_tbb, check_tbb_flow, tbb_flow, native},
    };
    bench_measure(bench, plan, variants, 3);
    tbb_flow_close();
}

static const bench_plan plans[] = {
    {.name = "graph/straight-1000",
     .what = "replay 1,000 tiny kernels one after the other, per node",
     .size = 1000,
     .samples = 20,
     .warm = 5},
    {.name = "graph/fork-join-8x100",
     .what = "replay 100 times 8 tiny kernels side by side, per node",
     .size = WIDE * LEVELS,
     .samples = 20,
     .warm = 5},
};

static void run(bench_run *bench, const bench_plan *plan)
{
    graph_state state = {.bench = bench, .nodes = plan->size, .call = add_one};
    state.cells = bench_allocate(WIDE * CELL * sizeof(int));
    if (!state.cells)
        return;
    (plan == plans ? run_straight : run_wide)(bench, plan, &state);
    state_finish(&state);
    free(state.cells);
}

const bench_case graph_case = {BENCH_PLANS(plans), run};
