// rnl_time_and_wait.
#include "suite.h"

struct timed {
    size_t count;
    size_t iterations[16];
    rnl_buffer buffer;
    size_t fails_at;
    rnl_status fails_with;
    rnl_stream stream;
};

static rnl_status step(rnl_stream stream, size_t iteration, void *user_data)
{
    struct timed *timed = user_data;
    assert_ptr_equal(stream, timed->stream);
    timed->iterations[timed->count++ % 16] = iteration;
    if (timed->fails_with && iteration == timed->fails_at)
        return timed->fails_with;
    return rnl_enqueue_fill(stream, timed->buffer, 0, 4096, iteration, 4);
}

static struct timed new_timed(void)
{
    suite_need(RNL_FEATURE_EVENT_TIMING);
    return (struct timed){.buffer = suite_new_buffer(4096),
                          .stream = suite_new_stream()};
}

static void free_timed(struct timed *timed)
{
    expect_ok(rnl_buffer_release(timed->buffer));
    expect_ok(rnl_stream_release(timed->stream));
}

RNL_TEST(a_callback_is_timed)
{
    struct timed timed = new_timed();
    uint64_t ns = 0;
    expect_ok(rnl_time_and_wait(timed.stream, 10, step, &timed, &ns));
    assert_int_equal(timed.count, 10);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(timed.iterations[i], i);
    assert_true(ns > 0);
    assert_true(ns < 20ull * 1000000000);
    expect_ok(rnl_stream_query(timed.stream));
    suite_expect_ints(timed.buffer, 1024, 9);
    free_timed(&timed);
}

RNL_TEST(no_iteration_takes_no_time)
{
    struct timed timed = new_timed();
    uint64_t ns = 77;
    expect_ok(rnl_time_and_wait(timed.stream, 0, step, &timed, &ns));
    assert_int_equal(ns, 0);
    assert_int_equal(timed.count, 0);
    free_timed(&timed);
}

RNL_TEST(a_callback_that_enqueues_nothing_is_timed)
{
    struct timed timed = new_timed();
    uint64_t ns = UINT64_MAX;
    timed.fails_at = 0;
    expect_ok(rnl_time_and_wait(timed.stream, 1, step, &timed, &ns));
    assert_true(ns < 20ull * 1000000000);
    free_timed(&timed);
}

// The clock starts when the earlier work is done.
RNL_TEST(earlier_work_is_not_timed)
{
    struct timed timed = new_timed();
    rnl_buffer large = suite_new_buffer(64 << 20);
    uint64_t alone = 0, ns = 0;
    rnl_event start = NULL, end = NULL;
    expect_ok(rnl_enqueue_event(timed.stream,
                                RNL_EVENT_OPTIONS(.timing = true), &start));
    for (int i = 0; i < 4; i++)
        expect_ok(rnl_enqueue_fill(timed.stream, large, 0, 64 << 20, 1, 1));
    expect_ok(rnl_enqueue_event(timed.stream,
                                RNL_EVENT_OPTIONS(.timing = true), &end));
    expect_ok(rnl_time_and_wait(timed.stream, 1, step, &timed, &ns));
    expect_ok(rnl_event_elapsed(start, end, &alone));
    assert_true(ns > 0);
    assert_true(alone > 0);
    expect_ok(rnl_event_release(start));
    expect_ok(rnl_event_release(end));
    expect_ok(rnl_buffer_release(large));
    free_timed(&timed);
}

RNL_TEST(an_error_of_the_callback_ends_the_timing)
{
    struct timed timed = new_timed();
    uint64_t ns = 77;
    timed.fails_at = 3;
    timed.fails_with = RNL_ERROR_NOT_FOUND;
    assert_status(rnl_time_and_wait(timed.stream, 10, step, &timed, &ns),
                  RNL_ERROR_NOT_FOUND);
    assert_int_equal(timed.count, 4);
    assert_int_equal(ns, 77);
    // What it enqueued before runs.
    expect_ok(rnl_stream_synchronize(timed.stream, RNL_FOREVER));
    suite_expect_ints(timed.buffer, 1024, 2);
    free_timed(&timed);
}

static rnl_status leaves_the_buffer(rnl_stream stream, size_t iteration,
                                    void *user_data)
{
    struct timed *timed = user_data;
    (void)iteration;
    return rnl_enqueue_fill(stream, timed->buffer, 4096, 4096, 0, 4);
}

RNL_TEST(the_callbacks_failure_is_the_last_error)
{
    struct timed timed = new_timed();
    uint64_t ns = 77;
    assert_status(rnl_time_and_wait(timed.stream, 2, leaves_the_buffer, &timed,
                                    &ns), RNL_ERROR_OUT_OF_RANGE);
    assert_string_equal(rnl_last_error()->function, "rnl_enqueue_fill");
    assert_int_equal(ns, 77);
    free_timed(&timed);
}

static rnl_status break_down(const rnl_native_call *call)
{
    (void)call;
    return RNL_ERROR_LAUNCH_FAILED;
}

static rnl_status launch(rnl_stream stream, size_t iteration, void *user_data)
{
    (void)iteration;
    return rnl_enqueue_function(stream, user_data,
                                RNL_LAUNCH(.grid = {1}, .block = {1}),
                                RNL_NO_ARGS);
}

RNL_TEST(timed_work_that_fails_is_reported)
{
    struct timed timed = new_timed();
    rnl_function function = suite_native("breaks", break_down, NULL);
    uint64_t ns = 77;
    expect_error(rnl_time_and_wait(timed.stream, 1, launch, function, &ns),
                 RNL_ERROR_LAUNCH_FAILED, NULL);
    assert_string_equal(rnl_last_error()->operation_name, "breaks");
    // The stream has failed now, which is seen before the callback is called.
    expect_error(rnl_time_and_wait(timed.stream, 1, step, &timed, &ns),
                 RNL_ERROR_LAUNCH_FAILED, NULL);
    assert_int_equal(timed.count, 0);
    assert_int_equal(ns, 77);
    expect_ok(rnl_function_release(function));
    free_timed(&timed);
}

RNL_TEST(timing_checks_its_arguments)
{
    struct timed timed = new_timed();
    uint64_t ns = 77;
    expect_error(rnl_time_and_wait(timed.stream, 1, NULL, &timed, &ns),
                 RNL_ERROR_INVALID_ARGUMENT, "function");
    expect_error(rnl_time_and_wait(timed.stream, 1, step, &timed, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_total_ns");
    assert_int_equal(timed.count, 0);
    assert_int_equal(ns, 77);
    free_timed(&timed);
}

// Timing waits, which a captured stream cannot.
RNL_TEST(a_captured_stream_is_not_timed)
{
    suite_need(RNL_FEATURE_CAPTURE);
    struct timed timed = new_timed();
    rnl_graph graph = NULL;
    uint64_t ns = 77;
    expect_ok(rnl_stream_begin_capture(timed.stream, NULL));
    expect_error(rnl_time_and_wait(timed.stream, 1, step, &timed, &ns),
                 RNL_ERROR_CAPTURE_UNSUPPORTED, NULL);
    assert_int_equal(timed.count, 0);
    assert_int_equal(ns, 77);
    assert_true(rnl_stream_end_capture(timed.stream, &graph) != RNL_OK ||
                graph);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_time_and_wait(timed.stream, 1, step, &timed, &ns));
    free_timed(&timed);
}

static rnl_status capture_it(rnl_stream stream, size_t iteration,
                             void *user_data)
{
    (void)iteration;
    (void)user_data;
    return rnl_stream_begin_capture(stream, NULL);
}

RNL_TEST(a_callback_that_begins_a_capture_is_told)
{
    suite_need(RNL_FEATURE_CAPTURE);
    struct timed timed = new_timed();
    rnl_graph graph = NULL;
    uint64_t ns = 77;
    expect_error(rnl_time_and_wait(timed.stream, 1, capture_it, NULL, &ns),
                 RNL_ERROR_CAPTURE_UNSUPPORTED, NULL);
    assert_non_null(strstr(rnl_last_error()->message, "rnl_time_and_wait"));
    assert_int_equal(ns, 77);
    assert_int_not_equal(rnl_stream_end_capture(timed.stream, &graph), RNL_OK);
    assert_non_null(strstr(rnl_last_error()->message, "rnl_time_and_wait"));
    expect_ok(rnl_time_and_wait(timed.stream, 1, step, &timed, &ns));
    free_timed(&timed);
}

static rnl_status release_it(rnl_stream stream, size_t iteration,
                             void *user_data)
{
    (void)iteration;
    (void)user_data;
    return rnl_stream_release(stream);
}

RNL_TEST(a_callback_may_release_the_stream)
{
    suite_need(RNL_FEATURE_EVENT_TIMING);
    uint64_t ns = 77;
    expect_error(rnl_time_and_wait(suite_new_stream(), 1, release_it, NULL,
                                   &ns),
                 RNL_ERROR_INVALID_HANDLE, "stream");
    assert_int_equal(ns, 77);
}

struct inside {
    rnl_stream stream;
    rnl_status status;
};

static void time_from_inside(rnl_status status, void *user_data)
{
    struct inside *inside = user_data;
    uint64_t ns;
    (void)status;
    inside->status =
        rnl_time_and_wait(inside->stream, 1, step, NULL, &ns);
}

RNL_TEST(a_host_function_may_not_time)
{
    struct inside inside = {suite_stream(), RNL_OK};
    expect_ok(rnl_enqueue_host_function(suite_stream(), time_from_inside,
                                        &inside));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    assert_status(inside.status, RNL_ERROR_NOT_PERMITTED);
}
