// Communication and kernels at the same time, on two streams, measured:
//
//   mpirun -n 2 comm_overlap
//
// The gradients of a layer are reduced while the next layer is computed. The
// times depend on the machine: a cpu needs a core for either.
#include <stdio.h>

#include <runnel/comm.h>
#include <runnel/runnel.h>

#include "check.h"

enum { LAYERS = 8, COUNT = 1 << 18, REPEATS = 9 };

static const char source[] =
    "extern \"C\" __global__ void layer(float *values, int count)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    float value = i < count ? values[i] : 0;\n"
    "    for (int k = 0; k < 400; k++)\n"
    "        value = value * 0.999f + 0.001f;\n"
    "    if (i < count)\n"
    "        values[i] = value;\n"
    "}\n";

static rnl_context context;
static rnl_stream kernels, messages;
static rnl_comm comm;
static rnl_function layer;
static rnl_buffer buffers[LAYERS];

static void compute(int i)
{
    check(rnl_enqueue_function(kernels, layer, RNL_LAUNCH_FOR(COUNT),
                               RNL_ARGS(buffers[i], COUNT)));
}

static void reduce(rnl_stream stream, int i)
{
    check(rnl_enqueue_all_reduce(stream, comm,
                                 RNL_COMM_DATA(.receive = buffers[i],
                                               .count = COUNT,
                                               .element = RNL_ELEMENT_FLOAT32),
                                 RNL_REDUCE_MAX));
}

static void in_turn(void)
{
    for (int i = 0; i < LAYERS; i++) {
        compute(i);
        reduce(kernels, i);
    }
}

static void at_once(void)
{
    for (int i = 0; i < LAYERS; i++) {
        compute(i);
        check(rnl_enqueue_wait_stream(messages, kernels));
        reduce(messages, i);
    }
    check(rnl_enqueue_wait_stream(kernels, messages));
}

static void only_kernels(void)
{
    for (int i = 0; i < LAYERS; i++)
        compute(i);
}

static void only_messages(void)
{
    for (int i = 0; i < LAYERS; i++)
        reduce(kernels, i);
}

static rnl_status run(rnl_stream stream, size_t iteration, void *work)
{
    (void)stream;
    (void)iteration;
    (*(void (**)(void))work)();
    return RNL_OK;
}

// The shortest of some runs, in milliseconds.
static double measure(void (*work)(void))
{
    uint64_t best = UINT64_MAX, time;
    for (int i = 0; i < REPEATS; i++) {
        check(rnl_time_and_wait(kernels, 1, run, &work, &time));
        best = time < best ? time : best;
    }
    return (double)best * 1e-6;
}

int main(void)
{
    rnl_comm_info info = {.struct_size = sizeof info};
    check(rnl_context_open("cpu", 0, NULL, &context));
    check(rnl_stream_create(context, NULL, &kernels));
    check(rnl_stream_create(context, NULL, &messages));
    check(rnl_comm_create(context, NULL, &comm));
    check(rnl_comm_get_info(comm, &info));
    check(rnl_function_compile(context, source, "layer", NULL, &layer));
    for (int i = 0; i < LAYERS; i++)
        check(rnl_buffer_create(context, COUNT * sizeof(float),
                                RNL_BUFFER_OPTIONS(.zeroed = true),
                                &buffers[i]));

    double alone = measure(only_kernels), sent = measure(only_messages);
    double turn = measure(in_turn), once = measure(at_once);
    if (info.rank == 0)
        printf("kernels %.2f ms, all-reduces %.2f ms; one stream %.2f ms, two "
               "streams %.2f ms\n",
               alone, sent, turn, once);

    for (int i = 0; i < LAYERS; i++)
        check(rnl_buffer_release(buffers[i]));
    check(rnl_function_release(layer));
    check(rnl_comm_release(comm));
    check(rnl_stream_release(messages));
    check(rnl_stream_release(kernels));
    check(rnl_context_release(context));
    return 0;
}
