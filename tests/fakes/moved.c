// Memory that another thread releases, or moves to another stream, while work
// with it is on its way to the driver.
#include "shut.h"

#include <runnel/interop.h>

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

static void *release_buffer(void *buffer)
{
    assert_ok(rnl_buffer_release(buffer));
    return NULL;
}

static void release_meanwhile(void *buffer)
{
    run_in_another_thread(release_buffer, buffer);
}

static struct {
    pthread_t thread;
    struct shut *shut;
    _Atomic bool done;
} mover;

static void *move_and_release(void *unused)
{
    (void)unused;
    assert_ok(rnl_buffer_set_release_stream(mover.shut->buffer,
                                            mover.shut->other));
    assert_ok(rnl_buffer_release(mover.shut->buffer));
    atomic_store(&mover.done, true);
    return NULL;
}

// As far as it gets while this thread is inside a call.
static void move_meanwhile(void *shut)
{
    mover.shut = shut;
    assert_int_equal(pthread_create(&mover.thread, NULL, move_and_release,
                                    NULL), 0);
    for (int i = 0; i < 10000 && !atomic_load(&mover.done); i++)
        sched_yield();
}

// The stream looks idle while work that waits for a word of the buffer is on
// its way there. `meanwhile` gives the buffer away from under that.
static void try_wait(void (*meanwhile)(void *), void *subject,
                     struct shut *shut)
{
    rnl_buffer buffer, same;
    rnl_buffer_info was = {.struct_size = sizeof was}, info = was;
    assert_ok(rnl_enqueue_write_value32(shut->other, shut->word, 0, 1));
    assert_ok(rnl_stream_synchronize(shut->stream, RNL_FOREVER));
    assert_ok(rnl_buffer_get_info(shut->buffer, &was));
    fake_meet("cuStreamBatchMemOp", meanwhile, subject);
    assert_ok(rnl_enqueue_wait_value32(shut->stream, shut->buffer, 0, 1,
                                       RNL_WAIT_EQ));
    if (meanwhile == move_meanwhile)
        pthread_join(mover.thread, NULL);
    assert_ok(rnl_enqueue_buffer_create(shut->other, 4096, NULL, &buffer));
    assert_ok(rnl_buffer_get_info(buffer, &info));
    assert_ptr_not_equal(info.device_address, was.device_address);
    assert_ok(rnl_buffer_wrap(shut->context, was.device_address, 4096, NULL,
                              &same));
    assert_ok(rnl_enqueue_write_value32(shut->other, same, 0, 1));
    assert_ok(rnl_stream_synchronize(shut->stream, RNL_FOREVER));
    assert_ok(rnl_buffer_release(same));
    assert_ok(rnl_buffer_release(buffer));
}

RNL_TEST(memory_released_while_work_is_on_its_way_goes_behind_that)
{
    struct shut shut;
    shut_open(&shut);
    try_wait(release_meanwhile, shut.buffer, &shut);
    shut_close(&shut);
}

// The work there has given its hold up.
RNL_TEST(memory_moved_to_another_stream_waits_for_work_on_its_way)
{
    struct shut shut;
    shut_open(&shut);
    try_wait(move_meanwhile, &shut, &shut);
    shut_close(&shut);
}

// Holds the driver's stream up behind the library's back: it looks idle.
static void hold_up(const struct shut *shut)
{
    int (*retain)(void **, int), (*current)(void *), (*release)(int);
    int (*wait)(void *, uint64_t, uint32_t, unsigned);
    void *context, *native;
    void *library = dlopen(getenv("RUNNEL_CUDA"), RTLD_NOW);
    rnl_buffer_info word = {.struct_size = sizeof word};
    *(void **)&retain = dlsym(library, "cuDevicePrimaryCtxRetain");
    *(void **)&current = dlsym(library, "cuCtxSetCurrent");
    *(void **)&wait = dlsym(library, "cuStreamWaitValue32_v2");
    *(void **)&release = dlsym(library, "cuDevicePrimaryCtxRelease_v2");
    assert_ok(rnl_buffer_get_info(shut->word, &word));
    assert_ok(rnl_stream_native(shut->stream, &native));
    assert_int_equal(retain(&context, 0), 0);
    assert_int_equal(current(context), 0);
    assert_int_equal(wait(native, (uintptr_t)word.device_address + 4, 1, 1), 0);
    assert_int_equal(current(NULL), 0);
    assert_int_equal(release(0), 0);
    dlclose(library);
}

// The same where the list has more to come, one after the other.
static void try_list(void (*meanwhile)(void *), void *subject,
                     struct shut *shut)
{
    rnl_buffer buffer, locked;
    rnl_buffer_info was = {.struct_size = sizeof was}, info = was;
    assert_ok(rnl_enqueue_write_value32(shut->other, shut->word, 0, 1));
    assert_ok(rnl_stream_synchronize(shut->stream, RNL_FOREVER));
    assert_ok(rnl_buffer_create(shut->context, 8192,
                                RNL_BUFFER_OPTIONS(.kind = RNL_MEMORY_HOST),
                                &locked));
    assert_ok(rnl_buffer_get_info(shut->buffer, &was));
    hold_up(shut);
    const rnl_copy copies[2] = {
        {.struct_size = sizeof *copies, .from = {.buffer = shut->buffer},
         .to = {.buffer = locked}, .width = 4096},
        {.struct_size = sizeof *copies,
         .from = {.buffer = shut->word, .row_pitch = 4},
         .to = {.buffer = locked, .offset = 4096, .row_pitch = 64},
         .width = 4, .height = 2},
    };
    fake_meet("cuMemcpy3DAsync", meanwhile, subject);
    assert_ok(rnl_enqueue_copy_batch(shut->stream, copies, 2));
    if (meanwhile == move_meanwhile)
        pthread_join(mover.thread, NULL);
    assert_ok(rnl_enqueue_buffer_create(shut->other, 4096, NULL, &buffer));
    assert_ok(rnl_buffer_get_info(buffer, &info));
    assert_ptr_not_equal(info.device_address, was.device_address);
    assert_ok(rnl_enqueue_write_value32(shut->other, shut->word, 4, 1));
    assert_ok(rnl_stream_synchronize(shut->stream, RNL_FOREVER));
    assert_ok(rnl_buffer_release(buffer));
    assert_ok(rnl_buffer_release(locked));
}

RNL_TEST(memory_moved_while_a_list_is_on_its_way_waits_for_it)
{
    struct shut shut;
    shut_open(&shut);
    try_list(move_meanwhile, &shut, &shut);
    shut_close(&shut);
}

RNL_TEST(memory_released_while_a_list_is_on_its_way_goes_behind_it)
{
    struct shut shut;
    shut_open_with(&shut, 0);
    try_list(release_meanwhile, shut.buffer, &shut);
    shut_close(&shut);
}

// What was given before the stream failed runs on.
RNL_TEST(memory_moved_from_a_failed_stream_waits_for_its_work)
{
    struct shut shut;
    rnl_stream failed;
    rnl_event promise;
    rnl_buffer buffer;
    rnl_buffer_info was = {.struct_size = sizeof was}, info = was;
    shut_open_with(&shut, 0);
    assert_ok(rnl_buffer_get_info(shut.buffer, &was));
    assert_ok(rnl_stream_create(shut.context, NULL, &failed));
    assert_ok(rnl_event_create(shut.context,
                               RNL_EVENT_OPTIONS(.promise = true), &promise));
    assert_ok(rnl_enqueue_wait_event(failed, promise));
    assert_ok(rnl_event_release(promise));
    assert_status(rnl_stream_synchronize(failed, RNL_FOREVER),
                  RNL_ERROR_DEPENDENCY_FAILED);
    assert_status(rnl_enqueue_wait_stream(shut.stream, failed), RNL_OK);
    assert_ok(rnl_buffer_set_release_stream(shut.buffer, shut.other));
    assert_ok(rnl_buffer_release(shut.buffer));
    assert_ok(rnl_enqueue_buffer_create(shut.other, 4096, NULL, &buffer));
    assert_ok(rnl_buffer_get_info(buffer, &info));
    assert_ptr_not_equal(info.device_address, was.device_address);
    assert_ok(rnl_buffer_release(buffer));
    assert_ok(rnl_enqueue_write_value32(shut.other, shut.word, 0, 1));
    assert_status(rnl_stream_synchronize(shut.stream, RNL_FOREVER),
                  RNL_ERROR_DEPENDENCY_FAILED);
    assert_ok(rnl_stream_reset_and_wait(shut.stream));
    assert_ok(rnl_stream_release(failed));
    shut_close(&shut);
}
