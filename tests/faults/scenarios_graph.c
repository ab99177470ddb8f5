// Graphs, while faults are injected. The counts at the end tell that no failed
// attempt left anything behind.
#include "sweep.h"

#include <stdatomic.h>
#include <unistd.h>

#define GRAPHS {RNL_FEATURE_GRAPHS, RNL_FEATURE_NATIVE_FUNCTIONS}

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

// --- By hand ---------------------------------------------------------------

// One node of every kind, each after the one before.
static rnl_status build(struct sweep_set *t, rnl_graph child, rnl_graph graph,
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

static rnl_status graph_life(struct sweep_set *t)
{
    rnl_graph graph = NULL, child = NULL, clone = NULL;
    rnl_graph_exec exec = NULL;
    rnl_node nodes[16] = {0}, found = NULL;
    rnl_status status = RNL_OK;
    TRY(rnl_graph_create(t->context, RNL_GRAPH_OPTIONS(.label = "label"),
                         &graph));
    TRY(rnl_graph_create(t->context, NULL, &child));
    TRY(rnl_graph_add_node(child, NULL, 0, RNL_NODE(.kind = RNL_NODE_EMPTY),
                           &found));
    if (status == RNL_OK)
        status = build(t, child, graph, nodes);
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
    TRY(rnl_enqueue_graph(t->stream, exec));
    TRY(rnl_graph_exec_update(exec, graph, NULL));
    TRY(rnl_graph_exec_set_enabled(exec, nodes[3], false));
    TRY(rnl_graph_exec_set_node(
        exec, nodes[7], RNL_NODE(.kind = RNL_NODE_CHILD, .child = child)));
    TRY(rnl_enqueue_graph(t->other, exec));
    TRY(rnl_stream_synchronize(t->other, RNL_FOREVER));
    TRY(rnl_stream_synchronize(t->stream, RNL_FOREVER));
    TRY(rnl_event_query(t->event));
    RELEASE(rnl_graph_exec_release(exec));
    RELEASE(rnl_graph_release(graph));
    RELEASE(rnl_graph_release(child));
    RELEASE(rnl_graph_release(clone));
    return status;
}

// --- A launch that is refused ----------------------------------------------

// Two records, so that memory may be there for one of them alone.
static rnl_status two_records(struct sweep_set *t, rnl_event another,
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
static rnl_status expect_refused_whole(struct sweep_set *t, rnl_event another,
                                       rnl_graph_exec exec)
{
    rnl_status status = rnl_enqueue_graph(t->stream, exec);
    if (status == RNL_OK)
        return status;
    if (rnl_event_query(t->event) != RNL_NOT_READY ||
        rnl_event_query(another) != RNL_NOT_READY ||
        rnl_stream_query(t->stream) != RNL_OK)
        sweep_wrong("a refused launch changes nothing", __FILE__, __LINE__);
    return status;
}

static rnl_status refused_launch(struct sweep_set *t)
{
    rnl_event another = NULL;
    rnl_graph_exec exec = NULL;
    rnl_buffer gate = NULL;
    void *word = NULL;
    rnl_status status = RNL_OK;
    TRY(rnl_event_create(t->context, NULL, &another));
    TRY(rnl_buffer_create(
        t->context, 4,
        RNL_BUFFER_OPTIONS(.kind = RNL_MEMORY_HOST, .zeroed = true), &gate));
    TRY(rnl_buffer_host_pointer(gate, &word));
    if (status == RNL_OK)
        status = two_records(t, another, &exec);
    TRY(rnl_enqueue_wait_value32(t->other, gate, 0, 1, RNL_WAIT_GEQ));
    // As many as the events have room for at first.
    for (int i = 0; i < 4; i++)
        TRY(rnl_enqueue_graph(t->other, exec));
    TRY(rnl_enqueue_event_record(t->other, t->event));
    TRY(rnl_enqueue_event_record(t->other, another));
    TRY(expect_refused_whole(t, another, exec));
    if (word)
        atomic_store((_Atomic uint32_t *)word, 1);
    TRY(rnl_stream_synchronize(t->other, RNL_FOREVER));
    TRY(rnl_stream_synchronize(t->stream, RNL_FOREVER));
    TRY(rnl_event_query(t->event));
    RELEASE(rnl_graph_exec_release(exec));
    RELEASE(rnl_event_release(another));
    RELEASE(rnl_buffer_release(gate));
    return status;
}

// --- Changed ---------------------------------------------------------------

// A chain of `count` function nodes, each in a fork of its own.
static rnl_status chain(struct sweep_set *t, rnl_graph graph, rnl_node *nodes,
                        size_t count)
{
    rnl_status status = RNL_OK;
    for (size_t i = 0; i < count; i++)
        TRY(rnl_graph_add_node(
            graph, i > 1 ? &nodes[i - 2] : NULL, i > 1,
            RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = t->function,
                     .launch = one(), .label = "one of a chain"), &nodes[i]));
    return status;
}

static rnl_status large_graph(struct sweep_set *t)
{
    enum { COUNT = 90 };
    rnl_status status = RNL_OK;
    rnl_graph graph = NULL, clone = NULL;
    rnl_graph_exec exec = NULL;
    rnl_node nodes[COUNT] = {0}, all[COUNT];
    rnl_edge edges[COUNT];
    size_t count = 0;
    TRY(rnl_graph_create(t->context, NULL, &graph));
    if (status == RNL_OK)
        status = chain(t, graph, nodes, COUNT);
    for (int i = 2; i < COUNT; i += 7)
        TRY(rnl_graph_add_edge(graph, nodes[0], nodes[i + 1]));
    TRY(rnl_graph_clone(graph, &clone));
    TRY(rnl_graph_get_nodes(clone, all, COUNT, &count));
    EXPECT(count == COUNT);
    TRY(rnl_graph_get_edges(clone, edges, COUNT, &count));
    TRY(rnl_graph_instantiate(clone, &exec));
    for (int i = 0; i < 5; i++)
        TRY(rnl_enqueue_graph(i % 2 ? t->stream : t->other, exec));
    TRY(rnl_context_synchronize(t->context, RNL_FOREVER));
    RELEASE(rnl_graph_exec_release(exec));
    RELEASE(rnl_graph_release(clone));
    RELEASE(rnl_graph_release(graph));
    return status;
}

// Updated by another graph of the same shape, and by a part.
static rnl_status updates(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    rnl_graph graph = NULL, another = NULL;
    rnl_graph_exec exec = NULL;
    rnl_node nodes[8] = {0}, others[8] = {0};
    bool enabled = true;
    rnl_update_result result = {.struct_size = sizeof result};
    TRY(rnl_graph_create(t->context, NULL, &graph));
    TRY(rnl_graph_create(t->context, NULL, &another));
    if (status == RNL_OK)
        status = chain(t, graph, nodes, 8);
    if (status == RNL_OK)
        status = chain(t, another, others, 8);
    TRY(rnl_graph_instantiate(graph, &exec));
    for (int i = 0; i < 6; i++) {
        TRY(rnl_enqueue_graph(t->stream, exec));
        TRY(rnl_graph_exec_update(exec, another, &result));
        TRY(rnl_graph_exec_set_enabled(exec, nodes[i], i % 2));
        TRY(rnl_graph_exec_set_node(
            exec, nodes[7],
            RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = t->function,
                     .launch = RNL_LAUNCH(.grid = {(uint32_t)i + 2},
                                          .block = {1}, .label = "set"))));
    }
    TRY(rnl_graph_exec_is_enabled(exec, nodes[5], &enabled));
    TRY(rnl_stream_synchronize(t->stream, RNL_FOREVER));
    RELEASE(rnl_graph_exec_release(exec));
    RELEASE(rnl_graph_release(another));
    RELEASE(rnl_graph_release(graph));
    return status;
}

static rnl_status refused_update(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    rnl_graph graph = NULL, another = NULL;
    rnl_graph_exec exec = NULL;
    rnl_node nodes[4] = {0};
    rnl_update_result result = {.struct_size = sizeof result};
    TRY(rnl_graph_create(t->context, NULL, &graph));
    TRY(rnl_graph_create(t->context, NULL, &another));
    if (status == RNL_OK)
        status = chain(t, graph, nodes, 4);
    TRY(rnl_graph_add_node(another, NULL, 0, RNL_NODE(.kind = RNL_NODE_EMPTY),
                           nodes));
    TRY(rnl_graph_instantiate(graph, &exec));
    TRY(rnl_graph_exec_update(exec, another, &result));
    status = status == RNL_ERROR_GRAPH_UPDATE ? RNL_OK : status;
    EXPECT(result.reason == RNL_UPDATE_NODE_COUNT);
    TRY(rnl_enqueue_graph(t->stream, exec));
    TRY(rnl_stream_synchronize(t->stream, RNL_FOREVER));
    RELEASE(rnl_graph_exec_release(exec));
    RELEASE(rnl_graph_release(another));
    RELEASE(rnl_graph_release(graph));
    return status;
}

// Memory that a graph makes and lets go, over and over.
static rnl_status graph_memory(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    rnl_graph graph = NULL;
    rnl_graph_exec exec = NULL;
    rnl_node node = NULL;
    TRY(rnl_graph_create(t->context, NULL, &graph));
    TRY(rnl_graph_add_node(graph, NULL, 0,
                           RNL_NODE(.kind = RNL_NODE_BUFFER_CREATE,
                                    .size = 1024, .out_buffer = &t->made),
                           &node));
    TRY(rnl_graph_add_node(
        graph, &node, 1,
        RNL_NODE(.kind = RNL_NODE_FILL,
                 .fill = RNL_FILL(.to = {.buffer = t->made}, .width = 1024,
                                  .pattern_size = 1)), &node));
    TRY(rnl_graph_add_node(graph, &node, 1,
                           RNL_NODE(.kind = RNL_NODE_BUFFER_RELEASE,
                                    .buffer = t->made), &node));
    TRY(rnl_graph_instantiate(graph, &exec));
    for (int i = 0; i < 4; i++)
        TRY(rnl_enqueue_graph(t->stream, exec));
    TRY(rnl_stream_synchronize(t->stream, RNL_FOREVER));
    RELEASE(rnl_graph_exec_release(exec));
    RELEASE(rnl_graph_release(graph));
    return status;
}

static rnl_status graph_upload(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    rnl_graph graph = NULL;
    rnl_graph_exec exec = NULL;
    rnl_node nodes[6] = {0};
    rnl_node_info info = {.struct_size = sizeof info};
    TRY(rnl_graph_create(t->context, NULL, &graph));
    if (status == RNL_OK)
        status = chain(t, graph, nodes, 6);
    TRY(rnl_graph_get_node_info(graph, nodes[2], &info));
    TRY(rnl_graph_instantiate(graph, &exec));
    TRY(rnl_enqueue_graph_upload(t->stream, exec));
    TRY(rnl_enqueue_graph(t->stream, exec));
    TRY(rnl_enqueue_wait_stream(t->other, t->stream));
    TRY(rnl_enqueue_graph(t->other, exec));
    TRY(rnl_stream_synchronize(t->other, RNL_FOREVER));
    RELEASE(rnl_graph_exec_release(exec));
    RELEASE(rnl_graph_release(graph));
    return status;
}

// Many host functions side by side, and a graph in a graph.
static rnl_status wide_graph(struct sweep_set *t)
{
    enum { COUNT = 30 };
    rnl_status status = RNL_OK;
    rnl_graph graph = NULL, outer = NULL;
    rnl_graph_exec exec = NULL;
    rnl_node nodes[COUNT] = {0}, last = NULL;
    TRY(rnl_graph_create(t->context, NULL, &graph));
    TRY(rnl_graph_create(t->context, NULL, &outer));
    for (int i = 0; i < COUNT; i++)
        TRY(rnl_graph_add_node(graph, NULL, 0,
                               RNL_NODE(.kind = RNL_NODE_HOST_FUNCTION,
                                        .host = note), &nodes[i]));
    TRY(rnl_graph_add_node(graph, nodes, COUNT,
                           RNL_NODE(.kind = RNL_NODE_EMPTY), &last));
    for (int i = 0; i < 3; i++)
        TRY(rnl_graph_add_node(outer, i ? &last : NULL, i > 0,
                               RNL_NODE(.kind = RNL_NODE_CHILD,
                                        .child = graph), &last));
    TRY(rnl_graph_instantiate(outer, &exec));
    TRY(rnl_enqueue_graph(t->stream, exec));
    TRY(rnl_stream_synchronize(t->stream, RNL_FOREVER));
    RELEASE(rnl_graph_exec_release(exec));
    RELEASE(rnl_graph_release(outer));
    RELEASE(rnl_graph_release(graph));
    return status;
}

static rnl_status save_dot(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    rnl_graph graph = NULL;
    rnl_node nodes[6] = {0};
    char path[] = "/tmp/runnel-sweep-XXXXXX";
    close(mkstemp(path));
    TRY(rnl_graph_create(t->context, NULL, &graph));
    if (status == RNL_OK)
        status = chain(t, graph, nodes, 6);
    TRY(rnl_graph_save_dot(graph, path));
    unlink(path);
    RELEASE(rnl_graph_release(graph));
    return status;
}

static int ended;

static void end_data(void *user_data)
{
    (void)user_data;
    ended++;
}

// Several bodies, one captured into, and data that ends once if it was taken.
static rnl_status bodies(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    rnl_graph graph = NULL, clone = NULL, captured = NULL, all[3] = {0};
    rnl_graph_exec exec = NULL;
    rnl_node nodes[2] = {0};
    rnl_node_params params = {.struct_size = sizeof params};
    rnl_node_info info = {.struct_size = sizeof info};
    int taken = 0;
    ended = 0;
    TRY(rnl_graph_create(t->context, NULL, &graph));
    TRY(rnl_graph_add_node(graph, NULL, 0,
                           RNL_NODE(.kind = RNL_NODE_SWITCH,
                                    .buffer = t->buffer, .out_body = all,
                                    .body_count = 3), &nodes[0]));
    TRY(rnl_stream_begin_capture(t->other,
                                 RNL_CAPTURE_OPTIONS(.graph = all[1])));
    if (status == RNL_OK) {
        TRY(rnl_enqueue_fill(t->other, t->buffer, 16, 16, 3, 4));
        rnl_status over = rnl_stream_end_capture(t->other, &captured);
        status = status ? status : over;
    }
    RELEASE(captured ? rnl_graph_release(captured) : RNL_OK);
    TRY(rnl_graph_add_node(graph, NULL, 0,
                           RNL_NODE(.kind = RNL_NODE_EMPTY,
                                    .destroy = end_data), &nodes[1]));
    taken += status == RNL_OK;
    TRY(rnl_graph_get_node_info(graph, nodes[0], &info));
    for (int i = 0; i < 2; i++)
        TRY(rnl_graph_get_node_params(graph, nodes[i], &params));
    TRY(rnl_graph_clone(graph, &clone));
    TRY(rnl_graph_instantiate(clone, &exec));
    TRY(rnl_enqueue_graph(t->stream, exec));
    TRY(rnl_stream_synchronize(t->stream, RNL_FOREVER));
    RELEASE(rnl_graph_exec_release(exec));
    RELEASE(rnl_graph_release(clone));
    RELEASE(rnl_graph_release(graph));
    if (ended > taken)
        sweep_wrong("data ends once, if it was taken", __FILE__, __LINE__);
    return status;
}

const struct scenario graph_scenarios[] = {
    {"graphs", NULL, graph_life, GRAPHS},
    {"refused launches", NULL, refused_launch, GRAPHS},
    {"large graphs", NULL, large_graph, GRAPHS},
    {"updates", NULL, updates, GRAPHS},
    {"refused updates", NULL, refused_update, GRAPHS},
    {"memory of graphs", NULL, graph_memory, GRAPHS},
    {"uploads", NULL, graph_upload, GRAPHS},
    {"wide graphs", NULL, wide_graph, GRAPHS},
    {"files of graphs", NULL, save_dot, GRAPHS},
    {"bodies", NULL, bodies, {RNL_FEATURE_GRAPHS, RNL_FEATURE_GRAPH_SWITCH}},
    {0},
};
