// The cpu backend's operations.
#include "run.h"

#include <sched.h>
#include <stdatomic.h>

enum { MOST = 1500 };  // runs that guard.sh asks for

struct setup {
    rnl_context context;
    rnl_stream stream, other;
    rnl_event event;
    rnl_function function;
    rnl_buffer buffer;
    rnl_graph_exec exec;
    rnl_function hold;
};

static rnl_status empty_kernel(const rnl_native_call *call)
{
    (void)call;
    return RNL_OK;
}

// --- Events, launches, buffers ---------------------------------------------

static rnl_status query(const setup *with)
{
    return rnl_event_query(with->event);
}

static rnl_status record(const setup *with)
{
    return rnl_enqueue_event_record(with->stream, with->event);
}

static rnl_status enqueue(const setup *with)
{
    return rnl_enqueue_function(with->stream, with->function,
                                RNL_LAUNCH(.grid = {1}, .block = {1}),
                                RNL_NO_ARGS);
}

static rnl_status synchronize(const setup *with)
{
    return rnl_stream_synchronize(with->stream, RNL_FOREVER);
}

static rnl_status launch(const setup *with)
{
    rnl_status status = enqueue(with);
    return status ? status : synchronize(with);
}

static rnl_status create_release(const setup *with)
{
    rnl_buffer buffer;
    rnl_status status = rnl_buffer_create(with->context, 4096, NULL, &buffer);
    return status ? status : rnl_buffer_release(buffer);
}

// --- Waits -----------------------------------------------------------------

// The stream has nothing in it, or a kernel that cannot run yet.
static rnl_status wait_stream(const setup *with)
{
    return rnl_enqueue_wait_stream(with->other, with->stream);
}

static rnl_status wait_pending(const setup *with)
{
    rnl_status status = enqueue(with);
    return status ? status : wait_stream(with);
}

static rnl_status write_gate(const setup *with, uint32_t value)
{
    rnl_stream writer;
    rnl_status status = rnl_stream_create(with->context, NULL, &writer);
    if (!status)
        status = rnl_enqueue_write_value32(writer, with->buffer, 0, value);
    if (!status)
        status = rnl_stream_synchronize(writer, RNL_FOREVER);
    rnl_stream_release(writer);
    return status;
}

static rnl_status open_gate(setup *with)
{
    rnl_status status = write_gate(with, 1);
    return status ? status
                  : rnl_context_synchronize(with->context, RNL_FOREVER);
}

static rnl_status close_gate(setup *with)
{
    rnl_status status = write_gate(with, 0);
    return status ? status
                  : rnl_enqueue_wait_value32(with->stream, with->buffer, 0, 1,
                                             RNL_WAIT_EQ);
}

// With a first run, so that operations are recycled and not new.
static rnl_status warm_and_close_gate(setup *with)
{
    rnl_status status = close_gate(with);
    for (int i = 0; i < MOST && !status; i++)
        status = wait_pending(with);
    if (!status)
        status = open_gate(with);
    return status ? status : close_gate(with);
}

static rnl_status wait_value(const setup *with)
{
    rnl_status status = rnl_enqueue_wait_value32(with->stream, with->buffer, 0,
                                                 0, RNL_WAIT_EQ);
    return status ? status : synchronize(with);
}

// --- Graphs ----------------------------------------------------------------

enum { STRAIGHT = 1000, WIDE = 8, LEVELS = 100 };

static rnl_status add(const setup *with, rnl_graph graph,
                      const rnl_node *after, size_t count, rnl_node *out_node)
{
    return rnl_graph_add_node(
        graph, after, count,
        RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = with->function,
                 .launch = RNL_LAUNCH(.grid = {1}, .block = {1})),
        out_node);
}

static rnl_status add_straight(const setup *with, rnl_graph graph)
{
    rnl_node last = NULL;
    rnl_status status = RNL_OK;
    for (size_t i = 0; i < STRAIGHT && !status; i++)
        status = add(with, graph, &last, i > 0, &last);
    return status;
}

static rnl_status add_forked(const setup *with, rnl_graph graph)
{
    rnl_node join = NULL, fork[WIDE];
    rnl_status status = RNL_OK;
    for (size_t level = 0; level < LEVELS && !status; level++) {
        for (size_t i = 0; i < WIDE && !status; i++)
            status = add(with, graph, &join, level > 0, &fork[i]);
        if (!status)
            status = rnl_graph_add_node(graph, fork, WIDE,
                                        RNL_NODE(.kind = RNL_NODE_EMPTY),
                                        &join);
    }
    return status;
}

static rnl_status instantiate(setup *with,
                              rnl_status (*nodes)(const setup *, rnl_graph))
{
    rnl_graph graph;
    rnl_status status = rnl_graph_create(with->context, NULL, &graph);
    if (status)
        return status;
    status = nodes(with, graph);
    if (!status)
        status = rnl_graph_instantiate(graph, &with->exec);
    rnl_graph_release(graph);
    return status;
}

// The only worker stays in this kernel: it takes no replay away.
static _Atomic bool held, let_go;

static rnl_status hold_kernel(const rnl_native_call *call)
{
    (void)call;
    held = true;
    while (!let_go)
        sched_yield();
    return RNL_OK;
}

static rnl_status hold_worker(setup *with)
{
    rnl_status status = rnl_function_create_native(
        with->context, "hold", hold_kernel, NULL, &with->hold);
    if (!status)
        status = rnl_enqueue_function(with->other, with->hold,
                                      RNL_LAUNCH(.grid = {1}, .block = {1}),
                                      RNL_NO_ARGS);
    while (!status && !held)
        sched_yield();
    return status;
}

static rnl_status make_straight(setup *with)
{
    rnl_status status = instantiate(with, add_straight);
    return status ? status : hold_worker(with);
}

static rnl_status make_forked(setup *with)
{
    rnl_status status = instantiate(with, add_forked);
    return status ? status : hold_worker(with);
}

static rnl_status let_worker_go(setup *with)
{
    let_go = true;
    return rnl_stream_synchronize(with->other, RNL_FOREVER);
}

static rnl_status replay(const setup *with)
{
    rnl_status status = rnl_enqueue_graph(with->stream, with->exec);
    return status ? status : synchronize(with);
}

// ---------------------------------------------------------------------------

static const guard_operation operations[] = {
    {"event-query", query, NULL, NULL, false},
    {"event-record", record, NULL, NULL, false},
    {"launch-synchronize", launch, NULL, NULL, false},
    {"buffer-create-release", create_release, NULL, NULL, false},
    {"buffer-create-release-second", create_release, NULL, NULL, true},
    {"wait-idle-stream", wait_stream, NULL, NULL, false},
    {"launch-wait-stream", wait_pending, warm_and_close_gate, open_gate, false},
    {"wait-value-synchronize", wait_value, NULL, NULL, false},
    {"replay-straight-1000", replay, make_straight, let_worker_go, false},
    {"replay-forked-900", replay, make_forked, let_worker_go, false},
};

static rnl_status open_all(setup *out)
{
    rnl_status status = rnl_context_open("cpu", 0, NULL, &out->context);
    if (!status)
        status = rnl_stream_create(out->context, NULL, &out->stream);
    if (!status)
        status = rnl_stream_create(out->context, NULL, &out->other);
    if (!status)
        status = rnl_event_create(out->context, NULL, &out->event);
    if (!status)
        status = rnl_function_create_native(out->context, "empty",
                                            empty_kernel, NULL,
                                            &out->function);
    if (!status)
        status = rnl_buffer_create(out->context, 64,
                                   RNL_BUFFER_OPTIONS(.zeroed = true),
                                   &out->buffer);
    if (!status)
        status = record(out);
    if (!status)
        status = rnl_stream_synchronize(out->stream, RNL_FOREVER);
    return status;
}

static void close_all(setup *with)
{
    rnl_graph_exec_release(with->exec);
    rnl_buffer_release(with->buffer);
    rnl_function_release(with->hold);
    rnl_function_release(with->function);
    rnl_event_release(with->event);
    rnl_stream_release(with->other);
    rnl_stream_release(with->stream);
    rnl_context_release(with->context);
}

int main(int count, char **arguments)
{
    static setup with;
    return guard_main(&(guard_program){operations,
                                       sizeof operations / sizeof *operations,
                                       &with, open_all, close_all},
                      count, arguments);
}
