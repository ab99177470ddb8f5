// Stream memory operations: words that streams write and wait for.
#include "suite.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

enum { SOON_NS = 1000000 };

// A buffer that both host code and the device reach.
struct words {
    rnl_buffer buffer;
    union {
        _Atomic uint32_t *w32;
        _Atomic uint64_t *w64;
        void *pointer;
    };
};

static struct words new_words(size_t size)
{
    struct words words = {NULL, {NULL}};
    suite_need(RNL_FEATURE_MEMORY_OPERATIONS);
    expect_ok(rnl_buffer_create(suite_context(), size,
                                RNL_BUFFER_OPTIONS(.kind = RNL_MEMORY_HOST),
                                &words.buffer));
    expect_ok(rnl_buffer_host_pointer(words.buffer, &words.pointer));
    memset(words.pointer, 0, size);
    return words;
}

static void synchronize(rnl_stream stream)
{
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
}

static void expect_shut(rnl_stream stream)
{
    expect_error(rnl_stream_synchronize(stream, 0), RNL_ERROR_TIMED_OUT, NULL);
    assert_status(rnl_stream_query(stream), RNL_NOT_READY);
}

// Until the library called it, without a call that makes it look.
static void await_calls(struct host_calls *calls, int count)
{
    while (atomic_load(&calls->count) < count)
        sched_yield();
}

static void count_on(rnl_stream stream, struct host_calls *calls)
{
    expect_ok(rnl_enqueue_host_function(stream, count_host_call, calls));
}

// --- What holds ------------------------------------------------------------

#define TOP32 0x80000000u
#define TOP64 0x8000000000000000u

struct condition {
    rnl_value_action action;
    uint32_t width;
    uint64_t memory, value;
    bool holds;
};

// Each boundary from both sides.
static const struct condition conditions[] = {
    {RNL_WAIT_GEQ, 32, 7, 7, true},
    {RNL_WAIT_GEQ, 32, 8, 7, true},
    {RNL_WAIT_GEQ, 32, 6, 7, false},
    {RNL_WAIT_GEQ, 32, 0, 0xffffffff, true},  // wrapped around
    {RNL_WAIT_GEQ, 32, 0xffffffff, 0, false},
    {RNL_WAIT_GEQ, 32, 5, 0xfffffffb, true},
    {RNL_WAIT_GEQ, 32, TOP32 - 1, 0, true},
    {RNL_WAIT_GEQ, 32, TOP32, 0, false},
    {RNL_WAIT_GEQ, 32, TOP32 + 6, 7, true},
    {RNL_WAIT_GEQ, 32, TOP32 + 7, 7, false},
    {RNL_WAIT_GEQ, 32, TOP32, TOP32, true},
    {RNL_WAIT_GEQ, 32, TOP32 - 1, TOP32, false},
    {RNL_WAIT_GEQ, 64, 7, 7, true},
    {RNL_WAIT_GEQ, 64, 6, 7, false},
    {RNL_WAIT_GEQ, 64, 0x100000000, 0xffffffff, true},
    {RNL_WAIT_GEQ, 64, 0xffffffff, 0x100000000, false},
    {RNL_WAIT_GEQ, 64, 0, UINT64_MAX, true},
    {RNL_WAIT_GEQ, 64, UINT64_MAX, 0, false},
    {RNL_WAIT_GEQ, 64, TOP64 - 1, 0, true},
    {RNL_WAIT_GEQ, 64, TOP64, 0, false},
    {RNL_WAIT_GEQ, 64, TOP32, 0, true},  // 64 bits, not 32
    {RNL_WAIT_EQ, 32, 0, 0, true},
    {RNL_WAIT_EQ, 32, 0xffffffff, 0xffffffff, true},
    {RNL_WAIT_EQ, 32, 0xfffffffe, 0xffffffff, false},
    {RNL_WAIT_EQ, 32, 1, 0, false},
    {RNL_WAIT_EQ, 32, 0x500000001, 1, true},  // only the low half counts
    {RNL_WAIT_EQ, 64, 0x500000001, 0x500000001, true},
    {RNL_WAIT_EQ, 64, 0x500000001, 1, false},
    {RNL_WAIT_EQ, 64, UINT64_MAX, UINT64_MAX, true},
    {RNL_WAIT_AND, 32, 6, 2, true},
    {RNL_WAIT_AND, 32, 4, 2, false},
    {RNL_WAIT_AND, 32, TOP32, TOP32, true},
    {RNL_WAIT_AND, 32, (uint64_t)1 << 32, 0xffffffff, false},
    {RNL_WAIT_AND, 64, (uint64_t)1 << 32, (uint64_t)1 << 32, true},
    {RNL_WAIT_AND, 64, TOP64, TOP64 - 1, false},
    {RNL_WAIT_NOR, 32, 0, 0, true},
    {RNL_WAIT_NOR, 32, 0xffffffff, 0, false},
    {RNL_WAIT_NOR, 32, 0xf0f0f0f0, 0x0f0f0f0f, false},
    {RNL_WAIT_NOR, 32, 0xf0f0f0f0, 0x0f0f0f0e, true},
    {RNL_WAIT_NOR, 32, 0x7fffffff, 0, true},
    {RNL_WAIT_NOR, 64, 0xffffffff, 0, true},
    {RNL_WAIT_NOR, 64, UINT64_MAX, 0, false},
    {RNL_WAIT_NOR, 64, TOP64, TOP64 - 1, false},
    {RNL_WAIT_NOR, 64, TOP64, TOP64 - 2, true},
};
enum { CONDITIONS = sizeof conditions / sizeof conditions[0] };

static rnl_status enqueue_wait(rnl_stream stream, rnl_buffer buffer,
                               const struct condition *condition)
{
    if (condition->width == 32)
        return rnl_enqueue_wait_value32(stream, buffer, 0,
                                        (uint32_t)condition->value,
                                        condition->action);
    return rnl_enqueue_wait_value64(stream, buffer, 0, condition->value,
                                    condition->action);
}

RNL_TEST(waits_that_hold_are_over)
{
    struct words words = new_words(8);
    for (int i = 0; i < CONDITIONS; i++) {
        if (!conditions[i].holds)
            continue;
        atomic_store(words.w64, conditions[i].memory);
        expect_ok(enqueue_wait(suite_stream(), words.buffer, &conditions[i]));
        synchronize(suite_stream());
    }
    expect_ok(rnl_buffer_release(words.buffer));
}

// Every row has a stream and a word of its own, which is made right at the end.
RNL_TEST(waits_that_do_not_hold_last_until_they_do)
{
    struct words words[CONDITIONS];
    rnl_stream streams[CONDITIONS];
    struct host_calls calls = {0, -1};
    for (int i = 0; i < CONDITIONS; i++) {
        words[i] = new_words(8);
        streams[i] = suite_new_stream();
        atomic_store(words[i].w64, conditions[i].memory);
        expect_ok(enqueue_wait(streams[i], words[i].buffer, &conditions[i]));
        count_on(streams[i], &calls);
    }
    int over = 0;
    for (int i = 0; i < CONDITIONS; i++) {
        if (conditions[i].holds)
            synchronize(streams[i]);
        over += conditions[i].holds;
    }
    for (int i = 0; i < CONDITIONS; i++)
        if (!conditions[i].holds)
            expect_shut(streams[i]);
    assert_int_equal(calls.count, over);
    for (int i = 0; i < CONDITIONS; i++) {
        bool nor = conditions[i].action == RNL_WAIT_NOR;
        atomic_store(words[i].w64, nor ? 0 : conditions[i].value);
        synchronize(streams[i]);
        expect_ok(rnl_stream_release(streams[i]));
        expect_ok(rnl_buffer_release(words[i].buffer));
    }
    assert_int_equal(calls.count, CONDITIONS);
}

// No value has a bit in common with 0, or is free of one outside of all.
SUITE_CHILD(child_exits_while_streams_wait)
{
    struct words words = new_words(8);
    rnl_stream first = suite_new_stream(), second = suite_new_stream();
    expect_ok(rnl_enqueue_wait_value32(first, words.buffer, 0, 0,
                                       RNL_WAIT_AND));
    expect_ok(rnl_enqueue_wait_value64(second, words.buffer, 0, UINT64_MAX,
                                       RNL_WAIT_NOR));
    for (int i = 0; i < 3; i++) {
        atomic_store(words.w64, i == 2 ? UINT64_MAX : (uint64_t)i);
        expect_shut(first);
        expect_shut(second);
    }
    expect_ok(rnl_stream_release(first));
    expect_ok(rnl_buffer_release(words.buffer));
    expect_ok(rnl_context_release(suite_context()));
    exit(52);
}

RNL_TEST(a_process_exits_while_streams_wait)
{
    suite_need(RNL_FEATURE_MEMORY_OPERATIONS);
    assert_int_equal(suite_spawn("child_exits_while_streams_wait", NULL), 52);
}

SUITE_CHILD(child_waits_for_a_value_blocking)
{
    struct words words = new_words(8);
    struct host_calls calls = {0, -1};
    rnl_stream stream = suite_new_stream();
    expect_ok(rnl_enqueue_wait_value32(stream, words.buffer, 0, 1,
                                       RNL_WAIT_EQ));
    assert_status(rnl_stream_query(stream), RNL_NOT_READY);
    atomic_store(words.w32, 1);
    count_on(stream, &calls);
    _exit(calls.count == 1 ? 51 : 1);
}

RNL_TEST(a_wait_for_a_value_does_not_block_a_blocking_library)
{
    suite_need(RNL_FEATURE_MEMORY_OPERATIONS);
    const char *const environment[] = {"RUNNEL_BLOCKING=1", NULL};
    assert_int_equal(
        suite_spawn("child_waits_for_a_value_blocking", environment), 51);
}

// --- Writes ----------------------------------------------------------------

RNL_TEST(writes_touch_their_word_only)
{
    struct words words = new_words(32);
    memset(words.pointer, 0xaa, 32);
    expect_ok(rnl_enqueue_write_value32(suite_stream(), words.buffer, 4,
                                        0x12345678));
    expect_ok(rnl_enqueue_write_value64(suite_stream(), words.buffer, 16,
                                        0x1122334455667788));
    synchronize(suite_stream());
    const uint32_t expected[] = {0xaaaaaaaa, 0x12345678, 0xaaaaaaaa,
                                 0xaaaaaaaa, 0x55667788, 0x11223344,
                                 0xaaaaaaaa, 0xaaaaaaaa};
    assert_memory_equal(words.pointer, expected, sizeof expected);
    expect_ok(rnl_buffer_release(words.buffer));
}

RNL_TEST(values_work_in_device_memory)
{
    suite_need(RNL_FEATURE_MEMORY_OPERATIONS);
    rnl_buffer buffer = suite_ints(4, 0);
    rnl_stream writer = suite_new_stream();
    expect_ok(rnl_enqueue_wait_value32(suite_stream(), buffer, 8, 3,
                                       RNL_WAIT_GEQ));
    expect_ok(rnl_enqueue_write_value32(suite_stream(), buffer, 12, 4));
    expect_ok(rnl_enqueue_write_value32(writer, buffer, 8, 3));
    int ints[4];
    suite_download(ints, buffer, sizeof ints);
    const int expected[] = {0, 0, 3, 4};
    assert_memory_equal(ints, expected, sizeof ints);
    expect_ok(rnl_stream_release(writer));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_slice_is_a_place_for_words)
{
    struct words words = new_words(64);
    rnl_buffer slice = NULL;
    expect_ok(rnl_buffer_slice(words.buffer, 16, 8, &slice));
    expect_ok(rnl_enqueue_write_value32(suite_stream(), slice, 4, 9));
    expect_error(rnl_enqueue_write_value32(suite_stream(), slice, 8, 9),
                 RNL_ERROR_OUT_OF_RANGE, "offset");
    synchronize(suite_stream());
    assert_int_equal(words.w32[5], 9);
    expect_ok(rnl_buffer_release(slice));
    expect_ok(rnl_buffer_release(words.buffer));
}

// --- Batches ---------------------------------------------------------------

static rnl_value_op op_on(struct words words, rnl_value_action action,
                          size_t offset, uint64_t value)
{
    return *RNL_VALUE_OP(.action = action, .width = 32,
                         .buffer = words.buffer, .offset = offset,
                         .value = value);
}

RNL_TEST(a_batch_is_done_in_its_order)
{
    struct words words = new_words(16);
    struct host_calls calls = {0, -1};
    const rnl_value_op ops[] = {
        op_on(words, RNL_WRITE_VALUE, 0, 1),
        op_on(words, RNL_WAIT_GEQ, 4, 1),
        op_on(words, RNL_WRITE_VALUE, 8, 1),
        op_on(words, RNL_WRITE_VALUE, 0, 2),
        op_on(words, RNL_WAIT_EQ, 4, 7),
        op_on(words, RNL_WAIT_EQ, 8, 1),
        op_on(words, RNL_WRITE_VALUE, 12, 1),
    };
    expect_ok(rnl_enqueue_values(suite_stream(), ops, 7));
    count_on(suite_stream(), &calls);
    while (atomic_load(&words.w32[0]) == 0)
        sched_yield();
    expect_shut(suite_stream());
    assert_int_equal(words.w32[0], 1);
    assert_int_equal(words.w32[2], 0);
    atomic_store(&words.w32[1], 1);
    while (atomic_load(&words.w32[0]) != 2)
        sched_yield();
    assert_int_equal(words.w32[2], 1);
    expect_shut(suite_stream());
    assert_int_equal(words.w32[3], 0);
    assert_int_equal(calls.count, 0);
    atomic_store(&words.w32[1], 7);
    await_calls(&calls, 1);
    assert_int_equal(words.w32[3], 1);
    synchronize(suite_stream());
    expect_ok(rnl_buffer_release(words.buffer));
}

RNL_TEST(large_batches_keep_every_buffer)
{
    enum { COUNT = 300 };
    struct words shut = new_words(4), all = new_words(COUNT * 4);
    struct host_calls calls = {0, -1};
    rnl_value_op ops[COUNT];
    expect_ok(rnl_enqueue_wait_value32(suite_stream(), shut.buffer, 0, 1,
                                       RNL_WAIT_EQ));
    for (uint32_t i = 0; i < COUNT; i++) {
        ops[i] = op_on(all, RNL_WRITE_VALUE, 0, i + 1);
        expect_ok(rnl_buffer_slice(all.buffer, i * 4, 4, &ops[i].buffer));
    }
    expect_ok(rnl_enqueue_values(suite_stream(), ops, COUNT));
    for (int i = 0; i < COUNT; i++)
        expect_ok(rnl_buffer_release(ops[i].buffer));
    count_on(suite_stream(), &calls);
    expect_shut(suite_stream());
    atomic_store(shut.w32, 1);
    synchronize(suite_stream());
    assert_int_equal(calls.count, 1);
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(all.w32[i], i + 1);
    expect_ok(rnl_buffer_release(all.buffer));
    expect_ok(rnl_buffer_release(shut.buffer));
}

RNL_TEST(an_empty_batch_does_nothing)
{
    suite_need(RNL_FEATURE_MEMORY_OPERATIONS);
    expect_ok(rnl_enqueue_values(suite_stream(), NULL, 0));
    expect_ok(rnl_stream_query(suite_stream()));
}

RNL_TEST(a_batch_with_one_bad_operation_does_nothing)
{
    struct words words = new_words(16);
    rnl_value_op ops[] = {
        op_on(words, RNL_WRITE_VALUE, 0, 1),
        op_on(words, RNL_WRITE_VALUE, 4, 1),
        op_on(words, RNL_WRITE_VALUE, 8, 1),
        op_on(words, RNL_WRITE_VALUE, 16, 1),
    };
    expect_error(rnl_enqueue_values(suite_stream(), ops, 4),
                 RNL_ERROR_OUT_OF_RANGE, "ops");
    ops[3].offset = 12;
    ops[3].struct_size = 1;
    expect_error(rnl_enqueue_values(suite_stream(), ops, 4),
                 RNL_ERROR_INVALID_ARGUMENT, "ops");
    synchronize(suite_stream());
    for (int i = 0; i < 4; i++)
        assert_int_equal(words.w32[i], 0);
    expect_ok(rnl_buffer_release(words.buffer));
}

// --- Addresses -------------------------------------------------------------

RNL_TEST(addresses_are_of_memory_that_the_context_knows)
{
    suite_need(RNL_FEATURE_MEMORY_OPERATIONS);
    static _Atomic uint64_t registered[4];
    void *allocated = NULL;
    rnl_context other = suite_open(NULL);
    rnl_stream foreign = NULL;
    rnl_value_op op = *RNL_VALUE_OP(.action = RNL_WRITE_VALUE, .width = 64,
                                    .pointer = registered, .offset = 8,
                                    .value = 5);
    expect_ok(rnl_context_default_stream(other, &foreign));
    expect_error(rnl_enqueue_values(suite_stream(), &op, 1),
                 RNL_ERROR_OUT_OF_RANGE, "ops");
    assert_non_null(strstr(rnl_last_error()->message, "context knows"));
    expect_ok(rnl_host_register(suite_context(), registered,
                                sizeof registered));
    expect_ok(rnl_host_allocate(suite_context(), 16, &allocated));
    expect_ok(rnl_enqueue_values(suite_stream(), &op, 1));
    op.pointer = allocated;
    expect_ok(rnl_enqueue_values(suite_stream(), &op, 1));
    expect_error(rnl_enqueue_values(foreign, &op, 1), RNL_ERROR_OUT_OF_RANGE,
                 "ops");
    synchronize(suite_stream());
    assert_int_equal(registered[1], 5);
    assert_int_equal(((_Atomic uint64_t *)allocated)[1], 5);
    const size_t outside[] = {16, 12, SIZE_MAX - 7, (size_t)-8, SIZE_MAX / 2};
    for (int i = 0; i < 5; i++) {
        op.offset = outside[i];
        expect_error(rnl_enqueue_values(suite_stream(), &op, 1),
                     RNL_ERROR_OUT_OF_RANGE, "ops");
    }
    expect_ok(rnl_host_free(suite_context(), allocated));
    op.offset = 0;
    expect_error(rnl_enqueue_values(suite_stream(), &op, 1),
                 RNL_ERROR_OUT_OF_RANGE, "ops");
    expect_ok(rnl_host_unregister(suite_context(), registered));
    expect_ok(rnl_context_release(other));
}

// --- Who releases a wait ---------------------------------------------------

RNL_TEST(a_store_of_the_host_releases_a_wait)
{
    struct words words = new_words(8);
    struct host_calls calls = {0, -1};
    for (uint64_t i = 1; i <= 100; i++) {
        expect_ok(rnl_enqueue_wait_value64(suite_stream(), words.buffer, 0, i,
                                           RNL_WAIT_GEQ));
        count_on(suite_stream(), &calls);
        assert_status(rnl_stream_query(suite_stream()), RNL_NOT_READY);
        atomic_store(words.w64, i);
        if (i % 3 == 0)
            rnl_stream_query(suite_stream());
        if (i % 3 == 1)
            synchronize(suite_stream());
        await_calls(&calls, (int)i);
    }
    synchronize(suite_stream());
    expect_ok(rnl_buffer_release(words.buffer));
}

static void *store_one(void *word)
{
    atomic_store((_Atomic uint32_t *)word, 1);
    return NULL;
}

RNL_TEST(a_store_of_the_host_releases_a_thread_that_synchronizes)
{
    struct words words = new_words(4);
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        atomic_store(words.w32, 0);
        expect_ok(rnl_enqueue_wait_value32(suite_stream(), words.buffer, 0, 1,
                                           RNL_WAIT_EQ));
        assert_int_equal(
            pthread_create(&thread, NULL, store_one, words.pointer), 0);
        synchronize(suite_stream());
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    expect_ok(rnl_buffer_release(words.buffer));
}

RNL_TEST(another_stream_releases_a_wait)
{
    struct words words = new_words(8);
    rnl_stream ping = suite_new_stream(), pong = suite_new_stream();
    for (uint32_t i = 1; i <= 200; i++) {
        expect_ok(rnl_enqueue_wait_value32(pong, words.buffer, 0, i,
                                           RNL_WAIT_EQ));
        expect_ok(rnl_enqueue_write_value32(pong, words.buffer, 4, i));
        expect_ok(rnl_enqueue_write_value32(ping, words.buffer, 0, i));
        expect_ok(rnl_enqueue_wait_value32(ping, words.buffer, 4, i,
                                           RNL_WAIT_EQ));
    }
    synchronize(pong);
    synchronize(ping);
    assert_int_equal(words.w32[1], 200);
    expect_ok(rnl_stream_release(ping));
    expect_ok(rnl_stream_release(pong));
    expect_ok(rnl_buffer_release(words.buffer));
}

RNL_TEST(a_stream_of_another_context_releases_a_wait)
{
    struct words words = new_words(4);
    struct host_calls calls = {0, -1};
    rnl_context other = suite_open(NULL);
    rnl_stream writer = NULL;
    expect_ok(rnl_context_default_stream(other, &writer));
    expect_error(rnl_enqueue_write_value32(writer, words.buffer, 0, 1),
                 RNL_ERROR_INVALID_HANDLE, "buffer");
    suite_need(RNL_FEATURE_PEER_ACCESS);
    expect_ok(rnl_context_enable_peer(other, suite_context()));
    expect_ok(rnl_enqueue_wait_value32(suite_stream(), words.buffer, 0, 1,
                                       RNL_WAIT_EQ));
    count_on(suite_stream(), &calls);
    expect_shut(suite_stream());
    expect_ok(rnl_enqueue_write_value32(writer, words.buffer, 0, 1));
    await_calls(&calls, 1);
    synchronize(writer);
    expect_ok(rnl_context_release(other));
    synchronize(suite_stream());
    expect_ok(rnl_buffer_release(words.buffer));
}

static rnl_status store_seven(const rnl_native_call *call)
{
    atomic_store((_Atomic uint32_t *)call->user_data, 7);
    return RNL_OK;
}

RNL_TEST(a_native_kernel_releases_a_wait)
{
    struct words words = new_words(4);
    struct host_calls calls = {0, -1};
    rnl_stream other = suite_new_stream();
    rnl_function function = suite_native("store", store_seven, words.pointer);
    expect_ok(rnl_enqueue_wait_value32(suite_stream(), words.buffer, 0, 7,
                                       RNL_WAIT_EQ));
    count_on(suite_stream(), &calls);
    expect_shut(suite_stream());
    expect_ok(rnl_enqueue_function(other, function,
                                   RNL_LAUNCH(.grid = {1}, .block = {1}),
                                   RNL_NO_ARGS));
    synchronize(other);
    await_calls(&calls, 1);
    synchronize(suite_stream());
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_stream_release(other));
    expect_ok(rnl_buffer_release(words.buffer));
}

RNL_TEST(a_kernel_from_source_releases_a_wait)
{
    struct words words = new_words(8);
    rnl_stream other = suite_new_stream();
    rnl_function function = suite_compile(
        "extern \"C\" __global__ void store(unsigned *word, unsigned value)\n"
        "{ __threadfence(); atomicExch(word, value); }\n", "store");
    expect_ok(rnl_enqueue_wait_value32(suite_stream(), words.buffer, 0, 9,
                                       RNL_WAIT_EQ));
    expect_ok(rnl_enqueue_write_value32(suite_stream(), words.buffer, 4, 1));
    expect_shut(suite_stream());
    expect_ok(rnl_enqueue_function(other, function,
                                   RNL_LAUNCH(.grid = {1}, .block = {1}),
                                   RNL_ARGS(words.buffer, 9u)));
    synchronize(suite_stream());
    assert_int_equal(words.w32[1], 1);
    synchronize(other);
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_stream_release(other));
    expect_ok(rnl_buffer_release(words.buffer));
}

// --- Waits and everything else ---------------------------------------------

RNL_TEST(a_time_limit_says_what_value_is_missing)
{
    struct words words = new_words(4);
    expect_ok(rnl_enqueue_wait_value32(suite_stream(), words.buffer, 0, 0x77,
                                       RNL_WAIT_GEQ));
    expect_error(rnl_stream_synchronize(suite_stream(), SOON_NS),
                 RNL_ERROR_TIMED_OUT, NULL);
    if (suite_is_cpu()) {
        assert_non_null(strstr(rnl_last_error()->message, "0x77"));
        assert_non_null(strstr(rnl_last_error()->message, "at least"));
    }
    atomic_store(words.w32, 0x77);
    expect_ok(rnl_stream_synchronize(suite_stream(), UINT64_MAX - 1));
    expect_ok(rnl_buffer_release(words.buffer));
}

RNL_TEST(events_behind_a_wait_are_not_ready)
{
    struct words words = new_words(4);
    struct host_calls calls = {0, -1};
    rnl_stream other = suite_new_stream();
    rnl_event event = suite_new_event();
    expect_ok(rnl_enqueue_wait_value32(suite_stream(), words.buffer, 0, 1,
                                       RNL_WAIT_EQ));
    expect_ok(rnl_enqueue_event_record(suite_stream(), event));
    expect_ok(rnl_enqueue_wait_event(other, event));
    count_on(other, &calls);
    assert_status(rnl_event_query(event), RNL_NOT_READY);
    expect_error(rnl_event_synchronize(event, 0), RNL_ERROR_TIMED_OUT, NULL);
    expect_shut(other);
    assert_int_equal(calls.count, 0);
    atomic_store(words.w32, 1);
    synchronize(other);
    expect_ok(rnl_event_query(event));
    assert_int_equal(calls.count, 1);
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_stream_release(other));
    expect_ok(rnl_buffer_release(words.buffer));
}

// One word for all, then one for each.
static void release_many(bool one)
{
    enum { COUNT = 2000 };
    static rnl_stream streams[COUNT];
    struct words words = new_words(COUNT * 4);
    struct host_calls calls = {0, -1}, others = {0, -1};
    for (size_t i = 0; i < COUNT; i++) {
        streams[i] = suite_new_stream();
        expect_ok(rnl_enqueue_wait_value32(streams[i], words.buffer,
                                           one ? 0 : i * 4, 1, RNL_WAIT_EQ));
        count_on(streams[i], &calls);
    }
    expect_shut(streams[0]);
    expect_shut(streams[COUNT - 1]);
    for (int i = 0; i < 200; i++)
        count_on(suite_stream(), &others);
    synchronize(suite_stream());
    assert_int_equal(others.count, 200);
    assert_int_equal(calls.count, 0);
    for (size_t i = 0; i < (one ? 1 : COUNT); i++)
        atomic_store(&words.w32[i], 1);
    await_calls(&calls, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        synchronize(streams[i]);
        expect_ok(rnl_stream_release(streams[i]));
    }
    expect_ok(rnl_buffer_release(words.buffer));
}

RNL_TEST(thousands_of_waits_hold_up_nobody)
{
    release_many(true);
    release_many(false);
}

RNL_TEST(a_chain_of_waits_runs_down)
{
    enum { COUNT = 500 };
    rnl_stream streams[COUNT];
    struct words words = new_words((COUNT + 1) * 4);
    for (size_t i = 0; i < COUNT; i++) {
        streams[i] = suite_new_stream();
        expect_ok(rnl_enqueue_wait_value32(streams[i], words.buffer, i * 4, 1,
                                           RNL_WAIT_EQ));
        expect_ok(rnl_enqueue_write_value32(streams[i], words.buffer,
                                            (i + 1) * 4, 1));
    }
    expect_shut(streams[COUNT - 1]);
    atomic_store(words.w32, 1);
    synchronize(streams[COUNT - 1]);
    assert_int_equal(words.w32[COUNT], 1);
    for (size_t i = 0; i < COUNT; i++)
        expect_ok(rnl_stream_release(streams[i]));
    expect_ok(rnl_buffer_release(words.buffer));
}

// A context with one worker, two streams, and a wait on the second.
struct narrow {
    rnl_context context;
    rnl_stream busy, waiting;
    _Atomic uint32_t *word;
};

static struct narrow new_narrow(void)
{
    suite_need(RNL_FEATURE_MEMORY_OPERATIONS);
    struct narrow narrow = {suite_open(RNL_CONTEXT_OPTIONS(.threads = 1))};
    void *pointer = NULL;
    expect_ok(rnl_stream_create(narrow.context, NULL, &narrow.busy));
    expect_ok(rnl_stream_create(narrow.context, NULL, &narrow.waiting));
    expect_ok(rnl_host_allocate(narrow.context, 4, &pointer));
    memset(pointer, 0, 4);
    narrow.word = pointer;
    expect_ok(rnl_enqueue_values(
        narrow.waiting, RNL_VALUE_OP(.action = RNL_WAIT_EQ, .width = 32,
                                     .pointer = pointer, .value = 1), 1));
    return narrow;
}

static void narrow_finish(struct narrow *narrow)
{
    expect_ok(rnl_context_synchronize(narrow->context, RNL_FOREVER));
    expect_ok(rnl_host_free(narrow->context, (void *)narrow->word));
    expect_ok(rnl_stream_release(narrow->busy));
    expect_ok(rnl_stream_release(narrow->waiting));
    expect_ok(rnl_context_release(narrow->context));
}

RNL_TEST(a_wait_is_over_while_a_host_function_blocks)
{
    struct narrow narrow = new_narrow();
    struct host_calls calls = {0, -1};
    count_on(narrow.waiting, &calls);
    expect_shut(narrow.waiting);
    struct gate *gate = gate_shut(narrow.busy);
    gate_wait_entered(gate);
    atomic_store(narrow.word, 1);
    await_calls(&calls, 1);
    gate_open(gate);
    narrow_finish(&narrow);
    gate_free(gate);
}

// The thread that synchronizes has to see the value itself.
RNL_TEST(a_wait_is_over_while_all_workers_are_busy)
{
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    struct narrow narrow = new_narrow();
    pthread_t thread;
    struct gate *gate = gate_block_workers(narrow.busy, 1);
    gate_wait_entered(gate);
    assert_int_equal(
        pthread_create(&thread, NULL, store_one, (void *)narrow.word), 0);
    synchronize(narrow.waiting);
    assert_int_equal(pthread_join(thread, NULL), 0);
    gate_open(gate);
    narrow_finish(&narrow);
    gate_free(gate);
}

RNL_TEST(everything_may_be_released_while_it_waits)
{
    struct words words = new_words(8);
    struct host_calls calls = {0, -1};
    rnl_stream streams[20];
    for (int i = 0; i < 20; i++) {
        streams[i] = suite_new_stream();
        expect_ok(rnl_enqueue_wait_value32(streams[i], words.buffer, 0, 1,
                                           RNL_WAIT_GEQ));
        expect_ok(rnl_enqueue_wait_value32(streams[i], words.buffer, 4, 1,
                                           RNL_WAIT_GEQ));
        count_on(streams[i], &calls);
    }
    expect_shut(streams[19]);
    for (int i = 0; i < 20; i++)
        expect_ok(rnl_stream_release(streams[i]));
    // The last wait keeps the words; nobody but the library has the context.
    expect_ok(rnl_context_retain(suite_context()));
    expect_ok(rnl_context_release(suite_context()));
    expect_ok(rnl_buffer_release(words.buffer));
    assert_int_equal(calls.count, 0);
    atomic_store(&words.w32[0], 1);
    atomic_store(&words.w32[1], 1);
    await_calls(&calls, 20);
}

RNL_TEST(a_context_may_be_released_while_a_stream_waits)
{
    suite_need(RNL_FEATURE_MEMORY_OPERATIONS);
    rnl_context context = suite_open(NULL);
    rnl_stream stream = NULL;
    rnl_buffer buffer = NULL;
    void *pointer = NULL;
    struct host_calls calls = {0, -1};
    expect_ok(rnl_context_default_stream(context, &stream));
    expect_ok(rnl_buffer_create(context, 4,
                                RNL_BUFFER_OPTIONS(.kind = RNL_MEMORY_HOST),
                                &buffer));
    expect_ok(rnl_buffer_host_pointer(buffer, &pointer));
    memset(pointer, 0, 4);
    expect_ok(rnl_enqueue_wait_value32(stream, buffer, 0, 1, RNL_WAIT_EQ));
    count_on(stream, &calls);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_context_release(context));
    atomic_store((_Atomic uint32_t *)pointer, 1);
    await_calls(&calls, 1);
}

// --- Failures --------------------------------------------------------------

static rnl_status break_down(const rnl_native_call *call)
{
    (void)call;
    return RNL_ERROR_LAUNCH_FAILED;
}

RNL_TEST(a_failed_stream_neither_waits_nor_writes)
{
    struct words words = new_words(8);
    struct host_calls calls = {0, -1};
    rnl_stream stream = suite_new_stream();
    rnl_function bad = suite_native("break_down", break_down, NULL);
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_enqueue_function(stream, bad,
                                   RNL_LAUNCH(.grid = {1}, .block = {1}),
                                   RNL_NO_ARGS));
    expect_ok(rnl_enqueue_wait_value32(stream, words.buffer, 0, 1,
                                       RNL_WAIT_EQ));
    expect_ok(rnl_enqueue_write_value32(stream, words.buffer, 4, 1));
    count_on(stream, &calls);
    gate_open(gate);
    expect_error(rnl_stream_synchronize(stream, RNL_FOREVER),
                 RNL_ERROR_LAUNCH_FAILED, NULL);
    assert_int_equal(calls.status, RNL_ERROR_LAUNCH_FAILED);
    assert_int_equal(words.w32[1], 0);
    expect_error(rnl_enqueue_write_value32(stream, words.buffer, 4, 1),
                 RNL_ERROR_LAUNCH_FAILED, NULL);
    expect_ok(rnl_stream_reset_and_wait(stream));
    expect_ok(rnl_enqueue_write_value32(stream, words.buffer, 4, 1));
    synchronize(stream);
    assert_int_equal(words.w32[1], 1);
    gate_free(gate);
    expect_ok(rnl_function_release(bad));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_buffer_release(words.buffer));
}

// --- Refused ---------------------------------------------------------------

RNL_TEST(words_are_aligned_and_inside_of_their_buffer)
{
    struct words words = new_words(16);
    const struct {
        size_t offset;
        rnl_status status32, status64;
    } rows[] = {
        {0, RNL_OK, RNL_OK},
        {4, RNL_OK, RNL_ERROR_INVALID_ARGUMENT},
        {8, RNL_OK, RNL_OK},
        {12, RNL_OK, RNL_ERROR_OUT_OF_RANGE},
        {16, RNL_ERROR_OUT_OF_RANGE, RNL_ERROR_OUT_OF_RANGE},
        {SIZE_MAX, RNL_ERROR_OUT_OF_RANGE, RNL_ERROR_OUT_OF_RANGE},
        {1, RNL_ERROR_INVALID_ARGUMENT, RNL_ERROR_INVALID_ARGUMENT},
        {2, RNL_ERROR_INVALID_ARGUMENT, RNL_ERROR_INVALID_ARGUMENT},
        {7, RNL_ERROR_INVALID_ARGUMENT, RNL_ERROR_INVALID_ARGUMENT},
    };
    rnl_stream stream = suite_stream();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t at = rows[i].offset;
        assert_status(rnl_enqueue_write_value32(stream, words.buffer, at, 0),
                      rows[i].status32);
        assert_status(rnl_enqueue_wait_value32(stream, words.buffer, at, 0,
                                               RNL_WAIT_EQ),
                      rows[i].status32);
        assert_status(rnl_enqueue_write_value64(stream, words.buffer, at, 0),
                      rows[i].status64);
        assert_status(rnl_enqueue_wait_value64(stream, words.buffer, at, 0,
                                               RNL_WAIT_GEQ),
                      rows[i].status64);
    }
    expect_error(rnl_enqueue_write_value32(stream, words.buffer, 2, 0),
                 RNL_ERROR_INVALID_ARGUMENT, "offset");
    synchronize(stream);
    expect_ok(rnl_buffer_release(words.buffer));
}

RNL_TEST(value_operations_are_checked)
{
    struct words words = new_words(16);
    const rnl_value_op good = op_on(words, RNL_WAIT_NOR, 0, 0);
    rnl_value_op bad[14];
    for (int i = 0; i < 14; i++)
        bad[i] = good;
    bad[0].action = (rnl_value_action)0;
    bad[1].action = (rnl_value_action)6;
    bad[2].width = 0;
    bad[3].width = 16;
    bad[4].width = 4;
    bad[5].value = (uint64_t)1 << 32;
    bad[6].flags = 4;
    bad[7].flags = RNL_VALUE_NO_BARRIER;
    bad[8].action = RNL_WRITE_VALUE;
    bad[8].flags = RNL_VALUE_FLUSH;
    bad[9].pointer = words.pointer;
    bad[10].buffer = NULL;
    bad[11].struct_size = 0;
    bad[12].struct_size = SIZE_MAX;
    bad[13].offset = 2;
    for (int i = 0; i < 14; i++)
        expect_error(rnl_enqueue_values(suite_stream(), &bad[i], 1),
                     RNL_ERROR_INVALID_ARGUMENT, "ops");
    expect_error(rnl_enqueue_values(suite_stream(), NULL, 1),
                 RNL_ERROR_INVALID_ARGUMENT, "ops");
    expect_error(rnl_enqueue_values(suite_stream(), &good, SIZE_MAX / 2),
                 RNL_ERROR_OUT_OF_RANGE, "count");
    const int none[] = {0, RNL_WRITE_VALUE, 6, -1};
    for (int i = 0; i < 4; i++) {
        rnl_value_action condition = (rnl_value_action)none[i];
        expect_error(rnl_enqueue_wait_value32(suite_stream(), words.buffer, 0,
                                              0, condition),
                     RNL_ERROR_INVALID_ARGUMENT, "condition");
        expect_error(rnl_enqueue_wait_value64(suite_stream(), words.buffer, 0,
                                              0, condition),
                     RNL_ERROR_INVALID_ARGUMENT, "condition");
    }
    expect_ok(rnl_stream_query(suite_stream()));
    expect_ok(rnl_buffer_release(words.buffer));
}

RNL_TEST(flags_of_value_operations_are_accepted)
{
    struct words words = new_words(16);
    rnl_value_op ops[] = {op_on(words, RNL_WRITE_VALUE, 0, 3),
                          op_on(words, RNL_WAIT_GEQ, 0, 3)};
    ops[0].flags = RNL_VALUE_NO_BARRIER;
    ops[1].flags = RNL_VALUE_FLUSH;
    expect_ok(rnl_enqueue_values(suite_stream(), ops, 2));
    synchronize(suite_stream());
    assert_int_equal(words.w32[0], 3);
    expect_ok(rnl_buffer_release(words.buffer));
}

// --- Threads ---------------------------------------------------------------

enum { THREADS = 4, TURNS = 300 };

struct turns {
    rnl_stream stream;
    struct words words;
    uint32_t number;
    int accepted;
};

// The threads take turns through one word; each waits on its own stream.
static void *take_turns(void *argument)
{
    struct turns *turns = argument;
    for (uint32_t i = 0; i < TURNS; i++) {
        uint32_t mine = i * THREADS + turns->number;
        const rnl_value_op ops[] = {
            op_on(turns->words, RNL_WAIT_EQ, 0, mine),
            op_on(turns->words, RNL_WRITE_VALUE, 0, mine + 1),
        };
        if (rnl_enqueue_values(turns->stream, ops, 2) != RNL_OK ||
            (i % 4 == 0 &&
             rnl_stream_synchronize(turns->stream, RNL_FOREVER) != RNL_OK))
            return NULL;
        turns->accepted++;
    }
    return NULL;
}

RNL_TEST(threads_take_turns_through_a_word)
{
    struct words words = new_words(4);
    struct turns turns[THREADS];
    pthread_t threads[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        turns[i] = (struct turns){suite_new_stream(), words, i, 0};
        assert_int_equal(
            pthread_create(&threads[i], NULL, take_turns, &turns[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(turns[i].accepted, TURNS);
        synchronize(turns[i].stream);
        expect_ok(rnl_stream_release(turns[i].stream));
    }
    assert_int_equal(words.w32[0], THREADS * TURNS);
    expect_ok(rnl_buffer_release(words.buffer));
}

// What was written before the word is seen behind the wait.
static int plain_data;

static rnl_status read_plain(const rnl_native_call *call)
{
    *(int *)call->user_data += plain_data;
    return RNL_OK;
}

RNL_TEST(a_wait_orders_plain_memory)
{
    struct words words = new_words(4);
    int sum = 0, expected = 0;
    rnl_function reader = suite_native("read", read_plain, &sum);
    for (uint32_t i = 1; i <= 200; i++) {
        expect_ok(rnl_enqueue_wait_value32(suite_stream(), words.buffer, 0, i,
                                           RNL_WAIT_GEQ));
        expect_ok(rnl_enqueue_function(suite_stream(), reader,
                                       RNL_LAUNCH(.grid = {1}, .block = {1}),
                                       RNL_NO_ARGS));
        plain_data = (int)i;
        expected += (int)i;
        atomic_store_explicit(words.w32, i, memory_order_release);
        synchronize(suite_stream());
    }
    assert_int_equal(sum, expected);
    expect_ok(rnl_function_release(reader));
    expect_ok(rnl_buffer_release(words.buffer));
}
