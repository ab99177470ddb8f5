// cudalike/wait: when a wait spins and how long it sleeps, from the last ones.
#include "unit.h"

#include "backends/cudalike/driver/wait.h"

#define US UINT64_C(1000)

static struct poll_wait wait_at(const struct waits *last, uint64_t past)
{
    struct poll_wait wait = {.policy = RNL_SYNC_AUTO, .past = past};
    wait_expect(&wait, last);
    return wait;
}

static bool spins_at(const struct waits *last, uint64_t past)
{
    struct poll_wait wait = wait_at(last, past);
    return wait_spins(&wait);
}

RNL_TEST(an_unknown_wait_spins_shortly)
{
    struct waits last = {0};
    assert_true(spins_at(&last, 0));
    assert_true(spins_at(&last, 49 * US));
    assert_false(spins_at(&last, 50 * US));
}

RNL_TEST(a_wait_spins_when_one_of_the_last_ones_ended)
{
    static const uint64_t took[] = {1200, 2100, 1210, 2110};
    struct waits last = {0};
    for (int i = 0; i < 4; i++)
        waits_learn(&last, took[i] * US);
    assert_false(spins_at(&last, 1000 * US));
    assert_true(spins_at(&last, 1100 * US));
    assert_true(spins_at(&last, 1300 * US));
    assert_false(spins_at(&last, 1600 * US));
    assert_true(spins_at(&last, 2000 * US));
    assert_false(spins_at(&last, 2500 * US));
}

RNL_TEST(short_waits_are_spun_to_their_end)
{
    struct waits last = {0};
    waits_learn(&last, 400 * US);
    for (uint64_t us = 0; us < 490; us += 10)
        assert_true(spins_at(&last, us * US));
    assert_false(spins_at(&last, 501 * US));
}

RNL_TEST(what_was_long_ago_is_forgotten)
{
    struct waits last = {0};
    waits_learn(&last, 1200 * US);
    waits_learn(&last, 0);  // was over before
    for (int i = 0; i < WAITS_KEPT - 1; i++) {
        assert_true(spins_at(&last, 1200 * US));
        waits_learn(&last, 9000 * US);
    }
    assert_true(spins_at(&last, 1200 * US));
    waits_learn(&last, 9000 * US);
    assert_false(spins_at(&last, 1200 * US));
}

// The nap before the time when the end is expected ends there.
RNL_TEST(naps_do_not_last_into_an_expected_end)
{
    struct waits last = {0};
    struct poll_wait wait = wait_at(&last, 1600 * US);
    assert_int_equal(wait_nap(&wait), 100 * US);
    waits_learn(&last, 1900 * US);
    wait = wait_at(&last, 1600 * US);
    assert_int_equal(wait_nap(&wait), (1900 - 1900 / 8.0 - 1600) * US);
    wait.policy = RNL_SYNC_BLOCKING;
    assert_int_equal(wait_nap(&wait), 100 * US);
    wait = wait_at(&last, 60 * US);
    assert_int_equal(wait_nap(&wait), 20 * US);
    wait = wait_at(&last, 1000000 * US);
    assert_int_equal(wait_nap(&wait), 250 * US);
}

RNL_TEST(policies_that_say_how_are_followed)
{
    struct waits last = {0};
    struct poll_wait wait = wait_at(&last, 1000000 * US);
    wait.policy = RNL_SYNC_SPIN;
    assert_true(wait_spins(&wait));
    wait = wait_at(&last, 0);
    wait.policy = RNL_SYNC_BLOCKING;
    assert_false(wait_spins(&wait));
}
