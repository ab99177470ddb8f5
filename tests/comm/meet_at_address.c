// The meeting of ranks at an address.
#include "meeting.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

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
    start_at(&ranks[0], 0, RANKS, address, LONG);
    start_at(&ranks[1], 1, RANKS, address, SHORT);
    expect_end(&ranks[1], RNL_ERROR_TIMED_OUT, "rank 1 waited for rank 0");
    start_at(&ranks[2], 2, RANKS, address, LONG);
    await_card(2);
    hurry(&ranks[0]);
    expect_end(&ranks[0], RNL_ERROR_TIMED_OUT, "for ranks 1 of 3");
    expect_end(&ranks[2], RNL_ERROR_IO, "it gave up");
}

enum { MEETINGS = 200 };

static void *meet_often(void *argument)
{
    struct visitor *own = argument;
    for (int i = 0; i < MEETINGS && own->status == RNL_OK; i++) {
        own->members.deadline = clock_after(LONG);
        go(own);
    }
    return NULL;
}

// A rank may come to the next meeting while rank 0 is at the last one.
RNL_TEST(ranks_meet_at_one_address_again_and_again)
{
    struct visitor ranks[RANKS];
    const char *address = address_of(digits());
    for (int i = 0; i < RANKS; i++) {
        ranks[i] = (struct visitor){
            .members = {.rank = i, .size = RANKS, .address = address},
            .value = 10 + i};
        assert_int_equal(
            pthread_create(&ranks[i].thread, NULL, meet_often, &ranks[i]), 0);
    }
    for (int i = 0; i < RANKS; i++)
        expect_met(&ranks[i]);
}

RNL_TEST(a_name_that_is_not_known_yet_is_looked_up_again)
{
    refuse_names(EAI_AGAIN, 4);
    meet_at(address_of("localhost"));
    refuse_names(EAI_NONAME, 4);
    meet_at(address_of("localhost"));
}

RNL_TEST(a_name_that_cannot_be_looked_up_is_told)
{
    struct visitor own;
    const char *address = address_of("localhost");
    refuse_names(EAI_FAIL, 1);
    start_at(&own, 1, 2, address, LONG);
    expect_end(&own, RNL_ERROR_NOT_FOUND, "is no address");
    refuse_names(EAI_NONAME, 1 << 30);
    start_at(&own, 1, 2, address, SHORT);
    expect_end(&own, RNL_ERROR_NOT_FOUND, "is no address");
    refuse_names(0, 0);
}

// The listener has the last descriptor.
RNL_TEST(connections_that_cannot_be_taken_are_told)
{
    struct visitor own;
    struct rlimit before, limit;
    const char *address = address_of(digits());
    struct sockaddr_in place = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1)),
        .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int visitor = socket(AF_INET, SOCK_STREAM, 0), next = dup(0);
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = (struct rlimit){(rlim_t)next + 1, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    start_at(&own, 0, 2, address, LONG);
    while (connect(visitor, (struct sockaddr *)&place, sizeof place) != 0)
        nap();
    expect_end(&own, RNL_ERROR_IO, strerror(EMFILE));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    close(visitor);
}

static void *answer_wrongly(void *argument)
{
    char bytes[3 * sizeof(struct card)];
    int listener = *(int *)argument, own = accept(listener, NULL, NULL);
    assert_int_equal(recv(own, bytes, sizeof(struct card), MSG_WAITALL),
                     sizeof(struct card));
    memset(bytes, 'x', sizeof bytes);
    assert_int_equal(send(own, bytes, sizeof bytes, MSG_NOSIGNAL),
                     sizeof bytes);
    return NULL;
}

RNL_TEST(another_program_at_the_address_is_not_taken_for_rank_0)
{
    struct visitor own;
    pthread_t thread;
    char address[40];
    int listener, port = free_port(&listener);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(
        pthread_create(&thread, NULL, answer_wrongly, &listener), 0);
    snprintf(address, sizeof address, "%s:%d", digits(), port);
    start_at(&own, 1, 2, address, LONG);
    expect_end(&own, RNL_ERROR_IO, "another program than rank 0");
    pthread_join(thread, NULL);
}

RNL_TEST(ranks_of_other_sizes_are_refused_at_an_address)
{
    struct visitor ranks[RANKS];
    const char *address = address_of(digits());
    start_at(&ranks[0], 0, 3, address, LONG);
    start_at(&ranks[2], 2, 3, address, LONG);
    await_card(2);
    start_at(&ranks[1], 1, 2, address, LONG);
    for (int i = 0; i < RANKS; i++)
        expect_end(&ranks[i], RNL_ERROR_INVALID_ARGUMENT,
                   "a rank came with a size of 2, and rank 0 has 3");
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

RNL_TEST(a_rank_that_stops_after_its_card_is_named)
{
    struct visitor own;
    const char *address = address_of(digits());
    start_at(&own, 0, 2, address, LONG);
    send_card(atoi(strrchr(address, ':') + 1),
              (struct card){CARD_MAGIC, 1, 2, sizeof(int), 7, 0, {0}});
    await_card(1);
    hurry(&own);
    expect_end(&own, RNL_ERROR_TIMED_OUT, "for ranks 1 of 2");
}
