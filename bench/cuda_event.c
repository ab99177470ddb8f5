// Events on a GPU, and how soon a host function runs when the device is done.
#include "cuda.h"

#include <stdatomic.h>

enum { CALLS = 256, TICKS = 300000 };

typedef struct event_state {
    cuda_fixture *cuda;
    rnl_event event;
    void *raw_event;
    int *done;                  // page-locked; the last store of the kernel
                                // that samples begin with, if any
    bool launches;              // a kernel before each record, which otherwise
                                // stand for the same point
    _Atomic uint64_t called;
} event_state;

// --- Create and release, record, query -------------------------------------

static double runnel_create(void *opaque)
{
    const event_state *state = opaque;
    rnl_event event;
    uint64_t start = bench_now_ns();
    for (int i = 0; i < CALLS; i++)
        if (rnl_event_create(state->cuda->context, NULL, &event) ||
            rnl_event_release(event))
            return -1;
    return (double)(bench_now_ns() - start) / CALLS;
}

static bool runnel_spin(const event_state *state)
{
    return !rnl_enqueue_function(state->cuda->stream,
                                 state->cuda->functions[CUDA_SPIN],
                                 RNL_LAUNCH(.grid = {1}, .block = {1}),
                                 RNL_ARGS(state->done, (long long)TICKS));
}

static bool raw_spin(const event_state *state)
{
    const cuda_peer *raw = &state->cuda->raw;
    long long ticks = TICKS;
    void *arguments[] = {(void *)&state->done, &ticks};
    return !cuda_launch_raw(raw, state->cuda->raw_functions[CUDA_SPIN],
                            raw->stream, arguments);
}

static bool runnel_launch(const event_state *state)
{
    return !rnl_enqueue_function(state->cuda->stream,
                                 state->cuda->functions[CUDA_ARGS0],
                                 RNL_LAUNCH(.grid = {1}, .block = {1}), NULL);
}

static double runnel_record(void *opaque)
{
    const event_state *state = opaque;
    rnl_stream stream = state->cuda->stream;
    if (state->done && !runnel_spin(state))
        return -1;
    uint64_t start = bench_now_ns();
    for (int i = 0; i < CALLS; i++)
        if ((state->launches && !runnel_launch(state)) ||
            rnl_enqueue_event_record(stream, state->event))
            return -1;
    double time = (double)(bench_now_ns() - start) / CALLS;
    return rnl_stream_synchronize(stream, RNL_FOREVER) ? -1 : time;
}

static double runnel_query(void *opaque)
{
    const event_state *state = opaque;
    uint64_t start = bench_now_ns();
    for (int i = 0; i < CALLS; i++)
        if (rnl_event_query(state->event))
            return -1;
    return (double)(bench_now_ns() - start) / CALLS;
}

static int raw_create_calls(const event_state *state)
{
    const cuda_peer *raw = &state->cuda->raw;
    int failed = 0;
    for (int i = 0; i < CALLS; i++) {
        void *event = NULL;
        failed |= raw->event_create(&event, CUDA_EVENT_NO_TIMING);
        failed |= raw->event_destroy(event);
    }
    return failed;
}

static int raw_record_calls(const event_state *state)
{
    const cuda_peer *raw = &state->cuda->raw;
    int failed = 0;
    for (int i = 0; i < CALLS; i++) {
        if (state->launches)
            failed |= cuda_launch_raw(raw,
                                      state->cuda->raw_functions[CUDA_ARGS0],
                                      raw->stream, NULL);
        failed |= raw->event_record(state->raw_event, raw->stream);
    }
    return failed;
}

static int raw_query_calls(const event_state *state)
{
    const cuda_peer *raw = &state->cuda->raw;
    int failed = 0;
    for (int i = 0; i < CALLS; i++)
        failed |= raw->event_query(state->raw_event);
    return failed;
}

static double raw_sample(const event_state *state,
                         int (*calls)(const event_state *))
{
    const cuda_peer *raw = &state->cuda->raw;
    cuda_peer_enter(raw);
    int failed = state->done && !raw_spin(state);
    uint64_t start = bench_now_ns();
    failed |= calls(state);
    double time = (double)(bench_now_ns() - start) / CALLS;
    failed |= raw->stream_synchronize(raw->stream);
    cuda_peer_leave(raw);
    return failed ? -1 : time;
}

static double raw_create(void *state)
{
    return raw_sample(state, raw_create_calls);
}

static double raw_record(void *state)
{
    return raw_sample(state, raw_record_calls);
}

static double raw_query(void *state)
{
    return raw_sample(state, raw_query_calls);
}

// --- Host functions --------------------------------------------------------

static void runnel_called(rnl_status status, void *opaque)
{
    event_state *state = opaque;
    atomic_store(&state->called, status ? 1 : bench_now_ns());
}

static void raw_called(void *opaque)
{
    runnel_called(RNL_OK, opaque);
}

// From the moment when the host sees the kernel's store to the call.
static double latency(event_state *state)
{
    while (!*(volatile int *)state->done)
        bench_relax();
    uint64_t done = bench_now_ns(), called;
    while (!(called = atomic_load(&state->called)))
        bench_relax();
    if (called == 1)
        return -1;
    return called > done ? (double)(called - done) : 1;
}

static double runnel_host(void *opaque)
{
    event_state *state = opaque;
    rnl_stream stream = state->cuda->stream;
    *(volatile int *)state->done = 0;
    atomic_store(&state->called, 0);
    if (!runnel_spin(state) ||
        rnl_enqueue_host_function(stream, runnel_called, state))
        return -1;
    double time = latency(state);
    return rnl_stream_synchronize(stream, RNL_FOREVER) ? -1 : time;
}

static double raw_host(void *opaque)
{
    event_state *state = opaque;
    const cuda_peer *raw = &state->cuda->raw;
    *(volatile int *)state->done = 0;
    atomic_store(&state->called, 0);
    cuda_peer_enter(raw);
    int failed = !raw_spin(state) ||
                 raw->host_function(raw->stream, raw_called, state);
    double time = failed ? -1 : latency(state);
    failed |= raw->stream_synchronize(raw->stream);
    cuda_peer_leave(raw);
    return failed ? -1 : time;
}

// --- The rows --------------------------------------------------------------

enum { BEHIND_ROW = 3, LAUNCH_ROW, HOST_ROW };

static const bench_plan plans[] = {
    {.name = "cuda/event/create", .what = "create and release an event",
     .samples = 20, .warm = 5},
    {.name = "cuda/event/record", .what = "record an event on an idle stream",
     .samples = 20, .warm = 5},
    {.name = "cuda/event/query", .what = "query a complete event",
     .samples = 20, .warm = 5},
    {.name = "cuda/event/record-behind",
     .what = "record an event behind work, again and again",
     .samples = 20, .warm = 5},
    {.name = "cuda/event/launch-record",
     .what = "launch a kernel and record an event behind it",
     .samples = 20, .warm = 5},
    {.name = "cuda/host-function",
     .what = "from the end of a kernel to the host function behind it",
     .samples = 20, .warm = 5},
};

// Samples that begin with a kernel.
static void run_behind(bench_run *bench, const bench_plan *plan,
                       event_state *state, bool has_raw)
{
    bool host = plan == plans + HOST_ROW;
    const char *why = cuda_no_kernels();
    void *pinned = NULL;
    if (!why && rnl_host_allocate(state->cuda->context, 64, &pinned))
        why = "no page-locked memory";
    const char *no_raw = cuda_no_raw_kernels(has_raw);
    state->done = pinned;
    state->launches = plan == plans + LAUNCH_ROW;
    bench_variant variants[] = {
        {"runnel", why, NULL, host ? runnel_host : runnel_record, state},
        {host ? "cuLaunchHostFunc" : "driver", pinned ? no_raw : why, NULL,
         host ? raw_host : raw_record, state},
    };
    bench_measure(bench, plan, variants, 2);
    if (pinned)
        rnl_host_free(state->cuda->context, pinned);
}

// Both events stand for work that is done.
static void make_events(event_state *state)
{
    cuda_fixture *cuda = state->cuda;
    const cuda_peer *raw = &cuda->raw;
    if (!rnl_event_create(cuda->context, NULL, &state->event) &&
        !rnl_enqueue_event_record(cuda->stream, state->event))
        (void)rnl_event_synchronize(state->event, RNL_FOREVER);
    if (cuda_no_raw(raw->event_create && raw->event_record &&
                    raw->event_query && raw->event_destroy))
        return;
    cuda_peer_enter(raw);
    if (!raw->event_create(&state->raw_event, CUDA_EVENT_NO_TIMING) &&
        !raw->event_record(state->raw_event, raw->stream))
        (void)raw->stream_synchronize(raw->stream);
    cuda_peer_leave(raw);
}

static void run(bench_run *bench, const bench_plan *plan)
{
    static double (*const own[])(void *) = {runnel_create, runnel_record,
                                            runnel_query};
    static double (*const peer[])(void *) = {raw_create, raw_record,
                                             raw_query};
    event_state state = {.cuda = cuda_get()};
    size_t row = (size_t)(plan - plans);
    const char *why = bench_reason(state.cuda->no_runnel);
    if (!why)
        make_events(&state);
    if (row < BEHIND_ROW) {
        bench_variant variants[] = {
            {"runnel", why, NULL, own[row], &state},
            {"driver", cuda_no_raw(state.raw_event != NULL), NULL, peer[row],
             &state},
        };
        bench_measure(bench, plan, variants, 2);
    } else {
        run_behind(bench, plan, &state,
                   row == HOST_ROW ? state.cuda->raw.host_function != NULL
                                   : state.raw_event != NULL);
    }
    rnl_event_release(state.event);
    if (state.raw_event) {
        cuda_peer_enter(&state.cuda->raw);
        state.cuda->raw.event_destroy(state.raw_event);
        cuda_peer_leave(&state.cuda->raw);
    }
}

const bench_case cuda_event_case = {BENCH_PLANS(plans), run};
