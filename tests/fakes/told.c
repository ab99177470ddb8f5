// Who waits for a stream is told by a word that the device writes.
#include "loaded.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { NOT_READY = 600, ILLEGAL_ADDRESS = 700, NOT_SUPPORTED = 801 };
enum { SIZE = 64, WAITERS = 3 };

// The stream does not get beyond hold() before the word is let on.
static rnl_context context;
static rnl_stream stream, other;
static rnl_buffer buffer;
static uint32_t held;

static void begin(void)
{
    fake_open(&context, &stream, 0, &buffer, SIZE);
    assert_ok(rnl_stream_create(context, NULL, &other));
    assert_ok(rnl_enqueue_fill(stream, buffer, 0, SIZE, 0, 1));
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
}

static void end(void)
{
    assert_ok(rnl_stream_release(other));
    fake_close(context, stream, buffer);
}

static void hold(void)
{
    assert_ok(rnl_enqueue_wait_value32(stream, buffer, 0, ++held,
                                       RNL_WAIT_GEQ));
}

static void let_on(void)
{
    assert_ok(rnl_enqueue_write_value32(other, buffer, 0, held));
}

static size_t writes(void)
{
    return fake_calls("cuStreamWriteValue32");
}

static void *synchronize(void *out_status)
{
    *(rnl_status *)out_status = rnl_stream_synchronize(stream, RNL_FOREVER);
    return NULL;
}

struct waiter {
    pthread_t thread;
    rnl_status status;
};

static void start(struct waiter *waiter)
{
    assert_int_equal(pthread_create(&waiter->thread, NULL, synchronize,
                                    &waiter->status), 0);
}

static rnl_status join(struct waiter *waiter)
{
    pthread_join(waiter->thread, NULL);
    return waiter->status;
}

static void await_calls(const char *name, size_t count)
{
    while (fake_calls(name) < count)
        sched_yield();
}

// The number of words that the device was told to write for a wait for work
// that is not done when it begins.
static size_t words_for_a_wait(void)
{
    struct waiter waiter;
    size_t before = writes(), queries = fake_calls("cuStreamQuery");
    hold();
    start(&waiter);
    await_calls("cuStreamQuery", queries + 3);
    let_on();
    assert_ok(join(&waiter));
    return writes() - before;
}

RNL_TEST(the_word_ends_a_wait_whatever_the_driver_says)
{
    struct waiter waiter;
    begin();
    fake_fail("cuStreamQuery", 1, NOT_READY, 1);
    size_t before = writes();
    hold();
    start(&waiter);
    await_calls("cuStreamWriteValue32", before + 1);
    let_on();
    assert_ok(join(&waiter));
    fake_fail("cuStreamQuery", 0, 0, 0);
    end();
}

RNL_TEST(those_who_wait_for_the_same_share_a_word)
{
    struct waiter waiters[WAITERS];
    begin();
    size_t before = writes();
    hold();
    for (int i = 0; i < WAITERS; i++) {
        size_t queries = fake_calls("cuStreamQuery");
        start(&waiters[i]);
        await_calls("cuStreamQuery", queries + 3);
    }
    let_on();
    for (int i = 0; i < WAITERS; i++)
        assert_ok(join(&waiters[i]));
    assert_int_equal(writes(), before + 1);
    assert_int_equal(words_for_a_wait(), 1);
    end();
}

// The words go from stream to stream, and count on.
RNL_TEST(another_stream_goes_on_with_the_words)
{
    begin();
    for (int i = 0; i < 5; i++) {
        assert_int_equal(words_for_a_wait(), 1);
        assert_ok(rnl_stream_release(stream));
        assert_ok(rnl_stream_create(context, NULL, &stream));
    }
    assert_int_equal(words_for_a_wait(), 1);
    end();
}

RNL_TEST(work_that_is_done_needs_no_word)
{
    begin();
    size_t before = writes();
    assert_ok(rnl_enqueue_fill(stream, buffer, 0, SIZE, 0, 1));
    while (rnl_stream_query(stream) != RNL_OK)
        sched_yield();
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(writes(), before);
    end();
}

// The driver may hold up a call for longer than the limit.
RNL_TEST(waits_with_a_time_limit_need_no_word)
{
    begin();
    size_t before = writes();
    hold();
    assert_status(rnl_stream_synchronize(stream, 1), RNL_ERROR_TIMED_OUT);
    assert_int_equal(writes(), before);
    let_on();
    end();
}

RNL_TEST(a_word_that_is_refused_is_not_waited_for)
{
    begin();
    fake_fail("cuStreamWriteValue32", 1, NOT_SUPPORTED, 1);
    assert_int_equal(words_for_a_wait(), 1);
    fake_fail("cuStreamWriteValue32", 0, 0, 0);
    end();
}

RNL_TEST(without_memory_for_words_the_driver_is_asked)
{
    fake_load();
    fake_fail("cuMemHostAlloc", 1, 2, 1);
    begin();
    assert_int_equal(words_for_a_wait(), 0);
    fake_fail("cuMemHostAlloc", 0, 0, 0);
    end();
}

// Where the host may touch managed memory only once the driver says so.
RNL_TEST(the_driver_is_asked_where_managed_memory_wants_it)
{
    setenv("RUNNEL_FAKE_ATTRIBUTE", "89:0", 1);
    begin();
    assert_int_equal(words_for_a_wait(), 0);
    end();
}

RNL_TEST(a_tool_that_watches_sees_the_driver_asked)
{
    assert_non_null(dlopen(WATCHER, RTLD_NOW));
    begin();
    assert_int_equal(words_for_a_wait(), 0);
    end();
}

// Others may give it work that comes behind the word, and capture it.
RNL_TEST(the_driver_is_asked_about_a_stream_that_was_shared)
{
    void *native;
    begin();
    assert_ok(rnl_stream_native(stream, &native));
    assert_int_equal(words_for_a_wait(), 0);
    end();
}

RNL_TEST(a_fault_ends_a_wait_for_a_word)
{
    struct waiter waiter;
    begin();
    size_t before = writes();
    hold();
    start(&waiter);
    await_calls("cuStreamWriteValue32", before + 1);
    fake_break(0, ILLEGAL_ADDRESS);
    assert_status(join(&waiter), RNL_ERROR_DEVICE_LOST);
    end();
}

// It is not waited for by those who wait already.
RNL_TEST(work_that_comes_later_is_not_waited_for)
{
    struct waiter waiter;
    begin();
    size_t before = writes();
    hold();
    start(&waiter);
    await_calls("cuStreamWriteValue32", before + 1);
    let_on();
    hold();
    assert_ok(join(&waiter));
    let_on();
    end();
}
