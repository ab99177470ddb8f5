// Copies of ordinary memory that the caller waits for, on a driver.
#include "loaded.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { LITTLE = 4096, ROWS = 8, PITCH = 1024, MUCH = 8 << 20, THREADS = 3 };

static rnl_context context;
static rnl_stream stream;
static rnl_buffer buffer;
static char bytes[LITTLE];

static void begin(rnl_stream_flags flags, size_t size)
{
    fake_open(&context, &stream, flags, &buffer, size);
}

static void end(void)
{
    fake_close(context, stream, buffer);
}

static void fill(int value)
{
    assert_ok(rnl_enqueue_fill(stream, buffer, 0, LITTLE, (uint64_t)value, 1));
}

static rnl_status copy_back(void)
{
    return rnl_copy_from_buffer_and_wait(stream, bytes, buffer, 0, LITTLE);
}

static void assert_all(const char *memory, size_t size, int value)
{
    for (size_t i = 0; i < size; i++)
        assert_int_equal(memory[i], value);
}

// Neither is the device to say that it got there, nor the service to copy.
static void read_back(rnl_stream_flags flags)
{
    begin(flags, LITTLE);
    size_t before = fake_calls("cuStreamWriteValue32");
    for (int i = 1; i < 4; i++) {
        fill(i);
        assert_ok(copy_back());
        assert_all(bytes, LITTLE, i);
    }
    assert_int_equal(fake_calls("cuStreamWriteValue32"), before);
    assert_int_equal(fake_calls("cuMemcpyAsync"), 3);
    end();
}

RNL_TEST(a_result_is_read_back_by_who_waits)
{
    read_back(0);
}

RNL_TEST(a_result_of_a_non_blocking_stream_is_read_back_by_who_waits)
{
    read_back(RNL_STREAM_NON_BLOCKING);
}

RNL_TEST(a_result_of_a_batched_stream_is_read_back_by_who_waits)
{
    read_back(RNL_STREAM_BATCHED);
}

RNL_TEST(rows_are_read_back_by_who_waits)
{
    begin(0, LITTLE);
    char *rows = calloc(ROWS, PITCH);
    fill(7);
    assert_ok(rnl_copy_region_and_wait(
        stream,
        RNL_COPY(.to = {.pointer = rows, .row_pitch = PITCH},
                 .from = {.buffer = buffer}, .width = 16, .height = ROWS)));
    for (int y = 0; y < ROWS; y++) {
        assert_all(rows + (size_t)y * PITCH, 16, 7);
        assert_all(rows + (size_t)y * PITCH + 16, PITCH - 16, 0);
    }
    assert_int_equal(fake_calls("cuStreamWriteValue32"), 0);
    free(rows);
    end();
}

// What a host function writes is there before it is read.
static void write_late(rnl_status status, void *memory)
{
    if (status == RNL_OK)
        memset(memory, 5, LITTLE);
}

RNL_TEST(what_a_host_function_writes_is_copied_by_who_waits)
{
    static char late[LITTLE];
    begin(0, LITTLE);
    assert_ok(rnl_enqueue_host_function(stream, write_late, late));
    assert_ok(rnl_copy_to_buffer_and_wait(stream, buffer, 0, late, LITTLE));
    assert_ok(copy_back());
    assert_all(bytes, LITTLE, 5);
    end();
}

RNL_TEST(without_page_locked_memory_the_driver_reads_back)
{
    begin(0, LITTLE);
    fill(3);
    fake_fail("cuMemHostAlloc", 1, 2, 0);
    assert_ok(copy_back());
    fake_fail("cuMemHostAlloc", 0, 0, 0);
    assert_all(bytes, LITTLE, 3);
    end();
}

RNL_TEST(nothing_is_read_back_from_a_lost_device)
{
    begin(0, LITTLE);
    fill(1);
    assert_ok(copy_back());
    fill(2);
    fake_break(0, 700);
    assert_status(copy_back(), RNL_ERROR_DEVICE_LOST);
    assert_all(bytes, LITTLE, 1);
    end();
}

// Nor is anything recorded in the graph of others.
RNL_TEST(a_stream_that_others_capture_is_not_copied_with)
{
    void *native;
    begin(0, LITTLE);
    assert_ok(rnl_stream_native(stream, &native));
    fake_capture(native, true);
    size_t before = fake_calls("cuMemcpyAsync");
    assert_status(copy_back(), RNL_ERROR_CAPTURE_UNSUPPORTED);
    assert_int_equal(fake_calls("cuMemcpyAsync"), before);
    assert_int_equal(fake_capture(native, false), 1);
    assert_ok(copy_back());
    end();
}

// The caller carries much, too; others with other streams do so meanwhile.
static void *there_and_back(void *opaque)
{
    rnl_stream own;
    rnl_buffer there;
    int value = *(const int *)opaque;
    char *memory = malloc(MUCH);
    assert_non_null(memory);
    assert_ok(rnl_stream_create(context, NULL, &own));
    assert_ok(rnl_buffer_create(context, MUCH, NULL, &there));
    for (int i = 0; i < 3; i++) {
        memset(memory, value + i, MUCH);
        assert_ok(rnl_copy_to_buffer_and_wait(own, there, 0, memory, MUCH));
        memset(memory, 0, MUCH);
        assert_ok(rnl_copy_from_buffer_and_wait(own, memory, there, 0, MUCH));
        assert_all(memory, 1, value + i);
        assert_memory_equal(memory, memory + 1, MUCH - 1);
    }
    assert_ok(rnl_buffer_release(there));
    assert_ok(rnl_stream_release(own));
    free(memory);
    return NULL;
}

RNL_TEST(threads_that_wait_carry_much_at_once)
{
    pthread_t threads[THREADS];
    int values[THREADS];
    begin(0, LITTLE);
    for (int i = 0; i < THREADS; i++) {
        values[i] = 10 * i + 1;
        assert_int_equal(pthread_create(&threads[i], NULL, there_and_back,
                                        &values[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    end();
}

static void *load(void *module)
{
    assert_ok(fake_module(context, module));
    return NULL;
}

// Loading waits for the whole device: a copy begins behind it.
RNL_TEST(a_copy_waits_while_code_is_loaded)
{
    int value = 1;
    struct fake_gate gate = {0};
    rnl_module module;
    pthread_t loads, copies;
    begin(0, LITTLE);
    fake_meet("cuModuleLoadDataEx", fake_hold_call, &gate);
    assert_int_equal(pthread_create(&loads, NULL, load, &module), 0);
    fake_await_entered(&gate);
    size_t before = fake_calls("cuMemcpyAsync");
    assert_int_equal(pthread_create(&copies, NULL, there_and_back, &value),
                     0);
    for (int i = 0; i < 1000; i++)
        sched_yield();
    assert_int_equal(fake_calls("cuMemcpyAsync"), before);
    atomic_store(&gate.open, 1);
    pthread_join(loads, NULL);
    pthread_join(copies, NULL);
    assert_ok(rnl_module_release(module));
    end();
}

// What others give the stream meanwhile comes before the copy or behind it.
static void *copy_twos(void *unused)
{
    char *twos = malloc(MUCH);
    assert_non_null(twos);
    memset(twos, 2, MUCH);
    assert_ok(rnl_copy_to_buffer_and_wait(stream, buffer, 0, twos, MUCH));
    free(twos);
    return unused;
}

static void await_calls(const char *name, size_t count)
{
    for (int i = 0; i < 10000 && fake_calls(name) < count; i++)
        sched_yield();
}

RNL_TEST(a_copy_that_is_waited_for_is_in_the_order_of_its_stream)
{
    struct fake_gate gate = {0};
    pthread_t copies;
    rnl_buffer seen;
    char *bytes_seen = malloc(MUCH);
    assert_non_null(bytes_seen);
    begin(0, MUCH);
    assert_ok(rnl_buffer_create(context, MUCH, NULL, &seen));
    assert_ok(rnl_enqueue_fill(stream, buffer, 0, MUCH, 1, 1));
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    size_t before = fake_calls("cuMemcpyAsync");
    fake_meet("cuMemcpyAsync", fake_hold_call, &gate);
    assert_int_equal(pthread_create(&copies, NULL, copy_twos, NULL), 0);
    fake_await_entered(&gate);
    await_calls("cuMemcpyAsync", before + 4);  // by other threads
    assert_ok(rnl_enqueue_copy_buffer(stream, seen, 0, buffer, 0, MUCH));
    for (int i = 0; i < 1000 && rnl_stream_query(stream) != RNL_OK; i++)
        sched_yield();
    atomic_store(&gate.open, 1);
    pthread_join(copies, NULL);
    assert_ok(rnl_copy_from_buffer_and_wait(stream, bytes_seen, seen, 0, MUCH));
    assert_all(bytes_seen, 1, bytes_seen[0]);
    assert_memory_equal(bytes_seen, bytes_seen + 1, MUCH - 1);
    assert_ok(rnl_buffer_release(seen));
    free(bytes_seen);
    end();
}

// The thread that waits for a stream does a copy for it, and does not call
// what holds up what comes behind.
static struct fake_told told;

static void delete_behind_told(void *memory, size_t size, void *user_data)
{
    (void)memory;
    (void)size;
    (void)user_data;
    while (atomic_load(&told.count) == 0)
        sched_yield();
}

RNL_TEST(a_deleter_may_wait_for_what_comes_behind_a_copy)
{
    enum { SIZE = 128 << 10, ROUNDS = 30 };
    static char from[SIZE];
    rnl_buffer_info info = {.struct_size = sizeof info};
    begin(0, SIZE);
    assert_ok(rnl_buffer_get_info(buffer, &info));
    for (int i = 0; i < ROUNDS; i++) {
        rnl_buffer wrapped;
        struct fake_gate gate = {0};
        atomic_store(&told.count, 0);
        assert_ok(rnl_enqueue_host_function(stream, fake_hold, &gate));
        assert_ok(rnl_buffer_wrap(
            context, info.device_address, SIZE,
            RNL_WRAP_OPTIONS(.kind = RNL_MEMORY_DEVICE,
                             .deleter = delete_behind_told), &wrapped));
        assert_ok(rnl_enqueue_copy_to_buffer(stream, wrapped, 0, from, SIZE));
        assert_ok(rnl_buffer_release(wrapped));
        assert_ok(rnl_enqueue_host_function(stream, fake_count, &told));
        atomic_store(&gate.open, 1);
        assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    }
    end();
}
