// The end of the process, and what becomes of the driver before it: its exit
// handler runs between ours and those that the program registered early.
#include "loaded.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LARGE = 32 << 20, COPIES = 8 };

static struct {
    rnl_context context;
    rnl_stream stream, other;
    rnl_buffer buffer, word;
    _Atomic int entered;
} busy;
static char large[LARGE];

static void block(rnl_status status, void *user_data)
{
    (void)status;
    (void)user_data;
    atomic_store(&busy.entered, 1);
    for (;;)
        pause();
}

// Staged copies, a host function that never returns, and a wait for ever.
static void get_busy(void)
{
    assert_ok(rnl_context_open("cuda", 0, NULL, &busy.context));
    assert_ok(rnl_stream_create(busy.context, NULL, &busy.stream));
    assert_ok(rnl_stream_create(busy.context, NULL, &busy.other));
    assert_ok(rnl_buffer_create(busy.context, LARGE, NULL, &busy.buffer));
    assert_ok(rnl_buffer_create(busy.context, 64,
                                RNL_BUFFER_OPTIONS(.zeroed = true),
                                &busy.word));
    assert_ok(rnl_enqueue_host_function(busy.stream, block, NULL));
    while (!atomic_load(&busy.entered))
        sched_yield();
    for (int i = 0; i < COPIES; i++) {
        assert_ok(rnl_enqueue_copy_to_buffer(busy.other, busy.buffer, 0,
                                             large, LARGE));
        assert_ok(rnl_enqueue_copy_from_buffer(busy.other, large, busy.buffer,
                                               0, LARGE));
    }
    assert_ok(rnl_enqueue_wait_value32(busy.other, busy.word, 0, 1,
                                       RNL_WAIT_EQ));
    assert_ok(rnl_enqueue_host_function(busy.other, block, NULL));
}

static void expect_end(const char *test, int status)
{
    assert_int_equal(fake_spawn(test, NULL), status);
}

RNL_TEST(a_process_exits_with_all_under_way)
{
    fake_load();
    if (!fake_is_child()) {
        expect_end(__func__, 42);
        return;
    }
    get_busy();
    exit(42);
}

static void *exit_from_here(void *status)
{
    exit(*(const int *)status);
}

RNL_TEST(another_thread_may_end_the_process)
{
    static const int status = 43;
    fake_load();
    if (!fake_is_child()) {
        expect_end(__func__, status);
        return;
    }
    pthread_t thread;
    get_busy();
    assert_int_equal(pthread_create(&thread, NULL, exit_from_here,
                                    (void *)&status), 0);
    rnl_stream_synchronize(busy.stream, RNL_FOREVER);
    for (;;)
        pause();
}

// Who waits for copies carries them, too, in the driver's page-locked memory,
// which is left before it goes.
static struct {
    pthread_t thread;
    _Atomic bool inside, leaving;
} carrier;

static void meet_carrier(void *unused)
{
    if (!pthread_equal(pthread_self(), carrier.thread)) {
        fake_meet("cuMemcpyAsync", meet_carrier, unused);
        return;
    }
    atomic_store(&carrier.inside, true);
    while (!atomic_load(&carrier.leaving))
        sched_yield();
    // Longer than an exit takes that does not wait, and far shorter than one
    // waits.
    for (volatile int i = 0; i < 1000000; i++)
        ;
    atomic_store(&carrier.inside, false);
}

static void *copy_for_ever(void *unused)
{
    carrier.thread = pthread_self();
    fake_meet("cuMemcpyAsync", meet_carrier, unused);
    for (;;)
        rnl_copy_to_buffer_and_wait(busy.stream, busy.buffer, 0, large, LARGE);
    return unused;
}

// Runs behind the library's handler.
static void find_carrier(void)
{
    _exit(atomic_load(&carrier.inside) ? 1 : 47);
}

RNL_TEST(a_process_exits_while_a_thread_copies)
{
    fake_load();
    if (!fake_is_child()) {
        expect_end(__func__, 47);
        return;
    }
    pthread_t thread;
    assert_ok(rnl_context_open("cuda", 0, NULL, &busy.context));
    assert_ok(rnl_stream_create(busy.context, NULL, &busy.stream));
    assert_ok(rnl_buffer_create(busy.context, LARGE, NULL, &busy.buffer));
    atexit(find_carrier);
    assert_int_equal(pthread_create(&thread, NULL, copy_for_ever, NULL), 0);
    while (!atomic_load(&carrier.inside))
        sched_yield();
    atomic_store(&carrier.leaving, true);
    exit(0);
}

// Whether a host function is over is no question to page-locked memory.
static _Atomic int looks;

static void *look_for_ever(void *unused)
{
    for (;; atomic_fetch_add(&looks, 1)) {
        rnl_stream_query(busy.stream);
        rnl_enqueue_fill(busy.stream, busy.buffer, 0, 64, 0, 4);
    }
    return unused;
}

// Runs when the driver is gone.
static void await_looks(void)
{
    int before = atomic_load(&looks);
    while (atomic_load(&looks) - before < 100)
        sched_yield();
    _exit(48);
}

RNL_TEST(a_process_exits_while_a_thread_looks)
{
    fake_load();
    if (!fake_is_child()) {
        const char *const protected[] = {"RUNNEL_FAKE_PROTECT=1", NULL};
        assert_int_equal(fake_spawn(__func__, protected), 48);
        return;
    }
    pthread_t thread;
    atexit(await_looks);
    assert_ok(rnl_context_open("cuda", 0, NULL, &busy.context));
    assert_ok(rnl_stream_create(busy.context, NULL, &busy.stream));
    assert_ok(rnl_buffer_create(busy.context, 64, NULL, &busy.buffer));
    assert_ok(rnl_enqueue_host_function(busy.stream, block, NULL));
    while (!atomic_load(&busy.entered))
        sched_yield();
    assert_int_equal(pthread_create(&thread, NULL, look_for_ever, NULL), 0);
    while (atomic_load(&looks) < 10)
        sched_yield();
    exit(0);
}

// --- Exit handlers --------------------------------------------------------

// Runs when the driver is gone: all ends, with an error where work is left.
static void use_late(void)
{
    rnl_stream stream = NULL;
    if (rnl_stream_synchronize(busy.stream, RNL_FOREVER) !=
            RNL_ERROR_DEVICE_LOST ||
        rnl_context_synchronize(busy.context, RNL_FOREVER) !=
            RNL_ERROR_DEVICE_LOST)
        _exit(1);
    if (rnl_enqueue_fill(busy.stream, busy.buffer, 0, 64, 0, 4) !=
            RNL_ERROR_DEVICE_LOST ||
        rnl_stream_create(busy.context, NULL, &stream) == RNL_OK)
        _exit(2);
    if (rnl_buffer_release(busy.buffer) || rnl_buffer_release(busy.word) ||
        rnl_stream_release(busy.stream) || rnl_stream_release(busy.other) ||
        rnl_context_release(busy.context))
        _exit(3);
    _exit(44);
}

RNL_TEST(an_early_exit_handler_finds_the_device_gone)
{
    if (!fake_is_child()) {
        fake_load();
        expect_end(__func__, 44);
        return;
    }
    atexit(use_late);
    fake_load();
    get_busy();
    exit(0);
}

// Registered when the driver was there: it still is.
static void use_soon(void)
{
    if (rnl_fill_and_wait(busy.stream, busy.buffer, 0, LARGE, 7, 4) ||
        rnl_copy_from_buffer_and_wait(busy.stream, large, busy.buffer, 0,
                                      LARGE) ||
        large[LARGE - 4] != 7)
        _exit(1);
    if (rnl_buffer_release(busy.buffer) || rnl_stream_release(busy.stream) ||
        rnl_context_release(busy.context))
        _exit(2);
    _exit(45);
}

RNL_TEST(a_late_exit_handler_finds_the_device_at_work)
{
    fake_load();
    if (!fake_is_child()) {
        expect_end(__func__, 45);
        return;
    }
    assert_ok(rnl_context_open("cuda", 0, NULL, &busy.context));
    assert_ok(rnl_stream_create(busy.context, NULL, &busy.stream));
    assert_ok(rnl_buffer_create(busy.context, LARGE, NULL, &busy.buffer));
    assert_ok(rnl_copy_to_buffer_and_wait(busy.stream, busy.buffer, 0, large,
                                          LARGE));
    atexit(use_soon);
    exit(0);
}

// --- fork -----------------------------------------------------------------

RNL_TEST(a_forked_child_exits_while_its_parent_is_busy)
{
    fake_load();
    if (!fake_is_child()) {
        expect_end(__func__, 46);
        return;
    }
    get_busy();
    pid_t pid = test_fork();
    if (pid == 0) {
        // What the parent's threads hold cannot be found here.
        if (rnl_stream_query(busy.stream) == RNL_ERROR_FORKED)
            exit(5);
        _exit(1);
    }
    exit(test_wait(pid) == 5 ? 46 : 1);
}
