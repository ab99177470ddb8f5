// Streams: order, asynchrony, time limits, priorities, many of them.
#include "suite.h"

#include <pthread.h>
#include <stdatomic.h>

static rnl_stream_info info_of(rnl_stream stream)
{
    rnl_stream_info info = {.struct_size = sizeof info};
    expect_ok(rnl_stream_get_info(stream, &info));
    return info;
}

RNL_TEST(a_stream_says_what_it_is)
{
    rnl_stream stream = NULL;
    expect_ok(rnl_stream_create(
        suite_context(),
        RNL_STREAM_OPTIONS(.flags = RNL_STREAM_NON_BLOCKING,
                           .label = "upload"), &stream));
    rnl_stream_info info = info_of(stream);
    assert_ptr_equal(info.context, suite_context());
    assert_int_equal(info.flags, RNL_STREAM_NON_BLOCKING);
    assert_int_equal(info.priority, 0);
    assert_string_equal(info.label, "upload");
    expect_ok(rnl_stream_release(stream));
    assert_string_equal(info_of(suite_stream()).label, "default");
}

RNL_TEST(stream_ids_are_never_reused)
{
    uint64_t ids[16];
    for (size_t i = 0; i < 16; i++) {
        rnl_stream stream = suite_new_stream();
        ids[i] = info_of(stream).id;
        expect_ok(rnl_stream_release(stream));
        for (size_t j = 0; j < i; j++)
            assert_true(ids[i] != ids[j]);
    }
    assert_true(info_of(suite_stream()).id != ids[0]);
}

RNL_TEST(priorities_are_clamped_to_the_device)
{
    rnl_device_info device = {.struct_size = sizeof device};
    expect_ok(rnl_device_get_info(suite_device(), &device));
    const struct {
        int given, kept;
    } rows[] = {{INT32_MIN, device.priority_greatest},
                {-1000, device.priority_greatest},
                {device.priority_greatest, device.priority_greatest},
                {device.priority_least, device.priority_least},
                {1000, device.priority_least},
                {INT32_MAX, device.priority_least}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rnl_stream stream = NULL;
        expect_ok(rnl_stream_create(
            suite_context(), RNL_STREAM_OPTIONS(.priority = rows[i].given),
            &stream));
        assert_int_equal(info_of(stream).priority, rows[i].kept);
        expect_ok(rnl_stream_release(stream));
    }
}

RNL_TEST(an_idle_stream_is_done)
{
    rnl_stream stream = suite_new_stream();
    expect_ok(rnl_stream_query(stream));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    expect_ok(rnl_stream_synchronize(stream, 0));
    expect_ok(rnl_stream_reset_and_wait(stream));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(a_gated_stream_is_not_ready_and_times_out)
{
    rnl_stream stream = suite_new_stream();
    struct gate *gate = gate_shut(stream);
    assert_status(rnl_stream_query(stream), RNL_NOT_READY);
    expect_error(rnl_stream_synchronize(stream, 0), RNL_ERROR_TIMED_OUT,
                 NULL);
    expect_error(rnl_stream_synchronize(stream, 1), RNL_ERROR_TIMED_OUT,
                 NULL);
    expect_error(rnl_stream_synchronize(stream, 2000000),
                 RNL_ERROR_TIMED_OUT, NULL);
    // A time-out leaves the stream as it was.
    assert_status(rnl_stream_query(stream), RNL_NOT_READY);
    struct host_calls calls = {0, -1};
    expect_ok(rnl_enqueue_host_function(stream, count_host_call, &calls));
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(stream, UINT64_MAX - 1));
    assert_int_equal(calls.count, 1);
    assert_int_equal(calls.status, RNL_OK);
    gate_free(gate);
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(not_ready_is_no_error)
{
    rnl_stream stream = suite_new_stream();
    struct gate *gate = gate_shut(stream);
    rnl_last_error_clear();
    assert_status(rnl_stream_query(stream), RNL_NOT_READY);
    assert_int_equal(rnl_last_error()->status, RNL_OK);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(other_streams_go_on_while_one_is_shut)
{
    rnl_stream shut = suite_new_stream(), open = suite_new_stream();
    rnl_buffer buffer = suite_ints(64, 1);
    struct gate *gate = gate_shut(shut);
    expect_ok(rnl_enqueue_fill(open, buffer, 0, 256, 2, 4));
    expect_ok(rnl_stream_synchronize(open, RNL_FOREVER));
    suite_expect_ints(buffer, 64, 2);
    assert_status(rnl_stream_query(shut), RNL_NOT_READY);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(shut, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(shut));
    expect_ok(rnl_stream_release(open));
}

RNL_TEST(synchronize_waits_for_what_was_submitted_before)
{
    rnl_stream stream = suite_new_stream();
    rnl_buffer buffer = suite_ints(1, 0);
    for (int i = 1; i <= 1000; i++)
        expect_ok(rnl_enqueue_fill(stream, buffer, 0, 4, (uint64_t)i, 4));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    suite_expect_ints(buffer, 1, 1000);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(a_released_stream_finishes_its_work)
{
    rnl_stream stream = suite_new_stream();
    rnl_buffer buffer = suite_ints(64, 1);
    struct host_calls calls = {0, -1};
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_enqueue_fill(stream, buffer, 0, 256, 2, 4));
    expect_ok(rnl_enqueue_host_function(stream, count_host_call, &calls));
    expect_ok(rnl_stream_release(stream));
    expect_error(rnl_stream_query(stream), RNL_ERROR_INVALID_HANDLE,
                 "stream");
    expect_error(rnl_context_synchronize(suite_context(), 0),
                 RNL_ERROR_TIMED_OUT, NULL);
    gate_open(gate);
    expect_ok(rnl_context_synchronize(suite_context(), RNL_FOREVER));
    assert_int_equal(calls.count, 1);
    suite_expect_ints(buffer, 64, 2);
    gate_free(gate);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_stream_keeps_its_context)
{
    rnl_context context = suite_open(NULL);
    rnl_stream stream = NULL;
    rnl_buffer buffer = NULL;
    int read[4] = {0};
    expect_ok(rnl_stream_create(context, NULL, &stream));
    expect_ok(rnl_buffer_create(context, 16, NULL, &buffer));
    expect_ok(rnl_context_release(context));
    expect_ok(rnl_fill_and_wait(stream, buffer, 0, 16, 4, 4));
    expect_ok(rnl_copy_from_buffer_and_wait(stream, read, buffer, 0, 16));
    assert_int_equal(read[3], 4);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(the_default_stream_ends_with_its_context)
{
    rnl_context context = suite_open(NULL);
    rnl_stream stream = NULL;
    expect_ok(rnl_context_default_stream(context, &stream));
    expect_ok(rnl_context_release(context));
    expect_error(rnl_stream_query(stream), RNL_ERROR_INVALID_HANDLE,
                 "stream");
}

RNL_TEST(ten_thousand_streams_are_cheap)
{
    enum { COUNT = 10000 };
    static rnl_stream streams[COUNT];
    rnl_buffer buffer = suite_ints(COUNT, 0);
    for (int i = 0; i < COUNT; i++)
        expect_ok(rnl_stream_create(suite_context(), NULL, &streams[i]));
    for (int i = 0; i < COUNT; i++)
        expect_ok(rnl_enqueue_fill(streams[i], buffer, (size_t)i * 4, 4, 1,
                                   4));
    expect_ok(rnl_context_synchronize(suite_context(), RNL_FOREVER));
    suite_expect_ints(buffer, COUNT, 1);
    for (int i = 0; i < COUNT; i++)
        expect_ok(rnl_stream_release(streams[i]));
    expect_ok(rnl_buffer_release(buffer));
}

// --- Waits -----------------------------------------------------------------

RNL_TEST(a_stream_waits_for_another)
{
    rnl_stream first = suite_new_stream(), second = suite_new_stream();
    rnl_buffer buffer = suite_ints(64, 1);
    int read[64] = {0};
    struct gate *gate = gate_shut(first);
    expect_ok(rnl_enqueue_fill(first, buffer, 0, 256, 2, 4));
    expect_ok(rnl_enqueue_wait_stream(second, first));
    expect_ok(rnl_enqueue_copy_from_buffer(second, read, buffer, 0, 256));
    assert_status(rnl_stream_query(second), RNL_NOT_READY);
    expect_error(rnl_stream_synchronize(second, 1000000),
                 RNL_ERROR_TIMED_OUT, NULL);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(second, RNL_FOREVER));
    assert_int_equal(read[63], 2);
    expect_ok(rnl_stream_synchronize(first, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(first));
    expect_ok(rnl_stream_release(second));
}

RNL_TEST(waiting_for_a_stream_means_its_work_so_far)
{
    rnl_stream first = suite_new_stream(), second = suite_new_stream();
    rnl_buffer buffer = suite_ints(4, 1);
    expect_ok(rnl_enqueue_fill(first, buffer, 0, 16, 2, 4));
    expect_ok(rnl_enqueue_wait_stream(second, first));
    struct gate *gate = gate_shut(first);
    expect_ok(rnl_stream_synchronize(second, RNL_FOREVER));
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(first, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(first));
    expect_ok(rnl_stream_release(second));
}

RNL_TEST(a_stream_that_waits_for_itself_does_not_hang)
{
    rnl_stream stream = suite_new_stream();
    expect_ok(rnl_enqueue_wait_stream(stream, stream));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_enqueue_wait_stream(stream, stream));
    expect_ok(rnl_enqueue_wait_context(stream, suite_context()));
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(a_stream_may_be_released_while_another_waits_for_it)
{
    rnl_stream first = suite_new_stream(), second = suite_new_stream();
    struct host_calls calls = {0, -1};
    struct gate *gate = gate_shut(first);
    expect_ok(rnl_enqueue_wait_stream(second, first));
    expect_ok(rnl_enqueue_host_function(second, count_host_call, &calls));
    expect_ok(rnl_stream_release(first));
    assert_int_equal(calls.count, 0);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(second, RNL_FOREVER));
    assert_int_equal(calls.count, 1);
    gate_free(gate);
    expect_ok(rnl_stream_release(second));
}

// --- Priorities ------------------------------------------------------------

struct order {
    _Atomic int next;
    int low, high;
};

static rnl_status note_low(const rnl_native_call *call)
{
    struct order *order = call->user_data;
    order->low = atomic_fetch_add(&order->next, 1);
    return RNL_OK;
}

static rnl_status note_high(const rnl_native_call *call)
{
    struct order *order = call->user_data;
    order->high = atomic_fetch_add(&order->next, 1);
    return RNL_OK;
}

static rnl_stream prioritized(rnl_context context, int priority)
{
    rnl_stream stream = NULL;
    expect_ok(rnl_stream_create(
        context, RNL_STREAM_OPTIONS(.priority = priority), &stream));
    return stream;
}

// With its only worker held, a context sees the low stream's work first and
// must still run the high stream's first.
RNL_TEST(the_more_important_stream_runs_first)
{
    suite_need(RNL_FEATURE_PRIORITIES);
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    rnl_device_info device = {.struct_size = sizeof device};
    expect_ok(rnl_device_get_info(suite_device(), &device));
    rnl_context context = suite_open(RNL_CONTEXT_OPTIONS(.threads = 1));
    rnl_stream blocked = prioritized(context, 0);
    rnl_stream low = prioritized(context, device.priority_least);
    rnl_stream high = prioritized(context, device.priority_greatest);
    struct order order = {0, -1, -1};
    rnl_function functions[2];
    expect_ok(rnl_function_create_native(
        context, "low", note_low, RNL_NATIVE_OPTIONS(.user_data = &order),
        &functions[0]));
    expect_ok(rnl_function_create_native(
        context, "high", note_high, RNL_NATIVE_OPTIONS(.user_data = &order),
        &functions[1]));
    struct gate *gate = gate_block_workers(blocked, 1);
    gate_wait_entered(gate);
    const rnl_launch *launch = RNL_LAUNCH(.grid = {1}, .block = {1});
    expect_ok(rnl_enqueue_function(low, functions[0], launch, NULL));
    expect_ok(rnl_enqueue_function(high, functions[1], launch, NULL));
    gate_open(gate);
    // With a time limit the worker does the work, not this thread.
    expect_ok(rnl_context_synchronize(context, 20 * 1000000000ull));
    assert_int_equal(order.high, 0);
    assert_int_equal(order.low, 1);
    gate_free(gate);
    expect_ok(rnl_function_release(functions[0]));
    expect_ok(rnl_function_release(functions[1]));
    expect_ok(rnl_stream_release(blocked));
    expect_ok(rnl_stream_release(low));
    expect_ok(rnl_stream_release(high));
    expect_ok(rnl_context_release(context));
}

// --- Refused ---------------------------------------------------------------

RNL_TEST(stream_results_and_options_are_checked)
{
    rnl_stream stream = NULL;
    rnl_stream_options options = {.struct_size = 0};
    rnl_stream_info info = {.struct_size = 0};
    expect_error(rnl_stream_create(suite_context(), NULL, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_stream");
    expect_error(rnl_stream_create(suite_context(), &options, &stream),
                 RNL_ERROR_INVALID_ARGUMENT, "options");
    assert_null(stream);
    expect_error(rnl_stream_get_info(suite_stream(), NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_info");
    expect_error(rnl_stream_get_info(suite_stream(), &info),
                 RNL_ERROR_INVALID_ARGUMENT, "out_info");
}

RNL_TEST(unknown_stream_flags_are_refused)
{
    rnl_stream stream = NULL;
    const rnl_stream_flags flags[] = {1u << 31, 0xfffffffe, 0x40000000};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        expect_error(rnl_stream_create(suite_context(),
                                       RNL_STREAM_OPTIONS(.flags = flags[i]),
                                       &stream),
                     RNL_ERROR_INVALID_ARGUMENT, "options");
    assert_null(stream);
}
