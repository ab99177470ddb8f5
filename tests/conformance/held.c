// Work behind a host function that takes long, or behind a promise. On a GPU
// streams share hardware queues of limited length: what waits for the host must
// not stand in them.
#include "suite.h"

enum { STREAMS = 40, VALUE = 7 };

static rnl_stream streams[STREAMS];

static void make_streams(void)
{
    for (int i = 0; i < STREAMS; i++)
        streams[i] = suite_new_stream();
}

static void drop_streams(void)
{
    for (int i = 0; i < STREAMS; i++) {
        expect_ok(rnl_stream_synchronize(streams[i], RNL_FOREVER));
        expect_ok(rnl_stream_release(streams[i]));
    }
}

static void fill_one(rnl_stream stream, rnl_buffer ints, int index, int value)
{
    expect_ok(rnl_enqueue_fill(stream, ints, (size_t)index * 4, 4,
                               (uint32_t)value, 4));
}

// Half of the streams wait for one, which waits for the host.
RNL_TEST(streams_that_wait_for_the_host_hold_up_no_others)
{
    rnl_stream first = suite_new_stream();
    rnl_event event = suite_new_event();
    rnl_buffer ints = suite_ints(STREAMS, 0);
    struct gate *gate = gate_shut(first);
    expect_ok(rnl_enqueue_event_record(first, event));
    make_streams();
    for (int i = 0; i < STREAMS; i += 2) {
        expect_ok(rnl_enqueue_wait_event(streams[i], event));
        fill_one(streams[i], ints, i, VALUE);
        expect_ok(rnl_enqueue_wait_stream(streams[i], first));
    }
    for (int i = 1; i < STREAMS; i += 2) {
        fill_one(streams[i], ints, i, VALUE);
        expect_ok(rnl_stream_synchronize(streams[i], RNL_FOREVER));
    }
    for (int i = 0; i < STREAMS; i += 2)
        assert_status(rnl_stream_query(streams[i]), RNL_NOT_READY);
    assert_status(rnl_event_query(event), RNL_NOT_READY);
    gate_open(gate);
    drop_streams();
    expect_ok(rnl_event_query(event));
    suite_expect_ints(ints, STREAMS, VALUE);
    gate_free(gate);
    expect_ok(rnl_stream_release(first));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_buffer_release(ints));
}

static rnl_event new_promise(void)
{
    rnl_event promise = NULL;
    suite_need(RNL_FEATURE_PROMISES);
    expect_ok(rnl_event_create(suite_context(),
                               RNL_EVENT_OPTIONS(.promise = true), &promise));
    return promise;
}

RNL_TEST(streams_that_wait_for_a_promise_hold_up_no_others)
{
    rnl_event promise = new_promise();
    rnl_buffer ints = suite_ints(STREAMS, 0);
    make_streams();
    for (int i = 0; i < STREAMS; i += 2) {
        expect_ok(rnl_enqueue_wait_event(streams[i], promise));
        fill_one(streams[i], ints, i, VALUE);
    }
    for (int i = 1; i < STREAMS; i += 2) {
        fill_one(streams[i], ints, i, VALUE);
        expect_ok(rnl_stream_synchronize(streams[i], RNL_FOREVER));
    }
    for (int i = 0; i < STREAMS; i += 2)
        assert_status(rnl_stream_query(streams[i]), RNL_NOT_READY);
    expect_ok(rnl_enqueue_event_record(streams[1], promise));
    drop_streams();
    suite_expect_ints(ints, STREAMS, VALUE);
    expect_ok(rnl_event_release(promise));
    expect_ok(rnl_buffer_release(ints));
}

// Each keeps the promise that the next one waits for.
RNL_TEST(a_row_of_promises_passes_work_on)
{
    rnl_event promises[STREAMS];
    rnl_buffer ints = suite_ints(1, 0);
    make_streams();
    for (int i = 0; i < STREAMS; i++)
        promises[i] = new_promise();
    for (int i = STREAMS; i-- > 1;) {
        expect_ok(rnl_enqueue_wait_event(streams[i], promises[i - 1]));
        fill_one(streams[i], ints, 0, i);
        expect_ok(rnl_enqueue_event_record(streams[i], promises[i]));
    }
    assert_status(rnl_event_query(promises[STREAMS - 1]), RNL_NOT_READY);
    expect_ok(rnl_enqueue_event_record(streams[0], promises[0]));
    expect_ok(rnl_event_synchronize(promises[STREAMS - 1], RNL_FOREVER));
    suite_expect_ints(ints, 1, STREAMS - 1);
    drop_streams();
    for (int i = 0; i < STREAMS; i++)
        expect_ok(rnl_event_release(promises[i]));
    expect_ok(rnl_buffer_release(ints));
}

RNL_TEST(code_is_loaded_while_work_waits_for_a_promise)
{
    suite_need(RNL_FEATURE_COMPILE);
    rnl_event promise = new_promise();
    rnl_stream stream = suite_new_stream();
    rnl_buffer ints = suite_ints(1, 0);
    expect_ok(rnl_enqueue_wait_event(stream, promise));
    fill_one(stream, ints, 0, 1);
    rnl_function function = suite_compile(
        "extern \"C\" __global__ void add_six(int *p) { *p += 6; }\n",
        "add_six");
    expect_ok(rnl_enqueue_function(stream, function,
                                   RNL_LAUNCH(.grid = {1}, .block = {1}),
                                   RNL_ARGS(ints)));
    expect_ok(rnl_enqueue_event_record(suite_stream(), promise));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    suite_expect_ints(ints, 1, VALUE);
    expect_ok(rnl_event_release(promise));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_buffer_release(ints));
}

static void nothing(rnl_status status, void *user_data)
{
    (void)user_data;
    (void)status;
}

// What another stream has left behind does not let this one on.
RNL_TEST(a_new_stream_waits_for_its_own_host_functions)
{
    for (int i = 0; i < 8; i++) {
        rnl_stream stream = suite_new_stream();
        struct gate *gate = gate_shut(stream);
        for (int j = 0; j < i; j++)
            expect_ok(rnl_enqueue_host_function(stream, nothing, NULL));
        assert_status(rnl_stream_query(stream), RNL_NOT_READY);
        assert_status(rnl_stream_synchronize(stream, 0), RNL_ERROR_TIMED_OUT);
        gate_open(gate);
        expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
        gate_free(gate);
        expect_ok(rnl_stream_release(stream));
    }
}

// More than the queue of a GPU takes.
RNL_TEST(any_amount_of_work_waits_for_the_host)
{
    enum { COUNT = 5000 };
    rnl_stream stream = suite_new_stream(), other = suite_new_stream();
    rnl_buffer ints = suite_ints(2, 0);
    struct gate *gate = gate_shut(stream);
    for (int i = 1; i <= COUNT; i++)
        fill_one(stream, ints, 0, i);
    fill_one(other, ints, 1, VALUE);
    expect_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    assert_status(rnl_stream_query(stream), RNL_NOT_READY);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    int read[2] = {0};
    suite_download(read, ints, sizeof read);
    assert_int_equal(read[0], COUNT);
    assert_int_equal(read[1], VALUE);
    gate_free(gate);
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_stream_release(other));
    expect_ok(rnl_buffer_release(ints));
}

RNL_TEST(code_is_loaded_while_work_waits_for_the_host)
{
    suite_need(RNL_FEATURE_COMPILE);
    rnl_buffer ints = suite_ints(1, 0);
    struct gate *gate = gate_shut(suite_stream());
    fill_one(suite_stream(), ints, 0, 1);
    rnl_function function = suite_compile(
        "extern \"C\" __global__ void add_six(int *p) { *p += 6; }\n",
        "add_six");
    expect_ok(rnl_enqueue_function(suite_stream(), function,
                                   RNL_LAUNCH(.grid = {1}, .block = {1}),
                                   RNL_ARGS(ints)));
    gate_open(gate);
    suite_expect_ints(ints, 1, VALUE);
    gate_free(gate);
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_buffer_release(ints));
}

struct order {
    int next, wrong;
};

struct call {
    struct order *order;
    int number;
};

static void check_order(rnl_status status, void *user_data)
{
    struct call *call = user_data;
    call->order->wrong +=
        status != RNL_OK || call->order->next++ != call->number;
}

// Host functions next to each other, and with work and copies between them.
RNL_TEST(host_functions_keep_their_places)
{
    enum { COUNT = 300 };
    rnl_stream stream = suite_new_stream();
    rnl_buffer ints = suite_ints(1, 0);
    struct order order = {0, 0};
    static struct call calls[COUNT];
    static int read[COUNT];
    struct gate *gate = gate_shut(stream);
    for (int i = 0; i < COUNT; i++) {
        calls[i] = (struct call){&order, i};
        read[i] = 0;
        if (i % 3 == 1)
            fill_one(stream, ints, 0, i);
        if (i % 3 == 2)
            expect_ok(
                rnl_enqueue_copy_from_buffer(stream, &read[i], ints, 0, 4));
        expect_ok(rnl_enqueue_host_function(stream, check_order, &calls[i]));
    }
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(order.next, COUNT);
    assert_int_equal(order.wrong, 0);
    for (int i = 2; i < COUNT; i += 3)
        assert_int_equal(read[i], i - 1);
    gate_free(gate);
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_buffer_release(ints));
}

static rnl_graph_exec wait_and_fill(rnl_event event, rnl_buffer ints)
{
    rnl_graph graph = NULL;
    rnl_graph_exec exec = NULL;
    expect_ok(rnl_graph_create(suite_context(), NULL, &graph));
    rnl_node wait = NULL, fill = NULL;
    rnl_fill region = {.struct_size = sizeof region,
                       .to = {.buffer = ints},
                       .width = 4,
                       .height = 1,
                       .depth = 1,
                       .pattern = VALUE,
                       .pattern_size = 4};
    rnl_node_params params = {.struct_size = sizeof params,
                              .kind = RNL_NODE_EVENT_WAIT,
                              .event = event};
    expect_ok(rnl_graph_add_node(graph, NULL, 0, &params, &wait));
    params = (rnl_node_params){.struct_size = sizeof params,
                               .kind = RNL_NODE_FILL,
                               .fill = &region};
    expect_ok(rnl_graph_add_node(graph, &wait, 1, &params, &fill));
    expect_ok(rnl_graph_instantiate(graph, &exec));
    expect_ok(rnl_graph_release(graph));
    return exec;
}

// A graph that waits for an event which was recorded behind the host's work, on
// a stream that waits for the host itself.
RNL_TEST(a_graph_waits_for_what_waits_for_the_host)
{
    suite_need(RNL_FEATURE_CAPTURE);
    rnl_stream first = suite_new_stream(), second = suite_new_stream();
    rnl_event event = suite_new_event();
    rnl_buffer ints = suite_ints(1, 0);
    rnl_graph_exec exec = wait_and_fill(event, ints);
    struct gate *gate = gate_shut(first);
    fill_one(first, ints, 0, 1);
    expect_ok(rnl_enqueue_event_record(first, event));
    expect_ok(rnl_enqueue_wait_stream(second, first));
    expect_ok(rnl_enqueue_graph(second, exec));
    expect_ok(rnl_enqueue_wait_stream(first, second));
    assert_status(rnl_stream_query(second), RNL_NOT_READY);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(first, RNL_FOREVER));
    suite_expect_ints(ints, 1, VALUE);
    gate_free(gate);
    expect_ok(rnl_graph_exec_release(exec));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_stream_release(first));
    expect_ok(rnl_stream_release(second));
    expect_ok(rnl_buffer_release(ints));
}
