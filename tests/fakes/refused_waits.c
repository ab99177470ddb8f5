// Waits for the host that the driver refuses: they fail the call that needs
// them, or its stream, and nothing else.
#include "loaded.h"

#include <runnel/interop.h>

#include <stdatomic.h>
#include <string.h>

enum { SIZE = 64, NOT_SUPPORTED = 801 };

static struct {
    rnl_context context;
    rnl_stream stream, other;
    rnl_buffer buffer;
    struct fake_gate gate;
} all;

static void begin(void)
{
    fake_open(&all.context, &all.stream, 0, &all.buffer, SIZE);
    assert_ok(rnl_stream_create(all.context, NULL, &all.other));
}

static void end(void)
{
    assert_ok(rnl_stream_release(all.other));
    fake_close(all.context, all.stream, all.buffer);
}

static void refuse_waits(bool refuse)
{
    fake_fail(fake_is_hip() ? "hipStreamWaitValue32" : "cuStreamWaitValue32",
              refuse, refuse ? NOT_SUPPORTED : 0, refuse);
}

static void shut(void)
{
    assert_ok(rnl_enqueue_host_function(all.stream, fake_hold, &all.gate));
    fake_await_entered(&all.gate);
}

static void expect_refused(rnl_status status)
{
    assert_status(status, RNL_ERROR_UNSUPPORTED);
    assert_int_equal(rnl_last_error()->native_code, NOT_SUPPORTED);
}

static void expect_work(rnl_stream stream)
{
    int value = 0;
    assert_ok(rnl_enqueue_fill(stream, all.buffer, 0, SIZE, 7, 4));
    assert_ok(rnl_copy_from_buffer_and_wait(stream, &value, all.buffer, 0,
                                            sizeof value));
    assert_int_equal(value, 7);
}

RNL_TEST(a_refused_wait_fails_only_the_launch_of_the_graph)
{
    rnl_graph graph;
    rnl_graph_exec exec;
    begin();
    assert_ok(rnl_stream_begin_capture(all.stream, NULL));
    assert_ok(rnl_enqueue_fill(all.stream, all.buffer, 0, SIZE, 5, 4));
    assert_ok(rnl_stream_end_capture(all.stream, &graph));
    assert_ok(rnl_graph_instantiate(graph, &exec));
    shut();
    refuse_waits(true);
    expect_refused(rnl_enqueue_graph(all.stream, exec));
    expect_refused(rnl_enqueue_graph_upload(all.stream, exec));
    expect_work(all.other);
    refuse_waits(false);
    assert_ok(rnl_enqueue_graph(all.stream, exec));
    atomic_store(&all.gate.open, 1);
    assert_ok(rnl_stream_synchronize(all.stream, RNL_FOREVER));
    expect_work(all.stream);
    assert_ok(rnl_graph_exec_release(exec));
    assert_ok(rnl_graph_release(graph));
    end();
}

RNL_TEST(a_refused_wait_gives_no_native_stream_and_event)
{
    void *native = NULL;
    rnl_event event;
    begin();
    assert_ok(rnl_event_create(all.context, NULL, &event));
    shut();
    assert_ok(rnl_enqueue_event_record(all.stream, event));
    refuse_waits(true);
    expect_refused(rnl_event_native(event, &native));
    expect_refused(rnl_stream_native(all.stream, &native));
    refuse_waits(false);
    assert_ok(rnl_event_native(event, &native));
    assert_ok(rnl_stream_native(all.stream, &native));
    atomic_store(&all.gate.open, 1);
    assert_ok(rnl_stream_synchronize(all.stream, RNL_FOREVER));
    assert_ok(rnl_event_release(event));
    end();
}

// Others may give work to the native stream, which would come too early.
RNL_TEST(a_refused_wait_fails_a_stream_that_others_use)
{
    void *native = NULL;
    begin();
    assert_ok(rnl_stream_native(all.stream, &native));
    refuse_waits(true);
    shut();
    assert_status(rnl_stream_query(all.stream), RNL_NOT_READY);
    expect_work(all.other);
    atomic_store(&all.gate.open, 1);
    assert_status(rnl_stream_synchronize(all.stream, RNL_FOREVER),
                  RNL_ERROR_UNSUPPORTED);
    assert_non_null(strstr(rnl_last_error()->message, "host function"));
    refuse_waits(false);
    assert_ok(rnl_stream_reset_and_wait(all.stream));
    expect_work(all.stream);
    end();
}
