// The results of `runnel run`.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "json.h"
#include "output.h"
#include "run.h"

// Elements of each buffer that are printed when nothing is asked for.
enum { DEFAULT_ELEMENTS = 16 };

// --- Fetching ---------------------------------------------------------------

static int fetch_one(struct run *run, size_t index,
                     const struct print_range *range)
{
    const struct argument *argument = &run->options.arguments[index];
    size_t size = argument->type->size;
    size_t end = range->end < argument->count ? range->end : argument->count;
    size_t first = range->first < end ? range->first : end;
    struct result *result = &run->results[run->result_count];
    *result = (struct result){index, first, end - first, NULL};
    result->data = malloc(result->count ? result->count * size : 1);
    if (!result->data) {
        complain("there is no memory left");
        return EXIT_FAILED;
    }
    run->result_count++;
    rnl_status status = rnl_copy_from_buffer_and_wait(
        run->stream, result->data, run->buffers[index], first * size,
        result->count * size);
    return status == RNL_OK ? EXIT_OK : complain_failure(status);
}

// The buffers that `range` is about.
static int fetch_range(struct run *run, const struct print_range *range)
{
    int code = EXIT_OK;
    for (size_t i = 0; code == EXIT_OK && i < run->options.argument_count; i++)
        if (run->options.arguments[i].is_buffer &&
            (!range->one_argument || range->argument == i))
            code = fetch_one(run, i, range);
    return code;
}

int run_fetch(struct run *run)
{
    const struct print_range all = {.end = DEFAULT_ELEMENTS};
    const struct run_options *options = &run->options;
    size_t most = (options->range_count + 1) * (options->argument_count + 1);
    run->results = calloc(most, sizeof *run->results);
    if (!run->results) {
        complain("there is no memory left");
        return EXIT_FAILED;
    }
    if (options->range_count == 0)
        return fetch_range(run, &all);
    int code = EXIT_OK;
    for (size_t i = 0; code == EXIT_OK && i < options->range_count; i++)
        code = fetch_range(run, &options->ranges[i]);
    return code;
}

// --- Printing ---------------------------------------------------------------

static int compare_times(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void print_times(const struct run *run)
{
    uint64_t count = run->options.repeat;
    char min[UNIT_TEXT_SIZE], median[UNIT_TEXT_SIZE], max[UNIT_TEXT_SIZE];
    unit_time(run->times[0], min);
    unit_time(run->times[count / 2], median);
    unit_time(run->times[count - 1], max);
    if (count == 1)
        print_row("Time", "%s", min);
    else
        print_row("Time", "min %s, median %s, max %s of %" PRIu64 " launches",
                  min, median, max, count);
}

static void print_values(const struct argument *argument,
                         const struct result *result)
{
    int column = 0;
    for (size_t i = 0; i < result->count; i++) {
        char text[VALUE_TEXT_SIZE];
        value_print(argument->type, result->data + i * argument->type->size,
                    text);
        int width = (int)strlen(text);
        if (column && column + 1 + width > PAGE_WIDTH) {
            putchar('\n');
            column = 0;
        }
        column += printf("%s%s", column ? " " : "    ", text);
    }
    if (column)
        putchar('\n');
}

static void print_result(const struct run *run, const struct result *result)
{
    const struct argument *argument =
        &run->options.arguments[result->argument];
    char name[48];
    snprintf(name, sizeof name, "Argument %zu", result->argument + 1);
    if (result->count == 0)
        print_row(name, "%s[%zu], no elements", argument->type->name,
                  argument->count);
    else
        print_row(name, "%s[%zu], elements %zu to %zu", argument->type->name,
                  argument->count, result->first,
                  result->first + result->count - 1);
    print_values(argument, result);
}

static void print_text(const struct run *run, const rnl_device_info *info)
{
    const struct run_options *options = &run->options;
    char name[32];
    device_name(info, name, sizeof name);
    print_painted(PAINT_TITLE, "%s", options->function);
    putchar('\n');
    print_row("Device", "%s, %s", name, info->name);
    print_row("Grid", "%u x %u x %u", options->grid.x, options->grid.y,
              options->grid.z);
    print_row("Block", "%u x %u x %u", options->block.x, options->block.y,
              options->block.z);
    print_times(run);
    for (size_t i = 0; i < run->result_count; i++)
        print_result(run, &run->results[i]);
}

// --- JSON -------------------------------------------------------------------

static void json_result(struct json *json, const struct run *run,
                        const struct result *result)
{
    const struct argument *argument =
        &run->options.arguments[result->argument];
    const struct value_type *type = argument->type;
    json_begin(json, NULL, '{');
    json_unsigned(json, "argument", result->argument + 1);
    json_string(json, "type", type->name);
    json_unsigned(json, "count", argument->count);
    json_unsigned(json, "first", result->first);
    json_begin(json, "values", '[');
    for (size_t i = 0; i < result->count; i++) {
        char text[VALUE_TEXT_SIZE];
        value_print(type, result->data + i * type->size, text);
        json_number(json, NULL, text);
    }
    json_end(json, ']');
    json_end(json, '}');
}

static void print_json(const struct run *run, const rnl_device_info *info)
{
    const struct run_options *options = &run->options;
    struct json json = {0};
    char name[32];
    device_name(info, name, sizeof name);
    json_begin(&json, NULL, '{');
    json_string(&json, "device", name);
    json_string(&json, "device_name", info->name);
    json_string(&json, "function", options->function);
    json_dim3(&json, "grid", options->grid);
    json_dim3(&json, "block", options->block);
    json_unsigned(&json, "launches", options->repeat);
    json_unsigned(&json, "min_ns", run->times[0]);
    json_unsigned(&json, "median_ns", run->times[options->repeat / 2]);
    json_unsigned(&json, "max_ns", run->times[options->repeat - 1]);
    json_begin(&json, "buffers", '[');
    for (size_t i = 0; i < run->result_count; i++)
        json_result(&json, run, &run->results[i]);
    json_end(&json, ']');
    json_end(&json, '}');
}

int run_report(struct run *run)
{
    rnl_device device;
    rnl_device_info info = {.struct_size = sizeof info};
    rnl_status status = rnl_context_device(run->context, &device);
    if (status == RNL_OK)
        status = rnl_device_get_info(device, &info);
    if (status != RNL_OK)
        return complain_failure(status);
    qsort(run->times, run->options.repeat, sizeof *run->times, compare_times);
    if (run->options.json)
        print_json(run, &info);
    else
        print_text(run, &info);
    return EXIT_OK;
}
