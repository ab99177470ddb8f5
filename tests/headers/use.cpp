// Uses the public headers as a C++17 program does. Only compiled.
#include <runnel/host.h>
#include <runnel/runnel.h>

struct pair {
    float low, high;
};

int use(rnl_stream stream, rnl_function function, rnl_buffer buffer);
int join(rnl_graph graph, rnl_node first, rnl_node second);

int use(rnl_stream stream, rnl_function function, rnl_buffer buffer)
{
    rnl_launch launch{};
    launch.struct_size = sizeof launch;
    launch.grid = {1, 1, 1};
    launch.block = {256, 1, 1};
    pair values{0, 1};
    int status = rnl_enqueue_function(
        stream, function, &launch,
        RNL_ARGS(buffer, 1, size_t{2}, 3.0f, 4.0, true, 'c', &values, nullptr,
                 values, RNL_ARG_STRUCT(values)));
    status |= rnl_enqueue_function(stream, function, &launch, RNL_NO_ARGS);
    return status + RNL_VERSION;
}

int join(rnl_graph graph, rnl_node first, rnl_node second)
{
    rnl_node_params nothing{};
    nothing.struct_size = sizeof nothing;
    nothing.kind = RNL_NODE_EMPTY;
    rnl_node node = nullptr;
    int status = rnl_graph_add_node(graph, RNL_AT_START, &nothing, &node);
    status |= rnl_graph_add_node(graph, RNL_AFTER(node), &nothing, &node);
    status |= rnl_graph_add_node(graph, RNL_AFTER(first, second, node),
                                 &nothing, &node);
    return status;
}
