// Native handles: given out, and borrowed.
#include "suite.h"

RNL_TEST(native_handles_are_given_out)
{
    suite_need(RNL_FEATURE_NATIVE_HANDLES);
    void *context = NULL, *stream = NULL, *other = NULL, *event = NULL;
    rnl_event recorded = suite_new_event();
    expect_ok(rnl_context_native(suite_context(), &context));
    expect_ok(rnl_stream_native(suite_stream(), &stream));
    expect_ok(rnl_enqueue_event_record(suite_stream(), recorded));
    expect_ok(rnl_event_native(recorded, &event));
    rnl_stream second = suite_new_stream();
    expect_ok(rnl_stream_native(second, &other));
    assert_non_null(context);
    assert_non_null(stream);
    assert_non_null(event);
    assert_ptr_not_equal(stream, other);
    expect_ok(rnl_stream_release(second));
    expect_ok(rnl_event_release(recorded));
}

RNL_TEST(functions_and_modules_have_native_handles)
{
    suite_need(RNL_FEATURE_NATIVE_HANDLES);
    rnl_module module = suite_module(
        "extern \"C\" __global__ void nothing(int *p) { (void)p; }");
    rnl_function function;
    void *native_module = NULL, *native_function = NULL;
    expect_ok(rnl_module_function(module, "nothing", &function));
    expect_ok(rnl_module_native(module, &native_module));
    expect_ok(rnl_function_native(function, &native_function));
    assert_non_null(native_module);
    assert_non_null(native_function);
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_module_release(module));
}

RNL_TEST(an_event_that_was_never_recorded_has_no_native_handle)
{
    suite_need(RNL_FEATURE_NATIVE_HANDLES);
    void *native;
    rnl_event event = suite_new_event();
    expect_error(rnl_event_native(event, &native), RNL_ERROR_INVALID_STATE,
                 "event");
    expect_ok(rnl_event_release(event));
}

RNL_TEST(an_event_behind_done_work_has_a_native_handle)
{
    suite_need(RNL_FEATURE_NATIVE_HANDLES);
    void *native = NULL, *again = NULL;
    rnl_stream stream;
    expect_ok(rnl_stream_create(
        suite_context(), RNL_STREAM_OPTIONS(.flags = RNL_STREAM_NON_BLOCKING),
        &stream));
    rnl_event event = suite_new_event();
    expect_ok(rnl_enqueue_event_record(stream, event));
    expect_ok(rnl_event_native(event, &native));
    assert_non_null(native);
    expect_ok(rnl_event_native(event, &again));
    assert_ptr_equal(native, again);
    expect_ok(rnl_event_query(event));
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_enqueue_event_record(stream, event));
    assert_status(rnl_event_query(event), RNL_NOT_READY);
    expect_ok(rnl_event_native(event, &again));
    assert_non_null(again);
    gate_open(gate);
    expect_ok(rnl_event_synchronize(event, RNL_FOREVER));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(a_borrowed_stream_is_the_same_queue)
{
    suite_need(RNL_FEATURE_NATIVE_HANDLES);
    void *native;
    rnl_stream own = suite_new_stream(), borrowed;
    rnl_buffer buffer = suite_new_buffer(64 * sizeof(int));
    expect_ok(rnl_stream_native(own, &native));
    expect_ok(rnl_stream_borrow(suite_context(), native, NULL, &borrowed));
    // In order, though enqueued through two of Runnel's streams.
    for (int round = 1; round <= 10; round++)
        expect_ok(rnl_enqueue_fill(round % 2 ? own : borrowed, buffer, 0,
                                   64 * sizeof(int), (uint64_t)round, 4));
    expect_ok(rnl_stream_synchronize(borrowed, RNL_FOREVER));
    expect_ok(rnl_stream_release(borrowed));
    suite_expect_ints(buffer, 64, 10);
    expect_ok(rnl_stream_synchronize(own, RNL_FOREVER));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(own));
}

static rnl_stream_info info_of(rnl_stream stream)
{
    rnl_stream_info info = {.struct_size = sizeof info};
    expect_ok(rnl_stream_get_info(stream, &info));
    return info;
}

static rnl_stream borrow(void *native)
{
    rnl_stream stream = NULL;
    expect_ok(rnl_stream_borrow(suite_context(), native,
                                RNL_STREAM_OPTIONS(.priority = 7), &stream));
    return stream;
}

RNL_TEST(a_borrowed_stream_is_as_the_driver_says)
{
    suite_need(RNL_FEATURE_NATIVE_HANDLES);
    rnl_stream own = NULL;
    void *native = NULL;
    for (int i = 0; i < 4; i++) {
        expect_ok(rnl_stream_create(
            suite_context(),
            RNL_STREAM_OPTIONS(.priority = -i,
                               .flags = i % 2 ? RNL_STREAM_NON_BLOCKING : 0),
            &own));
        expect_ok(rnl_stream_native(own, &native));
        rnl_stream borrowed = borrow(native);
        rnl_stream_info one = info_of(own), other = info_of(borrowed);
        assert_int_equal(one.priority, other.priority);
        assert_int_equal(one.flags, other.flags);
        assert_true(one.id != other.id);
        assert_true(one.native_id == other.native_id);
        expect_ok(rnl_stream_release(borrowed));
        expect_ok(rnl_stream_release(own));
    }
}

RNL_TEST(streams_have_the_numbers_of_the_driver)
{
    rnl_stream first = suite_new_stream(), second = suite_new_stream();
    rnl_stream_info one = info_of(first), other = info_of(second);
    expect_ok(rnl_stream_release(first));
    expect_ok(rnl_stream_release(second));
    if (suite_is_cpu()) {
        assert_int_equal(one.native_id, 0);
        return;
    }
    if (suite_driver_is_old()) {
        assert_int_equal(one.native_id, 0);
        return;
    }
    assert_true(one.native_id != 0 && other.native_id != 0);
    assert_true(one.native_id != other.native_id);
}

RNL_TEST(the_legacy_stream_is_borrowed_by_its_names)
{
    suite_need(RNL_FEATURE_NATIVE_HANDLES);
    rnl_buffer buffer = suite_new_buffer(64 * sizeof(int));
    rnl_stream first = borrow(NULL), second = borrow(RNL_NATIVE_LEGACY);
    rnl_stream_info one = info_of(first), other = info_of(second);
    assert_int_equal(one.flags, 0);
    assert_int_equal(one.priority, 0);
    assert_true(one.native_id == other.native_id);
    assert_ptr_equal(one.context, suite_context());
    struct host_calls calls = {0, -1};
    for (int round = 1; round <= 10; round++)
        expect_ok(rnl_enqueue_fill(round % 2 ? first : second, buffer, 0,
                                   64 * sizeof(int), (uint64_t)round, 4));
    if (rnl_context_supports(suite_context(), RNL_FEATURE_HOST_FUNCTIONS,
                             NULL) == RNL_OK) {
        expect_ok(rnl_enqueue_host_function(first, count_host_call, &calls));
        expect_ok(rnl_stream_synchronize(first, RNL_FOREVER));
        assert_int_equal(calls.count, 1);
    }
    expect_ok(rnl_stream_synchronize(second, RNL_FOREVER));
    suite_expect_ints(buffer, 64, 10);
    expect_ok(rnl_stream_release(first));
    expect_ok(rnl_stream_release(second));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(the_legacy_stream_is_in_no_capture)
{
    suite_need(RNL_FEATURE_NATIVE_HANDLES);
    suite_need(RNL_FEATURE_CAPTURE);
    rnl_graph graph = NULL;
    rnl_stream legacy = borrow(NULL), own = suite_new_stream();
    rnl_event event = suite_new_event();
    expect_error(rnl_stream_begin_capture(legacy, NULL),
                 RNL_ERROR_CAPTURE_UNSUPPORTED, "stream");
    assert_non_null(strstr(rnl_last_error()->message, "RNL_NATIVE_LEGACY"));
    expect_ok(rnl_stream_begin_capture(own, NULL));
    expect_ok(rnl_enqueue_event_record(own, event));
    expect_error(rnl_enqueue_wait_event(legacy, event),
                 RNL_ERROR_CAPTURE_UNSUPPORTED, "stream");
    expect_error(rnl_enqueue_wait_stream(legacy, own),
                 RNL_ERROR_CAPTURE_UNSUPPORTED, "stream");
    expect_ok(rnl_stream_end_capture(own, &graph));
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_stream_synchronize(legacy, RNL_FOREVER));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_stream_release(own));
    expect_ok(rnl_stream_release(legacy));
}

static rnl_access_policy window_of(rnl_stream stream)
{
    rnl_stream_attribute attribute = {.struct_size = sizeof attribute};
    expect_ok(rnl_stream_get_attribute(stream, RNL_STREAM_ACCESS_POLICY,
                                       &attribute));
    return attribute.value.access_policy;
}

static void expect_window(rnl_stream stream, rnl_access_policy window)
{
    rnl_access_policy found = window_of(stream);
    assert_ptr_equal(found.base, window.base);
    assert_int_equal(found.size, window.size);
    assert_true(found.hit_ratio == window.hit_ratio);
    assert_int_equal(found.hit, window.hit);
    assert_int_equal(found.miss, window.miss);
}

static void set_window(rnl_stream stream, rnl_access_policy window)
{
    expect_ok(rnl_stream_set_attribute(
        stream, RNL_STREAM_ATTRIBUTE(.id = RNL_STREAM_ACCESS_POLICY,
                                     .value = {.access_policy = window})));
}

// The driver has what is set when work comes behind it.
RNL_TEST(attributes_of_a_borrowed_stream_are_the_drivers)
{
    enum { SIZE = 1 << 16 };
    suite_need(RNL_FEATURE_NATIVE_HANDLES);
    if (suite_is_hip())
        test_skip("streams of HIP have no access policy");
    rnl_buffer buffer = suite_new_buffer(SIZE);
    rnl_stream own = suite_new_stream(), copy = suite_new_stream();
    void *native = NULL;
    rnl_access_policy window = {.base = suite_address(buffer), .size = SIZE,
                                .hit_ratio = 0.5f,
                                .hit = RNL_ACCESS_PERSISTING,
                                .miss = RNL_ACCESS_STREAMING};
    expect_ok(rnl_stream_native(own, &native));
    rnl_stream borrowed = borrow(native), again = borrow(native);
    expect_window(borrowed, (rnl_access_policy){0});
    set_window(own, window);
    expect_ok(rnl_fill_and_wait(own, buffer, 0, SIZE, 1, 4));
    expect_window(borrowed, window);
    expect_ok(rnl_stream_copy_attributes(copy, borrowed));
    expect_window(copy, window);
    // What is set by Runnel counts from then on, and the rest is kept.
    expect_ok(rnl_stream_set_attribute(
        borrowed, RNL_STREAM_ATTRIBUTE(.id = RNL_STREAM_SYNC_POLICY,
                                       .value = {.sync_policy =
                                                     RNL_SYNC_YIELD})));
    expect_ok(rnl_fill_and_wait(borrowed, buffer, 0, SIZE, 2, 4));
    expect_window(again, window);
    window.size /= 2;
    set_window(copy, window);
    expect_ok(rnl_stream_copy_attributes(borrowed, copy));
    expect_ok(rnl_fill_and_wait(borrowed, buffer, 0, SIZE, 3, 4));
    expect_window(again, window);
    expect_ok(rnl_stream_synchronize(own, RNL_FOREVER));
    expect_ok(rnl_stream_release(again));
    expect_ok(rnl_stream_release(borrowed));
    expect_ok(rnl_stream_release(copy));
    expect_ok(rnl_stream_release(own));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_user_of_the_native_stream_can_fail_the_stream)
{
    suite_need(RNL_FEATURE_NATIVE_HANDLES);
    rnl_stream stream = suite_new_stream();
    expect_ok(rnl_stream_fail(stream, RNL_ERROR_TIMED_OUT, "rank 1 is gone"));
    expect_ok(rnl_stream_fail(stream, RNL_ERROR_DRIVER, "a later failure"));
    assert_int_equal(rnl_stream_synchronize(stream, RNL_FOREVER),
                     RNL_ERROR_TIMED_OUT);
    assert_non_null(strstr(rnl_last_error()->message, "rank 1 is gone"));
    assert_int_equal(rnl_stream_reset_and_wait(stream), RNL_OK);
    expect_ok(rnl_stream_query(stream));
    expect_error(rnl_stream_fail(stream, RNL_NOT_READY, "no error"),
                 RNL_ERROR_INVALID_ARGUMENT, "failure");
    expect_error(rnl_stream_fail(stream, RNL_ERROR_DRIVER, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "message");
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(bad_arguments_of_native_handles_are_refused)
{
    suite_need(RNL_FEATURE_NATIVE_HANDLES);
    rnl_stream stream;
    expect_error(rnl_stream_native(suite_stream(), NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_native");
    expect_error(rnl_stream_borrow(suite_context(), NULL, NULL, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_stream");
    expect_error(rnl_stream_borrow(suite_context(), RNL_NATIVE_PER_THREAD,
                                   NULL, &stream),
                 RNL_ERROR_UNSUPPORTED, "native");
}

RNL_TEST(native_handles_are_refused_where_there_are_none)
{
    void *native;
    rnl_stream stream;
    int other;
    if (rnl_context_supports(suite_context(), RNL_FEATURE_NATIVE_HANDLES,
                             NULL) == RNL_OK)
        test_skip("this device has them");
    expect_error(rnl_context_native(suite_context(), &native),
                 RNL_ERROR_UNSUPPORTED, NULL);
    expect_error(rnl_stream_native(suite_stream(), &native),
                 RNL_ERROR_UNSUPPORTED, NULL);
    expect_error(rnl_stream_borrow(suite_context(), &other, NULL, &stream),
                 RNL_ERROR_UNSUPPORTED, NULL);
    expect_error(rnl_stream_fail(suite_stream(), RNL_ERROR_DRIVER, "why"),
                 RNL_ERROR_UNSUPPORTED, NULL);
}
