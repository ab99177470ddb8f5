// Communication and kernels at the same time, on two streams, measured:
//
//   mpirun -n 2 comm_overlap [API [DEVICE]]
//
// The gradients of a layer are reduced while the next layer is computed. The
// times depend on the machine: a cpu needs a core for either.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runnel/comm.h>
#include <runnel/runnel.h>

#include "check.h"

enum { LAYERS = 8, COUNT = 1 << 18, STEPS = 400, REPEATS = 9 };

static const char source[] =
    "extern \"C\" __global__ void layer(float *values, int count,\n"
    "                                 int steps)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    float value = i < count ? values[i] : 0;\n"
    "    for (int k = 0; k < steps; k++)\n"
    "        value = value * 0.999f + 0.001f;\n"
    "    if (i < count)\n"
    "        values[i] = value;\n"
    "}\n";

static rnl_context context;
static rnl_stream kernels, messages;
static rnl_comm comm;
static rnl_function layer;
static rnl_buffer buffers[LAYERS];
// Measured with the greatest, so that the numbers do not grow.
static rnl_reduction reduction = RNL_REDUCE_MAX;

static void compute(int i)
{
    check(rnl_enqueue_function(kernels, layer, RNL_LAUNCH_FOR(COUNT),
                               RNL_ARGS(buffers[i], COUNT, STEPS)));
}

static void reduce(rnl_stream stream, int i)
{
    check(rnl_enqueue_all_reduce(stream, comm,
                                 RNL_COMM_DATA(.receive = buffers[i],
                                               .count = COUNT,
                                               .element = RNL_ELEMENT_FLOAT32),
                                 reduction));
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

// --- The results -------------------------------------------------------------

// The result of the kernel `layer` for a value.
static float computed(float value)
{
    for (int k = 0; k < STEPS; k++)
        value = value * 0.999f + 0.001f;
    return value;
}

// Begins with rank + 1 everywhere, and ends the program over a wrong sum. Each
// sum has to come behind its kernel: the kernel makes another number of a sum.
static void check_sums(void (*work)(void), int rank, int size)
{
    static float values[COUNT];
    float first = (float)(rank + 1), expected = 0;
    uint32_t bits;
    memcpy(&bits, &first, sizeof bits);
    for (int i = 1; i <= size; i++)
        expected += computed((float)i);
    for (int i = 0; i < LAYERS; i++)
        check(rnl_enqueue_fill(kernels, buffers[i], 0, RNL_WHOLE, bits,
                               sizeof bits));
    reduction = RNL_REDUCE_SUM;
    work();
    for (int i = 0; i < LAYERS; i++) {
        check(rnl_copy_from_buffer_and_wait(kernels, values, buffers[i], 0,
                                            sizeof values));
        for (int k = 0; k < COUNT; k++)
            if (values[k] < 0.999f * expected ||
                values[k] > 1.001f * expected) {
                fprintf(stderr, "layer %d has %g, not %g\n", i,
                        (double)values[k], (double)expected);
                exit(EXIT_FAILURE);
            }
    }
}

int main(int count, char **texts)
{
    size_t device = count > 2 ? strtoul(texts[2], NULL, 10) : 0;
    rnl_comm_info info = {.struct_size = sizeof info};
    check(rnl_context_open(count > 1 ? texts[1] : "cpu", device, NULL,
                           &context));
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
    check_sums(in_turn, info.rank, info.size);
    check_sums(at_once, info.rank, info.size);
    printf("rank %d: the sums are right\n", info.rank);

    for (int i = 0; i < LAYERS; i++)
        check(rnl_buffer_release(buffers[i]));
    check(rnl_function_release(layer));
    check(rnl_comm_release(comm));
    check(rnl_stream_release(messages));
    check(rnl_stream_release(kernels));
    check(rnl_context_release(context));
    return 0;
}
