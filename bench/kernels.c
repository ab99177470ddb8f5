// Whole kernels: from source through Runnel, in OpenCL C through PoCL and
// Intel's runtime, by hand with OpenMP. All of them work on the same arrays.
#include "kernels/kernels.h"

#include "kernel_rows.h"

static const kernel_spec *const specs[] = {
    &matmul_kernel,     &nbody_kernel,      &black_scholes_kernel,
    &mandelbrot_kernel, &reduction_kernel,  &shuffle_reduction_kernel,
    &smoothing_kernel,  &histogram_kernel,  &transpose_kernel,
    &saxpy_kernel,      &vector_add_kernel, &stencil_kernel,
};

enum { KERNELS = sizeof specs / sizeof *specs };

static const bench_plan plans[] = {
    KERNEL_PLAN(0, "kernels/matmul",
                "product of 1024 x 1024 floats, 16 x 16 tiles"),
    KERNEL_PLAN(1, "kernels/n-body", "forces of 16 Ki bodies, tiles of 256"),
    KERNEL_PLAN(2, "kernels/black-scholes", "4 Mi options"),
    KERNEL_PLAN(3, "kernels/mandelbrot",
                "1024 x 1024 points, 256 steps at most"),
    KERNEL_PLAN(4, "kernels/reduction", "sums of each 256 of 16 Mi floats"),
    KERNEL_PLAN(5, "kernels/shuffle-reduction",
                "sum of 32 Mi floats, by shuffles"),
    KERNEL_PLAN(6, "kernels/smoothing",
                "4 Mi floats, 16 steps in shared memory"),
    KERNEL_PLAN(7, "kernels/histogram",
                "16 Mi words, 256 bins, shared atomics"),
    KERNEL_PLAN(8, "kernels/transpose",
                "4096 x 4096 floats, shared tiles of 32 x 33"),
    KERNEL_PLAN(9, "kernels/saxpy", "16 Mi floats, grid-stride"),
    KERNEL_PLAN(10, "kernels/vector-add", "16 Mi floats"),
    KERNEL_PLAN(11, "kernels/stencil", "5 points, 4096 x 4096 floats"),
    {.name = "kernels/mean",
     .what = "geometric mean of the kernels",
     .size = KERNELS,
     .rounds = 9,
     .samples = 1},
};

static void run(bench_run *bench, const bench_plan *plan)
{
    static const kernel_group group = {
        .specs = specs,
        .plans = plans,
        .count = KERNELS,
        .ways = {{"runnel", KERNEL_FIXED},
                 {"pocl", KERNEL_POCL},
                 {"intel", KERNEL_INTEL},
                 {"openmp", KERNEL_OPENMP},
                 {"runnel, any block size", KERNEL_GENERAL}},
        .way_count = 5,
    };
    kernel_group_run(bench, plan, &group);
}

const bench_case kernels_case = {BENCH_PLANS(plans), run};
