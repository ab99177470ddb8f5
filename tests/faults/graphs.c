// Graphs and captures while memory runs out.
#include "sweep.h"

static void need_graphs(void)
{
    rnl_context context = NULL;
    assert_ok(sweep_open(&context));
    rnl_status status =
        rnl_context_supports(context, RNL_FEATURE_CAPTURE, NULL);
    assert_ok(rnl_context_release(context));
    if (status != RNL_OK)
        test_skip("the device has no capture");
}

static void ignore(rnl_status status, void *user_data)
{
    (void)status;
    (void)user_data;
}

static rnl_status launch(rnl_stream stream, rnl_graph_exec exec)
{
    rnl_status status = RNL_OK;
    TRY(rnl_enqueue_graph(stream, exec));
    TRY(rnl_stream_synchronize(stream, RNL_FOREVER));
    return status;
}

// --- Built by hand ---------------------------------------------------------

struct built {
    rnl_context context;
    rnl_stream stream;
    rnl_event event;
    rnl_buffer word, made;
    rnl_graph graph, clone, body;
    rnl_graph_exec exec;
    rnl_node nodes[6];
};

static rnl_status add(struct built *built, size_t count,
                      const rnl_node_params *params)
{
    return rnl_graph_add_node(built->graph, built->nodes, count, params,
                              &built->nodes[count]);
}

static rnl_status build(struct built *built)
{
    rnl_status status = RNL_OK;
    rnl_node inner = NULL;
    TRY(add(built, 0, RNL_NODE(.kind = RNL_NODE_EMPTY, .label = "start")));
    TRY(add(built, 1,
            RNL_NODE(.kind = RNL_NODE_FILL,
                     .fill = RNL_FILL(.to = {.buffer = built->word}, .width = 8,
                                      .pattern = 1, .pattern_size = 4))));
    TRY(add(built, 2, RNL_NODE(.kind = RNL_NODE_BUFFER_CREATE, .size = 64,
                               .out_buffer = &built->made)));
    TRY(add(built, 3, RNL_NODE(.kind = RNL_NODE_IF, .buffer = built->word,
                               .label = "if", .out_body = &built->body)));
    TRY(rnl_graph_add_node(
        built->body, RNL_AT_START,
        RNL_NODE(.kind = RNL_NODE_FILL,
                 .fill = RNL_FILL(.to = {.buffer = built->word, .offset = 4},
                                  .width = 4, .pattern = 2,
                                  .pattern_size = 4)), &inner));
    TRY(add(built, 4, RNL_NODE(.kind = RNL_NODE_EVENT_RECORD,
                               .event = built->event)));
    TRY(add(built, 5, RNL_NODE(.kind = RNL_NODE_HOST_FUNCTION,
                               .host = ignore)));
    TRY(rnl_graph_remove_edge(built->graph, built->nodes[0], built->nodes[5]));
    TRY(rnl_graph_add_edge(built->graph, built->nodes[0], built->nodes[5]));
    return status;
}

static bool write_nothing(const char *text, size_t size, void *user_data)
{
    (void)text;
    (void)size;
    (void)user_data;
    return true;
}

static rnl_status use(struct built *built)
{
    rnl_status status = RNL_OK;
    rnl_node child = NULL;
    const rnl_node_params *fill =
        RNL_NODE(.kind = RNL_NODE_FILL,
                 .fill = RNL_FILL(.to = {.buffer = built->word}, .width = 8,
                                  .pattern = 7, .pattern_size = 4));
    TRY(rnl_graph_clone(built->graph, &built->clone));
    TRY(rnl_graph_write_dot(built->clone, write_nothing, NULL));
    TRY(rnl_graph_instantiate(built->graph, &built->exec));
    TRY(launch(built->stream, built->exec));
    TRY(rnl_graph_exec_set_node(built->exec, built->nodes[1], fill));
    TRY(rnl_graph_exec_set_enabled(built->exec, built->nodes[5], false));
    TRY(launch(built->stream, built->exec));
    TRY(rnl_graph_exec_update(built->exec, built->graph, NULL));
    TRY(rnl_graph_set_node(built->graph, built->nodes[1], fill));
    TRY(rnl_graph_add_node(built->clone, RNL_AT_START,
                           RNL_NODE(.kind = RNL_NODE_EMPTY), &child));
    return status;
}

static rnl_status graph_life(void)
{
    rnl_status status = RNL_OK;
    struct built built = {0};
    uint32_t words[2] = {0};
    TRY(sweep_open(&built.context));
    TRY(rnl_stream_create(built.context, NULL, &built.stream));
    TRY(rnl_event_create(built.context, NULL, &built.event));
    TRY(rnl_buffer_create(built.context, 8, RNL_BUFFER_OPTIONS(.zeroed = true),
                          &built.word));
    TRY(rnl_graph_create(built.context, RNL_GRAPH_OPTIONS(.label = "graph"),
                         &built.graph));
    if (status == RNL_OK)
        status = build(&built);
    if (status == RNL_OK)
        status = use(&built);
    TRY(launch(built.stream, built.exec));
    TRY(rnl_copy_from_buffer_and_wait(built.stream, words, built.word, 0, 8));
    EXPECT(words[0] == 1 && words[1] == 2);
    RELEASE(rnl_graph_exec_release(built.exec));
    RELEASE(rnl_graph_release(built.clone));
    RELEASE(rnl_graph_release(built.graph));
    RELEASE(rnl_buffer_release(built.made));
    RELEASE(rnl_buffer_release(built.word));
    RELEASE(rnl_event_release(built.event));
    RELEASE(rnl_stream_release(built.stream));
    RELEASE(rnl_context_release(built.context));
    return status;
}

RNL_TEST(graphs_without_memory)
{
    need_graphs();
    sweep(graph_life);
}

// --- Captured --------------------------------------------------------------

struct captured {
    rnl_context context;
    rnl_stream origin, side;
    rnl_event fork, join;
    rnl_buffer word, made;
    rnl_graph graph;
    rnl_graph_exec exec;
};

// What is captured may fail; the capture is ended all the same.
static rnl_status record(rnl_stream stream, void *user_data)
{
    struct captured *captured = user_data;
    rnl_status status = RNL_OK;
    TRY(rnl_enqueue_fill(stream, captured->word, 0, 4, 1, 4));
    TRY(rnl_enqueue_event_record(stream, captured->fork));
    TRY(rnl_enqueue_wait_event(captured->side, captured->fork));
    TRY(rnl_enqueue_fill(captured->side, captured->word, 4, 4, 2, 4));
    TRY(rnl_enqueue_host_function(stream, ignore, NULL));
    TRY(rnl_enqueue_buffer_create(stream, 64, NULL, &captured->made));
    TRY(rnl_enqueue_event_record(captured->side, captured->join));
    TRY(rnl_enqueue_wait_event(stream, captured->join));
    TRY(rnl_enqueue_external_record(stream, captured->fork));
    return status;
}

// The streams of a capture that was lost are as good as new.
static rnl_status capture_again(struct captured *captured)
{
    rnl_status status = RNL_OK;
    rnl_graph graph = NULL;
    TRY(rnl_stream_begin_capture(captured->side, NULL));
    TRY(rnl_enqueue_fill(captured->side, captured->word, 0, 4, 1, 4));
    if (captured->side)
        rnl_stream_end_capture(captured->side, &graph);
    RELEASE(rnl_graph_release(graph));
    return status;
}

static rnl_status capture_life(void)
{
    rnl_status status = RNL_OK;
    struct captured captured = {0};
    uint32_t words[2] = {0};
    TRY(sweep_open(&captured.context));
    TRY(rnl_stream_create(captured.context, NULL, &captured.origin));
    TRY(rnl_stream_create(captured.context, NULL, &captured.side));
    TRY(rnl_event_create(captured.context, NULL, &captured.fork));
    TRY(rnl_event_create(captured.context, NULL, &captured.join));
    TRY(rnl_buffer_create(captured.context, 8, NULL, &captured.word));
    TRY(rnl_stream_capture(captured.origin, NULL, record, &captured,
                           &captured.graph));
    rnl_status again = capture_again(&captured);
    status = status ? status : again;
    TRY(rnl_graph_instantiate(captured.graph, &captured.exec));
    TRY(launch(captured.origin, captured.exec));
    TRY(rnl_copy_from_buffer_and_wait(captured.origin, words, captured.word, 0,
                                      8));
    EXPECT(words[0] == 1 && words[1] == 2);
    RELEASE(rnl_graph_exec_release(captured.exec));
    RELEASE(rnl_graph_release(captured.graph));
    RELEASE(rnl_buffer_release(captured.made));
    RELEASE(rnl_buffer_release(captured.word));
    RELEASE(rnl_event_release(captured.fork));
    RELEASE(rnl_event_release(captured.join));
    RELEASE(rnl_stream_release(captured.side));
    RELEASE(rnl_stream_release(captured.origin));
    RELEASE(rnl_context_release(captured.context));
    return status;
}

RNL_TEST(captures_without_memory)
{
    need_graphs();
    sweep(capture_life);
}
