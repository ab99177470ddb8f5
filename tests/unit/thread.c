// base/thread: who is woken, and how soon; and the workers that stand by.
#include "unit.h"

#include "backends/cpu/scheduler/pool.h"

#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FIRST = 1, SECOND = 2 };

// As the system fills it in.
struct scheduling {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t slice_ns, deadline, period;
};

static _Atomic uint32_t word;

static void *sleep_as_first(void *unused)
{
    (void)unused;
    while (atomic_load(&word) == 0)
        futex_wait_as(&word, 0, RNL_FOREVER, FIRST);
    return NULL;
}

RNL_TEST(only_sleepers_of_a_kind_are_woken)
{
    pthread_t thread;
    atomic_store(&word, 0);
    assert_true(thread_start(&thread, "sleeper", sleep_as_first, NULL));
    // It goes back to sleep as long as the word is 0.
    while (futex_wake_of(&word, 1, FIRST) == 0) {
        assert_int_equal(futex_wake_of(&word, 1, SECOND), 0);
        sched_yield();
    }
    atomic_store(&word, 1);
    assert_int_equal(futex_wake_of(&word, 1, SECOND), 0);
    futex_wake_of(&word, 1, FIRST | SECOND);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static struct scheduling scheduling_of_this_thread(void)
{
    struct scheduling scheduling = {0};
    syscall(SYS_sched_getattr, 0, &scheduling, sizeof scheduling, 0);
    return scheduling;
}

struct trial {
    int policy;
    struct scheduling before, prompt, after;
};

static void *be_prompt_for_a_while(void *opaque)
{
    struct trial *trial = opaque;
    struct sched_param none = {0};
    pthread_setschedparam(pthread_self(), trial->policy, &none);
    trial->before = scheduling_of_this_thread();
    thread_be_prompt(true);
    trial->prompt = scheduling_of_this_thread();
    thread_be_prompt(false);
    trial->after = scheduling_of_this_thread();
    return NULL;
}

static struct trial try_policy(int policy)
{
    struct trial trial = {.policy = policy};
    pthread_t thread;
    assert_true(thread_start(&thread, "prompt", be_prompt_for_a_while, &trial));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(trial.prompt.nice, trial.before.nice);
    assert_int_equal(trial.prompt.policy, trial.before.policy);
    assert_true(trial.after.slice_ns == trial.before.slice_ns);
    return trial;
}

RNL_TEST(a_prompt_thread_has_short_slices_and_nothing_else)
{
    struct trial trial = try_policy(SCHED_OTHER);
    // Linux tells the slice, and lets it be changed, from 6.12 on.
    if (trial.before.slice_ns)
        assert_true(trial.prompt.slice_ns < trial.before.slice_ns);
}

RNL_TEST(a_thread_of_another_policy_is_left_as_it_is)
{
    struct trial trial = try_policy(SCHED_BATCH);
    assert_true(trial.prompt.slice_ns == trial.before.slice_ns);
}

static unsigned threads_of(struct pool *pool)
{
    lock_take(&pool->lock);
    unsigned count = pool->thread_count;
    lock_give(&pool->lock);
    return count;
}

RNL_TEST(a_worker_stands_by_once_there_was_work)
{
    struct pool *pool;
    assert_ok(pool_create(2, 0, 0, &pool));
    while (atomic_load(&pool->lazy) + atomic_load(&pool->standing_by) == 0)
        sched_yield();
    assert_int_equal(threads_of(pool), 1);
    pool_notify(pool, false);
    while (atomic_load(&pool->standing_by) == 0 || threads_of(pool) < 2)
        sched_yield();
    // Later the one that napped sleeps lazily, so that small work wakes it.
    while (atomic_load(&pool->napping) || atomic_load(&pool->lazy) == 0)
        sched_yield();
    assert_int_equal(atomic_load(&pool->standing_by), 1);
    assert_int_equal(threads_of(pool), 2);
    pool_destroy(pool);
}

RNL_TEST(the_only_worker_of_a_pool_of_one_stands_by_itself)
{
    struct pool *pool;
    assert_ok(pool_create(1, 0, 0, &pool));
    pool_notify(pool, false);
    while (atomic_load(&pool->standing_by) == 0)
        sched_yield();
    assert_int_equal(threads_of(pool), 1);
    pool_destroy(pool);
}

// --- The thread that stops kernels -----------------------------------------

RNL_TEST(without_a_thread_there_is_no_pool_with_a_limit)
{
    struct pool *pool;
    thread_fail_next(0, 1);
    assert_status(pool_create(1, 0, 1000000, &pool), RNL_ERROR_OUT_OF_MEMORY);
    assert_non_null(strstr(rnl_last_error()->message, "stops kernels"));
    // Nor one without workers: then that thread ends again.
    thread_fail_next(1, 1);
    assert_status(pool_create(1, 0, 1000000, &pool), RNL_ERROR_OUT_OF_MEMORY);
    assert_non_null(strstr(rnl_last_error()->message, "worker thread"));
    assert_ok(pool_create(1, 0, 1000000, &pool));
    pool_destroy(pool);
}

RNL_TEST(without_a_thread_nothing_is_cancelled)
{
    rnl_context context = NULL;
    rnl_stream stream = NULL;
    rnl_event never = NULL;
    assert_ok(rnl_context_open("cpu", 0, RNL_CONTEXT_OPTIONS(.threads = 1),
                               &context));
    assert_ok(rnl_stream_create(context, NULL, &stream));
    assert_ok(rnl_event_create(context, RNL_EVENT_OPTIONS(.promise = true),
                               &never));
    assert_ok(rnl_enqueue_wait_event(stream, never));
    thread_fail_next(0, 1);
    assert_status(rnl_stream_cancel(stream), RNL_ERROR_OUT_OF_MEMORY);
    assert_non_null(strstr(rnl_last_error()->message, "stops kernels"));
    assert_status(rnl_stream_query(stream), RNL_NOT_READY);
    assert_ok(rnl_stream_cancel(stream));
    assert_status(rnl_stream_synchronize(stream, RNL_FOREVER),
                  RNL_ERROR_CANCELLED);
    assert_ok(rnl_event_release(never));
    assert_ok(rnl_stream_release(stream));
    assert_ok(rnl_context_release(context));
}
