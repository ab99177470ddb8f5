// The cost to the caller of enqueueing an empty kernel.
//
// Batches into one stream, workers awake; the timer stops before the wait, but
// for the row that compares an ordinary stream with a batched one.
#include "harness.h"

typedef struct enqueue_state {
    const bench_run *bench;
    rnl_function function;
    size_t batch;
    rnl_stream stream;
    const opencl_peer *opencl;
} enqueue_state;

static bool enqueue_all(const enqueue_state *state)
{
    for (size_t i = 0; i < state->batch; i++) {
        if (rnl_enqueue_function(state->stream, state->function,
                                 RNL_LAUNCH(.grid = {1}, .block = {1}),
                                 RNL_NO_ARGS))
            return false;
    }
    return true;
}

static double whole_sample(void *opaque)
{
    enqueue_state *state = opaque;
    uint64_t start = bench_now_ns();
    if (!enqueue_all(state) ||
        rnl_stream_synchronize(state->stream, RNL_FOREVER))
        return -1;
    return (double)(bench_now_ns() - start) / (double)state->batch;
}

static double runnel_sample(void *opaque)
{
    enqueue_state *state = opaque;
    rnl_stream stream = state->stream;
    uint64_t start = bench_now_ns();
    if (!enqueue_all(state))
        return -1;
    double time = (double)(bench_now_ns() - start) / (double)state->batch;
    return rnl_stream_synchronize(stream, RNL_FOREVER) ? -1 : time;
}

static double opencl_sample(void *opaque)
{
    enqueue_state *state = opaque;
    const opencl_peer *peer = state->opencl;
    uint64_t start = bench_now_ns();
    for (size_t i = 0; i < state->batch; i++) {
        if (!peer->enqueue_empty(peer->state))
            return -1;
    }
    double time = (double)(bench_now_ns() - start) / (double)state->batch;
    return peer->finish(peer->state) ? time : -1;
}

static void run_whole(bench_run *bench, const bench_plan *plan)
{
    bench_runnel *runnel = &bench->runnel;
    enqueue_state ordinary = {bench, runnel->native_empty, plan->size,
                              runnel->stream};
    enqueue_state batched = ordinary;
    const char *why = "no batched stream";
    batched.stream = NULL;
    if (!rnl_stream_create(runnel->context,
                           RNL_STREAM_OPTIONS(.flags = RNL_STREAM_BATCHED),
                           &batched.stream))
        why = bench_reason(runnel->no_native);
    bench_variant variants[] = {
        {"runnel native", bench_reason(runnel->no_native), NULL, whole_sample,
         &ordinary},
        {"runnel batched", why, NULL, whole_sample, &batched},
    };
    bench_measure(bench, plan, variants, 2);
    rnl_stream_release(batched.stream);
}

static void run(bench_run *bench, const bench_plan *plan)
{
    if (plan->size == 1000) {
        run_whole(bench, plan);
        return;
    }
    bench_runnel *runnel = &bench->runnel;
    enqueue_state native = {bench, runnel->native_empty, plan->size,
                            runnel->stream};
    enqueue_state compiled = {bench, runnel->source_empty, plan->size,
                              runnel->stream};
    enqueue_state pocl = {bench, .batch = plan->size, .opencl = bench->pocl};
    enqueue_state intel = {bench, .batch = plan->size, .opencl = bench->intel};
    bench_variant variants[] = {
        {"runnel native", bench_reason(runnel->no_native), NULL, runnel_sample,
         &native},
        {"runnel source", bench_reason(runnel->no_source), NULL, runnel_sample,
         &compiled},
        {"pocl", bench->no_pocl, NULL, opencl_sample, &pocl},
        {"intel", bench->no_intel, NULL, opencl_sample, &intel},
    };
    bench_measure(bench, plan, variants, 4);
}

static const bench_plan plans[] = {
    {.name = "enqueue/256",
     .what = "enqueue an empty kernel, in batches of 256",
     .size = 256,
     .samples = 20,
     .warm = 5},
    {.name = "enqueue/16",
     .what = "enqueue an empty kernel, in batches of 16",
     .size = 16,
     .samples = 60,
     .warm = 20},
    {.name = "enqueue/1000-and-wait",
     .what = "enqueue 1000 empty kernels and wait, an ordinary stream and a "
             "batched one",
     .size = 1000,
     .samples = 20,
     .warm = 5},
};

const bench_case enqueue_case = {BENCH_PLANS(plans), run};
