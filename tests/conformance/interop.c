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

RNL_TEST(bad_arguments_of_native_handles_are_refused)
{
    suite_need(RNL_FEATURE_NATIVE_HANDLES);
    rnl_stream stream;
    expect_error(rnl_stream_native(suite_stream(), NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_native");
    expect_error(rnl_stream_borrow(suite_context(), NULL, NULL, &stream),
                 RNL_ERROR_INVALID_ARGUMENT, "native");
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
}
