// Waits for values: who releases them, and how they meet everything else.
#include "words.h"

#include <pthread.h>
#include <unistd.h>

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

// A GPU's streams share queues: what is put into one for a wait stands behind
// all that others were given since.
RNL_TEST(a_wait_ends_while_many_other_streams_wait)
{
    enum { OTHERS = 16, ROUNDS = 10 };
    struct words words = new_words(12);
    rnl_stream others[OTHERS];
    for (int i = 0; i < OTHERS; i++)
        others[i] = suite_new_stream();
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t thread;
        atomic_store(words.w32, 0);
        atomic_store(words.w32 + 1, 0);
        expect_ok(rnl_enqueue_wait_value32(suite_stream(), words.buffer, 0, 1,
                                           RNL_WAIT_EQ));
        expect_ok(rnl_enqueue_fill(suite_stream(), words.buffer, 8, 4, 1, 1));
        for (int i = 0; i < OTHERS; i++)
            expect_ok(rnl_enqueue_wait_value32(others[i], words.buffer, 4, 1,
                                               RNL_WAIT_EQ));
        assert_int_equal(
            pthread_create(&thread, NULL, store_one, words.pointer), 0);
        expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
        atomic_store(words.w32 + 1, 1);
        assert_int_equal(pthread_join(thread, NULL), 0);
        for (int i = 0; i < OTHERS; i++)
            synchronize(others[i]);
    }
    for (int i = 0; i < OTHERS; i++)
        expect_ok(rnl_stream_release(others[i]));
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

// The first limits may pass while another thread is about to find out that the
// stream has to wait.
RNL_TEST(a_time_limit_says_what_value_is_missing)
{
    struct words words = new_words(4);
    expect_ok(rnl_enqueue_wait_value32(suite_stream(), words.buffer, 0, 0x77,
                                       RNL_WAIT_GEQ));
    do
        expect_error(rnl_stream_synchronize(suite_stream(), 1000000),
                     RNL_ERROR_TIMED_OUT, NULL);
    while (suite_is_cpu() &&
           !strstr(rnl_last_error()->message, "it waits for"));
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
    enum { MOST = 2000 };
    static rnl_stream streams[MOST];
    size_t count = suite_waiting_most(MOST);
    struct words words = new_words(count * 4);
    struct host_calls calls = {0, -1}, others = {0, -1};
    for (size_t i = 0; i < count; i++) {
        streams[i] = suite_new_stream();
        expect_ok(rnl_enqueue_wait_value32(streams[i], words.buffer,
                                           one ? 0 : i * 4, 1, RNL_WAIT_EQ));
        count_on(streams[i], &calls);
    }
    expect_shut(streams[0]);
    expect_shut(streams[count - 1]);
    for (int i = 0; i < 200; i++)
        count_on(suite_stream(), &others);
    synchronize(suite_stream());
    assert_int_equal(others.count, 200);
    assert_int_equal(calls.count, 0);
    for (size_t i = 0; i < (one ? 1 : count); i++)
        atomic_store(&words.w32[i], 1);
    await_calls(&calls, (int)count);
    for (size_t i = 0; i < count; i++) {
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
    enum { MOST = 500 };
    rnl_stream streams[MOST];
    size_t count = suite_waiting_most(MOST);
    struct words words = new_words((count + 1) * 4);
    for (size_t i = 0; i < count; i++) {
        streams[i] = suite_new_stream();
        expect_ok(rnl_enqueue_wait_value32(streams[i], words.buffer, i * 4, 1,
                                           RNL_WAIT_EQ));
        expect_ok(rnl_enqueue_write_value32(streams[i], words.buffer,
                                            (i + 1) * 4, 1));
    }
    expect_shut(streams[count - 1]);
    atomic_store(words.w32, 1);
    synchronize(streams[count - 1]);
    assert_int_equal(words.w32[count], 1);
    for (size_t i = 0; i < count; i++)
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

// --- Other processes -------------------------------------------------------

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

SUITE_CHILD(child_writes_a_value_blocking)
{
    struct words words = new_words(8);
    rnl_stream stream = NULL;
    uint32_t seen = 0;
    expect_ok(rnl_stream_create(
        suite_context(), RNL_STREAM_OPTIONS(.flags = RNL_STREAM_BATCHED),
        &stream));
    expect_ok(rnl_enqueue_write_value32(stream, words.buffer, 0, 5));
    expect_ok(rnl_enqueue_copy_from_buffer(stream, &seen, words.buffer, 0, 4));
    _exit(seen == 5 ? 51 : 1);
}

RNL_TEST(a_blocking_library_keeps_the_order_of_a_batch)
{
    suite_need(RNL_FEATURE_MEMORY_OPERATIONS);
    suite_need(RNL_FEATURE_BATCHED_STREAMS);
    const char *const environment[] = {"RUNNEL_BLOCKING=1", NULL};
    assert_int_equal(suite_spawn("child_writes_a_value_blocking", environment),
                     51);
}
