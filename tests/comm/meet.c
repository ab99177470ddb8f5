// The meeting of ranks at a file or at an address: each rank is a thread.
#include "test.h"

#include "comm/rendezvous.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)
#define LONG (20 * SECOND)   // for ranks that meet
#define SHORT (SECOND / 10)  // for ranks that give up

enum { RANKS = 3 };

// A rank, and how its meeting ended.
struct visitor {
    struct membership members;
    int value, all[RANKS];
    rnl_status status;
    char message[500];
    pthread_t thread;
};

static char folder[64], path[80];

static void begin(void)
{
    snprintf(folder, sizeof folder, "/tmp/runnel-meet-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/meet", folder);
}

// Nothing is left in the folder.
static void end(void)
{
    assert_int_equal(rmdir(folder), 0);
}

static void *go(void *argument)
{
    struct visitor *own = argument;
    own->status = meet(&own->members, &own->value, sizeof own->value, own->all);
    snprintf(own->message, sizeof own->message, "%s",
             own->status ? rnl_last_error()->message : "");
    return NULL;
}

static void start(struct visitor *own, struct membership members, uint64_t time)
{
    own->members = members;
    own->members.deadline = clock_after(time);
    own->value = 10 + members.rank;
    assert_int_equal(pthread_create(&own->thread, NULL, go, own), 0);
}

static void start_at_file(struct visitor *own, int rank, int size,
                          uint64_t time)
{
    start(own, (struct membership){.rank = rank, .size = size, .file = path},
          time);
}

static void start_at(struct visitor *own, int rank, int size,
                     const char *address, uint64_t time)
{
    start(own,
          (struct membership){.rank = rank, .size = size, .address = address},
          time);
}

static void expect_met(struct visitor *own)
{
    pthread_join(own->thread, NULL);
    if (own->status != RNL_OK)
        fail_msg("rank %d: %s", own->members.rank, own->message);
    for (int i = 0; i < own->members.size; i++)
        assert_int_equal(own->all[i], 10 + i);
}

static void expect_end(struct visitor *own, rnl_status status,
                       const char *words)
{
    pthread_join(own->thread, NULL);
    test_status(own->status, status, own->message, __FILE__, __LINE__);
    if (!strstr(own->message, words))
        fail_msg("'%s' lacks '%s'", own->message, words);
}

// --- A file ------------------------------------------------------------------

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

RNL_TEST(a_card_of_an_earlier_run_does_not_stand_for_a_rank)
{
    struct visitor ranks[2];
    begin();
    leave_files(RANKS);
    for (int i = 0; i < 2; i++)
        start_at_file(&ranks[i], i, RANKS, i == 0 ? 10 * SHORT : SHORT);
    expect_end(&ranks[1], RNL_ERROR_TIMED_OUT, "waited for rank 0");
    expect_end(&ranks[0], RNL_ERROR_TIMED_OUT, "for ranks 1 2 of 3");
    assert_int_equal(unlink(beside(2)), 0);
    end();
}

RNL_TEST(a_rank_that_gave_up_is_missed_at_a_file)
{
    struct visitor ranks[RANKS];
    begin();
    start_at_file(&ranks[0], 0, RANKS, 10 * SHORT);
    start_at_file(&ranks[1], 1, RANKS, SHORT);
    expect_end(&ranks[1], RNL_ERROR_TIMED_OUT, "waited for rank 0");
    start_at_file(&ranks[2], 2, RANKS, 10 * SHORT);
    expect_end(&ranks[0], RNL_ERROR_TIMED_OUT, "for ranks 1 of 3");
    expect_end(&ranks[2], RNL_ERROR_TIMED_OUT, "waited for rank 0");
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
        start_at_file(&twice[i], rank, RANKS, 10 * SHORT);
    start_at_file(&other, rank == 0, RANKS, 10 * SHORT);
    for (int i = 0; i < 2; i++)
        pthread_join(twice[i].thread, NULL);
    pthread_join(other.thread, NULL);
    snprintf(words, sizeof words, "two processes came as rank %d", rank);
    int refused = 0;
    for (int i = 0; i < 2; i++)
        refused += twice[i].status == RNL_ERROR_INVALID_ARGUMENT &&
                   strstr(twice[i].message, words);
    assert_true(refused >= 1);
    assert_int_equal(other.status, RNL_ERROR_TIMED_OUT);
    end();
}

RNL_TEST(two_processes_of_one_rank_are_refused_at_a_file)
{
    expect_twice(1);
    expect_twice(0);
}

RNL_TEST(ranks_of_other_sizes_are_refused_at_a_file)
{
    struct visitor ranks[2];
    begin();
    start_at_file(&ranks[0], 0, 3, LONG);
    start_at_file(&ranks[1], 1, 2, 10 * SHORT);
    expect_end(&ranks[0], RNL_ERROR_INVALID_ARGUMENT, "a size of 2");
    expect_end(&ranks[1], RNL_ERROR_TIMED_OUT, "waited for rank 0");
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

// --- An address --------------------------------------------------------------

// A port that is kept for this process, which may listen there.
static int free_port(int *out_socket)
{
    int on = 1;
    struct sockaddr_in place = {.sin_family = AF_INET,
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof place;
    *out_socket = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(
        setsockopt(*out_socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    assert_int_equal(bind(*out_socket, (struct sockaddr *)&place, length), 0);
    assert_int_equal(
        getsockname(*out_socket, (struct sockaddr *)&place, &length), 0);
    return ntohs(place.sin_port);
}

// The loopback address of IPv4 in digits.
static const char *digits(void)
{
    static char text[INET_ADDRSTRLEN];
    const struct in_addr loopback = {htonl(INADDR_LOOPBACK)};
    return inet_ntop(AF_INET, &loopback, text, sizeof text);
}

static const char *address_of(const char *host)
{
    static char address[300];
    int unused;
    snprintf(address, sizeof address, "%s:%d", host, free_port(&unused));
    return address;
}

static void meet_at(const char *address)
{
    struct visitor ranks[RANKS];
    for (int i = RANKS - 1; i >= 0; i--)
        start_at(&ranks[i], i, RANKS, address, LONG);
    for (int i = 0; i < RANKS; i++)
        expect_met(&ranks[i]);
}

RNL_TEST(ranks_meet_by_an_address)
{
    meet_at(address_of("localhost"));
    meet_at(address_of(digits()));
}

RNL_TEST(ranks_meet_by_an_address_with_colons)
{
    int own = socket(AF_INET6, SOCK_STREAM, 0);
    struct sockaddr_in6 loopback = {.sin6_family = AF_INET6,
                                    .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    if (own < 0 || bind(own, (struct sockaddr *)&loopback, sizeof loopback))
        test_skip("this machine has no IPv6");
    close(own);
    meet_at(address_of("[::1]"));
}

// The name of a host may stand for a loopback address on the host itself. Here
// the name is an old spelling of another one than digits().
RNL_TEST(rank_0_listens_at_all_addresses_for_a_name)
{
    struct visitor ranks[2];
    char by_number[40];
    const char *by_name = address_of("127.0.513");
    snprintf(by_number, sizeof by_number, "%s%s", digits(),
             strrchr(by_name, ':'));
    start_at(&ranks[0], 0, 2, by_name, LONG);
    start_at(&ranks[1], 1, 2, by_number, LONG);
    expect_met(&ranks[0]);
    expect_met(&ranks[1]);
}

RNL_TEST(a_rank_that_gave_up_is_missed_at_an_address)
{
    struct visitor ranks[RANKS];
    const char *address = address_of(digits());
    start_at(&ranks[0], 0, RANKS, address, 10 * SHORT);
    start_at(&ranks[1], 1, RANKS, address, SHORT);
    expect_end(&ranks[1], RNL_ERROR_TIMED_OUT, "waited for rank 0");
    start_at(&ranks[2], 2, RANKS, address, LONG);
    expect_end(&ranks[0], RNL_ERROR_TIMED_OUT, "for ranks 1 of 3");
    expect_end(&ranks[2], RNL_ERROR_IO, "it gave up");
}

// A listener that accepts nothing has no room for another connection.
RNL_TEST(a_connection_does_not_outlast_the_time_limit)
{
    struct visitor own;
    struct sockaddr_in place;
    socklen_t length = sizeof place;
    char address[40];
    int listener, port = free_port(&listener);
    assert_int_equal(listen(listener, 0), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&place, &length),
                     0);
    for (int i = 0; i < 3; i++) {
        int full = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(full, (struct sockaddr *)&place, length);
    }
    snprintf(address, sizeof address, "%s:%d", digits(), port);
    uint64_t before = clock_ns();
    start_at(&own, 1, 2, address, SHORT);
    expect_end(&own, RNL_ERROR_TIMED_OUT, "waited for rank 0");
    assert_true(clock_ns() - before < 50 * SHORT);
}

// Sends a card to rank 0, as another program may do.
static void send_card(int port, struct card card)
{
    struct sockaddr_in place = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int own = socket(AF_INET, SOCK_STREAM, 0);
    while (connect(own, (struct sockaddr *)&place, sizeof place) != 0)
        nap();
    assert_int_equal(send(own, &card, sizeof card, MSG_NOSIGNAL), sizeof card);
}

static void expect_card_refused(struct card card, const char *words)
{
    struct visitor own;
    const char *address = address_of(digits());
    card.magic = CARD_MAGIC;
    start_at(&own, 0, RANKS, address, LONG);
    send_card(atoi(strrchr(address, ':') + 1), card);
    expect_end(&own, RNL_ERROR_INVALID_ARGUMENT, words);
}

RNL_TEST(cards_that_do_not_fit_are_refused)
{
    enum { BYTES = sizeof(int) };
    expect_card_refused((struct card){.rank = 1, .size = 4, .bytes = BYTES},
                        "a size of 4");
    expect_card_refused((struct card){.rank = 7, .size = 3, .bytes = BYTES},
                        "as rank 7 of 3 ranks");
    expect_card_refused((struct card){.rank = 1, .size = 3, .bytes = 128},
                        "another engine");
    expect_card_refused((struct card){.rank = 0, .size = 3, .bytes = BYTES},
                        "two processes came as rank 0");
}
