// What graphs and captures refuse at the edges of their arguments, and what a
// drawing shows.
#include "graphs.h"

#include <stdio.h>

// --- Nodes -----------------------------------------------------------------

RNL_TEST(a_node_of_no_values_does_nothing)
{
    rnl_graph graph = new_graph();
    rnl_node node = NULL;
    expect_error(rnl_graph_add_node(graph, RNL_AT_START,
                                    RNL_NODE(.kind = RNL_NODE_VALUES,
                                             .value_count = 1), &node),
                 RNL_ERROR_INVALID_ARGUMENT, "values");
    expect_ok(rnl_graph_add_node(graph, RNL_AT_START,
                                 RNL_NODE(.kind = RNL_NODE_VALUES), &node));
    expect_shape(graph, 1, 0);
    launch_once(graph);
    expect_ok(rnl_graph_release(graph));
}

RNL_TEST(a_decision_reads_a_number_inside_its_buffer)
{
    rnl_graph graph = new_graph(), body = NULL;
    rnl_buffer small = suite_new_buffer(3), word = suite_new_buffer(16);
    rnl_node node = NULL;
    const struct {
        rnl_buffer buffer;
        size_t offset;
        rnl_status status;
    } rows[] = {
        {small, 0, RNL_ERROR_OUT_OF_RANGE},
        {word, 13, RNL_ERROR_OUT_OF_RANGE},
        {word, 16, RNL_ERROR_OUT_OF_RANGE},
        {word, SIZE_MAX, RNL_ERROR_OUT_OF_RANGE},
        {word, 2, RNL_ERROR_INVALID_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_error(rnl_graph_add_node(
                         graph, RNL_AT_START,
                         RNL_NODE(.kind = RNL_NODE_IF,
                                  .buffer = rows[i].buffer,
                                  .offset = rows[i].offset,
                                  .out_body = &body), &node),
                     rows[i].status, "offset");
    assert_null(body);
    expect_ok(rnl_buffer_release(small));
    expect_ok(rnl_buffer_release(word));
    expect_ok(rnl_graph_release(graph));
}

RNL_TEST(decisions_and_buffers_of_a_graph_are_not_changed)
{
    rnl_graph graph = new_graph(), body = NULL;
    rnl_buffer word = suite_ints(1, 0), made = NULL, again = NULL;
    rnl_node nodes[4];
    nodes[0] = body_node(graph, RNL_NODE_IF, RNL_AT_START, word, &body);
    nodes[1] = body_node(graph, RNL_NODE_WHILE, RNL_AT_START, word, &body);
    expect_ok(rnl_graph_add_node(graph, RNL_AT_START,
                                 RNL_NODE(.kind = RNL_NODE_BUFFER_CREATE,
                                          .size = 64, .out_buffer = &made),
                                 &nodes[2]));
    expect_ok(rnl_graph_add_node(graph, RNL_AFTER(nodes[2]),
                                 RNL_NODE(.kind = RNL_NODE_BUFFER_RELEASE,
                                          .buffer = made), &nodes[3]));
    static const rnl_node_kind kinds[] = {
        RNL_NODE_IF, RNL_NODE_WHILE, RNL_NODE_BUFFER_CREATE,
        RNL_NODE_BUFFER_RELEASE};
    for (int i = 0; i < 4; i++) {
        const rnl_node_params *params = RNL_NODE(
            .kind = kinds[i], .buffer = i < 2 ? word : made, .size = 64,
            .out_body = &body, .out_buffer = &again);
        expect_error(rnl_graph_set_node(graph, nodes[i], params),
                     RNL_ERROR_UNSUPPORTED, "params");
    }
    assert_null(again);
    expect_ok(rnl_buffer_release(made));
    expect_ok(rnl_buffer_release(word));
    expect_ok(rnl_graph_release(graph));
}

RNL_TEST(a_graph_that_is_captured_into_is_not_changed)
{
    rnl_graph graph = new_graph(), captured;
    rnl_stream stream = suite_new_stream();
    rnl_node first = empty_node(graph, RNL_AT_START);
    rnl_node second = empty_node(graph, RNL_AFTER(first));
    expect_ok(rnl_stream_begin_capture(
        stream, RNL_CAPTURE_OPTIONS(.mode = RNL_CAPTURE_THREAD_LOCAL,
                                    .graph = graph)));
    expect_error(rnl_graph_add_edge(graph, first, second),
                 RNL_ERROR_INVALID_STATE, "graph");
    expect_error(rnl_graph_remove_edge(graph, first, second),
                 RNL_ERROR_INVALID_STATE, "graph");
    expect_error(rnl_graph_remove_node(graph, first),
                 RNL_ERROR_INVALID_STATE, "graph");
    expect_error(rnl_graph_set_node(graph, first,
                                    RNL_NODE(.kind = RNL_NODE_EMPTY)),
                 RNL_ERROR_INVALID_STATE, "graph");
    expect_ok(rnl_stream_end_capture(stream, &captured));
    assert_ptr_equal(captured, graph);
    expect_ok(rnl_graph_release(captured));
    expect_shape(graph, 2, 1);
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_graph_release(graph));
}

static void ask_host(rnl_status status, void *user_data)
{
    (void)status, (void)user_data;
}

// A body is held to its rules to the last node of what is put into it.
RNL_TEST(a_body_looks_into_its_children)
{
    rnl_graph graph = new_graph(), inner = new_graph(), child = new_graph();
    rnl_graph body = NULL;
    rnl_buffer word = suite_ints(1, 0);
    rnl_node node = NULL;
    body_node(graph, RNL_NODE_IF, RNL_AT_START, word, &body);
    rnl_node gone = empty_node(inner, RNL_AT_START);
    rnl_node first = empty_node(inner, RNL_AFTER(gone));
    fill_node(inner, RNL_AFTER(first), word, 7);
    expect_ok(rnl_graph_remove_node(inner, gone));
    child_node(child, RNL_AT_START, inner);
    child_node(body, RNL_AT_START, child);
    expect_shape(body, 1, 0);
    // … of which one asks the host, three deep.
    rnl_node asking = host_node(inner, RNL_AT_START, ask_host, NULL);
    empty_node(inner, RNL_AFTER(asking));
    rnl_graph outer = new_graph();
    child_node(outer, RNL_AT_START, inner);
    empty_node(outer, RNL_AT_START);
    bool holds_all = rnl_context_supports(
        suite_context(), RNL_FEATURE_GRAPH_BODIES, NULL) == RNL_OK;
    const rnl_node_params params = *RNL_NODE(.kind = RNL_NODE_CHILD,
                                             .child = outer);
    if (holds_all) {
        expect_ok(rnl_graph_add_node(body, RNL_AT_START, &params, &node));
    } else {
        expect_error(rnl_graph_add_node(body, RNL_AT_START, &params, &node),
                     RNL_ERROR_UNSUPPORTED, "params");
        assert_null(node);
        expect_shape(body, 1, 0);
    }
    expect_ok(rnl_graph_release(outer));
    expect_ok(rnl_graph_release(child));
    expect_ok(rnl_graph_release(inner));
    launch_once(graph);
    suite_expect_ints(word, 1, 0);
    suite_upload(word, &(int){1}, 4);
    launch_once(graph);
    suite_expect_ints(word, 1, 7);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_buffer_release(word));
}

RNL_TEST(graphs_are_so_deep_inside_of_each_other_and_no_deeper)
{
    rnl_graph graph = new_graph();
    rnl_status status = RNL_OK;
    int depth = 0;
    for (; status == RNL_OK && depth < 10000; depth++) {
        rnl_graph outer = new_graph();
        rnl_node node = NULL;
        rnl_node gone = empty_node(outer, RNL_AT_START);
        expect_ok(rnl_graph_remove_node(outer, gone));
        status = rnl_graph_add_node(outer, RNL_AT_START,
                                    RNL_NODE(.kind = RNL_NODE_CHILD,
                                             .child = graph), &node);
        expect_ok(rnl_graph_release(graph));
        graph = outer;
    }
    assert_int_equal(status, RNL_ERROR_OUT_OF_RANGE);
    assert_non_null(strstr(rnl_last_error()->message, "deep"));
    assert_in_range(depth, 2, 9999);
    expect_shape(graph, 0, 0);
    expect_ok(rnl_graph_release(graph));
}

// --- Captures --------------------------------------------------------------

RNL_TEST(a_capture_takes_no_promise_from_outside)
{
    rnl_context context = suite_context();
    rnl_event promise = NULL;
    if (rnl_context_supports(context, RNL_FEATURE_PROMISES, NULL) != RNL_OK)
        test_skip("no promises");
    expect_ok(rnl_event_create(context, RNL_EVENT_OPTIONS(.promise = true),
                               &promise));
    rnl_stream stream = new_captured_stream();
    assert_true(rnl_enqueue_external_record(stream, promise) != RNL_OK);
    assert_true(strlen(rnl_last_error()->message) >= 12);
    assert_true(rnl_enqueue_external_wait(stream, promise) != RNL_OK);
    assert_true(strlen(rnl_last_error()->message) >= 12);
    expect_ok(rnl_event_release(promise));
    rnl_graph graph = NULL;
    expect_error(rnl_stream_end_capture(stream, &graph),
                 RNL_ERROR_CAPTURE_INVALIDATED, NULL);
    assert_null(graph);
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(nobody_joins_a_capture_that_is_invalid)
{
    rnl_stream stream = new_captured_stream(), other = suite_new_stream();
    rnl_event event = suite_new_event(), timed = NULL;
    uint64_t ns = 77;
    rnl_graph graph = NULL;
    expect_ok(rnl_event_create(suite_context(),
                               RNL_EVENT_OPTIONS(.timing = true), &timed));
    expect_ok(rnl_enqueue_event_record(stream, event));
    expect_ok(rnl_enqueue_event_record(stream, timed));
    expect_error(rnl_event_elapsed(timed, timed, &ns),
                 RNL_ERROR_CAPTURED_EVENT, "start");
    assert_int_equal(ns, 77);
    assert_true(rnl_stream_synchronize(stream, RNL_FOREVER) != RNL_OK);
    expect_error(rnl_enqueue_wait_event(other, event),
                 RNL_ERROR_CAPTURE_INVALIDATED, NULL);
    expect_error(rnl_enqueue_wait_stream(other, stream),
                 RNL_ERROR_CAPTURE_INVALIDATED, NULL);
    expect_error(rnl_enqueue_wait_stream(stream, other),
                 RNL_ERROR_CAPTURE_INVALIDATED, NULL);
    expect_error(rnl_enqueue_wait_event(stream, event),
                 RNL_ERROR_CAPTURE_INVALIDATED, NULL);
    expect_error(rnl_stream_end_capture(stream, &graph),
                 RNL_ERROR_CAPTURE_INVALIDATED, NULL);
    expect_ok(rnl_stream_query(other));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_event_release(timed));
    expect_ok(rnl_stream_release(other));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(a_capture_in_global_mode_forbids_to_wait_for_other_contexts)
{
    rnl_context other = suite_open(NULL);
    rnl_stream stream = suite_new_stream();
    rnl_graph graph = NULL;
    if (rnl_context_supports(other, RNL_FEATURE_CAPTURE, NULL) != RNL_OK) {
        expect_ok(rnl_stream_release(stream));
        expect_ok(rnl_context_release(other));
        test_skip("no captures");
    }
    expect_ok(rnl_stream_begin_capture(
        stream, RNL_CAPTURE_OPTIONS(.mode = RNL_CAPTURE_GLOBAL)));
    expect_error(rnl_context_synchronize(other, RNL_FOREVER),
                 RNL_ERROR_CAPTURE_UNSUPPORTED, NULL);
    expect_error(rnl_stream_end_capture(stream, &graph),
                 RNL_ERROR_CAPTURE_INVALIDATED, NULL);
    assert_null(graph);
    expect_ok(rnl_context_synchronize(other, RNL_FOREVER));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_context_release(other));
}

// --- Drawings --------------------------------------------------------------

struct drawing {
    char text[16384];
    size_t size;
};

static bool draw(const char *text, size_t size, void *user_data)
{
    struct drawing *drawing = user_data;
    assert_true(drawing->size + size < sizeof drawing->text);
    memcpy(drawing->text + drawing->size, text, size);
    drawing->size += size;
    return true;
}

static size_t times(const char *text, const char *word)
{
    size_t count = 0;
    for (; (text = strstr(text, word)) != NULL; text++)
        count++;
    return count;
}

RNL_TEST(a_drawing_shows_batches_bodies_and_what_is_left)
{
    static struct drawing drawing;
    rnl_buffer word = suite_ints(4, 0);
    rnl_stream stream = new_captured_stream();
    int bytes[4] = {0};
    rnl_copy copies[2];
    for (size_t i = 0; i < 2; i++)
        copies[i] = (rnl_copy){.struct_size = sizeof(rnl_copy),
                               .to = {.buffer = word, .offset = 4 * i},
                               .from = {.pointer = bytes + i}, .width = 4};
    expect_ok(rnl_enqueue_copy_batch(stream, copies, 2));
    rnl_graph graph = end_capture(stream), body = NULL;
    rnl_node gone = empty_node(graph, RNL_AT_START);
    body_node(graph, RNL_NODE_IF, RNL_AT_START, word, &body);
    rnl_node removed = empty_node(body, RNL_AT_START);
    rnl_node first = fill_node(body, RNL_AT_START, word, 1);
    fill_node(body, RNL_AFTER(first), word, 2);
    expect_ok(rnl_graph_remove_node(body, removed));
    expect_ok(rnl_graph_remove_node(graph, gone));
    memset(&drawing, 0, sizeof drawing);
    expect_ok(rnl_graph_write_dot(graph, draw, &drawing));
    assert_int_equal(times(drawing.text, "4 bytes\""), 1);  // the batch
    assert_int_equal(times(drawing.text, "shape=diamond"), 1);
    assert_int_equal(times(drawing.text, "shape=point"), 0);
    assert_int_equal(times(drawing.text, "subgraph"), 1);
    // To the body's first node alone.
    assert_int_equal(times(drawing.text, "style=dotted"), 1);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_buffer_release(word));
}

RNL_TEST(a_drawing_that_cannot_be_saved_says_why)
{
    rnl_graph graph = new_graph();
    expect_error(rnl_graph_save_dot(graph, "/absent/graph.dot"),
                 RNL_ERROR_IO, "path");
    assert_non_null(strstr(rnl_last_error()->message, "/absent/graph.dot"));
    expect_error(rnl_graph_save_dot(graph, "/dev/full"), RNL_ERROR_IO, "path");
    expect_error(rnl_graph_save_dot(graph, NULL), RNL_ERROR_INVALID_ARGUMENT,
                 "path");
    expect_ok(rnl_graph_release(graph));
}

// --- Native handles --------------------------------------------------------

RNL_TEST(what_is_not_loaded_or_captured_has_no_native_handle)
{
    rnl_module module = NULL;
    void *native = &module;
    suite_need(RNL_FEATURE_COMPILE);
    expect_ok(rnl_module_compile(
        suite_context(), "extern \"C\" __global__ void f() {}\n",
        RNL_MODULE_OPTIONS(.binary_only = true), &module));
    expect_error(rnl_module_native(module, &native), RNL_ERROR_INVALID_STATE,
                 "module");
    expect_ok(rnl_module_release(module));
    rnl_stream stream = new_captured_stream();
    assert_true(rnl_stream_native(stream, &native) != RNL_OK);
    assert_ptr_equal(native, &module);
    rnl_graph graph = NULL;
    rnl_status status = rnl_stream_end_capture(stream, &graph);
    assert_true(status == RNL_OK || status == RNL_ERROR_CAPTURE_INVALIDATED);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_stream_release(stream));
}
