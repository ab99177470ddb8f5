// Driver calls that fail, in what most programs do; and devices that are lost.
#include "round.h"

#include <string.h>

// A graph that begins with a fill of round->buffer.
static rnl_status begin_graph(struct round *round, rnl_fill *fill,
                              rnl_node *out_first)
{
    rnl_status status = RNL_OK;
    TRY(rnl_buffer_create(round->context, 64, NULL, &round->buffer));
    fill->to.buffer = round->buffer;
    TRY(rnl_graph_create(round->context, NULL, &round->graph));
    TRY(rnl_graph_add_node(round->graph, RNL_AT_START,
                           RNL_NODE(.kind = RNL_NODE_FILL, .fill = fill),
                           out_first));
    return status;
}

// --- Scenarios ------------------------------------------------------------

static rnl_status streams(struct round *round)
{
    rnl_status status = round_open(round);
    TRY(rnl_stream_create(round->context, RNL_STREAM_OPTIONS(.priority = -1),
                          &round->other));
    TRY(rnl_enqueue_wait_stream(round->other, round->stream));
    TRY(rnl_stream_synchronize(round->other, RNL_FOREVER));
    return status;
}

static rnl_status events(struct round *round)
{
    uint64_t ns;
    rnl_event start = NULL;
    rnl_status status = round_open(round);
    TRY(rnl_event_create(round->context, RNL_EVENT_OPTIONS(.timing = true),
                         &round->event));
    TRY(rnl_event_create(round->context, RNL_EVENT_OPTIONS(.timing = true),
                         &start));
    TRY(rnl_enqueue_event_record(round->stream, start));
    TRY(rnl_enqueue_event_record(round->stream, round->event));
    TRY(rnl_event_synchronize(round->event, RNL_FOREVER));
    TRY(rnl_event_elapsed(start, round->event, &ns));
    assert_ok(rnl_event_release(start));
    return status;
}

static rnl_status copies(struct round *round)
{
    // Static: what cannot be waited for may still write.
    static int ints[64] = {1, 2, 3}, back[64];
    rnl_status status = round_open(round);
    TRY(rnl_buffer_create(round->context, sizeof ints, NULL, &round->buffer));
    TRY(rnl_buffer_create(round->context, sizeof ints,
                          RNL_BUFFER_OPTIONS(.kind = RNL_MEMORY_HOST),
                          &round->host));
    TRY(rnl_enqueue_fill(round->stream, round->buffer, 0, sizeof ints, 7, 4));
    TRY(rnl_enqueue_copy_buffer(round->stream, round->host, 0, round->buffer,
                                0, sizeof ints));
    TRY(rnl_copy_to_buffer_and_wait(round->stream, round->buffer, 0, ints,
                                    sizeof ints));
    TRY(rnl_copy_from_buffer_and_wait(round->stream, back, round->buffer, 0,
                                      sizeof back));
    if (status == RNL_OK)
        assert_memory_equal(ints, back, sizeof ints);
    return round_settle(round, status);
}

static rnl_status hosts(struct round *round)
{
    rnl_status status = round_open(round);
    TRY(rnl_enqueue_host_function(round->stream, round_count, &round->calls));
    TRY(rnl_stream_synchronize(round->stream, RNL_FOREVER));
    round_settle(round, status);
    if (status == RNL_OK)
        assert_int_equal(round->calls, 1);
    return status;
}

static rnl_status modules(struct round *round)
{
    static int back[8];
    rnl_status status = round_open(round);
    TRY(rnl_buffer_create(round->context, sizeof back,
                          RNL_BUFFER_OPTIONS(.zeroed = true), &round->buffer));
    TRY(fake_module(round->context, &round->module));
    TRY(rnl_module_function(round->module, "add", &round->function));
    TRY(rnl_enqueue_function(round->stream, round->function,
                             RNL_LAUNCH(.grid = {2}, .block = {4}),
                             RNL_ARGS(round->buffer, 5, 8)));
    TRY(rnl_copy_from_buffer_and_wait(round->stream, back, round->buffer, 0,
                                      sizeof back));
    if (status == RNL_OK)
        assert_int_equal(back[7], 5);
    return round_settle(round, status);
}

static rnl_status values(struct round *round)
{
    rnl_status status = round_open(round);
    TRY(rnl_stream_create(round->context, NULL, &round->other));
    TRY(rnl_buffer_create(round->context, 64,
                          RNL_BUFFER_OPTIONS(.zeroed = true), &round->buffer));
    TRY(rnl_enqueue_write_value32(round->other, round->buffer, 0, 1));
    TRY(rnl_stream_synchronize(round->other, RNL_FOREVER));
    TRY(rnl_enqueue_wait_value32(round->stream, round->buffer, 0, 1,
                                 RNL_WAIT_EQ));
    TRY(rnl_enqueue_write_value64(round->stream, round->buffer, 8, 2));
    rnl_buffer_info info = {.struct_size = sizeof info};
    TRY(rnl_buffer_get_info(round->buffer, &info));
    TRY(rnl_enqueue_write_address32(round->stream, info.device_address, 3, 0));
    TRY(rnl_stream_synchronize(round->stream, RNL_FOREVER));
    return status;
}

static rnl_status graphs(struct round *round)
{
    rnl_fill *fill = RNL_FILL(.width = 64, .pattern = 3, .pattern_size = 4);
    rnl_node first = NULL, second = NULL;
    rnl_status status = round_open(round);
    TRY(rnl_context_supports(round->context, RNL_FEATURE_GRAPHS, NULL));
    TRY(begin_graph(round, fill, &first));
    TRY(rnl_graph_add_node(round->graph, RNL_AFTER(first),
                           RNL_NODE(.kind = RNL_NODE_HOST_FUNCTION,
                                    .host = round_count,
                                    .user_data = &round->calls), &second));
    TRY(rnl_graph_instantiate(round->graph, &round->exec));
    TRY(rnl_enqueue_graph_upload(round->stream, round->exec));
    TRY(rnl_enqueue_graph(round->stream, round->exec));
    TRY(rnl_enqueue_graph(round->stream, round->exec));
    TRY(rnl_stream_synchronize(round->stream, RNL_FOREVER));
    if (status == RNL_OK)
        assert_int_equal(round->calls, 2);
    return round_settle(round, status);
}

// All that a launch prepares, and a change that needs another plan.
static rnl_status changes(struct round *round)
{
    rnl_fill *fill = RNL_FILL(.width = 4, .pattern_size = 4);
    rnl_graph body = NULL;
    rnl_node first = NULL, node = NULL;
    rnl_status status = round_open(round);
    TRY(rnl_event_create(round->context, NULL, &round->event));
    TRY(begin_graph(round, fill, &first));
    if (!fake_is_hip())
        TRY(rnl_graph_add_node(round->graph, RNL_AFTER(first),
                               RNL_NODE(.kind = RNL_NODE_WHILE,
                                        .buffer = round->buffer,
                                        .out_body = &body),
                               &node));
    TRY(rnl_graph_add_node(
        round->graph, RNL_AFTER(node ? node : first),
        RNL_NODE(.kind = RNL_NODE_EVENT_WAIT, .event = round->event), &node));
    TRY(rnl_graph_add_node(round->graph, RNL_AFTER(node),
                           RNL_NODE(.kind = RNL_NODE_EVENT_RECORD,
                                    .event = round->event), &node));
    TRY(rnl_graph_instantiate(round->graph, &round->exec));
    TRY(rnl_enqueue_graph(round->stream, round->exec));
    fill->height = 2;
    fill->to.row_pitch = 16;
    TRY(rnl_graph_exec_set_node(round->exec, first,
                                RNL_NODE(.kind = RNL_NODE_FILL,
                                         .fill = fill)));
    TRY(rnl_enqueue_graph(round->stream, round->exec));
    TRY(rnl_graph_exec_set_enabled(round->exec, first, false));
    TRY(rnl_event_synchronize(round->event, RNL_FOREVER));
    return round_settle(round, status);
}

// Of ordinary memory, to a buffer and back.
static rnl_status graph_copies(struct round *round)
{
    rnl_copy *there = RNL_COPY(.from = {.pointer = round->words[0]},
                               .width = 64);
    rnl_copy *back = RNL_COPY(.to = {.pointer = round->words[1]}, .width = 64);
    rnl_fill *fill = RNL_FILL(.width = 64, .pattern = 3, .pattern_size = 4);
    rnl_node node = NULL;
    rnl_status status = round_open(round);
    TRY(begin_graph(round, fill, &node));
    there->to.buffer = back->from.buffer = round->buffer;
    TRY(rnl_graph_add_node(round->graph, RNL_AFTER(node),
                           RNL_NODE(.kind = RNL_NODE_COPY, .copy = there),
                           &node));
    TRY(rnl_graph_add_node(round->graph, RNL_AFTER(node),
                           RNL_NODE(.kind = RNL_NODE_COPY, .copy = back),
                           &node));
    TRY(rnl_graph_instantiate(round->graph, &round->exec));
    round->words[0][15] = 7;
    TRY(rnl_enqueue_graph(round->stream, round->exec));
    TRY(rnl_stream_synchronize(round->stream, RNL_FOREVER));
    if (status == RNL_OK)
        assert_int_equal(round->words[1][15], 7);
    back->to.pointer = round->words[0];
    TRY(rnl_graph_exec_set_node(round->exec, node,
                                RNL_NODE(.kind = RNL_NODE_COPY,
                                         .copy = back)));
    return round_settle(round, status);
}

static rnl_status batches(struct round *round)
{
    rnl_status status =
        round_open_with(round, RNL_STREAM_OPTIONS(.flags = RNL_STREAM_BATCHED));
    TRY(rnl_buffer_create(round->context, 64, NULL, &round->buffer));
    for (unsigned value = 1; value <= 4; value++) {
        for (size_t i = 0; i < 8; i++)
            TRY(rnl_enqueue_fill(round->stream, round->buffer, 4 * i, 4,
                                 value / 2, 4));
        TRY(rnl_stream_synchronize(round->stream, RNL_FOREVER));
    }
    return round_settle(round, status);
}

static rnl_status open_promise(struct round *round)
{
    rnl_status status = round_open(round);
    TRY(rnl_stream_create(round->context, NULL, &round->other));
    TRY(rnl_buffer_create(round->context, 256, NULL, &round->buffer));
    TRY(rnl_event_create(round->context, RNL_EVENT_OPTIONS(.promise = true),
                         &round->event));
    return status;
}

// One that could not be kept is broken, so that the waits end.
static rnl_status end_promise(struct round *round, rnl_status status)
{
    assert_ok(rnl_event_release(round->event));
    round->event = NULL;
    TRY(rnl_stream_synchronize(round->other, RNL_FOREVER));
    TRY(rnl_stream_synchronize(round->stream, RNL_FOREVER));
    return round_settle(round, status);
}

// All that is held behind one.
static rnl_status promises(struct round *round)
{
    static int ints[64];
    rnl_event behind = NULL;
    rnl_status status = open_promise(round);
    TRY(rnl_enqueue_wait_event(round->stream, round->event));
    TRY(rnl_enqueue_fill(round->stream, round->buffer, 0, 64, 1, 4));
    TRY(rnl_stream_set_attribute(
        round->stream, RNL_STREAM_ATTRIBUTE(.id = RNL_STREAM_DOMAIN)));
    TRY(rnl_enqueue_copy_to_buffer(round->stream, round->buffer, 0, ints,
                                   sizeof ints));
    TRY(rnl_enqueue_host_function(round->stream, round_count, &round->calls));
    TRY(rnl_enqueue_event(round->stream, NULL, &behind));
    TRY(rnl_enqueue_event_record(round->other, round->event));
    TRY(rnl_enqueue_wait_event(round->other, behind));
    TRY(rnl_enqueue_fill(round->other, round->buffer, 0, 64, 2, 4));
    assert_ok(rnl_event_release(behind));
    status = end_promise(round, status);
    if (status == RNL_OK)
        assert_int_equal(round->calls, 1);
    return status;
}

// Where the driver is given all at once.
static rnl_status native_streams(struct round *round)
{
    void *native;
    rnl_status status = open_promise(round);
    TRY(rnl_enqueue_wait_event(round->stream, round->event));
    TRY(rnl_enqueue_fill(round->stream, round->buffer, 0, 64, 1, 4));
    TRY(rnl_stream_native(round->stream, &native));
    TRY(rnl_enqueue_wait_event(round->stream, round->event));
    TRY(rnl_enqueue_host_function(round->stream, round_count, &round->calls));
    TRY(rnl_enqueue_event_record(round->other, round->event));
    status = end_promise(round, status);
    if (status == RNL_OK)
        assert_int_equal(round->calls, 1);
    return status;
}

// --- The sweeps ------------------------------------------------------------

RNL_TEST(streams_survive_any_failing_call)
{
    round_sweep(streams);
}

RNL_TEST(events_survive_any_failing_call)
{
    round_sweep(events);
}

RNL_TEST(copies_survive_any_failing_call)
{
    round_sweep(copies);
}

RNL_TEST(host_functions_survive_any_failing_call)
{
    round_sweep(hosts);
}

RNL_TEST(modules_survive_any_failing_call)
{
    round_sweep(modules);
}

RNL_TEST(values_survive_any_failing_call)
{
    round_sweep(values);
}

RNL_TEST(graphs_survive_any_failing_call)
{
    round_sweep(graphs);
}

RNL_TEST(changes_of_graphs_survive_any_failing_call)
{
    round_sweep(changes);
}

RNL_TEST(copies_in_graphs_survive_any_failing_call)
{
    round_sweep(graph_copies);
}

RNL_TEST(batches_survive_any_failing_call)
{
    round_sweep(batches);
}

RNL_TEST(promises_survive_any_failing_call)
{
    round_sweep(promises);
}

RNL_TEST(native_streams_survive_any_failing_call)
{
    round_sweep(native_streams);
}

// --- A device that is lost ------------------------------------------------

// Every wait ends, and all that comes is refused.
RNL_TEST(a_lost_device_ends_every_wait)
{
    struct round round = {0};
    fake_load();
    assert_ok(round_open(&round));
    assert_ok(rnl_buffer_create(round.context, 64,
                                RNL_BUFFER_OPTIONS(.zeroed = true),
                                &round.buffer));
    assert_ok(rnl_enqueue_wait_value32(round.stream, round.buffer, 0, 1,
                                       RNL_WAIT_EQ));
    assert_ok(rnl_enqueue_host_function(round.stream, round_count,
                                        &round.calls));
    assert_status(rnl_stream_query(round.stream), RNL_NOT_READY);
    fake_break(0, 700);
    assert_status(rnl_stream_synchronize(round.stream, RNL_FOREVER),
                  RNL_ERROR_DEVICE_LOST);
    assert_status(rnl_context_synchronize(round.context, RNL_FOREVER),
                  RNL_ERROR_DEVICE_LOST);
    assert_status(rnl_enqueue_fill(round.stream, round.buffer, 0, 64, 0, 4),
                  RNL_ERROR_DEVICE_LOST);
    assert_status(rnl_stream_reset_and_wait(round.stream),
                  RNL_ERROR_DEVICE_LOST);
    assert_non_null(
        strstr(rnl_last_error()->message,
               fake_is_hip() ? "hipErrorIllegalAddress" : "illegal memory"));
    round_finish(&round);
    fake_expect_empty();
    assert_int_equal(round.calls, 1);
}

// A new context is a new start, as far as the driver allows it: HIP has no
// context to begin anew.
RNL_TEST(a_lost_device_can_be_opened_anew)
{
    struct round round = {0};
    fake_load();
    assert_ok(round_open(&round));
    assert_ok(rnl_buffer_create(round.context, 64, NULL, &round.buffer));
    fake_break(0, 719);
    // Nobody can know before the next call of the driver.
    assert_status(rnl_enqueue_fill(round.stream, round.buffer, 0, 64, 0, 4),
                  RNL_ERROR_DEVICE_LOST);
    round_finish(&round);
    fake_expect_empty();
    round = (struct round){0};
    if (fake_is_hip()) {
        assert_status(round_open(&round), RNL_ERROR_DEVICE_LOST);
        assert_non_null(
            strstr(rnl_last_error()->message, "hipErrorLaunchFail"));
        return;
    }
    assert_ok(copies(&round));
    round_finish(&round);
    fake_expect_empty();
}

// A launch that never came to its host node.
RNL_TEST(a_lost_device_calls_the_host_functions_of_graphs_once)
{
    struct round round = {0};
    rnl_graph graph = NULL;
    rnl_graph_exec exec = NULL;
    rnl_node node;
    fake_load();
    assert_ok(round_open(&round));
    assert_ok(rnl_buffer_create(round.context, 64,
                                RNL_BUFFER_OPTIONS(.zeroed = true),
                                &round.buffer));
    assert_ok(rnl_graph_create(round.context, NULL, &graph));
    for (int i = 0; i < 2; i++)
        assert_ok(rnl_graph_add_node(graph, RNL_AT_START,
                                     RNL_NODE(.kind = RNL_NODE_HOST_FUNCTION,
                                              .host = round_count,
                                              .user_data = &round.calls),
                                     &node));
    assert_ok(rnl_graph_instantiate(graph, &exec));
    assert_ok(rnl_graph_exec_set_enabled(exec, node, false));
    assert_ok(rnl_enqueue_graph(round.stream, exec));
    assert_ok(rnl_stream_synchronize(round.stream, RNL_FOREVER));
    assert_int_equal(round.calls, 1);
    assert_ok(rnl_enqueue_wait_value32(round.stream, round.buffer, 0, 1,
                                       RNL_WAIT_EQ));
    assert_ok(rnl_enqueue_graph(round.stream, exec));
    assert_ok(rnl_enqueue_graph(round.stream, exec));
    assert_ok(rnl_graph_exec_release(exec));
    assert_ok(rnl_graph_release(graph));
    fake_break(0, 700);
    assert_status(rnl_stream_synchronize(round.stream, RNL_FOREVER),
                  RNL_ERROR_DEVICE_LOST);
    round_finish(&round);
    fake_expect_empty();
    assert_int_equal(round.calls, 3);
}
