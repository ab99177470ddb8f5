// Events: recording, waiting, promises, timing.
#include "suite.h"

#include <pthread.h>

static rnl_event make(const rnl_event_options *options)
{
    rnl_event event = NULL;
    expect_ok(rnl_event_create(suite_context(), options, &event));
    return event;
}

RNL_TEST(an_event_never_recorded_is_complete)
{
    rnl_event event = suite_new_event();
    expect_ok(rnl_event_query(event));
    expect_ok(rnl_event_synchronize(event, RNL_FOREVER));
    expect_ok(rnl_event_synchronize(event, 0));
    expect_ok(rnl_event_release(event));
}

RNL_TEST(a_wait_before_the_record_is_a_no_op)
{
    rnl_stream first = suite_new_stream(), second = suite_new_stream();
    rnl_event event = suite_new_event();
    struct gate *gate = gate_shut(first);
    expect_ok(rnl_enqueue_wait_event(second, event));
    expect_ok(rnl_enqueue_event_record(first, event));
    expect_ok(rnl_stream_synchronize(second, RNL_FOREVER));
    assert_status(rnl_event_query(event), RNL_NOT_READY);
    gate_open(gate);
    expect_ok(rnl_event_synchronize(event, RNL_FOREVER));
    expect_ok(rnl_stream_synchronize(first, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_stream_release(first));
    expect_ok(rnl_stream_release(second));
}

RNL_TEST(a_recorded_event_is_ready_when_its_work_is_done)
{
    rnl_stream stream = suite_new_stream();
    rnl_event event = suite_new_event();
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_enqueue_event_record(stream, event));
    assert_status(rnl_event_query(event), RNL_NOT_READY);
    expect_error(rnl_event_synchronize(event, 0), RNL_ERROR_TIMED_OUT, NULL);
    expect_error(rnl_event_synchronize(event, 1000000), RNL_ERROR_TIMED_OUT,
                 NULL);
    gate_open(gate);
    expect_ok(rnl_event_synchronize(event, RNL_FOREVER));
    expect_ok(rnl_event_query(event));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(an_event_stands_for_the_work_before_it_only)
{
    rnl_stream stream = suite_new_stream();
    rnl_event event = suite_new_event();
    rnl_buffer buffer = suite_ints(4, 1);
    expect_ok(rnl_enqueue_fill(stream, buffer, 0, 16, 2, 4));
    expect_ok(rnl_enqueue_event_record(stream, event));
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_event_synchronize(event, RNL_FOREVER));
    assert_status(rnl_stream_query(stream), RNL_NOT_READY);
    suite_expect_ints(buffer, 4, 2);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(a_stream_waits_for_an_event)
{
    rnl_stream first = suite_new_stream(), second = suite_new_stream();
    rnl_event event = suite_new_event();
    rnl_buffer buffer = suite_ints(4, 1);
    int read[4] = {0};
    struct gate *gate = gate_shut(first);
    expect_ok(rnl_enqueue_fill(first, buffer, 0, 16, 2, 4));
    expect_ok(rnl_enqueue_event_record(first, event));
    expect_ok(rnl_enqueue_wait_event(second, event));
    expect_ok(rnl_enqueue_copy_from_buffer(second, read, buffer, 0, 16));
    assert_status(rnl_stream_query(second), RNL_NOT_READY);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(second, RNL_FOREVER));
    assert_int_equal(read[0], 2);
    gate_free(gate);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_stream_release(first));
    expect_ok(rnl_stream_release(second));
}

// The second record moves the event; who waits for the first keeps waiting for
// that one alone.
RNL_TEST(recording_again_moves_the_event)
{
    rnl_stream first = suite_new_stream(), second = suite_new_stream();
    rnl_stream waiter = suite_new_stream();
    rnl_event event = suite_new_event();
    rnl_buffer buffer = suite_ints(4, 1);
    expect_ok(rnl_enqueue_fill(first, buffer, 0, 16, 2, 4));
    expect_ok(rnl_enqueue_event_record(first, event));
    expect_ok(rnl_enqueue_wait_event(waiter, event));
    struct gate *gate = gate_shut(second);
    expect_ok(rnl_enqueue_event_record(second, event));
    expect_ok(rnl_stream_synchronize(waiter, RNL_FOREVER));
    assert_status(rnl_event_query(event), RNL_NOT_READY);
    gate_open(gate);
    expect_ok(rnl_event_synchronize(event, RNL_FOREVER));
    expect_ok(rnl_context_synchronize(suite_context(), RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_stream_release(first));
    expect_ok(rnl_stream_release(second));
    expect_ok(rnl_stream_release(waiter));
}

// Backends may see that nothing is left to wait for, and must not be wrong.
RNL_TEST(an_event_behind_done_work_is_complete_at_once)
{
    rnl_stream busy, idle;
    const rnl_stream_options *options =
        RNL_STREAM_OPTIONS(.flags = RNL_STREAM_NON_BLOCKING);
    expect_ok(rnl_stream_create(suite_context(), options, &busy));
    expect_ok(rnl_stream_create(suite_context(), options, &idle));
    rnl_event event = suite_new_event();
    expect_ok(rnl_enqueue_event_record(busy, event));
    expect_ok(rnl_event_query(event));
    struct gate *gate = gate_shut(busy);
    expect_ok(rnl_enqueue_event_record(busy, event));
    assert_status(rnl_event_query(event), RNL_NOT_READY);
    expect_ok(rnl_enqueue_event_record(idle, event));
    expect_ok(rnl_event_synchronize(event, RNL_FOREVER));
    expect_ok(rnl_enqueue_wait_event(idle, event));
    expect_ok(rnl_stream_synchronize(idle, RNL_FOREVER));
    expect_ok(rnl_enqueue_event_record(busy, event));
    assert_status(rnl_event_query(event), RNL_NOT_READY);
    expect_ok(rnl_enqueue_wait_event(idle, event));
    assert_status(rnl_stream_query(idle), RNL_NOT_READY);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(idle, RNL_FOREVER));
    expect_ok(rnl_stream_synchronize(busy, RNL_FOREVER));
    expect_ok(rnl_enqueue_event_record(busy, event));
    expect_ok(rnl_event_query(event));
    gate_free(gate);
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_stream_release(idle));
    expect_ok(rnl_stream_release(busy));
}

RNL_TEST(an_event_is_made_and_recorded_in_one_step)
{
    rnl_stream stream = suite_new_stream();
    rnl_event event = NULL;
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_enqueue_event(stream, NULL, &event));
    assert_status(rnl_event_query(event), RNL_NOT_READY);
    gate_open(gate);
    expect_ok(rnl_event_synchronize(event, RNL_FOREVER));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(an_event_may_be_released_while_a_stream_waits_for_it)
{
    rnl_stream first = suite_new_stream(), second = suite_new_stream();
    rnl_event event = suite_new_event();
    struct host_calls calls = {0, -1};
    struct gate *gate = gate_shut(first);
    expect_ok(rnl_enqueue_event_record(first, event));
    expect_ok(rnl_enqueue_wait_event(second, event));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_enqueue_host_function(second, count_host_call, &calls));
    assert_int_equal(calls.count, 0);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(second, RNL_FOREVER));
    assert_int_equal(calls.count, 1);
    gate_free(gate);
    expect_ok(rnl_stream_release(first));
    expect_ok(rnl_stream_release(second));
}

RNL_TEST(an_event_outlives_its_stream)
{
    rnl_stream stream = suite_new_stream();
    rnl_event event = suite_new_event();
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_enqueue_event_record(stream, event));
    expect_ok(rnl_stream_release(stream));
    assert_status(rnl_event_query(event), RNL_NOT_READY);
    gate_open(gate);
    expect_ok(rnl_event_synchronize(event, RNL_FOREVER));
    expect_ok(rnl_event_query(event));
    gate_free(gate);
    expect_ok(rnl_event_release(event));
}

RNL_TEST(events_that_block_threads_work_as_well)
{
    rnl_event event = make(RNL_EVENT_OPTIONS(.blocking_sync = true,
                                             .label = "sleepy"));
    struct gate *gate = gate_shut(suite_stream());
    expect_ok(rnl_enqueue_event_record(suite_stream(), event));
    expect_error(rnl_event_synchronize(event, 100000), RNL_ERROR_TIMED_OUT,
                 NULL);
    gate_open(gate);
    expect_ok(rnl_event_synchronize(event, RNL_FOREVER));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_event_release(event));
}

// The stream that does not get on, or the promise that nobody keeps.
RNL_TEST(a_wait_that_takes_too_long_names_what_it_waits_for)
{
    rnl_stream stream = NULL;
    expect_ok(rnl_stream_create(suite_context(),
                                RNL_STREAM_OPTIONS(.label = "tired"),
                                &stream));
    rnl_event event = suite_new_event();
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_enqueue_event_record(stream, event));
    expect_error(rnl_event_synchronize(event, 100000), RNL_ERROR_TIMED_OUT,
                 NULL);
    assert_non_null(strstr(rnl_last_error()->message, "tired"));
    assert_non_null(strstr(rnl_last_error()->object, "tired"));
    gate_open(gate);
    expect_ok(rnl_event_synchronize(event, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_stream_release(stream));
    suite_need(RNL_FEATURE_PROMISES);
    event = make(RNL_EVENT_OPTIONS(.promise = true, .label = "forlorn"));
    expect_error(rnl_event_synchronize(event, 100000), RNL_ERROR_TIMED_OUT,
                 "event");
    assert_non_null(strstr(rnl_last_error()->message, "forlorn"));
    assert_non_null(strstr(rnl_last_error()->object, "forlorn"));
    expect_ok(rnl_event_release(event));
}

// --- Promises --------------------------------------------------------------

RNL_TEST(a_wait_for_a_promise_really_waits)
{
    suite_need(RNL_FEATURE_PROMISES);
    rnl_stream first = suite_new_stream(), second = suite_new_stream();
    rnl_event promise = make(RNL_EVENT_OPTIONS(.promise = true));
    rnl_buffer buffer = suite_ints(4, 1);
    int read[4] = {0};
    assert_status(rnl_event_query(promise), RNL_NOT_READY);
    expect_error(rnl_event_synchronize(promise, 0), RNL_ERROR_TIMED_OUT,
                 NULL);
    expect_ok(rnl_enqueue_wait_event(second, promise));
    expect_ok(rnl_enqueue_copy_from_buffer(second, read, buffer, 0, 16));
    assert_status(rnl_stream_query(second), RNL_NOT_READY);
    expect_error(rnl_stream_synchronize(second, 1000000),
                 RNL_ERROR_TIMED_OUT, NULL);
    struct gate *gate = gate_shut(first);
    expect_ok(rnl_enqueue_fill(first, buffer, 0, 16, 2, 4));
    expect_ok(rnl_enqueue_event_record(first, promise));
    assert_status(rnl_stream_query(second), RNL_NOT_READY);
    assert_status(rnl_event_query(promise), RNL_NOT_READY);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(second, RNL_FOREVER));
    expect_ok(rnl_event_query(promise));
    assert_int_equal(read[3], 2);
    expect_ok(rnl_stream_synchronize(first, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_event_release(promise));
    expect_ok(rnl_stream_release(first));
    expect_ok(rnl_stream_release(second));
}

RNL_TEST(a_promise_is_recorded_once)
{
    suite_need(RNL_FEATURE_PROMISES);
    rnl_event promise = make(RNL_EVENT_OPTIONS(.promise = true));
    expect_ok(rnl_enqueue_event_record(suite_stream(), promise));
    expect_error(rnl_enqueue_event_record(suite_stream(), promise),
                 RNL_ERROR_INVALID_STATE, "event");
    expect_ok(rnl_event_synchronize(promise, RNL_FOREVER));
    expect_error(rnl_enqueue_event_record(suite_stream(), promise),
                 RNL_ERROR_INVALID_STATE, "event");
    expect_ok(rnl_event_release(promise));
}

static void *synchronize_event(void *event)
{
    return rnl_event_synchronize(event, RNL_FOREVER) == RNL_OK ? event : NULL;
}

RNL_TEST(a_thread_waits_for_a_promise)
{
    suite_need(RNL_FEATURE_PROMISES);
    rnl_event promise = make(RNL_EVENT_OPTIONS(.promise = true));
    pthread_t thread;
    void *result = NULL;
    assert_int_equal(pthread_create(&thread, NULL, synchronize_event,
                                    promise), 0);
    expect_ok(rnl_enqueue_event_record(suite_stream(), promise));
    pthread_join(thread, &result);
    assert_ptr_equal(result, promise);
    expect_ok(rnl_event_release(promise));
}

RNL_TEST(a_promise_released_unrecorded_fails_its_waiters)
{
    suite_need(RNL_FEATURE_PROMISES);
    rnl_stream first = suite_new_stream(), second = suite_new_stream();
    rnl_event promise = make(RNL_EVENT_OPTIONS(.promise = true,
                                               .label = "broken"));
    rnl_buffer buffer = suite_ints(4, 1);
    struct host_calls calls = {0, -1};
    expect_ok(rnl_enqueue_wait_event(first, promise));
    expect_ok(rnl_enqueue_fill(first, buffer, 0, 16, 2, 4));
    expect_ok(rnl_enqueue_wait_stream(second, first));
    expect_ok(rnl_enqueue_host_function(second, count_host_call, &calls));
    assert_status(rnl_stream_query(first), RNL_NOT_READY);
    expect_ok(rnl_event_release(promise));
    expect_error(rnl_stream_synchronize(first, RNL_FOREVER),
                 RNL_ERROR_DEPENDENCY_FAILED, NULL);
    if (suite_is_cpu())
        assert_non_null(strstr(rnl_last_error()->message, "'broken'"));
    expect_error(rnl_stream_synchronize(second, RNL_FOREVER),
                 RNL_ERROR_DEPENDENCY_FAILED, NULL);
    assert_int_equal(calls.count, 1);
    assert_int_equal(calls.status, RNL_ERROR_DEPENDENCY_FAILED);
    suite_expect_ints(buffer, 4, 1);
    // A stream that was reset is as good as new.
    expect_ok(rnl_stream_reset_and_wait(first));
    expect_ok(rnl_fill_and_wait(first, buffer, 0, 16, 3, 4));
    suite_expect_ints(buffer, 4, 3);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(first));
    expect_ok(rnl_stream_release(second));
}

// They waited for the stream that waits, or for an event on it, before.
RNL_TEST(a_broken_promise_fails_who_waits_for_its_waiters)
{
    enum { STREAMS = 4 };
    suite_need(RNL_FEATURE_PROMISES);
    rnl_stream streams[STREAMS];
    struct host_calls calls[STREAMS];
    rnl_event promise = make(RNL_EVENT_OPTIONS(.promise = true));
    rnl_event behind = make(NULL);
    for (int i = 0; i < STREAMS; i++) {
        streams[i] = suite_new_stream();
        calls[i] = (struct host_calls){0, -1};
    }
    expect_ok(rnl_enqueue_wait_event(streams[0], promise));
    expect_ok(rnl_enqueue_event_record(streams[0], behind));
    expect_ok(rnl_enqueue_wait_event(streams[1], behind));
    expect_ok(rnl_enqueue_wait_stream(streams[2], streams[0]));
    expect_ok(rnl_enqueue_wait_stream(streams[3], streams[2]));
    for (int i = 0; i < STREAMS; i++)
        expect_ok(rnl_enqueue_host_function(streams[i], count_host_call,
                                            &calls[i]));
    expect_ok(rnl_event_release(promise));
    for (int i = 0; i < STREAMS; i++) {
        expect_error(rnl_stream_synchronize(streams[i], RNL_FOREVER),
                     RNL_ERROR_DEPENDENCY_FAILED, NULL);
        assert_int_equal(calls[i].count, 1);
        assert_int_equal(calls[i].status, RNL_ERROR_DEPENDENCY_FAILED);
        expect_ok(rnl_stream_release(streams[i]));
    }
    expect_error(rnl_event_synchronize(behind, RNL_FOREVER),
                 RNL_ERROR_DEPENDENCY_FAILED, NULL);
    expect_ok(rnl_event_release(behind));
}

RNL_TEST(a_promise_nobody_waits_for_may_be_released)
{
    suite_need(RNL_FEATURE_PROMISES);
    rnl_event promise = make(RNL_EVENT_OPTIONS(.promise = true));
    expect_ok(rnl_event_release(promise));
    expect_ok(rnl_stream_query(suite_stream()));
}

RNL_TEST(a_recorded_promise_may_be_released_while_waited_for)
{
    suite_need(RNL_FEATURE_PROMISES);
    rnl_stream first = suite_new_stream(), second = suite_new_stream();
    rnl_event promise = make(RNL_EVENT_OPTIONS(.promise = true));
    struct host_calls calls = {0, -1};
    struct gate *gate = gate_shut(first);
    expect_ok(rnl_enqueue_wait_event(second, promise));
    expect_ok(rnl_enqueue_host_function(second, count_host_call, &calls));
    expect_ok(rnl_enqueue_event_record(first, promise));
    expect_ok(rnl_event_release(promise));
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(second, RNL_FOREVER));
    assert_int_equal(calls.count, 1);
    assert_int_equal(calls.status, RNL_OK);
    gate_free(gate);
    expect_ok(rnl_stream_release(first));
    expect_ok(rnl_stream_release(second));
}

// What was made for one promise must not be another's too early.
RNL_TEST(a_promise_that_is_gone_lets_only_its_own_waiters_on)
{
    suite_need(RNL_FEATURE_PROMISES);
    rnl_stream recorder = suite_new_stream(), streams[2];
    rnl_event promises[2];
    struct host_calls calls = {0, -1};
    struct gate *gate = gate_shut(recorder);
    for (int i = 0; i < 2; i++) {
        streams[i] = suite_new_stream();
        promises[i] = make(RNL_EVENT_OPTIONS(.promise = true));
        expect_ok(rnl_enqueue_wait_event(streams[i], promises[i]));
        if (i > 0)
            break;
        expect_ok(rnl_enqueue_event_record(recorder, promises[i]));
        expect_ok(rnl_event_release(promises[i]));
    }
    expect_ok(rnl_enqueue_host_function(streams[1], count_host_call, &calls));
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(streams[0], RNL_FOREVER));
    expect_ok(rnl_stream_synchronize(recorder, RNL_FOREVER));
    expect_error(rnl_stream_synchronize(streams[1], 20000000),
                 RNL_ERROR_TIMED_OUT, NULL);
    assert_int_equal(calls.count, 0);
    expect_ok(rnl_enqueue_event_record(recorder, promises[1]));
    expect_ok(rnl_stream_synchronize(streams[1], RNL_FOREVER));
    assert_int_equal(calls.count, 1);
    gate_free(gate);
    expect_ok(rnl_event_release(promises[1]));
    for (int i = 0; i < 2; i++)
        expect_ok(rnl_stream_release(streams[i]));
    expect_ok(rnl_stream_release(recorder));
}

// A stream that comes to its wait late still finds what it waits for.
RNL_TEST(a_promise_may_be_gone_before_its_waiter_comes_to_it)
{
    suite_need(RNL_FEATURE_PROMISES);
    rnl_stream late = suite_new_stream(), other = suite_new_stream();
    rnl_event first = make(RNL_EVENT_OPTIONS(.promise = true));
    struct gate *gate = gate_shut(late);
    expect_ok(rnl_enqueue_wait_event(late, first));
    expect_ok(rnl_enqueue_event_record(suite_stream(), first));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_ok(rnl_event_release(first));
    rnl_event second = make(RNL_EVENT_OPTIONS(.promise = true));
    expect_ok(rnl_enqueue_wait_event(other, second));
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(late, RNL_FOREVER));
    assert_status(rnl_stream_query(other), RNL_NOT_READY);
    expect_ok(rnl_enqueue_event_record(suite_stream(), second));
    expect_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_event_release(second));
    expect_ok(rnl_stream_release(late));
    expect_ok(rnl_stream_release(other));
}

RNL_TEST(promises_are_refused_where_there_are_none)
{
    rnl_event event = NULL;
    if (rnl_context_supports(suite_context(), RNL_FEATURE_PROMISES, NULL) ==
        RNL_OK)
        test_skip("%s has promises", test_device_name());
    expect_error(rnl_event_create(suite_context(),
                                  RNL_EVENT_OPTIONS(.promise = true), &event),
                 RNL_ERROR_UNSUPPORTED, NULL);
    assert_null(event);
}

// --- Timing ----------------------------------------------------------------

RNL_TEST(elapsed_time_grows_along_a_stream)
{
    suite_need(RNL_FEATURE_EVENT_TIMING);
    rnl_event events[3];
    uint64_t first = 0, whole = 0, none = 77;
    rnl_buffer buffer = suite_new_buffer(1 << 20);
    for (int i = 0; i < 3; i++) {
        events[i] = make(RNL_EVENT_OPTIONS(.timing = true));
        expect_ok(rnl_enqueue_event_record(suite_stream(), events[i]));
        expect_ok(rnl_enqueue_fill(suite_stream(), buffer, 0, 1 << 20, 1, 1));
    }
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_ok(rnl_event_elapsed(events[0], events[1], &first));
    expect_ok(rnl_event_elapsed(events[0], events[2], &whole));
    expect_ok(rnl_event_elapsed(events[1], events[1], &none));
    assert_true(first > 0);
    assert_true(whole >= first);
    assert_true(whole < 20ull * 1000000000);
    assert_int_equal(none, 0);
    for (int i = 0; i < 3; i++)
        expect_ok(rnl_event_release(events[i]));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(elapsed_time_backwards_is_refused)
{
    suite_need(RNL_FEATURE_EVENT_TIMING);
    rnl_event start = make(RNL_EVENT_OPTIONS(.timing = true));
    rnl_event end = make(RNL_EVENT_OPTIONS(.timing = true));
    rnl_buffer buffer = suite_new_buffer(1 << 20);
    uint64_t ns = 77;
    expect_ok(rnl_enqueue_event_record(suite_stream(), start));
    expect_ok(rnl_enqueue_fill(suite_stream(), buffer, 0, 1 << 20, 1, 1));
    expect_ok(rnl_enqueue_event_record(suite_stream(), end));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_error(rnl_event_elapsed(end, start, &ns),
                 RNL_ERROR_INVALID_ARGUMENT, NULL);
    assert_int_equal(ns, 77);
    expect_ok(rnl_event_release(start));
    expect_ok(rnl_event_release(end));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(elapsed_time_needs_timing_at_both_ends)
{
    suite_need(RNL_FEATURE_EVENT_TIMING);
    rnl_event plain = suite_new_event();
    rnl_event timed = make(RNL_EVENT_OPTIONS(.timing = true));
    uint64_t ns = 77;
    expect_ok(rnl_enqueue_event_record(suite_stream(), plain));
    expect_ok(rnl_enqueue_event_record(suite_stream(), timed));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_error(rnl_event_elapsed(plain, timed, &ns),
                 RNL_ERROR_INVALID_ARGUMENT, "start");
    expect_error(rnl_event_elapsed(timed, plain, &ns),
                 RNL_ERROR_INVALID_ARGUMENT, "end");
    expect_error(rnl_event_elapsed(timed, timed, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_ns");
    assert_int_equal(ns, 77);
    expect_ok(rnl_event_release(plain));
    expect_ok(rnl_event_release(timed));
}

RNL_TEST(elapsed_time_needs_records)
{
    suite_need(RNL_FEATURE_EVENT_TIMING);
    rnl_event recorded = make(RNL_EVENT_OPTIONS(.timing = true));
    rnl_event not_recorded =
        make(RNL_EVENT_OPTIONS(.timing = true, .label = "forgotten"));
    uint64_t ns = 77;
    expect_ok(rnl_enqueue_event_record(suite_stream(), recorded));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_error(rnl_event_elapsed(recorded, not_recorded, &ns),
                 RNL_ERROR_INVALID_STATE, "end");
    assert_non_null(rnl_last_error()->object);
    assert_non_null(strstr(rnl_last_error()->object, "forgotten"));
    expect_error(rnl_event_elapsed(not_recorded, recorded, &ns),
                 RNL_ERROR_INVALID_STATE, "start");
    assert_int_equal(ns, 77);
    expect_ok(rnl_event_release(recorded));
    expect_ok(rnl_event_release(not_recorded));
}

RNL_TEST(elapsed_time_of_unfinished_events_is_not_ready)
{
    suite_need(RNL_FEATURE_EVENT_TIMING);
    rnl_event start = make(RNL_EVENT_OPTIONS(.timing = true));
    rnl_event end = make(RNL_EVENT_OPTIONS(.timing = true));
    uint64_t ns = 77;
    expect_ok(rnl_enqueue_event_record(suite_stream(), start));
    struct gate *gate = gate_shut(suite_stream());
    expect_ok(rnl_enqueue_event_record(suite_stream(), end));
    assert_status(rnl_event_elapsed(start, end, &ns), RNL_NOT_READY);
    assert_int_equal(ns, 77);
    gate_open(gate);
    expect_ok(rnl_event_synchronize(end, RNL_FOREVER));
    expect_ok(rnl_event_elapsed(start, end, &ns));
    gate_free(gate);
    expect_ok(rnl_event_release(start));
    expect_ok(rnl_event_release(end));
}

// A promise with .timing is an event like any other once it is recorded.
RNL_TEST(promises_keep_their_time)
{
    suite_need(RNL_FEATURE_EVENT_TIMING);
    suite_need(RNL_FEATURE_PROMISES);
    rnl_event start = make(RNL_EVENT_OPTIONS(.timing = true));
    rnl_event end = make(RNL_EVENT_OPTIONS(.timing = true, .promise = true));
    uint64_t ns = 77;
    expect_ok(rnl_enqueue_event_record(suite_stream(), start));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_error(rnl_event_elapsed(start, end, &ns), RNL_ERROR_INVALID_STATE,
                 "end");
    expect_ok(rnl_enqueue_event_record(suite_stream(), end));
    expect_ok(rnl_event_synchronize(end, RNL_FOREVER));
    assert_int_equal(ns, 77);
    expect_ok(rnl_event_elapsed(start, end, &ns));
    expect_ok(rnl_event_release(start));
    expect_ok(rnl_event_release(end));
}

// Recording again forgets the time of the record before.
RNL_TEST(a_time_is_the_last_records)
{
    suite_need(RNL_FEATURE_EVENT_TIMING);
    rnl_event start = make(RNL_EVENT_OPTIONS(.timing = true));
    rnl_event end = make(RNL_EVENT_OPTIONS(.timing = true));
    uint64_t first = 0, second = 0, ns = 77;
    expect_ok(rnl_enqueue_event_record(suite_stream(), start));
    expect_ok(rnl_enqueue_event_record(suite_stream(), end));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_ok(rnl_event_elapsed(start, end, &first));
    struct gate *gate = gate_shut(suite_stream());
    expect_ok(rnl_enqueue_event_record(suite_stream(), end));
    assert_status(rnl_event_elapsed(start, end, &ns), RNL_NOT_READY);
    assert_int_equal(ns, 77);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_ok(rnl_event_elapsed(start, end, &second));
    assert_true(second > first);
    gate_free(gate);
    expect_ok(rnl_event_release(start));
    expect_ok(rnl_event_release(end));
}

// Limits of every size end in time, and leave the event as it was.
RNL_TEST(an_event_is_waited_for_within_any_limit)
{
    rnl_stream stream = suite_new_stream();
    rnl_event event = make(RNL_EVENT_OPTIONS(.label = "late"));
    struct gate *gate = gate_shut(stream);
    const uint64_t limits[] = {0, 1, 1000, 50000, 2000000};
    expect_ok(rnl_enqueue_event_record(stream, event));
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        expect_error(rnl_event_synchronize(event, limits[i]),
                     RNL_ERROR_TIMED_OUT, NULL);
    gate_open(gate);
    // A limit that overflows is none.
    expect_ok(rnl_event_synchronize(event, RNL_FOREVER - 1));
    expect_ok(rnl_event_synchronize(event, 0));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_stream_release(stream));
}

// --- Refused ---------------------------------------------------------------

RNL_TEST(event_results_and_options_are_checked)
{
    rnl_event event = NULL;
    rnl_event_options options = {.struct_size = 0};
    expect_error(rnl_event_create(suite_context(), NULL, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_event");
    expect_error(rnl_event_create(suite_context(), &options, &event),
                 RNL_ERROR_INVALID_ARGUMENT, "options");
    expect_error(rnl_enqueue_event(suite_stream(), NULL, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_event");
    expect_error(rnl_enqueue_event(suite_stream(), &options, &event),
                 RNL_ERROR_INVALID_ARGUMENT, "options");
    assert_null(event);
}

RNL_TEST(interprocess_events_are_refused_where_there_are_none)
{
    rnl_event event = NULL;
    if (rnl_context_supports(suite_context(), RNL_FEATURE_INTERPROCESS,
                             NULL) == RNL_OK)
        test_skip("%s has interprocess events", test_device_name());
    expect_error(
        rnl_event_create(suite_context(),
                         RNL_EVENT_OPTIONS(.interprocess = true), &event),
        RNL_ERROR_UNSUPPORTED, NULL);
    assert_null(event);
}

RNL_TEST(an_event_is_recorded_in_its_own_context_only)
{
    rnl_context other = suite_open(NULL);
    rnl_stream stream = NULL;
    rnl_event event = suite_new_event();
    expect_ok(rnl_context_default_stream(other, &stream));
    expect_error(rnl_enqueue_event_record(stream, event),
                 RNL_ERROR_INVALID_HANDLE, NULL);
    expect_ok(rnl_event_query(event));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_context_release(other));
}
