// The meeting of ranks at a file.
#include "meeting.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *beside(int rank)
{
    static char beside[100];
    snprintf(beside, sizeof beside, "%s.%d", path, rank);
    return beside;
}

static void write_bytes(const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

// Files as a run leaves that ends after all ranks have answered: each rank's
// card, and a table with all of them.
static void leave_files(int size)
{
    struct card cards[RANKS] = {0};
    for (int i = 0; i < size; i++) {
        cards[i] = (struct card){CARD_MAGIC,      i, size, sizeof(int),
                                 7 + (uint64_t)i, 7, {1}};
        if (i > 0)
            write_bytes(beside(i), &cards[i], sizeof cards[i]);
    }
    write_bytes(path, cards, (size_t)size * sizeof cards[0]);
}

RNL_TEST(ranks_meet_by_a_file_in_any_order)
{
    struct visitor ranks[RANKS];
    for (int first = 0; first < RANKS; first++) {
        begin();
        for (int i = 0; i < RANKS; i++) {
            start_at_file(&ranks[i], (first + i) % RANKS, RANKS, LONG);
            nap();
        }
        for (int i = 0; i < RANKS; i++)
            expect_met(&ranks[i]);
        end();
    }
}

RNL_TEST(files_of_an_earlier_run_do_no_harm)
{
    struct visitor ranks[RANKS];
    begin();
    leave_files(RANKS);
    for (int i = RANKS - 1; i >= 0; i--)
        start_at_file(&ranks[i], i, RANKS, LONG);
    for (int i = 0; i < RANKS; i++)
        expect_met(&ranks[i]);
    end();
}

// Waits until the card of an earlier run is replaced.
static void await_new_card(int rank)
{
    struct card card = {.nonce = 0};
    while (card.nonce == 0 || card.nonce == 7 + (uint64_t)rank) {
        FILE *file = fopen(beside(rank), "r");
        if (file && fread(&card, sizeof card, 1, file) != 1)
            card.nonce = 0;
        if (file)
            fclose(file);
        sched_yield();
    }
}

RNL_TEST(a_card_of_an_earlier_run_does_not_stand_for_a_rank)
{
    struct visitor ranks[2];
    begin();
    leave_files(RANKS);
    for (int i = 0; i < 2; i++)
        start_at_file(&ranks[i], i, RANKS, LONG);
    await_new_card(1);
    hurry(&ranks[1]);
    expect_end(&ranks[1], RNL_ERROR_TIMED_OUT, "rank 1 waited for rank 0");
    hurry(&ranks[0]);
    expect_end(&ranks[0], RNL_ERROR_TIMED_OUT, "for ranks 1 2 of 3");
    assert_int_equal(unlink(beside(2)), 0);
    end();
}

static void await_file(const char *name)
{
    struct stat about;
    while (stat(name, &about) != 0)
        sched_yield();
}

RNL_TEST(a_rank_that_gave_up_is_missed_at_a_file)
{
    struct visitor ranks[RANKS];
    begin();
    start_at_file(&ranks[0], 0, RANKS, LONG);
    start_at_file(&ranks[1], 1, RANKS, SHORT);
    expect_end(&ranks[1], RNL_ERROR_TIMED_OUT, "waited for rank 0");
    start_at_file(&ranks[2], 2, RANKS, LONG);
    await_file(beside(2));
    hurry(&ranks[0]);
    expect_end(&ranks[0], RNL_ERROR_TIMED_OUT, "for ranks 1 of 3");
    hurry(&ranks[2]);
    expect_end(&ranks[2], RNL_ERROR_TIMED_OUT, "waited for rank 0");
    end();
}

// A process of an earlier run with the rank may remove the new card.
RNL_TEST(a_card_that_is_lost_is_written_again)
{
    struct visitor ranks[RANKS];
    begin();
    start_at_file(&ranks[0], 0, RANKS, LONG);
    start_at_file(&ranks[1], 1, RANKS, LONG);
    await_file(beside(1));
    assert_int_equal(unlink(beside(1)), 0);
    await_file(beside(1));
    start_at_file(&ranks[2], 2, RANKS, LONG);
    for (int i = 0; i < RANKS; i++)
        expect_met(&ranks[i]);
    end();
}

RNL_TEST(a_rank_that_gave_up_may_come_again_to_a_file)
{
    struct visitor ranks[RANKS];
    begin();
    start_at_file(&ranks[0], 0, RANKS, LONG);
    start_at_file(&ranks[1], 1, RANKS, SHORT);
    expect_end(&ranks[1], RNL_ERROR_TIMED_OUT, "waited for rank 0");
    for (int i = 1; i < RANKS; i++)
        start_at_file(&ranks[i], i, RANKS, LONG);
    for (int i = 0; i < RANKS; i++)
        expect_met(&ranks[i]);
    end();
}

static void expect_twice(int rank)
{
    struct visitor twice[2], other;
    char words[60];
    begin();
    for (int i = 0; i < 2; i++)
        start_at_file(&twice[i], rank, RANKS, LONG);
    start_at_file(&other, rank == 0, RANKS, LONG);
    while (!twice[0].ended && !twice[1].ended)
        sched_yield();
    hurry(&other);
    for (int i = 0; i < 2; i++) {
        hurry(&twice[i]);
        pthread_join(twice[i].thread, NULL);
    }
    pthread_join(other.thread, NULL);
    snprintf(words, sizeof words, "two processes came as rank %d", rank);
    int refused = 0;
    for (int i = 0; i < 2; i++)
        refused += twice[i].status == RNL_ERROR_INVALID_ARGUMENT &&
                   strstr(twice[i].message, words);
    if (refused == 0)
        fail_msg("%s; %s; %s", twice[0].message, twice[1].message,
                 other.message);
    assert_int_equal(other.status, RNL_ERROR_TIMED_OUT);
    end();
}

RNL_TEST(two_processes_of_one_rank_are_refused_at_a_file)
{
    expect_twice(1);
    expect_twice(0);
}

// All ranks that are there learn of it.
RNL_TEST(ranks_of_other_sizes_are_refused_at_a_file)
{
    struct visitor ranks[RANKS];
    begin();
    start_at_file(&ranks[0], 0, 3, LONG);
    start_at_file(&ranks[2], 2, 3, LONG);
    await_file(beside(2));
    start_at_file(&ranks[1], 1, 2, LONG);
    for (int i = 0; i < RANKS; i++)
        expect_end(&ranks[i], RNL_ERROR_INVALID_ARGUMENT,
                   "a rank came with a size of 2, and rank 0 has 3");
    end();
}

RNL_TEST(a_rank_that_waits_long_looks_seldom)
{
    struct visitor own;
    begin();
    start_at_file(&own, 1, 2, LONG);
    while (own.longest < 50000000)
        sched_yield();
    hurry(&own);
    expect_end(&own, RNL_ERROR_TIMED_OUT, "waited for rank 0");
    assert_int_equal(own.longest, 50000000);
    end();
}

RNL_TEST(ranks_that_are_missing_are_counted)
{
    struct visitor own;
    begin();
    start_at_file(&own, 0, 200, SHORT);
    expect_end(&own, RNL_ERROR_TIMED_OUT, "for ranks 1 2 3 ");
    assert_non_null(strstr(own.message, " more of 200"));
    end();
}

// The file is no table: its bytes stay.
static void expect_refused_place(const char *place, int rank)
{
    struct visitor own;
    char bytes[5] = "";
    write_bytes(place, "data", 4);
    start_at_file(&own, rank, 2, LONG);
    expect_end(&own, RNL_ERROR_INVALID_ARGUMENT, "exists already");
    FILE *file = fopen(place, "r");
    assert_non_null(file);
    assert_non_null(fgets(bytes, sizeof bytes, file));
    assert_string_equal(bytes, "data");
    fclose(file);
    assert_int_equal(unlink(place), 0);
}

RNL_TEST(a_file_that_no_rank_wrote_is_kept)
{
    begin();
    expect_refused_place(path, 0);
    expect_refused_place(beside(1), 1);
    end();
}

// A link beside the file is not followed, and nothing waits for a pipe.
RNL_TEST(links_and_pipes_are_not_taken_for_files)
{
    struct visitor own;
    char link[100], target[100];
    begin();
    assert_int_equal(mkfifo(path, 0600), 0);
    start_at_file(&own, 1, 2, SHORT);
    expect_end(&own, RNL_ERROR_TIMED_OUT, "waited for rank 0");
    start_at_file(&own, 0, 2, LONG);
    expect_end(&own, RNL_ERROR_INVALID_ARGUMENT, "exists already");
    assert_int_equal(unlink(path), 0);
    snprintf(link, sizeof link, "%s.new", path);
    snprintf(target, sizeof target, "%s/precious", folder);
    write_bytes(target, "data", 4);
    assert_int_equal(symlink(target, link), 0);
    start_at_file(&own, 0, 1, LONG);
    expect_met(&own);
    struct stat about;
    assert_int_equal(stat(target, &about), 0);
    assert_int_equal(about.st_size, 4);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(unlink(target), 0);
    end();
}

RNL_TEST(a_place_that_cannot_be_written_is_named)
{
    struct visitor own;
    snprintf(path, sizeof path, "/nowhere/meet");
    start_at_file(&own, 0, 2, LONG);
    expect_end(&own, RNL_ERROR_IO, "'/nowhere/meet' cannot be written");
}

// The first write is short, and the second one tells why.
RNL_TEST(a_file_that_does_not_fit_is_told)
{
    struct visitor own;
    struct rlimit before, limit;
    begin();
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = (struct rlimit){100, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    start_at_file(&own, 0, 2, LONG);
    expect_end(&own, RNL_ERROR_IO, strerror(EFBIG));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    end();
}
