// The marks behind launches of graphs, for one that is exchanged later: the
// driver is asked for them where they may be needed, and no more.
#include "core/object/handle.h"
#include "core/object/object.h"

#include "backends/cudalike/timeline/graph_fence.h"
#include "backends/cudalike/timeline/marker.h"

#include "loaded.h"

#include <runnel/graph.h>
#include <runnel/interop.h>

#include <pthread.h>

static rnl_context context;
static rnl_stream stream, other;
static rnl_buffer words;
static rnl_event event;
static rnl_graph graph;
static rnl_graph_exec exec;
static rnl_node node;

static void open_all(void)
{
    fake_open(&context, &stream, 0, &words, 64);
    assert_ok(rnl_stream_create(context, NULL, &other));
    // Each record of it is the driver's.
    assert_ok(rnl_event_create(context, RNL_EVENT_OPTIONS(.timing = true),
                               &event));
    assert_ok(rnl_enqueue_fill(other, words, 0, 64, 0, 4));
    assert_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    const rnl_fill *fill = RNL_FILL(.to = {.buffer = words, .offset = 32},
                                    .width = 4, .pattern_size = 4);
    assert_ok(rnl_graph_create(context, NULL, &graph));
    assert_ok(rnl_graph_add_node(
        graph, RNL_AT_START, RNL_NODE(.kind = RNL_NODE_FILL, .fill = fill),
        &node));
    assert_ok(rnl_graph_instantiate(graph, &exec));
}

static void close_all(void)
{
    assert_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_ok(rnl_graph_exec_release(exec));
    assert_ok(rnl_graph_release(graph));
    assert_ok(rnl_event_release(event));
    assert_ok(rnl_stream_release(other));
    fake_close(context, stream, words);
}

static struct gpu_stream *own(void)
{
    return gpu_stream_of((struct stream *)object_find(stream, OBJECT_STREAM));
}

static size_t marks(void)
{
    size_t count = 0;
    for (const struct marker *end = own()->fences; end; end = end->next)
        count++;
    return count;
}

static void launch(rnl_stream on)
{
    assert_ok(rnl_enqueue_graph(on, exec));
}

static void wait_for(uint32_t value)
{
    assert_ok(rnl_enqueue_wait_value32(stream, words, 0, value, RNL_WAIT_GEQ));
}

static void let_on(uint32_t value)
{
    assert_ok(rnl_enqueue_write_value32(other, words, 0, value));
}

// Waits for, and lets on, what is in front of the graphs.
static void hold(size_t offset)
{
    assert_ok(rnl_enqueue_wait_value32(stream, words, offset, 1, RNL_WAIT_EQ));
}

static void let_go(size_t offset)
{
    rnl_stream third;
    assert_ok(rnl_stream_create(context, NULL, &third));
    assert_ok(rnl_enqueue_write_value32(third, words, offset, 1));
    assert_ok(rnl_stream_synchronize(third, RNL_FOREVER));
    assert_ok(rnl_stream_release(third));
}

static void wait_for_event(void)
{
    assert_ok(rnl_enqueue_event_record(other, event));
    assert_ok(rnl_enqueue_wait_event(stream, event));
}

RNL_TEST(where_nothing_can_block_no_marks_are_left)
{
    open_all();
    size_t waits = fake_calls("cuStreamWaitEvent");
    for (int i = 0; i < 5; i++) {
        launch(stream);
        wait_for_event();
        let_on(1);
        assert_int_equal(marks(), 0);
    }
    assert_int_equal(fake_calls("cuStreamWaitEvent") - waits, 5);
    close_all();
}

RNL_TEST(a_mark_is_left_in_front_of_the_first_wait_behind_launches)
{
    open_all();
    wait_for(1);
    launch(stream);
    launch(stream);
    assert_int_equal(marks(), 0);
    wait_for(2);
    assert_int_equal(marks(), 1);
    wait_for(3);
    assert_int_equal(marks(), 1);
    launch(stream);
    wait_for_event();
    assert_int_equal(marks(), 2);
    wait_for_event();
    assert_int_equal(marks(), 2);
    let_on(3);
    close_all();
}

RNL_TEST(marks_behind_launches_that_are_over_are_not_left)
{
    open_all();
    for (uint32_t i = 1; i <= 3; i++) {
        launch(stream);
        assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
        wait_for(i);
        assert_int_equal(marks(), 0);
        let_on(i);
    }
    close_all();
}

RNL_TEST(marks_that_the_stream_has_passed_are_dropped)
{
    open_all();
    for (uint32_t i = 1; i <= 20; i++) {
        launch(stream);
        wait_for(i);
        // Or the service has seen the launch end before.
        assert_in_range(marks(), 0, 1);
        let_on(i);
        assert_ok(rnl_enqueue_event_record(stream, event));
        assert_ok(rnl_event_synchronize(event, RNL_FOREVER));
    }
    close_all();
}

static void exchange(void)
{
    bool enabled;
    assert_ok(rnl_graph_exec_is_enabled(exec, node, &enabled));
    assert_ok(rnl_graph_exec_set_enabled(exec, node, !enabled));
}

static void *wait_meanwhile(void *over)
{
    if (over) {
        let_go(4);
        assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    }
    wait_for(1);
    return NULL;
}

// To its end.
static void wait_in_another_thread(void *over)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, wait_meanwhile, over), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

// The record of the exchange comes behind a wait that another thread gives.
static void try_exchange(void *over, size_t marks_left)
{
    open_all();
    hold(4);
    launch(stream);
    fake_meet("cuEventRecord", wait_in_another_thread, over);
    exchange();
    assert_int_equal(marks(), marks_left);
    launch(other);
    let_on(1);
    let_go(4);
    close_all();
}

RNL_TEST(a_mark_that_is_left_while_a_graph_is_exchanged_comes_first)
{
    try_exchange(NULL, 1);
}

// The launch is over before that wait is given.
RNL_TEST(a_launch_that_is_over_while_a_graph_is_exchanged_needs_no_mark)
{
    try_exchange(&node, 0);
}

static rnl_graph_exec open_another(void)
{
    rnl_graph_exec another;
    assert_ok(rnl_graph_instantiate(graph, &another));
    return another;
}

// Also where only its mark, which is dropped by now, told that.
RNL_TEST(what_a_dropped_mark_told_is_remembered)
{
    open_all();
    rnl_graph_exec another = open_another();
    struct context *home =
        (struct context *)object_find(context, OBJECT_CONTEXT);
    hold(4);
    launch(stream);
    wait_for(1);
    assert_int_equal(marks(), 1);
    let_go(4);
    while (marker_query(home, own()->fences) == RNL_NOT_READY)
        ;
    assert_ok(rnl_enqueue_graph(stream, another));
    hold(8);
    assert_int_equal(marks(), 1);  // another one
    exchange();
    launch(other);
    let_on(1);
    assert_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    let_go(8);
    assert_ok(rnl_graph_exec_release(another));
    close_all();
}

// The mark of an older launch would let the next one go too soon.
RNL_TEST(the_mark_that_counts_is_behind_the_launch)
{
    open_all();
    rnl_graph_exec another = open_another();
    hold(4);
    assert_ok(rnl_enqueue_graph(stream, another));
    hold(8);
    launch(stream);
    wait_for(1);
    assert_int_equal(marks(), 2);
    exchange();
    exchange();
    launch(other);
    let_go(4);
    assert_int_equal(rnl_stream_synchronize(other, 100000000),
                     RNL_ERROR_TIMED_OUT);
    let_go(8);
    assert_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    let_on(1);
    assert_ok(rnl_graph_exec_release(another));
    close_all();
}

// An upload waits for the launches of its graph.
RNL_TEST(a_mark_is_left_in_front_of_an_upload)
{
    open_all();
    rnl_graph_exec another = open_another();
    hold(4);
    launch(stream);
    assert_ok(rnl_enqueue_wait_value32(other, words, 0, 1, RNL_WAIT_EQ));
    assert_ok(rnl_enqueue_graph(other, another));
    assert_ok(rnl_enqueue_graph_upload(stream, another));
    assert_int_equal(marks(), 1);
    let_go(4);
    let_go(0);
    assert_ok(rnl_graph_exec_release(another));
    close_all();
}

// Its launches come in order without.
RNL_TEST(a_graph_leaves_no_marks_behind_itself)
{
    open_all();
    struct fake_told told = {0};
    rnl_node last;
    rnl_graph_exec calls;
    assert_ok(rnl_graph_add_node(graph, RNL_AFTER(node),
                                 RNL_NODE(.kind = RNL_NODE_HOST_FUNCTION,
                                          .host = fake_count,
                                          .user_data = &told), &last));
    assert_ok(rnl_graph_instantiate(graph, &calls));
    hold(4);
    for (int i = 0; i < 5; i++)
        assert_ok(rnl_enqueue_graph(stream, calls));
    assert_int_equal(marks(), 0);
    launch(stream);
    assert_ok(rnl_enqueue_graph(stream, calls));
    assert_int_equal(marks(), 1);
    let_go(4);
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(told.count, 6);
    assert_ok(rnl_graph_exec_release(calls));
    close_all();
}

// The call goes on, and nothing is lost.
RNL_TEST(a_mark_that_cannot_be_left_fails_nothing)
{
    void *native;
    struct fake_told told = {0};
    open_all();
    assert_ok(rnl_stream_native(stream, &native));
    hold(4);
    launch(stream);
    fake_fail("cuEventRecord", 1, 2, true);
    assert_ok(rnl_enqueue_host_function(stream, fake_count, &told));
    assert_ok(rnl_enqueue_fill(stream, words, 32, 4, 1, 4));
    fake_fail("cuEventRecord", 0, 0, 0);
    assert_int_equal(marks(), 0);
    let_go(4);
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(told.count, 1);
    close_all();
}

// A record would go into their capture.
RNL_TEST(in_a_stream_that_others_capture_no_mark_is_left)
{
    void *native;
    open_all();
    assert_ok(rnl_stream_native(stream, &native));
    hold(4);
    launch(stream);
    fake_capture(native, 1);
    wait_for_event();
    assert_int_equal(marks(), 0);
    fake_capture(native, 0);
    let_go(4);
    close_all();
}

// --- Spare plans -------------------------------------------------------------

enum { SPARES = 12, EXECS = SPARES + 2 };

static size_t plans_made(void)
{
    return fake_calls("cuGraphInstantiateWithFlags");
}

// Exchanges the graphs from `first` on. Expects so many new ones of the
// driver's.
static void exchange_all(const rnl_graph_exec *execs, size_t first,
                         size_t expected)
{
    size_t before = plans_made();
    for (size_t i = first; i < EXECS; i++) {
        exec = execs[i];
        exchange();
    }
    assert_int_equal(plans_made() - before, expected);
}

// A graph with a spare plan needs no new one to go back.
RNL_TEST(a_context_keeps_a_dozen_spare_plans)
{
    rnl_graph_exec execs[EXECS];
    open_all();
    execs[0] = exec;
    for (size_t i = 1; i < EXECS; i++)
        execs[i] = open_another();
    exchange_all(execs, 0, EXECS);
    exchange_all(execs, 0, EXECS - SPARES);
    for (size_t i = 0; i < EXECS - SPARES; i++)
        assert_ok(rnl_graph_exec_release(execs[i]));
    exchange_all(execs, SPARES, EXECS - SPARES);  // there is room for theirs now
    exchange_all(execs, EXECS - SPARES, 0);
    for (size_t i = EXECS - SPARES + 1; i < EXECS; i++)
        assert_ok(rnl_graph_exec_release(execs[i]));
    exec = execs[EXECS - SPARES];
    close_all();
}
