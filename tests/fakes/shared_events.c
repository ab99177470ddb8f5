// Events that processes share, on a driver: what is given to it when, and how
// records and waits fail.
#include "core/backend.h"
#include "core/object/handle.h"
#include "core/object/object.h"

#include "round.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIZE = 64 };

static rnl_context context;
static rnl_stream stream, other;
static rnl_event event;
static rnl_buffer buffer, word;
static struct fake_gate gate;
static struct fake_told told;

static rnl_status make(rnl_context within, rnl_event *out_event)
{
    return rnl_event_create(within,
                            RNL_EVENT_OPTIONS(.interprocess = true,
                                              .label = "shared"), out_event);
}

static void begin(void)
{
    fake_load();
    assert_ok(rnl_context_open("cuda", 0, NULL, &context));
    assert_ok(rnl_stream_create(context, NULL, &stream));
    assert_ok(rnl_stream_create(context, NULL, &other));
    assert_ok(rnl_buffer_create(context, SIZE,
                                RNL_BUFFER_OPTIONS(.zeroed = true), &buffer));
    assert_ok(rnl_buffer_create(context, SIZE,
                                RNL_BUFFER_OPTIONS(.zeroed = true), &word));
    assert_ok(rnl_context_synchronize(context, RNL_FOREVER));
    assert_ok(make(context, &event));
}

static void end(void)
{
    assert_ok(rnl_event_release(event));
    assert_ok(rnl_buffer_release(buffer));
    assert_ok(rnl_buffer_release(word));
    assert_ok(rnl_stream_release(stream));
    assert_ok(rnl_stream_release(other));
    assert_ok(rnl_context_release(context));
    fake_expect_empty();
}

static void fill(rnl_stream on)
{
    assert_ok(rnl_enqueue_fill(on, buffer, 0, 4, 1, 4));
}

static size_t fills(void)
{
    return fake_calls("cuMemsetD32Async");
}

// What comes behind on the stream waits for the host …
static void shut(void)
{
    assert_ok(rnl_enqueue_host_function(stream, fake_hold, &gate));
    fake_await_entered(&gate);
}

static void let_on(void)
{
    atomic_store(&gate.open, 1);
}

// … or for a word.
static void shut_by_word(void)
{
    assert_ok(rnl_enqueue_wait_value32(stream, word, 0, 1, RNL_WAIT_EQ));
}

static void write_word(void)
{
    rnl_stream third;
    assert_ok(rnl_stream_create(context, NULL, &third));
    assert_ok(rnl_enqueue_write_value32(third, word, 0, 1));
    assert_ok(rnl_stream_synchronize(third, RNL_FOREVER));
    assert_ok(rnl_stream_release(third));
}

static void record(void)
{
    assert_ok(rnl_enqueue_event_record(stream, event));
}

static void expect_failed(rnl_status status, const char *words)
{
    assert_status(status, RNL_ERROR_DEPENDENCY_FAILED);
    if (!strstr(rnl_last_error()->message, words))
        fail_msg("no \"%s\" in: %s", words, rnl_last_error()->message);
}

// --- Order -------------------------------------------------------------------

// The wait occupies no hardware queue.
RNL_TEST(the_driver_is_not_given_what_waits_for_a_shared_event)
{
    begin();
    shut_by_word();
    record();
    size_t before = fills(), waits = fake_calls("cuStreamWaitEvent");
    assert_ok(rnl_enqueue_wait_event(other, event));
    for (int i = 0; i < 1000; i++)
        fill(other);
    assert_status(rnl_event_query(event), RNL_NOT_READY);
    assert_status(rnl_event_synchronize(event, 1), RNL_ERROR_TIMED_OUT);
    assert_status(rnl_stream_query(other), RNL_NOT_READY);
    assert_int_equal(fills(), before);
    write_word();
    assert_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    assert_ok(rnl_event_query(event));
    assert_int_equal(fills(), before + 1000);
    assert_int_equal(fake_calls("cuStreamWaitEvent"), waits);
    assert_int_equal(fake_calls("cuStreamWaitValue32"), 0);
    end();
}

// A program with the native handle may submit work, so the driver has to wait.
RNL_TEST(a_native_stream_waits_for_a_shared_event)
{
    void *native;
    begin();
    assert_ok(rnl_stream_native(other, &native));
    shut();
    record();
    assert_ok(rnl_enqueue_wait_event(other, event));
    size_t before = fills();
    fill(other);
    assert_int_equal(fills(), before + 1);
    assert_int_equal(fake_calls("cuStreamWaitValue32"), 1);
    assert_ok(rnl_enqueue_host_function(other, fake_count, &told));
    assert_status(rnl_stream_query(other), RNL_NOT_READY);
    assert_int_equal(told.count, 0);
    let_on();
    assert_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    assert_int_equal(told.count, 1);
    end();
}

RNL_TEST(a_native_stream_records_a_shared_event)
{
    void *native;
    begin();
    assert_ok(rnl_stream_native(stream, &native));
    shut_by_word();
    record();
    fill(stream);
    assert_status(rnl_event_query(event), RNL_NOT_READY);
    write_word();
    assert_ok(rnl_event_synchronize(event, RNL_FOREVER));
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    end();
}

RNL_TEST(a_stream_waits_for_its_own_shared_record)
{
    begin();
    shut();
    record();
    assert_ok(rnl_enqueue_wait_event(stream, event));
    fill(stream);
    let_on();
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    end();
}

RNL_TEST(no_event_of_the_driver_stands_for_a_shared_one)
{
    void *native = NULL;
    begin();
    record();
    assert_status(rnl_event_native(event, &native), RNL_ERROR_UNSUPPORTED);
    assert_null(native);
    end();
}

RNL_TEST(a_stream_of_another_device_waits_for_a_shared_event)
{
    rnl_context second;
    rnl_stream there;
    setenv("RUNNEL_FAKE_DEVICES", "2", 1);
    begin();
    assert_ok(rnl_context_open("cuda", 1, NULL, &second));
    assert_ok(rnl_stream_create(second, NULL, &there));
    shut();
    record();
    assert_ok(rnl_enqueue_wait_event(there, event));
    assert_status(rnl_stream_query(there), RNL_NOT_READY);
    let_on();
    assert_ok(rnl_stream_synchronize(there, RNL_FOREVER));
    assert_ok(rnl_stream_release(there));
    assert_ok(rnl_context_release(second));
    end();
}

// --- Failures ----------------------------------------------------------------

// The stream has failed, and those who wait for the record are told.
static void expect_failed_record(void)
{
    expect_failed(rnl_event_synchronize(event, RNL_FOREVER), "the stream");
    expect_failed(rnl_event_query(event), "the stream");
}

static void recover(void)
{
    assert_ok(rnl_stream_reset_and_wait(stream));
    record();
    assert_ok(rnl_enqueue_wait_event(other, event));
    assert_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    assert_ok(rnl_event_query(event));
}

// The work behind the wait is left out.
static void expect_wait_fails(size_t fills_before)
{
    expect_failed(rnl_stream_synchronize(other, RNL_FOREVER), "the stream");
    assert_int_equal(fills(), fills_before);
    assert_int_equal(told.count, 1);
    assert_int_equal(told.status, RNL_ERROR_DEPENDENCY_FAILED);
    assert_ok(rnl_stream_reset_and_wait(other));
}

static void wait_on_other(void)
{
    assert_ok(rnl_enqueue_wait_event(other, event));
    fill(other);
    assert_ok(rnl_enqueue_host_function(other, fake_count, &told));
}

// A copy that is refused when it is under way.
RNL_TEST(a_stream_that_fails_late_fails_its_shared_record)
{
    static int values[16];
    begin();
    shut();
    assert_ok(rnl_enqueue_copy_to_buffer(stream, buffer, 0, values, SIZE));
    record();
    wait_on_other();
    size_t before = fills();
    fake_fail("cuMemcpyAsync", 1, 2, 1);
    let_on();
    assert_status(rnl_stream_synchronize(stream, RNL_FOREVER),
                  RNL_ERROR_OUT_OF_MEMORY);
    fake_fail("cuMemcpyAsync", 0, 0, 0);
    expect_failed_record();
    expect_wait_fails(before);
    // A wait that comes now fails at once.
    assert_ok(rnl_enqueue_wait_event(other, event));
    expect_failed(rnl_stream_query(other), "the stream");
    assert_ok(rnl_stream_reset_and_wait(other));
    recover();
    end();
}

// The driver refuses this call, while a record and a wait for it are pending.
static void expect_refused_late(const char *call)
{
    begin();
    shut();
    fill(stream);
    record();
    wait_on_other();
    size_t before = fills() + 1;
    fake_fail(call, 1, 1, 0);
    let_on();
    assert_status(rnl_stream_synchronize(stream, RNL_FOREVER),
                  RNL_ERROR_INVALID_ARGUMENT);
    expect_failed_record();
    expect_wait_fails(before);
    recover();
    end();
}

RNL_TEST(a_shared_record_behind_refused_work_fails)
{
    expect_refused_late("cuMemsetD32Async");
}

RNL_TEST(a_shared_record_that_is_refused_late_fails)
{
    expect_refused_late("cuStreamWriteValue32");
}

// The number was taken, and others may wait for it by now.
RNL_TEST(a_shared_record_that_is_refused_has_failed)
{
    begin();
    fake_fail("cuStreamWriteValue32", 1, 1, 0);
    assert_status(rnl_enqueue_event_record(stream, event),
                  RNL_ERROR_INVALID_ARGUMENT);
    expect_failed_record();
    recover();
    end();
}

// The wait ends before the record that it waits for, so it cannot inherit the
// record's failure.
RNL_TEST(a_wait_for_a_shared_event_is_given_up_behind_refused_work)
{
    begin();
    assert_ok(rnl_enqueue_wait_value32(other, word, 0, 1, RNL_WAIT_EQ));
    assert_ok(rnl_enqueue_event_record(other, event));
    shut();
    fill(stream);
    assert_ok(rnl_enqueue_wait_event(stream, event));
    fake_fail("cuMemsetD32Async", 1, 1, 0);
    let_on();
    assert_status(rnl_stream_synchronize(stream, RNL_FOREVER),
                  RNL_ERROR_INVALID_ARGUMENT);
    assert_ok(rnl_stream_reset_and_wait(stream));
    fill(stream);
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    write_word();
    assert_ok(rnl_event_synchronize(event, RNL_FOREVER));
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    end();
}

// --- Driver calls that fail --------------------------------------------------

static rnl_status gated(struct round *round)
{
    rnl_ipc_handle handle;
    rnl_status status = RNL_OK;
    TRY(rnl_buffer_create(round->context, SIZE, NULL, &round->buffer));
    TRY(rnl_stream_create(round->context, NULL, &round->other));
    TRY(make(round->context, &round->event));
    TRY(rnl_event_export(round->event, &handle));
    TRY(rnl_enqueue_host_function(round->stream, fake_hold, &gate));
    TRY(rnl_enqueue_fill(round->stream, round->buffer, 0, SIZE, 1, 4));
    TRY(rnl_enqueue_event_record(round->stream, round->event));
    TRY(rnl_enqueue_wait_event(round->other, round->event));
    TRY(rnl_enqueue_fill(round->other, round->buffer, 0, SIZE, 2, 4));
    return status;
}

static rnl_status shares(struct round *round)
{
    atomic_store(&gate.open, 0);
    rnl_status status = round_open(round);
    TRY(gated(round));
    let_on();
    TRY(rnl_event_synchronize(round->event, RNL_FOREVER));
    TRY(rnl_event_query(round->event));
    TRY(rnl_stream_synchronize(round->other, RNL_FOREVER));
    return round_settle(round, status);
}

RNL_TEST(shared_events_survive_any_failing_call)
{
    fake_load();
    round_sweep(shares);
}

// --- A lost device -----------------------------------------------------------

RNL_TEST(a_lost_device_ends_waits_for_shared_events)
{
    begin();
    shut();
    record();
    assert_ok(rnl_enqueue_wait_event(other, event));
    fake_break(0, 700);
    assert_status(rnl_stream_synchronize(other, RNL_FOREVER),
                  RNL_ERROR_DEVICE_LOST);
    assert_status(rnl_event_query(event), RNL_ERROR_DEVICE_LOST);
    assert_status(rnl_event_synchronize(event, RNL_FOREVER),
                  RNL_ERROR_DEVICE_LOST);
    assert_status(rnl_enqueue_event_record(stream, event),
                  RNL_ERROR_DEVICE_LOST);
    let_on();
    end();
}

// --- Another process ---------------------------------------------------------

// Records, and completes that when it is told; lives until its input ends.
static void be_recorder(void (*complete)(void))
{
    char byte;
    rnl_ipc_handle handle;
    begin();
    shut_by_word();
    record();
    assert_ok(rnl_event_export(event, &handle));
    assert_int_equal(write(3, &handle, sizeof handle), sizeof handle);
    assert_int_equal(read(0, &byte, 1), 1);
    complete();
    assert_int_equal(read(0, &byte, 1), 0);
    end();
}

static void lose_device(void)
{
    fake_break(0, 700);
    assert_status(rnl_stream_synchronize(stream, RNL_FOREVER),
                  RNL_ERROR_DEVICE_LOST);
}

RNL_TEST(a_lost_device_fails_the_waits_of_other_processes)
{
    int to;
    rnl_ipc_handle handle;
    rnl_event imported = NULL;
    fake_load();
    if (fake_is_child()) {
        be_recorder(lose_device);
        return;
    }
    pid_t child = fake_start(__func__, &to, &handle);
    begin();
    assert_ok(rnl_event_import(context, &handle, &imported));
    assert_ok(rnl_enqueue_wait_event(other, imported));
    assert_status(rnl_event_query(imported), RNL_NOT_READY);
    assert_int_equal(write(to, "x", 1), 1);
    expect_failed(rnl_stream_synchronize(other, RNL_FOREVER), "the stream");
    expect_failed(rnl_event_query(imported), "the stream");
    assert_ok(rnl_event_release(imported));
    fake_finish(child, to);
    end();
}

RNL_TEST(a_shared_event_is_imported_on_another_device)
{
    int to;
    rnl_context second;
    rnl_stream there;
    rnl_ipc_handle handle;
    rnl_event imported = NULL;
    setenv("RUNNEL_FAKE_DEVICES", "2", 1);
    fake_load();
    if (fake_is_child()) {
        be_recorder(write_word);
        return;
    }
    pid_t child = fake_start(__func__, &to, &handle);
    assert_ok(rnl_context_open("cuda", 1, NULL, &second));
    assert_ok(rnl_stream_create(second, NULL, &there));
    assert_ok(rnl_event_import(second, &handle, &imported));
    assert_ok(rnl_enqueue_wait_event(there, imported));
    assert_status(rnl_stream_query(there), RNL_NOT_READY);
    assert_int_equal(write(to, "x", 1), 1);
    assert_ok(rnl_stream_synchronize(there, RNL_FOREVER));
    fake_finish(child, to);
    assert_ok(rnl_event_release(imported));
    assert_ok(rnl_stream_release(there));
    assert_ok(rnl_context_release(second));
    fake_expect_empty();
}

// --- Calls that come late ----------------------------------------------------

RNL_TEST(a_shared_event_that_is_gone_takes_no_late_calls)
{
    begin();
    struct event *found = (struct event *)object_find(event, OBJECT_EVENT);
    struct stream *on = (struct stream *)object_find(stream, OBJECT_STREAM);
    assert_ok(rnl_event_release(event));
    event = NULL;
    assert_status(found->backend->event_record(found, on),
                  RNL_ERROR_INVALID_HANDLE);
    assert_status(found->backend->event_join(on, found),
                  RNL_ERROR_INVALID_HANDLE);
    assert_status(found->backend->event_query(found),
                  RNL_ERROR_INVALID_HANDLE);
    end();
}

RNL_TEST(a_stream_that_is_gone_waits_for_no_shared_event)
{
    begin();
    struct event *found = (struct event *)object_find(event, OBJECT_EVENT);
    struct stream *gone = (struct stream *)object_find(other, OBJECT_STREAM);
    shut();
    record();
    assert_ok(rnl_stream_release(other));
    other = NULL;
    assert_status(found->backend->event_join(gone, found),
                  RNL_ERROR_INVALID_HANDLE);
    let_on();
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    end();
}
