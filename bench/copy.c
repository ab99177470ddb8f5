// How fast is a blocking copy from host memory into a buffer?
//
// All variants copy the same source into the same memory; Runnel's and PoCL's
// buffers stand for it in place.
#include "harness.h"

#include <stdlib.h>
#include <string.h>

typedef struct copy_state {
    const bench_run *bench;
    rnl_buffer buffer;
    unsigned char *to, *from;
    size_t size;
} copy_state;

// --- The ways --------------------------------------------------------------

static bool runnel_once(const copy_state *state)
{
    return !rnl_copy_to_buffer_and_wait(state->bench->runnel.stream,
                                        state->buffer, 0, state->from,
                                        state->size);
}

static bool pocl_once(const copy_state *state)
{
    const opencl_peer *pocl = state->bench->pocl;
    return pocl->copy(pocl->state, state->from, state->size);
}

static bool memcpy_once(const copy_state *state)
{
    memcpy(state->to, state->from, state->size);
    return true;
}

static bool openmp_once(const copy_state *state)
{
    state->bench->openmp->copy(state->to, state->from, state->size);
    return true;
}

// --- Right before fast -----------------------------------------------------

static const char *check_with(const copy_state *state,
                              bool (*once)(const copy_state *))
{
    memset(state->to, 0xee, state->size);
    if (!once(state))
        return "failed when its result was checked";
    if (memcmp(state->to, state->from, state->size))
        return "gives a wrong result";
    return NULL;
}

static const char *runnel_check(void *state)
{
    return check_with(state, runnel_once);
}

static const char *pocl_check(void *state)
{
    return check_with(state, pocl_once);
}

static const char *memcpy_check(void *state)
{
    return check_with(state, memcpy_once);
}

static const char *openmp_check(void *state)
{
    return check_with(state, openmp_once);
}

// --- Samples ---------------------------------------------------------------

static double sample_with(const copy_state *state,
                          bool (*once)(const copy_state *))
{
    uint64_t start = bench_now_ns();
    bool good = once(state);
    return good ? (double)(bench_now_ns() - start) : -1;
}

static double runnel_sample(void *state)
{
    return sample_with(state, runnel_once);
}

static double pocl_sample(void *state)
{
    return sample_with(state, pocl_once);
}

static double memcpy_sample(void *state)
{
    return sample_with(state, memcpy_once);
}

static double openmp_sample(void *state)
{
    return sample_with(state, openmp_once);
}

// --- The case --------------------------------------------------------------

static void fill(unsigned char *bytes, size_t size)
{
    uint64_t value = 1;
    for (size_t i = 0; i + 8 <= size; i += 8) {
        value = value * 6364136223846793005u + 1442695040888963407u;
        memcpy(bytes + i, &value, 8);
    }
}

static void measure(bench_run *bench, const bench_plan *plan, copy_state *state)
{
    const char *no_buffer = bench->runnel.no_native;
    const char *no_pocl = bench->no_pocl;
    fill(state->from, state->size);
    if (bench->runnel.context)
        no_buffer = rnl_buffer_wrap(bench->runnel.context, state->to,
                                    state->size, NULL, &state->buffer)
                        ? "no buffer"
                        : NULL;
    const opencl_peer *pocl = bench->pocl;
    if (pocl && !pocl->copy_prepare(pocl->state, state->to, state->size))
        no_pocl = "PoCL makes no buffer of this size";
    bench_variant variants[] = {
        {"runnel", no_buffer, runnel_check, runnel_sample, state},
        {"pocl", no_pocl, pocl_check, pocl_sample, state},
        {"memcpy, 1 thread", NULL, memcpy_check, memcpy_sample, state},
        {"memcpy, all threads", bench->no_openmp, openmp_check, openmp_sample,
         state},
    };
    bench_measure(bench, plan, variants, 4);
    rnl_buffer_release(state->buffer);
    if (pocl)
        pocl->copy_release(pocl->state);
}

static void run(bench_run *bench, const bench_plan *plan)
{
    copy_state state = {
        .bench = bench,
        .to = bench_allocate(plan->size),
        .from = bench_allocate(plan->size),
        .size = plan->size,
    };
    if (state.to && state.from)
        measure(bench, plan, &state);
    free(state.to);
    free(state.from);
}

static const bench_plan plans[] = {
    {.name = "copy/64MiB",
     .what = "blocking copy of 64 MiB into a buffer",
     .size = (size_t)64 << 20,
     .bytes = 64.0 * (1 << 20),
     .samples = 4,
     .warm = 1},
    {.name = "copy/1GiB",
     .what = "blocking copy of 1 GiB into a buffer",
     .size = (size_t)1 << 30,
     .bytes = 1024.0 * (1 << 20),
     .rounds = 15,
     .samples = 2},
};

const bench_case copy_case = {BENCH_PLANS(plans), run};
