// Work on the driver: what it is told, and what becomes of failures.
#include "core/backend.h"
#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/object/release.h"

#include "backends/cudalike/timeline/gpu_stream.h"

#include "loaded.h"

#include <pthread.h>
#include <semaphore.h>
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
    rnl_buffer word;
    rnl_stream other;
    idle_open(RNL_STREAM_NON_BLOCKING, false);
    assert_ok(rnl_stream_create(idle_context, NULL, &other));
    assert_ok(rnl_buffer_create(idle_context, 4,
                                RNL_BUFFER_OPTIONS(.zeroed = true), &word));
    expect_records(0);
    assert_ok(rnl_enqueue_wait_value32(idle_stream, word, 0, 1, RNL_WAIT_EQ));
    size_t before = fake_calls("cuEventRecord");
    assert_ok(rnl_enqueue_event_record(idle_stream, idle_event));
    assert_int_equal(fake_calls("cuEventRecord"), before + 1);
    assert_ok(rnl_enqueue_write_value32(other, word, 0, 1));
    expect_records(0);
    assert_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    assert_ok(rnl_buffer_release(word));
    assert_ok(rnl_stream_release(other));
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

// --- Without memory ----------------------------------------------------------

static _Thread_local size_t allocations_left = SIZE_MAX;

static void *allocate(size_t size, size_t alignment, void *user_data)
{
    (void)user_data;
    if (allocations_left == 0)
        return NULL;
    allocations_left--;
    return aligned_alloc(alignment,
                         (size + alignment - 1) / alignment * alignment);
}

static void release(void *memory, size_t size, void *user_data)
{
    (void)size;
    (void)user_data;
    free(memory);
}

static struct stream *counting_open(void)
{
    assert_ok(rnl_allocator_set(
        RNL_ALLOCATOR(.allocate = allocate, .release = release)));
    idle_open(0, false);
    return (struct stream *)object_find(idle_stream, OBJECT_STREAM);
}

// The driver may refuse it when its turn comes.
RNL_TEST(what_is_held_may_fail_after_its_call)
{
    static struct fake_gate gate;
    rnl_status status = RNL_ERROR_OUT_OF_MEMORY;
    rnl_buffer buffer;
    struct stream *stream = counting_open();
    assert_ok(rnl_buffer_create(idle_context, 64, NULL, &buffer));
    assert_ok(rnl_enqueue_host_function(idle_stream, fake_hold, &gate));
    for (size_t i = 0; status == RNL_ERROR_OUT_OF_MEMORY; i++) {
        assert_false(timeline_may_fail(timeline_of(gpu_stream_of(stream))));
        allocations_left = i;
        status = rnl_enqueue_fill(idle_stream, buffer, 0, 64, 1, 4);
        allocations_left = SIZE_MAX;
    }
    assert_ok(status);
    assert_true(timeline_may_fail(timeline_of(gpu_stream_of(stream))));
    atomic_store(&gate.open, 1);
    assert_ok(rnl_stream_synchronize(idle_stream, RNL_FOREVER));
    assert_ok(rnl_buffer_release(buffer));
    idle_close();
}

// Whether other references are left makes no difference.
static void refuse_a_release(uint32_t others)
{
    static struct fake_gate gate;
    rnl_status status = RNL_ERROR_OUT_OF_MEMORY;
    rnl_buffer buffer;
    counting_open();
    atomic_store(&gate.open, 0);
    assert_ok(rnl_buffer_create(idle_context, 64, NULL, &buffer));
    for (uint32_t i = 0; i < others; i++)
        assert_ok(rnl_buffer_retain(buffer));
    assert_ok(rnl_enqueue_host_function(idle_stream, fake_hold, &gate));
    size_t refused = 0;
    for (; status == RNL_ERROR_OUT_OF_MEMORY; refused++) {
        allocations_left = refused;
        status = rnl_enqueue_buffer_release(idle_stream, buffer);
        allocations_left = SIZE_MAX;
    }
    assert_ok(status);
    assert_true(refused > 1);
    for (uint32_t i = 0; i < others; i++)
        assert_ok(rnl_buffer_release(buffer));
    assert_status(rnl_buffer_release(buffer), RNL_ERROR_INVALID_HANDLE);
    atomic_store(&gate.open, 1);
    assert_ok(rnl_stream_synchronize(idle_stream, RNL_FOREVER));
    idle_close();
}

RNL_TEST(a_release_that_is_refused_leaves_the_handle)
{
    refuse_a_release(0);
}

RNL_TEST(a_release_that_is_refused_leaves_one_of_two)
{
    refuse_a_release(1);
}

// --- Events for others -------------------------------------------------------

static struct driver driver;  // the fake's, but for one function
static driver_event_create_fn *event_create;
static struct object *released;

// As another thread may do meanwhile.
static int release_and_create(void **out_event, unsigned flags)
{
    released = object_find(idle_event, OBJECT_EVENT);
    assert_ok(rnl_event_release(idle_event));
    assert_int_equal(object_references(released), 1);
    idle_event = NULL;
    return event_create(out_event, flags);
}

// It was recorded behind what is done, so the driver has none for it yet.
RNL_TEST(an_event_is_kept_while_the_driver_makes_one_for_it)
{
    void *native;
    idle_open(RNL_STREAM_NON_BLOCKING, false);
    struct stream *stream =
        (struct stream *)object_find(idle_stream, OBJECT_STREAM);
    struct gpu_context *gpu = gpu_of(stream_context(stream));
    assert_ok(rnl_enqueue_event_record(idle_stream, idle_event));
    driver = *gpu->driver;
    event_create = driver.call.event_create;
    driver.call.event_create = release_and_create;
    gpu->driver = &driver;
    assert_ok(rnl_event_native(idle_event, &native));
    assert_non_null(released);
    assert_int_equal(object_references(released), 0);
    idle_close();
}

// --- Copies of ordinary memory -----------------------------------------------

// The library's threads do it, or the caller who waits for it.
static rnl_status copy_back(char *memory, rnl_buffer buffer, bool awaited)
{
    if (awaited)
        return rnl_copy_from_buffer_and_wait(idle_stream, memory, buffer, 0,
                                             SIZE);
    assert_ok(rnl_enqueue_copy_from_buffer(idle_stream, memory, buffer, 0,
                                           SIZE));
    return rnl_stream_synchronize(idle_stream, RNL_FOREVER);
}

static void fail_a_record(bool awaited)
{
    rnl_buffer buffer;
    char *memory = calloc(1, SIZE);
    idle_open(RNL_STREAM_NON_BLOCKING, false);
    assert_ok(rnl_buffer_create(idle_context, SIZE, NULL, &buffer));
    assert_ok(rnl_stream_synchronize(idle_stream, RNL_FOREVER));
    size_t before = fake_calls("cuStreamSynchronize");
    fake_fail("cuEventRecord", 1, 1, 1);
    assert_true(copy_back(memory, buffer, awaited) != RNL_OK);
    fake_fail("cuEventRecord", 0, 0, 0);
    assert_true(fake_calls("cuStreamSynchronize") > before);
    assert_ok(rnl_stream_reset_and_wait(idle_stream));
    assert_ok(copy_back(memory, buffer, awaited));
    assert_ok(rnl_buffer_release(buffer));
    free(memory);
    idle_close();
}

// The next copy has the same page-locked memory.
RNL_TEST(a_copy_that_fails_is_over_before_its_lane_is_used_again)
{
    fail_a_record(false);
}

RNL_TEST(a_copy_waited_for_that_fails_is_over_before_its_lane_is_used_again)
{
    fail_a_record(true);
}

static bool has_only(const char *memory, char value)
{
    return memory[0] == value && memcmp(memory, memory + 1, SIZE - 1) == 0;
}

static void refuse_a_copy(bool awaited)
{
    rnl_buffer buffer;
    char *memory = malloc(SIZE);
    assert_non_null(memory);
    idle_open(0, false);
    assert_ok(rnl_buffer_create(idle_context, SIZE, NULL, &buffer));
    memset(memory, 1, SIZE);
    assert_ok(rnl_copy_to_buffer_and_wait(idle_stream, buffer, 0, memory,
                                          SIZE));
    memset(memory, 2, SIZE);
    fake_fail("cuMemcpyAsync", 1, 2, 1);
    assert_status(copy_back(memory, buffer, awaited),
                  RNL_ERROR_OUT_OF_MEMORY);
    fake_fail("cuMemcpyAsync", 0, 0, 0);
    assert_true(has_only(memory, 2));
    assert_ok(rnl_stream_reset_and_wait(idle_stream));
    assert_ok(rnl_buffer_release(buffer));
    free(memory);
    idle_close();
}

// Nor does what an earlier copy left in the page-locked memory arrive.
RNL_TEST(of_a_refused_copy_nothing_arrives)
{
    refuse_a_copy(false);
}

RNL_TEST(of_a_refused_copy_that_is_waited_for_nothing_arrives)
{
    refuse_a_copy(true);
}

// --- What kernels print ------------------------------------------------------

// The driver brings it to standard output where it waits itself.
static size_t waits_behind(const char *source, const char *kernel)
{
    rnl_function function;
    const char *reason;
    idle_open(0, false);
    if (rnl_context_supports(idle_context, RNL_FEATURE_COMPILE, &reason))
        test_skip("%s", reason);
    assert_ok(rnl_function_compile(idle_context, source, kernel, NULL,
                                   &function));
    size_t before = fake_calls("cuStreamSynchronize");
    assert_ok(rnl_enqueue_function(idle_stream, function,
                                   RNL_LAUNCH(.grid = {1}, .block = {1}),
                                   RNL_NO_ARGS));
    assert_ok(rnl_stream_synchronize(idle_stream, RNL_FOREVER));
    assert_int_equal(rnl_stream_query(idle_stream), RNL_OK);
    size_t count = fake_calls("cuStreamSynchronize") - before;
    assert_ok(rnl_function_release(function));
    idle_close();
    return count;
}

RNL_TEST(who_waits_has_the_driver_show_what_kernels_printed)
{
    assert_int_equal(waits_behind("extern \"C\" __global__ void "
                                  "calls_vprintf() {}", "calls_vprintf"), 1);
}

RNL_TEST(the_driver_does_not_wait_where_no_kernel_prints)
{
    assert_int_equal(waits_behind("extern \"C\" __global__ void empty() {}",
                                  "empty"), 0);
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
