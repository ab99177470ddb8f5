// Where the ranks of a new communicator meet: by a file, or by an address. Each
// rank gives some bytes, and rank 0 gives all ranks those of all.
#include "comm_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAGIC UINT32_C(0x726e6c31)
#define BYTES_MOST 256
#define PATH_SIZE 4096
#define STRANGER_NS UINT64_C(1000000000)  // to say who it is

// The bytes of a rank, and who sends them. The nonce tells this run's files
// from earlier ones.
struct card {
    uint32_t magic;
    int32_t rank, size;
    uint32_t bytes;
    uint64_t nonce;
    char data[BYTES_MOST];
};

struct meeting {
    const struct membership *members;
    struct card *cards;  // of all ranks
    char *came;          // whether each did, on rank 0
};

static const char function[] = "rnl_comm_create";

static rnl_status fail_late(const struct meeting *meeting)
{
    const struct membership *members = meeting->members;
    char missing[80] = "";
    size_t length = 0;
    for (int i = 0; members->rank == 0 && i < members->size &&
                    length < sizeof missing - 16;
         i++)
        if (i > 0 && !meeting->came[i])
            length += (size_t)snprintf(missing + length,
                                       sizeof missing - length, " %d", i);
    return report(RNL_ERROR_TIMED_OUT, function, "options.timeout_ns",
                  members->rank == 0
                      ? "the time limit passed: rank 0 waited at '%s' for "
                        "ranks%s of %d"
                      : "the time limit passed: this rank waited for rank 0 at "
                        "'%s'%s; there are %d ranks",
                  members->file ? members->file : members->address, missing,
                  members->size);
}

static bool is_late(const struct meeting *meeting)
{
    return clock_ns() > meeting->members->deadline;
}

static rnl_status refuse_card(const struct meeting *meeting,
                              const struct card *card)
{
    const struct membership *members = meeting->members;
    if (card->size != members->size)
        return report(RNL_ERROR_INVALID_ARGUMENT, function, "options.size",
                      "a rank came with a size of %d, and this rank has %d",
                      (int)card->size, members->size);
    return report(RNL_ERROR_INVALID_ARGUMENT, function, "options.rank",
                  "two processes came as rank %d", (int)card->rank);
}

static bool card_fits(const struct meeting *meeting, const struct card *card,
                      size_t bytes)
{
    return card->magic == MAGIC && card->bytes == bytes &&
           card->size == meeting->members->size && card->rank >= 0 &&
           card->rank < card->size;
}

// --- By a file ---------------------------------------------------------------

// A file is complete when it has its name.
static bool write_file(const char *path, const void *bytes, size_t size)
{
    char new[PATH_SIZE + 8];
    snprintf(new, sizeof new, "%s.new", path);
    int file = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        return false;
    bool whole = write(file, bytes, size) == (ssize_t)size;
    if (close(file) != 0 || !whole || rename(new, path) != 0) {
        unlink(new);
        return false;
    }
    return true;
}

static bool read_file(const char *path, void *bytes, size_t size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    bool whole = read(file, bytes, size) == (ssize_t)size;
    close(file);
    return whole;
}

static void card_path(const struct meeting *meeting, int rank, char *path)
{
    snprintf(path, PATH_SIZE, "%s.%d", meeting->members->file, rank);
}

static bool all_came(const struct meeting *meeting)
{
    for (int i = 0; i < meeting->members->size; i++)
        if (!meeting->came[i])
            return false;
    return true;
}

// Reads the cards that lie there; returns their number.
static int read_cards(struct meeting *meeting, size_t bytes, bool *out_news)
{
    int present = 0;
    char path[PATH_SIZE];
    struct card card;
    *out_news = false;
    for (int i = 1; i < meeting->members->size; i++) {
        card_path(meeting, i, path);
        if (!read_file(path, &card, sizeof card) ||
            !card_fits(meeting, &card, bytes))
            continue;
        *out_news |= card.nonce != meeting->cards[i].nonce;
        meeting->cards[i] = card;
        meeting->came[i] = 1;
        present++;
    }
    return present;
}

// Rank 0 reads the cards until all have come and are gone again, since a card
// may be of an earlier run. The others take theirs away when they have read a
// table that has it.
static rnl_status host_file(struct meeting *meeting, size_t bytes)
{
    const struct membership *members = meeting->members;
    bool news;
    while (read_cards(meeting, bytes, &news) > 0 || !all_came(meeting)) {
        if (news && all_came(meeting) &&
            !write_file(members->file, meeting->cards,
                        (size_t)members->size * sizeof *meeting->cards))
            return report(RNL_ERROR_IO, function, "options.file",
                          "'%s' cannot be written: %s", members->file,
                          strerror(errno));
        if (is_late(meeting))
            return fail_late(meeting);
        nap();
    }
    unlink(members->file);
    return RNL_OK;
}

static rnl_status visit_file(struct meeting *meeting, const struct card *mine)
{
    size_t size = (size_t)meeting->members->size * sizeof *mine;
    char path[PATH_SIZE];
    card_path(meeting, mine->rank, path);
    if (!write_file(path, mine, sizeof *mine))
        return report(RNL_ERROR_IO, function, "options.file",
                      "'%s' cannot be written: %s", path, strerror(errno));
    while (!read_file(meeting->members->file, meeting->cards, size) ||
           meeting->cards[mine->rank].nonce != mine->nonce) {
        if (is_late(meeting)) {
            unlink(path);
            return fail_late(meeting);
        }
        nap();
    }
    unlink(path);
    return RNL_OK;
}

// --- By an address -----------------------------------------------------------

static struct addrinfo *look_up(const char *address, bool listens,
                                rnl_status *out_status)
{
    char host[256];
    const char *colon = strrchr(address, ':');
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = listens ? AI_PASSIVE : 0},
                    *found = NULL;
    size_t length = colon ? (size_t)(colon - address) : 0;
    if (!colon || length == 0 || length >= sizeof host || !colon[1]) {
        *out_status =
            report(RNL_ERROR_INVALID_ARGUMENT, function, "options.address",
                   "'%s' is not of the form host:port", address);
        return NULL;
    }
    memcpy(host, address, length);
    host[length] = '\0';
    int code = getaddrinfo(host, colon + 1, &hints, &found);
    if (code != 0)
        *out_status =
            report(RNL_ERROR_NOT_FOUND, function, "options.address",
                   "'%s' is no address: %s", address, gai_strerror(code));
    return found;
}

// Moves `size` bytes before the time `until`.
static bool transfer(int socket, void *bytes, size_t size, bool sends,
                     uint64_t until)
{
    char *at = bytes;
    while (size > 0) {
        struct pollfd one = {socket, sends ? POLLOUT : POLLIN, 0};
        if (clock_ns() > until)
            return false;
        if (poll(&one, 1, 10) <= 0)
            continue;
        ssize_t moved = sends ? send(socket, at, size, MSG_NOSIGNAL)
                              : recv(socket, at, size, 0);
        if (moved <= 0 && errno != EINTR && errno != EAGAIN)
            return false;
        if (moved == 0)
            return false;
        at += moved > 0 ? moved : 0;
        size -= moved > 0 ? (size_t)moved : 0;
    }
    return true;
}

static int listen_at(const struct meeting *meeting, rnl_status *out_status)
{
    const char *address = meeting->members->address;
    struct addrinfo *found = look_up(address, true, out_status);
    if (!found)
        return -1;
    int on = 1,
        listener = socket(found->ai_family,
                          SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener >= 0)
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (listener < 0 ||
        bind(listener, found->ai_addr, found->ai_addrlen) != 0 ||
        listen(listener, 1024) != 0) {
        *out_status = report(RNL_ERROR_IO, function, "options.address",
                             "rank 0 cannot listen at '%s': %s", address,
                             strerror(errno));
        if (listener >= 0)
            close(listener);
        listener = -1;
    }
    freeaddrinfo(found);
    return listener;
}

// A stranger's connection is closed; a rank with other ideas is an error.
static rnl_status greet(struct meeting *meeting, int socket, size_t bytes,
                        int *sockets)
{
    struct card card;
    if (!transfer(socket, &card, sizeof card, false,
                  clock_after(STRANGER_NS)) ||
        card.magic != MAGIC || card.bytes != bytes) {
        close(socket);
        return RNL_OK;
    }
    if (!card_fits(meeting, &card, bytes) || card.rank == 0 ||
        meeting->came[card.rank]) {
        close(socket);
        return refuse_card(meeting, &card);
    }
    meeting->came[card.rank] = 1;
    meeting->cards[card.rank] = card;
    sockets[card.rank] = socket;
    return RNL_OK;
}

static rnl_status receive_cards(struct meeting *meeting, int listener,
                                size_t bytes, int *sockets)
{
    rnl_status status = RNL_OK;
    while (status == RNL_OK && !all_came(meeting)) {
        struct pollfd one = {listener, POLLIN, 0};
        if (is_late(meeting))
            return fail_late(meeting);
        if (poll(&one, 1, 10) <= 0)
            continue;
        int visitor = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (visitor >= 0)
            status = greet(meeting, visitor, bytes, sockets);
    }
    return status;
}

static rnl_status send_cards(struct meeting *meeting, const int *sockets)
{
    int size = meeting->members->size;
    for (int i = 1; i < size; i++)
        if (!transfer(sockets[i], meeting->cards,
                      (size_t)size * sizeof *meeting->cards, true,
                      meeting->members->deadline))
            return report(RNL_ERROR_IO, function, "options.address",
                          "the connection of rank %d broke off", i);
    return RNL_OK;
}

static rnl_status host_address(struct meeting *meeting, size_t bytes)
{
    int size = meeting->members->size;
    rnl_status status = RNL_OK;
    int *sockets = calloc((size_t)size, sizeof *sockets);
    if (!sockets)
        return report(RNL_ERROR_OUT_OF_MEMORY, function, NULL,
                      "there is no memory for %d ranks", size);
    int listener = listen_at(meeting, &status);
    if (listener >= 0)
        status = receive_cards(meeting, listener, bytes, sockets);
    if (status == RNL_OK)
        status = send_cards(meeting, sockets);
    for (int i = 1; i < size; i++)
        if (sockets[i])
            close(sockets[i]);
    if (listener >= 0)
        close(listener);
    free(sockets);
    return status;
}

// TCP connects a socket to itself if nobody listens at a port that the socket
// happens to have.
static bool is_own_peer(int own)
{
    struct sockaddr_storage here = {0}, there = {0};
    socklen_t here_size = sizeof here, there_size = sizeof there;
    return getsockname(own, (struct sockaddr *)&here, &here_size) == 0 &&
           getpeername(own, (struct sockaddr *)&there, &there_size) == 0 &&
           memcmp(&here, &there, sizeof here) == 0;
}

// A socket to rank 0, which may not listen yet; -1 when the time is over.
static int connect_to(const struct meeting *meeting,
                      const struct addrinfo *address)
{
    while (!is_late(meeting)) {
        int own = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (own >= 0 &&
            connect(own, address->ai_addr, address->ai_addrlen) == 0 &&
            !is_own_peer(own))
            return own;
        if (own >= 0)
            close(own);
        nap();
    }
    return -1;
}

static rnl_status visit_address(struct meeting *meeting, struct card *mine)
{
    rnl_status status = RNL_OK;
    size_t size = (size_t)meeting->members->size * sizeof *mine;
    struct addrinfo *found = look_up(meeting->members->address, false, &status);
    if (!found)
        return status;
    int own = connect_to(meeting, found);
    if (own < 0)
        status = fail_late(meeting);
    else if (!transfer(own, mine, sizeof *mine, true,
                       meeting->members->deadline) ||
             !transfer(own, meeting->cards, size, false,
                       meeting->members->deadline))
        status = is_late(meeting)
                     ? fail_late(meeting)
                     : report(RNL_ERROR_IO, function, "options.address",
                              "rank 0 at '%s' closed the connection: it has "
                              "another size, or this rank twice",
                              meeting->members->address);
    if (own >= 0)
        close(own);
    freeaddrinfo(found);
    return status;
}

// --- Both --------------------------------------------------------------------

static rnl_status gather(struct meeting *meeting, struct card *mine)
{
    bool hosts = mine->rank == 0, by_file = meeting->members->file;
    if (hosts)
        return by_file ? host_file(meeting, mine->bytes)
                       : host_address(meeting, mine->bytes);
    return by_file ? visit_file(meeting, mine) : visit_address(meeting, mine);
}

rnl_status meet(const struct membership *members, const void *mine, size_t size,
                void *all)
{
    struct card card = {MAGIC, members->rank, members->size, (uint32_t)size, 0,
                        {0}};
    struct meeting meeting = {members, NULL, NULL};
    rnl_status status;
    if (members->file && strlen(members->file) > PATH_SIZE - 32)
        return report(RNL_ERROR_INVALID_ARGUMENT, function, "options.file",
                      "the path is too long");
    memcpy(card.data, mine, size);
    if (getrandom(&card.nonce, sizeof card.nonce, 0) < 0)
        card.nonce = clock_ns();
    card.nonce |= 1;  // 0 is no card
    meeting.cards = calloc((size_t)members->size, sizeof card);
    meeting.came = calloc((size_t)members->size, 1);
    if (meeting.cards && meeting.came) {
        meeting.cards[members->rank] = card;
        meeting.came[members->rank] = 1;
        status = gather(&meeting, &card);
    } else {
        status = report(RNL_ERROR_OUT_OF_MEMORY, function, NULL,
                        "there is no memory for %d ranks", members->size);
    }
    for (int i = 0; i < members->size && status == RNL_OK; i++)
        memcpy((char *)all + (size_t)i * size, meeting.cards[i].data, size);
    free(meeting.cards);
    free(meeting.came);
    return status;
}
