// What goes on while a call waits for the device, and who must not wait.
#include "loaded.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

// As many executable graphs as the fake makes without waiting.
enum { ROOM = 32, WORDS = 16 };

static rnl_context context;
static rnl_stream stream;
static rnl_buffer buffer;
static struct fake_gate gate;
static struct fake_told told;

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
    rnl_buffer_release(buffer);
    rnl_stream_release(stream);
    rnl_context_release(context);
    fake_expect_empty();
}

static rnl_graph_exec instantiate(rnl_stream from, rnl_host_fn function)
{
    rnl_graph graph;
    rnl_graph_exec exec;
    assert_ok(rnl_stream_begin_capture(from, NULL));
    if (function)
        assert_ok(rnl_enqueue_host_function(from, function, &told));
    else
        assert_ok(rnl_enqueue_fill(from, buffer, 0, 4, 1, 4));
    assert_ok(rnl_stream_end_capture(from, &graph));
    assert_ok(rnl_graph_instantiate(graph, &exec));
    assert_ok(rnl_graph_release(graph));
    return exec;
}

static size_t made(void)
{
    return fake_calls("cuGraphInstantiateWithFlags");
}

// --- Graphs ------------------------------------------------------------------

static rnl_graph_exec execs[ROOM];

// The device waits for a copy that nobody has begun: a host function comes
// first. All room for graphs is taken.
static void owe_copy_with_many_graphs(void)
{
    static int values[WORDS];
    for (int i = 0; i < ROOM; i++)
        execs[i] = instantiate(stream, NULL);
    assert_ok(rnl_enqueue_host_function(stream, fake_hold, &gate));
    fake_await_entered(&gate);
    assert_ok(rnl_enqueue_copy_to_buffer(stream, buffer, 0, values,
                                         sizeof values));
    assert_ok(rnl_enqueue_graph(stream, execs[0]));
}

static void release_graphs(void)
{
    for (int i = 0; i < ROOM; i++)
        assert_ok(rnl_graph_exec_release(execs[i]));
}

static void *instantiate_once(void *from)
{
    assert_ok(rnl_graph_exec_release(instantiate(from, NULL)));
    return NULL;
}

RNL_TEST(a_graph_that_may_wait_for_the_device_waits_for_copies)
{
    begin();
    rnl_stream other;
    pthread_t thread;
    assert_ok(rnl_stream_create(context, NULL, &other));
    owe_copy_with_many_graphs();
    size_t before = made();
    assert_int_equal(pthread_create(&thread, NULL, instantiate_once, other),
                     0);
    // It must not get as far as the driver: there it would hold the copy up.
    for (int i = 0; i < 10000 && made() == before; i++)
        sched_yield();
    assert_int_equal(made(), before);
    atomic_store(&gate.open, 1);
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(made(), before + 1);
    release_graphs();
    assert_ok(rnl_stream_release(other));
    end();
}

static rnl_graph child_of(int fills)
{
    rnl_graph graph;
    assert_ok(rnl_stream_begin_capture(stream, NULL));
    for (int i = 0; i < fills; i++)
        assert_ok(rnl_enqueue_fill(stream, buffer, 0, 4, 1, 4));
    assert_ok(rnl_stream_end_capture(stream, &graph));
    return graph;
}

static struct {
    rnl_graph_exec exec;
    rnl_node node;
    rnl_graph child;
    atomic_bool begun;
} change;

static void *change_child(void *unused)
{
    (void)unused;
    atomic_store(&change.begun, true);
    assert_ok(rnl_graph_exec_set_node(
        change.exec, change.node,
        RNL_NODE(.kind = RNL_NODE_CHILD, .child = change.child)));
    return NULL;
}

// Events that were captured are forgotten by a launch.
static rnl_event capture_event(rnl_stream from)
{
    rnl_event event;
    rnl_graph graph;
    assert_ok(rnl_event_create(context, NULL, &event));
    assert_ok(rnl_stream_begin_capture(from, NULL));
    assert_ok(rnl_enqueue_event_record(from, event));
    assert_ok(rnl_stream_end_capture(from, &graph));
    assert_ok(rnl_graph_release(graph));
    return event;
}

RNL_TEST(a_launch_waits_for_no_change_that_waits_for_copies)
{
    begin();
    rnl_stream other;
    rnl_graph graph, first = child_of(1);
    pthread_t thread;
    change.child = child_of(2);
    assert_ok(rnl_stream_create(context, NULL, &other));
    assert_ok(rnl_graph_create(context, NULL, &graph));
    assert_ok(rnl_graph_add_node(
        graph, RNL_AT_START,
        RNL_NODE(.kind = RNL_NODE_CHILD, .child = first), &change.node));
    assert_ok(rnl_graph_instantiate(graph, &change.exec));
    rnl_event event = capture_event(other);
    owe_copy_with_many_graphs();
    assert_int_equal(pthread_create(&thread, NULL, change_child, NULL), 0);
    while (!atomic_load(&change.begun))
        sched_yield();
    for (int i = 0; i < 10000; i++)
        sched_yield();
    assert_ok(rnl_enqueue_graph(other, change.exec));
    atomic_store(&gate.open, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    assert_ok(rnl_event_release(event));
    assert_ok(rnl_graph_exec_release(change.exec));
    assert_ok(rnl_graph_release(graph));
    assert_ok(rnl_graph_release(first));
    assert_ok(rnl_graph_release(change.child));
    release_graphs();
    assert_ok(rnl_stream_release(other));
    end();
}

RNL_TEST(a_graph_that_will_not_wait_for_the_device_is_made_at_once)
{
    begin();
    rnl_stream other;
    static int values[WORDS];
    assert_ok(rnl_stream_create(context, NULL, &other));
    rnl_graph_exec exec = instantiate(stream, NULL);
    assert_ok(rnl_enqueue_host_function(stream, fake_hold, &gate));
    assert_ok(rnl_enqueue_copy_to_buffer(stream, buffer, 0, values,
                                         sizeof values));
    assert_ok(rnl_enqueue_graph(stream, exec));
    instantiate_once(other);
    atomic_store(&gate.open, 1);
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_ok(rnl_graph_exec_release(exec));
    assert_ok(rnl_stream_release(other));
    end();
}

static void fill_in_a_row(rnl_stream where)
{
    for (size_t i = 0; i < 8; i++)
        assert_ok(rnl_enqueue_fill(where, buffer, 4 * i, 4, 2, 4));
    rnl_stream_query(where);  // which gives the batch
}

// Who enqueues must not wait, so the operations go one by one.
RNL_TEST(a_batch_that_would_have_to_wait_is_no_graph)
{
    begin();
    rnl_stream batched;
    assert_ok(rnl_stream_create(context,
                                RNL_STREAM_OPTIONS(.flags = RNL_STREAM_BATCHED),
                                &batched));
    fill_in_a_row(batched);
    assert_ok(rnl_stream_synchronize(batched, RNL_FOREVER));
    owe_copy_with_many_graphs();
    size_t before = made(), fills = fake_calls("cuMemsetD32Async");
    fill_in_a_row(batched);
    assert_int_equal(made(), before);
    assert_int_equal(fake_calls("cuMemsetD32Async"), fills + 8);
    atomic_store(&gate.open, 1);
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    fill_in_a_row(batched);
    assert_int_equal(made(), before + 1);
    assert_ok(rnl_stream_synchronize(batched, RNL_FOREVER));
    release_graphs();
    assert_ok(rnl_stream_release(batched));
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

// They are written by the service, as soon as the host function before them is
// done.
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
    rnl_graph_exec exec = instantiate(stream, fake_count);
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
    end();
    assert_true(deleting);
    assert_int_equal(told.count, 2);
}
