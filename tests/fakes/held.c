// What waits for the host, on a driver: when it is given what.
#include "loaded.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { COUNT = 3000 };

static rnl_context context;
static rnl_stream stream;
static rnl_buffer buffer;
static struct fake_gate gate;
static struct fake_told told;

static void begin(void)
{
    fake_open(&context, &stream, 0, &buffer, 64);
}

static void end(void)
{
    fake_close(context, stream, buffer);
}

static void shut(void)
{
    assert_ok(rnl_enqueue_host_function(stream, fake_hold, &gate));
    fake_await_entered(&gate);
}

static void fill(void)
{
    assert_ok(rnl_enqueue_fill(stream, buffer, 0, 4, 1, 4));
}

RNL_TEST(the_driver_is_not_given_what_waits_for_the_host)
{
    begin();
    shut();
    size_t before = fake_calls("cuMemsetD32Async");
    for (int i = 0; i < COUNT; i++)
        fill();
    assert_int_equal(fake_calls("cuMemsetD32Async"), before);
    atomic_store(&gate.open, 1);
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(fake_calls("cuMemsetD32Async"), before + COUNT);
    end();
}

RNL_TEST(host_functions_in_a_row_cost_one_word)
{
    begin();
    shut();
    size_t before = fake_calls("cuStreamWriteValue32");
    for (int i = 0; i < COUNT; i++)
        assert_ok(rnl_enqueue_host_function(stream, fake_count, &told));
    atomic_store(&gate.open, 1);
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(told.count, COUNT);
    assert_int_equal(fake_calls("cuStreamWriteValue32"), before);
    assert_int_equal(fake_calls("cuStreamWaitValue32"), 0);
    end();
}

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

// However closely the service looks at what is new, which are words of memory.
RNL_TEST(the_driver_is_asked_only_now_and_then)
{
    begin();
    shut();
    uint64_t start = now();
    size_t before = fake_calls("cuStreamQuery");
    for (uint64_t i = 1; i <= 20; i++) {
        assert_ok(rnl_enqueue_host_function(stream, fake_count, &told));
        while (now() - start < i * 200000)
            sched_yield();
    }
    size_t calls = fake_calls("cuStreamQuery") - before;
    assert_in_range(calls, 0, (now() - start) / 20000 + 1);
    atomic_store(&gate.open, 1);
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    end();
}

static struct fake_gate gate_behind;

// What is held from before does not get them.
RNL_TEST(attributes_are_told_where_they_were_set)
{
    begin();
    shut();
    size_t fills = fake_calls("cuMemsetD32Async");
    size_t set = fake_calls("cuStreamSetAttribute");
    fill();
    assert_ok(rnl_enqueue_host_function(stream, fake_hold, &gate_behind));
    assert_ok(rnl_stream_set_attribute(
        stream, RNL_STREAM_ATTRIBUTE(.id = RNL_STREAM_DOMAIN,
                                     .value = {.domain = RNL_DOMAIN_REMOTE})));
    fill();
    atomic_store(&gate.open, 1);
    fake_await_entered(&gate_behind);
    assert_int_equal(fake_calls("cuMemsetD32Async"), fills + 1);
    assert_int_equal(fake_calls("cuStreamSetAttribute"), set);
    atomic_store(&gate_behind.open, 1);
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(fake_calls("cuMemsetD32Async"), fills + 2);
    assert_int_equal(fake_calls("cuStreamSetAttribute"), set + 3);
    end();
}

RNL_TEST(copied_attributes_are_told_like_those_that_are_set)
{
    begin();
    rnl_stream from;
    assert_ok(rnl_stream_create(context, NULL, &from));
    size_t set = fake_calls("cuStreamSetAttribute");
    assert_ok(rnl_stream_set_attribute(
        from, RNL_STREAM_ATTRIBUTE(.id = RNL_STREAM_DOMAIN,
                                   .value = {.domain = RNL_DOMAIN_REMOTE})));
    assert_ok(rnl_stream_copy_attributes(stream, from));
    fill();
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(fake_calls("cuStreamSetAttribute"), set + 3);
    assert_ok(rnl_stream_release(from));
    end();
}

// Who has the native handle may give the stream work: all before it is there.
RNL_TEST(a_native_stream_was_given_everything)
{
    begin();
    rnl_event event;
    rnl_stream other;
    void *native;
    assert_ok(rnl_event_create(context, NULL, &event));
    assert_ok(rnl_stream_create(context, NULL, &other));
    shut();
    size_t before = fake_calls("cuMemsetD32Async");
    fill();
    assert_ok(rnl_enqueue_event_record(stream, event));
    assert_ok(rnl_enqueue_wait_event(other, event));
    assert_ok(rnl_enqueue_fill(other, buffer, 4, 4, 1, 4));
    assert_int_equal(fake_calls("cuMemsetD32Async"), before);
    assert_ok(rnl_stream_native(other, &native));
    assert_int_equal(fake_calls("cuMemsetD32Async"), before + 2);
    assert_status(rnl_stream_query(other), RNL_NOT_READY);
    assert_int_equal(fake_calls("cuStreamWaitValue32"), 1);
    assert_ok(rnl_enqueue_host_function(other, fake_count, &told));
    assert_int_equal(fake_calls("cuStreamWaitValue32"), 2);
    atomic_store(&gate.open, 1);
    assert_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    assert_int_equal(told.count, 1);
    assert_ok(rnl_stream_release(other));
    assert_ok(rnl_event_release(event));
    end();
}

// The call was accepted long ago: its stream fails.
RNL_TEST(what_the_driver_refuses_late_fails_the_stream)
{
    begin();
    rnl_event event;
    assert_ok(rnl_event_create(context, NULL, &event));
    shut();
    fill();
    fill();
    assert_ok(rnl_enqueue_event_record(stream, event));
    assert_ok(rnl_enqueue_host_function(stream, fake_count, &told));
    fake_fail("cuMemsetD32Async", 1, 1, 0);
    size_t before = fake_calls("cuMemsetD32Async");
    atomic_store(&gate.open, 1);
    assert_true(rnl_stream_synchronize(stream, RNL_FOREVER) != RNL_OK);
    while (!atomic_load(&told.count))
        sched_yield();
    assert_true(told.status != RNL_OK);
    assert_int_equal(fake_calls("cuMemsetD32Async"), before + 1);
    rnl_event_synchronize(event, RNL_FOREVER);
    assert_ok(rnl_event_release(event));
    end();
}

RNL_TEST(what_is_held_ends_with_the_device)
{
    begin();
    rnl_stream other;
    rnl_event event;
    assert_ok(rnl_event_create(context, NULL, &event));
    assert_ok(rnl_stream_create(context, NULL, &other));
    shut();
    fill();
    assert_ok(rnl_enqueue_event_record(stream, event));
    assert_ok(rnl_enqueue_host_function(stream, fake_count, &told));
    assert_ok(rnl_enqueue_wait_event(other, event));
    assert_ok(rnl_enqueue_host_function(other, fake_count, &told));
    fake_break(0, 700);
    assert_status(rnl_stream_synchronize(other, RNL_FOREVER),
                  RNL_ERROR_DEVICE_LOST);
    atomic_store(&gate.open, 1);
    while (atomic_load(&told.count) < 2)
        sched_yield();
    assert_int_equal(told.status, RNL_ERROR_DEVICE_LOST);
    assert_status(rnl_stream_synchronize(stream, RNL_FOREVER),
                  RNL_ERROR_DEVICE_LOST);
    rnl_stream_release(other);
    rnl_event_release(event);
    rnl_buffer_release(buffer);
    rnl_stream_release(stream);
    rnl_context_release(context);
}

static atomic_bool loading;

static void *load(void *unused)
{
    rnl_module module;
    atomic_store(&loading, true);
    assert_ok(fake_module(context, &module));
    assert_ok(rnl_module_release(module));
    return unused;
}

static size_t loads(void)
{
    return fake_calls("cuModuleLoadDataEx");
}

// A copy of ordinary memory that the device waits for, though nobody has begun
// it: a host function comes first.
static void owe_copy(rnl_graph_exec *out_exec)
{
    static int values[16];
    rnl_graph graph;
    assert_ok(rnl_stream_begin_capture(stream, NULL));
    fill();
    assert_ok(rnl_stream_end_capture(stream, &graph));
    assert_ok(rnl_graph_instantiate(graph, out_exec));
    assert_ok(rnl_graph_release(graph));
    shut();
    assert_ok(rnl_enqueue_copy_to_buffer(stream, buffer, 0, values,
                                         sizeof values));
    assert_ok(rnl_enqueue_graph(stream, *out_exec));
}

// Loading waits for the device, which waits for the copy: that one must not
// wait for the loading.
RNL_TEST(a_copy_that_the_device_waits_for_is_not_put_off)
{
    pthread_t thread;
    rnl_graph_exec exec;
    begin();
    owe_copy(&exec);
    size_t before = loads();
    assert_int_equal(pthread_create(&thread, NULL, load, NULL), 0);
    // It need not get as far as the driver, but without the rule it would.
    for (int i = 0; i < 100000 && loads() == before; i++)
        sched_yield();
    atomic_store(&gate.open, 1);
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(loading);
    assert_ok(rnl_graph_exec_release(exec));
    end();
}

static rnl_graph graph_that_decides(void)
{
    rnl_graph graph, body;
    rnl_node node;
    assert_ok(rnl_graph_create(context, NULL, &graph));
    assert_ok(rnl_graph_add_node(graph, RNL_AT_START,
                                 RNL_NODE(.kind = RNL_NODE_IF,
                                          .buffer = buffer,
                                          .out_body = &body), &node));
    return graph;
}

static void *decide(void *out_exec)
{
    rnl_graph graph = graph_that_decides();
    atomic_store(&loading, true);
    assert_ok(rnl_graph_instantiate(graph, out_exec));
    assert_ok(rnl_graph_release(graph));
    return NULL;
}

// The library's own kernel is loaded when no copy is in the way, too.
RNL_TEST(a_condition_is_made_ready_behind_copies)
{
    pthread_t thread;
    rnl_graph_exec exec, second = NULL;
    begin();
    owe_copy(&exec);
    size_t before = loads();
    assert_int_equal(pthread_create(&thread, NULL, decide, &second), 0);
    while (!atomic_load(&loading))
        sched_yield();
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(loads(), before);
        sched_yield();
    }
    atomic_store(&gate.open, 1);
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(loads(), before + 1);
    assert_ok(rnl_graph_exec_release(second));
    assert_ok(rnl_graph_exec_release(exec));
    end();
}

static rnl_graph_exec changing;
static rnl_node child;

static void *change(void *graph)
{
    assert_ok(rnl_graph_exec_set_node(changing, child,
                                      RNL_NODE(.kind = RNL_NODE_CHILD,
                                               .child = graph)));
    return NULL;
}

// The service, which does the copies that the loading waits for, also ends
// launches of the graph.
RNL_TEST(a_graph_that_is_changed_behind_copies_holds_nobody_up)
{
    pthread_t thread;
    rnl_graph_exec exec;
    rnl_graph graph, inner;
    rnl_stream other, third;
    rnl_buffer word;
    begin();
    assert_ok(rnl_stream_create(context, NULL, &other));
    assert_ok(rnl_stream_create(context, NULL, &third));
    assert_ok(rnl_buffer_create(context, 8, RNL_BUFFER_OPTIONS(.zeroed = true),
                                &word));
    assert_ok(rnl_graph_create(context, NULL, &inner));
    assert_ok(rnl_graph_create(context, NULL, &graph));
    assert_ok(rnl_graph_add_node(graph, RNL_AT_START,
                                 RNL_NODE(.kind = RNL_NODE_CHILD,
                                          .child = inner), &child));
    assert_ok(rnl_graph_instantiate(graph, &changing));
    assert_ok(rnl_graph_release(inner));
    inner = graph_that_decides();
    owe_copy(&exec);
    assert_ok(rnl_enqueue_wait_value32(other, word, 0, 1, RNL_WAIT_EQ));
    assert_ok(rnl_enqueue_graph(other, changing));
    size_t made = fake_calls("cuGraphCreate");
    assert_int_equal(pthread_create(&thread, NULL, change, inner), 0);
    while (fake_calls("cuGraphCreate") == made)
        sched_yield();
    // The launch is over, then the service has the copy to do.
    assert_ok(rnl_enqueue_write_value32(third, word, 0, 1));
    assert_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    atomic_store(&gate.open, 1);
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_ok(rnl_graph_release(inner));
    assert_ok(rnl_graph_release(graph));
    assert_ok(rnl_graph_exec_release(changing));
    assert_ok(rnl_graph_exec_release(exec));
    assert_ok(rnl_buffer_release(word));
    assert_ok(rnl_stream_release(other));
    assert_ok(rnl_stream_release(third));
    end();
}

// --- Time limits -------------------------------------------------------------

static void expect_told(const char *what)
{
    assert_status(rnl_stream_synchronize(stream, 0), RNL_ERROR_TIMED_OUT);
    if (!strstr(rnl_last_error()->message, what))
        fail_msg("'%s' lacks '%s'", rnl_last_error()->message, what);
}

RNL_TEST(a_time_out_tells_how_far_the_stream_is)
{
    begin();
    rnl_stream other;
    assert_ok(rnl_stream_create(context, NULL, &other));
    fill();
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_ok(rnl_enqueue_wait_value32(stream, buffer, 0, 2, RNL_WAIT_EQ));
    fill();
    expect_told("has come to operation 2 (value operation) at least, of 3");
    assert_ok(rnl_enqueue_write_value32(other, buffer, 0, 2));
    shut();
    fill();
    expect_told("at least, of 5, and waits for the host or another stream");
    atomic_store(&gate.open, 1);
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_ok(rnl_stream_release(other));
    end();
}

// --- What is over ------------------------------------------------------------

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

// Fills memory whose deleter is called behind that: not by this thread, since
// the fill waits for `other` until the memory is released.
static void fill_once(rnl_stream where, rnl_stream other,
                      rnl_deleter_fn deleter)
{
    rnl_buffer wrapped;
    rnl_buffer_info info = {.struct_size = sizeof info};
    assert_ok(rnl_buffer_get_info(buffer, &info));
    assert_ok(rnl_fill_and_wait(where, buffer, 60, 4, 0, 4));
    assert_ok(rnl_enqueue_wait_value32(where, buffer, 60, 1, RNL_WAIT_EQ));
    assert_ok(rnl_buffer_wrap(context, info.device_address, 64,
                              RNL_WRAP_OPTIONS(.kind = RNL_MEMORY_DEVICE,
                                               .deleter = deleter),
                              &wrapped));
    assert_ok(rnl_enqueue_fill(where, wrapped, 0, 4, 1, 4));
    assert_ok(rnl_buffer_release(wrapped));
    assert_ok(rnl_enqueue_write_value32(other, buffer, 60, 1));
}

RNL_TEST(a_deleter_may_wait_for_a_host_function)
{
    begin();
    rnl_stream other;
    assert_ok(rnl_stream_create(context, NULL, &other));
    fill_once(stream, other, delete_behind_told);
    while (!atomic_load(&deleting))
        sched_yield();
    assert_ok(rnl_enqueue_host_function(other, fake_count, &told));
    assert_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    assert_ok(rnl_stream_release(other));
    end();
}

static size_t live_bytes(void)
{
    rnl_pool_stats stats = {.struct_size = sizeof stats};
    assert_ok(rnl_context_pool_stats(context, &stats));
    return stats.live;
}

// What a stream is past is there again for who knows that.
RNL_TEST(a_deleter_that_blocks_keeps_no_memory_of_others)
{
    begin();
    rnl_stream other;
    assert_ok(rnl_stream_create(context, NULL, &other));
    size_t before = live_bytes();
    fill_once(stream, other, delete_behind_told);
    while (!atomic_load(&deleting))
        sched_yield();
    for (int i = 0; i < 20; i++) {
        rnl_buffer brief;
        assert_ok(rnl_buffer_create(context, 1 << 20, NULL, &brief));
        assert_ok(rnl_enqueue_fill(other, brief, 0, 4, 1, 4));
        assert_ok(rnl_buffer_release(brief));
        do
            assert_ok(rnl_stream_synchronize(other, RNL_FOREVER));
        while (live_bytes() > before);
    }
    atomic_store(&told.count, 1);
    assert_ok(rnl_stream_release(other));
    end();
}

// What was page-locked for it is given back by a call that waits.
RNL_TEST(a_copy_without_room_fails_while_the_device_waits)
{
    enum { SIZE = 2 << 20 };
    static char bytes[SIZE];
    begin();
    rnl_stream other, third;
    rnl_buffer big;
    assert_ok(rnl_stream_create(context, NULL, &other));
    assert_ok(rnl_stream_create(context, NULL, &third));
    assert_ok(rnl_buffer_create(context, SIZE, NULL, &big));
    fill();
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_ok(rnl_enqueue_wait_value32(stream, buffer, 0, 2, RNL_WAIT_EQ));
    fake_fail("cuMemHostAlloc", 3, 2, 0);
    assert_ok(rnl_enqueue_copy_to_buffer(other, big, 0, bytes, SIZE));
    assert_status(rnl_stream_synchronize(other, RNL_FOREVER),
                  RNL_ERROR_OUT_OF_MEMORY);
    assert_ok(rnl_enqueue_write_value32(third, buffer, 0, 2));
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_ok(rnl_buffer_release(big));
    assert_ok(rnl_stream_release(other));
    assert_ok(rnl_stream_release(third));
    end();
}

static _Alignas(4096) char locked[4096];

static void *unlock(void *unused)
{
    assert_ok(rnl_host_unregister(context, locked));
    return unused;
}

static rnl_graph_exec captured(rnl_stream from, rnl_buffer filled)
{
    rnl_graph graph;
    rnl_graph_exec exec;
    assert_ok(rnl_stream_begin_capture(from, NULL));
    if (filled)
        assert_ok(rnl_enqueue_fill(from, filled, 0, 4, 1, 4));
    else
        assert_ok(rnl_enqueue_host_function(from, fake_hold, &gate));
    assert_ok(rnl_stream_end_capture(from, &graph));
    assert_ok(rnl_graph_instantiate(graph, &exec));
    assert_ok(rnl_graph_release(graph));
    return exec;
}

RNL_TEST(values_are_written_while_a_call_waits_for_them)
{
    begin();
    rnl_stream other;
    pthread_t thread;
    assert_ok(rnl_stream_create(context, NULL, &other));
    assert_ok(rnl_host_register(context, locked, sizeof locked));
    fill();
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_ok(rnl_enqueue_wait_value32(other, buffer, 0, 2, RNL_WAIT_EQ));
    assert_int_equal(pthread_create(&thread, NULL, unlock, NULL), 0);
    while (fake_calls("cuMemHostUnregister") == 0)
        sched_yield();
    assert_ok(rnl_enqueue_write_value32(stream, buffer, 0, 2));
    assert_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_ok(rnl_stream_release(other));
    end();
}

// The device waits for a host function, a call for the device, and what the
// driver is asked to free for the call.
RNL_TEST(host_functions_run_while_freeing_is_held_up)
{
    static struct fake_gate first;
    rnl_stream other;
    rnl_buffer big;
    pthread_t thread;
    fake_load();
    assert_ok(rnl_context_open("cuda", 0,
                               RNL_CONTEXT_OPTIONS(.pool_threshold = 1),
                               &context));
    assert_ok(rnl_stream_create(context, NULL, &stream));
    assert_ok(rnl_stream_create(context, NULL, &other));
    assert_ok(rnl_buffer_create(context, 64, NULL, &buffer));
    assert_ok(rnl_buffer_create(context, 64 << 20, NULL, &big));
    assert_ok(rnl_host_register(context, locked, sizeof locked));
    rnl_graph_exec holds = captured(stream, NULL);
    rnl_graph_exec fills_big = captured(stream, big);
    rnl_graph_exec fills = captured(stream, buffer);
    assert_ok(rnl_enqueue_graph(stream, holds));
    assert_ok(rnl_enqueue_graph(stream, fills_big));
    assert_ok(rnl_enqueue_host_function(other, fake_hold, &first));
    assert_ok(rnl_enqueue_fill(other, buffer, 0, 4, 1, 4));
    assert_ok(rnl_enqueue_host_function(other, fake_count, &told));
    assert_ok(rnl_enqueue_graph(other, fills));
    assert_ok(rnl_graph_exec_release(fills_big));
    assert_ok(rnl_buffer_release(big));
    assert_int_equal(pthread_create(&thread, NULL, unlock, NULL), 0);
    while (fake_calls("cuMemHostUnregister") == 0)
        sched_yield();
    size_t freed = fake_calls("cuMemFreeAsync");
    atomic_store(&gate.open, 1);
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    while (fake_calls("cuMemFreeAsync") == freed)
        sched_yield();
    atomic_store(&first.open, 1);
    assert_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    assert_int_equal(told.count, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_ok(rnl_graph_exec_release(holds));
    assert_ok(rnl_graph_exec_release(fills));
    assert_ok(rnl_stream_release(other));
    end();
}
