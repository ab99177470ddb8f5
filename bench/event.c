// The cost of events to the caller.
//
// Record on an idle stream; query of a complete event; record and a wait of
// another stream. OpenCL has no event that can be recorded again, so its
// record makes one (a marker); it is released after the timer has stopped.
#include "harness.h"

typedef struct event_state {
    const bench_run *bench;
    rnl_event event;
    unsigned count;
} event_state;

static const char *check(void *opaque)
{
    event_state *state = opaque;
    const bench_runnel *runnel = &state->bench->runnel;
    if (rnl_enqueue_event_record(runnel->stream, state->event) ||
        rnl_event_synchronize(state->event, RNL_FOREVER))
        return "an event is not recorded";
    if (rnl_event_query(state->event))
        return "a complete event is not ready";
    return NULL;
}

static double runnel_record(void *opaque)
{
    event_state *state = opaque;
    rnl_stream stream = state->bench->runnel.stream;
    uint64_t start = bench_now_ns();
    for (unsigned i = 0; i < state->count; i++) {
        if (rnl_enqueue_event_record(stream, state->event))
            return -1;
    }
    double time = (double)(bench_now_ns() - start) / state->count;
    return rnl_stream_synchronize(stream, RNL_FOREVER) ? -1 : time;
}

static double runnel_query(void *opaque)
{
    event_state *state = opaque;
    uint64_t start = bench_now_ns();
    for (unsigned i = 0; i < state->count; i++) {
        if (rnl_event_query(state->event))
            return -1;
    }
    return (double)(bench_now_ns() - start) / state->count;
}

static double runnel_wait(void *opaque)
{
    event_state *state = opaque;
    rnl_stream stream = state->bench->runnel.stream;
    rnl_stream other = state->bench->runnel.other_stream;
    uint64_t start = bench_now_ns();
    for (unsigned i = 0; i < state->count; i++) {
        if (rnl_enqueue_event_record(stream, state->event) ||
            rnl_enqueue_wait_event(other, state->event))
            return -1;
    }
    double time = (double)(bench_now_ns() - start) / state->count;
    return rnl_stream_synchronize(stream, RNL_FOREVER) ||
                   rnl_stream_synchronize(other, RNL_FOREVER)
               ? -1
               : time;
}

static double pocl_record(void *opaque)
{
    event_state *state = opaque;
    const opencl_peer *pocl = state->bench->pocl;
    return pocl->markers(pocl->state, state->count);
}

static double pocl_query(void *opaque)
{
    event_state *state = opaque;
    const opencl_peer *pocl = state->bench->pocl;
    return pocl->queries(pocl->state, state->count);
}

static double pocl_wait(void *opaque)
{
    event_state *state = opaque;
    const opencl_peer *pocl = state->bench->pocl;
    return pocl->markers_and_waits(pocl->state, state->count);
}

static const bench_plan plans[] = {
    {.name = "event/record",
     .what = "record an event on an idle stream",
     .size = 256,
     .samples = 20,
     .warm = 5},
    {.name = "event/query",
     .what = "query a complete event",
     .size = 1000,
     .samples = 20,
     .warm = 5},
    {.name = "event/wait",
     .what = "record an event and make another stream wait for it",
     .size = 256,
     .samples = 20,
     .warm = 5},
};

static double (*const runnel_ways[])(void *) = {
    runnel_record,
    runnel_query,
    runnel_wait,
};
static double (*const pocl_ways[])(void *) = {
    pocl_record,
    pocl_query,
    pocl_wait,
};

static void run(bench_run *bench, const bench_plan *plan)
{
    event_state state = {.bench = bench, .count = (unsigned)plan->size};
    const char *why = "no event";
    if (bench->runnel.context &&
        !rnl_event_create(bench->runnel.context, NULL, &state.event))
        why = NULL;
    bench_variant variants[] = {
        {"runnel", why, check, runnel_ways[plan - plans], &state},
        {"pocl", bench->no_pocl, NULL, pocl_ways[plan - plans], &state},
    };
    bench_measure(bench, plan, variants, 2);
    rnl_event_release(state.event);
}

const bench_case event_case = {BENCH_PLANS(plans), run};
