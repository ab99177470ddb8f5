// Does a call take longer, the more of its kind there were? Each call is made N
// times and then 16 N times, and the power of N that the time of all follows is
// in the name of the second line: 1.00 where each takes as long as the first.
#include "growth.h"
#include "harness.h"
#include "stats.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS_MOST = 128 };

// Per call. What is kept for reuse is there after the first round.
static double time_each(growth *with, const growth_call *call, size_t count)
{
    uint64_t start = bench_now_ns();
    growth_run(with, call, count);
    return (double)(bench_now_ns() - start) / (double)count;
}

static double median(const bench_series *series)
{
    return stats_quantile(series->samples, series->sample_count, 0.5);
}

static void measure_call(growth *with, bench_row *row, const growth_call *call,
                         unsigned rounds)
{
    const size_t many = GROWTH_FACTOR * call->count;
    char name[sizeof row->series->name];
    snprintf(name, sizeof name, "runnel, %zu", call->count);
    bench_series *few_times = bench_add_series(row, name);
    bench_series *all_times = bench_add_series(row, "runnel");
    for (unsigned i = 0; i < rounds && !with->status; i++) {
        double few = time_each(with, call, call->count);
        double all = time_each(with, call, many);
        bench_add_round(few_times, &few, 1);
        bench_add_round(all_times, &all, 1);
    }
    if (with->status) {
        all_times->wrong = true;
        snprintf(all_times->note, sizeof all_times->note, "%s",
                 rnl_last_error()->message);
        return;
    }
    double ratio = median(all_times) / median(few_times);
    snprintf(all_times->name, sizeof name, "%zu: power %.2f", many,
             1 + log(ratio) / log(GROWTH_FACTOR));
}

static void measure_calls(bench_run *bench, growth *with,
                          const growth_list *list, unsigned rounds)
{
    static bench_plan rows[ROWS_MOST];
    static char names[ROWS_MOST][48];
    static size_t used;
    for (size_t i = 0; i < list->count && used < ROWS_MOST; i++, used++) {
        bench_plan *plan = &rows[used];
        snprintf(names[used], sizeof names[used], "growth/%s",
                 list->calls[i].name);
        *plan = (bench_plan){.name = names[used], .what = "each of N calls"};
        bench_row *row = bench_add_row(bench, plan);
        bench_progress(bench, plan->name, "", 0);
        if (row)
            measure_call(with, row, &list->calls[i], rounds);
    }
    bench_progress(bench, NULL, NULL, 0);
}

static void run(bench_run *bench, const bench_plan *plan)
{
    growth *with = calloc(1, sizeof *with);
    if (with && growth_open(with))
        for (size_t i = 0; growth_lists[i]; i++)
            measure_calls(bench, with, growth_lists[i],
                          bench_rounds(bench, plan));
    if (with)
        growth_close(with);
    free(with);
}

static const bench_plan plans[] = {
    {.name = "growth", .what = "calls that are made N times and 16 N times",
     .rounds = 5},
};

const bench_case growth_case = {BENCH_PLANS(plans), run};
