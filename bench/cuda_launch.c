// The cost of a launch on a GPU to the caller, and the time until an empty
// kernel is done. The peer makes the same launch by hand.
//
// The arguments stand ready on both sides. Batches into one stream; the timer
// stops before the wait but where the wait is the question.
#include "cuda.h"

#include <pthread.h>

enum {
    BATCH = 256,
    MOST_ARGUMENTS = 64,
    THREADS = 8,
    EACH = 2000,
    GRAPH_NODES = 250,
};

typedef struct launch_state {
    cuda_fixture *cuda;
    rnl_function function;
    void *raw_function;
    bool current;  // the context is the caller's current one
    rnl_args args;
    rnl_arg items[MOST_ARGUMENTS];
    void *pointers[MOST_ARGUMENTS];
    const float *address;
    int number;
    float real;
} launch_state;

static void prepare(launch_state *state, int kernel, int count)
{
    state->cuda = cuda_get();
    state->function = state->cuda->functions[kernel];
    state->raw_function = state->cuda->raw_functions[kernel];
    state->current = false;
    state->number = 3;
    state->real = 0.5f;
    for (int i = 0; i < count; i++) {
        void *const values[] = {&state->address, &state->number, &state->real};
        state->pointers[i] = values[i % 3];
        state->items[i] = i % 3 == 0   ? rnl_arg_of_pointer(state->address)
                          : i % 3 == 1 ? RNL_ARG(state->number)
                                       : RNL_ARG(state->real);
    }
    state->args = (rnl_args){sizeof(rnl_args), (size_t)count, state->items};
}

static bool launch(const launch_state *state, rnl_stream stream)
{
    return !rnl_enqueue_function(stream, state->function,
                                 RNL_LAUNCH(.grid = {1}, .block = {1}),
                                 &state->args);
}

// --- Batches ---------------------------------------------------------------

static double runnel_sample(void *opaque)
{
    launch_state *state = opaque;
    rnl_stream stream = state->cuda->stream;
    bool good = true;
    if (state->current)
        cuda_peer_enter(&state->cuda->raw);
    uint64_t start = bench_now_ns();
    for (int i = 0; i < BATCH; i++)
        good &= launch(state, stream);
    double time = (double)(bench_now_ns() - start) / BATCH;
    if (state->current)
        cuda_peer_leave(&state->cuda->raw);
    good &= !rnl_stream_synchronize(stream, RNL_FOREVER);
    return good ? time : -1;
}

static double raw_sample(void *opaque)
{
    launch_state *state = opaque;
    cuda_peer *raw = &state->cuda->raw;
    int failed = 0;
    if (state->current)
        cuda_peer_enter(raw);
    uint64_t start = bench_now_ns();
    for (int i = 0; i < BATCH; i++)
        failed |= cuda_launch_raw(raw, state->raw_function, raw->stream,
                                  state->pointers);
    double time = (double)(bench_now_ns() - start) / BATCH;
    cuda_peer_enter(raw);
    failed |= raw->stream_synchronize(raw->stream);
    cuda_peer_leave(raw);
    return failed ? -1 : time;
}

// Whether the driver wants a current context for a launch at all.
static const char *no_bare(launch_state *bare)
{
    const char *why = cuda_no_raw_kernels(true);
    if (why)
        return why;
    return raw_sample(bare) < 0 ? "the driver wants a current context" : NULL;
}

// --- One and its wait ------------------------------------------------------

static double runnel_wait_sample(void *opaque)
{
    launch_state *state = opaque;
    rnl_stream stream = state->cuda->stream;
    uint64_t start = bench_now_ns();
    for (int i = 0; i < BATCH; i++)
        if (!launch(state, stream) ||
            rnl_stream_synchronize(stream, RNL_FOREVER))
            return -1;
    return (double)(bench_now_ns() - start) / BATCH;
}

static double raw_wait_sample(void *opaque)
{
    launch_state *state = opaque;
    cuda_peer *raw = &state->cuda->raw;
    int failed = 0;
    cuda_peer_enter(raw);
    uint64_t start = bench_now_ns();
    for (int i = 0; i < BATCH; i++) {
        failed |= cuda_launch_raw(raw, state->raw_function, raw->stream, NULL);
        failed |= raw->stream_synchronize(raw->stream);
    }
    double time = (double)(bench_now_ns() - start) / BATCH;
    cuda_peer_leave(raw);
    return failed ? -1 : time;
}

// --- Eight threads, each with a stream -------------------------------------

struct threads;

typedef struct launch_thread {
    const struct threads *all;
    pthread_barrier_t *begin;
    rnl_stream stream;
    void *raw_stream;
    rnl_graph_exec exec;
    bool failed;
} launch_thread;

// The way of all threads; their streams live as long as the row.
typedef struct threads {
    const launch_state *state;
    rnl_stream_flags flags;
    bool graphs, raw;
    launch_thread items[THREADS];
} threads;

static bool launch_all(const launch_thread *thread)
{
    const launch_state *state = thread->all->state;
    const cuda_peer *raw = &state->cuda->raw;
    bool good = true;
    if (thread->all->graphs)
        for (int i = 0; i < EACH / GRAPH_NODES && good; i++)
            good = !rnl_enqueue_graph(thread->stream, thread->exec);
    else
        for (int i = 0; i < EACH && good; i++)
            good = thread->all->raw
                       ? !cuda_launch_raw(raw, state->raw_function,
                                          thread->raw_stream,
                                          (void **)state->pointers)
                       : launch(state, thread->stream);
    return good;
}

static void *run_thread(void *opaque)
{
    launch_thread *thread = opaque;
    const cuda_peer *raw = &thread->all->state->cuda->raw;
    if (thread->all->raw)
        cuda_peer_enter(raw);
    pthread_barrier_wait(thread->begin);
    bool good = launch_all(thread);
    if (thread->all->raw)
        good = !raw->stream_synchronize(thread->raw_stream) && good;
    else
        good = !rnl_stream_synchronize(thread->stream, RNL_FOREVER) && good;
    thread->failed = !good;
    return NULL;
}

// ns a launch of all together, from the moment when every thread is ready.
static double threads_sample(void *opaque)
{
    threads *all = opaque;
    pthread_barrier_t begin;
    pthread_t ids[THREADS];
    bool failed = false;
    pthread_barrier_init(&begin, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++) {
        all->items[i].begin = &begin;
        if (pthread_create(&ids[i], NULL, run_thread, &all->items[i]))
            return -1;  // and leave those that wait: nothing else helps
    }
    pthread_barrier_wait(&begin);
    uint64_t start = bench_now_ns();
    for (int i = 0; i < THREADS; i++) {
        pthread_join(ids[i], NULL);
        failed |= all->items[i].failed;
    }
    double time = (double)(bench_now_ns() - start) / (THREADS * EACH);
    pthread_barrier_destroy(&begin);
    return failed ? -1 : time;
}

static bool make_graph(const launch_state *state, rnl_graph_exec *out)
{
    rnl_graph graph = NULL;
    rnl_node last = NULL;
    bool good = !rnl_graph_create(state->cuda->context, NULL, &graph);
    for (int i = 0; good && i < GRAPH_NODES; i++)
        good = !rnl_graph_add_node(
            graph, &last, i > 0,
            RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = state->function,
                     .launch = RNL_LAUNCH(.grid = {1}, .block = {1})),
            &last);
    good = good && !rnl_graph_instantiate(graph, out);
    rnl_graph_release(graph);
    return good;
}

static bool open_thread(const threads *all, launch_thread *thread)
{
    const cuda_fixture *cuda = all->state->cuda;
    thread->all = all;
    if (all->raw)
        return !cuda->raw.stream_create(&thread->raw_stream,
                                        CUDA_NON_BLOCKING, 0);
    return !rnl_stream_create(cuda->context,
                              RNL_STREAM_OPTIONS(.flags = all->flags),
                              &thread->stream) &&
           (!all->graphs || make_graph(all->state, &thread->exec));
}

static const char *open_threads(threads *all, const char *why)
{
    if (why)
        return why;
    if (all->raw)
        cuda_peer_enter(&all->state->cuda->raw);
    for (int i = 0; i < THREADS && !why; i++)
        if (!open_thread(all, &all->items[i]))
            why = "no streams";
    if (all->raw)
        cuda_peer_leave(&all->state->cuda->raw);
    return why;
}

static void close_threads(threads *all)
{
    const cuda_peer *raw = &all->state->cuda->raw;
    // A peer that is absent has no functions.
    bool entered = all->items[0].raw_stream != NULL;
    if (entered)
        cuda_peer_enter(raw);
    for (int i = 0; i < THREADS; i++) {
        rnl_graph_exec_release(all->items[i].exec);
        rnl_stream_release(all->items[i].stream);
        if (all->items[i].raw_stream)
            raw->stream_destroy(all->items[i].raw_stream);
    }
    if (entered)
        cuda_peer_leave(raw);
}

// --- From source in one step -----------------------------------------------

static double one_step_sample(void *opaque)
{
    static const char source[] =
        "extern \"C\" __global__ void axpy(float a, const float *x, float *y,"
        "\n                                int count)\n"
        "{\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    if (i < count)\n"
        "        y[i] += a * x[i];\n"
        "}\n";
    launch_state *state = opaque;
    rnl_function function;
    uint64_t start = bench_now_ns();
    for (int i = 0; i < BATCH; i++) {
        if (rnl_function_compile(state->cuda->context, source, "axpy", NULL,
                                 &function))
            return -1;
        rnl_function_release(function);
    }
    return (double)(bench_now_ns() - start) / BATCH;
}

// --- The rows --------------------------------------------------------------

static const bench_plan plans[] = {
    {.name = "cuda/launch/0-arguments",
     .what = "host cost of launching an empty kernel",
     .samples = 20, .warm = 5},
    {.name = "cuda/launch/3-arguments",
     .what = "the same with 3 arguments",
     .size = 3, .samples = 20, .warm = 5},
    {.name = "cuda/launch/16-arguments",
     .what = "the same with 16 arguments",
     .size = 16, .samples = 20, .warm = 5},
    {.name = "cuda/launch/64-arguments",
     .what = "the same with 64 arguments",
     .size = 64, .samples = 20, .warm = 5},
    {.name = "cuda/launch-sync",
     .what = "empty kernel, launch + synchronize",
     .samples = 10, .warm = 3},
    {.name = "cuda/launch-threads",
     .what = "empty kernels from 8 threads on streams of their own, to the "
             "end, each",
     .rounds = 15, .samples = 2, .warm = 1},
    {.name = "cuda/one-step",
     .what = "what a launch by source costs more than by function, cached",
     .samples = 20, .warm = 5},
};

enum { WAIT_ROW = 4, THREADS_ROW, ONE_STEP_ROW };

static void run_launches(bench_run *bench, const bench_plan *plan,
                         launch_state *state)
{
    launch_state current = *state;
    // Its items and values are still those of `state`, which lives longer.
    current.current = true;
    const char *no_raw = cuda_no_raw_kernels(true);
    bench_variant variants[] = {
        {"runnel", cuda_no_kernels(), NULL, runnel_sample, state},
        {"runnel, current", no_raw, NULL, runnel_sample, &current},
        {"driver", no_raw, NULL, raw_sample, &current},
        {"driver, none current", no_bare(state), NULL, raw_sample, state},
    };
    bench_measure(bench, plan, variants, 4);
}

static void run_threads_row(bench_run *bench, const bench_plan *plan,
                            launch_state *state)
{
    const char *none = cuda_no_kernels();
    // In an order with the legacy default stream the driver makes threads wait
    // for each other; the peer's streams do not.
    rnl_stream_flags as_raw = RNL_STREAM_NON_BLOCKING;
    threads plain = {.state = state, .flags = as_raw};
    threads batched = {.state = state, .flags = as_raw | RNL_STREAM_BATCHED};
    threads graphs = {.state = state, .flags = as_raw, .graphs = true};
    threads raw = {.state = state, .raw = true};
    bench_variant variants[] = {
        {"runnel", open_threads(&plain, none), NULL, threads_sample, &plain},
        {"runnel batched", open_threads(&batched, cuda_no_batched()), NULL,
         threads_sample, &batched},
        {"runnel, graphs", open_threads(&graphs, none), NULL, threads_sample,
         &graphs},
        {"driver",
         open_threads(&raw, cuda_no_raw_kernels(
                                state->cuda->raw.stream_destroy != NULL)),
         NULL, threads_sample, &raw},
    };
    bench_measure(bench, plan, variants, 4);
    close_threads(&raw);
    close_threads(&graphs);
    close_threads(&batched);
    close_threads(&plain);
}

static void run(bench_run *bench, const bench_plan *plan)
{
    static const int kernels[] = {CUDA_ARGS0, CUDA_ARGS3, CUDA_ARGS16,
                                  CUDA_ARGS64};
    launch_state state = {0};
    size_t row = (size_t)(plan - plans);
    prepare(&state, row < WAIT_ROW ? kernels[row] : CUDA_ARGS0,
            (int)plan->size);
    if (row < WAIT_ROW) {
        run_launches(bench, plan, &state);
        return;
    }
    if (row == THREADS_ROW) {
        run_threads_row(bench, plan, &state);
        return;
    }
    bench_variant variants[] = {
        {"runnel", cuda_no_kernels(), NULL,
         row == ONE_STEP_ROW ? one_step_sample : runnel_wait_sample, &state},
        {"driver", cuda_no_raw_kernels(true), NULL, raw_wait_sample, &state},
    };
    bench_measure(bench, plan, variants, row == ONE_STEP_ROW ? 1 : 2);
}

const bench_case cuda_launch_case = {BENCH_PLANS(plans), run};
