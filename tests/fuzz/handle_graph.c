#include "handle.h"

#include <string.h>

// The parameters of a node, with room for what they point at.
struct params {
    rnl_node_params node;
    struct launch launch;
    rnl_copy copy;
    rnl_fill fill;
    rnl_value_op values[2];
    rnl_buffer buffer;
    rnl_graph bodies[3];
};

static void read_params(struct params *to)
{
    static const rnl_node_kind kinds[] = {
        RNL_NODE_EMPTY, RNL_NODE_FUNCTION, RNL_NODE_COPY, RNL_NODE_FILL,
        RNL_NODE_HOST_FUNCTION, RNL_NODE_VALUES, RNL_NODE_EVENT_RECORD,
        RNL_NODE_EVENT_WAIT, RNL_NODE_CHILD, RNL_NODE_BUFFER_CREATE,
        RNL_NODE_BUFFER_RELEASE, RNL_NODE_IF, RNL_NODE_FUNCTION,
        (rnl_node_kind)99, RNL_NODE_SWITCH, RNL_NODE_FILL};
    memset(to, 0, sizeof *to);
    read_launch(&to->launch);
    to->copy = read_copy();
    to->fill = read_fill();
    to->values[0] = read_value();
    to->values[1] = read_value();
    rnl_node_params *node = &to->node;
    *node = (rnl_node_params){
        .struct_size = sizeof to->node,
        .launch = &to->launch.launch,
        .args = &to->launch.args,
        .copy = &to->copy,
        .fill = &to->fill,
        .host = call_back,
        .values = to->values,
        .out_buffer = &to->buffer,
        .out_body = to->bodies,
    };
    node->kind = kinds[byte() % (sizeof kinds / sizeof *kinds)];
    node->priority = (int)byte() - 128;
    node->function = handle(FUNCTION);
    node->value_count = byte() % 3;
    node->event = handle(EVENT);
    node->child = handle(GRAPH);
    node->size = number();
    node->buffer = handle(BUFFER);
    node->offset = number();
    node->body_count = node->value_count;
}

rnl_status add_node(void)
{
    struct params params;
    rnl_node after[3], made;
    for (int i = 0; i < 3; i++)
        after[i] = node();
    rnl_graph graph = graph_or_body();
    size_t count = byte() % 4;
    read_params(&params);
    rnl_status status =
        rnl_graph_add_node(graph, after, count, &params.node, &made);
    if (status != RNL_OK)
        return status;
    keep_node(made);
    if (params.buffer)
        keep(BUFFER, params.buffer);
    if (params.bodies[0])
        world.body = params.bodies[0];  // the node's own
    return status;
}

static rnl_status get_nodes(void)
{
    rnl_node nodes[NODES];
    size_t count = 0, capacity = byte() % NODES;
    rnl_status status =
        rnl_graph_get_nodes(handle(GRAPH), nodes, capacity, &count);
    for (size_t i = 0; status == RNL_OK && i < count && i < capacity; i++)
        keep_node(nodes[i]);
    return status;
}

static bool write_nothing(const char *text, size_t size, void *user_data)
{
    (void)text, (void)user_data;
    return size < ARENA;
}

rnl_status look_at_graph(unsigned way)
{
    rnl_edge edges[NODES];
    size_t count;
    rnl_graph graph = graph_or_body();
    rnl_node one = node(), found;
    rnl_graph_info info = {.struct_size = sizeof info};
    rnl_node_info about = {.struct_size = sizeof about};
    rnl_node_params given = {.struct_size = sizeof given};
    switch (way % 7) {
    case 5: return rnl_graph_get_node_params(graph, one, &given);
    case 0: return rnl_graph_get_info(graph, &info);
    case 1: return rnl_graph_get_edges(graph, edges, byte() % NODES, &count);
    case 2: return rnl_graph_get_node_info(graph, one, &about);
    case 3: return rnl_graph_write_dot(graph, write_nothing, NULL);
    case 4: return rnl_graph_find_node(graph, one, &found);
    default: return get_nodes();
    }
}

rnl_status change_graph(unsigned way)
{
    struct params params;
    rnl_graph graph = graph_or_body(), other;
    rnl_node one = node();
    switch (way % 6) {
    case 0: return rnl_graph_add_edge(graph, one, node());
    case 1: return rnl_graph_remove_edge(graph, one, node());
    case 2: return rnl_graph_remove_node(graph, one);
    case 3: return keep_if(rnl_graph_clone(graph, &other), GRAPH, &other);
    case 4: return keep_if(rnl_graph_create(context(), NULL, &other), GRAPH,
                           &other);
    default:
        read_params(&params);
        rnl_status status = rnl_graph_set_node(graph, one, &params.node);
        if (status == RNL_OK && params.buffer)
            keep(BUFFER, params.buffer);
        return status;
    }
}

rnl_status run_graph(unsigned way)
{
    struct params params;
    rnl_stream stream = handle(STREAM);
    rnl_graph graph = handle(GRAPH);
    rnl_graph_exec exec = handle(EXEC);
    rnl_node one = node();
    rnl_update_result result = {.struct_size = sizeof result};
    bool enabled;
    switch (way % 8) {
    case 0: case 1:
        return keep_if(rnl_graph_instantiate(graph, &exec), EXEC, &exec);
    case 2: case 3: return rnl_enqueue_graph(stream, exec);
    case 4: return rnl_graph_exec_update(exec, graph, &result);
    case 5:
        read_params(&params);
        return rnl_graph_exec_set_node(exec, one, &params.node);
    case 6: return rnl_graph_exec_set_enabled(exec, one, byte() % 2);
    default: return rnl_graph_exec_is_enabled(exec, one, &enabled);
    }
}

rnl_status capture(unsigned way)
{
    rnl_graph graph = NULL;
    rnl_stream stream = handle(STREAM);
    rnl_event event = handle(EVENT);
    rnl_capture_info info = {.struct_size = sizeof info};
    rnl_node after[2];
    after[0] = node();
    after[1] = node();
    unsigned b = byte();
    const rnl_capture_options options = {
        .struct_size = sizeof options,
        .mode = (rnl_capture_mode)(b % 4),
        .graph = b / 4 % 4 ? NULL : handle(GRAPH),
        .after = after, .after_count = b / 16 % 4 ? 0 : b / 64 % 3};
    switch (way % 5) {
    case 0: case 1: return rnl_stream_begin_capture(stream, &options);
    case 2: return keep_if(rnl_stream_end_capture(stream, &graph), GRAPH,
                           &graph);
    case 3: return rnl_stream_get_capture_info(stream, &info);
    default: return world.promised || b % 2
                        ? rnl_enqueue_external_wait(stream, event)
                        : rnl_enqueue_external_record(stream, event);
    }
}
