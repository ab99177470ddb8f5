// Captures, while faults are injected.
#include "sweep.h"

#define CAPTURES {RNL_FEATURE_CAPTURE, RNL_FEATURE_NATIVE_FUNCTIONS}

static void note(rnl_status status, void *user_data)
{
    (void)status, (void)user_data;
}

static bool has_shape(rnl_graph graph, size_t nodes, size_t edges)
{
    rnl_graph_info info = {.struct_size = sizeof info};
    return rnl_graph_get_info(graph, &info) == RNL_OK &&
           info.node_count == nodes && info.edge_count == edges;
}

static const rnl_launch *one(void)
{
    static const rnl_launch launch = {.struct_size = sizeof launch,
                                      .grid = {1, 0, 0}, .block = {1, 0, 0}};
    return &launch;
}

static rnl_status capture_work(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    static char bytes[16];
    TRY(rnl_enqueue_buffer_create(t->stream, 16, NULL, &t->made));
    TRY(rnl_enqueue_fill(t->stream, t->made, 0, 16, 1, 4));
    TRY(rnl_enqueue_event_record(t->stream, t->event));
    TRY(rnl_enqueue_wait_event(t->other, t->event));
    TRY(rnl_enqueue_function(t->other, t->function, one(), NULL));
    TRY(rnl_enqueue_host_function(t->other, note, NULL));
    TRY(rnl_enqueue_copy_from_buffer(t->stream, bytes, t->made, 0, 16));
    TRY(rnl_enqueue_event_record(t->other, t->event));
    TRY(rnl_enqueue_wait_event(t->stream, t->event));
    TRY(rnl_enqueue_external_wait(t->stream, t->event));
    TRY(rnl_enqueue_external_record(t->stream, t->event));
    if (status == RNL_OK) {
        rnl_buffer made = t->made;
        TRY(rnl_enqueue_buffer_release(t->stream, made));
        t->made = status == RNL_OK ? NULL : made;
    }
    return status;
}

static rnl_status capture_life(struct sweep_set *t)
{
    rnl_graph graph = NULL, given = NULL;
    rnl_graph_exec exec = NULL;
    rnl_node node = NULL;
    rnl_status status = RNL_OK;
    TRY(rnl_stream_begin_capture(t->stream,
                                 RNL_CAPTURE_OPTIONS(.label = "captured")));
    if (status == RNL_OK)
        status = capture_work(t);
    TRY(rnl_stream_end_capture(t->stream, &graph));
    EXPECT(has_shape(graph, 8, 8));
    TRY(rnl_graph_instantiate(graph, &exec));
    TRY(rnl_enqueue_graph(t->stream, exec));
    TRY(rnl_stream_synchronize(t->stream, RNL_FOREVER));
    // Into a graph that is there.
    TRY(rnl_graph_create(t->context, NULL, &given));
    TRY(rnl_graph_add_node(given, NULL, 0, RNL_NODE(.kind = RNL_NODE_EMPTY),
                           &node));
    TRY(rnl_stream_begin_capture(
        t->stream, RNL_CAPTURE_OPTIONS(.graph = given, .after = &node,
                                      .after_count = 1)));
    TRY(rnl_enqueue_function(t->stream, t->function, one(), NULL));
    if (status == RNL_OK) {
        rnl_graph same = NULL;
        TRY(rnl_stream_end_capture(t->stream, &same));
        EXPECT(same == given && has_shape(given, 2, 1));
        RELEASE(rnl_graph_release(same));
    }
    // What was begun and not ended goes with its stream.
    RELEASE(rnl_stream_release(t->stream));
    t->stream = NULL;
    RELEASE(rnl_graph_exec_release(exec));
    RELEASE(rnl_graph_release(graph));
    RELEASE(rnl_graph_release(given));
    return status;
}

static rnl_status enqueue_some(rnl_stream stream, void *user_data)
{
    struct sweep_set *t = user_data;
    rnl_status status = RNL_OK;
    TRY(rnl_enqueue_fill(stream, t->buffer, 0, 64, 1, 4));
    TRY(rnl_enqueue_copy_buffer(stream, t->host, 0, t->buffer, 0, 64));
    return status;
}

static rnl_status by_function(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    rnl_graph graph = NULL;
    rnl_graph_exec exec = NULL;
    TRY(rnl_stream_capture(t->stream, NULL, enqueue_some, t, &graph));
    EXPECT(has_shape(graph, 2, 1));
    TRY(rnl_graph_instantiate(graph, &exec));
    TRY(rnl_enqueue_graph(t->other, exec));
    TRY(rnl_stream_synchronize(t->other, RNL_FOREVER));
    RELEASE(rnl_graph_exec_release(exec));
    RELEASE(rnl_graph_release(graph));
    return status;
}

// A stream that is released while it is captured.
static rnl_status abandoned(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    rnl_stream stream = NULL;
    rnl_capture_info info = {.struct_size = sizeof info};
    TRY(rnl_stream_create(t->context, NULL, &stream));
    TRY(rnl_stream_begin_capture(
        stream, RNL_CAPTURE_OPTIONS(.mode = RNL_CAPTURE_RELAXED,
                                    .label = "left alone")));
    TRY(rnl_enqueue_function(stream, t->function, one(), NULL));
    TRY(rnl_stream_get_capture_info(stream, &info));
    EXPECT(info.node_count == 1);
    RELEASE(rnl_stream_release(stream));
    TRY(rnl_enqueue_fill(t->stream, t->buffer, 0, 64, 1, 4));
    TRY(rnl_stream_synchronize(t->stream, RNL_FOREVER));
    return status;
}

// A call that makes the capture invalid; the stream then works as before.
static rnl_status invalidated(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    rnl_graph graph = NULL;
    TRY(rnl_stream_begin_capture(t->stream, NULL));
    TRY(rnl_enqueue_host_function(t->stream, note, NULL));
    rnl_status refused = RNL_OK, ended = RNL_OK;
    if (status == RNL_OK) {
        refused = rnl_stream_synchronize(t->stream, RNL_FOREVER);
        ended = rnl_stream_end_capture(t->stream, &graph);
    }
    EXPECT(refused == RNL_ERROR_CAPTURE_UNSUPPORTED);
    EXPECT(ended == RNL_ERROR_CAPTURE_INVALIDATED && !graph);
    TRY(rnl_enqueue_fill(t->stream, t->buffer, 0, 64, 1, 4));
    TRY(rnl_stream_synchronize(t->stream, RNL_FOREVER));
    return status;
}

// Many streams join, and are joined back.
static rnl_status forks(struct sweep_set *t)
{
    enum { COUNT = 12 };
    rnl_status status = RNL_OK;
    rnl_stream streams[COUNT] = {0};
    rnl_graph graph = NULL;
    rnl_graph_exec exec = NULL;
    for (int i = 0; i < COUNT; i++)
        TRY(rnl_stream_create(t->context, NULL, &streams[i]));
    TRY(rnl_stream_begin_capture(t->stream, NULL));
    TRY(rnl_enqueue_function(t->stream, t->function, one(), NULL));
    for (int i = 0; i < COUNT; i++) {
        TRY(rnl_enqueue_wait_stream(streams[i], t->stream));
        TRY(rnl_enqueue_function(streams[i], t->function, one(), NULL));
    }
    for (int i = 0; i < COUNT; i++)
        TRY(rnl_enqueue_wait_stream(t->stream, streams[i]));
    TRY(rnl_enqueue_function(t->stream, t->function, one(), NULL));
    TRY(rnl_stream_end_capture(t->stream, &graph));
    EXPECT(has_shape(graph, COUNT + 2, 2 * COUNT + 1));
    TRY(rnl_graph_instantiate(graph, &exec));
    TRY(rnl_enqueue_graph(t->stream, exec));
    TRY(rnl_stream_synchronize(t->stream, RNL_FOREVER));
    RELEASE(rnl_graph_exec_release(exec));
    RELEASE(rnl_graph_release(graph));
    for (int i = 0; i < COUNT; i++)
        RELEASE(rnl_stream_release(streams[i]));
    return status;
}

static rnl_status captured_batch(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    rnl_stream stream = NULL;
    rnl_graph graph = NULL;
    rnl_value_op ops[8];
    for (size_t i = 0; i < 8; i++)
        ops[i] = *RNL_VALUE_OP(.action = RNL_WRITE_VALUE, .width = 32,
                               .buffer = t->buffer, .offset = 4 * i);
    TRY(rnl_stream_create(t->context,
                          RNL_STREAM_OPTIONS(.flags = RNL_STREAM_BATCHED),
                          &stream));
    TRY(rnl_enqueue_fill(stream, t->buffer, 0, 64, 1, 4));
    TRY(rnl_stream_begin_capture(stream, NULL));
    for (int i = 0; i < 5; i++) {
        TRY(rnl_enqueue_fill(stream, t->buffer, 0, 64, 1, 4));
        TRY(rnl_enqueue_values(stream, ops, 8));
    }
    TRY(rnl_stream_end_capture(stream, &graph));
    EXPECT(has_shape(graph, 10, 9));
    TRY(rnl_stream_synchronize(stream, RNL_FOREVER));
    RELEASE(rnl_graph_release(graph));
    RELEASE(rnl_stream_release(stream));
    return status;
}

const struct scenario capture_scenarios[] = {
    {"captures", NULL, capture_life, CAPTURES},
    {"captures by a function", NULL, by_function, CAPTURES},
    {"abandoned captures", NULL, abandoned, CAPTURES},
    {"invalidated captures", NULL, invalidated, CAPTURES},
    {"forks in captures", NULL, forks, CAPTURES},
    {"captured batches", NULL, captured_batch,
     {RNL_FEATURE_BATCHED_STREAMS, RNL_FEATURE_CAPTURE}},
    {0},
};
