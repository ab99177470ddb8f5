#include "harness.h"

#include "stats.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FULL_ROUNDS = 25, QUICK_ROUNDS = 7 };

static const uint64_t millisecond = 1000000;

// --- Time ------------------------------------------------------------------

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t bench_now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

void bench_sleep_ns(uint64_t ns)
{
    struct timespec time = {(time_t)(ns / 1000000000u),
                            (long)(ns % 1000000000u)};
    nanosleep(&time, NULL);
}

// Waits until the threads of the variant that just ran have stopped spinning,
// so that they do not take a core from the next. libgomp's spin for some
// milliseconds after each region; nobody is kept waiting longer than needed.
void bench_settle(void)
{
    for (int i = 0; i < 100; i++) {
        uint64_t before = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        bench_sleep_ns(2 * millisecond);
        uint64_t burnt = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before;
        if (burnt < millisecond / 10)
            return;
    }
}

// --- Small services --------------------------------------------------------

void *bench_allocate(size_t size)
{
    void *memory = NULL;
    // Whole huge pages, so that all variants meet the same kind of page.
    if (posix_memalign(&memory, (size_t)2 << 20, size))
        return NULL;
    memset(memory, 1, size);
    return memory;
}

const char *bench_reason(const char *text)
{
    return *text ? text : NULL;
}

void bench_progress(const bench_run *bench, const char *name,
                    const char *variant, unsigned percent)
{
    if (!bench->progress)
        return;
    if (name)
        fprintf(stderr, "\r\033[K%3u %%  %s  %s", percent, name, variant);
    else
        fprintf(stderr, "\r\033[K");
    fflush(stderr);
}

// --- Rows ------------------------------------------------------------------

bench_row *bench_add_row(bench_run *bench, const bench_plan *plan)
{
    size_t size = (bench->row_count + 1) * sizeof *bench->rows;
    bench_row *rows = realloc(bench->rows, size);
    if (!rows)
        return NULL;
    bench->rows = rows;
    rows[bench->row_count] = (bench_row){.plan = plan};
    return &rows[bench->row_count++];
}

bench_series *bench_add_series(bench_row *row, const char *name)
{
    if (row->series_count == BENCH_MAX_SERIES)
        return NULL;
    bench_series *series = &row->series[row->series_count++];
    snprintf(series->name, sizeof series->name, "%s", name);
    return series;
}

void bench_add_round(bench_series *series, const double *samples, size_t count)
{
    size_t total = series->sample_count + count;
    double *grown = realloc(series->samples, total * sizeof *grown);
    if (grown)
        series->samples = grown;
    double *rounds =
        realloc(series->rounds, (series->round_count + 1) * sizeof *rounds);
    if (rounds)
        series->rounds = rounds;
    if (!grown || !rounds)
        return;
    memcpy(grown + series->sample_count, samples, count * sizeof *samples);
    series->sample_count = total;
    rounds[series->round_count++] = stats_quantile(samples, count, 0.5);
}

void bench_free_rows(bench_run *bench)
{
    for (size_t i = 0; i < bench->row_count; i++) {
        for (size_t k = 0; k < bench->rows[i].series_count; k++) {
            free(bench->rows[i].series[k].samples);
            free(bench->rows[i].series[k].rounds);
        }
    }
    free(bench->rows);
    bench->rows = NULL;
    bench->row_count = 0;
}

// --- Measuring -------------------------------------------------------------

unsigned bench_rounds(const bench_run *bench, const bench_plan *plan)
{
    unsigned full = plan->rounds ? plan->rounds : FULL_ROUNDS;
    return bench->quick && full > QUICK_ROUNDS ? QUICK_ROUNDS : full;
}

static uint64_t row_limit(const bench_run *bench, const bench_plan *plan)
{
    if (!plan->limit_ns)
        return UINT64_MAX;
    return bench->quick ? plan->limit_ns / 3 : plan->limit_ns;
}

static double one_sample(const bench_plan *plan, const bench_variant *variant)
{
    if (plan->pause_ns)
        bench_sleep_ns(plan->pause_ns);
    return variant->sample(variant->state);
}

// With a limit, an operation that takes an eighth of it needs no warming, and
// is not done twice a turn.
static bool is_slow(const bench_run *bench, const bench_plan *plan, double ns)
{
    uint64_t limit = row_limit(bench, plan);
    return limit != UINT64_MAX && ns > (double)limit / 8;
}

// One turn of one variant: false when it failed.
static bool take_turn(const bench_run *bench, const bench_plan *plan,
                      const bench_variant *variant, bench_series *series)
{
    unsigned total = plan->warm + plan->samples, count = 0;
    double *samples = malloc(total * sizeof *samples);
    bool good = samples != NULL, slow = false;
    for (unsigned i = 0; good && !slow && i < total; i++) {
        double time = one_sample(plan, variant);
        good = time >= 0;
        slow = is_slow(bench, plan, time);
        if (i >= plan->warm || slow)
            samples[count++] = time;
    }
    if (good)
        bench_add_round(series, samples, count);
    free(samples);
    return good;
}

// A variant without a note is one that runs.
static void prepare(const bench_variant *variant, bench_series *series)
{
    const char *why = variant->absent;
    if (!why && variant->check) {
        why = variant->check(variant->state);
        series->wrong = why != NULL;
    }
    if (why)
        snprintf(series->note, sizeof series->note, "%s", why);
    if (variant->with)
        snprintf(series->with, sizeof series->with, "%s", variant->with);
}

static void run_round(bench_run *bench, bench_row *row,
                      const bench_variant *variants, unsigned round)
{
    const bench_plan *plan = row->plan;
    for (size_t turn = 0; turn < row->series_count; turn++) {
        // The first variant changes with each round: none always follows the
        // same.
        size_t i = (round + turn) % row->series_count;
        bench_series *series = &row->series[i];
        if (series->note[0])
            continue;
        bench_progress(bench, plan->name, variants[i].name,
                       100 * round / bench_rounds(bench, plan));
        bench_settle();
        if (!take_turn(bench, plan, &variants[i], series)) {
            snprintf(series->note, sizeof series->note,
                     "failed while it was measured");
            series->wrong = true;
        }
    }
}

void bench_measure(bench_run *bench, const bench_plan *plan,
                   const bench_variant *variants, size_t count)
{
    bench_row *row = bench_add_row(bench, plan);
    if (!row)
        return;
    bench_progress(bench, plan->name, "checks", 0);
    for (size_t i = 0; i < count; i++)
        prepare(&variants[i], bench_add_series(row, variants[i].name));
    uint64_t start = bench_now_ns();
    for (unsigned i = 0; !bench->check && i < bench_rounds(bench, plan); i++) {
        if (i && bench_now_ns() - start > row_limit(bench, plan))
            break;
        run_round(bench, row, variants, i);
    }
    bench_progress(bench, NULL, NULL, 0);
}
