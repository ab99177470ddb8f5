// How long after its enqueue does a host function run? And a kernel, when
// nobody waits for it?
//
// From before the call to the first thing that the function does; the caller
// spins on its own memory meanwhile, as one that has other work to do. Beside
// PoCL's two ways (a callback on a marker, and a native kernel) stand the
// floors: waking a thread that sleeps in a futex or on a condition variable.
#include "harness.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

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
    return ((latency_state *)opaque)->bench->pocl->callback();
}

static double native_sample(void *opaque)
{
    return ((latency_state *)opaque)->bench->pocl->native_kernel();
}

// --- The floors ------------------------------------------------------------

enum { SLEEP, RUN, STOP };

typedef struct sleeper {
    pthread_t thread;
    bool started;
    _Atomic uint32_t command;
    pthread_mutex_t mutex;  // guards the condition
    pthread_cond_t condition;
    void (*wait)(struct sleeper *);  // until the command is not SLEEP
    void (*wake)(struct sleeper *);
} sleeper;

static void *sleep_and_run(void *opaque)
{
    sleeper *self = opaque;
    for (;;) {
        self->wait(self);
        if (atomic_load(&self->command) == STOP)
            return NULL;
        atomic_store(&self->command, SLEEP);
        atomic_store(&called_at, bench_now_ns());
    }
}

static void futex_wait(sleeper *self)
{
    while (atomic_load(&self->command) == SLEEP)
        syscall(SYS_futex, &self->command, FUTEX_WAIT_PRIVATE, SLEEP, NULL);
}

static void futex_wake(sleeper *self)
{
    syscall(SYS_futex, &self->command, FUTEX_WAKE_PRIVATE, 1);
}

static void condition_wait(sleeper *self)
{
    pthread_mutex_lock(&self->mutex);
    while (atomic_load(&self->command) == SLEEP)
        pthread_cond_wait(&self->condition, &self->mutex);
    pthread_mutex_unlock(&self->mutex);
}

static void condition_wake(sleeper *self)
{
    // The sleeper looks and sleeps in one step only against this lock.
    pthread_mutex_lock(&self->mutex);
    pthread_mutex_unlock(&self->mutex);
    pthread_cond_signal(&self->condition);
}

static double sleeper_sample(void *opaque)
{
    sleeper *self = opaque;
    atomic_store(&called_at, 0);
    uint64_t start = bench_now_ns();
    atomic_store(&self->command, RUN);
    self->wake(self);
    return latency_since(start);
}

static void sleeper_start(sleeper *self)
{
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->condition, NULL);
    self->started = !pthread_create(&self->thread, NULL, sleep_and_run, self);
}

static void sleeper_stop(sleeper *self)
{
    if (self->started) {
        atomic_store(&self->command, STOP);
        self->wake(self);
        pthread_join(self->thread, NULL);
    }
    pthread_cond_destroy(&self->condition);
    pthread_mutex_destroy(&self->mutex);
}

// --- The case --------------------------------------------------------------

static void run(bench_run *bench, const bench_plan *plan)
{
    sleeper futex = {.wait = futex_wait, .wake = futex_wake};
    sleeper condition = {.wait = condition_wait, .wake = condition_wake};
    sleeper_start(&futex);
    sleeper_start(&condition);
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
        {"futex wake", futex.started ? NULL : no_thread, NULL,
         sleeper_sample, &futex},
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
     .samples = 200, .warm = 50},
    {.name = "host-function/parked",
     .what = "until a host function runs, after 2 ms of sleep",
     .samples = 15, .warm = 3, .pause_ns = 2000000},
    {.name = "host-function/asleep",
     .what = "until a host function runs, after 10 ms of sleep",
     .samples = 6, .warm = 1, .pause_ns = 10000000},
};

const bench_case host_function_case = {BENCH_PLANS(plans), run};
