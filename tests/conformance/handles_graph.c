// The rows of the handle misuse matrix that concern graphs, capture and native
// handles.
#include "handles.h"

// --- Graphs and nodes ------------------------------------------------------

static bool write_nothing(const char *text, size_t size, void *user_data)
{
    (void)text, (void)size, (void)user_data;
    return true;
}

static rnl_status graph_info_of(void *handle)
{
    rnl_graph_info info = {.struct_size = sizeof info};
    return rnl_graph_get_info(handle, &info);
}

static rnl_status node_info_of(rnl_graph graph, rnl_node node)
{
    rnl_node_info info = {.struct_size = sizeof info};
    return rnl_graph_get_node_info(graph, node, &info);
}

static rnl_status node_params_of(rnl_graph graph, rnl_node node)
{
    rnl_node_params params = {.struct_size = sizeof params};
    return rnl_graph_get_node_params(graph, node, &params);
}

static const rnl_node_params *empty(void)
{
    static rnl_node_params params = {.struct_size = sizeof params,
                                     .kind = RNL_NODE_EMPTY};
    return &params;
}

static size_t count;

ROW_CALL(graph_create, context, rnl_graph_create(h, NULL, &with.out.graph))
ROW_CALL(graph_retain, graph, rnl_graph_retain(h))
ROW_CALL(graph_release, graph, rnl_graph_release(h))
ROW_CALL(graph_clone, graph, rnl_graph_clone(h, &with.out.graph))
ROW_CALL(find_clone, graph,
         rnl_graph_find_node(h, with.node, &with.out.node))
ROW_CALL(find_node, node,
         rnl_graph_find_node(with.clone, h, &with.out.node))
ROW_CALL(write_dot, graph, rnl_graph_write_dot(h, write_nothing, NULL))
ROW_CALL(save_dot, graph, rnl_graph_save_dot(h, "/dev/null"))
ROW_CALL(add_node, graph,
         rnl_graph_add_node(h, RNL_AT_START, empty(), &with.out.node))
ROW_CALL(add_after, node,
         rnl_graph_add_node(with.graph, RNL_AFTER(h), empty(),
                            &with.out.node))
ROW_CALL(set_graph, graph, rnl_graph_set_node(h, with.node, empty()))
ROW_CALL(set_node, node, rnl_graph_set_node(with.graph, h, empty()))
ROW_CALL(remove_graph, graph, rnl_graph_remove_node(h, with.node))
ROW_CALL(remove_node, node, rnl_graph_remove_node(with.graph, h))
ROW_CALL(edge_graph, graph, rnl_graph_add_edge(h, with.node, with.second))
ROW_CALL(edge_from, node, rnl_graph_add_edge(with.graph, h, with.second))
ROW_CALL(edge_to, node, rnl_graph_add_edge(with.graph, with.node, h))
ROW_CALL(no_edge_graph, graph,
         rnl_graph_remove_edge(h, with.node, with.second))
ROW_CALL(no_edge_from, node,
         rnl_graph_remove_edge(with.graph, h, with.second))
ROW_CALL(no_edge_to, node, rnl_graph_remove_edge(with.graph, with.node, h))
ROW_CALL(get_nodes, graph,
         rnl_graph_get_nodes(h, with.out.nodes, 2, &count))
ROW_CALL(get_edges, graph,
         rnl_graph_get_edges(h, with.out.edges, 2, &count))
ROW_CALL(params_graph, graph, node_params_of(h, with.node))
ROW_CALL(params_node, node, node_params_of(with.graph, h))
ROW_CALL(info_graph, graph, node_info_of(h, with.node))
ROW_CALL(info_node, node, node_info_of(with.graph, h))

// --- Executable graphs -----------------------------------------------------

ROW_CALL(instantiate, graph, rnl_graph_instantiate(h, &with.out.exec))
ROW_CALL(exec_retain, graph_exec, rnl_graph_exec_retain(h))
ROW_CALL(exec_release, graph_exec, rnl_graph_exec_release(h))
ROW_CALL(launch_stream, stream, rnl_enqueue_graph(h, with.exec))
ROW_CALL(launch_exec, graph_exec, rnl_enqueue_graph(with.stream, h))
ROW_CALL(upload_stream, stream, rnl_enqueue_graph_upload(h, with.exec))
ROW_CALL(upload_exec, graph_exec, rnl_enqueue_graph_upload(with.stream, h))
ROW_CALL(update_exec, graph_exec,
         rnl_graph_exec_update(h, with.graph, NULL))
ROW_CALL(update_graph, graph, rnl_graph_exec_update(with.exec, h, NULL))
ROW_CALL(exec_set_exec, graph_exec,
         rnl_graph_exec_set_node(h, with.node, empty()))
ROW_CALL(exec_set_node, node,
         rnl_graph_exec_set_node(with.exec, h, empty()))
ROW_CALL(enable_exec, graph_exec,
         rnl_graph_exec_set_enabled(h, with.node, true))
ROW_CALL(enable_node, node, rnl_graph_exec_set_enabled(with.exec, h, true))
ROW_CALL(enabled_exec, graph_exec,
         rnl_graph_exec_is_enabled(h, with.node, &with.out.flag))
ROW_CALL(enabled_node, node,
         rnl_graph_exec_is_enabled(with.exec, h, &with.out.flag))

// --- Capture ---------------------------------------------------------------

static rnl_status capture_nothing(rnl_stream stream, void *user_data)
{
    (void)stream, (void)user_data;
    return RNL_OK;
}

static rnl_status capture_info_of(void *handle)
{
    rnl_capture_info info = {.struct_size = sizeof info};
    return rnl_stream_get_capture_info(handle, &info);
}

static rnl_status begin_into(void *handle)
{
    return rnl_stream_begin_capture(with.stream,
                                    RNL_CAPTURE_OPTIONS(.graph = handle));
}

static rnl_status begin_after(void *handle)
{
    const rnl_node nodes[] = {handle};
    return rnl_stream_begin_capture(
        with.stream, RNL_CAPTURE_OPTIONS(.graph = with.graph, .after = nodes,
                                         .after_count = 1));
}

ROW_CALL(begin_capture, stream, rnl_stream_begin_capture(h, NULL))
ROW_CALL(end_capture, stream, rnl_stream_end_capture(h, &with.out.graph))
ROW_CALL(scoped_capture, stream,
         rnl_stream_capture(h, NULL, capture_nothing, NULL, &with.out.graph))
ROW_CALL(record_stream, stream, rnl_enqueue_external_record(h, with.event))
ROW_CALL(record_event, event, rnl_enqueue_external_record(with.stream, h))
ROW_CALL(wait_stream, stream, rnl_enqueue_external_wait(h, with.event))
ROW_CALL(wait_event, event, rnl_enqueue_external_wait(with.stream, h))

// --- Native handles ----------------------------------------------------------

ROW_CALL(context_native, context, rnl_context_native(h, &with.out.pointer))
ROW_CALL(stream_native, stream, rnl_stream_native(h, &with.out.pointer))
ROW_CALL(stream_fail, stream, rnl_stream_fail(h, RNL_ERROR_DRIVER, "why"))
ROW_CALL(event_native, event, rnl_event_native(h, &with.out.pointer))
ROW_CALL(module_native, module, rnl_module_native(h, &with.out.pointer))
ROW_CALL(function_native, function,
         rnl_function_native(h, &with.out.pointer))
ROW_CALL(stream_borrow, context,
         rnl_stream_borrow(h, with.host, NULL, &with.out.stream))

// --- What functions can be told and asked ------------------------------------

static rnl_status occupancy_of(void *handle)
{
    rnl_occupancy occupancy = {.struct_size = sizeof occupancy};
    return rnl_function_get_occupancy(handle, 1, 0, &occupancy);
}

static rnl_status suggest_block(void *handle)
{
    uint32_t threads;
    return rnl_function_suggest_block(handle, 0, 0, &threads);
}

static rnl_status get_function_attribute(void *handle)
{
    int64_t value;
    return rnl_function_get_attribute(handle, RNL_FUNCTION_CARVEOUT, &value);
}

ROW_CALL(set_function_attribute, function,
         rnl_function_set_attribute(h, RNL_FUNCTION_CARVEOUT, 50))

const struct row graph_rows[] = {
    {"rnl_function_get_occupancy", "function", FUNCTION, occupancy_of, 0, 0},
    {"rnl_function_suggest_block", "function", FUNCTION, suggest_block, 0, 0},
    {"rnl_function_get_attribute", "function", FUNCTION,
     get_function_attribute, 0, 0},
    {"rnl_function_set_attribute", "function", FUNCTION,
     set_function_attribute, 0, 0},
    {"rnl_context_native", "context", CONTEXT, context_native, 0, 0},
    {"rnl_stream_native", "stream", STREAM, stream_native, 0, 0},
    {"rnl_stream_fail", "stream", STREAM, stream_fail, 0, 0},
    {"rnl_event_native", "event", EVENT, event_native, 0, 0},
    {"rnl_module_native", "module", MODULE, module_native, 0, 0},
    {"rnl_function_native", "function", FUNCTION, function_native, 0, 0},
    {"rnl_stream_borrow", "context", CONTEXT, stream_borrow, 0, 0},
    {"rnl_graph_create", "context", CONTEXT, graph_create, 0, 0},
    {"rnl_graph_retain", "graph", GRAPH, graph_retain, 0, 0},
    {"rnl_graph_release", "graph", GRAPH, graph_release, 1, 0},
    {"rnl_graph_get_info", "graph", GRAPH, graph_info_of, 0, 0},
    {"rnl_graph_clone", "graph", GRAPH, graph_clone, 0, 0},
    {"rnl_graph_find_node", "clone", GRAPH, find_clone, 0, 0},
    {"rnl_graph_find_node", "node", NODE, find_node, 0, 1},
    {"rnl_graph_write_dot", "graph", GRAPH, write_dot, 0, 0},
    {"rnl_graph_save_dot", "graph", GRAPH, save_dot, 0, 0},
    {"rnl_graph_add_node", "graph", GRAPH, add_node, 0, 0},
    {"rnl_graph_add_node", NULL, NODE, add_after, 0, 0},
    {"rnl_graph_set_node", "graph", GRAPH, set_graph, 0, 0},
    {"rnl_graph_set_node", "node", NODE, set_node, 0, 0},
    {"rnl_graph_remove_node", "graph", GRAPH, remove_graph, 0, 0},
    {"rnl_graph_remove_node", "node", NODE, remove_node, 0, 0},
    {"rnl_graph_add_edge", "graph", GRAPH, edge_graph, 0, 0},
    {"rnl_graph_add_edge", "from", NODE, edge_from, 0, 0},
    {"rnl_graph_add_edge", "to", NODE, edge_to, 0, 0},
    {"rnl_graph_remove_edge", "graph", GRAPH, no_edge_graph, 0, 0},
    {"rnl_graph_remove_edge", "from", NODE, no_edge_from, 0, 0},
    {"rnl_graph_remove_edge", "to", NODE, no_edge_to, 0, 0},
    {"rnl_graph_get_nodes", "graph", GRAPH, get_nodes, 0, 0},
    {"rnl_graph_get_edges", "graph", GRAPH, get_edges, 0, 0},
    {"rnl_graph_get_node_info", "graph", GRAPH, info_graph, 0, 0},
    {"rnl_graph_get_node_info", "node", NODE, info_node, 0, 0},
    {"rnl_graph_get_node_params", "graph", GRAPH, params_graph, 0, 0},
    {"rnl_graph_get_node_params", "node", NODE, params_node, 0, 0},
    {"rnl_graph_instantiate", "graph", GRAPH, instantiate, 0, 0},
    {"rnl_graph_exec_retain", "exec", EXEC, exec_retain, 0, 0},
    {"rnl_graph_exec_release", "exec", EXEC, exec_release, 1, 0},
    {"rnl_enqueue_graph", "stream", STREAM, launch_stream, 0, 0},
    {"rnl_enqueue_graph", "exec", EXEC, launch_exec, 0, 0},
    {"rnl_enqueue_graph_upload", "stream", STREAM, upload_stream, 0, 0},
    {"rnl_enqueue_graph_upload", "exec", EXEC, upload_exec, 0, 0},
    {"rnl_graph_exec_update", "exec", EXEC, update_exec, 0, 0},
    {"rnl_graph_exec_update", "graph", GRAPH, update_graph, 0, 0},
    {"rnl_graph_exec_set_node", "exec", EXEC, exec_set_exec, 0, 0},
    {"rnl_graph_exec_set_node", "node", NODE, exec_set_node, 0, 0},
    {"rnl_graph_exec_set_enabled", "exec", EXEC, enable_exec, 0, 0},
    {"rnl_graph_exec_set_enabled", "node", NODE, enable_node, 0, 0},
    {"rnl_graph_exec_is_enabled", "exec", EXEC, enabled_exec, 0, 0},
    {"rnl_graph_exec_is_enabled", "node", NODE, enabled_node, 0, 0},
    {"rnl_stream_begin_capture", "stream", STREAM, begin_capture, 0, 0},
    {"rnl_stream_begin_capture", NULL, GRAPH, begin_into, 1, 0},
    {"rnl_stream_begin_capture", NULL, NODE, begin_after, 0, 0},
    {"rnl_stream_end_capture", "stream", STREAM, end_capture, 0, 0},
    {"rnl_stream_capture", "stream", STREAM, scoped_capture, 0, 0},
    {"rnl_stream_get_capture_info", "stream", STREAM, capture_info_of, 0, 0},
    {"rnl_enqueue_external_record", "stream", STREAM, record_stream, 0, 0},
    {"rnl_enqueue_external_record", "event", EVENT, record_event, 0, 0},
    {"rnl_enqueue_external_wait", "stream", STREAM, wait_stream, 0, 0},
    {"rnl_enqueue_external_wait", "event", EVENT, wait_event, 0, 0},
};
const int graph_row_count = sizeof graph_rows / sizeof graph_rows[0];

// --- Making handles --------------------------------------------------------

void *make_of_graph(enum kind kind)
{
    rnl_graph graph = NULL;
    rnl_graph_exec exec = NULL;
    rnl_node node = NULL;
    if (rnl_context_supports(with.context, RNL_FEATURE_GRAPHS, NULL) !=
        RNL_OK)
        return NULL;
    if (kind == NODE) {
        expect_ok(rnl_graph_add_node(with.graph, RNL_AT_START, empty(),
                                     &node));
        return node;
    }
    expect_ok(rnl_graph_create(with.context, NULL, &graph));
    if (kind == GRAPH)
        return graph;
    expect_ok(rnl_graph_instantiate(graph, &exec));
    expect_ok(rnl_graph_release(graph));
    return exec;
}

rnl_status release_of_graph(enum kind kind, void *handle)
{
    if (!handle)
        return RNL_OK;
    if (kind == GRAPH)
        return rnl_graph_release(handle);
    return kind == EXEC ? rnl_graph_exec_release(handle)
                        : rnl_graph_remove_node(with.graph, handle);
}
