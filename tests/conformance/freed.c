// Memory that goes while work in flight uses it: the work is done as if it was
// still there, and nothing is touched that is gone.
#include "suite.h"

#include <stdlib.h>

enum { COUNT = 1 << 20, STREAMS = 3 };
#define SIZE (COUNT * sizeof(int))

static int *host_ints(rnl_context context, int value)
{
    void *pointer = NULL;
    expect_ok(rnl_host_allocate(context, SIZE, &pointer));
    assert_non_null(pointer);
    for (int i = 0; i < COUNT; i++)
        ((int *)pointer)[i] = value;
    return pointer;
}

RNL_TEST(host_memory_freed_under_copies_is_kept_until_they_are_done)
{
    rnl_buffer buffer = suite_ints(COUNT, 0);
    struct gate *gate = gate_shut(suite_stream());
    int *from = host_ints(suite_context(), 7), *to;
    expect_ok(rnl_enqueue_copy_to_buffer(suite_stream(), buffer, 0, from,
                                         SIZE));
    expect_ok(rnl_host_free(suite_context(), from));
    to = host_ints(suite_context(), 8);
    expect_ok(rnl_enqueue_copy_from_buffer(suite_stream(), to, buffer, 0,
                                           SIZE));
    expect_ok(rnl_host_free(suite_context(), to));
    expect_error(rnl_host_free(suite_context(), from),
                 RNL_ERROR_INVALID_ARGUMENT, "pointer");
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    gate_free(gate);
    suite_expect_ints(buffer, COUNT, 7);
    expect_ok(rnl_buffer_release(buffer));
}

// Of several streams each counts; those with nothing to do do not.
RNL_TEST(host_memory_is_kept_for_all_streams)
{
    rnl_stream first = suite_new_stream(), streams[STREAMS];
    rnl_buffer buffers[STREAMS];
    struct gate *gate = gate_shut(first);
    int *from = host_ints(suite_context(), 5);
    for (int i = 0; i < STREAMS; i++) {
        streams[i] = suite_new_stream();
        buffers[i] = suite_ints(COUNT, 0);
        expect_ok(rnl_enqueue_wait_stream(streams[i], first));
        expect_ok(rnl_enqueue_copy_to_buffer(streams[i], buffers[i], 0, from,
                                             SIZE));
    }
    expect_ok(rnl_host_free(suite_context(), from));
    for (int i = 0; i < 4; i++)
        expect_ok(rnl_host_free(suite_context(),
                                host_ints(suite_context(), i)));
    expect_ok(rnl_stream_release(streams[0]));
    gate_open(gate);
    for (int i = 0; i < STREAMS; i++) {
        if (i > 0)
            expect_ok(rnl_stream_synchronize(streams[i], RNL_FOREVER));
        expect_ok(rnl_context_synchronize(suite_context(), RNL_FOREVER));
        suite_expect_ints(buffers[i], COUNT, 5);
        expect_ok(rnl_buffer_release(buffers[i]));
        if (i > 0)
            expect_ok(rnl_stream_release(streams[i]));
    }
    gate_free(gate);
    expect_ok(rnl_stream_release(first));
}

RNL_TEST(host_memory_freed_under_work_goes_with_its_context)
{
    rnl_context context = suite_open(NULL);
    rnl_stream stream = NULL;
    expect_ok(rnl_stream_create(context, NULL, &stream));
    struct gate *gate = gate_shut(stream);
    int *pointer = host_ints(context, 1);
    expect_ok(rnl_enqueue_fill_region(
        stream, RNL_FILL(.to = {.pointer = pointer}, .width = SIZE,
                         .pattern = 3, .pattern_size = 4)));
    expect_ok(rnl_host_free(context, pointer));
    expect_ok(rnl_context_trim(context, 0));
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_context_release(context));
}

RNL_TEST(ranges_may_be_unregistered_under_copies)
{
    int *memory = malloc(SIZE);
    rnl_buffer buffer = suite_ints(COUNT, 0);
    assert_non_null(memory);
    for (int i = 0; i < COUNT; i++)
        memory[i] = 9;
    expect_ok(rnl_host_register(suite_context(), memory, SIZE));
    struct gate *gate = gate_shut(suite_stream());
    expect_ok(rnl_enqueue_copy_to_buffer(suite_stream(), buffer, 0, memory,
                                         SIZE));
    expect_ok(rnl_host_unregister(suite_context(), memory));
    expect_error(rnl_host_unregister(suite_context(), memory),
                 RNL_ERROR_INVALID_ARGUMENT, "pointer");
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    gate_free(gate);
    suite_expect_ints(buffer, COUNT, 9);
    expect_ok(rnl_buffer_release(buffer));
    free(memory);
}

RNL_TEST(buffers_may_be_released_under_copies_of_the_host)
{
    int *memory = malloc(SIZE);
    rnl_buffer from = suite_ints(COUNT, 4), to = suite_ints(COUNT, 0);
    assert_non_null(memory);
    struct gate *gate = gate_shut(suite_stream());
    expect_ok(rnl_enqueue_copy_from_buffer(suite_stream(), memory, from, 0,
                                           SIZE));
    expect_ok(rnl_enqueue_copy_to_buffer(suite_stream(), to, 0, memory, SIZE));
    expect_ok(rnl_buffer_release(from));
    expect_ok(rnl_buffer_release(to));
    expect_ok(rnl_context_trim(suite_context(), 0));
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    gate_free(gate);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(memory[i], 4);
    free(memory);
}
