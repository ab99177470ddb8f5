#include "report.h"

#include "goals.h"
#include "stats.h"

#ifdef BENCH_HAVE_CJSON

#include <cjson/cJSON.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static cJSON *ratio_object(const stats_ratio *ratio)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddNumberToObject(object, "median", ratio->median);
    cJSON_AddNumberToObject(object, "q25", ratio->q25);
    cJSON_AddNumberToObject(object, "q75", ratio->q75);
    cJSON_AddNumberToObject(object, "low95", ratio->low);
    cJSON_AddNumberToObject(object, "high95", ratio->high);
    return object;
}

static cJSON *series_object(const bench_series *series)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "name", series->name);
    if (series->note[0]) {
        cJSON_AddStringToObject(object, series->wrong ? "wrong" : "skipped",
                                series->note);
        return object;
    }
    if (series->with[0])
        cJSON_AddStringToObject(object, "with", series->with);
    static const struct {
        const char *name;
        double fraction;
    } quantiles[] = {{"p50_ns", 0.5}, {"p90_ns", 0.9}, {"p99_ns", 0.99}};
    for (size_t i = 0; i < 3; i++)
        cJSON_AddNumberToObject(object, quantiles[i].name,
                                stats_quantile(series->samples,
                                               series->sample_count,
                                               quantiles[i].fraction));
    cJSON_AddNumberToObject(object, "samples", (double)series->sample_count);
    cJSON_AddItemToObject(
        object, "round_medians_ns",
        cJSON_CreateDoubleArray(series->rounds, (int)series->round_count));
    return object;
}

static cJSON *row_object(const bench_row *row)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "name", row->plan->name);
    cJSON_AddStringToObject(object, "what", row->plan->what);
    if (row->plan->bytes > 0)
        cJSON_AddNumberToObject(object, "bytes", row->plan->bytes);
    cJSON *series = cJSON_AddArrayToObject(object, "series");
    for (size_t i = 0; i < row->series_count; i++)
        cJSON_AddItemToArray(series, series_object(&row->series[i]));
    return object;
}

static cJSON *goal_object(const bench_goal *goal, const goal_result *result)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "what", goal->what);
    cJSON_AddStringToObject(object, "row", goal->row);
    cJSON_AddStringToObject(object, "own", goal->own);
    if (result->peer)
        cJSON_AddStringToObject(object, "peer", result->peer->name);
    cJSON_AddStringToObject(object, "goal", goal->first_text);
    cJSON_AddStringToObject(object, "beyond", goal->beyond_text);
    if (result->own)
        cJSON_AddNumberToObject(object, "own_ns", result->own_ns);
    if (result->peer)
        cJSON_AddNumberToObject(object, "peer_ns", result->peer_ns);
    if (result->ratio.known)
        cJSON_AddItemToObject(object, "ratio", ratio_object(&result->ratio));
    cJSON_AddStringToObject(object, "verdict", result->verdict);
    cJSON_AddBoolToObject(object, "in_noise", result->in_noise);
    return object;
}

static void add_peer(cJSON *peers, const char *name, const char *absent,
                     const char *text)
{
    char value[280];
    snprintf(value, sizeof value, "%s%s", absent ? "skipped: " : "",
             absent ? absent : text);
    cJSON_AddStringToObject(peers, name, value);
}

static cJSON *machine_object(const bench_machine *machine)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "cpu", machine->cpu);
    cJSON_AddNumberToObject(object, "cores", (double)machine->cores);
    cJSON_AddStringToObject(object, "kernel", machine->kernel);
    cJSON_AddStringToObject(object, "compiler", machine->compiler);
    cJSON_AddStringToObject(object, "huge_pages", machine->huge_pages);
    cJSON_AddStringToObject(object, "settings", machine->settings);
    cJSON_AddNumberToObject(object, "load", machine->load);
    cJSON_AddBoolToObject(object, "busy", machine_is_busy(machine));
    return object;
}

static cJSON *document(const bench_run *bench, const bench_machine *machine)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddNumberToObject(root, "runnel_version", rnl_version());
    cJSON_AddBoolToObject(root, "quick", bench->quick);
    cJSON_AddItemToObject(root, "machine", machine_object(machine));
    cJSON *peers = cJSON_AddObjectToObject(root, "peers");
    add_peer(peers, "pocl", bench->no_pocl,
             bench->pocl ? bench->pocl->version : "");
    add_peer(peers, "intel", bench->no_intel,
             bench->intel ? bench->intel->version : "");
    add_peer(peers, "openmp", bench->no_openmp, "present");
    add_peer(peers, "openmp passive", bench->no_passive, "present");
    cJSON *rows = cJSON_AddArrayToObject(root, "rows");
    for (size_t i = 0; i < bench->row_count; i++)
        cJSON_AddItemToArray(rows, row_object(&bench->rows[i]));
    cJSON *list = cJSON_AddArrayToObject(root, "goals");
    for (size_t i = 0; i < goal_count; i++) {
        goal_result result;
        if (goal_evaluate(bench, &goals[i], &result))
            cJSON_AddItemToArray(list, goal_object(&goals[i], &result));
    }
    return root;
}

static bool write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    bool good = file && fputs(text, file) >= 0 && fputc('\n', file) >= 0;
    if (file && fclose(file))
        good = false;
    if (!good)
        fprintf(stderr, "runnel-bench: %s: %s\n", path, strerror(errno));
    return good;
}

bool report_json(const bench_run *bench, const bench_machine *machine,
                 const char *path)
{
    cJSON *root = document(bench, machine);
    char *text = cJSON_Print(root);
    bool good = text && write_file(path, text);
    cJSON_free(text);
    cJSON_Delete(root);
    return good;
}

#else

bool report_json(const bench_run *bench, const bench_machine *machine,
                 const char *path)
{
    (void)bench, (void)machine;
    fprintf(stderr, "runnel-bench: %s is not written: built without cJSON\n",
            path);
    return false;
}

#endif
