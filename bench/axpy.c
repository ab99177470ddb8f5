// How long does y += a * x take from enqueue to the end of the wait?
//
// All variants work on the same two arrays, each in place, so that none has
// luckier pages. Runnel's launches have blocks of 256 threads, PoCL's the
// work-group size that is fastest here.
#include "harness.h"

#include <stdlib.h>

// Small, so that y stays tame through millions of runs.
static const float factor = 1e-7f;
static const float check_factor = 2;

typedef struct axpy_state {
    const bench_run *bench;
    rnl_function function;
    rnl_buffer x_buffer, y_buffer;
    float *x, *y;
    size_t count;
    unsigned repeat;
} axpy_state;

// --- The ways --------------------------------------------------------------

static bool runnel_once(const axpy_state *state, float a)
{
    rnl_stream stream = state->bench->runnel.stream;
    uint32_t blocks = (uint32_t)((state->count + 255) / 256);
    return !rnl_enqueue_function(stream, state->function,
                                 RNL_LAUNCH(.grid = {blocks}, .block = {256}),
                                 RNL_ARGS(a, state->x_buffer, state->y_buffer,
                                          (int)state->count)) &&
           !rnl_stream_synchronize(stream, RNL_FOREVER);
}

static bool openmp_once(const axpy_state *state, float a)
{
    state->bench->openmp->axpy(a, state->x, state->y, state->count);
    return true;
}

// PoCL takes its arguments beforehand, and tries shapes when it gets them.
static bool pocl_prepare(const axpy_state *state, float a)
{
    const opencl_peer *pocl = state->bench->pocl;
    pocl->axpy_release(pocl->state);
    return pocl->axpy_prepare(pocl->state, a, state->x, state->y, state->count);
}

static bool pocl_once(const axpy_state *state, float a)
{
    (void)a;
    const opencl_peer *pocl = state->bench->pocl;
    return pocl->axpy_and_wait(pocl->state);
}

// --- Right before fast -----------------------------------------------------

static const char *check_with(axpy_state *state,
                              bool (*once)(const axpy_state *, float))
{
    for (size_t i = 0; i < state->count; i++) {
        state->x[i] = (float)(i % 1000);
        state->y[i] = 1;
    }
    if (!once(state, check_factor))
        return "failed when its result was checked";
    for (size_t i = 0; i < state->count; i++) {
        if (state->y[i] != 1 + check_factor * (float)(i % 1000))
            return "gives a wrong result";
    }
    return NULL;
}

static const char *runnel_check(void *state)
{
    return check_with(state, runnel_once);
}

static const char *pocl_check(void *state)
{
    if (!pocl_prepare(state, check_factor))
        return "PoCL takes no arrays of this size";
    const char *why = check_with(state, pocl_once);
    if (!why && !pocl_prepare(state, factor))
        why = "PoCL takes its arrays only once";
    return why;
}

static const char *openmp_check(void *state)
{
    return check_with(state, openmp_once);
}

// --- Samples ---------------------------------------------------------------

static double runnel_sample(void *opaque)
{
    axpy_state *state = opaque;
    uint64_t start = bench_now_ns();
    for (unsigned i = 0; i < state->repeat; i++) {
        if (!runnel_once(state, factor))
            return -1;
    }
    return (double)(bench_now_ns() - start) / state->repeat;
}

static double pocl_sample(void *opaque)
{
    axpy_state *state = opaque;
    uint64_t start = bench_now_ns();
    for (unsigned i = 0; i < state->repeat; i++) {
        if (!pocl_once(state, factor))
            return -1;
    }
    return (double)(bench_now_ns() - start) / state->repeat;
}

static double openmp_sample(void *opaque)
{
    axpy_state *state = opaque;
    uint64_t start = bench_now_ns();
    for (unsigned i = 0; i < state->repeat; i++)
        openmp_once(state, factor);
    return (double)(bench_now_ns() - start) / state->repeat;
}

static double passive_sample(void *opaque)
{
    axpy_state *state = opaque;
    return process_peer_axpy(state->bench->passive, state->count,
                             state->repeat);
}

// --- The case --------------------------------------------------------------

static bool wrap(axpy_state *state)
{
    rnl_context context = state->bench->runnel.context;
    size_t size = state->count * sizeof *state->x;
    return !rnl_buffer_wrap(context, state->x, size, NULL, &state->x_buffer) &&
           !rnl_buffer_wrap(context, state->y, size, NULL, &state->y_buffer);
}

static void measure(bench_run *bench, const bench_plan *plan,
                    axpy_state *native)
{
    const bench_runnel *runnel = &bench->runnel;
    bool wrapped = runnel->context && wrap(native);
    const char *no_buffers = wrapped ? NULL : "no buffers";
    axpy_state compiled = *native;
    compiled.function = runnel->source_axpy;
    bench_variant variants[] = {
        {"runnel native", *runnel->no_native ? runnel->no_native : no_buffers,
         runnel_check, runnel_sample, native},
        {"runnel source", *runnel->no_source ? runnel->no_source : no_buffers,
         runnel_check, runnel_sample, &compiled},
        {"pocl", bench->no_pocl, pocl_check, pocl_sample, native},
        {"openmp", bench->no_openmp, openmp_check, openmp_sample, native},
        {"openmp passive", bench->no_passive, NULL, passive_sample, native},
    };
    bench_measure(bench, plan, variants, 5);
    rnl_buffer_release(native->x_buffer);
    rnl_buffer_release(native->y_buffer);
    if (bench->pocl)
        bench->pocl->axpy_release(bench->pocl->state);
}

static void run(bench_run *bench, const bench_plan *plan)
{
    size_t size = plan->size * sizeof(float);
    axpy_state native = {
        .bench = bench,
        .function = bench->runnel.native_axpy,
        .x = bench_allocate(size),
        .y = bench_allocate(size),
        .count = plan->size,
        .repeat = plan->size > 1u << 20 ? 1 : 32,
    };
    if (native.x && native.y)
        measure(bench, plan, &native);
    free(native.x);
    free(native.y);
}

static const bench_plan plans[] = {
    {.name = "axpy/1Ki",
     .what = "axpy of 1 Ki floats, enqueue + synchronize",
     .size = 1 << 10,
     .samples = 20,
     .warm = 20},
    {.name = "axpy/16Ki",
     .what = "axpy of 16 Ki floats, enqueue + synchronize",
     .size = 1 << 14,
     .samples = 20,
     .warm = 20},
    {.name = "axpy/128Ki",
     .what = "axpy of 128 Ki floats, enqueue + synchronize",
     .size = 1 << 17,
     .samples = 10,
     .warm = 10},
    {.name = "axpy/16Mi",
     .what = "axpy of 16 Mi floats, enqueue + synchronize",
     .size = 1 << 24,
     .bytes = 12.0 * (1 << 24),
     .samples = 4,
     .warm = 1},
};

const bench_case axpy_case = {BENCH_PLANS(plans), run};
