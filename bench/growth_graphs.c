// Graphs: nodes and edges in several orders, copies, changes, launches.
#include "growth.h"

static rnl_graph new_graph(growth *with)
{
    rnl_graph graph = NULL;
    growth_ok(with, rnl_graph_create(with->context, NULL, &graph));
    return graph;
}

static void drop(growth *with, rnl_graph graph)
{
    growth_ok(with, rnl_graph_release(graph));
}

// Into items[index].
static void add(growth *with, rnl_graph graph, const void *after,
                size_t after_count, size_t index)
{
    growth_ok(with, rnl_graph_add_node(
                        graph, after, after_count,
                        RNL_NODE(.kind = RNL_NODE_FUNCTION,
                                 .function = with->function,
                                 .launch = RNL_LAUNCH(.grid = {1},
                                                      .block = {1})),
                        (rnl_node *)&with->items[index]));
}

static void add_all(growth *with, rnl_graph graph, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add(with, graph, NULL, 0, i);
}

static void add_chain(growth *with, rnl_graph graph, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add(with, graph, &with->items[i ? i - 1 : 0], i > 0, i);
}

// A root, then nodes behind the root, then a last node behind all of them.
static void add_wide(growth *with, rnl_graph graph, size_t count)
{
    add(with, graph, NULL, 0, 0);
    for (size_t i = 1; i + 1 < count; i++)
        add(with, graph, &with->items[0], 1, i);
    add(with, graph, &with->items[1], count - 2, count - 1);
}

static void edge(growth *with, rnl_graph graph, size_t from, size_t to)
{
    growth_ok(with, rnl_graph_add_edge(graph, with->items[from],
                                       with->items[to]));
}

static void no_edge(growth *with, rnl_graph graph, size_t from, size_t to)
{
    growth_ok(with, rnl_graph_remove_edge(graph, with->items[from],
                                          with->items[to]));
}

static void removal(growth *with, rnl_graph graph, size_t index)
{
    growth_ok(with, rnl_graph_remove_node(graph, with->items[index]));
}

// --- Nodes and edges -------------------------------------------------------

static void graphs(growth *with, size_t count)
{
    for (size_t i = 0; i < count; i++)
        with->items[i] = new_graph(with);
    for (size_t i = 0; i < count; i++)
        drop(with, with->items[i]);
}

static void chain(growth *with, size_t count)
{
    rnl_graph graph = new_graph(with);
    add_chain(with, graph, count);
    drop(with, graph);
}

static void wide(growth *with, size_t count)
{
    rnl_graph graph = new_graph(with);
    add_wide(with, graph, count);
    drop(with, graph);
}

static void edges_of_a_chain(growth *with, size_t count)
{
    rnl_graph graph = new_graph(with);
    add_all(with, graph, count);
    for (size_t i = 1; i < count; i++)
        edge(with, graph, i - 1, i);
    for (size_t i = 1; i < count; i++)
        no_edge(with, graph, i - 1, i);
    drop(with, graph);
}

static void edges_of_a_chain_backwards(growth *with, size_t count)
{
    rnl_graph graph = new_graph(with);
    add_all(with, graph, count);
    for (size_t i = 1; i < count; i++)
        edge(with, graph, i, i - 1);
    drop(with, graph);
}

// As the last one, from the end on.
static void edges_from_the_end(growth *with, size_t count)
{
    rnl_graph graph = new_graph(with);
    add_all(with, graph, count);
    for (size_t i = count; i-- > 1;)
        edge(with, graph, i, i - 1);
    drop(with, graph);
}

static void edges_of_a_fork(growth *with, size_t count)
{
    rnl_graph graph = new_graph(with);
    add_all(with, graph, count);
    for (size_t i = 1; i < count; i++)
        edge(with, graph, 0, i);
    for (size_t i = 1; i < count; i++)
        no_edge(with, graph, 0, i);
    drop(with, graph);
}

static void edges_of_a_join(growth *with, size_t count)
{
    rnl_graph graph = new_graph(with);
    add_all(with, graph, count);
    for (size_t i = 0; i + 1 < count; i++)
        edge(with, graph, i, count - 1);
    for (size_t i = 0; i + 1 < count; i++)
        no_edge(with, graph, i, count - 1);
    drop(with, graph);
}

static void edges_of_a_join_downwards(growth *with, size_t count)
{
    rnl_graph graph = new_graph(with);
    add_all(with, graph, count);
    for (size_t i = count - 1; i-- > 0;)
        edge(with, graph, i, count - 1);
    drop(with, graph);
}

// Close to where they start, in a long chain.
static void circles(growth *with, size_t count)
{
    rnl_graph graph = new_graph(with);
    add_chain(with, graph, count);
    for (size_t i = 3; i < count; i++)
        growth_ok(with, rnl_graph_add_edge(graph, with->items[i],
                                           with->items[i - 3]) ==
                                RNL_ERROR_INVALID_ARGUMENT
                            ? RNL_OK
                            : RNL_ERROR_INTERNAL);
    rnl_last_error_clear();
    drop(with, graph);
}

static void removals(growth *with, size_t count)
{
    rnl_graph graph = new_graph(with);
    add_chain(with, graph, count);
    for (size_t i = 0; i < count; i++)
        removal(with, graph, i);
    drop(with, graph);
}

static void removals_downwards(growth *with, size_t count)
{
    rnl_graph graph = new_graph(with);
    add_chain(with, graph, count);
    for (size_t i = count; i-- > 0;)
        removal(with, graph, i);
    drop(with, graph);
}

static void removals_in_a_wide_graph(growth *with, size_t count)
{
    rnl_graph graph = new_graph(with);
    add_wide(with, graph, count);
    for (size_t i = 0; i < count; i++)
        removal(with, graph, i);
    drop(with, graph);
}

// Each of the first half comes before one of the second.
static void removals_of_far_pairs(growth *with, size_t count)
{
    rnl_graph graph = new_graph(with);
    size_t half = count / 2;
    add_all(with, graph, half);
    for (size_t i = half; i < 2 * half; i++)
        add(with, graph, &with->items[i - half], 1, i);
    for (size_t i = 0; i < half; i++)
        edge(with, graph, i, half + (i + half / 2) % half);
    for (size_t i = 0; i < half; i++)
        removal(with, graph, i);
    drop(with, graph);
}

static void buffer_nodes(growth *with, size_t count)
{
    rnl_graph graph = new_graph(with);
    rnl_node node = NULL;
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_graph_add_node(
                            graph, RNL_AT_START,
                            RNL_NODE(.kind = RNL_NODE_BUFFER_CREATE,
                                     .size = 64,
                                     .out_buffer =
                                         (rnl_buffer *)&with->more[i]),
                            (rnl_node *)&with->items[i]));
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_graph_add_node(
                            graph, (rnl_node *)&with->items[i], 1,
                            RNL_NODE(.kind = RNL_NODE_BUFFER_RELEASE,
                                     .buffer = with->more[i]),
                            &node));
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_buffer_release(with->more[i]));
    drop(with, graph);
}

static void child_nodes(growth *with, size_t count)
{
    rnl_graph graph = new_graph(with), child = new_graph(with);
    add_chain(with, child, 2);
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_graph_add_node(
                            graph, RNL_AT_START,
                            RNL_NODE(.kind = RNL_NODE_CHILD, .child = child),
                            (rnl_node *)&with->items[i]));
    drop(with, child);
    drop(with, graph);
}

static void set_nodes(growth *with, size_t count)
{
    rnl_graph graph = new_graph(with);
    add_wide(with, graph, count);
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_graph_set_node(
                            graph, with->items[i],
                            RNL_NODE(.kind = RNL_NODE_FUNCTION,
                                     .function = with->function,
                                     .launch = RNL_LAUNCH(.grid = {1},
                                                          .block = {2}))));
    drop(with, graph);
}

static void clone(growth *with, size_t count)
{
    rnl_graph graph = new_graph(with), copy = NULL;
    rnl_node node = NULL;
    size_t listed = 0;
    add_wide(with, graph, count);
    growth_ok(with, rnl_graph_clone(graph, &copy));
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_graph_find_node(copy, with->items[i], &node));
    growth_ok(with, rnl_graph_get_nodes(copy, (rnl_node *)with->more, count,
                                        &listed));
    drop(with, copy);
    drop(with, graph);
}

// --- Executable graphs -----------------------------------------------------

static rnl_graph_exec instantiate(growth *with, rnl_graph graph)
{
    rnl_graph_exec exec = NULL;
    growth_ok(with, rnl_graph_instantiate(graph, &exec));
    return exec;
}

static void launch(growth *with, rnl_graph_exec exec)
{
    growth_ok(with, rnl_enqueue_graph(with->stream, exec));
    growth_synchronize(with, with->stream);
}

static void launch_once(growth *with, rnl_graph graph)
{
    rnl_graph_exec exec = instantiate(with, graph);
    launch(with, exec);
    growth_ok(with, rnl_graph_exec_update(exec, graph, NULL));
    launch(with, exec);
    growth_ok(with, rnl_graph_exec_release(exec));
    drop(with, graph);
}

static void launch_of_a_chain(growth *with, size_t count)
{
    rnl_graph graph = new_graph(with);
    add_chain(with, graph, count);
    launch_once(with, graph);
}

static void launch_of_a_wide_graph(growth *with, size_t count)
{
    rnl_graph graph = new_graph(with);
    add_wide(with, graph, count);
    launch_once(with, graph);
}

static void changes(growth *with, size_t count)
{
    rnl_graph graph = new_graph(with);
    add_wide(with, graph, count);
    rnl_graph_exec exec = instantiate(with, graph);
    for (size_t i = 0; i < count; i++) {
        growth_ok(with, rnl_graph_exec_set_enabled(exec, with->items[i],
                                                   false));
        growth_ok(with,
                  rnl_graph_exec_set_node(
                      exec, with->items[i],
                      RNL_NODE(.kind = RNL_NODE_FUNCTION,
                               .function = with->function,
                               .launch = RNL_LAUNCH(.grid = {1},
                                                    .block = {2}))));
    }
    growth_ok(with, rnl_graph_exec_release(exec));
    drop(with, graph);
}

static void launches_of_a_graph(growth *with, size_t count)
{
    rnl_graph graph = new_graph(with);
    add_chain(with, graph, 2);
    rnl_graph_exec exec = instantiate(with, graph);
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_enqueue_graph(with->stream, exec));
    growth_synchronize(with, with->stream);
    growth_ok(with, rnl_graph_exec_release(exec));
    drop(with, graph);
}

static void ignore(rnl_status status, void *user_data)
{
    (void)status, (void)user_data;
}

// Every second launch is left to a worker by a thread that runs none of them.
static void wide_host_functions(growth *with, size_t count)
{
    rnl_graph graph = new_graph(with);
    rnl_node root = NULL, node = NULL;
    growth_ok(with, rnl_graph_add_node(graph, RNL_AT_START,
                                       RNL_NODE(.kind = RNL_NODE_EMPTY),
                                       &root));
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_graph_add_node(
                            graph, &root, 1,
                            RNL_NODE(.kind = RNL_NODE_HOST_FUNCTION,
                                     .host = ignore),
                            &node));
    launch_once(with, graph);
}

// Each node records an event of its own, or waits for it.
static void add_event_nodes(growth *with, rnl_graph graph, size_t count,
                            rnl_node_kind kind)
{
    rnl_node node = NULL;
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_graph_add_node(
                            graph, RNL_AT_START,
                            RNL_NODE(.kind = kind, .event = with->more[i]),
                            &node));
}

static void make_events(growth *with, size_t count)
{
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_event_create(with->context, NULL,
                                         (rnl_event *)&with->more[i]));
}

static void drop_events(growth *with, size_t count)
{
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_event_release(with->more[i]));
}

static void record_nodes(growth *with, size_t count)
{
    rnl_graph graph = new_graph(with);
    make_events(with, count);
    add_event_nodes(with, graph, count, RNL_NODE_EVENT_RECORD);
    launch_once(with, graph);
    drop_events(with, count);
}

// The events are of a stream that stands at a gate, each behind a launch.
static void wait_nodes(growth *with, size_t count)
{
    rnl_stream stream = NULL;
    rnl_graph graph = new_graph(with);
    make_events(with, count);
    growth_ok(with, rnl_stream_create(with->context, NULL, &stream));
    rnl_event gate = growth_gate(with, stream);
    for (size_t i = 0; i < count; i++) {
        growth_launch(with, stream);
        growth_ok(with, rnl_enqueue_event_record(stream, with->more[i]));
    }
    add_event_nodes(with, graph, count, RNL_NODE_EVENT_WAIT);
    rnl_graph_exec exec = instantiate(with, graph);
    growth_ok(with, rnl_enqueue_graph(with->stream, exec));
    growth_open_gate(with, gate);
    growth_synchronize(with, with->stream);
    growth_ok(with, rnl_graph_exec_release(exec));
    growth_ok(with, rnl_stream_release(stream));
    drop(with, graph);
    drop_events(with, count);
}

static const growth_call calls[] = {
    {"graphs", graphs, 256, 0},
    {"graph-chain", chain, 256, 0},
    {"graph-wide", wide, 256, 0},
    {"graph-edges-of-a-chain", edges_of_a_chain, 256, 0},
    {"graph-edges-backwards", edges_of_a_chain_backwards, 256, 0},
    {"graph-edges-from-the-end", edges_from_the_end, 256, 0},
    {"graph-edges-of-a-fork", edges_of_a_fork, 256, 0},
    {"graph-edges-of-a-join", edges_of_a_join, 256, 0},
    {"graph-edges-join-downwards", edges_of_a_join_downwards, 256, 0},
    {"graph-circles", circles, 256, 0},
    {"graph-removals", removals, 256, 0},
    {"graph-removals-downwards", removals_downwards, 256, 0},
    {"graph-removals-wide", removals_in_a_wide_graph, 256, 0},
    {"graph-removals-far", removals_of_far_pairs, 256, 0},
    {"graph-buffer-nodes", buffer_nodes, 128, 0},
    {"graph-child-nodes", child_nodes, 128, 0},
    {"graph-set-nodes", set_nodes, 256, 0},
    {"graph-clone", clone, 256, 0},
    {"graph-launch-chain", launch_of_a_chain, 256, 0},
    {"graph-launch-wide", launch_of_a_wide_graph, 256, 0},
    {"graph-changes", changes, 128, 0},
    {"graph-launches", launches_of_a_graph, 256, 0},
    {"graph-wide-host-functions", wide_host_functions, 256, 0},
    {"graph-record-nodes", record_nodes, 128, 0},
    {"graph-wait-nodes", wait_nodes, 128, 0},
};

const growth_list growth_graphs = GROWTH_LIST(calls);
