// What each call does while a stream is captured: the matrix {call} x {mode} x
// {thread that captures, another thread}, cell by cell. The test prints it as
// the table in docs/concepts/capture-table.md, which another test compares.
#include "suite.h"

#include <pthread.h>
#include <stdio.h>

// What a call has to do with, anew for every cell.
struct stage {
    rnl_capture_mode mode;
    rnl_stream captured, other;
    rnl_event inside;    // recorded in the capture
    rnl_event outside;   // recorded before it on another stream
    rnl_event fresh;     // never recorded
    rnl_event ended;     // recorded in a capture that is over
    rnl_event promise;
    rnl_event start, end;  // with times, complete
    rnl_buffer buffer, managed;
    rnl_buffer made;     // created in the capture
    rnl_function function;
    rnl_graph graph;     // an ordinary one
    rnl_graph_exec exec;
    rnl_graph capture;   // what is captured so far
    int host[32];
    struct host_calls calls;
};

enum outcome {
    RECORDED,  // a node of the graph
    NOTED,     // legal: changes what comes after what, without a node
    FINE,      // legal: has nothing to do with the capture
    REFUSED,   // an error; the capture goes on
    INVALID,   // an error, and the capture is invalid
};

#define OP(name, call)                              \
    static rnl_status name(struct stage *s)         \
    {                                               \
        (void)s;                                    \
        return call;                                \
    }

static const rnl_launch *one(uint32_t grid)
{
    static _Thread_local rnl_launch launch;
    launch = (rnl_launch){.struct_size = sizeof launch, .grid = {grid, 0, 0},
                          .block = {1, 0, 0}};
    return &launch;
}

// --- Work for the captured stream ------------------------------------------

static const rnl_copy *region(struct stage *s)
{
    static _Thread_local rnl_copy copy;
    copy = (rnl_copy){.struct_size = sizeof copy, .to = {.buffer = s->buffer},
                      .from = {.pointer = s->host}, .width = 8, .height = 2};
    return &copy;
}

static const rnl_fill *fill_region(struct stage *s)
{
    static _Thread_local rnl_fill fill;
    fill = (rnl_fill){.struct_size = sizeof fill, .to = {.buffer = s->buffer},
                      .width = 8, .height = 2, .pattern_size = 4};
    return &fill;
}

static rnl_status create_buffer(struct stage *s)
{
    rnl_buffer made = NULL;
    rnl_status got = rnl_enqueue_buffer_create(s->captured, 64, NULL, &made);
    rnl_buffer_release(made);
    return got;
}

static rnl_status new_event(struct stage *s)
{
    rnl_event event = NULL;
    rnl_status status = rnl_enqueue_event(s->captured, NULL, &event);
    rnl_event_release(event);
    return status;
}

// After the call, `made` is not the stage's any more.
static rnl_status release_made(struct stage *s)
{
    rnl_buffer made = s->made;
    s->made = NULL;
    return rnl_enqueue_buffer_release(s->captured, made);
}

OP(launch, rnl_enqueue_function(s->captured, s->function, one(1), NULL))
OP(copy, rnl_enqueue_copy(s->captured, s->host, s->host + 8, 16))
OP(copy_to, rnl_enqueue_copy_to_buffer(s->captured, s->buffer, 0, s->host, 16))
OP(copy_from,
   rnl_enqueue_copy_from_buffer(s->captured, s->host, s->buffer, 0, 16))
OP(copy_buffer, rnl_enqueue_copy_buffer(s->captured, s->buffer, 0, s->buffer,
                                        32, 16))
OP(copy_region, rnl_enqueue_copy_region(s->captured, region(s)))
OP(copy_batch, rnl_enqueue_copy_batch(s->captured, region(s), 1))
OP(fill, rnl_enqueue_fill(s->captured, s->buffer, 0, 16, 7, 4))
OP(fill_some, rnl_enqueue_fill_region(s->captured, fill_region(s)))
OP(host_function,
   rnl_enqueue_host_function(s->captured, count_host_call, &s->calls))
OP(host_call,
   rnl_enqueue_host_call(s->captured,
                         RNL_HOST_CALL(.function = count_host_call,
                                       .user_data = &s->calls)))
OP(release_other, rnl_enqueue_buffer_release(s->captured, s->buffer))
OP(no_copy, rnl_enqueue_copy(s->captured, s->host, s->host + 8, 0))
OP(launch_graph, rnl_enqueue_graph(s->captured, s->exec))
OP(upload_graph, rnl_enqueue_graph_upload(s->captured, s->exec))

static const rnl_value_op *write_op(struct stage *s)
{
    static _Thread_local rnl_value_op op;
    op = (rnl_value_op){.struct_size = sizeof op, .action = RNL_WRITE_VALUE,
                        .width = 32, .buffer = s->buffer, .value = 3};
    return &op;
}

OP(write_value, rnl_enqueue_write_value32(s->captured, s->buffer, 0, 1))
OP(wait_value, rnl_enqueue_wait_value64(s->captured, s->buffer, 8, 1,
                                        RNL_WAIT_EQ))
OP(values, rnl_enqueue_values(s->captured, write_op(s), 1))
OP(write_address,
   rnl_enqueue_write_address32(s->captured, suite_address(s->buffer), 1, 0))
OP(wait_address,
   rnl_enqueue_wait_address64(s->captured, suite_address(s->buffer), 1,
                              RNL_WAIT_EQ, 0))
OP(bad_value, rnl_enqueue_write_value32(s->captured, s->buffer, 2, 1))
OP(prefetch, rnl_enqueue_prefetch(s->captured, s->managed, 0, 64,
                                  RNL_MEMORY_TO_DEVICE))
OP(attach, rnl_enqueue_attach(s->captured, s->managed, RNL_ATTACH_GLOBAL))
OP(flush, rnl_stream_flush(s->captured))

// --- Arguments that are not legal ------------------------------------------

OP(bad_launch, rnl_enqueue_function(s->captured, s->function, one(0), NULL))
OP(bad_copy,
   rnl_enqueue_copy_to_buffer(s->captured, s->buffer, 60, s->host, 16))
OP(bad_copy_wait,
   rnl_copy_to_buffer_and_wait(s->captured, s->buffer, 60, s->host, 16))
OP(bad_fill, rnl_enqueue_fill(s->captured, s->buffer, 0, 16, 7, 3))
OP(bad_host_function, rnl_enqueue_host_function(s->captured, NULL, NULL))
OP(bad_event, rnl_enqueue_event_record(s->captured, NULL))
OP(bad_exec, rnl_enqueue_graph(s->captured, NULL))

// --- Events and joins ------------------------------------------------------

static rnl_status wait_other_capture(struct stage *s)
{
    rnl_graph graph = NULL;
    rnl_event event = NULL;
    const rnl_capture_options *options = RNL_CAPTURE_OPTIONS(.mode = s->mode);
    if (rnl_stream_begin_capture(s->other, options) ||
        rnl_enqueue_event(s->other, NULL, &event))
        return RNL_ERROR_INTERNAL;
    rnl_status status = rnl_enqueue_wait_event(s->captured, event);
    rnl_event_release(event);
    if (rnl_stream_end_capture(s->other, &graph) !=
        RNL_ERROR_CAPTURE_INVALIDATED)
        return RNL_ERROR_INTERNAL;
    return status;
}

static rnl_status release_event(struct stage *s)
{
    rnl_event event = s->inside;
    s->inside = NULL;
    return rnl_event_release(event);
}

static uint64_t ns;

OP(record, rnl_enqueue_event_record(s->captured, s->fresh))
OP(record_external, rnl_enqueue_external_record(s->captured, s->fresh))
OP(record_promise, rnl_enqueue_event_record(s->captured, s->promise))
OP(wait_external, rnl_enqueue_external_wait(s->captured, s->outside))
OP(wait_inside, rnl_enqueue_wait_event(s->captured, s->inside))
OP(wait_fresh, rnl_enqueue_wait_event(s->captured, s->fresh))
OP(wait_outside, rnl_enqueue_wait_event(s->captured, s->outside))
OP(wait_ended, rnl_enqueue_wait_event(s->captured, s->ended))
OP(wait_promise, rnl_enqueue_wait_event(s->captured, s->promise))
OP(wait_stream, rnl_enqueue_wait_stream(s->captured, s->other))
OP(wait_context, rnl_enqueue_wait_context(s->captured, suite_context()))
OP(join_event, rnl_enqueue_wait_event(s->other, s->inside))
OP(join_stream, rnl_enqueue_wait_stream(s->other, s->captured))
OP(join_context, rnl_enqueue_wait_context(s->other, suite_context()))
OP(query_inside, rnl_event_query(s->inside))
OP(wait_for_inside, rnl_event_synchronize(s->inside, RNL_FOREVER))
OP(elapsed_inside, rnl_event_elapsed(s->start, s->inside, &ns))
OP(record_inside, rnl_enqueue_event_record(s->other, s->inside))

// --- The captured stream itself --------------------------------------------

static rnl_status map(rnl_stream stream, rnl_buffer buffer)
{
    void *pointer = NULL;
    rnl_status status =
        rnl_buffer_map_and_wait(stream, buffer, RNL_MAP_READ, &pointer);
    if (status == RNL_OK)
        status = rnl_buffer_unmap_and_wait(stream, buffer);
    return status;
}

static rnl_status stream_info(struct stage *s)
{
    rnl_stream_info info = {.struct_size = sizeof info};
    return rnl_stream_get_info(s->captured, &info);
}

static rnl_status capture_info(struct stage *s)
{
    rnl_capture_info info = {.struct_size = sizeof info};
    return rnl_stream_get_capture_info(s->captured, &info);
}

static rnl_status add_node(struct stage *s)
{
    rnl_node node;
    return rnl_graph_add_node(s->capture, RNL_AT_START,
                              RNL_NODE(.kind = RNL_NODE_EMPTY), &node);
}

static rnl_status instantiate_capture(struct stage *s)
{
    rnl_graph_exec exec;
    return rnl_graph_instantiate(s->capture, &exec);
}

static rnl_status clone_capture(struct stage *s)
{
    rnl_graph clone;
    return rnl_graph_clone(s->capture, &clone);
}

static rnl_status add_child(struct stage *s)
{
    rnl_node node;
    return rnl_graph_add_node(
        s->graph, RNL_AT_START,
        RNL_NODE(.kind = RNL_NODE_CHILD, .child = s->capture), &node);
}

OP(update_by_capture, rnl_graph_exec_update(s->exec, s->capture, NULL))

static rnl_status set_attribute(struct stage *s)
{
    rnl_stream_attribute attribute = {.struct_size = sizeof attribute,
                                      .id = RNL_STREAM_DOMAIN};
    return rnl_stream_set_attribute(s->captured, &attribute);
}

static rnl_status time_nothing(rnl_stream stream, size_t iteration,
                               void *user_data)
{
    (void)stream, (void)iteration, (void)user_data;
    return RNL_OK;
}

static rnl_status time_work(struct stage *s)
{
    uint64_t total = 0;
    return rnl_time_and_wait(s->captured, 1, time_nothing, NULL, &total);
}

OP(query, rnl_stream_query(s->captured))
OP(cancel, rnl_stream_cancel(s->captured))
OP(synchronize, rnl_stream_synchronize(s->captured, RNL_FOREVER))
OP(reset, rnl_stream_reset_and_wait(s->captured))
OP(copy_wait, rnl_copy_to_buffer_and_wait(s->captured, s->buffer, 0, s->host,
                                          16))
OP(fill_wait, rnl_fill_and_wait(s->captured, s->buffer, 0, 16, 7, 4))
OP(map_captured, map(s->captured, s->buffer))
OP(synchronize_all, rnl_context_synchronize(suite_context(), RNL_FOREVER))
OP(begin_again, rnl_stream_begin_capture(s->captured, NULL))
OP(release_capture, rnl_graph_release(s->capture))

// --- Other streams and events ----------------------------------------------

static rnl_status query_relaxed(struct stage *s)
{
    rnl_capture_mode mode = RNL_CAPTURE_RELAXED;
    rnl_status status = rnl_capture_exchange_mode(&mode);
    if (status == RNL_OK)
        status = rnl_stream_synchronize(s->other, RNL_FOREVER);
    rnl_capture_exchange_mode(&mode);
    return status;
}

static rnl_status other_capture(struct stage *s)
{
    rnl_graph graph = NULL;
    rnl_status status = rnl_stream_begin_capture(s->other, NULL);
    if (status == RNL_OK)
        status = rnl_enqueue_fill(s->other, s->buffer, 0, 16, 7, 4);
    if (status == RNL_OK)
        status = rnl_stream_end_capture(s->other, &graph);
    return status ? status : rnl_graph_release(graph);
}

static rnl_status other_buffer(struct stage *s)
{
    rnl_buffer buffer = NULL;
    rnl_status status = rnl_enqueue_buffer_create(s->other, 64, NULL, &buffer);
    return status ? status : rnl_enqueue_buffer_release(s->other, buffer);
}

OP(query_other, rnl_stream_query(s->other))
OP(synchronize_other, rnl_stream_synchronize(s->other, RNL_FOREVER))
OP(reset_other, rnl_stream_reset_and_wait(s->other))
OP(query_outside, rnl_event_query(s->outside))
OP(wait_for_outside, rnl_event_synchronize(s->outside, RNL_FOREVER))
OP(elapsed_outside, rnl_event_elapsed(s->start, s->end, &ns))
OP(copy_wait_other,
   rnl_copy_to_buffer_and_wait(s->other, s->buffer, 0, s->host, 16))
OP(map_other, map(s->other, s->buffer))
OP(launch_other, rnl_enqueue_function(s->other, s->function, one(1), NULL))
OP(fill_other, rnl_enqueue_fill(s->other, s->buffer, 0, 16, 7, 4))
OP(record_other, rnl_enqueue_event_record(s->other, s->fresh))
OP(wait_other, rnl_enqueue_wait_event(s->other, s->outside))
OP(graph_other, rnl_enqueue_graph(s->other, s->exec))

// --- Objects ---------------------------------------------------------------

static rnl_status streams_and_events(struct stage *s)
{
    rnl_stream stream = NULL;
    rnl_event event = NULL;
    (void)s;
    rnl_status status = rnl_stream_create(suite_context(), NULL, &stream);
    if (status == RNL_OK)
        status = rnl_event_create(suite_context(), NULL, &event);
    rnl_event_release(event);
    return status ? status : rnl_stream_release(stream);
}

static rnl_status buffers(struct stage *s)
{
    rnl_buffer buffer = NULL;
    (void)s;
    rnl_status status = rnl_buffer_create(
        suite_context(), 4096, RNL_BUFFER_OPTIONS(.zeroed = true), &buffer);
    return status ? status : rnl_buffer_release(buffer);
}

static rnl_status host_memory(struct stage *s)
{
    void *pointer = NULL;
    (void)s;
    rnl_status status = rnl_host_allocate(suite_context(), 4096, &pointer);
    return status ? status : rnl_host_free(suite_context(), pointer);
}

static rnl_status graphs(struct stage *s)
{
    rnl_graph_exec exec = NULL;
    rnl_status status = rnl_graph_instantiate(s->graph, &exec);
    return status ? status : rnl_graph_exec_release(exec);
}

static rnl_status contexts(struct stage *s)
{
    rnl_context context = NULL;
    (void)s;
    rnl_status status =
        rnl_context_open(suite_api(), suite_index(), NULL, &context);
    return status ? status : rnl_context_release(context);
}

// --- The table -------------------------------------------------------------

enum { CELLS = 6 };

#define ALL(outcome) {outcome, outcome, outcome, outcome, outcome, outcome}
// thread-local, global, relaxed; each on the thread that captures, on another
#define UNSAFE {INVALID, FINE, INVALID, INVALID, FINE, FINE}

static const struct row {
    const char *function, *on;
    rnl_status (*call)(struct stage *s);
    enum outcome cells[CELLS];
} rows[] = {
    {"rnl_enqueue_function", "captured stream", launch, ALL(RECORDED)},
    {"rnl_enqueue_copy", "captured stream", copy, ALL(RECORDED)},
    {"rnl_enqueue_copy_to_buffer", "captured stream", copy_to, ALL(RECORDED)},
    {"rnl_enqueue_copy_from_buffer", "captured stream", copy_from,
     ALL(RECORDED)},
    {"rnl_enqueue_copy_buffer", "captured stream", copy_buffer, ALL(RECORDED)},
    {"rnl_enqueue_copy_region", "captured stream", copy_region, ALL(RECORDED)},
    {"rnl_enqueue_copy_batch", "captured stream", copy_batch, ALL(RECORDED)},
    {"rnl_enqueue_fill", "captured stream", fill, ALL(RECORDED)},
    {"rnl_enqueue_fill_region", "captured stream", fill_some, ALL(RECORDED)},
    {"rnl_enqueue_host_function", "captured stream", host_function,
     ALL(RECORDED)},
    {"rnl_enqueue_host_call", "captured stream", host_call, ALL(RECORDED)},
    {"rnl_enqueue_buffer_create", "captured stream", create_buffer,
     ALL(RECORDED)},
    {"rnl_enqueue_buffer_release", "buffer of the capture", release_made,
     ALL(RECORDED)},
    {"rnl_enqueue_buffer_release", "another buffer", release_other,
     ALL(REFUSED)},
    {"rnl_enqueue_write_value32", "captured stream", write_value,
     ALL(RECORDED)},
    {"rnl_enqueue_wait_value64", "captured stream", wait_value, ALL(RECORDED)},
    {"rnl_enqueue_write_address32", "captured stream", write_address,
     ALL(RECORDED)},
    {"rnl_enqueue_wait_address64", "captured stream", wait_address,
     ALL(RECORDED)},
    {"rnl_enqueue_values", "captured stream", values, ALL(RECORDED)},
    {"rnl_enqueue_prefetch", "captured stream", prefetch, ALL(INVALID)},
    {"rnl_enqueue_attach", "captured stream", attach, ALL(INVALID)},
    {"rnl_stream_flush", "captured stream", flush, ALL(FINE)},
    {"rnl_enqueue_external_record", "captured stream", record_external,
     ALL(RECORDED)},
    {"rnl_enqueue_external_wait", "captured stream", wait_external,
     ALL(RECORDED)},
    {"rnl_enqueue_event_record", "captured stream", record, ALL(NOTED)},
    {"rnl_enqueue_event", "captured stream", new_event, ALL(NOTED)},
    {"rnl_enqueue_event_record", "promise on captured stream", record_promise,
     ALL(INVALID)},
    {"rnl_enqueue_copy", "no bytes", no_copy, ALL(FINE)},
    {"rnl_enqueue_graph", "captured stream", launch_graph, ALL(INVALID)},
    {"rnl_enqueue_graph_upload", "captured stream", upload_graph, ALL(INVALID)},
    {"rnl_enqueue_wait_event", "event of the capture", wait_inside, ALL(NOTED)},
    {"rnl_enqueue_wait_event", "event never recorded", wait_fresh, ALL(FINE)},
    {"rnl_enqueue_wait_event", "event from before the capture", wait_outside,
     ALL(INVALID)},
    {"rnl_enqueue_wait_event", "event of another capture", wait_other_capture,
     ALL(INVALID)},
    {"rnl_enqueue_wait_event", "event of a capture that is over", wait_ended,
     ALL(INVALID)},
    {"rnl_enqueue_wait_event", "promise", wait_promise, ALL(INVALID)},
    {"rnl_enqueue_wait_stream", "for an ordinary stream", wait_stream,
     ALL(INVALID)},
    {"rnl_enqueue_wait_context", "captured stream", wait_context, ALL(INVALID)},
    {"rnl_enqueue_wait_event", "ordinary stream joins", join_event,
     ALL(NOTED)},
    {"rnl_enqueue_wait_stream", "ordinary stream joins", join_stream,
     ALL(NOTED)},
    {"rnl_enqueue_wait_context", "ordinary stream, for the captured",
     join_context, ALL(INVALID)},
    {"rnl_enqueue_event_record", "event of the capture, elsewhere",
     record_inside, ALL(FINE)},
    {"rnl_event_query", "event of the capture", query_inside, ALL(INVALID)},
    {"rnl_event_synchronize", "event of the capture", wait_for_inside,
     ALL(INVALID)},
    {"rnl_event_elapsed", "event of the capture", elapsed_inside,
     ALL(REFUSED)},
    {"rnl_event_release", "event of the capture", release_event, ALL(FINE)},
    {"rnl_stream_query", "captured stream", query, ALL(INVALID)},
    {"rnl_stream_synchronize", "captured stream", synchronize, ALL(INVALID)},
    {"rnl_stream_reset_and_wait", "captured stream", reset, ALL(INVALID)},
    {"rnl_stream_cancel", "captured stream", cancel, ALL(INVALID)},
    {"rnl_copy_to_buffer_and_wait", "captured stream", copy_wait,
     ALL(INVALID)},
    {"rnl_fill_and_wait", "captured stream", fill_wait, ALL(INVALID)},
    {"rnl_buffer_map_and_wait", "captured stream", map_captured,
     ALL(INVALID)},
    {"rnl_time_and_wait", "captured stream", time_work, ALL(INVALID)},
    {"rnl_stream_set_attribute", "captured stream", set_attribute,
     ALL(FINE)},
    {"rnl_context_synchronize", "its context", synchronize_all, ALL(INVALID)},
    {"rnl_stream_begin_capture", "captured stream", begin_again,
     ALL(REFUSED)},
    {"rnl_stream_get_info", "captured stream", stream_info, ALL(FINE)},
    {"rnl_stream_get_capture_info", "captured stream", capture_info,
     ALL(FINE)},
    {"rnl_graph_add_node", "graph of the capture", add_node, ALL(REFUSED)},
    {"rnl_graph_instantiate", "graph of the capture", instantiate_capture,
     ALL(REFUSED)},
    {"rnl_graph_exec_update", "graph of the capture", update_by_capture,
     ALL(REFUSED)},
    {"rnl_graph_clone", "graph of the capture", clone_capture, ALL(REFUSED)},
    {"rnl_graph_add_node", "CHILD: graph of the capture", add_child,
     ALL(REFUSED)},
    {"rnl_graph_release", "graph of the capture", release_capture,
     ALL(REFUSED)},
    {"rnl_enqueue_function", "no blocks", bad_launch, ALL(REFUSED)},
    {"rnl_enqueue_copy_to_buffer", "out of range", bad_copy, ALL(REFUSED)},
    {"rnl_copy_to_buffer_and_wait", "out of range", bad_copy_wait,
     ALL(REFUSED)},
    {"rnl_enqueue_write_value32", "not aligned", bad_value, ALL(REFUSED)},
    {"rnl_enqueue_fill", "illegal pattern", bad_fill, ALL(REFUSED)},
    {"rnl_enqueue_host_function", "NULL", bad_host_function, ALL(REFUSED)},
    {"rnl_enqueue_event_record", "NULL", bad_event, ALL(REFUSED)},
    {"rnl_enqueue_graph", "NULL", bad_exec, ALL(REFUSED)},
    {"rnl_stream_query", "ordinary stream", query_other, UNSAFE},
    {"rnl_stream_synchronize", "ordinary stream", synchronize_other, UNSAFE},
    {"rnl_stream_synchronize", "the same in exchanged mode RELAXED",
     query_relaxed, ALL(FINE)},
    {"rnl_stream_reset_and_wait", "ordinary stream", reset_other, UNSAFE},
    {"rnl_copy_to_buffer_and_wait", "ordinary stream", copy_wait_other,
     UNSAFE},
    {"rnl_buffer_map_and_wait", "ordinary stream", map_other, UNSAFE},
    {"rnl_event_query", "ordinary event", query_outside, UNSAFE},
    {"rnl_event_synchronize", "ordinary event", wait_for_outside, UNSAFE},
    {"rnl_event_elapsed", "ordinary events", elapsed_outside, ALL(FINE)},
    {"rnl_enqueue_function", "ordinary stream", launch_other, ALL(FINE)},
    {"rnl_enqueue_fill", "ordinary stream", fill_other, ALL(FINE)},
    {"rnl_enqueue_event_record", "ordinary stream", record_other, ALL(FINE)},
    {"rnl_enqueue_wait_event", "ordinary stream and event", wait_other,
     ALL(FINE)},
    {"rnl_enqueue_graph", "ordinary stream", graph_other, ALL(FINE)},
    {"rnl_enqueue_buffer_create", "ordinary stream; and release",
     other_buffer, ALL(FINE)},
    {"rnl_stream_begin_capture", "ordinary stream; and end", other_capture,
     ALL(FINE)},
    {"rnl_stream_create", "and events; and release", streams_and_events,
     ALL(FINE)},
    {"rnl_buffer_create", "zeroed; and release", buffers, ALL(FINE)},
    {"rnl_host_allocate", "and free", host_memory, ALL(FINE)},
    {"rnl_graph_instantiate", "another graph; and release", graphs,
     ALL(FINE)},
    {"rnl_context_open", "and release", contexts, ALL(FINE)},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

// --- A cell ----------------------------------------------------------------

static rnl_status nothing(const rnl_native_call *call)
{
    (void)call;
    return RNL_OK;
}

static void stage_set_up(struct stage *s, rnl_capture_mode mode)
{
    rnl_context context = suite_context();
    rnl_graph ended = NULL;
    *s = (struct stage){.mode = mode, .captured = suite_new_stream(),
                        .other = suite_new_stream(),
                        .inside = suite_new_event(),
                        .outside = suite_new_event(),
                        .fresh = suite_new_event(),
                        .ended = suite_new_event(),
                        .buffer = suite_new_buffer(64)};
    expect_ok(rnl_buffer_create(
        context, 64, RNL_BUFFER_OPTIONS(.kind = RNL_MEMORY_MANAGED),
        &s->managed));
    expect_ok(rnl_event_create(context, RNL_EVENT_OPTIONS(.promise = true),
                               &s->promise));
    const rnl_event_options *timed = RNL_EVENT_OPTIONS(.timing = true);
    expect_ok(rnl_enqueue_event(s->other, timed, &s->start));
    expect_ok(rnl_enqueue_event(s->other, timed, &s->end));
    expect_ok(rnl_enqueue_event_record(s->other, s->outside));
    expect_ok(rnl_stream_synchronize(s->other, RNL_FOREVER));
    s->function = suite_native("nothing", nothing, NULL);
    expect_ok(rnl_graph_create(context, NULL, &s->graph));
    expect_ok(rnl_graph_instantiate(s->graph, &s->exec));
    expect_ok(rnl_stream_begin_capture(s->other, NULL));
    expect_ok(rnl_enqueue_event_record(s->other, s->ended));
    expect_ok(rnl_stream_end_capture(s->other, &ended));
    expect_ok(rnl_graph_release(ended));
}

static rnl_capture_info info_of(rnl_stream stream)
{
    rnl_capture_info info = {.struct_size = sizeof info};
    expect_ok(rnl_stream_get_capture_info(stream, &info));
    return info;
}

static void stage_capture(struct stage *s)
{
    expect_ok(rnl_stream_begin_capture(s->captured,
                                       RNL_CAPTURE_OPTIONS(.mode = s->mode)));
    expect_ok(rnl_enqueue_buffer_create(s->captured, 64, NULL, &s->made));
    expect_ok(rnl_enqueue_event_record(s->captured, s->inside));
    s->capture = info_of(s->captured).graph;
}

static void stage_tear_down(struct stage *s)
{
    expect_ok(rnl_stream_synchronize(s->other, RNL_FOREVER));
    expect_ok(rnl_stream_release(s->captured));
    expect_ok(rnl_stream_release(s->other));
    rnl_event events[] = {s->inside, s->outside, s->fresh, s->ended,
                          s->promise, s->start, s->end};
    for (size_t i = 0; i < RNL_COUNT(s->inside, s->outside, s->fresh, s->ended,
                                     s->promise, s->start, s->end); i++)
        expect_ok(rnl_event_release(events[i]));
    expect_ok(rnl_buffer_release(s->buffer));
    expect_ok(rnl_buffer_release(s->made));
    expect_ok(rnl_buffer_release(s->managed));
    expect_ok(rnl_function_release(s->function));
    expect_ok(rnl_graph_exec_release(s->exec));
    expect_ok(rnl_graph_release(s->graph));
}

struct attempt {
    const struct row *row;
    struct stage *stage;
    rnl_status status;
};

static void *try_call(void *argument)
{
    struct attempt *attempt = argument;
    attempt->status = attempt->row->call(attempt->stage);
    return NULL;
}

static rnl_status call_row(const struct row *row, struct stage *s,
                           bool elsewhere)
{
    struct attempt attempt = {row, s, RNL_OK};
    pthread_t thread;
    if (!elsewhere) {
        try_call(&attempt);
        return attempt.status;
    }
    assert_int_equal(pthread_create(&thread, NULL, try_call, &attempt), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return attempt.status;
}

static size_t node_count(rnl_graph graph)
{
    rnl_graph_info info = {.struct_size = sizeof info};
    expect_ok(rnl_graph_get_info(graph, &info));
    return info.node_count;
}

static void check_end(const struct row *row, struct stage *s, bool invalid)
{
    rnl_graph graph = NULL;
    rnl_status status = rnl_stream_end_capture(s->captured, &graph);
    if (invalid) {
        assert_status(status, RNL_ERROR_CAPTURE_INVALIDATED);
        if (!strstr(rnl_last_error()->message, row->function))
            fail_msg("%s is not named: %s", row->function,
                     rnl_last_error()->message);
        assert_null(graph);
    } else {
        expect_ok(status);
        expect_ok(rnl_graph_release(graph));
    }
    // Usable at once, whatever came of it. Work of the call on the other stream
    // may be on the same buffer.
    expect_ok(rnl_stream_synchronize(s->other, RNL_FOREVER));
    expect_ok(rnl_fill_and_wait(s->captured, s->buffer, 0, 16, 9, 4));
}

static void check_cell(const struct row *row, int cell)
{
    static const rnl_capture_mode modes[] = {
        RNL_CAPTURE_THREAD_LOCAL, RNL_CAPTURE_GLOBAL, RNL_CAPTURE_RELAXED};
    struct stage s;
    enum outcome expected = row->cells[cell], seen;
    stage_set_up(&s, modes[cell / 2]);
    stage_capture(&s);
    size_t before = node_count(s.capture);
    rnl_status status = call_row(row, &s, cell % 2);
    bool more = node_count(s.capture) > before;
    bool invalid =
        info_of(s.captured).status == RNL_CAPTURE_INVALIDATED;
    if (status != RNL_OK)
        seen = invalid ? INVALID : REFUSED;
    else
        seen = more ? RECORDED : expected == NOTED ? NOTED : FINE;
    if (seen != expected || (status == RNL_OK && invalid) ||
        (status != RNL_OK && more))
        fail_msg("%s (%s), cell %d: %s, capture %s, %s nodes", row->function,
                 row->on, cell, rnl_status_name(status),
                 invalid ? "invalid" : "active", more ? "more" : "as many");
    check_end(row, &s, invalid);
    assert_int_equal(s.calls.count, 0);
    stage_tear_down(&s);
}

RNL_TEST(every_call_does_in_a_capture_what_the_table_says)
{
    suite_need(RNL_FEATURE_CAPTURE);
    suite_need(RNL_FEATURE_MANAGED_MEMORY);
    suite_need(RNL_FEATURE_MEMORY_OPERATIONS);
    for (int i = 0; i < ROWS; i++)
        for (int cell = 0; cell < CELLS; cell++)
            check_cell(&rows[i], cell);
    test_figure("capture-cells", (long)ROWS * CELLS);
}

RNL_TEST(the_table_of_captures_is_printed)
{
    static const char *const words[] = {"recorded", "noted", "fine", "refused",
                                        "**invalid**"};
    printf("| call | of | thread-local, own thread | … another | global, own |"
           " … another | relaxed, own | … another |\n"
           "|---|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < ROWS; i++) {
        printf("| `%s` | %s |", rows[i].function, rows[i].on);
        for (int cell = 0; cell < CELLS; cell++)
            printf(" %s |", words[rows[i].cells[cell]]);
        printf("\n");
    }
}
