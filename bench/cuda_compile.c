// From source to function on a GPU, in a process that has just begun: from
// Runnel's disk cache, and by NVRTC and the driver by hand.
#include "cuda.h"

static double cached_sample(void *state)
{
    (void)state;
    return process_compile_time("RUNNEL_CACHE_DISABLE=0");
}

static double cold_sample(void *state)
{
    (void)state;
    return process_compile_time("RUNNEL_CACHE_DISABLE=1");
}

static double raw_sample(void *state)
{
    (void)state;
    return process_compile_by_hand();
}

static const bench_plan plans[] = {
    {.name = "cuda/compile",
     .what = "source to function in a new process whose context is open",
     .rounds = 7, .samples = 1, .warm = 1, .limit_ns = 40000000000u},
};

static void run(bench_run *bench, const bench_plan *plan)
{
    const char *why = cuda_no_kernels();
    bench_variant variants[] = {
        {"runnel, disk cache", why, NULL, cached_sample, NULL},
        {"runnel, no cache", why, NULL, cold_sample, NULL},
        {"NVRTC", cuda_no_raw_kernels(true), NULL, raw_sample, NULL},
    };
    bench_measure(bench, plan, variants, 3);
}

const bench_case cuda_compile_case = {BENCH_PLANS(plans), run};
