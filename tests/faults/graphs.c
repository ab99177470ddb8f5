// Graphs and captures while memory runs out. Each step that fails is made again
// and must then succeed, and the counts at the end tell that no attempt left
// anything behind.
#include "sweep.h"

#include <stdatomic.h>

static void need(rnl_feature feature, const char *what)
{
    rnl_context context = NULL;
    assert_ok(sweep_open(&context));
    rnl_status status = rnl_context_supports(context, feature, NULL);
    assert_ok(rnl_context_release(context));
    if (status != RNL_OK)
        test_skip("the device has no %s", what);
}

static void need_graphs(void)
{
    need(RNL_FEATURE_GRAPHS, "graphs");
}

static rnl_status nothing(const rnl_native_call *call)
{
    (void)call;
    return RNL_OK;
}

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

static bool discard(const char *text, size_t size, void *user_data)
{
    (void)text, (void)size, (void)user_data;
    return true;
}

static const rnl_launch *one(void)
{
    static const rnl_launch launch = {.struct_size = sizeof launch,
                                      .grid = {1, 0, 0}, .block = {1, 0, 0}};
    return &launch;
}

struct things {
    rnl_context context;
    rnl_stream stream, other;
    rnl_event event;
    rnl_buffer buffer, made;
    rnl_function function;
};

static rnl_status make(struct things *t)
{
    rnl_status status = RNL_OK;
    *t = (struct things){0};
    TRY(sweep_open(&t->context));
    TRY(rnl_stream_create(t->context, NULL, &t->stream));
    TRY(rnl_stream_create(t->context, NULL, &t->other));
    TRY(rnl_event_create(t->context, NULL, &t->event));
    TRY(rnl_buffer_create(t->context, 16,
                          RNL_BUFFER_OPTIONS(.zeroed = true), &t->buffer));
    TRY(rnl_function_create_native(t->context, "nothing", nothing, NULL,
                                   &t->function));
    return status;
}

static void drop(struct things *t)
{
    RELEASE(rnl_function_release(t->function));
    RELEASE(rnl_buffer_release(t->made));
    RELEASE(rnl_buffer_release(t->buffer));
    RELEASE(rnl_event_release(t->event));
    RELEASE(rnl_stream_release(t->stream));
    RELEASE(rnl_stream_release(t->other));
    RELEASE(rnl_context_release(t->context));
}

// --- By hand ---------------------------------------------------------------

// One node of every kind, each after the one before.
static rnl_status build(struct things *t, rnl_graph child, rnl_graph graph,
                        rnl_node *nodes)
{
    rnl_graph body = NULL, unused = NULL;
    rnl_status status = RNL_OK;
    const rnl_fill *fill = RNL_FILL(.to = {.buffer = t->buffer}, .width = 16,
                                    .pattern_size = 4);
    static char bytes[16];
    const rnl_copy *copy = RNL_COPY(.to = {.pointer = bytes},
                                    .from = {.buffer = t->buffer},
                                    .width = 16);
    const rnl_node_params *params[] = {
        RNL_NODE(.kind = RNL_NODE_BUFFER_CREATE, .size = 64,
                 .out_buffer = &t->made, .label = "made"),
        RNL_NODE(.kind = RNL_NODE_FILL, .fill = fill),
        RNL_NODE(.kind = RNL_NODE_COPY, .copy = copy),
        RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = t->function,
                 .launch = one()),
        RNL_NODE(.kind = RNL_NODE_HOST_FUNCTION, .host = note),
        RNL_NODE(.kind = RNL_NODE_EVENT_RECORD, .event = t->event),
        RNL_NODE(.kind = RNL_NODE_EVENT_WAIT, .event = t->event),
        RNL_NODE(.kind = RNL_NODE_CHILD, .child = child),
        RNL_NODE(.kind = RNL_NODE_IF, .buffer = t->buffer, .out_body = &body),
        RNL_NODE(.kind = RNL_NODE_WHILE, .buffer = t->buffer,
                 .out_body = &unused),
        RNL_NODE(.kind = RNL_NODE_EMPTY),
    };
    for (size_t i = 0; i < sizeof params / sizeof params[0]; i++)
        TRY(rnl_graph_add_node(graph, i ? &nodes[i - 1] : NULL, i > 0,
                               params[i], &nodes[i]));
    rnl_node node = NULL;
    TRY(rnl_graph_add_node(
        graph, &nodes[10], 1,
        RNL_NODE(.kind = RNL_NODE_BUFFER_RELEASE, .buffer = t->made), &node));
    TRY(rnl_graph_add_node(body, NULL, 0,
                           RNL_NODE(.kind = RNL_NODE_FUNCTION,
                                    .function = t->function, .launch = one()),
                           &node));
    EXPECT(has_shape(graph, 12, 11));
    return status;
}

static rnl_status graph_life(void)
{
    struct things t;
    rnl_graph graph = NULL, child = NULL, clone = NULL;
    rnl_graph_exec exec = NULL;
    rnl_node nodes[16] = {0}, found = NULL;
    rnl_status status = make(&t);
    TRY(rnl_graph_create(t.context, RNL_GRAPH_OPTIONS(.label = "label"),
                         &graph));
    TRY(rnl_graph_create(t.context, NULL, &child));
    TRY(rnl_graph_add_node(child, NULL, 0, RNL_NODE(.kind = RNL_NODE_EMPTY),
                           &found));
    if (status == RNL_OK)
        status = build(&t, child, graph, nodes);
    TRY(rnl_graph_add_edge(graph, nodes[0], nodes[2]));
    TRY(rnl_graph_remove_edge(graph, nodes[0], nodes[2]));
    TRY(rnl_graph_set_node(
        graph, nodes[4],
        RNL_NODE(.kind = RNL_NODE_HOST_FUNCTION, .host = note)));
    TRY(rnl_graph_set_node(
        graph, nodes[7], RNL_NODE(.kind = RNL_NODE_CHILD, .child = child)));
    TRY(rnl_graph_clone(graph, &clone));
    TRY(rnl_graph_find_node(clone, nodes[3], &found));
    TRY(rnl_graph_remove_node(clone, found));
    TRY(rnl_graph_write_dot(graph, discard, NULL));
    EXPECT(has_shape(graph, 12, 11));
    EXPECT(has_shape(clone, 11, 9));
    TRY(rnl_graph_instantiate(graph, &exec));
    TRY(rnl_enqueue_graph(t.stream, exec));
    TRY(rnl_graph_exec_update(exec, graph, NULL));
    TRY(rnl_graph_exec_set_enabled(exec, nodes[3], false));
    TRY(rnl_graph_exec_set_node(
        exec, nodes[7], RNL_NODE(.kind = RNL_NODE_CHILD, .child = child)));
    TRY(rnl_enqueue_graph(t.other, exec));
    TRY(rnl_stream_synchronize(t.other, RNL_FOREVER));
    TRY(rnl_stream_synchronize(t.stream, RNL_FOREVER));
    TRY(rnl_event_query(t.event));
    RELEASE(rnl_graph_exec_release(exec));
    RELEASE(rnl_graph_release(graph));
    RELEASE(rnl_graph_release(child));
    RELEASE(rnl_graph_release(clone));
    drop(&t);
    return status;
}

RNL_TEST(graphs_without_memory)
{
    need_graphs();
    sweep(graph_life);
}

// --- Captured --------------------------------------------------------------

static rnl_status capture_work(struct things *t)
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

static rnl_status capture_life(void)
{
    struct things t;
    rnl_graph graph = NULL, given = NULL;
    rnl_graph_exec exec = NULL;
    rnl_node node = NULL;
    rnl_status status = make(&t);
    TRY(rnl_stream_begin_capture(t.stream,
                                 RNL_CAPTURE_OPTIONS(.label = "captured")));
    if (status == RNL_OK)
        status = capture_work(&t);
    TRY(rnl_stream_end_capture(t.stream, &graph));
    EXPECT(has_shape(graph, 8, 8));
    TRY(rnl_graph_instantiate(graph, &exec));
    TRY(rnl_enqueue_graph(t.stream, exec));
    TRY(rnl_stream_synchronize(t.stream, RNL_FOREVER));
    // Into a graph that is there.
    TRY(rnl_graph_create(t.context, NULL, &given));
    TRY(rnl_graph_add_node(given, NULL, 0, RNL_NODE(.kind = RNL_NODE_EMPTY),
                           &node));
    TRY(rnl_stream_begin_capture(
        t.stream, RNL_CAPTURE_OPTIONS(.graph = given, .after = &node,
                                      .after_count = 1)));
    TRY(rnl_enqueue_function(t.stream, t.function, one(), NULL));
    if (status == RNL_OK) {
        rnl_graph same = NULL;
        TRY(rnl_stream_end_capture(t.stream, &same));
        EXPECT(same == given && has_shape(given, 2, 1));
        RELEASE(rnl_graph_release(same));
    }
    // What was begun and not ended goes with its stream.
    drop(&t);
    RELEASE(rnl_graph_exec_release(exec));
    RELEASE(rnl_graph_release(graph));
    RELEASE(rnl_graph_release(given));
    return status;
}

RNL_TEST(captures_without_memory)
{
    need_graphs();
    sweep(capture_life);
}

// --- A launch that is refused ----------------------------------------------

// Two records, so that memory may be there for one of them alone.
static rnl_status two_records(struct things *t, rnl_event another,
                              rnl_graph_exec *out_exec)
{
    rnl_graph graph = NULL;
    rnl_node node = NULL;
    rnl_status status = RNL_OK;
    TRY(rnl_graph_create(t->context, NULL, &graph));
    const rnl_event events[] = {t->event, another};
    const rnl_node_kind kinds[] = {RNL_NODE_EVENT_RECORD, RNL_NODE_EVENT_WAIT};
    for (int i = 0; i < 4; i++)
        TRY(rnl_graph_add_node(
            graph, NULL, 0,
            RNL_NODE(.kind = kinds[i / 2], .event = events[i % 2]), &node));
    TRY(rnl_graph_instantiate(graph, out_exec));
    RELEASE(rnl_graph_release(graph));
    return status;
}

// With both events recorded behind a wait, and the executable graph in flight
// behind the same.
static rnl_status expect_refused_whole(struct things *t, rnl_event another,
                                       rnl_graph_exec exec)
{
    rnl_status status = rnl_enqueue_graph(t->stream, exec);
    if (status != RNL_ERROR_OUT_OF_MEMORY)
        return status;
    if (rnl_event_query(t->event) != RNL_NOT_READY ||
        rnl_event_query(another) != RNL_NOT_READY ||
        rnl_stream_query(t->stream) != RNL_OK)
        sweep_wrong("a refused launch changes nothing", __FILE__, __LINE__);
    return status;
}

static rnl_status refused_launch(void)
{
    struct things t;
    rnl_event another = NULL;
    rnl_graph_exec exec = NULL;
    rnl_buffer gate = NULL;
    void *word = NULL;
    rnl_status status = make(&t);
    TRY(rnl_event_create(t.context, NULL, &another));
    TRY(rnl_buffer_create(
        t.context, 4,
        RNL_BUFFER_OPTIONS(.kind = RNL_MEMORY_HOST, .zeroed = true), &gate));
    TRY(rnl_buffer_host_pointer(gate, &word));
    if (status == RNL_OK)
        status = two_records(&t, another, &exec);
    TRY(rnl_enqueue_wait_value32(t.other, gate, 0, 1, RNL_WAIT_GEQ));
    // As many as the events have room for at first.
    for (int i = 0; i < 4; i++)
        TRY(rnl_enqueue_graph(t.other, exec));
    TRY(rnl_enqueue_event_record(t.other, t.event));
    TRY(rnl_enqueue_event_record(t.other, another));
    TRY(expect_refused_whole(&t, another, exec));
    if (word)
        atomic_store((_Atomic uint32_t *)word, 1);
    TRY(rnl_stream_synchronize(t.other, RNL_FOREVER));
    TRY(rnl_stream_synchronize(t.stream, RNL_FOREVER));
    TRY(rnl_event_query(t.event));
    RELEASE(rnl_graph_exec_release(exec));
    RELEASE(rnl_event_release(another));
    RELEASE(rnl_buffer_release(gate));
    drop(&t);
    return status;
}

RNL_TEST(a_launch_refused_for_memory_changes_nothing)
{
    need_graphs();
    need(RNL_FEATURE_MEMORY_OPERATIONS, "stream memory operations");
    sweep(refused_launch);
}
