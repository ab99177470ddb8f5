// How much CPU time does a process burn in 10 s with contexts open and nothing
// to do, from the moment its last work is done?
//
// Each variant has a process of its own, so that no peer's threads count; they
// idle at the same time, alone on the machine. "nothing" opens nothing:
// the cost of the measurement itself.
#include "harness.h"

enum { SECONDS = 10 };

static const char *const whats[] = {"runnel", "pocl", "openmp", "nothing"};

enum { WHATS = sizeof whats / sizeof *whats };

static void run(bench_run *bench, const bench_plan *plan)
{
    const char *absent[WHATS] = {
        bench_reason(bench->runnel.no_native),
        bench->no_pocl, bench->no_openmp, NULL,
    };
    bench_row *row = bench_add_row(bench, plan);
    if (!row)
        return;
    for (int i = 0; i < WHATS; i++) {
        bench_series *series = bench_add_series(row, whats[i]);
        if (absent[i])
            snprintf(series->note, sizeof series->note, "%s", absent[i]);
    }
    unsigned rounds = bench->quick ? 1 : plan->rounds;
    for (unsigned round = 0; round < rounds; round++) {
        process_child children[WHATS];
        bench_progress(bench, plan->name, "", 100 * round / rounds);
        for (int i = 0; i < WHATS; i++)
            children[i] = absent[i] ? (process_child){.descriptor = -1}
                                    : process_idle_start(whats[i], SECONDS);
        for (int i = 0; i < WHATS; i++) {
            double burnt = process_idle_finish(children[i]);
            if (burnt >= 0)
                bench_add_round(&row->series[i], &burnt, 1);
            else if (!absent[i])
                snprintf(row->series[i].note, sizeof row->series[i].note,
                         "its process failed");
        }
    }
    bench_progress(bench, NULL, NULL, 0);
}

static const bench_plan plans[] = {
    {.name = "idle/10s", .what = "CPU time burnt in 10 s after the last work",
     .rounds = 3, .samples = 1},
};

const bench_case idle_case = {BENCH_PLANS(plans), run};
