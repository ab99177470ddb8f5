// Work on the driver: what it is told, and what becomes of failures.
#include "core/backend.h"
#include "core/object.h"

#include "loaded.h"

#include <sched.h>
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

// --- Memory that goes before the work that uses it ---------------------------

// Work that waits for a word, on memory of its stream.
struct shut {
    rnl_context context;
    rnl_stream stream, other;
    rnl_buffer word, buffer;
};

static void shut_open(struct shut *shut)
{
    *shut = (struct shut){0};
    fake_load();
    assert_ok(rnl_context_open("cuda", 0,
                               RNL_CONTEXT_OPTIONS(.pool_threshold = 1),
                               &shut->context));
    assert_ok(rnl_stream_create(shut->context, NULL, &shut->stream));
    assert_ok(rnl_stream_create(shut->context, NULL, &shut->other));
    assert_ok(rnl_buffer_create(shut->context, 8,
                                RNL_BUFFER_OPTIONS(.zeroed = true),
                                &shut->word));
    assert_ok(rnl_enqueue_buffer_create(shut->stream, 4096, NULL,
                                        &shut->buffer));
    assert_ok(rnl_enqueue_wait_value32(shut->stream, shut->word, 0, 1,
                                       RNL_WAIT_EQ));
    assert_ok(rnl_enqueue_fill(shut->stream, shut->buffer, 0, 4096, 7, 4));
}

// What has no handle left is never given back by the library itself.
static void expect_driver_empty(void)
{
    struct fake_live live;
    do {
        fake_live(&live);
        sched_yield();
    } while (live.contexts > 0);
    assert_int_equal(live.blocks + live.leaked + live.misuses, 0);
}

static void shut_end(struct shut *shut)
{
    assert_ok(rnl_enqueue_write_value32(shut->other, shut->word, 0, 1));
    assert_ok(rnl_stream_synchronize(shut->stream, RNL_FOREVER));
    assert_ok(rnl_buffer_release(shut->word));
    assert_ok(rnl_stream_release(shut->other));
    assert_ok(rnl_stream_release(shut->stream));
    assert_ok(rnl_context_release(shut->context));
    expect_driver_empty();
}

static void shut_close(struct shut *shut)
{
    shut_end(shut);
    fake_expect_empty();
}

// Asks of the service, whether the stream is captured.
static void await_looks(size_t count)
{
    size_t seen = fake_calls("cuStreamIsCapturing");
    while (fake_calls("cuStreamIsCapturing") < seen + count)
        sched_yield();
}

static void begin_capture(void *native)
{
    fake_capture(native, 1);
    await_looks(2);  // a look that was under way made it invalid
    fake_capture(native, 1);
}

// Neither by the service nor for the pool; the caller is told.
RNL_TEST(a_stream_that_others_capture_is_not_looked_at)
{
    struct shut shut;
    void *native;
    shut_open(&shut);
    assert_ok(rnl_stream_native(shut.stream, &native));
    begin_capture(native);
    assert_ok(rnl_buffer_release(shut.buffer));
    assert_ok(rnl_context_trim(shut.context, 0));
    assert_status(rnl_stream_query(shut.stream),
                  RNL_ERROR_CAPTURE_UNSUPPORTED);
    assert_status(rnl_stream_synchronize(shut.stream, RNL_FOREVER),
                  RNL_ERROR_CAPTURE_UNSUPPORTED);
    assert_status(rnl_enqueue_wait_stream(shut.other, shut.stream),
                  RNL_ERROR_CAPTURE_UNSUPPORTED);
    await_looks(4);
    assert_true(fake_capture(native, 0));
    shut_close(&shut);
}

// Others begin to capture the stream, where no mark was left before.
static void shut_open_captured(struct shut *shut, void **out_native)
{
    fake_load();
    fake_fail("cuEventRecord", 1, 2, 1);
    shut_open(shut);
    assert_ok(rnl_stream_native(shut->stream, out_native));
    assert_ok(rnl_buffer_release(shut->buffer));
    begin_capture(*out_native);
    fake_fail("cuEventRecord", 0, 0, 0);
}

// Nothing of ours becomes part of it.
RNL_TEST(no_marks_are_left_in_captures_of_others)
{
    struct shut shut;
    void *native;
    shut_open_captured(&shut, &native);
    size_t records = fake_calls("cuEventRecord");
    for (int i = 0; i < 4; i++) {
        await_looks(2);
        assert_ok(rnl_enqueue_fill(shut.stream, shut.word, 4, 4, 7, 4));
    }
    assert_int_equal(fake_calls("cuEventRecord"), records);
    assert_true(fake_capture(native, 0));
    shut_close(&shut);
}

static size_t blocks(void)
{
    struct fake_live live;
    fake_live(&live);
    return live.blocks;
}

// One that slipped into a capture is given up: the buffer goes while the stream
// still waits.
RNL_TEST(a_mark_in_a_capture_of_others_is_given_up)
{
    struct shut shut;
    void *native;
    shut_open_captured(&shut, &native);
    fake_fail("cuStreamIsCapturing", 1, 999, 1);
    for (int captures = 1; captures >= 0; captures--) {
        size_t records = fake_calls("cuEventRecord");
        while (fake_calls("cuEventRecord") == records) {
            await_looks(1);
            assert_ok(rnl_enqueue_fill(shut.stream, shut.word, 4, 4, 7, 4));
        }
        if (captures)
            fake_capture(native, 0);
    }
    size_t before = blocks();
    assert_ok(rnl_enqueue_wait_value32(shut.stream, shut.word, 0, 2,
                                       RNL_WAIT_EQ));
    assert_ok(rnl_enqueue_write_value32(shut.other, shut.word, 0, 1));
    while (blocks() == before)
        assert_ok(rnl_context_trim(shut.context, 0));
    assert_ok(rnl_enqueue_write_value32(shut.other, shut.word, 0, 2));
    assert_ok(rnl_stream_synchronize(shut.stream, RNL_FOREVER));
    fake_fail("cuStreamIsCapturing", 0, 0, 0);
    shut_close(&shut);
}

// And in no stream of the user's: that may be full, or captured by others.
RNL_TEST(what_the_pool_does_not_keep_is_freed_behind_the_work)
{
    struct shut shut;
    shut_open(&shut);
    size_t before = fake_calls("cuMemFreeAsync");
    assert_ok(rnl_buffer_release(shut.buffer));
    assert_ok(rnl_context_trim(shut.context, 0));
    assert_int_equal(fake_calls("cuMemFreeAsync"), before);
    assert_ok(rnl_enqueue_write_value32(shut.other, shut.word, 0, 1));
    assert_ok(rnl_stream_synchronize(shut.stream, RNL_FOREVER));
    assert_int_equal(fake_calls("cuMemFreeAsync"), before + 1);
    shut_close(&shut);
}

// Nothing that a full stream holds up is done to free memory.
RNL_TEST(memory_of_a_full_stream_may_be_released)
{
    struct shut shut;
    rnl_buffer words;
    rnl_status seen = RNL_NOT_READY;
    shut_open(&shut);
    assert_ok(rnl_enqueue_buffer_create(shut.stream, 4096, NULL, &words));
    for (int i = 0; i < 1000; i++)
        assert_ok(rnl_enqueue_fill(shut.stream, words, 0, 4, 7, 4));
    for (int i = 0; i < 100; i++) {
        rnl_buffer buffer;
        assert_ok(rnl_enqueue_buffer_create(shut.stream, 8192 + 256 * i, NULL,
                                            &buffer));
        assert_ok(rnl_buffer_release(buffer));
    }
    assert_ok(rnl_buffer_release(shut.buffer));
    assert_ok(rnl_buffer_release(words));
    assert_ok(rnl_enqueue_host_function(shut.other, see, &seen));
    assert_ok(rnl_stream_synchronize(shut.other, RNL_FOREVER));
    assert_int_equal(seen, RNL_OK);
    shut_close(&shut);
}

// Memory that is in use still is not to be had; once it is not, it is.
RNL_TEST(room_that_waits_for_work_is_found_behind_it)
{
    const size_t most = (size_t)3 << 30;
    struct shut shut;
    rnl_buffer large, other = NULL;
    shut_open(&shut);
    assert_ok(rnl_enqueue_buffer_create(shut.stream, most, NULL, &large));
    assert_ok(rnl_buffer_release(large));
    assert_int_equal(rnl_buffer_create(shut.context, most / 2, NULL, &other),
                     RNL_ERROR_OUT_OF_MEMORY);
    assert_ok(rnl_enqueue_write_value32(shut.other, shut.word, 0, 1));
    assert_ok(rnl_stream_synchronize(shut.stream, RNL_FOREVER));
    assert_ok(rnl_buffer_create(shut.context, most / 2, NULL, &other));
    assert_ok(rnl_buffer_release(other));
    assert_ok(rnl_buffer_release(shut.buffer));
    shut_close(&shut);
}

// With or without a handle that the memory might have again.
static void free_without_context(uint32_t generations)
{
    struct shut shut;
    rnl_stream stream;
    rnl_buffer buffer;
    object_set_generations(generations);
    shut_open(&shut);
    assert_ok(rnl_context_default_stream(shut.context, &stream));
    assert_ok(rnl_buffer_create(shut.context, 4096, NULL, &buffer));
    assert_ok(rnl_enqueue_wait_value32(stream, shut.word, 0, 1, RNL_WAIT_EQ));
    assert_ok(rnl_enqueue_fill(stream, buffer, 0, 4096, 7, 4));
    size_t before = fake_calls("cuMemFreeAsync");
    assert_ok(rnl_context_release(shut.context));
    assert_ok(rnl_buffer_release(buffer));
    assert_int_equal(fake_calls("cuMemFreeAsync"), before);
    assert_ok(rnl_enqueue_write_value32(shut.other, shut.word, 0, 1));
    assert_ok(rnl_stream_synchronize(shut.stream, RNL_FOREVER));
    assert_ok(rnl_buffer_release(shut.buffer));
    assert_ok(rnl_buffer_release(shut.word));
    assert_ok(rnl_stream_release(shut.other));
    assert_ok(rnl_stream_release(shut.stream));
    expect_driver_empty();
}

RNL_TEST(memory_of_a_context_that_is_released_is_not_freed_too_early)
{
    free_without_context(OBJECT_GENERATIONS);
}

RNL_TEST(memory_without_a_handle_is_not_freed_too_early)
{
    free_without_context(2);
}

RNL_TEST(memory_without_a_handle_is_not_used_again)
{
    struct shut shut;
    rnl_buffer buffer;
    rnl_buffer_info was = {.struct_size = sizeof was}, info = was;
    object_set_generations(2);
    shut_open(&shut);
    assert_ok(rnl_buffer_get_info(shut.buffer, &was));
    assert_ok(rnl_buffer_release(shut.buffer));
    assert_ok(rnl_enqueue_buffer_create(shut.stream, 4096, NULL, &buffer));
    assert_ok(rnl_buffer_get_info(buffer, &info));
    assert_ptr_not_equal(info.device_address, was.device_address);
    assert_ok(rnl_buffer_release(buffer));
    shut_end(&shut);
}

// --- Graphs that run while they are changed ----------------------------------

static _Thread_local long allocations_left = -1;  // then they fail; -1: never

static void *give_memory(size_t size, size_t alignment, void *unused)
{
    (void)unused;
    void *memory = NULL;
    if (allocations_left == 0)
        return NULL;
    allocations_left -= allocations_left > 0;
    alignment = alignment < 16 ? 16 : alignment;
    return posix_memalign(&memory, alignment, size ? size : 1) ? NULL : memory;
}

static void take_memory(void *memory, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    free(memory);
}

static void capture_fill(rnl_stream stream, rnl_buffer buffer,
                         rnl_graph *out_graph)
{
    assert_ok(rnl_stream_begin_capture(stream, 0));
    assert_ok(rnl_enqueue_fill(stream, buffer, 0, 64, 1, 4));
    assert_ok(rnl_stream_end_capture(stream, out_graph));
}

static void update_without_memory(rnl_graph_exec exec, rnl_graph graph)
{
    rnl_status status = RNL_ERROR_OUT_OF_MEMORY;
    for (long left = 0; status != RNL_OK; left++) {
        assert_int_equal(status, RNL_ERROR_OUT_OF_MEMORY);
        allocations_left = left;
        status = rnl_graph_exec_update(exec, graph, NULL);
        allocations_left = -1;
    }
}

RNL_TEST(what_a_running_graph_uses_is_kept_when_memory_runs_out)
{
    struct shut shut;
    rnl_buffer first, second;
    rnl_graph graph, update;
    rnl_graph_exec exec;
    assert_ok(rnl_allocator_set(
        RNL_ALLOCATOR(.allocate = give_memory, .release = take_memory)));
    shut_open(&shut);
    assert_ok(rnl_buffer_create(shut.context, 4096, NULL, &first));
    assert_ok(rnl_buffer_create(shut.context, 4096, NULL, &second));
    capture_fill(shut.other, first, &graph);
    capture_fill(shut.other, second, &update);
    assert_ok(rnl_graph_instantiate(graph, &exec));
    assert_ok(rnl_graph_release(graph));
    assert_ok(rnl_enqueue_graph(shut.stream, exec));
    assert_ok(rnl_buffer_release(first));
    size_t before = fake_calls("cuMemFreeAsync");
    update_without_memory(exec, update);
    assert_int_equal(fake_calls("cuMemFreeAsync"), before);
    assert_ok(rnl_graph_release(update));
    assert_ok(rnl_graph_exec_release(exec));
    assert_ok(rnl_buffer_release(second));
    assert_ok(rnl_buffer_release(shut.buffer));
    shut_close(&shut);
    assert_ok(rnl_allocator_set(NULL));
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

static atomic_bool open_now;

static void hold(rnl_status status, void *unused)
{
    (void)status;
    (void)unused;
    while (!atomic_load(&open_now))
        sched_yield();
}

// What a thread that found the event before another one released it still
// calls: it neither meets nor leaves anything there.
RNL_TEST(an_event_that_is_gone_takes_late_calls)
{
    idle_open(0, false);
    struct event *event =
        (struct event *)object_find(idle_event, OBJECT_EVENT);
    struct stream *stream =
        (struct stream *)object_find(idle_stream, OBJECT_STREAM);
    assert_ok(rnl_enqueue_host_function(idle_stream, hold, NULL));
    assert_ok(rnl_enqueue_event_record(idle_stream, idle_event));
    assert_ok(rnl_enqueue_event_record(idle_stream, idle_event));
    assert_ok(rnl_event_release(idle_event));
    assert_ok(event->backend->event_query(event));
    assert_ok(event->backend->event_join(stream, event));
    assert_ok(event->backend->event_record(event, stream));
    assert_ok(event->backend->event_record(event, stream));
    assert_ok(event->backend->event_query(event));
    atomic_store(&open_now, true);
    assert_ok(rnl_stream_synchronize(idle_stream, RNL_FOREVER));
    assert_ok(rnl_event_create(idle_context, NULL, &idle_event));
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
