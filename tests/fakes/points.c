// Records of a stream with nothing between them: they stand for the same point,
// and the driver is told once.
#include "core/object/handle.h"
#include "core/object/object.h"

#include "backends/cudalike/stream/event.h"

#include "loaded.h"

#include <sched.h>
#include <stdatomic.h>

// The stream does not get beyond its waits before the word is let on.
static rnl_context context;
static rnl_stream stream, other;
static rnl_buffer word;
static rnl_event first, second;

static void open_with(rnl_stream_flags flags, bool timing)
{
    const rnl_event_options *options = RNL_EVENT_OPTIONS(.timing = timing);
    if (!context) {
        fake_load();
        assert_ok(rnl_context_open("cuda", 0, NULL, &context));
    }
    assert_ok(rnl_stream_create(context, RNL_STREAM_OPTIONS(.flags = flags),
                                &stream));
    assert_ok(rnl_stream_create(context, NULL, &other));
    assert_ok(rnl_event_create(context, options, &first));
    assert_ok(rnl_event_create(context, options, &second));
    assert_ok(rnl_buffer_create(context, 4, RNL_BUFFER_OPTIONS(.zeroed = true),
                                &word));
}

static void wait_for(uint32_t value)
{
    assert_ok(rnl_enqueue_wait_value32(stream, word, 0, value, RNL_WAIT_GEQ));
}

static void let_on(uint32_t value)
{
    assert_ok(rnl_enqueue_write_value32(other, word, 0, value));
}

static void release_all(void)
{
    assert_ok(rnl_event_release(first));
    assert_ok(rnl_event_release(second));
    assert_ok(rnl_buffer_release(word));
    assert_ok(rnl_stream_release(stream));
    assert_ok(rnl_stream_release(other));
    assert_ok(rnl_context_release(context));
}

static void close_all(void)
{
    let_on(2);
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    release_all();
    fake_expect_empty();
}

// How often the driver is asked to record for it.
static size_t records_for(rnl_event event)
{
    size_t before = fake_calls("cuEventRecord");
    assert_ok(rnl_enqueue_event_record(stream, event));
    return fake_calls("cuEventRecord") - before;
}

RNL_TEST(records_with_nothing_between_share_the_drivers)
{
    open_with(RNL_STREAM_NON_BLOCKING, false);
    wait_for(1);
    assert_int_equal(records_for(first), 1);
    assert_int_equal(records_for(second), 0);
    assert_int_equal(records_for(second), 0);
    assert_int_equal(rnl_event_query(second), RNL_NOT_READY);
    let_on(1);
    assert_ok(rnl_event_synchronize(second, RNL_FOREVER));
    assert_ok(rnl_event_query(first));
    close_all();
}

RNL_TEST(a_wait_for_the_stream_shares_it_too)
{
    rnl_stream waiting;
    open_with(RNL_STREAM_NON_BLOCKING, false);
    assert_ok(rnl_stream_create(context, NULL, &waiting));
    wait_for(1);
    size_t before = fake_calls("cuEventRecord");
    assert_ok(rnl_enqueue_wait_stream(waiting, stream));
    assert_ok(rnl_enqueue_wait_stream(waiting, stream));
    assert_int_equal(fake_calls("cuEventRecord"), before + 1);
    assert_int_equal(records_for(first), 0);
    assert_int_equal(rnl_stream_query(waiting), RNL_NOT_READY);
    let_on(1);
    assert_ok(rnl_stream_synchronize(waiting, RNL_FOREVER));
    assert_ok(rnl_stream_release(waiting));
    close_all();
}

RNL_TEST(what_comes_between_makes_another_point)
{
    open_with(RNL_STREAM_NON_BLOCKING, false);
    wait_for(1);
    assert_int_equal(records_for(first), 1);
    assert_int_equal(records_for(second), 0);
    wait_for(2);
    assert_int_equal(records_for(first), 1);
    let_on(1);
    assert_ok(rnl_event_synchronize(second, RNL_FOREVER));
    assert_int_equal(rnl_event_query(first), RNL_NOT_READY);
    assert_int_equal(records_for(second), 0);
    assert_int_equal(rnl_event_query(second), RNL_NOT_READY);
    let_on(2);
    assert_ok(rnl_event_synchronize(first, RNL_FOREVER));
    assert_ok(rnl_event_synchronize(second, RNL_FOREVER));
    close_all();
}

RNL_TEST(each_record_has_a_time_of_its_own)
{
    open_with(RNL_STREAM_NON_BLOCKING, true);
    wait_for(1);
    assert_int_equal(records_for(first), 1);
    assert_int_equal(records_for(second), 1);
    close_all();
}

RNL_TEST(between_records_others_may_give_the_vendors_stream_work)
{
    void *native;
    open_with(RNL_STREAM_NON_BLOCKING, false);
    wait_for(1);
    assert_int_equal(records_for(first), 1);
    assert_ok(rnl_stream_native(stream, &native));
    assert_int_equal(records_for(second), 1);
    close_all();
}

RNL_TEST(between_records_a_blocking_stream_may_wait_for_others)
{
    open_with(0, false);
    wait_for(1);
    assert_int_equal(records_for(first), 1);
    assert_int_equal(records_for(second), 1);
    close_all();
}

RNL_TEST(a_record_that_was_refused_is_no_point)
{
    open_with(RNL_STREAM_NON_BLOCKING, false);
    wait_for(1);
    fake_fail("cuEventRecord", 1, 1, 0);
    assert_int_equal(rnl_enqueue_event_record(stream, first),
                     RNL_ERROR_INVALID_ARGUMENT);
    assert_int_equal(records_for(first), 1);
    assert_int_equal(records_for(second), 0);
    close_all();
}

RNL_TEST(behind_a_lost_device_nothing_is_recorded)
{
    size_t bytes;
    open_with(RNL_STREAM_NON_BLOCKING, false);
    wait_for(1);
    assert_int_equal(records_for(first), 1);
    fake_break(0, 700);
    assert_true(rnl_context_memory(context, &bytes, &bytes) != RNL_OK);
    assert_true(rnl_enqueue_event_record(stream, second) != RNL_OK);
    release_all();
}

// --- Failures --------------------------------------------------------------

// Who waits for it fails; but for that, it has nothing left to do.
static rnl_stream failed_stream(void)
{
    rnl_stream failed;
    rnl_event promise;
    assert_ok(rnl_stream_create(context, NULL, &failed));
    assert_ok(rnl_event_create(context, RNL_EVENT_OPTIONS(.promise = true),
                               &promise));
    assert_ok(rnl_enqueue_wait_event(failed, promise));
    assert_ok(rnl_event_release(promise));
    assert_status(rnl_stream_synchronize(failed, RNL_FOREVER),
                  RNL_ERROR_DEPENDENCY_FAILED);
    return failed;
}

// A stream fails between two records without being given anything.
static void fail_between(rnl_stream failed, rnl_event event)
{
    assert_ok(rnl_enqueue_wait_stream(stream, failed));
    assert_int_equal(records_for(event), 1);
}

static void close_failed(rnl_stream failed)
{
    let_on(2);
    assert_ok(rnl_stream_reset_and_wait(stream));
    assert_ok(rnl_stream_release(failed));
    close_all();
}

RNL_TEST(each_record_has_a_failure_of_its_own)
{
    open_with(RNL_STREAM_NON_BLOCKING, false);
    rnl_stream failed = failed_stream();
    wait_for(1);
    assert_int_equal(records_for(first), 1);
    fail_between(failed, second);
    let_on(1);
    assert_status(rnl_event_synchronize(second, RNL_FOREVER),
                  RNL_ERROR_DEPENDENCY_FAILED);
    assert_ok(rnl_event_query(first));
    assert_status(rnl_event_query(second), RNL_ERROR_DEPENDENCY_FAILED);
    close_failed(failed);
}

// `first` is recorded and complete. Then the core fails the stream, which gave
// the driver nothing of the next batch.
static void refuse_a_batch_behind_first(void)
{
    assert_ok(rnl_enqueue_fill(stream, word, 0, 4, 1, 4));
    assert_ok(rnl_enqueue_event_record(stream, first));
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    fake_fail("cuMemsetD32Async", 1, 2, 1);
    rnl_enqueue_fill(stream, word, 0, 4, 9, 4);
    rnl_stream_flush(stream);
    assert_true(rnl_stream_synchronize(stream, RNL_FOREVER) != RNL_OK);
    fake_fail("cuMemsetD32Async", 0, 0, 0);
}

RNL_TEST(a_refused_batch_fails_no_record_before_it)
{
    open_with(RNL_STREAM_NON_BLOCKING | RNL_STREAM_BATCHED, true);
    refuse_a_batch_behind_first();
    assert_ok(rnl_stream_reset_and_wait(stream));
    assert_ok(rnl_event_query(first));
    assert_ok(rnl_enqueue_wait_event(other, first));
    assert_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    close_all();
}

RNL_TEST(a_record_behind_a_refused_batch_fails_alone)
{
    open_with(RNL_STREAM_NON_BLOCKING | RNL_STREAM_BATCHED, false);
    refuse_a_batch_behind_first();
    rnl_status status = rnl_enqueue_event_record(stream, second);
    if (status == RNL_OK)
        assert_true(rnl_event_synchronize(second, RNL_FOREVER) != RNL_OK);
    assert_ok(rnl_event_query(first));
    assert_ok(rnl_stream_reset_and_wait(stream));
    close_all();
}

// What comes between the driver's answer and what its caller makes of it.
static struct driver real, between;
static _Thread_local rnl_stream comes_between;

static int query_with_more(void *handle)
{
    int code = real.call.event_query(handle);
    rnl_stream failed = comes_between;
    comes_between = NULL;
    if (code == 0 && failed)
        fail_between(failed, first);
    return code;
}

// Opens the context. Without streams, no other thread reads the driver yet.
static void open_between(void)
{
    fake_load();
    assert_ok(rnl_context_open("cuda", 0, NULL, &context));
    struct gpu_context *gpu =
        gpu_of((struct context *)object_find(context, OBJECT_CONTEXT));
    real = between = *gpu->driver;
    between.call.event_query = query_with_more;
    gpu->driver = &between;
}

RNL_TEST(a_look_at_the_last_record_hides_no_failure_of_the_next)
{
    open_between();
    open_with(RNL_STREAM_NON_BLOCKING, false);
    rnl_stream failed = failed_stream();
    wait_for(1);
    assert_int_equal(records_for(first), 1);
    let_on(1);
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    comes_between = failed;
    rnl_event_query(first);
    assert_null(comes_between);
    assert_status(rnl_event_query(first), RNL_ERROR_DEPENDENCY_FAILED);
    close_failed(failed);
}

// The service's own records, too, are counted by records_for.
static struct marker *marker_of(rnl_event event)
{
    return event_of((struct event *)object_find(event, OBJECT_EVENT))->marker;
}

// No operation of the stream that waits would settle it. The stream waited for
// may fail still, by what it was given later.
RNL_TEST(a_stream_that_waits_for_a_record_that_is_done_cannot_fail)
{
    static struct fake_gate gate, later;
    open_with(RNL_STREAM_NON_BLOCKING, false);
    size_t before = fake_calls("cuStreamBatchMemOp");
    assert_ok(rnl_enqueue_host_function(stream, fake_hold, &gate));
    wait_for(1);
    atomic_store(&gate.open, 1);
    while (fake_calls("cuStreamBatchMemOp") == before)
        sched_yield();
    assert_ok(rnl_enqueue_event_record(stream, first));
    assert_ok(rnl_enqueue_event_record(stream, second));
    assert_ptr_equal(marker_of(first), marker_of(second));
    assert_ok(rnl_enqueue_host_function(stream, fake_hold, &later));
    wait_for(2);
    let_on(1);
    assert_ok(rnl_event_synchronize(first, RNL_FOREVER));
    assert_ok(rnl_enqueue_wait_event(other, second));
    const struct object *waits = object_find(other, OBJECT_STREAM);
    const struct gpu_stream *own = gpu_stream_of((const struct stream *)waits);
    assert_false(timeline_may_fail(timeline_of(own)));
    atomic_store(&later.open, 1);
    close_all();
}
