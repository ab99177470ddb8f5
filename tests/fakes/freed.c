// Memory that goes before the work that uses it, and streams that others
// capture meanwhile.
#include "core/object/buffer_object.h"
#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/object/release.h"

#include "shut.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

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
    assert_ok(rnl_enqueue_host_function(shut.other, fake_see, &seen));
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
    shut_expect_empty();
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

// --- Mappings ----------------------------------------------------------------

static void *try_to_map(void *argument)
{
    const struct shut *shut = argument;
    void *pointer = NULL;
    assert_status(rnl_buffer_map_and_wait(shut->other, shut->word,
                                          RNL_MAP_READ_WRITE, &pointer),
                  RNL_ERROR_INVALID_STATE);
    assert_status(rnl_buffer_unmap_and_wait(shut->other, shut->word),
                  RNL_ERROR_INVALID_STATE);
    return NULL;
}

static void map_meanwhile(void *shut)
{
    run_in_another_thread(try_to_map, shut);
}

// While it begins and while it ends, when the host's copy goes.
RNL_TEST(a_mapping_is_one_threads_until_it_has_ended)
{
    struct shut shut;
    void *pointer = NULL;
    shut_open(&shut);
    assert_ok(rnl_enqueue_write_value32(shut.other, shut.word, 0, 1));
    fake_meet("cuMemcpyAsync", map_meanwhile, &shut);
    assert_ok(rnl_buffer_map_and_wait(shut.stream, shut.word,
                                      RNL_MAP_READ_WRITE, &pointer));
    fake_meet("cuMemcpyAsync", map_meanwhile, &shut);
    size_t copies = fake_calls("cuMemcpyAsync");
    assert_ok(rnl_buffer_unmap_and_wait(shut.stream, shut.word));
    assert_int_equal(fake_calls("cuMemcpyAsync"), copies + 1);
    assert_ok(rnl_buffer_map_and_wait(shut.stream, shut.word, RNL_MAP_READ,
                                      &pointer));
    assert_ok(rnl_buffer_unmap_and_wait(shut.stream, shut.word));
    assert_ok(rnl_buffer_release(shut.buffer));
    shut_close(&shut);
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

// Work that is pending on the stream may use what it was to get.
RNL_TEST(a_create_that_fails_late_leaves_memory_to_its_stream)
{
    struct shut shut;
    rnl_buffer buffer = NULL;
    rnl_buffer_info was = {.struct_size = sizeof was}, info = was;
    assert_ok(rnl_allocator_set(
        RNL_ALLOCATOR(.allocate = give_memory, .release = take_memory)));
    shut_open(&shut);
    assert_ok(rnl_buffer_get_info(shut.buffer, &was));
    assert_ok(rnl_buffer_release(shut.buffer));
    allocations_left = 0;
    rnl_status status = rnl_enqueue_buffer_create(
        shut.stream, 4096, RNL_BUFFER_OPTIONS(.label = "of no use"), &buffer);
    allocations_left = -1;
    assert_int_equal(status, RNL_ERROR_OUT_OF_MEMORY);
    assert_ok(rnl_buffer_create(shut.context, 4096, NULL, &buffer));
    assert_ok(rnl_buffer_get_info(buffer, &info));
    assert_ptr_not_equal(info.device_address, was.device_address);
    assert_ok(rnl_buffer_release(buffer));
    shut_close(&shut);
}

static char deleter_thread[16];
static atomic_bool deleted;

static void note_thread(void *pointer, size_t size, void *unused)
{
    (void)pointer;
    (void)size;
    (void)unused;
    pthread_getname_np(pthread_self(), deleter_thread, sizeof deleter_thread);
    atomic_store(&deleted, true);
}

// The service, which gives other streams their turn, calls none.
RNL_TEST(deleters_of_work_that_is_left_out_are_the_reapers)
{
    struct shut shut;
    rnl_event promise, behind;
    rnl_buffer wrapped;
    rnl_buffer_info info = {.struct_size = sizeof info};
    shut_open(&shut);
    assert_ok(rnl_buffer_get_info(shut.buffer, &info));
    assert_ok(rnl_buffer_wrap(shut.context, info.device_address, 4096,
                              RNL_WRAP_OPTIONS(.deleter = note_thread),
                              &wrapped));
    assert_ok(rnl_event_create(shut.context,
                               RNL_EVENT_OPTIONS(.promise = true), &promise));
    assert_ok(rnl_event_create(shut.context, NULL, &behind));
    assert_ok(rnl_enqueue_wait_event(shut.other, promise));
    assert_ok(rnl_enqueue_event_record(shut.other, behind));
    rnl_stream third;
    assert_ok(rnl_stream_create(shut.context, NULL, &third));
    assert_ok(rnl_enqueue_wait_event(third, behind));
    assert_ok(rnl_enqueue_fill(third, wrapped, 0, 64, 7, 4));
    assert_ok(rnl_buffer_release(wrapped));
    assert_ok(rnl_event_release(promise));  // and so it is broken
    while (!atomic_load(&deleted))
        sched_yield();
    assert_string_equal(deleter_thread, "rnl-reaper");
    assert_ok(rnl_event_release(behind));
    assert_ok(rnl_stream_release(third));
    assert_ok(rnl_stream_release(shut.other));
    assert_ok(rnl_stream_create(shut.context, NULL, &shut.other));
    assert_ok(rnl_buffer_release(shut.buffer));
    shut_close(&shut);
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

// --- What the driver takes in part ------------------------------------------

// Eight bytes are two columns to the driver.
RNL_TEST(what_the_driver_takes_in_part_is_kept_and_fails)
{
    struct shut shut;
    rnl_buffer buffer;
    shut_open(&shut);
    assert_ok(rnl_buffer_create(shut.context, 4096,
                                RNL_BUFFER_OPTIONS(.kind = RNL_MEMORY_HOST),
                                &buffer));
    struct object *object = object_find(buffer, OBJECT_BUFFER);
    fake_fail("cuMemsetD2D32Async", 2, 1, 0);
    assert_ok(rnl_enqueue_fill(shut.stream, buffer, 0, 4096,
                               UINT64_C(0x100000002), 8));
    assert_ok(rnl_buffer_release(buffer));
    assert_int_equal(object_references(object), 1);
    assert_true(rnl_enqueue_fill(shut.stream, shut.buffer, 0, 8, 0, 4) !=
                RNL_OK);
    assert_ok(rnl_enqueue_write_value32(shut.other, shut.word, 0, 1));
    assert_true(rnl_stream_synchronize(shut.stream, RNL_FOREVER) != RNL_OK);
    while (object_references(object) > 0)
        sched_yield();
    assert_ok(rnl_stream_reset_and_wait(shut.stream));
    assert_ok(rnl_buffer_release(shut.buffer));
    shut_close(&shut);
}

// It was checked just before the first release, and is one of another thread.
RNL_TEST(a_second_release_that_comes_late_is_not_the_next_buffers)
{
    rnl_context context;
    rnl_stream stream;
    rnl_buffer gone, next;
    fake_load();
    assert_ok(rnl_context_open("cuda", 0, NULL, &context));
    assert_ok(rnl_context_default_stream(context, &stream));
    assert_ok(rnl_buffer_create(context, 64, NULL, &gone));
    struct object *object = object_find(gone, OBJECT_BUFFER);
    assert_ok(rnl_enqueue_fill(stream, gone, 0, 64, 1, 4));
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_ok(rnl_buffer_release(gone));
    assert_ok(rnl_buffer_create(context, 64, NULL, &next));
    assert_ptr_equal(object_find(next, OBJECT_BUFFER), object);
    atomic_store(&object->handle, (uint64_t)(uintptr_t)gone);
    assert_status(rnl_buffer_release(gone), RNL_ERROR_INVALID_HANDLE);
    atomic_store(&object->handle, (uint64_t)(uintptr_t)next);
    assert_int_equal(((struct buffer *)object)->release_point, 0);
    assert_ok(rnl_buffer_release(next));
    assert_ok(rnl_context_release(context));
    fake_expect_empty();
}

// What others enqueue before they give up theirs comes before the release.
RNL_TEST(a_release_is_noted_with_the_last_reference)
{
    rnl_context context;
    rnl_stream stream;
    rnl_buffer buffer;
    fake_load();
    assert_ok(rnl_context_open("cuda", 0, NULL, &context));
    assert_ok(rnl_context_default_stream(context, &stream));
    assert_ok(rnl_buffer_create(context, 64, NULL, &buffer));
    struct buffer *object =
        (struct buffer *)object_find(buffer, OBJECT_BUFFER);
    assert_ok(rnl_buffer_retain(buffer));
    assert_ok(rnl_enqueue_fill(stream, buffer, 0, 64, 1, 4));
    assert_ok(rnl_buffer_release(buffer));
    assert_int_equal(object->release_point, 0);
    assert_ok(rnl_buffer_release(buffer));
    assert_true(object->release_point > 0);
    assert_ok(rnl_context_release(context));
    fake_expect_empty();
}
