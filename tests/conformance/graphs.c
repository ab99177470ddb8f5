#include "graphs.h"

#include <stdatomic.h>

rnl_graph new_graph(void)
{
    rnl_graph graph = NULL;
    suite_need(RNL_FEATURE_GRAPHS);
    expect_ok(rnl_graph_create(suite_context(), NULL, &graph));
    return graph;
}

rnl_stream new_captured_stream(void)
{
    suite_need(RNL_FEATURE_CAPTURE);
    rnl_stream stream = suite_new_stream();
    expect_ok(rnl_stream_begin_capture(stream, NULL));
    return stream;
}

rnl_graph end_capture(rnl_stream stream)
{
    rnl_graph graph = NULL;
    expect_ok(rnl_stream_end_capture(stream, &graph));
    return graph;
}

rnl_capture_info capture_info_of(rnl_stream stream)
{
    rnl_capture_info info = {.struct_size = sizeof info};
    expect_ok(rnl_stream_get_capture_info(stream, &info));
    return info;
}

rnl_graph_exec instantiate(rnl_graph graph)
{
    rnl_graph_exec exec = NULL;
    expect_ok(rnl_graph_instantiate(graph, &exec));
    return exec;
}

void launch_and_wait(rnl_graph_exec exec)
{
    expect_ok(rnl_enqueue_graph(suite_stream(), exec));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
}

void launch_once(rnl_graph graph)
{
    rnl_graph_exec exec = instantiate(graph);
    launch_and_wait(exec);
    expect_ok(rnl_graph_exec_release(exec));
}

void drop_both(rnl_graph graph, rnl_graph_exec exec)
{
    expect_ok(rnl_graph_exec_release(exec));
    expect_ok(rnl_graph_release(graph));
}

// --- Nodes -----------------------------------------------------------------

static rnl_node add(rnl_graph graph, const rnl_node *after, size_t count,
                    const rnl_node_params *params)
{
    rnl_node node = NULL;
    expect_ok(rnl_graph_add_node(graph, after, count, params, &node));
    return node;
}

rnl_node empty_node(rnl_graph graph, const rnl_node *after, size_t count)
{
    return add(graph, after, count, RNL_NODE(.kind = RNL_NODE_EMPTY));
}

rnl_node fill_node(rnl_graph graph, const rnl_node *after, size_t count,
                   rnl_buffer buffer, int value)
{
    rnl_buffer_info info = {.struct_size = sizeof info};
    expect_ok(rnl_buffer_get_info(buffer, &info));
    const rnl_fill *fill =
        RNL_FILL(.to = {.buffer = buffer}, .width = info.size,
                 .pattern = (uint32_t)value, .pattern_size = 4);
    return add(graph, after, count,
               RNL_NODE(.kind = RNL_NODE_FILL, .fill = fill));
}

rnl_node host_node(rnl_graph graph, const rnl_node *after, size_t count,
                   rnl_host_fn host, void *user_data)
{
    return add(graph, after, count,
               RNL_NODE(.kind = RNL_NODE_HOST_FUNCTION, .host = host,
                        .user_data = user_data));
}

rnl_node event_node(rnl_graph graph, rnl_node_kind kind, const rnl_node *after,
                    size_t count, rnl_event event)
{
    return add(graph, after, count, RNL_NODE(.kind = kind, .event = event));
}

rnl_node child_node(rnl_graph graph, const rnl_node *after, size_t count,
                    rnl_graph child)
{
    return add(graph, after, count,
               RNL_NODE(.kind = RNL_NODE_CHILD, .child = child));
}

rnl_node body_node(rnl_graph graph, rnl_node_kind kind, const rnl_node *after,
                   size_t count, rnl_buffer word, rnl_graph *out_body)
{
    return add(graph, after, count,
               RNL_NODE(.kind = kind, .buffer = word, .out_body = out_body));
}

// --- Shape -----------------------------------------------------------------

void expect_shape(rnl_graph graph, size_t nodes, size_t edges)
{
    rnl_graph_info info = {.struct_size = sizeof info};
    expect_ok(rnl_graph_get_info(graph, &info));
    assert_int_equal(info.node_count, nodes);
    assert_int_equal(info.edge_count, edges);
}

bool has_edge(rnl_graph graph, size_t from, size_t to)
{
    rnl_node nodes[32];
    rnl_edge edges[64];
    size_t node_count, edge_count;
    expect_ok(rnl_graph_get_nodes(graph, nodes, 32, &node_count));
    expect_ok(rnl_graph_get_edges(graph, edges, 64, &edge_count));
    assert_true(from < node_count && to < node_count && edge_count <= 64);
    for (size_t i = 0; i < edge_count; i++)
        if (edges[i].from == nodes[from] && edges[i].to == nodes[to])
            return true;
    return false;
}

rnl_node_info node_info_of(rnl_graph graph, rnl_node node)
{
    rnl_node_info info = {.struct_size = sizeof info};
    expect_ok(rnl_graph_get_node_info(graph, node, &info));
    return info;
}

// --- Functions ---------------------------------------------------------------

const rnl_launch *one_thread(void)
{
    static const rnl_launch launch = {.struct_size = sizeof launch,
                                      .grid = {1, 0, 0}, .block = {1, 0, 0}};
    return &launch;
}

static rnl_status add_to(const rnl_native_call *call)
{
    int *sum = *(int *const *)call->arguments[0];
    *sum += *(const int *)call->arguments[1];
    return RNL_OK;
}

static rnl_status count_down(const rnl_native_call *call)
{
    uint32_t *word = *(uint32_t *const *)call->arguments[0];
    *word -= 1;
    return RNL_OK;
}

static rnl_function native(const char *name, rnl_native_fn code,
                           size_t parameter_count)
{
    static const rnl_parameter parameters[] = {
        {RNL_VALUE_POINTER, 8, 8, "int *"},
        {RNL_VALUE_INTEGER, 4, 4, "int"},
    };
    rnl_function function = NULL;
    expect_ok(rnl_function_create_native(
        suite_context(), name, code,
        RNL_NATIVE_OPTIONS(.parameters = parameters,
                           .parameter_count = parameter_count),
        &function));
    return function;
}

static bool runs_native(void)
{
    return rnl_context_supports(suite_context(), RNL_FEATURE_NATIVE_FUNCTIONS,
                                NULL) == RNL_OK;
}

static rnl_function compiled(const char *name)
{
    static const char *const source =
        "extern \"C\" __global__ void add_to(int *sum, int value)\n"
        "{ *sum += value; }\n"
        "extern \"C\" __global__ void count_down(unsigned *word)\n"
        "{ *word -= 1; }\n";
    return suite_compile(source, name);
}

rnl_function new_adder(void)
{
    return runs_native() ? native("add_to", add_to, 2) : compiled("add_to");
}

rnl_function new_count_down(void)
{
    return runs_native() ? native("count_down", count_down, 1)
                         : compiled("count_down");
}

rnl_node add_node(rnl_graph graph, const rnl_node *after, size_t count,
                  rnl_function adder, rnl_buffer sum, int value)
{
    return add(graph, after, count,
               RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = adder,
                        .launch = one_thread(),
                        .args = RNL_ARGS(sum, value)));
}

// --- Order -----------------------------------------------------------------

struct trace trace;

void note(rnl_status status, void *user_data)
{
    trace.seen[atomic_fetch_add(&trace.next, 1)] =
        status == RNL_OK ? (int)(intptr_t)user_data : -1;
}

void trace_clear(void)
{
    trace = (struct trace){0};
}
