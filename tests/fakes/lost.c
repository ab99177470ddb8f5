// What the library's own threads still do on a device that is lost.
#include "loaded.h"

#include "base/thread.h"

#include <stdlib.h>
#include <string.h>

enum { SIZE = 1 << 20 };

static _Atomic uint32_t is_held, may_go;

static void hold(void)
{
    atomic_store(&is_held, 1);
    futex_wake(&is_held, 1);
    while (!atomic_load(&may_go))
        futex_wait(&may_go, 0, RNL_FOREVER);
}

static void let_go(void)
{
    atomic_store(&may_go, 1);
    futex_wake(&may_go, 1);
}

// The caller may free the memory once a wait says that the device is lost.
RNL_TEST(no_wait_ends_before_copies_of_a_lost_device_do)
{
    rnl_context context = NULL;
    rnl_stream stream = NULL;
    rnl_buffer buffer = NULL;
    rnl_event event = NULL;
    char *memory = malloc(SIZE);
    assert_non_null(memory);
    memset(memory, 7, SIZE);
    fake_load();
    assert_ok(rnl_context_open("cuda", 0, NULL, &context));
    assert_ok(rnl_stream_create(context, NULL, &stream));
    assert_ok(rnl_buffer_create(context, SIZE, NULL, &buffer));
    thread_hold_next("rnl-staging", hold);
    assert_ok(rnl_enqueue_copy_from_buffer(stream, memory, buffer, 0, SIZE));
    assert_ok(rnl_enqueue_event(stream, NULL, &event));
    while (!atomic_load(&is_held))
        futex_wait(&is_held, 0, RNL_FOREVER);
    fake_break(0, 700);
    assert_status(rnl_stream_query(stream), RNL_NOT_READY);
    assert_status(rnl_stream_synchronize(stream, 20000000),
                  RNL_ERROR_TIMED_OUT);
    assert_status(rnl_event_synchronize(event, 1000), RNL_ERROR_TIMED_OUT);
    assert_status(rnl_context_synchronize(context, 1000),
                  RNL_ERROR_TIMED_OUT);
    let_go();
    assert_status(rnl_stream_synchronize(stream, RNL_FOREVER),
                  RNL_ERROR_DEVICE_LOST);
    free(memory);
    assert_status(rnl_event_synchronize(event, RNL_FOREVER),
                  RNL_ERROR_DEVICE_LOST);
    rnl_event_release(event);
    rnl_buffer_release(buffer);
    rnl_stream_release(stream);
    rnl_context_release(context);
    fake_expect_empty();
}
