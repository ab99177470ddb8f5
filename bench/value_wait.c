// A stream waits for a word of memory. How long after the host's store does the
// kernel behind the wait start?
//
// The wait is enqueued some time before: 10 microseconds (hot: threads of the
// library still spin), 2 ms (parked) or 20 ms (asleep). "runnel" only stores;
// "runnel + query" calls rnl_stream_query as well, which wakes a thread;
// "runnel + synchronize" waits for the kernel, and runs it. The floor is a
// thread that sleeps in a futex, stored to and woken by the same code, on
// whatever processor the system has it run.
#include "harness.h"
#include "sleeper.h"

typedef struct value_state {
    const bench_run *bench;
    const bench_plan *plan;
    rnl_buffer buffer;
    rnl_function kernel;
    _Atomic uint32_t *word;
    bool queries, synchronizes;
    sleeper *floor;
} value_state;

static _Atomic uint64_t started_at;

static rnl_status note_start(const rnl_native_call *call)
{
    (void)call;
    atomic_store(&started_at, bench_now_ns());
    return RNL_OK;
}

// plan->size is in microseconds.
static void let_time_pass(const bench_plan *plan)
{
    uint64_t end = bench_now_ns() + plan->size * 1000;
    if (plan->size >= 1000)
        bench_sleep_ns(plan->size * 1000);
    while (bench_now_ns() < end)
        bench_relax();
}

static double runnel_sample(void *opaque)
{
    value_state *state = opaque;
    rnl_stream stream = state->bench->runnel.stream;
    uint32_t number = atomic_load(state->word) + 1;
    uint64_t end;
    if (rnl_enqueue_wait_value32(stream, state->buffer, 0, number,
                                 RNL_WAIT_EQ) ||
        rnl_enqueue_function(stream, state->kernel,
                             RNL_LAUNCH(.grid = {1}, .block = {1}),
                             RNL_NO_ARGS))
        return -1;
    let_time_pass(state->plan);
    atomic_store(&started_at, 0);
    uint64_t start = bench_now_ns();
    atomic_store(state->word, number);
    if (state->queries)
        rnl_stream_query(stream);
    if (state->synchronizes && rnl_stream_synchronize(stream, RNL_FOREVER))
        return -1;
    while (!(end = atomic_load(&started_at)))
        bench_relax();
    return rnl_stream_synchronize(stream, RNL_FOREVER) ? -1
                                                       : (double)(end - start);
}

static double futex_sample(void *opaque)
{
    value_state *state = opaque;
    let_time_pass(state->plan);
    return sleeper_sample(state->floor);
}

static bool prepare(value_state *state)
{
    rnl_context context = state->bench->runnel.context;
    void *pointer = NULL;
    if (!context ||
        rnl_buffer_create(context, 64,
                          RNL_BUFFER_OPTIONS(.kind = RNL_MEMORY_HOST),
                          &state->buffer) ||
        rnl_buffer_host_pointer(state->buffer, &pointer) ||
        rnl_function_create_native(context, "note_start", note_start, NULL,
                                   &state->kernel))
        return false;
    state->word = pointer;
    atomic_store(state->word, 0);
    return true;
}

static void run(bench_run *bench, const bench_plan *plan)
{
    sleeper floor;
    value_state state = {.bench = bench, .plan = plan, .floor = &floor};
    sleeper_start(&floor, false);
    const char *absent = prepare(&state) ? NULL : "no native functions";
    value_state querying = state;
    querying.queries = true;
    value_state waiting = state;
    waiting.synchronizes = true;
    bench_variant variants[] = {
        {"runnel", absent, NULL, runnel_sample, &state},
        {"runnel + query", absent, NULL, runnel_sample, &querying},
        {"runnel + synchronize", absent, NULL, runnel_sample, &waiting},
        {"futex wake", floor.started ? NULL : "no thread", NULL, futex_sample,
         &state},
    };
    bench_measure(bench, plan, variants, 4);
    rnl_function_release(state.kernel);
    rnl_buffer_release(state.buffer);
    sleeper_stop(&floor);
}

static const bench_plan plans[] = {
    {.name = "value-wait/hot",
     .what = "from the store to the kernel behind the wait, after 10 us",
     .size = 10, .samples = 200, .warm = 50},
    {.name = "value-wait/parked",
     .what = "from the store to the kernel behind the wait, after 2 ms",
     .size = 2000, .samples = 15, .warm = 3},
    {.name = "value-wait/asleep",
     .what = "from the store to the kernel behind the wait, after 20 ms",
     .size = 20000, .samples = 6, .warm = 1},
};

const bench_case value_wait_case = {BENCH_PLANS(plans), run};
