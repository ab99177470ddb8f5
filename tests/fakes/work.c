// Work on the driver: what it is told, and what becomes of failures.
#include "core/backend.h"
#include "core/object.h"

#include "backends/cudalike/doubt.h"
#include "backends/cudalike/held.h"

#include "loaded.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
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

// --- Records of what is done -------------------------------------------------

static rnl_context idle_context;
static rnl_stream idle_stream;
static rnl_event idle_event;

static void idle_open(rnl_stream_flags flags, bool timing)
{
    fake_load();
    assert_ok(rnl_context_open("cuda", 0, NULL, &idle_context));
    assert_ok(rnl_stream_create(idle_context,
                                RNL_STREAM_OPTIONS(.flags = flags),
                                &idle_stream));
    assert_ok(rnl_event_create(idle_context,
                               RNL_EVENT_OPTIONS(.timing = timing),
                               &idle_event));
}

static void idle_close(void)
{
    assert_ok(rnl_event_release(idle_event));
    assert_ok(rnl_stream_release(idle_stream));
    assert_ok(rnl_context_release(idle_context));
    fake_expect_empty();
}

static void expect_records(size_t count)
{
    size_t before = fake_calls("cuEventRecord");
    assert_ok(rnl_stream_synchronize(idle_stream, RNL_FOREVER));
    assert_ok(rnl_enqueue_event_record(idle_stream, idle_event));
    assert_int_equal(fake_calls("cuEventRecord"), before + count);
    assert_ok(rnl_event_synchronize(idle_event, RNL_FOREVER));
}

RNL_TEST(the_driver_need_not_record_what_is_done)
{
    rnl_buffer buffer;
    idle_open(RNL_STREAM_NON_BLOCKING, false);
    assert_ok(rnl_buffer_create(idle_context, 64, NULL, &buffer));
    expect_records(0);
    assert_ok(rnl_enqueue_fill(idle_stream, buffer, 0, 64, 1, 4));
    size_t before = fake_calls("cuEventRecord");
    assert_ok(rnl_enqueue_event_record(idle_stream, idle_event));
    assert_int_equal(fake_calls("cuEventRecord"), before + 1);
    expect_records(0);
    assert_ok(rnl_buffer_release(buffer));
    idle_close();
}

RNL_TEST(a_blocking_stream_may_wait_for_what_others_did)
{
    idle_open(0, false);
    expect_records(1);
    idle_close();
}

RNL_TEST(the_driver_tells_the_time)
{
    idle_open(RNL_STREAM_NON_BLOCKING, true);
    expect_records(1);
    idle_close();
}

RNL_TEST(others_may_have_given_a_native_stream_work)
{
    void *native;
    idle_open(RNL_STREAM_NON_BLOCKING, false);
    expect_records(0);
    assert_ok(rnl_stream_native(idle_stream, &native));
    expect_records(1);
    idle_close();
}

RNL_TEST(an_event_behind_done_work_tells_of_a_lost_device)
{
    idle_open(RNL_STREAM_NON_BLOCKING, false);
    expect_records(0);
    fake_break(0, 700);
    size_t bytes;
    assert_true(rnl_context_memory(idle_context, &bytes, &bytes) != RNL_OK);
    assert_int_equal(rnl_event_query(idle_event), RNL_ERROR_DEVICE_LOST);
    assert_true(rnl_enqueue_event_record(idle_stream, idle_event) != RNL_OK);
    assert_ok(rnl_event_release(idle_event));
    assert_ok(rnl_stream_release(idle_stream));
    assert_ok(rnl_context_release(idle_context));
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
        assert_ok(rnl_enqueue_host_function(streams[i], fake_see,
                                            &late->seen[i]));
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

// --- Copies of ordinary memory -----------------------------------------------

// The next copy has the same page-locked memory.
RNL_TEST(a_copy_that_fails_is_over_before_its_lane_is_used_again)
{
    rnl_buffer buffer;
    char *memory = calloc(1, SIZE);
    idle_open(0, false);
    assert_ok(rnl_buffer_create(idle_context, SIZE, NULL, &buffer));
    assert_ok(rnl_stream_synchronize(idle_stream, RNL_FOREVER));
    size_t before = fake_calls("cuStreamSynchronize");
    fake_fail("cuEventRecord", 1, 1, 1);
    assert_true(rnl_copy_from_buffer_and_wait(idle_stream, memory, buffer, 0,
                                              SIZE) != RNL_OK);
    fake_fail("cuEventRecord", 0, 0, 0);
    assert_true(fake_calls("cuStreamSynchronize") > before);
    assert_ok(rnl_stream_reset_and_wait(idle_stream));
    assert_ok(rnl_copy_from_buffer_and_wait(idle_stream, memory, buffer, 0,
                                            SIZE));
    assert_ok(rnl_buffer_release(buffer));
    free(memory);
    idle_close();
}

// --- Handles that die in use -------------------------------------------------

static struct fake_gate gate;

// What a thread that found the event before another one released it still
// calls: it meets one that was never recorded. What it leaves there goes with
// the context, …
RNL_TEST(an_event_that_is_gone_takes_late_calls)
{
    idle_open(0, false);
    struct event *event =
        (struct event *)object_find(idle_event, OBJECT_EVENT);
    struct stream *stream =
        (struct stream *)object_find(idle_stream, OBJECT_STREAM);
    assert_ok(rnl_enqueue_host_function(idle_stream, fake_hold, &gate));
    assert_ok(rnl_enqueue_event_record(idle_stream, idle_event));
    assert_ok(rnl_enqueue_event_record(idle_stream, idle_event));
    assert_ok(rnl_event_release(idle_event));
    assert_ok(event->backend->event_query(event));
    assert_ok(event->backend->event_join(stream, event));
    assert_ok(event->backend->event_record(event, stream));
    assert_ok(event->backend->event_record(event, stream));
    assert_int_equal(event->backend->event_query(event), RNL_NOT_READY);
    atomic_store(&gate.open, 1);
    assert_ok(rnl_stream_synchronize(idle_stream, RNL_FOREVER));
    assert_ok(rnl_event_create(idle_context, NULL, &idle_event));
    idle_close();
}

// … or before the event's memory is another event's.
RNL_TEST(what_a_late_record_left_is_not_the_next_events)
{
    idle_open(0, false);
    struct object *event = object_find(idle_event, OBJECT_EVENT);
    struct stream *stream =
        (struct stream *)object_find(idle_stream, OBJECT_STREAM);
    assert_ok(rnl_enqueue_host_function(idle_stream, fake_hold, &gate));
    assert_ok(rnl_event_release(idle_event));
    assert_ok(stream->backend->event_record((struct event *)event, stream));
    for (int i = 0;; i++) {
        assert_true(i < 1000);
        assert_ok(rnl_event_create(idle_context, NULL, &idle_event));
        if (object_find(idle_event, OBJECT_EVENT) == event)
            break;
        assert_ok(rnl_event_release(idle_event));
    }
    assert_ok(rnl_event_query(idle_event));
    atomic_store(&gate.open, 1);
    assert_ok(rnl_stream_synchronize(idle_stream, RNL_FOREVER));
    idle_close();
}

static void record_often(void)
{
    for (int i = 0; i < 3; i++)
        assert_ok(rnl_enqueue_event_record(idle_stream, idle_event));
    assert_ok(rnl_stream_synchronize(idle_stream, RNL_FOREVER));
}

static bool has_spare(struct stream *stream)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    lock_take(&own->lock);
    bool has = own->spares[false] != NULL;
    lock_give(&own->lock);
    return has;
}

static void await_end(struct object *object, uint32_t generation)
{
    while (atomic_load(&object->generation) == generation)
        sched_yield();
}

// The service lets go of it when it has looked for the last time.
static void release_and_await_end(struct object *stream)
{
    uint32_t generation = atomic_load(&stream->generation);
    assert_ok(rnl_stream_release(idle_stream));
    await_end(stream, generation);
}

// What the driver records with is the next stream's by then.
RNL_TEST(a_stream_that_is_gone_refuses_late_records)
{
    rnl_event other;
    void *first, *second;
    idle_open(0, false);
    struct stream *stream =
        (struct stream *)object_find(idle_stream, OBJECT_STREAM);
    struct event *event =
        (struct event *)object_find(idle_event, OBJECT_EVENT);
    record_often();
    assert_true(has_spare(stream));
    release_and_await_end(&stream->object);
    assert_false(has_spare(stream));
    assert_int_equal(event->backend->event_record(event, stream),
                     RNL_ERROR_INVALID_HANDLE);
    assert_int_equal(atomic_load(&stream->object.references), 0);
    assert_ok(rnl_stream_create(idle_context, NULL, &idle_stream));
    assert_ok(rnl_event_create(idle_context, NULL, &other));
    assert_ok(rnl_enqueue_event_record(idle_stream, other));
    assert_ok(rnl_event_native(idle_event, &first));
    assert_ok(rnl_event_native(other, &second));
    assert_ptr_not_equal(first, second);
    assert_ok(rnl_event_release(other));
    idle_close();
}

static struct stream *open_gone(void)
{
    idle_open(0, false);
    struct stream *stream =
        (struct stream *)object_find(idle_stream, OBJECT_STREAM);
    release_and_await_end(&stream->object);
    assert_ok(rnl_stream_create(idle_context, NULL, &idle_stream));
    return stream;
}

static void expect_untouched(struct stream *gone)
{
    assert_int_equal(atomic_load(&gone->object.references), 0);
    assert_null(atomic_load(&gpu_stream_of(gone)->doubt));
    assert_null(atomic_load(&gone->failure));
}

RNL_TEST(a_stream_that_is_gone_waits_for_no_promise)
{
    rnl_event promise;
    struct stream *gone = open_gone();
    assert_ok(rnl_event_create(idle_context,
                               RNL_EVENT_OPTIONS(.promise = true), &promise));
    assert_int_equal(
        gone->backend->event_join(
            gone, (struct event *)object_find(promise, OBJECT_EVENT)),
        RNL_ERROR_INVALID_HANDLE);
    expect_untouched(gone);
    assert_ok(rnl_event_release(promise));
    idle_close();
}

RNL_TEST(a_stream_that_is_gone_is_told_of_no_failures)
{
    rnl_buffer buffer;
    static char memory[SIZE];
    struct stream *gone = open_gone();
    struct event *event =
        (struct event *)object_find(idle_event, OBJECT_EVENT);
    assert_ok(rnl_buffer_create(idle_context, SIZE, NULL, &buffer));
    assert_ok(rnl_enqueue_host_function(idle_stream, fake_hold, &gate));
    assert_ok(rnl_enqueue_copy_to_buffer(idle_stream, buffer, 0, memory,
                                         SIZE));
    assert_ok(rnl_enqueue_event_record(idle_stream, idle_event));
    assert_int_equal(gpu_event_follow(event, gone, 1), 0);
    expect_untouched(gone);
    fake_fail("cuMemcpyAsync", 1, 2, 1);
    atomic_store(&gate.open, 1);
    assert_true(rnl_stream_synchronize(idle_stream, RNL_FOREVER) != RNL_OK);
    fake_fail("cuMemcpyAsync", 0, 0, 0);
    assert_int_equal(gone->backend->event_join(gone, event),
                     RNL_ERROR_INVALID_HANDLE);
    expect_untouched(gone);
    assert_ok(rnl_stream_reset_and_wait(idle_stream));
    assert_ok(rnl_buffer_release(buffer));
    idle_close();
}

// The driver's stream may be another one by then.
RNL_TEST(a_stream_that_is_gone_is_not_waited_for)
{
    void *native;
    idle_open(0, false);
    struct stream *gone =
        (struct stream *)object_find(idle_stream, OBJECT_STREAM);
    assert_ok(rnl_stream_native(idle_stream, &native));
    release_and_await_end(&gone->object);
    assert_ok(rnl_stream_create(idle_context, NULL, &idle_stream));
    size_t before = fake_calls("*");
    assert_int_equal(
        gone->backend->stream_join(
            (struct stream *)object_find(idle_stream, OBJECT_STREAM), gone),
        RNL_ERROR_INVALID_HANDLE);
    assert_int_equal(fake_calls("*"), before);
    idle_close();
}

// Others look at the promise before those who wait for it were told.
RNL_TEST(a_stream_that_is_gone_need_not_give_its_record)
{
    idle_open(0, false);
    struct stream *stream =
        (struct stream *)object_find(idle_stream, OBJECT_STREAM);
    struct marker *marker = marker_take(stream_context(stream), false);
    marker_promise(marker);
    struct op *record = held_marker_op(stream, OP_STAMP, marker);
    held_marker_over(record, true);
    op_finish(record);
    release_and_await_end(&stream->object);
    uint32_t generation = atomic_load(&stream->object.generation);
    marker_give(marker);
    assert_int_equal(atomic_load(&stream->object.generation), generation);
    marker_let_go(marker, NULL);
    assert_ok(rnl_stream_create(idle_context, NULL, &idle_stream));
    marker_drop(stream_context(stream), marker);
    idle_close();
}

static char called[3];

static void hold_and_note(rnl_status status, void *name)
{
    fake_hold(status, &gate);
    called[strlen(called)] = *(const char *)name;
}

static struct op *held_function(struct stream *stream, const char *name)
{
    struct op *op = op_create(stream, OP_HOST, 0);
    op->host.function = hold_and_note;
    op->host.user_data = (void *)name;
    return op;
}

// Something that the driver is not asked for, and two functions that it
// refuses, which are called here, where no thread is to be had.
static void *submit_refused(void *opaque)
{
    struct stream *stream = opaque;
    struct op *first = op_create(stream, OP_RELEASE, 0);
    first->next = held_function(stream, "a");
    first->next->next = held_function(stream, "b");
    assert_ok(stream->backend->stream_submit(stream, first));
    return NULL;
}

static bool is_listed(struct stream *stream)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    lock_take(&own->lock);
    bool is = own->listed;
    lock_give(&own->lock);
    return is;
}

RNL_TEST(a_stream_lives_until_refused_functions_were_called)
{
    pthread_t thread;
    idle_open(0, false);
    struct stream *stream =
        (struct stream *)object_find(idle_stream, OBJECT_STREAM);
    assert_ok(rnl_enqueue_event_record(idle_stream, idle_event));
    thread_fail_next(0, 1000);
    fake_fail("cuMemHostAlloc", 1, 2, 1);
    assert_int_equal(pthread_create(&thread, NULL, submit_refused, stream), 0);
    fake_await_entered(&gate);
    assert_ok(rnl_stream_release(idle_stream));
    while (is_listed(stream) ||
           atomic_load(&stream->object.references) > 2)
        sched_yield();
    assert_int_equal(atomic_load(&stream->object.references), 2);
    atomic_store(&gate.open, 1);
    pthread_join(thread, NULL);
    assert_string_equal(called, "ab");
    assert_int_equal(atomic_load(&stream->object.references), 0);
    thread_fail_next(0, 0);
    fake_fail("cuMemHostAlloc", 0, 0, 0);
    assert_ok(rnl_stream_create(idle_context, NULL, &idle_stream));
    idle_close();
}

// --- Contexts that end in use ------------------------------------------------

static sem_t inside, go_on;
static _Thread_local bool stops;  // at its next allocation

static void *allocate(size_t size, size_t alignment, void *user_data)
{
    (void)user_data;
    if (stops) {
        stops = false;
        sem_post(&inside);
        sem_wait(&go_on);
    }
    return aligned_alloc(alignment,
                         (size + alignment - 1) / alignment * alignment);
}

static void release(void *memory, size_t size, void *user_data)
{
    (void)size, (void)user_data;
    free(memory);
}

static void *wait_stopping(void *event)
{
    rnl_stream_query(idle_stream);  // what a thread's first call allocates
    stops = true;
    assert_ok(rnl_enqueue_wait_event(idle_stream, event));
    return NULL;
}

// The last one to keep it is its default stream.
static void end_context(rnl_context context)
{
    rnl_stream stream;
    assert_ok(rnl_context_default_stream(context, &stream));
    struct object *object = object_find(stream, OBJECT_STREAM);
    uint32_t generation = atomic_load(&object->generation);
    assert_ok(rnl_context_release(context));
    await_end(object, generation);
}

RNL_TEST(a_context_lives_while_another_waits_for_its_event)
{
    rnl_context other;
    rnl_stream stream;
    rnl_event event;
    pthread_t thread;
    assert_ok(rnl_allocator_set(
        RNL_ALLOCATOR(.allocate = allocate, .release = release)));
    sem_init(&inside, 0, 0);
    sem_init(&go_on, 0, 0);
    idle_open(0, false);
    assert_ok(rnl_context_open("cuda", 0, NULL, &other));
    struct object *context = object_find(other, OBJECT_CONTEXT);
    assert_ok(rnl_context_default_stream(other, &stream));
    assert_ok(rnl_enqueue_host_function(stream, fake_hold, &gate));
    assert_ok(rnl_enqueue_event(stream, NULL, &event));
    assert_int_equal(pthread_create(&thread, NULL, wait_stopping, event), 0);
    sem_wait(&inside);
    atomic_store(&gate.open, 1);
    assert_ok(rnl_event_release(event));
    end_context(other);
    while (atomic_load(&context->references) > 1)
        sched_yield();
    assert_int_equal(atomic_load(&context->references), 1);
    sem_post(&go_on);
    pthread_join(thread, NULL);
    assert_ok(rnl_stream_synchronize(idle_stream, RNL_FOREVER));
    idle_close();
}

// --- The current context ----------------------------------------------------

// How often one was made current for a launch, a record and looks at both.
static size_t contexts_set(void)
{
    int sum[1] = {0};
    rnl_module module;
    rnl_function function;
    idle_open(0, false);
    assert_ok(fake_module(idle_context, &module));
    assert_ok(rnl_module_function(module, "add", &function));
    size_t before = 0;
    for (int i = 0; i < 6; i++) {
        if (i == 3)  // the event has its markers
            before = fake_calls("cuCtxSetCurrent");
        assert_ok(rnl_enqueue_function(
            idle_stream, function, RNL_LAUNCH(.grid = {1}, .block = {1}),
            RNL_ARGS((void *)sum, 1, 1)));
        assert_ok(rnl_enqueue_event_record(idle_stream, idle_event));
        assert_ok(rnl_event_synchronize(idle_event, RNL_FOREVER));
        assert_ok(rnl_stream_synchronize(idle_stream, RNL_FOREVER));
    }
    size_t count = fake_calls("cuCtxSetCurrent") - before;
    assert_int_equal(sum[0], 6);
    assert_ok(rnl_function_release(function));
    assert_ok(rnl_module_release(module));
    idle_close();
    return count;
}

RNL_TEST(newer_drivers_know_the_context_by_the_stream)
{
    assert_int_equal(contexts_set(), 0);
}

RNL_TEST(older_drivers_need_the_context_to_be_current)
{
    const char *const environment[] = {"RUNNEL_FAKE_VERSION=12080", NULL};
    if (fake_is_child())
        assert_true(contexts_set() >= 12);
    else
        assert_int_equal(fake_spawn(__func__, environment), 0);
}
