// How long do the kernels of kernels.c take from source to function, beside
// NVRTC's time to machine code? The ratio of two geometric means is the
// geometric mean of the ratios.
#include "harness.h"
#include "kernels/kernels.h"
#include "peer_cuda.h"

#include <math.h>

static const kernel_spec *const specs[] = {
    &matmul_kernel,    &nbody_kernel,     &black_scholes_kernel,
    &mandelbrot_kernel, &reduction_kernel, &shuffle_reduction_kernel,
    &smoothing_kernel, &histogram_kernel, &transpose_kernel,
    &saxpy_kernel,     &vector_add_kernel, &stencil_kernel,
};

enum { KERNELS = sizeof specs / sizeof *specs };

static double compile_once(rnl_context context, const kernel_spec *spec)
{
    rnl_function function;
    uint64_t start = bench_now_ns();
    if (rnl_function_compile(context, spec->cuda, spec->name, NULL, &function))
        return -1;
    double time = (double)(bench_now_ns() - start);
    rnl_function_release(function);
    return time;
}

double bench_runnel_compile_all(void)
{
    rnl_context context;
    double sum = 0;
    if (rnl_context_open("cpu", 0, NULL, &context))
        return -1;
    for (size_t i = 0; i < KERNELS && sum >= 0; i++) {
        double time = compile_once(context, specs[i]);
        sum = time > 0 ? sum + log(time) : -1;
    }
    rnl_context_release(context);
    return sum < 0 ? -1 : exp(sum / KERNELS);
}

static double runnel_sample(void *state)
{
    (void)state;
    return process_compile_all();
}

static double nvrtc_sample(void *state)
{
    double sum = 0;
    (void)state;
    for (size_t i = 0; i < KERNELS; i++) {
        double time = cuda_peer_translate(specs[i]->cuda);
        if (time <= 0)
            return -1;
        sum += log(time);
    }
    return exp(sum / KERNELS);
}

static void run(bench_run *bench, const bench_plan *plan)
{
    bench_variant variants[] = {
        {.name = "runnel", .absent = bench_reason(bench->runnel.no_source),
         .sample = runnel_sample},
        {.name = "NVRTC", .absent = cuda_peer_no_nvrtc(),
         .sample = nvrtc_sample},
    };
    bench_measure(bench, plan, variants, 2);
}

static const bench_plan plans[] = {
    {.name = "kernels/compile-all",
     .what = "the kernels above from source to code, geometric mean, no cache",
     .rounds = 9, .samples = 1, .warm = 1},
};

const bench_case compile_all_case = {BENCH_PLANS(plans), run};
