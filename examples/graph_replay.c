// A loop of small steps, captured once and replayed: one launch instead of many
// calls. Between launches the graph is given other numbers.
//
//   step:  double every number -- add 1 to each
#include <stdio.h>

#include <runnel/runnel.h>

#include "check.h"

enum { SIZE = 4, BYTES = SIZE * sizeof(int), STEPS = 3 };

static const char source[] =
    "extern \"C\" __global__ void scale(int *vector, int factor)\n"
    "{\n"
    "    vector[threadIdx.x] *= factor;\n"
    "}\n"
    "extern \"C\" __global__ void add(int *vector, int number)\n"
    "{\n"
    "    vector[threadIdx.x] += number;\n"
    "}\n";

struct work {
    rnl_function scale, add;
    rnl_buffer vector;
    int factor;
};

// Enqueues the work, on a stream that is captured here, and could do so on any.
static rnl_status enqueue_steps(rnl_stream stream, void *user_data)
{
    struct work *work = user_data;
    const rnl_launch *shape = RNL_LAUNCH(.grid = {1}, .block = {SIZE});
    rnl_status status = RNL_OK;
    for (int step = 0; step < STEPS && status == RNL_OK; step++) {
        status = rnl_enqueue_function(stream, work->scale, shape,
                                      RNL_ARGS(work->vector, work->factor));
        if (status == RNL_OK)
            status = rnl_enqueue_function(stream, work->add, shape,
                                          RNL_ARGS(work->vector, 1));
    }
    return status;
}

static void launch_and_print(rnl_stream stream, rnl_graph_exec exec,
                             rnl_buffer vector)
{
    int values[SIZE] = {0, 1, 2, 3};
    check(rnl_copy_to_buffer_and_wait(stream, vector, 0, values, BYTES));
    check(rnl_enqueue_graph(stream, exec));
    check(rnl_copy_from_buffer_and_wait(stream, values, vector, 0, BYTES));
    for (int i = 0; i < SIZE; i++)
        printf("%d%c", values[i], i + 1 < SIZE ? ' ' : '\n');
}

int main(void)
{
    rnl_context context;
    rnl_stream stream;
    rnl_module module;
    struct work work = {.factor = 2};
    check(rnl_context_open(NULL, 0, NULL, &context));
    check(rnl_context_default_stream(context, &stream));
    check(rnl_module_compile(context, source, NULL, &module));
    check(rnl_module_function(module, "scale", &work.scale));
    check(rnl_module_function(module, "add", &work.add));
    check(rnl_buffer_create(context, BYTES, NULL, &work.vector));

    rnl_graph graph;
    rnl_graph_exec exec;
    check(rnl_stream_capture(stream, NULL, enqueue_steps, &work, &graph));
    check(rnl_graph_instantiate(graph, &exec));
    check(rnl_graph_release(graph));
    launch_and_print(stream, exec, work.vector);

    // The same steps with another factor, in the same executable graph.
    work.factor = 10;
    check(rnl_stream_capture(stream, NULL, enqueue_steps, &work, &graph));
    check(rnl_graph_exec_update(exec, graph, NULL));
    check(rnl_graph_release(graph));
    launch_and_print(stream, exec, work.vector);

    check(rnl_graph_exec_release(exec));
    check(rnl_buffer_release(work.vector));
    check(rnl_function_release(work.add));
    check(rnl_function_release(work.scale));
    check(rnl_module_release(module));
    check(rnl_context_release(context));
    return 0;
}
