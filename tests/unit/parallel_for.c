// backends/cpu/scheduler/parallel_for: who runs which part of an op.
#include "unit.h"

#include "base/clock.h"
#include "backends/cpu/scheduler/parallel_for.h"
#include "backends/cpu/scheduler/pool.h"

// Sixteenths of a tick: a unit of so many is long, and a launch of some of them
// is worth a wake-up.
enum { MANY = 1 << 16, FEW = 33, LONG_UNIT = 16 * 40000 };

#define LONGER_THAN_A_SHARE 200000  // ticks
#define FAR_LONGER_NS 5000000          // of processor time
#define PATIENCE_NS UINT64_C(30000000000)  // then the test has failed

typedef rnl_status run_fn(const struct parallel_for *loop, uint64_t first,
                          uint64_t count, char *message);

static struct launch_history history;
static _Atomic uint64_t first_part, largest_part, units_run;
static _Atomic uint64_t held;  // the unit that waits for all others
static atomic_bool was_shared, came_too_late;

static void spin(uint64_t ticks)
{
    for (uint64_t start = clock_ticks(); clock_ticks() - start < ticks;)
        cpu_relax();
}

static void count_part(uint64_t first, uint64_t count)
{
    uint64_t largest = atomic_load(&largest_part);
    if (first == 0)
        atomic_store(&first_part, count);
    while (count > largest &&
           !atomic_compare_exchange_weak(&largest_part, &largest, count)) {}
    atomic_fetch_add(&units_run, count);
}

static rnl_status run_slowly(const struct parallel_for *loop, uint64_t first,
                             uint64_t count, char *message)
{
    (void)loop, (void)message;
    count_part(first, count);
    spin(10000);
    return RNL_OK;
}

static rnl_status run_long_units(const struct parallel_for *loop,
                                 uint64_t first, uint64_t count, char *message)
{
    (void)loop, (void)message;
    count_part(first, count);
    for (uint64_t i = 0; i < count; i++)
        spin(LONGER_THAN_A_SHARE);
    return RNL_OK;
}

static rnl_status run_long_first(const struct parallel_for *loop,
                                 uint64_t first, uint64_t count, char *message)
{
    (void)loop, (void)message;
    count_part(first, count);
    uint64_t start = clock_of_thread();
    while (first == 0 && clock_of_thread() - start < FAR_LONGER_NS)
        continue;
    return RNL_OK;
}

static rnl_status run_quickly(const struct parallel_for *loop, uint64_t first,
                              uint64_t count, char *message)
{
    (void)message;
    if (first == 0)
        atomic_store(&was_shared, atomic_load(&loop->taken) > 0);
    count_part(first, count);
    return RNL_OK;
}

// One unit does not end before all that are not in its share have been run.
static rnl_status run_held(const struct parallel_for *loop, uint64_t first,
                           uint64_t count, char *message)
{
    (void)message;
    uint64_t unit = atomic_load(&held), end = clock_now() + PATIENCE_NS;
    bool holds = unit - first < count;
    while (holds && atomic_load(&units_run) < loop->total - count &&
           !atomic_load(&came_too_late)) {
        cpu_relax();
        if (clock_now() > end)
            atomic_store(&came_too_late, true);
    }
    count_part(first, count);
    return RNL_OK;
}

static rnl_status run_doubling(const struct parallel_for *loop, uint64_t first,
                               uint64_t count, char *message)
{
    static _Thread_local uint64_t before;
    (void)loop, (void)message;
    if (count > 1 && count > 2 * before)
        atomic_store(&came_too_late, true);
    before = count;
    count_part(first, count);
    return RNL_OK;
}

// All of a loop, by two threads, with what is known of the launches before.
static void run_region(run_fn *run, uint64_t total, bool in_rows)
{
    struct pool *pool;
    struct parallel_for loop = {
        .run = run, .total = total, .unit = 1,
        .in_rows = in_rows, .history = &history};
    atomic_init(&loop.participants, 1);
    atomic_store(&first_part, 0);
    atomic_store(&largest_part, 0);
    atomic_store(&units_run, 0);
    atomic_store(&was_shared, false);
    atomic_store(&came_too_late, false);
    assert_ok(pool_create(2, 30000, 0, &pool));
    assert_ok(parallel_for_run(pool, &loop, false));
    assert_int_equal(atomic_load(&units_run), total);
    pool_destroy(pool);
}

static void note(uint64_t mean, uint64_t longest)
{
    const struct unit_times times = {mean, longest};
    launch_history_add(&history, &times);
}

static void note_twice(uint64_t mean, uint64_t longest)
{
    note(mean, longest);
    note(mean, longest);
}

static void forget(void)
{
    note_twice(0, 0);
}

RNL_TEST(others_are_let_in_after_the_first_unit)
{
    forget();
    run_region(run_slowly, MANY, false);
    assert_int_equal(atomic_load(&first_part), 1);
}

// The launch is known to be long: nobody waits for its first unit, nor for any
// other.
static void hold_each(uint64_t longest)
{
    static const uint64_t units[] = {0, 1, FEW / 2, FEW - 1};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        note_twice(LONG_UNIT, longest);
        atomic_store(&held, units[i]);
        run_region(run_held, FEW, false);
        assert_false(atomic_load(&came_too_late));
    }
}

RNL_TEST(while_one_unit_is_held_all_others_are_run)
{
    hold_each(0);
    hold_each(LONG_UNIT);
}

RNL_TEST(one_long_launch_among_short_ones_does_not_let_others_in_at_once)
{
    forget();
    run_region(run_quickly, FEW, false);
    assert_false(atomic_load(&was_shared));
    forget();
    note(LONG_UNIT, LONG_UNIT);
    run_region(run_quickly, FEW, false);
    assert_false(atomic_load(&was_shared));
    note_twice(LONG_UNIT, LONG_UNIT);
    run_region(run_quickly, FEW, false);
    assert_true(atomic_load(&was_shared));
}

RNL_TEST(two_long_launches_let_others_in_at_once)
{
    forget();
    run_region(run_long_units, 8, false);
    assert_int_equal(launch_history_get(&history).mean, 0);
    run_region(run_long_units, 8, false);
    assert_true(launch_history_get(&history).mean >= LONGER_THAN_A_SHARE * 16);
    run_region(run_quickly, 8, false);
    assert_true(atomic_load(&was_shared));
}

RNL_TEST(units_that_fill_a_share_are_taken_one_by_one)
{
    forget();
    run_region(run_long_units, 64, false);
    assert_int_equal(atomic_load(&largest_part), 1);
}

RNL_TEST(shares_begin_with_one_unit_and_at_most_double)
{
    forget();
    note_twice(LONG_UNIT, LONG_UNIT);
    run_region(run_doubling, MANY, false);
    assert_int_equal(atomic_load(&first_part), 1);
    assert_false(atomic_load(&came_too_late));
}

// A 16th of an equal part: MANY units of the mean are a thousandth as many of
// the longest, and 32 times fewer of these are two.
RNL_TEST(the_longest_units_of_the_last_launches_bound_a_share)
{
    uint64_t mean = 16 * 16384;
    forget();
    note_twice(mean, mean * (MANY / 64));
    run_region(run_quickly, MANY, false);
    assert_int_equal(atomic_load(&largest_part), 2);
}

// A quarter of them by each, of rows a half.
RNL_TEST(units_that_are_alike_are_run_in_long_shares)
{
    note_twice(LONG_UNIT, 0);
    run_region(run_quickly, 64, false);
    assert_int_equal(atomic_load(&first_part), 16);
    note_twice(LONG_UNIT, 0);
    run_region(run_quickly, 64, true);
    assert_int_equal(atomic_load(&first_part), 32);
}

RNL_TEST(rows_of_units_that_differ_begin_with_one)
{
    note_twice(LONG_UNIT, 4 * LONG_UNIT);
    run_region(run_quickly, 64, true);
    assert_int_equal(atomic_load(&first_part), 1);
}

RNL_TEST(whether_units_differ_is_not_known_before_their_mean_is)
{
    forget();
    run_region(run_long_units, 8, false);
    run_region(run_long_units, 8, false);
    struct unit_times times = launch_history_get(&history);
    assert_true(times.longest >= times.mean);
}

RNL_TEST(a_unit_that_takes_far_longer_than_the_mean_is_noted)
{
    note_twice(LONG_UNIT, 1);
    run_region(run_long_first, 8, false);
    note(LONG_UNIT, UINT64_MAX);
    assert_true(launch_history_get(&history).longest > LONG_UNIT);
}

// None takes 0.1 s.
RNL_TEST(a_launch_without_long_units_is_noted)
{
    note_twice(UINT32_MAX, LONG_UNIT);
    run_region(run_slowly, MANY, false);
    assert_int_equal(launch_history_get(&history).longest, 0);
}

RNL_TEST(a_history_tells_the_lesser_of_two_launches)
{
    forget();
    note(5, 9);
    assert_int_equal(launch_history_get(&history).mean, 0);
    note(7, 8);
    assert_int_equal(launch_history_get(&history).mean, 5);
    assert_int_equal(launch_history_get(&history).longest, 8);
    note(UINT64_MAX, 10);
    assert_int_equal(launch_history_get(&history).mean, 7);
    note(UINT64_MAX, 10);
    assert_int_equal(launch_history_get(&history).mean, UINT32_MAX);
}
