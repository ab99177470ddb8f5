// Batched streams: what submits their work, and that nothing else differs. The
// rest of the suite runs on them, too, as conformance.batched.
#include "suite.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static rnl_stream new_batched(const char *label)
{
    rnl_stream stream = NULL;
    suite_need(RNL_FEATURE_BATCHED_STREAMS);
    expect_ok(rnl_stream_create(
        suite_context(),
        RNL_STREAM_OPTIONS(.flags = RNL_STREAM_BATCHED, .label = label),
        &stream));
    return stream;
}

static void wait_for_calls(const struct host_calls *calls, int count)
{
    while (atomic_load(&calls->count) < count)
        sched_yield();
}

RNL_TEST(a_batched_stream_says_what_it_is)
{
    rnl_stream stream = new_batched("many");
    rnl_stream_info info = {.struct_size = sizeof info};
    expect_ok(rnl_stream_get_info(stream, &info));
    assert_int_equal(info.flags, RNL_STREAM_BATCHED);
    assert_string_equal(info.label, "many");
    expect_ok(rnl_stream_query(stream));
    expect_ok(rnl_stream_flush(stream));
    expect_ok(rnl_stream_synchronize(stream, 0));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(batched_work_does_not_start_by_itself)
{
    rnl_stream stream = new_batched(NULL), other = suite_new_stream();
    struct host_calls calls = {0, -1};
    expect_ok(rnl_enqueue_host_function(stream, count_host_call, &calls));
    for (int i = 0; i < 20; i++) {
        expect_ok(rnl_enqueue_host_function(other, count_host_call, &calls));
        expect_ok(rnl_stream_synchronize(other, RNL_FOREVER));
        assert_int_equal(calls.count, i + 1);
    }
    expect_ok(rnl_stream_flush(stream));
    wait_for_calls(&calls, 21);
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_stream_release(other));
}

// --- What submits ----------------------------------------------------------

static rnl_stream second;
static rnl_event event;
static rnl_buffer buffer;

static void by_flush(rnl_stream stream)
{
    expect_ok(rnl_stream_flush(stream));
}

static void by_query(rnl_stream stream)
{
    rnl_status status = rnl_stream_query(stream);
    assert_true(status == RNL_OK || status == RNL_NOT_READY);
}

static void by_synchronize(rnl_stream stream)
{
    rnl_status status = rnl_stream_synchronize(stream, 0);
    assert_true(status == RNL_OK || status == RNL_ERROR_TIMED_OUT);
}

static void by_record(rnl_stream stream)
{
    expect_ok(rnl_enqueue_event_record(stream, event));
}

static void by_new_event(rnl_stream stream)
{
    rnl_event recorded = NULL;
    expect_ok(rnl_enqueue_event(stream, NULL, &recorded));
    expect_ok(rnl_event_release(recorded));
}

static void by_waiting_for_an_event(rnl_stream stream)
{
    expect_ok(rnl_enqueue_wait_event(stream, event));
}

static void by_waiting_for_a_stream(rnl_stream stream)
{
    expect_ok(rnl_enqueue_wait_stream(stream, second));
}

static void by_waiting_for_a_context(rnl_stream stream)
{
    expect_ok(rnl_enqueue_wait_context(stream, suite_context()));
}

static void by_a_stream_that_waits(rnl_stream stream)
{
    expect_ok(rnl_enqueue_wait_stream(second, stream));
}

static void by_a_stream_that_waits_for_all(rnl_stream stream)
{
    (void)stream;
    expect_ok(rnl_enqueue_wait_context(second, suite_context()));
}

static void by_synchronizing_the_context(rnl_stream stream)
{
    (void)stream;
    rnl_status status = rnl_context_synchronize(suite_context(), 0);
    assert_true(status == RNL_OK || status == RNL_ERROR_TIMED_OUT);
}

static void by_reset(rnl_stream stream)
{
    expect_ok(rnl_stream_reset_and_wait(stream));
}

static void by_copy_and_wait(rnl_stream stream)
{
    int value = 1;
    expect_ok(rnl_copy_to_buffer_and_wait(stream, buffer, 0, &value, 4));
}

static void by_map(rnl_stream stream)
{
    void *pointer;
    expect_ok(rnl_buffer_map_and_wait(stream, buffer, RNL_MAP_READ, &pointer));
    expect_ok(rnl_buffer_unmap_and_wait(stream, buffer));
}

static void by_filling_up(rnl_stream stream)
{
    for (int i = 0; i < 255; i++)
        expect_ok(rnl_enqueue_fill(stream, buffer, 0, 4, 1, 1));
}

static void by_release(rnl_stream stream)
{
    expect_ok(rnl_stream_retain(stream));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(whatever_looks_at_a_batched_stream_submits_its_work)
{
    void (*const triggers[])(rnl_stream) = {
        by_flush, by_query, by_synchronize, by_record, by_new_event,
        by_waiting_for_an_event, by_waiting_for_a_stream,
        by_waiting_for_a_context, by_a_stream_that_waits,
        by_a_stream_that_waits_for_all, by_synchronizing_the_context, by_reset,
        by_copy_and_wait, by_map, by_filling_up, by_release};
    second = suite_new_stream();
    event = suite_new_event();
    buffer = suite_new_buffer(64);
    for (size_t i = 0; i < sizeof triggers / sizeof triggers[0]; i++) {
        rnl_stream stream = new_batched(NULL);
        struct host_calls calls = {0, -1};
        expect_ok(rnl_enqueue_host_function(stream, count_host_call, &calls));
        assert_int_equal(calls.count, 0);
        triggers[i](stream);
        wait_for_calls(&calls, 1);
        assert_int_equal(calls.status, RNL_OK);
        if (triggers[i] != by_release)
            expect_ok(rnl_stream_release(stream));
    }
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_stream_release(second));
}

// All are submitted before the first is waited for.
RNL_TEST(synchronizing_a_context_submits_before_it_waits)
{
    rnl_stream streams[4];
    struct host_calls calls = {0, -1};
    for (int i = 0; i < 4; i++)
        streams[i] = new_batched(NULL);
    struct gate *gate = gate_shut(streams[0]);
    for (int i = 1; i < 4; i++)
        expect_ok(rnl_enqueue_host_function(streams[i], count_host_call,
                                            &calls));
    expect_error(rnl_context_synchronize(suite_context(), 0),
                 RNL_ERROR_TIMED_OUT, NULL);
    gate_open(gate);
    wait_for_calls(&calls, 3);
    expect_ok(rnl_context_synchronize(suite_context(), RNL_FOREVER));
    gate_free(gate);
    for (int i = 0; i < 4; i++)
        expect_ok(rnl_stream_release(streams[i]));
}

// --- What does not differ --------------------------------------------------

RNL_TEST(batched_work_runs_in_order)
{
    enum { COUNT = 1000 };
    rnl_stream stream = new_batched(NULL);
    rnl_buffer ints = suite_ints(1, 0);
    static int read[COUNT];
    memset(read, 0, sizeof read);
    for (int i = 0; i < COUNT; i++) {
        expect_ok(rnl_enqueue_fill(stream, ints, 0, 4, (uint64_t)i, 4));
        expect_ok(rnl_enqueue_copy_from_buffer(stream, &read[i], ints, 0, 4));
    }
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(read[i], i);
    expect_ok(rnl_buffer_release(ints));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(batched_streams_wait_for_each_other)
{
    enum { ROUNDS = 100 };
    rnl_stream streams[2] = {new_batched("a"), new_batched("b")};
    rnl_buffer ints = suite_ints(1, 0);
    int read[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        expect_ok(rnl_enqueue_fill(streams[0], ints, 0, 4, (uint64_t)i, 4));
        expect_ok(rnl_enqueue_wait_stream(streams[1], streams[0]));
        expect_ok(rnl_enqueue_copy_from_buffer(streams[1], &read[i], ints, 0,
                                               4));
        expect_ok(rnl_enqueue_wait_stream(streams[0], streams[1]));
    }
    expect_ok(rnl_stream_synchronize(streams[1], RNL_FOREVER));
    for (int i = 0; i < ROUNDS; i++)
        assert_int_equal(read[i], i);
    expect_ok(rnl_buffer_release(ints));
    expect_ok(rnl_stream_release(streams[0]));
    expect_ok(rnl_stream_release(streams[1]));
}

// A graph runs behind what was collected, and before what comes later.
RNL_TEST(a_graph_keeps_its_place_on_a_batched_stream)
{
    suite_need(RNL_FEATURE_CAPTURE);
    rnl_stream stream = new_batched(NULL);
    rnl_buffer ints = suite_ints(1, 0);
    rnl_graph graph = NULL;
    rnl_graph_exec exec = NULL;
    int read[3] = {0};
    // What is collected before a capture is no part of it.
    expect_ok(rnl_enqueue_fill(stream, ints, 0, 4, 1, 4));
    expect_ok(rnl_stream_begin_capture(stream, NULL));
    expect_ok(rnl_enqueue_fill(stream, ints, 0, 4, 2, 4));
    expect_ok(rnl_stream_end_capture(stream, &graph));
    expect_ok(rnl_graph_instantiate(graph, &exec));
    expect_ok(rnl_enqueue_copy_from_buffer(stream, &read[0], ints, 0, 4));
    expect_ok(rnl_enqueue_graph(stream, exec));
    expect_ok(rnl_enqueue_copy_from_buffer(stream, &read[1], ints, 0, 4));
    expect_ok(rnl_enqueue_fill(stream, ints, 0, 4, 3, 4));
    expect_ok(rnl_enqueue_copy_from_buffer(stream, &read[2], ints, 0, 4));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    for (int i = 0; i < 3; i++)
        assert_int_equal(read[i], i + 1);
    expect_ok(rnl_graph_exec_release(exec));
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_buffer_release(ints));
    expect_ok(rnl_stream_release(stream));
}

static rnl_status break_down(const rnl_native_call *call)
{
    (void)call;
    return RNL_ERROR_LAUNCH_FAILED;
}

RNL_TEST(a_failure_in_a_batch_is_the_streams)
{
    rnl_stream stream = new_batched(NULL);
    rnl_function function = suite_native("breaks", break_down, NULL);
    rnl_buffer ints = suite_ints(1, 1);
    struct host_calls calls = {0, -1};
    expect_ok(rnl_enqueue_fill(stream, ints, 0, 4, 2, 4));
    expect_ok(rnl_enqueue_function(stream, function,
                                   RNL_LAUNCH(.grid = {1}, .block = {1}),
                                   RNL_NO_ARGS));
    expect_ok(rnl_enqueue_fill(stream, ints, 0, 4, 3, 4));
    expect_ok(rnl_enqueue_host_function(stream, count_host_call, &calls));
    expect_error(rnl_stream_synchronize(stream, RNL_FOREVER),
                 RNL_ERROR_LAUNCH_FAILED, NULL);
    assert_int_equal(rnl_last_error()->operation, 2);
    assert_string_equal(rnl_last_error()->operation_name, "breaks");
    assert_int_equal(calls.count, 1);
    assert_int_equal(calls.status, RNL_ERROR_LAUNCH_FAILED);
    expect_error(rnl_stream_flush(stream), RNL_ERROR_LAUNCH_FAILED, NULL);
    suite_expect_ints(ints, 1, 2);
    expect_ok(rnl_stream_reset_and_wait(stream));
    expect_ok(rnl_stream_flush(stream));
    expect_ok(rnl_buffer_release(ints));
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(an_ordinary_stream_may_be_flushed)
{
    rnl_stream stream = NULL;
    expect_ok(rnl_stream_create(suite_context(), NULL, &stream));
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_stream_flush(stream));
    assert_status(rnl_stream_query(stream), RNL_NOT_READY);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_stream_release(stream));
}

// --- Threads ---------------------------------------------------------------

enum { THREADS = 4, CALLS = 2000 };

struct shared {
    rnl_stream stream;
    struct host_calls calls;
    _Atomic int failed;
};

static void *enqueue_many(void *argument)
{
    struct shared *shared = argument;
    for (int i = 0; i < CALLS; i++) {
        if (rnl_enqueue_host_function(shared->stream, count_host_call,
                                      &shared->calls))
            atomic_fetch_add(&shared->failed, 1);
        if (i % 50 == 0 && rnl_stream_flush(shared->stream))
            atomic_fetch_add(&shared->failed, 1);
    }
    return NULL;
}

RNL_TEST(threads_share_a_batched_stream)
{
    suite_need(RNL_FEATURE_HOST_FUNCTIONS);
    struct shared shared = {.stream = new_batched(NULL)};
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, enqueue_many,
                                        &shared), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    expect_ok(rnl_stream_release(shared.stream));
    wait_for_calls(&shared.calls, THREADS * CALLS);
    assert_int_equal(shared.failed, 0);
}

static void *enqueue_until_dead(void *argument)
{
    struct shared *shared = argument;
    int accepted = 0;
    while (rnl_enqueue_host_function(shared->stream, count_host_call,
                                     &shared->calls) == RNL_OK)
        accepted++;
    atomic_fetch_add(&shared->failed, accepted);
    return NULL;
}

// What was accepted runs, however the last release falls in between.
RNL_TEST(a_batched_stream_released_during_use_loses_nothing)
{
    suite_need(RNL_FEATURE_HOST_FUNCTIONS);
    for (int round = 0; round < 50; round++) {
        struct shared shared = {.stream = new_batched(NULL)};
        pthread_t threads[2];
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&threads[i], NULL,
                                            enqueue_until_dead, &shared), 0);
        wait_for_calls(&shared.calls, 1);
        expect_ok(rnl_stream_release(shared.stream));
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        wait_for_calls(&shared.calls, shared.failed);
    }
}

RNL_TEST(batched_streams_are_refused_where_there_are_none)
{
    rnl_stream stream = NULL;
    if (rnl_context_supports(suite_context(), RNL_FEATURE_BATCHED_STREAMS,
                             NULL) == RNL_OK)
        test_skip("%s has batched streams", test_device_name());
    expect_error(rnl_stream_create(
                     suite_context(),
                     RNL_STREAM_OPTIONS(.flags = RNL_STREAM_BATCHED), &stream),
                 RNL_ERROR_UNSUPPORTED, "options");
    assert_null(stream);
}
