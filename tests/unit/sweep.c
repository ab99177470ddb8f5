// The backend's calls fail one after the other, by the null backend; thread
// starts fail, by base/thread. Each time: the documented status, nothing left.
#include "unit.h"

#include "backends/null/null.h"
#include "base/alloc.h"
#include "base/thread.h"
#include "core/context/library.h"


static int host_calls;

static void count_call(rnl_status status, void *user_data)
{
    (void)status;
    (void)user_data;
    host_calls++;
}

// Every object's life once. The first failing status, RNL_OK for none.
#define STEP(call)            \
    if (status == RNL_OK)     \
        status = (call)

static rnl_status scenario(void)
{
    rnl_context context = NULL;
    rnl_stream stream = NULL, other = NULL;
    rnl_event event = NULL, second = NULL;
    rnl_buffer buffer = NULL, slice = NULL, ordered = NULL, wrapped = NULL;
    void *host = NULL, *mapped = NULL;
    int memory[16] = {0};
    rnl_status status = RNL_OK;
    STEP(rnl_context_open("null", 0, NULL, &context));
    STEP(rnl_stream_create(context, NULL, &stream));
    STEP(rnl_stream_create(context, NULL, &other));
    STEP(rnl_event_create(context, NULL, &event));
    STEP(rnl_enqueue_event(stream, NULL, &second));
    STEP(rnl_enqueue_event_record(stream, event));
    STEP(rnl_enqueue_wait_event(other, event));
    STEP(rnl_enqueue_wait_stream(other, stream));
    STEP(rnl_enqueue_wait_context(other, context));
    STEP(rnl_buffer_create(context, 64, RNL_BUFFER_OPTIONS(.zeroed = true),
                           &buffer));
    STEP(rnl_buffer_slice(buffer, 16, 16, &slice));
    STEP(rnl_enqueue_buffer_create(stream, 64, NULL, &ordered));
    STEP(rnl_buffer_wrap(context, memory, 64, NULL, &wrapped));
    STEP(rnl_host_allocate(context, 64, &host));
    STEP(rnl_host_register(context, memory, 64));
    STEP(rnl_host_unregister(context, memory));
    STEP(rnl_enqueue_fill(stream, buffer, 0, 64, 1, 4));
    STEP(rnl_copy_to_buffer_and_wait(stream, buffer, 0, memory, 64));
    STEP(rnl_enqueue_copy_buffer(stream, ordered, 0, buffer, 0, 64));
    STEP(rnl_buffer_map_and_wait(stream, buffer, RNL_MAP_READ, &mapped));
    STEP(rnl_buffer_unmap_and_wait(stream, buffer));
    STEP(rnl_enqueue_host_function(stream, count_call, NULL));
    STEP(rnl_context_synchronize(context, RNL_FOREVER));
    if (host)
        assert_ok(rnl_host_free(context, host));
    assert_ok(rnl_buffer_release(wrapped));
    assert_ok(rnl_buffer_release(ordered));
    assert_ok(rnl_buffer_release(slice));
    assert_ok(rnl_buffer_release(buffer));
    assert_ok(rnl_event_release(second));
    assert_ok(rnl_event_release(event));
    assert_ok(rnl_stream_release(other));
    assert_ok(rnl_stream_release(stream));
    assert_ok(rnl_context_release(context));
    return status;
}

static rnl_status refused_status;

static void note_refused(rnl_status status, void *user_data)
{
    (void)user_data;
    host_calls++;
    refused_status = status;
}

// The calls that gave the work returned RNL_OK: it fails as if it had run.
RNL_TEST(a_batch_that_the_backend_refuses_fails_its_stream)
{
    static const struct backend *const table[] = {&null_backend, NULL};
    rnl_context context;
    rnl_stream stream;
    assert_ok(library_reopen(table));
    assert_ok(rnl_context_open("null", 0, NULL, &context));
    assert_ok(rnl_stream_create(
        context, RNL_STREAM_OPTIONS(.flags = RNL_STREAM_BATCHED), &stream));
    host_calls = 0;
    assert_ok(rnl_enqueue_host_function(stream, note_refused, NULL));
    null_fail_after(0);
    assert_status(rnl_stream_flush(stream), RNL_ERROR_OUT_OF_MEMORY);
    null_fail_after(-1);
    assert_int_equal(host_calls, 1);
    assert_int_equal(refused_status, RNL_ERROR_OUT_OF_MEMORY);
    assert_status(rnl_stream_query(stream), RNL_ERROR_OUT_OF_MEMORY);
    assert_ok(rnl_stream_reset_and_wait(stream));
    assert_ok(rnl_enqueue_host_function(stream, note_refused, NULL));
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(host_calls, 2);
    assert_int_equal(refused_status, RNL_OK);
    assert_ok(rnl_stream_release(stream));
    assert_ok(rnl_context_release(context));
}

RNL_TEST(every_call_of_the_backend_may_fail)
{
    static const struct backend *const table[] = {&null_backend, NULL};
    assert_ok(library_reopen(table));
    int k = 0, again = 0;
    for (;; k++) {
        null_fail_after(k);
        rnl_status status = scenario();
        bool fired = null_fail_after(-1) < 0;
        size_t held = 1;
        assert_ok(rnl_trim(&held));
        if (held != 0 || null_live() != 0)
            fail_msg("failing call %d left %zu bytes and %u objects", k, held,
                     null_live());
        if (!fired)
            break;
        if (status == RNL_OK)
            again++;
        else
            assert_int_equal(status, RNL_ERROR_OUT_OF_MEMORY);
    }
    assert_true(k >= 12);
    assert_true(again >= 4);  // memory is asked for twice
}

// A context whose threads do not start is refused, or works with fewer.
RNL_TEST(every_start_of_a_thread_may_fail)
{
    assert_ok(library_reopen(backends));
    for (unsigned skip = 0; skip < 6; skip++)
        for (unsigned count = 1; count <= 8; count += 7) {
            rnl_context context = NULL;
            rnl_stream stream = NULL;
            rnl_buffer buffer = NULL;
            int read = 0;
            host_calls = 0;
            thread_fail_next(skip, count);
            rnl_status status = rnl_context_open(
                "cpu", 0, RNL_CONTEXT_OPTIONS(.threads = 4), &context);
            if (status == RNL_OK) {
                assert_ok(rnl_context_default_stream(context, &stream));
                assert_ok(rnl_buffer_create(context, 4, NULL, &buffer));
                assert_ok(rnl_enqueue_fill(stream, buffer, 0, 4, 5, 4));
                assert_ok(rnl_copy_from_buffer_and_wait(stream, &read, buffer,
                                                        0, 4));
                assert_int_equal(read, 5);
                rnl_status enqueued =
                    rnl_enqueue_host_function(stream, count_call, NULL);
                if (enqueued == RNL_OK) {
                    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
                    assert_int_equal(host_calls, 1);
                }
                assert_ok(rnl_buffer_release(buffer));
                assert_ok(rnl_context_release(context));
            } else {
                assert_int_equal(status, RNL_ERROR_OUT_OF_MEMORY);
                assert_null(context);
            }
            thread_fail_next(0, 0);
            assert_int_equal(test_held(0), 0);
        }
}
