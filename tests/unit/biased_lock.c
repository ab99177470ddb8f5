// base/biased_lock: an owner by itself, guests, and the end of it.
#include "unit.h"

#include "base/biased_lock.h"

#include <pthread.h>

static struct biased_lock lock;
static _Atomic int step;

static void await(int wanted)
{
    while (atomic_load(&step) < wanted)
        sched_yield();
}

static void open_fences(void)
{
    asymmetric_fence_open();
    lock = (struct biased_lock){0};
    atomic_store(&step, 0);
}

static void take_and_give(void)
{
    biased_lock_take(&lock, thread_number(), BIASED_OWN);
    biased_lock_give(&lock, thread_number());
}

static void *visit_once(void *unused)
{
    (void)unused;
    biased_lock_take(&lock, thread_number(), BIASED_VISIT);
    atomic_store(&step, 1);
    biased_lock_give(&lock, thread_number());
    return NULL;
}

static void *visit_rarely(void *unused)
{
    (void)unused;
    biased_lock_take(&lock, thread_number(), BIASED_RARELY);
    biased_lock_give(&lock, thread_number());
    return NULL;
}

static void let(void *(*visit)(void *))
{
    pthread_t guest;
    assert_true(thread_start(&guest, "guest", visit, NULL));
    assert_int_equal(pthread_join(guest, NULL), 0);
}

RNL_TEST(the_first_who_takes_it_is_its_owner)
{
    open_fences();
    take_and_give();
    assert_true(lock.owner == thread_number());
    biased_lock_take(&lock, thread_number(), BIASED_OWN);
    assert_true(lock.inside == thread_number());
    assert_false(lock.lock.held);
    biased_lock_give(&lock, thread_number());
    assert_true(lock.inside == 0);
}

RNL_TEST(who_only_visits_becomes_no_owner)
{
    open_fences();
    biased_lock_take(&lock, thread_number(), BIASED_VISIT);
    assert_true(lock.lock.held);
    biased_lock_give(&lock, thread_number());
    assert_true(lock.owner == 0);
    assert_false(lock.lock.held);
}

RNL_TEST(a_guest_waits_until_the_owner_is_out)
{
    pthread_t guest;
    open_fences();
    take_and_give();
    biased_lock_take(&lock, thread_number(), BIASED_OWN);
    assert_true(thread_start(&guest, "guest", visit_once, NULL));
    while (lock.owner)  // the guest is at it, and waits
        sched_yield();
    assert_int_equal(atomic_load(&step), 0);
    biased_lock_give(&lock, thread_number());
    assert_int_equal(pthread_join(guest, NULL), 0);
    assert_int_equal(atomic_load(&step), 1);
    assert_true(lock.owner == thread_number());
}

static void *stay_inside(void *unused)
{
    (void)unused;
    biased_lock_take(&lock, thread_number(), BIASED_VISIT);
    atomic_store(&step, 1);
    await(2);
    for (int i = 0; i < 100; i++)
        sched_yield();
    atomic_store(&step, 3);
    biased_lock_give(&lock, thread_number());
    return NULL;
}

RNL_TEST(the_owner_waits_for_a_guest)
{
    pthread_t guest;
    open_fences();
    take_and_give();
    assert_true(thread_start(&guest, "guest", stay_inside, NULL));
    await(1);
    atomic_store(&step, 2);
    biased_lock_take(&lock, thread_number(), BIASED_OWN);
    assert_int_equal(atomic_load(&step), 3);
    assert_true(lock.inside == 0);
    biased_lock_give(&lock, thread_number());
    assert_int_equal(pthread_join(guest, NULL), 0);
}

RNL_TEST(rare_guests_leave_the_owner_what_it_is)
{
    open_fences();
    take_and_give();
    for (int i = 0; i < 2 * BIASED_GUESTS_MOST; i++)
        let(visit_rarely);
    assert_true(lock.owner == thread_number());
    assert_int_equal(lock.guests, 0);
}

static void *take_as_own(void *unused)
{
    (void)unused;
    take_and_give();
    return NULL;
}

RNL_TEST(nobody_takes_it_over_from_its_owner)
{
    open_fences();
    let(take_as_own);
    uint64_t owner = lock.owner;
    assert_true(owner && owner != thread_number());
    take_and_give();
    assert_true(lock.owner == owner);
    assert_int_equal(lock.guests, 1);
}

RNL_TEST(many_guests_make_it_an_ordinary_lock)
{
    open_fences();
    take_and_give();
    for (int i = 1; i < BIASED_GUESTS_MOST; i++)
        let(visit_once);
    assert_true(lock.owner == thread_number());
    let(take_as_own);
    assert_true(lock.owner == 0);
    take_and_give();
    assert_true(lock.owner == 0);
    assert_int_equal(lock.guests, BIASED_GUESTS_MOST);
}

// --- Together --------------------------------------------------------------

enum { LOCKS = 100, LONG = 300, THREADS = 4, ROUNDS = 2000 };

// No thread may be between its load and its store when another one is.
static volatile long count;

static void count_up(int times)
{
    for (int i = 0; i < times; i++)
        count = count + 1;
}

static void *own(void *out_count)
{
    long *times = out_count;
    take_and_give();
    atomic_store(&step, 1);
    for (; atomic_load(&step) < 2; ++*times) {
        biased_lock_take(&lock, thread_number(), BIASED_OWN);
        count_up(1);
        biased_lock_give(&lock, thread_number());
    }
    return NULL;
}

// Guests stay in for long, so that an owner that comes in is seen.
static void visit_an_owner(void)
{
    pthread_t owner;
    long times = 0;
    count = 0;
    assert_true(thread_start(&owner, "owner", own, &times));
    await(1);
    for (int i = 0; i < BIASED_GUESTS_MOST; i++) {
        biased_lock_take(&lock, thread_number(), BIASED_VISIT);
        count_up(LONG);
        biased_lock_give(&lock, thread_number());
    }
    atomic_store(&step, 2);
    assert_int_equal(pthread_join(owner, NULL), 0);
    assert_int_equal(count, times + (long)BIASED_GUESTS_MOST * LONG);
}

static void *take_often(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        biased_lock_take(&lock, thread_number(), BIASED_OWN);
        count_up(1);
        biased_lock_give(&lock, thread_number());
    }
    return NULL;
}

static void take_together(void)
{
    pthread_t threads[THREADS];
    count = 0;
    for (size_t i = 0; i < THREADS; i++)
        assert_true(thread_start(&threads[i], "taker", take_often, NULL));
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(count, (long)THREADS * ROUNDS);
}

RNL_TEST(one_at_a_time_is_in)
{
    for (int i = 0; i < LOCKS; i++) {
        open_fences();
        visit_an_owner();
        open_fences();
        take_together();
    }
}

RNL_TEST(one_at_a_time_is_in_without_the_systems_help)
{
    for (int i = 0; i < LOCKS; i++) {
        open_fences();
        atomic_store(&read_mostly.fence_mode, FENCE_LOCAL);
        visit_an_owner();
        open_fences();
        atomic_store(&read_mostly.fence_mode, FENCE_LOCAL);
        take_together();
    }
}
