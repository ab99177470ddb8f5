// How long does a launch wait behind a long one that has all workers?
//
// The blocks of the long launch go on, some microseconds each, until the launch
// behind is done. Nobody helps: the caller waits with a time limit.
#include "harness.h"

#include <stdatomic.h>

enum { BLOCKS = 1 << 20, PAUSES = 200, PRIORITIES = 2 };

typedef struct turns_state {
    const bench_run *bench;
    rnl_function slow;
    rnl_stream behind[PRIORITIES];  // of the same priority, of a greater one
    atomic_bool over;
    atomic_uint begun;
} turns_state;

static rnl_status take_long(const rnl_native_call *call)
{
    turns_state *state = call->user_data;
    atomic_fetch_add(&state->begun, 1);
    for (uint64_t i = 0; i < call->block_count; i++)
        for (int k = 0; k < PAUSES && !atomic_load(&state->over); k++)
            bench_relax();
    return RNL_OK;
}

static double pass(turns_state *state, int priority)
{
    const bench_runnel *runnel = &state->bench->runnel;
    atomic_store(&state->over, false);
    atomic_store(&state->begun, 0);
    if (rnl_enqueue_function(runnel->stream, state->slow,
                             RNL_LAUNCH(.grid = {BLOCKS}, .block = {1}),
                             RNL_NO_ARGS))
        return -1;
    // Long enough for all workers to have joined in.
    while (atomic_load(&state->begun) < 100)
        rnl_stream_query(runnel->stream);
    bench_sleep_ns(5000000);
    uint64_t start = bench_now_ns();
    bool failed =
        rnl_enqueue_function(state->behind[priority], runnel->native_empty,
                             RNL_LAUNCH(.grid = {1}, .block = {1}),
                             RNL_NO_ARGS) ||
        rnl_stream_synchronize(state->behind[priority], 10000000000);
    double time = (double)(bench_now_ns() - start);
    atomic_store(&state->over, true);
    failed |= rnl_stream_synchronize(runnel->stream, RNL_FOREVER) != RNL_OK;
    return failed ? -1 : time;
}

static double equal(void *state)
{
    return pass(state, 0);
}

static double urgent(void *state)
{
    return pass(state, 1);
}

static const char *make(turns_state *state)
{
    const bench_runnel *runnel = &state->bench->runnel;
    if (runnel->no_native[0])
        return bench_reason(runnel->no_native);
    for (int i = 0; i < PRIORITIES; i++)
        if (rnl_stream_create(runnel->context,
                              RNL_STREAM_OPTIONS(.priority = -i),
                              &state->behind[i]))
            return "no streams";
    return rnl_function_create_native(runnel->context, "long", take_long,
                                      RNL_NATIVE_OPTIONS(.user_data = state),
                                      &state->slow)
               ? "no function"
               : NULL;
}

static const bench_plan plans[] = {
    {.name = "turns/behind-a-long-launch",
     .what = "empty kernel behind a long launch that has all workers",
     .samples = 5, .warm = 1, .rounds = 9},
};

static void run(bench_run *bench, const bench_plan *plan)
{
    turns_state state = {.bench = bench};
    const char *absent = make(&state);
    bench_variant variants[] = {
        {"runnel, urgent", absent, NULL, urgent, &state},
        {"runnel, equal", absent, NULL, equal, &state},
    };
    bench_measure(bench, plan, variants, 2);
    for (int i = 0; i < PRIORITIES; i++)
        rnl_stream_release(state.behind[i]);
    rnl_function_release(state.slow);
}

const bench_case turns_case = {BENCH_PLANS(plans), run};
