#include "goals.h"

#include <string.h>

#define PARKED "launch-sync/parked"

#define KERNEL(name, pocl_goal, openmp_goal)                         \
    {name, "kernels/" name,      "runnel", "pocl", pocl_goal,        \
     0,    "PoCL / " #pocl_goal, ""},                                \
    {                                                                \
        name, "kernels/" name, "runnel", "openmp", 1 / openmp_goal,  \
            openmp_goal > 1 ? 1 : 0, "<= " #openmp_goal " x OpenMP", \
            openmp_goal > 1 ? "<= 1.0 x" : ""                        \
    }
#define KERNEL_AS_BEST(name)                                             \
    {                                                                    \
        name, "kernels/" name, "runnel", "*", 0.98, 1, ">= 0.98 x best", \
            "best of all"                                                \
    }

#define SHARES(load)                                                      \
    {"shares, " load, "shares/" load, "runnel", "best split", 0.95, 0.98, \
     ">= 0.95 x best", ">= 0.98 x"}

#define CUDA_LAUNCH(count)                                                \
    {"launch, " count " arguments",                                       \
     "cuda/launch/" count "-arguments",                                   \
     "runnel",                                                            \
     "driver",                                                            \
     1 / 1.03,                                                            \
     1 / 1.01,                                                            \
     "<= 1.03 x",                                                         \
     "<= 1.01 x"},                                                        \
    {                                                                     \
        "the same, context current", "cuda/launch/" count "-arguments",   \
            "runnel, current", "driver", 1 / 1.03, 1 / 1.01, "<= 1.03 x", \
            "<= 1.01 x"                                                   \
    }
#define CUDA_COPY(row, times)                                                 \
    {row, "cuda/copy/" row,   "runnel", "driver", times,                      \
     0,   #times " x driver", ""},                                            \
        {row, "cuda/copy/" row, "runnel", "driver, pinned", 0, 0.95,          \
         "",  "0.95 x pinned"},                                               \
    {                                                                         \
        row ", pinned", "cuda/copy/" row, "runnel, pinned", "driver, pinned", \
            0.99, 0, ">= 0.99 x", ""                                          \
    }

const bench_goal goals[] = {
    {"empty kernel, parked, native", PARKED, "runnel native", "pocl", 13, 90,
     "PoCL / 13", "PoCL / 90"},
    {"empty kernel, parked, source", PARKED, "runnel source", "pocl", 13, 90,
     "PoCL / 13", "PoCL / 90"},
    {"empty kernel, asleep, native", "launch-sync/asleep", "runnel native",
     "pocl", 13, 90, "PoCL / 13", "PoCL / 90"},
    {"enqueue, native", "enqueue/256", "runnel native", "pocl", 15, 35,
     "PoCL / 15", "PoCL / 35"},
    {"enqueue, source", "enqueue/256", "runnel source", "pocl", 15, 35,
     "PoCL / 15", "PoCL / 35"},
    {"axpy 1 Ki, native", "axpy/1Ki", "runnel native", "pocl", 5, 20,
     "PoCL / 5", "PoCL / 20"},
    {"axpy 1 Ki, source", "axpy/1Ki", "runnel source", "pocl", 5, 20,
     "PoCL / 5", "PoCL / 20"},
    {"axpy 1 Ki, native", "axpy/1Ki", "runnel native", "openmp", 1 / 1.5,
     1 / 0.6, "<= 1.5 x OpenMP", "<= 0.6 x"},
    {"axpy 1 Ki, source", "axpy/1Ki", "runnel source", "openmp", 1 / 1.5,
     1 / 0.6, "<= 1.5 x OpenMP", "<= 0.6 x"},
    {"axpy 16 Mi, native", "axpy/16Mi", "runnel native", "openmp", 0.98, 0,
     ">= 0.98 x OpenMP", ""},
    {"axpy 16 Mi, native, best", "axpy/16Mi", "runnel native", "*", 0, 1, "",
     "best of all"},
    {"event record", "event/record", "runnel", NULL, 40, 15, "<= 40 ns",
     "<= 15 ns"},
    {"event query", "event/query", "runnel", NULL, 5, 2, "<= 5 ns", "<= 2 ns"},
    {"value wait, hot", "value-wait/hot", "runnel", NULL, 2e3, 0.5e3, "<= 2 us",
     "<= 0.5 us"},
    {"value wait, parked", "value-wait/parked", "runnel + query", NULL, 8e3, 0,
     "<= 8 us", ""},
    {"value wait, parked, waited for", "value-wait/parked",
     "runnel + synchronize", NULL, 8e3, 0, "<= 8 us", ""},
    {"value wait, parked", "value-wait/parked", "runnel + query", "futex wake",
     1 / 1.5, 1, "<= 1.5 x futex", "<= 1.0 x"},
    {"behind a long launch, urgent", "turns/behind-a-long-launch",
     "runnel, urgent", NULL, 10e6, 5e6, "<= 10 ms", "<= 5 ms"},
    SHARES("even"),
    SHARES("front"),
    SHARES("back"),
    SHARES("random"),
    SHARES("alternating"),
    SHARES("first-is-longest"),
    {"buffer create+release", "buffer/hit/4Ki", "runnel", NULL, 80, 25,
     "<= 80 ns", "<= 25 ns"},
    {"copy 1 GiB", "copy/1GiB", "runnel", "memcpy, all threads", 0.95, 0.95,
     ">= 0.95 x memcpy", "the same"},
    {"CPU time, 10 s idle", "idle/10s", "runnel", NULL, 2e6, 0.2e6, "<= 2 ms",
     "<= 0.2 ms"},
    {"handle check", "handle-check/one", "runnel", NULL, 3, 1.2, "<= 3 ns",
     "<= 1.2 ns"},
    KERNEL("matmul", 15, 1.0),
    KERNEL("n-body", 8, 1.0),
    KERNEL("black-scholes", 15, 1.0),
    KERNEL("mandelbrot", 4.5, 0.3),
    KERNEL("reduction", 6, 1.2),
    KERNEL("shuffle-reduction", 1.6, 1.3),
    KERNEL("smoothing", 4, 1.6),
    KERNEL("histogram", 4, 1.5),
    KERNEL("transpose", 2.2, 0.8),
    KERNEL("saxpy", 4.5, 1.1),
    KERNEL_AS_BEST("vector-add"),
    KERNEL_AS_BEST("stencil"),
    KERNEL("mean", 5, 0.9),
    {"programs, mean", "programs/mean", "runnel", "openmp", 2.2, 0,
     ">= 2.2 x OpenMP", ""},
    {"programs, mean, simd", "programs/mean", "runnel", "openmp simd", 1.8, 0,
     ">= 1.8 x omp simd", ""},
    {"programs, lowest", "programs/lowest", "runnel", "openmp", 0.8, 0,
     ">= 0.8 x OpenMP", ""},
    {"programs, lowest, simd", "programs/lowest-simd", "runnel", "openmp simd",
     0.8, 0, ">= 0.8 x omp simd", ""},
    {"replay, per node", "graph/straight-1000", "runnel replay, native", NULL,
     40, 12, "<= 40 ns", "<= 12 ns"},
    {"replay, per node", "graph/straight-1000", "runnel replay, native",
     "pocl eager, empty", 0, 100, "", "PoCL / 100"},
    {"replay of forks", "graph/fork-join-8x100", "runnel replay, native", "*",
     1 / 1.2, 2, "<= 1.2 x best", "<= 0.5 x"},
    {"wait of another stream", "event/wait", "runnel", NULL, 60, 30, "<= 60 ns",
     "<= 30 ns"},
    {"compile, new process", "kernels/cold-compile", "runnel", NULL, 75e6, 40e6,
     "<= 75 ms", "<= 40 ms"},
    {"the same, disk cache", "kernels/disk-cache", "runnel", NULL, 0.3e6, 0,
     "<= 0.3 ms", ""},
    {"100 kernels, 2 threads", "kernels/compile-100", "runnel, 2 threads",
     "runnel, 1 thread", 1.8, 0, "1.8 x serial", ""},
    CUDA_LAUNCH("0"),
    CUDA_LAUNCH("3"),
    CUDA_LAUNCH("16"),
    CUDA_LAUNCH("64"),
    {"1000 kernels, new arguments", "cuda/chain/new-arguments",
     "runnel batched", "driver", 2.3, 2.7, "2.3 x faster", "2.7 x"},
    {"1000 kernels, equal ones", "cuda/chain/equal-arguments", "runnel batched",
     "driver", 0, 4.5, "", "4.5 x faster"},
    {"graph launch", "cuda/graph/launch", "runnel", "driver", 1 / 1.02, 0,
     "<= 1.02 x", ""},
    {"graph launch, to the end", "cuda/graph/replay", "runnel", "driver",
     1 / 1.02, 0, "<= 1.02 x", ""},
    {"small graph, to the end", "cuda/graph/replay-20", "runnel", "driver",
     1 / 1.02, 0, "<= 1.02 x", ""},
    {"allocate + free, 4 KiB", "cuda/allocate/4Ki", "runnel, on a stream",
     "cuMemAllocAsync", 5, 18, "5 x faster", "18 x"},
    {"allocate + free, 1 MiB", "cuda/allocate/1Mi", "runnel, on a stream",
     "cuMemAllocAsync", 5, 18, "5 x faster", "18 x"},
    {"event create + release", "cuda/event/create", "runnel", "driver", 6, 16,
     "6 x faster", "16 x"},
    {"event record", "cuda/event/record", "runnel", "driver", 1 / 1.1, 1,
     "<= 1.1 x", "<= 1 x"},
    {"event record behind work", "cuda/event/record-behind", "runnel", "driver",
     1 / 1.1, 1, "<= 1.1 x", "<= 1 x"},
    {"launch + event record", "cuda/event/launch-record", "runnel", "driver",
     1 / 1.03, 1 / 1.01, "<= 1.03 x", "<= 1.01 x"},
    {"event query", "cuda/event/query", "runnel", "driver", 1 / 1.1, 35,
     "<= 1.1 x", "35 x faster"},
    {"read back behind a kernel", "cuda/copy/from-device/4Ki-behind", "runnel",
     "driver", 1, 0, ">= 1.0 x", ""},
    CUDA_COPY("to-device/64Mi", 3.8),
    CUDA_COPY("to-device/256Mi", 3.8),
    CUDA_COPY("to-device/1Gi", 3.8),
    CUDA_COPY("from-device/64Mi", 2.5),
    CUDA_COPY("from-device/256Mi", 2.5),
    CUDA_COPY("from-device/1Gi", 2.5),
    {"device to device", "cuda/copy/device/256Mi", "runnel", "driver", 0.99, 0,
     ">= 0.99 x", ""},
    {"launch + synchronize", "cuda/launch-sync", "runnel", "driver", 1 / 1.02,
     0, "<= 1.02 x", ""},
    {"host function", "cuda/host-function", "runnel", "cuLaunchHostFunc", 3, 5,
     "3 x faster", "5 x"},
    {"8 threads", "cuda/launch-threads", "runnel", "driver", 1, 0, ">= 1.0 x",
     ""},
    {"8 threads, batched", "cuda/launch-threads", "runnel batched", "driver", 2,
     0, ">= 2 x", ""},
    {"source to function, cached", "cuda/compile", "runnel, disk cache", NULL,
     2e6, 0.3e6, "<= 2 ms", "<= 0.3 ms"},
    {"one-step launch, extra", "cuda/one-step", "runnel", NULL, 200, 40,
     "<= 200 ns", "<= 40 ns"},
};

const size_t goal_count = sizeof goals / sizeof *goals;

static const bench_row *find_row(const bench_run *bench, const char *name)
{
    for (size_t i = 0; i < bench->row_count; i++) {
        if (!strcmp(bench->rows[i].plan->name, name))
            return &bench->rows[i];
    }
    return NULL;
}

static double middle(const bench_series *series)
{
    return stats_quantile(series->samples, series->sample_count, 0.5);
}

static const bench_series *find_series(const bench_row *row, const char *name)
{
    for (size_t i = 0; i < row->series_count; i++) {
        const bench_series *series = &row->series[i];
        if (!series->note[0] && !strcmp(series->name, name))
            return series;
    }
    return NULL;
}

static const bench_series *find_fastest(const bench_row *row)
{
    const bench_series *best = NULL;
    for (size_t i = 0; i < row->series_count; i++) {
        const bench_series *series = &row->series[i];
        if (!series->note[0] && strncmp(series->name, "runnel", 6) &&
            (!best || middle(series) < middle(best)))
            best = series;
    }
    return best;
}

static bool reaches(const bench_goal *goal, const goal_result *result,
                    double target)
{
    if (target == 0)
        return false;
    return goal->peer ? result->ratio.median >= target
                      : result->own_ns <= target;
}

static void judge(const bench_goal *goal, goal_result *result)
{
    bool first = reaches(goal, result, goal->first);
    bool beyond = reaches(goal, result, goal->beyond);
    result->verdict = beyond ? "beyond" : first ? "met" : "not met";
    double nearest = first && goal->beyond > 0 ? goal->beyond : goal->first;
    if (!goal->first)
        nearest = goal->beyond;
    result->in_noise = goal->peer && result->ratio.low < nearest &&
                       result->ratio.high > nearest;
}

bool goal_evaluate(const bench_run *bench, const bench_goal *goal,
                   goal_result *out)
{
    *out = (goal_result){.verdict = "not measured"};
    const bench_row *row = find_row(bench, goal->row);
    if (!row)
        return false;
    out->own = find_series(row, goal->own);
    if (goal->peer)
        out->peer = *goal->peer == '*' ? find_fastest(row)
                                       : find_series(row, goal->peer);
    if (out->own) {
        const bench_series *own = out->own;
        out->own_ns = middle(own);
        out->own_q25 = stats_quantile(own->rounds, own->round_count, 0.25);
        out->own_q75 = stats_quantile(own->rounds, own->round_count, 0.75);
    }
    if (out->peer)
        out->peer_ns = middle(out->peer);
    if (out->own && out->peer) {
        out->ratio = stats_compare(out->peer->rounds, out->own->rounds,
                                   out->own->round_count);
    }
    if (out->own && (!goal->peer || out->ratio.known))
        judge(goal, out);
    return true;
}
