// Across streams, contexts and devices.
#include "suite.h"

static rnl_context other;
static rnl_stream here, there;

// Two contexts of the device under test, with a stream each.
static void open_both(void)
{
    other = suite_open(NULL);
    here = suite_new_stream();
    expect_ok(rnl_stream_create(other, NULL, &there));
}

static void close_both(void)
{
    expect_ok(rnl_stream_release(here));
    expect_ok(rnl_stream_release(there));
    expect_ok(rnl_context_release(other));
}

RNL_TEST(a_stream_waits_for_an_event_of_another_context)
{
    open_both();
    rnl_event event = NULL;
    struct host_calls calls = {0, -1};
    rnl_buffer buffer = suite_ints(4, 1);
    expect_ok(rnl_event_create(other, NULL, &event));
    struct gate *gate = gate_shut(there);
    expect_ok(rnl_enqueue_event_record(there, event));
    expect_ok(rnl_enqueue_wait_event(here, event));
    expect_ok(rnl_enqueue_fill(here, buffer, 0, 16, 2, 4));
    expect_ok(rnl_enqueue_host_function(here, count_host_call, &calls));
    assert_status(rnl_stream_query(here), RNL_NOT_READY);
    suite_expect_ints(buffer, 4, 1);
    assert_int_equal(calls.count, 0);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(here, RNL_FOREVER));
    suite_expect_ints(buffer, 4, 2);
    assert_int_equal(calls.count, 1);
    expect_ok(rnl_stream_synchronize(there, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_buffer_release(buffer));
    close_both();
}

RNL_TEST(a_stream_waits_for_a_stream_of_another_context)
{
    open_both();
    rnl_buffer buffer = suite_ints(4, 1);
    struct gate *gate = gate_shut(there);
    expect_ok(rnl_enqueue_wait_stream(here, there));
    expect_ok(rnl_enqueue_fill(here, buffer, 0, 16, 2, 4));
    assert_status(rnl_stream_query(here), RNL_NOT_READY);
    expect_error(rnl_stream_synchronize(here, 1000000), RNL_ERROR_TIMED_OUT,
                 NULL);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(here, RNL_FOREVER));
    suite_expect_ints(buffer, 4, 2);
    expect_ok(rnl_stream_synchronize(there, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_buffer_release(buffer));
    close_both();
}

RNL_TEST(a_stream_waits_for_a_whole_context)
{
    open_both();
    rnl_stream more = NULL;
    expect_ok(rnl_stream_create(other, NULL, &more));
    struct gate *gate = gate_shut(more);
    expect_ok(rnl_enqueue_wait_context(here, other));
    assert_status(rnl_stream_query(here), RNL_NOT_READY);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(here, RNL_FOREVER));
    expect_ok(rnl_context_synchronize(other, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_stream_release(more));
    close_both();
}

RNL_TEST(waiting_for_an_idle_context_does_not_wait)
{
    open_both();
    expect_ok(rnl_enqueue_wait_context(here, other));
    expect_ok(rnl_enqueue_wait_context(there, suite_context()));
    expect_ok(rnl_stream_synchronize(here, RNL_FOREVER));
    expect_ok(rnl_stream_synchronize(there, RNL_FOREVER));
    close_both();
}

RNL_TEST(the_other_context_may_be_released_while_waited_for)
{
    open_both();
    struct gate *gate = gate_shut(there);
    expect_ok(rnl_enqueue_wait_context(here, other));
    close_both();
    expect_error(rnl_context_synchronize(suite_context(), 0),
                 RNL_ERROR_TIMED_OUT, NULL);
    gate_open(gate);
    expect_ok(rnl_context_synchronize(suite_context(), RNL_FOREVER));
    suite_end();
    gate_free(gate);
}

RNL_TEST(buffers_are_copied_between_contexts)
{
    open_both();
    rnl_buffer near = suite_ints(256, 5), far = NULL;
    int read[256] = {0};
    expect_ok(rnl_buffer_create(other, 1024, NULL, &far));
    expect_ok(rnl_copy_buffer_and_wait(here, far, 0, near, 0, 1024));
    expect_ok(rnl_copy_from_buffer_and_wait(there, read, far, 0, 1024));
    for (int i = 0; i < 256; i++)
        assert_int_equal(read[i], 5);
    expect_ok(rnl_fill_and_wait(there, far, 0, 1024, 6, 4));
    expect_ok(rnl_copy_buffer_and_wait(here, near, 0, far, 0, 1024));
    suite_expect_ints(near, 256, 6);
    expect_ok(rnl_buffer_release(near));
    expect_ok(rnl_buffer_release(far));
    close_both();
}

RNL_TEST(a_copy_from_another_context_keeps_its_buffer)
{
    open_both();
    rnl_buffer near = suite_ints(256, 5), far = NULL;
    expect_ok(rnl_buffer_create(other, 1024, NULL, &far));
    expect_ok(rnl_fill_and_wait(there, far, 0, 1024, 8, 4));
    struct gate *gate = gate_shut(here);
    expect_ok(rnl_enqueue_copy_buffer(here, near, 0, far, 0, 1024));
    expect_ok(rnl_buffer_release(far));
    expect_ok(rnl_stream_release(there));
    expect_ok(rnl_context_release(other));
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(here, RNL_FOREVER));
    suite_expect_ints(near, 256, 8);
    gate_free(gate);
    expect_ok(rnl_buffer_release(near));
    expect_ok(rnl_stream_release(here));
}

RNL_TEST(copies_across_contexts_are_checked_too)
{
    open_both();
    rnl_buffer near = suite_ints(4, 5), far = NULL;
    expect_ok(rnl_buffer_create(other, 16, NULL, &far));
    expect_error(rnl_enqueue_copy_buffer(here, near, 0, far, 1, 16),
                 RNL_ERROR_OUT_OF_RANGE, NULL);
    expect_error(rnl_enqueue_copy_buffer(here, near, SIZE_MAX, far, 0, 2),
                 RNL_ERROR_OUT_OF_RANGE, NULL);
    suite_expect_ints(near, 4, 5);
    expect_ok(rnl_buffer_release(near));
    expect_ok(rnl_buffer_release(far));
    close_both();
}

RNL_TEST(a_mapping_takes_a_stream_of_the_buffers_context)
{
    open_both();
    rnl_buffer near = suite_ints(4, 5);
    void *pointer = NULL;
    expect_error(rnl_buffer_map_and_wait(there, near, RNL_MAP_READ, &pointer),
                 RNL_ERROR_INVALID_HANDLE, NULL);
    assert_null(pointer);
    expect_ok(rnl_buffer_release(near));
    close_both();
}

static rnl_status break_down(const rnl_native_call *call)
{
    (void)call;
    return RNL_ERROR_LAUNCH_FAILED;
}

RNL_TEST(a_failure_crosses_contexts)
{
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    open_both();
    rnl_buffer buffer = suite_ints(4, 1);
    rnl_function function = NULL;
    expect_ok(rnl_function_create_native(other, "far_away", break_down, NULL,
                                         &function));
    struct gate *gate = gate_shut(there);
    expect_ok(rnl_enqueue_function(there, function,
                                   RNL_LAUNCH(.grid = {1}, .block = {1}),
                                   RNL_NO_ARGS));
    expect_ok(rnl_enqueue_wait_stream(here, there));
    expect_ok(rnl_enqueue_fill(here, buffer, 0, 16, 2, 4));
    gate_open(gate);
    expect_error(rnl_stream_synchronize(here, RNL_FOREVER),
                 RNL_ERROR_DEPENDENCY_FAILED, NULL);
    assert_string_equal(rnl_last_error()->operation_name, "far_away");
    suite_expect_ints(buffer, 4, 1);
    gate_free(gate);
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_buffer_release(buffer));
    close_both();
}

RNL_TEST(streams_wait_for_each_other_in_a_ring)
{
    enum { STREAMS = 8, ROUNDS = 200 };
    rnl_stream streams[STREAMS];
    rnl_event event = suite_new_event();
    rnl_buffer buffer = suite_ints(1, 0);
    for (int i = 0; i < STREAMS; i++)
        streams[i] = suite_new_stream();
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < STREAMS; i++) {
            expect_ok(rnl_enqueue_wait_event(streams[i], event));
            expect_ok(rnl_enqueue_fill(streams[i], buffer, 0, 4,
                                       (uint64_t)(round * STREAMS + i), 4));
            expect_ok(rnl_enqueue_event_record(streams[i], event));
        }
    expect_ok(rnl_event_synchronize(event, RNL_FOREVER));
    suite_expect_ints(buffer, 1, ROUNDS * STREAMS - 1);
    for (int i = 0; i < STREAMS; i++)
        expect_ok(rnl_stream_release(streams[i]));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_buffer_release(buffer));
}

// --- Virtual devices (more in peers.c) -------------------------------------

// Two devices, with a stream of each.
struct devices {
    rnl_context contexts[2];
    rnl_stream streams[2];
};

static struct devices open_devices(void)
{
    struct devices devices;
    for (size_t i = 0; i < 2; i++) {
        expect_ok(rnl_context_open("cpu", i, NULL, &devices.contexts[i]));
        expect_ok(rnl_stream_create(devices.contexts[i], NULL,
                                    &devices.streams[i]));
    }
    return devices;
}

static void close_devices(struct devices *devices)
{
    for (int i = 0; i < 2; i++) {
        expect_ok(rnl_stream_release(devices->streams[i]));
        expect_ok(rnl_context_release(devices->contexts[i]));
    }
    suite_expect_empty();
}

// An event is recorded on its own device only; two of them can be compared.
SUITE_CHILD(child_times_two_devices)
{
    struct devices devices = open_devices();
    rnl_event events[2], promise = NULL;
    uint64_t ns = 77;
    for (int i = 0; i < 2; i++)
        expect_ok(rnl_event_create(devices.contexts[i],
                                   RNL_EVENT_OPTIONS(.timing = true),
                                   &events[i]));
    expect_error(rnl_enqueue_event_record(devices.streams[1], events[0]),
                 RNL_ERROR_INVALID_HANDLE, "event");
    expect_error(rnl_event_elapsed(events[0], events[1], &ns),
                 RNL_ERROR_INVALID_STATE, "start");
    expect_ok(rnl_enqueue_event_record(devices.streams[0], events[0]));
    expect_error(rnl_event_elapsed(events[0], events[1], &ns),
                 RNL_ERROR_INVALID_STATE, "end");
    expect_ok(rnl_enqueue_wait_event(devices.streams[1], events[0]));
    expect_ok(rnl_enqueue_event_record(devices.streams[1], events[1]));
    expect_ok(rnl_event_synchronize(events[1], RNL_FOREVER));
    assert_int_equal(ns, 77);
    expect_ok(rnl_event_elapsed(events[0], events[1], &ns));
    // A promise of one device that is broken fails the other's stream.
    expect_ok(rnl_event_create(devices.contexts[0],
                               RNL_EVENT_OPTIONS(.promise = true), &promise));
    expect_ok(rnl_enqueue_wait_event(devices.streams[1], promise));
    expect_ok(rnl_event_release(promise));
    expect_error(rnl_stream_synchronize(devices.streams[1], RNL_FOREVER),
                 RNL_ERROR_DEPENDENCY_FAILED, NULL);
    expect_ok(rnl_stream_query(devices.streams[0]));
    for (int i = 0; i < 2; i++)
        expect_ok(rnl_event_release(events[i]));
    close_devices(&devices);
}

RNL_TEST(events_of_two_virtual_devices_are_compared)
{
    const char *const environment[] = {"RUNNEL_CPU_DEVICES=2", NULL};
    assert_int_equal(suite_spawn("child_times_two_devices", environment), 0);
}
