// runnel-bench: Runnel and its peers, side by side in one run.
#include "cuda.h"
#include "harness.h"
#include "machine.h"
#include "report.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const bench_case *const cpu_cases[] = {
    &enqueue_case,
    &launch_sync_case,
    &axpy_case,
    &event_case,
    &buffer_case,
    &host_function_case,
    &value_wait_case,
    &copy_case,
    &handle_check_case,
    &idle_case,
    &kernels_case,
    &programs_case,
    &compile_case,
    &compile_all_case,
    &graph_case,
    &streams_case,
    &turns_case,
    &shares_case,
    &growth_case,
    NULL,
};

static const bench_case *const cuda_cases[] = {
    &cuda_launch_case, &cuda_event_case,   &cuda_memory_case,
    &cuda_graph_case,  &cuda_compile_case, NULL,
};

static bool on_cpu(void)
{
    return !strncmp(bench_device_name(), "cpu", 3);
}

static const char usage[] =
    "Usage: runnel-bench [OPTION]...\n"
    "Measures Runnel beside OpenCL, OpenMP and memcpy, interleaved in one run, "
    "and prints\nwhat each took, the ratios with their spread, and the "
    "goals.\n"
    "\n"
    "  --quick        fewer rounds: under a minute, not for quoting\n"
    "  --check        check the results of kernels and programs, and time "
    "neither\n"
    "  --device NAME  cpu:0, or cuda:0, …: the rows of that device\n"
    "  --filter WORD  only rows whose name has WORD in it\n"
    "  --row NAME     only the row of that name\n"
    "  --json FILE    also write everything to FILE\n"
    "  --list         print the rows and measure nothing\n"
    "  --help         print this\n"
    "\n"
    "Exit status: 0; 1 when a variant failed or gave a wrong result; 2 when "
    "an option\nis wrong. A goal that is not met is no failure.\n";

// --- Options ---------------------------------------------------------------

typedef struct bench_options {
    bool quick, check, list, help, wrong;
    const char *filter, *json, *row, *device;
} bench_options;

static bench_options read_options(int count, char **arguments)
{
    static const struct option known[] = {
        {"quick", no_argument, NULL, 'q'},
        {"check", no_argument, NULL, 'c'},
        {"device", required_argument, NULL, 'd'},
        {"filter", required_argument, NULL, 'f'},
        {"row", required_argument, NULL, 'r'},
        {"json", required_argument, NULL, 'j'},
        {"list", no_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    bench_options result = {.filter = ""};
    int option;
    while ((option = getopt_long(count, arguments, "", known, NULL)) != -1) {
        switch (option) {
        case 'q':
            result.quick = true;
            break;
        case 'c':
            result.check = true;
            break;
        case 'd':
            result.device = optarg;
            break;
        case 'f':
            result.filter = optarg;
            break;
        case 'r':
            result.row = optarg;
            break;
        case 'j':
            result.json = optarg;
            break;
        case 'l':
            result.list = true;
            break;
        case 'h':
            result.help = true;
            break;
        default:
            result.wrong = true;
            break;
        }
    }
    if (optind < count) {
        fprintf(stderr, "runnel-bench: what is '%s'?\n", arguments[optind]);
        result.wrong = true;
    }
    return result;
}

// --- Rows ------------------------------------------------------------------

static bool is_wanted(const bench_run *bench, const char *name)
{
    return strstr(name, bench->filter) &&
           (!bench->row || !strcmp(name, bench->row));
}

static size_t each_row(bench_run *bench,
                       void (*run)(bench_run *bench, const bench_case *which,
                                   const bench_plan *plan))
{
    const bench_case *const *one = bench->on_cpu ? cpu_cases : cuda_cases;
    size_t count = 0;
    for (; *one; one++) {
        for (size_t k = 0; k < (*one)->plan_count; k++) {
            const bench_plan *plan = &(*one)->plans[k];
            if (!is_wanted(bench, plan->name))
                continue;
            if (run)
                run(bench, *one, plan);
            count++;
        }
    }
    return count;
}

static void list_row(bench_run *bench, const bench_case *which,
                     const bench_plan *plan)
{
    (void)bench, (void)which;
    printf("%-33s %s\n", plan->name, plan->what);
}

static void run_row(bench_run *bench, const bench_case *which,
                    const bench_plan *plan)
{
    size_t first = bench->row_count;
    which->run(bench, plan);
    for (size_t i = first; i < bench->row_count; i++)
        report_row(&bench->rows[i]);
}

static bool any_wrong(const bench_run *bench)
{
    for (size_t i = 0; i < bench->row_count; i++) {
        for (size_t k = 0; k < bench->rows[i].series_count; k++) {
            if (bench->rows[i].series[k].wrong)
                return true;
        }
    }
    return false;
}

// --- A run -----------------------------------------------------------------

static void open_peers(bench_run *bench)
{
    // The child first, while this process has no other thread.
    bench->passive = process_peer_start(&bench->no_passive);
    bench_runnel_open(&bench->runnel);
    bench->pocl = opencl_peer_open(OPENCL_POCL, &bench->no_pocl);
    bench->intel = opencl_peer_open(OPENCL_INTEL, &bench->no_intel);
    bench->openmp = openmp_peer_open(&bench->no_openmp);
}

static int measure(bench_run *bench, const char *json)
{
    bench_machine machine;
    machine_describe(&machine);
    bench->no_pocl = bench->no_intel = bench->no_openmp = bench->no_passive =
        "for the cpu alone";
    if (bench->on_cpu)
        open_peers(bench);
    report_header(bench, &machine);
    report_titles();
    each_row(bench, run_row);
    if (!bench->check) {
        report_end_of_rows();
        report_goals(bench);
    }
    bool written = !json || report_json(bench, &machine, json);
    int status = any_wrong(bench) || !written;
    cuda_close();
    bench_runnel_close(&bench->runnel);
    process_peer_stop(bench->passive);
    bench_free_rows(bench);
    return status;
}

int main(int count, char **arguments)
{
    // The ways in which the program starts itself.
    if (count == 2 && !strcmp(arguments[1], "--serve-openmp"))
        return process_serve();
    if (count == 4 && !strcmp(arguments[1], "--idle-child"))
        return process_idle(arguments[2], (unsigned)atoi(arguments[3]));
    if (count == 2 && !strcmp(arguments[1], "--compile-child"))
        return process_compile(0);
    if (count == 3 && !strcmp(arguments[1], "--compile-child"))
        return process_compile(atoi(arguments[2]));

    bench_options options = read_options(count, arguments);
    if (options.device)
        setenv("RUNNEL_BENCH_DEVICE", options.device, 1);
    bench_run bench = {
        .quick = options.quick,
        .check = options.check,
        .on_cpu = on_cpu(),
        .filter = options.filter,
        .row = options.row,
        .progress = isatty(STDERR_FILENO),
    };
    if (options.wrong || options.help) {
        fputs(usage, options.wrong ? stderr : stdout);
        return options.wrong ? 2 : 0;
    }
    if (!each_row(&bench, options.list ? list_row : NULL)) {
        fprintf(stderr, "runnel-bench: %s has no row '%s'\n",
                bench_device_name(),
                options.row ? options.row : options.filter);
        return 2;
    }
    return options.list ? 0 : measure(&bench, options.json);
}
