#include "kernel_rows.h"

#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHOICE_RUNS = 5
};  // of each compiler's loop, before the faster is taken

typedef struct kernel_state {
    const bench_run *bench;
    const kernel_spec *spec;
    size_t array_count;
    void *arrays[KERNEL_ARRAYS];
    void *expected[KERNEL_ARRAYS];  // of the results, by the loop as written
    rnl_function function;          // made for the size of its blocks
    rnl_function general;           // for any size
    rnl_buffer buffers[KERNEL_ARRAYS];
    char no_runnel[200];
    char opencl_with[OPENCL_PEERS][32];
    kernel_loop *loop, *simd_loop;  // of the faster compiler
    const char *openmp_compiler, *simd_compiler;
} kernel_state;

// --- Arrays ----------------------------------------------------------------

static size_t element_size(const kernel_array *array)
{
    switch (array->element) {
    case KERNEL_DOUBLES:
        return sizeof(double);
    case KERNEL_BYTES:
        return 1;
    default:
        return sizeof(float);
    }
}

static size_t array_size(const kernel_array *array)
{
    return array->count * element_size(array);
}

static void fill_one(const kernel_array *array, void *memory, size_t i,
                     uint32_t word)
{
    double part = (double)(word >> 8) / (1 << 24);
    double value = array->low + part * (array->high - array->low);
    switch (array->element) {
    case KERNEL_FLOATS:
        ((float *)memory)[i] = (float)value;
        break;
    case KERNEL_DOUBLES:
        ((double *)memory)[i] = value;
        break;
    case KERNEL_INTS:
        ((int32_t *)memory)[i] = (int32_t)floor(value);
        break;
    case KERNEL_WORDS:
        ((uint32_t *)memory)[i] = word;
        break;
    case KERNEL_BYTES:
        ((uint8_t *)memory)[i] = (uint8_t)value;
        break;
    }
}

// Arrays of different numbers have different elements.
static void fill(const kernel_array *array, void *memory, size_t number)
{
    uint64_t random = 1 + number;
    for (size_t i = 0; i < array->count; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        fill_one(array, memory, i, (uint32_t)(random >> 32));
    }
}

static void prepare(const kernel_state *state)
{
    if (state->spec->prepare)
        state->spec->prepare(state->arrays, state->spec->n);
}

static void fill_results(const kernel_state *state)
{
    for (size_t i = 0; i < state->array_count; i++) {
        if (state->spec->arrays[i].result)
            fill(&state->spec->arrays[i], state->arrays[i], i);
    }
    prepare(state);
}

static bool allocate(kernel_state *state)
{
    for (size_t i = 0; i < KERNEL_ARRAYS; i++) {
        const kernel_array *array = &state->spec->arrays[i];
        if (!array->count)
            break;
        size_t size = array_size(array);
        state->array_count++;
        state->arrays[i] = bench_allocate(size);
        if (array->result)
            state->expected[i] = malloc(size);
        if (!state->arrays[i] || (array->result && !state->expected[i]))
            return false;
        fill(array, state->arrays[i], i);
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
    rnl_arg list[KERNEL_ARRAYS + 3];
    rnl_args arguments = {.struct_size = sizeof arguments, .items = list};
    if (spec->factor != 0)
        list[arguments.count++] = rnl_arg_of_float(spec->factor);
    for (size_t i = 0; i < state->array_count; i++)
        list[arguments.count++] = rnl_arg_of_buffer(state->buffers[i]);
    list[arguments.count++] =
        rnl_arg_of_integer((uint64_t)spec->n, sizeof spec->n);
    if (spec->step != 0)
        list[arguments.count++] =
            rnl_arg_of_integer((uint64_t)spec->step, sizeof spec->step);
    return !rnl_enqueue_function(
               stream, function,
               RNL_LAUNCH(.grid = spec->grid, .block = spec->block),
               &arguments) &&
           !rnl_stream_synchronize(stream, RNL_FOREVER);
}

static bool fixed_once(const kernel_state *state)
{
    return launch(state, state->function);
}

static bool general_once(const kernel_state *state)
{
    return launch(state, state->general);
}

static bool pocl_once(const kernel_state *state)
{
    return state->bench->pocl->kernel_and_wait(state->bench->pocl->state);
}

static bool intel_once(const kernel_state *state)
{
    return state->bench->intel->kernel_and_wait(state->bench->intel->state);
}

static bool openmp_once(const kernel_state *state)
{
    state->loop(state->arrays, state->spec->n);
    return true;
}

static bool simd_once(const kernel_state *state)
{
    state->simd_loop(state->arrays, state->spec->n);
    return true;
}

static double timed(const kernel_state *state,
                    bool (*once)(const kernel_state *))
{
    uint64_t start = bench_now_ns();
    bool good = once(state);
    return good ? (double)(bench_now_ns() - start) : -1;
}

static double fixed_sample(void *state)
{
    return timed(state, fixed_once);
}

static double general_sample(void *state)
{
    return timed(state, general_once);
}

static double pocl_sample(void *state)
{
    return timed(state, pocl_once);
}

static double intel_sample(void *state)
{
    return timed(state, intel_once);
}

static double openmp_sample(void *state)
{
    return timed(state, openmp_once);
}

static double simd_sample(void *state)
{
    return timed(state, simd_once);
}

// --- Right before fast -----------------------------------------------------

static double number_at(const kernel_array *array, const void *values, size_t i)
{
    switch (array->element) {
    case KERNEL_FLOATS:
        return (double)((const float *)values)[i];
    case KERNEL_DOUBLES:
        return ((const double *)values)[i];
    case KERNEL_INTS:
        return ((const int32_t *)values)[i];
    case KERNEL_WORDS:
        return ((const uint32_t *)values)[i];
    case KERNEL_BYTES:
        return ((const uint8_t *)values)[i];
    }
    return 0;
}

// NaN is far from everything.
static bool near(const kernel_spec *spec, double value, double expected)
{
    return fabs(value - expected) <= spec->tolerance * fmax(1, fabs(expected));
}

static bool same_sums(const kernel_spec *spec, const kernel_array *array,
                      const void *values, const void *expected)
{
    double sums[2] = {0};
    for (size_t i = 0; i < array->count; i++) {
        sums[0] += number_at(array, values, i);
        sums[1] += number_at(array, expected, i);
    }
    return near(spec, sums[0], sums[1]);
}

static bool same_array(const kernel_spec *spec, const kernel_array *array,
                       const void *values, const void *expected)
{
    if (spec->sum_only)
        return same_sums(spec, array, values, expected);
    size_t wrong = 0;
    for (size_t i = 0; i < array->count; i++)
        wrong += !near(spec, number_at(array, values, i),
                       number_at(array, expected, i));
    return (double)wrong <= spec->wrong_part * (double)array->count;
}

static const char *check_with(const kernel_state *state,
                              bool (*once)(const kernel_state *))
{
    fill_results(state);
    if (!once(state))
        return "failed when its result was checked";
    for (size_t i = 0; i < state->array_count; i++) {
        const kernel_array *array = &state->spec->arrays[i];
        if (array->result && !same_array(state->spec, array, state->arrays[i],
                                         state->expected[i]))
            return "gives another result than the OpenMP loop";
    }
    return NULL;
}

static const char *fixed_check(void *state)
{
    return check_with(state, fixed_once);
}

static const char *general_check(void *state)
{
    return check_with(state, general_once);
}

static bool prepare_opencl(const kernel_state *state, const opencl_peer *peer,
                           bool fast_math)
{
    const kernel_spec *spec = state->spec;
    opencl_kernel kernel = {
        .source = spec->opencl,
        .name = spec->name,
        .options = fast_math ? "-cl-fast-relaxed-math" : "",
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
        kernel.sizes[i] = array_size(&spec->arrays[i]);
    }
    return peer->kernel_prepare(peer->state, &kernel);
}

// A peer whose fast math misses the tolerance is compiled without it.
static const char *check_opencl(kernel_state *state, opencl_platform which,
                                bool (*once)(const kernel_state *))
{
    const opencl_peer *const peers[] = {
        [OPENCL_POCL] = state->bench->pocl,
        [OPENCL_INTEL] = state->bench->intel,
    };
    const char *why = NULL;
    for (int fast = state->spec->fast_math; fast >= 0; fast--) {
        if (!prepare_opencl(state, peers[which], fast))
            return "does not take the kernel";
        why = check_with(state, once);
        if (!why)
            return NULL;
        snprintf(state->opencl_with[which], sizeof *state->opencl_with,
                 "without fast math");
    }
    return why;
}

static const char *pocl_check(void *state)
{
    return check_opencl(state, OPENCL_POCL, pocl_once);
}

static const char *intel_check(void *state)
{
    return check_opencl(state, OPENCL_INTEL, intel_once);
}

static const char *openmp_check(void *state)
{
    return check_with(state, openmp_once);
}

static const char *simd_check(void *state)
{
    return check_with(state, simd_once);
}

static void find_expected(kernel_state *state)
{
    fill_results(state);
    state->spec->loop(state->arrays, state->spec->n);
    for (size_t i = 0; i < state->array_count; i++) {
        if (state->expected[i])
            memcpy(state->expected[i], state->arrays[i],
                   array_size(&state->spec->arrays[i]));
    }
}

// --- The faster compiler's loop --------------------------------------------

static double time_of(const kernel_state *state, kernel_loop *loop)
{
    uint64_t start = bench_now_ns();
    loop(state->arrays, state->spec->n);
    return (double)(bench_now_ns() - start);
}

// The shortest of some runs, in turn, decides.
static double shortest_of(const kernel_state *state, kernel_loop *loop)
{
    double least = INFINITY;
    bench_settle();
    for (int i = 0; i < CHOICE_RUNS; i++)
        least = fmin(least, time_of(state, loop));
    return least;
}

static bool is_slower(const kernel_state *state, kernel_loop *loop,
                      kernel_loop *other)
{
    double first = shortest_of(state, loop);
    double second = shortest_of(state, other);
    first = fmin(first, shortest_of(state, loop));
    return fmin(second, shortest_of(state, other)) < first;
}

static void choose_loops(kernel_state *state, const kernel_spec *other)
{
    const kernel_spec *spec = state->spec;
    bool openmp = other && is_slower(state, spec->loop, other->loop);
    state->loop = openmp ? other->loop : spec->loop;
    state->openmp_compiler = openmp ? other->compiler : spec->compiler;
    bool simd = other && spec->simd_loop &&
                is_slower(state, spec->simd_loop, other->simd_loop);
    state->simd_loop = simd ? other->simd_loop : spec->simd_loop;
    state->simd_compiler = simd ? other->compiler : spec->compiler;
    if (!spec->simd_loop) {
        state->simd_loop = state->loop;
        state->simd_compiler = "as written";
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
                           .option_count =
                               (spec->fast_math ? 2u : 1u) - any_size),
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
                            array_size(&spec->arrays[i]), NULL,
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
    const opencl_peer *const peers[] = {state->bench->pocl,
                                        state->bench->intel};
    for (size_t i = 0; i < 2; i++) {
        if (peers[i])
            peers[i]->kernel_release(peers[i]->state);
    }
}

// --- The ways as variants --------------------------------------------------

static bench_variant variant_of(kernel_way way, kernel_state *state)
{
    const bench_run *bench = state->bench;
    const char *no_runnel = bench_reason(state->no_runnel);
    switch (way) {
    case KERNEL_FIXED:
        return (bench_variant){NULL,         no_runnel, fixed_check,
                               fixed_sample, state,     NULL};
    case KERNEL_GENERAL:
        return (bench_variant){NULL,           no_runnel, general_check,
                               general_sample, state,     NULL};
    case KERNEL_POCL:
        return (bench_variant){NULL,        bench->no_pocl, pocl_check,
                               pocl_sample, state,          NULL};
    case KERNEL_INTEL:
        return (bench_variant){NULL,         bench->no_intel, intel_check,
                               intel_sample, state,           NULL};
    case KERNEL_OPENMP:
        return (bench_variant){NULL,         bench->no_openmp,
                               openmp_check, openmp_sample,
                               state,        state->openmp_compiler};
    case KERNEL_SIMD:
        return (bench_variant){NULL,       bench->no_openmp,
                               simd_check, simd_sample,
                               state,      state->simd_compiler};
    }
    return (bench_variant){0};
}

static void measure(bench_run *bench, const bench_plan *plan,
                    const kernel_group *group)
{
    kernel_state state = {.bench = bench, .spec = group->specs[plan->size]};
    if (allocate(&state)) {
        find_expected(&state);
        open_runnel(&state);
        choose_loops(&state, group->other_compiler
                                 ? group->other_compiler(state.spec)
                                 : NULL);
        bench_variant variants[KERNEL_WAYS];
        for (size_t i = 0; i < group->way_count; i++) {
            variants[i] = variant_of(group->ways[i].way, &state);
            variants[i].name = group->ways[i].name;
        }
        bench_measure(bench, plan, variants, group->way_count);
        close_peers(&state);
    }
    free_arrays(&state);
}

// --- All of them -----------------------------------------------------------

// The row of a kernel of the group, where it was measured.
static const bench_row *row_of(const bench_run *bench,
                               const kernel_group *group, size_t number)
{
    for (size_t i = 0; i < bench->row_count; i++) {
        const bench_plan *plan = bench->rows[i].plan;
        if (plan >= group->plans && plan < group->plans + group->count &&
            plan->size == number)
            return &bench->rows[i];
    }
    return NULL;
}

static const bench_series *series_of(const bench_row *row, size_t way)
{
    if (!row || way >= row->series_count)
        return NULL;
    const bench_series *series = &row->series[way];
    return series->note[0] || !series->round_count ? NULL : series;
}

// How many kernels of the group have figures of this way.
static size_t measured(const bench_run *bench, const kernel_group *group,
                       size_t way)
{
    size_t count = 0;
    for (size_t i = 0; i < group->count; i++)
        count += series_of(row_of(bench, group, i), way) != NULL;
    return count;
}

static bool note_missing(bench_series *series, const kernel_group *group,
                         size_t count)
{
    if (count < group->count)
        snprintf(series->note, sizeof series->note,
                 "only %zu of %zu kernels were measured", count, group->count);
    return count < group->count;
}

// A row that ran out of time has fewer rounds, which are used again.
static double mean_of_round(const bench_run *bench, const kernel_group *group,
                            size_t way, size_t round)
{
    double sum = 0;
    for (size_t i = 0; i < group->count; i++) {
        const bench_series *series = series_of(row_of(bench, group, i), way);
        sum += log(series->rounds[round % series->round_count]);
    }
    return exp(sum / (double)group->count);
}

static void add_mean(bench_run *bench, bench_row *mean,
                     const kernel_group *group, size_t way)
{
    bench_series *series = bench_add_series(mean, group->ways[way].name);
    if (note_missing(series, group, measured(bench, group, way)))
        return;
    for (unsigned i = 0; i < bench_rounds(bench, mean->plan); i++) {
        double time = mean_of_round(bench, group, way, i);
        bench_add_round(series, &time, 1);
    }
}

// --- The lowest ratio ------------------------------------------------------

static double ratio_of(const bench_row *row, size_t way)
{
    const bench_series *own = series_of(row, 0), *peer = series_of(row, way);
    if (!own || !peer)
        return INFINITY;
    return stats_compare(peer->rounds, own->rounds, own->round_count).median;
}

static size_t lowest_beside(const bench_run *bench, const kernel_group *group,
                            size_t way)
{
    size_t lowest = 0;
    double least = INFINITY;
    for (size_t i = 0; i < group->count; i++) {
        double ratio = ratio_of(row_of(bench, group, i), way);
        if (ratio < least) {
            least = ratio;
            lowest = i;
        }
    }
    return lowest;
}

static void add_again(const bench_run *bench, bench_row *row,
                      const kernel_group *group, size_t kernel, size_t way)
{
    bench_series *series = bench_add_series(row, group->ways[way].name);
    size_t count = measured(bench, group, way), own = measured(bench, group, 0);
    if (note_missing(series, group, own < count ? own : count))
        return;
    const bench_series *from = series_of(row_of(bench, group, kernel), way);
    snprintf(series->with, sizeof series->with, "%s",
             group->specs[kernel]->name);
    for (size_t i = 0; i < from->round_count; i++)
        bench_add_round(series, &from->rounds[i], 1);
}

void kernel_group_run(bench_run *bench, const bench_plan *plan,
                      const kernel_group *group)
{
    if (plan->size < group->count) {
        measure(bench, plan, group);
        return;
    }
    bench_row *row = bench_add_row(bench, plan);
    size_t beside = plan->size - group->count;
    if (row && beside) {
        size_t kernel = lowest_beside(bench, group, beside);
        add_again(bench, row, group, kernel, 0);
        add_again(bench, row, group, kernel, beside);
        return;
    }
    for (size_t i = 0; row && i < group->way_count; i++)
        add_mean(bench, row, group, i);
}
