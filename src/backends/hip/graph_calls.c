// Nodes of graphs, which HIP describes by structs of its own.
#include "backends/hip/hip.h"

#include "base/alloc.h"

#include <string.h>

static struct hip_kernel_node kernel_of(const struct driver_kernel_node *node)
{
    return (struct hip_kernel_node){
        .block = {node->block_x, node->block_y, node->block_z},
        .extra = node->extra,
        .function = node->function,
        .grid = {node->grid_x, node->grid_y, node->grid_z},
        .arguments = node->arguments,
        .shared_size = node->shared_size,
    };
}

static struct hip_fill_node fill_of(const struct driver_fill_node *fill)
{
    return (struct hip_fill_node){
        .to = (void *)(uintptr_t)fill->to,
        .element_size = fill->element_size,
        .height = fill->height,
        .pitch = fill->height > 1 ? fill->pitch
                                  : fill->width * fill->element_size,
        .value = fill->value,
        .width = fill->width,
    };
}

static int add_kernel(void **out_node, void *graph, void *const *after,
                      size_t count, const struct driver_kernel_node *params)
{
    struct hip_kernel_node node = kernel_of(params);
    return hip.graph_add_kernel(out_node, graph, after, count, &node);
}

static int add_copy(void **out_node, void *graph, void *const *after,
                    size_t count, const struct driver_copy *copy,
                    void *context)
{
    struct hip_copy node = hip_copy_of(copy);
    (void)context;
    return hip.graph_add_copy(out_node, graph, after, count, &node);
}

static int add_fill(void **out_node, void *graph, void *const *after,
                    size_t count, const struct driver_fill_node *fill,
                    void *context)
{
    struct hip_fill_node node = fill_of(fill);
    (void)context;
    return hip.graph_add_fill(out_node, graph, after, count, &node);
}

static int set_kernel(void *exec, void *node,
                      const struct driver_kernel_node *params)
{
    struct hip_kernel_node other = kernel_of(params);
    return hip.exec_set_kernel(exec, node, &other);
}

static int set_copy(void *exec, void *node, const struct driver_copy *copy,
                    void *context)
{
    struct hip_copy other = hip_copy_of(copy);
    (void)context;
    return hip.exec_set_copy(exec, node, &other);
}

static int set_fill(void *exec, void *node,
                    const struct driver_fill_node *fill, void *context)
{
    struct hip_fill_node other = fill_of(fill);
    (void)context;
    return hip.exec_set_fill(exec, node, &other);
}

// A node for each operation, one after another: within a node HIP has a thread
// of the GPU for each, so that a later one may come first. Their number depends
// on the values, so no value is changed in place.
static int add_chain(void **out_node, void *graph, void *const *after,
                     size_t count, struct driver_value *values,
                     unsigned value_count)
{
    void *last = NULL;
    int code = 0;
    for (unsigned i = 0; i < value_count && code == 0; i++) {
        struct driver_values_node one = {.count = 1, .values = &values[i]};
        void *previous = last;
        code = hip.graph_add_values(&last, graph, i ? &previous : after,
                                    i ? 1 : count, &one);
    }
    *out_node = last;
    return code;
}

static int add_values(void **out_node, void *graph, void *const *after,
                      size_t count, const struct driver_values_node *params)
{
    unsigned made = 0;
    size_t bytes = 2 * params->count * sizeof *params->values;
    struct driver_value *values = mem_allocate(bytes);
    int code = values ? hip_values_of(params->values, params->count, values,
                                      &made)
                      : HIP_OUT_OF_MEMORY;
    if (code == 0)
        code = add_chain(out_node, graph, after, count, values, made);
    mem_release(values, bytes);
    return code;
}

// A failure may leave anything in the handle.
static int instantiate(void **out_exec, void *graph, unsigned long long flags)
{
    int code = hip.graph_instantiate(out_exec, graph, flags);
    if (code != 0)
        *out_exec = NULL;
    return code;
}

// Without the function, the first launch uploads the graph.
static int upload(void *exec, void *stream)
{
    return hip.exec_upload ? hip.exec_upload(exec, stream) : 0;
}

static int kernel_attribute(void *node, int id, const void *value)
{
    struct driver_launch_attribute attribute = {.id = id};
    if (!hip.kernel_node_attribute)
        return HIP_NOT_SUPPORTED;
    memcpy(attribute.bytes, value, sizeof attribute.bytes);
    attribute = hip_attribute_of(&attribute);
    return hip.kernel_node_attribute(node, id, attribute.bytes);
}

void hip_adapt_graphs(struct driver_functions *call)
{
    call->graph_add_kernel = add_kernel;
    call->graph_add_copy = add_copy;
    call->graph_add_fill = add_fill;
    if (hip.graph_add_values)
        call->graph_add_values = add_values;
    call->graph_instantiate = instantiate;
    call->exec_set_kernel = set_kernel;
    call->exec_set_copy = set_copy;
    call->exec_set_fill = set_fill;
    call->exec_upload = upload;
    call->kernel_node_attribute = kernel_attribute;
}
