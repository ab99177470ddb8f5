// base/lock_order: what a build with checks refuses, and that others pay
// nothing.
#include "base/biased_lock.h"
#include "base/thread.h"

#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct lock registry = LOCK_RANKED(RANK_REGISTRY);
static struct lock give = LOCK_RANKED(RANK_SUBMIT);
static struct lock streams[2] = {LOCK_RANKED(RANK_STREAM),
                                 LOCK_RANKED(RANK_STREAM)};
static struct lock contexts[2] = {LOCK_RANKED(RANK_CONTEXT),
                                  LOCK_RANKED(RANK_CONTEXT)};
static struct lock leaf = LOCK_RANKED(RANK_LEAF);
static struct lock unordered;
static struct biased_lock biased;

// What it prints goes nowhere.
static bool aborts(void (*what)(void))
{
#ifndef RUNNEL_CHECKS
    test_skip("this build checks no locks");
#endif
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGABRT, SIG_DFL);
        dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
        what();
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void take_in_order(void)
{
    lock_take(&registry);
    lock_take(&give);
    lock_take(&streams[0]);
    lock_take(&streams[1]);
    lock_take(&contexts[0]);
    lock_take(&contexts[1]);
    lock_take(&unordered);
    lock_take(&leaf);
    // Given back in any order.
    lock_give(&streams[0]);
    lock_give(&registry);
    lock_give(&leaf);
}

static void take_backwards(void)
{
    lock_take(&streams[0]);
    lock_take(&give);
}

static void take_two_streams(void)
{
    lock_take(&streams[0]);
    lock_take(&streams[1]);
}

static void take_two_contexts(void)
{
    lock_take(&contexts[0]);
    lock_take(&contexts[1]);
}

static void take_under_a_leaf(void)
{
    lock_take(&leaf);
    lock_take(&registry);
}

static void take_twice(void)
{
    lock_take(&unordered);
    lock_take(&unordered);
}

static void give_what_is_not_held(void)
{
    lock_give(&leaf);
}

static void try_backwards(void)
{
    lock_take(&leaf);
    if (lock_try(&registry))
        lock_give(&registry);
}

static void take_biased_under_a_leaf(void)
{
    biased_set_rank(&biased, RANK_POOL_PART);
    lock_take(&leaf);
    biased_lock_take(&biased, 1, BIASED_OWN);
}

RNL_TEST(locks_are_taken_in_the_order_of_their_ranks)
{
    assert_false(aborts(take_in_order));
    assert_false(aborts(try_backwards));
    assert_true(aborts(take_backwards));
    assert_true(aborts(take_under_a_leaf));
    assert_true(aborts(take_biased_under_a_leaf));
}

RNL_TEST(several_locks_of_a_rank_need_the_one_that_allows_it)
{
    assert_true(aborts(take_two_streams));
    assert_true(aborts(take_two_contexts));
}

RNL_TEST(a_lock_is_not_taken_twice_nor_given_by_who_has_it_not)
{
    assert_true(aborts(take_twice));
    assert_true(aborts(give_what_is_not_held));
}

RNL_TEST(a_thread_knows_which_locks_it_has)
{
#ifdef RUNNEL_CHECKS
    assert_false(lock_is_held(&leaf));
    lock_take(&leaf);
    assert_true(lock_is_held(&leaf));
    lock_give(&leaf);
    assert_false(lock_is_held(&leaf));
    biased_lock_take(&biased, 1, BIASED_OWN);
    assert_true(biased_is_held(&biased));
    biased_lock_give(&biased, 1);
    assert_false(biased_is_held(&biased));
#else
    test_skip("this build checks no locks");
#endif
}

static _Atomic uint32_t count = 1;

static void count_below_zero(void)
{
    COUNT_DOWN(&count);
    COUNT_DOWN(&count);
}

RNL_TEST(counts_do_not_pass_zero)
{
    assert_int_equal(COUNT_DOWN(&count), 1);
    atomic_store(&count, 1);
    assert_true(aborts(count_below_zero));
}

RNL_TEST(a_lock_is_one_byte_where_nothing_is_checked)
{
#ifdef RUNNEL_CHECKS
    test_skip("this build checks locks");
#else
    assert_int_equal(sizeof(struct lock), 1);
#endif
}
