// What does it cost the caller to enqueue an empty kernel?
//
// Batches into one stream, workers awake; the timer stops before the wait.
#include "harness.h"

typedef struct enqueue_state {
    const bench_run *bench;
    rnl_function function;
    size_t batch;
} enqueue_state;

static double runnel_sample(void *opaque)
{
    enqueue_state *state = opaque;
    rnl_stream stream = state->bench->runnel.stream;
    uint64_t start = bench_now_ns();
    for (size_t i = 0; i < state->batch; i++) {
        if (rnl_enqueue_function(stream, state->function,
                                 RNL_LAUNCH(.grid = {1}, .block = {1}),
                                 RNL_NO_ARGS))
            return -1;
    }
    double time = (double)(bench_now_ns() - start) / (double)state->batch;
    return rnl_stream_synchronize(stream, RNL_FOREVER) ? -1 : time;
}

static double pocl_sample(void *opaque)
{
    enqueue_state *state = opaque;
    uint64_t start = bench_now_ns();
    for (size_t i = 0; i < state->batch; i++) {
        if (!state->bench->pocl->enqueue_empty())
            return -1;
    }
    double time = (double)(bench_now_ns() - start) / (double)state->batch;
    return state->bench->pocl->finish() ? time : -1;
}

static void run(bench_run *bench, const bench_plan *plan)
{
    bench_runnel *runnel = &bench->runnel;
    enqueue_state native = {bench, runnel->native_empty, plan->size};
    enqueue_state compiled = {bench, runnel->source_empty, plan->size};
    bench_variant variants[] = {
        {"runnel native", bench_reason(runnel->no_native), NULL,
         runnel_sample, &native},
        {"runnel source", bench_reason(runnel->no_source), NULL,
         runnel_sample, &compiled},
        {"pocl", bench->no_pocl, NULL, pocl_sample, &native},
    };
    bench_measure(bench, plan, variants, 3);
}

static const bench_plan plans[] = {
    {.name = "enqueue/256",
     .what = "enqueue an empty kernel, in batches of 256",
     .size = 256, .samples = 20, .warm = 5},
    {.name = "enqueue/16",
     .what = "enqueue an empty kernel, in batches of 16",
     .size = 16, .samples = 60, .warm = 20},
};

const bench_case enqueue_case = {BENCH_PLANS(plans), run};
