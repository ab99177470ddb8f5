// Work that fails while it runs: the latch, whose fault it was, who is hit.
#include "suite.h"

#include <stdatomic.h>

// A native kernel that fails with the status in its user data.
static rnl_status break_down(const rnl_native_call *call)
{
    return *(const rnl_status *)call->user_data;
}

static rnl_status count_up(const rnl_native_call *call)
{
    atomic_fetch_add((_Atomic int *)call->user_data, 1);
    return RNL_OK;
}

static const rnl_status launch_failed = RNL_ERROR_LAUNCH_FAILED;

static rnl_function breaker(const rnl_status *status)
{
    return suite_native("break_down", break_down, (void *)status);
}

static const rnl_launch *one(void)
{
    static rnl_launch launch = {.struct_size = sizeof launch,
                                .grid = {1, 0, 0}, .block = {1, 0, 0}};
    return &launch;
}

static void launch(rnl_stream stream, rnl_function function)
{
    expect_ok(rnl_enqueue_function(stream, function, one(), RNL_NO_ARGS));
}

RNL_TEST(a_failed_kernel_is_the_streams_failure)
{
    rnl_function function = breaker(&launch_failed);
    rnl_stream stream = NULL;
    expect_ok(rnl_stream_create(suite_context(),
                                RNL_STREAM_OPTIONS(.label = "sick"),
                                &stream));
    rnl_buffer buffer = suite_ints(4, 1);
    expect_ok(rnl_enqueue_fill(stream, buffer, 0, 16, 2, 4));
    int line = __LINE__ + 2;
    expect_ok(rnl_enqueue_function(stream, function,
        RNL_LAUNCH(.grid = {1}, .block = {1}, .label = "the bad one"),
                                   RNL_NO_ARGS));
    expect_error(rnl_stream_synchronize(stream, RNL_FOREVER),
                 RNL_ERROR_LAUNCH_FAILED, NULL);
    const rnl_error *error = rnl_last_error();
    assert_non_null(error->stream);
    assert_non_null(strstr(error->stream, "sick"));
    assert_int_equal(error->operation, 2);
    assert_string_equal(error->operation_name, "break_down");
    assert_string_equal(error->operation_label, "the bad one");
    assert_string_equal(error->site_file, __FILE__);
    assert_in_range(error->site_line, (unsigned)line - 2, (unsigned)line);
    suite_expect_ints(buffer, 4, 2);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(any_status_of_a_kernel_is_kept)
{
    const rnl_status given[] = {RNL_ERROR_LAUNCH_FAILED, RNL_ERROR_IO,
                                RNL_ERROR_OUT_OF_MEMORY,
                                RNL_ERROR_INVALID_STATE};
    for (int i = 0; i < 4; i++) {
        rnl_function function = breaker(&given[i]);
        rnl_stream stream = suite_new_stream();
        launch(stream, function);
        expect_error(rnl_stream_synchronize(stream, RNL_FOREVER), given[i],
                     NULL);
        expect_ok(rnl_function_release(function));
        expect_ok(rnl_stream_release(stream));
    }
}

RNL_TEST(a_kernel_may_return_nonsense)
{
    const rnl_status given[] = {(rnl_status)-1, (rnl_status)1000,
                                RNL_NOT_READY};
    for (int i = 0; i < 3; i++) {
        rnl_function function = breaker(&given[i]);
        rnl_stream stream = suite_new_stream();
        launch(stream, function);
        rnl_status status = rnl_stream_synchronize(stream, RNL_FOREVER);
        assert_true(status != RNL_OK && status != RNL_NOT_READY);
        assert_int_equal(rnl_last_error()->status, status);
        expect_ok(rnl_function_release(function));
        expect_ok(rnl_stream_release(stream));
    }
}

RNL_TEST(work_behind_a_failure_does_not_run)
{
    _Atomic int runs = 0;
    rnl_function bad = breaker(&launch_failed);
    rnl_function good = suite_native("count_up", count_up, &runs);
    rnl_stream stream = suite_new_stream();
    rnl_buffer buffer = suite_ints(4, 1);
    struct host_calls calls = {0, -1};
    struct gate *gate = gate_shut(stream);
    launch(stream, bad);
    launch(stream, good);
    expect_ok(rnl_enqueue_fill(stream, buffer, 0, 16, 2, 4));
    expect_ok(rnl_enqueue_host_function(stream, count_host_call, &calls));
    gate_open(gate);
    expect_error(rnl_stream_synchronize(stream, RNL_FOREVER),
                 RNL_ERROR_LAUNCH_FAILED, NULL);
    assert_int_equal(runs, 0);
    suite_expect_ints(buffer, 4, 1);
    assert_int_equal(calls.count, 1);
    assert_int_equal(calls.status, RNL_ERROR_LAUNCH_FAILED);
    gate_free(gate);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_function_release(bad));
    expect_ok(rnl_function_release(good));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(calls_on_a_failed_stream_report_its_failure)
{
    rnl_function bad = breaker(&launch_failed);
    rnl_stream stream = suite_new_stream();
    rnl_buffer buffer = suite_ints(4, 1);
    int host[4] = {9, 9, 9, 9};
    launch(stream, bad);
    for (int i = 0; i < 2; i++)
        expect_error(rnl_stream_synchronize(stream, RNL_FOREVER),
                     RNL_ERROR_LAUNCH_FAILED, NULL);
    expect_error(rnl_stream_query(stream), RNL_ERROR_LAUNCH_FAILED, NULL);
    expect_error(rnl_enqueue_fill(stream, buffer, 0, 16, 2, 4),
                 RNL_ERROR_LAUNCH_FAILED, NULL);
    expect_error(rnl_enqueue_function(stream, bad, one(), RNL_NO_ARGS),
                 RNL_ERROR_LAUNCH_FAILED, NULL);
    expect_error(rnl_copy_from_buffer_and_wait(stream, host, buffer, 0, 16),
                 RNL_ERROR_LAUNCH_FAILED, NULL);
    assert_string_equal(rnl_last_error()->operation_name, "break_down");
    assert_int_equal(host[0], 9);
    suite_expect_ints(buffer, 4, 1);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_function_release(bad));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(the_first_failure_is_kept)
{
    static const rnl_status first = RNL_ERROR_IO;
    rnl_function a = breaker(&first), b = breaker(&launch_failed);
    rnl_stream stream = suite_new_stream();
    struct gate *gate = gate_shut(stream);
    launch(stream, a);
    launch(stream, b);
    gate_open(gate);
    expect_error(rnl_stream_synchronize(stream, RNL_FOREVER), RNL_ERROR_IO,
                 NULL);
    assert_int_equal(rnl_last_error()->operation, 2);
    gate_free(gate);
    expect_ok(rnl_function_release(a));
    expect_ok(rnl_function_release(b));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(a_reset_stream_works_again)
{
    rnl_function bad = breaker(&launch_failed);
    rnl_stream stream = suite_new_stream();
    rnl_buffer buffer = suite_ints(4, 1);
    launch(stream, bad);
    expect_error(rnl_stream_synchronize(stream, RNL_FOREVER),
                 RNL_ERROR_LAUNCH_FAILED, NULL);
    expect_ok(rnl_stream_reset_and_wait(stream));
    expect_ok(rnl_stream_query(stream));
    expect_ok(rnl_fill_and_wait(stream, buffer, 0, 16, 3, 4));
    suite_expect_ints(buffer, 4, 3);
    // And fails again when its work does.
    launch(stream, bad);
    expect_error(rnl_stream_synchronize(stream, RNL_FOREVER),
                 RNL_ERROR_LAUNCH_FAILED, NULL);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_function_release(bad));
    expect_ok(rnl_stream_release(stream));
}

// What waits for it afterwards waits for nothing that failed.
RNL_TEST(a_reset_stream_is_no_ones_failure)
{
    rnl_function bad = breaker(&launch_failed);
    rnl_stream stream = suite_new_stream(), other = suite_new_stream();
    launch(stream, bad);
    expect_ok(rnl_stream_reset_and_wait(stream));
    expect_ok(rnl_enqueue_wait_stream(other, stream));
    expect_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    expect_ok(rnl_enqueue_wait_context(other, suite_context()));
    expect_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    expect_ok(rnl_function_release(bad));
    expect_ok(rnl_stream_release(other));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(a_promise_of_a_reset_stream_is_kept)
{
    suite_need(RNL_FEATURE_PROMISES);
    rnl_function bad = breaker(&launch_failed);
    rnl_stream stream = suite_new_stream(), other = suite_new_stream();
    rnl_event promise = NULL;
    expect_ok(rnl_event_create(suite_context(),
                               RNL_EVENT_OPTIONS(.promise = true), &promise));
    expect_ok(rnl_enqueue_wait_event(other, promise));
    launch(stream, bad);
    expect_ok(rnl_stream_reset_and_wait(stream));
    expect_ok(rnl_enqueue_event_record(stream, promise));
    expect_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    expect_ok(rnl_event_release(promise));
    expect_ok(rnl_function_release(bad));
    expect_ok(rnl_stream_release(other));
    expect_ok(rnl_stream_release(stream));
}

// … also when the stream has failed again, and was reset again.
RNL_TEST(an_event_of_failed_work_stays_so)
{
    rnl_function bad = breaker(&launch_failed);
    rnl_stream stream = suite_new_stream(), other = suite_new_stream();
    rnl_event event = suite_new_event();
    launch(stream, bad);
    expect_ok(rnl_enqueue_event_record(stream, event));
    for (int i = 0; i < 3; i++) {
        expect_ok(rnl_stream_reset_and_wait(stream));
        assert_status(rnl_event_query(event), RNL_ERROR_LAUNCH_FAILED);
        launch(stream, bad);
    }
    expect_ok(rnl_enqueue_wait_event(other, event));
    assert_status(rnl_stream_synchronize(other, RNL_FOREVER),
                  RNL_ERROR_DEPENDENCY_FAILED);
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_function_release(bad));
    expect_ok(rnl_stream_release(other));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(a_reset_waits_for_the_work_first)
{
    rnl_function bad = breaker(&launch_failed);
    rnl_stream stream = suite_new_stream();
    struct host_calls calls = {0, -1};
    for (int i = 0; i < 100; i++) {
        launch(stream, bad);
        // The bad one may have run by now.
        rnl_enqueue_host_function(stream, count_host_call, &calls);
        expect_ok(rnl_stream_reset_and_wait(stream));
        expect_ok(rnl_stream_query(stream));
    }
    assert_true(calls.count <= 100);
    expect_ok(rnl_function_release(bad));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(dependent_streams_fail_too)
{
    rnl_function bad = breaker(&launch_failed);
    rnl_stream first = suite_new_stream(), second = suite_new_stream();
    rnl_stream third = suite_new_stream();
    rnl_buffer buffer = suite_ints(4, 1);
    rnl_event event = suite_new_event();
    struct host_calls calls = {0, -1};
    struct gate *gate = gate_shut(first);
    launch(first, bad);
    expect_ok(rnl_enqueue_event_record(first, event));
    expect_ok(rnl_enqueue_wait_event(second, event));
    expect_ok(rnl_enqueue_fill(second, buffer, 0, 16, 2, 4));
    expect_ok(rnl_enqueue_wait_stream(third, second));
    expect_ok(rnl_enqueue_host_function(third, count_host_call, &calls));
    gate_open(gate);
    expect_error(rnl_stream_synchronize(third, RNL_FOREVER),
                 RNL_ERROR_DEPENDENCY_FAILED, NULL);
    // The details are those of the culprit.
    assert_string_equal(rnl_last_error()->operation_name, "break_down");
    expect_error(rnl_stream_synchronize(second, RNL_FOREVER),
                 RNL_ERROR_DEPENDENCY_FAILED, NULL);
    expect_error(rnl_stream_synchronize(first, RNL_FOREVER),
                 RNL_ERROR_LAUNCH_FAILED, NULL);
    rnl_status status = rnl_event_query(event);
    assert_true(status == RNL_ERROR_LAUNCH_FAILED ||
                status == RNL_ERROR_DEPENDENCY_FAILED);
    assert_int_equal(rnl_event_synchronize(event, RNL_FOREVER), status);
    assert_int_equal(calls.count, 1);
    assert_int_equal(calls.status, RNL_ERROR_DEPENDENCY_FAILED);
    suite_expect_ints(buffer, 4, 1);
    gate_free(gate);
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_function_release(bad));
    expect_ok(rnl_stream_release(first));
    expect_ok(rnl_stream_release(second));
    expect_ok(rnl_stream_release(third));
}

// --- Waits behind a failure --------------------------------------------------

#define LIMIT_NS UINT64_C(10000000000)  // for what never ends if it is wrong

static rnl_event new_promise(void)
{
    rnl_event promise = NULL;
    suite_need(RNL_FEATURE_PROMISES);
    expect_ok(rnl_event_create(suite_context(),
                               RNL_EVENT_OPTIONS(.promise = true), &promise));
    return promise;
}

RNL_TEST(a_failed_stream_skips_its_later_waits)
{
    rnl_event broken = new_promise(), never = new_promise();
    suite_need(RNL_FEATURE_HOST_FUNCTIONS);
    rnl_stream stream = suite_new_stream(), other = suite_new_stream();
    rnl_event event = suite_new_event();
    struct host_calls calls = {0, -1}, behind = {0, -1};
    expect_ok(rnl_enqueue_wait_event(stream, broken));
    expect_ok(rnl_enqueue_wait_event(stream, never));
    expect_ok(rnl_enqueue_event_record(stream, event));
    expect_ok(rnl_enqueue_host_function(stream, count_host_call, &calls));
    expect_ok(rnl_enqueue_wait_event(other, event));
    expect_ok(rnl_enqueue_host_function(other, count_host_call, &behind));
    expect_ok(rnl_stream_flush(stream));
    expect_ok(rnl_stream_flush(other));
    expect_ok(rnl_event_release(broken));
    expect_error(rnl_event_synchronize(event, LIMIT_NS),
                 RNL_ERROR_DEPENDENCY_FAILED, NULL);
    expect_error(rnl_stream_synchronize(stream, LIMIT_NS),
                 RNL_ERROR_DEPENDENCY_FAILED, NULL);
    expect_error(rnl_stream_synchronize(other, LIMIT_NS),
                 RNL_ERROR_DEPENDENCY_FAILED, NULL);
    assert_int_equal(calls.count, 1);
    assert_int_equal(calls.status, RNL_ERROR_DEPENDENCY_FAILED);
    assert_int_equal(behind.count, 1);
    assert_int_equal(behind.status, RNL_ERROR_DEPENDENCY_FAILED);
    assert_status(rnl_event_query(never), RNL_NOT_READY);
    expect_ok(rnl_event_release(never));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_stream_release(other));
    expect_ok(rnl_stream_release(stream));
}

// A stream, reset after it skipped a wait for `promise` and one for work of
// `other`, which waits for `promise`. More resets than are remembered follow.
static rnl_stream reset_behind_waits(rnl_event promise, rnl_stream other)
{
    rnl_stream stream = suite_new_stream();
    rnl_event event = suite_new_event();
    expect_ok(rnl_enqueue_wait_event(other, promise));
    expect_ok(rnl_enqueue_event_record(other, event));
    for (int i = 0; i < 12; i++) {
        rnl_event broken = new_promise();
        expect_ok(rnl_enqueue_wait_event(stream, broken));
        if (i == 0) {
            expect_ok(rnl_enqueue_wait_event(stream, promise));
            expect_ok(rnl_enqueue_wait_event(stream, event));
        }
        expect_ok(rnl_event_release(broken));
        expect_error(rnl_stream_synchronize(stream, LIMIT_NS),
                     RNL_ERROR_DEPENDENCY_FAILED, NULL);
        expect_ok(rnl_stream_reset_and_wait(stream));
    }
    expect_ok(rnl_event_release(event));
    return stream;
}

static void expect_well(rnl_stream stream)
{
    struct host_calls calls = {0, -1};
    rnl_buffer buffer = suite_ints(4, 1);
    expect_ok(rnl_enqueue_fill(stream, buffer, 0, 16, 2, 4));
    expect_ok(rnl_enqueue_host_function(stream, count_host_call, &calls));
    expect_ok(rnl_stream_synchronize(stream, LIMIT_NS));
    assert_int_equal(calls.status, RNL_OK);
    suite_expect_ints(buffer, 4, 2);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_wait_skipped_before_a_reset_fails_no_stream)
{
    rnl_event promise = new_promise();
    suite_need(RNL_FEATURE_HOST_FUNCTIONS);
    rnl_stream other = suite_new_stream();
    rnl_stream stream = reset_behind_waits(promise, other);
    expect_ok(rnl_event_release(promise));
    expect_error(rnl_stream_synchronize(other, LIMIT_NS),
                 RNL_ERROR_DEPENDENCY_FAILED, NULL);
    expect_well(stream);
    expect_ok(rnl_stream_release(other));
    expect_ok(rnl_stream_release(stream));
}

// The stream waits no more for the promise, so this is no circle.
RNL_TEST(a_stream_keeps_a_promise_whose_wait_it_skipped)
{
    rnl_event promise = new_promise();
    suite_need(RNL_FEATURE_HOST_FUNCTIONS);
    rnl_stream other = suite_new_stream();
    rnl_stream stream = reset_behind_waits(promise, other);
    expect_ok(rnl_enqueue_event_record(stream, promise));
    expect_ok(rnl_stream_synchronize(other, LIMIT_NS));
    expect_ok(rnl_event_synchronize(promise, LIMIT_NS));
    expect_well(stream);
    expect_ok(rnl_event_release(promise));
    expect_ok(rnl_stream_release(other));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(a_failed_stream_records_a_promise_whose_wait_it_skipped)
{
    rnl_event broken = new_promise(), promise = new_promise();
    suite_need(RNL_FEATURE_HOST_FUNCTIONS);
    rnl_stream stream = suite_new_stream(), other = suite_new_stream();
    expect_ok(rnl_enqueue_wait_event(stream, broken));
    expect_ok(rnl_enqueue_wait_event(stream, promise));
    expect_ok(rnl_enqueue_wait_event(other, promise));
    expect_ok(rnl_event_release(broken));
    expect_error(rnl_stream_synchronize(stream, LIMIT_NS),
                 RNL_ERROR_DEPENDENCY_FAILED, NULL);
    expect_ok(rnl_enqueue_event_record(stream, promise));
    expect_error(rnl_event_synchronize(promise, LIMIT_NS),
                 RNL_ERROR_DEPENDENCY_FAILED, NULL);
    expect_error(rnl_stream_synchronize(other, LIMIT_NS),
                 RNL_ERROR_DEPENDENCY_FAILED, NULL);
    expect_ok(rnl_event_release(promise));
    expect_ok(rnl_stream_release(other));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(other_streams_are_not_affected)
{
    rnl_function bad = breaker(&launch_failed);
    rnl_stream sick = suite_new_stream(), well = suite_new_stream();
    rnl_event event = suite_new_event();
    rnl_buffer buffer = suite_ints(4, 1);
    // What was recorded before the failure is complete, not failed.
    expect_ok(rnl_enqueue_event_record(sick, event));
    launch(sick, bad);
    expect_error(rnl_stream_synchronize(sick, RNL_FOREVER),
                 RNL_ERROR_LAUNCH_FAILED, NULL);
    expect_ok(rnl_event_query(event));
    expect_ok(rnl_enqueue_wait_event(well, event));
    expect_ok(rnl_fill_and_wait(well, buffer, 0, 16, 2, 4));
    suite_expect_ints(buffer, 4, 2);
    expect_ok(rnl_stream_query(well));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_function_release(bad));
    expect_ok(rnl_stream_release(sick));
    expect_ok(rnl_stream_release(well));
}

RNL_TEST(synchronizing_the_context_reports_a_failure)
{
    rnl_function bad = breaker(&launch_failed);
    rnl_stream stream = suite_new_stream();
    launch(stream, bad);
    expect_error(rnl_context_synchronize(suite_context(), RNL_FOREVER),
                 RNL_ERROR_LAUNCH_FAILED, NULL);
    assert_string_equal(rnl_last_error()->operation_name, "break_down");
    expect_ok(rnl_stream_reset_and_wait(stream));
    expect_ok(rnl_context_synchronize(suite_context(), RNL_FOREVER));
    expect_ok(rnl_function_release(bad));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(a_failed_stream_can_be_released_unread)
{
    rnl_function bad = breaker(&launch_failed);
    struct host_calls calls = {0, -1};
    rnl_stream stream = suite_new_stream();
    struct gate *gate = gate_shut(stream);
    launch(stream, bad);
    expect_ok(rnl_enqueue_host_function(stream, count_host_call, &calls));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_function_release(bad));
    gate_open(gate);
    suite_end();
    assert_int_equal(calls.count, 1);
    assert_int_equal(calls.status, RNL_ERROR_LAUNCH_FAILED);
    gate_free(gate);
}

RNL_TEST(one_bad_call_of_many_fails_the_launch)
{
    rnl_function bad = breaker(&launch_failed);
    rnl_stream stream = suite_new_stream();
    for (int i = 0; i < 50; i++) {
        expect_ok(rnl_enqueue_function(
            stream, bad, RNL_LAUNCH(.grid = {1000}, .block = {1}),
            RNL_NO_ARGS));
        expect_error(rnl_stream_synchronize(stream, RNL_FOREVER),
                     RNL_ERROR_LAUNCH_FAILED, NULL);
        expect_ok(rnl_stream_reset_and_wait(stream));
    }
    expect_ok(rnl_function_release(bad));
    expect_ok(rnl_stream_release(stream));
}
