// Launches of graphs that need no operation of their own.
#include "loaded.h"

#include <string.h>

enum { COUNT = 4 };

static rnl_context context;
static rnl_stream stream;
static rnl_buffer buffer;

static void begin(void)
{
    fake_open(&context, &stream, 0, &buffer, 4 * COUNT);
}

static void end(void)
{
    fake_close(context, stream, buffer);
}

// One that fills the buffer with 1, 2, 3, 4, and records the event, if any.
static rnl_graph_exec make(rnl_event event)
{
    rnl_graph graph;
    rnl_graph_exec exec;
    assert_ok(rnl_stream_begin_capture(stream, 0));
    for (uint32_t i = 0; i < COUNT; i++)
        assert_ok(rnl_enqueue_fill(stream, buffer, 4 * i, 4, i + 1, 4));
    assert_ok(rnl_stream_end_capture(stream, &graph));
    if (event)
        assert_ok(rnl_graph_add_node(graph, RNL_AT_START,
                                     RNL_NODE(.kind = RNL_NODE_EVENT_RECORD,
                                              .event = event),
                                     &(rnl_node){0}));
    assert_ok(rnl_graph_instantiate(graph, &exec));
    assert_ok(rnl_graph_release(graph));
    return exec;
}

static void expect_filled(void)
{
    int ints[COUNT] = {0};
    assert_ok(rnl_copy_from_buffer_and_wait(stream, ints, buffer, 0,
                                            sizeof ints));
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(ints[i], i + 1);
}

static void refuse_next(rnl_graph_exec exec)
{
    fake_fail("cuGraphLaunch", 1, 1, 0);
    assert_status(rnl_enqueue_graph(stream, exec), RNL_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(rnl_last_error()->message, "graph"));
}

RNL_TEST(a_refused_launch_is_as_if_it_never_was)
{
    begin();
    rnl_graph_exec exec = make(NULL);
    refuse_next(exec);
    assert_ok(rnl_enqueue_graph(stream, exec));
    expect_filled();
    refuse_next(exec);
    assert_ok(rnl_graph_exec_release(exec));
    end();
}

RNL_TEST(a_graph_may_go_right_behind_its_launch)
{
    begin();
    for (int round = 0; round < 20; round++) {
        rnl_graph_exec exec = make(NULL);
        for (int again = 0; again < 2; again++)
            assert_ok(rnl_enqueue_graph(stream, exec));
        assert_ok(rnl_graph_exec_release(exec));
    }
    expect_filled();
    end();
}

// Such graphs need one.
RNL_TEST(events_of_a_graph_are_those_of_its_last_launch)
{
    rnl_event event;
    begin();
    assert_ok(rnl_event_create(context, NULL, &event));
    rnl_graph_exec exec = make(event);
    refuse_next(exec);
    for (int round = 0; round < 3; round++) {
        assert_ok(rnl_enqueue_graph(stream, exec));
        assert_ok(rnl_event_synchronize(event, RNL_FOREVER));
    }
    expect_filled();
    assert_ok(rnl_graph_exec_release(exec));
    assert_ok(rnl_event_release(event));
    end();
}
