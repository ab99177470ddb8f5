// Work behind a promise, on a driver: when it is given what.
#include "loaded.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

enum { SIZE = 64 };

static rnl_context context;
static rnl_stream stream, other;
static rnl_event promise;
static rnl_buffer buffer;
static struct fake_gate gate;
static struct fake_told told;

static void make_promise(void)
{
    assert_ok(rnl_event_create(context, RNL_EVENT_OPTIONS(.promise = true),
                               &promise));
}

static void begin(void)
{
    fake_load();
    assert_ok(rnl_context_open("cuda", 0, NULL, &context));
    assert_ok(rnl_stream_create(context, NULL, &stream));
    assert_ok(rnl_stream_create(context, NULL, &other));
    assert_ok(rnl_buffer_create(context, SIZE,
                                RNL_BUFFER_OPTIONS(.zeroed = true), &buffer));
    assert_ok(rnl_context_synchronize(context, RNL_FOREVER));
    make_promise();
}

static void end(void)
{
    assert_ok(rnl_event_release(promise));
    assert_ok(rnl_buffer_release(buffer));
    assert_ok(rnl_stream_release(stream));
    assert_ok(rnl_stream_release(other));
    assert_ok(rnl_context_release(context));
    fake_expect_empty();
}

static void fill(uint32_t value)
{
    assert_ok(rnl_enqueue_fill(stream, buffer, 0, 4, value, 4));
}

static void expect_filled(uint32_t value)
{
    uint32_t seen = 0;
    assert_ok(rnl_copy_from_buffer_and_wait(other, &seen, buffer, 0, 4));
    assert_int_equal(seen, value);
}

static size_t fills(void)
{
    return fake_calls("cuMemsetD32Async");
}

// Nothing of it stands in a hardware queue.
RNL_TEST(the_driver_is_not_given_what_waits_for_a_promise)
{
    begin();
    size_t before = fills(), waits = fake_calls("cuStreamWaitEvent");
    assert_ok(rnl_enqueue_wait_event(stream, promise));
    for (uint32_t i = 1; i <= 3000; i++)
        fill(i);
    assert_int_equal(fills(), before);
    assert_int_equal(fake_calls("cuStreamWaitEvent"), waits);
    assert_ok(rnl_enqueue_event_record(other, promise));
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(fills(), before + 3000);
    assert_int_equal(fake_calls("cuStreamWaitEvent"), waits + 1);
    assert_int_equal(fake_calls("cuStreamWaitValue32"), 0);
    expect_filled(3000);
    end();
}

// The promise comes behind what waits for the host.
RNL_TEST(a_promise_is_kept_behind_a_host_function)
{
    begin();
    size_t before = fills();
    assert_ok(rnl_enqueue_wait_event(stream, promise));
    fill(1);
    assert_ok(rnl_enqueue_host_function(other, fake_hold, &gate));
    fake_await_entered(&gate);
    assert_ok(rnl_enqueue_event_record(other, promise));
    assert_status(rnl_event_query(promise), RNL_NOT_READY);
    assert_status(rnl_stream_query(stream), RNL_NOT_READY);
    assert_int_equal(fills(), before);
    atomic_store(&gate.open, 1);
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_ok(rnl_event_synchronize(promise, RNL_FOREVER));
    expect_filled(1);
    end();
}

// All as before: it can be recorded yet.
RNL_TEST(a_record_that_the_driver_refuses_keeps_no_promise)
{
    begin();
    assert_ok(rnl_enqueue_wait_event(stream, promise));
    fill(1);
    fake_fail("cuEventRecord", 1, 1, 0);
    assert_true(rnl_enqueue_event_record(other, promise) != RNL_OK);
    assert_status(rnl_event_query(promise), RNL_NOT_READY);
    assert_status(rnl_stream_query(stream), RNL_NOT_READY);
    assert_ok(rnl_enqueue_event_record(other, promise));
    assert_status(rnl_enqueue_event_record(other, promise),
                  RNL_ERROR_INVALID_STATE);
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    expect_filled(1);
    end();
}

// Nobody waits for what took its place.
static void expect_nothing_left(rnl_status status, rnl_event never)
{
    rnl_event event;
    assert_true(status != RNL_OK);
    assert_null(never);
    fill(1);
    assert_ok(rnl_enqueue_event(stream, NULL, &event));
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_ok(rnl_event_query(event));
    assert_ok(rnl_event_release(event));
}

RNL_TEST(a_promise_that_nobody_got_leaves_nothing)
{
    rnl_event_options *options = RNL_EVENT_OPTIONS(.promise = true);
    rnl_event never = NULL;
    rnl_graph graph = NULL;
    begin();
    fake_fail("cuEventRecord", 1, 1, 0);
    expect_nothing_left(rnl_enqueue_event(other, options, &never), never);
    assert_ok(rnl_stream_begin_capture(other, NULL));
    rnl_status status = rnl_enqueue_event(other, options, &never);
    assert_true(rnl_stream_end_capture(other, &graph) != RNL_OK);
    expect_nothing_left(status, never);
    end();
}

// A copy that is refused when it is under way.
static void fail_late(rnl_stream late)
{
    static int values[16];
    rnl_event kept;
    assert_ok(rnl_event_create(context, RNL_EVENT_OPTIONS(.promise = true),
                               &kept));
    assert_ok(rnl_enqueue_wait_event(late, kept));
    assert_ok(rnl_enqueue_copy_to_buffer(late, buffer, 0, values,
                                         sizeof values));
    fake_fail("cuMemcpyAsync", 1, 2, 1);
    assert_ok(rnl_event_release(kept));
    assert_true(rnl_stream_synchronize(late, RNL_FOREVER) != RNL_OK);
    fake_fail("cuMemcpyAsync", 0, 0, 0);
}

// Those who wait are told before they get on.
RNL_TEST(a_promise_kept_by_a_failed_stream_lets_no_work_on)
{
    begin();
    assert_ok(rnl_enqueue_wait_event(stream, promise));
    fill(1);
    assert_ok(rnl_enqueue_host_function(stream, fake_count, &told));
    fail_late(other);
    size_t before = fills();
    assert_ok(rnl_enqueue_event_record(other, promise));
    assert_status(rnl_stream_synchronize(stream, RNL_FOREVER),
                  RNL_ERROR_DEPENDENCY_FAILED);
    assert_int_equal(fills(), before);
    assert_int_equal(told.count, 1);
    assert_int_equal(told.status, RNL_ERROR_DEPENDENCY_FAILED);
    assert_ok(rnl_stream_reset_and_wait(other));
    end();
}

// It was held, behind a host function.
RNL_TEST(a_record_that_is_refused_late_breaks_the_promise)
{
    begin();
    size_t before = fills();
    assert_ok(rnl_enqueue_wait_event(stream, promise));
    fill(1);
    assert_ok(rnl_enqueue_host_function(other, fake_hold, &gate));
    assert_ok(rnl_enqueue_event_record(other, promise));
    fake_fail("cuEventRecord", 1, 1, 0);
    atomic_store(&gate.open, 1);
    assert_status(rnl_stream_synchronize(other, RNL_FOREVER),
                  RNL_ERROR_INVALID_ARGUMENT);
    assert_status(rnl_stream_synchronize(stream, RNL_FOREVER),
                  RNL_ERROR_DEPENDENCY_FAILED);
    assert_int_equal(fills(), before);
    assert_status(rnl_event_query(promise), RNL_ERROR_INVALID_ARGUMENT);
    assert_ok(rnl_stream_reset_and_wait(stream));
    assert_ok(rnl_stream_reset_and_wait(other));
    end();
}

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

// Nobody has anything to do until the promise is kept: the service asks the
// driver each half a millisecond at most, not all the time.
RNL_TEST(who_waits_for_who_waits_for_a_promise_costs_little)
{
    enum { LONG_MS = 50, STREAMS = 2 };
    begin();
    assert_ok(rnl_enqueue_wait_event(stream, promise));
    assert_ok(rnl_enqueue_wait_stream(other, stream));
    size_t before = fake_calls("cuStreamQuery");
    uint64_t start = now_us();
    while (now_us() < start + LONG_MS * 1000)
        sched_yield();
    assert_true(fake_calls("cuStreamQuery") - before <
                4 * LONG_MS * STREAMS);
    assert_ok(rnl_event_release(promise));
    assert_status(rnl_stream_synchronize(other, RNL_FOREVER),
                  RNL_ERROR_DEPENDENCY_FAILED);
    make_promise();
    end();
}

// --- Where the driver must have all at once ----------------------------------

static void expect_kept(void)
{
    assert_status(rnl_stream_query(stream), RNL_NOT_READY);
    assert_int_equal(told.count, 0);
    assert_ok(rnl_enqueue_event_record(other, promise));
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(told.count, 1);
    assert_int_equal(told.status, RNL_OK);
    expect_filled(2);
}

RNL_TEST(a_native_stream_waits_for_a_promise)
{
    void *native;
    begin();
    size_t before = fills();
    assert_ok(rnl_enqueue_wait_event(stream, promise));
    fill(1);
    assert_ok(rnl_enqueue_host_function(stream, fake_count, &told));
    assert_int_equal(fills(), before);
    assert_ok(rnl_stream_native(stream, &native));
    assert_int_equal(fills(), before + 1);
    fill(2);
    expect_kept();
    // And when the wait comes last.
    assert_ok(rnl_event_release(promise));
    make_promise();
    atomic_store(&told.count, 0);
    assert_ok(rnl_enqueue_wait_event(stream, promise));
    before = fills();
    fill(2);
    assert_int_equal(fills(), before + 1);
    assert_ok(rnl_enqueue_host_function(stream, fake_count, &told));
    expect_kept();
    end();
}

// However closely the service looks at what is new.
RNL_TEST(for_a_native_stream_the_driver_is_asked_only_now_and_then)
{
    void *native;
    rnl_stream busy;
    begin();
    assert_ok(rnl_stream_create(context, NULL, &busy));
    assert_ok(rnl_stream_native(stream, &native));
    assert_ok(rnl_enqueue_wait_event(stream, promise));
    assert_ok(rnl_enqueue_wait_value32(other, buffer, 0, 1, RNL_WAIT_GEQ));
    assert_ok(rnl_enqueue_event_record(other, promise));
    uint64_t start = now_us();
    size_t before = fake_calls("cuEventQuery");
    for (uint64_t i = 1; i <= 20; i++) {
        assert_ok(rnl_enqueue_host_function(busy, fake_count, &told));
        while (now_us() - start < i * 200)
            sched_yield();
    }
    size_t calls = fake_calls("cuEventQuery") - before;
    // The wait's event, and one for each stream.
    assert_in_range(calls, 0, 4 * ((now_us() - start) / 20 + 1));
    assert_ok(rnl_enqueue_write_value32(busy, buffer, 0, 1));
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_ok(rnl_stream_release(busy));
    end();
}

RNL_TEST(a_native_stream_does_not_wait_for_itself)
{
    void *native;
    begin();
    assert_ok(rnl_stream_native(stream, &native));
    assert_ok(rnl_enqueue_wait_event(stream, promise));
    fill(1);
    assert_status(rnl_enqueue_event_record(stream, promise),
                  RNL_ERROR_INVALID_STATE);
    assert_ok(rnl_enqueue_event_record(other, promise));
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    expect_filled(1);
    end();
}

// It fails; what the driver has runs, in the end.
RNL_TEST(a_broken_promise_ends_the_wait_of_a_native_stream)
{
    void *native;
    begin();
    assert_ok(rnl_stream_native(stream, &native));
    assert_ok(rnl_enqueue_wait_event(stream, promise));
    assert_ok(rnl_enqueue_host_function(stream, fake_count, &told));
    assert_ok(rnl_event_release(promise));
    assert_status(rnl_stream_synchronize(stream, RNL_FOREVER),
                  RNL_ERROR_DEPENDENCY_FAILED);
    assert_int_equal(told.count, 1);
    assert_int_equal(told.status, RNL_ERROR_DEPENDENCY_FAILED);
    make_promise();
    end();
}

static rnl_graph_exec fill_two(rnl_event awaited)
{
    rnl_fill *two = RNL_FILL(.to = {.buffer = buffer}, .width = 4,
                             .pattern = 2, .pattern_size = 4);
    rnl_graph graph;
    rnl_graph_exec exec;
    rnl_node node = NULL;
    assert_ok(rnl_graph_create(context, NULL, &graph));
    if (awaited)
        assert_ok(rnl_graph_add_node(graph, RNL_AT_START,
                                     RNL_NODE(.kind = RNL_NODE_EVENT_WAIT,
                                              .event = awaited), &node));
    assert_ok(rnl_graph_add_node(graph, &node, node != NULL,
                                 RNL_NODE(.kind = RNL_NODE_FILL, .fill = two),
                                 &node));
    assert_ok(rnl_graph_instantiate(graph, &exec));
    assert_ok(rnl_graph_release(graph));
    return exec;
}

RNL_TEST(a_graph_waits_for_a_promise)
{
    begin();
    rnl_graph_exec exec = fill_two(NULL);
    assert_ok(rnl_enqueue_wait_event(stream, promise));
    fill(1);
    assert_ok(rnl_enqueue_graph(stream, exec));
    assert_ok(rnl_enqueue_host_function(stream, fake_count, &told));
    expect_kept();
    assert_ok(rnl_graph_exec_release(exec));
    end();
}

// What a graph waits for waits for the promise; and what keeps that comes
// behind another wait for it.
RNL_TEST(a_graph_waits_for_who_waits_for_a_promise)
{
    rnl_event event;
    rnl_stream third;
    begin();
    assert_ok(rnl_event_create(context, NULL, &event));
    assert_ok(rnl_stream_create(context, NULL, &third));
    rnl_graph_exec exec = fill_two(event);
    assert_ok(rnl_enqueue_wait_event(third, promise));
    assert_ok(rnl_enqueue_event_record(third, event));
    fill(1);
    assert_ok(rnl_enqueue_graph(stream, exec));
    assert_ok(rnl_enqueue_host_function(stream, fake_count, &told));
    expect_kept();
    assert_ok(rnl_stream_release(third));
    assert_ok(rnl_graph_exec_release(exec));
    assert_ok(rnl_event_release(event));
    end();
}

// Also copies, which are waited for even on a lost device.
RNL_TEST(what_waits_for_a_promise_ends_with_the_device)
{
    static int values[SIZE / sizeof(int)];
    void *native;
    begin();
    assert_ok(rnl_stream_native(other, &native));
    assert_ok(rnl_enqueue_wait_event(stream, promise));
    fill(1);
    assert_ok(rnl_enqueue_host_function(stream, fake_count, &told));
    assert_ok(rnl_enqueue_wait_event(other, promise));
    assert_ok(rnl_enqueue_copy_to_buffer(other, buffer, 0, values, SIZE));
    assert_ok(rnl_enqueue_host_function(other, fake_count, &told));
    fake_break(0, 700);
    assert_status(rnl_stream_synchronize(stream, RNL_FOREVER),
                  RNL_ERROR_DEVICE_LOST);
    assert_status(rnl_stream_synchronize(other, RNL_FOREVER),
                  RNL_ERROR_DEVICE_LOST);
    while (atomic_load(&told.count) < 2)
        sched_yield();
    assert_int_equal(told.status, RNL_ERROR_DEVICE_LOST);
    rnl_event_release(promise);
    rnl_buffer_release(buffer);
    rnl_stream_release(stream);
    rnl_stream_release(other);
    rnl_context_release(context);
    fake_expect_empty();
}

// --- Threads -----------------------------------------------------------------

static pthread_barrier_t barrier;
static rnl_event *promises;

enum { ROUNDS = 300 };

static void *keep_or_break(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&barrier);
        if (i % 3 < 2)
            assert_ok(rnl_enqueue_event_record(other, promises[i]));
        assert_ok(rnl_event_release(promises[i]));
    }
    return unused;
}

// While others begin to wait: each wait ends, one way or another.
RNL_TEST(promises_are_kept_and_broken_while_streams_begin_to_wait)
{
    static rnl_event all[ROUNDS];
    pthread_t thread;
    begin();
    promises = all;
    for (int i = 0; i < ROUNDS; i++)
        assert_ok(rnl_event_create(context, RNL_EVENT_OPTIONS(.promise = true),
                                   &all[i]));
    pthread_barrier_init(&barrier, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, keep_or_break, NULL), 0);
    for (int i = 0; i < ROUNDS; i++) {
        assert_ok(rnl_event_retain(all[i]));
        pthread_barrier_wait(&barrier);
        assert_ok(rnl_enqueue_wait_event(stream, all[i]));
        fill(1);
        assert_ok(rnl_event_release(all[i]));
        rnl_status status = rnl_stream_synchronize(stream, RNL_FOREVER);
        if (status != RNL_OK) {
            assert_int_equal(status, RNL_ERROR_DEPENDENCY_FAILED);
            assert_ok(rnl_stream_reset_and_wait(stream));
        }
        assert_true((status == RNL_OK) == (i % 3 < 2));
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_barrier_destroy(&barrier);
    end();
}

// --- Without one -----------------------------------------------------------

RNL_TEST(a_stream_does_not_wait_for_what_it_recorded)
{
    begin();
    rnl_event event;
    assert_ok(rnl_event_create(context, NULL, &event));
    assert_ok(rnl_enqueue_fill(stream, buffer, 0, SIZE, 1, 4));
    assert_ok(rnl_enqueue_event_record(stream, event));
    size_t before = fake_calls("cuStreamWaitEvent");
    assert_ok(rnl_enqueue_wait_event(stream, event));
    assert_int_equal(fake_calls("cuStreamWaitEvent"), before);
    assert_ok(rnl_event_release(event));
    end();
}
