// How long does it take from source to function in a process that has just
// begun?
#include "harness.h"

static double cold_sample(void *state)
{
    (void)state;
    return process_compile_time("RUNNEL_CACHE_DISABLE=1");
}

// Opening Runnel for this run has filled the cache.
static double cached_sample(void *state)
{
    (void)state;
    return process_compile_time("RUNNEL_CACHE_DISABLE=0");
}

static double serial_sample(void *state)
{
    (void)state;
    return process_compile_many(false);
}

static double parallel_sample(void *state)
{
    (void)state;
    return process_compile_many(true);
}

static void run_many(bench_run *bench, const bench_plan *plan)
{
    const char *absent = bench_reason(bench->runnel.no_source);
    bench_variant variants[] = {
        {.name = "runnel, 2 threads", .absent = absent,
         .sample = parallel_sample},
        {.name = "runnel, 1 thread", .absent = absent,
         .sample = serial_sample},
    };
    bench_measure(bench, plan, variants, 2);
}

static void run(bench_run *bench, const bench_plan *plan)
{
    if (plan->size == BENCH_MANY_KERNELS) {
        run_many(bench, plan);
        return;
    }
    bench_variant variant = {
        .name = "runnel",
        .absent = bench_reason(bench->runnel.no_source),
        .sample = plan->size ? cached_sample : cold_sample,
    };
    bench_measure(bench, plan, &variant, 1);
}

static const bench_plan plans[] = {
    {.name = "kernels/cold-compile",
     .what = "source to function of axpy, new process, no cache",
     .size = 0, .rounds = 9, .samples = 2, .warm = 1},
    {.name = "kernels/disk-cache",
     .what = "source to function of axpy, new process, from the disk cache",
     .size = 1, .rounds = 9, .samples = 5, .warm = 1},
    {.name = "kernels/compile-100",
     .what = "100 kernels like axpy, no cache",
     .size = BENCH_MANY_KERNELS, .rounds = 5, .samples = 1},
};

const bench_case compile_case = {BENCH_PLANS(plans), run};
