// core/shared_event: numbers, places, and processes that end.
#include "unit.h"

#include "base/clock.h"
#include "core/backend.h"
#include "core/stream/interprocess_event.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PLACES = 255, TURNS = 8, LOOKS_NS = 50000000 };  // for two looks

static struct shared_event *make(void)
{
    struct shared_event *shared = NULL;
    assert_ok(shared_event_make(&shared));
    return shared;
}

static uint64_t claim_free(struct shared_event *shared)
{
    uint64_t older;
    uint64_t record = shared_event_claim(shared, &older);
    assert_int_equal(older, 0);
    return record;
}

RNL_TEST(records_of_an_event_have_numbers)
{
    struct shared_event *shared = make();
    assert_int_equal(shared_event_last(shared), 0);
    assert_ok(shared_event_state(shared, 0));
    assert_int_equal(claim_free(shared), 1);
    assert_int_equal(claim_free(shared), 2);
    assert_int_equal(shared_event_last(shared), 2);
    shared_event_complete(shared, 2, true);
    assert_status(shared_event_state(shared, 1), RNL_NOT_READY);
    assert_status(shared_event_state(shared, 2), RNL_ERROR_DEPENDENCY_FAILED);
    assert_non_null(strstr(shared_event_why(shared, 2), "stream"));
    shared_event_complete(shared, 1, false);
    assert_ok(shared_event_state(shared, 1));
    shared_event_drop(shared);
}

RNL_TEST(a_place_is_free_when_its_record_is_complete)
{
    uint64_t older;
    struct shared_event *shared = make();
    for (uint64_t i = 1; i <= PLACES; i++)
        assert_int_equal(claim_free(shared), i);
    shared_event_complete(shared, 2, false);
    assert_int_equal(shared_event_claim(shared, &older), PLACES + 1);
    assert_int_equal(older, 1);
    assert_false(shared_event_is_done(shared, older));
    assert_int_equal(claim_free(shared), PLACES + 2);
    shared_event_complete(shared, 1, false);
    assert_true(shared_event_is_done(shared, older));
    shared_event_drop(shared);
}

static void look_until_done(struct shared_event *shared, uint64_t record)
{
    shared_event_begin_wait(shared);
    while (shared_event_state(shared, record) == RNL_NOT_READY)
        shared_events_look();
    shared_event_end_wait(shared);
}

RNL_TEST(a_record_that_waits_for_its_place_is_given_up_in_its_turn)
{
    uint64_t older;
    struct shared_event *shared = make();
    for (uint64_t i = 1; i <= PLACES; i++)
        claim_free(shared);
    shared_event_claim(shared, &older);
    assert_int_equal(older, 1);
    shared_event_complete(shared, PLACES + 1, true);
    assert_status(shared_event_state(shared, 1), RNL_NOT_READY);
    shared_event_complete(shared, 1, false);
    assert_ok(shared_event_state(shared, 1));
    look_until_done(shared, PLACES + 1);
    assert_status(shared_event_state(shared, PLACES + 1),
                  RNL_ERROR_DEPENDENCY_FAILED);
    assert_non_null(strstr(shared_event_why(shared, PLACES + 1), "stream"));
    shared_event_drop(shared);
}

// As another process has it.
static struct shared_event *open_again(const struct shared_event *shared)
{
    unsigned char key[SHARE_KEY_SIZE];
    struct shared_event *other = NULL;
    shared_event_get_key(shared, key);
    assert_ok(shared_event_open(key, &other));
    return other;
}

RNL_TEST(who_opens_an_event_sees_its_records)
{
    uint64_t record = 0;
    struct shared_event *shared = make(), *other = open_again(shared);
    claim_free(other);
    assert_status(shared_event_query(shared, &record), RNL_NOT_READY);
    assert_int_equal(record, 1);
    shared_event_complete(other, 1, true);
    assert_status(shared_event_query(shared, &record),
                  RNL_ERROR_DEPENDENCY_FAILED);
    assert_non_null(strstr(rnl_last_error()->message, "stream"));
    shared_event_drop(shared);
    assert_int_equal(claim_free(other), 2);  // the page stays
    shared_event_drop(other);
}

static void look_for_long(struct shared_event *shared)
{
    uint64_t end = clock_now() + LOOKS_NS;
    shared_event_begin_wait(shared);
    while (clock_now() < end)
        shared_events_look();
    shared_event_end_wait(shared);
}

// Before it is waited for, a process that ended is a zombie; then it is gone.
static void end_a_recorder(bool reaped)
{
    struct shared_event *shared = make();
    pid_t child = test_fork();
    if (child == 0) {
        claim_free(shared);
        test_exit(0);
    }
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    if (reaped)
        assert_int_equal(test_wait(child), 0);
    look_until_done(shared, 1);
    assert_status(shared_event_state(shared, 1), RNL_ERROR_DEPENDENCY_FAILED);
    assert_non_null(strstr(shared_event_why(shared, 1), "process"));
    if (!reaped)
        assert_int_equal(test_wait(child), 0);
    shared_event_drop(shared);
}

RNL_TEST(records_of_a_process_that_is_gone_fail)
{
    end_a_recorder(true);
}

RNL_TEST(records_of_a_zombie_fail)
{
    end_a_recorder(false);
}

RNL_TEST(records_of_a_process_that_lives_are_left_alone)
{
    struct shared_event *shared = make();
    claim_free(shared);
    look_for_long(shared);
    assert_status(shared_event_state(shared, 1), RNL_NOT_READY);
    shared_event_drop(shared);
}

// A child is another process than its parent, which knew its own start.
RNL_TEST(records_of_a_child_that_lives_are_left_alone)
{
    int ends[2];
    char byte;
    rnl_context context;
    struct shared_event *shared = make();
    assert_ok(rnl_context_open("cpu", 0, NULL, &context));
    assert_int_equal(pipe(ends), 0);
    claim_free(shared);
    pid_t child = test_fork();
    if (child == 0) {
        close(ends[1]);
        claim_free(shared);
        test_exit(read(ends[0], &byte, 1) == 0 ? 3 : 4);
    }
    while (shared_event_last(shared) < 2)
        sched_yield();
    look_for_long(shared);
    assert_status(shared_event_state(shared, 2), RNL_NOT_READY);
    close(ends[1]);
    assert_int_equal(test_wait(child), 3);
    close(ends[0]);
    assert_ok(rnl_context_release(context));
    shared_event_drop(shared);
}

RNL_TEST(a_process_that_cannot_be_looked_at_has_not_ended)
{
    struct rlimit before, none;
    struct shared_event *shared = make();
    claim_free(shared);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(open("/proc/self/stat", O_RDONLY | O_CLOEXEC), -1);
    look_for_long(shared);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_status(shared_event_state(shared, 1), RNL_NOT_READY);
    shared_event_drop(shared);
}

// A process makes a record and ends without completing it.
static void claim_in_child(struct shared_event *shared)
{
    pid_t child = test_fork();
    if (child == 0) {
        claim_free(shared);
        test_exit(0);
    }
    assert_int_equal(test_wait(child), 0);
}

// The one that gets its place does not hide whose record it was.
RNL_TEST(a_process_that_ended_gives_its_place_up)
{
    uint64_t older;
    struct shared_event *shared = make();
    claim_in_child(shared);
    for (uint64_t i = 2; i <= PLACES; i++)
        claim_free(shared);
    assert_int_equal(shared_event_claim(shared, &older), PLACES + 1);
    assert_int_equal(older, 1);
    look_until_done(shared, older);
    assert_status(shared_event_state(shared, PLACES + 1), RNL_NOT_READY);
    shared_event_complete(shared, PLACES + 1, false);
    assert_ok(shared_event_state(shared, PLACES + 1));
    shared_event_drop(shared);
}

// The process that reuses the entry in the table sees that the owner ended.
RNL_TEST(a_process_that_ended_is_not_forgotten)
{
    uint64_t older;
    struct shared_event *shared = make();
    claim_in_child(shared);
    while (shared_event_last(shared) <= PLACES * TURNS)
        shared_event_claim(shared, &older);
    assert_status(shared_event_state(shared, 1), RNL_ERROR_DEPENDENCY_FAILED);
    assert_non_null(strstr(shared_event_why(shared, 1), "process"));
    shared_event_drop(shared);
}
