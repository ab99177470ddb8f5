// Do ten thousand streams cost ten times what a thousand do?
//
// Each stream records an event, waits for its neighbour's, and runs one tiny
// kernel; then all are waited for. PoCL's queues do the same with markers.
#include "harness.h"

#include <stdlib.h>

typedef struct streams_state {
    const bench_run *bench;
    rnl_stream *streams;
    rnl_event *events;
    size_t count;
} streams_state;

static double run_streams(void *opaque)
{
    streams_state *state = opaque;
    const bench_runnel *runnel = &state->bench->runnel;
    uint64_t start = bench_now_ns();
    for (size_t i = 0; i < state->count; i++) {
        rnl_event before = state->events[(i + state->count - 1) % state->count];
        if (rnl_enqueue_wait_event(state->streams[i], before) ||
            rnl_enqueue_function(state->streams[i], runnel->native_empty,
                                 RNL_LAUNCH(.grid = {1}, .block = {1}),
                                 RNL_NO_ARGS) ||
            rnl_enqueue_event_record(state->streams[i], state->events[i]))
            return -1;
    }
    if (rnl_context_synchronize(runnel->context, RNL_FOREVER))
        return -1;
    return (double)(bench_now_ns() - start) / (double)state->count;
}

static const char *check(void *opaque)
{
    streams_state *state = opaque;
    if (run_streams(state) < 0)
        return "it failed";
    for (size_t i = 0; i < state->count; i++)
        if (rnl_stream_query(state->streams[i]) ||
            rnl_event_query(state->events[i]))
            return "a stream is not done";
    return NULL;
}

static double pocl_queues(void *opaque)
{
    streams_state *state = opaque;
    const opencl_peer *pocl = state->bench->pocl;
    return pocl->queues(pocl->state, state->count);
}

static const char *make(streams_state *state)
{
    rnl_context context = state->bench->runnel.context;
    state->streams = calloc(state->count, sizeof *state->streams);
    state->events = calloc(state->count, sizeof *state->events);
    if (!state->streams || !state->events)
        return "no memory";
    for (size_t i = 0; i < state->count; i++)
        if (rnl_stream_create(context, NULL, &state->streams[i]) ||
            rnl_event_create(context, NULL, &state->events[i]))
            return "no streams";
    return bench_reason(state->bench->runnel.no_native);
}

static const bench_plan plans[] = {
    {.name = "streams/1000",
     .what = "1,000 streams: wait, tiny kernel, record, per stream",
     .size = 1000,
     .samples = 5,
     .warm = 2,
     .rounds = 9},
    {.name = "streams/10000",
     .what = "10,000 streams: the same, per stream",
     .size = 10000,
     .samples = 3,
     .warm = 1,
     .rounds = 5},
};

static void run(bench_run *bench, const bench_plan *plan)
{
    streams_state state = {.bench = bench, .count = plan->size};
    const char *absent = make(&state);
    bench_variant variants[] = {
        {"runnel", absent, check, run_streams, &state},
        {"pocl", bench->no_pocl, NULL, pocl_queues, &state},
    };
    bench_measure(bench, plan, variants, 2);
    for (size_t i = 0; state.streams && state.events && i < state.count; i++) {
        rnl_stream_release(state.streams[i]);
        rnl_event_release(state.events[i]);
    }
    free(state.streams);
    free(state.events);
}

const bench_case streams_case = {BENCH_PLANS(plans), run};
