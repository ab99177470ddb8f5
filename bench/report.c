#include "report.h"

#include "goals.h"
#include "stats.h"

#include <string.h>

enum { CELL = 48 };

// --- Cells -----------------------------------------------------------------

// Padded by what the reader sees: "µ" is two bytes and one column.
static void put(const char *text, int width)
{
    int columns = 0;
    for (const char *at = text; *at; at++)
        columns += ((unsigned char)*at & 0xc0) != 0x80;
    int padding = (width < 0 ? -width : width) - columns;
    if (width > 0 && padding > 0)
        printf("%*s", padding, "");
    printf("%s", text);
    if (width < 0 && padding > 0)
        printf("%*s", padding, "");
}

static const char *format_time(char *cell, double ns)
{
    static const char *const units[] = {"ns", "µs", "ms", "s"};
    int unit = 0;
    while (unit < 3 && ns >= 1000) {
        ns /= 1000;
        unit++;
    }
    int digits = ns < 10 ? 2 : ns < 100 ? 1 : 0;
    snprintf(cell, CELL, "%.*f %s", digits, ns, units[unit]);
    return cell;
}

static const char *format_ratio(char *cell, double ratio)
{
    int digits = ratio < 0.1 ? 3 : ratio < 10 ? 2 : ratio < 100 ? 1 : 0;
    snprintf(cell, CELL, "%.*f", digits, ratio);
    return cell;
}

static const char *format_range(char *cell, double low, double high)
{
    char first[CELL], last[CELL];
    snprintf(cell, CELL, "%.15s..%.15s", format_ratio(first, low),
             format_ratio(last, high));
    return cell;
}

// --- Rows ------------------------------------------------------------------

static const bench_series *first_own(const bench_row *row)
{
    for (size_t i = 0; i < row->series_count; i++) {
        if (!strncmp(row->series[i].name, "runnel", 6) &&
            !row->series[i].note[0])
            return &row->series[i];
    }
    return NULL;
}

static void put_series(const bench_row *row, const bench_series *series)
{
    const bench_series *own = first_own(row);
    char cell[CELL];
    printf("  ");
    put(series->name, -22);
    if (series->note[0]) {
        printf("  %s%s\n",
               series->wrong ? "WRONG: " : "skipped: ", series->note);
        return;
    }
    if (!series->sample_count) {
        printf("  not timed\n");
        return;
    }
    double p50 = stats_quantile(series->samples, series->sample_count, 0.5);
    double p90 = stats_quantile(series->samples, series->sample_count, 0.9);
    put(format_time(cell, p50), 10);
    put(format_time(cell, p90), 10);
    if (row->plan->bytes > 0)
        snprintf(cell, sizeof cell, "%.1f GB/s", row->plan->bytes / p50);
    put(row->plan->bytes > 0 ? cell : "", 11);
    if (own && own != series) {
        stats_ratio ratio =
            stats_compare(series->rounds, own->rounds, own->round_count);
        if (ratio.known) {
            put(format_ratio(cell, ratio.median), 9);
            put(format_range(cell, ratio.q25, ratio.q75), 15);
            put(format_range(cell, ratio.low, ratio.high), 15);
        }
    }
    printf("%s%s\n", series->with[0] ? "  " : "", series->with);
}

void report_titles(void)
{
    put("", -24);
    put("p50", 10);
    put("p90", 10);
    put("", 11);
    put("ratio", 9);
    put("quartiles", 15);
    put("95 %", 15);
    printf("\n");
    fflush(stdout);
}

void report_row(const bench_row *row)
{
    printf("%s: %s\n", row->plan->name, row->plan->what);
    for (size_t k = 0; k < row->series_count; k++)
        put_series(row, &row->series[k]);
    fflush(stdout);
}

void report_end_of_rows(void)
{
    printf("\nratio: time of that line / time of the row's first runnel line, "
           "median of the rounds.\n");
}

// --- Goals -----------------------------------------------------------------

static void put_goal_figures(const bench_goal *goal, const goal_result *result)
{
    char cell[CELL], low[CELL], high[CELL];
    put(result->own ? format_time(cell, result->own_ns) : "-", 10);
    put(result->peer ? format_time(cell, result->peer_ns) : "-", 10);
    put(result->ratio.known ? format_ratio(cell, result->ratio.median) : "-",
        8);
    if (result->ratio.known) {
        put(format_range(cell, result->ratio.q25, result->ratio.q75), 19);
    } else if (result->own && !goal->peer) {
        snprintf(cell, sizeof cell, "%.20s..%.20s",
                 format_time(low, result->own_q25),
                 format_time(high, result->own_q75));
        put(cell, 19);
    } else {
        put("-", 19);
    }
}

void report_goals(const bench_run *bench)
{
    static const char *const titles[] = {"what",   "runnel", "peer",   "ratio",
                                         "spread", "  goal", "beyond", ""};
    static const int widths[] = {-29, 10, 10, 8, 19, -19, -12, 0};
    printf("\n");
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        put(titles[i], widths[i]);
    printf("\n");
    for (size_t i = 0; i < goal_count; i++) {
        goal_result result;
        if (!goal_evaluate(bench, &goals[i], &result))
            continue;
        put(goals[i].what, -29);
        put_goal_figures(&goals[i], &result);
        printf("  ");
        put(goals[i].first_text, -17);
        put(goals[i].beyond_text, -12);
        printf("%s%s\n", result.verdict,
               result.in_noise ? " (within the noise)" : "");
    }
    if (bench->quick)
        printf("\nA quick run: good for a look, not for quoting.\n");
}

// --- Header ----------------------------------------------------------------

static void put_peer(const char *name, const char *absent, const char *text)
{
    printf("  %-16s%s%s\n", name, absent ? "skipped: " : "",
           absent ? absent : text);
}

static void put_opencl(const char *name, const char *absent,
                       const opencl_peer *peer)
{
    char text[240] = "";
    if (peer)
        snprintf(text, sizeof text, "%s, waits by %s", peer->version,
                 peer->wait_way);
    put_peer(name, absent, text);
}

static void put_device(const char *version)
{
    rnl_device_info info = {.struct_size = sizeof info};
    bool known = !rnl_device_get_info(bench_device(), &info);
    printf("  %-16s%s\n", "runnel", version);
    if (known)
        printf("  %-16s%s, driver for %d.%d\n\n", bench_device_name(),
               info.name, info.driver_version / 1000,
               info.driver_version % 1000 / 10);
    else
        printf("  %-16sskipped: %s\n\n", bench_device_name(),
               rnl_last_error()->message);
}

void report_header(const bench_run *bench, const bench_machine *machine)
{
    char text[CELL];
    int version = rnl_version();
    printf("%s, %ld cores, Linux %s, %s, huge pages %s\n", machine->cpu,
           machine->cores, machine->kernel, machine->compiler,
           machine->huge_pages);
    if (*machine->settings)
        printf("settings: %s\n", machine->settings);
    snprintf(text, sizeof text, "%d.%d.%d", version / 10000,
             version / 100 % 100, version % 100);
    if (!bench->on_cpu) {
        put_device(text);
        return;
    }
    put_peer("runnel", bench_reason(bench->runnel.no_native), text);
    put_peer("runnel source", bench_reason(bench->runnel.no_source), text);
    put_opencl("pocl", bench->no_pocl, bench->pocl);
    put_opencl("intel", bench->no_intel, bench->intel);
    snprintf(text, sizeof text, "%d threads",
             bench->openmp ? bench->openmp->threads() : 0);
    put_peer("openmp", bench->no_openmp, text);
    put_peer("openmp passive", bench->no_passive, "in a process of its own");
    if (machine_is_busy(machine))
        printf("The machine was busy (load %.2f): these figures are not to "
               "be quoted.\n",
               machine->load);
    printf("\n");
}
