// Waits for promises behind a failure: a failed stream skips them.
#include "core/backend.h"
#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/stream/failure.h"

#include "backends/cudalike/timeline/timeline.h"

#include "loaded.h"

#include <runnel/interop.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define LIMIT_NS UINT64_C(10000000000)  // for what never ends if it is wrong

static rnl_context context;
static rnl_stream stream, other;
static rnl_event promise;
static rnl_buffer buffer;
static struct fake_gate gate;
static struct fake_told told;

static rnl_event new_promise(void)
{
    rnl_event made;
    assert_ok(rnl_event_create(context, RNL_EVENT_OPTIONS(.promise = true),
                               &made));
    return made;
}

static void begin(void)
{
    fake_open(&context, &stream, 0, &buffer, 64);
    assert_ok(rnl_stream_create(context, NULL, &other));
    promise = new_promise();
}

static void end(void)
{
    assert_ok(rnl_event_release(promise));
    assert_ok(rnl_stream_release(other));
    fake_close(context, stream, buffer);
}

static void fill(uint32_t value)
{
    assert_ok(rnl_enqueue_fill(stream, buffer, 0, 4, value, 4));
}

static void expect_filled(uint32_t value)
{
    uint32_t seen = 0;
    assert_ok(rnl_copy_from_buffer_and_wait(other, &seen, buffer, 0, 4));
    assert_int_equal(seen, value);
}

static size_t fills(void)
{
    return fake_calls("cuMemsetD32Async");
}

// stream_set_failure is wrapped: `held` holds who fails this stream.
static struct stream *_Atomic held_stream;
static struct fake_gate held;

void __real_stream_set_failure(struct stream *failed, struct failure *failure,
                               bool inherited);
void __wrap_stream_set_failure(struct stream *failed, struct failure *failure,
                               bool inherited);

void __wrap_stream_set_failure(struct stream *failed, struct failure *failure,
                               bool inherited)
{
    if (atomic_load(&held_stream) == failed)
        fake_hold_call(&held);
    __real_stream_set_failure(failed, failure, inherited);
}

static struct stream *find(rnl_stream handle)
{
    struct stream *found = (struct stream *)object_find(handle, OBJECT_STREAM);
    assert_non_null(found);
    return found;
}

// `stream` waits for `other`, and `other` for the promise.
static void wait_behind(void)
{
    assert_ok(rnl_enqueue_wait_event(other, promise));
    assert_ok(rnl_enqueue_wait_stream(stream, other));
    fill(1);
    assert_ok(rnl_enqueue_host_function(stream, fake_count, &told));
}

// Each query submits what may go.
static void expect_nothing_goes(size_t before)
{
    for (int i = 0; i < 100; i++) {
        assert_true(rnl_stream_query(other) != RNL_OK);
        assert_true(rnl_stream_query(stream) != RNL_OK);
    }
    assert_int_equal(fills(), before);
    assert_int_equal(told.count, 0);
}

static void *break_promise(void *broken)
{
    assert_ok(rnl_event_release(broken));
    return NULL;
}

// The failure has reached `other` and is about to reach `stream`. The driver
// has the wait of `other` that failed, since `third` is native. So only the
// promise keeps `other` back.
RNL_TEST(no_stream_skips_a_wait_before_its_dependents_are_told)
{
    rnl_event broken;
    rnl_stream third;
    void *native;
    pthread_t thread;
    begin();
    broken = new_promise();
    assert_ok(rnl_stream_create(context, NULL, &third));
    assert_ok(rnl_stream_native(third, &native));
    size_t before = fills();
    assert_ok(rnl_enqueue_wait_event(third, broken));
    assert_ok(rnl_enqueue_wait_stream(other, third));
    wait_behind();
    atomic_store(&held_stream, find(stream));
    assert_int_equal(pthread_create(&thread, NULL, break_promise, broken), 0);
    fake_await_entered(&held);
    assert_status(rnl_stream_query(other), RNL_NOT_READY);
    expect_nothing_goes(before);
    atomic_store(&held.open, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_status(rnl_stream_synchronize(stream, RNL_FOREVER),
                  RNL_ERROR_DEPENDENCY_FAILED);
    assert_int_equal(fills(), before);
    assert_int_equal(told.count, 1);
    assert_int_equal(told.status, RNL_ERROR_DEPENDENCY_FAILED);
    assert_ok(rnl_stream_release(third));
    end();
}

// As where a batch is refused: no operation of the stream's has failed.
static void fail_in_core(struct stream *failed)
{
    struct blame blame = {.name = "batch"};
    stream_set_failure(failed, failure_blame(failed, &blame,
                                             RNL_ERROR_OUT_OF_MEMORY, "full"),
                       false);
}

// What is recorded then notes the failure behind the last operation, which is a
// wait here.
RNL_TEST(a_failure_that_only_the_core_knows_skips_no_wait)
{
    rnl_stream third;
    begin();
    assert_ok(rnl_stream_create(context, NULL, &third));
    size_t before = fills();
    wait_behind();
    struct stream *failed = find(other);
    fail_in_core(failed);
    expect_nothing_goes(before);
    timeline_note_failure(failed, atomic_load(&failed->enqueued));
    expect_nothing_goes(before);
    assert_ok(rnl_enqueue_event_record(third, promise));
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(told.status, RNL_OK);
    assert_ok(rnl_stream_reset_and_wait(other));
    expect_filled(1);
    assert_ok(rnl_stream_release(third));
    end();
}

// The reset comes before the wait is over, as where another thread enqueues the
// wait during the reset.
static void reset_before_the_end(void)
{
    wait_behind();
    struct stream *failed = find(other);
    fail_in_core(failed);
    timeline_note_failure(failed, atomic_load(&failed->enqueued));
    gpu_stream_reset(failed);
}

static void expect_both_fail(void)
{
    assert_ok(rnl_event_release(promise));
    assert_status(rnl_stream_synchronize(other, RNL_FOREVER),
                  RNL_ERROR_DEPENDENCY_FAILED);
    assert_status(rnl_stream_synchronize(stream, RNL_FOREVER),
                  RNL_ERROR_DEPENDENCY_FAILED);
    assert_int_equal(told.status, RNL_ERROR_DEPENDENCY_FAILED);
    promise = new_promise();
}

RNL_TEST(a_wait_that_a_reset_meets_may_still_fail)
{
    begin();
    size_t before = fills();
    reset_before_the_end();
    expect_nothing_goes(before);
    expect_both_fail();
    assert_int_equal(fills(), before);
    end();
}

// The driver has the wait: `other` is native.
RNL_TEST(a_submitted_wait_that_a_reset_meets_may_still_fail)
{
    void *native;
    begin();
    assert_ok(rnl_stream_native(other, &native));
    reset_before_the_end();
    assert_status(rnl_stream_query(other), RNL_NOT_READY);
    expect_both_fail();
    end();
}

// The failure of `third` is about to be told to `third` itself.
RNL_TEST(a_failure_elsewhere_holds_up_no_skipped_wait)
{
    rnl_event broken, other_broken;
    rnl_stream third;
    pthread_t thread;
    begin();
    broken = new_promise();
    other_broken = new_promise();
    assert_ok(rnl_stream_create(context, NULL, &third));
    assert_ok(rnl_enqueue_wait_event(third, broken));
    assert_ok(rnl_enqueue_wait_event(stream, other_broken));
    assert_ok(rnl_enqueue_wait_event(stream, promise));
    atomic_store(&held_stream, find(third));
    assert_int_equal(pthread_create(&thread, NULL, break_promise, broken), 0);
    fake_await_entered(&held);
    assert_ok(rnl_event_release(other_broken));
    assert_status(rnl_stream_synchronize(stream, LIMIT_NS),
                  RNL_ERROR_DEPENDENCY_FAILED);
    atomic_store(&held.open, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_ok(rnl_stream_release(third));
    end();
}

static void note_end(void *pointer, size_t size, void *ended)
{
    (void)pointer;
    (void)size;
    atomic_store((_Atomic bool *)ended, true);
}

// Work of `other` uses the memory. `stream` gives the memory back behind the
// wait for that work.
RNL_TEST(memory_behind_a_skipped_wait_stays_while_others_use_it)
{
    rnl_buffer_info info = {.struct_size = sizeof info};
    _Atomic bool ended = false;
    rnl_buffer wrapped;
    rnl_event broken;
    begin();
    broken = new_promise();
    assert_ok(rnl_buffer_get_info(buffer, &info));
    assert_ok(rnl_buffer_wrap(
        context, info.device_address, info.size,
        RNL_WRAP_OPTIONS(.deleter = note_end, .user_data = (void *)&ended),
        &wrapped));
    assert_ok(rnl_enqueue_host_function(other, fake_hold, &gate));
    assert_ok(rnl_enqueue_fill(other, wrapped, 0, 4, 7, 4));
    assert_ok(rnl_enqueue_wait_event(stream, broken));
    assert_ok(rnl_enqueue_wait_event(stream, promise));
    assert_ok(rnl_enqueue_buffer_release(stream, wrapped));
    assert_ok(rnl_event_release(broken));
    assert_status(rnl_stream_synchronize(stream, LIMIT_NS),
                  RNL_ERROR_DEPENDENCY_FAILED);
    assert_false(ended);
    assert_ok(rnl_enqueue_event_record(other, promise));
    atomic_store(&gate.open, 1);
    assert_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    expect_filled(7);
    while (!atomic_load(&ended))
        sched_yield();
    end();
}
