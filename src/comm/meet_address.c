// Ranks meet at an address, where rank 0 listens.
//
//   1. Each rank connects and sends its card. A rank that closes its connection
//      has given up, and may come again.
//   2. When all have come, rank 0 listens no more, so that a rank that is
//      early for the next meeting does not come to this one. Rank 0 sends all
//      cards, and each rank answers.
//   3. When all have answered, rank 0 lets them go.
//
// If a card does not fit, rank 0 sends a refusal in place of the cards.
#include "rendezvous.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STRANGER_NS UINT64_C(1000000000)  // to say who it is
#define TRY_NS UINT64_C(1000000000)       // for a connection
#define SOCKET_FLAGS (SOCK_CLOEXEC | SOCK_NONBLOCK)

static const char function[] = "rnl_comm_create";

// --- Addresses ---------------------------------------------------------------

struct host_port {
    char host[256];
    const char *port;
};

// Splits "host:port" or "[host]:port", where a host may have colons.
static rnl_status split(const char *address, struct host_port *out_place)
{
    const char *colon = strrchr(address, ':'), *host = address;
    size_t length = colon ? (size_t)(colon - address) : 0;
    if (length > 2 && host[0] == '[' && host[length - 1] == ']') {
        host++;
        length -= 2;
    }
    if (length == 0 || length >= sizeof out_place->host || !colon[1])
        return report(RNL_ERROR_INVALID_ARGUMENT, function, "options.address",
                      "'%s' is not of the form host:port", address);
    memcpy(out_place->host, host, length);
    out_place->host[length] = '\0';
    out_place->port = colon + 1;
    return RNL_OK;
}

// A name may become known while the ranks start. The look-up itself is the C
// library's and has no time limit.
static rnl_status look_up(struct meeting *meeting,
                          const struct host_port *place,
                          struct addrinfo **out_found)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    int code;
    for (;;) {
        code = getaddrinfo(place->host, place->port, &hints, out_found);
        if ((code != EAI_AGAIN && code != EAI_NONAME) || is_late(meeting))
            break;
        nap_longer(meeting);
    }
    return code == 0 ? RNL_OK
                     : report(RNL_ERROR_NOT_FOUND, function, "options.address",
                              "'%s' is no address: %s",
                              meeting->members->address, gai_strerror(code));
}

static bool is_name(const char *host)
{
    struct in6_addr unused;
    return strcmp(host, "localhost") != 0 &&
           inet_pton(AF_INET, host, &unused) != 1 &&
           inet_pton(AF_INET6, host, &unused) != 1;
}

static void take_all_interfaces(struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        ((struct sockaddr_in *)(void *)address)->sin_addr.s_addr =
            htonl(INADDR_ANY);
    else if (address->sa_family == AF_INET6)
        ((struct sockaddr_in6 *)(void *)address)->sin6_addr = in6addr_any;
}

// --- Bytes -------------------------------------------------------------------

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
        if (moved < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (moved <= 0)
            return false;
        at += moved;
        size -= (size_t)moved;
    }
    return true;
}

static bool put(const struct meeting *meeting, int socket, void *bytes,
                size_t size)
{
    return transfer(socket, bytes, size, true, meeting->members->deadline);
}

static bool get(const struct meeting *meeting, int socket, void *bytes,
                size_t size)
{
    return transfer(socket, bytes, size, false, meeting->members->deadline);
}

static uint64_t earlier(const struct meeting *meeting, uint64_t time)
{
    return time < meeting->members->deadline ? time
                                             : meeting->members->deadline;
}

// --- Rank 0 ------------------------------------------------------------------

static int open_listener(const struct addrinfo *address)
{
    int on = 1, own = socket(address->ai_family, SOCK_STREAM | SOCKET_FLAGS, 0);
    if (own < 0)
        return -1;
    setsockopt(own, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(own, address->ai_addr, address->ai_addrlen) == 0 &&
        listen(own, 1024) == 0)
        return own;
    close(own);
    return -1;
}

// A name may stand for a loopback address on its own host, which other hosts do
// not reach: for a name, rank 0 listens at all addresses of the host.
static int listen_at(struct meeting *meeting, rnl_status *out_status)
{
    const char *address = meeting->members->address;
    struct host_port place;
    struct addrinfo *found = NULL;
    if ((*out_status = split(address, &place)) ||
        (*out_status = look_up(meeting, &place, &found)))
        return -1;
    if (is_name(place.host))
        take_all_interfaces(found->ai_addr);
    int listener = open_listener(found);
    if (listener < 0)
        *out_status = report(RNL_ERROR_IO, function, "options.address",
                             "rank 0 cannot listen at '%s': %s", address,
                             strerror(errno));
    freeaddrinfo(found);
    return listener;
}

// Tells ranks why rank 0 gives up, which it has reported.
static void send_refusal(struct meeting *meeting, int socket)
{
    struct card refusal = make_refusal(meeting);
    transfer(socket, &refusal, sizeof refusal, true,
             earlier(meeting, clock_after(STRANGER_NS)));
}

// A stranger's connection is closed; a rank with other ideas is an error.
static rnl_status greet(struct meeting *meeting, int visitor, int *sockets)
{
    struct card card;
    uint64_t until = earlier(meeting, clock_after(STRANGER_NS));
    if (!transfer(visitor, &card, sizeof card, false, until) ||
        card.magic != CARD_MAGIC) {
        close(visitor);
        return RNL_OK;
    }
    if (!card_fits(meeting, &card) || meeting->came[card.rank]) {
        rnl_status status = refuse_card(meeting, &card);
        send_refusal(meeting, visitor);
        close(visitor);
        return status;
    }
    meeting->came[card.rank] = 1;
    meeting->cards[card.rank] = card;
    sockets[card.rank] = visitor;
    return RNL_OK;
}

// Forgets ranks that closed their connections.
static void miss_ranks(struct meeting *meeting, int *sockets)
{
    for (int i = 1; i < meeting->members->size; i++) {
        char byte;
        if (sockets[i] < 0 ||
            (recv(sockets[i], &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
             (errno == EAGAIN || errno == EINTR)))
            continue;
        close(sockets[i]);
        sockets[i] = -1;
        meeting->came[i] = 0;
    }
}

// Takes a connection. A failure of this process is told: it would come again.
static rnl_status take_visitor(struct meeting *meeting, int listener,
                               int *sockets)
{
    int visitor = accept4(listener, NULL, NULL, SOCKET_FLAGS), code = errno;
    if (visitor >= 0)
        return greet(meeting, visitor, sockets);
    return code == EMFILE || code == ENFILE || code == ENOMEM ||
                   code == ENOBUFS
               ? report(RNL_ERROR_IO, function, "options.address",
                        "rank 0 cannot take connections at '%s': %s",
                        meeting->members->address, strerror(code))
               : RNL_OK;
}

static rnl_status receive_cards(struct meeting *meeting, int listener,
                                int *sockets)
{
    rnl_status status = RNL_OK;
    while (status == RNL_OK && !all_came(meeting)) {
        struct pollfd one = {listener, POLLIN, 0};
        bool late = is_late(meeting), comes = poll(&one, 1, 10) > 0;
        miss_ranks(meeting, sockets);
        if (late)
            return fail_late(meeting);
        if (comes)
            status = take_visitor(meeting, listener, sockets);
    }
    for (int i = 1; i < meeting->members->size; i++)
        if (status == RNL_ERROR_INVALID_ARGUMENT && sockets[i] >= 0)
            send_refusal(meeting, sockets[i]);
    return status;
}

static rnl_status fail_rank(struct meeting *meeting, int rank)
{
    meeting->came[rank] = 0;
    return is_late(meeting)
               ? fail_late(meeting)
               : report(RNL_ERROR_IO, function, "options.address",
                        "the connection of rank %d broke off", rank);
}

static rnl_status send_cards(struct meeting *meeting, const int *sockets)
{
    int size = meeting->members->size;
    size_t bytes = (size_t)size * sizeof *meeting->cards;
    char byte = 0;
    for (int step = 0; step < 3; step++)
        for (int i = 1; i < size; i++) {
            bool moved = step == 0
                             ? put(meeting, sockets[i], meeting->cards, bytes)
                         : step == 1 ? get(meeting, sockets[i], &byte, 1)
                                     : put(meeting, sockets[i], &byte, 1);
            if (!moved)
                return fail_rank(meeting, i);
        }
    return RNL_OK;
}

rnl_status host_address(struct meeting *meeting)
{
    int size = meeting->members->size;
    rnl_status status = RNL_OK;
    int *sockets = malloc((size_t)size * sizeof *sockets);
    if (!sockets)
        return report(RNL_ERROR_OUT_OF_MEMORY, function, NULL,
                      "there is no memory for %d ranks", size);
    for (int i = 0; i < size; i++)
        sockets[i] = -1;
    int listener = listen_at(meeting, &status);
    if (listener >= 0) {
        status = receive_cards(meeting, listener, sockets);
        close(listener);
    }
    if (status == RNL_OK)
        status = send_cards(meeting, sockets);
    for (int i = 1; i < size; i++)
        if (sockets[i] >= 0)
            close(sockets[i]);
    free(sockets);
    return status;
}

// --- The other ranks ---------------------------------------------------------

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

static bool is_connected(int own, uint64_t until)
{
    int error = 0;
    socklen_t size = sizeof error;
    struct pollfd one = {own, POLLOUT, 0};
    while (poll(&one, 1, 10) <= 0)
        if (clock_ns() > until)
            return false;
    return getsockopt(own, SOL_SOCKET, SO_ERROR, &error, &size) == 0 &&
           error == 0;
}

// A connection before the time `until`, or -1.
static int try_connect(const struct addrinfo *address, uint64_t until)
{
    int own = socket(address->ai_family, SOCK_STREAM | SOCKET_FLAGS, 0);
    if (own < 0)
        return -1;
    if ((connect(own, address->ai_addr, address->ai_addrlen) == 0 ||
         (errno == EINPROGRESS && is_connected(own, until))) &&
        !is_own_peer(own))
        return own;
    close(own);
    return -1;
}

// A socket to rank 0, which may not listen yet; -1 when the time is over.
static int connect_to(struct meeting *meeting, const struct addrinfo *found)
{
    while (!is_late(meeting)) {
        for (const struct addrinfo *at = found; at; at = at->ai_next) {
            int own = try_connect(at, earlier(meeting, clock_after(TRY_NS)));
            if (own >= 0)
                return own;
        }
        nap_longer(meeting);
    }
    return -1;
}

static rnl_status lose_host(const struct meeting *meeting)
{
    return is_late(meeting)
               ? fail_late(meeting)
               : report(RNL_ERROR_IO, function, "options.address",
                        "rank 0 at '%s' closed the connection: it gave up",
                        meeting->members->address);
}

static rnl_status follow_host(struct meeting *meeting, int own,
                              struct card *mine)
{
    struct card *cards = meeting->cards;
    char byte = 0;
    if (!put(meeting, own, mine, sizeof *mine) ||
        !get(meeting, own, cards, sizeof *cards))
        return lose_host(meeting);
    if (is_refusal(cards))
        return take_refusal(cards);
    if (!get(meeting, own, cards + 1,
             (size_t)(mine->size - 1) * sizeof *cards))
        return lose_host(meeting);
    if (!are_all_cards(meeting, mine))
        return report(RNL_ERROR_IO, function, "options.address",
                      "another program than rank 0 listens at '%s'",
                      meeting->members->address);
    return put(meeting, own, &byte, 1) && get(meeting, own, &byte, 1)
               ? RNL_OK
               : lose_host(meeting);
}

rnl_status visit_address(struct meeting *meeting, struct card *mine)
{
    struct host_port place;
    struct addrinfo *found = NULL;
    rnl_status status = split(meeting->members->address, &place);
    if (status != RNL_OK || (status = look_up(meeting, &place, &found)))
        return status;
    int own = connect_to(meeting, found);
    status = own < 0 ? fail_late(meeting) : follow_host(meeting, own, mine);
    if (own >= 0)
        close(own);
    freeaddrinfo(found);
    return status;
}
