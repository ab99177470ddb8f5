// Data-parallel training: each process has a part of the samples and a copy of
// the model. A step adds up the gradients of all parts, so that the copies stay
// the same. The whole step is a graph, so it runs on the cpu only.
//
//   mpirun -n 2 train_parallel
//
// The model is y = a x + b, and the samples are of y = 3 x - 2.
#include <stdio.h>

#include <runnel/comm.h>
#include <runnel/runnel.h>

#include "check.h"

enum { SAMPLES = 1024, STEPS = 300 };

// A single thread adds up the samples, so that each run has the same sum.
static const char source[] =
    "extern \"C\" __global__\n"
    "void gradient(float *sums, const float *model, int first, int count,\n"
    "              int samples)\n"
    "{\n"
    "    sums[0] = sums[1] = 0;\n"
    "    for (int i = first; i < first + count; i++) {\n"
    "        float x = (float)i / samples;\n"
    "        float off = model[0] * x + model[1] - (3 * x - 2);\n"
    "        sums[0] += off * x;\n"
    "        sums[1] += off;\n"
    "    }\n"
    "}\n"
    "extern \"C\" __global__\n"
    "void descend(float *model, const float *sums, int samples)\n"
    "{\n"
    "    model[threadIdx.x] -= sums[threadIdx.x] / samples;\n"
    "}\n";

int main(void)
{
    rnl_context context;
    rnl_stream stream;
    rnl_comm comm;
    rnl_module module;
    rnl_function gradient, descend;
    rnl_buffer model, sums;
    rnl_graph graph;
    rnl_graph_exec step;
    rnl_comm_info info = {.struct_size = sizeof info};
    check(rnl_context_open("cpu", 0, NULL, &context));
    check(rnl_stream_create(context, NULL, &stream));
    check(rnl_comm_create(context, NULL, &comm));
    check(rnl_comm_get_info(comm, &info));
    check(rnl_module_compile(context, source, NULL, &module));
    check(rnl_module_function(module, "gradient", &gradient));
    check(rnl_module_function(module, "descend", &descend));
    check(rnl_buffer_create(context, 2 * sizeof(float),
                            RNL_BUFFER_OPTIONS(.zeroed = true), &model));
    check(rnl_buffer_create(context, 2 * sizeof(float), NULL, &sums));

    int count = SAMPLES / info.size, first = info.rank * count;
    check(rnl_stream_begin_capture(stream, NULL));
    check(rnl_enqueue_function(stream, gradient,
                               RNL_LAUNCH(.grid = {1}, .block = {1}),
                               RNL_ARGS(sums, model, first, count, SAMPLES)));
    check(rnl_enqueue_all_reduce(stream, comm,
                                 RNL_COMM_DATA(.receive = sums, .count = 2,
                                               .element = RNL_ELEMENT_FLOAT32),
                                 RNL_REDUCE_SUM));
    check(rnl_enqueue_function(stream, descend,
                               RNL_LAUNCH(.grid = {1}, .block = {2}),
                               RNL_ARGS(model, sums, SAMPLES)));
    check(rnl_stream_end_capture(stream, &graph));
    check(rnl_graph_instantiate(graph, &step));
    for (int i = 0; i < STEPS; i++)
        check(rnl_enqueue_graph(stream, step));

    float trained[2];
    check(rnl_copy_from_buffer_and_wait(stream, trained, model, 0,
                                        sizeof trained));
    if (info.rank == 0)
        printf("%d ranks: y = %.2f x + %.2f\n", info.size, (double)trained[0],
               (double)trained[1]);

    check(rnl_graph_exec_release(step));
    check(rnl_graph_release(graph));
    check(rnl_buffer_release(model));
    check(rnl_buffer_release(sums));
    check(rnl_function_release(gradient));
    check(rnl_function_release(descend));
    check(rnl_module_release(module));
    check(rnl_comm_release(comm));
    check(rnl_stream_release(stream));
    check(rnl_context_release(context));
    return 0;
}
