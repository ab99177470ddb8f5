// Work on the driver: what it is told, and what becomes of failures.
#include "loaded.h"

#include <stdlib.h>
#include <string.h>

RNL_TEST(an_upload_is_told_to_the_driver)
{
    rnl_context context;
    rnl_stream stream;
    rnl_buffer buffer;
    rnl_graph graph;
    rnl_graph_exec exec;
    fake_load();
    assert_ok(rnl_context_open("cuda", 0, NULL, &context));
    assert_ok(rnl_stream_create(context, NULL, &stream));
    assert_ok(rnl_buffer_create(context, 64, NULL, &buffer));
    assert_ok(rnl_stream_begin_capture(stream, 0));
    assert_ok(rnl_enqueue_fill(stream, buffer, 0, 64, 1, 4));
    assert_ok(rnl_stream_end_capture(stream, &graph));
    assert_ok(rnl_graph_instantiate(graph, &exec));
    size_t before = fake_calls("cuGraphUpload");
    assert_ok(rnl_enqueue_graph_upload(stream, exec));
    assert_int_equal(fake_calls("cuGraphUpload"), before + 1);
    fake_fail("cuGraphUpload", 1, 1, 0);
    assert_int_equal(rnl_enqueue_graph_upload(stream, exec),
                     RNL_ERROR_INVALID_ARGUMENT);
    // It is over before what it has prepared goes.
    assert_ok(rnl_graph_exec_release(exec));
    assert_ok(rnl_graph_release(graph));
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_ok(rnl_buffer_release(buffer));
    assert_ok(rnl_stream_release(stream));
    assert_ok(rnl_context_release(context));
    fake_expect_empty();
}

// --- Failures that come late -------------------------------------------------

enum { SICK, BY_EVENT, BY_STREAM, FAR, EARLY, STREAMS };

#define SIZE ((size_t)3 << 20)

// A stream with a copy of ordinary memory behind a promise, and who waits for
// it, one way or another. The one in EARLY waits for what is before the copy.
struct late {
    rnl_context context;
    rnl_stream streams[STREAMS];
    rnl_event promise, before, behind;
    rnl_buffer buffer;
    void *memory;
    rnl_status seen[STREAMS];
};

static void see(rnl_status status, void *user_data)
{
    *(rnl_status *)user_data = status;
}

static void late_open(struct late *late)
{
    *late = (struct late){.memory = calloc(1, SIZE)};
    fake_load();
    assert_ok(rnl_context_open("cuda", 0, NULL, &late->context));
    for (int i = 0; i < STREAMS; i++)
        assert_ok(rnl_stream_create(late->context, NULL, &late->streams[i]));
    assert_ok(rnl_event_create(late->context,
                               RNL_EVENT_OPTIONS(.promise = true),
                               &late->promise));
    assert_ok(rnl_event_create(late->context, NULL, &late->before));
    assert_ok(rnl_event_create(late->context, NULL, &late->behind));
    assert_ok(rnl_buffer_create(late->context, SIZE, NULL, &late->buffer));
}

static void late_enqueue(struct late *late)
{
    rnl_stream *streams = late->streams;
    assert_ok(rnl_enqueue_event_record(streams[SICK], late->before));
    assert_ok(rnl_enqueue_wait_event(streams[EARLY], late->before));
    assert_ok(rnl_enqueue_wait_event(streams[SICK], late->promise));
    assert_ok(rnl_enqueue_copy_to_buffer(streams[SICK], late->buffer, 0,
                                         late->memory, SIZE));
    assert_ok(rnl_enqueue_event_record(streams[SICK], late->behind));
    assert_ok(rnl_enqueue_wait_event(streams[BY_EVENT], late->behind));
    assert_ok(rnl_enqueue_wait_stream(streams[BY_STREAM], streams[SICK]));
    assert_ok(rnl_enqueue_wait_stream(streams[FAR], streams[BY_EVENT]));
    for (int i = 0; i < STREAMS; i++)
        assert_ok(rnl_enqueue_host_function(streams[i], see, &late->seen[i]));
}

static void expect_late(const struct late *late, int stream, rnl_status status)
{
    assert_int_equal(rnl_stream_synchronize(late->streams[stream],
                                            RNL_FOREVER), status);
    if (status != RNL_OK)
        assert_non_null(strstr(rnl_last_error()->message, "copy"));
    assert_int_equal(late->seen[stream], status);
}

static void late_close(struct late *late)
{
    assert_ok(rnl_event_release(late->promise));
    assert_ok(rnl_event_release(late->before));
    assert_ok(rnl_event_release(late->behind));
    assert_ok(rnl_buffer_release(late->buffer));
    for (int i = 0; i < STREAMS; i++)
        assert_ok(rnl_stream_release(late->streams[i]));
    assert_ok(rnl_context_release(late->context));
    free(late->memory);
    fake_expect_empty();
}

RNL_TEST(a_late_failure_reaches_who_waits_already)
{
    struct late late;
    late_open(&late);
    late_enqueue(&late);
    fake_fail("cuMemcpyAsync", 1, 2, 1);
    assert_ok(rnl_enqueue_event_record(late.streams[EARLY], late.promise));
    expect_late(&late, SICK, RNL_ERROR_OUT_OF_MEMORY);
    expect_late(&late, BY_EVENT, RNL_ERROR_DEPENDENCY_FAILED);
    expect_late(&late, BY_STREAM, RNL_ERROR_DEPENDENCY_FAILED);
    expect_late(&late, FAR, RNL_ERROR_DEPENDENCY_FAILED);
    expect_late(&late, EARLY, RNL_OK);
    fake_fail("cuMemcpyAsync", 0, 0, 0);
    // The event that was recorded before the failure tells of it.
    assert_int_equal(rnl_event_synchronize(late.behind, RNL_FOREVER),
                     RNL_ERROR_OUT_OF_MEMORY);
    assert_ok(rnl_event_synchronize(late.before, RNL_FOREVER));
    assert_ok(rnl_enqueue_wait_event(late.streams[EARLY], late.behind));
    assert_int_equal(rnl_stream_synchronize(late.streams[EARLY], RNL_FOREVER),
                     RNL_ERROR_DEPENDENCY_FAILED);
    late_close(&late);
}

RNL_TEST(a_stream_that_was_reset_hands_on_no_old_failure)
{
    struct late late;
    late_open(&late);
    late_enqueue(&late);
    fake_fail("cuMemcpyAsync", 1, 2, 1);
    assert_ok(rnl_enqueue_event_record(late.streams[EARLY], late.promise));
    expect_late(&late, FAR, RNL_ERROR_DEPENDENCY_FAILED);
    fake_fail("cuMemcpyAsync", 0, 0, 0);
    for (int i = 0; i < STREAMS; i++)
        assert_ok(rnl_stream_reset_and_wait(late.streams[i]));
    assert_ok(rnl_event_release(late.promise));
    assert_ok(rnl_event_create(late.context,
                               RNL_EVENT_OPTIONS(.promise = true),
                               &late.promise));
    late_enqueue(&late);
    assert_ok(rnl_enqueue_event_record(late.streams[EARLY], late.promise));
    for (int i = 0; i < STREAMS; i++)
        expect_late(&late, i, RNL_OK);
    late_close(&late);
}

RNL_TEST(a_promise_kept_by_a_failing_stream_hands_its_failure_on)
{
    struct late late;
    rnl_event promise;
    late_open(&late);
    assert_ok(rnl_event_create(late.context,
                               RNL_EVENT_OPTIONS(.promise = true), &promise));
    assert_ok(rnl_enqueue_wait_event(late.streams[EARLY], promise));
    assert_ok(rnl_enqueue_wait_event(late.streams[SICK], late.promise));
    assert_ok(rnl_enqueue_copy_to_buffer(late.streams[SICK], late.buffer, 0,
                                         late.memory, SIZE));
    assert_ok(rnl_enqueue_event_record(late.streams[SICK], promise));
    fake_fail("cuMemcpyAsync", 1, 2, 1);
    assert_ok(rnl_enqueue_event_record(late.streams[FAR], late.promise));
    assert_int_equal(rnl_stream_synchronize(late.streams[EARLY], RNL_FOREVER),
                     RNL_ERROR_DEPENDENCY_FAILED);
    fake_fail("cuMemcpyAsync", 0, 0, 0);
    assert_ok(rnl_event_release(promise));
    late_close(&late);
}
