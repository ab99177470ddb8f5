// Is the work of uneven blocks shared evenly?
//
// The blocks of a launch spin for as long as a table says. The best split deals
// them out beforehand, the longest first, each to the thread that has least.
#include "harness.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MS_EACH 5  // of work for each thread

typedef struct shares_state {
    const bench_run *bench;
    rnl_function function;
    size_t count, threads;
    uint32_t *rounds;  // of the loop, by block
    _Atomic uint32_t *runs;
    uint32_t *order;     // block numbers, thread by thread
    size_t *ends;        // in the order, of each thread's
    atomic_bool counts;  // how often each block runs
} shares_state;

// --- A block ---------------------------------------------------------------

static uint64_t spin(uint32_t rounds, uint64_t value)
{
    for (uint32_t i = 0; i < rounds; i++) {
        value = value * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(value));
    }
    return value;
}

static void run_block(void *opaque, size_t block)
{
    shares_state *state = opaque;
    spin(state->rounds[block], block);
    if (atomic_load_explicit(&state->counts, memory_order_relaxed))
        atomic_fetch_add(&state->runs[block], 1);
}

static double rounds_of_a_ms(void)
{
    enum { ROUNDS = 1 << 20 };
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t start = bench_now_ns();
        spin(ROUNDS, start);
        uint64_t time = bench_now_ns() - start;
        least = time < least ? time : least;
    }
    return ROUNDS * 1e6 / (double)least;
}

// --- The loads -------------------------------------------------------------

static bool is_heavy(const shares_state *state, size_t block)
{
    return block < (state->count > 391 ? 391 : state->count / 4);
}

static double weigh_even(const shares_state *state, size_t block)
{
    (void)state, (void)block;
    return 1;
}

static double weigh_front(const shares_state *state, size_t block)
{
    return is_heavy(state, block);
}

static double weigh_back(const shares_state *state, size_t block)
{
    return is_heavy(state, state->count - 1 - block);
}

// Eight powers of two, by the bits of a hash.
static double weigh_random(const shares_state *state, size_t block)
{
    (void)state;
    return 1u << (spin(3, block + 1) >> 61);
}

static double weigh_alternating(const shares_state *state, size_t block)
{
    (void)state;
    return block % 2 ? 1 : 8;
}

// The first block is the whole share of a thread.
static double weigh_first(const shares_state *state, size_t block)
{
    size_t others = state->threads > 1 ? state->threads - 1 : 1;
    return block ? 1 : (double)(state->count - 1) / (double)others;
}

static const struct {
    const char *row;
    double (*weigh)(const shares_state *, size_t block);
} loads[] = {
    {"shares/even", weigh_even},
    {"shares/front", weigh_front},
    {"shares/back", weigh_back},
    {"shares/random", weigh_random},
    {"shares/alternating", weigh_alternating},
    {"shares/first-is-longest", weigh_first},
};

static void weigh(shares_state *state, const bench_plan *plan)
{
    size_t load = 0;
    while (strcmp(loads[load].row, plan->name))
        load++;
    double sum = 0;
    for (size_t i = 0; i < state->count; i++)
        sum += loads[load].weigh(state, i);
    double unit = MS_EACH * (double)state->threads * rounds_of_a_ms() / sum;
    for (size_t i = 0; i < state->count; i++)
        state->rounds[i] = (uint32_t)(loads[load].weigh(state, i) * unit);
}

// --- The best split --------------------------------------------------------

static const uint32_t *sorted_by;

static int compare(const void *left, const void *right)
{
    uint32_t a = sorted_by[*(const uint32_t *)left];
    uint32_t b = sorted_by[*(const uint32_t *)right];
    return (a < b) - (a > b);
}

static size_t least_of(const uint64_t *sums, size_t count)
{
    size_t least = 0;
    for (size_t i = 1; i < count; i++)
        if (sums[i] < sums[least])
            least = i;
    return least;
}

static bool split(shares_state *state)
{
    uint32_t *sorted = malloc(state->count * sizeof *sorted);
    uint32_t *owner = malloc(state->count * sizeof *owner);
    uint64_t *sums = calloc(state->threads, sizeof *sums);
    bool good = sorted && owner && sums;
    for (size_t i = 0; good && i < state->count; i++)
        sorted[i] = (uint32_t)i;
    sorted_by = state->rounds;
    if (good)
        qsort(sorted, state->count, sizeof *sorted, compare);
    for (size_t i = 0; good && i < state->count; i++) {
        owner[i] = (uint32_t)least_of(sums, state->threads);
        sums[owner[i]] += state->rounds[sorted[i]];
    }
    size_t end = 0;
    for (size_t thread = 0; good && thread < state->threads; thread++) {
        for (size_t i = 0; i < state->count; i++)
            if (owner[i] == thread)
                state->order[end++] = sorted[i];
        state->ends[thread] = end;
    }
    free(sorted);
    free(owner);
    free(sums);
    return good;
}

static void run_list(void *opaque, size_t thread)
{
    shares_state *state = opaque;
    for (size_t i = thread ? state->ends[thread - 1] : 0;
         i < state->ends[thread]; i++)
        run_block(state, state->order[i]);
}

// --- The ways --------------------------------------------------------------

static rnl_status run_blocks(const rnl_native_call *call)
{
    for (uint64_t i = 0; i < call->block_count; i++)
        run_block(call->user_data, call->first_block + i);
    return RNL_OK;
}

static bool runnel_once(shares_state *state)
{
    rnl_stream stream = state->bench->runnel.stream;
    return !rnl_enqueue_function(
               stream, state->function,
               RNL_LAUNCH(.grid = {(uint32_t)state->count}, .block = {256}),
               RNL_NO_ARGS) &&
           !rnl_stream_synchronize(stream, RNL_FOREVER);
}

static bool best_once(shares_state *state)
{
    state->bench->openmp->loop(OPENMP_STATIC, run_list, state, state->threads);
    return true;
}

static bool dynamic_once(shares_state *state)
{
    state->bench->openmp->loop(OPENMP_DYNAMIC, run_block, state, state->count);
    return true;
}

static bool guided_once(shares_state *state)
{
    state->bench->openmp->loop(OPENMP_GUIDED, run_block, state, state->count);
    return true;
}

static const char *check_with(shares_state *state, bool (*once)(shares_state *))
{
    for (size_t i = 0; i < state->count; i++)
        atomic_store(&state->runs[i], 0);
    atomic_store(&state->counts, true);
    bool good = once(state);
    atomic_store(&state->counts, false);
    for (size_t i = 0; i < state->count; i++)
        if (atomic_load(&state->runs[i]) != 1)
            return "a block was not run once";
    return good ? NULL : "it failed";
}

static double timed(shares_state *state, bool (*once)(shares_state *))
{
    uint64_t start = bench_now_ns();
    bool good = once(state);
    return good ? (double)(bench_now_ns() - start) : -1;
}

#define WAY(name)                                \
    static const char *name##_check(void *state) \
    {                                            \
        return check_with(state, name##_once);   \
    }                                            \
    static double name##_sample(void *state)     \
    {                                            \
        return timed(state, name##_once);        \
    }

WAY(runnel)
WAY(best)
WAY(dynamic)
WAY(guided)

#undef WAY

// --- The rows --------------------------------------------------------------

static const char *make(shares_state *state, const bench_plan *plan)
{
    const bench_runnel *runnel = &state->bench->runnel;
    if (runnel->no_native[0])
        return bench_reason(runnel->no_native);
    state->rounds = calloc(state->count, sizeof *state->rounds);
    state->runs = calloc(state->count, sizeof *state->runs);
    state->order = calloc(state->count, sizeof *state->order);
    state->ends = calloc(state->threads, sizeof *state->ends);
    if (!state->rounds || !state->runs || !state->order || !state->ends)
        return "no memory";
    weigh(state, plan);
    if (!split(state))
        return "no memory";
    return rnl_function_create_native(runnel->context, "uneven", run_blocks,
                                      RNL_NATIVE_OPTIONS(.user_data = state),
                                      &state->function)
               ? "no function"
               : NULL;
}

#define ROW(load, blocks, text)                                          \
    {                                                                    \
        .name = "shares/" load, .what = "a launch of " #blocks " " text, \
        .size = blocks, .samples = 3, .warm = 2                          \
    }

static const bench_plan plans[] = {
    ROW("even", 4096, "blocks that are alike"),
    ROW("front", 100096, "blocks, of which the first 391 have all work"),
    ROW("back", 4096, "blocks, of which the last 391 have all work"),
    ROW("random", 4096, "blocks of 1 to 128 times the least length"),
    ROW("alternating", 4096, "blocks, 8 and 1 long in turn"),
    ROW("first-is-longest", 33, "blocks, the first as long as a thread's part"),
};

static void run(bench_run *bench, const bench_plan *plan)
{
    shares_state state = {.bench = bench, .count = plan->size};
    state.threads = bench->openmp ? (size_t)bench->openmp->threads() : 1;
    const char *absent = make(&state, plan);
    const char *no_peer = absent ? absent : bench->no_openmp;
    bench_variant variants[] = {
        {"runnel", absent, runnel_check, runnel_sample, &state},
        {"best split", no_peer, best_check, best_sample, &state},
        {"openmp dynamic", no_peer, dynamic_check, dynamic_sample, &state},
        {"openmp guided", no_peer, guided_check, guided_sample, &state},
    };
    bench_measure(bench, plan, variants, 4);
    rnl_function_release(state.function);
    free(state.rounds);
    free(state.runs);
    free(state.order);
    free(state.ends);
}

const bench_case shares_case = {BENCH_PLANS(plans), run};
