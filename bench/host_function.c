// How long after its enqueue does a host function run? And a kernel, when
// nobody waits for it?
//
// From before the call to the first thing that the function does; the caller
// spins on its own memory meanwhile, as if busy with work. Beside
// PoCL's two ways (a callback on a marker, and a native kernel) stand the
// floors: waking a thread that sleeps in a futex or on a condition variable.
#include "harness.h"
#include "sleeper.h"

#include <stdatomic.h>

typedef struct latency_state {
    const bench_run *bench;
    rnl_function kernel;
} latency_state;

static _Atomic uint64_t called_at;

static double latency_since(uint64_t start)
{
    uint64_t end;
    while (!(end = atomic_load(&called_at)))
        bench_relax();
    return (double)(end - start);
}

// --- Runnel and PoCL -------------------------------------------------------

static void note_time(rnl_status status, void *user_data)
{
    (void)status, (void)user_data;
    atomic_store(&called_at, bench_now_ns());
}

static double runnel_sample(void *opaque)
{
    rnl_stream stream = ((latency_state *)opaque)->bench->runnel.stream;
    atomic_store(&called_at, 0);
    uint64_t start = bench_now_ns();
    if (rnl_enqueue_host_function(stream, note_time, NULL))
        return -1;
    double time = latency_since(start);
    return rnl_stream_synchronize(stream, RNL_FOREVER) ? -1 : time;
}

static rnl_status note_kernel_time(const rnl_native_call *call)
{
    (void)call;
    atomic_store(&called_at, bench_now_ns());
    return RNL_OK;
}

static double kernel_sample(void *opaque)
{
    latency_state *state = opaque;
    rnl_stream stream = state->bench->runnel.stream;
    atomic_store(&called_at, 0);
    uint64_t start = bench_now_ns();
    if (rnl_enqueue_function(stream, state->kernel,
                             RNL_LAUNCH(.grid = {1}, .block = {1}),
                             RNL_NO_ARGS))
        return -1;
    double time = latency_since(start);
    return rnl_stream_synchronize(stream, RNL_FOREVER) ? -1 : time;
}

static double callback_sample(void *opaque)
{
    const opencl_peer *pocl = ((latency_state *)opaque)->bench->pocl;
    return pocl->callback(pocl->state);
}

static double native_sample(void *opaque)
{
    const opencl_peer *pocl = ((latency_state *)opaque)->bench->pocl;
    return pocl->native_kernel(pocl->state);
}

// --- The case --------------------------------------------------------------

static void run(bench_run *bench, const bench_plan *plan)
{
    sleeper futex, condition;
    sleeper_start(&futex, false);
    sleeper_start(&condition, true);
    const char *no_thread = "no thread";
    const char *no_native = bench->no_pocl;
    if (bench->pocl && !bench->pocl->has_native_kernel)
        no_native = "PoCL offers no native kernels";
    latency_state state = {.bench = bench};
    if (bench->runnel.context)
        rnl_function_create_native(bench->runnel.context, "note_time",
                                   note_kernel_time, NULL, &state.kernel);
    const char *absent = bench_reason(bench->runnel.no_native);
    bench_variant variants[] = {
        {"runnel", absent, NULL, runnel_sample, &state},
        {"runnel kernel", absent, NULL, kernel_sample, &state},
        {"pocl callback", bench->no_pocl, NULL, callback_sample, &state},
        {"pocl native kernel", no_native, NULL, native_sample, &state},
        {"futex wake", futex.started ? NULL : no_thread, NULL, sleeper_sample,
         &futex},
        {"condvar wake", condition.started ? NULL : no_thread, NULL,
         sleeper_sample, &condition},
    };
    bench_measure(bench, plan, variants, 6);
    rnl_function_release(state.kernel);
    sleeper_stop(&condition);
    sleeper_stop(&futex);
}

static const bench_plan plans[] = {
    {.name = "host-function/hot",
     .what = "until a host function runs, back to back",
     .samples = 200,
     .warm = 50},
    {.name = "host-function/parked",
     .what = "until a host function runs, after 2 ms of sleep",
     .samples = 15,
     .warm = 3,
     .pause_ns = 2000000},
    {.name = "host-function/asleep",
     .what = "until a host function runs, after 10 ms of sleep",
     .samples = 6,
     .warm = 1,
     .pause_ns = 10000000},
};

const bench_case host_function_case = {BENCH_PLANS(plans), run};
