// Chains of 1000 small kernels on a GPU, and launches of graphs.
//
// Every kernel of a chain adds a number to one sum, so each way can be
// checked. The peers are the same launches on a stream by hand, and a graph
// by hand that is built once and gets its arguments anew.
#include "cuda.h"

#include <string.h>

enum { CHAIN = 1000, SMALL = 20, LAUNCHES = 20 };

typedef struct graph_state {
    cuda_fixture *cuda;
    rnl_buffer sum;
    uint64_t address;
    size_t nodes;
    bool equal;       // arguments that are the same in every round
    int round;
    rnl_stream stream;
    rnl_graph_exec exec;
    void *raw_graph, *raw_exec, *raw_nodes[CHAIN];
    bool (*once)(struct graph_state *state);
} graph_state;

static int value_of(const graph_state *state, size_t i)
{
    return state->equal ? 1 : state->round + (int)(i % 7);
}

// --- Ways to do a chain, each until it is done -----------------------------

static bool runnel_once(graph_state *state)
{
    for (size_t i = 0; i < state->nodes; i++)
        if (rnl_enqueue_function(state->stream,
                                 state->cuda->functions[CUDA_ADD],
                                 RNL_LAUNCH(.grid = {1}, .block = {1}),
                                 RNL_ARGS(state->sum, value_of(state, i),
                                          (int)i)))
            return false;
    return !rnl_stream_synchronize(state->stream, RNL_FOREVER);
}

static bool raw_once(graph_state *state)
{
    const cuda_peer *raw = &state->cuda->raw;
    int failed = 0;
    for (size_t i = 0; i < state->nodes; i++) {
        int value = value_of(state, i), ignored = (int)i;
        void *arguments[] = {&state->address, &value, &ignored};
        failed |= cuda_launch_raw(raw, state->cuda->raw_functions[CUDA_ADD],
                                  raw->stream, arguments);
    }
    return !failed && !raw->stream_synchronize(raw->stream);
}

static bool raw_graph_once(graph_state *state)
{
    const cuda_peer *raw = &state->cuda->raw;
    int failed = 0;
    for (size_t i = 0; i < state->nodes && !state->equal; i++) {
        int value = value_of(state, i), ignored = (int)i;
        void *arguments[] = {&state->address, &value, &ignored};
        const cuda_kernel_node node = {
            state->cuda->raw_functions[CUDA_ADD], {1, 1, 1}, {1, 1, 1}, 0,
            arguments, NULL};
        failed |= raw->exec_set_kernel(state->raw_exec, state->raw_nodes[i],
                                       &node);
    }
    failed |= raw->exec_launch(state->raw_exec, raw->stream);
    return !failed && !raw->stream_synchronize(raw->stream);
}

static bool runnel_graph_once(graph_state *state)
{
    return !rnl_enqueue_graph(state->stream, state->exec) &&
           !rnl_stream_synchronize(state->stream, RNL_FOREVER);
}

// --- Checks and samples ----------------------------------------------------

static bool is_raw(const graph_state *state)
{
    return state->once == raw_once || state->once == raw_graph_once;
}

static bool do_once(graph_state *state)
{
    const cuda_peer *raw = &state->cuda->raw;
    if (is_raw(state))
        cuda_peer_enter(raw);
    bool good = state->once(state);
    if (is_raw(state))
        cuda_peer_leave(raw);
    return good;
}

static const char *check(void *opaque)
{
    graph_state *state = opaque;
    uint64_t sum = 0, expected = 0;
    state->round = 5;
    for (size_t i = 0; i < state->nodes; i++)
        expected += (uint64_t)value_of(state, i);
    if (rnl_fill_and_wait(state->cuda->stream, state->sum, 0, 8, 0, 8) ||
        !do_once(state) ||
        rnl_copy_from_buffer_and_wait(state->cuda->stream, &sum, state->sum, 0,
                                      8))
        return "failed when its result was checked";
    return sum == expected ? NULL : "gives a wrong sum";
}

static double chain_sample(void *opaque)
{
    graph_state *state = opaque;
    const cuda_peer *raw = &state->cuda->raw;
    state->round++;
    if (is_raw(state))
        cuda_peer_enter(raw);
    uint64_t start = bench_now_ns();
    bool good = state->once(state);
    double time = (double)(bench_now_ns() - start) / (double)state->nodes;
    if (is_raw(state))
        cuda_peer_leave(raw);
    return good ? time : -1;
}

// The host's part of launching a small graph several times.
static double runnel_launch_sample(void *opaque)
{
    graph_state *state = opaque;
    bool good = true;
    uint64_t start = bench_now_ns();
    for (int i = 0; i < LAUNCHES; i++)
        good &= !rnl_enqueue_graph(state->stream, state->exec);
    double time = (double)(bench_now_ns() - start) / LAUNCHES;
    good &= !rnl_stream_synchronize(state->stream, RNL_FOREVER);
    return good ? time : -1;
}

static double raw_launch_sample(void *opaque)
{
    graph_state *state = opaque;
    const cuda_peer *raw = &state->cuda->raw;
    int failed = 0;
    cuda_peer_enter(raw);
    uint64_t start = bench_now_ns();
    for (int i = 0; i < LAUNCHES; i++)
        failed |= raw->exec_launch(state->raw_exec, raw->stream);
    double time = (double)(bench_now_ns() - start) / LAUNCHES;
    failed |= raw->stream_synchronize(raw->stream);
    cuda_peer_leave(raw);
    return failed ? -1 : time;
}

// --- Building --------------------------------------------------------------

static const char *build(graph_state *state)
{
    rnl_graph graph = NULL;
    rnl_node last = NULL;
    const char *why = cuda_no_kernels();
    if (why)
        return why;
    bool good = !rnl_graph_create(state->cuda->context, NULL, &graph);
    for (size_t i = 0; good && i < state->nodes; i++)
        good = !rnl_graph_add_node(
            graph, &last, i > 0,
            RNL_NODE(.kind = RNL_NODE_FUNCTION,
                     .function = state->cuda->functions[CUDA_ADD],
                     .launch = RNL_LAUNCH(.grid = {1}, .block = {1}),
                     .args = RNL_ARGS(state->sum, value_of(state, i), (int)i)),
            &last);
    good = good && !rnl_graph_instantiate(graph, &state->exec);
    rnl_graph_release(graph);
    return good ? NULL : "no graph";
}

static bool add_raw_nodes(graph_state *state)
{
    const cuda_peer *raw = &state->cuda->raw;
    int failed = 0;
    for (size_t i = 0; i < state->nodes; i++) {
        int value = value_of(state, i), ignored = (int)i;
        void *arguments[] = {&state->address, &value, &ignored};
        const cuda_kernel_node node = {
            state->cuda->raw_functions[CUDA_ADD], {1, 1, 1}, {1, 1, 1}, 0,
            arguments, NULL};
        failed |= raw->graph_add_kernel(
            &state->raw_nodes[i], state->raw_graph,
            i ? &state->raw_nodes[i - 1] : NULL, i > 0, &node);
    }
    return !failed;
}

static const char *build_raw(graph_state *state)
{
    const cuda_peer *raw = &state->cuda->raw;
    const char *why = cuda_no_raw_kernels(
        raw->graph_create && raw->graph_add_kernel && raw->exec_destroy &&
        raw->graph_instantiate && raw->exec_set_kernel && raw->exec_launch &&
        raw->graph_destroy);
    if (why)
        return why;
    cuda_peer_enter(raw);
    bool good = !raw->graph_create(&state->raw_graph, 0) &&
                add_raw_nodes(state) &&
                !raw->graph_instantiate(&state->raw_exec, state->raw_graph, 0);
    cuda_peer_leave(raw);
    return good ? NULL : "the driver makes no such graph";
}

static void tear_down(graph_state *state)
{
    const cuda_peer *raw = &state->cuda->raw;
    rnl_graph_exec_release(state->exec);
    rnl_buffer_release(state->sum);
    if (!state->raw_graph)
        return;
    cuda_peer_enter(raw);
    if (state->raw_exec)
        raw->exec_destroy(state->raw_exec);
    raw->graph_destroy(state->raw_graph);
    cuda_peer_leave(raw);
}

// --- The rows --------------------------------------------------------------

static const bench_plan plans[] = {
    {.name = "cuda/chain/new-arguments",
     .what = "1000 small kernels with new arguments each time, to the end, "
             "each",
     .size = CHAIN, .rounds = 15, .samples = 5, .warm = 2},
    {.name = "cuda/chain/equal-arguments",
     .what = "1000 small kernels with the arguments of the last time, to the "
             "end, each",
     .size = CHAIN, .rounds = 15, .samples = 5, .warm = 2},
    {.name = "cuda/graph/replay",
     .what = "a graph of 1000 small kernels, launch + synchronize, each",
     .size = CHAIN, .rounds = 15, .samples = 5, .warm = 2},
    {.name = "cuda/graph/replay-20",
     .what = "a graph of 20 small kernels, launch + synchronize, each",
     .size = SMALL, .rounds = 15, .samples = 20, .warm = 5},
    {.name = "cuda/graph/launch",
     .what = "host cost of launching a graph of 20 small kernels",
     .size = SMALL, .samples = 20, .warm = 5},
};

static void run_chain(bench_run *bench, const bench_plan *plan,
                      const graph_state *state)
{
    graph_state batched = *state, eager = *state, raw = *state, graph = *state;
    const char *no_graph = build_raw(&graph);
    batched.stream = state->cuda->batched;
    batched.once = eager.once = runnel_once;
    raw.once = raw_once;
    graph.once = raw_graph_once;
    bench_variant variants[] = {
        {"runnel batched", cuda_no_batched(), check, chain_sample, &batched},
        {"runnel", cuda_no_kernels(), check, chain_sample, &eager},
        {"driver", cuda_no_raw_kernels(true), check, chain_sample, &raw},
        {"driver, a graph", no_graph, check, chain_sample, &graph},
    };
    bench_measure(bench, plan, variants, 4);
    tear_down(&graph);
}

static void run_graph(bench_run *bench, const bench_plan *plan,
                      graph_state *state)
{
    const char *why = build(state), *no_raw = build_raw(state);
    graph_state own = *state, raw = *state;
    bool whole = strcmp(plan->name, "cuda/graph/launch") != 0;
    own.once = runnel_graph_once;
    raw.once = raw_graph_once;
    bench_variant variants[] = {
        {"runnel", why, check, whole ? chain_sample : runnel_launch_sample,
         &own},
        {"driver", no_raw, check, whole ? chain_sample : raw_launch_sample,
         &raw},
    };
    bench_measure(bench, plan, variants, 2);
    tear_down(state);
}

static void run(bench_run *bench, const bench_plan *plan)
{
    graph_state state = {.cuda = cuda_get(), .nodes = plan->size,
                         .equal = plan != plans};
    rnl_buffer_info info = {.struct_size = sizeof info};
    state.stream = state.cuda->stream;
    if (state.cuda->context &&
        !rnl_buffer_create(state.cuda->context, 8, NULL, &state.sum) &&
        !rnl_buffer_get_info(state.sum, &info))
        state.address = (uint64_t)(uintptr_t)info.device_address;
    if (strncmp(plan->name, "cuda/chain", 10))
        run_graph(bench, plan, &state);
    else
        run_chain(bench, plan, &state);
}

const bench_case cuda_graph_case = {BENCH_PLANS(plans), run};
