// runnel-bench: Runnel and its peers, side by side in one run.
#include "harness.h"
#include "machine.h"
#include "report.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const bench_case *const cases[] = {
    &enqueue_case, &launch_sync_case,   &axpy_case, &event_case,
    &buffer_case, &host_function_case, &value_wait_case, &copy_case,
    &handle_check_case, &idle_case, &kernels_case, &compile_case, &graph_case,
    &streams_case,
};

enum { CASES = sizeof cases / sizeof *cases };

static const char usage[] =
    "Usage: runnel-bench [OPTION]...\n"
    "Measures Runnel beside PoCL, OpenMP and memcpy, interleaved in one run, "
    "and prints\nwhat each took, the ratios with their spread, and the "
    "goals.\n"
    "\n"
    "  --quick        fewer rounds: under a minute, not for quoting\n"
    "  --filter WORD  only rows whose name has WORD in it\n"
    "  --json FILE    also write everything to FILE\n"
    "  --list         print the rows and measure nothing\n"
    "  --help         print this\n"
    "\n"
    "Exit status: 0; 1 when a variant failed or gave a wrong result; 2 when "
    "an option\nis wrong. A goal that is not met is no failure.\n";

// --- Options ---------------------------------------------------------------

typedef struct bench_options {
    bool quick, list, help, wrong;
    const char *filter, *json;
} bench_options;

static bench_options read_options(int count, char **arguments)
{
    static const struct option known[] = {
        {"quick", no_argument, NULL, 'q'},
        {"filter", required_argument, NULL, 'f'},
        {"json", required_argument, NULL, 'j'},
        {"list", no_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    bench_options result = {.filter = ""};
    int option;
    while ((option = getopt_long(count, arguments, "", known, NULL)) != -1) {
        switch (option) {
        case 'q': result.quick = true; break;
        case 'f': result.filter = optarg; break;
        case 'j': result.json = optarg; break;
        case 'l': result.list = true; break;
        case 'h': result.help = true; break;
        default: result.wrong = true; break;
        }
    }
    if (optind < count) {
        fprintf(stderr, "runnel-bench: what is '%s'?\n", arguments[optind]);
        result.wrong = true;
    }
    return result;
}

// --- Rows ------------------------------------------------------------------

static size_t each_row(bench_run *bench, void (*run)(bench_run *bench,
                                                 const bench_case *which,
                                                 const bench_plan *plan))
{
    size_t count = 0;
    for (size_t i = 0; i < CASES; i++) {
        for (size_t k = 0; k < cases[i]->plan_count; k++) {
            const bench_plan *plan = &cases[i]->plans[k];
            if (!strstr(plan->name, bench->filter))
                continue;
            if (run)
                run(bench, cases[i], plan);
            count++;
        }
    }
    return count;
}

static void list_row(bench_run *bench, const bench_case *which,
                     const bench_plan *plan)
{
    (void)bench, (void)which;
    printf("%-22s%s\n", plan->name, plan->what);
}

static void run_row(bench_run *bench, const bench_case *which,
                    const bench_plan *plan)
{
    which->run(bench, plan);
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

static int measure(bench_run *bench, const char *json)
{
    bench_machine machine;
    machine_describe(&machine);
    // The child first, while this process has no other thread.
    bench->passive = process_peer_start(&bench->no_passive);
    bench_runnel_open(&bench->runnel);
    bench->pocl = pocl_peer_open(&bench->no_pocl);
    bench->openmp = openmp_peer_open(&bench->no_openmp);
    report_header(bench, &machine);
    fflush(stdout);
    each_row(bench, run_row);
    report_rows(bench);
    report_goals(bench);
    bool written = !json || report_json(bench, &machine, json);
    int status = any_wrong(bench) || !written;
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
    bench_run bench = {
        .quick = options.quick,
        .filter = options.filter,
        .progress = isatty(STDERR_FILENO),
    };
    if (options.wrong || options.help) {
        fputs(usage, options.wrong ? stderr : stdout);
        return options.wrong ? 2 : 0;
    }
    if (!each_row(&bench, options.list ? list_row : NULL)) {
        fprintf(stderr, "runnel-bench: no row has '%s' in its name\n",
                options.filter);
        return 2;
    }
    return options.list ? 0 : measure(&bench, options.json);
}
