// The fake driver by itself: that it is as strict as the real one.
#include "test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cudalike/driver/driver.h"
#include "fake_control.h"

static struct driver_functions call;
static void *context;

static void load(void)
{
    const char *path = getenv("RUNNEL_CUDA");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library)
        test_skip("RUNNEL_CUDA does not name the fake driver");
#define SYMBOL(name, vendor, suffix, version, need, why)                     \
    *(void **)&call.name = dlsym(library, #vendor suffix);                   \
    assert_non_null(*(void **)&call.name);
#include "backends/cuda/symbols.def"
#undef SYMBOL
}

static void open_context(void)
{
    load();
    assert_int_equal(call.init(0), 0);
    assert_int_equal(call.primary_retain(&context, 0), 0);
    assert_int_equal(call.context_set(context), 0);
}

static void close_context(void)
{
    assert_int_equal(call.context_set(NULL), 0);
    assert_int_equal(call.primary_release(0), 0);
}

RNL_TEST(nothing_works_before_cu_init)
{
    int count;
    load();
    assert_int_equal(call.device_count(&count), 3);
    assert_int_equal(call.init(0), 0);
    assert_int_equal(call.device_count(&count), 0);
    assert_int_equal(count, 1);
}

RNL_TEST(calls_need_a_current_context)
{
    void *stream;
    uint64_t address;
    load();
    assert_int_equal(call.init(0), 0);
    assert_int_equal(call.stream_create(&stream, 0, 0), 201);
    assert_int_equal(call.memory_allocate(&address, 4), 201);
    assert_int_equal(call.context_set((void *)64), 201);
}

RNL_TEST(dead_and_foreign_handles_are_refused)
{
    void *stream, *event;
    open_context();
    assert_int_equal(call.stream_create(&stream, 0, 0), 0);
    assert_int_equal(call.event_create(&event, 0), 0);
    assert_int_equal(call.event_record(stream, event), 400);
    assert_int_equal(call.stream_destroy(stream), 0);
    assert_int_equal(call.stream_query(stream), 400);
    assert_int_equal(call.stream_destroy(stream), 400);
    assert_int_equal(call.event_destroy(event), 0);
    assert_int_equal(call.event_query(event), 400);
    assert_int_equal(call.host_free(&call), 1);
    assert_int_equal(call.memory_free(4096), 1);
    close_context();
}

RNL_TEST(elapsed_time_is_strict)
{
    void *start, *end, *plain;
    float ms;
    open_context();
    assert_int_equal(call.event_create(&start, 0), 0);
    assert_int_equal(call.event_create(&end, 0), 0);
    assert_int_equal(call.event_create(&plain, DRIVER_EVENT_NO_TIMING), 0);
    assert_int_equal(call.event_elapsed(&ms, start, end), 400);
    assert_int_equal(call.event_record(start, NULL), 0);
    assert_int_equal(call.event_record(end, NULL), 0);
    assert_int_equal(call.event_record(plain, NULL), 0);
    assert_int_equal(call.event_synchronize(end), 0);
    assert_int_equal(call.event_elapsed(&ms, start, end), 0);
    assert_int_equal(call.event_elapsed(&ms, start, plain), 400);
    call.event_destroy(start);
    call.event_destroy(end);
    call.event_destroy(plain);
    close_context();
}

RNL_TEST(words_must_be_aligned_and_known)
{
    uint64_t address;
    uint32_t own = 0;
    open_context();
    assert_int_equal(call.memory_allocate(&address, 64), 0);
    assert_int_equal(call.stream_write32(NULL, address + 4, 1, 0), 0);
    assert_int_equal(call.stream_write32(NULL, address + 2, 1, 0), 1);
    assert_int_equal(call.stream_write32(NULL, address + 64, 1, 0), 1);
    assert_int_equal(call.stream_write32(NULL, (uintptr_t)&own, 1, 0), 1);
    assert_int_equal(call.stream_wait32(NULL, address + 4, 1, 17), 1);
    assert_int_equal(call.stream_wait32(NULL, address + 4, 1, 1), 0);
    assert_int_equal(call.stream_synchronize(NULL), 0);
    assert_int_equal(call.memory_free(address), 0);
    close_context();
}

RNL_TEST(copies_and_fills_stay_in_their_memory)
{
    uint64_t address;
    unsigned char bytes[64] = {0};
    open_context();
    assert_int_equal(call.memory_allocate(&address, 64), 0);
    assert_int_equal(call.fill8(address, 7, 64, NULL), 0);
    assert_int_equal(call.fill8(address + 1, 7, 64, NULL), 1);
    assert_int_equal(call.fill32(address + 2, 7, 1, NULL), 1);
    assert_int_equal(call.fill8((uintptr_t)bytes, 7, 64, NULL), 1);
    assert_int_equal(call.copy((uintptr_t)bytes, address, 64, NULL), 0);
    // A copy to ordinary memory was done at return.
    assert_int_equal(bytes[63], 7);
    assert_int_equal(call.copy((uintptr_t)bytes, address + 32, 64, NULL), 1);
    assert_int_equal(call.memory_free(address), 0);
    assert_int_equal(call.copy((uintptr_t)bytes, address, 0, NULL), 0);
    close_context();
}

// A stream that waits holds up the ninth after it, which has the same queue,
// and nobody of another priority.
RNL_TEST(streams_share_hardware_queues)
{
    enum { QUEUES = 8 };
    void *streams[QUEUES + 1], *urgent;
    uint64_t address;
    open_context();
    assert_int_equal(call.memory_allocate(&address, 64), 0);
    assert_int_equal(call.fill8(address, 0, 64, NULL), 0);
    assert_int_equal(call.stream_synchronize(NULL), 0);
    for (int i = 0; i <= QUEUES; i++)
        assert_int_equal(call.stream_create(&streams[i], 0, 0), 0);
    assert_int_equal(call.stream_create(&urgent, 0, -1), 0);
    assert_int_equal(call.stream_wait32(streams[0], address, 1, 1), 0);
    for (int i = 1; i <= QUEUES; i++)
        assert_int_equal(call.stream_write32(streams[i], address + 4, 1, 0),
                         0);
    for (int i = 1; i < QUEUES; i++)
        assert_int_equal(call.stream_synchronize(streams[i]), 0);
    assert_int_equal(call.stream_query(streams[0]), 600);
    assert_int_equal(call.stream_query(streams[QUEUES]), 600);
    assert_int_equal(call.stream_write32(urgent, address, 1, 0), 0);
    for (int i = 0; i <= QUEUES; i++) {
        assert_int_equal(call.stream_synchronize(streams[i]), 0);
        call.stream_destroy(streams[i]);
    }
    call.stream_destroy(urgent);
    assert_int_equal(call.memory_free(address), 0);
    close_context();
}

struct crowd {
    void *stream, *other;
    uint64_t address;
    _Atomic int submitted, asked;
};

static void *fill_up(void *argument)
{
    struct crowd *crowd = argument;
    call.context_set(context);
    for (int i = 0; i < 2000; i++) {
        call.stream_write32(crowd->stream, crowd->address + 4, 1, 0);
        atomic_fetch_add(&crowd->submitted, 1);
    }
    return NULL;
}

static void *ask(void *argument)
{
    struct crowd *crowd = argument;
    call.context_set(context);
    call.stream_query(crowd->other);
    atomic_store(&crowd->asked, 1);
    return NULL;
}

// Who submits to it waits, and others that only ask wait for him.
RNL_TEST(a_hardware_queue_may_be_full)
{
    struct crowd crowd = {0};
    pthread_t threads[2];
    open_context();
    assert_int_equal(call.memory_allocate(&crowd.address, 64), 0);
    assert_int_equal(call.fill8(crowd.address, 0, 64, NULL), 0);
    assert_int_equal(call.stream_create(&crowd.stream, 0, 0), 0);
    assert_int_equal(call.stream_create(&crowd.other, 0, -1), 0);
    assert_int_equal(call.stream_synchronize(NULL), 0);
    assert_int_equal(call.stream_wait32(crowd.stream, crowd.address, 1, 1), 0);
    pthread_create(&threads[0], NULL, fill_up, &crowd);
    while (atomic_load(&crowd.submitted) < 1000)
        sched_yield();
    pthread_create(&threads[1], NULL, ask, &crowd);
    assert_in_range(atomic_load(&crowd.submitted), 1000, 1100);
    // The only thing that helps: memory is memory.
    atomic_store((_Atomic uint32_t *)(uintptr_t)crowd.address, 1);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    assert_int_equal(crowd.submitted, 2000);
    assert_int_equal(crowd.asked, 1);
    assert_int_equal(call.stream_synchronize(crowd.stream), 0);
    call.stream_destroy(crowd.stream);
    call.stream_destroy(crowd.other);
    assert_int_equal(call.memory_free(crowd.address), 0);
    close_context();
}

RNL_TEST(what_breaks_a_device_stays)
{
    void *stream;
    fake_break_fn *fake_break;
    open_context();
    *(void **)&fake_break = dlsym(dlopen(getenv("RUNNEL_CUDA"), RTLD_NOW),
                                  "fake_control_break");
    assert_int_equal(call.stream_create(&stream, 0, 0), 0);
    fake_break(0, 700);
    assert_int_equal(call.stream_query(stream), 700);
    assert_int_equal(call.stream_create(&stream, 0, 0), 700);
    close_context();
    open_context();
    assert_int_equal(call.stream_create(&stream, 0, 0), 0);
    assert_int_equal(call.stream_destroy(stream), 0);
    close_context();
}

RNL_TEST(a_query_makes_a_capture_invalid)
{
    void *stream;
    int status;
    fake_capture_fn *fake_capture;
    open_context();
    *(void **)&fake_capture = dlsym(dlopen(getenv("RUNNEL_CUDA"), RTLD_NOW),
                                    "fake_control_capture");
    assert_int_equal(call.stream_create(&stream, 0, 0), 0);
    fake_capture(stream, 1);
    assert_int_equal(call.stream_capturing(stream, &status), 0);
    assert_int_equal(status, 1);
    assert_int_equal(fake_capture(stream, 0), 1);
    assert_int_equal(call.stream_query(stream), 0);
    fake_capture(stream, 1);
    assert_int_equal(call.stream_query(stream), 900);
    assert_int_equal(call.stream_capturing(stream, &status), 0);
    assert_int_equal(status, 2);
    assert_int_equal(fake_capture(stream, 0), 0);
    assert_int_equal(call.stream_destroy(stream), 0);
    close_context();
}

RNL_TEST(an_event_of_a_capture_cannot_be_asked)
{
    void *stream, *event;
    fake_capture_fn *fake_capture;
    open_context();
    *(void **)&fake_capture = dlsym(dlopen(getenv("RUNNEL_CUDA"), RTLD_NOW),
                                    "fake_control_capture");
    assert_int_equal(call.stream_create(&stream, 0, 0), 0);
    assert_int_equal(call.event_create(&event, 0), 0);
    fake_capture(stream, 1);
    assert_int_equal(call.event_record(event, stream), 0);
    assert_int_equal(call.event_query(event), 907);
    assert_int_equal(fake_capture(stream, 0), 1);
    assert_int_equal(call.event_query(event), 907);
    assert_int_equal(call.event_record(event, stream), 0);
    assert_int_equal(call.stream_synchronize(stream), 0);
    assert_int_equal(call.event_query(event), 0);
    assert_int_equal(call.event_destroy(event), 0);
    assert_int_equal(call.stream_destroy(stream), 0);
    close_context();
}

RNL_TEST(calls_fail_when_they_are_told_to)
{
    void *stream;
    fake_fail_fn *fake_fail;
    fake_calls_fn *fake_calls;
    open_context();
    void *library = dlopen(getenv("RUNNEL_CUDA"), RTLD_NOW);
    *(void **)&fake_fail = dlsym(library, "fake_control_fail");
    *(void **)&fake_calls = dlsym(library, "fake_control_calls");
    fake_fail("cuStreamCreateWithPriority", 2, 2, 0);
    assert_int_equal(call.stream_create(&stream, 0, 0), 0);
    assert_int_equal(call.stream_destroy(stream), 0);
    assert_int_equal(call.stream_create(&stream, 0, 0), 2);
    assert_int_equal(call.stream_create(&stream, 0, 0), 0);
    // What ends something does so, whatever it says.
    fake_fail("cuStreamDestroy", 1, 999, 0);
    assert_int_equal(call.stream_destroy(stream), 999);
    assert_int_equal(call.stream_query(stream), 400);
    assert_int_equal(fake_calls("cuStreamCreateWithPriority"), 3);
    close_context();
}
