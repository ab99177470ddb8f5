// backends/cpu/scheduler/value_waiters: the cost of polling values of a pool in
// which nothing happens.
#include "unit.h"

#include "backends/cpu/scheduler/value_waiters.h"

enum { SECOND = 1000000000 };

// Looks for `seconds`: the number of naps, and the ticks that all looks took
// when one at all words takes `cost`.
static uint64_t naps_of(uint64_t from, uint64_t seconds, uint64_t cost,
                        uint64_t *out_ticks)
{
    uint64_t naps = 0;
    *out_ticks = 0;
    for (uint64_t idle = from; idle < from + seconds * SECOND; naps++) {
        uint64_t nap = value_poll_nap_ns(idle);
        *out_ticks +=
            cost * value_poll_share(cost, nap, idle) / VALUE_WAITER_BUCKETS;
        idle += nap;
    }
    return naps;
}

RNL_TEST(a_young_wait_is_found_within_half_of_its_time)
{
    for (uint64_t idle = 100000; idle < 2 * VALUE_POLL_NAP_NS; idle += 1000)
        assert_int_equal(value_poll_nap_ns(idle), idle / 2);
    // A nap is never so short that it costs much, nor is there one too many.
    assert_int_equal(value_poll_nap_ns(0), VALUE_POLL_NAP_NS / 20);
    unsigned naps = 0;
    for (uint64_t idle = 0; idle < 2 * VALUE_POLL_NAP_NS; naps++)
        idle += value_poll_nap_ns(idle);
    assert_true(naps <= 12);
}

RNL_TEST(older_waits_are_looked_at_every_millisecond)
{
    assert_int_equal(value_poll_nap_ns(2 * VALUE_POLL_NAP_NS),
                     VALUE_POLL_NAP_NS);
    assert_int_equal(value_poll_nap_ns(10 * VALUE_POLL_NAP_NS),
                     VALUE_POLL_NAP_NS);
    assert_int_equal(value_poll_share(0, VALUE_POLL_NAP_NS, 0),
                     VALUE_WAITER_BUCKETS);
    // As long as that takes no more than a 64th of the time.
    assert_int_equal(
        value_poll_share(VALUE_POLL_NAP_NS / 40, VALUE_POLL_NAP_NS, 0),
        VALUE_WAITER_BUCKETS);
}

RNL_TEST(old_waits_are_looked_at_eight_times_less_often)
{
    uint64_t ticks, naps = naps_of(SECOND, 1, 0, &ticks);
    assert_int_equal(naps, 125);
}

RNL_TEST(thousands_of_pending_waits_cost_next_to_nothing)
{
    enum { COST = 600000 };  // 300 us
    uint64_t ticks;
    naps_of(0, 1, COST, &ticks);
    assert_true(ticks < 2 * (uint64_t)SECOND / 64);
    naps_of(SECOND, 3, COST, &ticks);
    assert_true(ticks < 3 * 2 * (uint64_t)SECOND / 125);
    // Nor are they ever forgotten.
    assert_true(value_poll_share(UINT64_MAX / 256, VALUE_POLL_NAP_NS, SECOND) >=
                1);
}
