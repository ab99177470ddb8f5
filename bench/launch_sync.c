// How long does an empty kernel take from enqueue to the end of the wait?
//
// Hot: back to back. Parked: after 2 ms of sleep. Asleep: after 10 ms, when
// even workers that go to sleep by degrees are down for good. Idle: after
// 100 ms, when the cores are too.
#include "harness.h"

typedef struct launch_state {
    const bench_run *bench;
    rnl_function function;
    uint32_t blocks;
    unsigned repeat;
    const opencl_peer *opencl;
} launch_state;

static double runnel_sample(void *opaque)
{
    launch_state *state = opaque;
    rnl_stream stream = state->bench->runnel.stream;
    uint64_t start = bench_now_ns();
    for (unsigned i = 0; i < state->repeat; i++) {
        if (rnl_enqueue_function(
                stream, state->function,
                RNL_LAUNCH(.grid = {state->blocks}, .block = {1}),
                RNL_NO_ARGS) ||
            rnl_stream_synchronize(stream, RNL_FOREVER))
            return -1;
    }
    return (double)(bench_now_ns() - start) / state->repeat;
}

static double opencl_sample(void *opaque)
{
    launch_state *state = opaque;
    const opencl_peer *peer = state->opencl;
    uint64_t start = bench_now_ns();
    for (unsigned i = 0; i < state->repeat; i++) {
        if (!peer->empty_and_wait(peer->state))
            return -1;
    }
    return (double)(bench_now_ns() - start) / state->repeat;
}

static double openmp_sample(void *opaque)
{
    launch_state *state = opaque;
    uint64_t start = bench_now_ns();
    for (unsigned i = 0; i < state->repeat; i++)
        state->bench->openmp->region();
    return (double)(bench_now_ns() - start) / state->repeat;
}

static double passive_sample(void *opaque)
{
    launch_state *state = opaque;
    return process_peer_region(state->bench->passive, state->repeat);
}

static void run(bench_run *bench, const bench_plan *plan)
{
    bench_runnel *runnel = &bench->runnel;
    // A pause before a sample is for its first launch: only that is timed.
    unsigned repeat = plan->pause_ns ? 1 : 64;
    uint32_t blocks = (uint32_t)plan->size;
    launch_state native = {bench, runnel->native_empty, blocks, repeat};
    launch_state compiled = {bench, runnel->source_empty, blocks, repeat};
    launch_state pocl = {bench, .repeat = repeat, .opencl = bench->pocl};
    launch_state intel = {bench, .repeat = repeat, .opencl = bench->intel};
    bench_variant variants[] = {
        {"runnel native", bench_reason(runnel->no_native), NULL, runnel_sample,
         &native},
        {"runnel source", bench_reason(runnel->no_source), NULL, runnel_sample,
         &compiled},
        {"pocl", bench->no_pocl, NULL, opencl_sample, &pocl},
        {"intel", bench->no_intel, NULL, opencl_sample, &intel},
        {"openmp", bench->no_openmp, NULL, openmp_sample, &native},
        {"openmp passive", bench->no_passive, NULL, passive_sample, &native},
    };
    bench_measure(bench, plan, variants, 6);
}

static const bench_plan plans[] = {
    {.name = "launch-sync/hot",
     .what = "empty kernel, enqueue + synchronize, back to back",
     .size = 1,
     .samples = 20,
     .warm = 20},
    {.name = "launch-sync/parked",
     .what = "empty kernel, enqueue + synchronize, after 2 ms of sleep",
     .size = 1,
     .samples = 15,
     .warm = 3,
     .pause_ns = 2000000},
    {.name = "launch-sync/asleep",
     .what = "empty kernel, enqueue + synchronize, after 10 ms of sleep",
     .size = 1,
     .samples = 6,
     .warm = 1,
     .pause_ns = 10000000},
    {.name = "launch-sync/idle",
     .what = "empty kernel, enqueue + synchronize, after 100 ms of sleep",
     .size = 1,
     .rounds = 15,
     .samples = 2,
     .pause_ns = 100000000},
};

const bench_case launch_sync_case = {BENCH_PLANS(plans), run};
