// What goes on while a call of the driver takes long, and who must not wait.
#include "loaded.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { WORDS = 16 };

static rnl_context context;
static rnl_stream stream;
static rnl_buffer buffer;
static struct fake_gate gate;

static void begin(void)
{
    fake_load();
    assert_ok(rnl_context_open("cuda", 0, NULL, &context));
    assert_ok(rnl_stream_create(context, NULL, &stream));
    assert_ok(rnl_buffer_create(context, 4 * WORDS,
                                RNL_BUFFER_OPTIONS(.zeroed = true), &buffer));
}

static void end(void)
{
    fake_close(context, stream, buffer);
}

// --- Graphs ------------------------------------------------------------------

static rnl_graph fills(int count, uint64_t value)
{
    rnl_graph graph;
    assert_ok(rnl_stream_begin_capture(stream, NULL));
    for (int i = 0; i < count; i++)
        assert_ok(rnl_enqueue_fill(stream, buffer, 0, 4, value, 4));
    assert_ok(rnl_stream_end_capture(stream, &graph));
    return graph;
}

// A graph that has another as its only node, and records an event.
static rnl_graph around(rnl_graph child, rnl_event event, rnl_node *out_node)
{
    rnl_graph graph;
    rnl_node record;
    assert_ok(rnl_graph_create(context, NULL, &graph));
    assert_ok(rnl_graph_add_node(
        graph, RNL_AT_START, RNL_NODE(.kind = RNL_NODE_CHILD, .child = child),
        out_node));
    assert_ok(rnl_graph_add_node(
        graph, RNL_AT_START,
        RNL_NODE(.kind = RNL_NODE_EVENT_RECORD, .event = event), &record));
    return graph;
}

static struct {
    rnl_graph_exec exec;
    rnl_graph whole;  // or, if NULL,
    rnl_graph child;
    rnl_node node;
} change;

static void *change_it(void *unused)
{
    if (change.whole)
        assert_ok(rnl_graph_exec_update(change.exec, change.whole, NULL));
    else
        assert_ok(rnl_graph_exec_set_node(
            change.exec, change.node,
            RNL_NODE(.kind = RNL_NODE_CHILD, .child = change.child)));
    return unused;
}

// Then a launch looks at what its graph records.
static void capture_record(rnl_event event)
{
    rnl_graph graph;
    assert_ok(rnl_stream_begin_capture(stream, NULL));
    assert_ok(rnl_enqueue_event_record(stream, event));
    assert_ok(rnl_stream_end_capture(stream, &graph));
    assert_ok(rnl_graph_release(graph));
}

// Changes that the driver does not take in place make a graph anew.
static void launch_while_changed(rnl_event event)
{
    pthread_t thread;
    atomic_store(&gate.entered, 0);
    atomic_store(&gate.open, 0);
    fake_meet("cuGraphInstantiateWithFlags", fake_hold_call, &gate);
    assert_int_equal(pthread_create(&thread, NULL, change_it, NULL), 0);
    fake_await_entered(&gate);
    capture_record(event);
    assert_ok(rnl_enqueue_graph(stream, change.exec));
    assert_ok(rnl_event_synchronize(event, RNL_FOREVER));
    atomic_store(&gate.open, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_ok(rnl_enqueue_graph(stream, change.exec));
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
}

RNL_TEST(a_launch_waits_for_no_change_of_its_graph)
{
    begin();
    rnl_event event;
    assert_ok(rnl_event_create(context, NULL, &event));
    rnl_graph one = fills(1, 1), two = fills(2, 1), other = fills(2, 2);
    rnl_graph first = around(one, event, &change.node);
    assert_ok(rnl_graph_instantiate(first, &change.exec));
    change.child = two;
    launch_while_changed(event);
    rnl_node node;
    change.whole = around(other, event, &node);
    fake_fail("cuGraphExecMemsetNodeSetParams", 1, 910, 0);
    launch_while_changed(event);
    assert_int_equal(fake_failed(), 1);
    assert_ok(rnl_graph_exec_release(change.exec));
    assert_ok(rnl_graph_release(change.whole));
    assert_ok(rnl_graph_release(first));
    assert_ok(rnl_graph_release(one));
    assert_ok(rnl_graph_release(two));
    assert_ok(rnl_graph_release(other));
    assert_ok(rnl_event_release(event));
    end();
}

// The driver's executable graphs of both states are kept.
RNL_TEST(a_fill_that_is_switched_makes_two_graphs)
{
    begin();
    rnl_graph graph = fills(1, 1);
    rnl_graph_exec exec;
    rnl_node node;
    size_t count;
    assert_ok(rnl_graph_get_nodes(graph, &node, 1, &count));
    assert_ok(rnl_graph_instantiate(graph, &exec));
    assert_ok(rnl_graph_exec_set_enabled(exec, node, false));
    size_t made = fake_calls("cuGraphInstantiateWithFlags");
    for (int i = 0; i < 40; i++) {
        assert_ok(rnl_graph_exec_set_enabled(exec, node, i % 2 == 0));
        assert_ok(rnl_enqueue_graph(stream, exec));
    }
    assert_int_equal(fake_calls("cuGraphInstantiateWithFlags"), made);
    assert_ok(rnl_graph_exec_release(exec));
    assert_ok(rnl_graph_release(graph));
    end();
}

// An event stays what it was captured for.
RNL_TEST(a_launch_that_is_refused_forgets_no_capture)
{
    begin();
    rnl_event event;
    rnl_node record;
    rnl_graph graph;
    rnl_graph_exec exec;
    assert_ok(rnl_event_create(context, NULL, &event));
    assert_ok(rnl_graph_create(context, NULL, &graph));
    assert_ok(rnl_graph_add_node(
        graph, RNL_AT_START,
        RNL_NODE(.kind = RNL_NODE_EVENT_RECORD, .event = event), &record));
    assert_ok(rnl_graph_instantiate(graph, &exec));
    capture_record(event);
    fake_fail("cuGraphLaunch", 1, 2, 0);
    assert_status(rnl_enqueue_graph(stream, exec), RNL_ERROR_OUT_OF_MEMORY);
    assert_status(rnl_event_query(event), RNL_ERROR_CAPTURED_EVENT);
    assert_ok(rnl_enqueue_graph(stream, exec));
    assert_ok(rnl_event_synchronize(event, RNL_FOREVER));
    assert_ok(rnl_graph_exec_release(exec));
    assert_ok(rnl_graph_release(graph));
    assert_ok(rnl_event_release(event));
    end();
}

// --- Values ------------------------------------------------------------------

static void *load(void *unused)
{
    rnl_module module;
    assert_ok(fake_module(context, &module));
    assert_ok(rnl_module_release(module));
    return unused;
}

// The service writes them as soon as the host function before them is done; the
// driver loads when what waits for them is over.
RNL_TEST(values_that_were_held_are_written_while_code_is_loaded)
{
    begin();
    rnl_stream other;
    pthread_t thread;
    assert_ok(rnl_stream_create(context, NULL, &other));
    assert_ok(rnl_enqueue_wait_value32(other, buffer, 0, 2, RNL_WAIT_EQ));
    assert_ok(rnl_enqueue_host_function(stream, fake_hold, &gate));
    fake_await_entered(&gate);
    assert_ok(rnl_enqueue_write_value32(stream, buffer, 4, 1));
    assert_ok(rnl_enqueue_write_value32(stream, buffer, 0, 2));
    assert_ok(rnl_enqueue_fill(stream, buffer, 8, 4, 3, 4));
    assert_int_equal(pthread_create(&thread, NULL, load, NULL), 0);
    while (fake_calls("cuModuleLoadDataEx") == 0)
        sched_yield();
    atomic_store(&gate.open, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    int values[3];
    assert_ok(rnl_copy_from_buffer_and_wait(stream, values, buffer, 0,
                                            sizeof values));
    assert_int_equal(values[0], 2);
    assert_int_equal(values[1], 1);
    assert_int_equal(values[2], 3);
    assert_ok(rnl_stream_release(other));
    end();
}

// --- A lost device -----------------------------------------------------------

static struct fake_told told;
static _Atomic bool deleting;

static void delete_behind_told(void *pointer, size_t size, void *user_data)
{
    (void)pointer;
    (void)size;
    (void)user_data;
    atomic_store(&deleting, true);
    while (atomic_load(&told.count) == 0)
        sched_yield();
}

// Uses memory whose deleter is called behind that.
static void use_once(void)
{
    rnl_buffer wrapped;
    rnl_buffer_info info = {.struct_size = sizeof info};
    assert_ok(rnl_buffer_get_info(buffer, &info));
    assert_ok(rnl_buffer_wrap(context, info.device_address, 4 * WORDS,
                              RNL_WRAP_OPTIONS(.kind = RNL_MEMORY_DEVICE,
                                               .deleter = delete_behind_told),
                              &wrapped));
    assert_ok(rnl_enqueue_fill(stream, wrapped, 0, 4, 1, 4));
    assert_ok(rnl_buffer_release(wrapped));
}

RNL_TEST(a_deleter_may_wait_for_what_a_lost_graph_owes)
{
    begin();
    rnl_graph graph;
    rnl_graph_exec exec;
    assert_ok(rnl_stream_begin_capture(stream, NULL));
    assert_ok(rnl_enqueue_host_function(stream, fake_count, &told));
    assert_ok(rnl_stream_end_capture(stream, &graph));
    assert_ok(rnl_graph_instantiate(graph, &exec));
    assert_ok(rnl_graph_release(graph));
    assert_ok(rnl_enqueue_wait_value32(stream, buffer, 4, 1, RNL_WAIT_EQ));
    use_once();
    assert_ok(rnl_enqueue_graph(stream, exec));
    assert_ok(rnl_enqueue_graph(stream, exec));
    fake_break(0, 700);
    while (atomic_load(&told.count) < 2)
        sched_yield();
    assert_status(rnl_stream_synchronize(stream, RNL_FOREVER),
                  RNL_ERROR_DEVICE_LOST);
    assert_int_equal(told.status, RNL_ERROR_DEVICE_LOST);
    assert_ok(rnl_graph_exec_release(exec));
    assert_ok(rnl_buffer_release(buffer));
    assert_ok(rnl_stream_release(stream));
    assert_ok(rnl_context_release(context));
    fake_expect_empty();
    assert_true(deleting);
    assert_int_equal(told.count, 2);
}
