// `runnel run`: compiles a kernel file and launches one of its kernels.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "run.h"

static int out_of_memory(void)
{
    complain("there is no memory left");
    return EXIT_FAILED;
}

// --- The source -------------------------------------------------------------

static int read_source(struct run *run)
{
    int code = source_read(run->options.file, &run->source, &run->size);
    // Text has no zero bytes, binaries do.
    run->binary = code == EXIT_OK && strlen(run->source) != run->size;
    if (run->binary && run->options.compiles)
        return complain("'%s' is a binary: options for the compiler come too "
                        "late", run->options.file);
    return code;
}

// --- The function -----------------------------------------------------------

// Whether a name is more than an identifier: the instance of a template, or
// something in a namespace.
static bool is_expression(const char *name)
{
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && *name != '_')
            return true;
    return false;
}

static int compile(struct run *run)
{
    const struct run_options *options = &run->options;
    bool expression =
        options->function && is_expression(options->function);
    rnl_module_options module = {
        .struct_size = sizeof module,
        .name = source_name(options->file),
        .options = (const char *const *)options->compiler.items,
        .option_count = options->compiler.count,
        .name_expressions = expression ? &options->function : NULL,
        .name_expression_count = expression,
        .dump = dump_ask(&run->options.dump),
    };
    rnl_status status =
        rnl_module_compile(run->context, run->source, &module, &run->module);
    int code = dump_finish(&run->options.dump);
    if (status != RNL_OK)
        return code != EXIT_OK ? code : complain_failure(status);
    const char *log = "";
    if (rnl_module_log(run->module, &log) == RNL_OK)
        write_log(stderr, log);
    return EXIT_OK;
}

static int load_module(struct run *run)
{
    int code = EXIT_OK;
    rnl_status status = RNL_OK;
    if (run->binary)
        status = rnl_module_load(run->context, run->source, run->size,
                                 source_name(run->options.file),
                                 &run->module);
    else
        code = compile(run);
    return status == RNL_OK ? code : complain_failure(status);
}

static int find_function(struct run *run)
{
    rnl_status status = rnl_module_function(
        run->module, run->options.function, &run->function);
    return status == RNL_OK ? EXIT_OK : complain_failure(status);
}

// --- The arguments ----------------------------------------------------------

static int create_buffer(struct run *run, size_t index)
{
    const struct argument *argument = &run->options.arguments[index];
    size_t size = argument_size(argument);
    rnl_status status = rnl_buffer_create(
        run->context, size,
        RNL_BUFFER_OPTIONS(.element = value_element(argument->type)),
        &run->buffers[index]);
    if (status != RNL_OK)
        return complain_failure(status);
    void *data = malloc(size ? size : 1);
    if (!data)
        return out_of_memory();
    int code = argument_fill(argument, data) ? EXIT_OK : EXIT_USAGE;
    if (code == EXIT_OK)
        status = rnl_copy_to_buffer_and_wait(run->stream, run->buffers[index],
                                             0, data, size);
    free(data);
    return status == RNL_OK ? code : complain_failure(status);
}

static int create_buffers(struct run *run)
{
    size_t count = run->options.argument_count;
    run->buffers = calloc(count + 1, sizeof *run->buffers);
    if (!run->buffers)
        return out_of_memory();
    int code = EXIT_OK;
    for (size_t i = 0; code == EXIT_OK && i < count; i++)
        if (run->options.arguments[i].is_buffer)
            code = create_buffer(run, i);
    return code;
}

static rnl_arg launch_argument(const struct run *run, size_t index)
{
    const struct argument *argument = &run->options.arguments[index];
    if (argument->is_buffer)
        return rnl_arg_of_buffer(run->buffers[index]);
    if (!argument->type)
        return rnl_arg_of_pointer(NULL);
    bool floating = argument->type->class == VALUE_FLOATING;
    rnl_arg result = {
        .kind = floating ? RNL_VALUE_FLOAT : RNL_VALUE_INTEGER,
        .size = (uint32_t)argument->type->size,
    };
    memcpy(&result.value, argument->value, argument->type->size);
    return result;
}

// --- The launches -----------------------------------------------------------

static rnl_status launch_once(struct run *run, const rnl_launch *launch,
                              const rnl_args *args, uint64_t *out_ns)
{
    rnl_status status = rnl_enqueue_event_record(run->stream, run->start);
    if (status == RNL_OK)
        status =
            rnl_enqueue_function(run->stream, run->function, launch, args);
    if (status == RNL_OK)
        status = rnl_enqueue_event_record(run->stream, run->end);
    if (status == RNL_OK)
        status = rnl_stream_synchronize(run->stream, run->options.timeout_ns);
    if (status == RNL_OK)
        status = rnl_event_elapsed(run->start, run->end, out_ns);
    return status;
}

static int launch_all(struct run *run, const rnl_args *args)
{
    const struct run_options *options = &run->options;
    rnl_launch launch = {
        .struct_size = sizeof launch,
        .grid = options->grid,
        .block = options->block,
        .cluster = options->cluster,
        .shared_size = options->shared_size,
    };
    rnl_status status = RNL_OK;
    for (uint64_t i = 0; status == RNL_OK && i < options->repeat; i++)
        status = launch_once(run, &launch, args, &run->times[i]);
    return status == RNL_OK ? EXIT_OK : complain_failure(status);
}

static int launch(struct run *run)
{
    size_t count = run->options.argument_count;
    rnl_status status = rnl_event_create(
        run->context, RNL_EVENT_OPTIONS(.timing = true), &run->start);
    if (status == RNL_OK)
        status = rnl_event_create(
            run->context, RNL_EVENT_OPTIONS(.timing = true), &run->end);
    if (status != RNL_OK)
        return complain_failure(status);
    run->times = calloc(run->options.repeat, sizeof *run->times);
    rnl_arg *items = calloc(count + 1, sizeof *items);
    int code = EXIT_OK;
    if (!run->times || !items)
        code = out_of_memory();
    for (size_t i = 0; code == EXIT_OK && i < count; i++)
        items[i] = launch_argument(run, i);
    rnl_args args = {sizeof args, count, items};
    if (code == EXIT_OK)
        code = launch_all(run, &args);
    free(items);
    return code;
}

// --- The command ------------------------------------------------------------

static int open_context(struct run *run)
{
    int code = open_device(run->options.device, &run->context);
    if (code != EXIT_OK)
        return code;
    rnl_status status = rnl_context_default_stream(run->context, &run->stream);
    return status == RNL_OK ? EXIT_OK : complain_failure(status);
}

static void run_free(struct run *run)
{
    for (size_t i = 0; i < run->result_count; i++)
        free(run->results[i].data);
    free(run->results);
    free(run->times);
    rnl_event_release(run->start);
    rnl_event_release(run->end);
    for (size_t i = 0; run->buffers && i < run->options.argument_count; i++)
        rnl_buffer_release(run->buffers[i]);
    free(run->buffers);
    rnl_function_release(run->function);
    rnl_module_release(run->module);
    rnl_context_release(run->context);
    free(run->source);
    run_options_free(&run->options);
}

int command_run(int argc, char **argv)
{
    static int (*const launches[])(struct run *) = {
        read_source,    open_context, load_module, find_function,
        create_buffers, launch,       run_fetch,   run_report, NULL,
    };
    static int (*const lists[])(struct run *) = {
        read_source, open_context, load_module, run_list, NULL,
    };
    struct run run = {0};
    bool done;
    int code = run_options_read(&run.options, argc, argv, &done);
    int (*const *steps)(struct run *) = run.options.list ? lists : launches;
    for (; code == EXIT_OK && !done && *steps; steps++)
        code = (*steps)(&run);
    run_free(&run);
    return code;
}
