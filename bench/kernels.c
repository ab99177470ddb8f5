// Whole kernels: from source through Runnel, in OpenCL C through PoCL, by hand
// with OpenMP. All three work on the same arrays.
#include "kernels/kernels.h"

#include "harness.h"
#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const kernel_spec *const specs[] = {
    &matmul_kernel,    &nbody_kernel,     &black_scholes_kernel,
    &mandelbrot_kernel, &reduction_kernel, &shuffle_reduction_kernel,
    &smoothing_kernel, &histogram_kernel, &transpose_kernel,
    &saxpy_kernel,     &vector_add_kernel, &stencil_kernel,
};

enum { KERNELS = sizeof specs / sizeof *specs, VARIANTS = 4 };

typedef struct kernel_state {
    const bench_run *bench;
    const kernel_spec *spec;
    size_t array_count;
    void *arrays[KERNEL_ARRAYS];
    void *expected[KERNEL_ARRAYS];  // of the results, by the OpenMP loop
    rnl_function function;          // made for the size of its blocks
    rnl_function general;           // for any size
    rnl_buffer buffers[KERNEL_ARRAYS];
    char no_runnel[200];
} kernel_state;

// --- Arrays ----------------------------------------------------------------

static void fill(const kernel_array *array, void *memory)
{
    float *numbers = memory;
    uint32_t *words = memory;
    uint64_t random = 1;
    for (size_t i = 0; i < array->count; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint32_t word = (uint32_t)(random >> 32);
        float part = (float)(word >> 8) / (1 << 24);
        if (array->words)
            words[i] = word;
        else
            numbers[i] = array->low + part * (array->high - array->low);
    }
}

static void fill_results(const kernel_state *state)
{
    for (size_t i = 0; i < state->array_count; i++) {
        if (state->spec->arrays[i].result)
            fill(&state->spec->arrays[i], state->arrays[i]);
    }
}

static bool allocate(kernel_state *state)
{
    for (size_t i = 0; i < KERNEL_ARRAYS; i++) {
        const kernel_array *array = &state->spec->arrays[i];
        if (!array->count)
            break;
        size_t size = array->count * sizeof(float);
        state->array_count++;
        state->arrays[i] = bench_allocate(size);
        if (array->result)
            state->expected[i] = malloc(size);
        if (!state->arrays[i] || (array->result && !state->expected[i]))
            return false;
        fill(array, state->arrays[i]);
    }
    return true;
}

static void free_arrays(kernel_state *state)
{
    for (size_t i = 0; i < KERNEL_ARRAYS; i++) {
        free(state->arrays[i]);
        free(state->expected[i]);
    }
}

// --- The ways --------------------------------------------------------------

static bool launch(const kernel_state *state, rnl_function function)
{
    const kernel_spec *spec = state->spec;
    rnl_stream stream = state->bench->runnel.stream;
    rnl_arg list[KERNEL_ARRAYS + 2];
    rnl_args arguments = {.struct_size = sizeof arguments, .items = list};
    if (spec->factor != 0)
        list[arguments.count++] = rnl_arg_of_float(spec->factor);
    for (size_t i = 0; i < state->array_count; i++)
        list[arguments.count++] = rnl_arg_of_buffer(state->buffers[i]);
    list[arguments.count++] =
        rnl_arg_of_integer((uint64_t)spec->n, sizeof spec->n);
    return !rnl_enqueue_function(stream, function,
                                 RNL_LAUNCH(.grid = spec->grid,
                                            .block = spec->block),
                                 &arguments) &&
           !rnl_stream_synchronize(stream, RNL_FOREVER);
}

static bool runnel_once(const kernel_state *state)
{
    return launch(state, state->function);
}

static bool general_once(const kernel_state *state)
{
    return launch(state, state->general);
}

static bool pocl_once(const kernel_state *state)
{
    return state->bench->pocl->kernel_and_wait();
}

static bool openmp_once(const kernel_state *state)
{
    state->spec->loop(state->arrays, state->spec->n);
    return true;
}

static double timed(const kernel_state *state,
                    bool (*once)(const kernel_state *))
{
    uint64_t start = bench_now_ns();
    bool good = once(state);
    return good ? (double)(bench_now_ns() - start) : -1;
}

static double runnel_sample(void *state)
{
    return timed(state, runnel_once);
}

static double general_sample(void *state)
{
    return timed(state, general_once);
}

static double pocl_sample(void *state)
{
    return timed(state, pocl_once);
}

static double openmp_sample(void *state)
{
    return timed(state, openmp_once);
}

// --- Right before fast -----------------------------------------------------

static double number_at(const kernel_spec *spec, const void *values, size_t i)
{
    return spec->integers ? ((const uint32_t *)values)[i]
                          : (double)((const float *)values)[i];
}

// NaN is far from everything.
static bool near(const kernel_spec *spec, double value, double expected)
{
    return fabs(value - expected) <= spec->tolerance * fmax(1, fabs(expected));
}

static bool same_sums(const kernel_spec *spec, size_t count,
                      const void *values, const void *expected)
{
    double sums[2] = {0};
    for (size_t i = 0; i < count; i++) {
        sums[0] += number_at(spec, values, i);
        sums[1] += number_at(spec, expected, i);
    }
    return near(spec, sums[0], sums[1]);
}

static bool same_array(const kernel_spec *spec, size_t count,
                       const void *values, const void *expected)
{
    if (spec->sum_only)
        return same_sums(spec, count, values, expected);
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong += !near(spec, number_at(spec, values, i),
                       number_at(spec, expected, i));
    return (double)wrong <= spec->wrong_part * (double)count;
}

static const char *check_with(const kernel_state *state,
                              bool (*once)(const kernel_state *))
{
    fill_results(state);
    if (!once(state))
        return "failed when its result was checked";
    for (size_t i = 0; i < state->array_count; i++) {
        const kernel_array *array = &state->spec->arrays[i];
        if (array->result &&
            !same_array(state->spec, array->count, state->arrays[i],
                        state->expected[i]))
            return "gives another result than the OpenMP loop";
    }
    return NULL;
}

static const char *runnel_check(void *state)
{
    return check_with(state, runnel_once);
}

static const char *general_check(void *state)
{
    return check_with(state, general_once);
}

static const char *pocl_check(void *opaque)
{
    const kernel_state *state = opaque;
    const kernel_spec *spec = state->spec;
    pocl_kernel kernel = {
        .source = spec->opencl,
        .name = spec->name,
        .options = spec->fast_math ? "-cl-fast-relaxed-math" : "",
        .global = {(size_t)spec->grid.x * spec->block.x,
                   (size_t)spec->grid.y * spec->block.y},
        .local = {spec->block.x, spec->block.y},
        .any_shape = spec->any_shape,
        .factor = spec->factor,
        .n = spec->n,
        .array_count = state->array_count,
    };
    for (size_t i = 0; i < state->array_count; i++) {
        kernel.arrays[i] = state->arrays[i];
        kernel.sizes[i] = spec->arrays[i].count * sizeof(float);
    }
    if (!state->bench->pocl->kernel_prepare(&kernel))
        return "PoCL does not take the kernel";
    return check_with(state, pocl_once);
}

static const char *openmp_check(void *state)
{
    return check_with(state, openmp_once);
}

static void find_expected(kernel_state *state)
{
    fill_results(state);
    openmp_once(state);
    for (size_t i = 0; i < state->array_count; i++) {
        if (state->expected[i])
            memcpy(state->expected[i], state->arrays[i],
                   state->spec->arrays[i].count * sizeof(float));
    }
}

// --- A row -----------------------------------------------------------------

static bool compile(const kernel_state *state, bool any_size,
                    rnl_function *function)
{
    const kernel_spec *spec = state->spec;
    char size[64];
    const char *options[2] = {size, "--use_fast_math"};
    snprintf(size, sizeof size, "--block-size=%ux%ux%u", spec->block.x,
             spec->block.y, spec->block.z);
    return !rnl_function_compile(
        state->bench->runnel.context, spec->cuda, spec->name,
        RNL_MODULE_OPTIONS(.options = options + any_size,
                           .option_count = (spec->fast_math ? 2u : 1u) -
                                           any_size),
        function);
}

static bool open_functions(kernel_state *state)
{
    const kernel_spec *spec = state->spec;
    rnl_context context = state->bench->runnel.context;
    if (!compile(state, false, &state->function) ||
        !compile(state, true, &state->general))
        return false;
    for (size_t i = 0; i < state->array_count; i++) {
        if (rnl_buffer_wrap(context, state->arrays[i],
                            spec->arrays[i].count * sizeof(float), NULL,
                            &state->buffers[i]))
            return false;
    }
    return true;
}

static void open_runnel(kernel_state *state)
{
    char *why = state->no_runnel;
    size_t room = sizeof state->no_runnel;
    if (!state->bench->runnel.context)
        snprintf(why, room, "%s", state->bench->runnel.no_native);
    else if (!open_functions(state))
        snprintf(why, room, "%s", rnl_last_error()->message);
    why[strcspn(why, "\n")] = 0;
}

static void close_peers(kernel_state *state)
{
    for (size_t i = 0; i < KERNEL_ARRAYS; i++)
        rnl_buffer_release(state->buffers[i]);
    rnl_function_release(state->function);
    rnl_function_release(state->general);
    if (state->bench->pocl)
        state->bench->pocl->kernel_release();
}

static void measure(bench_run *bench, const bench_plan *plan)
{
    kernel_state state = {.bench = bench, .spec = specs[plan->size]};
    if (allocate(&state)) {
        find_expected(&state);
        open_runnel(&state);
        bench_variant variants[VARIANTS] = {
            {"runnel", bench_reason(state.no_runnel), runnel_check,
             runnel_sample, &state},
            {"pocl", bench->no_pocl, pocl_check, pocl_sample, &state},
            {"openmp", bench->no_openmp, openmp_check, openmp_sample, &state},
            {"runnel, any block size", bench_reason(state.no_runnel),
             general_check, general_sample, &state},
        };
        bench_measure(bench, plan, variants, VARIANTS);
        close_peers(&state);
    }
    free_arrays(&state);
}

// --- All of them -----------------------------------------------------------

// A row that ran out of time has fewer rounds: it gives them again.
static bool add_logarithms(const bench_row *row, size_t variant,
                           double *sums, size_t rounds)
{
    const bench_series *series = &row->series[variant];
    if (series->note[0] || !series->round_count)
        return false;
    for (size_t i = 0; i < rounds; i++)
        sums[i] += log(series->rounds[i % series->round_count]);
    return true;
}

static bool is_kernel_row(const bench_row *row)
{
    return !strncmp(row->plan->name, "kernels/", 8) &&
           row->series_count == VARIANTS && row->plan->size < KERNELS;
}

static void add_mean(bench_run *bench, bench_row *mean, size_t variant)
{
    static const char *const names[VARIANTS] = {
        "runnel", "pocl", "openmp", "runnel, any block size"};
    unsigned rounds = bench_rounds(bench, mean->plan), rows = 0;
    double *sums = calloc(rounds, sizeof *sums);
    bench_series *series = bench_add_series(mean, names[variant]);
    if (!sums)
        return;
    for (size_t i = 0; i + 1 < bench->row_count; i++) {
        if (is_kernel_row(&bench->rows[i]))
            rows += add_logarithms(&bench->rows[i], variant, sums, rounds);
    }
    if (rows < KERNELS)
        snprintf(series->note, sizeof series->note,
                 "only %u of %u kernels were measured", rows, KERNELS);
    for (unsigned i = 0; rows == KERNELS && i < rounds; i++) {
        double mean_time = exp(sums[i] / KERNELS);
        bench_add_round(series, &mean_time, 1);
    }
    free(sums);
}

static void run(bench_run *bench, const bench_plan *plan)
{
    if (plan->size < KERNELS) {
        measure(bench, plan);
        return;
    }
    bench_row *row = bench_add_row(bench, plan);
    for (size_t i = 0; row && i < VARIANTS; i++)
        add_mean(bench, row, i);
}

// --- The case --------------------------------------------------------------

#define KERNEL_PLAN(number, title, text)                           \
    {.name = "kernels/" title, .what = text, .size = (number),     \
     .rounds = 9, .samples = 2, .warm = 1, .limit_ns = 3500000000u}

static const bench_plan plans[] = {
    KERNEL_PLAN(0, "matmul", "product of 1024 x 1024 floats, 16 x 16 tiles"),
    KERNEL_PLAN(1, "n-body", "forces of 16 Ki bodies, tiles of 256"),
    KERNEL_PLAN(2, "black-scholes", "4 Mi options"),
    KERNEL_PLAN(3, "mandelbrot", "1024 x 1024 points, 256 steps at most"),
    KERNEL_PLAN(4, "reduction", "sums of each 256 of 16 Mi floats"),
    KERNEL_PLAN(5, "shuffle-reduction", "sum of 32 Mi floats, by shuffles"),
    KERNEL_PLAN(6, "smoothing", "4 Mi floats, 16 steps in shared memory"),
    KERNEL_PLAN(7, "histogram", "16 Mi words, 256 bins, shared atomics"),
    KERNEL_PLAN(8, "transpose", "4096 x 4096 floats, shared tiles of 32 x 33"),
    KERNEL_PLAN(9, "saxpy", "16 Mi floats, grid-stride"),
    KERNEL_PLAN(10, "vector-add", "16 Mi floats"),
    KERNEL_PLAN(11, "stencil", "5 points, 4096 x 4096 floats"),
    {.name = "kernels/mean", .what = "geometric mean of the kernels",
     .size = KERNELS, .rounds = 9, .samples = 1},
};

const bench_case kernels_case = {BENCH_PLANS(plans), run};
