// The operations of a backend for GPUs, on a driver that does nothing:
// still_cuda.c or still_hip.c. GUARD_API is the backend, GUARD_DRIVER and
// GUARD_COMPILER are the variables that name the driver's file.
#include "run.h"

#include <stdio.h>
#include <stdlib.h>

enum { KERNELS = 4, ARGUMENTS = 64, NODES = 10 };

struct setup {
    rnl_context context;
    rnl_stream stream, other, batched;
    rnl_stream idle;  // has no order with the legacy default stream
    rnl_event event;
    rnl_function functions[KERNELS];
    rnl_graph_exec exec;
    rnl_arg items[ARGUMENTS];
    rnl_buffer from, to;
};

static const int argument_counts[KERNELS] = {0, 3, 16, 64};

static const char source[] =
    "extern \"C\" __global__ void args0() {}\n"
    "// and whatever else makes a source as long as a small one is: this one\n"
    "// is never compiled, since the compiler of a still driver always gives\n"
    "// the same. Its length counts, because it is compared.\n";

// --- Launches --------------------------------------------------------------

static rnl_status launch(const setup *with, rnl_stream stream, int kernel)
{
    return rnl_enqueue_function(
        stream, with->functions[kernel], RNL_LAUNCH(.grid = {1}, .block = {1}),
        &(rnl_args){sizeof(rnl_args), (size_t)argument_counts[kernel],
                    with->items});
}

static rnl_status launch_0(const setup *with)
{
    return launch(with, with->stream, 0);
}

static rnl_status launch_3(const setup *with)
{
    return launch(with, with->stream, 1);
}

static rnl_status launch_16(const setup *with)
{
    return launch(with, with->stream, 2);
}

static rnl_status launch_64(const setup *with)
{
    return launch(with, with->stream, 3);
}

static rnl_status launch_buffer(const setup *with)
{
    return rnl_enqueue_function(with->stream, with->functions[1],
                                RNL_LAUNCH(.grid = {1}, .block = {1}),
                                RNL_ARGS(with->from, 1, 1.0f));
}

static rnl_status launch_batched(const setup *with)
{
    return launch(with, with->batched, 1);
}

static rnl_status launch_synchronize(const setup *with)
{
    rnl_status status = launch_0(with);
    return status ? status : rnl_stream_synchronize(with->stream, RNL_FOREVER);
}

static rnl_status one_step(const setup *with)
{
    rnl_function function;
    rnl_status status =
        rnl_function_compile(with->context, source, "args0", NULL, &function);
    return status ? status : rnl_function_release(function);
}

// --- Events ----------------------------------------------------------------

static rnl_status create_release(const setup *with)
{
    rnl_event event;
    rnl_status status = rnl_event_create(with->context, NULL, &event);
    return status ? status : rnl_event_release(event);
}

static rnl_status record(const setup *with)
{
    return rnl_enqueue_event_record(with->stream, with->event);
}

static rnl_status record_idle(const setup *with)
{
    return rnl_enqueue_event_record(with->idle, with->event);
}

static rnl_status record_new(const setup *with)
{
    rnl_event event;
    rnl_status status = rnl_enqueue_event(with->stream, NULL, &event);
    return status ? status : rnl_event_release(event);
}

static rnl_status query(const setup *with)
{
    return rnl_event_query(with->event);
}

static rnl_status record_wait(const setup *with)
{
    rnl_status status = record(with);
    return status ? status : rnl_enqueue_wait_event(with->other, with->event);
}

// --- Memory and graphs -----------------------------------------------------

static rnl_status allocate_free(const setup *with)
{
    rnl_buffer buffer;
    rnl_status status =
        rnl_enqueue_buffer_create(with->stream, 4096, NULL, &buffer);
    return status ? status : rnl_buffer_release(buffer);
}

static rnl_status copy(const setup *with)
{
    return rnl_enqueue_copy_buffer(with->stream, with->to, 0, with->from, 0,
                                   4096);
}

// Waited for: when the service would give memory back is nobody's to say.
static rnl_status launch_graph(const setup *with)
{
    rnl_status status = rnl_enqueue_graph(with->stream, with->exec);
    return status ? status : rnl_stream_synchronize(with->stream, RNL_FOREVER);
}

// ---------------------------------------------------------------------------

static const guard_operation operations[] = {
    {"launch-0", launch_0, NULL, NULL, false},
    {"launch-3", launch_3, NULL, NULL, false},
    {"launch-16", launch_16, NULL, NULL, false},
    {"launch-64", launch_64, NULL, NULL, false},
    {"launch-buffer", launch_buffer, NULL, NULL, false},
    {"launch-batched", launch_batched, NULL, NULL, false},
    {"launch-synchronize", launch_synchronize, NULL, NULL, false},
    {"one-step", one_step, NULL, NULL, false},
    {"event-create-release", create_release, NULL, NULL, false},
    {"event-record", record, NULL, NULL, false},
    {"event-record-idle", record_idle, NULL, NULL, false},
    {"event-record-new", record_new, NULL, NULL, false},
    {"event-query", query, NULL, NULL, false},
    {"event-record-wait", record_wait, NULL, NULL, false},
    {"buffer-allocate-free", allocate_free, NULL, NULL, false},
    {"copy", copy, NULL, NULL, false},
    {"graph-launch-synchronize", launch_graph, NULL, NULL, false},
};

static rnl_status open_functions(setup *out)
{
    char name[16];
    rnl_status status = RNL_OK;
    for (int i = 0; i < KERNELS && !status; i++) {
        snprintf(name, sizeof name, "args%d", argument_counts[i]);
        status = rnl_function_compile(out->context, "", name, NULL,
                                      &out->functions[i]);
    }
    for (int i = 0; i < ARGUMENTS; i++)
        out->items[i] = i % 3 == 0   ? rnl_arg_of_pointer(out)
                        : i % 3 == 1 ? RNL_ARG(i)
                                     : RNL_ARG(0.5f);
    return status;
}

static rnl_status open_graph(setup *out)
{
    rnl_graph graph;
    rnl_node last = NULL;
    rnl_status status = rnl_graph_create(out->context, NULL, &graph);
    if (status)
        return status;
    for (int i = 0; i < NODES && !status; i++)
        status = rnl_graph_add_node(
            graph, &last, i > 0,
            RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = out->functions[0],
                     .launch = RNL_LAUNCH(.grid = {1}, .block = {1})),
            &last);
    if (!status)
        status = rnl_graph_instantiate(graph, &out->exec);
    rnl_graph_release(graph);
    return status;
}

static rnl_status open_all(setup *out)
{
    rnl_status status = rnl_context_open(GUARD_API, 0, NULL, &out->context);
    if (!status)
        status = rnl_stream_create(out->context, NULL, &out->stream);
    if (!status)
        status = rnl_stream_create(out->context, NULL, &out->other);
    if (!status)
        status = rnl_stream_create(
            out->context, RNL_STREAM_OPTIONS(.flags = RNL_STREAM_BATCHED),
            &out->batched);
    if (!status)
        status = rnl_stream_create(
            out->context, RNL_STREAM_OPTIONS(.flags = RNL_STREAM_NON_BLOCKING),
            &out->idle);
    if (!status)
        status = rnl_event_create(out->context, NULL, &out->event);
    if (!status)
        status = rnl_enqueue_buffer_create(out->stream, 4096, NULL, &out->from);
    if (!status)
        status = rnl_enqueue_buffer_create(out->stream, 4096, NULL, &out->to);
    if (!status)
        status = open_functions(out);
    if (!status)
        status = open_graph(out);
    if (!status)
        status = record(out);
    return status ? status : rnl_stream_synchronize(out->stream, RNL_FOREVER);
}

static void close_all(setup *with)
{
    rnl_graph_exec_release(with->exec);
    rnl_buffer_release(with->to);
    rnl_buffer_release(with->from);
    for (int i = 0; i < KERNELS; i++)
        rnl_function_release(with->functions[i]);
    rnl_event_release(with->event);
    rnl_stream_release(with->idle);
    rnl_stream_release(with->batched);
    rnl_stream_release(with->other);
    rnl_stream_release(with->stream);
    rnl_context_release(with->context);
}

int main(int count, char **arguments)
{
    static setup with;
    setenv(GUARD_DRIVER, GUARD_STILL, 1);
    setenv(GUARD_COMPILER, GUARD_STILL, 1);
    setenv("RUNNEL_CACHE_DISABLE", "1", 1);
    return guard_main(&(guard_program){operations,
                                       sizeof operations / sizeof *operations,
                                       &with, open_all, close_all},
                      count, arguments);
}
